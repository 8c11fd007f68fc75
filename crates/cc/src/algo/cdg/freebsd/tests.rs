//! The quirks, one test each, on rounds given by hand.

use super::*;
use crate::algo::cdg::Cdg;
use crate::testing::congestion;
use crate::{Algorithm, CauseKind};
use params::Params as _;
use units::{Duration, Instant, streams};

const MSS: u64 = 1000;

/// A flow of 100 packets in congestion avoidance with CDG at work, and rounds to feed it.
struct Bench {
    cc: FreeBsd,
    flow: Flow,
    number: u64,
}

/// `certain`: G so small that every rise is over five times G, so no dice.
fn bench(spec: &str) -> Bench {
    started(spec, true)
}

fn started(spec: &str, own_start: bool) -> Bench {
    let mut flow = Flow::new(Bytes::new(MSS), Bytes::new(100 * MSS));
    flow.ssthresh = Bytes::new(50 * MSS);
    flow.in_flight = flow.cwnd;
    let p = Params::from_spec(&spec.parse().unwrap()).unwrap();
    let setup = Setup { flow: &mut flow, rng: Rng::new(1, 0, streams::CC), own_start };
    let Cdg::FreeBsd(cc) = Cdg::new(&p, setup) else { panic!("{spec} is Linux's") };
    Bench { cc, flow, number: 0 }
}

impl Bench {
    /// A round with these smallest and largest RTTs in ms; the whole window is acknowledged with it.
    fn round(&mut self, min: u64, max: u64) -> Vec<EventKind> {
        self.silent_round(min, max);
        self.events()
    }

    /// The same, whose events are still to be taken.
    fn silent_round(&mut self, min: u64, max: u64) {
        self.number += 1;
        self.flow.now = Instant::from_millis(self.number * 100);
        let (min, max) = (Duration::from_millis(min), Duration::from_millis(max));
        self.flow.rtt = max;
        let round = Round {
            number: self.number,
            min_rtt: min,
            max_rtt: max,
            min_rtt_reused: min,
            max_rtt_reused: max,
            samples: 10,
            ..Round::default()
        };
        let ack = Ack { cumulative: self.flow.in_flight, round: Some(round), rtt: Some(max), ..Ack::default() };
        self.cc.on_ack(&mut self.flow, &ack);
        self.flow.in_flight = self.flow.cwnd;
    }

    fn ack(&mut self) {
        let ack = Ack { cumulative: Bytes::new(2 * MSS), delivered: Bytes::new(2 * MSS), ..Ack::default() };
        self.cc.on_ack(&mut self.flow, &ack);
    }

    fn lose(&mut self, during: Phase) -> Reaction {
        let c = Congestion { during, ..congestion(Signal::Loss, &self.flow) };
        self.cc.on_congestion(&mut self.flow, &c)
    }

    fn events(&mut self) -> Vec<EventKind> {
        self.flow.drain_events().map(|e| e.cause().unwrap()).collect()
    }

    fn cwnd(&self) -> u64 {
        self.flow.cwnd.get()
    }
}

type EventKind = CauseKind;
use CauseKind::{DelayBackoff, DelayIgnored, LossTolerated, ModeSwitch, SlowStartExit};
use std::vec;
use std::vec::Vec;

mod rounds;

#[test]
fn a_round_without_congestion_adds_one_packet_and_other_acks_none() {
    let mut b = bench("cdg");
    b.round(100, 101);
    b.ack();
    assert_eq!(b.cwnd(), 101 * MSS);
}

#[test]
fn a_rise_backs_off_to_seven_tenths_and_the_next_ack_is_slow_start() {
    let mut b = bench("cdg(g=0.1)");
    b.round(100, 101);
    // One tick over eight samples is 16/128 ms, more than five times G would need 64/128: 5 ticks do.
    assert_eq!(b.round(105, 106), vec![DelayBackoff]);
    assert_eq!((b.cwnd(), b.flow.ssthresh.get()), (70_700, 70_700));
    b.ack();
    assert_eq!(b.cwnd(), 71_700, "cwnd == ssthresh counts as slow start");
    b.ack();
    assert_eq!(b.cwnd(), 71_700);
}

