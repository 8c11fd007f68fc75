//! Loss mode, the probes for competitors, and the base RTT beside them.

use super::*;

/// In loss mode, with the queue at 150 ms.
fn in_loss_mode(spec: &str) -> Bench {
    let mut b = bench(spec);
    for _ in 0..4 {
        b.round(250, 250);
    }
    assert_eq!(b.wake(), vec![CauseKind::ModeSwitch]);
    assert_eq!((b.var("mode"), b.flow.ssthresh), (1.0, Bytes::MAX), "begins with slow start");
    b
}

/// In a probe for competitors, from a window of 200 packets five seconds after loss mode began.
fn in_probe(spec: &str) -> Bench {
    let mut b = in_loss_mode(spec);
    b.flow.now += ms(5001);
    b.flow.cwnd = packets(200);
    b.congest(Signal::Loss);
    b.kinds();
    b
}

#[test]
fn competitors_make_it_cubic_and_a_probe_finds_them_gone() {
    let mut b = in_loss_mode("hldg");
    let before = b.flow.cwnd;
    b.round(250, 250);
    assert_eq!(b.flow.cwnd, before + packets(2), "slow start, two ACKs");
    // Within five seconds a loss is CUBIC's.
    let window = b.flow.cwnd;
    assert_eq!(b.congest(Signal::Loss), Reaction::Reduce(window.mul_f64(0.7)));
    b.flow.ssthresh = window.mul_f64(0.7);
    b.flow.cwnd = b.flow.ssthresh;
    b.flow.now += ms(5001);
    // The bandwidth of the round before the probe: 8 Mbit/s.
    b.paced_round(250, 250, packets(250));
    assert_eq!(b.congest(Signal::Loss), Reaction::Own);
    assert_eq!((b.flow.cwnd, b.flow.ssthresh, b.var("mode")), (packets(2), packets(2), 2.0));
    assert_eq!(b.kinds(), vec![CauseKind::LossBackoff, CauseKind::ModeSwitch, CauseKind::ProbeStart]);
    // One long round in four: gone.
    let mut seen = b.paced_round(250, 250, packets(2));
    for _ in 0..3 {
        seen.extend(b.paced_round(100, 100, packets(2)));
    }
    assert_eq!(seen, vec![CauseKind::ProbeEnd, CauseKind::ModeSwitch]);
    // 0.95 · 1 MB/s · 100 ms, regrown as in slow start, while losses are still repaired too.
    assert_eq!((b.var("mode"), b.flow.ssthresh), (0.0, Bytes::new(95_000)));
    for phase in [Phase::Open, Phase::Recovery] {
        b.flow.phase = phase;
        let before = b.flow.cwnd;
        b.ack(100, None);
        assert_eq!(b.flow.cwnd, before + packets(1), "{phase:?}");
    }
    b.flow.cwnd = b.flow.ssthresh;
    b.ack(100, None);
    assert_eq!(b.flow.cwnd, b.flow.ssthresh, "and no further while they are");
    b.cc.on_event(&mut b.flow, Event::RecoveryEnd);
    let before = b.flow.cwnd;
    b.ack(100, None);
    assert_eq!(b.flow.cwnd, before, "the next recovery is the host's");
}

#[test]
fn a_probe_keeps_its_two_packets_through_losses_and_marks() {
    let kept = [(Signal::Loss, packets(2)), (Signal::Ecn, packets(2)), (Signal::Timeout, packets(1))];
    for ((signal, to), shadow) in kept.into_iter().flat_map(|kept| [(kept, 0), (kept, 210)]) {
        let mut b = in_loss_mode("hldg");
        b.cc.shadow = packets(shadow);
        b.flow.now += ms(5001);
        assert_eq!(b.congest(Signal::Loss), Reaction::Own);
        assert_eq!((b.flow.cwnd, b.var("mode")), (packets(2), 2.0));
        assert_eq!(b.congest(signal), Reaction::Reduce(to), "{signal:?}: the shadow is of the time before loss mode");
        assert!(!b.cc.start.searching, "{signal:?}: what regrows after the probe is not searched in");
    }
}

