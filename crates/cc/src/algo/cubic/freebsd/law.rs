//! The arithmetic of `cc_cubic.h`: windows in bytes, ticks of a millisecond, factors in 256ths.

use crate::algo::cubic::Params;
use units::math;

/// `CUBIC_SHIFT`: factors have eight binary places.
pub(super) const SHIFT: u32 = 8;
const HZ: i64 = 1000;

/// What is set.
#[derive(Debug)]
pub(super) struct Law {
    /// β, what congestion leaves.
    pub(super) beta: u64,
    pub(super) c: i64,
    /// Reno's window in 64 bits.
    pub(super) wide: bool,
}

impl Law {
    pub(super) fn new(p: &Params) -> Self {
        let parts = |x: f64| math::floor(x * 256.0) as u64;
        Law { beta: parts(p.beta.or(0.8)), c: parts(p.c).max(1) as i64, wide: p.wide_reno }
    }

    /// `ONE_SUB_CUBIC_BETA`, of 255.
    fn cut(&self) -> u64 {
        255 - self.beta
    }

    /// `cubic_k`, in 256ths of a second: a cube root by a parabola, good to seven per cent.
    pub(super) fn k(&self, w_max: u64, mss: u64) -> i64 {
        let mut s = (((w_max / mss * self.cut()) << SHIFT) / self.c as u64) as i64;
        let mut p = 0;
        while s >= 256 {
            s >>= 3;
            p += 1;
        }
        ((((s * 275) >> SHIFT) + 98) - (((s * s * 120) >> SHIFT) >> SHIFT)) << p
    }

    /// `cubic_cwnd`, so many ticks after the congestion.
    pub(super) fn cubic(&self, ticks: u64, w_max: u64, k: i64, mss: u64) -> u64 {
        let t = ((ticks << SHIFT) as i64 - k * HZ) / HZ;
        let rise =
            (t.saturating_mul(t).saturating_mul(t)).saturating_mul(self.c).saturating_mul(mss as i64) >> (4 * SHIFT);
        rise.saturating_add(w_max as i64).max(0) as u64
    }

    /// `tf_cwnd`: what Reno would have, if its product did not wrap.
    pub(super) fn reno(&self, ticks: u64, mean_rtt: u64, w_max: u64, mss: u64) -> u64 {
        let product = (3 * self.cut() * ticks * mss) << SHIFT;
        let product = if self.wide { product } else { product & u64::from(u32::MAX) };
        (w_max * self.beta + product / (512 - self.cut()) / mean_rtt) >> SHIFT
    }

    /// So much of a window.
    pub(super) fn leaves(&self, window: u64) -> u64 {
        (window * self.beta) >> SHIFT
    }
}
