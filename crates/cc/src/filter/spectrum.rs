//! How strongly a frequency is in a series of samples: one bin of a discrete Fourier transform, by Goertzel's recurrence.

use units::math;

/// Magnitude of the transform of `samples`, less their mean, at `cycles` periods over the whole series. For whole `cycles`
/// this is the bin of that number of a fast Fourier transform; few bins cost less this way.
pub fn magnitude(samples: impl ExactSizeIterator<Item = f64> + Clone, cycles: f64) -> f64 {
    let n = samples.len();
    if n == 0 {
        return 0.0;
    }
    let mean = samples.clone().sum::<f64>() / n as f64;
    let omega = 2.0 * core::f64::consts::PI * cycles / n as f64;
    let turn = 2.0 * math::cos(omega);
    let (mut last, mut before) = (0.0, 0.0);
    for sample in samples {
        (last, before) = (sample - mean + turn * last - before, last);
    }
    math::sqrt((last * last + before * before - turn * last * before).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn sine(cycles: f64, amplitude: f64) -> Vec<f64> {
        let angle = |i: usize| 2.0 * core::f64::consts::PI * cycles * i as f64 / 512.0;
        (0..512).map(|i| 7.0 + amplitude * math::sin(angle(i) + 0.3)).collect()
    }

    #[test]
    fn a_sine_is_in_its_own_bin_and_in_no_other() {
        let samples = sine(25.0, 3.0);
        // Amplitude times half the samples.
        assert!((magnitude(samples.iter().copied(), 25.0) - 768.0).abs() < 1e-6);
        for bin in [1.0, 24.0, 26.0, 50.0] {
            assert!(magnitude(samples.iter().copied(), bin) < 1e-6, "{bin}");
        }
    }

    #[test]
    fn it_is_linear_and_says_nothing_of_nothing() {
        let both: Vec<f64> = sine(25.0, 3.0).iter().zip(sine(40.0, 1.0)).map(|(a, b)| a + b).collect();
        assert!((magnitude(both.iter().copied(), 40.0) - 256.0).abs() < 1e-6);
        assert_eq!(magnitude([].iter().copied(), 3.0), 0.0);
    }
}
