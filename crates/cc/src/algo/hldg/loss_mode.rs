//! Loss mode: CUBIC, and the return to its curve after a probe (Eq 5.14).

use super::Params;
use crate::algo::cubic;
use crate::{Ack, Flow, Phase};
use params::Auto;
use units::{Bytes, Duration, Instant};

/// CUBIC's curve and a window on its way back to it.
#[derive(Debug)]
pub struct LossMode {
    beta: f64,
    ack_counting: bool,
    curve: cubic::rfc::Curve,
    /// The segments that the curve counts in.
    mss: Bytes,
    restore: Option<Restore>,
    /// What the loss that led to the last probe would have left.
    pub threshold: Bytes,
}

/// One packet more at every interval until the target is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restore {
    /// Where the curve is.
    pub target: Bytes,
    /// T_restore.
    pub interval: Duration,
    next: Instant,
}

/// T_restore (Eq 5.14) closes the gap in two RTTs. The equation has the growing window in its denominator; with the
/// gap as it is at the start the growth is linear and ends.
fn interval(rtt: Duration, mss: Bytes, gap: Bytes) -> Duration {
    let nanos = 2 * rtt.as_nanos() as u128 * mss.get() as u128 / gap.get().max(1) as u128;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX).max(1))
}

impl LossMode {
    /// Without a history, for segments of `mss`.
    pub fn new(p: &Params, mss: Bytes) -> Self {
        let cubic = cubic::Params { beta: Auto::of(p.beta_cubic), c: p.c_cubic, ..Default::default() };
        let curve = cubic::rfc::Curve::new(&cubic);
        LossMode {
            beta: p.beta_cubic,
            ack_counting: p.loss_ack_counting,
            curve,
            mss,
            restore: None,
            threshold: Bytes::ZERO,
        }
    }

    /// Segments have another size from now on.
    pub fn rescale(&mut self, mss: Bytes) {
        self.curve.rescale(self.mss.packets(mss));
        self.mss = mss;
    }

    /// Left for delay mode.
    pub fn leave(&mut self) {
        self.restore = None;
    }

