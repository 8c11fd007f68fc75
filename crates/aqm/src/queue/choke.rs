//! CHOKe: RED that compares each arrival with a packet drawn at random from the queue and drops both if they are of one
//! flow. Pan, Prabhakar and Psounis, INFOCOM 2000.
//!
//! ```text
//! avg below min:  come in
//! else:           draw a packet; same flow: drop both; else as RED
//! ```
//!
//! A flow that holds much of the queue meets itself often: senders that ignore drops are held back without a list of
//! flows. Dropping the pair is no signal that ECN could carry, so that it holds for marked senders, too.
//!
//! Departures: Linux leaves a hole where the drawn packet was and draws again where it hits one; here the line closes up.

use super::Lane;
use crate::law::red::{self, Red};
use crate::{Averaging, Dequeued, Law, LawKind, Limit, LinkInfo, Packet, Qdisc, QdiscKind, Reason, Sink, Verdict};
use alloc::boxed::Box;
use core::fmt::Debug;
use params::Auto;
use units::{Bytes, Instant, Rng};

params::params! {
    /// What users may set.
    pub struct Params {
        /// Average queue in packets below which nothing happens (the paper's experiments: 100).
        min: Auto = Auto::of(5.0), Auto::of(0.0) => Auto::of(1e6);
        /// Average queue in packets above which everything is dropped (200).
        max: Auto = Auto::of(15.0), Auto::of(1e-3) => Auto::of(1e7);
        /// Weight of an arrival in the average.
        weight: Auto = Auto::of(0.002), Auto::of(1e-5) => Auto::of(1.0);
        /// RED's probability where its band ends.
        max_p: f64 = 0.02, 0.0 => 1.0;
        /// Packets drawn for each arrival: more hold back more such senders.
        draws: u32 = 1, 1 => 64;
        /// Mark packets that can be marked where RED would drop them.
        ecn: bool = false;
        /// Packets held where the experiment gives no buffer.
        limit: usize = 1_000, 1 => 1_000_000_000;
    }
    check |p| { ::params::Params::check(&p.red()) }
}

impl Params {
    fn red(&self) -> red::Params {
        red::Params {
            min: self.min,
            max: self.max,
            weight: self.weight,
            max_p: self.max_p,
            ecn: self.ecn,
            ..red::Params::default()
        }
    }
}

/// One line under RED, and the draw.
#[derive(Debug)]
pub struct Choke<P> {
    red: Red,
    lane: Lane<P>,
    draws: u32,
    limit: Limit,
    mtu: Bytes,
    matched: u64,
    rng: Rng,
}

impl<P: Packet> Choke<P> {
    /// An empty line. `params.limit` applies where the link gives none.
    pub fn new(params: &Params, link: &LinkInfo, mut rng: Rng) -> Self {
        let dice = Rng::new(rng.bits(), 0, units::streams::AQM);
        let limit = link.limit_or(params.limit);
        let link = link.limited(params.limit);
        Choke {
            red: Red::new(&params.red(), &link, rng),
            lane: Lane::default(),
            draws: params.draws,
            limit,
            mtu: link.mtu,
            matched: 0,
            rng: dice,
        }
    }

    /// The place of a drawn packet of that flow.
    fn draw(&mut self, flow: u64) -> Option<usize> {
        let held = self.lane.len() as u64;
        (0..self.draws.min(held as u32)).find_map(|_| {
            let i = self.rng.below(held) as usize;
            self.lane.get(i).is_some_and(|drawn| drawn.flow() == flow).then_some(i)
        })
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for Choke<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut dyn Sink<P>) -> bool {
        self.lane.notice(&packet);
        let look = self.lane.look(now, &packet, now, self.mtu);
        let above = self.red.observe(&look);
        let met = if above { self.draw(packet.flow()) } else { None };
        if let Some(drawn) = met.and_then(|i| self.lane.remove(i)) {
            self.matched += 1;
            drops.dropped(drawn, Reason::Law);
            drops.dropped(packet, Reason::Law);
            return false;
        }
        // RED decides before the limit is looked at, as in sch_choke.
        let verdict = if above { self.red.judge(&look) } else { Verdict::Pass };
        let marked = verdict == Verdict::Mark && packet.mark();
        if !marked && verdict != Verdict::Pass {
            drops.dropped(packet, Reason::Law);
            return false;
        }
        if self.limit.full(self.lane.len(), self.lane.backlog(), packet.size()) {
            self.red.on_refused(&look);
            drops.dropped(packet, Reason::Overflow);
            return false;
        }
        self.lane.push(now, packet);
        marked
    }

    fn dequeue(&mut self, now: Instant, _: &mut dyn Sink<P>) -> Option<Dequeued<P>> {
        let Some((since, packet)) = self.lane.pop() else {
            self.red.on_empty(now);
            return None;
        };
        Some(Dequeued { packet, sojourn: now.since(since), marked: false })
    }

    fn idle(&mut self, since: Instant) {
        if self.lane.is_empty() {
            self.red.on_empty(since);
        }
    }

    fn backlog(&self) -> Bytes {
        self.lane.backlog()
    }

    fn len(&self) -> usize {
        self.lane.len()
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.limit = link.limit.unwrap_or(self.limit);
        self.mtu = link.mtu;
        self.red.set_link(&LinkInfo { limit: Some(self.limit), ..*link });
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.red.vars(see);
        see("matched", self.matched as f64);
    }
}

