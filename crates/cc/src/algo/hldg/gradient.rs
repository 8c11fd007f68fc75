//! Delay gradients after a back-off (Eq 5.1 and 5.2), their weighted average (section 5.2.4.2) and its reset (5.2.4.3).

use super::{Params, Weights};
use crate::filter::Ring;
use units::Duration;

/// W_size, the gradients in the average.
pub const WINDOW: usize = 8;

/// In ms: less than any average of whole nanoseconds but zero.
const LEAST: f64 = 1e-9;

/// Weights of the average, oldest gradient first. The thesis prints them in an order that is not named; "stronger weight
/// to more recent samples" (5.2.4.2) says which end is the newest. They sum to one.
const WWMA: [f64; WINDOW] = [0.0625, 0.0625, 0.0625, 0.0625, 0.125, 0.125, 0.25, 0.25];

/// The weights that the parameters ask for, oldest gradient first.
pub fn weights(p: &Params) -> [f64; WINDOW] {
    let mut weights = WWMA;
    if !p.wwma {
        // A plain mean, over fewer gradients for "Method 1" (5.2.4.1).
        let first = WINDOW - (p.window as usize).min(WINDOW);
        for (i, w) in weights.iter_mut().enumerate() {
            *w = if i < first { 0.0 } else { 1.0 / (WINDOW - first) as f64 };
        }
    } else if p.weights == Weights::Old {
        weights.reverse();
    }
    weights
}

/// One of the two signals.
#[derive(Debug)]
pub struct Signal {
    ring: Ring<WINDOW>,
    /// The last gradient in ms.
    pub last: f64,
    /// ḡ in ms; gradients not yet there count as zero.
    pub average: f64,
}

impl Signal {
    fn new() -> Self {
        Signal { ring: Ring::new(), last: 0.0, average: 0.0 }
    }

    fn push(&mut self, weights: &[f64; WINDOW]) {
        self.ring.push(self.last);
        // Gradients are whole nanoseconds, so an average smaller than that is what rounding leaves of zero. Its sign
        // would be taken for the queue's state.
        let average = self.ring.weighted(weights);
        self.average = if average.abs() < LEAST { 0.0 } else { average };
    }

    fn clear(&mut self) {
        self.ring.clear();
        self.average = 0.0;
    }
}

/// Where the gradients stand with the last back-off, at cycle b.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Nothing special.
    Usual,
    /// Cycle b+1: its RTTs mix the time before and after the back-off and are not used at all.
    Blind,
    /// Cycle b+2: its gradients, against cycle b, show the effect of the back-off.
    Effect,
    /// The cycle after an indication that was ignored.
    Skip,
}

/// Both gradients of a flow.
#[derive(Debug)]
pub struct Gradients {
    weights: [f64; WINDOW],
    fix: bool,
    zero: bool,
    push_negative: bool,
    /// Gradient of the smallest RTT.
    pub min: Signal,
    /// Gradient of the largest RTT.
    pub max: Signal,
    previous: Option<(Duration, Duration)>,
    stage: Stage,
}

/// What a round brought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// No gradient.
    Nothing,
    /// New gradients.
    Measured,
    /// New gradients that show the last back-off to have worked.
    Effectual,
}

impl Gradients {
    /// None measured yet.
    pub fn new(p: &Params) -> Self {
        Gradients {
            weights: weights(p),
            fix: p.gradient_fix,
            zero: p.zsgw,
            push_negative: p.zsgw_push,
            min: Signal::new(),
            max: Signal::new(),
            previous: None,
            stage: Stage::Usual,
        }
    }

    /// A round with these smallest and largest RTTs ended.
    pub fn round(&mut self, min: Duration, max: Duration) -> Outcome {
        let stage = self.stage;
        self.stage = match stage {
            Stage::Blind => Stage::Effect,
            _ => Stage::Usual,
        };
        if matches!(stage, Stage::Blind | Stage::Skip) {
            // Eq 5.1 and 5.2 compare cycle b+2 with b, so b+1 is skipped altogether. Without the correction, as in
            // CDG, b+1 has no gradient but is what b+2 is compared with.
            if stage == Stage::Skip || !self.fix {
                self.previous = Some((min, max));
            }
            return Outcome::Nothing;
        }
        let Some((previous_min, previous_max)) = self.previous.replace((min, max)) else { return Outcome::Nothing };
        self.min.last = min.diff_millis(previous_min);
        self.max.last = max.diff_millis(previous_max);
        if stage == Stage::Usual {
            self.min.push(&self.weights);
            self.max.push(&self.weights);
            return Outcome::Measured;
        }
        // ZSGW, for each signal by its own sign. The thesis does not say whether the negative gradient itself enters
        // the zeroed window; in Figure 5.12 ḡ does not fall below zero, so it does not.
        let mut effectual = false;
        for signal in [&mut self.min, &mut self.max] {
            let fell = signal.last < 0.0;
            effectual |= fell;
            if fell && self.zero {
                signal.clear();
            }
            if !fell || !self.zero || self.push_negative {
                signal.push(&self.weights);
            }
        }
        if effectual { Outcome::Effectual } else { Outcome::Measured }
    }

    /// The round that just ended led to a back-off: its effect is looked for in two rounds.
    pub fn backed_off(&mut self) {
        self.stage = Stage::Blind;
    }

