use super::*;
use crate::testing::{ack, flow, ms, packets};
use units::Rng;

fn settled(f: &mut Flow) -> Lola {
    f.ssthresh = packets(10);
    let mut cc = Lola::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true });
    (cc.base, cc.rtt) = (ms(20), ms(20));
    cc
}

/// Four ACKs of five packets at that time, all with that RTT.
fn hear(cc: &mut Lola, f: &mut Flow, now: u64, rtt: u64) -> u64 {
    f.now = Instant::from_millis(now);
    for _ in 0..4 {
        cc.on_ack(f, &ack(5, rtt));
    }
    f.cwnd.get() / 1000
}

#[test]
fn the_fair_amount_and_a_decrease_that_empties_the_queue() {
    // Reference, section 2.11: X(1 s) = 23,324 B (23,323.6); 100 packets at 40 over 20 ms → 47.5, K = 5.08 s.
    let mut f = flow(100, 20);
    let mut cc = settled(&mut f);
    assert_eq!(cc.fair(ms(1000)), Bytes::new(23_323));
    cc.rtt = ms(40);
    f.cwnd = cc.tailored_decrease(&f);
    cc.begin_cubic(&f);
    let to = f.cwnd.packets(f.mss);
    assert!((to - 47.5).abs() < 0.02 && (cc.k - 5.08).abs() < 0.005, "{to} {}", cc.k);
    let back = cc.cubic(Duration::ZERO);
    assert!((back - to).abs() < 0.01, "the cubic starts where the decrease ends: {back}");
}

#[test]
fn fair_then_hold_then_decrease() {
    let mut f = flow(100, 20);
    let mut cc = settled(&mut f);
    cc.w_max = 100.0;
    // RTT_now is heard for two round trips, then for 40 ms each.
    let seen = [(1, 22), (41, 22), (82, 26), (123, 26), (370, 26), (373, 26)].map(|(now, rtt)| {
        let to = hear(&mut cc, &mut f, now, rtt);
        (to, matches!(cc.state, State::Fair(_)), matches!(cc.state, State::Hold(_)))
    });
    // 100·20/26·0.95 at the end of the 250 ms.
    assert_eq!(
        seen,
        [
            (100, false, false),
            (100, true, false),
            (100, true, false),
            (100, false, true),
            (100, false, true),
            (73, false, false)
        ]
    );
}

#[test]
fn fair_flow_adds_what_is_missing_in_bounded_steps() {
    let mut f = flow(100, 20);
    let mut cc = settled(&mut f);
    cc.rtt = ms(22);
    // Nine of 100 packets are in the queue. X: 23.3 packets at 1 s, 22.0 a round trip before.
    assert!((cc.share(&f, ms(1000)) - 4.0 * 1.372).abs() < 0.01, "{}", cc.share(&f, ms(1000)));
    cc.step = 5.0;
    assert!((cc.share(&f, ms(1000)) - 10.0).abs() < 0.01, "twice the last step");
    cc.step = 20.0;
    assert!((cc.share(&f, ms(1000)) - (23.323 - 9.09)).abs() < 0.01, "what is missing");
    assert_eq!(cc.share(&f, ms(700)), 0.0, "8 packets are fewer than there are");
}

#[test]
fn slow_start_ends_with_a_decrease_at_twice_the_low_delay() {
    let mut f = flow(40, 20);
    let mut cc = Lola::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    assert_eq!(hear(&mut cc, &mut f, 1, 20), 60);
    cc.on_ack(&mut f, &crate::testing::closing(0, 20));
    // 22 ms are not more than 2: slow start goes on; 25 ms in the next round are, with the 16th packet.
    assert_eq!(hear(&mut cc, &mut f, 21, 22), 80);
    cc.on_ack(&mut f, &crate::testing::closing(0, 25));
    let to = hear(&mut cc, &mut f, 41, 25);
    // 95 packets·20/25·0.95.
    assert!(!f.in_slow_start() && (70..=73).contains(&to), "{to}");
}

#[test]
fn a_loss_is_cubics_and_a_base_rtt_that_never_comes_back_is_forgotten() {
    let mut f = flow(100, 20);
    let mut cc = settled(&mut f);
    let c = crate::testing::congestion(crate::Signal::Loss, &f);
    let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
    f.cwnd = to;
    cc.begin_cubic(&f);
    assert!((to.packets(f.mss) - 70.02).abs() < 0.01 && (cc.k - 4.216).abs() < 0.001, "{to:?} {}", cc.k);
    f.cwnd = packets(80);
    cc.on_congestion(&mut f, &c);
    assert!((cc.w_max - 68.0).abs() < 0.02, "fast convergence: {}", cc.w_max);
    cc.unconfirmed = 100;
    cc.tailored_decrease(&f);
    cc.measure(&f, ms(60), 1.0);
    assert_eq!(cc.base, ms(60));
}

