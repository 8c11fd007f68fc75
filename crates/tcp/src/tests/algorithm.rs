//! What the endpoint owes the algorithm, and what the algorithm may ask of it.

use super::*;
use crate::pair::{Fate, Pair};
use crate::{Config, DelayedAck};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use cc::{Ack, Congestion, CongestionControl, Event, Flow, How, Lost, Phase, Reaction, Sent, Signal, causes};
use std::sync::Mutex;
use units::{Bytes, Rate};

/// What a script was told.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub congestion: Vec<(Signal, Phase)>,
    events: Vec<(Instant, Event)>,
    undone: u32,
    lost: u64,
    newly_lost: u64,
    sent: u64,
    again: u64,
    phases: Vec<Phase>,
}

/// An algorithm written for one test.
#[derive(Debug)]
pub(super) struct Script {
    told: Arc<Mutex<Told>>,
    pub reaction: Reaction,
    /// Back off to half at this time.
    pub back_off: Option<(Instant, How)>,
    wakes: Vec<Instant>,
    train: bool,
    /// Every ACK of new data during a repair grows the window of the repair.
    grows: bool,
    /// What congestion asks slow start to go on to.
    slow_start_to: Bytes,
}

impl CongestionControl for Script {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let mut told = self.told.lock().unwrap();
        told.newly_lost += ack.newly_lost.get();
        if told.phases.last() != Some(&flow.phase) {
            told.phases.push(flow.phase);
        }
        if let Some((at, how)) = self.back_off
            && flow.now >= at
        {
            self.back_off = None;
            flow.reduce(flow.cwnd / 2, how, causes::DelayBackoff::default());
        }
        if self.grows && flow.phase == Phase::Recovery && !ack.cumulative.is_zero() {
            flow.grow_repair(flow.mss);
        }
    }
    fn on_congestion(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        flow.slow_start_to = self.slow_start_to;
        self.told.lock().unwrap().congestion.push((c.signal, c.during));
        self.reaction
    }
    fn on_sent(&mut self, flow: &mut Flow, sent: &Sent) {
        let mut told = self.told.lock().unwrap();
        told.sent += 1;
        told.again += u64::from(sent.retransmission);
        if self.train {
            // Gaps of 1 ms, 2 ms, 4 ms between segments of 1000 bytes.
            flow.pacing = Some(Rate::from_bps(8_000_000 >> (told.sent - 1)));
        }
    }
    fn on_lost(&mut self, _: &mut Flow, lost: &Lost) {
        self.told.lock().unwrap().lost += lost.size.get();
    }
    fn on_undo(&mut self, _: &mut Flow) {
        self.told.lock().unwrap().undone += 1;
    }
    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        self.told.lock().unwrap().events.push((flow.now, event));
        if event == Event::Wake {
            self.wakes.remove(0);
        }
    }
    fn wake(&self) -> Option<Instant> {
        self.wakes.first().copied()
    }
}

pub(super) fn script<'a>(
    config: Config,
    window: u64,
    change: impl Fn(&mut Script),
    path: impl FnMut(usize, u64, &Segment) -> Fate + 'a,
) -> (Arc<Mutex<Told>>, Pair<'a>) {
    let told = Arc::new(Mutex::new(Told::default()));
    let mut first = true;
    let p = Pair::with(
        config.clone(),
        Config { delayed_ack: DelayedAck::None, ..config },
        &mut |flow| {
            let mut s = Script {
                told: if core::mem::take(&mut first) { told.clone() } else { Default::default() },
                reaction: Reaction::Reduce(flow.cwnd / 2),
                back_off: None,
                wakes: Vec::new(),
                train: false,
                grows: false,
                slow_start_to: Bytes::ZERO,
            };
            flow.cwnd = Bytes::new(window * MSS);
            change(&mut s);
            Box::new(s)
        },
        path,
    );
    (told, p)
}

pub(super) fn lose(numbers: &[u64]) -> impl FnMut(usize, u64, &Segment) -> Fate + use<> {
    let mut left: Vec<u64> = numbers.to_vec();
    move |from, _, s| match left.iter().position(|n| from == 0 && *n == number(s)) {
        Some(i) => {
            left.remove(i);
            Fate::Drop
        }
        None => Fate::Pass,
    }
}

