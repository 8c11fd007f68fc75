//! A sans-IO TCP: no clock, no network, no threads. Segments and time go in, segments and deadlines come out.
//!
//! An [`Endpoint`] is one end of a connection and both directions of its data: handshake, streams, loss recovery,
//! timers, acknowledgements. The congestion control it was given decides the window; this crate measures and repairs.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod autotuning;
mod classic;
mod clock;
mod config;
mod conservative;
mod ecn;
mod endpoint;
mod freebsd;
mod handshake;
mod measure;
#[cfg(test)]
mod pair;
mod pieces;
mod prr;
mod rack;
mod reassembly;
mod receiver;
mod recovery;
mod ring;
mod sack;
mod scoreboard;
mod segment;
mod sender;
mod stats;
#[cfg(test)]
mod tests;
mod timers;
mod transmit;
mod undo;
mod usage;

pub use config::{Config, DelayedAck, LossDetection, Offload, RoundKind, Stack};
pub use endpoint::{BandwidthEstimates, Build, ENDLESS, Endpoint, Heard};
pub use segment::{Flags, SackBlocks, Segment};
pub use stats::Stats;