#[test]
fn a_probe_that_finds_them_restores_the_window_in_two_rtts() {
    let mut b = in_probe("hldg");
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.extend(b.paced_round(250, 250, packets(2)));
    }
    assert_eq!(seen, vec![CauseKind::Restore, CauseKind::ProbeEnd, CauseKind::ModeSwitch]);
    assert_eq!((b.var("mode"), b.cc.modes.mode), (3.0, Mode::Loss));
    assert_eq!(b.flow.ssthresh, packets(140), "a repair may use CUBIC's");
    let from = b.flow.now;
    while b.cc.loss_mode.restoring() {
        b.wake();
    }
    // One second after a loss at 200 packets, K = 5.3 s: 200 − 0.4·4.3³.
    assert!((b.flow.cwnd.get() as f64 - 167_800.0).abs() < 700.0, "{:?}", b.flow.cwnd);
    let took = b.flow.now.since(from).as_millis_f64();
    assert!((took - 500.0).abs() < 5.0, "{took}");
}

/// What the probe's RTTs are, in the order they are measured, and the mode that they lead to.
const PROBES: [(&[u64], Mode); 6] = [
    (&[250, 100, 100, 100], Mode::Delay),
    (&[250, 250, 100, 100], Mode::Loss),
    (&[100, 100, 100, 250], Mode::Delay),
    (&[250, 250, 250, 250], Mode::Loss),
    (&[100, 100, 100], Mode::Probe),
    (&[250, 250, 250], Mode::Probe),
];

#[test]
fn a_probe_whose_rounds_go_by_sequence_counts_rtts_by_the_clock_and_freebsds_its_rounds() {
    for ((rtts, mode), freebsd) in PROBES.into_iter().flat_map(|probe| [(probe, false), (probe, true)]) {
        let mut b = in_probe("hldg");
        b.flow.freebsd = freebsd;
        for &rtt in rtts {
            // Ten samples in the RTT, of which the smallest counts, and no round that ends.
            for more in (0..10).rev() {
                b.flow.now += ms(rtt / 10 + u64::from(more == 0));
                b.flow.rtt = ms(rtt + more);
                b.ack(rtt + more, None);
            }
        }
        let expected = if freebsd { Mode::Probe } else { mode };
        assert_eq!(b.cc.modes.mode, expected, "{rtts:?}, FreeBSD {freebsd}");
        let mut b = in_probe("hldg");
        b.flow.freebsd = freebsd;
        for &rtt in rtts {
            b.paced_round(rtt, rtt, packets(2));
        }
        assert_eq!(b.cc.modes.mode, mode, "{rtts:?}, FreeBSD {freebsd}: a round in each RTT");
    }
}

#[test]
fn an_rtt_without_a_sample_is_none_of_a_probes() {
    // The samples of five RTTs, the rest of them silent: retransmissions are not measured.
    let mut b = in_probe("hldg");
    for sample in 1..=4 {
        assert_eq!(b.cc.modes.mode, Mode::Probe, "{sample}");
        b.flow.now += ms(450);
        b.ack(100, None);
    }
    assert_eq!(b.cc.modes.mode, Mode::Delay);
    // One RTT has several.
    let mut b = in_probe("hldg");
    for _ in 0..8 {
        b.flow.now += ms(40);
        b.ack(100, None);
    }
    assert_eq!((b.cc.modes.mode, b.var("detection")), (Mode::Probe, 0.0));
    assert!(b.cc.wake().is_some_and(|at| at > b.flow.now), "and it has an end if there are no more");
}

#[test]
fn a_literal_probe_ends_with_its_fourth_round_and_short_ones_end_loss_mode_later() {
    // Two long rounds of four: back to loss mode, where the next short round makes it one of four.
    let mut b = in_probe("hldg(probe_rounds=ended, leave_loss=true)");
    b.flow.freebsd = true;
    let mut seen = Vec::new();
    for rtt in [250, 250, 100, 100] {
        seen.extend(b.paced_round(rtt, rtt, packets(2)));
    }
    assert_eq!(seen, vec![CauseKind::Restore, CauseKind::ProbeEnd, CauseKind::ModeSwitch]);
    assert!(b.paced_round(100, 100, packets(2)).contains(&CauseKind::ModeSwitch));
    assert!(b.cc.modes.mode == Mode::Delay && !b.cc.loss_mode.restoring());
}

