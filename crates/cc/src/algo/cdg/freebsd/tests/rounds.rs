//! What signs of a round lead to, what is left alone while a reaction is under way, and who grows.

use super::*;
use crate::testing::value;

/// The round after one of 110 and 120 ms, whose gradients are these.
fn moved(spec: &str, queue: QueueState, (min, max): (i64, i64)) -> Bench {
    let mut b = bench(spec);
    b.round(110, 120);
    (b.cc.consecutive, b.cc.queue, b.cc.shadow) = (3, queue, Bytes::new(70 * MSS));
    b.round((110 + min) as u64, (120 + max) as u64);
    assert_eq!((b.cc.min.average, b.cc.max.average), (min * 16, max * 16));
    b
}

#[test]
fn either_average_that_falls_shows_back_offs_to_work_and_signs_of_an_empty_queue_forget_the_shadow() {
    // The largest G makes a gradient of a millisecond count for nothing.
    let spec = "cdg(g=1000)";
    for queue in [QueueState::Empty, QueueState::Rising] {
        for min in -1..=1 {
            for max in -1..=1 {
                let b = moved(spec, queue, (min, max));
                let (fell, empty) = (min < 0 || max < 0, min == 0 && max < 0);
                assert_eq!(b.cc.consecutive, if fell { 0 } else { 3 }, "{min} {max}");
                assert_eq!(b.cc.shadow.is_zero(), empty, "{queue:?} {min} {max}");
            }
        }
    }
}

#[test]
fn events_tell_the_numbers_and_the_mode_that_begins() {
    let mut b = bench("cdg(g=0.1, consec_cong=1)");
    b.flow.min_rtt = Duration::from_millis(90);
    b.round(100, 120);
    b.silent_round(117, 121);
    let events: Vec<_> = b.flow.drain_events().collect();
    let of = |name: &str| value(&events[0], name);
    assert_eq!((of("probability"), of("queue")), (1_000_000_000, 31_000_000));
    assert_eq!((of("g_min"), of("g_max")), (17_000_000, 1_000_000));
    assert_eq!((of("average_min"), of("average_max")), (17_000_000 / 8, 125_000));
    assert_eq!(
        (value(&events[1], "from"), value(&events[1], "to"), value(&events[1], "queue")),
        (modes::DELAY, modes::LOSS, 31_000_000),
        "the next indication is ignored"
    );
    // What is shown over time is what the event told.
    let mut seen = Vec::new();
    b.cc.vars(&mut |name, value| seen.push((name, value)));
    for (name, value) in [
        ("g_min", 17.0),
        ("g_max", 1.0),
        ("average_min", 2.125),
        ("average_max", 0.125),
        ("probability", 1.0),
        ("consecutive", 1.0),
        ("shadow", b.cc.shadow.as_f64()),
        ("queue_state", QueueState::Rising as u8 as f64),
        ("g", 0.1),
    ] {
        assert!(seen.contains(&(name, value)), "{name}: {seen:?}");
    }
    // The round after has no gradient; the indication after that is ignored.
    b.round(117, 121);
    b.silent_round(134, 140);
    let ignored = b.flow.drain_events().next().unwrap();
    assert_eq!(ignored.cause(), Some(DelayIgnored));
    assert_eq!((value(&ignored, "consecutive"), value(&ignored, "queue")), (2, 50_000_000));
}

#[test]
fn a_round_without_samples_leaves_nothing_to_compare_with() {
    let mut b = bench("cdg(g=0.1)");
    b.round(100, 120);
    b.round(0, 0);
    assert_eq!(b.round(117, 120), vec![], "117 ms are no rise from nothing");
    assert_eq!((b.cc.min.last, b.cc.max.last), (0, 0));
    assert_eq!(b.round(134, 120), vec![DelayBackoff], "from here on there is something");
}

#[test]
fn only_the_first_slow_start_has_an_exit() {
    for (ssthresh, expected) in [(Bytes::MAX, SlowStartExit), (Bytes::new(200 * MSS), DelayBackoff)] {
        let mut b = bench("cdg(g=0.1)");
        b.flow.ssthresh = ssthresh;
        b.round(100, 100);
        assert_eq!(b.round(120, 120), vec![expected]);
    }
    // Its gradient is the one that was tossed for: the largest RTT's only where the smallest does not rise.
    for (min, gradient) in [(104, 4_000_000), (100, 20_000_000)] {
        let mut b = bench("cdg(g=0.1)");
        (b.flow.ssthresh, b.flow.min_rtt) = (Bytes::MAX, Duration::from_millis(90));
        b.round(100, 100);
        b.silent_round(min, 120);
        let exit = b.flow.drain_events().next().unwrap();
        let of = |name: &str| value(&exit, name);
        assert_eq!((of("reason"), of("gradient"), of("probability")), (exits::GRADIENT, gradient, 1_000_000_000));
        assert_eq!((of("rtt"), of("base_rtt")), (120_000_000, 90_000_000));
    }
}

