//! First in, first out, under a law. With [`Never`](crate::law::Never) it is DropTail.

use super::Lane;
use crate::{Dequeued, Law, Limit, LinkInfo, Look, Packet, Qdisc, Reason, Sink, Verdict};
use core::fmt::Debug;
use units::{Bytes, Instant};

params::choice! {
    /// Which packet an overflow costs.
    pub enum Victim {
        /// The arriving one.
        Tail = "tail",
        /// The oldest: the news travels a queue's length faster.
        Head = "head",
    }
}

params::params! {
    /// What users may set on every queue of one line.
    pub struct Params {
        /// Packets held where the experiment gives no buffer (Linux's pfifo, CoDel and PIE take 1000, as TEACUP does; dummynet 50).
        limit: usize = 1000, 1 => 1_000_000_000;
        /// Which packet an overflow costs: the arriving one, or the oldest as mahimahi's drophead.
        drop: Victim = Victim::Tail;
    }
}

/// One line, one law.
#[derive(Debug)]
pub struct Fifo<P, L> {
    law: L,
    lane: Lane<P>,
    limit: Limit,
    mtu: Bytes,
    victim: Victim,
}

impl<P: Packet, L: Law> Fifo<P, L> {
    /// An empty queue. `limit` applies where the link gives none.
    pub fn new(law: L, link: &LinkInfo, limit: Limit) -> Self {
        Fifo { law, lane: Lane::default(), limit: link.limit.unwrap_or(limit), mtu: link.mtu, victim: Victim::Tail }
    }

    /// The same with another victim of overflows.
    pub fn dropping(mut self, victim: Victim) -> Self {
        self.victim = victim;
        self
    }

    /// The law at work.
    pub fn law(&self) -> &L {
        &self.law
    }

    #[cfg(test)]
    pub(crate) fn law_mut(&mut self) -> &mut L {
        &mut self.law
    }

    #[inline]
    fn full(&self, size: Bytes) -> bool {
        self.limit.full(self.lane.len(), self.lane.backlog(), size)
    }

    /// Arrivals that find the buffer full, or the ring too short: apart, so that the others save no registers for them.
    #[cold]
    #[inline(never)]
    fn take_in_slowly(&mut self, now: Instant, packet: P, drops: &mut dyn Sink<P>) -> bool {
        let size = packet.size();
        if !self.full(size) {
            let look = self.lane.look(now, &packet, now, self.mtu);
            return self.take_in(&look, packet, drops);
        }
        if self.victim == Victim::Tail || self.limit.full(0, Bytes::ZERO, size) {
            let look = self.lane.look(now, &packet, now, self.mtu);
            let reason = self.law.refuse(&look);
            drops.dropped(packet, reason);
            return false;
        }
        let mut n = 0;
        while self.full(size) {
            let Some((_, packet)) = self.lane.pop() else { break };
            drops.dropped(packet, Reason::Overflow);
            n += 1;
        }
        let look = self.lane.look(now, &packet, now, self.mtu);
        self.law.on_forced_drop(&look, n);
        self.take_in(&look, packet, drops)
    }

    /// Takes a packet in that fits, if the law lets it. True if it was marked.
    #[inline(always)]
    fn take_in(&mut self, look: &Look, mut packet: P, drops: &mut dyn Sink<P>) -> bool {
        let mut marked = false;
        if L::ACTIVE {
            match self.law.on_enqueue(look) {
                Verdict::Pass => {}
                Verdict::Mark if packet.mark() => marked = true,
                Verdict::Mark | Verdict::Drop => {
                    drops.dropped(packet, Reason::Law);
                    return false;
                }
            }
        }
        self.lane.push(look.now, packet);
        marked
    }
}

