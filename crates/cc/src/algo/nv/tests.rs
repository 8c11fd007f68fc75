use super::*;
use crate::testing::{ack, congestion, flow, ms, packets, value};
use crate::{CauseKind, EventRecord, RateSample};
use std::vec::Vec;
use units::Rng;

/// A flow of NV, and what its path does with it.
struct Run {
    f: Flow,
    cc: Nv,
    /// So many packets are outstanding once an ACK has been answered.
    out: u64,
}

impl Run {
    fn new(cwnd: u64, p: Params) -> Run {
        let mut f = flow(cwnd, 100);
        f.now = Instant::from_millis(1000);
        let cc = Nv::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        Run { f, cc, out: cwnd }
    }

    /// One that has left slow start.
    fn avoiding(cwnd: u64) -> Run {
        let mut run = Run::new(cwnd, Params::default());
        run.f.ssthresh = packets(2);
        run
    }

    /// An ACK of a packet, before which so many packets were delivered in an RTT of that many ms.
    fn ack(&mut self, rtt: u64, delivered: u64) {
        self.f.acked_to += packets(1).get();
        self.f.sent_to = self.f.acked_to + packets(self.out).get();
        let rate = RateSample { delivered: packets(delivered), interval: ms(rtt), ..RateSample::default() };
        let sent_at = Instant::from_nanos((self.f.now - Instant::ZERO).as_nanos() - ms(rtt).as_nanos());
        self.cc.on_ack(&mut self.f, &Ack { rate: Some(rate), sent_at, ..ack(1, rtt) });
    }

    /// So many ACKs alike, spread over the RTT as those of a window are.
    fn acks(&mut self, n: u64, rtt: u64, delivered: u64) {
        for _ in 0..n {
            self.f.now += ms(rtt) / delivered;
            self.ack(rtt, delivered);
        }
    }

    fn cwnd(&self) -> u64 {
        self.f.cwnd.get() / 1000
    }

    fn threshold(&self) -> u64 {
        self.f.ssthresh.get() / 1000
    }

    fn lose(&mut self, signal: Signal) -> u64 {
        let c = congestion(signal, &self.f);
        let Reaction::Reduce(to) = self.cc.on_congestion(&mut self.f, &c) else { panic!() };
        to.get() / 1000
    }

    fn events(&mut self) -> Vec<EventRecord> {
        self.f.drain_events().collect()
    }
}

#[test]
fn a_queue_beyond_the_pad_costs_three_tenths_of_what_is_too_much() {
    // Of 150 packets 100 fill the path of 100 ms. 40 of the 50 queued are too many, of which 40·38/128 are given up; of
    // three too many it is two, and of two both.
    for (cwnd, after) in [(150, 139), (113, 111), (112, 110)] {
        let mut run = Run::avoiding(cwnd);
        run.acks(1, 100, 100);
        (run.cc.path.rtt, run.cc.path.rate, run.cc.grows) = (150_000, 0, false);
        let judged = (1..).find(|_| {
            run.acks(1, 150, 150);
            run.cwnd() < cwnd
        });
        // Sixty ACKs are enough, once a packet is acknowledged that left after the first came back.
        assert_eq!(judged, Some(cwnd + 1));
        let event = run.events()[0];
        assert_eq!(event.cause(), Some(CauseKind::DelayBackoff));
        assert_eq!((run.cwnd(), run.threshold()), (after, 110));
        assert_eq!((value(&event, "queue"), value(&event, "bdp")), (50_000_000, 100_000));
    }
}

#[test]
fn the_window_grows_by_one_a_round_with_room_and_stays_within_two_of_the_pad() {
    // 40 packets a round whatever the window is: 50 may be out, and from 48 on nothing is decided.
    for (cwnd, grows) in [(40, true), (48, true), (49, false), (50, false)] {
        let mut run = Run::avoiding(cwnd);
        run.cc.grows = false;
        run.acks(cwnd + 25, 100, 40);
        assert_eq!((run.cc.grows, run.events().len()), (grows, 0), "{cwnd}");
    }
    let mut run = Run::avoiding(40);
    run.acks(40, 100, 40);
    assert_eq!(run.cwnd(), 41);
}

#[test]
fn small_windows_grow_as_one_of_four() {
    for (cwnd, acks) in [(2, 4), (4, 4), (5, 5)] {
        let mut run = Run::avoiding(cwnd);
        run.acks(acks - 1, 100, cwnd);
        assert_eq!(run.cwnd(), cwnd);
        run.acks(1, 100, cwnd);
        assert_eq!(run.cwnd(), cwnd + 1);
    }
}

