use super::*;
use crate::testing::{ack, closing, congestion, flow, ms, packets};
use crate::{CauseKind, Phase, Sent, Signal, build};
use std::boxed::Box;
use std::vec::Vec;
use units::Rng;

fn vegas(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
    build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
}

#[test]
fn twenty_packets_at_120_over_100_ms_by_three_rules() {
    // Reference, section 2.3.
    assert!((delta_paper(20.0, ms(120), ms(100)) - 3.33).abs() < 0.005);
    assert_eq!(delta_linux(20, Duration::from_micros(119_999), Duration::from_micros(99_999)), 4);
    let window = Bytes::new(28_960);
    assert_eq!(delta_freebsd(window, window, ms(120), ms(100), Bytes::new(1448)), 3);
}

/// The window after one round in avoidance from 20 packets with a base RTT of 100 ms.
fn after_round(spec: &str, rtt: u64) -> u64 {
    let mut f = flow(20, 100);
    f.ssthresh = packets(10);
    let mut cc = vegas(spec, &mut f);
    let mut last = closing(20, rtt);
    last.round.as_mut().unwrap().sent = f.cwnd;
    cc.on_ack(&mut f, &last);
    f.cwnd.get() / 1000
}

#[test]
fn one_packet_up_below_alpha_and_down_above_beta() {
    // Δ = 0.95, 2, 3.33 in the paper's measure.
    assert_eq!([105, 111, 120].map(|rtt| after_round("vegas", rtt)), [21, 20, 19]);
    assert_eq!([109, 120, 126].map(|rtt| after_round("vegas(reference=linux)", rtt)), [21, 20, 19]);
    assert_eq!([104, 120, 126].map(|rtt| after_round("vegas(reference=freebsd)", rtt)), [21, 20, 19]);
}

/// Windows after each of four rounds of slow start without a queue.
fn start(spec: &str) -> Vec<u64> {
    let mut f = flow(2, 100);
    let mut cc = vegas(spec, &mut f);
    let mut round = |_| {
        for n in 0..f.cwnd.get() / 1000 {
            cc.on_ack(&mut f, &if n == 0 { closing(1, 100) } else { ack(1, 100) });
        }
        f.cwnd.get() / 1000
    };
    (0..4).map(&mut round).collect()
}

#[test]
fn slow_start_doubles_every_other_round_and_linux_every_round() {
    assert_eq!(start("vegas"), [2, 4, 4, 8]);
    assert_eq!(start("vegas(reference=linux)"), [4, 8, 16, 32]);
    assert_eq!(start("vegas(slow_start=standard)"), [4, 8, 16, 32]);
}

#[test]
fn a_queue_ends_slow_start_with_its_numbers() {
    // FreeBSD takes cwnd == ssthresh for slow start, so the next ACK adds once more there.
    for (spec, window, still) in [
        ("vegas", 17_500, false),
        ("vegas(reference=linux)", 16_000, false),
        ("vegas(reference=freebsd)", 19_000, true),
    ] {
        let mut f = flow(20, 100);
        let mut cc = vegas(spec, &mut f);
        let mut last = closing(20, 130);
        last.round.as_mut().unwrap().sent = f.cwnd;
        cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..last });
        assert_eq!((f.cwnd.get(), f.in_slow_start()), (window, still), "{spec}");
        let event = f.drain_events().next().unwrap();
        assert_eq!((event.cause(), event.values[0]), (Some(CauseKind::SlowStartExit), exits::QUEUED));
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut f = flow(20, 100);
    (f.ssthresh, f.cwnd_limited) = (packets(10), false);
    let mut cc = vegas("vegas", &mut f);
    cc.on_ack(&mut f, &closing(20, 100));
    assert_eq!(f.cwnd, packets(20));
}

/// Sends and acknowledges a segment; what a closing ACK of `samples` RTTs says then.
fn ends_round(f: &Flow, rtt: u64, samples: u32) -> Ack {
    let mut last = closing(1, rtt);
    let round = last.round.as_mut().unwrap();
    (round.samples, round.sent, round.start, round.end) = (samples, f.cwnd, f.now, f.now);
    last
}

