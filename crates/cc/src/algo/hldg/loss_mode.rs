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
mod tests;
