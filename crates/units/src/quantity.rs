//! Data and data rates.

use crate::Duration;
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// An amount of data in bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A data rate in bits per second.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// An amount of data counted in full-sized packets (segments of one MSS), as papers do.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd, Debug)]
pub struct Packets(pub f64);

const BITS_NS: u128 = 8 * 1_000_000_000;

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);
    /// More than any window: an `ssthresh` not yet set.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// So many bytes.
    pub const fn new(n: u64) -> Self {
        Bytes(n)
    }
    /// As a plain number.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// As a floating-point number of bytes.
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// From a floating-point number of bytes, rounded down; negative and NaN give zero.
    pub fn from_f64(n: f64) -> Self {
        Bytes(n as u64)
    }
    /// Counted in segments of `mss`.
    pub fn packets(self, mss: Bytes) -> f64 {
        self.0 as f64 / mss.0 as f64
    }
    /// The difference, or zero if `other` is more.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
    /// This amount times a factor, rounded down; saturates.
    pub fn mul_f64(self, factor: f64) -> Bytes {
        Bytes((self.0 as f64 * factor) as u64)
    }
    /// True for no data.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Rate {
    /// No data at all.
    pub const ZERO: Rate = Rate(0);

    /// So many bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Rate(bps)
    }
    /// From bits per second, rounded to the nearest; negative and NaN give zero.
    pub fn from_bps_f64(bps: f64) -> Self {
        Rate(libm::round(bps) as u64)
    }
    /// So many megabits (10^6) per second.
    pub fn from_mbps(mbps: f64) -> Self {
        Rate(libm::round(mbps * 1e6) as u64)
    }
    /// In bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// In megabits (10^6) per second.
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 * 1e-6
    }
    /// In bytes per second.
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// This rate times a factor, rounded down; saturates.
    pub fn mul_f64(self, factor: f64) -> Rate {
        Rate((self.0 as f64 * factor) as u64)
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, o: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(o.0))
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, o: Bytes) {
        *self = *self + o;
    }
}
impl Sub for Bytes {
    type Output = Bytes;
    /// Panics in debug builds if more is taken than there is.
    fn sub(self, o: Bytes) -> Bytes {
        Bytes(self.0 - o.0)
    }
}
impl SubAssign for Bytes {
    fn sub_assign(&mut self, o: Bytes) {
        *self = *self - o;
    }
}
impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, n: u64) -> Bytes {
        Bytes(self.0.saturating_mul(n))
    }
}
impl Div<u64> for Bytes {
    type Output = Bytes;
    fn div(self, n: u64) -> Bytes {
        Bytes(self.0 / n)
    }
}
impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, |a, b| a + b)
    }
}
impl Div<Duration> for Bytes {
    type Output = Rate;
    /// The rate that carries this much in `d`, rounded down; zero time gives the largest rate.
    fn div(self, d: Duration) -> Rate {
        if d.is_zero() {
            return Rate(u64::MAX);
        }
        Rate(u64::try_from(self.0 as u128 * BITS_NS / d.as_nanos() as u128).unwrap_or(u64::MAX))
    }
}
impl Div<Rate> for Bytes {
    type Output = Duration;
    /// The time this much takes at rate `r`, rounded up; a zero rate takes for ever.
    fn div(self, r: Rate) -> Duration {
        if r.0 == 0 {
            return Duration::MAX;
        }
        Duration::from_nanos(u64::try_from((self.0 as u128 * BITS_NS).div_ceil(r.0 as u128)).unwrap_or(u64::MAX))
    }
}
impl Mul<Duration> for Rate {
    type Output = Bytes;
    /// What this rate carries in `d`, rounded down.
    fn mul(self, d: Duration) -> Bytes {
        Bytes(u64::try_from(self.0 as u128 * d.as_nanos() as u128 / BITS_NS).unwrap_or(u64::MAX))
    }
}
impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Bytes::MAX { f.write_str("unlimited") } else { write!(f, "{} B", self.0) }
    }
}
impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_at_twelve_megabits_takes_a_millisecond() {
        assert_eq!(Bytes::new(1500) / Rate::from_mbps(12.0), Duration::from_millis(1));
        assert_eq!(Rate::from_mbps(12.0) * Duration::from_millis(1), Bytes::new(1500));
        assert_eq!(Bytes::new(1500) / Duration::from_millis(1), Rate::from_mbps(12.0));
    }

    #[test]
    fn serialisation_rounds_up_and_a_dead_link_takes_for_ever() {
        assert_eq!(Bytes::new(1) / Rate::from_bps(3), Duration::from_nanos(2_666_666_667));
        assert_eq!(Bytes::new(1) / Rate::ZERO, Duration::MAX);
    }
}
