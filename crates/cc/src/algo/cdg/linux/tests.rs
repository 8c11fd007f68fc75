//! Numbers of the reference (section 3.5) and the rules that differ from FreeBSD's.

use super::*;
use crate::testing::{congestion, value};
use crate::{Algorithm, CauseKind};
use params::Params as _;
use std::vec::Vec;
use units::{Duration, streams};

const MSS: u64 = 1000;

fn bench(spec: &str) -> (Linux, Flow) {
    let mut flow = Flow::new(Bytes::new(MSS), Bytes::new(100 * MSS));
    flow.ssthresh = Bytes::new(50 * MSS);
    flow.sent_to = flow.cwnd.get();
    let p = Params::from_spec(&spec.parse().unwrap()).unwrap();
    let setup = Setup { flow: &mut flow, rng: Rng::new(1, 0, streams::CC), own_start: true };
    let super::super::Cdg::Linux(cc) = super::super::Cdg::new(&p, setup) else { panic!("{spec} is not Linux's") };
    (cc, flow)
}

/// Acknowledges two packets with this RTT in µs.
fn ack(cc: &mut Linux, flow: &mut Flow, us: u64) -> Vec<CauseKind> {
    let acked = Bytes::new(2 * MSS);
    flow.rtt = Duration::from_micros(us);
    flow.acked_to += acked.get();
    let ack = Ack { cumulative: acked, delivered: acked, rtt: Some(flow.rtt), ..Ack::default() };
    cc.on_ack(flow, &ack);
    flow.drain_events().map(|e| e.cause().unwrap()).collect()
}

/// A whole round of such ACKs.
fn round(cc: &mut Linux, flow: &mut Flow, us: u64) -> Vec<CauseKind> {
    cc.round_ends = flow.acked_to;
    ack(cc, flow, us)
}

#[test]
fn probability_of_a_sum_of_ten_milliseconds() {
    let (mut cc, mut flow) = bench("cdg(reference=linux)");
    cc.backs_off(&mut flow, 10_000);
    assert!((cc.toss.probability - 0.3429).abs() < 1e-4);
}

#[test]
fn a_short_window_of_gradients_is_extrapolated() {
    let (mut cc, _) = bench("cdg(reference=linux)");
    cc.rtt_prev = MinMax { min: 1000, max: 1000 };
    cc.rtt = MinMax { min: 1100, max: 1000 };
    assert_eq!(cc.gradient(), 800);
    cc.rtt_prev = cc.rtt;
    assert_eq!(cc.gradient(), 400);
}

#[test]
fn a_backoff_is_asked_for_gently_and_its_round_is_left_out() {
    let (mut cc, mut flow) = bench("cdg(reference=linux, backoff_factor=65536)");
    round(&mut cc, &mut flow, 100_000);
    assert_eq!(round(&mut cc, &mut flow, 101_000), [CauseKind::DelayBackoff]);
    // One packet of growth in the first round: 101 packets before.
    let grown = flow.cwnd.get() / MSS;
    assert_eq!(flow.take_reduction(), Some(Bytes::new(grown * 724 / 1024 * MSS)));
    let sums = cc.sum.min;
    flow.phase = Phase::Reduced;
    round(&mut cc, &mut flow, 90_000);
    flow.phase = Phase::Open;
    cc.on_event(&mut flow, Event::RecoveryEnd);
    assert_eq!((cc.sum.min, cc.rtt_prev.min), (sums, 90_000));
}

#[test]
fn too_many_backoffs_are_ignored_until_delay_falls() {
    let (mut cc, mut flow) = bench("cdg(reference=linux, backoff_factor=65536)");
    let mut seen = Vec::new();
    for n in 0..20 {
        seen.extend(round(&mut cc, &mut flow, 100_000 + n * 1000));
    }
    assert_eq!(&seen[..5], [CauseKind::DelayBackoff; 5]);
    assert_eq!(seen[5], CauseKind::ModeSwitch, "into loss mode");
    assert!(seen[6..].iter().all(|k| *k == CauseKind::DelayIgnored), "no limit as FreeBSD's ten");
    let seen: Vec<_> = (0..10).flat_map(|n| round(&mut cc, &mut flow, 110_000 - n * 5000)).collect();
    assert_eq!(seen, vec![CauseKind::ModeSwitch], "delay is heard again");
    assert_eq!(cc.backoffs, 0);
}

