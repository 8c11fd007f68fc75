use super::*;
use crate::build;
use crate::testing::{ack, closing, congestion, flow, packets};
use std::boxed::Box;
use std::vec::Vec;
use units::Rng;

fn dctcp(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
    build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
}

fn alpha(cc: &dyn CongestionControl) -> f64 {
    let mut seen = 0.0;
    cc.vars(&mut |_, value| seen = value * 1024.0);
    seen
}

/// α in 1024ths after each window of 100 packets, of which so many were marked.
fn windows(spec: &str, marked: &[u64]) -> Vec<f64> {
    let mut f = flow(100, 1);
    let mut cc = dctcp(spec, &mut f);
    let mut window = |&n: &u64| {
        cc.on_ack(&mut f, &Ack { ce: packets(n), ..ack(n, 1) });
        cc.on_ack(&mut f, &closing(100 - n, 1));
        alpha(&*cc)
    };
    marked.iter().map(&mut window).collect()
}

#[test]
fn alpha_follows_the_fraction_of_marks() {
    // Reference, section 5.10: 1024 fades to 960; half marked holds 512.
    for linux in ["", "reference=linux, "] {
        assert_eq!(windows(&std::format!("dctcp({linux}alpha=1)"), &[0]), [960.0]);
        assert_eq!(windows(&std::format!("dctcp({linux}alpha=0.5)"), &[50, 50]), [512.0, 512.0]);
    }
    // 16 fades by 1 and gains 0.64: Linux rounds that down; 15 / 16 rounds to nothing, so 15 becomes nothing.
    assert_eq!(windows("dctcp(reference=linux, alpha=0.015625)", &[1, 0]), [15.0, 0.0]);
    let exact = windows("dctcp(alpha=0.015625)", &[1, 0]);
    assert!((exact[0] - 15.64).abs() < 1e-9 && (exact[1] - 14.6625).abs() < 1e-9, "{exact:?}");
}

/// The window in bytes after a signal.
fn after(spec: &str, cwnd: u64, signal: Signal) -> u64 {
    let mut f = flow(cwnd, 1);
    let mut cc = dctcp(spec, &mut f);
    let c = congestion(signal, &f);
    match cc.on_congestion(&mut f, &c) {
        Reaction::Reduce(to) => to.get(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_mark_takes_half_of_alpha_and_a_loss_takes_half() {
    assert_eq!(after("dctcp", 100, Signal::Ecn), 50_000);
    assert_eq!(after("dctcp(alpha=0.5)", 100, Signal::Ecn), 75_000);
    assert_eq!(after("dctcp(alpha=0.5)", 101, Signal::Ecn), 75_750);
    assert_eq!(after("dctcp(alpha=0.5, reference=linux)", 101, Signal::Ecn), 76_000);
    assert_eq!(after("dctcp(alpha=0.5)", 100, Signal::Loss), 50_000);
    assert_eq!(after("dctcp(alpha=0)", 100, Signal::Timeout), 50_000);
    assert_eq!(after("dctcp(reference=linux)", 101, Signal::Loss), 50_000, "`tcp_snd_cwnd(tp) >> 1`");
    assert_eq!(after("dctcp(reference=linux)", 101, Signal::Ecn), 51_000, "what is taken is rounded down");
}
