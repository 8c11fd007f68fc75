//! LoLa: CUBIC's growth until a little is queued, then equal amounts of queue for all, then one decrease all take together
//! that empties it.
//!
//! ```text
//! RTT_now = smallest of 40 ms and 20 packets;    q = RTT_now − RTT_min;    Q_data = w·q/RTT_now, own bytes in the queue
//! slow start     ends at q > 2·Q_low (16 samples of a round), the first one with a decrease
//! cubic          w = C(t − K)³ + max(w_max, first w); while there is no w_max w/20 a round at least     until q > Q_low
//! fair flow      Q_data < X(t): w += X(t) − Q_data;  X(t) = (t/φ)³ bytes, t in ms       until q > Q_target
//! hold           w stays for t_sync, so that every flow sees the queue full
//! decrease       w = (w − Q_data)·γ;   K = cbrt(w_max·(1 − γ·RTT_min/RTT_now)/C);   to cubic
//! w < 5 packets  only the cubic; no decrease leaves fewer
//! loss           w·717/1024, as CUBIC;   K for that
//! RTT_min        taken anew when 100 decreases in a row have not come within 0.1 ms of it
//! ```
//! Source: Hock, Neumeister, Zitterbart and Bless, TCP LoLa, LCN 2017, as the HLDG thesis tells it in section 2.4.1.10
//! (Eq 2.12). Q_low, Q_target, φ, γ, C and t_sync are those of the published port to ns-3 (TheRisingStar/Implementation-of-
//! TCP-LoLa-in-ns-3), whose page also has the paper's 100 decreases; how RTT_now is taken, what slow start and loss do, how
//! the cubic begins, the 5 packets and the bound on a step of the fair flow are the authors' module for Linux, v1.5. That one
//! has 0.5 and 5 ms, γ = 927/1024, 10 decreases, and an X of t³/75³ packets.

use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, How, Reaction, Setup, causes, exits,
};
use params::ParamError;
use units::{Bytes, Duration, Instant, math};

params::params! {
    /// Values of the port to ns-3 and of the authors' module.
    pub struct Params {
        /// More queueing delay than this ends CUBIC's growth.
        q_low: Duration = Duration::from_millis(1), Duration::from_micros(10) => Duration::from_secs(1);
        /// More queueing delay than this ends the fair flow balancing.
        q_target: Duration = Duration::from_millis(5), Duration::from_micros(20) => Duration::from_secs(2);
        /// How slowly the fair amount of queued data grows (φ).
        phi: f64 = 35.0, 1.0 => 1000.0;
        /// How long the window is held (t_sync).
        hold: Duration = Duration::from_millis(250), Duration::ZERO => Duration::from_secs(10);
        /// What a decrease leaves of the window without its queue (γ, in 1024ths).
        gamma: f64 = 973.0 / 1024.0, 0.1 => 1.0;
        /// CUBIC's C, in packets per second cubed.
        c: f64 = 0.4, 0.01 => 10.0;
        /// What a loss leaves of the window (CUBIC's β).
        beta: f64 = 717.0 / 1024.0, 0.1 => 0.99;
        /// So many decreases without a sample near RTT_min, and it is taken anew.
        forget: u32 = 100, 1 => 1_000_000;
        /// Packets of window below which nothing ends CUBIC's growth, and that a decrease leaves (the authors' `cwnd_min`).
        least: f64 = 5.0, 1.0 => 1000.0;
    }
    check |p| {
        if p.q_low < p.q_target { Ok(()) } else { Err(ParamError::Conflict("lola: q_low must be below q_target (1ms and 5ms)".into())) }
    }
}

/// What the window does, and since when or until when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// The cubic, once an ACK is neither slow start's nor a repair's.
    Begin,
    Cubic(Instant),
    Fair(Instant),
    Hold(Instant),
}

/// RTT_now is the smallest RTT over at least this much time (the authors' `measurement_time`) …
const INTERVAL: Duration = Duration::from_millis(40);
/// … and at least this many packets.
const PACKETS: f64 = 20.0;
/// In slow start this many are enough (HyStart's way), and only a window of at least as many ends it.
const START_PACKETS: f64 = 16.0;
/// Before the first decrease a round adds one packet for so many, or more (`bictcp_update`).
const UNKNOWN: f64 = 20.0;
/// A sample this near RTT_min confirms it.
const NEAR: Duration = Duration::from_micros(100);

