//! What happens at hosts: packets arrive, timers fire, segments leave, congestion control tells what it did.

use crate::digest::Fact;
use crate::histogram::Histogram;
use crate::node::{Node, Transport};
use crate::outside::Fate;
use crate::packet::{Packet, Way};
use crate::probe::{Probe, Trace};
use crate::scheduler::Scheduler;
use crate::timers::{Owners, Strict, Timer};
use crate::traffic;
use crate::world::World;
use experiment::DATAGRAM_HEADER;
use tcp::{Config, Segment};
use units::Instant;

/// Two delay back-offs less than so many RTTs apart are a double one: "two successive back-offs with a two RTT interval
/// gap between them", "while cwnd was below BDP" (HLDG thesis, section 4.2.2). A round takes a little longer than an RTT.
pub(crate) const ON_THE_HEELS: f64 = 2.5;

/// Those whose timers wait.
struct Hosts<'a> {
    nodes: &'a mut [Node],
    scheduler: &'a mut Scheduler,
}

impl Owners for Hosts<'_> {
    #[inline]
    fn fetch(&self, timer: &Timer) {
        self.nodes[timer.flow as usize].prefetch_timer(timer.receiver);
    }

    #[inline]
    fn renew(&mut self, timer: Timer) -> Option<Timer> {
        let Transport::Tcp(tcp) = &mut self.nodes[timer.flow as usize].transport else { return Some(timer) };
        let at = tcp.end(timer.receiver).next_timer();
        let set = &mut tcp.timers[timer.receiver as usize];
        if set.1 != timer.order {
            // It was set anew for an earlier time.
            return None;
        }
        if at <= timer.at {
            return Some(timer);
        }
        *set = (at, if at == Instant::MAX { timer.order } else { self.scheduler.ticket() });
        (at < Instant::MAX).then_some(Timer { at, order: set.1, ..timer })
    }
}

impl<P: Probe> World<P> {
    pub(crate) fn deliver(&mut self, packet: &Packet) {
        let now = self.now;
        self.packets.delivered += 1;
        self.digest.fold(
            now,
            Fact::Deliver,
            packet.flow << 1 | packet.way as u32,
            packet.segment.seq ^ packet.segment.ack << 32,
        );
        if P::ON {
            self.probe.see(now, Trace::Deliver { packet });
        }
        if packet.flow >= self.sessions.fixed {
            return self.deliver_to_connection(packet);
        }
        if self.measuring && !self.scenario.run.gaps.is_empty() {
            self.count_gap(packet);
        }
        match packet.way {
            Way::Out => self.deliver_out(packet),
            Way::Back => self.deliver_back(packet),
        }
    }

    /// To the receiver of the data.
    #[inline(always)]
    fn deliver_out(&mut self, packet: &Packet) {
        let (now, flow) = (self.now, packet.flow);
        let delay = now.since(packet.born);
        if !self.many {
            let bucket = Histogram::bucket(delay);
            self.nodes[flow as usize].count.arrived(packet.size, delay, bucket, self.measuring);
        } else {
            self.prefetch_next(packet, Way::Out);
            if self.delays.arrived(flow, packet.size, delay) {
                self.count_delays();
            }
        }
        if packet.copy && self.measuring {
            self.nodes[flow as usize].count.copies += 1;
        }
        match &mut self.nodes[flow as usize].transport {
            Transport::Datagrams(d) => {
                if d.seen.first(packet.segment.seq) {
                    d.received_bytes += packet.size as u64 - DATAGRAM_HEADER.get();
                }
            }
            Transport::Outside(_) => self.fates.push(Fate::delivered(now, packet)),
            Transport::Tcp(tcp) => {
                tcp.receiver.on_data(now, &packet.segment);
                let waits = tcp.receiver.has_unread();
                if tcp.goal != u64::MAX && tcp.receiver.received() >= tcp.goal {
                    traffic::transfer_done(self, flow);
                }
                self.pump_end::<true>(flow);
                if waits {
                    traffic::read(self, flow);
                }
            }
        }
    }

    /// To its sender.
    #[inline(always)]
    fn deliver_back(&mut self, packet: &Packet) {
        let (now, flow) = (self.now, packet.flow);
        if self.many {
            self.prefetch_next(packet, Way::Back);
        }
        let node = &mut self.nodes[flow as usize];
        let tcp = match &mut node.transport {
            Transport::Tcp(tcp) => tcp,
            Transport::Outside(_) => return self.fates.push(Fate::delivered(now, packet)),
            Transport::Datagrams(_) => return,
        };
        let heard = tcp.sender.on_ack(now, &packet.segment);
        if self.measuring {
            if self.scenario.run.estimates
                && let Some(estimates) = tcp.sender.take_estimates()
            {
                let (mss, headers) = (node.spec.mss, Config::of(node.spec.stack).headers());
                node.count.round(estimates, mss, mss + headers);
            }
            if let Some(rtt) = heard.rtt {
                if !self.many {
                    node.count.rtt.add(rtt);
                } else if self.delays.measured(flow, rtt) {
                    self.count_delays();
                }
            }
        }
        self.pump_end::<false>(flow);
    }

