//! Connections come, carry and go.

use super::{Place, Talk};
use crate::count::FlowCount;
use crate::digest::Fact;
use crate::node::{Node, Tcp, Transport};
use crate::packet::{Packet, Way};
use crate::probe::{Probe, Trace};
use crate::summary::BINS;
use crate::world::{Entry, MANY, World};
use experiment::Traffic;
use experiment::tmix::Replay;
use tcp::Endpoint;
use units::{Bytes, Duration, Instant, Rng, streams};

impl<P: Probe> World<P> {
    /// The next connection of a flow is due: opens it and all that come with it, and waits for the one after.
    pub(crate) fn connections_arrive(&mut self, flow: u32) {
        if self.outside {
            return;
        }
        let begun = self.nodes[flow as usize].start;
        loop {
            let source = self.sessions.source(flow);
            let Some(&(start, number, mss)) = source.replay.order.get(source.next) else { return };
            if begun + start > self.now {
                self.enter(begun + start, Entry::Application(flow));
                return;
            }
            source.next += 1;
            if self.nodes[flow as usize].stopped {
                return;
            }
            self.open_connection(flow, number, mss);
        }
    }

    fn open_connection(&mut self, flow: u32, number: u32, mss: u32) {
        let (now, seed, fixed) = (self.now, self.seed, self.sessions.fixed);
        let measuring = self.measuring;
        let source = self.sessions.source(flow);
        let serial = source.next as u64;
        source.count.opens(now, measuring);
        let connection = source.replay.vectors.connections[number as usize];
        // A place closed in this very moment may still have packets that look like the new connection's.
        let again = source.free.pop_if(|(_, at)| *at < now);
        let mut configs = source.configs.clone();
        let (windows, whole) = match &self.nodes[flow as usize].spec.traffic {
            Traffic::Tmix(tmix) => (connection.windows.filter(|_| tmix.params.windows), tmix.params.whole),
            _ => (None, false),
        };
        for (config, window) in configs.iter_mut().zip([windows.map(|w| w[1]), windows.map(|w| w[0])]) {
            config.mss = Bytes::new(mss as u64);
            if let Some(window) = window {
                config.receive_window = Bytes::new(window.max(mss) as u64);
            }
        }
        let scales = [configs[0].window_scale(), configs[1].window_scale()];
        let [accepting, initiating] = configs;
        let spec = &self.nodes[flow as usize].spec.cc;
        let entity = (flow as u64 + 1) << 40 | serial << 1;
        let built = |entity| {
            move |f: &mut cc::Flow| {
                let rng = Rng::new(seed, entity, streams::CC);
                cc::build(spec, f, rng).expect("the settings were checked with the first flow")
            }
        };
        let mut sender = Endpoint::listen(accepting, &mut built(entity));
        let mut receiver = Endpoint::connect(initiating, &mut built(entity | 1));
        if receiver.is_established() {
            sender.meet(&mut receiver);
        }
        let cwnd = sender.flow().cwnd;
        let transport =
            Transport::Tcp(Tcp { sender, receiver, goal: u64::MAX, sent: 0, cwnd, timers: [(Instant::MAX, 0); 2] });
        let node = match again {
            Some((node, _)) => {
                let old = &mut self.nodes[node as usize];
                old.transport = transport;
                old.count = FlowCount::default();
                (old.start, old.started, old.stopped) = (now, true, false);
                node
            }
            None => {
                let node = self.nodes.len() as u32;
                let parent = &self.nodes[flow as usize];
                let new = Node {
                    spec: parent.spec.clone(),
                    start: now,
                    stopped: false,
                    started: true,
                    rng: Rng::new(seed, entity, streams::TRAFFIC),
                    spurt_until: Instant::ZERO,
                    reads_at: Instant::ZERO,
                    bdp: parent.bdp,
                    count: FlowCount::default(),
                    transfer: None,
                    transport,
                };
                self.nodes.push(new);
                self.net.join(flow);
                self.many |= (node - fixed) as usize > MANY;
                node
            }
        };
        let place = Place {
            flow,
            units: (connection.first, connection.count),
            generation: 0,
            opened: now,
            talk: Talk::new(connection.concurrent, if whole { mss as u64 } else { 1 }, now),
        };
        self.sessions.take(node, place);
        if P::ON {
            let (connection, mss) = (serial as u32, Bytes::new(mss as u64));
            self.probe.see(now, Trace::Open { place: node, flow, connection, mss, scales });
        }
        self.converse(node);
        self.pump(node, true);
        self.pump(node, false);
    }

    /// A reply has come, that much and in that time.
    pub fn exchanged(&mut self, flow: u32, bytes: u64, took: Duration) {
        if bytes > 0 && self.measuring {
            let bin = BINS.iter().position(|most| bytes <= *most).unwrap_or(BINS.len() - 1);
            self.sessions.source(flow).count.exchanges[bin].add(took);
        }
    }

    /// What a flow of connections plays.
    pub fn replay_of(&self, flow: u32) -> Option<&Replay> {
        self.sessions.sources.get(flow as usize)?.as_ref().map(|source| &source.replay)
    }

