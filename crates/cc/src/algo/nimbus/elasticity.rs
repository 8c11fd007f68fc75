//! Does the cross traffic answer to our pulses? If so its rate carries their frequency.

use crate::filter::{Ring, magnitude};
use units::{Duration, math};

/// Samples of the cross traffic's rate that are transformed: 5.12 s of one in 10 ms.
pub(super) const SAMPLES: usize = 512;
/// Time between two samples.
pub(super) const TICK: Duration = Duration::from_millis(10);
/// Weight of a sample of elasticity.
const GAIN: f64 = 0.01;
/// Elasticity before anything is known.
const UNKNOWN: f64 = 1.0;
/// Cross traffic of nearly the whole link counts as this elastic.
const CERTAIN: f64 = 6.0;
/// Less of the link than this is no cross traffic, more than that is nearly all.
const FEW: f64 = 0.1;
const NEARLY_ALL: f64 = 0.9;

/// Pulses less than this part as strong in the cross traffic as in what we get through may be our own, seen through an
/// error of µ: they count for no more than `WEAK_MOST`, and in proportion.
const WEAK: f64 = 0.25;
const WEAK_MOST: f64 = 3.0;

/// The part of a pulse's period in which the rate is raised.
const RAISED: f64 = 0.25;

/// A pulse of height one after so many periods: it takes back what it gave.
pub(super) fn pulse(periods: f64) -> f64 {
    let (phase, pi) = (periods - math::floor(periods), core::f64::consts::PI);
    if phase < RAISED {
        math::sin(pi * phase / RAISED)
    } else {
        let lowered = 1.0 - RAISED;
        -RAISED / lowered * math::sin(pi * (phase - RAISED) / lowered)
    }
}

/// State: the rates of the cross traffic and of our own deliveries in parts of the link's, and the smoothed elasticity.
#[derive(Debug)]
pub(super) struct Elasticity {
    cross: Ring<SAMPLES>,
    own: Ring<SAMPLES>,
    pub value: f64,
}

/// The largest magnitude between two frequencies in Hz.
fn peak(samples: &Ring<SAMPLES>, from: f64, to: f64) -> f64 {
    let span = SAMPLES as f64 * TICK.as_secs_f64();
    let bins = (from * span) as u32 + 1..=(to * span) as u32;
    bins.map(|bin| magnitude(samples.iter(), bin as f64)).fold(0.0, f64::max)
}

impl Elasticity {
    pub fn new() -> Self {
        Elasticity { cross: Ring::new(), own: Ring::new(), value: UNKNOWN }
    }

    pub fn clear(&mut self) {
        *self = Elasticity::new();
    }

    /// η: how the pulses' frequency stands out among those up to its double.
    fn ratio(&self, pulses: f64) -> f64 {
        let (answer, other) =
            (peak(&self.cross, pulses - 0.5, pulses + 0.5), peak(&self.cross, pulses + 1.5, 2.0 * pulses - 0.5));
        let sent = WEAK * peak(&self.own, pulses - 0.5, pulses + 0.5);
        let ratio = if answer <= 0.0 { 0.0 } else { answer / other.max(1e-9) };
        if answer < sent { ratio.min(WEAK_MOST) * answer / sent } else { ratio }
    }

    /// So many samples of the same, unjudged.
    pub fn fill(&mut self, cross: f64, own: f64, times: usize) {
        for _ in 0..times {
            self.cross.push(cross);
            self.own.push(own);
        }
    }

    /// Takes a sample of the cross traffic and of our own, in parts of the link's rate, with pulses of that many Hz. True
    /// once there are enough to judge.
    pub fn see(&mut self, cross: f64, own: f64, pulses: f64) -> bool {
        self.fill(cross, own, 1);
        if self.cross.len() < SAMPLES {
            return false;
        }
        // Of the last quarter: what is there now.
        let recent = self.cross.iter().skip(SAMPLES * 3 / 4).sum::<f64>() / (SAMPLES / 4) as f64;
        if recent < FEW {
            self.value = 0.0;
            return true;
        }
        let sample = if recent > NEARLY_ALL { CERTAIN } else { self.ratio(pulses).min(CERTAIN) };
        self.value += GAIN * (sample - self.value);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Smoothed elasticity after ten seconds of this cross traffic.
    fn after(cross: impl Fn(f64) -> f64) -> f64 {
        let mut e = Elasticity::new();
        (0..1000).for_each(|n| {
            let t = n as f64 * 0.01;
            e.see(cross(t), 0.5 + 0.2 * sine(5.0, t), 5.0);
        });
        e.value
    }

    fn sine(hz: f64, t: f64) -> f64 {
        math::sin(2.0 * core::f64::consts::PI * hz * t)
    }

    #[test]
    fn what_answers_to_the_pulses_is_elastic() {
        assert!(after(|t| 0.5 + 0.1 * sine(5.0, t) + 0.01 * sine(8.0, t)) > 5.0);
        assert!(after(|t| 0.5 + 0.1 * sine(8.0, t) + 0.01 * sine(5.0, t)) < 0.5);
        assert!(after(|t| 0.5 + 0.01 * sine(5.0, t) + 0.001 * sine(8.0, t)) < 1.0, "a twentieth of our own is a leak");
        assert_eq!(after(|t| 0.05 + 0.04 * sine(5.0, t)), 0.0, "too little to matter");
        let between = |t: f64| 0.5 + 0.1 * sine(5.0, t) + 0.1 * sine(52.0 / 5.12, t);
        assert!(after(between) > 5.0, "what is beyond 9.5 Hz does not count");
        // The last quarter of 5.12 s; the thousandth sample is at 10 s.
        let until = |end: f64| move |t: f64| if t < end { 0.5 } else { 0.0 } + 0.04 * sine(5.0, t);
        assert_eq!(after(until(10.0 - 1.28)), 0.0);
        assert!(after(until(10.0 - 0.64)) > 0.0, "half of it: a quarter of the link on average");
        let mut e = Elasticity::new();
        (0..SAMPLES + 68).for_each(|_| _ = e.see(0.95, 0.5, 5.0));
        // 69 samples: 6 − 5·0.99^69.
        assert!((e.value - 3.5).abs() < 0.01, "half the way from 1 to 6: {}", e.value);
        assert!(after(|t| 0.95 + 0.04 * sine(8.0, t)) > 5.0, "who takes nearly all is elastic");
    }
}