    /// Growth.
    pub fn ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if self.restore.is_some() {
            self.wake_up(flow);
            return;
        }
        if !flow.may_grow() {
            if flow.phase == Phase::Open {
                self.curve.pause(flow.now);
            }
            return;
        }
        let mut acked = ack.advance();
        if flow.cwnd < flow.ssthresh {
            acked = flow.slow_start(ack.growth(flow.mss, self.ack_counting));
        }
        if !acked.is_zero() {
            self.curve.avoidance(flow, acked);
        }
    }

    /// The window after congestion; a restoration under way ends.
    pub fn reduce(&mut self, flow: &Flow, timeout: bool) -> Bytes {
        self.restore = None;
        self.curve.reduce(flow, timeout)
    }

    /// A loss led to a probe instead: the curve goes on by itself from the window after the loss it would have had.
    pub fn leave_for_probe(&mut self, flow: &Flow) {
        let after = self.reduce(flow, false);
        debug_assert!(after <= flow.cwnd.mul_f64(self.beta).max(flow.floor));
        self.threshold = after;
        self.curve.begin(after.packets(flow.mss), flow.now);
    }

    /// Back from the probe: heads for the curve.
    pub fn restore(&mut self, flow: &Flow) -> Option<Restore> {
        let target = Bytes::from_f64(self.curve.window(flow.now) * flow.mss.as_f64());
        let gap = target.saturating_sub(flow.cwnd);
        if gap.is_zero() {
            return None;
        }
        let interval = interval(flow.rtt, flow.mss, gap);
        self.restore = Some(Restore { target, interval, next: flow.now + interval });
        self.restore
    }

    /// Takes the steps that are due. Late wakes, or ACKs on hosts without timers, take several at once.
    pub fn wake_up(&mut self, flow: &mut Flow) {
        let Some(r) = &mut self.restore else { return };
        if flow.now < r.next {
            return;
        }
        let steps = 1 + flow.now.since(r.next).as_nanos() / r.interval.as_nanos();
        let grown = (flow.cwnd + flow.mss * steps).min(r.target);
        // Larger segments may have lifted the window beyond the target meanwhile.
        flow.cwnd = flow.cwnd.max(grown);
        r.next += r.interval * steps;
        if flow.cwnd >= r.target {
            self.restore = None;
        }
    }

    /// When to be woken.
    pub fn wake(&self) -> Instant {
        self.restore.map_or(Instant::MAX, |r| r.next)
    }

    /// Is a window being restored?
    pub fn restoring(&self) -> bool {
        self.restore.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow, ms, packets};

    #[test]
    fn a_gap_of_150_kilobytes_is_closed_by_a_packet_every_1_93_ms() {
        let t = interval(ms(100), Bytes::new(1448), Bytes::new(150_000));
        assert_eq!(t, Duration::from_nanos(1_930_666));
    }

    /// A probe that began at a loss with 100 packets and ended 1 s later with two.
    fn after_probe() -> (LossMode, Flow) {
        let mut f = flow(100, 100);
        let mut l = LossMode::new(&Params::default(), f.mss);
        l.leave_for_probe(&f);
        f.cwnd = packets(2);
        f.ssthresh = packets(2);
        f.now += ms(1000);
        (l, f)
    }

    #[test]
    fn the_window_returns_to_where_cubic_would_be() {
        let (mut l, mut f) = after_probe();
        let r = l.restore(&f).unwrap();
        // W_cubic(1 s) after a loss at 100 packets is 86.68.
        assert_eq!(r.target, Bytes::new(86_680));
        let start = f.now;
        while l.restoring() && f.now.since(start) < ms(1000) {
            f.now = l.wake();
            l.wake_up(&mut f);
        }
        assert_eq!(f.cwnd, r.target);
        let took = f.now.since(start);
        assert!(took >= ms(199) && took <= ms(203), "{took:?}");
        // And goes on along the same curve: 0.3 s later the distance to 100 packets is less.
        f.now += ms(300);
        for _ in 0..200 {
            l.ack(&mut f, &ack(1, 100));
        }
        assert!(f.cwnd > packets(89) && f.cwnd < packets(97), "{:?}", f.cwnd);
    }

    #[test]
    fn segments_that_grow_during_a_probe_do_not_make_the_window_grow() {
        let (mut l, mut f) = after_probe();
        f.mss = Bytes::new(8000);
        l.rescale(f.mss);
        // W_cubic(1 s) after a loss at 12.5 packets is 11.955.
        assert_eq!(l.restore(&f).unwrap().target, Bytes::new(95_640));
    }

    #[test]
    fn late_timers_catch_up() {
        let (mut l, mut f) = after_probe();
        let r = l.restore(&f).unwrap();
        f.now = l.wake() + r.interval * 9;
        l.ack(&mut f, &ack(1, 100));
        assert_eq!(f.cwnd, packets(12));
        assert_eq!(l.wake(), f.now + r.interval, "and go on from there");
    }

    #[test]
    fn the_curve_stands_still_while_the_window_is_not_used_and_goes_on_while_losses_are_repaired() {
        let grown = |disturb: fn(&mut Flow, bool)| {
            let mut f = flow(100, 100);
            let mut l = LossMode::new(&Params::default(), f.mss);
            f.cwnd = l.reduce(&f, false);
            f.ssthresh = f.cwnd;
            l.ack(&mut f, &ack(1, 100));
            disturb(&mut f, true);
            for _ in 0..100 {
                f.now += ms(100);
                l.ack(&mut f, &ack(1, 100));
            }
            disturb(&mut f, false);
            for _ in 0..100 {
                l.ack(&mut f, &ack(1, 100));
            }
            f.cwnd
        };
        let unused = grown(|f, on| f.cwnd_limited = !on);
        let repaired = grown(|f, on| f.phase = if on { Phase::Recovery } else { Phase::Open });
        assert!(unused < packets(80) && repaired > packets(100), "{unused:?} {repaired:?}");
    }

    #[test]
    fn a_loss_ends_the_restoration() {
        let (mut l, mut f) = after_probe();
        l.restore(&f);
        f.cwnd = packets(50);
        assert_eq!(l.reduce(&f, false), packets(35));
        assert!(!l.restoring());
    }
}
