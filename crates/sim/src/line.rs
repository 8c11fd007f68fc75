//! A delay line: packets under way over a constant delay, in a ring, so that only its head is an event.

use crate::packet::Packet;
use crate::prefetch;
use crate::scheduler::{Scheduler, Source};
use std::collections::VecDeque;
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
    flying: VecDeque<Flying>,
}

impl Line {
    /// An empty line.
    pub fn new(source: Source, delay: Duration, jitter: Option<Jitter>) -> Self {
        Line { source, delay, jitter, last: Instant::ZERO, flying: VecDeque::new() }
    }

    /// Puts a packet in that leaves its origin at `depart`.
    #[inline]
    pub fn push(&mut self, depart: Instant, packet: Packet, scheduler: &mut Scheduler) {
        let mut at = depart + self.delay;
        if let Some(jitter) = &mut self.jitter {
            at = (at + jitter.draw()).max(self.last);
            self.last = at;
        }
        let order = scheduler.ticket();
        if self.flying.is_empty() {
            scheduler.set(self.source, at, order);
        }
        if self.flying.len() == self.flying.capacity() {
            self.grow();
        }
        debug_assert!(self.flying.back().is_none_or(|f| f.at <= at), "a delay line keeps its order");
        self.flying.push_back(Flying { at, order, packet });
    }

    /// By a quarter, not to twice the size: a ring goes round all of its memory, and what is not there stays out of the caches.
    #[cold]
    fn grow(&mut self) {
        self.flying.reserve_exact((self.flying.len() / 4).max(8));
    }

    /// Takes the head out, whose time has come, and schedules the next.
    #[inline]
    pub fn pop(&mut self, scheduler: &mut Scheduler) -> Packet {
        let head = self.flying.pop_front().expect("an event of a line means a packet in it");
        match self.flying.front() {
            Some(next) => scheduler.set(self.source, next.at, next.order),
            None => scheduler.clear(self.source),
        }
        head.packet
    }

    /// Asks for the memory of a packet that comes out soon: long rings leave the nearest caches, too.
    #[inline]
    pub fn prefetch(&self) {
        const SOON: usize = 6;
        if let Some(flying) = self.flying.get(SOON) {
            prefetch::lines(flying, core::ptr::from_ref(flying).wrapping_add(1));
        }
    }

    /// The packet that comes out after `n` others, and when.
    #[inline]
    pub fn ahead(&self, n: usize) -> Option<(Instant, &Packet)> {
        self.flying.get(n).map(|f| (f.at, &f.packet))
    }

    /// Packets under way.
    pub fn len(&self) -> usize {
        self.flying.len()
    }

    /// Nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.flying.is_empty()
    }
}
