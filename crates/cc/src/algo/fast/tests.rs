use super::*;
use crate::testing::{ack, closing, flow, packets};
use units::{Bytes, Rng};

fn fast(p: Params, f: &mut Flow) -> Fast {
    Fast::new(&p, Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn one_step_and_the_fixed_point() {
    // Reference, section 2.5: w = 100, base 100, RTT 120, α = 200, γ = ½ → 191.67; at rest α packets are queued.
    let cc = fast(Params::default(), &mut flow(100, 100));
    assert!((cc.update(100.0, 100.0, 120.0) - 191.67).abs() < 0.005);
    assert_eq!(cc.update(1200.0, 100.0, 120.0), 1200.0);
    assert_eq!(cc.update(50.0, 100.0, 100.0), 100.0, "no more than twice");
}

#[test]
fn it_comes_to_rest_with_alpha_packets_queued() {
    // 100 packets per 100 ms: what is more than that in the window queues.
    let mut f = flow(10, 100);
    let mut cc = fast(Params { alpha: 20.0, ..Params::default() }, &mut f);
    for _ in 0..60 {
        let rtt = (f.cwnd.get() / 1000).max(100);
        (0..10).for_each(|_| cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..ack(0, rtt) }));
        cc.on_ack(&mut f, &closing(0, rtt));
    }
    assert!(f.cwnd.get().abs_diff(120_000) < 1_500, "{:?}", f.cwnd);
}

#[test]
fn the_average_moves_by_a_quarter_or_three_samples_of_the_window() {
    for (cwnd, moved) in [(4, 125.0), (100, 103.0)] {
        let mut f = flow(cwnd, 100);
        let mut cc = fast(Params::default(), &mut f);
        cc.on_ack(&mut f, &ack(0, 100));
        cc.on_ack(&mut f, &ack(0, 200));
        assert!((cc.rtt_ms - moved).abs() < 1e-9);
        assert_eq!(f.cwnd, packets(cwnd));
    }
}
