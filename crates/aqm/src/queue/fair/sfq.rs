//! Stochastic fairness queueing over a law: flows are hashed into sub-queues that send a packet each in turn. McKenney,
//! "Stochastic fairness queueing", INFOCOM 1990.
//!
//! Flows of small packets get less than their share of bytes. (ns-2's `sfqcodel` serves new flows first besides: it is
//! `fq_codel(reference=ns-2)`.)
//!
//! Departures: McKenney changes the hash every so often, so that colliding flows do not collide for ever; that reorders
//! packets. Here the seed of a run changes it. Linux's `sch_sfq` gives a quantum of bytes a turn, which is
//! DRR; ns-2's refuses arrivals of buckets with more than a share of the room that is left (`refuse` is
//! the nearest).

use super::Overflow;
use units::Bytes;

params::params! {
    /// What users may set on every stochastic fair queue.
    pub struct Params {
        /// Packets held where the experiment gives no buffer (Linux 127, ns-2 40).
        limit: usize = 127, 1 => 1_000_000_000;
        /// Sub-queues that flows are hashed into (Linux 1024, ns-2 16).
        flows: usize = 1_024, 1 => 65_536;
        /// What an overflow costs: the longest queue its oldest packet, its newest (tail) or half of them, or the arriving packet.
        overflow: Overflow = Overflow::One;
    }
}

impl Params {
    /// As sub-queues are set.
    pub(crate) fn fair(&self) -> super::Params {
        super::Params {
            limit: self.limit,
            flows: self.flows,
            overflow: self.overflow,
            fattest: super::Fattest::Packets,
            quantum: Bytes::ZERO,
            ..super::Params::default()
        }
    }
}
