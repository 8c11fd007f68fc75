//! A small host for tests: one flow over one bottleneck of fixed rate and delay with a FIFO queue.
//!
//! It measures and calls exactly as the interface promises (losses before the ACK that showed them, one congestion
//! per window, Karn's rule by never reusing a packet number) and nothing more: every packet is acknowledged, and the
//! window comes down at once instead of by PRR.

use cc::{
    Ack, Congestion, CongestionControl, Event, EventRecord, Flow, Lost, Phase, RateSample, Reaction, Round, Sent,
    Signal,
};
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Rate};

pub const MSS: Bytes = Bytes::new(1000);

/// The path, in packets of 1000 bytes.
#[derive(Clone, Copy)]
pub struct Path {
    pub rate: Rate,
    /// Base RTT, half each way.
    pub base: Duration,
    /// Room in the queue.
    pub buffer: Bytes,
    /// The receiver's clock gains this many millionths.
    pub skew_ppm: u64,
}

impl Path {
    /// So many packets per base RTT in ms, and room for so many in the queue.
    pub fn new(bdp: u64, base: u64, buffer: u64) -> Path {
        let base = Duration::from_millis(base);
        Path { rate: (MSS * bdp) / base, base, buffer: MSS * buffer, skew_ppm: 0 }
    }
}

struct Segment {
    number: u64,
    sent: Instant,
    tx_in_flight: Bytes,
    delivered_then: Bytes,
    delivered_at_then: Instant,
    first_sent_then: Instant,
    lost_then: Bytes,
}

struct Arrival {
    at: Instant,
    received: Instant,
    number: u64,
}

pub struct Host {
    pub flow: Flow,
    pub cc: Box<dyn CongestionControl>,
    pub path: Path,
    pub lost: Bytes,
    pub events: Vec<EventRecord>,
    /// Every send: when, and with how much in flight.
    pub log: Vec<(Instant, Bytes)>,
    busy_until: Instant,
    outstanding: VecDeque<Segment>,
    arrivals: VecDeque<Arrival>,
    next: u64,
    next_send: Instant,
    delivered_at: Instant,
    first_sent: Instant,
    out_of_order: Bytes,
    recovery_point: u64,
    round: Round,
    round_delivered: Bytes,
    timer: Instant,
}

impl Host {
    pub fn new(path: Path, build: impl FnOnce(&mut Flow) -> Box<dyn CongestionControl>) -> Host {
        let mut flow = Flow::new(MSS, MSS * 10);
        let cc = build(&mut flow);
        Host {
            flow,
            cc,
            path,
            lost: Bytes::ZERO,
            events: Vec::new(),
            log: Vec::new(),
            busy_until: Instant::ZERO,
            outstanding: VecDeque::new(),
            arrivals: VecDeque::new(),
            next: 0,
            next_send: Instant::ZERO,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            out_of_order: Bytes::ZERO,
            recovery_point: 0,
            round: Round::default(),
            round_delivered: Bytes::ZERO,
            timer: Instant::MAX,
        }
    }

    /// Data waiting at the bottleneck.
    pub fn queue(&self) -> Bytes {
        self.path.rate * self.busy_until.since(self.flow.now)
    }

    /// Runs until `end`.
    pub fn run(&mut self, end: Instant) {
        loop {
            self.send_all();
            let ack = self.arrivals.front().map_or(Instant::MAX, |a| a.at);
            let wake = self.cc.wake().unwrap_or(Instant::MAX);
            let at = ack.min(self.next_opportunity()).min(self.timer).min(wake);
            if at > end {
                break;
            }
            self.flow.now = self.flow.now.max(at);
            if at == ack {
                self.acknowledge();
            } else if at == wake {
                self.cc.on_event(&mut self.flow, Event::Wake);
                assert!(self.cc.wake().is_none_or(|w| w > self.flow.now), "a timer that never moves on");
            } else if at == self.timer {
                self.timeout();
            }
            self.settle();
        }
        self.flow.now = end;
    }

    pub fn run_for(&mut self, d: Duration) {
        self.run(self.flow.now + d);
    }

