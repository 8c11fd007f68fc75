//! Libra: growth and cut scaled by the RTT so that flows of any RTT share alike, and growth by the capacity of the path so
//! that large ones are filled soon.
//!
//! ```text
//! per packet acknowledged:  w += α/w · RTT² / (RTT + T₀)
//! α = k₁·C·p;   p = e^(−k₂·Q/Q_max)                C: capacity in Mbit/s;  Q = RTT − RTT_min, Q_max = RTT_max − RTT_min
//! loss:                     w −= T₁·w / (2·(RTT + T₀))
//! ```
//! RTTs in seconds. C makes α depend on the unit of capacity, and a longer RTT loses less.
//!
//! Source: Marfia, Palazzi, Pau, Gerla, Sanadidi and Roccetti, TCP Libra: exploring RTT-fairness for TCP, 2005/2007, as the
//! HLDG thesis tells it in section 2.4.3.3 (Eq 2.18 to 2.21); capacity by CapProbe, [`CapProbe`].

use crate::host::{CapProbe, DataRtt};
use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup};
use units::{Duration, math};

params::params! {
    /// Values of the paper, from the thesis.
    pub struct Params {
        /// Growth per Mbit/s of capacity (k₁).
        k1: f64 = 2.0, 0.01 => 100.0;
        /// How much a queue slows growth (k₂).
        k2: f64 = 2.0, 0.0 => 100.0;
        /// RTTs well below this grow with their square (T₀).
        t0: Duration = Duration::from_secs(1), Duration::from_millis(1) => Duration::from_secs(100);
        /// What a loss takes is this over 2·(RTT + T₀) (T₁).
        t1: Duration = Duration::from_secs(1), Duration::from_millis(1) => Duration::from_secs(100);
    }
    check |p| {
        if p.t1 <= p.t0 * 2 { Ok(()) } else { Err(params::ParamError::Conflict("libra: t1 must not exceed twice t0, or a loss takes more than there is (both 1s)".into())) }
    }
}

/// State: what packet pairs say of the capacity, and the extremes of the RTT.
#[derive(Debug)]
pub struct Libra {
    p: Params,
    capacity: CapProbe,
    rtts: DataRtt,
    alpha: f64,
}

impl Algorithm for Libra {
    const ABOUT: About = About {
        name: "libra",
        title: "TCP Libra",
        paper: "Marfia, Palazzi, Pau, Gerla, Sanadidi and Roccetti, TCP Libra: exploring RTT-fairness for TCP, UCLA 2005; Networking 2007",
        family: Family::DualSignal,
        signal: "loss, queueing delay per ACK, packet pairs",
        evidence: Evidence::Equations,
        departures: &["before the first pair the capacity is taken for that of the window over the RTT"],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        Libra { p: p.clone(), capacity: CapProbe::default(), rtts: DataRtt::of(setup.flow), alpha: 0.0 }
    }
}

impl Libra {
    /// Eq 2.20 and 2.21.
    fn alpha(&self, capacity_mbps: f64, queue: Duration, largest: Duration) -> f64 {
        let q = if largest.is_zero() { 0.0 } else { queue / largest };
        self.p.k1 * capacity_mbps * math::exp(-self.p.k2 * q)
    }

    /// Eq 2.18: packets that a round adds.
    fn growth(&self, rtt: Duration) -> f64 {
        let (rtt, t0) = (rtt.as_secs_f64(), self.p.t0.as_secs_f64());
        self.alpha * rtt * rtt / (rtt + t0)
    }

    /// Eq 2.19: what part a loss takes.
    fn cut(&self, rtt: Duration) -> f64 {
        self.p.t1.as_secs_f64() / (2.0 * (rtt.as_secs_f64() + self.p.t0.as_secs_f64()))
    }
}

impl CongestionControl for Libra {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.capacity.see(flow, ack);
        self.rtts.see(ack);
        if let Some(rtt) = ack.rtt {
            let capacity = self.capacity.get().unwrap_or(flow.cwnd / flow.srtt.max(Duration::from_micros(1)));
            self.alpha = self.alpha(capacity.as_mbps(), self.rtts.queue(rtt), self.rtts.range());
        }
        flow.grow(ack.cumulative, |flow| {
            // No faster than slow start.
            let growth = self.growth(flow.rtt).min(flow.cwnd.packets(flow.mss));
            flow.cwnd.mul_f64(1.0 / growth)
        });
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd.mul_f64(1.0 - self.cut(flow.rtt)))
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha);
        see("capacity_mbps", self.capacity.get().map_or(0.0, |c| c.as_mbps()));
    }
}

#[cfg(test)]
mod tests;
