//! Whether to back off: the threshold of γ packets (Eq 5.3 and 5.4), G that adapts to competitors (section 5.3.1), and
//! probabilities that add up (Eq 5.10).

use super::gradient::{Gradients, WINDOW, weights};
use super::{Params, StartThreshold, Threshold};
use crate::algo::cdg::probability::{Toss, exact};
use units::{Bytes, Duration, Rate, Rng, math};

/// γ, the packets that may queue without a back-off (Eq 5.4), for a bandwidth in bit/s and W_size: none below 2 Mbit/s,
/// where two packets would already be a long queue; then 2; from 20 Mbit/s on what passes in 1.2 ms, but fewer than
/// W_size.
pub fn gamma(bps: f64, window: u32) -> f64 {
    if bps < 2e6 { 0.0 } else { (bps / 1e7).max(2.0).min(window as f64 - 1.0) }
}

/// How long the bottleneck takes for a packet; `None` without a threshold, or a bandwidth to tell it.
fn packet_ms(p: &Params, bps: f64) -> Option<f64> {
    (p.threshold && bps > 0.0).then(|| 8.0 * p.mtu.as_f64() / bps * 1e3)
}

/// The gradient (ms) below which the probability is zero (Eq 5.3).
///
/// The equation's B is in bit/s at the network layer and its result in seconds, while G is in ms.
pub fn threshold(p: &Params, bps: f64, weights: &[f64; WINDOW]) -> f64 {
    let Some(packet) = packet_ms(p, bps) else { return 0.0 };
    match p.threshold_by {
        Threshold::Window => gamma(bps, p.window) * packet / p.window as f64,
        // What γ one-packet gradients in a row give with the weights in use.
        Threshold::Weights => {
            let mut left = gamma(bps, p.window);
            let mut sum = 0.0;
            for w in weights.iter().rev() {
                sum += w * left.clamp(0.0, 1.0);
                left -= 1.0;
            }
            sum * packet
        }
    }
}

/// The gradient (ms) below which slow start goes on. HLDG's back-off probability is that of Eq 5.3, and Algorithm 5.3 asks
/// for it with a gradient that is no average: "the magnitude of an unsmoothed gradient sample is equivalent to the
/// bottleneck serialisation delay of one packet" (5.2.2), so γ packets are not divided by W_size here.
pub fn start_threshold(p: &Params, bps: f64) -> f64 {
    let Some(packet) = packet_ms(p, bps) else { return 0.0 };
    match p.start_threshold {
        StartThreshold::Packets => gamma(bps, p.window) * packet,
        StartThreshold::Window => gamma(bps, p.window) * packet / p.window as f64,
        StartThreshold::None => 0.0,
    }
}

/// `bandwidth` counts payload; thresholds want the network layer's packets.
pub fn network_bps(p: &Params, bandwidth: Rate, mss: Bytes) -> f64 {
    bandwidth.as_bps() as f64 * p.mtu.as_f64() / mss.as_f64()
}

/// G in ms for a queueing delay in ms (Figure 5.25).
///
/// The thesis fits an exponential and scales it down but prints no coefficients. `G·e^(0.032 (q − 30 ms))` has what the
/// text has: it begins at 30 ms, passes 15 at 80 ms ("G > 12 coexists well below 8 BDP" of 10 ms) and 192 at 160 ms
/// ("G < 192 … above 8 BDP" does not), and stays below the largest G tried, 1536.
pub fn adaptive_g(p: &Params, queue: f64) -> f64 {
    let over = queue - p.g_queue.as_millis_f64();
    if p.adaptive_g.or(true) && over > 0.0 { (p.g * math::exp(p.g_rate * over)).min(p.g_max.max(p.g)) } else { p.g }
}

/// Decides once per round.
#[derive(Debug)]
pub struct Decision {
    weights: [f64; WINDOW],
    /// Accumulated probabilities for the gradient of the smallest and of the largest RTT. They may exceed 1.
    pub min: f64,
    /// See `min`.
    pub max: f64,
    /// Threshold of the last round, ms.
    pub threshold: f64,
    /// G of the last round, ms.
    pub g: f64,
    /// The last toss.
    pub toss: Toss,
}

impl Decision {
    /// Nothing accumulated.
    pub fn new(p: &Params) -> Self {
        Decision { weights: weights(p), min: 0.0, max: 0.0, threshold: 0.0, g: p.g, toss: Toss::default() }
    }

    /// After a round with gradients: is this congestion? `bandwidth` counts payload.
    pub fn round(
        &mut self,
        p: &Params,
        gradients: &Gradients,
        bandwidth: Rate,
        mss: Bytes,
        queue: Duration,
        rng: &mut Rng,
    ) -> bool {
        self.threshold = threshold(p, network_bps(p, bandwidth, mss), &self.weights);
        self.g = adaptive_g(p, queue.as_millis_f64());
        let probability = |average: f64| if average < self.threshold { 0.0 } else { exact(average, self.g) };
        let (min, max) = (probability(gradients.min.average), probability(gradients.max.average));
        self.min = accumulate(p, self.min, min);
        self.max = accumulate(p, self.max, max);
        // "P̄ is either that of min or that of max" (5.2.7): two sums but one toss, and min comes first, as in CDG.
        let probability =
            if self.min > 0.0 || (p.min_first && gradients.min.average > 0.0) { self.min } else { self.max };
        if probability <= 0.0 {
            self.toss = Toss::default();
            return false;
        }
        let drew = rng.uniform();
        self.toss = Toss { probability, drew, hit: drew < probability };
        self.toss.hit
    }