#[test]
fn the_gradient_after_a_backoff_is_skipped_but_its_rtts_are_kept() {
    // Thesis section 4.2.2.1: 117 → 101 (skipped) → 101: the −16 never enters the average.
    let mut b = bench("cdg(g=0.1)");
    b.round(100, 120);
    assert_eq!(b.round(117, 120), vec![DelayBackoff]);
    assert_eq!(b.round(101, 120), vec![]);
    assert_eq!(b.cc.min.last, 17 * 128);
    b.round(101, 120);
    assert_eq!((b.cc.min.last, b.cc.min.average), (0, 17 * 16), "and so the average stays high");

    // HLDG's correction (Eq 5.1): b+2 is compared with b.
    let mut b = bench("cdg(g=0.1, skip=round)");
    b.round(100, 120);
    b.round(117, 120);
    b.round(101, 120);
    b.round(101, 101);
    assert_eq!((b.cc.min.last, b.cc.max.last), (-16 * 128, -19 * 128));

    // The paper's reading: the gradient counts, the toss does not.
    let mut b = bench("cdg(g=0.1, skip=toss)");
    b.round(100, 120);
    b.round(117, 120);
    assert_eq!(b.round(116, 140), vec![], "no toss though the average still rises");
    assert_eq!(b.cc.min.last, -128);
    assert_eq!(b.round(116, 140), vec![DelayBackoff]);
}

#[test]
fn five_indications_back_off_five_are_ignored_and_a_fall_starts_anew() {
    let mut b = bench("cdg(g=0.1)");
    let mut seen = Vec::new();
    for n in 0..26 {
        seen.extend(b.round(1000 + 20 * n, 1000 + 20 * n));
    }
    // Every indication costs two rounds: the next gradient is skipped also when it is ignored.
    let mut expected = Vec::new();
    expected.extend([DelayBackoff; 5]);
    expected.push(ModeSwitch);
    expected.extend([DelayIgnored; 5]);
    expected.push(ModeSwitch);
    expected.extend([DelayBackoff; 3]);
    assert_eq!(seen, expected);
    assert_eq!(b.cc.consecutive, 3);
    for n in 0..10 {
        b.round(1500 - 50 * n, 1500 - 50 * n);
    }
    assert_eq!(b.cc.consecutive, 0);
}

#[test]
fn a_loss_cuts_unless_the_queue_is_known_not_to_be_full() {
    let mut b = bench("cdg(use_shadow=false)");
    assert_eq!(b.lose(Phase::Open), Reaction::Reduce(Bytes::new(50 * MSS)), "unknown counts as full");
    let mut b = bench("cdg(use_shadow=false, unknown_full=false)");
    assert_eq!(b.lose(Phase::Open), Reaction::Own);
    assert_eq!(b.events(), vec![LossTolerated]);
    assert_eq!(b.flow.ssthresh, b.flow.cwnd);
    for (state, tolerated) in
        [(QueueState::Full, false), (QueueState::Empty, true), (QueueState::Rising, true), (QueueState::Falling, true)]
    {
        let mut b = bench("cdg(use_shadow=false)");
        b.cc.queue = state;
        assert_eq!(b.lose(Phase::Open) == Reaction::Own, tolerated, "{state:?}");
    }
}

#[test]
fn a_loss_right_after_a_delay_backoff_cuts_nothing() {
    for (spec, cut) in [("cdg(g=0.1)", false), ("cdg(g=0.1, recovery_bug=false)", true)] {
        let mut b = bench(spec);
        b.round(100, 120);
        b.round(117, 120);
        b.cc.queue = QueueState::Full;
        b.cc.shadow = Bytes::ZERO;
        assert_eq!(b.lose(Phase::Reduced) != Reaction::Own, cut, "{spec}");
    }
}

#[test]
fn the_shadow_is_only_a_threshold_when_it_exceeds_the_window() {
    let mut b = bench("cdg");
    b.cc.shadow = Bytes::new(400 * MSS);
    b.cc.queue = QueueState::Full;
    assert_eq!(b.lose(Phase::Open), Reaction::Own);
    assert_eq!((b.flow.ssthresh.get(), b.cwnd()), (200 * MSS, 100 * MSS));
    // An empty queue forgets it.
    b.cc.previous = Some((100_000_000, 130_000_000));
    b.round(100, 110);
    assert!(b.cc.shadow.is_zero());
    b.round(100, 110);
    assert!(b.cc.shadow.is_zero(), "and it does not grow again by itself");
}

