//! A host that does what a script says and holds every algorithm to the laws of the house after each step. It knows no
//! path: RTTs, losses and marks come as the script has them, in any order a host could meet.

use cc::{
    Ack, CauseKind, Congestion, CongestionControl, Event, EventRecord, Family, Flow, Lost, Phase, RateSample, Reaction,
    Round, Sent, Signal,
};
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant};

/// The operation language.
#[derive(Clone, Debug)]
pub enum Op {
    /// Time passes, in ms.
    Pass(u32),
    /// So many segments leave, as far as the window allows.
    Send(u8),
    /// So many segments are acknowledged, with an RTT in µs.
    Ack(u8, u32),
    /// One segment is acknowledged out of order.
    Duplicate,
    /// So many segments are found lost by the next acknowledgement.
    Lose(u8),
    /// The next acknowledgement carries a CE mark.
    Mark,
    /// The retransmission timer fires.
    Timeout,
    /// The last reduction is found spurious.
    Undo,
    /// Sending begins again after silence.
    Restart,
    /// The application has nothing to send, or has again.
    AppLimited(bool),
    /// The segment size changes.
    Mss(u16),
}

#[derive(Clone, Copy)]
struct Segment {
    sent: Instant,
    size: Bytes,
    tx_in_flight: Bytes,
    delivered_then: Bytes,
    lost_then: Bytes,
}

pub struct Script {
    pub flow: Flow,
    pub cc: Box<dyn CongestionControl>,
    family: Family,
    spec: String,
    /// What was seen after each step: equal seeds must give equal traces.
    pub trace: Vec<String>,
    outstanding: VecDeque<Segment>,
    lost: Bytes,
    congested: Option<(Signal, Bytes)>,
    newly_lost: Bytes,
    /// Delivered beyond this, the congestion is over.
    recovery_end: Bytes,
    before_cut: Option<(Bytes, Bytes)>,
    round: Round,
    round_end: Bytes,
    largest_mss: Bytes,
    /// The largest window an algorithm said it was restoring.
    restored: Bytes,
    /// Twice the largest window that a round has used, where that is how the algorithm grows (FAST).
    doubled: Bytes,
    /// The kernel's clamp, where growth goes by ρ and not by what was delivered (Hybla); none where it goes by the square of
    /// the seconds since congestion (H-TCP).
    clamp: Bytes,
    /// It has ever asked to be paced.
    pub paced: bool,
    names: Vec<&'static str>,
    events: Vec<EventRecord>,
}

impl Script {
    pub fn new(about: &cc::About, spec: &str, build: impl FnOnce(&mut Flow) -> Box<dyn CongestionControl>) -> Script {
        let mss = Bytes::new(1448);
        let mut flow = Flow::new(mss, mss * 10);
        let cc = build(&mut flow);
        let mut script = Script {
            flow,
            cc,
            family: about.family,
            spec: spec.into(),
            trace: Vec::new(),
            outstanding: VecDeque::new(),
            lost: Bytes::ZERO,
            congested: None,
            newly_lost: Bytes::ZERO,
            recovery_end: Bytes::ZERO,
            before_cut: None,
            round: Round::default(),
            round_end: Bytes::ZERO,
            largest_mss: mss,
            restored: Bytes::ZERO,
            doubled: Bytes::ZERO,
            clamp: match about.name {
                "hybla" => Bytes::new(8948) * 65_535,
                "htcp" => Bytes::MAX,
                _ => Bytes::ZERO,
            },
            paced: false,
            names: Vec::new(),
            events: Vec::new(),
        };
        script.names = script.vars().into_iter().map(|(name, _)| name).collect();
        script
    }

    pub fn run(&mut self, ops: &[Op]) {
        for op in ops {
            self.step(op);
        }
    }

    fn vars(&self) -> Vec<(&'static str, f64)> {
        let mut vars = Vec::new();
        self.cc.vars(&mut |name, value| vars.push((name, value)));
        vars
    }