#[test]
fn an_algorithm_that_owns_its_window_keeps_it_through_losses() {
    for of in [Stack::Linux, Stack::FreeBsd11] {
        let (told, mut p) = script(stack(of), 20, |s| s.reaction = Reaction::Own, lose(&[5, 7]));
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(400));
        assert_eq!(p.cwnd(), Bytes::new(20 * MSS), "{of:?}");
        assert!(p.ends[0].flow_mut().drain_events().next().is_none(), "no reduction, no event");
        let told = told.lock().unwrap();
        assert_eq!(told.congestion, [(Signal::Loss, Phase::Open)]);
        assert_eq!((told.lost, told.newly_lost, told.again), (2 * MSS, 2 * MSS, 2));
        assert_eq!((told.sent, told.again), (p.ends[0].stats().segments, p.ends[0].stats().retransmissions));
        assert_eq!(p.ends[0].flow().sent_to, p.sent.iter().map(|(_, s)| s.seq + u64::from(s.len)).max().unwrap());
        assert_eq!(told.phases, [Phase::Open, Phase::Recovery, Phase::Open]);
        assert_eq!(told.events.iter().filter(|e| e.1 == Event::RecoveryEnd).count(), 1);
    }
}

#[test]
fn the_packet_that_the_last_ack_of_a_repair_added_stays_where_repairs_have_a_window_of_their_own() {
    for (of, packets) in [(Stack::Linux, 0), (Stack::Ns2, 0), (Stack::FreeBsd11, 1)] {
        let [without, with] = [false, true].map(|grows| {
            let (_, mut p) = script(stack(of), 20, |s| s.grows = grows, lose(&[5]));
            p.ends[0].write(p.now, crate::ENDLESS);
            p.run(MS(400));
            (p.cwnd(), p.ends[0].flow_mut().mss)
        });
        assert_eq!(with.0, without.0 + without.1 * packets, "{of:?}");
    }
}

#[test]
fn after_the_repair_slow_start_goes_on_to_where_the_algorithm_said() {
    for of in [Stack::Linux, Stack::Ns2, Stack::FreeBsd11] {
        for (to, threshold) in [(0, 5), (3, 5), (80, 80)] {
            let goal = Bytes::new(to * MSS);
            let (_, mut p) = script(stack(of), 20, |s| s.slow_start_to = goal, lose(&[5]));
            p.ends[0].write(p.now, crate::ENDLESS);
            p.run(MS(400));
            let flow = p.ends[0].flow_mut();
            assert_eq!(flow.ssthresh / MSS, Bytes::new(threshold), "{of:?}, {to}");
            assert_eq!(flow.slow_start_to, Bytes::ZERO);
        }
    }
}

#[test]
fn bulk_repeat_sends_all_outstanding_again_with_the_window_as_it_is() {
    for of in [Stack::Linux, Stack::FreeBsd11] {
        let (told, mut p) = script(stack(of), 20, |s| s.reaction = Reaction::Repeat, lose(&[5]));
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(400));
        assert_eq!(p.cwnd(), Bytes::new(20 * MSS), "{of:?}");
        let told = told.lock().unwrap();
        assert_eq!(told.congestion, [(Signal::Loss, Phase::Open)]);
        assert!((10..=20).contains(&told.again), "{of:?}: a whole window but for what SACK had told: {}", told.again);
        assert!(p.ends[0].is_established() && p.ends[0].acked() > 60 * MSS, "{of:?}: it goes on");
    }
}

#[test]
fn a_timeout_answered_with_a_repeat_does_not_double_the_timer() {
    let rtos = [Reaction::Repeat, Reaction::Own].map(|reaction| {
        let (_, mut p) = script(
            stack(Stack::FreeBsd11),
            4,
            |s| s.reaction = reaction,
            |from, n, _| {
                if from == 0 && n > 8 { Fate::Drop } else { Fate::Pass }
            },
        );
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(600));
        assert!(p.ends[0].stats().timeouts >= 1);
        p.ends[0].rto()
    });
    // FreeBSD doubles all but its slop of 200 ms.
    assert_eq!(rtos[1], rtos[0] * 2 - MS(200));
}

#[test]
fn a_smooth_back_off_takes_a_round_and_sends_one_for_two() {
    let config = Config { delayed_ack: DelayedAck::None, ..linux() };
    let (told, mut p) = script(config, 40, |s| s.back_off = Some((AT(300), How::Prr)), |_, _, _| Fate::Pass);
    p.service = MS(1);
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(305));
    assert_eq!(p.ends[0].flow().phase, Phase::Reduced);
    assert_eq!(p.ends[0].flow().ssthresh, Bytes::new(20 * MSS));
    p.run(MS(318));
    let between = p.cwnd();
    assert!(between < Bytes::new(38 * MSS) && between > Bytes::new(22 * MSS), "on the way: {between:?}");
    p.run(MS(400));
    assert_eq!((p.ends[0].flow().phase, p.cwnd()), (Phase::Open, Bytes::new(20 * MSS)));
    let answered = p.sent.iter().filter(|(at, _)| *at > AT(300) && *at <= AT(340)).count();
    assert!((19..=21).contains(&answered), "{answered} segments for 40 ACKs");
    assert_eq!(told.lock().unwrap().congestion, []);
}