#[test]
fn a_shadow_counts_no_further_than_the_peers_window() {
    // `cdg_window_decrease`, of both: half of 300 packets where 400 are the shadow and 300 the peer's window.
    for (peer, threshold, shadow) in [(1000, 200, 200), (300, 150, 150), (60, 30, 30)] {
        let mut b = bench("cdg");
        (b.cc.shadow, b.flow.receive_window) = (Bytes::new(400 * MSS), Bytes::new(peer * MSS));
        b.cc.queue = QueueState::Full;
        let reaction = b.lose(Phase::Open);
        let to = if let Reaction::Reduce(to) = reaction { to } else { b.flow.ssthresh };
        assert_eq!((to.get() / MSS, b.cc.shadow.get() / MSS), (threshold, shadow), "{peer}");
    }
}

#[test]
fn slow_start_tosses_on_raw_gradients_and_leaves_with_its_own_event() {
    // 8 ms up in one round: raw P is 1 − e^(−8/0.5) or certain; smoothed 1 ms.
    for (spec, exits) in [("cdg(g=1)", true), ("cdg(g=1, raw_slow_start=false, table=false)", false)] {
        let mut b = bench(spec);
        b.flow.ssthresh = Bytes::MAX;
        b.round(100, 100);
        b.round(99, 99);
        // The largest RTT jumps by 8 ms; the smoothed gradient is 7/8 ms.
        let seen = b.round(98, 107);
        if exits {
            assert_eq!(seen, vec![SlowStartExit], "{spec}");
        } else {
            assert!(b.cc.toss.probability < 0.7, "{spec}: {:?}", b.cc.toss);
        }
    }
}

#[test]
fn growth_in_slow_start_counts_acks_whatever_may_end_it() {
    // Without its own slow start CDG tosses no coin there; `cdg_window_increase` stays as it is.
    for own_start in [true, false] {
        for (spec, grown) in [("cdg", 1), ("cdg(ack_counting=false)", 2), ("cdg(reference=paper)", 2)] {
            let mut b = started(spec, own_start);
            b.flow.ssthresh = Bytes::MAX;
            b.ack();
            assert_eq!(b.cwnd(), (100 + grown) * MSS, "{spec}, own slow start {own_start}");
        }
    }
}

#[test]
fn without_its_own_slow_start_no_gradient_ends_it() {
    for (own_start, exits) in [(true, vec![SlowStartExit]), (false, vec![])] {
        let mut b = started("cdg(g=0.1)", own_start);
        b.flow.ssthresh = Bytes::MAX;
        b.round(100, 100);
        assert_eq!(b.round(110, 110), exits, "own slow start {own_start}");
    }
}

#[test]
fn alpha_inc_steps_the_growth() {
    let mut b = bench("cdg(alpha_inc=2)");
    let growth: Vec<u64> = (0..6)
        .map(|_| {
            let before = b.cwnd();
            b.round(100, 100);
            (b.cwnd() - before) / MSS
        })
        .collect();
    assert_eq!(growth, [0, 1, 1, 2, 2, 3]);
}

#[test]
fn a_recovery_that_cut_nothing_ends_with_what_is_in_flight() {
    for (spec, cwnd) in [("cdg", 61 * MSS), ("cdg(restarts=false)", 100 * MSS)] {
        let mut b = bench(spec);
        b.cc.queue = QueueState::Rising;
        assert_eq!(b.lose(Phase::Open), Reaction::Own);
        b.flow.in_flight = Bytes::new(60 * MSS);
        b.cc.on_event(&mut b.flow, Event::RecoveryEnd);
        assert_eq!(
            (b.cwnd(), b.flow.ssthresh.get()),
            (cwnd, 100 * MSS),
            "{spec}: slow start from there to the old window"
        );
        // Not after a cut: the host has done it.
        let mut b = bench(spec);
        b.cc.queue = QueueState::Full;
        b.cc.shadow = Bytes::ZERO;
        assert_eq!(b.lose(Phase::Open), Reaction::Reduce(Bytes::new(50 * MSS)));
        b.cc.on_event(&mut b.flow, Event::RecoveryEnd);
        assert_eq!(b.cwnd(), 100 * MSS, "{spec}");
    }
}

#[test]
fn acks_of_a_repair_grow_its_window_and_the_shadow() {
    for (spec, packets) in [("cdg", 1), ("cdg(restarts=false)", 0)] {
        let mut b = bench(spec);
        b.cc.queue = QueueState::Full;
        b.cc.shadow = Bytes::new(60 * MSS);
        assert_eq!(b.lose(Phase::Open), Reaction::Reduce(Bytes::new(50 * MSS)));
        b.flow.phase = Phase::Recovery;
        (0..3).for_each(|_| b.ack());
        assert_eq!(b.cc.shadow, Bytes::new((30 + 3 * packets) * MSS), "{spec}");
        assert_eq!((u64::from(b.flow.repair_growth), b.cwnd()), (packets * MSS, 100 * MSS), "{spec}");
    }
}