#[test]
fn linux_is_reno_for_the_ack_that_ends_a_round_of_two_samples_and_for_no_other() {
    let mut f = flow(4, 100);
    f.ssthresh = packets(2);
    let mut cc = vegas("vegas(reference=linux)", &mut f);
    // Four packets acknowledged as Reno are one packet more; the ACKs between the ends of rounds count nothing.
    let windows = [(); 4].map(|()| {
        let last = ends_round(&f, 100, 2);
        cc.on_ack(&mut f, &last);
        (0..3).for_each(|_| cc.on_ack(&mut f, &ack(1, 100)));
        f.cwnd.get()
    });
    assert_eq!(windows, [4000, 4000, 4000, 5000]);
    let last = ends_round(&f, 100, 3);
    cc.on_ack(&mut f, &last);
    assert_eq!(f.cwnd, packets(6), "three samples are Vegas'");
}

#[test]
fn linux_is_reno_while_what_a_timeout_lost_is_sent_again() {
    let mut f = flow(20, 100);
    (f.ssthresh, f.phase) = (packets(40), Phase::Loss);
    let mut cc = vegas("vegas(reference=linux)", &mut f);
    let last = ends_round(&f, 200, 20);
    cc.on_ack(&mut f, &last);
    assert_eq!((f.cwnd, f.ssthresh), (packets(21), packets(40)), "a queue of ten packets ends no slow start");
}

#[test]
fn linux_forgets_its_base_whenever_nothing_is_outstanding() {
    let left = |in_flight: u64, spec: &str| {
        let mut f = flow(20, 100);
        f.ssthresh = packets(10);
        let mut cc = vegas(spec, &mut f);
        cc.on_ack(&mut f, &ack(0, 100));
        let sent = Sent { size: packets(1), in_flight: packets(in_flight), retransmission: false };
        cc.on_sent(&mut f, &sent);
        // Over 100 ms 150 are ten packets queued; without that base they are the path.
        let last = Ack { cumulative: Bytes::ZERO, ..ends_round(&f, 150, 20) };
        cc.on_ack(&mut f, &last);
        f.cwnd.get() / 1000
    };
    assert_eq!([2, 1].map(|n| left(n, "vegas(reference=linux)")), [19, 21]);
    assert_eq!([2, 1].map(|n| left(n, "vegas")), [19, 19]);
}

#[test]
fn linux_judges_no_round_that_began_before_a_recovery_ended() {
    let judged = |later: u64, undone: bool| {
        let mut f = flow(20, 100);
        f.ssthresh = packets(10);
        let mut cc = vegas("vegas(reference=linux)", &mut f);
        let round = ends_round(&f, 150, 20);
        f.now += ms(50);
        if undone {
            cc.on_undo(&mut f)
        } else {
            cc.on_event(&mut f, Event::RecoveryEnd)
        }
        let mut last = Ack { cumulative: Bytes::ZERO, ..round };
        last.round.as_mut().unwrap().start += ms(later);
        cc.on_ack(&mut f, &last);
        f.cwnd.get() / 1000
    };
    assert_eq!([(49, false), (50, false), (49, true), (50, true)].map(|(at, undo)| judged(at, undo)), [20, 19, 20, 19]);
}

#[test]
fn kernels_cut_to_whole_segments() {
    for (spec, left) in [("vegas", 7500), ("vegas(reference=linux)", 7000), ("vegas(reference=freebsd)", 7000)] {
        let mut f = flow(15, 100);
        let mut cc = vegas(spec, &mut f);
        let c = congestion(Signal::Loss, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(Bytes::new(left)), "{spec}");
    }
}

/// FreeBSD's window after each of these rounds from its threshold of 20 packets, of which so many are queued.
fn freebsd_after(signal: Option<Signal>, queued: &[u64]) -> Vec<u64> {
    let mut f = flow(40, 100);
    let mut cc = vegas("vegas(reference=freebsd)", &mut f);
    if let Some(signal) = signal {
        let c = congestion(signal, &f);
        cc.on_congestion(&mut f, &c);
    }
    (f.cwnd, f.ssthresh) = (packets(20), packets(20));
    let mut round = |queued: &u64| {
        let mut last = ends_round(&f, 100, 20);
        last.round.as_mut().unwrap().sent = f.cwnd - packets(*queued);
        cc.on_ack(&mut f, &last);
        (0..24).for_each(|_| cc.on_ack(&mut f, &ack(1, 100)));
        f.cwnd.get() / 1000
    };
    queued.iter().map(&mut round).collect()
}

