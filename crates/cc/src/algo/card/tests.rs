use super::*;
use crate::testing::{closing, flow, ms, packets};
use units::Rng;

#[test]
fn one_above_the_knee_and_zero_below() {
    // Reference, section 2.1: (10/210)·(21/1) = 1.
    let of = |d0, w0, d1, w1| gradient((ms(d0), packets(w0)), (ms(d1), packets(w1)));
    assert!((of(100, 10, 110, 11).unwrap() - 1.0).abs() < 1e-12);
    assert_eq!((of(100, 10, 100, 11), of(100, 10, 110, 10)), (Some(0.0), None));
    assert!(of(110, 11, 100, 10).unwrap() > 0.0, "both falling is still above the knee");
}

#[test]
fn a_cut_to_whole_packets_and_one_packet_more_every_second_round() {
    let mut f = flow(10, 100);
    f.ssthresh = packets(5);
    let mut cc = Card::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    let windows = [100, 100, 100, 100, 110, 110, 110].map(|rtt| {
        cc.on_ack(&mut f, &closing(10, rtt));
        f.cwnd.get() / 1000
    });
    // The first two have no window to compare with; the last is 9.625 packets without the fraction.
    assert_eq!(windows, [10, 10, 11, 11, 9, 9, 10]);
}
