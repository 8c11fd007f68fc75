//! Westwood+: on loss the window becomes what the path was seen to carry, so a random loss costs nothing.
//!
//! ```text
//! each round of at least 50 ms:  b = acknowledged / time
//! estimate:                      B₁ = 7/8·B₁ + 1/8·b;   B = 7/8·B + 1/8·B₁          both from the first sample
//! loss:                          ssthresh = B·RTT_min, and the window if it is larger
//! timeout:                       ssthresh = B·RTT_min, the window one packet;  growth as Reno
//! ```
//! Source: Grieco and Mascolo, ACM CCR 34(2), 2004, with the filter of Linux 6.1. One sample a round is what tells
//! Westwood+ from Westwood, which sampled every ACK and took compressed ACKs for bandwidth.

use crate::filter::Ewma;
use crate::host::DataRtt;
use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup, Signal};
use units::{Bytes, Duration};

params::params! {
    /// Values of Linux 6.1.
    pub struct Params {
        /// Weight of a sample in each of the two averages.
        gain: f64 = 0.125, 0.01 => 1.0;
        /// A sample spans at least this time, however short a round is.
        least: Duration = Duration::from_millis(50), Duration::ZERO => Duration::from_secs(10);
    }
}

/// State: the two averages in bytes per second, the sample being taken, and RTT_min.
#[derive(Debug)]
pub struct Westwood {
    least: Duration,
    first: Ewma,
    second: Ewma,
    acked: Bytes,
    time: Duration,
    rtts: DataRtt,
}

impl Algorithm for Westwood {
    const ABOUT: About = About {
        name: "westwood",
        title: "Westwood+",
        paper: "Grieco and Mascolo, Performance evaluation and comparison of Westwood+, New Reno and Vegas TCP, \
                ACM CCR 34(2), 2004",
        family: Family::DelaySensitive,
        signal: "loss, ACK rate",
        evidence: Evidence::Equations,
        departures: &[
            "RTT_min is that of the flow's life; Linux takes a new one after a timeout",
            "the window goes down to the estimate at once; Linux halves it first and raises it when recovery ends",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let (average, rtts) = (Ewma::new(p.gain), DataRtt::of(setup.flow));
        Westwood { least: p.least, first: average, second: average, acked: Bytes::ZERO, time: Duration::ZERO, rtts }
    }
}

/// What the path carries without a queue at that rate, in bytes per second; half the window before there is one.
pub(super) fn carried(rate: Option<f64>, base: Duration, flow: &Flow) -> Bytes {
    rate.map_or(flow.cwnd / 2, |rate| Bytes::from_f64(rate * base.as_secs_f64()))
}

/// [`CongestionControl::weighed`] of a window that comes from such a rate; nothing before there is one.
pub(super) fn weighed(rate: Option<f64>, base: Duration) -> [Bytes; 2] {
    [Bytes::ZERO, Bytes::from_f64(rate.unwrap_or(0.0) * base.as_secs_f64())]
}

/// Westwood's answer: the window comes down to `to` if it is larger; the threshold is `to` in any case, so that a smaller
/// window slow-starts up to it.
pub(super) fn down_to(to: Bytes, flow: &mut Flow, signal: Signal) -> Reaction {
    flow.slow_start_to = to;
    Reaction::Reduce(if signal == Signal::Timeout { to } else { to.min(flow.cwnd) })
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rtts.see(ack);
        // The first round ends with the first ACK and would be a sample of that alone.
        if let Some(round) = ack.round.as_ref().filter(|r| r.number != 1) {
            self.acked += round.delivered;
            self.time += round.end.since(round.start);
            if self.time >= self.least && !self.time.is_zero() {
                self.second.update(self.first.update(self.acked.as_f64() / self.time.as_secs_f64()));
                (self.acked, self.time) = (Bytes::ZERO, Duration::ZERO);
            }
        }
        flow.grow_as_reno(ack.cumulative);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        down_to(carried(self.second.get(), self.rtts.base(), flow), flow, congestion.signal)
    }

    fn weighed(&self, _: &Flow) -> [Bytes; 2] {
        weighed(self.second.get(), self.rtts.base())
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("bandwidth_mbps", self.second.get().unwrap_or(0.0) * 8e-6);
    }
}

#[cfg(test)]
mod tests;
