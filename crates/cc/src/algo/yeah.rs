//! YeAH: Scalable TCP while no queue is seen, Reno that empties the queue when one is, and a loss costs what was queued.
//!
//! ```text
//! once a round:  Q = RTT_min of the round − base;   Δ = Q·cwnd / RTT_min packets queued;   L = Q / base
//! fast:  Δ < α and L < 1/φ: as Scalable TCP
//! slow:  +1 a round;  Δ > α and cwnd > cwnd_reno:  cwnd −= min(Δ/γ, ε·cwnd), not below cwnd_reno
//! loss:  slow for fewer than ρ rounds: cwnd −= min(max(cwnd/8, Δ), cwnd/2);   else cwnd / 2
//! cwnd_reno: what Reno would have against a greedy flow; cwnd/2 on turning slow, +1 a slow round, halved by loss,
//!            forgotten after ζ fast rounds
//! ```
//! Source: Baiocchi, Castellani and Vacirca, PFLDnet 2007, with what Linux 6.1 adds: at least three samples a round, the
//! threshold becomes the window when the queue is emptied (the paper has cwnd/2).

use crate::host::DataRtt;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Round, Setup, causes,
};

params::params! {
    /// Values of the paper, table 1, as Linux has them.
    pub struct Params {
        /// Packets queued that make it slow (α).
        alpha: f64 = 80.0, 1.0 => 10_000.0;
        /// Delay that makes it slow: this part of the base RTT, one in φ.
        phi: f64 = 8.0, 1.0 => 1000.0;
        /// A slow round gives up the packets queued divided by this, to empty the queue (γ).
        gamma: f64 = 1.0, 0.1 => 100.0;
        /// But no more than this part of the window (ε).
        epsilon: f64 = 0.5, 0.01 => 0.9;
        /// So many slow rounds and a loss is taken for that of a greedy competitor (ρ).
        rho: u64 = 16, 0 => 1000;
        /// So many fast rounds and the competitor is forgotten (ζ).
        zeta: u64 = 50, 0 => 100_000;
        /// Growth per acknowledged packet when fast, in packets (Scalable TCP's).
        growth: f64 = 0.01, 0.0001 => 1.0;
    }
}

/// What Reno would have, before anything is known of competitors.
const RENO_FLOOR: f64 = 2.0;
/// The least part of the window a loss takes (2^−δ with δ = 3).
const LEAST_CUT: f64 = 0.125;

/// State: the base RTT, the queue, Reno's share, and how long it has been slow or fast.
#[derive(Debug)]
pub struct Yeah {
    p: Params,
    rtts: DataRtt,
    queued: f64,
    reno: f64,
    slow_rounds: u64,
    fast_rounds: u64,
}

impl Algorithm for Yeah {
    const ABOUT: About = About {
        name: "yeah",
        title: "YeAH-TCP",
        paper: "Baiocchi, Castellani and Vacirca, YeAH-TCP: Yet Another Highspeed TCP, PFLDnet 2007",
        family: Family::DualMode,
        signal: "loss, smallest RTT per round",
        evidence: Evidence::Equations,
        departures: &[
            "in floating point, where Linux counts whole packets",
            "the base RTT is the smallest of the flow's life; Linux begins anew whenever nothing is outstanding",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        setup.flow.avoid_at_ssthresh();
        let rtts = DataRtt::of(setup.flow);
        Yeah { p: p.clone(), rtts, queued: 0.0, reno: RENO_FLOOR, slow_rounds: 0, fast_rounds: 0 }
    }
}

impl Yeah {
    fn is_slow(&self) -> bool {
        self.slow_rounds > 0
    }

    fn end_of_round(&mut self, flow: &mut Flow, round: &Round) {
        // As Linux: fewer say nothing about the queue.
        if round.samples < 3 || round.min_rtt.is_zero() {
            return;
        }
        let (cwnd, queue) = (flow.cwnd.packets(flow.mss), self.rtts.queue(round.min_rtt));
        self.queued = cwnd * (queue / round.min_rtt);
        if self.queued > self.p.alpha || queue / self.rtts.base() > 1.0 / self.p.phi {
            self.slow_round(flow, cwnd, queue.as_nanos() as i64);
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > self.p.zeta {
                (self.reno, self.fast_rounds) = (RENO_FLOOR, 0);
            }
            self.slow_rounds = 0;
        }
    }

    fn slow_round(&mut self, flow: &mut Flow, cwnd: f64, queue: i64) {
        if self.queued > self.p.alpha && cwnd > self.reno {
            let before = flow.windows();
            let to = (cwnd - (self.queued / self.p.gamma).min(self.p.epsilon * cwnd)).max(self.reno);
            flow.cwnd = flow.mss.mul_f64(to).max(flow.floor).min(flow.cwnd);
            flow.ssthresh = flow.cwnd;
            flow.because(causes::DelayBackoff { queue, ..Default::default() }, before);
        }
        self.reno =
            if self.reno <= RENO_FLOOR { (flow.cwnd.packets(flow.mss) / 2.0).max(RENO_FLOOR) } else { self.reno + 1.0 };
        self.slow_rounds += 1;
    }
}

impl CongestionControl for Yeah {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rtts.see(ack);
        if !flow.may_grow() {
            return;
        }
        let mut acked = ack.cumulative;
        if flow.in_slow_start() {
            acked = flow.slow_start(acked);
        }
        if !acked.is_zero() {
            let scalable = flow.mss.mul_f64(1.0 / self.p.growth);
            flow.additive(if self.is_slow() { flow.cwnd } else { flow.cwnd.min(scalable) }, acked);
        }
        // In slow start too, as Linux: a queue ends it, and the first loss knows how much was queued.
        if let Some(round) = &ack.round {
            self.end_of_round(flow, round);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        let cwnd = flow.cwnd.packets(flow.mss);
        let cut =
            if self.slow_rounds < self.p.rho { self.queued.max(LEAST_CUT * cwnd).min(cwnd / 2.0) } else { cwnd / 2.0 };
        (self.fast_rounds, self.reno) = (0, (self.reno / 2.0).max(RENO_FLOOR));
        Reaction::Reduce(flow.mss.mul_f64(cwnd - cut))
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("queued", self.queued);
        see("cwnd_reno", self.reno);
        see("slow_rounds", self.slow_rounds as f64);
    }
}

#[cfg(test)]
mod tests;
