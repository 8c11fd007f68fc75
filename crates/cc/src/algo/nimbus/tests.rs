//! Numbers of Nimbus.

use super::*;
use crate::testing::{ack, flow, ms, packets};
use units::{Bytes, Rng};

fn nimbus(f: &mut Flow) -> Nimbus {
    Nimbus::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn the_rate_beside_half_a_link_of_others() {
    // Reference, section 3.9: µ = 96, R = 24, z = 48 Mbit/s, RTT 60 over 50 ms, target 12.5 ms → 45.2 Mbit/s.
    let mut cc = nimbus(&mut flow(100, 50));
    cc.mu = 96.0;
    assert!((cc.delay_rate(24.0, 48.0, ms(60), ms(50)) - 45.2).abs() < 1e-9);
    // A busy link of 96 of which 24 · 2/3 get through with 24 sent: the others have the rest.
    assert!((cross(96.0, 24.0, 32.0) - 48.0).abs() < 1e-9);
    assert_eq!((cross(96.0, 24.0, 0.0), cross(96.0, 24.0, 1.0)), (0.0, 96.0));
}

#[test]
fn the_path_is_measured_by_data_and_not_by_the_handshake() {
    // 10 ms there and back, and 12 ms for a packet to get onto the link: the SYN saw 10.
    let mut f = flow(10, 10);
    let mut cc = nimbus(&mut f);
    for (rtt, open) in [(22, true), (34, false)] {
        f.rtt = ms(rtt);
        cc.on_ack(&mut f, &ack(1, rtt));
        cc.maybe_leave_slow_start(&mut f);
        assert_eq!(f.in_slow_start(), open, "{rtt} ms over 22, where half as much again is too much");
    }
}

#[test]
fn a_pulse_takes_back_what_it_gave() {
    let cc = nimbus(&mut flow(100, 50));
    let at = |us: u64| cc.pulse(Duration::from_micros(us));
    assert!((at(25_000) - 0.25).abs() < 1e-12 && (at(125_000) + 0.25 / 3.0).abs() < 1e-12);
    assert!(at(50_000).abs() < 1e-12 && (at(225_000) - 0.25).abs() < 1e-9, "5 a second");
    let sum: f64 = (0..200_000).map(at).sum();
    assert!(sum.abs() < 1e-6 * 200_000.0, "{sum}");
}

#[test]
fn the_modes_have_a_gap_between_them_and_a_time() {
    let mut f = flow(100, 50);
    let mut cc = nimbus(&mut f);
    (cc.mu, cc.rate) = (8.0, 7.0);
    for n in 0..SAMPLES {
        cc.history.push(if n < 10 { 6.0 } else { 1.0 });
    }
    let mut at = |seconds: u64, elasticity: f64| {
        f.now = Instant::from_millis(1000 * seconds);
        cc.elasticity.value = elasticity;
        cc.choose_mode(&mut f);
        cc.competing
    };
    let seen = [(20, 2.2), (21, 2.3), (24, 1.0), (26, 2.1), (27, 1.9)].map(|(t, e)| at(t, e));
    assert_eq!(seen, [false, true, true, true, false]);
    // 6 Mbit/s for 50 ms: the rate of 5 s before, whatever it is now.
    assert_eq!(cc.rival.cwnd, Bytes::new(37_500));
}

#[test]
fn in_competition_the_curve_grows_though_the_pace_and_not_the_window_is_the_limit() {
    let mut f = flow(100, 50);
    (f.ssthresh, f.cwnd_limited) = (packets(10), false);
    let mut cc = nimbus(&mut f);
    (cc.competing, cc.rival.cwnd, cc.rival.ssthresh) = (true, packets(20), packets(20));
    for n in 1..=200 {
        f.now = Instant::from_millis(10 * n);
        cc.on_ack(&mut f, &ack(1, 50));
    }
    assert!(cc.rival.cwnd >= packets(24), "{:?}", cc.rival.cwnd);
}

#[test]
fn a_pace_of_a_packet_in_a_timeout_is_no_silence() {
    let mut f = flow(100, 50);
    let mut cc = nimbus(&mut f);
    let mut after = |app_limited| {
        (cc.elasticity.value, f.app_limited) = (3.0, app_limited);
        cc.on_event(&mut f, Event::Restart);
        cc.elasticity.value
    };
    assert_eq!([after(false), after(true)], [3.0, 1.0]);
}

#[test]
fn it_never_sends_at_less_than_a_twentieth_of_the_link() {
    let mut f = flow(100, 50);
    (f.ssthresh, f.rtt, f.srtt) = (packets(10), ms(500), ms(500));
    let mut cc = nimbus(&mut f);
    cc.mu = 8.0;
    for n in 1..=50 {
        let sent_at = Instant::from_millis(5 * n);
        f.now = Instant::from_millis(10 * n + 500);
        f.delivered += packets(1);
        cc.rates.see(f.now, sent_at, f.delivered, f.srtt);
    }
    // 1.6 Mbit/s go in and 0.8 come out of 8; the queue is 450 ms.
    let slowest = (0..20).map(|n| {
        f.now = Instant::from_millis(2000 + 10 * n);
        cc.heard = f.now;
        cc.tick(&mut f);
        f.pacing.unwrap().as_bps()
    });
    assert_eq!((slowest.min(), cc.rate), (Some(400_000), 0.4));
}

#[test]
fn what_was_heard_is_judged_for_an_rtt_and_what_comes_after_silence_stands_for_it() {
    let mut f = flow(100, 50);
    f.ssthresh = packets(10);
    let mut cc = nimbus(&mut f);
    let hear = |f: &mut Flow, cc: &mut Nimbus, gap| {
        f.now += ms(gap);
        f.delivered += packets(1);
        cc.on_ack(f, &Ack { sent_at: f.now - ms(50), ..ack(1, 50) });
    };
    (0..10).for_each(|_| hear(&mut f, &mut cc, 8));
    cc.tick(&mut f);
    // A packet in 8 ms. Then a burst, a second of silence, and ten more.
    assert_eq!((cc.mu, cc.history.len()), (1.0, 1));
    (0..50).for_each(|_| hear(&mut f, &mut cc, 1));
    for _ in 0..100 {
        f.now += ms(10);
        cc.tick(&mut f);
    }
    // From 1 towards 8 Mbit/s by a fifth, five times: 8 − 7·0.8⁵, not all the way.
    assert!((cc.mu - 5.70624).abs() < 1e-9 && cc.history.len() == 6, "{} {}", cc.mu, cc.history.len());
    hear(&mut f, &mut cc, 8);
    cc.tick(&mut f);
    assert_eq!(cc.history.len(), 102);
}

#[test]
fn in_delay_mode_only_a_timeout_and_a_loss_in_slow_start_take_from_the_window() {
    for (signal, ssthresh, reaction) in [
        (Signal::Loss, 1000, Reaction::Reduce(packets(50))),
        (Signal::Loss, 10, Reaction::Own),
        (Signal::Timeout, 10, Reaction::Reduce(packets(50))),
    ] {
        let mut f = flow(100, 50);
        f.ssthresh = packets(ssthresh);
        let c = crate::testing::congestion(signal, &f);
        assert_eq!(nimbus(&mut f).on_congestion(&mut f, &c), reaction, "{signal:?} {ssthresh}");
    }
}

#[test]
fn in_competition_a_repair_without_end_is_answered_once_an_rtt() {
    let mut f = flow(100, 50);
    (f.ssthresh, f.phase) = (packets(10), crate::Phase::Recovery);
    let mut cc = nimbus(&mut f);
    (cc.competing, cc.rival.cwnd) = (true, packets(100));
    let windows = [0, 40, 10, 30, 30].map(|after| {
        f.now += ms(after);
        cc.on_ack(&mut f, &Ack { newly_lost: packets(1), ..ack(1, 50) });
        cc.rival.cwnd.get() / 1000
    });
    assert_eq!(windows, [70, 70, 49, 49, 34]);
    // 34.3 packets in 50 ms are 5.488 Mbit/s, and a quarter of the link's 8: twice that for 50 ms are 93.6 packets.
    cc.mu = 8.0;
    (f.cwnd, f.ssthresh) = (packets(200), packets(200));
    f.now += ms(50);
    cc.rival.cwnd = packets(49);
    cc.on_ack(&mut f, &Ack { newly_lost: packets(1), ..ack(1, 50) });
    assert_eq!((f.cwnd, f.ssthresh), (Bytes::new(93_600), Bytes::new(93_600)));
}
