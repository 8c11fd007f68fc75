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

/// State: the two averages in bytes per second, and the sample being taken.
#[derive(Debug)]
pub struct Westwood {
    least: Duration,
    first: Ewma,
    second: Ewma,
    acked: Bytes,
    time: Duration,
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

    fn new(p: &Params, _: Setup<'_>) -> Self {
        let average = Ewma::new(p.gain);
        Westwood { least: p.least, first: average, second: average, acked: Bytes::ZERO, time: Duration::ZERO }
    }
}

/// What the path carries without a queue at that rate, in bytes per second; half the window before there is one.
pub(super) fn carried(rate: Option<f64>, flow: &Flow) -> Bytes {
    rate.map_or(flow.cwnd / 2, |rate| Bytes::from_f64(rate * flow.min_rtt.as_secs_f64()))
}

/// Westwood's answer: the window comes down to `to` if it is larger; after a timeout the threshold is `to` in any case.
pub(super) fn down_to(to: Bytes, flow: &Flow, signal: Signal) -> Reaction {
    Reaction::Reduce(if signal == Signal::Timeout { to } else { to.min(flow.cwnd) })
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
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
        down_to(carried(self.second.get(), flow), flow, congestion.signal)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("bandwidth_mbps", self.second.get().unwrap_or(0.0) * 8e-6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Round;
    use crate::testing::{ack, congestion, flow, ms, packets};
    use units::{Instant, Rng};

    /// Takes rounds of so many bytes in so many ms.
    fn after(f: &mut Flow, rounds: &[(u64, u64)]) -> Westwood {
        let mut cc = Westwood::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true });
        for &(bytes, time) in rounds {
            let (delivered, end) = (Bytes::new(bytes), Instant::from_millis(time));
            cc.on_ack(f, &Ack { round: Some(Round { delivered, end, ..Round::default() }), ..ack(0, 100) });
        }
        cc
    }

    #[test]
    fn a_loss_leaves_what_the_path_carries() {
        // Reference, section 5.2: 1.25 MB/s over 100 ms are 86 segments of 1448 bytes.
        let mut f = Flow::new(Bytes::new(1448), Bytes::new(200 * 1448), Bytes::new(2896));
        (f.min_rtt, f.srtt) = (ms(100), ms(150));
        let mut cc = after(&mut f, &[(187_500, 150)]);
        let c = congestion(Signal::Loss, &f);
        let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
        assert!(to.get().abs_diff(125_000) <= 1 && to.get() / 1448 == 86, "{to:?}");
        f.cwnd = Bytes::new(60 * 1448);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(f.cwnd), "a random loss costs nothing");
        let c = congestion(Signal::Timeout, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(to));
    }

    #[test]
    fn two_averages_in_a_row_and_samples_of_fifty_milliseconds() {
        let mut f = flow(10, 100);
        // 1 MB/s, then 2: an eighth of an eighth of the step.
        assert_eq!(after(&mut f, &[(100_000, 100), (200_000, 100)]).second.get(), Some(1_015_625.0));
        let cc = after(&mut f, &[(30_000, 30)]);
        assert_eq!((cc.second.get(), cc.acked), (None, packets(30)));
        let cc = after(&mut f, &[(30_000, 30), (30_000, 20)]);
        assert_eq!(cc.second.get(), Some(1_200_000.0));
    }
}