#[test]
fn a_delayed_ack_may_only_lower_the_minimum() {
    let (mut cc, _) = bench("cdg(reference=linux)");
    let us = Duration::from_micros;
    cc.sample(us(1000), 2, false);
    cc.sample(us(5000), 1, false);
    assert_eq!((cc.rtt.min, cc.rtt.max), (1000, 1000));
    cc.sample(us(5000), 1, false);
    assert_eq!(cc.rtt.max, 5000, "the guess is used up");
}

#[test]
fn losses_cut_to_half_or_to_the_shadow() {
    let (mut cc, mut flow) = bench("cdg(reference=linux)");
    let c = congestion(Signal::Loss, &flow);
    assert_eq!(cc.on_congestion(&mut flow, &c), Reaction::Reduce(Bytes::new(50 * MSS)));
    cc.shadow = Bytes::new(500 * MSS);
    assert_eq!(cc.on_congestion(&mut flow, &c), Reaction::Reduce(Bytes::new(100 * MSS)), "capped at the window");
    (cc.queue, cc.shadow) = (QueueState::Rising, Bytes::ZERO);
    assert_eq!(
        cc.on_congestion(&mut flow, &c),
        Reaction::Reduce(Bytes::new(50 * MSS)),
        "not tolerated unless asked for"
    );
    let (mut cc, mut flow) = bench("cdg(reference=linux, use_tolerance=true)");
    assert_eq!(
        cc.on_congestion(&mut flow, &c),
        Reaction::Reduce(Bytes::new(50 * MSS)),
        "nothing is known of the queue"
    );
    cc.queue = QueueState::Rising;
    for (signal, reaction) in
        [(Signal::Loss, Reaction::Own), (Signal::Ecn, Reaction::Own), (Signal::Timeout, Reaction::Reduce(flow.cwnd))]
    {
        assert_eq!(cc.on_congestion(&mut flow, &Congestion { signal, ..c }), reaction, "{signal:?}");
    }
}

#[test]
fn windows_are_cut_to_whole_packets() {
    // The kernel counts packets: 101·724 >> 10 = 71, 101 >> 1 = 50; a shadow of 141 and a part leaves 70.
    let (mut cc, mut flow) = bench("cdg(reference=linux)");
    flow.cwnd = Bytes::new(101_400);
    cc.back_off(&mut flow);
    assert_eq!(flow.take_reduction(), Some(Bytes::new(71 * MSS)));
    cc.on_event(&mut flow, Event::RecoveryEnd);
    let c = congestion(Signal::Loss, &flow);
    for (shadow, to) in [(0, 50), (141_900, 70)] {
        cc.shadow = Bytes::new(shadow);
        assert_eq!(cc.on_congestion(&mut flow, &c), Reaction::Reduce(Bytes::new(to * MSS)));
    }
}

#[test]
fn growth_is_a_packet_a_window_and_the_shadows_too() {
    let (mut cc, mut flow) = bench("cdg(reference=linux)");
    cc.shadow = Bytes::new(150 * MSS);
    for n in 0..50 {
        assert_eq!(flow.cwnd, Bytes::new(100 * MSS), "ACK {n}");
        cc.round_ends = 1 << 30;
        ack(&mut cc, &mut flow, 100_000);
    }
    assert_eq!((flow.cwnd, cc.shadow), (Bytes::new(101 * MSS), Bytes::new(151 * MSS)));
    flow.cwnd_limited = false;
    ack(&mut cc, &mut flow, 100_000);
    assert_eq!(cc.shadow, flow.cwnd, "a window that is not used has no shadow beyond it");
}

#[test]
fn a_round_ends_behind_what_was_out_when_it_began() {
    let (mut cc, mut flow) = bench("cdg(reference=linux)");
    flow.sent_to = 6 * MSS;
    round(&mut cc, &mut flow, 100_000);
    flow.sent_to = 20 * MSS;
    let ends = [(); 3].map(|()| {
        ack(&mut cc, &mut flow, 100_000);
        cc.round_ends / MSS
    });
    assert_eq!(ends, [6, 6, 20], "`after`, so not with the last of it");
}

#[test]
fn the_largest_rtts_count_where_the_smallest_do_not_rise() {
    let (mut cc, _) = bench("cdg(reference=linux)");
    cc.rtt_prev = MinMax { min: 1000, max: 1000 };
    cc.rtt = MinMax { min: 1000, max: 1100 };
    assert_eq!(cc.gradient(), 800);
}

