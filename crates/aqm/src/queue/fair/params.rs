//! What users may set on a fair queue, and how the implementations set it.

use params::ParamError;
use units::Bytes;

params::choice! {
    /// What an overflow costs.
    pub enum Overflow {
        /// The fattest flow half its backlog, at most 64 packets, from the head (RFC 8290 section 4.1, Linux).
        Batch = "batch",
        /// The fattest flow one packet from the head (FreeBSD).
        One = "one",
        /// The fattest flow one packet from the tail, before the arrival joins (ns-2's sfqCoDel).
        Tail = "tail",
        /// The arriving packet (Linux's fq_pie).
        Refuse = "refuse",
    }
}

params::choice! {
    /// How flows are weighed to find the fattest.
    pub enum Fattest {
        /// By bytes.
        Bytes = "bytes",
        /// By packets (FreeBSD).
        Packets = "packets",
    }
}

params::choice! {
    /// When a flow's turn ends.
    pub enum Rotate {
        /// When its credit is spent: at 0.
        Spent = "spent",
        /// When its credit is overdrawn: below 0 (FreeBSD).
        Overdrawn = "overdrawn",
        /// After each packet, whatever its size (ns-2's sfqCoDel).
        Packet = "packet",
    }
}

params::choice! {
    /// What becomes of a new flow found empty.
    pub enum Emptied {
        /// Last of the old ones, so that it cannot come back as new at once (RFC 8290, FreeBSD).
        Old = "old",
        /// The same if there are old ones, else it is forgotten (Linux).
        OldIfAny = "old_if_any",
    }
}

params::params! {
    /// What users may set on every fair queue.
    pub struct Params {
        /// Packets held where the experiment gives no buffer.
        limit: usize = 10_240, 1 => 1_000_000_000;
        /// Sub-queues that flows are hashed into.
        flows: usize = 1_024, 1 => 65_536;
        /// Bytes a flow may send a turn; 0 is the link's MTU, as Linux has it.
        quantum: Bytes = Bytes::new(1_514), Bytes::ZERO => Bytes::new(1_000_000);
        /// What an overflow costs: the fattest flow half its backlog (batch), its oldest (one) or newest packet (tail), or the arrival (refuse).
        overflow: Overflow = Overflow::Batch;
        /// How the fattest flow is found: by bytes or by packets.
        fattest: Fattest = Fattest::Bytes;
        /// When a flow's turn ends: with its credit spent (at 0) or overdrawn (below 0), or after a packet.
        rotate: Rotate = Rotate::Spent;
        /// What becomes of a new flow found empty: last of the old ones (old), or forgotten if there are none (old_if_any).
        emptied: Emptied = Emptied::Old;
    }
    check |p| {
        check_quantum(p.quantum)?;
        // 0 is the default that Linux brings.
        let met = p.rotate != Rotate::Packet || p.quantum.is_zero();
        p.need(&Params::default(), &["quantum"], met, "rotate=spent")
    }
}

pub(super) const LEAST_QUANTUM: Bytes = Bytes::new(64);

/// Each packet takes size/quantum rounds over all flows: a tiny quantum is a loop, not fairness.
pub(super) fn check_quantum(quantum: Bytes) -> Result<(), ParamError> {
    if quantum.is_zero() || quantum >= LEAST_QUANTUM {
        return Ok(());
    }
    Err(ParamError::Conflict(alloc::format!(
        "quantum = {} B is too small: allowed is 0 (the link's MTU) or 64B to 1MB",
        quantum.get()
    )))
}

impl Params {
    /// As Linux's `sch_fq_codel` differs from the RFC.
    pub fn linux() -> Self {
        Params { quantum: Bytes::ZERO, emptied: Emptied::OldIfAny, ..Params::default() }
    }

    /// As ns-2.36's `sfqcodel.cc` differs from the RFC with its default of `quantum_ 0`.
    pub fn ns2() -> Self {
        Params { overflow: Overflow::Tail, fattest: Fattest::Packets, rotate: Rotate::Packet, ..Params::default() }
    }

    /// As FreeBSD's `dn_sched_fq_codel` and `dn_sched_fq_pie` differ from the RFC.
    pub fn freebsd() -> Self {
        Params { overflow: Overflow::One, fattest: Fattest::Packets, rotate: Rotate::Overdrawn, ..Params::default() }
    }
}
