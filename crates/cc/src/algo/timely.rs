//! TIMELY: a rate that follows the gradient of the RTT, between two RTTs where the gradient no longer matters.
//!
//! ```text
//! each segment (16 KB) acknowledged:  diff = (1 − a)·diff + a·(RTT − last RTT);   g = diff / RTT_min
//! RTT < T_low:     R += δ
//! RTT > T_high:    R ·= 1 − β·(1 − T_high/RTT)
//! g ≤ 0:           R += N·δ                      N = 5 after five such in a row, else 1
//! g > 0:           R ·= 1 − β·g
//! ```
//! Steps but the last are taken in proportion to the time since the one before, up to a whole one per RTT_min; no step
//! takes more than half.
//!
//! Any split of the link is at rest, say Zhu et al. (ECN or delay, CoNEXT 2016). So it is where a segment takes longer than
//! RTT_min: then who sends faster decides more often, which makes the whole steps a growth in proportion to the rate, and
//! the ratio of two rates stays (segments of 1 MB at 100 Mbit/s and 20 ms: 64 to 36 after a minute for the one that began
//! three times as fast). Where it is shorter, steps go by time and the rates meet.
//!
//! Source: Mittal et al., TIMELY, SIGCOMM 2015; a, β and the scaling by time are those of the authors' snippet.

use crate::host::DataRtt;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Ecn, Evidence, Family, Feedback, Flow, Reaction, Setup,
    StartRule, causes,
};
use units::{Bytes, Duration, Instant, Rate};

params::choice! {
    /// What RTTs and rates are measured by.
    pub enum Scale {
        /// The path: T_low = 1.25·RTT_min, T_high = 2·RTT_min, δ = one segment of TCP per RTT_min.
        Path = "path",
        /// The paper's datacentre: T_low 50 µs, T_high 500 µs, RTT_min 20 µs, δ = 10 Mbit/s.
        Datacentre = "datacentre",
    }
}

params::params! {
    /// The paper's constants fit links of 10 Gbit/s and 20 µs only; those of `path` are ours.
    pub struct Params {
        /// What RTTs and rates are measured by.
        scale: Scale = Scale::Path;
        /// Weight of an RTT difference in the gradient (authors' snippet: 0.02).
        alpha: f64 = 0.02, 0.001 => 1.0;
        /// Multiplicative decrease (β).
        beta: f64 = 0.8, 0.05 => 1.0;
        /// Segments in a row, between the two thresholds, without a rising gradient that make N = 5.
        hai_after: u32 = 5, 1 => 1000;
        /// How much is acknowledged between two decisions: 16 to 64 KB in the paper.
        segment: Bytes = Bytes::new(16_000), Bytes::new(1) => Bytes::new(1_000_000);
    }
}

/// N in hyperactive increase.
const HAI: f64 = 5.0;

/// T_low, T_high, RTT_min and δ in bit/s.
#[derive(Clone, Copy, Debug)]
struct Constants {
    low: Duration,
    high: Duration,
    base: Duration,
    step: f64,
}

/// State: the rate, the smoothed difference, and when the last decision was taken at what RTT.
#[derive(Debug)]
pub struct Timely {
    p: Params,
    /// In bit/s; zero before the first RTT.
    rate: f64,
    rtts: DataRtt,
    diff_ms: f64,
    falls: u32,
    last: Option<(Instant, Duration)>,
    acked: Bytes,
    gradient: f64,
}

impl Algorithm for Timely {
    const ABOUT: About = About {
        name: "timely",
        title: "TIMELY",
        paper: "Mittal et al., TIMELY: RTT-based congestion control for the datacenter, SIGCOMM 2015",
        family: Family::Delay,
        signal: "RTT gradient, paced",
        evidence: Evidence::Equations,
        departures: &[
            "scale=path: thresholds and δ follow the path, or any RTT beyond a datacentre's would be above T_high. RTT_min is the \
             smallest and never ages, as nothing empties the queue between two thresholds: where the path itself grows longer, \
             that is a queue for good",
            "begins with the initial window in an RTT, and grows from there by a segment of TCP per RTT_min; the paper begins at \
             its share of the host's link, C/(N + 1), and eRPC at all of it",
            "five falls are five smoothed gradients that do not rise, between the thresholds; in eRPC five RTTs each below the one \
             before, wherever they are",
            "a window of two rates times RTTs bounds what is unacknowledged; it grows by what is delivered",
            "loss halves the rate: the paper's fabric has none",
            "no rate below a segment of TCP per newest RTT: the authors' least rate is optional, and eRPC's is δ",
        ],
        ecn: Ecn::Off,
        start: StartRule::Fixed,
        // Its NIC acknowledges every completion at once; 40 ms of a delayed ACK would be above T_high.
        feedback: Feedback::EveryPacket,
        paces: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        Timely {
            p: p.clone(),
            rate: 0.0,
            rtts: DataRtt::default(),
            diff_ms: 0.0,
            falls: 0,
            last: None,
            acked: Bytes::ZERO,
            gradient: 0.0,
        }
    }
}

