use super::*;
use crate::testing::{ack, congestion, flow, packets};
use crate::{Signal, build};
use std::boxed::Box;
use units::Rng;

fn scalable(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
    build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
}

/// The window in bytes after one loss.
fn after_loss(spec: &str, cwnd: u64) -> u64 {
    let mut f = flow(cwnd, 100);
    let mut cc = scalable(spec, &mut f);
    let c = congestion(Signal::Loss, &f);
    match cc.on_congestion(&mut f, &c) {
        Reaction::Reduce(to) => to.get(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_loss_takes_an_eighth_and_half_of_a_legacy_window() {
    // Linux 100 → 88: the eighth, 12.5, in whole segments.
    for (spec, cwnd, to) in [
        ("scalable", 1000, 875_000),
        ("scalable", 100, 87_500),
        ("scalable", 16, 8_000),
        ("scalable(reference=linux)", 1000, 875_000),
        ("scalable(reference=linux)", 100, 88_000),
        ("scalable(reference=linux)", 16, 14_000),
    ] {
        assert_eq!(after_loss(spec, cwnd), to, "{spec} from {cwnd}");
    }
}

/// Packets gained in one round of avoidance.
fn gained(spec: &str, cwnd: u64) -> u64 {
    let mut f = flow(cwnd, 100);
    f.ssthresh = packets(5);
    let mut cc = scalable(spec, &mut f);
    for _ in 0..cwnd {
        cc.on_ack(&mut f, &ack(1, 100));
    }
    f.cwnd.get() / 1000 - cwnd
}

#[test]
fn a_round_adds_one_per_cent_and_one_packet_where_it_is_reno() {
    assert_eq!([16, 50, 1000].map(|w| gained("scalable", w)), [1, 0, 10]);
    assert_eq!([16, 50, 1000].map(|w| gained("scalable(reference=linux)", w)), [1, 1, 10]);
    assert_eq!(gained("scalable(growth=0.02)", 1000), 20);
}

#[test]
fn recovery_takes_as_many_rounds_at_any_speed() {
    // ln(1/(1 − b)) / ln(1 + a): 13.4 rounds, at 1,000 packets as at 10,000.
    for cwnd in [1_000, 10_000] {
        let mut f = flow(cwnd, 100);
        let mut cc = scalable("scalable", &mut f);
        let c = congestion(Signal::Loss, &f);
        let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
        (f.cwnd, f.ssthresh) = (to, to);
        let mut rounds = 0;
        while f.cwnd < packets(cwnd) {
            for _ in 0..f.cwnd.get() / 1000 {
                cc.on_ack(&mut f, &ack(1, 100));
            }
            rounds += 1;
        }
        assert_eq!(rounds, 14, "from {cwnd}");
    }
}