/// State: what it is doing; the window that the last decrease found (packets, 0 before the first), where the cubic has its
/// plateau (packets) and when it gets there (seconds); the delays; and what a round adds in fair flow (packets).
#[derive(Debug)]
pub struct Lola {
    p: Params,
    state: State,
    w_max: f64,
    plateau: f64,
    k: f64,
    base: Duration,
    unconfirmed: u32,
    /// The last RTT_now, and the one being taken: smallest, packets, end.
    rtt: Duration,
    least: Option<Duration>,
    packets: f64,
    until: Instant,
    step: f64,
    heard: Instant,
}

impl Algorithm for Lola {
    const ABOUT: About = About {
        name: "lola",
        title: "LoLa",
        paper: "Hock, Neumeister, Zitterbart and Bless, TCP LoLa: congestion control for low latencies and high \
                throughput, LCN 2017",
        family: Family::Delay,
        signal: "queueing delay, smallest of 40 ms",
        evidence: Evidence::Equations,
        departures: &[
            "no region of the cubic that grows as Reno would, and no fast convergence without a loss",
            "no slow start by the spacing of ACKs, which the authors' module takes from HyStart",
            "an RTT below the smallest so far changes only RTT_min; the module decreases at once where it is 0.1 ms below",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        setup.flow.avoid_at_ssthresh();
        Lola {
            p: p.clone(),
            state: State::Begin,
            w_max: 0.0,
            plateau: 0.0,
            k: 0.0,
            base: Duration::MAX,
            unconfirmed: 0,
            rtt: Duration::ZERO,
            least: None,
            packets: 0.0,
            until: setup.flow.now,
            step: 0.0,
            heard: setup.flow.now,
        }
    }
}

impl Lola {
    /// The part of the round trip that is not queue.
    fn empty_part(&self) -> f64 {
        if self.rtt.is_zero() { 1.0 } else { (self.base / self.rtt).min(1.0) }
    }

    /// X(t).
    fn fair(&self, t: Duration) -> Bytes {
        let x = t.as_millis_f64() / self.p.phi;
        Bytes::from_f64(x * x * x)
    }

    /// The cubic at a time since it began, in packets.
    fn cubic(&self, t: Duration) -> f64 {
        let x = t.as_secs_f64() - self.k;
        self.p.c * x * x * x + self.plateau
    }

    /// The cubic begins at the present window: below w_max it gets there at K, else it goes on from its plateau.
    fn begin_cubic(&mut self, flow: &Flow) {
        let w = flow.cwnd.packets(flow.mss);
        self.plateau = self.w_max.max(w);
        self.k = math::cbrt((self.plateau - w) / self.p.c);
        self.state = State::Cubic(flow.now);
        // What is heard in the next two round trips was sent before.
        (self.least, self.packets, self.until) = (None, 0.0, flow.now + self.rtt.max(flow.min_rtt) * 2);
    }

    /// The window that leaves the queue empty.
    fn tailored_decrease(&mut self, flow: &Flow) -> Bytes {
        (self.w_max, self.state) = (flow.cwnd.packets(flow.mss), State::Begin);
        self.unconfirmed += 1;
        let to = flow.cwnd.mul_f64(self.p.gamma * self.empty_part()).max(flow.mss.mul_f64(self.p.least));
        if self.unconfirmed > self.p.forget {
            (self.base, self.unconfirmed) = (Duration::MAX, 0);
        }
        to
    }

    fn decrease(&mut self, flow: &mut Flow) {
        let queue = self.rtt.saturating_sub(self.base).as_nanos() as i64;
        let to = self.tailored_decrease(flow);
        flow.reduce(to.min(flow.cwnd), How::AtOnce, causes::DelayBackoff { queue, ..Default::default() });
    }

    /// Takes a sample; true when an RTT_now is whole.
    fn measure(&mut self, flow: &Flow, rtt: Duration, packets: f64) -> bool {
        self.base = self.base.min(rtt);
        if rtt - self.base < NEAR {
            self.unconfirmed = 0;
        }
        if matches!(self.state, State::Hold(_)) {
            return false;
        }
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        self.packets += packets;
        let due = flow.now >= self.until && flow.cwnd.packets(flow.mss) >= self.p.least;
        if flow.in_slow_start() { self.packets >= START_PACKETS } else { self.packets >= PACKETS && due }
    }