#[test]
fn an_immediate_back_off_leaves_the_phase_alone() {
    let (_, mut p) = script(linux(), 40, |s| s.back_off = Some((AT(300), How::AtOnce)), |_, _, _| Fate::Pass);
    p.service = MS(1);
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(302));
    assert_eq!((p.ends[0].flow().phase, p.cwnd()), (Phase::Open, Bytes::new(20 * MSS)));
}

#[test]
fn alarms_go_off_on_time_and_once() {
    let (told, mut p) = script(linux(), 10, |s| s.wakes = [AT(777), AT(900)].to_vec(), |_, _, _| Fate::Pass);
    p.run(MS(3000));
    let rung = [(AT(777), Event::Wake), (AT(900), Event::Wake)];
    assert_eq!(told.lock().unwrap().events, rung, "without any traffic after the handshake");
    let (told, mut p) = script(linux(), 10, |s| s.wakes = [AT(7)].to_vec(), |_, _, _| Fate::Pass);
    p.run(MS(3000));
    assert_eq!(told.lock().unwrap().events, [(AT(40), Event::Wake)], "not before the connection is up");
}

#[test]
fn the_silence_of_a_window_below_one_segment_is_no_idleness() {
    // A sixteenth of a segment: 640 ms between two, and a timeout of 240.
    let (told, mut p) = script(linux(), 10, |_| {}, |_, _, _| Fate::Pass);
    p.run(MS(100));
    let flow = p.ends[0].flow_mut();
    (flow.floor, flow.cwnd, flow.ssthresh) = (Bytes::new(10), Bytes::new(MSS / 16), Bytes::new(10));
    p.ends[0].write(p.now, 4 * MSS);
    p.run(MS(3000));
    assert_eq!(p.sent.iter().filter(|s| s.1.len > 0).count(), 4);
    assert_eq!(told.lock().unwrap().events, []);
}

#[test]
fn pacing_set_on_sending_decides_the_next_gap() {
    // Linux paces no flow that short.
    let config = Config { handshake: true, ..stack(Stack::Ns2) };
    let (_, mut p) = script(config, 10, |s| s.train = true, |_, _, _| Fate::Pass);
    p.ends[0].write(p.now, 5 * MSS);
    p.run(MS(100));
    let at: Vec<_> = p.sent.iter().filter(|s| s.1.len > 0).map(|s| s.0.as_nanos() / 1_000_000).collect();
    assert_eq!(at, [40, 41, 43, 47, 55]);
}

#[test]
fn a_timeout_inside_an_episode_reduces_no_further_but_starts_from_one_segment() {
    // Everything from the third flight on is lost for a second: recovery first, then timeouts.
    let (told, mut p) = script(
        with_loss(LossDetection::Sack),
        20,
        |_| {},
        |from, _, s| {
            let n = number(s);
            if from == 0 && (n == 21 || (n > 24 && s.ts_val < 1200)) { Fate::Drop } else { Fate::Pass }
        },
    );
    p.ends[0].write(p.now, 60 * MSS);
    p.run(MS(1200));
    assert_eq!(told.lock().unwrap().congestion, [(Signal::Loss, Phase::Open)]);
    assert!(p.ends[0].stats().timeouts >= 1);
    assert_eq!(p.cwnd(), Bytes::new(MSS));
    assert_eq!(p.ends[0].flow().phase, Phase::Loss);
}

#[test]
fn a_timeout_within_a_recovery_is_told_on_linux_though_it_asks_for_nothing() {
    for (of, events) in [(Stack::Linux, &[Event::Timeout][..]), (Stack::FreeBsd11, &[])] {
        let drop = |from, n, s: &Segment| from == 0 && s.len > 0 && (s.seq == 1 + 3 * MSS || n > 23);
        let (told, mut p) =
            script(stack(of), 20, |_| {}, move |from, n, s| if drop(from, n, s) { Fate::Drop } else { Fate::Pass });
        p.ends[0].write(p.now, crate::ENDLESS);
        while p.ends[0].stats().timeouts == 0 {
            p.run(p.now.since(Instant::ZERO) + MS(1));
        }
        let told = told.lock().unwrap();
        assert_eq!(told.events.iter().map(|e| e.1).collect::<Vec<_>>(), events, "{of:?}");
    }
}
