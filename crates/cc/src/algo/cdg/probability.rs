//! Back-off probability: `P = 1 − e^(−ḡ/G)` (thesis Eq 2.27), exactly or by FreeBSD's table.

use units::{Rng, math};

/// Eq 2.27 for a gradient and a scale in the same unit. Zero for gradients that do not rise.
pub fn exact(gradient: f64, g: f64) -> f64 {
    if gradient > 0.0 { 1.0 - math::exp(-gradient / g) } else { 0.0 }
}

/// Gradients in FreeBSD are counted in 1/128 of a tick (`D_P_E` = 7).
pub const UNITS_PER_MS: i64 = 128;
/// Beyond this many times G the back-off is certain (`MAXGRAD`).
const CERTAIN: i64 = 5;

/// FreeBSD's table of `1 − e^(−i/128)` in 2^-15, for i = 0 … 640. Its first entry is 10, not 0: a gradient that
/// rounds to nothing still has a small chance.
pub fn table(i: i64) -> u32 {
    if i == 0 { 10 } else { math::round(32768.0 * (1.0 - math::exp(-i as f64 / UNITS_PER_MS as f64))) as u32 }
}

/// FreeBSD's threshold: back off if 32 random bits lie below it; `None` is certainty.
pub fn threshold(gradient: i64, g: f64) -> Option<u32> {
    if gradient as f64 > (CERTAIN * UNITS_PER_MS) as f64 * g {
        return None;
    }
    // G is a whole number in the kernel: "+ G/2" rounds to the nearest entry, and G = 1 divides by nothing.
    let index = if g > 1.0 {
        math::floor((gradient as f64 + math::floor(g / 2.0)) / g)
    } else {
        math::floor(gradient as f64 / g)
    };
    Some(131_071 * table(index as i64))
}

/// How a rising gradient becomes a toss.
#[derive(Clone, Copy, Debug)]
pub enum Dice {
    /// FreeBSD's table; gradients in 1/128 ms.
    Table,
    /// The formula; gradients in nanoseconds.
    Exact,
}

/// One toss with its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Toss {
    /// Probability of a back-off.
    pub probability: f64,
    /// What was drawn from [0, 1).
    pub drew: f64,
    /// The draw fell below the probability.
    pub hit: bool,
}

impl Dice {
    /// A difference of RTTs (nanoseconds) as a gradient.
    pub fn gradient(self, nanos: i64) -> i64 {
        match self {
            Dice::Table => nanos * UNITS_PER_MS / 1_000_000,
            Dice::Exact => nanos,
        }
    }

    /// A gradient in milliseconds.
    pub fn millis(self, gradient: i64) -> f64 {
        match self {
            Dice::Table => gradient as f64 / UNITS_PER_MS as f64,
            Dice::Exact => gradient as f64 * 1e-6,
        }
    }

    /// Tosses for a gradient.
    pub fn toss(self, gradient: i64, g: f64, rng: &mut Rng) -> Toss {
        match self {
            Dice::Table => {
                let bits = (rng.bits() >> 32) as u32;
                let drew = bits as f64 / 4_294_967_296.0;
                match threshold(gradient, g) {
                    None => Toss { probability: 1.0, drew, hit: true },
                    Some(p) => Toss { probability: p as f64 / 4_294_967_296.0, drew, hit: bits < p },
                }
            }
            Dice::Exact => {
                let probability = exact(self.millis(gradient), g);
                let drew = rng.uniform();
                Toss { probability, drew, hit: drew < probability }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_freebsds_entries() {
        // Reference, sections 3.5 and 8.
        for (i, entry) in [(0, 10), (37, 8226), (43, 9350), (53, 11110), (128, 20713), (640, 32547)] {
            assert_eq!(table(i), entry, "entry {i}");
        }
    }

    fn p(ms: f64) -> f64 {
        threshold((ms * 128.0) as i64, 3.0).unwrap() as f64 / 4_294_967_296.0
    }

    #[test]
    fn probabilities_of_the_thesis_figures() {
        // Figure 4.6d: 0.34 at 1.25 ms, 0.25 at 0.875 ms; one tick gives 0.285 (entry 43).
        assert!((p(1.25) - 0.3390).abs() < 1e-4);
        assert!((p(0.875) - 0.2510).abs() < 1e-4);
        assert!((p(1.0) - 0.28534).abs() < 1e-5);
        // Figure 4.8c: 0.038 is one tick spread over eight samples.
        assert!((p(0.125) - 0.038).abs() < 1e-3);
        assert!((exact(1.25, 3.0) - 0.3408).abs() < 1e-4);
        assert!((exact(0.875, 3.0) - 0.2530).abs() < 1e-4);
    }

    #[test]
    fn half_of_a_whole_g_is_added_and_of_one_nothing() {
        for (gradient, g, index) in [(130, 4.0, 33), (129, 4.0, 32), (300, 1.0, 300), (10, 0.5, 20)] {
            assert_eq!(threshold(gradient, g), Some(131_071 * table(index)), "{gradient} {g}");
        }
    }

    #[test]
    fn a_toss_tells_what_it_drew_and_how_likely_a_hit_was() {
        let mut rng = Rng::new(1, 0, units::streams::CC);
        for (dice, gradient, expected) in [(Dice::Table, 160, p(1.25)), (Dice::Exact, 1_250_000, exact(1.25, 3.0))] {
            let tosses: std::vec::Vec<_> = (0..1000).map(|_| dice.toss(gradient, 3.0, &mut rng)).collect();
            assert!(
                tosses.iter().all(|t| (t.probability - expected).abs() < 1e-12 && t.hit == (t.drew < t.probability))
            );
            let mean = tosses.iter().map(|t| t.drew).sum::<f64>() / 1000.0;
            assert!((mean - 0.5).abs() < 0.04, "{mean}");
        }
        let certain = Dice::Table.toss(2000, 3.0, &mut rng);
        assert!(certain.hit && certain.probability == 1.0 && certain.drew < 1.0);
    }

    #[test]
    fn more_than_five_times_g_is_certain() {
        assert!(threshold(15 * 128, 3.0).is_some());
        assert!(threshold(15 * 128 + 1, 3.0).is_none());
    }

    #[test]
    fn the_index_rounds_to_the_nearest() {
        // (ḡ + 1) / 3 in whole numbers.
        for gradient in 0..1920 {
            assert_eq!(threshold(gradient, 3.0), Some(131_071 * table((gradient + 1) / 3)));
        }
    }
}
