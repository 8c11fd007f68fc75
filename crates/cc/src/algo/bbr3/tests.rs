use super::bounds::prefix;
use super::cycle::Phase as Cycle;
use super::*;
use crate::testing::{ack, flow, ms, packets};
use crate::{RateSample, modes};

fn bbr(f: &mut Flow) -> Bbr3 {
    Bbr3::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

/// One packet each ms over 100 ms: 8 Mbit/s, a BDP of 100 packets, the pipe full.
fn settled(f: &mut Flow) -> Bbr3 {
    let mut cc = bbr(f);
    cc.max_bw.update(0, Rate::from_mbps(8.0));
    cc.min_rtt.update(0, ms(100));
    cc.full = true;
    cc
}

#[test]
fn the_loss_threshold_is_crossed_1_02_packets_into_a_burst() {
    // Reference, section 5.9.
    assert!((prefix(100.0, 1.0, 0.02) - 1.0204).abs() < 1e-4);
}

#[test]
fn bounds_after_losses_and_with_headroom() {
    let mut b = Bounds { bw: Some(Rate::from_mbps(100.0)), longterm: Some(packets(100)), ..Bounds::default() };
    b.after_loss((Rate::from_mbps(60.0), packets(80)), (Rate::ZERO, packets(100)), 0.7);
    assert_eq!((b.bw, b.shortterm), (Some(Rate::from_mbps(70.0)), Some(packets(80))), "60 delivered, 0.7 of 100 stays");
    assert_eq!(b.with_headroom(0.15, packets(1)), Some(packets(85)));
    b.longterm = Some(packets(5));
    assert_eq!(b.with_headroom(0.15, packets(1)), Some(packets(4)), "a packet at least, but four stay");
}

#[test]
fn gains_of_the_draft() {
    let mut s = State::new(Instant::ZERO);
    let p = Params::default();
    let gains = [Cycle::Startup, Cycle::Drain, Cycle::Down, Cycle::Cruise, Cycle::Refill, Cycle::Up, Cycle::ProbeRtt]
        .map(|phase| {
            s.phase = phase;
            (s.pacing_gain(&p), s.cwnd_gain(&p))
        });
    assert_eq!(gains, [(2.77, 2.0), (0.5, 2.0), (0.9, 2.0), (1.0, 2.0), (1.0, 2.0), (1.25, 2.25), (1.0, 0.5)]);
}

#[test]
fn the_first_rtt_takes_the_pace_from_a_millisecond_s_to_its_own() {
    let mut f = flow(10, 0);
    let mut cc = bbr(&mut f);
    // Ten packets of 1000 bytes, at 2.77 times 0.99: in 1 ms, and in 100 ms.
    assert_eq!(f.pacing, Some(Rate::from_bps(219_384_000)));
    (f.rtt, f.srtt, f.min_rtt, f.delivered) = (ms(100), ms(100), ms(100), packets(1));
    cc.on_ack(&mut f, &Ack { rate: Some(sample(Bytes::ZERO, 1)), ..ack(1, 100) });
    assert_eq!(f.pacing, Some(Rate::from_bps(2_193_840)));
}

#[test]
fn three_rounds_without_a_quarter_more_are_a_plateau() {
    let mut plateau = Plateau::default();
    let seen = [8.0, 10.0, 12.4, 12.4, 12.4].map(|mbps| {
        plateau.round(Rate::from_mbps(mbps));
        plateau.now
    });
    assert_eq!(seen, [false, false, false, false, true], "12.4 is not 1.25 times 10");
}

#[test]
fn the_long_term_bound_climbs_by_one_two_four_packets_a_round() {
    let mut f = flow(100, 100);
    let mut cc = settled(&mut f);
    cc.enter(&mut f, Cycle::Up);
    let mut per_round = std::vec::Vec::new();
    for _ in 0..4 {
        let mut grown = Bytes::ZERO;
        for n in 0..100 {
            grown += cc.state.climb(&f, packets(1), n == 99);
        }
        per_round.push(grown.get() / 1000);
    }
    assert_eq!(per_round, [1, 2, 4, 8]);
}

#[test]
fn a_probe_that_loses_more_than_two_percent_sets_the_bound_and_goes_down() {
    let mut f = flow(200, 100);
    let mut cc = settled(&mut f);
    cc.enter(&mut f, Cycle::Up);
    cc.state.sampling_probe = true;
    let lose = |cc: &mut Bbr3, f: &mut Flow, lost| {
        cc.on_lost(
            f,
            &Lost {
                size: packets(1),
                sent_at: Instant::ZERO,
                tx_in_flight: packets(150),
                lost: packets(lost),
                app_limited: false,
            },
        );
    };
    lose(&mut cc, &mut f, 3);
    assert_eq!((cc.bounds.longterm, cc.state.phase), (None, Cycle::Up), "2 %, not more");
    lose(&mut cc, &mut f, 4);
    // 149 before and (2.98 − 3)/0.98 of the packet itself.
    assert!(cc.bounds.longterm.unwrap().get().abs_diff(148_980) < 5, "{:?}", cc.bounds.longterm);
    assert_eq!(cc.state.phase, Cycle::Down);
    let before = cc.bounds.longterm;
    lose(&mut cc, &mut f, 9);
    assert_eq!(cc.bounds.longterm, before, "one answer to one probe");
}

#[test]
fn a_probe_that_lacked_data_as_it_lost_sets_no_bound() {
    // IsInflightTooHigh goes by the lost packet (P.is_app_limited), not by what the application does now.
    for (then, now, bound) in [(true, false, false), (false, true, true)] {
        let mut f = flow(200, 100);
        let mut cc = settled(&mut f);
        cc.enter(&mut f, Cycle::Up);
        (cc.state.sampling_probe, f.app_limited) = (true, now);
        let (tx_in_flight, lost) = (packets(150), packets(9));
        let lost = Lost { size: packets(1), sent_at: Instant::ZERO, tx_in_flight, lost, app_limited: then };
        cc.on_lost(&mut f, &lost);
        assert_eq!((cc.bounds.longterm.is_some(), cc.state.phase), (bound, Cycle::Down));
    }
}

#[test]
fn losses_outside_a_probe_take_at_most_three_tenths_a_round() {
    let mut f = flow(200, 100);
    let mut cc = settled(&mut f);
    cc.enter(&mut f, Cycle::Down);
    cc.on_lost(
        &mut f,
        &Lost {
            size: packets(1),
            sent_at: Instant::ZERO,
            tx_in_flight: packets(100),
            lost: packets(1),
            app_limited: false,
        },
    );
    (f.delivered, f.now) = (packets(500), Instant::from_millis(200));
    let rate = RateSample {
        delivered: packets(50),
        prior_delivered: packets(400),
        interval: ms(100),
        tx_in_flight: packets(100),
        lost: packets(1),
        app_limited: false,
    };
    cc.on_ack(&mut f, &Ack { rate: Some(rate), ..ack(1, 100) });
    assert_eq!((cc.bounds.bw, cc.bounds.shortterm), (Some(Rate::from_mbps(5.6)), Some(packets(140))));
    assert_eq!(cc.bandwidth(), Rate::from_mbps(5.6));
    cc.enter(&mut f, Cycle::Refill);
    assert_eq!(cc.bandwidth(), Rate::from_mbps(8.0), "a probe looks again");
}

#[test]
fn the_window_is_two_bdp_and_half_of_one_for_the_rtt() {
    let mut f = flow(100, 100);
    f.pacing = Some(Rate::from_mbps(8.0));
    let mut cc = settled(&mut f);
    cc.enter(&mut f, Cycle::Cruise);
    assert_eq!(cc.inflight(&f, 2.0), packets(200));
    assert_eq!(cc.probe_rtt_window(&f), packets(50));
    cc.enter(&mut f, Cycle::ProbeRtt);
    assert_eq!(cc.state.mode(), modes::PROBE_RTT);
    cc.set_cwnd(&mut f, &ack(1, 100));
    assert_eq!(f.cwnd, packets(50));
}

#[test]
fn the_same_rtt_met_again_does_not_put_the_probe_off_but_a_smaller_one_does() {
    let mut f = flow(200, 100);
    let mut cc = settled(&mut f);
    let mut see = |f: &mut Flow, rtt| {
        f.now += ms(rtt);
        cc.update_min_rtt(f, &ack(1, rtt));
        cc.state.phase == Cycle::ProbeRtt
    };
    for _ in 0..30 {
        assert!(!see(&mut f, 100));
    }
    assert!(!see(&mut f, 99));
    let least = f.now;
    while !see(&mut f, 99) {}
    let after = f.now.since(least).as_secs_f64();
    assert!((5.0..5.2).contains(&after), "{after}");
}

#[test]
fn a_spurious_recovery_gives_back_the_bound_that_its_losses_set() {
    let mut f = flow(200, 100);
    let mut cc = settled(&mut f);
    cc.enter(&mut f, Cycle::Up);
    (cc.state.sampling_probe, cc.bounds.longterm) = (true, Some(packets(190)));
    let lost = Lost {
        size: packets(1),
        sent_at: Instant::ZERO,
        tx_in_flight: packets(150),
        lost: packets(9),
        app_limited: false,
    };
    cc.on_lost(&mut f, &lost);
    assert!(cc.bounds.longterm < Some(packets(150)));
    let c = crate::testing::congestion(Signal::Loss, &f);
    cc.on_congestion(&mut f, &c);
    cc.on_undo(&mut f);
    assert_eq!(cc.bounds.longterm, Some(packets(190)));
}

#[test]
fn losses_in_a_row_are_one_event_of_the_six_that_end_startup() {
    let rate = |f: &Flow| RateSample {
        delivered: packets(100),
        prior_delivered: f.delivered,
        interval: ms(100),
        tx_in_flight: packets(100),
        lost: packets(10),
        app_limited: false,
    };
    for (acks, since, ends) in [(1, 0, false), (6, 0, true), (6, 10, false)] {
        let mut f = flow(200, 100);
        let mut cc = bbr(&mut f);
        (f.phase, cc.rounds, cc.next_round, cc.loss_round_end) = (Phase::Recovery, 9, packets(9999), packets(9999));
        // The round that ends below is the tenth.
        cc.recovery_round = since;
        for n in 1..=acks {
            (0..12 / acks).for_each(|_| {
                let lost = Lost {
                    size: packets(1),
                    sent_at: f.now,
                    tx_in_flight: packets(100),
                    lost: packets(1),
                    app_limited: false,
                };
                cc.on_lost(&mut f, &lost);
            });
            if n == acks {
                (cc.next_round, cc.loss_round_end) = (f.delivered, f.delivered);
            } else {
                cc.loss_round_end = packets(9999);
            }
            let sample = rate(&f);
            cc.on_ack(&mut f, &Ack { newly_lost: packets(12 / acks), rate: Some(sample), ..ack(1, 100) });
        }
        assert_eq!(cc.full, ends, "12 losses on {acks} ACKs, in recovery since round {since}");
    }
}

#[test]
fn silence_in_probe_rtt_ends_it_once_its_time_is_over() {
    let mut f = flow(100, 100);
    let mut cc = settled(&mut f);
    cc.enter(&mut f, Cycle::ProbeRtt);
    (cc.probe_rtt_until, cc.prior_cwnd, f.cwnd) = (Some(Instant::from_millis(200)), packets(200), packets(50));
    (f.now, f.app_limited) = (Instant::from_millis(500), true);
    cc.on_sent(&mut f, &Sent { size: packets(1), in_flight: packets(1), retransmission: false });
    assert_eq!((cc.state.phase, f.cwnd), (Cycle::Cruise, packets(200)));
}

/// The rate sample of a packet sent when so much was delivered: one packet a ms, but this many of a hundred.
fn sample(prior_delivered: Bytes, of_a_hundred: u64) -> RateSample {
    RateSample {
        delivered: packets(of_a_hundred),
        prior_delivered,
        interval: ms(100),
        tx_in_flight: packets(100),
        ..RateSample::default()
    }
}

#[test]
fn what_was_sent_in_probe_rtt_is_application_limited_but_not_what_was_sent_before() {
    let mut f = flow(100, 100);
    let mut cc = settled(&mut f);
    (f.delivered, f.in_flight) = (packets(1000), packets(50));
    cc.enter(&mut f, Cycle::Cruise);
    cc.probe_rtt_min = Some((ms(100), f.now));
    f.now += ms(5001);
    cc.update_min_rtt(&mut f, &ack(1, 100));
    assert_eq!(cc.state.phase, Cycle::ProbeRtt);
    let limited = [900, 999, 1000, 1050, 1051].map(|at| cc.app_limited(&sample(packets(at), 50)));
    assert_eq!(limited, [false, false, true, true, false]);
}

#[test]
fn the_cycle_that_probe_rtt_began_does_not_age_the_bandwidth() {
    for (ended_by_probe_rtt, cycles) in [(true, 0), (false, 1)] {
        let mut f = flow(100, 100);
        let mut cc = settled(&mut f);
        (f.delivered, f.in_flight) = (packets(1000), packets(50));
        if ended_by_probe_rtt {
            cc.probe_rtt_min = Some((ms(100), f.now));
            f.now += ms(5001);
            cc.update_min_rtt(&mut f, &ack(1, 100));
            cc.probe_rtt_until = Some(f.now);
            f.now += ms(1);
            cc.end_probe_rtt(&mut f);
            assert_eq!(cc.state.phase, Cycle::Cruise);
        } else {
            cc.enter(&mut f, Cycle::Down);
        }
        let sent_at = f.delivered;
        f.delivered += packets(50);
        cc.on_ack(&mut f, &Ack { rate: Some(sample(sent_at, 50)), ..ack(1, 100) });
        assert_eq!(cc.cycles, cycles);
    }
}

#[test]
fn probe_rtt_keeps_the_larger_of_two_windows_to_restore() {
    // The draft is in ProbeRTT already as it calls BBRSaveCwnd (section 5.3.4.3).
    let mut f = flow(20, 100);
    let mut cc = settled(&mut f);
    cc.prior_cwnd = packets(50);
    cc.probe_rtt_min = Some((ms(100), f.now));
    f.now += ms(5001);
    cc.update_min_rtt(&mut f, &ack(1, 100));
    assert_eq!((cc.state.phase, cc.prior_cwnd), (Cycle::ProbeRtt, packets(50)));
}

#[test]
fn a_bound_lifted_to_what_fitted_climbs_no_further_with_a_smaller_window() {
    for (window, bound) in [(100, 120), (120, 121)] {
        let mut f = flow(window, 100);
        let mut cc = settled(&mut f);
        cc.enter(&mut f, Cycle::Up);
        cc.bounds.longterm = Some(packets(100));
        cc.raise_long_term(&f, packets(120), packets(window));
        assert_eq!(cc.bounds.longterm, Some(packets(bound)), "window {window}");
    }
}

#[test]
fn a_search_for_a_plateau_begins_at_the_rate_of_the_ack_that_starts_it() {
    let mut f = flow(100, 100);
    let mut cc = settled(&mut f);
    cc.enter(&mut f, Cycle::Refill);
    f.delivered = packets(100);
    // The round saw 8 Mbit/s; the ACK that ends it brings 6.4.
    cc.bw_latest = Rate::from_mbps(8.0);
    cc.on_ack(&mut f, &Ack { rate: Some(sample(packets(90), 80)), ..ack(1, 100) });
    assert_eq!((cc.state.phase, cc.plateau.bw), (Cycle::Up, Rate::from_mbps(6.4)));
    cc.bounds.longterm = Some(packets(4));
    cc.on_ack(&mut f, &Ack { rate: Some(sample(packets(50), 60)), ..ack(1, 100) });
    assert_eq!((cc.state.phase, cc.plateau.bw), (Cycle::Up, Rate::from_mbps(4.8)), "the bound holds the rate back");
}

#[test]
fn a_probe_waits_as_many_rounds_as_reno_would_need_and_63_at_most() {
    for (window, rounds, due) in [(20, 19, false), (20, 20, true), (80, 62, false), (80, 63, true)] {
        let mut f = flow(window, 100);
        let mut cc = settled(&mut f);
        cc.enter(&mut f, Cycle::Cruise);
        (cc.state.rounds_since_probe, cc.state.wait) = (rounds, ms(2500));
        assert_eq!(cc.is_time_to_probe(&f), due, "{window} packets, {rounds} rounds");
        f.now = Instant::from_millis(2501);
        assert!(cc.is_time_to_probe(&f), "or 2.5 s");
    }
}

#[test]
fn sending_begins_anew_at_the_bandwidth_as_it_is() {
    let mut f = flow(100, 100);
    let mut cc = settled(&mut f);
    cc.enter(&mut f, Cycle::Up);
    let mut pace = |event| {
        f.pacing = Some(Rate::from_mbps(10.0));
        cc.on_event(&mut f, event);
        (f.pacing.unwrap().as_bps(), core::mem::take(&mut cc.idle_restart))
    };
    assert_eq!(pace(Event::RecoveryEnd), (10_000_000, false));
    assert_eq!(pace(Event::Restart), (7_920_000, true), "0.99 of 8 Mbit/s");
}

#[test]
fn after_a_probe_that_went_too_far_the_next_stops_at_the_bound_and_goes_on_if_nothing_was_lost() {
    for (in_flight, stops) in [(99, false), (100, true)] {
        let mut f = flow(90, 100);
        let mut cc = settled(&mut f);
        cc.enter(&mut f, Cycle::Up);
        (cc.bounds.longterm, cc.state.previous_too_high) = (Some(packets(100)), true);
        (f.in_flight, f.delivered) = (packets(in_flight), packets(500));
        // Sent before the round: nothing but what is in flight is new.
        cc.on_ack(&mut f, &Ack { rate: Some(sample(Bytes::ZERO, 50)), ..ack(1, 100) });
        let expected = if stops { (Cycle::Down, false) } else { (Cycle::Up, true) };
        assert_eq!((cc.state.phase, cc.state.previous_too_high), expected, "{in_flight} packets");
        if stops {
            let sent_at = f.delivered;
            f.delivered += packets(100);
            cc.on_ack(&mut f, &Ack { rate: Some(sample(sent_at, 50)), ..ack(1, 100) });
            assert_eq!(cc.state.phase, Cycle::Refill, "its round lost nothing");
        }
    }
}

#[test]
fn bunched_acks_are_remembered_for_a_round_in_startup_and_ten_later() {
    for (full, rounds) in [(false, 2), (true, 11)] {
        let mut f = flow(200, 100);
        let mut cc = settled(&mut f);
        cc.full = full;
        f.now = Instant::from_millis(1000);
        let rate = Some(sample(Bytes::ZERO, 80));
        cc.update_aggregation(&f, &Ack { rate, ..ack(40, 100) });
        assert_eq!(cc.extra.get(), Some(packets(40)), "forty packets at once after a silence");
        let until = (1..30).find(|_| {
            (f.now, cc.rounds) = (f.now + ms(100), cc.rounds + 1);
            cc.update_aggregation(&f, &Ack { rate, ..ack(1, 100) });
            cc.extra.get() != Some(packets(40))
        });
        assert_eq!(until, Some(rounds), "full: {full}");
    }
}

#[test]
fn the_tighter_bound_holds_and_four_packets_are_left() {
    for (long, short, cap) in [(100, 60, 60), (60, 100, 60), (2, 3, 4)] {
        let mut f = flow(200, 100);
        let mut cc = settled(&mut f);
        cc.enter(&mut f, Cycle::Down);
        (cc.bounds.longterm, cc.bounds.shortterm) = (Some(packets(long)), Some(packets(short)));
        cc.set_cwnd(&mut f, &ack(1, 100));
        assert_eq!(f.cwnd, packets(cap), "{long} and {short}");
    }
}

#[test]
fn a_queue_that_never_formed_need_not_be_drained() {
    // The plateau is found with less in flight than a BDP: on one ACK STARTUP is over, DRAIN and DOWN with it.
    for (in_flight, phase) in [(200, Cycle::Drain), (50, Cycle::Cruise)] {
        let mut f = flow(100, 100);
        let mut cc = settled(&mut f);
        (cc.state.phase, cc.full) = (Cycle::Startup, true);
        f.in_flight = packets(in_flight);
        cc.advance(&mut f, &ack(1, 100));
        assert_eq!(cc.state.phase, phase, "{in_flight} packets in flight");
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
    assert_eq!((cc.min_rtt.get(), cc.probe_rtt_min), (Some(ms(40)), Some((ms(40), Instant::from_millis(40)))));
}
