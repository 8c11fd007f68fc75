//! A deterministic packet simulator: hosts of the same TCP, queues of the same laws, integer nanoseconds.
//!
//! [`run`] takes a resolved scenario and gives a [`Summary`]; a [`Probe`](probe::Probe) watches on the way. The same
//! scenario and seed give the same [`digest`], on every machine, with or without probes.

pub mod backoffs;
mod build;
mod calendar;
mod capacity;
pub mod capture;
mod count;
mod delays;
pub mod diftr;
pub mod digest;
mod gaps;
pub mod histogram;
mod hosts;
mod line;
pub mod link;
mod network;
pub mod node;
pub mod outside;
pub mod packet;
mod prefetch;
pub mod probe;
mod quick_start;
mod record;
mod ring;
pub mod scheduler;
pub mod sessions;
pub mod shown;
pub mod summary;
pub mod tape;
mod tick;
mod timers;
mod trace;
mod traffic;
mod way;
mod world;

pub use build::CustomCc;
pub use capture::Capture;
pub use record::{Column, Keep, Recorder, Table};
pub use summary::Summary;
pub use tape::Tape;
pub use world::{Options, World, run};

use params::ParamError;
use std::fmt;

/// Version of the summary's structure. New figures raise it too: finished runs that lack them are made again.
pub const SCHEMA: u32 = 7;

/// Version of the simulator's behaviour. A change that moves digests raises it; the CHANGELOG says which figures moved.
pub const MODEL: u32 = 36;

/// Why a run did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A parameter was refused.
    Param(ParamError),
    /// The scenario asks for what this version cannot do.
    Unsupported(String),
    /// The stop flag was set.
    Stopped,
}

impl From<ParamError> for RunError {
    fn from(e: ParamError) -> Self {
        RunError::Param(e)
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Param(e) => e.fmt(f),
            RunError::Unsupported(what) => f.write_str(what),
            RunError::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for RunError {}
