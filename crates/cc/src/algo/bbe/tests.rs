use super::*;
use crate::testing::{ack, congestion, flow, ms, packets};
use units::{Instant, Rng};

#[test]
fn the_level_of_congestion_and_the_mix() {
    assert_eq!([100, 150, 200, 250].map(|rtt| level(ms(rtt), ms(100), 0.2)), [0.0, 0.5, 1.0, 1.0]);
    assert_eq!([0.0, 0.5, 1.0].map(|u| mixed(packets(100), packets(80), u).get()), [80_000, 65_000, 50_000]);
    assert_eq!(mixed(packets(60), packets(80), 0.0), packets(60), "a random loss in a small window costs nothing");
}

#[test]
fn the_first_loss_teaches_the_rtt_of_congestion_and_later_ones_are_judged_by_it() {
    let mut f = flow(120, 100);
    let mut cc = Bbe::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    // Pairs of 1000 bytes a millisecond apart: 100 packets in the base RTT.
    for n in 0..40 {
        f.now = Instant::from_millis(n);
        f.cwnd = packets(120);
        cc.on_ack(&mut f, &ack(1, 100));
    }
    f.cwnd = packets(120);
    assert_eq!(cc.capacity(), Some(1e6));
    let c = congestion(Signal::Loss, &f);
    let mut at = |rtt| {
        f.rtt = ms(rtt);
        let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
        (to.get() + 5) / 10
    };
    assert_eq!(at(200), 6000, "nothing known: as Reno");
    assert_eq!(at(100), 10_000, "no queue: what the bottleneck carries");
    assert_eq!(at(120), 9200, "a fifth of the way");
}
