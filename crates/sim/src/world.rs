//! The run: one loop over events, each handled in one place.

use crate::build::{self, CustomCc, DIRECT, Kind, Network, To};
use crate::digest::{Digest, Fact};
use crate::link::{DropWhy, Transmitter};
use crate::node::{ENDLESS, Node, Transport};
use crate::packet::{Packet, Way};
use crate::probe::{FlowSample, LinkSample, Probe, Trace};
use crate::scheduler::{Scheduler, Source};
use crate::summary::{self, Summary};
use crate::timers::{Timer, Timers};
use crate::{RunError, Tape, traffic};
use aqm::Reason;
use cc::CauseKind;
use experiment::{LossAt, Scenario};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use tcp::Segment;
use units::{Bytes, Duration, Instant};

/// What a run needs besides the scenario.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Which repetition: its seed is the scenario's plus this.
    pub repetition: u32,
    /// Set from another thread, it ends the run within a millisecond or so.
    pub stop: Option<&'a AtomicBool>,
    /// Congestion controls from outside the registry.
    pub custom: Option<CustomCc<'a>>,
    /// Records every call of every flow's congestion control.
    pub tape: Option<&'a Tape>,
}

/// What the run's own calendar holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    MeasureBegins,
    MeasureEnds,
    Start(u32),
    Stop(u32),
    Change(u32, u32),
    Application(u32),
    SpurtEnds(u32),
    Sample,
}

/// Packets dropped by a queue during one call, until they are accounted for.
#[derive(Debug, Default)]
pub(crate) struct Dropped(Vec<(Packet, Reason)>);

impl aqm::Sink<Packet> for Dropped {
    fn dropped(&mut self, packet: Packet, reason: Reason) {
        self.0.push((packet, reason));
    }
}

/// Where every packet went: `sent = delivered + dropped + held + flying`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conservation {
    /// Handed over by hosts, duplicates made on the way included.
    pub sent: u64,
    /// Arrived at hosts.
    pub delivered: u64,
    /// Lost anywhere.
    pub dropped: u64,
}

/// Everything there is in a run.
#[derive(Debug)]
pub struct World<P: Probe> {
    pub(crate) now: Instant,
    pub(crate) scenario: Scenario,
    pub(crate) seed: u64,
    pub(crate) net: Network,
    pub(crate) nodes: Vec<Node>,
    pub(crate) digest: Digest,
    pub(crate) measuring: bool,
    pub(crate) packets: Conservation,
    pub(crate) scheduler: Scheduler,
    calendar: BTreeMap<(Instant, u64), Entry>,
    calendar_source: Source,
    late: BTreeMap<(Instant, u64), Packet>,
    late_source: Source,
    timers: Timers,
    timers_source: Source,
    pub(crate) drops: Dropped,
    pub(crate) probe: P,
    step: Option<Duration>,
    pub(crate) last_sojourn: Vec<Duration>,
    /// So many flows that their state leaves the nearest caches between packets.
    many: bool,
}

impl<P: Probe> World<P> {
    /// A world at rest.
    pub fn new(scenario: &Scenario, probe: P, options: Options<'_>) -> Result<Self, RunError> {
        let seed = scenario.run.seed.wrapping_add(options.repetition as u64);
        let mut scheduler = Scheduler::new(0);
        let mut net = build::network(scenario, seed, &mut scheduler)?;
        let mut nodes = Vec::with_capacity(scenario.flows.len());
        for f in 0..scenario.flows.len() {
            nodes.push(build::node(scenario, f, seed, &options)?);
        }
        let calendar_source = scheduler.add_source();
        net.kinds.push(Kind::Calendar);
        let late_source = scheduler.add_source();
        net.kinds.push(Kind::Late);
        let timers_source = scheduler.add_source();
        net.kinds.push(Kind::Timers);
        let links = net.links.len();
        let step = probe.step();
        let mut world = World {
            now: Instant::ZERO,
            scenario: scenario.clone(),
            seed,
            net,
            nodes,
            digest: Digest::default(),
            measuring: false,
            packets: Conservation::default(),
            scheduler,
            calendar: BTreeMap::new(),
            calendar_source,
            late: BTreeMap::new(),
            late_source,
            timers: Timers::new(),
            timers_source,
            drops: Dropped::default(),
            probe,
            step,
            last_sojourn: vec![Duration::ZERO; links],
            many: scenario.flows.len() > 32,
        };
        world.fill_calendar();
        Ok(world)
    }

