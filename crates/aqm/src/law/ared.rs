//! Adaptive RED: RED that turns max_p slowly so that the average queue stays halfway between its thresholds. Floyd,
//! Gummadi and Shenker, 2001.
//!
//! ```text
//! every interval:  avg above the band, max_p ≤ 0.5:   max_p += min(α, max_p / 4)
//!                  avg below the band, max_p ≥ 0.01:  max_p ×= β
//! band: 40 to 60 % of the way from min to max
//! ```
//!
//! Thresholds and weight follow the link: min = max(5, half of `target_delay`), max = 3 min, w = 1 − e^(−1/C). Gentle always.
//! `adapt=feng` is the first adaptive RED (Feng et al., INFOCOM 1999): max_p is divided by 3 when the average falls below
//! min and doubled when it rises above max.
//!
//! Safeguard: as ns-2 does, packets are dropped even if they could be marked once p reaches 10 %.
//!
//! Departures: ns-2 adapts at the first arrival after an interval; we adapt at the interval, as the paper says and Linux
//! does, with the average that an idle link has decayed to by then. What ns-2.35 does besides: no step down below
//! 80 kbit/s over the rate (0.0008 at 100 Mbit/s: `bottom`), a weight that is less beyond 33 ms of link delay (`weight`), a
//! gentle slope that begins at the first max_p for good.

use super::Ticker;
use super::red::{self, Red};
use crate::{Law, LawKind, LinkInfo, Look, Verdict};
use params::Auto;
use units::{Bytes, Duration, Instant, Rng};

params::choice! {
    /// Whose adaptation.
    pub enum Adapt {
        /// Floyd, Gummadi and Shenker 2001: additive up, multiplicative down, by a clock.
        Floyd = "floyd",
        /// Feng, Kandlur, Saha and Shin 1999: by two and by three, when the average leaves its thresholds.
        Feng = "feng",
    }
}

params::params! {
    /// What users may set.
    pub struct Params {
        /// Queueing delay that the thresholds are set for.
        target_delay: Duration = Duration::from_millis(5), Duration::ZERO => Duration::from_secs(10);
        /// Time between adaptations.
        interval: Duration = Duration::from_millis(500), Duration::from_millis(1) => Duration::from_secs(100);
        /// Greatest step up.
        alpha: f64 = 0.01, 0.0 => 1.0;
        /// Factor down.
        beta: f64 = 0.9, 0.0 => 1.0;
        /// max_p at the start (ns-2: 1/linterm).
        max_p: f64 = 0.1, 0.0 => 1.0;
        /// No step up above this.
        top: f64 = 0.5, 0.0 => 1.0;
        /// No step down below this.
        bottom: f64 = 0.01, 0.0 => 1.0;
        /// Average queue in packets below which nothing happens; auto follows the link.
        min: Auto = Auto::AUTO, Auto::of(0.0) => Auto::of(1e6);
        /// Average queue in packets where the first band ends; auto is 3 min.
        max: Auto = Auto::AUTO, Auto::of(1e-3) => Auto::of(1e7);
        /// Weight of an arrival in the average; auto is 1 − e^(−1/packets a second).
        weight: Auto = Auto::AUTO, Auto::of(1e-5) => Auto::of(1.0);
        /// Size of a packet on average; 0 is the link's MTU (ns-2 500 B).
        mean_packet: Bytes = Bytes::ZERO, Bytes::ZERO => Bytes::new(65_535);
        /// Mark packets that can be marked while p is below mark_threshold.
        ecn: bool = false;
        /// From this probability on packets are dropped even if they could be marked.
        mark_threshold: f64 = 0.1, 0.0 => 1.0;
        /// Whose adaptation.
        adapt: Adapt = Adapt::Floyd;
    }
    check |p| { ::params::Params::check(&p.red()) }
}

impl Params {
    fn red(&self) -> red::Params {
        red::Params {
            min: self.min,
            max: self.max,
            weight: self.weight,
            max_p: self.max_p,
            mean_packet: self.mean_packet,
            target_delay: self.target_delay,
            ecn: self.ecn,
            mark_threshold: self.mark_threshold,
            ..red::Params::of(red::Reference::Ns2)
        }
    }
}

/// RED and what turns it.
#[derive(Clone, Debug)]
pub struct Ared {
    p: Params,
    red: Red,
    ticker: Ticker,
    /// Feng: the side of the thresholds that the average was on last, −1 below, 1 above.
    side: i8,
}

impl Ared {
    /// One adaptation to the average `avg`.
    fn adapt(&mut self, avg: f64) {
        let (min, max) = self.red.thresholds();
        let (low, high) = (min + 0.4 * (max - min), min + 0.6 * (max - min));
        let p = self.red.max_p();
        if avg > high && *p <= self.p.top {
            *p = (*p + self.p.alpha.min(*p / 4.0)).min(1.0);
        } else if avg < low && *p >= self.p.bottom {
            *p *= self.p.beta;
        }
    }