#[test]
fn small_sums_say_nothing_of_the_queue() {
    // Sums in µs in 64ths, rounded to the nearest.
    for (min, max, queue) in [
        (32, 31, QueueState::Full),
        (32, 32, QueueState::Rising),
        (31, 31, QueueState::Empty),
        (0, -31, QueueState::Empty),
        (0, -32, QueueState::Rising),
    ] {
        let (mut cc, _) = bench("cdg(reference=linux, use_tolerance=true)");
        (cc.queue, cc.rtt_prev) = (QueueState::Empty, MinMax { min: 1000, max: 1000 });
        cc.rtt = MinMax { min: 1000 + min, max: 1000 + max };
        cc.gradient();
        assert_eq!(cc.queue, queue, "{min} and {max}");
    }
}

#[test]
fn a_full_window_of_gradients_is_not_extrapolated() {
    let (mut cc, _) = bench("cdg(reference=linux)");
    let seen = (1..=9).map(|n| {
        (cc.rtt_prev, cc.rtt) = (cc.rtt, MinMax { min: 1000 + 100 * n, max: 1000 + 100 * n });
        cc.gradient()
    });
    // The first one is of 1100 to nothing; it falls out with the ninth.
    assert_eq!(seen.last(), Some(800));
}

#[test]
fn a_sum_that_falls_by_four_microseconds_a_round_shows_back_offs_to_work() {
    for (sums, backoffs) in [((-31, -31), 3), ((-32, 0), 0), ((0, -32), 0), ((31, 31), 3)] {
        let (mut cc, mut flow) = bench("cdg(reference=linux, backoff_factor=1)");
        round(&mut cc, &mut flow, 100_000);
        cc.backoffs = 3;
        (cc.sum.min, cc.sum.max) = sums;
        round(&mut cc, &mut flow, 100_000);
        assert_eq!(cc.backoffs, backoffs, "{sums:?}");
    }
}

#[test]
fn the_event_tells_sums_as_averages_in_ns() {
    let (mut cc, mut flow) = bench("cdg(reference=linux, backoff_factor=65536)");
    round(&mut cc, &mut flow, 100_000);
    cc.sum.max = 7000;
    (flow.rtt, flow.min_rtt) = (Duration::from_micros(101_000), Duration::from_micros(90_000));
    let acked = Bytes::new(2 * MSS);
    (cc.round_ends, flow.acked_to) = (0, acked.get());
    let rtt = Some(Duration::from_micros(101_000));
    cc.on_ack(&mut flow, &Ack { cumulative: acked, delivered: acked, rtt, ..Ack::default() });
    let e = flow.drain_events().next().unwrap();
    let of = |name: &str| value(&e, name);
    assert_eq!((of("g_min"), of("g_max")), (1_000_000, 1_000_000));
    assert_eq!((of("average_min"), of("average_max")), (125_000, 1_000_000));
    assert_eq!(of("queue"), 11_000_000);
    let mut seen = Vec::new();
    cc.vars(&mut |name, value| seen.push((name, value)));
    // G is what the factor makes of it, 1000/(G window).
    let g = 1000.0 / (65536.0 * 8.0);
    for (name, value) in
        [("g_min", 1.0), ("g_max", 1.0), ("average_min", 0.125), ("average_max", 1.0), ("consecutive", 1.0), ("g", g)]
    {
        assert!(seen.contains(&(name, value)), "{name}: {seen:?}");
    }
}

#[test]
fn what_sack_acknowledges_was_not_delayed() {
    let (mut cc, mut flow) = bench("cdg(reference=linux)");
    cc.delack = 3;
    for (cumulative, max) in [(1, 0), (0, 5000)] {
        let rtt = Some(Duration::from_micros(5000));
        let (cumulative, delivered) = (Bytes::new(cumulative * MSS), Bytes::new(MSS));
        cc.on_ack(&mut flow, &Ack { cumulative, delivered, rtt, ..Ack::default() });
        assert_eq!(cc.rtt.max, max, "{cumulative:?}");
    }
}

#[test]
fn slow_start_is_left_to_another_if_another_is_in_charge() {
    for (own_start, ssthresh, expected) in [
        (true, Bytes::MAX, vec![CauseKind::DelayBackoff]),
        (false, Bytes::MAX, vec![]),
        (true, Bytes::new(50 * MSS), vec![CauseKind::DelayBackoff]),
        (false, Bytes::new(50 * MSS), vec![CauseKind::DelayBackoff]),
    ] {
        let (mut cc, mut flow) = bench("cdg(reference=linux, backoff_factor=65536, hystart=0)");
        (cc.own_start, flow.ssthresh) = (own_start, ssthresh);
        round(&mut cc, &mut flow, 100_000);
        assert_eq!(round(&mut cc, &mut flow, 101_000), expected, "{own_start} {ssthresh:?}");
    }
}