    fn step(&mut self, op: &Op) {
        match *op {
            Op::Pass(ms) => self.flow.now += Duration::from_millis(ms as u64),
            Op::Send(n) => self.send(n),
            Op::Ack(n, rtt) => self.ack(n as usize, Some(Duration::from_micros(rtt as u64)), false),
            Op::Duplicate => self.ack(1, None, true),
            Op::Lose(n) => self.lose(n as usize, Signal::Loss),
            Op::Mark => self.congested = self.congested.or(Some((Signal::Ecn, Bytes::ZERO))),
            Op::Timeout if !self.outstanding.is_empty() => {
                self.lose(self.outstanding.len(), Signal::Timeout);
                self.congest();
            }
            Op::Undo => self.undo(),
            Op::Restart => self.call(|cc, flow| cc.on_event(flow, Event::Restart)),
            Op::AppLimited(limited) => (self.flow.app_limited, self.flow.cwnd_limited) = (limited, !limited),
            Op::Mss(mss) => {
                let packets = self.flow.floor.packets(self.flow.mss);
                self.flow.mss = Bytes::new(mss as u64);
                self.flow.floor = self.flow.mss.mul_f64(packets);
                self.flow.cwnd = self.flow.cwnd.max(self.flow.floor);
                self.flow.ssthresh = self.flow.ssthresh.max(self.flow.floor);
                self.largest_mss = self.largest_mss.max(self.flow.mss);
                self.call(|cc, flow| cc.on_event(flow, Event::MssChanged));
            }
            Op::Timeout => {}
        }
        // Several alarms may be due; each wake must settle one.
        let mut wakes = 0;
        while self.cc.wake().is_some_and(|at| at <= self.flow.now) {
            wakes += 1;
            assert!(wakes < 8, "a timer that never moves on: {op:?}");
            self.call(|cc, flow| cc.on_event(flow, Event::Wake));
        }
        self.laws(op);
    }

    /// Calls the algorithm and holds it to naming what it takes away.
    fn call<T>(&mut self, f: impl FnOnce(&mut dyn CongestionControl, &mut Flow) -> T) -> T {
        let (cwnd, ssthresh) = self.flow.windows();
        let result = f(&mut *self.cc, &mut self.flow);
        self.paced |= self.flow.pacing.is_some();
        let named = self.flow.has_events();
        let fell = self.flow.cwnd < cwnd || self.flow.ssthresh < ssthresh;
        // A model's window follows its estimates from ACK to ACK.
        assert!(named || !fell || self.family == Family::Model, "a window fell without a cause: {:?}", self.flow);
        self.events.extend(self.flow.drain_events());
        if let Some(to) = self.flow.take_reduction() {
            (self.flow.cwnd, self.flow.phase) = (to, Phase::Reduced);
            self.recovery_end = self.flow.delivered + self.flow.in_flight;
        }
        self.flow.cwnd = self.flow.cwnd.max(self.flow.floor);
        result
    }

    fn send(&mut self, n: u8) {
        for _ in 0..n {
            if self.flow.in_flight + self.flow.mss > self.flow.cwnd && !self.flow.in_flight.is_zero() {
                break;
            }
            let size = self.flow.mss;
            self.flow.in_flight += size;
            self.flow.sent_to += size.get();
            let segment = Segment {
                sent: self.flow.now,
                size,
                tx_in_flight: self.flow.in_flight,
                delivered_then: self.flow.delivered,
                lost_then: self.lost,
            };
            self.outstanding.push_back(segment);
            let sent = Sent { size, in_flight: self.flow.in_flight, retransmission: false };
            self.call(|cc, flow| cc.on_sent(flow, &sent));
        }
    }

    fn lose(&mut self, n: usize, signal: Signal) {
        for _ in 0..n {
            let Some(seg) = self.outstanding.pop_front() else { break };
            self.flow.in_flight = self.flow.in_flight.saturating_sub(seg.size);
            self.lost += seg.size;
            self.newly_lost += seg.size;
            let lost = self.lost - seg.lost_then;
            let lost =
                Lost { size: seg.size, sent_at: seg.sent, tx_in_flight: seg.tx_in_flight, lost, app_limited: false };
            self.call(|cc, flow| cc.on_lost(flow, &lost));
            self.congested = Some((signal, self.newly_lost));
        }
    }