    /// Forgets what has accumulated: after a back-off, and whenever the gradients start anew.
    pub fn reset(&mut self) {
        (self.min, self.max) = (0.0, 0.0);
    }
}

/// Eq 5.10; the sum starts again when a probability is zero.
fn accumulate(p: &Params, sum: f64, probability: f64) -> f64 {
    if p.accumulate && probability > 0.0 { sum + probability } else { probability }
}

#[cfg(test)]
mod tests {
    use super::*;
    use params::Params as _;
    use units::streams;

    fn params(spec: &str) -> Params {
        Params::from_spec(&spec.parse().unwrap()).unwrap()
    }

    #[test]
    fn gamma_follows_equation_5_4() {
        let cases = [(1.5, 0.0), (2.0, 2.0), (12.0, 2.0), (25.0, 2.5), (50.0, 5.0), (70.0, 7.0), (1000.0, 7.0)];
        for (mbps, packets) in cases {
            assert_eq!(gamma(mbps * 1e6, 8), packets, "{mbps} Mbit/s");
        }
    }

    #[test]
    fn thresholds_of_the_reference() {
        let p = params("hldg");
        let w = weights(&p);
        for (mbps, ms) in [(1.0, 0.0), (10.0, 0.300), (25.0, 0.150), (100.0, 0.105)] {
            assert!((threshold(&p, mbps * 1e6, &w) - ms).abs() < 1e-12, "{mbps} Mbit/s");
        }
        // Two one-packet gradients under the weights of the average: half a packet.
        assert!((threshold(&params("hldg(threshold_by=weights)"), 1e7, &w) - 0.6).abs() < 1e-12);
        // Slow start's is of packets that are not averaged: two of 1.2 ms at 10 Mbit/s.
        for (spec, ms) in [
            ("hldg", 2.4),
            ("hldg(start_threshold=window)", 0.3),
            ("hldg(start_threshold=none)", 0.0),
            ("hldg(threshold=false)", 0.0),
        ] {
            assert!((start_threshold(&params(spec), 1e7) - ms).abs() < 1e-12, "{spec}");
        }
        assert_eq!((start_threshold(&params("hldg"), 1.9e6), start_threshold(&params("hldg"), 0.0)), (0.0, 0.0));
        assert_eq!(threshold(&params("hldg(threshold=false)"), 1e7, &w), 0.0);
        // W_size is that of the average in use: γ = min(2, 3), over 4.
        let four = params("hldg(wwma=false, window=4)");
        assert!((threshold(&four, 1e7, &weights(&four)) - 0.6).abs() < 1e-12);
        assert_eq!(gamma(5e7, 4), 3.0);
    }

    #[test]
    fn g_grows_with_the_queue_as_the_text_says() {
        let p = params("hldg");
        assert_eq!((adaptive_g(&p, 0.0), adaptive_g(&p, 30.0)), (3.0, 3.0));
        assert!((adaptive_g(&p, 80.0) - 14.86).abs() < 0.01);
        assert!((adaptive_g(&p, 160.0) - 192.2).abs() < 0.1);
        assert_eq!(adaptive_g(&p, 1000.0), 1536.0);
        assert_eq!(adaptive_g(&params("hldg(adaptive_g=false)"), 1000.0), 3.0);
    }

    #[test]
    fn a_gradient_of_the_threshold_itself_counts() {
        // Eq 5.3: zero below it.
        let p = params("hldg");
        let (mss, rate) = (Bytes::new(1448), Rate::from_mbps(10.0));
        let least = threshold(&p, network_bps(&p, rate, mss), &weights(&p));
        for (average, counts) in [(least, true), (least * 0.999, false)] {
            let (mut d, mut g) = (Decision::new(&p), Gradients::new(&p));
            (g.min.average, g.max.average) = (average, average);
            d.round(&p, &g, rate, mss, Duration::ZERO, &mut Rng::new(1, 0, streams::CC));
            assert_eq!((d.min > 0.0, d.max > 0.0), (counts, counts), "{average} ms of {least}");
        }
    }

    /// Mean rounds to a back-off at a constant probability a round.
    fn mean_rounds(spec: &str, probability: f64) -> f64 {
        let p = params(spec);
        let mut rng = Rng::new(1, 0, streams::CC);
        let mut g = Gradients::new(&p);
        g.min.average = -p.g * math::ln(1.0 - probability);
        let mut d = Decision::new(&p);
        let n = 20_000;
        let mut rounds = 0;
        for _ in 0..n {
            d.reset();
            rounds += 1;
            while !d.round(&p, &g, Rate::from_mbps(100.0), Bytes::new(1448), Duration::ZERO, &mut rng) {
                rounds += 1;
                assert!(rounds < 20 * n, "no back-off");
            }
        }
        rounds as f64 / n as f64
    }

    #[test]
    fn accumulation_shortens_the_wait() {
        // Reference, section 3.6.9.
        assert!((mean_rounds("hldg", 0.1) - 3.66).abs() < 0.05);
        assert!((mean_rounds("hldg", 0.25) - 2.22).abs() < 0.03);
        assert!((mean_rounds("hldg(accumulate=false)", 0.1) - 10.0).abs() < 0.25);
        assert!((mean_rounds("hldg(accumulate=false)", 0.25) - 4.0).abs() < 0.1);
    }

    #[test]
    fn a_zero_probability_starts_the_sum_again() {
        let p = params("hldg");
        assert_eq!(accumulate(&p, 0.5, 0.25), 0.75);
        assert_eq!(accumulate(&p, 0.5, 0.0), 0.0);
    }
}
