//! Congestion control: the host measures, the algorithm decides.
//!
//! A host (the simulator's TCP, a QUIC stack, …) keeps a [`Flow`], fills in what it measured, and calls the methods of
//! [`CongestionControl`]: `on_ack` and `on_congestion` must be written, all others have defaults. The algorithm answers
//! by setting `cwnd`, `ssthresh` and `pacing`. What several algorithms need (RTT, rounds, delivery rate, enhanced RTT)
//! is measured once, in [`host`]; an algorithm in [`algo`] is one file that reads like its paper. [`ALGORITHMS`] is the
//! only list of them.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod algo;
pub mod filter;
pub mod host;
pub mod start;

mod ack;
mod cause;
mod flow;
mod registry;
#[cfg(test)]
mod testing;
mod whole;

pub use ack::{Ack, Congestion, Event, Lost, RateSample, Reaction, Round, Sent, Signal};
pub use cause::{
    Cause, CauseKind, EVENT_VERSION, EventRecord, ValueUnit, causes, evidence, exits, mode_name, modes, nanos, ppb,
    probes, words,
};
pub use flow::{Flow, Growth, How, Phase};
pub use registry::{
    ALGORITHMS, About, Algorithm, Ecn, Entry, Evidence, Family, Feedback, Recovery, SLOW_STARTS, Setup, StartRule,
    build, find,
};
pub use start::{SlowStart, quick_start};

use core::fmt::Debug;
use units::{Bytes, Instant};

/// An algorithm at work on one flow.
///
/// The host promises: `flow.now` never goes back; [`on_congestion`](Self::on_congestion) comes at most once per
/// window of data (but a timeout inside an episode is told to an algorithm that [owns](Reaction::Own) its window); RTT
/// samples obey Karn's rule; the window never falls below the algorithm's floor, whatever it asks.
pub trait CongestionControl: Debug + Send {
    /// An acknowledgement came in. Called in recovery too: `flow.phase` tells.
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack);
    /// Congestion was found: say what the window becomes.
    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction;
    /// A segment left. Setting `flow.pacing` here decides the gap to the next one, so trains can be sent.
    fn on_sent(&mut self, _flow: &mut Flow, _sent: &Sent) {}
    /// One segment was declared lost (before `on_ack` of the ACK that showed it).
    fn on_lost(&mut self, _flow: &mut Flow, _lost: &Lost) {}
    /// The last reduction was spurious. The host has put `cwnd` and `ssthresh` back.
    fn on_undo(&mut self, _flow: &mut Flow) {}
    /// Something else happened.
    fn on_event(&mut self, _flow: &mut Flow, _event: Event) {}
    /// When to deliver [`Event::Wake`]. Hosts without timers deliver it with the next ACK.
    fn wake(&self) -> Option<Instant> {
        None
    }
    /// Shows inner state by name, for plots.
    fn vars(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
    /// Shadow window and BDP that the answer to the last loss was chosen from, for the host's record of that loss; zero
    /// where they had no part.
    fn weighed(&self, _flow: &Flow) -> [Bytes; 2] {
        [Bytes::ZERO; 2]
    }
    /// What part of the data is taken for marked (DCTCP's α), for the host's record of a mark; zero where it has no part in the
    /// answer.
    fn marked(&self) -> f64 {
        0.0
    }
}
