//! Where PIE's descriptions differ, as data, and the controller they share.

use super::{Params, Reference};
use units::Duration;

/// One reference's constants.
#[derive(Debug)]
pub(super) struct Rules {
    /// The step is multiplied by the second number while p is below the first.
    bands: &'static [(f64, f64)],
    /// Above this delay p grows by `GROWTH` more.
    alarm: Option<Duration>,
    /// What p is multiplied by when the delay has been low twice.
    decay: f64,
    /// Low means under this, or exactly zero if this is zero.
    low: Duration,
    /// The greatest p.
    most: f64,
}

/// RFC 8033 section 5.1.
const BANDS: &[(f64, f64)] = &[
    (1e-6, 1.0 / 2048.0),
    (1e-5, 1.0 / 512.0),
    (1e-4, 1.0 / 128.0),
    (1e-3, 1.0 / 32.0),
    (1e-2, 1.0 / 8.0),
    (1e-1, 1.0 / 2.0),
    (f64::INFINITY, 1.0),
];

/// RFC 8034 appendix A goes on above p = 0.1, because its p is of a packet of mean size and may exceed 1.
const DOCSIS_BANDS: &[(f64, f64)] = &[
    (1e-6, 1.0 / 2048.0),
    (1e-5, 1.0 / 512.0),
    (1e-4, 1.0 / 128.0),
    (1e-3, 1.0 / 32.0),
    (1e-2, 1.0 / 8.0),
    (1e-1, 1.0 / 2.0),
    (1.0, 2.0),
    (10.0, 8.0),
    (f64::INFINITY, 32.0),
];

/// `calculate_p` of ns-2.36's pie.cc outside its DOCSIS mode.
const NS2_BANDS: &[(f64, f64)] =
    &[(1e-3, 1.0 / 32.0), (1e-2, 1.0 / 8.0), (1e-1, 1.0 / 2.0), (1.0, 2.0), (10.0, 8.0), (f64::INFINITY, 32.0)];

/// draft-pan-aqm-pie-00, section 4.2 (Linux before 5.0: shifts by 7, 5 and 4 of gains in sixteenths).
const DRAFT_BANDS: &[(f64, f64)] = &[(1e-2, 1.0 / 8.0), (1e-1, 1.0 / 2.0), (f64::INFINITY, 1.0)];

const SHIFT_DECAY: f64 = 1.0 - 1.0 / 64.0;

static RFC: Rules =
    Rules { bands: BANDS, alarm: Some(Duration::from_millis(250)), decay: 0.98, low: Duration::ZERO, most: 1.0 };
/// Linux adds to a 64-bit p whose one is 2^56 and stops it only when it wraps, at 256 (and begins again at one there: no load that
/// we know of brings it so far).
static LINUX: Rules = Rules { decay: SHIFT_DECAY, most: 256.0, ..RFC };
static FREEBSD: Rules = Rules { decay: SHIFT_DECAY, alarm: None, ..RFC };
static DOCSIS: Rules = Rules {
    bands: DOCSIS_BANDS,
    alarm: Some(Duration::from_millis(200)),
    decay: 0.98,
    low: Duration::from_millis(5),
    // PROB_LOW · MEAN_PKTSIZE / MIN_PKTSIZE.
    most: 0.85 * 1024.0 / 64.0,
};
/// Its p is of a packet of mean size, without end: at 10 it drops all packets of a tenth of that, too.
static NS2: Rules = Rules { bands: NS2_BANDS, alarm: Some(Duration::from_millis(200)), most: f64::INFINITY, ..RFC };
static DRAFT: Rules = Rules { bands: DRAFT_BANDS, alarm: None, ..RFC };

/// Largest step up at p of 0.1 and more, and what the alarm adds: 2 %.
const CAP: f64 = 0.02;
const GROWTH: f64 = 0.02;

