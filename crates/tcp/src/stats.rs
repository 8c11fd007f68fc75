//! Counters of one endpoint.

/// What happened so far.
// In order of use: an ACK sent must not fetch more than the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Stats {
    /// Pure ACKs sent.
    pub acks: u64,
    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Bytes declared lost.
    pub lost: u64,
    /// Retransmission timer expiries.
    pub timeouts: u64,
    /// Tail loss probes.
    pub tail_probes: u64,
    /// Zero window probes.
    pub window_probes: u64,
    /// Times recovery was entered.
    pub recoveries: u64,
    /// Reductions taken back.
    pub undos: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
    /// Segments of ours the other side reported as received twice.
    pub duplicates_reported: u64,
    /// Data segments received that held nothing new.
    pub duplicates_received: u64,
    /// Data segments received out of order.
    pub out_of_order: u64,
    /// Data segments received with CE.
    pub ce_received: u64,
}