/// [`Choke`] in the table of queues.
#[derive(Debug)]
pub struct Kind;

impl QdiscKind for Kind {
    const PAPER: &'static str = "Pan, Prabhakar and Psounis, INFOCOM 2000";
    const DOC: &'static str = "RED that drops an arrival and a packet drawn from the queue if they are of one flow.";
    const SCHEDULER: &'static str = "first in, first out; drawn packets leave the middle";
    type Params = Params;

    fn averaging(p: &Params, link: &LinkInfo) -> Option<Averaging> {
        Some(p.red().averaging(link))
    }

    fn make<P: Packet + Debug + Send + 'static>(p: &Params, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>> {
        Box::new(Choke::<P>::new(p, link, rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::law::testing::link;
    use std::vec::Vec;
    use units::{Duration, streams};

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Sample(u64);

    impl Packet for Sample {
        fn size(&self) -> Bytes {
            Bytes::new(1500)
        }
        fn flow(&self) -> u64 {
            self.0
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn mark(&mut self) -> bool {
            false
        }
    }

    impl Sink<Sample> for Vec<Sample> {
        fn dropped(&mut self, packet: Sample, _: Reason) {
            self.push(packet);
        }
    }

    #[test]
    fn an_arrival_that_meets_its_flow_goes_with_it() {
        // The average follows at once, max is out of reach: only meetings drop.
        let params = Params { weight: Auto::of(1.0), max: Auto::of(1e6), max_p: 0.0, ..Params::default() };
        let mut queue = Choke::new(&params, &link(10.0), Rng::new(1, 0, streams::AQM));
        let mut drops = Vec::new();
        for flow in [7, 7, 7, 7, 7] {
            queue.enqueue(Instant::ZERO, Sample(flow), &mut drops);
        }
        assert!(drops.is_empty(), "below min nothing is drawn");
        queue.enqueue(Instant::ZERO, Sample(8), &mut drops);
        assert!(drops.is_empty() && queue.lane.len() == 6);
        // Five of six are of flow 7: a few arrivals of it, and it has met itself.
        while drops.is_empty() {
            queue.enqueue(Instant::ZERO, Sample(7), &mut drops);
        }
        assert_eq!((drops[0], drops[1], drops.len()), (Sample(7), Sample(7), 2));
    }

    #[test]
    fn a_flood_gets_less_than_its_share_of_the_load() {
        // 30 polite flows offer 0.9 of the link together, the flood 2.
        let params = Params { min: Auto::of(20.0), max: Auto::of(60.0), ..Params::default() };
        let link = LinkInfo { limit: Some(Limit::Packets(120)), ..link(10.0) };
        let mut queue = Choke::new(&params, &link, Rng::new(1, 0, streams::AQM));
        let mut rng = Rng::new(2, 0, 0);
        let (mut drops, mut sent) = (Vec::new(), [0u32; 2]);
        for i in 0..200_000u64 {
            let now = Instant::ZERO + Duration::from_micros(i * 1_200);
            if rng.chance(0.9) {
                queue.enqueue(now, Sample(rng.below(30)), &mut drops);
            }
            queue.enqueue(now, Sample(99), &mut drops);
            queue.enqueue(now, Sample(99), &mut drops);
            if let Some(out) = queue.dequeue(now, &mut drops) {
                sent[usize::from(out.packet.0 == 99)] += 1;
            }
        }
        // By load it would have 2 of 2.9, 69 %.
        let share = f64::from(sent[1]) / f64::from(sent[0] + sent[1]);
        assert!(share < 0.4, "{share}");
    }

    #[test]
    fn red_decides_before_a_full_buffer_does() {
        struct Whys(Vec<Reason>);
        impl Sink<Sample> for Whys {
            fn dropped(&mut self, _: Sample, reason: Reason) {
                self.0.push(reason);
            }
        }
        // Four packets fit; the average follows at once, and nobody meets itself.
        let reasons = |max: f64| {
            let params = Params { weight: Auto::of(1.0), min: Auto::of(1.0), max: Auto::of(max), ..Params::default() };
            let link = LinkInfo { limit: Some(Limit::Packets(4)), ..link(10.0) };
            let mut queue = Choke::new(&Params { max_p: 0.0, ..params }, &link, Rng::new(1, 0, streams::AQM));
            let mut whys = Whys(Vec::new());
            (0..5).for_each(|flow| _ = queue.enqueue(Instant::ZERO, Sample(flow), &mut whys));
            whys.0
        };
        assert_eq!(reasons(3.5), [Reason::Law], "above max");
        assert_eq!(reasons(100.0), [Reason::Overflow]);
    }

    #[test]
    fn so_many_packets_are_drawn_for_an_arrival() {
        // One of ten is of flow 7.
        for (draws, most) in [(1, 0.1), (2, 0.19)] {
            let params = Params { draws, min: Auto::of(100.0), max: Auto::of(300.0), ..Params::default() };
            let mut queue = Choke::new(&params, &link(10.0), Rng::new(1, 0, streams::AQM));
            let mut drops = Vec::new();
            (7..17).for_each(|flow| _ = queue.enqueue(Instant::ZERO, Sample(flow), &mut drops));
            let met = (0..10_000).filter(|_| queue.draw(7) == Some(0)).count();
            assert!((met as f64 / 1e4 - most).abs() < 0.01, "{met} of 10000 with {draws}");
        }
    }
}
