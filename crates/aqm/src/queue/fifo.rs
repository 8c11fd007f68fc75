//! First in, first out, under a law.

use crate::{Dequeued, Law, Limit, LinkInfo, Look, Packet, Qdisc, Reason, Sink, Verdict};
use alloc::collections::VecDeque;
use core::fmt::Debug;
use units::{Bytes, Duration, Instant};

/// One queue, one law. With [`Never`](crate::law::Never) it is DropTail.
#[derive(Debug)]
pub struct Fifo<P, L> {
    law: L,
    packets: VecDeque<(Instant, P)>,
    backlog: Bytes,
    limit: Limit,
    mtu: Bytes,
    largest: Bytes,
}

impl<P: Packet, L: Law> Fifo<P, L> {
    /// An empty queue. `limit` applies where the link gives none.
    pub fn new(law: L, link: &LinkInfo, limit: Limit) -> Self {
        Fifo {
            law,
            packets: VecDeque::new(),
            backlog: Bytes::ZERO,
            limit: link.limit.unwrap_or(limit),
            mtu: link.mtu,
            largest: Bytes::ZERO,
        }
    }

    fn look(&self, now: Instant, packet: &P, since: Instant) -> Look {
        Look {
            now,
            size: packet.size(),
            ecn: packet.ecn(),
            sojourn: now.since(since),
            head_age: self.packets.front().map_or(Duration::ZERO, |(at, _)| now.since(*at)),
            own_backlog: self.backlog,
            total_backlog: self.backlog,
            len: self.packets.len(),
            mtu: self.mtu,
            largest: self.largest,
        }
    }
}

impl<P: Packet + Debug + Send, L: Law> Qdisc<P> for Fifo<P, L> {
    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut dyn Sink<P>) -> bool {
        let size = packet.size();
        let look = self.look(now, &packet, now);
        self.law.advance(&look);
        if self.limit.full(self.packets.len(), self.backlog, size) {
            self.law.on_forced_drop(1);
            drops.dropped(packet, Reason::Overflow);
            return false;
        }
        let marked = match self.law.on_enqueue(&look) {
            Verdict::Pass => false,
            Verdict::Mark if packet.mark() => true,
            Verdict::Mark | Verdict::Drop => {
                drops.dropped(packet, Reason::Law);
                return false;
            }
        };
        self.largest = self.largest.max(size);
        self.backlog += size;
        self.packets.push_back((now, packet));
        marked
    }

    fn dequeue(&mut self, now: Instant, drops: &mut dyn Sink<P>) -> Option<Dequeued<P>> {
        while let Some((since, mut packet)) = self.packets.pop_front() {
            self.backlog -= packet.size();
            let look = self.look(now, &packet, since);
            self.law.advance(&look);
            let verdict = self.law.on_dequeue(&look);
            if self.packets.is_empty() {
                self.law.on_empty(now);
            }
            match verdict {
                Verdict::Pass => return Some(Dequeued { packet, sojourn: look.sojourn, marked: false }),
                Verdict::Mark if packet.mark() => {
                    return Some(Dequeued { packet, sojourn: look.sojourn, marked: true });
                }
                Verdict::Mark | Verdict::Drop => drops.dropped(packet, Reason::Law),
            }
        }
        None
    }

    fn backlog(&self) -> Bytes {
        self.backlog
    }

    fn len(&self) -> usize {
        self.packets.len()
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.limit = link.limit.unwrap_or(self.limit);
        self.mtu = link.mtu;
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.law.vars(see);
    }
}
