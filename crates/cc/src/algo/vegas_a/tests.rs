use super::*;
use crate::testing::{closing, flow, packets};
use units::Rng;

fn settled(f: &mut Flow) -> VegasA {
    f.ssthresh = packets(10);
    VegasA::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn every_row_of_the_rule() {
    let mut cc = settled(&mut flow(20, 100));
    cc.rate = 10.0;
    for (risen, delta, rate, expected) in [
        (0.0, 2.0, 11.0, (1.0, 1.0)), // Reference, section 2.4: α becomes 2 and β 4
        (0.0, 2.0, 10.0, (0.0, 0.0)),
        (0.0, 2.0, 9.0, (0.0, 0.0)),
        (0.0, 0.5, 9.0, (1.0, 0.0)),
        (3.0, 2.0, 11.0, (1.0, 0.0)),
        (3.0, 2.0, 9.0, (-1.0, -1.0)),
        (3.0, 2.0, 10.0, (0.0, 0.0)),
        (3.0, 7.0, 11.0, (-1.0, -1.0)),
        (0.0, 4.0, 11.0, (-1.0, 0.0)),
    ] {
        cc.risen = risen;
        assert_eq!(cc.decide(delta, rate), expected, "{risen} {delta} {rate}");
    }
    cc.p.follow_down = false;
    cc.risen = 3.0;
    assert_eq!(cc.decide(7.0, 11.0), (-1.0, 0.0), "the thesis' reading");
}

#[test]
fn a_rising_rate_takes_alpha_and_beta_along() {
    // 20 packets at 111 ms over 100: Δ = 2. Then 22 packets at 110 ms have a higher rate.
    let mut f = flow(20, 100);
    let mut cc = settled(&mut f);
    let mut end = |cwnd: u64, rtt: u64| {
        f.cwnd = packets(cwnd);
        cc.on_ack(&mut f, &closing(0, rtt));
        (f.cwnd.get() / 1000, cc.p.alpha + cc.risen)
    };
    assert_eq!(end(20, 111), (20, 1.0));
    assert_eq!(end(22, 110), (23, 2.0));
    assert_eq!(end(23, 111), (24, 3.0));
    assert_eq!(end(24, 140), (23, 2.0), "7 packets, β was 5");
}

#[test]
fn a_window_that_shrinks_takes_the_threshold_along_where_they_meet() {
    for (threshold, left) in [(10, 10), (20, 19)] {
        let mut f = flow(20, 100);
        let mut cc = settled(&mut f);
        cc.rate = 1.0;
        f.ssthresh = packets(threshold);
        cc.on_ack(&mut f, &closing(0, 140));
        assert_eq!((f.cwnd, f.ssthresh), (packets(19), packets(left)));
    }
}

#[test]
fn a_window_that_is_not_used_takes_nothing_up_and_the_first_rate_has_none_to_compare_with() {
    for (rate, limited, window) in [(1.0, true, 21), (1.0, false, 20), (0.0, true, 20)] {
        let mut f = flow(20, 100);
        let mut cc = settled(&mut f);
        (cc.rate, f.cwnd_limited) = (rate, limited);
        cc.on_ack(&mut f, &closing(0, 111));
        let risen = if window > 20 { 1.0 } else { 0.0 };
        assert_eq!((f.cwnd, cc.risen), (packets(window), risen), "{rate} {limited}");
    }
}

#[test]
fn the_rate_is_that_of_the_rounds_window() {
    for (began, packets_per_s) in [(0, 200), (10, 100)] {
        let mut f = flow(20, 100);
        let mut cc = settled(&mut f);
        let mut last = closing(0, 100);
        last.round.as_mut().unwrap().cwnd = packets(began);
        cc.on_ack(&mut f, &last);
        assert!((cc.rate - packets_per_s as f64).abs() < 1e-9, "{}", cc.rate);
    }
}
