use super::*;
use crate::testing::{ack, closing, flow, ms, packets};
use units::Rng;

#[test]
fn twelve_packets_at_60_ms_of_which_10_are_queue() {
    // Reference, section 3.8.
    assert_eq!(target(ms(60), ms(10), 0.5), 12.0);
    assert!((step(10.0, 12.0, 1.0, 0.5, 1.0) - 0.2).abs() < 1e-12);
    assert!((step(14.0, 12.0, 1.0, 0.5, 1.0) + 1.0 / 7.0).abs() < 1e-12);
    assert_eq!(step(10.0, f64::INFINITY, 64.0, 0.5, 1.0), 1.0, "no faster than doubling");
}

fn settled(f: &mut Flow) -> Copa {
    f.ssthresh = packets(10);
    Copa::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn velocity_doubles_from_the_third_round_the_same_way_and_a_turn_resets_it() {
    let mut f = flow(100, 50);
    let mut cc = settled(&mut f);
    let velocities = [105, 110, 115, 120, 110].map(|cwnd| {
        f.cwnd = packets(cwnd);
        cc.end_of_round(&f);
        cc.velocity
    });
    assert_eq!(velocities, [1.0, 1.0, 2.0, 4.0, 1.0]);
}

#[test]
fn a_large_velocity_is_not_for_the_way_back() {
    // At the target of 2 · 60 / 10 packets the paper's v of 32 would take a window of 40 down by all that is acknowledged.
    for (turn_at_once, velocity, cwnd) in [(true, 1.0, 40), (false, 32.0, 30)] {
        let mut f = flow(40, 60);
        let mut cc = settled(&mut f);
        (cc.p.turn_at_once, cc.velocity, cc.same_way) = (turn_at_once, 32.0, 7);
        cc.steer(&mut f, target(ms(60), ms(10), 0.5), 10.0, ms(10));
        assert_eq!((cc.velocity, f.cwnd), (velocity, packets(cwnd)));
        assert_eq!((cc.rising, cc.same_way), (!turn_at_once, if turn_at_once { 0 } else { 7 }));
    }
}

#[test]
fn a_queue_never_empty_for_five_rtts_is_answered_with_a_smaller_delta() {
    let mut f = flow(40, 50);
    let mut cc = settled(&mut f);
    cc.on_ack(&mut f, &ack(0, 50));
    let mut deltas = std::vec::Vec::new();
    for n in 1..=8 {
        f.now = Instant::from_millis(50 * n);
        f.cwnd = packets(40);
        cc.on_ack(&mut f, &closing(0, 100));
        deltas.push(1.0 / cc.delta);
    }
    assert_eq!(deltas, [2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 4.0, 5.0]);
    let c = crate::testing::congestion(Signal::Loss, &f);
    assert_eq!((cc.on_congestion(&mut f, &c), 1.0 / cc.delta), (Reaction::Own, 2.5));
    let last = |f: &mut Flow| f.drain_events().last().unwrap().cause().unwrap();
    assert_eq!(last(&mut f), crate::CauseKind::LossBackoff);
    // Once an RTT.
    f.now += ms(1);
    assert_eq!((cc.on_congestion(&mut f, &c), 1.0 / cc.delta), (Reaction::Own, 2.5));
    assert_eq!(last(&mut f), crate::CauseKind::LossTolerated);
}

#[test]
fn a_loss_ends_slow_start_and_leaves_the_window_and_a_mark_halves_it() {
    let mut f = flow(40, 50);
    let mut cc = Copa::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    let c = crate::testing::congestion(Signal::Ecn, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(20)));
    let c = crate::testing::congestion(Signal::Loss, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Own);
    assert_eq!((f.in_slow_start(), f.cwnd, f.ssthresh), (false, packets(40), packets(40)));
    let exit = f.drain_events().next().unwrap();
    assert_eq!(crate::testing::value(&exit, "reason"), exits::LOSS);
}

fn lose(cc: &mut Copa, f: &mut Flow, n: u64) {
    let lost = Lost { size: f.mss, sent_at: f.now, tx_in_flight: f.cwnd, lost: f.mss, app_limited: false };
    (0..n).for_each(|_| cc.on_lost(f, &lost));
}

#[test]
fn more_than_three_in_ten_lost_over_two_rtts_and_twenty_packets_cost_three_tenths_of_the_window() {
    for (came, lost, after, cwnd) in
        [(14, 7, 120, 28), (14, 6, 120, 40), (13, 7, 120, 40), (70, 30, 120, 40), (14, 7, 100, 40)]
    {
        let mut f = flow(40, 50);
        let mut cc = settled(&mut f);
        lose(&mut cc, &mut f, lost);
        f.now += ms(after);
        // Without a sample there is no target to steer by yet.
        cc.on_ack(&mut f, &Ack { rtt: None, ..ack(came, 0) });
        assert_eq!(f.cwnd, packets(cwnd), "{came} {lost} {after}");
    }
}

#[test]
fn a_repair_without_end_halves_one_over_delta_once_an_rtt() {
    let mut f = flow(40, 50);
    let mut cc = settled(&mut f);
    (cc.competing, cc.delta) = (true, 1.0 / 32.0);
    let seen = [0, 20, 30, 60].map(|after| {
        f.now += ms(after);
        lose(&mut cc, &mut f, 1);
        1.0 / cc.delta
    });
    assert_eq!(seen, [16.0, 16.0, 8.0, 4.0]);
    cc.end_of_round(&f);
    lose(&mut cc, &mut f, 1);
    cc.end_of_round(&f);
    assert_eq!(1.0 / cc.delta, 4.0, "no growth in a round with a loss");
}

#[test]
fn an_ack_without_a_sample_steers_by_the_last_one() {
    // A target of 2 · 60 / 10 packets, and 40 in the window: 40 packets acknowledged take 2 from it.
    let mut f = flow(40, 50);
    let mut cc = settled(&mut f);
    cc.last = Some((ms(60), ms(10)));
    cc.on_ack(&mut f, &Ack { rtt: None, ..ack(40, 0) });
    assert_eq!(f.cwnd, packets(38));
}