    /// The next round has no gradient, but is what the one after it is compared with.
    pub fn skip(&mut self) {
        self.stage = Stage::Skip;
    }

    /// The next round has something to be compared with.
    pub fn comparable(&self) -> bool {
        self.previous.is_some() && matches!(self.stage, Stage::Usual | Stage::Effect)
    }

    /// The next round has nothing to be compared with (losses, a probe of the base RTT, idleness came between).
    pub fn interrupt(&mut self) {
        self.previous = None;
        self.stage = Stage::Usual;
    }

    /// Starts anew.
    pub fn clear(&mut self) {
        self.interrupt();
        self.min.clear();
        self.max.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms;
    use params::Params as _;
    use std::vec::Vec;

    fn params(spec: &str) -> Params {
        Params::from_spec(&spec.parse().unwrap()).unwrap()
    }

    fn averages(spec: &str, gradients: &[f64]) -> Vec<f64> {
        let mut g = Gradients::new(&params(spec));
        gradients
            .iter()
            .map(|x| {
                g.min.last = *x;
                let weights = g.weights;
                g.min.push(&weights);
                g.min.average
            })
            .collect()
    }

    #[test]
    fn weights_favour_what_is_new() {
        // Reference, section 3.6.9.
        let zeros = [0.0; 7];
        let last = |spec: &str, g: &[f64]| *averages(spec, g).last().unwrap();
        assert_eq!(last("hldg", &[zeros.as_slice(), &[-16.0]].concat()), -4.0);
        assert_eq!(last("hldg", &[[-16.0].as_slice(), &zeros].concat()), -1.0);
        let figure = [3.0, 0.0, 2.0, 0.0, 3.0, 0.0, 2.0, 0.0];
        assert_eq!(last("hldg", &figure), 1.1875);
        assert_eq!(last("hldg(wwma=false)", &figure), 1.25);
        assert_eq!(last("hldg(wwma=false, window=4)", &figure), 1.25);
        assert_eq!(last("hldg(weights=old)", &[zeros.as_slice(), &[-16.0]].concat()), -1.0);
    }

    #[test]
    fn gradients_that_cancel_leave_nothing_behind_of_either_sign() {
        // 100 and 200 µs less 300: floats make 3.5e-18 ms of it.
        for sign in [1.0, -1.0] {
            let gradients = [0.1, 0.2, -0.3, 0.0, 0.0, 0.0, 0.0, 0.0].map(|ms| sign * ms);
            assert_eq!(averages("hldg", &gradients)[7], 0.0);
        }
    }

    #[test]
    fn plain_means_are_those_of_table_4_1() {
        let rows = [-2.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 3.0, 0.0, 2.0, 0.0, 3.0];
        assert_eq!(&averages("hldg(wwma=false)", &rows)[7..], [0.875, 1.125, 1.125, 1.125, 1.25]);
    }

    /// Rounds of Figure 5.3: RTT_min falls one round after the back-off, RTT_max two rounds after.
    fn figure_5_3(spec: &str) -> (Gradients, [Outcome; 4]) {
        let mut g = Gradients::new(&params(spec));
        let a = g.round(ms(110), ms(111));
        let b = g.round(ms(112), ms(112));
        g.backed_off();
        let c = g.round(ms(103), ms(112));
        let d = g.round(ms(102), ms(103));
        (g, [a, b, c, d])
    }

    #[test]
    fn both_gradients_fall_together_two_rounds_after_a_backoff() {
        let (g, outcomes) = figure_5_3("hldg");
        assert_eq!(outcomes, [Outcome::Nothing, Outcome::Measured, Outcome::Nothing, Outcome::Effectual]);
        assert_eq!((g.min.last, g.max.last), (-10.0, -9.0));
        // Without the correction RTT_max alone falls: CDG's fault.
        let (g, _) = figure_5_3("hldg(gradient_fix=false)");
        assert_eq!((g.min.last, g.max.last), (-1.0, -9.0));
    }

    #[test]
    fn an_effectual_backoff_zeroes_the_window() {
        let (mut g, _) = figure_5_3("hldg");
        assert_eq!((g.min.average, g.max.average), (0.0, 0.0));
        g.round(ms(103), ms(104));
        assert_eq!((g.min.average, g.max.average), (0.25, 0.25));
        let (g, _) = figure_5_3("hldg(zsgw=false)");
        assert_eq!(g.min.average, 0.25 * 2.0 + 0.25 * -10.0);
        let (g, _) = figure_5_3("hldg(zsgw_push=true)");
        assert_eq!(g.min.average, 0.25 * -10.0);
    }

    #[test]
    fn each_signal_is_zeroed_by_its_own_sign() {
        let mut g = Gradients::new(&params("hldg"));
        g.round(ms(100), ms(110));
        g.round(ms(104), ms(114));
        g.backed_off();
        g.round(ms(100), ms(100));
        assert_eq!(g.round(ms(103), ms(116)), Outcome::Effectual);
        assert_eq!((g.min.average, g.max.average), (0.0, 0.25 * 4.0 + 0.25 * 2.0));
    }

    #[test]
    fn an_interruption_leaves_nothing_to_compare_with() {
        let mut g = Gradients::new(&params("hldg"));
        g.round(ms(100), ms(110));
        g.interrupt();
        assert_eq!(g.round(ms(150), ms(150)), Outcome::Nothing);
        assert_eq!(g.round(ms(151), ms(150)), Outcome::Measured);
    }
}
