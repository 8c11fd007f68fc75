use super::*;
use crate::testing::{ack, closing, flow, ms, packets};
use crate::{CauseKind, build};
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
