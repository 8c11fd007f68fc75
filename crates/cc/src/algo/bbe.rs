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

use super::westwood::down_to;
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

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("capacity_mbps", self.capacity().unwrap_or(0.0) * 8e-6);
        see("congested_rtt_ms", self.congested.get().unwrap_or(0.0) * 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, flow, ms, packets};
    use units::{Instant, Rng};

    #[test]
    fn the_level_of_congestion_and_the_mix() {
        assert_eq!([100, 150, 200, 250].map(|rtt| level(ms(rtt), ms(100), 0.2)), [0.0, 0.5, 1.0, 1.0]);
        assert_eq!([0.0, 0.5, 1.0].map(|u| mixed(packets(100), packets(80), u).get()), [80_000, 65_000, 50_000]);
        assert_eq!(mixed(packets(60), packets(80), 0.0), packets(60), "a random loss in a small window costs nothing");
    }

    #[test]
    fn the_first_loss_teaches_the_rtt_of_congestion_and_later_ones_are_judged_by_it() {
        let mut f = flow(120, 100);
        let mut cc = Bbe::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        // Pairs of 1000 bytes a millisecond apart: 100 packets in the base RTT.
        for n in 0..40 {
            f.now = Instant::from_millis(n);
            f.cwnd = packets(120);
            cc.on_ack(&mut f, &ack(1, 100));
        }
        f.cwnd = packets(120);
        assert_eq!(cc.capacity(), Some(1e6));
        let c = congestion(Signal::Loss, &f);
        let mut at = |rtt| {
            f.rtt = ms(rtt);
            let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
            (to.get() + 5) / 10
        };
        assert_eq!(at(200), 6000, "nothing known: as Reno");
        assert_eq!(at(100), 10_000, "no queue: what the bottleneck carries");
        assert_eq!(at(120), 9200, "a fifth of the way");
    }
}
