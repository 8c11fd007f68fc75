//! Adaptive RED: RED that turns max_p slowly so that the average queue stays halfway between its thresholds. Floyd,
//! Gummadi and Shenker, 2001.
//!
//! ```text
//! every interval:  avg above the band, max_p ≤ 0.5:   max_p += min(α, max_p / 4)
//!                  avg below the band, max_p ≥ 0.01:  max_p ×= β
//! band: 40 to 60 % of the way from min to max
//! ```
//!
//! Thresholds and weight follow the link: min = max(5, half of `target_delay`), max = 3 min, w = 1 − e^(−1/C), less where
//! three times the link's delay is more than 100 ms. Gentle always.
//! `adapt=feng` is the first adaptive RED (Feng et al., INFOCOM 1999): max_p is divided by 3 when the average falls below
//! min and doubled when it rises above max.
//!
//! Safeguard: as ns-2 does, packets are dropped even if they could be marked once p reaches 10 %.
//!
//! In sub-queues RED's thresholds, its weight and the least max_p go by the rate of the whole link, and an idle time is counted
//! in packets at that rate.
//!
//! `reference` chooses whose details of the adaptation. The paper adapts at the interval, with the average that an idle
//! link has decayed to by then, and so does Linux. ns-2.35 adapts at the first arrival that comes an interval after the last
//! step and finds the average outside the band, and neither from the top nor from the bottom itself; it steps down to 80 kbit/s
//! over the rate (0.0008 at 100 Mbit/s), lets the gentle band begin at the first max_p for good and takes packets for 500 B. The
//! RED that is turned is ns-2's under both.

use super::Ticker;
use super::red::{self, Red};
use crate::{Averaging, Law, LawKind, LinkInfo, Look, Place, Verdict};
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

params::choice! {
    /// Whose details.
    pub enum Reference {
        /// Floyd, Gummadi and Shenker 2001.
        Paper = "paper",
        /// ns-2.35.
        Ns2 = "ns-2",
    }
}

/// ns-2's least max_p is this, in bit/s, divided by the link's rate: one packet of 1000 B in 100 ms.
const BOTTOM_BPS: f64 = 80_000.0;

params::params! {
    /// What users may set.
    pub struct Params {
        /// Queueing delay that the thresholds are set for.
        target_delay: Duration = Duration::from_millis(5), Duration::ZERO => Duration::from_secs(10);
        /// Time between adaptations.
        interval: Duration = Duration::from_millis(500), Duration::from_millis(1) => Duration::from_secs(100);
        /// Greatest step up.
        alpha: f64 = 0.01, 0.0 => 1.0;
        /// What max_p is multiplied by in a step down.
        beta: f64 = 0.9, 0.0 => 1.0;
        /// max_p at the start (ns-2: 1/linterm).
        max_p: f64 = 0.1, 0.0 => 1.0;
        /// No step up above this.
        top: f64 = 0.5, 0.0 => 1.0;
        /// No step down below this; auto is 0.01, or 80 kbit/s over the rate if that is less (ns-2).
        bottom: Auto = Auto::of(0.01), Auto::of(0.0) => Auto::of(1.0);
        /// Average queue in packets below which nothing happens; auto follows the link.
        min: Auto = Auto::AUTO, Auto::of(0.0) => Auto::of(1e6);
        /// Average queue in packets where the first band ends; auto is 3 min.
        max: Auto = Auto::AUTO, Auto::of(1e-3) => Auto::of(1e7);
        /// Weight of an arrival in the average; auto is 1 − e^(−1/packets a second).
        weight: Auto = Auto::AUTO, Auto::of(1e-5) => Auto::of(1.0);
        /// Size of a packet on average; 0 is the link's MTU (ns-2 500 B).
        mean_packet: Bytes = Bytes::ZERO, Bytes::ZERO => Bytes::new(65_535);
        /// Measure the queue in bytes, not in packets. p goes with a packet's size in any case.
        bytes: bool = true;
        /// Mark packets that can be marked while p is below mark_threshold.
        ecn: bool = false;
        /// From this probability on packets are dropped even if they could be marked.
        mark_threshold: f64 = 0.1, 0.0 => 1.0;
        /// Whose adaptation.
        adapt: Adapt = Adapt::Floyd;
        /// Whose details where they differ; it brings its own defaults.
        reference: Reference = Reference::Paper;
    }
    check |p| {
        let usual = Params::of(p.reference);
        p.need(&usual, &["interval", "alpha", "beta", "top", "bottom"], p.adapt == Adapt::Floyd, "adapt=floyd")?;
        ::params::Params::check(&p.red())
    }
}