#[test]
fn the_dwell_counts_from_delay_mode_or_from_every_return() {
    for (spec, probes) in [("hldg", true), ("hldg(dwell_again=true)", false)] {
        let mut b = in_probe(spec);
        while b.cc.modes.mode == Mode::Probe {
            b.paced_round(250, 250, packets(2));
        }
        assert_eq!(b.cc.modes.mode, Mode::Loss, "somebody is there");
        b.flow.now += ms(4000);
        b.congest(Signal::Loss);
        assert_eq!(
            b.cc.modes.mode == Mode::Probe,
            probes,
            "{spec}: longer than the last probe, less than five seconds"
        );
    }
}

#[test]
fn partial_acks_grow_the_window_of_a_repair_in_loss_mode() {
    for (spec, delay, loss) in
        [("hldg", false, true), ("hldg(repair_growth=none)", false, false), ("hldg(repair_growth=both)", true, true)]
    {
        for (mut b, grows) in [(bench(spec), delay), (in_loss_mode(spec), loss)] {
            b.congest(Signal::Loss);
            b.flow.phase = Phase::Recovery;
            let before = b.flow.cwnd;
            b.ack(250, None);
            assert_eq!((b.flow.cwnd, b.flow.repair_growth > 0), (before, grows), "{spec}");
            (b.flow.repair_growth, b.flow.ends_beyond) = (0, true);
            b.ack(250, None);
            assert_eq!(b.flow.repair_growth, 0, "{spec}: the last leaves slow start");
            b.flow.ends_beyond = false;
            let grown = u64::from(grows && b.cc.modes.mode == Mode::Delay);
            let mut shadow_after = |shadow| {
                b.cc.shadow = packets(shadow);
                b.ack(250, None);
                b.cc.shadow
            };
            assert_eq!([shadow_after(0), shadow_after(9)], [packets(0), packets(9 + grown)], "{spec}");
        }
    }
}

#[test]
fn the_base_rtt_is_not_sought_beneath_a_queue_that_may_be_competitors() {
    // A round 200 ms above the base: the probe that is due waits, and after four of them loss mode begins.
    let mut b = bench("hldg");
    b.flow.now = Instant::from_millis(33_000);
    b.round(300, 300);
    assert!(!b.wake().contains(&CauseKind::ProbeStart), "suspected");
    for _ in 0..3 {
        b.round(300, 300);
    }
    let mut seen = Vec::new();
    while b.cc.modes.mode == Mode::Delay {
        seen.extend(b.wake());
    }
    assert_eq!((seen.contains(&CauseKind::ProbeStart), b.var("base_rtt")), (false, 100.0));
    // Without the modes nothing decides later, and it is sought as ever.
    let mut alone = bench("hldg(mode_switch=false)");
    alone.flow.now = Instant::from_millis(33_000);
    alone.round(300, 300);
    assert!(alone.wake().contains(&CauseKind::ProbeStart));
}

#[test]
fn a_probe_for_the_base_rtt_cut_short_by_a_loss_keeps_the_base() {
    let mut b = bench("hldg");
    b.flow.now = Instant::from_millis(33_000);
    assert!(b.wake().contains(&CauseKind::ProbeStart));
    b.ack(280, None);
    b.congest(Signal::Loss);
    assert_eq!((b.var("base_rtt"), b.cc.base.probing(), b.cc.base.due(b.flow.now)), (100.0, false, true));
    assert!(b.kinds().contains(&CauseKind::ProbeEnd));
}

