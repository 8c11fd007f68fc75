//! Deficit round robin over a law: a flow's turn adds a quantum to its deficit and lasts while the packet at its head
//! fits into it. Shreedhar and Varghese, "Efficient fair queuing using deficit round robin", SIGCOMM 1995.
//!
//! Unlike DRR++ it knows no new flows: one that comes out of nowhere waits for its turn as the others do.
//!
//! Departures: the head is measured before the law is asked. If the law drops it and lets a larger packet go, the flow
//! is overdrawn and pays in its next turn.

use super::{Fattest, Overflow};
use units::Bytes;

params::params! {
    /// What users may set on every deficit round robin.
    pub struct Params {
        /// Packets held where the experiment gives no buffer.
        limit: usize = 1_000, 1 => 1_000_000_000;
        /// Sub-queues that flows are hashed into (ns-2 10).
        flows: usize = 1_024, 1 => 65_536;
        /// Bytes a flow's deficit grows by each turn; 0 is the link's MTU, as Linux has it (ns-2 250).
        quantum: Bytes = Bytes::ZERO, Bytes::ZERO => Bytes::new(1_000_000);
        /// What an overflow costs: the longest queue its oldest packet (the paper's stealing), its newest (tail) or half of them, or the arriving packet.
        overflow: Overflow = Overflow::One;
        /// How the longest queue is found.
        fattest: Fattest = Fattest::Bytes;
    }
    check |p| { super::params::check_quantum(p.quantum) }
}

impl Params {
    /// As sub-queues are set.
    pub(crate) fn fair(&self) -> super::Params {
        super::Params {
            limit: self.limit,
            flows: self.flows,
            quantum: self.quantum,
            overflow: self.overflow,
            fattest: self.fattest,
            ..super::Params::default()
        }
    }
}
