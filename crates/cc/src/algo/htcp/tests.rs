use crate::testing::{ack, congestion, flow, ms, packets};
use crate::{CongestionControl, Flow, Reaction, Signal, build};
use params::Spec;
use std::boxed::Box;
use std::vec::Vec;
use units::Rng;

fn htcp(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
    build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
}

/// Windows at the end of each second after a loss at `cwnd`, with an RTT of 100 ms.
fn seconds_after_loss(spec: &str, cwnd: u64, seconds: usize) -> Vec<u64> {
    let mut f = flow(cwnd, 100);
    let mut cc = htcp(spec, &mut f);
    let c = congestion(Signal::Loss, &f);
    let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!("the host reduces") };
    (f.cwnd, f.ssthresh) = (to, to - packets(1));
    let mut seen = Vec::new();
    for _ in 0..seconds {
        for _ in 0..10 {
            let window = f.cwnd.get() / f.mss.get();
            for _ in 0..window {
                f.now += ms(100) / window;
                cc.on_ack(&mut f, &ack(1, 100));
            }
        }
        seen.push(f.cwnd.get() / f.mss.get());
    }
    seen
}

#[test]
fn both_references_follow_the_quadratic_growth() {
    // From 500: 10 rounds of one packet, then α of 1 + 10 t + t²/4 a round of a tenth of a second: its integral, 10(t + 5 t²
    // + t³/12), adds 61, 227 and 497 packets in the next seconds.
    let exact = [510, 571, 737, 1007];
    for spec in ["htcp", "htcp(reference=freebsd)"] {
        let seen = seconds_after_loss(spec, 1000, 4);
        let near = seen.iter().zip(exact).all(|(&w, exact)| w.abs_diff(exact) * 20 <= exact);
        assert!(near, "{spec}: {seen:?}");
    }
}

#[test]
fn settings_of_the_other_kernel_are_refused() {
    let told = |spec: &str| {
        let spec: Spec = spec.parse().unwrap();
        crate::find("htcp").unwrap().resolve(&spec).map_or_else(|e| std::format!("{e}"), |_| "".into())
    };
    assert!(told("htcp(adaptive_backoff=true)").contains("changes nothing without reference=freebsd"));
    assert!(
        told("htcp(reference=freebsd, bandwidth_switch=false)").contains("changes nothing without reference=linux")
    );
    for spec in ["htcp(bandwidth_switch=false)", "htcp(reference=freebsd, adaptive_backoff=true, rtt_scaling=true)"] {
        assert_eq!(told(spec), "", "{spec}");
    }
}