    /// A connection is opened outside, now.
    pub fn connection_opened(&mut self, flow: u32) {
        let (now, measuring) = (self.now, self.measuring);
        self.sessions.source(flow).count.opens(now, measuring);
    }

    /// A connection has ended outside, now, that long after it was opened.
    pub fn connection_closed(&mut self, flow: u32, lasted: Duration) {
        let (now, measuring) = (self.now, self.measuring);
        self.sessions.source(flow).count.closes(now, measuring, lasted);
    }

    /// Is it from a connection that is closed, and did not wait for it? What becomes of it is the flow's alone: the place is
    /// free, or another connection's.
    #[inline]
    pub(crate) fn is_late(&self, packet: &Packet) -> bool {
        let node = &self.nodes[packet.flow as usize];
        packet.flow >= self.sessions.fixed && (!node.started || packet.born < node.start)
    }

    /// A packet of a connection arrived.
    pub(crate) fn deliver_to_connection(&mut self, packet: &Packet) {
        let now = self.now;
        let measuring = self.measuring;
        let flow = self.sessions.flow(packet.flow);
        if self.is_late(packet) {
            if packet.way == Way::Out && !packet.copy && measuring {
                self.nodes[flow as usize].count.stragglers += 1;
            }
            return;
        }
        let Transport::Tcp(tcp) = &mut self.nodes[packet.flow as usize].transport else { return };
        let heard = match packet.way {
            Way::Out => tcp.receiver.on_segment(now, &packet.segment),
            Way::Back => tcp.sender.on_segment(now, &packet.segment),
        };
        let count = &mut self.nodes[flow as usize].count;
        match packet.way {
            Way::Out => {
                let one_way = now.since(packet.born);
                count.total_bytes += packet.size as u64;
                count.step.add(one_way);
                if measuring {
                    count.delivered_bytes += packet.size as u64;
                    count.one_way.add(one_way);
                    count.copies += u64::from(packet.copy);
                }
            }
            Way::Back => {
                if measuring && let Some(rtt) = heard.rtt {
                    count.rtt.add(rtt);
                }
            }
        }
        self.converse(packet.flow);
        self.pump(packet.flow, packet.way == Way::Out);
        self.close_if_done(packet.flow);
    }

    /// Both sides are through: what was counted goes to the flow, the place is free.
    pub(super) fn close_if_done(&mut self, node: u32) {
        let Transport::Tcp(tcp) = &mut self.nodes[node as usize].transport else { return };
        if !(tcp.sender.is_closed() && tcp.receiver.is_closed()) {
            return;
        }
        tcp.timers = [(Instant::MAX, 0); 2];
        let (now, measuring) = (self.now, self.measuring);
        let came = [tcp.receiver.received(), tcp.sender.received()];
        let place = self.sessions.place(node);
        let (flow, opened) = (place.flow, place.opened);
        // What was written has arrived, all of it and no more: the conservation law of connections.
        assert_eq!(came, place.talk.goal(), "a connection of flow {flow} lost bytes: {place:?}");
        self.settle(node, flow);
        self.nodes[node as usize].started = false;
        let source = self.sessions.source(flow);
        source.count.closes(now, measuring, now.since(opened));
        source.free.push((node, now));
        self.digest.fold(now, Fact::Deliver, node | 1 << 31, came[0]);
    }

    /// Adds what a connection counted to its flow.
    fn settle(&mut self, node: u32, flow: u32) {
        let measuring = self.measuring;
        let child = &mut self.nodes[node as usize];
        if measuring {
            (child.count.goodput[1], child.count.retransmits[1]) = (child.goodput(), child.retransmits());
        }
        let (sent, goodput) = (child.sent_packets(), child.goodput());
        if let Transport::Tcp(tcp) = &mut child.transport {
            tcp.sent = 0;
        }
        let c = core::mem::take(&mut child.count);
        let count = &mut self.nodes[flow as usize].count;
        count.lost_packets += c.lost_packets;
        count.sent_packets += sent;
        count.ended_goodput += goodput;
        count.goodput[1] += c.goodput[1] - c.goodput[0];
        count.retransmits[1] += c.retransmits[1] - c.retransmits[0];
        count.backoffs.add(&c.backoffs);
    }

    /// The run is over: connections that are still open count as far as they got. None is lost.
    pub(crate) fn settle_connections(&mut self) {
        let mut open = vec![0u64; self.sessions.fixed as usize];
        for node in self.sessions.fixed..self.nodes.len() as u32 {
            if self.nodes[node as usize].started {
                let flow = self.sessions.flow(node);
                open[flow as usize] += 1;
                self.settle(node, flow);
            }
        }
        for (f, source) in self.sessions.sources.iter().enumerate() {
            let Some(source) = source else { continue };
            let c = &source.count;
            if self.outside {
                open[f] = c.open;
            }
            assert_eq!((c.open, c.opened), (open[f], c.closed + open[f]), "connections of flow {f} are not conserved");
        }
    }
}
