use crate::testing::{ack, congestion, flow, packets, seconds_after_loss};
use crate::{CongestionControl, Flow, Reaction, Signal, build};
use std::boxed::Box;
use std::vec::Vec;
use units::Rng;

fn cubic(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
    build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
}

#[test]
fn both_references_follow_the_cubic_curve() {
    // W_cubic one RTT ahead of 1 … 6 s, from 70 with W_max 100: 87.9, 96.2, 99.4, 100.0, 100.3, 102.7.
    assert_eq!(seconds_after_loss("cubic", 100, 6), [87, 96, 100, 100, 101, 103]);
    // Linux rounds the distance to W_max down: above the curve before K, below it after.
    assert_eq!(seconds_after_loss("cubic(reference=linux)", 100, 6), [87, 97, 100, 100, 100, 102]);
}

#[test]
fn small_windows_grow_as_reno_would() {
    // α = 0.53 packets per RTT from 7 until W_est reaches 10, then 1; Linux keeps 1/1.875.
    assert_eq!(seconds_after_loss("cubic(c=0.01)", 10, 3), [14, 24, 34]);
    assert_eq!(seconds_after_loss("cubic(c=0.01, reference=linux)", 10, 3), [12, 17, 22]);
    let slow = seconds_after_loss("cubic(c=0.01, friendliness=false)", 10, 3);
    assert!(slow[2] <= 10, "{slow:?}");
}

#[test]
fn an_ecn_mark_is_like_a_loss_and_a_spurious_one_is_undone() {
    let mut f = flow(100, 100);
    let mut cc = cubic("cubic", &mut f);
    let before = vars(&*cc);
    let c = congestion(Signal::Ecn, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(70)));
    assert_eq!(vars(&*cc)[0], ("w_max", 100.0));
    cc.on_undo(&mut f);
    assert_eq!(vars(&*cc), before);
}

#[test]
fn with_abe_a_mark_leaves_85_per_cent_and_the_curve_starts_there() {
    for (spec, signal, to) in [
        ("cubic(abe=true)", Signal::Ecn, 85),
        ("cubic(abe=true, reference=linux)", Signal::Ecn, 85),
        ("cubic(abe=true)", Signal::Loss, 70),
        ("cubic(beta=0.8)", Signal::Ecn, 80),
    ] {
        let mut f = flow(100, 100);
        let mut cc = cubic(spec, &mut f);
        let c = congestion(signal, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(to)), "{spec} {signal:?}");
    }
    let mut f = flow(100, 100);
    let mut cc = cubic("cubic(abe=true)", &mut f);
    let c = congestion(Signal::Ecn, &f);
    cc.on_congestion(&mut f, &c);
    (f.cwnd, f.ssthresh) = (packets(85), packets(85));
    cc.on_ack(&mut f, &ack(1, 100));
    // cbrt(15 / 0.4)
    assert!((vars(&*cc)[1].1 - 3.3472).abs() < 5e-5, "{:?}", vars(&*cc));
}

#[test]
fn a_new_segment_size_changes_the_packets_not_the_bytes() {
    for spec in ["cubic", "cubic(reference=linux)"] {
        let mut f = flow(100, 100);
        let mut cc = cubic(spec, &mut f);
        let c = congestion(Signal::Loss, &f);
        cc.on_congestion(&mut f, &c);
        f.mss = packets(2);
        cc.on_event(&mut f, crate::Event::MssChanged);
        assert_eq!(vars(&*cc)[0], ("w_max", 50.0), "{spec}");
    }
}

fn vars(cc: &dyn CongestionControl) -> Vec<(&'static str, f64)> {
    let mut seen = Vec::new();
    cc.vars(&mut |name, value| seen.push((name, value)));
    seen
}

#[test]
fn a_timeout_within_a_repair_makes_the_next_stage_flat_too() {
    for spec in ["cubic", "cubic(reference=linux)"] {
        let mut f = flow(100, 100);
        let mut cc = cubic(spec, &mut f);
        let c = congestion(Signal::Loss, &f);
        cc.on_congestion(&mut f, &c);
        cc.on_event(&mut f, crate::Event::Timeout);
        (f.cwnd, f.ssthresh) = (packets(70), packets(70));
        cc.on_ack(&mut f, &ack(1, 100));
        assert_eq!(vars(&*cc)[1], ("k", 0.0), "{spec}");
    }
}