    /// An RTT_now is whole.
    fn judge(&mut self, flow: &mut Flow) {
        self.rtt = self.least.unwrap_or(self.rtt);
        let queue = self.rtt.saturating_sub(self.base);
        if flow.in_slow_start() {
            if queue > self.p.q_low * 2 && flow.cwnd.packets(flow.mss) >= START_PACKETS {
                let (reason, rtt, base_rtt) = (exits::QUEUED, self.rtt.as_nanos() as i64, self.base.as_nanos() as i64);
                flow.leave_slow_start(causes::SlowStartExit { reason, rtt, base_rtt, ..Default::default() });
                // Later ones stop at the window they have; there is a plateau to go to.
                if self.w_max == 0.0 {
                    self.decrease(flow);
                }
            }
            return;
        }
        (self.least, self.packets, self.until) = (None, 0.0, flow.now + INTERVAL);
        if matches!(self.state, State::Cubic(_)) && queue > self.p.q_low {
            (self.state, self.step) = (State::Fair(flow.now), 0.0);
        }
        if let State::Fair(since) = self.state {
            if queue > self.p.q_target {
                self.state = State::Hold(flow.now + self.p.hold);
            } else {
                self.step = self.share(flow, flow.now.since(since)) * (self.rtt / INTERVAL);
            }
        }
    }

    /// What an interval of fair flow adds, in packets: what is missing of X, but no more than four times what X grew by in a
    /// round trip or twice what the last interval added, and no less than one.
    fn share(&self, flow: &Flow, t: Duration) -> f64 {
        let (fair, own) = (self.fair(t), flow.cwnd.mul_f64(1.0 - self.empty_part()));
        if own >= fair {
            return 0.0;
        }
        let grown = (fair - self.fair(t.saturating_sub(self.base))) * 4;
        let most = grown.packets(flow.mss).max(2.0 * self.step);
        (fair - own).packets(flow.mss).min(most).max(1.0)
    }

    /// Packets that a round adds now.
    fn growth(&self, flow: &Flow) -> f64 {
        let w = flow.cwnd.packets(flow.mss);
        match self.state {
            State::Cubic(since) => {
                let least = if self.w_max == 0.0 { w / UNKNOWN } else { 0.0 };
                (self.cubic(flow.now.since(since) + self.base.min(flow.srtt)) - w).clamp(least, w / 2.0)
            }
            State::Fair(_) => self.step.min(w / 4.0),
            State::Begin | State::Hold(_) => 0.0,
        }
    }
}

impl CongestionControl for Lola {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.heard = flow.now;
        // As CUBIC's in Linux, the curve begins with the first ACK that it decides on, whatever slow start came before.
        match (self.state, flow.phase.grows() && !flow.in_slow_start()) {
            (State::Begin, true) => self.begin_cubic(flow),
            (State::Cubic(_), false) => self.state = State::Begin,
            _ => {}
        }
        if !flow.phase.grows() {
            return;
        }
        if ack.round.is_some() && flow.in_slow_start() {
            (self.least, self.packets) = (None, 0.0);
        }
        if let Some(rtt) = ack.rtt
            && self.measure(flow, rtt, ack.delivered.packets(flow.mss))
        {
            self.judge(flow);
        }
        if matches!(self.state, State::Hold(until) if flow.now >= until) {
            self.decrease(flow);
        }
        let growth = self.growth(flow);
        if flow.in_slow_start() || growth > 0.0 {
            flow.grow(ack.cumulative, |flow| flow.cwnd.mul_f64(1.0 / growth.max(1e-3)));
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        let (w, beta) = (flow.cwnd.packets(flow.mss), self.p.beta);
        // CUBIC's fast convergence.
        self.w_max = if w < self.w_max { w * (1.0 + beta) / 2.0 } else { w };
        self.state = State::Begin;
        Reaction::Reduce(flow.cwnd.mul_f64(beta))
    }

    fn on_event(&mut self, flow: &mut Flow, event: crate::Event) {
        if event == crate::Event::Restart
            && let State::Cubic(at) | State::Fair(at) | State::Hold(at) = &mut self.state
        {
            *at += flow.now.since(self.heard);
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("w_max", self.w_max);
        see("k", self.k);
        see("holds", matches!(self.state, State::Hold(_)) as u8 as f64);
    }
}

#[cfg(test)]
mod tests;