#[test]
fn slow_start_is_judged_after_thirty_acks_and_two_rounds() {
    // 160 out, and no more than 100 an RTT come back.
    let mut run = Run::new(160, Params::default());
    run.out = 20;
    let slow = (1..).find(|_| {
        run.acks(1, 200, 100);
        run.f.ssthresh != Bytes::MAX
    });
    // Rounds end with the first packet and then with every 21st: the third of them comes with the 43rd.
    assert_eq!(slow, Some(43));
    assert_eq!(run.threshold(), 110);
    let event = run.events()[0];
    assert_eq!((event.cause(), value(&event, "reason")), (Some(CauseKind::SlowStartExit), exits::QUEUED));
    assert_eq!(value(&event, "bandwidth"), 4_000_000);
    assert_eq!((value(&event, "rtt"), value(&event, "base_rtt")), (200_000_000, 200_000_000));
}

#[test]
fn ten_rounds_without_a_judgement_stop_the_growth() {
    // Windows of four packets at one RTT, of which one returns: 11 rounds have 12 ACKs each, fewer than the sixty that are needed.
    let mut run = Run::avoiding(20);
    run.out = 4;
    run.acks(1, 100, 1);
    let stops = (1..).find(|_| {
        run.acks(1, 100, 1);
        !run.cc.grows
    });
    // A round is five packets from the second on, and the eleventh the first that is more than ten.
    assert_eq!(stops, Some(50));
    assert!(run.events().is_empty());
}

#[test]
fn a_loss_leaves_four_fifths_and_the_base_rtt_is_learned_again() {
    let mut run = Run::avoiding(100);
    run.acks(50, 100, 100);
    // 819/1024 of a hundred, in whole packets.
    assert_eq!((run.lose(Signal::Loss), run.cc.grows), (79, false));
    run.f.phase = Phase::Recovery;
    run.acks(50, 150, 100);
    assert_eq!((run.cc.path.base, run.cc.path.rtt), (100_000, 100_000), "nothing is heard in a repair");
    run.f.phase = Phase::Open;
    run.cc.on_event(&mut run.f, Event::RecoveryEnd);
    run.ack(150, 100);
    assert_eq!(run.cc.path.rtt, 0, "nor with the ACK that ends it");
    run.acks(1, 150, 100);
    assert_eq!((run.cc.path.base, run.cc.path.rtt, run.cc.grows), (150_000, 150_000, false));
    assert_eq!(Run::avoiding(2).lose(Signal::Loss), 2);
}

#[test]
fn each_timeout_halves_the_growth_and_nine_rounds_with_room_double_it() {
    let mut run = Run::avoiding(20);
    run.acks(1, 100, 20);
    for slowed in [1, 2, 3, 4, 5, 6, 7, 8, 8] {
        run.lose(Signal::Timeout);
        assert_eq!(run.cc.slowed, slowed);
    }
    run.cc.on_undo(&mut run.f);
    run.out = 20;
    let mut rounds = 0;
    while run.cc.slowed == 8 {
        run.acks(1, 100, 20);
        rounds += u32::from(run.cc.calls == 0);
    }
    assert_eq!(rounds, 9);
}

#[test]
fn growth_halved_three_times_takes_eight_windows() {
    let mut run = Run::avoiding(20);
    run.cc.slowed = 3;
    run.acks(159, 100, 20);
    assert_eq!(run.cwnd(), 20);
    run.acks(1, 100, 20);
    assert_eq!(run.cwnd(), 21);
}

#[test]
fn the_base_rtt_is_that_of_two_periods() {
    let mut run = Run::avoiding(20);
    run.cc.grows = false;
    run.acks(10, 100, 20);
    // A longer path. Two seconds after the first data was sent the next base begins, and holds until the period's end.
    let base_after = |run: &mut Run, seconds: f64| {
        let until = run.f.now + Duration::from_secs_f64(seconds);
        while run.f.now < until {
            run.acks(1, 150, 20);
        }
        run.cc.path.base / 1000
    };
    assert_eq!(base_after(&mut run, 1.8), 100);
    assert_eq!(base_after(&mut run, 3.8), 100);
    assert_eq!(base_after(&mut run, 3.0), 149, "averages come near it from below");
}

#[test]
fn what_is_known_of_the_path_bounds_its_rtt() {
    let p = Params { base_rtt: ms(100), ..Params::default() };
    for (rtt, base) in [(50, 80_078), (90, 90_000), (300, 100_000)] {
        let mut run = Run::new(20, p.clone());
        run.acks(1, rtt, 20);
        assert_eq!(run.cc.path.base, base, "{rtt}");
    }
}

#[test]
fn windows_of_one_ack_a_round_may_grow_until_they_can_be_judged() {
    let mut run = Run::avoiding(4);
    run.cc.grows = false;
    // An ACK of the whole window, every round.
    let mut least = Vec::new();
    for _ in 0..4 {
        run.f.acked_to += 1000 * (run.cc.small - 1);
        run.out = 0;
        run.acks(1, 100, 4);
        least.push((run.cc.small, run.cc.grows));
    }
    assert_eq!(least, [(6, true), (6, true), (6, true), (6, true)]);
}
