use super::*;
use crate::testing::{ack, congestion, flow, packets};
use crate::{Phase, build};
use std::boxed::Box;
use units::Rng;

fn newreno(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
    build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
}

#[test]
fn congestion_halves_the_window_in_whole_segments() {
    // Reference, section 1.3.
    for (spec, cwnd, to) in [
        ("newreno", 10, 5_000),
        ("newreno", 7, 3_000),
        ("newreno(reference=rfc)", 7, 3_500),
        ("newreno", 3, 2_000),
        ("newreno(reference=freebsd)", 3, 2_000),
    ] {
        let mut f = flow(cwnd, 100);
        let mut cc = newreno(spec, &mut f);
        let c = congestion(Signal::Loss, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(Bytes::new(to)), "{spec} from {cwnd}");
    }
}

#[test]
fn with_abe_a_mark_leaves_four_fifths() {
    // Reference, section 0.6.
    for (spec, signal, to) in [
        ("newreno(abe=true)", Signal::Ecn, 80),
        ("newreno(abe=true)", Signal::Loss, 50),
        ("newreno(abe=true, beta_ecn=0.7)", Signal::Ecn, 70),
        ("newreno", Signal::Ecn, 50),
    ] {
        let mut f = flow(100, 100);
        let mut cc = newreno(spec, &mut f);
        let c = congestion(signal, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(to)), "{spec} {signal:?}");
    }
}

#[test]
fn slow_start_counts_one_two_or_all_segments_of_an_ack() {
    for (spec, grown) in
        [("newreno(reference=rfc)", 1), ("newreno(reference=freebsd)", 2), ("newreno(reference=linux)", 3)]
    {
        let mut f = flow(10, 100);
        newreno(spec, &mut f).on_ack(&mut f, &ack(3, 100));
        assert_eq!(f.cwnd, packets(10 + grown), "{spec}");
    }
    let mut f = flow(10, 100);
    let mut cc = newreno("newreno(reference=freebsd)", &mut f);
    (f.phase, f.resends) = (Phase::Loss, true);
    cc.on_ack(&mut f, &ack(3, 100));
    assert_eq!(f.cwnd, packets(11), "one after a timeout");
    f.resends = false;
    cc.on_ack(&mut f, &ack(3, 100));
    assert_eq!(f.cwnd, packets(13), "two once all has been sent again");
}

#[test]
fn freebsd_counts_two_segments_an_ack_and_forgets_the_count_in_slow_start() {
    for (spec, acks) in [("newreno", 2), ("newreno(reference=freebsd)", 3)] {
        let mut f = flow(6, 100);
        f.ssthresh = packets(5);
        let mut cc = newreno(spec, &mut f);
        let grown = (1..9).find(|_| {
            cc.on_ack(&mut f, &ack(3, 100));
            f.cwnd > packets(6)
        });
        assert_eq!(grown, Some(acks), "{spec}");
    }
    let mut f = flow(6, 100);
    f.ssthresh = packets(5);
    let mut cc = newreno("newreno(reference=freebsd)", &mut f);
    cc.on_ack(&mut f, &ack(2, 100));
    cc.on_ack(&mut f, &ack(2, 100));
    f.ssthresh = packets(6);
    cc.on_ack(&mut f, &ack(1, 100));
    assert_eq!(f.cwnd, packets(7), "slow start");
    cc.on_ack(&mut f, &ack(2, 100));
    cc.on_ack(&mut f, &ack(2, 100));
    cc.on_ack(&mut f, &ack(2, 100));
    assert_eq!(f.cwnd, packets(7), "four of six were counted before it");
}

#[test]
fn only_freebsd_lets_a_repair_leave_one_segment() {
    for (spec, least) in [("newreno", 2), ("newreno(reference=freebsd)", 1)] {
        let mut f = flow(10, 100);
        let _ = newreno(spec, &mut f);
        assert_eq!(f.floor, packets(least), "{spec}");
    }
}

#[test]
fn a_round_of_avoidance_adds_one_segment() {
    let mut f = flow(10, 100);
    f.ssthresh = packets(5);
    let mut cc = newreno("newreno", &mut f);
    for _ in 0..5 {
        cc.on_ack(&mut f, &ack(2, 100));
    }
    assert_eq!(f.cwnd, packets(11));
    (f.phase, f.cwnd_limited) = (Phase::Recovery, true);
    cc.on_ack(&mut f, &ack(20, 100));
    (f.phase, f.cwnd_limited) = (Phase::Open, false);
    cc.on_ack(&mut f, &ack(20, 100));
    assert_eq!(f.cwnd, packets(11), "neither recovery nor an unused window grows");
}
