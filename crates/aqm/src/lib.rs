//! Queues: laws decide, queues hold packets.
//!
//! A [`Law`] (CoDel, PIE, …) answers pass, mark or drop and owns nothing. A [`Qdisc`] owns packets and asks a law.
//! FQ-CoDel is the fair queue over CoDel; there are no twin files. [`QDISCS`] is the only list of them.
//!
//! ```
//! use aqm::{Ecn, LinkInfo, Packet, Reason, Sink};
//! use units::{Bytes, Duration, Instant, Rate, Rng, streams};
//!
//! #[derive(Debug)]
//! struct Datagram(u64);
//! impl Packet for Datagram {
//!     fn size(&self) -> Bytes { Bytes::new(1500) }
//!     fn flow(&self) -> u64 { self.0 }
//!     fn ecn(&self) -> Ecn { Ecn::NotEct }
//!     fn mark(&mut self) -> bool { false }
//! }
//! struct Lost(u32);
//! impl Sink<Datagram> for Lost {
//!     fn dropped(&mut self, _: Datagram, _: Reason) { self.0 += 1; }
//! }
//!
//! let link = LinkInfo { rate: Rate::from_mbps(10.0), delay: Duration::ZERO, mtu: Bytes::new(1500), limit: None };
//! let spec = "fq_codel(target=10ms, flows=64)".parse().unwrap();
//! let mut queue = aqm::build(&spec, &link, Rng::new(1, 0, streams::AQM)).unwrap();
//! let mut lost = Lost(0);
//! queue.enqueue(Instant::ZERO, Datagram(7), &mut lost);
//! let sent = queue.dequeue(Instant::from_millis(3), &mut lost).unwrap();
//! assert_eq!((sent.packet.0, sent.sojourn.as_millis(), lost.0), (7, 3, 0));
//! ```
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod law;
pub mod queue;

mod registry;
mod vars;

pub use registry::{About, QDISCS, SOUGHT, averaging, build, find, resolve};
pub use vars::{VARS, Var};

use alloc::boxed::Box;
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

impl Ecn {
    /// What the field says: the lower two bits of a TOS or traffic class octet (RFC 3168, section 5).
    #[inline]
    pub const fn from_bits(octet: u8) -> Self {
        match octet & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
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
///
/// In a decision the backlogs leave the packet itself out. In [`Law::advance`] they count everything that was held
/// since the last event, the packet about to leave too: that is what a timer would have seen.
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
    /// Data in the law's own queue.
    pub own_backlog: Bytes,
    /// Data in the whole qdisc.
    pub total_backlog: Bytes,
    /// Packets in the law's own queue.
    pub len: usize,
    /// The link's MTU.
    pub mtu: Bytes,
    /// Largest packet the law's own queue has seen.
    pub largest: Bytes,
    /// Largest packet the whole qdisc has seen.
    pub largest_of_all: Bytes,
}

impl Look {
    /// Can this packet carry a mark?
    #[inline]
    pub fn markable(&self) -> bool {
        self.ecn != Ecn::NotEct
    }

    /// The packet, held until now, leaves: the backlogs no longer count it.
    #[inline]
    pub fn leave(&mut self) {
        self.own_backlog -= self.size;
        self.total_backlog -= self.size;
        self.len -= 1;
    }
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
    /// Propagation delay, one way; ns-2's RED forgets more slowly on long links.
    pub delay: Duration,
    /// Largest packet.
    pub mtu: Bytes,
    /// The buffer given in the experiment; it wins over a queue's own limit. A law always finds the one in force.
    pub limit: Option<Limit>,
}

impl LinkInfo {
    /// The buffer, or where none was given a queue's own of so many packets.
    pub fn limit_or(&self, packets: usize) -> Limit {
        self.limit.unwrap_or(Limit::Packets(packets))
    }

    /// The same link with that limit in force, as laws find it.
    pub fn limited(self, packets: usize) -> Self {
        LinkInfo { limit: Some(self.limit_or(packets)), ..self }
    }
}

/// Size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many packets.
    Packets(usize),
    /// So many bytes. What does not fit whole is turned away, as Linux does; ns-2 and dummynet take the packet that crosses it.
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

    /// Do `len` packets and `backlog` bytes overflow already?
    #[inline]
    pub fn exceeded(self, len: usize, backlog: Bytes) -> bool {
        match self {
            Limit::Packets(n) => len > n,
            Limit::Bytes(n) => backlog > n,
        }
    }

    /// In bytes, packets counted as full-sized ones.
    pub fn bytes(self, mtu: Bytes) -> Bytes {
        match self {
            Limit::Packets(n) => mtu * n as u64,
            Limit::Bytes(n) => n,
        }
    }
}

