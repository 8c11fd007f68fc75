//! A delay line: packets under way over a constant delay, in a ring, so that only its head is an event. Behind them the ring may
//! hold those that still wait for the transmitter in front of the line: a FIFO queue and the line it leads to are one row of
//! packets, and none needs to be moved when its transmission begins.

use crate::packet::Packet;
use crate::ring::Ring;
use crate::scheduler::{Scheduler, Source};
use units::{Duration, Instant, Rng};

/// Extra delay per packet; order is kept.
#[derive(Clone, Debug)]
pub enum Jitter {
    /// Uniform between zero and this: host processing.
    Uniform(Duration, Rng),
    /// The magnitude of a normal variable with this deviation: a busy path.
    HalfNormal(Duration, Rng),
}

impl Jitter {
    fn draw(&mut self) -> Duration {
        match self {
            Jitter::Uniform(most, rng) => Duration::from_nanos(rng.below(most.as_nanos() + 1)),
            Jitter::HalfNormal(sd, rng) => Duration::from_nanos(rng.normal(0.0, sd.as_nanos() as f64).abs() as u64),
        }
    }
}

/// So many transmissions ahead a packet that waits is fetched.
const AHEAD: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Flying {
    at: Instant,
    order: u64,
    packet: Packet,
}

/// One delay line.
#[derive(Debug)]
pub struct Line {
    /// Its event source.
    pub source: Source,
    /// Propagation delay.
    pub delay: Duration,
    jitter: Option<Jitter>,
    /// When the last packet put in will come out: jitter must not overtake it.
    last: Instant,
    row: Ring<Flying>,
    /// The last so many of the row wait; their `at` is when they came.
    waiting: usize,
}

impl Line {
    /// An empty line.
    pub fn new(source: Source, delay: Duration, jitter: Option<Jitter>) -> Self {
        Line { source, delay, jitter, last: Instant::ZERO, row: Ring::new(), waiting: 0 }
    }

    /// Is nothing on it, nor waiting for it?
    pub fn is_idle(&self) -> bool {
        self.row.is_empty()
    }

    /// When a packet arrives that leaves its origin at `depart`.
    #[inline(always)]
    fn arrival(&mut self, depart: Instant) -> Instant {
        let mut at = depart + self.delay;
        if let Some(jitter) = &mut self.jitter {
            at = (at + jitter.draw()).max(self.last);
        }
        debug_assert!(at >= self.last, "a delay line keeps its order");
        self.last = at;
        at
    }

    /// Puts a packet in that leaves its origin at `depart`.
    #[inline(always)]
    pub fn push(&mut self, depart: Instant, packet: &Packet, scheduler: &mut Scheduler) {
        debug_assert_eq!(self.waiting, 0, "who waits goes first");
        let at = self.arrival(depart);
        let order = scheduler.ticket();
        if self.row.is_empty() {
            scheduler.set(self.source, at, order);
        }
        self.row.push(Flying { at, order, packet: *packet });
    }

    /// Takes in a packet that must wait.
    #[inline(always)]
    pub fn hold(&mut self, now: Instant, packet: &Packet) {
        self.row.push(Flying { at: now, order: 0, packet: *packet });
        self.waiting += 1;
    }

    /// The packet that has waited longest, and since when.
    #[inline(always)]
    pub fn waiting(&mut self) -> (&mut Packet, Instant) {
        let n = self.row.len() - self.waiting;
        let first = self.row.nth_mut(n);
        (&mut first.packet, first.at)
    }

    /// Lets it go: it leaves its origin at `depart`.
    #[inline(always)]
    pub fn release(&mut self, depart: Instant, scheduler: &mut Scheduler) {
        let (at, order) = (self.arrival(depart), scheduler.ticket());
        let n = self.row.len() - self.waiting;
        let first = self.row.nth_mut(n);
        (first.at, first.order) = (at, order);
        self.waiting -= 1;
        // Packets that wait came long ago and may have left the caches.
        self.row.prefetch(n + AHEAD);
        if n == 0 {
            scheduler.set(self.source, at, order);
        }
    }

    /// Takes the head out, whose time has come, and schedules the next.
    #[inline]
    pub fn pop(&mut self, scheduler: &mut Scheduler) -> Packet {
        let packet = self.row.front().expect("an event of a line means a packet in it").packet;
        self.row.drop_front();
        match self.row.front() {
            Some(next) if !self.is_empty() => scheduler.set(self.source, next.at, next.order),
            _ => scheduler.clear(self.source),
        }
        packet
    }

    /// The next packet to come out, and the one after it.
    #[inline(always)]
    pub fn next(&self) -> [Option<&Packet>; 2] {
        [self.row.front(), self.row.second()].map(|f| f.map(|f| &f.packet))
    }

    /// Packets under way.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.row.len() - self.waiting
    }

    /// Nothing is under way.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
