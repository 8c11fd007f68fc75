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

#[test]
fn another_slow_start_doubles_below_its_threshold_and_its_own_goal_steers_from_there() {
    for (own_start, grown) in [(false, 20), (true, 10)] {
        let mut f = flow(10, 100);
        let mut cc = Fast::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start });
        assert_eq!(f.in_slow_start(), !own_start);
        (0..10).for_each(|_| cc.on_ack(&mut f, &ack(1, 100)));
        assert_eq!(f.cwnd, packets(grown), "{own_start}");
        f.ssthresh = packets(5);
        cc.on_ack(&mut f, &closing(0, 100));
        assert_eq!(f.cwnd, packets(2 * grown), "{own_start}");
    }
}

#[test]
fn it_paces_at_a_fifth_more_than_the_window_and_twice_in_slow_start() {
    // 10 packets of 8000 bits in 100 ms.
    for (own_start, kbps) in [(true, 960), (false, 1760)] {
        let mut f = flow(10, 100);
        let mut cc = Fast::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start });
        cc.on_ack(&mut f, &ack(1, 100));
        assert_eq!(f.pacing.map(|rate| rate.as_bps() / 1000), Some(kbps), "{own_start}");
    }
}

#[test]
fn a_queue_above_the_goal_shrinks_the_window_used_or_not_and_a_loss_halves() {
    for (rtt, limited, left) in [(400, false, 72_500), (100, false, 100_000), (100, true, 110_000)] {
        let mut f = flow(100, 100);
        let mut cc = fast(Params { alpha: 20.0, ..Params::default() }, &mut f);
        f.cwnd_limited = limited;
        cc.on_ack(&mut f, &closing(0, rtt));
        assert_eq!(f.cwnd.get(), left, "{rtt} {limited}");
        assert_eq!(f.ssthresh, f.cwnd.min(packets(100)));
        let c = crate::testing::congestion(crate::Signal::Loss, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(f.cwnd / 2));
    }
}
