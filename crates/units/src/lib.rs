//! Quantities with a dimension, seeded random streams and exact mathematics.
//!
//! Time is integer nanoseconds, data integer bytes, rates integer bits per second. Dividing and multiplying them
//! gives the right kind of quantity (`Bytes / Duration` is a `Rate`), so a formula that mixes units does not compile.
#![no_std]

#[cfg(test)]
extern crate std;

mod quantity;
mod random;
mod time;

pub use quantity::{Bytes, Packets, Rate};
pub use random::{Rng, avalanche, splitmix, streams};
pub use time::{Duration, Instant};

/// Transcendental functions from `libm`: the standard library's differ between platforms, and a digest must not.
pub mod math {
    pub use libm::{cbrt, ceil, cos, exp, floor, log as ln, log10, pow, round, sin, sqrt};
}