impl<P: Packet + Debug + Send, L: Law> Qdisc<P> for Fifo<P, L> {
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut dyn Sink<P>) -> bool {
        if L::ACTIVE {
            self.lane.notice(&packet);
        }
        let look = self.lane.look(now, &packet, now, self.mtu);
        if L::ACTIVE {
            self.law.advance(&look);
        }
        if self.full(packet.size()) || self.lane.is_at_capacity() {
            return self.take_in_slowly(now, packet, drops);
        }
        self.take_in(&look, packet, drops)
    }

    fn dequeue(&mut self, now: Instant, drops: &mut dyn Sink<P>) -> Option<Dequeued<P>> {
        if !L::ACTIVE {
            let (since, packet) = self.lane.pop()?;
            return Some(Dequeued { packet, sojourn: now.since(since), marked: false });
        }
        while let Some((since, head)) = self.lane.head() {
            let mut look = self.lane.look(now, head, since, self.mtu);
            self.law.advance(&look);
            look.leave();
            let verdict = self.law.on_dequeue(&look);
            let (_, mut packet) = self.lane.pop()?;
            let marked = verdict == Verdict::Mark && packet.mark();
            if marked || verdict == Verdict::Pass {
                return Some(Dequeued { packet, sojourn: look.sojourn, marked });
            }
            drops.dropped(packet, Reason::Law);
        }
        self.law.on_empty(now);
        None
    }

    fn idle(&mut self, since: Instant) {
        if self.lane.is_empty() {
            self.law.on_empty(since);
        }
    }

    fn backlog(&self) -> Bytes {
        self.lane.backlog()
    }

    fn len(&self) -> usize {
        self.lane.len()
    }

    fn plain(&self) -> Option<Limit> {
        (!L::ACTIVE && self.victim == Victim::Tail).then_some(self.limit)
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.limit = link.limit.unwrap_or(self.limit);
        self.mtu = link.mtu;
        self.law.set_link(&LinkInfo { limit: Some(self.limit), ..*link });
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.law.vars(see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::law::testing::link;
    use std::vec::Vec;

    #[derive(Debug)]
    struct Sample;

    impl Packet for Sample {
        fn size(&self) -> Bytes {
            Bytes::new(1500)
        }
        fn flow(&self) -> u64 {
            0
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn mark(&mut self) -> bool {
            false
        }
    }

    impl Sink<Sample> for Vec<Reason> {
        fn dropped(&mut self, _: Sample, reason: Reason) {
            self.push(reason);
        }
    }

    /// Lets everything pass until it has seen so many, and counts what it saw and what was refused.
    #[derive(Debug)]
    struct Counts<const SEES: bool> {
        seen: u32,
        refused: u32,
        pass: u32,
    }

    impl<const SEES: bool> Law for Counts<SEES> {
        const SEES_REFUSED: bool = SEES;
        fn on_enqueue(&mut self, _: &Look) -> Verdict {
            self.seen += 1;
            if self.seen > self.pass { Verdict::Drop } else { Verdict::Pass }
        }
        fn on_refused(&mut self, _: &Look) {
            self.refused += 1;
        }
    }

    fn six_into_three<const SEES: bool>() -> (u32, u32, Vec<Reason>) {
        let law = Counts::<SEES> { seen: 0, refused: 0, pass: 5 };
        let mut queue = Fifo::new(law, &LinkInfo { limit: None, ..link(10.0) }, Limit::Packets(3));
        let mut drops = Vec::new();
        for _ in 0..6 {
            queue.enqueue(Instant::ZERO, Sample, &mut drops);
        }
        (queue.law.seen, queue.law.refused, drops)
    }

    #[test]
    fn some_laws_see_what_does_not_fit_and_may_drop_it_themselves() {
        use Reason::{Law, Overflow};
        assert_eq!(six_into_three::<false>(), (3, 3, std::vec![Overflow; 3]));
        assert_eq!(six_into_three::<true>(), (6, 2, std::vec![Overflow, Overflow, Law]));
    }

    #[test]
    fn codel_leaves_a_line_alone_that_holds_no_more_than_its_largest_packet() {
        use crate::LawKind;
        use crate::law::codel::{self, Codel};
        use units::{Duration, Rng};
        // One packet always waits behind the one that leaves, both for two intervals and more.
        for (behind, dropped) in [(1, false), (2, true)] {
            let law = Codel::new(&codel::Params::default(), &link(10.0), Rng::new(1, 0, 0));
            let mut queue = Fifo::new(law, &link(10.0), Limit::Packets(60));
            let mut drops = Vec::new();
            (0..behind).for_each(|_| _ = queue.enqueue(Instant::ZERO, Sample, &mut drops));
            for i in 1..20u64 {
                let now = Instant::ZERO + Duration::from_millis(50) * i;
                queue.enqueue(now, Sample, &mut drops);
                queue.dequeue(now, &mut drops);
            }
            assert_eq!(!drops.is_empty(), dropped, "{behind} behind");
        }
    }

    #[test]
    fn only_a_line_without_a_law_that_drops_its_tail_is_plain() {
        use crate::law::Never;
        let plain = |victim| {
            let queue = Fifo::<Sample, _>::new(Never, &link(10.0), Limit::Packets(3)).dropping(victim);
            Qdisc::<Sample>::plain(&queue)
        };
        assert_eq!(plain(Victim::Tail), Some(Limit::Packets(60)));
        assert_eq!(plain(Victim::Head), None);
        let law = Counts::<false> { seen: 0, refused: 0, pass: 5 };
        assert_eq!(Qdisc::<Sample>::plain(&Fifo::<Sample, _>::new(law, &link(10.0), Limit::Packets(3))), None);
    }
}
