use super::*;
use crate::testing::{ack, flow, packets};
use units::Rng;

#[test]
fn the_weight_falls_from_short_to_long() {
    let weight = |kb| Params::default().weight(packets(kb));
    assert_eq!([weight(0), weight(200), weight(600), weight(1000), weight(9000)], [2.5, 2.5, 1.3125, 0.125, 0.125]);
}

#[test]
fn short_flows_answer_marks_less_than_long_ones() {
    let left = |weight| after_mark(packets(100), 0.25, weight).get() / 100;
    // 0.25^2.5 = 1/32, 0.25^0.125 = 0.84: given up are 1.6 % and 42 %; DCTCP gives up 12.5 %.
    assert_eq!([left(2.5), left(1.0), left(0.125)], [984, 875, 579]);
    assert_eq!(after_mark(packets(100), 1.0, 2.5), packets(50), "every packet marked is as bad as a loss");
}

#[test]
fn a_long_flow_grows_by_a_twentieth_of_a_packet_a_round() {
    for (sent, rounds) in [(0, 1), (2000, 20)] {
        let mut f = flow(50, 1);
        (f.ssthresh, f.delivered) = (packets(2), packets(sent));
        let setup = Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true };
        let mut cc = L2dct::new(&Params::default(), setup);
        for _ in 0..rounds * 50 {
            assert_eq!(f.cwnd, packets(50), "{sent} kB");
            cc.on_ack(&mut f, &ack(1, 1));
        }
        assert_eq!(f.cwnd, packets(51), "{sent} kB");
    }
}
