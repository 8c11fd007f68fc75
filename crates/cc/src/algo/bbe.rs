//! TCPW BBE, bottleneck bandwidth estimation: between what the bottleneck could carry and half the window, by how far the
//! RTT was on its way to the RTT of past congestion.
//!
//! ```text
//! C = bandwidth of the bottleneck by packet pairs, the median of the last 15
//! u = (RTT − RTT_min) / (RTT_cong − RTT_min), between 0 and 1        RTT_cong: mean RTT at losses so far
//! loss:  cwnd = (1 − u)·min(cwnd, C·RTT_min) + u·cwnd/2              u = 0: random; u = 1: as Reno
//! ```
//! Source: Shimonishi, Sanadidi and Gerla, Improving efficiency-friendliness tradeoffs of TCP in wired-wireless combined
//! networks, ICC 2005, from memory; the thesis only names it. Growth as Reno.

use super::westwood::{down_to, weighed};
use crate::filter::{Ewma, Ring};
use crate::host::PacketPair;
use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup, Signal};
use units::{Bytes, Duration};

params::params! {
    /// From memory.
    pub struct Params {
        /// Weight of the RTT at the newest loss in the mean of those RTTs.
        gain: f64 = 0.5, 0.01 => 1.0;
        /// Two segments are a pair if they left no further apart.
        pair: Duration = Duration::from_micros(100), Duration::ZERO => Duration::from_millis(100);
    }
}

/// State: pairs, their rates in bytes per second, and the RTT of congestion in seconds.
#[derive(Debug)]
pub struct Bbe {
    p: Params,
    pairs: PacketPair,
    rates: Ring<15>,
    congested: Ewma,
}

impl Algorithm for Bbe {
    const ABOUT: About = About {
        name: "bbe",
        title: "TCPW BBE",
        paper: "Shimonishi, Sanadidi and Gerla, Improving efficiency-friendliness tradeoffs of TCP in wired-wireless combined \
                networks, ICC 2005",
        family: Family::DelaySensitive,
        signal: "loss, packet pairs, RTT at losses",
        evidence: Evidence::Memory,
        departures: &[
            "from memory; how the two windows are mixed is our reading of it",
            "the median of pairs, where the paper filters intervals of ACKs",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        Bbe { p: p.clone(), pairs: PacketPair::new(), rates: Ring::new(), congested: Ewma::new(p.gain) }
    }
}

/// Congestion level: how far the RTT had come to that of congestion.
fn level(rtt: Duration, base: Duration, congested: f64) -> f64 {
    let range = congested - base.as_secs_f64();
    if range > 0.0 { (rtt.saturating_sub(base).as_secs_f64() / range).min(1.0) } else { 1.0 }
}

/// The mix of the two windows.
fn mixed(cwnd: Bytes, carried: Bytes, u: f64) -> Bytes {
    cwnd.min(carried).mul_f64(1.0 - u) + (cwnd / 2).mul_f64(u)
}

impl Bbe {
    fn capacity(&self) -> Option<f64> {
        let mut rates = [0.0; 15];
        let n = self.rates.len();
        rates.iter_mut().zip(self.rates.iter()).for_each(|(to, from)| *to = from);
        rates[..n].sort_unstable_by(f64::total_cmp);
        (n > 0).then(|| rates[n / 2])
    }
}

impl CongestionControl for Bbe {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(pair) = self.pairs.see(flow, ack, self.p.pair) {
            self.rates.push(pair.rate.bytes_per_sec());
        }
        flow.grow_as_reno(ack.cumulative);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        let at_loss = flow.rtt.as_secs_f64();
        // A loss far below the others' RTTs says nothing of the RTT of congestion.
        let u = self.congested.get().map_or(1.0, |rtt| level(flow.rtt, flow.min_rtt, rtt));
        if congestion.signal == Signal::Loss && u > 0.5 {
            self.congested.update(at_loss);
        }
        let Some(rate) = self.capacity() else { return Reaction::Reduce(flow.cwnd / 2) };
        let carried = Bytes::from_f64(rate * flow.min_rtt.as_secs_f64());
        down_to(mixed(flow.cwnd, carried, u), flow, congestion.signal)
    }

    fn weighed(&self, flow: &Flow) -> [Bytes; 2] {
        weighed(self.capacity(), flow.min_rtt)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("capacity_mbps", self.capacity().unwrap_or(0.0) * 8e-6);
        see("congested_rtt_ms", self.congested.get().unwrap_or(0.0) * 1e3);
    }
}

#[cfg(test)]
mod tests;
