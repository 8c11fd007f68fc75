//! TCP-AP, adaptive pacing: NewReno that spaces its packets by how long one keeps a chain of wireless hops busy, and by
//! how much the RTT varies.
//!
//! ```text
//! t_q = ½·(RTT/h − (S_d + S_a)/b)                 queueing at a hop; h hops, b their rate, S_d and S_a data and ACK
//! FHD = 4·(t_q + S_d/b)                           time until a packet is four hops away, out of interference; averaged
//!                                                 (of fewer than four hops: one hop's)
//! cov = σ / mean of the last 50 RTTs              contention
//! rate = 1 / (FHD·(1 + 2·cov)) packets a second;  the window as NewReno
//! ```
//! RTT without a queue is taken for one, so that on a wire it sends at most h/2 packets per RTT, however fast the hops (2·h of
//! fewer than four). That no window or outage brings about: four hops on 40 ms of wire are 0.36 Mbit/s.
//!
//! Source: ElRakabawy, Klemm and Lindemann, TCP with adaptive pacing for multihop wireless networks, MobiHoc 2005, as in
//! section 2.4.4.3 of the HLDG thesis, and ElRakabawy's `tcp-ap.cc` for ns-2 of September 2005 (kept in mahaicheng/tcpap). The
//! number of hops and their rate come from below TCP: they are parameters.

use crate::filter::{Ewma, Ring};
use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Family, Flow, Reaction, Setup};
use units::{Bytes, Duration, Rate, math};

params::params! {
    /// The path, and the paper's constants.
    pub struct Params {
        /// Wireless hops on the path (h).
        hops: u32 = 4, 1 => 64;
        /// Rate of each (b).
        link_rate: Rate = Rate::from_bps(2_000_000), Rate::from_bps(1000) => Rate::from_bps(1_000_000_000_000);
        /// Headers of a data packet, on top of the payload.
        header: Bytes = Bytes::new(52), Bytes::ZERO => Bytes::new(1000);
        /// Size of an ACK (S_a).
        ack: Bytes = Bytes::new(60), Bytes::ZERO => Bytes::new(1500);
        /// Weight of the old value in the average of FHD.
        keep: f64 = 0.7, 0.0 => 0.999;
    }
}

/// State: the last RTTs in seconds, and the averaged delay in seconds.
#[derive(Debug)]
pub struct TcpAp {
    p: Params,
    rtts: Ring<50>,
    fhd: Ewma,
}

impl Algorithm for TcpAp {
    const ABOUT: About = About {
        name: "tcp_ap",
        title: "TCP-AP (adaptive pacing)",
        paper: "ElRakabawy, Klemm and Lindemann, TCP with adaptive pacing for multihop wireless networks, MobiHoc 2005",
        family: Family::DelaySensitive,
        signal: "loss; RTT and its variation set the pace",
        departures: &[
            "the authors' code for ns-2 has headers of 112 bytes (MAC included), for ACKs, too; takes the mean deviation for σ, as \
             cheaper; leaves out a hop's queueing above half a second; and does not double its timeout",
            "no radio here interferes with itself, so the pacing is all that can be seen of it",
        ],
        paces: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        TcpAp { rtts: Ring::new(), fhd: Ewma::new(1.0 - p.keep), p: p.clone() }
    }
}

/// A packet so many hops away is out of interference.
const APART: u32 = 4;

/// Four-hop delay in seconds; of a shorter path one hop's, as `n_factor_` has it.
fn four_hop_delay(rtt: Duration, hops: u32, data: Bytes, ack: Bytes, rate: Rate) -> f64 {
    let time = |size: Bytes| size.as_f64() / rate.bytes_per_sec();
    let queue = 0.5 * (rtt.as_secs_f64() / hops as f64 - time(data + ack));
    let apart = if hops < APART { 1 } else { APART };
    apart as f64 * (queue.max(0.0) + time(data))
}

/// Coefficient of variation.
fn variation(rtts: &Ring<50>) -> f64 {
    let (mean, n) = (rtts.mean(), rtts.len() as f64);
    if mean <= 0.0 {
        return 0.0;
    }
    math::sqrt(rtts.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / n) / mean
}

/// Packets a second.
fn pace(fhd: f64, cov: f64) -> f64 {
    1.0 / (fhd * (1.0 + 2.0 * cov))
}

impl CongestionControl for TcpAp {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtts.push(rtt.as_secs_f64());
            let data = flow.mss + self.p.header;
            let fhd = self.fhd.update(four_hop_delay(rtt, self.p.hops, data, self.p.ack, self.p.link_rate));
            let packets = pace(fhd, variation(&self.rtts));
            flow.pacing = Some(Rate::from_bps_f64(packets * 8.0 * flow.mss.as_f64()).max(Rate::from_bps(1)));
        }
        flow.grow_as_reno(ack.cumulative);
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd / 2)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("four_hop_delay_ms", self.fhd.get().unwrap_or(0.0) * 1e3);
        see("variation", variation(&self.rtts));
    }
}

#[cfg(test)]
mod tests;