impl Timely {
    fn constants(&self, flow: &Flow) -> Constants {
        let us = Duration::from_micros;
        match self.p.scale {
            Scale::Datacentre => Constants { low: us(50), high: us(500), base: us(20), step: 10e6 },
            Scale::Path => {
                let base = self.rtts.base().max(us(1));
                let step = flow.mss.as_f64() * 8.0 / base.as_secs_f64();
                Constants { low: base.mul_f64(1.25), high: base * 2, base, step }
            }
        }
    }

    /// The factor or the summand that this RTT brings: the new rate.
    fn decide(&mut self, rtt: Duration, elapsed: Duration, k: Constants) -> f64 {
        let scale = (elapsed / k.base).min(1.0);
        self.gradient = self.diff_ms / k.base.as_millis_f64();
        self.falls =
            if self.gradient <= 0.0 && rtt >= k.low && rtt <= k.high { self.falls.saturating_add(1) } else { 0 };
        if rtt < k.low {
            self.rate + k.step * scale
        } else if rtt > k.high {
            self.rate * (1.0 - self.p.beta * (1.0 - k.high / rtt) * scale).max(0.5)
        } else if self.gradient <= 0.0 {
            let n = if self.falls >= self.p.hai_after { HAI } else { 1.0 };
            self.rate + n * k.step * scale
        } else {
            self.rate * (1.0 - self.p.beta * self.gradient).max(0.5)
        }
    }

    /// One segment per RTT. The newest RTT: with so few samples the smoothed one remembers a queue long after it is gone, and a
    /// decision takes a segment's worth of packets.
    fn least(flow: &Flow) -> f64 {
        flow.mss.as_f64() * 8.0 / flow.rtt.max(Duration::from_micros(1)).as_secs_f64()
    }

    /// No less than that, and no more than what two windows in a round would be.
    fn set(&mut self, flow: &mut Flow, rate: f64) {
        let rtt = flow.srtt.max(Duration::from_micros(1)).as_secs_f64();
        let least = Self::least(flow);
        self.rate = rate.max(least).min((flow.cwnd.as_f64() * 8.0 * 2.0 / rtt).max(least));
        flow.pacing = Some(Rate::from_bps_f64(self.rate.max(1.0)));
    }

    fn window(&self, flow: &Flow) -> Bytes {
        Bytes::from_f64(2.0 * self.rate / 8.0 * flow.srtt.as_secs_f64()).max(flow.floor)
    }
}

impl CongestionControl for Timely {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.acked += ack.delivered;
        let Some(rtt) = ack.rtt else { return };
        self.rtts.take(rtt);
        let Some((at, before)) = self.last else {
            let first = flow.cwnd.as_f64() * 8.0 / rtt.as_secs_f64().max(1e-6);
            self.last = Some((flow.now, rtt));
            return self.set(flow, first);
        };
        if self.acked >= self.p.segment {
            (self.acked, self.last) = (Bytes::ZERO, Some((flow.now, rtt)));
            self.diff_ms += self.p.alpha * (rtt.diff_millis(before) - self.diff_ms);
            let (old, k) = (self.rate, self.constants(flow));
            let rate = self.decide(rtt, flow.now.since(at), k);
            self.set(flow, rate);
            let window = self.window(flow);
            if self.rate < old && window < flow.cwnd {
                let before = flow.windows();
                flow.cwnd = window;
                let queue = self.rtts.queue(rtt).as_nanos() as i64;
                flow.because(causes::DelayBackoff { queue, ..Default::default() }, before);
            }
        }
        if self.rate < Self::least(flow) {
            self.set(flow, self.rate);
        }
        flow.cwnd = flow.cwnd.max((flow.cwnd + ack.delivered).min(self.window(flow)));
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        let half = self.rate / 2.0;
        self.set(flow, half);
        Reaction::Reduce(self.window(flow).min(flow.cwnd / 2))
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate_mbps", self.rate * 1e-6);
        see("gradient", self.gradient);
    }
}

#[cfg(test)]
mod tests;
