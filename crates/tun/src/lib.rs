//! The simulator's links between real hosts.
//!
//! Two network namespaces, a TUN device in each, and between them [`sim::World`] with its hosts outside: what a queue
//! drops, what a schedule changes and what a table records is the simulator's code; this crate gives it real packets and a
//! real clock. It runs programs ([`Sorter::programs`]) or the flows of an experiment over the kernel's TCP ([`Hosts`]).
//!
//! Only Linux has what it needs; on other systems the crate is the parser, and what an experiment may ask for and where its
//! hosts are, alone.

pub mod able;
pub mod addresses;
pub mod frame;

#[cfg(target_os = "linux")]
pub mod asked;
#[cfg(target_os = "linux")]
pub mod check;
#[cfg(target_os = "linux")]
pub mod driver;
#[cfg(target_os = "linux")]
pub mod flows;
#[cfg(target_os = "linux")]
pub mod frames;
#[cfg(target_os = "linux")]
pub mod glance;
#[cfg(target_os = "linux")]
pub mod hosts;
#[cfg(target_os = "linux")]
pub mod listener;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
pub mod player;
#[cfg(target_os = "linux")]
pub mod ring;
#[cfg(target_os = "linux")]
pub mod rtt;
#[cfg(target_os = "linux")]
pub mod sending;
#[cfg(target_os = "linux")]
pub mod sys;
#[cfg(target_os = "linux")]
pub mod watch;
#[cfg(target_os = "linux")]
pub mod watched;

#[cfg(target_os = "linux")]
pub use driver::{Outcome, Setup, drive};
#[cfg(target_os = "linux")]
pub use flows::Sorter;
#[cfg(target_os = "linux")]
pub use glance::{Shared, Status};
#[cfg(target_os = "linux")]
pub use hosts::{Hosts, Wanted};
#[cfg(target_os = "linux")]
pub use namespace::{Device, Namespace};
#[cfg(target_os = "linux")]
pub use ring::Ring;

use std::fmt;

/// Why a run could not be done.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// In a sentence.
    pub fn new(what: impl Into<String>) -> Self {
        Failure(what.into())
    }

    /// Where, and what the system said.
    pub fn at(place: impl fmt::Display, error: std::io::Error) -> Self {
        Failure(format!("{place}: {error}"))
    }
}

impl From<sim::RunError> for Failure {
    fn from(e: sim::RunError) -> Self {
        Failure(e.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// CPUs that this process may use.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