    /// Fetches what the packets behind this one will touch. Those of a line mostly go the same way.
    #[inline(always)]
    fn prefetch_next(&self, packet: &Packet, way: Way) {
        let Some(line) = self.net.lines.get(self.net.hops[packet.hop as usize].line as usize) else { return };
        let [next, second] = line.next();
        if let Some(second) = second {
            self.nodes[second.flow as usize].prefetch(way);
        }
        if way == Way::Back
            && let Some(next) = next
        {
            self.nodes[next.flow as usize].prefetch_outlying();
        }
    }

    #[cold]
    fn count_gap(&mut self, packet: &Packet) {
        if let Some(gaps) = &mut self.nodes[packet.flow as usize].count.gaps {
            gaps[packet.way as usize].arrived(self.now);
        }
    }

    #[inline(never)]
    pub(crate) fn timer(&mut self) {
        let now = self.now;
        // With few flows a slot is loaded long before it is due: asked then, the owners would know of no deadline that
        // has moved.
        let timer = if self.many {
            self.timers.pop(&mut Hosts { nodes: &mut self.nodes, scheduler: &mut self.scheduler })
        } else {
            self.timers.pop(&mut Strict)
        };
        match self.timers.next() {
            Some(next) => self.scheduler.set(self.timers_source, next.at, next.order),
            None => self.scheduler.clear(self.timers_source),
        }
        let Some(Timer { order, flow, receiver, .. }) = timer else { return };
        let Transport::Tcp(tcp) = &mut self.nodes[flow as usize].transport else { return };
        let set = &mut tcp.timers[receiver as usize];
        if set.1 != order {
            // It was set anew for an earlier time.
            return;
        }
        set.0 = Instant::MAX;
        let host = if receiver { &mut tcp.receiver } else { &mut tcp.sender };
        if host.next_timer() <= now {
            host.on_timer(now);
        }
        self.pump(flow, receiver);
    }

    /// Sends what a host has to send, collects its events and sets its timer.
    #[inline(never)]
    pub(crate) fn pump(&mut self, flow: u32, receiver: bool) {
        if receiver { self.pump_end::<true>(flow) } else { self.pump_end::<false>(flow) }
    }

    /// [`pump`](Self::pump) for one end, known when compiling: most of what is asked here concerns one of the two only.
    #[inline(always)]
    fn pump_end<const RECEIVER: bool>(&mut self, flow: u32) {
        let Transport::Tcp(tcp) = &mut self.nodes[flow as usize].transport else { return };
        if tcp.end(RECEIVER).may_send() {
            self.send::<RECEIVER>(flow);
        }
        let now = self.now;
        let Transport::Tcp(tcp) = &mut self.nodes[flow as usize].transport else { return };
        let timer = tcp.end(RECEIVER).next_timer();
        let set = &mut tcp.timers[RECEIVER as usize];
        // A deadline put off is noticed when the old one fires: moving it on every ACK would cost more.
        if timer < set.0 {
            let order = self.scheduler.ticket();
            *set = (timer, order);
            let at = timer.max(now);
            if self.timers.add(Timer { at, order, flow, receiver: RECEIVER }) {
                self.scheduler.set(self.timers_source, at, order);
            }
        }
        if !RECEIVER {
            if tcp.sender.flow().cwnd != tcp.cwnd {
                tcp.cwnd = tcp.sender.flow().cwnd;
                self.digest.fold(now, Fact::Window, flow, tcp.cwnd.get());
            }
            if tcp.sender.flow().has_events() {
                self.collect_events(flow);
            }
        } else if flow >= self.sessions.fixed && tcp.receiver.flow().has_events() {
            // A client's requests are no part of the results.
            drop(tcp.receiver.flow_mut().drain_events());
        }
    }

    /// Hands over what may leave.
    #[inline(always)]
    fn send<const RECEIVER: bool>(&mut self, flow: u32) {
        let now = self.now;
        let way = if RECEIVER { Way::Back } else { Way::Out };
        let hop = self.net.first_hop(flow, way);
        let mut packet = Packet { segment: Segment::default(), born: now, flow, size: 0, hop, way, copy: false };
        loop {
            let Transport::Tcp(tcp) = &mut self.nodes[flow as usize].transport else { return };
            let end = tcp.end(RECEIVER);
            let some = if RECEIVER {
                end.poll_out_of_line(now, &mut packet.segment)
            } else {
                end.poll_into(now, &mut packet.segment)
            };
            if !some {
                return;
            }
            tcp.sent += u64::from(!RECEIVER && self.measuring);
            packet.size = packet.segment.size().get() as u32;
            self.hand_over(&packet);
        }
    }

    #[cold]
    pub(crate) fn collect_events(&mut self, f: u32) {
        let node = &mut self.nodes[f as usize];
        let Transport::Tcp(tcp) = &mut node.transport else { return };
        let bdp = node.bdp;
        let soon = tcp.sender.flow().srtt.mul_f64(ON_THE_HEELS);
        for mut event in tcp.sender.flow_mut().drain_events() {
            event.flow = f;
            let fact = (event.kind as u64) << 48 ^ event.cwnd_after;
            self.digest.fold(Instant::from_nanos(event.time), Fact::Window, f | 1 << 31, fact);
            node.count.caused(&event, self.now, node.start, bdp, soon);
            if P::ON {
                event.flow = self.sessions.flow(f);
                self.probe.see(self.now, Trace::Event(&event));
            }
        }
    }
}
