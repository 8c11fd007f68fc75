//! L2DCT: DCTCP whose growth and whose answer to marks fade with what the flow has sent, so that short flows go first.
//!
//! ```text
//! w = 2.5 up to 200 kB sent, falling in a line to 0.125 at 1 MB
//! avoidance:  cwnd += k per round,  k = w / 2.5
//! a mark:     cwnd = (1 − b/2)·cwnd,  b = α^w,  α: DCTCP's;  a loss halves
//! ```
//! A short flow grows as Reno and answers α^2.5; a long one grows by a twentieth of a packet and answers nearly as to a loss.
//!
//! Source: Munir et al., Minimizing flow completion times in data centers (L2DCT), Infocom 2013; equations and constants
//! checked against a public port to ns-3 (`l2dct-socket.cc`), which counts 200 and 1000 segments, sent ones, for the bytes.

use crate::filter::Ewma;
use crate::host::MarkedFraction;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Ecn, Evidence, Family, Flow, Reaction, Setup, Signal,
};
use params::ParamError;
use units::{Bytes, math};

params::params! {
    /// DCTCP's gain; the others as in the port.
    pub struct Params {
        /// Weight of the newest window in α (g).
        gain: f64 = 0.0625, 0.001 => 1.0;
        /// Weight of a flow that has sent little (w_max).
        largest: f64 = 2.5, 1.0 => 16.0;
        /// Weight of a flow that has sent much (w_min).
        smallest: f64 = 0.125, 0.001 => 1.0;
        /// Up to here the weight is the largest.
        short: Bytes = Bytes::new(200_000), Bytes::ZERO => Bytes::new(1 << 40);
        /// From here on it is the smallest.
        long: Bytes = Bytes::new(1_000_000), Bytes::new(1) => Bytes::new(1 << 50);
    }
    check |p| {
        if p.short < p.long { Ok(()) } else { Err(ParamError::Conflict("l2dct: short must be less than long".into())) }
    }
}

/// State: α, and the weight of the flow's next steps.
#[derive(Debug)]
pub struct L2dct {
    p: Params,
    alpha: Ewma,
    marks: MarkedFraction,
    weight: f64,
}

impl Algorithm for L2dct {
    const ABOUT: About = About {
        name: "l2dct",
        title: "L2DCT",
        paper: "Munir et al., Minimizing flow completion times in data centers, Infocom 2013",
        family: Family::Ecn,
        signal: "fraction of marked bytes, bytes sent so far",
        evidence: Evidence::Equations,
        departures: &["counts what was delivered, where the port counts what was sent"],
        ecn: Ecn::Accurate,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        let alpha = Ewma::starting_at(p.gain, 1.0);
        L2dct { weight: p.largest, p: p.clone(), alpha, marks: MarkedFraction::default() }
    }
}

impl Params {
    /// w after so much was sent.
    fn weight(&self, sent: Bytes) -> f64 {
        let span = (self.long - self.short).as_f64();
        let far = (sent.saturating_sub(self.short).as_f64() / span).min(1.0);
        self.largest - far * (self.largest - self.smallest)
    }
}

/// What a mark leaves.
fn after_mark(cwnd: Bytes, alpha: f64, weight: f64) -> Bytes {
    cwnd.mul_f64(1.0 - math::pow(alpha, weight) / 2.0)
}

impl CongestionControl for L2dct {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(fraction) = self.marks.see(ack, ack.round.is_some()) {
            self.alpha.update(fraction);
        }
        self.weight = self.p.weight(flow.delivered);
        if !flow.may_grow() {
            return;
        }
        let acked = if flow.in_slow_start() { flow.slow_start(ack.cumulative) } else { ack.cumulative };
        if !acked.is_zero() {
            // k of a packet a window is a packet in 1/k windows.
            flow.additive(flow.cwnd.mul_f64(self.p.largest / self.weight), acked);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        Reaction::Reduce(match congestion.signal {
            Signal::Ecn => after_mark(flow.cwnd, self.alpha.get().unwrap_or(1.0), self.weight),
            _ => flow.cwnd / 2,
        })
    }

    fn marked(&self) -> f64 {
        self.alpha.get().unwrap_or(1.0)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha.get().unwrap_or(1.0));
        see("weight", self.weight);
    }
}

#[cfg(test)]
mod tests;