    fn adapt_as_feng(&mut self, avg: f64) {
        let (min, max) = self.red.thresholds();
        let side = i8::from(avg > max) - i8::from(avg < min);
        if side != 0 && side != self.side {
            let p = self.red.max_p();
            *p = if side > 0 { (*p * 2.0).min(1.0) } else { *p / 3.0 };
        }
        self.side = side;
    }
}

impl Law for Ared {
    const SEES_REFUSED: bool = Red::SEES_REFUSED;

    fn advance(&mut self, look: &Look) {
        while let Some(tick) = self.ticker.due(look.now) {
            let (before, avg) = (*self.red.max_p(), self.red.average_at(tick));
            self.adapt(avg);
            // An average that rests, or has fallen below the band, will do no more.
            let rests = !self.red.is_decaying() || avg < self.red.thresholds().0;
            if *self.red.max_p() == before && rests {
                self.ticker.skip(look.now);
            }
        }
    }

    fn on_enqueue(&mut self, look: &Look) -> Verdict {
        let verdict = self.red.on_enqueue(look);
        if self.p.adapt == Adapt::Feng {
            self.adapt_as_feng(self.red.average_at(look.now));
        }
        verdict
    }

    fn on_dequeue(&mut self, look: &Look) -> Verdict {
        self.red.on_dequeue(look)
    }

    fn on_empty(&mut self, now: Instant) {
        self.red.on_empty(now);
    }

    fn on_refused(&mut self) {
        self.red.on_refused();
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.red.set_link(link);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.red.vars(see);
    }
}

impl LawKind for Ared {
    const PAPER: &'static str = "Floyd, Gummadi and Shenker, \"Adaptive RED\", 2001";
    const DOC: &'static str = "RED whose greatest probability is turned until the average queue lies halfway.";
    type Params = Params;

    fn new(p: &Params, link: &LinkInfo, rng: Rng) -> Self {
        let ticker = match p.adapt {
            Adapt::Floyd => Ticker::new(Instant::ZERO, p.interval, p.interval),
            Adapt::Feng => Ticker::NEVER,
        };
        Ared { p: p.clone(), red: Red::new(&p.red(), link, rng), ticker, side: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::testing::{link, look, side_by_side};
    use units::streams;

    fn ared(p: Params) -> Ared {
        Ared::new(&p, &link(10.0), Rng::new(1, 0, streams::AQM))
    }

    #[test]
    fn max_p_climbs_by_a_quarter_and_falls_by_a_tenth() {
        let mut law = ared(Params { max_p: 0.02, ..Params::default() });
        assert_eq!(law.red.thresholds(), (5.0, 15.0));
        let mut p_at = |start: f64, avg| {
            *law.red.max_p() = start;
            law.adapt(avg);
            *law.red.max_p()
        };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(p_at(0.02, 11.1), 0.025) && near(p_at(0.4, 11.1), 0.41), "max_p/4, at most 0.01");
        assert!(near(p_at(0.51, 20.0), 0.51) && near(p_at(0.5, 20.0), 0.51), "no step above the top");
        assert!(near(p_at(0.1, 8.9), 0.09) && near(p_at(0.0099, 8.9), 0.0099), "no step below the bottom");
        assert!(near(p_at(0.1, 9.0), 0.1) && near(p_at(0.1, 11.0), 0.1), "inside the band");
    }

    #[test]
    fn feng_doubles_and_divides_by_three_once_a_crossing() {
        let mut law = ared(Params { adapt: Adapt::Feng, ..Params::default() });
        let ps: [f64; 5] = [16.0, 17.0, 10.0, 4.0, 3.0].map(|avg| {
            law.adapt_as_feng(avg);
            *law.red.max_p()
        });
        let want = [0.2, 0.2, 0.2, 0.2 / 3.0, 0.2 / 3.0];
        assert!(ps.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-12), "{ps:?}");
    }

    #[test]
    fn adapting_late_equals_a_real_tick() {
        for weight in [0.002, 0.2] {
            let p = Params { interval: Duration::from_millis(20), weight: Auto::of(weight), ..Params::default() };
            let max_ps = side_by_side(|rng| Ared::new(&p, &link(10.0), rng), |law| *law.clone().red.max_p());
            assert!(max_ps.0 < 0.02 && max_ps.1 > 0.15, "{max_ps:?}");
        }
    }

    #[test]
    fn an_idle_link_lets_max_p_fall_to_the_bottom() {
        let mut law = ared(Params { weight: Auto::of(0.002), ..Params::default() });
        for _ in 0..4_000 {
            law.on_enqueue(&look(Instant::ZERO, 10));
        }
        law.on_empty(Instant::ZERO);
        law.advance(&look(Instant::from_secs_f64(1e9), 0));
        assert!(*law.red.max_p() < 0.01, "{}", law.red.max_p());
    }
}
