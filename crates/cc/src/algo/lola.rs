//! LoLa: CUBIC's growth until a little is queued, then equal amounts of queue for all, then one decrease all take together
//! that empties it.
//!
//! ```text
//! q = RTT − RTT_min, with a round's smallest RTT;    Q_data = w·q/RTT, the flow's own bytes in the queue
//! slow start     ends at q > 2·Q_low
//! cubic          w = C(t − K)³ + w_max                                  until q > Q_low
//! fair flow      Q_data < X(t): w += X(t) − Q_data;  X(t) = (t/φ)³ bytes, t in ms       until q > Q_target
//! hold           w stays for t_sync, so that every flow sees the queue full
//! decrease       w = (w − Q_data)·γ;   K = cbrt(w_max·(1 − γ·RTT_min/RTT)/C);   to cubic
//! ```
//! Source: Hock, Neumeister, Zitterbart and Bless, TCP LoLa, LCN 2017, as the HLDG thesis tells it in section 2.4.1.10
//! (Eq 2.12), with constants of the published port to ns-3 and from memory.

use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, How, Reaction, Round, Setup, causes,
    exits,
};
use params::ParamError;
use units::{Bytes, Duration, Instant, math};

params::params! {
    /// Values of the paper, as remembered; the port to ns-3 has 1, 5 and 10 ms for the delays.
    pub struct Params {
        /// More queueing delay than this ends CUBIC's growth.
        q_low: Duration = Duration::from_millis(5), Duration::from_micros(10) => Duration::from_secs(1);
        /// More queueing delay than this ends the fair flow balancing.
        q_target: Duration = Duration::from_millis(20), Duration::from_micros(20) => Duration::from_secs(2);
        /// How slowly the fair amount of queued data grows (φ).
        phi: f64 = 35.0, 1.0 => 1000.0;
        /// How long the window is held (t_sync).
        hold: Duration = Duration::from_millis(250), Duration::ZERO => Duration::from_secs(10);
        /// What a decrease leaves of the window without its queue (γ, in 1024ths in the authors' code).
        gamma: f64 = 973.0 / 1024.0, 0.1 => 1.0;
        /// CUBIC's C, in packets per second cubed.
        c: f64 = 0.4, 0.01 => 10.0;
    }
    check |p| {
        if p.q_low < p.q_target { Ok(()) } else { Err(ParamError::Conflict("lola: q_low must be below q_target (5ms and 20ms)".into())) }
    }
}

/// What the window does, and since when or until when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Cubic(Instant),
    Fair(Instant),
    Hold(Instant),
}

/// State: what it is doing, where the cubic has its plateau (packets) and when it gets there (seconds).
#[derive(Debug)]
pub struct Lola {
    p: Params,
    state: State,
    w_max: f64,
    k: f64,
    rtt: Duration,
}

impl Algorithm for Lola {
    const ABOUT: About = About {
        name: "lola",
        title: "LoLa",
        paper: "Hock, Neumeister, Zitterbart and Bless, TCP LoLa: congestion control for low latencies and high \
                throughput, LCN 2017",
        family: Family::Delay,
        signal: "queueing delay per round",
        evidence: Evidence::Memory,
        departures: &[
            "decides once a round by its smallest RTT; the paper's RTT is the smallest of a short time",
            "fair flow balancing gives way to the cubic again if the queue falls below Q_low",
            "loss is a decrease like the others; no round more than doubles the window",
            "RTT_min is that of the flow's life: it does not age",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        Lola { p: p.clone(), state: State::Cubic(setup.flow.now), w_max: 0.0, k: 0.0, rtt: Duration::ZERO }
    }
}

impl Lola {
    /// The part of the round trip that is not queue.
    fn empty_part(&self, flow: &Flow) -> f64 {
        if self.rtt.is_zero() { 1.0 } else { (flow.min_rtt / self.rtt).min(1.0) }
    }

    /// X(t).
    fn fair(&self, t: Duration) -> Bytes {
        let x = t.as_millis_f64() / self.p.phi;
        Bytes::from_f64(x * x * x)
    }

    /// The window of the cubic at a time since the decrease.
    fn cubic(&self, t: Duration, mss: Bytes) -> Bytes {
        let x = t.as_secs_f64() - self.k;
        mss.mul_f64((self.p.c * x * x * x + self.w_max).max(0.0))
    }

    /// Starts the cubic anew and returns the window that leaves the queue empty.
    fn tailored_decrease(&mut self, flow: &Flow) -> Bytes {
        let left = self.p.gamma * self.empty_part(flow);
        self.w_max = flow.cwnd.packets(flow.mss);
        self.k = math::cbrt(self.w_max * (1.0 - left) / self.p.c);
        self.state = State::Cubic(flow.now);
        flow.cwnd.mul_f64(left)
    }

    fn end_of_slow_start(&mut self, flow: &mut Flow) {
        (self.state, self.w_max, self.k) = (State::Cubic(flow.now), flow.cwnd.packets(flow.mss), 0.0);
        let (rtt, base_rtt) = (self.rtt.as_nanos() as i64, flow.min_rtt.as_nanos() as i64);
        flow.leave_slow_start(causes::SlowStartExit { reason: exits::QUEUED, rtt, base_rtt, ..Default::default() });
    }

    fn end_of_round(&mut self, flow: &mut Flow, round: &Round) {
        if round.min_rtt.is_zero() {
            return;
        }
        self.rtt = round.min_rtt;
        let queue = self.rtt.saturating_sub(flow.min_rtt);
        if flow.in_slow_start() {
            if queue > self.p.q_low * 2 {
                self.end_of_slow_start(flow);
            }
            return;
        }
        self.state = match self.state {
            State::Cubic(_) if queue > self.p.q_low => State::Fair(flow.now),
            State::Fair(_) if queue > self.p.q_target => State::Hold(flow.now + self.p.hold),
            State::Fair(_) if queue <= self.p.q_low => {
                (self.w_max, self.k) = (flow.cwnd.packets(flow.mss), 0.0);
                State::Cubic(flow.now)
            }
            state => state,
        };
        let goal = match self.state {
            State::Cubic(since) => self.cubic(flow.now.since(since), flow.mss),
            State::Fair(since) => {
                let own = flow.cwnd.mul_f64(1.0 - self.empty_part(flow));
                flow.cwnd + self.fair(flow.now.since(since)).saturating_sub(own)
            }
            State::Hold(until) if flow.now >= until => {
                let to = self.tailored_decrease(flow);
                let cause = causes::DelayBackoff { queue: queue.as_nanos() as i64, ..Default::default() };
                return flow.reduce(to, How::AtOnce, cause);
            }
            State::Hold(_) => return,
        };
        if flow.cwnd_limited {
            flow.cwnd = flow.cwnd.max(goal.min(flow.cwnd + round.delivered));
        }
    }
}

impl CongestionControl for Lola {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if !flow.phase.grows() {
            return;
        }
        if let Some(round) = &ack.round {
            self.end_of_round(flow, round);
        }
        if flow.in_slow_start() && flow.may_grow() {
            flow.slow_start(ack.cumulative);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(self.tailored_decrease(flow))
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("w_max", self.w_max);
        see("k", self.k);
        see("holds", matches!(self.state, State::Hold(_)) as u8 as f64);
    }
}

#[cfg(test)]
mod tests;