    fn window_open(&self) -> bool {
        self.flow.in_flight + MSS <= self.flow.cwnd || self.flow.in_flight.is_zero()
    }

    /// When the next segment may leave; never, if the window is closed.
    fn next_opportunity(&self) -> Instant {
        if !self.window_open() {
            return Instant::MAX;
        }
        // Less than a segment per RTT: wait for the rest of it.
        let wait = if self.flow.cwnd < MSS && self.next > 0 {
            let last = self.log.last().map_or(Instant::ZERO, |l| l.0);
            last + self.flow.srtt.mul_f64(MSS.as_f64() / self.flow.cwnd.as_f64())
        } else {
            Instant::ZERO
        };
        self.next_send.max(wait).max(self.flow.now)
    }

    fn send_all(&mut self) {
        while self.next_opportunity() == self.flow.now {
            self.send();
        }
        self.flow.cwnd_limited = !self.window_open() || self.next_send > self.flow.now;
    }

    fn send(&mut self) {
        let now = self.flow.now;
        if self.flow.in_flight.is_zero() {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        self.flow.in_flight += MSS;
        self.flow.sent_to += MSS.get();
        self.outstanding.push_back(Segment {
            number: self.next,
            sent: now,
            tx_in_flight: self.flow.in_flight,
            delivered_then: self.flow.delivered,
            delivered_at_then: self.delivered_at,
            first_sent_then: self.first_sent,
            lost_then: self.lost,
        });
        if self.queue() + MSS <= self.path.buffer + MSS {
            self.busy_until = self.busy_until.max(now) + MSS / self.path.rate;
            let there = self.busy_until + self.path.base / 2;
            let gained = there.as_nanos() / 1_000_000 * self.path.skew_ppm;
            let received = Instant::from_nanos(5_000_000_000 + there.as_nanos() + gained);
            self.arrivals.push_back(Arrival { at: there + self.path.base / 2, received, number: self.next });
        }
        self.next += 1;
        self.log.push((now, self.flow.in_flight));
        self.timer = now + self.rto();
        let sent = Sent { size: MSS, in_flight: self.flow.in_flight, retransmission: false };
        self.cc.on_sent(&mut self.flow, &sent);
        self.next_send = self.flow.pacing.map_or(now, |rate| now + MSS / rate);
    }

    fn rto(&self) -> Duration {
        (self.flow.srtt * 2).max(Duration::from_millis(1000))
    }

    fn acknowledge(&mut self) {
        let arrival = self.arrivals.pop_front().expect("an arrival");
        let at = self.outstanding.iter().position(|s| s.number == arrival.number);
        let Some(at) = at else { return };
        let seg = self.outstanding.remove(at).expect("outstanding");
        let now = self.flow.now;
        let rtt = now.since(seg.sent);
        self.flow.delivered += MSS;
        self.flow.in_flight = self.flow.in_flight.saturating_sub(MSS);
        (self.delivered_at, self.first_sent) = (now, seg.sent);
        self.measure(rtt);
        let newly_lost = self.find_losses(arrival.number);
        let holes = self.outstanding.front().is_some_and(|s| s.number < arrival.number);
        self.out_of_order += MSS;
        let cumulative = if holes { Bytes::ZERO } else { std::mem::take(&mut self.out_of_order) };
        self.flow.acked_to += cumulative.get();
        if !newly_lost.is_zero() && self.flow.phase != Phase::Recovery {
            self.congest(Signal::Loss, newly_lost);
            (self.flow.phase, self.recovery_point) = (Phase::Recovery, self.next);
        } else if self.flow.phase != Phase::Open && arrival.number >= self.recovery_point {
            self.flow.phase = Phase::Open;
            self.cc.on_event(&mut self.flow, Event::RecoveryEnd);
        }
        let rate = RateSample {
            delivered: self.flow.delivered.saturating_sub(seg.delivered_then),
            prior_delivered: seg.delivered_then,
            interval: seg.sent.since(seg.first_sent_then).max(now.since(seg.delivered_at_then)),
            tx_in_flight: seg.tx_in_flight,
            lost: self.lost.saturating_sub(seg.lost_then),
            app_limited: false,
        };
        let ack = Ack {
            cumulative,
            delivered: MSS,
            newly_lost,
            duplicate: holes,
            ce: Bytes::ZERO,
            rtt: Some(rtt),
            one_way: Some(arrival.received.since(seg.sent)),
            sent_at: seg.sent,
            received_at: Some(arrival.received),
            rate: Some(rate),
            round: self.close_round(&seg, rtt),
        };
        self.timer = if self.outstanding.is_empty() { Instant::MAX } else { now + self.rto() };
        self.cc.on_ack(&mut self.flow, &ack);
    }

    fn measure(&mut self, rtt: Duration) {
        let f = &mut self.flow;
        let first = f.srtt.is_zero();
        f.srtt = if first { rtt } else { (f.srtt * 7 + rtt) / 8 };
        f.min_rtt = if first { rtt } else { f.min_rtt.min(rtt) };
        (f.rtt, f.max_rtt) = (rtt, f.max_rtt.max(rtt));
    }

    fn close_round(&mut self, seg: &Segment, rtt: Duration) -> Option<Round> {
        let r = &mut self.round;
        r.min_rtt = if r.samples == 0 { rtt } else { r.min_rtt.min(rtt) };
        r.max_rtt = r.max_rtt.max(rtt);
        r.samples += 1;
        r.delivered += MSS;
        if seg.delivered_then < self.round_delivered {
            return None;
        }
        let closed = Round {
            number: r.number + 1,
            end: self.flow.now,
            min_rtt_reused: r.min_rtt,
            max_rtt_reused: r.max_rtt,
            sent: r.delivered,
            marked_rtt: rtt,
            ..*r
        };
        self.round_delivered = self.flow.delivered;
        self.round = Round { number: closed.number, start: self.flow.now, cwnd: self.flow.cwnd, ..Round::default() };
        Some(closed)
    }

    /// Three packets later acknowledged: lost.
    fn find_losses(&mut self, acked: u64) -> Bytes {
        let mut newly = Bytes::ZERO;
        while self.outstanding.front().is_some_and(|s| s.number + 3 <= acked) {
            let seg = self.outstanding.pop_front().expect("a front");
            newly += MSS;
            self.lose(&seg);
        }
        newly
    }

    fn lose(&mut self, seg: &Segment) {
        self.lost += MSS;
        self.flow.in_flight = self.flow.in_flight.saturating_sub(MSS);
        let lost = self.lost.saturating_sub(seg.lost_then);
        self.cc.on_lost(
            &mut self.flow,
            &Lost { size: MSS, sent_at: seg.sent, tx_in_flight: seg.tx_in_flight, lost, app_limited: false },
        );
    }

    fn congest(&mut self, signal: Signal, lost: Bytes) {
        let c =
            Congestion { signal, during: self.flow.phase, lost, cwnd_before: self.flow.cwnd, restart: self.flow.mss };
        let reaction = self.cc.on_congestion(&mut self.flow, &c);
        if let Reaction::Reduce(to) | Reaction::ResendAll(to) = reaction {
            self.flow.ssthresh = to.max(self.flow.floor);
            let restarts = signal == Signal::Timeout || matches!(reaction, Reaction::ResendAll(_));
            self.flow.cwnd = if restarts { MSS } else { self.flow.ssthresh };
            self.flow.reset_credit();
        }
    }

    fn timeout(&mut self) {
        let lost: Bytes = self.outstanding.iter().map(|_| MSS).sum();
        while let Some(seg) = self.outstanding.pop_front() {
            self.lose(&seg);
        }
        (self.timer, self.next_send) = (Instant::MAX, self.flow.now);
        self.congest(Signal::Timeout, lost);
        (self.flow.phase, self.recovery_point) = (Phase::Loss, self.next);
    }

    /// After every call: the floor, reductions asked for, events.
    fn settle(&mut self) {
        if let Some(to) = self.flow.take_reduction() {
            (self.flow.cwnd, self.flow.phase, self.recovery_point) = (to, Phase::Reduced, self.next);
        }
        self.flow.cwnd = self.flow.cwnd.max(self.flow.floor);
        self.events.extend(self.flow.drain_events());
    }
}
