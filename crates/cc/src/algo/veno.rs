//! Veno: Reno that asks Vegas' question of every loss, so that one without a queue costs a fifth and not half.
//!
//! ```text
//! every ACK:   N = cwnd·(RTT − base) / RTT        packets queued
//! avoidance:   N < β: +1 per window acknowledged;  N ≥ β: every other time      β = 3
//! loss:        N < β: ssthresh = 4/5·cwnd;         N ≥ β: cwnd / 2
//! ```
//! Source: Fu and Liew, IEEE JSAC 21(2), 2003, as Linux 6.1 has it (`tcp_veno.c`): N in half packets from whole microseconds
//! and whole packets, Reno for the first two samples of a connection and from a loss until its repair is over. A base RTT
//! lives until nothing is outstanding. The module means N to come from the smallest RTT of a round, but forgets that with
//! every ACK, so that the last one decides; and an ACK that brings no sample counts as one from a long queue. After a
//! timeout all is taken for lost, nothing is outstanding, and what is sent again begins anew and turns Veno on.

use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Sent, Setup,
};
use units::Bytes;

params::params! {
    /// Values of the paper and of Linux 6.1.
    pub struct Params {
        /// So many packets queued are congestion (β).
        beta: f64 = 3.0, 0.0 => 1000.0;
        /// What part of the window a loss takes with fewer queued; else it is half.
        random_cut: f64 = 0.2, 0.01 => 0.5;
    }
}

/// The kernel's "no RTT yet", in microseconds.
const NONE: u64 = 0x7fff_ffff;

/// State: RTTs in microseconds, and a microsecond more each, as the module has them so that none is zero.
#[derive(Debug)]
pub struct Veno {
    p: Params,
    /// `doing_veno_now`; Reno else.
    on: bool,
    base: u64,
    /// `minrtt`: since the last ACK that could grow the window.
    rtt: u64,
    /// `cntrtt`.
    samples: u64,
    /// `inc`: the window acknowledged next is one that grows.
    turn: bool,
    /// N in half packets (`diff`).
    queued: u64,
}

impl Algorithm for Veno {
    const ABOUT: About = About {
        name: "veno",
        title: "Veno",
        paper: "Fu and Liew, TCP Veno: TCP enhancement for transmission over wireless access networks, \
                IEEE JSAC 21(2), 2003",
        family: Family::DualSignal,
        signal: "loss, RTT per ACK",
        evidence: Evidence::Equations,
        departures: &[
            "Linux 6.1 where it is not the paper: N by the RTT of one ACK, the base RTT of the time since nothing was \
             outstanding",
            "Linux is Reno between a first duplicate ACK and what comes of it, too (state Disorder); the host does not \
             tell of that",
            "the ACK that ends a repair has an RTT; Linux forgets it then and takes the queue for long, until the next ACK",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        Veno { p: p.clone(), on: true, base: NONE, rtt: NONE, samples: 0, turn: true, queued: 0 }
    }
}

impl Veno {
    /// `tcp_veno_init`; the samples stay counted.
    fn begin(&mut self) {
        (self.base, self.turn) = (NONE, true);
        self.enable();
    }

    fn enable(&mut self) {
        (self.on, self.rtt) = (true, NONE);
    }

    fn is_congested(&self) -> bool {
        self.queued as f64 >= 2.0 * self.p.beta
    }

    fn judge(&mut self, flow: &Flow) {
        let cwnd = flow.cwnd.get() / flow.mss.get();
        self.queued = 2 * cwnd - 2 * cwnd * self.base / self.rtt;
    }

    fn avoidance(&mut self, flow: &mut Flow, acked: Bytes) {
        if !self.is_congested() {
            flow.additive(flow.cwnd, flow.counted(acked));
        } else if flow.credit() < flow.cwnd {
            // Counted, and no growth yet; the ACK that finds a window counted is not.
            flow.additive(Bytes::MAX, flow.counted(acked));
        } else {
            flow.reset_credit();
            if self.turn {
                flow.cwnd += flow.mss;
            }
            self.turn = !self.turn;
        }
    }
}

impl CongestionControl for Veno {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let rtt = (rtt.as_micros() + 1).min(NONE);
            (self.base, self.rtt) = (self.base.min(rtt), self.rtt.min(rtt));
            self.samples += 1;
        }
        if ack.cumulative.is_zero() || !flow.may_grow() {
            return;
        }
        if !self.on {
            return flow.grow_as_reno(ack.cumulative);
        }
        if self.samples <= 2 {
            flow.grow_as_reno(ack.cumulative);
        } else {
            self.judge(flow);
            let acked = if flow.in_slow_start() { flow.slow_start(ack.cumulative) } else { ack.cumulative };
            if !acked.is_zero() {
                self.avoidance(flow, acked);
            }
        }
        self.rtt = NONE;
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        self.on = false;
        let cut = if self.is_congested() { 0.5 } else { self.p.random_cut };
        Reaction::Reduce(flow.segments(flow.cwnd.mul_f64(1.0 - cut)))
    }

    fn on_sent(&mut self, _: &mut Flow, sent: &Sent) {
        // `CA_EVENT_TX_START`.
        if sent.in_flight <= sent.size {
            self.begin();
        }
    }

    fn on_undo(&mut self, _: &mut Flow) {
        self.enable();
    }

    fn on_event(&mut self, _: &mut Flow, event: Event) {
        match event {
            Event::RecoveryEnd => self.enable(),
            Event::Timeout => self.on = false,
            Event::Restart => self.begin(),
            _ => {}
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("queued", self.queued as f64 / 2.0);
        see("base_rtt_ms", if self.base == NONE { 0.0 } else { self.base as f64 / 1e3 });
    }
}

#[cfg(test)]
mod tests;
