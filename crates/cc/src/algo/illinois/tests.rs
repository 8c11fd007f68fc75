use super::*;
use crate::testing::{ack, closing, congestion, flow, ms, packets};
use units::Rng;

fn illinois(f: &mut Flow) -> Illinois {
    f.ssthresh = packets(2);
    Illinois::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn growth_and_cut_over_the_delay() {
    // Reference, section 4.4, with d_m = 1.
    let cc = illinois(&mut flow(100, 100));
    for (d_a, alpha, beta) in
        [(0.1, 2.538, 0.125), (0.2, 1.388, 0.1786), (0.5, 0.588, 0.339), (0.8, 0.373, 0.5), (1.0, 0.300, 0.5)]
    {
        assert!((cc.curve(d_a, 1.0) - alpha).abs() < 0.001, "α({d_a}) = {}", cc.curve(d_a, 1.0));
        assert!((cc.beta(d_a, 1.0) - beta).abs() < 0.0005, "β({d_a}) = {}", cc.beta(d_a, 1.0));
    }
}

/// α after each round with that RTT over a base of 100 ms and up to 200.
fn alphas(f: &mut Flow, rtts: &[u64]) -> std::vec::Vec<f64> {
    f.max_rtt = ms(200);
    let mut cc = illinois(f);
    rtts.iter().map(|&rtt| (cc.on_ack(f, &Ack { ..closing(0, rtt) }), cc.alpha).1).collect()
}

#[test]
fn five_rounds_of_low_delay_before_full_growth() {
    let seen = alphas(&mut flow(100, 100), &[100, 150, 100, 100, 100, 100, 100]);
    assert_eq!((seen[0], seen[5], seen[6]), (10.0, seen[1], 10.0));
    assert!((seen[1] - 0.588).abs() < 0.001);
    assert_eq!(alphas(&mut flow(14, 100), &[100]), [1.0], "a small window is Reno's");
}

#[test]
fn a_round_adds_alpha_and_a_loss_takes_beta() {
    let mut f = flow(100, 100);
    f.max_rtt = ms(200);
    let mut cc = illinois(&mut f);
    cc.on_ack(&mut f, &closing(1, 100));
    (0..104).for_each(|_| cc.on_ack(&mut f, &ack(1, 100)));
    assert_eq!(f.cwnd, packets(110));
    let c = congestion(Signal::Loss, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(110) * 7 / 8));
    let c = congestion(Signal::Timeout, &f);
    cc.on_congestion(&mut f, &c);
    assert_eq!((cc.alpha, cc.beta), (1.0, 0.5));
}

#[test]
fn rounds_of_a_small_window_do_not_count() {
    // Linux does not look at delays there: once large, the window grows at α_max in its first round without a queue.
    let mut f = flow(14, 100);
    f.max_rtt = ms(200);
    let mut cc = illinois(&mut f);
    cc.on_ack(&mut f, &closing(0, 150));
    f.cwnd = packets(20);
    cc.on_ack(&mut f, &closing(0, 100));
    assert_eq!(cc.alpha, 10.0);
}

#[test]
fn a_timeout_forgets_the_rtts_of_its_round() {
    for told in [true, false] {
        let mut f = flow(100, 100);
        f.max_rtt = ms(200);
        let mut cc = illinois(&mut f);
        cc.on_ack(&mut f, &ack(0, 200));
        if told {
            let c = congestion(Signal::Timeout, &f);
            cc.on_congestion(&mut f, &c);
        } else {
            cc.on_event(&mut f, Event::Timeout);
        }
        cc.on_ack(&mut f, &closing(0, 100));
        assert_eq!((cc.alpha, cc.beta), (10.0, 0.125));
    }
}

#[test]
fn delays_count_in_parts_of_the_largest() {
    let cc = illinois(&mut flow(100, 100));
    for d_m in [0.02, 3.0] {
        assert!((cc.curve(0.2 * d_m, d_m) - 1.388).abs() < 0.001, "{d_m}: {}", cc.curve(0.2 * d_m, d_m));
        assert!((cc.beta(0.2 * d_m, d_m) - 0.1786).abs() < 0.0005, "{d_m}: {}", cc.beta(0.2 * d_m, d_m));
    }
}

#[test]
fn low_rounds_count_from_none_after_each_high_one() {
    let low = [100; 5];
    let seen =
        alphas(&mut flow(100, 100), &[&low[..1], &[150], &low, &[150], &low, &[150], &low[..4], &[150], &low].concat());
    let full: std::vec::Vec<_> = seen.iter().enumerate().filter(|(_, a)| **a == 10.0).map(|(n, _)| n).collect();
    assert_eq!(full, [0, 6, 12, 23]);
}
