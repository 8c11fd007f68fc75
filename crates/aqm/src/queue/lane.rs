//! Packets in order of arrival: what queues that keep few lines are made of.

use crate::{Look, Packet};
use alloc::collections::VecDeque;
use units::{Bytes, Duration, Instant};

/// A line of packets, each with its time of arrival. A ring by value: nothing is allocated once it has grown.
#[derive(Debug)]
pub struct Lane<P> {
    packets: VecDeque<(Instant, P)>,
    backlog: Bytes,
    largest: Bytes,
}

impl<P> Default for Lane<P> {
    fn default() -> Self {
        Lane { packets: VecDeque::new(), backlog: Bytes::ZERO, largest: Bytes::ZERO }
    }
}

impl<P: Packet> Lane<P> {
    /// Takes a packet in at the tail.
    #[inline]
    pub fn push(&mut self, now: Instant, packet: P) {
        self.backlog += packet.size();
        if self.is_at_capacity() {
            self.grow();
        }
        self.packets.push_back((now, packet));
    }

    /// By a quarter, not to twice the size: a ring goes round all of its memory, and what is not there stays out of the
    /// caches.
    #[cold]
    fn grow(&mut self) {
        self.packets.reserve_exact((self.packets.len() / 4).max(8));
    }

    /// The next push will have to grow the ring.
    #[inline]
    pub(super) fn is_at_capacity(&self) -> bool {
        self.packets.len() == self.packets.capacity()
    }

    /// Remembers the largest packet that has come, for laws that ask: call it for arrivals, also those turned away.
    #[inline]
    pub fn notice(&mut self, packet: &P) {
        self.largest = self.largest.max(packet.size());
    }

    /// Gives out the packet at the head and when it came.
    #[inline]
    pub fn pop(&mut self) -> Option<(Instant, P)> {
        let (since, packet) = self.packets.pop_front()?;
        self.backlog -= packet.size();
        Some((since, packet))
    }

    /// The packet at the head and when it came.
    #[inline]
    pub fn head(&self) -> Option<(Instant, &P)> {
        self.packets.front().map(|(since, packet)| (*since, packet))
    }

    /// The packet at that place behind the head.
    pub fn get(&self, index: usize) -> Option<&P> {
        self.packets.get(index).map(|(_, packet)| packet)
    }

    /// Takes a packet out of the middle; those behind it (or before it, if they are fewer) move up.
    pub fn remove(&mut self, index: usize) -> Option<P> {
        let (_, packet) = self.packets.remove(index)?;
        self.backlog -= packet.size();
        Some(packet)
    }

    /// How long the head has waited; zero if there is none.
    #[inline]
    pub fn head_age(&self, now: Instant) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |(since, _)| now.since(*since))
    }

    /// Data held.
    #[inline]
    pub fn backlog(&self) -> Bytes {
        self.backlog
    }

    /// Packets held.
    #[inline]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// What a law sees of `packet`, which came at `since`, when this line is the whole queue.
    #[inline]
    pub fn look(&self, now: Instant, packet: &P, since: Instant, mtu: Bytes) -> Look {
        Look {
            now,
            size: packet.size(),
            ecn: packet.ecn(),
            sojourn: now.since(since),
            head_age: self.head_age(now),
            own_backlog: self.backlog,
            total_backlog: self.backlog,
            len: self.len(),
            mtu,
            largest: self.largest,
            largest_of_all: self.largest,
        }
    }
}
