//! The curve of RFC 9438.

use super::{BETA, Params};
use crate::Flow;
use units::{Bytes, Duration, Instant, math};

/// The variables of section 4.1.2, in packets and seconds.
#[derive(Clone, Debug)]
struct State {
    /// The window just before the last reduction, or less by fast convergence; 0 before the first and after a timeout.
    w_max: f64,
    cwnd_prior: f64,
    k: f64,
    w_est: f64,
    epoch: Option<Instant>,
}

#[derive(Debug)]
pub(crate) struct Curve {
    p: Params,
    now: State,
    /// What the last reduction changed, in case it was spurious (section 4.9).
    saved: Option<State>,
    /// Since when the window has not been used: that time does not count (section 4.2).
    unused_since: Option<Instant>,
}

/// Section 4.2, equation 2: when the curve is back at W_max.
fn k(w_max: f64, cwnd_epoch: f64, c: f64) -> f64 {
    math::cbrt((w_max - cwnd_epoch) / c)
}

/// Equation 1.
fn w_cubic(t: f64, k: f64, w_max: f64, c: f64) -> f64 {
    let d = t - k;
    c * d * d * d + w_max
}

/// Section 4.3, after equation 4: an AIMD flow that keeps β of its window and grows by this has Reno's throughput.
fn alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

impl Curve {
    pub(crate) fn new(p: &Params) -> Self {
        let now = State { w_max: 0.0, cwnd_prior: 0.0, k: 0.0, w_est: 0.0, epoch: None };
        Curve { p: p.clone(), now, saved: None, unused_since: None }
    }

    /// A stage of congestion avoidance begins, at a window in packets.
    pub(crate) fn begin(&mut self, cwnd: f64, at: Instant) {
        let s = &mut self.now;
        if s.w_max <= cwnd {
            // From slow start without loss, or after a timeout: this is the maximum now.
            (s.w_max, s.k) = (cwnd, 0.0);
        } else {
            s.k = k(s.w_max, cwnd, self.p.c);
        }
        (s.w_est, s.epoch) = (cwnd, Some(at));
    }

    /// The curve's window in packets at a time in the present stage.
    pub(crate) fn window(&self, at: Instant) -> f64 {
        let s = &self.now;
        w_cubic(at.since(s.epoch.unwrap_or(at)).as_secs_f64(), s.k, s.w_max, self.p.c)
    }

    pub(crate) fn avoidance(&mut self, flow: &mut Flow, acked: Bytes) {
        let cwnd = flow.cwnd.packets(flow.mss);
        if let (Some(since), Some(epoch)) = (self.unused_since.take(), &mut self.now.epoch) {
            *epoch = (*epoch + flow.now.since(since)).min(flow.now);
        }
        if self.now.epoch.is_none() {
            self.begin(cwnd, flow.now);
        }
        let s = &mut self.now;
        let t = flow.now.since(s.epoch.unwrap_or(flow.now));
        let at = |t: Duration| w_cubic(t.as_secs_f64(), s.k, s.w_max, self.p.c);

        let alpha = if s.w_est < s.cwnd_prior { alpha(self.p.beta.or(BETA)) } else { 1.0 };
        s.w_est += alpha * acked.packets(flow.mss) / cwnd;
        if self.p.friendliness && at(t) < s.w_est {
            flow.cwnd = flow.cwnd.max(flow.mss * s.w_est as u64);
            return;
        }
        let target = at(t + flow.srtt).clamp(cwnd, 1.5 * cwnd);
        if target > cwnd {
            flow.additive(flow.cwnd.mul_f64(1.0 / (target - cwnd)), acked);
        }
    }

    /// Returns the new `ssthresh`.
    pub(crate) fn reduce(&mut self, flow: &Flow, timeout: bool) -> Bytes {
        self.saved = Some(self.now.clone());
        let cwnd = flow.cwnd.packets(flow.mss);
        let s = &mut self.now;
        let gives_way = self.p.fast_convergence && cwnd < s.w_max;
        s.w_max = if gives_way { cwnd * (1.0 + self.p.beta.or(BETA)) / 2.0 } else { cwnd };
        if timeout {
            s.w_max = 0.0;
        }
        (s.cwnd_prior, s.epoch) = (cwnd, None);
        flow.cwnd.mul_f64(self.p.beta.or(BETA))
    }

    /// Section 4.8: the first stage after a timeout begins flat, also after one that asks for no further reduction.
    pub(crate) fn forget(&mut self) {
        (self.now.w_max, self.now.epoch) = (0.0, None);
    }

    pub(crate) fn undo(&mut self) {
        if let Some(saved) = self.saved.take() {
            self.now = saved;
        }
    }

    pub(crate) fn pause(&mut self, since: Instant) {
        self.unused_since.get_or_insert(since);
    }

    /// The same windows in packets of another size.
    pub(crate) fn rescale(&mut self, factor: f64) {
        for s in [Some(&mut self.now), self.saved.as_mut()].into_iter().flatten() {
            s.w_max *= factor;
            s.cwnd_prior *= factor;
            s.w_est *= factor;
            s.k *= math::cbrt(factor);
        }
    }

    pub(crate) fn vars(&self) -> (f64, f64, f64) {
        (self.now.w_max, self.now.k, self.now.w_est)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flow, ms, packets};

    #[test]
    fn numbers_of_the_curve() {
        let k = k(100.0, 70.0, 0.4);
        assert!((k - 4.2172).abs() < 5e-5, "{k}");
        assert!((w_cubic(1.0, k, 100.0, 0.4) - 86.68).abs() < 5e-3);
        assert!((w_cubic(5.0, k, 100.0, 0.4) - 100.19).abs() < 5e-3);
        assert!((alpha(0.7) - 0.5294).abs() < 5e-5);
    }

    #[test]
    fn fast_convergence_remembers_less() {
        let mut curve = Curve::new(&Params::default());
        assert_eq!(curve.reduce(&flow(100, 100), false), packets(70));
        assert_eq!(curve.reduce(&flow(80, 100), false), packets(56));
        assert!((curve.now.w_max - 68.0).abs() < 1e-9);
        let mut curve = Curve::new(&Params { fast_convergence: false, ..Params::default() });
        curve.reduce(&flow(100, 100), false);
        curve.reduce(&flow(80, 100), false);
        assert_eq!(curve.now.w_max, 80.0);
    }

    #[test]
    fn after_a_timeout_the_next_stage_starts_flat() {
        let mut curve = Curve::new(&Params::default());
        let mut f = flow(100, 100);
        assert_eq!(curve.reduce(&f, true), packets(70));
        f.cwnd = packets(70);
        curve.avoidance(&mut f, packets(1));
        assert_eq!((curve.now.k, curve.now.w_max), (0.0, 70.0));
    }

    #[test]
    fn time_without_use_of_the_window_does_not_count() {
        let grown = |pause: bool| {
            let mut curve = Curve::new(&Params::default());
            let mut f = flow(100, 100);
            curve.reduce(&f, false);
            f.cwnd = packets(70);
            curve.avoidance(&mut f, packets(1));
            if pause {
                curve.pause(f.now);
            }
            f.now += ms(5000);
            curve.avoidance(&mut f, packets(1));
            f.now.since(curve.now.epoch.unwrap())
        };
        assert_eq!((grown(false), grown(true)), (ms(5000), Duration::ZERO));
    }
}
