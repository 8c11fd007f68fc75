use super::*;
use crate::CauseKind;
use crate::testing::{ack, congestion, flow, ms, packets};
use std::vec::Vec;
use units::math;

/// After eight RTTs of 40 ms and a loss at so many packets, repaired at once.
fn after_loss(cwnd: u64) -> (Curve, Flow) {
    let mut f = flow(cwnd, 40);
    let mut curve = Curve::new(&Params::default(), &mut f);
    for _ in 0..RTT_SAMPLES {
        curve.sample(&f);
        curve.rtts += 1;
    }
    curve.sample(&f);
    lose(&mut curve, &mut f);
    curve.recovered(&mut f);
    (curve, f)
}

fn lose(curve: &mut Curve, f: &mut Flow) {
    let to = curve.reduce(f, &congestion(Signal::Loss, f));
    (f.cwnd, f.ssthresh) = (to, to);
}

#[test]
fn constants_are_the_headers() {
    let (curve, _) = after_loss(100);
    assert_eq!((curve.law.beta, curve.law.c, curve.mean_rtt), (204, 102, 40));
}

#[test]
fn the_parabola_is_a_cube_root_to_seven_per_cent() {
    let law = Law::new(&Params::default());
    for packets in 1..5000u64 {
        let k = law.k(packets * 1460, 1460) as f64 / 256.0;
        let exact = math::cbrt(packets as f64 * 0.2 / 0.4);
        assert!((k / exact - 1.0).abs() < 0.07, "{packets}: {k} for {exact}");
    }
}

#[test]
fn the_curve_begins_at_four_fifths_and_is_back_after_k() {
    let (curve, f) = after_loss(100);
    let mss = f.mss.get();
    let at = |ticks| curve.law.cubic(ticks, curve.w_max, curve.k, mss) as f64 / mss as f64;
    assert!((at(0) - 80.0).abs() < 1.0, "{}", at(0));
    assert!((at((curve.k * 1000 / 256) as u64) - 100.0).abs() < 0.1);
    // C (t - K)^3, two seconds later: 3.2 packets.
    assert!((at((curve.k * 1000 / 256) as u64 + 2000) - 103.2).abs() < 0.1);
}

#[test]
fn what_reno_would_have_wraps_every_75_ms_unless_it_is_wide() {
    let mut law = Law::new(&Params::default());
    // 0.8 of 14 600 is 11 634 in 256ths; a third of a segment per RTT of 40 ms is 12.1 bytes a ms.
    let reno = |law: &Law, t| law.reno(t, 40, 14_600, 1460);
    assert_eq!([0, 40, 75, 76, 150, 151].map(|t| reno(&law, t)), [11_634, 12_118, 12_542, 11_645, 12_541, 11_643]);
    assert!((0..10_000).all(|t| reno(&law, t) <= 11_634 + 910));
    law.wide = true;
    assert_eq!([76, 4000].map(|t| reno(&law, t)), [12_555, 60_089]);
}

#[test]
fn the_first_congestion_halves_and_later_ones_leave_four_fifths() {
    let (mut curve, mut f) = after_loss(100);
    assert_eq!(f.ssthresh, packets(50));
    f.cwnd = packets(60);
    lose(&mut curve, &mut f);
    assert_eq!(f.ssthresh.get(), (packets(60).get() * 204) >> 8);
    assert_eq!(curve.w_max, packets(60).get());
    curve.recovered(&mut f);
    assert_eq!(curve.w_max, (packets(60).get() * 230) >> 8, "fast convergence: 100 before");
}

#[test]
fn a_repair_leaves_what_is_in_flight_and_one() {
    let (mut curve, mut f) = after_loss(100);
    f.cwnd = packets(60);
    lose(&mut curve, &mut f);
    f.in_flight = packets(20);
    curve.recovered(&mut f);
    assert_eq!(f.cwnd, packets(21), "the ACK that ends the repair still counts as one of it");
}

#[test]
fn the_window_is_set_once_per_window_acknowledged_and_may_fall() {
    let (mut curve, mut f) = after_loss(10);
    (f.cwnd, f.ssthresh) = (packets(12), packets(5));
    curve.acked = 0;
    for _ in 0..5 {
        curve.on_ack(&mut f, &ack(2, 40));
        assert_eq!(f.cwnd, packets(12));
    }
    f.now += ms(40);
    curve.on_ack(&mut f, &ack(2, 40));
    assert!(f.cwnd < packets(10), "down to what Reno would have: {:?}", f.cwnd);
}

#[test]
fn a_timeout_halves_and_begins_the_old_curve_again() {
    let (mut curve, mut f) = after_loss(100);
    let (k, w_max) = (curve.k, curve.w_max);
    f.now += ms(500);
    let to = curve.reduce(&f, &congestion(Signal::Timeout, &f));
    assert_eq!(to, f.cwnd / 2);
    assert_eq!((curve.k, curve.w_max, curve.since), (k, w_max, now(&f)));
    let cwnd = f.cwnd;
    curve.recovered(&mut f);
    assert_eq!(f.cwnd, cwnd, "no repair ends");
}

#[test]
fn the_second_timeout_in_a_row_is_a_congestion_event() {
    let mut f = flow(100, 40);
    let mut curve = Curve::new(&Params::default(), &mut f);
    let mut events = Vec::new();
    for acked in [0, 0, 1, 0] {
        curve.on_ack(&mut f, &ack(acked, 40));
        curve.reduce(&f, &congestion(Signal::Timeout, &f));
        events.push(curve.events);
    }
    assert_eq!(events, [0, 1, 1, 2]);
}

#[test]
fn after_silence_the_window_jumps_to_its_curve_and_says_so() {
    let (mut curve, mut f) = after_loss(10);
    (f.cwnd, f.ssthresh) = (packets(8), packets(5));
    f.now += ms(20_000);
    for _ in 0..4 {
        curve.on_ack(&mut f, &ack(2, 40));
    }
    // 0.4 packets per second cubed, 18.3 s after K.
    assert!(f.cwnd > packets(2000), "{:?}", f.cwnd);
    let kinds: Vec<_> = f.drain_events().filter_map(|e| e.cause()).collect();
    assert_eq!(kinds, [CauseKind::RecoveryExit, CauseKind::Curve]);
}
