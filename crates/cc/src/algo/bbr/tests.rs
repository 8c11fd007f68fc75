use super::*;
use crate::testing::{ack, congestion, flow, ms, packets};
use crate::{Ack, CauseKind, RateSample};
use std::vec::Vec;

fn bbr(f: &mut Flow) -> Bbr {
    Bbr::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

/// A path that delivers `per_round` packets every RTT of `rtt` ms: one ACK a round.
fn round(cc: &mut Bbr, f: &mut Flow, per_round: u64, rtt: u64) -> Ack {
    let prior_delivered = f.delivered;
    f.now += ms(rtt);
    f.delivered += packets(per_round);
    f.in_flight = f.cwnd.saturating_sub(packets(per_round));
    (f.srtt, f.rtt) = (ms(rtt), ms(rtt));
    f.min_rtt = if f.min_rtt.is_zero() { ms(rtt) } else { f.min_rtt.min(ms(rtt)) };
    let rate = RateSample {
        delivered: packets(per_round),
        prior_delivered,
        interval: ms(rtt),
        tx_in_flight: f.cwnd,
        ..RateSample::default()
    };
    let ack = Ack { rate: Some(rate), ..ack(per_round, rtt) };
    cc.on_ack(f, &ack);
    ack
}

#[test]
fn gains_are_the_kernels() {
    let p = Params::default();
    assert!((p.startup_gain - 2.0 / core::f64::consts::LN_2).abs() < 0.002);
    assert_eq!((p.startup_gain * 256.0, p.drain_gain * 256.0), (739.0, 88.0));
    assert_eq!(cycle::GAINS.iter().sum::<f64>(), 8.0, "a cycle sends what the bottleneck delivers");
}

#[test]
fn windows_at_a_hundred_packets_per_ten_milliseconds() {
    let mut f = flow(10, 10);
    let mut cc = bbr(&mut f);
    let bw = packets(100) / ms(10);
    (cc.min_rtt, f.pacing) = (Some(ms(10)), Some(bw));
    assert_eq!(cc.bdp(&f, bw, 1.0), packets(100));
    assert_eq!(cc.bdp(&f, bw, cc.p.startup_gain), packets(289));
    // 80 Mbit/s is 9765 bytes per 1/1024 s: bursts of nine packets, so 200 + 27, made even.
    assert_eq!(cc.inflight_at(&f, bw, 2.0), packets(228));
}

#[test]
fn startup_ends_after_three_rounds_without_more_bandwidth_and_drain_with_the_queue() {
    let mut f = flow(10, 10);
    let mut cc = bbr(&mut f);
    for n in [10, 20, 40, 80, 100] {
        round(&mut cc, &mut f, n, 10);
        assert_eq!(cc.cycle.mode, Mode::Startup);
    }
    let rounds = (1..10).find(|_| {
        round(&mut cc, &mut f, 100, 10);
        cc.full
    });
    assert_eq!(rounds, Some(3));
    // A BDP of 100 packets and three bursts of 27 packets at STARTUP's pacing rate, made even.
    assert_eq!(f.ssthresh, packets(182));
    f.in_flight = packets(1);
    cc.check_drain(&mut f);
    assert_eq!(cc.cycle.mode, Mode::ProbeBw);
    let kinds: Vec<_> = f.drain_events().filter_map(|e| e.cause()).collect();
    assert!(kinds.contains(&CauseKind::SlowStartExit) && kinds.contains(&CauseKind::ModeSwitch), "{kinds:?}");
}

/// A flow in PROBE_BW on a path of 100 packets per 10 ms.
fn steady() -> (Flow, Bbr) {
    let mut f = flow(10, 10);
    let mut cc = bbr(&mut f);
    for _ in 0..20 {
        round(&mut cc, &mut f, 100, 10);
    }
    f.in_flight = packets(1);
    cc.check_drain(&mut f);
    assert_eq!(cc.cycle.mode, Mode::ProbeBw);
    f.drain_events().for_each(drop);
    (f, cc)
}

#[test]
fn the_cycle_probes_then_gives_back_then_cruises_for_six() {
    let (mut f, mut cc) = steady();
    let mut seen = Vec::new();
    for _ in 0..64 {
        round(&mut cc, &mut f, 100, 11);
        seen.push((cc.cycle.index, f.pacing.unwrap().as_mbps()));
    }
    let at = seen.iter().position(|(index, _)| *index == 0).unwrap();
    let (probe, next) = (&seen[at], seen[at..].iter().find(|(index, _)| *index == 1).unwrap());
    assert!((probe.1 - 80.0 * 1.25 * 0.99).abs() < 0.1, "{probe:?}");
    assert!((next.1 - 80.0 * 0.75 * 0.99).abs() < 8.0, "{next:?}");
    let first = (0..100).map(|seed| {
        let (mut f, mut cycle) = (flow(10, 10), Cycle::new(Instant::ZERO));
        cycle.probe_bandwidth(&mut f, &mut Rng::new(seed, 0, 0));
        cycle.index
    });
    let mut first: Vec<_> = first.collect();
    first.sort_unstable();
    first.dedup();
    assert_eq!(first, [0, 2, 3, 4, 5, 6, 7], "any phase but the one that gives back");
}

#[test]
fn ten_seconds_without_the_base_rtt_bring_four_packets_for_200_ms() {
    let (mut f, mut cc) = steady();
    while cc.cycle.mode != Mode::ProbeRtt {
        round(&mut cc, &mut f, 120, 12);
    }
    assert!((10.0..10.3).contains(&f.now.as_secs_f64()), "{:?}", f.now);
    assert_eq!(f.cwnd, packets(4));
    let began = f.now;
    while cc.cycle.mode == Mode::ProbeRtt {
        assert_eq!(f.cwnd, packets(4));
        round(&mut cc, &mut f, 4, 10);
    }
    let took = f.now.since(began).as_millis();
    assert!((200..=240).contains(&took), "{took}");
    assert!(f.cwnd >= packets(200), "the window is back: {:?}", f.cwnd);
    assert_eq!(cc.max_bandwidth(), packets(100) / ms(10), "four packets a round say nothing of the bandwidth");
}

#[test]
fn the_same_rtt_met_again_does_not_put_the_probe_off_but_a_smaller_one_does() {
    let (mut f, mut cc) = steady();
    for _ in 0..300 {
        round(&mut cc, &mut f, 100, 10);
    }
    round(&mut cc, &mut f, 90, 9);
    let least = f.now;
    while cc.cycle.mode != Mode::ProbeRtt {
        round(&mut cc, &mut f, 90, 9);
    }
    let after = f.now.since(least).as_secs_f64();
    assert!((10.0..10.1).contains(&after), "{after}");
}

#[test]
fn recovery_conserves_packets_for_a_round_and_the_window_comes_back() {
    let (mut f, mut cc) = steady();
    round(&mut cc, &mut f, 100, 10);
    let before = f.cwnd;
    let c = congestion(Signal::Loss, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Own);
    f.phase = Phase::Recovery;
    f.in_flight = packets(90);
    f.delivered += packets(2);
    cc.on_ack(&mut f, &Ack { newly_lost: packets(5), ..ack(2, 10) });
    assert_eq!(f.cwnd, packets(92), "what is in flight and what was acknowledged");
    f.phase = Phase::Open;
    round(&mut cc, &mut f, 2, 10);
    assert!(f.cwnd >= before, "{:?}", f.cwnd);
}

#[test]
fn a_timeout_restarts_from_one_packet_without_forgetting_the_path() {
    let (mut f, mut cc) = steady();
    let bw = cc.max_bandwidth();
    let c = congestion(Signal::Timeout, &f);
    cc.on_congestion(&mut f, &c);
    assert_eq!((f.cwnd, cc.max_bandwidth()), (packets(1), bw));
    assert_eq!(f.pacing.map(|r| r.as_bps() > 0), Some(true));
}

#[test]
fn an_old_base_rtt_is_not_renewed_by_a_lone_runt_whose_ack_may_have_been_delayed() {
    // Linux' FLAG_ACK_MAYBE_DELAYED asks for less than an MSS acknowledged; receivers acknowledge a full one as usual.
    for (bytes, more, renewed) in [(999, 0, false), (1000, 0, true), (999, 1, true)] {
        let (mut f, mut cc) = steady();
        cc.cycle.mode = Mode::ProbeRtt;
        f.now += ms(10_001);
        let size = Bytes::new(bytes);
        let prior_delivered = f.delivered;
        f.delivered += size + packets(more);
        let rate = RateSample {
            delivered: size,
            prior_delivered,
            interval: ms(40),
            tx_in_flight: size,
            ..RateSample::default()
        };
        let lone = Ack { cumulative: size, delivered: size, rtt: Some(ms(40)), rate: Some(rate), ..Ack::default() };
        cc.update_min_rtt(&mut f, &lone);
        assert_eq!(cc.min_rtt == Some(ms(40)), renewed, "{bytes} bytes, {more} more since");
    }
}

#[test]
fn a_timeout_counts_as_a_round_at_the_policers_rate() {
    let (mut f, mut cc) = steady();
    cc.policer.force(Rate::from_mbps(40.0), 47);
    cc.cycle.index = 0;
    let c = congestion(Signal::Timeout, &f);
    cc.on_congestion(&mut f, &c);
    assert_eq!(cc.policer.rate(), None);
    let again = f.drain_events().filter(|e| e.cause() == Some(CauseKind::ModeSwitch)).count();
    assert_eq!(again, 1, "the cycle begins anew (`bbr_reset_probe_bw_mode`)");
}

#[test]
fn a_timeout_is_the_first_loss_that_begins_an_interval_of_the_policers() {
    let (mut f, mut cc) = steady();
    assert!(!cc.policer.is_sampling());
    let c = congestion(Signal::Timeout, &f);
    cc.on_congestion(&mut f, &c);
    assert!(cc.policer.is_sampling());
}

#[test]
fn phases_last_until_their_time_and_their_goal_or_give_back_no_longer_than_there_is_a_queue() {
    // Phase, time in units of the base RTT, packets in flight of 150 wanted, a loss: is it over?
    for (index, time, in_flight, lost, over) in [
        (0, 11, 149, false, false),
        (0, 11, 150, false, true),
        (0, 11, 100, true, true),
        (0, 10, 150, true, false),
        (1, 1, 151, false, false),
        (1, 1, 150, false, true),
        (1, 11, 200, false, true),
        (2, 10, 0, false, false),
        (2, 11, 200, false, true),
    ] {
        let mut f = flow(10, 10);
        let mut cycle = Cycle::new(Instant::ZERO);
        (cycle.mode, cycle.index) = (Mode::ProbeBw, index);
        f.now = Instant::from_millis(time);
        let goal = cycle.goal(&Params::default(), false, |_| packets(150));
        cycle.advance(&mut f, goal, packets(in_flight), lost, ms(10));
        assert_eq!(cycle.index != index, over, "phase {index}, {time} ms, {in_flight} packets, lost: {lost}");
    }
}

#[test]
fn the_handshake_s_rtt_is_the_first() {
    let mut f = flow(10, 0);
    let mut cc = bbr(&mut f);
    // A SYN is smaller than data is.
    (f.now, f.rtt, f.srtt, f.min_rtt) = (Instant::from_millis(40), ms(40), ms(40), ms(40));
    cc.on_sent(&mut f, &Sent { size: packets(1), in_flight: packets(1), retransmission: false });
    f.now = Instant::from_millis(90);
    cc.on_ack(&mut f, &ack(1, 50));
    assert_eq!((cc.min_rtt, cc.min_rtt_at), (Some(ms(40)), Instant::from_millis(40)));
}
