//! The largest or smallest value of the recent past, in constant space.
//!
//! After Kathleen Nichols' estimator, as in Linux' `win_minmax`: instead of every sample, keep the best, the best
//! since that one, and the best since that second one. When the best grows too old the second takes its place. Two
//! rules keep the second and third from being as old as the best when they are needed: a quarter of the window after the
//! best, the second is renewed; half a window after it, the third.
//!
//! The clock is any count that never falls: nanoseconds or rounds.

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample<T> {
    at: u64,
    value: T,
}

/// Three candidates, best first, each the best of what came after the one before it.
#[derive(Clone, Copy, Debug)]
struct Windowed<T> {
    window: u64,
    best: Option<[Sample<T>; 3]>,
}

impl<T: Copy + PartialOrd> Windowed<T> {
    fn update(&mut self, at: u64, value: T, better_or_equal: fn(T, T) -> bool) -> T {
        let new = Sample { at, value };
        let [first, second, third] = match self.best {
            Some(best) if !better_or_equal(value, best[0].value) && at - best[2].at <= self.window => best,
            _ => {
                self.best = Some([new; 3]);
                return value;
            }
        };
        let mut best = if better_or_equal(value, second.value) {
            [first, new, new]
        } else if better_or_equal(value, third.value) {
            [first, second, new]
        } else {
            [first, second, third]
        };
        let age = at - best[0].at;
        if age > self.window {
            best = [best[1], best[2], new];
            if at - best[0].at > self.window {
                best = [best[1], best[2], new];
            }
        } else if best[1].at == best[0].at && age > self.window / 4 {
            best = [best[0], new, new];
        } else if best[2].at == best[1].at && age > self.window / 2 {
            best = [best[0], best[1], new];
        }
        self.best = Some(best);
        best[0].value
    }
}

macro_rules! windowed {
    ($(#[doc = $doc:literal])+ $name:ident, $better:expr) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug)]
        pub struct $name<T>(Windowed<T>);

        impl<T: Copy + PartialOrd> $name<T> {
            /// Looks back this far on the filter's clock.
            pub fn new(window: u64) -> Self {
                $name(Windowed { window, best: None })
            }
            /// Takes a sample and returns the best of the window. `at` never falls.
            pub fn update(&mut self, at: u64, value: T) -> T {
                self.0.update(at, value, $better)
            }
            /// The best so far, if there was a sample. It ages only when a new one comes.
            pub fn get(&self) -> Option<T> {
                self.0.best.map(|b| b[0].value)
            }
            /// Forgets all but this sample.
            pub fn reset(&mut self, at: u64, value: T) {
                self.0.best = Some([Sample { at, value }; 3]);
            }
            /// Looks back further or less far from now on.
            pub fn set_window(&mut self, window: u64) {
                self.0.window = window;
            }
        }
    };
}

windowed! {
    /// The largest value of the last window.
    WindowedMax, |a, b| a >= b
}
windowed! {
    /// The smallest value of the last window.
    WindowedMin, |a, b| a <= b
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_peak_is_held_for_the_window_and_then_forgotten() {
        let mut max = WindowedMax::new(10);
        assert_eq!(max.get(), None);
        assert_eq!(max.update(0, 100), 100);
        for round in 1..=10 {
            assert_eq!(max.update(round, 60), 100, "round {round}");
        }
        assert_eq!(max.update(11, 50), 60);
    }

    #[test]
    fn samples_far_apart_leave_a_second_and_a_third_that_are_young_enough() {
        // (times and values, the last estimate): a quarter of the window after the best the second is renewed, after half
        // of it the third, though the samples come at neither time.
        for (samples, last) in [(&[(0, 100), (3, 50), (9, 10)][..], 50), (&[(0, 100), (3, 50), (5, 40), (12, 10)], 40)]
        {
            let mut max = WindowedMax::new(8);
            let seen = samples.iter().map(|(at, value)| max.update(*at, *value)).last();
            assert_eq!(seen, Some(last), "{samples:?}");
        }
    }

    #[test]
    fn silence_longer_than_the_window_forgets_all() {
        let mut min = WindowedMin::new(10);
        min.update(0, 5);
        min.update(1, 7);
        assert_eq!(min.update(30, 9), 9);
    }

    proptest! {
        // The estimate is a sample of the window, and never worse than the newest one.
        #[test]
        fn the_best_comes_from_the_window(steps in prop::collection::vec((0u64..4, 0u32..1000), 1..200)) {
            let (mut max, mut min) = (WindowedMax::new(10), WindowedMin::new(10));
            let (mut now, mut seen) = (0, std::vec::Vec::new());
            for (gap, value) in steps {
                now += gap;
                seen.push((now, value));
                let (high, low) = (max.update(now, value), min.update(now, value));
                let recent = || seen.iter().filter(|(at, _)| now - at <= 10);
                prop_assert!(high >= value && low <= value);
                prop_assert!(recent().any(|(_, v)| *v == high) && recent().any(|(_, v)| *v == low));
            }
        }
    }
}