impl Rules {
    pub(super) fn of(reference: Reference) -> &'static Rules {
        match reference {
            Reference::Rfc => &RFC,
            Reference::Linux => &LINUX,
            Reference::FreeBsd => &FREEBSD,
            Reference::Docsis => &DOCSIS,
            Reference::Draft => &DRAFT,
            Reference::Ns2 => &NS2,
        }
    }

    /// The next p after one update period, from delay `q`, which was `old` a period ago.
    pub(super) fn step(&self, params: &Params, p: f64, q: Duration, old: Duration, may_decay: bool) -> f64 {
        let (now, before, target) = (q.as_secs_f64(), old.as_secs_f64(), params.target.as_secs_f64());
        let gain = self.bands.iter().find(|(below, _)| p < *below).map_or(1.0, |(_, gain)| *gain);
        let mut delta = (params.alpha * (now - target) + params.beta * (now - before)) * gain;
        if params.cap && p >= 0.1 {
            delta = if params.unsigned_cap && delta < 0.0 { CAP } else { delta.min(CAP) };
        }
        if self.alarm.is_some_and(|limit| q > limit) {
            delta += GROWTH;
        }
        let mut p = p + delta;
        let is_low = |d: Duration| if self.low.is_zero() { d.is_zero() } else { d < self.low };
        if may_decay && is_low(q) && is_low(old) {
            p *= self.decay;
        }
        p.clamp(0.0, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn delta(params: &Params, p: f64, q: u64, old: u64) -> f64 {
        Rules::of(params.reference).step(params, p, MS(q), MS(old), true) - p
    }

    #[test]
    fn one_update_at_30_after_20_ms_scales_with_p() {
        // .125·.015 + 1.25·.010 = .014375, divided by 2048 … 1.
        let params = Params::default();
        for (p, want) in [
            (1e-7, 7.019e-6),
            (5e-6, 2.8076e-5),
            (5e-5, 1.1230e-4),
            (5e-4, 4.4922e-4),
            (5e-3, 1.7969e-3),
            (0.05, 7.1875e-3),
            (0.1, 0.014375),
            (0.5, 0.014375),
        ] {
            let got = delta(&params, p, 30, 20);
            assert!((got - want).abs() < want * 1e-4, "p={p}: {got} is not {want}");
        }
    }

    #[test]
    fn steps_up_are_capped_at_two_per_cent_where_p_is_large() {
        let params = Params::default();
        assert!((delta(&params, 0.1, 60, 20) - 0.02).abs() < 1e-12);
        let uncapped = Params { cap: false, ..Params::default() };
        assert!((delta(&uncapped, 0.1, 60, 20) - 0.055625).abs() < 1e-12);
        assert!((delta(&params, 0.05, 60, 20) - 0.055625 / 2.0).abs() < 1e-12, "small p is not capped");
    }

    #[test]
    fn freebsd_11_0_takes_a_step_down_for_one_up_where_p_is_large() {
        let params = Params { unsigned_cap: true, ..Params::default() };
        for (p, want) in [(0.09, -0.005625 / 2.0), (0.1, 0.02), (0.5, 0.02)] {
            let got = delta(&params, p, 10, 14);
            assert!((got - want).abs() < 1e-12, "p={p}: {got}");
        }
    }

    #[test]
    fn only_rfc_and_linux_sound_the_alarm_at_250_ms() {
        for (reference, want) in [(Reference::Rfc, 0.04), (Reference::Linux, 0.04), (Reference::FreeBsd, 0.02)] {
            let params = Params { reference, ..Params::default() };
            assert!((delta(&params, 0.5, 260, 260) - (0.125 * 0.245f64).min(0.02) - (want - 0.02)).abs() < 1e-12);
        }
    }

    #[test]
    fn an_idle_queue_halves_p_in_44_updates() {
        // The shift alone; the error term of an empty queue adds to it, so take it out.
        let idle = Params { reference: Reference::Linux, alpha: 0.0, ..Params::default() };
        let mut p = 0.5;
        let updates = (1..).find(|_| {
            p = Rules::of(idle.reference).step(&idle, p, Duration::ZERO, Duration::ZERO, true);
            p <= 0.25
        });
        assert_eq!(updates, Some(45), "(63/64)^44 is 0.5001");
    }

    #[test]
    fn docsis_runs_twice_the_gains_and_beyond_one() {
        // A·.010 + B·.008 = .0225 raw.
        let docsis = Params { cap: false, ..Params::of(Reference::Docsis, crate::Place::Alone) };
        assert!((delta(&docsis, 5e-3, 20, 12) - 0.0225 / 8.0).abs() < 1e-12);
        assert!((delta(&docsis, 0.5, 20, 12) - 0.045).abs() < 1e-12);
        assert!((delta(&docsis, 2.0, 20, 12) - 0.18).abs() < 1e-12);
        assert!((Rules::of(Reference::Docsis).step(&docsis, 13.6, MS(500), MS(0), true) - 13.6).abs() < 1e-12);
    }

    #[test]
    fn the_old_draft_has_three_bands() {
        let draft = Params { reference: Reference::Draft, cap: false, ..Params::default() };
        for (p, gain) in [(1e-7, 8.0), (9e-3, 8.0), (0.05, 2.0), (0.3, 1.0)] {
            assert!((delta(&draft, p, 30, 20) - 0.014375 / gain).abs() < 1e-12);
        }
    }

    #[test]
    fn gains_change_at_powers_of_ten() {
        let small = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
        for (reference, skip, beyond) in [
            (Reference::Rfc, 0, &[(1.0, 1.0)][..]),
            (Reference::Linux, 0, &[(1.0, 1.0)]),
            (Reference::FreeBsd, 0, &[(1.0, 1.0)]),
            (Reference::Docsis, 0, &[(1.0, 0.5), (10.0, 0.125), (13.0, 0.031_25)]),
            (Reference::Draft, 4, &[(1.0, 1.0)]),
            (Reference::Ns2, 3, &[(1.0, 0.5), (10.0, 0.125), (40.0, 0.031_25)]),
        ] {
            // 1 ms more than before, no weight on the target: small enough to stay below the greatest p.
            let params = Params { alpha: 0.0, beta: 0.1, cap: false, ..Params::of(reference, crate::Place::Alone) };
            let mut least = 0.0;
            for (below, divisor) in small.iter().skip(skip).chain(beyond) {
                for p in [least, below * 0.999] {
                    let got = delta(&params, p, 21, 20);
                    let want = 1e-4 / divisor;
                    assert!((got - want).abs() < want * 1e-6 + 1e-15, "{reference:?} at {p}: {got} is not {want}");
                }
                least = *below;
            }
        }
    }
}
