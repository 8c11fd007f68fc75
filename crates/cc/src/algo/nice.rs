//! NICE: Vegas that halves as soon as half the packets of a round wait longer than a tenth of what the queue can make them,
//! and goes on halving below one packet per RTT.
//!
//! ```text
//! first RTT:    RTT_max = 2·RTT_min
//! each packet:  RTT > RTT_min + (RTT_max − RTT_min)·threshold:  late += 1
//! each round:   late > fraction·w:  w = w / 2            else Vegas
//! w < 1:        a packet every 1/w RTTs, down to 1/48    loss: w / 2
//! ```
//! A queue that stands at more than the threshold stops it altogether but for these probes. Until a longer wait was seen the
//! queue is taken to hold an RTT, and the threshold is a tenth of that: on a path of fewer than some 25 packets no more than two
//! of its own, which delayed ACKs let go in twos and threes. Alone on 10 Mbit/s it uses all of 40 ms and 23 % of 20 ms (all of
//! both with a threshold of 0.2).
//!
//! Source: Venkataramani, Kokku and Dahlin, TCP Nice: a mechanism for background transfers, OSDI 2002, sections 2 and 3; the
//! first RTT_max and the least window are those of the prototype (section 2.3), whose threshold is 0.2, and 0.1 in section 4.

use super::vegas::{self, Vegas};
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, How, Reaction, Setup,
    StartRule, causes,
};
use params::Auto;
use units::{Bytes, Duration};

params::params! {
    /// Values of the paper's experiments; Vegas' thresholds are those of its own paper.
    pub struct Params {
        /// A packet is late if it waited more than this part of the longest wait.
        threshold: f64 = 0.1, 0.0 => 1.0;
        /// More than this part of a window late, and it is halved.
        fraction: f64 = 0.5, 0.0 => 1.0;
        /// Grow while fewer packets than this are queued (Vegas' α).
        alpha: f64 = 1.0, 0.0 => 1000.0;
        /// Shrink while more packets than this are queued (Vegas' β).
        beta: f64 = 3.0, 0.0 => 1000.0;
    }
    check |p| {
        if p.alpha <= p.beta { Ok(()) } else { Err(params::ParamError::Conflict("nice: alpha must not exceed beta (1 and 3)".into())) }
    }
}

/// State: Vegas', the longest RTT, and how many packets of this round were late.
#[derive(Debug)]
pub struct Nice {
    vegas: Vegas,
    p: Params,
    longest: Duration,
    late: f64,
}

impl Algorithm for Nice {
    const ABOUT: About = About {
        name: "nice",
        title: "TCP Nice",
        paper: "Venkataramani, Kokku and Dahlin, TCP Nice: a mechanism for background transfers, OSDI 2002",
        family: Family::Delay,
        signal: "RTT per ACK, counted in a round",
        evidence: Evidence::Equations,
        departures: &[
            "an ACK of two packets counts two: both waited as long",
            "below one packet a round without a late one doubles the window up to one, where Vegas would add a whole packet",
            "no packet is late before the first slow start has ended: ten packets at once (two then) are a queue of their own",
            "below one packet a round it sends one each 1/w RTTs; the prototype two at once, each 2/w, and that below two",
        ],
        floor: 1.0 / 48.0,
        start: StartRule::Own("vegas"),
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let inner = vegas::Params { alpha: Auto::of(p.alpha), beta: Auto::of(p.beta), ..Default::default() };
        Nice { vegas: Vegas::new(&inner, setup), p: p.clone(), longest: Duration::ZERO, late: 0.0 }
    }
}

impl Nice {
    /// Hears the extremes, too. That of the handshake is not among them: its packets are small.
    fn is_late(&mut self, ack: &Ack) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        self.vegas.hear(ack);
        self.longest = if self.longest.is_zero() { rtt * 2 } else { self.longest.max(rtt) };
        let base = self.vegas.base();
        rtt > base + (self.longest - base).mul_f64(self.p.threshold)
    }
}

impl CongestionControl for Nice {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if self.is_late(ack) && flow.ssthresh != Bytes::MAX {
            self.late += ack.delivered.packets(flow.mss);
        }
        let Some(round) = &ack.round else { return self.vegas.on_ack(flow, ack) };
        let late = core::mem::take(&mut self.late);
        let open = flow.phase.grows();
        let window = if round.cwnd.is_zero() { flow.cwnd } else { round.cwnd };
        if open && late > self.p.fraction * window.packets(flow.mss) {
            let queue = flow.rtt.saturating_sub(self.vegas.base()).as_nanos() as i64;
            flow.reduce(flow.cwnd / 2, How::AtOnce, causes::DelayBackoff { queue, ..Default::default() });
        } else if open && flow.cwnd < flow.mss {
            flow.cwnd = (flow.cwnd * 2).min(flow.mss);
        } else {
            self.vegas.on_ack(flow, ack);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        self.vegas.on_congestion(flow, congestion)
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        self.vegas.on_event(flow, event);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.vegas.vars(see);
        see("late", self.late);
    }
}

#[cfg(test)]
mod tests;
