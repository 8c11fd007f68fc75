//! A delay line: packets under way over a constant delay, in a ring, so that only its head is an event.

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
    flying: Ring<Flying>,
}

impl Line {
    /// An empty line.
    pub fn new(source: Source, delay: Duration, jitter: Option<Jitter>) -> Self {
        Line { source, delay, jitter, last: Instant::ZERO, flying: Ring::new() }
    }

    /// Puts a packet in that leaves its origin at `depart`.
    #[inline(always)]
    pub fn push(&mut self, depart: Instant, packet: &Packet, scheduler: &mut Scheduler) {
        let mut at = depart + self.delay;
        if let Some(jitter) = &mut self.jitter {
            at = (at + jitter.draw()).max(self.last);
        }
        debug_assert!(at >= self.last, "a delay line keeps its order");
        self.last = at;
        let order = scheduler.ticket();
        if self.flying.is_empty() {
            scheduler.set(self.source, at, order);
        }
        self.flying.push(Flying { at, order, packet: *packet });
    }

    /// Takes the head out, whose time has come, and schedules the next.
    #[inline]
    pub fn pop(&mut self, scheduler: &mut Scheduler) -> Packet {
        let packet = self.flying.front().expect("an event of a line means a packet in it").packet;
        self.flying.drop_front();
        match self.flying.front() {
            Some(next) => scheduler.set(self.source, next.at, next.order),
            None => scheduler.clear(self.source),
        }
        packet
    }

    /// The next packet to come out, and the one after it.
    #[inline(always)]
    pub fn next(&self) -> [Option<&Packet>; 2] {
        [self.flying.front(), self.flying.second()].map(|f| f.map(|f| &f.packet))
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