#[test]
fn freebsds_toggle_outlasts_the_threshold() {
    // A timeout leaves the toggle as it was: on here, so that a round without a queue turns it off, and one with a queue
    // between α and β keeps it. On, it hands ACKs to NewReno, beyond the threshold too.
    assert_eq!(freebsd_after(Some(Signal::Timeout), &[2, 2, 0, 2]), [22, 23, 24, 24]);
    assert_eq!(freebsd_after(None, &[2, 2, 0, 2]), [22, 23, 24, 24]);
    // A loss or a mark turns it off; the first round without a queue turns it on.
    for signal in [Signal::Loss, Signal::Ecn] {
        assert_eq!(freebsd_after(Some(signal), &[2, 0, 2, 4, 2]), [20, 22, 23, 22, 22], "{signal:?}");
    }
}

#[test]
fn a_freebsd_repair_may_leave_one_packet_and_a_queue_two() {
    for (reference, floor) in [("paper", 2), ("linux", 2), ("freebsd", 1)] {
        let mut f = flow(4, 100);
        f.ssthresh = packets(2);
        let mut cc = vegas(&std::format!("vegas(alpha=0.1, beta=0.1, reference={reference})"), &mut f);
        let windows = [(); 3].map(|()| {
            let mut last = Ack { cumulative: Bytes::ZERO, ..ends_round(&f, 1000, 20) };
            last.round.as_mut().unwrap().sent = packets(1);
            cc.on_ack(&mut f, &last);
            f.cwnd
        });
        assert_eq!((f.floor, windows), (packets(floor), [3, 2, 2].map(packets)), "{reference}");
    }
}

#[test]
fn after_congestion_slow_start_grows_in_its_first_round() {
    let mut f = flow(20, 100);
    let mut cc = vegas("vegas", &mut f);
    cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..closing(0, 100) });
    cc.on_ack(&mut f, &ack(4, 100));
    assert_eq!(f.cwnd, packets(20), "this round rests");
    let c = congestion(Signal::Timeout, &f);
    cc.on_congestion(&mut f, &c);
    (f.cwnd, f.ssthresh, f.phase) = (packets(2), packets(10), Phase::Loss);
    cc.on_ack(&mut f, &ack(2, 100));
    assert_eq!(f.cwnd, packets(4));
}

#[test]
fn linux_keeps_the_threshold_at_three_quarters_of_the_window() {
    for (threshold, left) in [(10, 15_750), (18, 18_000)] {
        let mut f = flow(20, 100);
        f.ssthresh = packets(threshold);
        let mut cc = vegas("vegas(reference=linux)", &mut f);
        cc.on_ack(&mut f, &closing(20, 100));
        assert_eq!((f.cwnd, f.ssthresh.get()), (packets(21), left));
    }
}

#[test]
fn the_kernels_judge_a_round_by_the_window_at_its_end() {
    // It began with 10 packets and ends with 20, of which 10 were sent: 120 over 100 ms.
    for (spec, delta) in [("vegas", 1.666), ("vegas(reference=linux)", 3.0), ("vegas(reference=freebsd)", 11.0)] {
        let mut f = flow(20, 100);
        f.ssthresh = packets(5);
        let mut cc = vegas(spec, &mut f);
        let mut last = closing(20, 120);
        let round = last.round.as_mut().unwrap();
        (round.cwnd, round.sent) = (packets(10), packets(10));
        cc.on_ack(&mut f, &last);
        let mut seen = f64::NAN;
        cc.vars(&mut |name, value| seen = if name == "delta" { value } else { seen });
        assert!((seen - delta).abs() < 0.01, "{spec}: {seen}");
    }
}

#[test]
fn slow_start_does_not_ask_whether_the_window_was_used_in_linux_alone() {
    // FreeBSD's is NewReno's (`newreno_ack_received`).
    for (spec, window) in [("vegas", 20), ("vegas(reference=linux)", 21), ("vegas(reference=freebsd)", 20)] {
        let mut f = flow(20, 100);
        let mut cc = vegas(spec, &mut f);
        f.cwnd_limited = false;
        cc.on_ack(&mut f, &ack(1, 100));
        assert_eq!(f.cwnd, packets(window), "{spec}");
    }
}
