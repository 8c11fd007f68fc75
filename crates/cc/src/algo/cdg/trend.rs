//! The moving average of gradients (thesis Eq 2.26).

use alloc::vec;
use alloc::vec::Vec;

/// Smoothed gradient in whole units: `ḡ_n = ḡ_(n−1) + (g_n − g_(n−a)) / a`. While fewer than `a` samples were seen the
/// missing ones count as zero, so that the average starts low.
#[derive(Clone, Debug)]
pub struct Trend {
    samples: Vec<i64>,
    oldest: usize,
    /// The last gradient.
    pub last: i64,
    /// The smoothed gradient.
    pub average: i64,
}

impl Trend {
    /// An average over `window` gradients; 0 smooths nothing.
    pub fn new(window: u32) -> Self {
        Trend { samples: vec![0; window as usize], oldest: 0, last: 0, average: 0 }
    }

    /// Adds a gradient.
    pub fn push(&mut self, gradient: i64) {
        self.last = gradient;
        let a = self.samples.len();
        if a == 0 {
            self.average = gradient;
            return;
        }
        self.average += (gradient - self.samples[self.oldest]) / a as i64;
        self.samples[self.oldest] = gradient;
        self.oldest = (self.oldest + 1) % a;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thesis Table 4.1: the gradients that entered the window, in ms, and the average printed beside each. (Those
    /// in parentheses there, −16, 1 and 0, were skipped and never entered it.)
    #[test]
    fn the_printed_gradients_give_the_printed_averages() {
        let mut trend = Trend::new(8);
        for g in [-2, 2, 0, 2, 0, 2, 0] {
            trend.push(g * 128);
        }
        let rows = [
            (3, 0.875),
            (0, 1.125),
            (2, 1.125),
            (0, 1.125),
            (3, 1.25),
            (0, 1.25),
            (2, 1.25),
            (0, 1.25),
            (0, 0.875),
            (-1, 0.75),
            (1, 0.625),
            (0, 0.625),
        ];
        for (i, (g, average)) in rows.into_iter().enumerate() {
            trend.push(g * 128);
            assert_eq!(trend.average as f64 / 128.0, average, "row {i}");
        }
    }

    #[test]
    fn missing_samples_count_as_zero() {
        let mut trend = Trend::new(8);
        trend.push(128);
        assert_eq!(trend.average, 16);
        let mut plain = Trend::new(0);
        plain.push(128);
        assert_eq!(plain.average, 128);
    }
}