#[test]
fn duplicates_grow_nothing() {
    for phase in [Phase::Open, Phase::Recovery] {
        let mut b = bench("cdg");
        (b.flow.phase, b.flow.ssthresh) = (phase, Bytes::MAX);
        b.cc.on_ack(&mut b.flow, &Ack { delivered: Bytes::new(MSS), ..Ack::default() });
        assert_eq!((b.cwnd(), b.flow.repair_growth), (100 * MSS, 0), "{phase:?}");
    }
}

#[test]
fn the_round_after_a_back_off_has_no_toss_where_the_toss_is_what_is_skipped() {
    let mut b = bench("cdg(g=0.1, skip=toss)");
    b.round(100, 120);
    assert_eq!(b.round(117, 120), vec![DelayBackoff]);
    assert_eq!((b.round(134, 137), b.cc.consecutive), (vec![], 1));
    assert_eq!(b.round(151, 154), vec![DelayBackoff]);
}

#[test]
fn while_a_reaction_is_under_way_indications_only_count_and_marks_wait() {
    let ecn = |b: &mut Bench| {
        let c = congestion(Signal::Ecn, &b.flow);
        b.cc.on_congestion(&mut b.flow, &c)
    };
    type Begin = fn(&mut Bench);
    let nothing: Begin = |_| ();
    let repair: Begin = |b| b.flow.phase = Phase::Recovery;
    let congestion: Begin = |b| b.cc.outstanding = Bytes::new(1000 * MSS);
    for (what, under_way, acts) in
        [("nothing", nothing, true), ("a repair", repair, false), ("congestion recovery", congestion, false)]
    {
        let mut b = bench("cdg(g=0.1)");
        b.round(100, 100);
        under_way(&mut b);
        let marked = if b.cc.outstanding.is_zero() { Reaction::Reduce(b.flow.newreno_mark()) } else { Reaction::Own };
        assert_eq!(b.round(117, 117), if acts { vec![DelayBackoff] } else { vec![] }, "{what}");
        assert_eq!(b.cc.consecutive, 1, "{what}");
        let mut b = bench("cdg");
        under_way(&mut b);
        assert_eq!(ecn(&mut b), marked, "{what}");
        assert_eq!(ecn(&mut b), Reaction::Own, "{what}: and the mark's own reaction is one");
    }
}

#[test]
fn the_shadow_grows_with_slow_start() {
    let mut b = bench("cdg");
    (b.flow.ssthresh, b.cc.shadow) = (Bytes::MAX, Bytes::new(30 * MSS));
    b.ack();
    assert_eq!((b.cwnd(), b.cc.shadow.get()), (101 * MSS, 31 * MSS));
}

#[test]
fn beyond_the_threshold_the_end_of_a_repair_adds_what_any_round_adds() {
    let mut b = bench("cdg(alpha_inc=2)");
    (b.cc.step, b.cc.shadow) = (3, Bytes::new(60 * MSS));
    (b.flow.phase, b.flow.ends_beyond) = (Phase::Recovery, true);
    b.cc.on_ack(&mut b.flow, &Ack { cumulative: Bytes::new(MSS), round: Some(Round::default()), ..Ack::default() });
    assert_eq!((u64::from(b.flow.repair_growth), b.cc.shadow.get()), (3 * MSS, 61 * MSS));
}

#[test]
fn only_freebsds_host_leaves_a_repair_with_more_than_before_it() {
    // (packets in flight, window left of 100)
    for (freebsd, out, left) in [(true, 120, 121), (false, 120, 100), (true, 99, 100), (true, 60, 61), (false, 60, 61)]
    {
        let mut b = bench("cdg");
        (b.flow.freebsd, b.flow.ssthresh, b.flow.in_flight) = (freebsd, Bytes::new(200 * MSS), Bytes::new(out * MSS));
        restart(&mut b.flow);
        assert_eq!(b.cwnd(), left * MSS, "{freebsd} {out}");
        assert_eq!(b.events().is_empty(), left == 100, "{freebsd} {out}: the same window is no event");
    }
}

#[test]
fn a_window_that_is_not_filled_grows_where_freebsd_forgets_to_ask() {
    // (spec, window used, receive window in packets, packets grown)
    for (spec, used, receive, grown) in [
        ("cdg", true, 1000, 1),
        ("cdg", false, 1000, 1),
        ("cdg", false, 100, 0),
        ("cdg(reference=paper)", true, 1000, 2),
        ("cdg(reference=paper)", false, 1000, 0),
    ] {
        let mut b = bench(spec);
        (b.flow.ssthresh, b.flow.cwnd_limited, b.flow.receive_window) = (Bytes::MAX, used, Bytes::new(receive * MSS));
        b.ack();
        assert_eq!(b.cwnd(), (100 + grown) * MSS, "{spec}, used {used}, {receive}");
    }
}
