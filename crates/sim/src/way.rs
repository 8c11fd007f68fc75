//! The way of a packet: from host to link, through queue and transmitter, along a delay line, to the next.

use crate::diftr::Event;
use crate::digest::Fact;
use crate::link::{DropWhy, Through, Transmitter};
use crate::network::{DIRECT, To};
use crate::outside::Fate;
use crate::packet::{Packet, Way};
use crate::probe::{Probe, Trace};
use crate::world::World;
use experiment::LossAt;
use tcp::Segment;
use units::{Bytes, Duration, Instant};

impl<P: Probe> World<P> {
    /// A host hands a segment over.
    #[inline]
    pub(crate) fn launch(&mut self, flow: u32, way: Way, segment: Segment, size: u32) {
        let hop = self.net.first_hop(flow, way);
        self.hand_over(&Packet { segment, born: self.now, flow, size, hop, way, copy: false });
    }

    #[inline]
    pub(crate) fn hand_over(&mut self, packet: &Packet) {
        self.packets.sent += 1;
        if P::ON {
            self.probe.see(self.now, Trace::Send { packet });
        }
        self.forward(packet, self.now);
    }

    /// A packet leaves its present place at `depart` and takes its next hop.
    #[inline(always)]
    pub(crate) fn forward(&mut self, packet: &Packet, depart: Instant) {
        let hop = self.net.hops[packet.hop as usize];
        if hop.line == DIRECT {
            self.arrive(packet);
        } else {
            self.net.lines[hop.line as usize].push(depart, packet, &mut self.scheduler);
        }
    }

