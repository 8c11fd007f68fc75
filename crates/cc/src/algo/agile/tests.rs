use super::*;
use crate::testing::{ack, flow, ms, packets};
use units::{Instant, Rng};

#[test]
fn the_boundary_lies_between_the_rates() {
    assert_eq!(boundary(40.0, 60.0, 0.5), 50.0);
    assert_eq!(boundary(40.0, 60.0, 0.25), 55.0);
}

/// Rounds of 100 ms in avoidance with a window of 20 packets that began at 10, of which so many came through.
fn calm_after(delivered: &[u64]) -> (u32, bool) {
    let mut f = flow(20, 100);
    f.ssthresh = packets(10);
    let setup = Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true };
    let mut cc = Agile::new(&Params::default(), setup);
    (cc.probing, cc.initial) = (false, 100_000.0);
    for &n in delivered {
        let end = Instant::ZERO + ms(100);
        let round = Round { end, delivered: packets(n), cwnd: packets(20), ..Round::default() };
        f.cwnd = packets(20);
        cc.judge(&mut f, &round);
    }
    (cc.calm, cc.probing)
}

#[test]
fn five_rounds_above_the_boundary_start_a_probe_and_one_below_counts_against_them() {
    // The boundary is 15 packets a round.
    assert_eq!(calm_after(&[16, 16, 16]), (3, false));
    assert_eq!(calm_after(&[16, 16, 15, 15, 15]), (0, false));
    assert_eq!(calm_after(&[16; 5]), (0, true));
}

#[test]
fn slow_start_begins_below_a_threshold_that_the_estimate_can_raise() {
    for (own_start, threshold) in [(true, packets(32)), (false, units::Bytes::MAX)] {
        let mut f = flow(10, 100);
        Agile::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start });
        assert_eq!(f.ssthresh, threshold);
    }
}

#[test]
fn a_probe_lifts_the_threshold_to_the_eligible_rate() {
    let mut f = flow(20, 100);
    let setup = Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true };
    let mut cc = Agile::new(&Params::default(), setup);
    f.ssthresh = packets(20);
    // A packet each ms: 100 in the base RTT.
    for n in 0..2000 {
        f.now = Instant::from_millis(n);
        (f.cwnd, f.ssthresh, cc.probing) = (packets(20), packets(20), true);
        let round = Round { number: 2, ..Round::default() };
        cc.on_ack(&mut f, &Ack { round: (n % 20 == 0).then_some(round), ..ack(1, 100) });
    }
    (f.cwnd, cc.probing) = (packets(20), true);
    cc.on_ack(&mut f, &Ack { round: Some(Round { number: 9, ..Round::default() }), ..ack(1, 100) });
    assert!((98_000..=103_000).contains(&f.ssthresh.get()), "{:?}", f.ssthresh);
}

#[test]
fn avoidance_begins_with_the_rate_of_the_threshold_that_slow_start_reached() {
    let mut f = flow(10, 100);
    let setup = Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true };
    let mut cc = Agile::new(&Params::default(), setup);
    (cc.calm, f.ssthresh) = (3, packets(12));
    cc.on_ack(&mut f, &ack(1, 100));
    assert_eq!((f.cwnd, cc.calm, cc.initial), (packets(11), 3, 0.0));
    cc.on_ack(&mut f, &ack(2, 100));
    assert_eq!((f.cwnd, cc.calm, cc.initial), (packets(12), 0, 120_000.0));
    assert!(cc.probing, "until a round at the threshold ends");
    cc.on_ack(&mut f, &Ack { round: Some(Round::default()), ..ack(1, 100) });
    assert!(!cc.probing);
}

#[test]
fn a_repair_ends_the_probe_and_its_end_begins_avoidance() {
    let mut f = flow(20, 100);
    let setup = Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true };
    let mut cc = Agile::new(&Params::default(), setup);
    let c = crate::testing::congestion(crate::Signal::Loss, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(10)), "no estimate yet");
    assert!(!cc.probing);
    (cc.calm, f.cwnd, f.ssthresh) = (2, packets(10), packets(30));
    cc.on_event(&mut f, Event::RecoveryEnd);
    assert_eq!((cc.calm, cc.initial), (0, 100_000.0));
}

#[test]
fn avoidance_probes_after_any_slow_start() {
    for own_start in [true, false] {
        let mut f = flow(20, 100);
        f.ssthresh = packets(10);
        let mut cc = Agile::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start });
        (cc.probing, f.ssthresh) = (false, packets(10));
        for _ in 0..5 {
            let round = Round { end: Instant::ZERO + ms(100), delivered: packets(20), ..Round::default() };
            f.cwnd = packets(20);
            cc.on_ack(&mut f, &Ack { round: Some(round), ..ack(0, 100) });
        }
        assert!(cc.probing, "{own_start}");
    }
}

#[test]
fn a_probe_that_was_told_of_is_told_to_end() {
    for told in [false, true] {
        let mut f = flow(20, 100);
        let setup = Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true };
        let mut cc = Agile::new(&Params::default(), setup);
        cc.told = told;
        let c = crate::testing::congestion(crate::Signal::Loss, &f);
        cc.on_congestion(&mut f, &c);
        let ends = f.drain_events().filter(|e| e.cause() == Some(crate::CauseKind::ProbeEnd)).count();
        assert_eq!((ends, cc.told), (usize::from(told), false));
    }
}