    fn fill_calendar(&mut self) {
        let (from, to) = self.scenario.run.measure;
        self.enter(from, Entry::MeasureBegins);
        self.enter(to, Entry::MeasureEnds);
        for f in 0..self.nodes.len() {
            self.enter(self.nodes[f].start, Entry::Start(f as u32));
            if let Some(stop) = self.nodes[f].spec.stop {
                self.enter(stop, Entry::Stop(f as u32));
            }
        }
        for l in 0..self.scenario.links.len() {
            for c in 0..self.scenario.links[l].changes.len() {
                self.enter(self.scenario.links[l].changes[c].at, Entry::Change(l as u32, c as u32));
            }
        }
        if let Some(step) = self.step {
            self.enter(Instant::ZERO + step, Entry::Sample);
        }
    }

    /// Puts an entry into the calendar.
    pub(crate) fn enter(&mut self, at: Instant, entry: Entry) {
        let order = self.scheduler.ticket();
        self.calendar.insert((at, order), entry);
        self.schedule_calendar();
    }

    fn schedule_calendar(&mut self) {
        match self.calendar.first_key_value() {
            Some((&(at, order), _)) => self.scheduler.set(self.calendar_source, at, order),
            None => self.scheduler.clear(self.calendar_source),
        }
    }

    /// Runs to the end and sums up.
    pub fn run(mut self, stop: Option<&AtomicBool>) -> Result<(Summary, P), RunError> {
        let end = Instant::ZERO + self.scenario.run.duration;
        let mut events: u32 = 0;
        while let Some((at, source)) = self.scheduler.peek() {
            if at > end {
                break;
            }
            events = events.wrapping_add(1);
            if events.is_multiple_of(8192) && stop.is_some_and(|s| s.load(Ordering::Relaxed)) {
                return Err(RunError::Stopped);
            }
            debug_assert!(at >= self.now, "time went back");
            self.now = at;
            match self.net.kinds[source as usize] {
                Kind::Line(line) => {
                    let line = &mut self.net.lines[line as usize];
                    let packet = line.pop(&mut self.scheduler);
                    if self.many {
                        line.prefetch();
                        if let Some((_, packet)) = line.ahead(1) {
                            self.nodes[packet.flow as usize].prefetch(packet.way);
                        }
                        if let Some((at, packet)) = line.ahead(0) {
                            self.nodes[packet.flow as usize].prefetch_outlying(packet.way, at.since(packet.born));
                        }
                    }
                    self.arrive(packet);
                }
                Kind::Link(link) => self.transmit(link),
                Kind::Timers => self.timer(),
                Kind::Calendar => self.calendar_entry(),
                Kind::Late => self.late_arrival(),
                Kind::Serve(link) => self.tick_serve(link),
                Kind::Release(link) => self.tick_release(link),
            }
        }
        self.now = end;
        if self.measuring {
            self.measure_ends();
        }
        self.check_conservation();
        Ok((summary::of(&self), self.probe))
    }

    /// Packets are conserved: what is missing is a bug of the simulator, not of an experiment.
    fn check_conservation(&self) {
        let held: u64 = self.net.links.iter().map(|l| l.queue.len() as u64).sum();
        let flying: u64 = self.net.lines.iter().map(|l| l.len() as u64).sum::<u64>()
            + self.late.len() as u64
            + self.net.links.iter().filter_map(|l| l.tick.as_ref()).map(|t| t.len() as u64).sum::<u64>();
        let p = self.packets;
        assert_eq!(
            p.sent,
            p.delivered + p.dropped + held + flying,
            "packets are not conserved: {p:?}, {held} held, {flying} flying"
        );
    }

    // --- the way of a packet -------------------------------------------------------------------------------------

    /// A host hands a segment over.
    #[inline]
    pub(crate) fn launch(&mut self, flow: u32, way: Way, segment: Segment, size: u32) {
        self.hand_over(Packet { segment, born: self.now, flow, size, hop: self.net.first_hop(flow, way), way });
    }