#[test]
fn loss_mode_left_without_a_probe_goes_by_the_rate_of_now() {
    let mut b = in_loss_mode("hldg(leave_loss=true)");
    assert_eq!(b.cc.bandwidth_before_probe, Rate::ZERO);
    b.flow.now = Instant::from_millis(20_000);
    let mut rounds = 0;
    while b.cc.modes.mode == Mode::Loss {
        b.paced_round(110, 110, packets(110));
        rounds += 1;
    }
    // 8 Mbit/s over 100 ms are 100 packets.
    assert_eq!((rounds, b.flow.ssthresh), (3, packets(100).mul_f64(b.cc.p.lambda())));
}

#[test]
fn a_mark_in_loss_mode_leaves_nothing_to_repair() {
    for (signal, repairing) in [(Signal::Ecn, false), (Signal::Loss, true)] {
        let mut b = in_loss_mode("hldg");
        b.flow.now = Instant::from_millis(20_000);
        assert_eq!((b.congest(signal), b.cc.repairing), (Reaction::Own, repairing));
        assert_eq!(b.cc.modes.mode, Mode::Probe);
    }
}

#[test]
fn a_repair_that_proves_needless_is_over() {
    let mut b = in_loss_mode("hldg");
    b.flow.now = Instant::from_millis(20_000);
    b.congest(Signal::Loss);
    assert!(b.cc.repairing);
    b.cc.on_undo(&mut b.flow);
    assert!(!b.cc.repairing);
}

#[test]
fn what_delay_mode_left_behind_is_not_done_in_loss_mode() {
    let mut b = in_loss_mode("hldg");
    (b.cc.lift, b.flow.ssthresh) = (packets(400), packets(50));
    b.cc.on_event(&mut b.flow, Event::RecoveryEnd);
    assert_eq!(b.flow.ssthresh, packets(50), "no threshold is lifted");
    b.flow.cwnd = packets(100);
    b.flow.now = b.cc.base.deadline() + ms(1);
    b.cc.on_event(&mut b.flow, Event::Wake);
    assert!(!b.cc.base.probing(), "no base RTT is sought");
    let mut b = bench("hldg");
    b.cc.on_event(&mut b.flow, Event::Wake);
    assert!(!b.cc.base.probing(), "nor in delay mode before its time");
}

#[test]
fn after_a_probe_that_found_nobody_the_flow_searches_where_asked_and_keeps_the_base_for_its_whole_window() {
    for (spec, searches, regrows) in
        [("hldg", false, true), ("hldg(after_probe=search)", true, true), ("hldg(after_probe=stay)", false, false)]
    {
        let mut b = in_loss_mode(spec);
        b.flow.now += ms(40_000);
        b.paced_round(250, 250, packets(250));
        b.congest(Signal::Loss);
        for _ in 0..4 {
            b.paced_round(100, 100, packets(2));
        }
        assert_eq!(b.cc.modes.mode, Mode::Delay, "{spec}");
        assert_eq!((b.cc.start.searching, b.flow.cwnd < b.flow.ssthresh), (searches, regrows), "{spec}");
        assert!(b.cc.base.deadline() >= b.flow.now + ms(29_000), "{spec}: it stood still in the other modes");
    }
}

#[test]
fn a_probe_that_no_ack_ends_is_told_as_one() {
    let mut b = in_probe("hldg");
    b.flow.now = b.cc.wake().expect("a probe has an end");
    b.cc.on_event(&mut b.flow, Event::Wake);
    let events = b.events();
    let switch = events.iter().find(|e| e.cause() == Some(CauseKind::ModeSwitch)).expect("back to loss mode");
    let value = |name| crate::testing::value(switch, name);
    assert_eq!((value("from"), value("to")), (modes::PROBE, modes::LOSS));
    assert!(events.iter().any(|e| e.cause() == Some(CauseKind::ProbeEnd)));
}

#[test]
fn a_repair_in_delay_mode_grows_no_window_below_the_threshold() {
    for (repairing, grown) in [(false, 0), (true, 1)] {
        let mut b = bench("hldg");
        (b.flow.phase, b.cc.repairing) = (Phase::Recovery, repairing);
        b.flow.ssthresh = b.flow.cwnd + packets(50);
        let before = b.flow.cwnd;
        b.ack(100, None);
        assert_eq!(b.flow.cwnd, before + packets(grown), "of what was lost before a probe: {repairing}");
    }
}
