//! A sans-IO TCP: no clock, no network, no threads. Segments and time go in, segments and deadlines come out.
//!
//! An [`Endpoint`] is one end of a connection and both directions of its data: handshake, streams, loss recovery,
//! timers, acknowledgements. The congestion control it was given decides the window; this crate measures and repairs.
#![no_std]


mod config;
mod segment;

pub use config::{Config, DelayedAck, LossDetection, Offload, RoundKind, Stack};
pub use segment::{Flags, SackBlocks, Segment};
