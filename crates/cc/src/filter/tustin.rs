//! A low-pass filter for samples that come at uneven times.

use units::Duration;

/// First-order low-pass filter by Tustin's approximation: its memory is a time τ, however many samples fall into it.
///
/// ```text
/// y_k = α·y_(k−1) + (1 − α)·(x_k + x_(k−1)) / 2        α = (2τ − Δ) / (2τ + Δ),  Δ since the sample before
/// ```
/// Source: Mascolo, Casetti, Gerla, Sanadidi and Wang, TCP Westwood, MobiCom 2001, section 2.2.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tustin {
    last: f64,
    value: Option<f64>,
}

impl Tustin {
    /// A filter with no sample yet; the first one is taken whole.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a sample that spans `delta` and returns the filtered value.
    pub fn update(&mut self, tau: Duration, delta: Duration, sample: f64) -> f64 {
        let (two_tau, delta) = (2.0 * tau.as_secs_f64(), delta.as_secs_f64());
        // A sample longer than twice the memory is all there is to remember.
        let alpha = ((two_tau - delta) / (two_tau + delta)).max(0.0);
        let value = match self.value {
            Some(old) => alpha * old + (1.0 - alpha) * (sample + self.last) / 2.0,
            None => sample,
        };
        (self.last, self.value) = (sample, Some(value));
        value
    }

    /// The filtered value, if there was a sample.
    pub fn get(&self) -> Option<f64> {
        self.value
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_memory_weighs_two_of_21() {
        // Reference, section 5.1: Δ = τ/10 gives α = 19/21.
        let ms = Duration::from_millis;
        let mut f = Tustin::new();
        assert_eq!(f.update(ms(500), ms(50), 21.0), 21.0);
        assert!((f.update(ms(500), ms(50), 0.0) - 20.0).abs() < 1e-9);
        assert!((f.update(ms(500), ms(50), 0.0) - 19.0 * 20.0 / 21.0).abs() < 1e-9);
        assert_eq!(f.update(ms(500), ms(2000), 8.0), 4.0, "longer than twice the memory");
        f.clear();
        assert_eq!((f.get(), f.update(ms(500), ms(50), 8.0)), (None, 8.0), "the first again");
    }
}
