//! Whole connections over imaginary paths.

mod ackbyack;
mod acking;
mod algorithm;
mod alone;
mod bursts;
mod counting;
mod delaying;
mod episodes;
mod evidence;
mod freebsd;
mod kernel;
mod limits;
mod measuring;
mod nextseg;
mod opening;
mod probes;
mod properties;
mod reading;
mod receiving;
mod recovery;
mod relapse;
mod scoring;
mod sending;
mod timing;
mod twice;
mod undoing;

use crate::pair::Fate;
use crate::{Config, Flags, LossDetection, Segment, Stack};
use units::{Duration, Instant};

pub const MS: fn(u64) -> Duration = Duration::from_millis;
pub const AT: fn(u64) -> Instant = Instant::from_millis;
pub const MSS: u64 = 1000;

/// Every way to find and repair losses.
pub const WAYS: [LossDetection; 5] =
    [LossDetection::RackTlp, LossDetection::Sack, LossDetection::NewReno, LossDetection::Reno, LossDetection::Tahoe];

/// A stack with segments of 1000 bytes.
pub fn stack(stack: Stack) -> Config {
    Config { mss: units::Bytes::new(MSS), ..Config::of(stack) }
}

pub fn linux() -> Config {
    stack(Stack::Linux)
}

pub fn with_loss(loss: LossDetection) -> Config {
    Config { loss, ..linux() }
}

/// May a timer that was set for so long go off after `waits`? FreeBSD's count from its last tick and may be late.
pub fn may_wait(of: Stack, waits: Duration, asked: Duration) -> bool {
    if of == Stack::FreeBsd11 { waits + MS(1) >= asked && waits <= asked + asked / 16 } else { waits == asked }
}

/// The number of a data segment of [`MSS`] bytes, from 1; 0 for anything else.
pub fn number(s: &Segment) -> u64 {
    if s.len == 0 || s.flags.has(Flags::SYN) { 0 } else { (s.seq - 1) / MSS + 1 }
}

/// Loses segments with these numbers, one copy for each time a number is given.
pub fn losing(lost: &[u64]) -> impl FnMut(usize, u64, &Segment) -> Fate + use<> {
    let mut lost = lost.to_vec();
    move |from, _, s| match lost.iter().position(|n| from == 0 && *n == number(s)) {
        Some(i) => {
            lost.remove(i);
            Fate::Drop
        }
        None => Fate::Pass,
    }
}
