//! CDG's slow start: standard growth, and once a round a coin on the first gradient of the RTT that rises.
//!
//! ```text
//! g of the smallest RTT of a round, its mean over 8 rounds, g of the largest, its mean: the first that is positive
//! P = 1 − e^(−g/G);  with probability P: cwnd = ssthresh = 0.7·cwnd
//! ```
//! Source: FreeBSD's `cc_cdg.c`, as the thesis measures it (HLDG thesis, sections 2.7.6 and 4.4: far too early on long
//! paths, where bursts raise the largest RTT, and late on short ones). In CDG itself it is built in.

use crate::algo::cdg::probability::{Dice, Toss};
use crate::algo::cdg::trend::Trend;
use crate::{Ack, Flow, SlowStart, causes, exits, ppb, start::Start};
use units::Rng;

params::params! {
    /// FreeBSD's values.
    pub struct Params {
        /// Scale G of the probability in ms.
        g: f64 = 3.0, 0.1 => 10000.0;
        /// What is left of the window.
        beta: f64 = 0.7, 0.01 => 1.0;
        /// Gradients averaged.
        window: u32 = 8, 0 => 256;
    }
}

/// State: the round before, both gradients, the last toss.
#[derive(Debug)]
pub struct CdgStart {
    p: Params,
    rng: Rng,
    previous: Option<(u64, u64)>,
    min: Trend,
    max: Trend,
    toss: Toss,
}

impl Start for CdgStart {
    const NAME: &'static str = "cdg";
    const PAPER: &'static str = "Hayes and Armitage, IFIP Networking 2011; FreeBSD 11";
    type Params = Params;

    fn new(p: &Params, _: &mut Flow, rng: Rng) -> Self {
        let (min, max) = (Trend::new(p.window), Trend::new(p.window));
        CdgStart { p: p.clone(), rng, previous: None, min, max, toss: Toss::default() }
    }
}

impl SlowStart for CdgStart {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let Some(round) = ack.round.as_ref().filter(|r| !r.max_rtt.is_zero()) else { return };
        let now = (round.min_rtt.as_nanos(), round.max_rtt.as_nanos());
        let Some(before) = self.previous.replace(now) else { return };
        self.min.push(Dice::Table.gradient(now.0 as i64 - before.0 as i64));
        self.max.push(Dice::Table.gradient(now.1 as i64 - before.1 as i64));
        let candidates = [self.min.last, self.min.average, self.max.last, self.max.average];
        let Some(gradient) = candidates.into_iter().find(|g| *g > 0) else { return };
        self.toss = Dice::Table.toss(gradient, self.p.g, &mut self.rng);
        if !self.toss.hit {
            return;
        }
        let before = flow.windows();
        flow.cwnd = flow.cwnd.mul_f64(self.p.beta).max(flow.floor);
        flow.ssthresh = flow.cwnd;
        let why = causes::SlowStartExit {
            reason: exits::GRADIENT,
            rtt: flow.rtt.as_nanos() as i64,
            base_rtt: flow.min_rtt.as_nanos() as i64,
            gradient: crate::nanos(Dice::Table.millis(gradient)),
            probability: ppb(self.toss.probability),
            drew: ppb(self.toss.drew),
            ..Default::default()
        };
        flow.because(why, before);
    }

    fn on_reset(&mut self, _: &mut Flow) {
        self.previous = None;
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cdg_start_probability", self.toss.probability);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{closing, flow, ms, packets, value};

    /// Of 1000 flows whose RTT rises by so many ms in the second round, how many leave slow start then.
    fn exits_of_1000(rise: u64) -> usize {
        let leaves = |seed| {
            let mut f = flow(100, 40);
            let mut start = CdgStart::new(&Params::default(), &mut f, Rng::new(seed, 0, 0));
            start.on_ack(&mut f, &closing(1, 40));
            start.on_ack(&mut f, &closing(1, 40 + rise));
            assert!(f.in_slow_start() || f.cwnd == packets(70));
            !f.in_slow_start()
        };
        (0..1000).filter(|seed| leaves(*seed)).count()
    }

    #[test]
    fn it_leaves_with_the_probability_of_the_gradient() {
        // 1 − e^(−1/3) = 0.283 and 1 − e^(−3/3) = 0.632; none without a rise.
        assert_eq!(exits_of_1000(0), 0);
        assert!((260..=310).contains(&exits_of_1000(1)), "{}", exits_of_1000(1));
        assert!((605..=660).contains(&exits_of_1000(3)), "{}", exits_of_1000(3));
    }

    #[test]
    fn the_largest_rtts_gradient_counts_where_the_smallest_does_not_rise_and_none_across_a_reset() {
        let told = |rounds: &[(u64, u64)], reset: bool| {
            let mut f = flow(100, 40);
            // A G this small makes any rise certain.
            let mut start = CdgStart::new(&Params { g: 0.1, ..Params::default() }, &mut f, Rng::new(1, 0, 0));
            for (min, max) in rounds {
                if reset {
                    start.on_reset(&mut f);
                }
                let mut last = closing(1, *max);
                last.round.as_mut().unwrap().min_rtt = ms(*min);
                start.on_ack(&mut f, &last);
            }
            f.drain_events().next().map(|e| (value(&e, "gradient"), value(&e, "probability"), value(&e, "drew") > 0))
        };
        assert_eq!(told(&[(40, 60), (40, 62)], false), Some((2_000_000, 1_000_000_000, true)));
        assert_eq!(told(&[(40, 60), (43, 62)], false), Some((3_000_000, 1_000_000_000, true)));
        assert_eq!(told(&[(40, 60), (39, 60)], false), None);
        assert_eq!(told(&[(40, 60), (43, 62)], true), None);
    }
}