    /// A packet comes to the end of a hop.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, packet: &Packet) {
        if P::ON {
            self.log_send(packet);
        }
        match self.net.hops[packet.hop as usize].to {
            To::Link(link) => self.enqueue(link, packet),
            To::Host => self.deliver(packet),
            To::Tick(link) => self.tick_arrival(link, *packet),
        }
    }

    /// Shows the probe what happened at a queue, and the queue.
    pub(crate) fn log_queue(&mut self, link: u32, event: Event, packet: &Packet, sojourn: Option<Duration>) {
        let l = &self.net.links[link as usize];
        // A flow's own access link is none of the experiment's, and has no name there.
        let named = (link as usize) < self.scenario.links.len();
        if named && self.probe.queues() && !matches!(l.transmitter, Transmitter::Unlimited) {
            self.probe.see(self.now, Trace::Queue { link, event, packet, sojourn, queue: &*l.queue });
        }
    }

    /// A packet has come to the end of a link's delay.
    fn log_send(&mut self, packet: &Packet) {
        let hops = &self.net.hops;
        let before = (packet.hop as usize).checked_sub(1).map(|i| hops[i].to);
        if let Some(To::Link(link) | To::Tick(link)) = before {
            self.log_queue(link, Event::Send, packet, None);
        }
    }

    pub(crate) fn lose(&mut self, l: u32, packet: &Packet, why: DropWhy) {
        self.packets.dropped += 1;
        if self.outside {
            self.fates.push(Fate::Dropped { handle: packet.segment.ts_val });
        }
        self.digest.fold(self.now, Fact::Drop, l, (packet.flow as u64) << 32 | packet.size as u64);
        self.net.links[l as usize].count_drop(why, self.measuring);
        // A link's copy is no packet that the flow sent.
        if packet.way == Way::Out && !packet.copy {
            let late = self.is_late(packet);
            let owner = if late { self.sessions.flow(packet.flow) } else { packet.flow };
            let count = &mut self.nodes[owner as usize].count;
            // A lost SYN is no loss that an algorithm would hear of.
            count.backoffs.losses.silent += u64::from(packet.segment.len > 0);
            count.lost_packets += u64::from(self.measuring);
        }
        if P::ON {
            self.probe.see(self.now, Trace::Drop { link: l, packet, why });
            self.log_queue(l, why.into(), packet, None);
        }
    }

    #[cold]
    pub(crate) fn account_drops(&mut self, l: u32) {
        let mut drops = core::mem::take(&mut self.drops.0);
        for (packet, reason) in drops.drain(..) {
            self.lose(l, &packet, reason.into());
        }
        self.drops.0 = drops;
    }

    pub(crate) fn marked(&mut self, l: u32, packet: &Packet) {
        self.digest.fold(self.now, Fact::Mark, l, (packet.flow as u64) << 32 | packet.size as u64);
        let link = &mut self.net.links[l as usize];
        link.count.marked += u64::from(self.measuring);
        link.step.marked += 1;
        if P::ON {
            self.probe.see(self.now, Trace::Mark { link: l, packet });
            self.log_queue(l, Event::Mark, packet, None);
        }
    }

    pub(crate) fn enqueue(&mut self, l: u32, packet: &Packet) {
        let now = self.now;
        let link = &mut self.net.links[l as usize];
        link.arrived(packet.size, self.measuring);
        let mut routed;
        let mut packet = packet;
        if link.impaired {
            routed = *packet;
            link.pass_router(now, &mut routed);
            packet = &routed;
        }
        if link.impaired && link.loss_at == LossAt::Enqueue && link.loss.strikes() {
            self.lose(l, packet, DropWhy::Random);
            return;
        }
        if matches!(link.transmitter, Transmitter::Unlimited) {
            link.passed(packet.size, self.measuring);
            self.leave(l, &mut { *packet }, now);
            return;
        }
        link.account(now);
        if let Some(through) = link.through {
            return self.enqueue_through(l, packet, through);
        }
        if !link.pending && now > link.free_at {
            link.queue.idle(link.free_at);
        }
        let marked = link.queue.enqueue(now, *packet, &mut self.drops);
        let len = link.len + 1 - self.drops.0.len();
        debug_assert_eq!(len, link.queue.len());
        link.len = len;
        let refused = |p: &Packet| p.born == packet.born && p.flow == packet.flow && p.segment == packet.segment;
        if self.drops.0.is_empty() || !self.drops.0.iter().any(|(p, _)| refused(p)) {
            self.entered(l, packet);
            if P::ON {
                self.probe.see(now, Trace::Enqueue { link: l, packet, len });
                self.log_queue(l, Event::Enqueue, packet, None);
            }
        }
        if marked {
            self.marked(l, packet);
        }
        if !self.drops.0.is_empty() {
            self.account_drops(l);
        }
        self.rouse(l);
    }

    /// The same for a FIFO whose packets wait in the row of the line behind it: never moved, and no queue is called.
    #[inline(always)]
    fn enqueue_through(&mut self, l: u32, packet: &Packet, through: Through) {
        let now = self.now;
        let link = &mut self.net.links[l as usize];
        let size = Bytes::new(packet.size as u64);
        if through.limit.full(link.len, link.backlog, size) {
            self.lose(l, packet, DropWhy::Overflow);
        } else {
            link.len += 1;
            link.backlog += size;
            self.net.lines[through.line as usize].hold(now, packet);
            self.entered(l, packet);
        }
        self.rouse(l);
    }

    /// A packet waits at link `l`.
    #[inline(always)]
    fn entered(&mut self, l: u32, packet: &Packet) {
        let link = &mut self.net.links[l as usize];
        self.digest.fold(self.now, Fact::Enqueue, l, (packet.flow as u64) << 32 | link.len as u64);
        if self.measuring && link.len > link.count.most {
            link.count.most = link.len;
        }
    }

    /// When link `l` is to be served next; `None`: when something comes.
    #[inline(always)]
    fn serve_at(&mut self, l: u32, at: Option<Instant>) {
        let link = &mut self.net.links[l as usize];
        link.pending = at.is_some();
        match at {
            Some(at) => {
                let order = self.scheduler.ticket();
                self.scheduler.set(link.source, at, order);
            }
            None => self.scheduler.clear(link.source),
        }
    }

    /// Something came: a transmitter at rest begins, or will as soon as it is free.
    #[inline(always)]
    fn rouse(&mut self, l: u32) {
        let link = &self.net.links[l as usize];
        if link.pending {
            return;
        }
        if self.now >= link.free_at {
            self.transmit_at_once(l);
        } else {
            self.serve_at(l, Some(link.free_at));
        }
    }

    /// [`transmit`](Self::transmit) for a packet that finds nobody before it.
    #[inline(never)]
    fn transmit_at_once(&mut self, l: u32) {
        self.transmit(l);
    }

    /// The transmitter is free: take the next packet and send it.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, l: u32) {
        let now = self.now;
        let link = &mut self.net.links[l as usize];
        link.account(now);
        if let Some(through) = link.through {
            return self.transmit_through(l, through.line);
        }
        let mut out = link.queue.dequeue(now, &mut self.drops);
        let len = link.len - usize::from(out.is_some()) - self.drops.0.len();
        debug_assert_eq!(len, link.queue.len());
        link.len = len;
        if let Some(out) = &out {
            link.sends(now, out.packet.size, out.sojourn, self.measuring);
        }
        let next = if len == 0 {
            None
        } else if out.is_some() {
            Some(link.free_at)
        } else {
            link.queue.wake()
        };
        let free_at = link.free_at;
        self.serve_at(l, next);
        if !self.drops.0.is_empty() {
            self.account_drops(l);
        }
        if let Some(out) = &mut out {
            self.digest.fold(now, Fact::Dequeue, l, (out.packet.flow as u64) << 32 | len as u64);
            if out.marked {
                self.marked(l, &out.packet);
            }
            if P::ON {
                self.probe.see(now, Trace::Dequeue { link: l, packet: &out.packet, sojourn: out.sojourn, len });
                self.log_queue(l, Event::Dequeue, &out.packet, Some(out.sojourn));
            }
            self.leave(l, &mut out.packet, free_at);
        }
    }

    /// [`transmit`](Self::transmit) from the row of the line behind the link.
    #[inline(always)]
    fn transmit_through(&mut self, l: u32, line: u32) {
        let now = self.now;
        let link = &mut self.net.links[l as usize];
        if link.len == 0 {
            return self.serve_at(l, None);
        }
        let (packet, since) = self.net.lines[line as usize].waiting();
        packet.hop += 1;
        let (size, flow, sojourn) = (packet.size, packet.flow, now.since(since));
        link.len -= 1;
        link.backlog -= Bytes::new(size as u64);
        link.sends(now, size, sojourn, self.measuring);
        let (len, free_at) = (link.len, link.free_at);
        self.serve_at(l, (len > 0).then_some(free_at));
        self.digest.fold(now, Fact::Dequeue, l, (flow as u64) << 32 | len as u64);
        self.net.lines[line as usize].release(free_at, &mut self.scheduler);
    }

    /// A packet has been sent by link `l` and begins to propagate at `depart`.
    #[inline]
    pub(crate) fn leave(&mut self, l: u32, packet: &mut Packet, depart: Instant) {
        packet.hop += 1;
        if self.net.links[l as usize].impaired {
            self.leave_impaired(l, *packet, depart);
        } else {
            self.forward(packet, depart);
        }
    }

    #[cold]
    pub(crate) fn leave_impaired(&mut self, l: u32, packet: Packet, depart: Instant) {
        let link = &mut self.net.links[l as usize];
        if link.loss_at == LossAt::After && link.loss.strikes() {
            link.count.lost_behind += u64::from(self.measuring);
            self.lose(l, &packet, DropWhy::Random);
            return;
        }
        let (p, rng) = &mut link.duplicate;
        let twice = rng.chance(*p);
        let late = link.reorder.as_mut().and_then(|(p, delay, rng)| rng.chance(*p).then_some(*delay));
        if let Some(delay) = late {
            let hop = self.net.hops[packet.hop as usize];
            let at = depart + self.net.lines[hop.line as usize].delay + delay;
            let order = self.scheduler.ticket();
            self.late.insert((at, order), packet);
            self.schedule_late();
        } else {
            self.forward(&packet, depart);
        }
        if twice {
            self.packets.sent += 1;
            if self.outside {
                self.fates.push(Fate::Copied { handle: packet.segment.ts_val });
            }
            self.forward(&Packet { copy: true, ..packet }, depart);
        }
    }

    pub(crate) fn schedule_late(&mut self) {
        match self.late.first_key_value() {
            Some((&(at, order), _)) => self.scheduler.set(self.late_source, at, order),
            None => self.scheduler.clear(self.late_source),
        }
    }

    pub(crate) fn late_arrival(&mut self) {
        let (_, packet) = self.late.pop_first().expect("an event means a packet");
        self.schedule_late();
        self.arrive(&packet);
    }
}