    /// Once per window; a timeout also in recovery.
    fn congest(&mut self) {
        let Some((signal, lost)) = self.congested.take() else { return };
        if signal != Signal::Timeout && self.flow.phase != Phase::Open && self.flow.phase != Phase::Reduced {
            return;
        }
        if signal == Signal::Ecn && self.flow.phase == Phase::Reduced {
            return;
        }
        self.before_cut = Some(self.flow.windows());
        let c =
            Congestion { signal, during: self.flow.phase, lost, cwnd_before: self.flow.cwnd, restart: self.flow.mss };
        let (cwnd, ssthresh) = self.flow.windows();
        let reaction = self.cc.on_congestion(&mut self.flow, &c);
        self.events.extend(self.flow.drain_events());
        match reaction {
            Reaction::Own | Reaction::Repeat => {}
            Reaction::Reduce(to) | Reaction::ResendAll(to) => {
                assert_eq!((cwnd, ssthresh), self.flow.windows(), "the host reduces, or the algorithm: not both");
                let restarts = signal == Signal::Timeout || matches!(reaction, Reaction::ResendAll(_));
                self.flow.ssthresh = to.max(self.flow.floor);
                self.flow.cwnd = if restarts { self.flow.mss } else { self.flow.ssthresh };
                self.flow.reset_credit();
            }
        }
        self.flow.take_reduction();
        self.flow.cwnd = self.flow.cwnd.max(self.flow.floor);
        self.flow.phase = match signal {
            Signal::Loss => Phase::Recovery,
            Signal::Ecn => Phase::Reduced,
            Signal::Timeout => Phase::Loss,
        };
        self.recovery_end = self.flow.delivered + self.flow.in_flight + self.flow.mss;
    }

    fn ack(&mut self, n: usize, rtt: Option<Duration>, duplicate: bool) {
        let n = n.min(self.outstanding.len());
        let acked: Vec<Segment> = self.outstanding.drain(..n).collect();
        let Some(newest) = acked.last().copied() else { return };
        let delivered: Bytes = acked.iter().map(|s| s.size).sum();
        self.flow.delivered += delivered;
        if !duplicate {
            self.flow.acked_to += delivered.get();
        }
        self.flow.in_flight = self.flow.in_flight.saturating_sub(delivered);
        if let Some(rtt) = rtt {
            self.measure(rtt);
        }
        let newly_lost = std::mem::take(&mut self.newly_lost);
        let ce = if matches!(self.congested, Some((Signal::Ecn, _))) { delivered } else { Bytes::ZERO };
        self.congest();
        if self.flow.phase != Phase::Open && self.flow.delivered >= self.recovery_end {
            self.flow.phase = Phase::Open;
            self.call(|cc, flow| cc.on_event(flow, Event::RecoveryEnd));
        }
        // A window of which less than half was out in this round limits nothing, as hosts see it.
        let used = self.round.delivered + delivered + self.flow.in_flight;
        self.flow.cwnd_limited = !self.flow.app_limited && used * 2 >= self.flow.cwnd;
        if self.flow.cwnd_limited && self.spec.starts_with("fast") {
            self.doubled = self.doubled.max(self.flow.cwnd * 2);
        }
        let interval = rtt.unwrap_or(self.flow.srtt);
        let ack = Ack {
            cumulative: if duplicate { Bytes::ZERO } else { delivered },
            delivered,
            newly_lost,
            duplicate,
            ce,
            rtt,
            one_way: rtt.map(|r| r / 2 + Duration::from_secs(1)),
            sent_at: newest.sent,
            received_at: Some(self.flow.now),
            rate: Some(RateSample {
                delivered: self.flow.delivered - newest.delivered_then,
                prior_delivered: newest.delivered_then,
                interval,
                tx_in_flight: newest.tx_in_flight,
                lost: self.lost - newest.lost_then,
                app_limited: self.flow.app_limited,
            }),
            round: self.close_round(&newest, delivered, rtt),
        };
        self.call(|cc, flow| cc.on_ack(flow, &ack));
    }

