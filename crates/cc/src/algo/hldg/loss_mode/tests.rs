//! The way back to the curve after a probe, and the curve meanwhile.

use super::*;
use crate::testing::{ack, flow, ms, packets};

#[test]
fn a_gap_of_150_kilobytes_is_closed_by_a_packet_every_1_93_ms() {
    let t = interval(ms(100), Bytes::new(1448), Bytes::new(150_000));
    assert_eq!(t, Duration::from_nanos(1_930_666));
}

/// A probe that began at a loss with 100 packets and ended 1 s later with two.
fn after_probe() -> (LossMode, Flow) {
    let mut f = flow(100, 100);
    let mut l = LossMode::new(&Params::default(), f.mss);
    l.leave_for_probe(&f);
    f.cwnd = packets(2);
    f.ssthresh = packets(2);
    f.now += ms(1000);
    (l, f)
}

#[test]
fn the_window_returns_to_where_cubic_would_be() {
    let (mut l, mut f) = after_probe();
    let r = l.restore(&f).unwrap();
    // W_cubic(1 s) after a loss at 100 packets is 86.68.
    assert_eq!(r.target, Bytes::new(86_680));
    let start = f.now;
    while l.restoring() && f.now.since(start) < ms(1000) {
        f.now = l.wake();
        l.wake_up(&mut f);
    }
    assert_eq!(f.cwnd, r.target);
    let took = f.now.since(start);
    assert!(took >= ms(199) && took <= ms(203), "{took:?}");
    // And goes on along the same curve: 0.3 s later the distance to 100 packets is less.
    f.now += ms(300);
    for _ in 0..200 {
        l.ack(&mut f, &ack(1, 100));
    }
    assert!(f.cwnd > packets(89) && f.cwnd < packets(97), "{:?}", f.cwnd);
}

#[test]
fn segments_that_grow_during_a_probe_do_not_make_the_window_grow() {
    let (mut l, mut f) = after_probe();
    f.mss = Bytes::new(8000);
    l.rescale(f.mss);
    // W_cubic(1 s) after a loss at 12.5 packets is 11.955.
    assert_eq!(l.restore(&f).unwrap().target, Bytes::new(95_640));
}

#[test]
fn late_timers_catch_up() {
    let (mut l, mut f) = after_probe();
    let r = l.restore(&f).unwrap();
    f.now = l.wake() + r.interval * 9;
    l.ack(&mut f, &ack(1, 100));
    assert_eq!(f.cwnd, packets(12));
    assert_eq!(l.wake(), f.now + r.interval, "and go on from there");
}

#[test]
fn the_curve_stands_still_while_the_window_is_not_used_and_goes_on_while_losses_are_repaired() {
    let grown = |disturb: fn(&mut Flow, bool)| {
        let mut f = flow(100, 100);
        let mut l = LossMode::new(&Params::default(), f.mss);
        f.cwnd = l.reduce(&f, false);
        f.ssthresh = f.cwnd;
        l.ack(&mut f, &ack(1, 100));
        disturb(&mut f, true);
        for _ in 0..100 {
            f.now += ms(100);
            l.ack(&mut f, &ack(1, 100));
        }
        disturb(&mut f, false);
        for _ in 0..100 {
            l.ack(&mut f, &ack(1, 100));
        }
        f.cwnd
    };
    let unused = grown(|f, on| f.cwnd_limited = !on);
    let repaired = grown(|f, on| f.phase = if on { Phase::Recovery } else { Phase::Open });
    assert!(unused < packets(80) && repaired > packets(100), "{unused:?} {repaired:?}");
}

#[test]
fn a_loss_ends_the_restoration() {
    let (mut l, mut f) = after_probe();
    l.restore(&f);
    f.cwnd = packets(50);
    assert_eq!(l.reduce(&f, false), packets(35));
    assert!(!l.restoring());
}
