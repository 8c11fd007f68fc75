//! What PI controllers add up, so that many equal steps may be taken at once.

/// A number in fixed point between 0 and a greatest value. Adding a step n times gives, to the last bit, what n single
/// additions give: a law that catches up with a timer after a long pause needs no loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integrator {
    value: i64,
    most: i64,
}

/// 2^44 units make one: a resolution of 6e-14, with room up to half a million.
const ONE: f64 = (1u64 << 44) as f64;

impl Integrator {
    /// Starts at 0 and stops at `most`.
    pub fn new(most: f64) -> Self {
        Integrator { value: 0, most: (most * ONE) as i64 }
    }

    /// The number.
    #[inline]
    pub fn get(self) -> f64 {
        self.value as f64 / ONE
    }

    /// Is it as great as it may be?
    pub fn is_most(self) -> bool {
        self.value == self.most
    }

    /// Adds the same step so many times. Steps of one sign cannot leave a bound they have reached.
    pub fn add(&mut self, step: f64, times: u64) {
        let sum = self.value as i128 + (step * ONE) as i64 as i128 * times as i128;
        self.value = sum.clamp(0, self.most as i128) as i64;
    }

    /// Sets it, within its bounds.
    pub fn set(&mut self, value: f64) {
        self.value = ((value * ONE) as i64).clamp(0, self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_steps_at_once_are_many_single_steps() {
        for step in [1e-9, -3.3e-7, 0.013, -0.4, 2.0, f64::NAN] {
            for start in [0.0, 0.25, 0.999] {
                let (mut once, mut single) = (Integrator::new(1.0), Integrator::new(1.0));
                once.set(start);
                single.set(start);
                once.add(step, 1_000);
                (0..1_000).for_each(|_| single.add(step, 1));
                assert_eq!(once, single, "{start} by {step}");
                assert!((0.0..=1.0).contains(&once.get()));
            }
        }
        let mut all = Integrator::new(1.0);
        all.add(f64::MAX, u64::MAX);
        assert!(all.is_most() && all.get() == 1.0);
    }
}