    fn measure(&mut self, rtt: Duration) {
        let f = &mut self.flow;
        let first = f.srtt.is_zero();
        f.srtt = if first { rtt } else { (f.srtt * 7 + rtt) / 8 };
        f.min_rtt = if first { rtt } else { f.min_rtt.min(rtt) };
        (f.rtt, f.max_rtt) = (rtt, f.max_rtt.max(rtt));
    }

    fn close_round(&mut self, newest: &Segment, delivered: Bytes, rtt: Option<Duration>) -> Option<Round> {
        let r = &mut self.round;
        if let Some(rtt) = rtt {
            r.min_rtt = if r.samples == 0 { rtt } else { r.min_rtt.min(rtt) };
            (r.max_rtt, r.samples) = (r.max_rtt.max(rtt), r.samples + 1);
        }
        r.delivered += delivered;
        if newest.delivered_then < self.round_end {
            return None;
        }
        let (min_rtt_reused, max_rtt_reused) = (r.min_rtt, r.max_rtt);
        let marked_rtt = rtt.unwrap_or(r.min_rtt);
        let (number, end, sent) = (r.number + 1, self.flow.now, r.delivered);
        let closed = Round { number, end, min_rtt_reused, max_rtt_reused, sent, marked_rtt, ..*r };
        self.round_end = self.flow.delivered;
        self.round = Round { number, start: end, cwnd: self.flow.cwnd, ..Round::default() };
        Some(closed)
    }

    fn undo(&mut self) {
        let Some((cwnd, ssthresh)) = self.before_cut.take() else { return };
        self.flow.cwnd = self.flow.cwnd.max(cwnd);
        self.flow.ssthresh = self.flow.ssthresh.max(ssthresh);
        self.flow.phase = Phase::Open;
        let restored = self.flow.windows();
        self.cc.on_undo(&mut self.flow);
        assert!(self.flow.cwnd >= restored.0, "an undo took window away");
        self.events.extend(self.flow.drain_events());
    }

    fn laws(&mut self, op: &Op) {
        let f = &self.flow;
        assert!(f.cwnd >= f.floor && f.ssthresh >= f.floor, "{op:?}: {f:?}");
        for e in self.events.drain(..) {
            let cause = e.cause().expect("a known cause");
            assert!(e.time <= f.now.as_nanos());
            if cause == CauseKind::Restore {
                self.restored = self.restored.max(Bytes::new(e.values[0] as u64));
            }
            if cause == CauseKind::Curve {
                self.restored = self.restored.max(Bytes::new(e.cwnd_after));
            }
        }
        // Growth comes from what was delivered, is a restoration or a jump to a curve that was named, doubles a window that was used,
        // or has a bound of its own.
        let bound = (self.largest_mss * 64 + f.delivered * 2 + self.restored).max(self.doubled).max(self.clamp);
        assert!(f.cwnd <= bound, "{op:?}: window {:?} after {:?} delivered", f.cwnd, f.delivered);
        assert!(f.pacing.is_none_or(|rate| rate.as_bps() > 0), "{op:?}: a pacing rate of nothing stops the flow");
        assert!(!f.has_events());
        let vars = self.vars();
        assert!(vars.iter().map(|(name, _)| *name).eq(self.names.iter().copied()), "{op:?}: names of vars changed");
        assert!(vars.iter().all(|(_, value)| !value.is_nan()), "{op:?}: {vars:?}");
        self.trace.push(format!("{:?} {:?} {:?} {vars:?}", f.cwnd, f.ssthresh, f.pacing));
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("a law is broken by {}", self.spec);
        }
    }
}
