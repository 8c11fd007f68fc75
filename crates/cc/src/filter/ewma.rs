//! Exponentially weighted moving average.

/// `value ← (1 − gain)·value + gain·sample`; the first sample is taken whole.
#[derive(Clone, Copy, Debug)]
pub struct Ewma {
    gain: f64,
    value: Option<f64>,
}

impl Ewma {
    /// An average with no sample yet.
    pub fn new(gain: f64) -> Self {
        Ewma { gain, value: None }
    }

    /// An average that starts from a value instead of from its first sample.
    pub fn starting_at(gain: f64, value: f64) -> Self {
        Ewma { gain, value: Some(value) }
    }

    /// Takes a sample and returns the new average.
    pub fn update(&mut self, sample: f64) -> f64 {
        let value = match self.value {
            Some(old) => old + self.gain * (sample - old),
            None => sample,
        };
        self.value = Some(value);
        value
    }

    /// The average, if there was a sample.
    pub fn get(&self) -> Option<f64> {
        self.value
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.value = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smoothed_rtt_of_rfc_6298() {
        let mut srtt = Ewma::new(1.0 / 8.0);
        assert_eq!(srtt.get(), None);
        assert_eq!(srtt.update(100.0), 100.0);
        assert_eq!(srtt.update(200.0), 112.5);
    }

    #[test]
    fn a_constant_is_its_own_average_and_a_step_is_reached_in_the_end() {
        let mut e = Ewma::starting_at(0.25, 4.0);
        assert_eq!(e.update(4.0), 4.0);
        for _ in 0..100 {
            e.update(8.0);
        }
        assert!((e.get().unwrap() - 8.0).abs() < 1e-9);
    }
}