impl Params {
    /// The defaults of a reference.
    pub fn of(reference: Reference) -> Self {
        let ours = match reference {
            Reference::Paper => Params::default(),
            Reference::Ns2 => Params { bottom: Auto::AUTO, mean_packet: Bytes::new(500), ..Params::default() },
        };
        Params { reference, ..ours }
    }

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
            bytes: self.bytes,
            by_size: true,
            ..red::Params::of(red::Reference::Ns2)
        }
    }
}

/// RED and what turns it.
#[derive(Clone, Debug)]
pub struct Ared {
    p: Params,
    red: Red,
    /// The paper's clock.
    ticker: Ticker,
    /// ns-2: when max_p last moved.
    adapted: Instant,
    bottom: f64,
    /// Feng: the side of the thresholds that the average was on last, −1 below, 1 above.
    side: i8,
}

impl Ared {
    /// One adaptation to the average `avg`. True if max_p moved.
    fn adapt(&mut self, avg: f64) -> bool {
        let (min, max) = self.red.thresholds();
        let (low, high) = (min + 0.4 * (max - min), min + 0.6 * (max - min));
        // ns-2 takes no step from the ends themselves (`updateMaxP` of its red.cc).
        let from_ends = self.p.reference == Reference::Paper;
        let p = self.red.max_p();
        let before = *p;
        if avg > high && (before < self.p.top || from_ends && before == self.p.top) {
            *p = (before + self.p.alpha.min(before / 4.0)).min(1.0);
        } else if avg < low && (before > self.bottom || from_ends && before == self.bottom) {
            *p *= self.p.beta;
        }
        *p != before
    }

    /// ns-2 adapts between the average's move and the verdict.
    fn adapt_by_arrival(&mut self, now: Instant) {
        let avg = self.red.average_at(now);
        match (self.p.adapt, self.p.reference) {
            (Adapt::Feng, _) => self.adapt_as_feng(avg),
            (Adapt::Floyd, Reference::Ns2) if now > self.adapted + self.p.interval => {
                if self.adapt(avg) {
                    self.adapted = now;
                }
            }
            (Adapt::Floyd, _) => {}
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
            let avg = self.red.average_at(tick);
            let moved = self.adapt(avg);
            // An average that rests, or has fallen below the band, will do no more.
            let rests = !self.red.is_decaying() || avg < self.red.thresholds().0;
            if !moved && rests {
                self.ticker.skip(look.now);
            }
        }
    }

    fn on_enqueue(&mut self, look: &Look) -> Verdict {
        let above = self.red.observe(look);
        self.adapt_by_arrival(look.now);
        if above { self.red.judge(look) } else { Verdict::Pass }
    }

    fn on_dequeue(&mut self, look: &Look) -> Verdict {
        self.red.on_dequeue(look)
    }

    fn on_empty(&mut self, now: Instant) {
        self.red.on_empty(now);
    }

    fn on_refused(&mut self, look: &Look) {
        self.red.on_refused(look);
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.red.set_link(link);
        self.bottom = self.p.bottom.or((BOTTOM_BPS / link.rate.as_bps().max(1) as f64).min(0.01));
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.red.vars(see);
    }
}

impl LawKind for Ared {
    const PAPER: &'static str = "Floyd, Gummadi and Shenker, \"Adaptive RED\", 2001";
    const DOC: &'static str = "RED whose greatest probability is turned until the average queue lies halfway.";
    type Params = Params;

    fn defaults(asked: &Params, _: Place) -> Params {
        Params::of(asked.reference)
    }

    fn averaging(p: &Params, link: &LinkInfo) -> Option<Averaging> {
        Some(p.red().averaging(link))
    }

