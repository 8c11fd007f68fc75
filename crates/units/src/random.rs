//! Random streams, one per (seed, entity, purpose), so that adding a flow does not re-roll another's dice.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a stream is for. The numbers are part of the digest: never reuse or renumber them.
pub mod streams {
    /// Coin tosses of a congestion control algorithm.
    pub const CC: u64 = 1;
    /// Decisions of a queue law.
    pub const AQM: u64 = 2;
    /// Random loss of a link.
    pub const LOSS: u64 = 3;
    /// Delay variation of a link.
    pub const JITTER: u64 = 4;
    /// Packets reordered on a link.
    pub const REORDER: u64 = 5;
    /// Packets duplicated on a link.
    pub const DUPLICATE: u64 = 6;
    /// A traffic source's sizes and gaps.
    pub const TRAFFIC: u64 = 7;
    /// `vary = "start"`: jitter of start times.
    pub const START: u64 = 8;
    /// `vary = "start+host"`: jitter of host processing.
    pub const HOST: u64 = 9;
    /// Phase of a host's clock ticks.
    pub const CLOCK: u64 = 10;
    /// The perturbation of a flow hash.
    pub const HASH: u64 = 11;
    /// Phase and jitter of an emulator's clock.
    pub const EMULATOR: u64 = 12;
    /// Coin tosses of a slow start that was chosen for an algorithm.
    pub const SLOW_START: u64 = 13;
}

/// A random stream: Xoshiro256++ with our own samplers, so that its values never change with a library version.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

/// SplitMix64's finaliser, Stafford's 13th variant of murmur's: every bit of `x` reaches every bit of the result.
#[inline]
pub const fn avalanche(x: u64) -> u64 {
    let z = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One step of SplitMix64 (Steele, Lea, Flood 2014): a well-mixed 64-bit hash of `x`.
#[inline]
pub const fn splitmix(x: u64) -> u64 {
    avalanche(x.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

impl Rng {
    /// The stream of `entity` (a flow's or link's number) for `purpose` (one of [`streams`]) in the run of `seed`.
    pub fn new(seed: u64, entity: u64, purpose: u64) -> Self {
        let key = splitmix(splitmix(splitmix(seed) ^ entity) ^ purpose);
        Rng(Xoshiro256PlusPlus::seed_from_u64(key))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform among 0 … n − 1 (0 if n is 0). The bias of the multiply method is below 2^-32 for n < 2^32.
    pub fn below(&mut self, n: u64) -> u64 {
        ((self.bits() as u128 * n as u128) >> 64) as u64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.uniform() < p
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Normal, by Box and Muller; the second value is thrown away so that every call uses two draws.
    pub fn normal(&mut self, mean: f64, sd: f64) -> f64 {
        let r = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        mean + sd * r * libm::cos(core::f64::consts::TAU * self.uniform())
    }

    /// Lognormal with the given median and σ of the logarithm.
    pub fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        median * libm::exp(self.normal(0.0, sigma))
    }

    /// Pareto with shape `alpha`, bounded to [low, high], by inversion.
    pub fn bounded_pareto(&mut self, alpha: f64, low: f64, high: f64) -> f64 {
        let ratio = libm::pow(low / high, alpha);
        low / libm::pow(1.0 - self.uniform() * (1.0 - ratio), 1.0 / alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_entity_and_purpose_and_repeat_by_seed() {
        let first = |s, e, p| Rng::new(s, e, p).bits();
        assert_eq!(first(1, 0, streams::CC), first(1, 0, streams::CC));
        let all = [first(1, 0, 1), first(2, 0, 1), first(1, 1, 1), first(1, 0, 2), first(1, 1, 0)];
        for (i, a) in all.iter().enumerate() {
            assert!(all[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn samplers_have_the_right_means() {
        let mut rng = Rng::new(7, 0, 0);
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / n as f64;
        assert!((mean(&mut || rng.uniform()) - 0.5).abs() < 0.005);
        let mut rng = Rng::new(7, 0, 0);
        assert!((mean(&mut || rng.exponential(3.0)) - 3.0).abs() < 0.05);
        let mut rng = Rng::new(7, 0, 0);
        assert!((mean(&mut || rng.normal(2.0, 4.0)) - 2.0).abs() < 0.05);
        let mut rng = Rng::new(7, 0, 0);
        assert!((mean(&mut || rng.below(10) as f64) - 4.5).abs() < 0.05);
        // Its mean is m e^(σ²/2): 20 e^(1/8).
        let mut rng = Rng::new(7, 0, 0);
        assert!((mean(&mut || rng.lognormal(20.0, 0.5)) - 22.663).abs() < 0.1);
        // α/(α−1) (L^(1−α) − H^(1−α)) / (L^−α − H^−α), with α = 1.5 between 1 and 1000.
        let mut rng = Rng::new(7, 0, 0);
        assert!((mean(&mut || rng.bounded_pareto(1.5, 1.0, 1000.0)) - 2.9052).abs() < 0.08);
    }

    #[test]
    fn skewed_samplers_have_the_right_medians_and_bounds() {
        let mut rng = Rng::new(8, 0, 0);
        let mut sample = |f: &mut dyn FnMut(&mut Rng) -> f64| {
            let mut all = [0.0; 10_001];
            all.iter_mut().for_each(|x| *x = f(&mut rng));
            all.sort_unstable_by(f64::total_cmp);
            (all[0], all[5_000], all[10_000])
        };
        let (least, median, _) = sample(&mut |rng| rng.lognormal(20.0, 0.5));
        assert!(least > 0.0 && (median - 20.0).abs() < 0.4, "{least} {median}");
        // Half of the mass lies below (½ (L^−α + H^−α))^(−1/α).
        let (least, median, most) = sample(&mut |rng| rng.bounded_pareto(1.5, 1.0, 1000.0));
        assert!((1.0..1.01).contains(&least) && (100.0..=1000.0).contains(&most), "{least} {most}");
        assert!((median - 1.58738).abs() < 0.04, "{median}");
    }
}
