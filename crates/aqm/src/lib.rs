//! Queues: laws decide, queues hold packets.
//!
//! A [`Law`] (CoDel, PIE, …) answers pass, mark or drop and owns nothing. A [`Qdisc`] owns packets and asks a law.
//! FQ-CoDel is the fair queue over CoDel; there are no twin files. [`QDISCS`] is the only list of them.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod law;
pub mod queue;

mod registry;

pub use registry::{About, QDISCS, build, find, resolve};

use core::fmt::Debug;
use units::{Bytes, Duration, Instant, Rate, Rng};

/// The ECN field of an IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Cannot be marked.
    #[default]
    NotEct = 0,
    /// ECT(1): L4S.
    Ect1 = 1,
    /// ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// What a queue must know of a packet.
pub trait Packet {
    /// Size at the IP layer.
    fn size(&self) -> Bytes;
    /// A hash of its flow, the same for all packets of the flow.
    fn flow(&self) -> u64;
    /// Its ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets CE. False if the packet cannot be marked.
    fn mark(&mut self) -> bool;
}

/// What a law sees of a packet and its queue.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The time now.
    pub now: Instant,
    /// The packet's size.
    pub size: Bytes,
    /// The packet's ECN field.
    pub ecn: Ecn,
    /// Time the packet spent in the queue; zero on enqueue.
    pub sojourn: Duration,
    /// Age of the packet at the head; zero if the queue is empty.
    pub head_age: Duration,
    /// Data in the law's own queue, without this packet.
    pub own_backlog: Bytes,
    /// Data in the whole qdisc, without this packet.
    pub total_backlog: Bytes,
    /// Packets in the law's own queue, without this one.
    pub len: usize,
    /// The link's MTU.
    pub mtu: Bytes,
    /// Largest packet the law's own queue has seen.
    pub largest: Bytes,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It goes on with CE set; dropped if it cannot be marked.
    Mark,
    /// It is dropped.
    Drop,
}

/// What a law and a queue know of their link.
#[derive(Clone, Copy, Debug)]
pub struct LinkInfo {
    /// Rate at the IP layer; laws that scale by capacity use it.
    pub rate: Rate,
    /// Largest packet.
    pub mtu: Bytes,
    /// The buffer given in the experiment; it wins over a law's own limit.
    pub limit: Option<Limit>,
}

/// Size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many packets.
    Packets(usize),
    /// So many bytes.
    Bytes(Bytes),
}

impl Limit {
    /// Would a queue of `len` packets and `backlog` bytes overflow with one packet of `size` more?
    #[inline]
    pub fn full(self, len: usize, backlog: Bytes, size: Bytes) -> bool {
        match self {
            Limit::Packets(n) => len >= n,
            Limit::Bytes(n) => backlog + size > n,
        }
    }
}

/// A queue management law: decides, owns no packets.
pub trait Law: Debug + Send {
    /// Periodic updates, caught up to `look.now`. Called before every decision.
    fn advance(&mut self, _look: &Look) {}
    /// A packet arrives.
    fn on_enqueue(&mut self, _look: &Look) -> Verdict {
        Verdict::Pass
    }
    /// A packet is at the head. After [`Verdict::Drop`] the law is asked about the next one.
    fn on_dequeue(&mut self, _look: &Look) -> Verdict {
        Verdict::Pass
    }
    /// The queue ran empty.
    fn on_empty(&mut self, _now: Instant) {}
    /// The queue dropped `n` packets by itself (overflow).
    fn on_forced_drop(&mut self, _n: u32) {}
    /// Shows inner state by name.
    fn vars(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// A law that can be built from parameters.
pub trait LawKind: Law + Sized + 'static {
    /// What users may set.
    type Params: params::Params;
    /// Puts it to work on a queue.
    fn new(params: &Self::Params, link: &LinkInfo, rng: Rng) -> Self;
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The buffer was full.
    Overflow,
    /// The law said so.
    Law,
}

/// Where dropped packets go.
pub trait Sink<P> {
    /// This packet was dropped.
    fn dropped(&mut self, packet: P, reason: Reason);
}

/// A packet on its way out.
#[derive(Clone, Copy, Debug)]
pub struct Dequeued<P> {
    /// The packet, already marked if it was to be.
    pub packet: P,
    /// Time it spent in the queue.
    pub sojourn: Duration,
    /// It was marked here.
    pub marked: bool,
}

/// A queue: owns packets, asks a law.
pub trait Qdisc<P: Packet>: Debug + Send {
    /// Takes a packet in, or drops it (or others) into `drops`. True if a packet was marked on the way in.
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut dyn Sink<P>) -> bool;
    /// Gives the next packet out, dropping others into `drops` on the way.
    fn dequeue(&mut self, now: Instant, drops: &mut dyn Sink<P>) -> Option<Dequeued<P>>;
    /// When `dequeue` may succeed after it gave none (shapers).
    fn wake(&self) -> Option<Instant> {
        None
    }
    /// Data held.
    fn backlog(&self) -> Bytes;
    /// Packets held.
    fn len(&self) -> usize;
    /// Holds nothing.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The buffer or the link changed.
    fn set_link(&mut self, link: &LinkInfo);
    /// Shows inner state by name.
    fn vars(&self, see: &mut dyn FnMut(&'static str, f64));
}