    fn new(p: &Params, link: &LinkInfo, rng: Rng) -> Self {
        let ticker = match (p.adapt, p.reference) {
            (Adapt::Floyd, Reference::Paper) => Ticker::new(Instant::ZERO, p.interval, p.interval),
            _ => Ticker::NEVER,
        };
        let red = Red::new(&p.red(), link, rng);
        let mut ared = Ared { p: p.clone(), red, ticker, adapted: Instant::ZERO, bottom: 0.0, side: 0 };
        if p.reference == Reference::Ns2 {
            ared.red.keep_slope();
        }
        ared.set_link(link);
        ared
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
    fn only_the_paper_steps_from_the_ends_themselves() {
        for (reference, up, down) in [(Reference::Paper, 0.51, 0.009), (Reference::Ns2, 0.5, 0.01)] {
            let ends = Params { reference, bottom: Auto::of(0.01), ..eager() };
            let mut law = Ared::new(&ends, &link(10.0), Rng::new(1, 0, streams::AQM));
            for (p, avg, want) in [(0.5, 20.0, up), (0.01, 1.0, down)] {
                *law.red.max_p() = p;
                assert_eq!(law.adapt(avg), p != want, "{reference:?}");
                assert!((*law.red.max_p() - want).abs() < 1e-12, "{reference:?} from {p}");
            }
        }
    }

    fn as_ns2(rate_mbps: f64, p: Params) -> Ared {
        let asked = Params { reference: Reference::Ns2, ..p };
        Ared::new(&asked, &link(rate_mbps), Rng::new(1, 0, streams::AQM))
    }

    /// Defaults of ns-2, and thresholds that arrivals at a queue of 40 packets exceed at once.
    fn eager() -> Params {
        let ns2 = Ared::defaults(&Params { reference: Reference::Ns2, ..Params::default() }, Place::Alone);
        Params { weight: Auto::of(1.0), min: Auto::of(5.0), max: Auto::of(15.0), bytes: false, ..ns2 }
    }

    #[test]
    fn ns2_adapts_at_the_first_arrival_outside_the_band_an_interval_after_the_last_step() {
        let mut law = as_ns2(10.0, eager());
        // (ms, packets, max_p). At 500 ms sharp nothing is due; a look at an average within the band (9 to 11) begins no interval.
        let rows = [
            (500, 40, 0.1),
            (501, 10, 0.1),
            (510, 40, 0.11),
            (730, 40, 0.11),
            (1_001, 40, 0.11),
            (1_230, 40, 0.12),
            (1_730, 40, 0.12),
            (1_731, 40, 0.13),
            (2_300, 10, 0.13),
            (2_301, 0, 0.117),
        ];
        for (ms, packets, want) in rows {
            let arrival = look(Instant::from_millis(ms), packets);
            law.advance(&arrival);
            law.on_enqueue(&arrival);
            assert!((*law.red.max_p() - want).abs() < 1e-12, "{ms} ms: {}", law.red.max_p());
        }
    }

    #[test]
    fn p_goes_with_the_size_of_a_packet_where_the_queue_is_counted_in_packets_too() {
        let lost = |size: u64| {
            let mut law =
                as_ns2(10.0, Params { weight: Auto::of(0.002), interval: Duration::from_secs(10), ..eager() });
            let arrival = Look { size: Bytes::new(size), ..look(Instant::ZERO, 12) };
            (0..50_000).filter(|_| law.on_enqueue(&arrival) == Verdict::Drop).count()
        };
        let (full, short) = (lost(1500), lost(100));
        assert!(full > 5_000 && short < full / 8, "{full} of 1500 B, {short} of 100 B");
    }

    #[test]
    fn ns2_steps_down_to_a_packet_a_window() {
        // 80 kbit/s over the rate, at most 1 %; the paper has 1 % on every link.
        for (mbps, bottom) in [(1.0, 0.01), (8.0, 0.01), (100.0, 0.0008)] {
            assert!((as_ns2(mbps, eager()).bottom - bottom).abs() < 1e-12, "{mbps} Mbit/s");
            assert!(
                (Ared::new(&Params::default(), &link(mbps), Rng::new(1, 0, streams::AQM)).bottom - 0.01).abs() < 1e-12
            );
        }
        let mut law = as_ns2(100.0, eager());
        law.set_link(&link(1_000.0));
        assert!((law.bottom - 0.00008).abs() < 1e-12, "follows the rate");
    }

    #[test]
    fn ns2s_gentle_band_begins_at_the_first_max_p() {
        for (reference, at_max) in [(Reference::Ns2, 0.1), (Reference::Paper, 0.4)] {
            let mut law = Ared::new(&Params { reference, ..eager() }, &link(10.0), Rng::new(1, 0, streams::AQM));
            *law.red.max_p() = 0.4;
            law.red.observe(&look(Instant::ZERO, 21));
            let mut p = 0.0;
            law.vars(&mut |name, value| p = if name == "p" { value } else { p });
            let part = (21.0 - 15.0) / 15.0;
            assert!((p - (at_max + (1.0 - at_max) * part)).abs() < 1e-12, "{reference:?}: {p}");
        }
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