/// A queue management law: decides, owns no packets.
///
/// A law gets no timer. One that updates periodically catches up in [`advance`](Law::advance), which every queue calls
/// with the state of affairs before each event; [`law::Ticker`] keeps the beat.
pub trait Law: Debug + Send {
    /// False for a law that never says anything: queues then skip looking.
    const ACTIVE: bool = true;
    /// Arrivals that do not fit are shown to the law like the others before they are [refused](Law::refuse).
    const SEES_REFUSED: bool = false;
    /// Periodic updates, caught up to `look.now`. Called before every decision and before an overflow.
    fn advance(&mut self, _look: &Look) {}
    /// A packet arrives.
    fn on_enqueue(&mut self, _look: &Look) -> Verdict {
        Verdict::Pass
    }
    /// A packet is at the head. After [`Verdict::Drop`] the law is asked about the next one.
    fn on_dequeue(&mut self, _look: &Look) -> Verdict {
        Verdict::Pass
    }
    /// A packet was asked for and the queue was empty.
    fn on_empty(&mut self, _now: Instant) {}
    /// A queue of its own among others (a flow's) wakes up: its first packet is about to come.
    fn on_activate(&mut self, _now: Instant) {}
    /// The queue dropped `n` packets it held (head drop, or the fattest flow paying for an overflow).
    fn on_forced_drop(&mut self, _look: &Look, _n: u32) {}
    /// The buffer was full and the arriving packet was turned away.
    fn on_refused(&mut self, _look: &Look) {}
    /// An arrival does not fit. Who drops it: the law, if it sees such packets, or the overflow.
    fn refuse(&mut self, look: &Look) -> Reason {
        if Self::SEES_REFUSED {
            match self.on_enqueue(look) {
                Verdict::Drop => return Reason::Law,
                Verdict::Mark if !look.markable() => return Reason::Law,
                Verdict::Pass | Verdict::Mark => {}
            }
        }
        self.on_refused(look);
        Reason::Overflow
    }
    /// The buffer or the link changed.
    fn set_link(&mut self, _link: &LinkInfo) {}
    /// Shows inner state by name.
    fn vars(&self, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// Where a law works: implementations choose other defaults under a fair queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One queue for all, or under a scheduler that has no defaults for laws.
    Alone,
    /// One queue a flow, under RFC 8290's scheduler.
    Fair,
}

/// A law that can be built from parameters: an entry of the table of queues.
pub trait LawKind: Law + Sized + 'static {
    /// Where it was published.
    const PAPER: &'static str;
    /// What it does, in a sentence.
    const DOC: &'static str;
    /// What users may set.
    type Params: params::Params;
    /// The defaults that go with what was asked for, such as those of the chosen `reference`.
    fn defaults(_asked: &Self::Params, _place: Place) -> Self::Params {
        Self::Params::default()
    }
    /// Refuses what means something only where the law serves a sub-queue.
    fn check_alone(_params: &Self::Params) -> Result<(), params::ParamError> {
        Ok(())
    }
    /// How the implementation asked for sets the fair queue above the law.
    fn under_fair(_asked: &Self::Params) -> queue::fair::Params {
        queue::fair::Params::default()
    }
    /// Puts it to work on a queue. `link.limit` is always given here.
    fn new(params: &Self::Params, link: &LinkInfo, rng: Rng) -> Self;
    /// Its average on a link; `None` of a law that has none.
    fn averaging(_params: &Self::Params, _link: &LinkInfo) -> Option<Averaging> {
        None
    }
    /// Told when this law serves one sub-queue: the scheduler's limit in packets and its number of sub-queues.
    fn among(self, _limit: usize, _flows: usize) -> Self {
        self
    }
}

/// The average queue length that a law goes by on a link, what is automatic worked out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Averaging {
    /// What it is held against, in bytes; of full packets where it counts packets.
    pub thresholds: [Bytes; 2],
    /// How much of it an arrival is.
    pub weight: f64,
}

/// A queue that is law and scheduler in one (DualPI2): an entry of the table's second part.
pub trait QdiscKind: 'static {
    /// Where it was published.
    const PAPER: &'static str;
    /// What it does, in a sentence.
    const DOC: &'static str;
    /// How packets wait.
    const SCHEDULER: &'static str;
    /// What users may set.
    type Params: params::Params;
    /// The defaults that go with what was asked for, such as those of the chosen `reference`.
    fn defaults(_asked: &Self::Params) -> Self::Params {
        Self::Params::default()
    }
    /// As [`LawKind::averaging`]; `link.limit` may be missing.
    fn averaging(_params: &Self::Params, _link: &LinkInfo) -> Option<Averaging> {
        None
    }
    /// Builds it; `link.limit` may be missing.
    fn make<P: Packet + Debug + Send + 'static>(params: &Self::Params, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>>;
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
    /// The link has stood idle since then with nothing held. A host that calls `dequeue` until it gives none need not
    /// say so; one that stops asking when `len` is 0 says it before the next `enqueue`, because laws and fair queues
    /// treat a flow that comes back after a pause differently.
    fn idle(&mut self, _since: Instant) {}
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
    /// The limit, if this queue is only a line in order of arrival that turns away what finds it full. A host that
    /// keeps its packets in order anyway may hold those itself and never call this queue.
    fn plain(&self) -> Option<Limit> {
        None
    }
    /// The buffer or the link changed.
    fn set_link(&mut self, link: &LinkInfo);
    /// Shows inner state by name: the names are those of [`VARS`].
    fn vars(&self, see: &mut dyn FnMut(&'static str, f64));
    /// The same as it is for packets of one flow: of its sub-queue, where there are any.
    fn vars_of(&self, _flow: u64, see: &mut dyn FnMut(&'static str, f64)) {
        self.vars(see);
    }
}