    #[inline]
    fn hand_over(&mut self, packet: Packet) {
        self.packets.sent += 1;
        if P::ON {
            self.probe.see(self.now, Trace::Send { packet: &packet });
        }
        self.forward(packet, self.now);
    }

    /// A packet leaves its present place at `depart` and takes its next hop.
    #[inline]
    fn forward(&mut self, packet: Packet, depart: Instant) {
        let hop = self.net.hops[packet.hop as usize];
        if hop.line == DIRECT {
            self.arrive(packet);
        } else {
            self.net.lines[hop.line as usize].push(depart, packet, &mut self.scheduler);
        }
    }

    /// A packet comes to the end of a hop.
    #[inline]
    fn arrive(&mut self, packet: Packet) {
        match self.net.hops[packet.hop as usize].to {
            To::Link(link) => self.enqueue(link, packet),
            To::Host => self.deliver(packet),
            To::Tick(link) => self.tick_arrival(link, packet),
        }
    }

    pub(crate) fn lose(&mut self, l: u32, packet: &Packet, why: DropWhy) {
        self.packets.dropped += 1;
        self.digest.fold(self.now, Fact::Drop, l, (packet.flow as u64) << 32 | packet.size as u64);
        self.net.links[l as usize].count_drop(why, self.measuring);
        if self.measuring && packet.way == Way::Out {
            self.nodes[packet.flow as usize].count.lost_packets += 1;
        }
        if P::ON {
            self.probe.see(self.now, Trace::Drop { link: l, packet, why });
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
        link.step.1 += 1;
        if P::ON {
            self.probe.see(self.now, Trace::Mark { link: l, packet });
        }
    }

    pub(crate) fn enqueue(&mut self, l: u32, packet: Packet) {
        let now = self.now;
        let link = &mut self.net.links[l as usize];
        link.count.arrived += u64::from(self.measuring);
        if link.impaired && link.loss_at == LossAt::Enqueue && link.loss.strikes() {
            self.lose(l, &packet, DropWhy::Random);
            return;
        }
        if matches!(link.transmitter, Transmitter::Unlimited) {
            if self.measuring {
                link.count.sent_bytes += packet.size as u64;
            }
            self.leave(l, packet, now);
            return;
        }
        link.account(now);
        if !link.waiting && now > link.free_at {
            link.queue.idle(link.free_at);
        }
        let marked = link.queue.enqueue(now, packet, &mut self.drops);
        let len = link.queue.len();
        link.len = len;
        let refused = |p: &Packet| p.born == packet.born && p.flow == packet.flow && p.segment == packet.segment;
        if self.drops.0.is_empty() || !self.drops.0.iter().any(|(p, _)| refused(p)) {
            self.digest.fold(now, Fact::Enqueue, l, (packet.flow as u64) << 32 | len as u64);
            if self.measuring && len > link.count.most {
                link.count.most = len;
            }
            if P::ON {
                self.probe.see(now, Trace::Enqueue { link: l, packet: &packet, len });
            }
        }
        if marked {
            self.marked(l, &packet);
        }
        if !self.drops.0.is_empty() {
            self.account_drops(l);
        }
        let link = &mut self.net.links[l as usize];
        if !link.waiting {
            if now >= link.free_at {
                self.transmit(l);
            } else {
                link.waiting = true;
                let order = self.scheduler.ticket();
                self.scheduler.set(link.source, link.free_at, order);
            }
        }
    }

    /// The transmitter is free: take the next packet and send it.
    fn transmit(&mut self, l: u32) {
        let now = self.now;
        let link = &mut self.net.links[l as usize];
        link.account(now);
        let out = link.queue.dequeue(now, &mut self.drops);
        let len = link.queue.len();
        link.len = len;
        if let Some(out) = &out {
            link.free_at = link.transmitter.sent_by(now, out.packet.size);
            self.last_sojourn[l as usize] = out.sojourn;
            if self.measuring {
                link.count.sent_bytes += out.packet.size as u64;
                link.count.queue.add(out.sojourn);
            }
            link.step.2 += out.packet.size as u64;
        }
        let next = if len == 0 {
            None
        } else if out.is_some() {
            Some(link.free_at)
        } else {
            link.queue.wake()
        };
        link.waiting = next.is_some();
        match next {
            Some(at) => {
                let order = self.scheduler.ticket();
                self.scheduler.set(link.source, at, order);
            }
            None => self.scheduler.clear(link.source),
        }
        let free_at = link.free_at;
        if !self.drops.0.is_empty() {
            self.account_drops(l);
        }
        if let Some(out) = out {
            self.digest.fold(now, Fact::Dequeue, l, (out.packet.flow as u64) << 32 | len as u64);
            if out.marked {
                self.marked(l, &out.packet);
            }
            if P::ON {
                self.probe.see(now, Trace::Dequeue { link: l, packet: &out.packet, sojourn: out.sojourn, len });
            }
            self.leave(l, out.packet, free_at);
        }
    }

    /// A packet has been sent by link `l` and begins to propagate at `depart`.
    #[inline]
    pub(crate) fn leave(&mut self, l: u32, mut packet: Packet, depart: Instant) {
        packet.hop += 1;
        if self.net.links[l as usize].impaired {
            self.leave_impaired(l, packet, depart);
        } else {
            self.forward(packet, depart);
        }
    }

    #[cold]
    fn leave_impaired(&mut self, l: u32, packet: Packet, depart: Instant) {
        let link = &mut self.net.links[l as usize];
        if link.loss_at == LossAt::After && link.loss.strikes() {
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
            self.forward(packet, depart);
        }
        if twice {
            self.packets.sent += 1;
            self.forward(packet, depart);
        }
    }

    fn schedule_late(&mut self) {
        match self.late.first_key_value() {
            Some((&(at, order), _)) => self.scheduler.set(self.late_source, at, order),
            None => self.scheduler.clear(self.late_source),
        }
    }

    fn late_arrival(&mut self) {
        let (_, packet) = self.late.pop_first().expect("an event means a packet");
        self.schedule_late();
        self.arrive(packet);
    }

    // --- hosts ---------------------------------------------------------------------------------------------------

    fn deliver(&mut self, packet: Packet) {
        let now = self.now;
        self.packets.delivered += 1;
        self.digest.fold(
            now,
            Fact::Deliver,
            packet.flow << 1 | packet.way as u32,
            packet.segment.seq ^ packet.segment.ack << 32,
        );
        if P::ON {
            self.probe.see(now, Trace::Deliver { packet: &packet });
        }
        let node = &mut self.nodes[packet.flow as usize];
        if packet.way == Way::Out {
            node.count.total_bytes += packet.size as u64;
            if self.measuring {
                node.count.arrived(packet.size, now.since(packet.born));
            }
        }
        match &mut node.transport {
            Transport::Datagrams(d) => {
                d.received += 1;
                d.received_bytes += packet.size as u64 - 28;
            }
            Transport::Tcp(tcp) => match packet.way {
                Way::Out => {
                    tcp.receiver.on_segment(now, &packet.segment);
                    if let Some((goal, ..)) = node.transfer
                        && tcp.receiver.received() >= goal
                    {
                        traffic::transfer_done(self, packet.flow);
                    }
                    self.pump(packet.flow, true);
                }
                Way::Back => {
                    let heard = tcp.sender.on_segment(now, &packet.segment);
                    if self.measuring
                        && let Some(rtt) = heard.rtt
                    {
                        node.count.rtt.add(rtt);
                    }
                    self.pump(packet.flow, false);
                }
            },
        }
    }

    fn timer(&mut self) {
        let now = self.now;
        let timer = self.timers.pop();
        match self.timers.next() {
            Some(next) => {
                self.scheduler.set(self.timers_source, next.at, next.order);
                if self.many {
                    self.nodes[next.flow as usize].prefetch_timer(next.receiver);
                }
            }
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
    #[inline]
    pub(crate) fn pump(&mut self, flow: u32, receiver: bool) {
        let now = self.now;
        let way = if receiver { Way::Back } else { Way::Out };
        let hop = self.net.first_hop(flow, way);
        loop {
            let node = &mut self.nodes[flow as usize];
            let Transport::Tcp(tcp) = &mut node.transport else { return };
            let host = if receiver { &mut tcp.receiver } else { &mut tcp.sender };
            let mut packet = Packet { segment: Segment::default(), born: now, flow, size: 0, hop, way };
            if !host.poll_into(now, &mut packet.segment) {
                break;
            }
            packet.size = packet.segment.size().get() as u32;
            if !receiver && self.measuring {
                node.count.sent_packets += 1;
            }
            self.hand_over(packet);
        }
        let Transport::Tcp(tcp) = &mut self.nodes[flow as usize].transport else { return };
        let host = if receiver { &mut tcp.receiver } else { &mut tcp.sender };
        let timer = host.next_timer();
        let set = &mut tcp.timers[receiver as usize];
        // A deadline put off is noticed when the old one fires: moving it on every ACK would cost more.
        if timer < set.0 {
            let order = self.scheduler.ticket();
            *set = (timer, order);
            let at = timer.max(now);
            if self.timers.add(Timer { at, order, flow, receiver }) {
                self.scheduler.set(self.timers_source, at, order);
            }
        }
        if !receiver {
            if tcp.sender.flow().cwnd != tcp.cwnd {
                tcp.cwnd = tcp.sender.flow().cwnd;
                self.digest.fold(now, Fact::Window, flow, tcp.cwnd.get());
            }
            if tcp.sender.flow().has_events() {
                self.collect_events(flow);
            }
        }
    }

    #[cold]
    fn collect_events(&mut self, f: u32) {
        let node = &mut self.nodes[f as usize];
        let Transport::Tcp(tcp) = &mut node.transport else { return };
        let bdp = node.bottleneck_payload_rate * tcp.sender.flow().min_rtt.as_secs_f64();
        for mut event in tcp.sender.flow_mut().drain_events() {
            event.flow = f;
            let fact = (event.kind as u64) << 48 ^ event.cwnd_after;
            self.digest.fold(Instant::from_nanos(event.time), Fact::Window, f | 1 << 31, fact);
            let backoff = match event.cause() {
                Some(CauseKind::DelayBackoff) => Some(0),
                Some(CauseKind::LossBackoff) => Some(1),
                Some(CauseKind::EcnBackoff) => Some(2),
                Some(CauseKind::Timeout) => Some(3),
                Some(CauseKind::ModeSwitch) => {
                    let (from, to) = (event.values[0], event.values[1]);
                    let (_, since) = node.count.mode.unwrap_or((from, node.start));
                    summary::add_mode(&mut node.count.modes, from, self.now.since(since));
                    node.count.mode = Some((to, self.now));
                    None
                }
                _ => None,
            };
            if let Some(kind) = backoff {
                node.count.backoffs[kind] += 1;
                node.count.below_bdp += u64::from((event.cwnd_before as f64) < bdp);
            }
            // A threshold learned on the way (SlowStartCap) is not the end yet; BBR's end sets no threshold.
            let ends = event.cause() == Some(CauseKind::SlowStartExit)
                || (event.ssthresh_before == u64::MAX && event.ssthresh_after != u64::MAX);
            if node.count.slow_start_exit.is_none() && ends && event.cause() != Some(CauseKind::SlowStartCap) {
                let unset = event.ssthresh_after == u64::MAX;
                let threshold = if unset { event.cwnd_after } else { event.ssthresh_after };
                node.count.slow_start_exit = Some((self.now, threshold, threshold as f64 / bdp));
            }
            if P::ON {
                self.probe.see(self.now, Trace::Event(&event));
            }
        }
    }

    // --- the calendar --------------------------------------------------------------------------------------------

    fn calendar_entry(&mut self) {
        let (_, entry) = self.calendar.pop_first().expect("an event means an entry");
        self.schedule_calendar();
        match entry {
            Entry::MeasureBegins => self.measure_begins(),
            Entry::MeasureEnds => self.measure_ends(),
            Entry::Start(f) => traffic::start(self, f),
            Entry::Stop(f) => traffic::stop(self, f),
            Entry::Application(f) => traffic::application(self, f),
            Entry::SpurtEnds(f) => traffic::spurt_ends(self, f),
            Entry::Change(l, c) => self.change(l, c),
            Entry::Sample => self.sample(),
        }
    }

    fn measure_begins(&mut self) {
        self.measuring = true;
        let now = self.now;
        for link in &mut self.net.links {
            link.count.since = now;
            link.count.most = link.queue.len();
        }
        for node in &mut self.nodes {
            node.count.goodput[0] = node.goodput();
            node.count.retransmits[0] = node.retransmits();
        }
    }

    fn measure_ends(&mut self) {
        self.measuring = false;
        let now = self.now;
        for link in &mut self.net.links {
            link.account(now);
        }
        for link in &mut self.net.links {
            // What comes later is not in the window.
            link.count.since = Instant::MAX;
        }
        for node in &mut self.nodes {
            node.count.goodput[1] = node.goodput();
            node.count.retransmits[1] = node.retransmits();
        }
    }

    fn change(&mut self, l: u32, c: u32) {
        let change = self.scenario.links[l as usize].changes[c as usize];
        let link = &mut self.net.links[l as usize];
        if let Some(rate) = change.rate {
            link.set_rate(rate);
            if let Some(tick) = &mut link.tick {
                tick.set_rate(rate);
            }
        }
        if let Some(loss) = change.loss {
            link.set_loss(loss);
        }
        if let Some(delay) = change.delay {
            if let Some(tick) = &mut link.tick {
                tick.set_delay(delay);
            } else {
                link.delay = delay;
                self.net.reroute(&mut self.scheduler, l);
            }
        }
    }

    fn sample(&mut self) {
        let Some(step) = self.step else { return };
        self.enter(self.now + step, Entry::Sample);
        let (now, seconds) = (self.now, step.as_secs_f64());
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds;
        for (i, node) in self.nodes.iter_mut().enumerate() {
            if !node.started {
                continue;
            }
            let (total, goodput) = (node.count.total_bytes, node.goodput());
            let before = core::mem::replace(&mut node.count.sampled, (total, goodput));
            let mut sample = FlowSample {
                throughput_mbps: mbps(total - before.0),
                goodput_mbps: mbps(goodput - before.1),
                cwnd_bytes: f64::NAN,
                ssthresh_bytes: f64::NAN,
                pacing_mbps: f64::NAN,
                rtt_ms: f64::NAN,
                srtt_ms: f64::NAN,
                in_flight_bytes: f64::NAN,
            };
            if let Transport::Tcp(tcp) = &node.transport {
                let flow = tcp.sender.flow();
                sample.cwnd_bytes = flow.cwnd.as_f64();
                if flow.ssthresh != Bytes::MAX {
                    sample.ssthresh_bytes = flow.ssthresh.as_f64();
                }
                if !flow.srtt.is_zero() {
                    sample.rtt_ms = flow.rtt.as_millis_f64();
                    sample.srtt_ms = flow.srtt.as_millis_f64();
                }
                sample.in_flight_bytes = flow.in_flight.as_f64();
                if let Some(rate) = flow.pacing {
                    sample.pacing_mbps = rate.as_mbps();
                }
                let probe = &mut self.probe;
                tcp.sender.cc().vars(&mut |name, value| {
                    probe.see(now, Trace::Var { source: 0, index: i as u32, name, value });
                });
            }
            self.probe.see(now, Trace::FlowSample { flow: i as u32, sample });
        }
        for l in 0..self.scenario.links.len() {
            let link = &mut self.net.links[l];
            let (dropped, marked, bytes) = core::mem::take(&mut link.step);
            let rate = link.transmitter.rate().map_or(f64::INFINITY, |r| r.bytes_per_sec());
            let idle = link.queue.is_empty() && bytes == 0;
            let sample = LinkSample {
                queue_ms: if idle { 0.0 } else { self.last_sojourn[l].as_millis_f64() },
                queue_packets: link.queue.len() as u32,
                queue_bytes: link.queue.backlog().as_f64(),
                utilisation: bytes as f64 / (rate * seconds),
                dropped,
                marked,
            };
            self.probe.see(now, Trace::LinkSample { link: l as u32, sample });
            let probe = &mut self.probe;
            link.queue.vars(&mut |name, value| {
                probe.see(now, Trace::Var { source: 1, index: l as u32, name, value });
            });
        }
    }
}

/// Runs one repetition of a case.
pub fn run<P: Probe>(scenario: &Scenario, probe: P, options: Options<'_>) -> Result<(Summary, P), RunError> {
    World::new(scenario, probe, options)?.run(options.stop)
}

/// What "as much as the window allows" writes.
pub(crate) const BULK: u64 = ENDLESS;
