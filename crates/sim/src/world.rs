//! The run: one loop over events, each handled in one place.

use crate::build::{self, CustomCc};
use crate::delays::Delays;
use crate::digest::Digest;
use crate::network::{self, Kind, Network};
use crate::node::Node;
use crate::outside::Fate;
use crate::packet::Packet;
use crate::probe::Probe;
use crate::scheduler::{Scheduler, Source};
use crate::sessions::Sessions;
use crate::summary::{self, Summary};
use crate::timers::Timers;
use crate::{RunError, Tape};
use aqm::Reason;
use experiment::Scenario;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Duration, Instant};

/// What a run needs besides the scenario.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Which repetition: its seed is the scenario's plus this.
    pub repetition: u32,
    /// Set from another thread, it ends the run within a millisecond or so.
    pub stop: Option<&'a AtomicBool>,
    /// Congestion controls from outside the registry.
    pub custom: Option<&'a dyn CustomCc>,
    /// Records every call of every flow's congestion control.
    pub tape: Option<&'a Tape>,
    /// No host is simulated: packets come from outside ([`World::inject`]).
    pub outside: bool,
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
    Read(u32),
    /// A connection's next unit: its node, which connection of that node's, whether it is the acceptor's.
    Connection(u32, u32, bool),
    Sample,
}

/// Packets dropped by a queue during one call, until they are accounted for.
#[derive(Debug, Default)]
pub(crate) struct Dropped(pub(crate) Vec<(Packet, Reason)>);

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
    /// The experiment's flows, then places of the connections of its Tmix flows.
    pub(crate) nodes: Vec<Node>,
    pub(crate) sessions: Sessions,
    pub(crate) digest: Digest,
    pub(crate) measuring: bool,
    pub(crate) packets: Conservation,
    pub(crate) scheduler: Scheduler,
    pub(crate) calendar: BTreeMap<(Instant, u64), Entry>,
    pub(crate) calendar_source: Source,
    pub(crate) late: BTreeMap<(Instant, u64), Packet>,
    pub(crate) late_source: Source,
    pub(crate) timers: Timers,
    pub(crate) timers_source: Source,
    pub(crate) drops: Dropped,
    pub(crate) delays: Delays,
    pub(crate) probe: P,
    pub(crate) step: Option<Duration>,
    /// The hosts are programs outside.
    pub(crate) outside: bool,
    /// What became of their packets since the driver last asked.
    pub(crate) fates: Vec<Fate>,
    /// Packets that came from outside.
    pub(crate) number: u64,
    /// More than [`MANY`] flows or connections.
    pub(crate) many: bool,
}

/// With more nodes than this, the state of one leaves the nearest caches between its packets, so that fetching it early
/// and counting by several is worth the work. Speed alone depends on it.
pub(crate) const MANY: usize = 32;

impl<P: Probe> World<P> {
    /// A world at rest. An error if the scenario asks for what the simulator cannot do or a parameter is refused, or if
    /// `options.stop` is set meanwhile.
    pub fn new(scenario: &Scenario, probe: P, options: Options<'_>) -> Result<Self, RunError> {
        let seed = scenario.run.seed.wrapping_add(options.repetition as u64);
        let mut scheduler = Scheduler::new(0);
        let mut net = network::build(scenario, seed, &mut scheduler)?;
        let mut nodes = Vec::with_capacity(scenario.flows.len());
        for f in 0..scenario.flows.len() {
            nodes.push(build::node(scenario, &net, f, seed, &options)?);
        }
        let sessions = Sessions::new(scenario, seed, &options)?;
        let calendar_source = scheduler.add_source();
        net.kinds.push(Kind::Calendar);
        let late_source = scheduler.add_source();
        net.kinds.push(Kind::Late);
        let timers_source = scheduler.add_source();
        net.kinds.push(Kind::Timers);
        if !P::ON && !options.outside {
            net.join_queues_to_lines(scenario);
        }
        let step = probe.step();
        let mut world = World {
            now: Instant::ZERO,
            scenario: scenario.clone(),
            seed,
            net,
            nodes,
            sessions,
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
            delays: Delays::new(),
            probe,
            step,
            outside: options.outside,
            fates: Vec::new(),
            number: 0,
            many: scenario.flows.len() > MANY && !options.outside,
        };
        world.fill_calendar();
        Ok(world)
    }

    pub(crate) fn fill_calendar(&mut self) {
        let (from, to) = self.scenario.run.measure;
        self.enter(from, Entry::MeasureBegins);
        self.enter(to, Entry::MeasureEnds);
        // Whoever starts as a link changes finds it changed.
        for l in 0..self.scenario.links.len() {
            for c in 0..self.scenario.links[l].changes.len() {
                self.enter(self.scenario.links[l].changes[c].at, Entry::Change(l as u32, c as u32));
            }
        }
        for f in 0..self.nodes.len() {
            self.enter(self.nodes[f].start, Entry::Start(f as u32));
            if let Some(stop) = self.nodes[f].spec.stops(self.nodes[f].start) {
                self.enter(stop, Entry::Stop(f as u32));
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

    pub(crate) fn schedule_calendar(&mut self) {
        match self.calendar.first_key_value() {
            Some((&(at, order), _)) => self.scheduler.set(self.calendar_source, at, order),
            None => self.scheduler.clear(self.calendar_source),
        }
    }

    /// Runs to the end and sums up; [`RunError::Stopped`] if `stop` is set before.
    pub fn run(mut self, stop: Option<&AtomicBool>) -> Result<(Summary, P), RunError> {
        let end = Instant::ZERO + self.scenario.run.duration;
        let mut until_look: u32 = 8192;
        while let Some((at, source)) = self.scheduler.peek() {
            if at > end {
                break;
            }
            until_look -= 1;
            if until_look == 0 {
                until_look = 8192;
                if stop.is_some_and(|s| s.load(Ordering::Relaxed)) {
                    return Err(RunError::Stopped);
                }
            }
            debug_assert!(at >= self.now, "time went back");
            self.now = at;
            self.handle(source);
        }
        self.now = end;
        if self.measuring {
            self.measure_ends();
        }
        self.count_delays();
        self.settle_connections();
        self.check_conservation();
        Ok((summary::of(&self), self.probe))
    }

    /// What an event source has to do, now.
    #[inline(always)]
    pub(crate) fn handle(&mut self, source: Source) {
        match self.net.kinds[source as usize] {
            Kind::Line(line) => {
                let line = &mut self.net.lines[line as usize];
                let packet = line.pop(&mut self.scheduler);
                self.arrive(&packet);
            }
            Kind::Link(link) => self.transmit(link),
            Kind::Timers => self.timer(),
            Kind::Calendar => self.calendar_entry(),
            Kind::Late => self.late_arrival(),
            Kind::Serve(link) => self.tick_serve(link),
            Kind::Release(link) => self.tick_release(link),
        }
    }

    /// Brings the flows' counters up to date.
    pub(crate) fn count_delays(&mut self) {
        self.delays.count(&mut self.nodes, self.measuring);
    }

    /// Packets are conserved: what is missing is a bug of the simulator, not of an experiment.
    pub(crate) fn check_conservation(&self) {
        let held: u64 = self.net.links.iter().map(|l| l.waiting_packets() as u64).sum();
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
}

/// Runs one repetition of a case. The errors are those of [`World::new`] and [`World::run`].
pub fn run<P: Probe>(scenario: &Scenario, probe: P, options: Options<'_>) -> Result<(Summary, P), RunError> {
    World::new(scenario, probe, options)?.run(options.stop)
}