#[test]
fn silence_is_no_time_of_the_curve_nor_of_the_hold() {
    let mut f = flow(100, 20);
    let mut cc = Lola::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    f.ssthresh = packets(50);
    f.now = Instant::from_millis(1000);
    cc.on_ack(&mut f, &ack(1, 26));
    cc.state = State::Hold(Instant::from_millis(1200));
    (f.now, f.cwnd, f.ssthresh) = (Instant::from_millis(5000), packets(10), packets(75));
    cc.on_event(&mut f, crate::Event::Restart);
    cc.on_ack(&mut f, &ack(1, 20));
    assert_eq!((cc.state, f.ssthresh), (State::Hold(Instant::from_millis(5200)), packets(75)));
}

#[test]
fn the_curve_begins_once_a_repair_or_slow_start_is_over() {
    for phase in [crate::Phase::Recovery, crate::Phase::Loss] {
        let mut f = flow(100, 20);
        let mut cc = settled(&mut f);
        let c = crate::testing::congestion(crate::Signal::Loss, &f);
        cc.on_congestion(&mut f, &c);
        // A repair at its threshold, or slow start towards it.
        (f.phase, f.ssthresh) = (phase, packets(70));
        f.cwnd = packets(if phase == crate::Phase::Loss { 20 } else { 70 });
        hear(&mut cc, &mut f, 500, 20);
        assert_eq!(cc.state, State::Begin, "{phase:?}");
        (f.phase, f.cwnd) = (crate::Phase::Open, packets(70));
        hear(&mut cc, &mut f, 1000, 20);
        assert_eq!(cc.state, State::Cubic(Instant::from_millis(1000)));
        assert!((cc.k - 4.217).abs() < 0.001, "from the window that there is: {}", cc.k);
    }
}

#[test]
fn only_the_first_slow_start_ends_with_a_decrease() {
    // `hystart_update` asks for it where no plateau is known.
    let mut f = flow(40, 20);
    let mut cc = settled(&mut f);
    (f.ssthresh, cc.w_max) = (packets(90), 120.0);
    assert_eq!(hear(&mut cc, &mut f, 1, 25), 55);
    assert_eq!((f.in_slow_start(), cc.w_max), (false, 120.0));
    cc.on_ack(&mut f, &ack(1, 25));
    assert_eq!(cc.state, State::Cubic(Instant::from_millis(1)));
    // 55 packets as it left: K = cbrt(65/0.4).
    assert!((cc.k - 5.457).abs() < 0.001, "{}", cc.k);
}

#[test]
fn a_delay_of_just_q_low_is_still_the_curves() {
    for (rtt, fair) in [(21, false), (22, true)] {
        let mut f = flow(100, 20);
        let mut cc = settled(&mut f);
        cc.w_max = 100.0;
        hear(&mut cc, &mut f, 1, rtt);
        hear(&mut cc, &mut f, 41, rtt);
        assert_eq!(matches!(cc.state, State::Fair(_)), fair, "{rtt} ms");
    }
}

#[test]
fn behind_any_slow_start_a_round_adds_a_twentieth_until_a_decrease_tells_of_a_plateau() {
    // HyStart and others leave slow start with the threshold at the window, before LoLa has seen a queue.
    for (w_max, w) in [(0.0, 262), (250.0, 250)] {
        let mut f = flow(250, 20);
        let mut cc = settled(&mut f);
        (f.ssthresh, cc.w_max) = (packets(250), w_max);
        (0..250).for_each(|_| cc.on_ack(&mut f, &ack(1, 20)));
        assert_eq!(f.cwnd, packets(w));
    }
}

#[test]
fn a_slow_start_beyond_the_last_decrease_makes_a_plateau_of_its_own() {
    let mut f = flow(150, 20);
    let mut cc = settled(&mut f);
    cc.w_max = 100.0;
    hear(&mut cc, &mut f, 1000, 20);
    assert_eq!((cc.plateau, cc.k, cc.cubic(Duration::ZERO)), (150.0, 0.0, 150.0));
    // 0.4·3.02³ packets above it after 3 s.
    f.now = Instant::from_millis(4000);
    assert!((cc.growth(&f) - 11.02).abs() < 0.01, "{}", cc.growth(&f));
}

#[test]
fn a_few_packets_only_grow_and_a_decrease_leaves_five() {
    for (w, fair) in [(4, false), (5, true)] {
        let mut f = flow(w, 20);
        let mut cc = settled(&mut f);
        (f.ssthresh, cc.w_max) = (packets(2), 5.0);
        f.cwnd_limited = false;
        hear(&mut cc, &mut f, 1, 24);
        hear(&mut cc, &mut f, 41, 24);
        assert_eq!(matches!(cc.state, State::Fair(_)), fair, "{w} packets");
    }
    let mut f = flow(8, 20);
    let mut cc = settled(&mut f);
    cc.rtt = ms(40);
    assert_eq!(cc.tailored_decrease(&f), packets(5), "not 3.8");
}