#[test]
fn the_hybrid_slow_start_looks_below_the_threshold_alone() {
    for (ssthresh, ended) in [(Bytes::MAX, true), (Bytes::new(50 * MSS), false)] {
        let (mut cc, mut flow) = bench("cdg(reference=linux, backoff_factor=1)");
        flow.ssthresh = ssthresh;
        cc.round_ends = 1 << 30;
        let seen: Vec<_> = (0..100)
            .flat_map(|n| {
                flow.now += Duration::from_millis(1);
                ack(&mut cc, &mut flow, if n == 0 { 40_000 } else { 41_000 })
            })
            .collect();
        assert_eq!(seen.contains(&CauseKind::SlowStartExit), ended, "{ssthresh:?}");
    }
}

#[test]
fn a_lone_packets_ack_counts_while_none_for_several_came() {
    let (mut cc, _) = bench("cdg(reference=linux)");
    let us = Duration::from_micros;
    cc.sample(us(5000), 1, false);
    assert_eq!((cc.rtt.min, cc.rtt.max), (5000, 5000));
    cc.sample(us(7000), 3, false);
    assert_eq!((cc.rtt.min, cc.rtt.max, cc.delack), (5000, 7000, 1));
}

#[test]
fn queues_between_the_signs_are_what_they_were() {
    for was in [QueueState::Full, QueueState::Unknown] {
        for (min, max) in [(-64, 64), (0, 64), (0, 0), (-64, 0)] {
            let (mut cc, _) = bench("cdg(reference=linux, use_tolerance=true)");
            (cc.queue, cc.rtt_prev) = (was, MinMax { min: 1000, max: 1000 });
            cc.rtt = MinMax { min: 1000 + min, max: 1000 + max };
            cc.gradient();
            assert_eq!(cc.queue, was, "{min} and {max}");
        }
    }
}

#[test]
fn the_mode_that_begins_is_told() {
    let (mut cc, mut flow) = bench("cdg(reference=linux)");
    for (backoffs, expected) in
        [(4, None), (5, Some((modes::DELAY, modes::LOSS))), (6, None), (0, Some((modes::LOSS, modes::DELAY)))]
    {
        cc.count(&mut flow, backoffs);
        let told = flow.drain_events().next().map(|e| (value(&e, "from"), value(&e, "to")));
        assert_eq!(told, expected, "{backoffs}");
    }
}

#[test]
fn the_end_of_a_timeouts_repair_begins_no_round() {
    // A timeout of an open flow, one within a recovery, and a recovery.
    for (signal, again, begins) in
        [(Signal::Timeout, false, false), (Signal::Loss, true, false), (Signal::Loss, false, true)]
    {
        let (mut cc, mut flow) = bench("cdg(reference=linux)");
        ack(&mut cc, &mut flow, 100_000);
        let c = congestion(signal, &flow);
        cc.on_congestion(&mut flow, &c);
        if again {
            cc.on_event(&mut flow, Event::Timeout);
        }
        cc.on_event(&mut flow, Event::RecoveryEnd);
        assert_eq!(cc.rtt_prev.min, if begins { 100_000 } else { 0 }, "{signal:?} {again}");
        // The next recovery's end does.
        let c = congestion(Signal::Loss, &flow);
        cc.on_congestion(&mut flow, &c);
        ack(&mut cc, &mut flow, 100_000);
        cc.on_event(&mut flow, Event::RecoveryEnd);
        assert_eq!(cc.rtt_prev.min, 100_000);
    }
}

#[test]
fn a_backoff_that_was_not_carried_out_answers_the_next_loss() {
    // 724/1024 of 40 packets for the half, or the half of a shadow, that a loss costs else.
    for (ended, left, shadow) in [(None, 28, 40), (Some(Event::RecoveryEnd), 20, 20), (Some(Event::Restart), 20, 20)] {
        let (mut cc, mut flow) = bench("cdg(reference=linux, backoff_factor=65536)");
        flow.cwnd = Bytes::new(40 * MSS);
        (cc.shadow, flow.phase) = (Bytes::ZERO, Phase::Loss);
        cc.backs_off(&mut flow, 10_000);
        flow.take_reduction();
        if let Some(event) = ended {
            cc.on_event(&mut flow, event);
        }
        let c = congestion(Signal::Loss, &flow);
        assert_eq!(cc.on_congestion(&mut flow, &c), Reaction::Reduce(Bytes::new(left * MSS)), "{ended:?}");
        assert_eq!(cc.shadow, Bytes::new(shadow * MSS), "{ended:?}");
    }
}