#[test]
fn a_back_off_rests_for_what_was_out_on_freebsds_host_and_else_to_the_end_of_an_episode() {
    for (freebsd, rests) in [(true, 40), (false, 0)] {
        let mut b = bench("cdg(g=0.1)");
        b.flow.freebsd = freebsd;
        b.round(100, 101);
        (b.flow.phase, b.flow.in_flight) = (Phase::Loss, Bytes::new(40 * MSS));
        assert_eq!(b.round(105, 106), vec![DelayBackoff]);
        b.flow.phase = Phase::Open;
        b.cc.on_event(&mut b.flow, Event::RecoveryEnd);
        assert_eq!(b.cc.outstanding, Bytes::new(rests * MSS), "{freebsd}");
        // What is acknowledged since counts, and a timeout ends it.
        b.ack();
        assert_eq!(b.cc.outstanding, Bytes::new(rests * MSS).saturating_sub(Bytes::new(2 * MSS)));
        b.cc.on_congestion(&mut b.flow, &congestion(Signal::Timeout, &Flow::new(Bytes::new(MSS), Bytes::new(MSS))));
        assert!(b.cc.outstanding.is_zero());
    }
}

#[test]
fn the_ack_that_ends_a_repair_finds_the_window_that_it_leaves() {
    // Beyond the threshold only a measurement grows it, and nothing takes it back to the threshold.
    for (beyond, round, grown) in [(false, false, 1), (true, false, 0), (true, true, 1)] {
        let mut b = bench("cdg");
        b.cc.queue = QueueState::Rising;
        b.cc.shadow = Bytes::new(60 * MSS);
        assert_eq!(b.lose(Phase::Open), Reaction::Own);
        (b.flow.phase, b.flow.ends_beyond, b.flow.freebsd) = (Phase::Recovery, beyond, true);
        b.flow.in_flight = Bytes::new(99 * MSS + 1);
        let ack = Ack { cumulative: Bytes::new(MSS), round: round.then(Round::default), ..Ack::default() };
        b.cc.on_ack(&mut b.flow, &ack);
        assert_eq!((u64::from(b.flow.repair_growth), b.cc.shadow), (grown * MSS, Bytes::new((60 + grown) * MSS)));
        b.cc.on_event(&mut b.flow, Event::RecoveryEnd);
        assert_eq!(b.cwnd(), 100 * MSS + u64::from(beyond), "{beyond}");
    }
}

#[test]
fn extremes_judge_a_loss_by_where_the_rtt_lies() {
    for (rtt, full) in [(145, true), (130, false)] {
        let mut b = bench("cdg(infer=extremes, use_shadow=false)");
        let ms = Duration::from_millis;
        (b.flow.min_rtt, b.flow.max_rtt, b.flow.rtt) = (ms(100), ms(160), ms(rtt));
        b.cc.queue = QueueState::Rising;
        assert_eq!(b.lose(Phase::Open) != Reaction::Own, full, "{rtt} ms");
    }
}

#[test]
fn slow_start_by_the_smallest_rtt_alone_keeps_the_window_and_leaves_the_first_gradient_out() {
    for spec in ["cdg(g=0.1, slow_start_min=true)", "cdg(g=0.1, slow_start_min=true, reference=paper)"] {
        let mut b = bench(spec);
        b.flow.ssthresh = Bytes::MAX;
        b.round(100, 100);
        assert_eq!(b.round(120, 120), vec![], "the first");
        assert_eq!(b.round(140, 150), vec![], "nothing to compare with");
        assert_eq!(b.round(140, 170), vec![], "the largest RTT alone");
        let before = b.cwnd();
        assert_eq!(b.round(160, 170), vec![SlowStartExit]);
        assert_eq!((b.cwnd(), b.flow.ssthresh.get()), (before, before));
    }
}

#[test]
fn nothing_keeps_two_packets_in_freebsd() {
    for (spec, least) in [("cdg", 1), ("cdg(keep_two=true)", 2 * MSS), ("cdg(reference=paper)", 2 * MSS)] {
        let b = bench(spec);
        assert_eq!(b.flow.floor.get(), least, "{spec}");
    }
    let mut b = bench("cdg(g=0.1)");
    b.round(40, 60);
    b.flow.cwnd = Bytes::new(1300);
    b.round(60, 80);
    assert_eq!(b.flow.cwnd.get().next_multiple_of(10), 910);
}
