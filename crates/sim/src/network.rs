//! From a scenario to a network at rest: event sources, delay lines, links, routes.

use crate::RunError;
use crate::line::{Jitter, Line};
use crate::link::{Link, Through, Transmitter};
use crate::packet::Way;
use crate::scheduler::{Scheduler, Source};
use crate::tick::{self, Tick};
use experiment::{Clock, FlowSpec, LinkId, RateSpec, Scenario, Vary};
use params::Spec;
use std::collections::BTreeMap;
use tcp::Config;
use units::{Duration, Rate, Rng, streams};

/// After so many new lines, look for some that are used no more.
const LOOK_EVERY: usize = 1 << 16;

/// What an event source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The head of a delay line arrives.
    Line(u32),
    /// A link's transmitter is free.
    Link(u32),
    /// The next of the hosts' timers goes off.
    Timers,
    /// The run's own calendar: starts, stops, changes, samples.
    Calendar,
    /// A packet taken out of order arrives.
    Late,
    /// A ticking link is served.
    Serve(u32),
    /// A ticking link's delay line gives packets out.
    Release(u32),
}

/// Where a hop leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum To {
    /// A link's queue.
    Link(u32),
    /// The host at the end.
    Host,
    /// A ticking link's queue.
    Tick(u32),
}

/// No delay line: the packet arrives at once.
pub const DIRECT: u32 = u32::MAX;

/// One step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// Where it leads.
    pub to: To,
    /// The delay line it takes.
    pub line: u32,
}

/// Where a hop's delay comes from, for when a link's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Origin {
    /// The link it leaves, whose propagation delay is part of the line's.
    from: Option<u32>,
    /// The rest of the delay.
    rest: Duration,
}

/// Lines, links and routes.
#[derive(Debug)]
pub struct Network {
    /// Delay lines.
    pub lines: Vec<Line>,
    /// Links.
    pub links: Vec<Link>,
    /// Propagation delays of the scenario's links by now.
    pub delays: Vec<Duration>,
    /// What each source is.
    pub kinds: Vec<Kind>,
    /// The steps of all routes, one after the other.
    pub hops: Vec<Hop>,
    origins: Vec<Origin>,
    /// First hop of each flow and way.
    first: Vec<[u32; 2]>,
    known: BTreeMap<(Option<u32>, u64, Option<u32>), u32>,
    /// Where routes begin, by what they are made of: flows on one path share its hops, which every packet reads.
    routes: BTreeMap<Vec<(Hop, Origin)>, u32>,
    /// Lines that may be used again.
    left: Vec<u32>,
    /// With so many lines, look for such.
    look_at: usize,
    jitter: Vec<Duration>,
    seed: u64,
}

impl Network {
    /// A FIFO's packets wait in the row of the delay line behind it, where there is one line and nothing on the way that could
    /// change, lose or show them.
    pub fn join_queues_to_lines(&mut self, scenario: &Scenario) {
        // Behind each link: no line yet, the one, or several.
        let mut behind: Vec<Option<Option<u32>>> = vec![None; self.links.len()];
        for hops in self.hops.windows(2) {
            if let To::Link(l) = hops[0].to {
                let line = hops[1].line;
                let known = &mut behind[l as usize];
                *known = Some(known.map_or(Some(line), |one| one.filter(|one| *one == line)));
            }
        }
        for (l, (link, line)) in self.links.iter_mut().zip(behind).enumerate() {
            let steady = scenario.links.get(l).is_none_or(|spec| spec.changes.is_empty());
            let limited = !matches!(link.transmitter, Transmitter::Unlimited);
            link.through = match (line.flatten(), link.queue.plain()) {
                (Some(line), Some(limit)) if steady && limited && !link.impaired && line != DIRECT => {
                    Some(Through { line, limit })
                }
                _ => None,
            };
        }
    }

    /// The BDP of a flow's path as it is by now, in bytes; that of a trace by its mean rate. Infinite where nothing has a rate.
    pub fn bdp(&self, scenario: &Scenario, flow: &FlowSpec) -> f64 {
        let rates = flow.route.iter().filter_map(|&l| self.links[l].transmitter.rate());
        let rate = rates.chain(flow.access).min().map_or(f64::INFINITY, |rate| rate.bytes_per_sec());
        let sum = |delay: &dyn Fn(LinkId) -> Duration| {
            flow.route.iter().chain(&flow.back).fold(Duration::ZERO, |sum, &l| sum + delay(l))
        };
        let longer = flow.base_rtt + sum(&|l| self.delays[l]);
        rate * longer.saturating_sub(sum(&|l| scenario.links[l].delay)).as_secs_f64()
    }

    /// One more node, whose packets go the way of `flow`'s.
    pub fn join(&mut self, flow: u32) {
        self.first.push(self.first[flow as usize]);
    }

    /// The first hop of a flow's packets.
    #[inline]
    pub fn first_hop(&self, flow: u32, way: Way) -> u32 {
        self.first[flow as usize][way as usize]
    }

    fn source(&mut self, scheduler: &mut Scheduler, kind: Kind) -> Source {
        self.kinds.push(kind);
        scheduler.add_source()
    }

    /// The line that leaves `from` (or a host) with this delay; one for all flows, so that it stays a FIFO ring.
    /// `own` keeps a flow's line apart from the others'.
    fn line(
        &mut self,
        scheduler: &mut Scheduler,
        from: Option<u32>,
        delay: Duration,
        own: Option<(u32, Jitter)>,
    ) -> u32 {
        let key = (from, delay.as_nanos(), own.as_ref().map(|o| o.0));
        if let Some(&line) = self.known.get(&key) {
            return line;
        }
        let left = self.left_behind();
        let id = left.unwrap_or(self.lines.len() as u32);
        let source = match left {
            Some(id) => self.lines[id as usize].source,
            None => self.source(scheduler, Kind::Line(id)),
        };
        let jitter = match (own, from.map(|l| self.jitter[l as usize])) {
            (Some((_, jitter)), _) => Some(jitter),
            (None, Some(sd)) if !sd.is_zero() => {
                // By link and delay, not by number: a flow on another path has dice of its own.
                let whose = from.map_or(0, u64::from) | delay.as_nanos() << 16;
                Some(Jitter::HalfNormal(sd, Rng::new(self.seed, whose, streams::JITTER)))
            }
            _ => None,
        };
        let line = Line::new(source, delay, jitter);
        match left {
            Some(id) => self.lines[id as usize] = line,
            None => self.lines.push(line),
        }
        self.known.insert(key, id);
        id
    }

    /// A line that changes of delays have left behind: no hop names it and nothing is on it. Without these, a hundred
    /// thousand changes for a hundred flows would be more lines than an event can name.
    fn left_behind(&mut self) -> Option<u32> {
        if self.left.is_empty() && self.lines.len() >= self.look_at {
            let mut named = vec![false; self.lines.len()];
            self.hops.iter().filter(|hop| hop.line != DIRECT).for_each(|hop| named[hop.line as usize] = true);
            let is_left = |l: u32| !named[l as usize] && self.lines[l as usize].is_idle();
            self.left = (0..self.lines.len() as u32).filter(|l| is_left(*l)).collect();
            self.known.retain(|_, line| !is_left(*line));
            self.look_at = self.lines.len() + LOOK_EVERY;
        }
        self.left.pop()
    }

    /// Gives every hop that leaves link `l` the line of the link's present delay.
    pub fn reroute(&mut self, scheduler: &mut Scheduler, l: u32) {
        for i in 0..self.hops.len() {
            if self.origins[i].from == Some(l) {
                let delay = self.links[l as usize].delay + self.origins[i].rest;
                self.hops[i].line = self.line(scheduler, Some(l), delay, None);
            }
        }
    }

    fn route(
        &mut self,
        scheduler: &mut Scheduler,
        scenario: &Scenario,
        flow: &FlowSpec,
        way: Way,
        access: Option<u32>,
        host: Option<(u32, Jitter)>,
    ) -> u32 {
        let (links, before, after) = match way {
            Way::Out => (&flow.route, flow.edge, Duration::ZERO),
            Way::Back => (&flow.back, Duration::ZERO, flow.edge_back),
        };
        let first = self.hops.len() as u32;
        let mut from: Option<u32> = None;
        let mut rest = before;
        let mut host = host;
        let mut hop = |net: &mut Network, to: To, from: Option<u32>, rest: Duration| {
            let delay = rest + from.map_or(Duration::ZERO, |l| net.links[l as usize].delay);
            let own = if from.is_none() { host.take() } else { None };
            // Never to a host: this one is in the middle of a turn, and hears of what comes of its packets later.
            let direct = from.is_none() && delay.is_zero() && own.is_none() && to != To::Host;
            let line = if direct { DIRECT } else { net.line(scheduler, from, delay, own) };
            net.hops.push(Hop { to, line });
            net.origins.push(Origin { from, rest });
        };
        if let Some(access) = access {
            hop(self, To::Link(access), from, Duration::ZERO);
            from = Some(access);
        }
        for &l in links {
            let spec = &scenario.links[l];
            // A link that only delays is part of the line: no event of its own.
            if spec.only_delays() {
                rest += spec.delay;
                continue;
            }
            let to = match spec.clock {
                Clock::Exact => To::Link(l as u32),
                Clock::Tick(_) => To::Tick(l as u32),
            };
            hop(self, to, from, rest);
            from = Some(l as u32);
            rest = Duration::ZERO;
        }
        rest += after;
        hop(self, To::Host, from, rest);
        let steps = |i: usize| (self.hops[i], self.origins[i]);
        let route = (first as usize..self.hops.len()).map(steps).collect();
        let begins = *self.routes.entry(route).or_insert(first);
        if begins != first {
            self.hops.truncate(first as usize);
            self.origins.truncate(first as usize);
        }
        begins
    }

    /// The routes of flow `f`, and its own link where it has one.
    pub fn add_flow(
        &mut self,
        scenario: &Scenario,
        f: usize,
        seed: u64,
        scheduler: &mut Scheduler,
    ) -> Result<(), RunError> {
        let flow = &scenario.flows[f];
        let access = match flow.access {
            None => None,
            Some(rate) => {
                let id = self.links.len();
                let source = self.source(scheduler, Kind::Link(id as u32));
                self.links.push(Link::new(&access_link(flow, rate), id, seed, source)?);
                self.jitter.push(Duration::ZERO);
                Some(id as u32)
            }
        };
        let host = (scenario.run.vary == Vary::StartHost).then(|| {
            let most = scenario.run.processing.unwrap_or_else(|| {
                let rate = scenario.bottleneck(flow).unwrap_or(Rate::from_mbps(1000.0));
                (flow.mss + Config::of(flow.stack).headers()) / rate
            });
            (f as u32, Jitter::Uniform(most, Rng::new(seed, f as u64, streams::HOST)))
        });
        let out = self.route(scheduler, scenario, flow, Way::Out, access, host);
        let back = self.route(scheduler, scenario, flow, Way::Back, None, None);
        self.first.push([out, back]);
        Ok(())
    }
}

/// Builds links and routes.
pub fn build(scenario: &Scenario, seed: u64, scheduler: &mut Scheduler) -> Result<Network, RunError> {
    let mut net = Network {
        lines: Vec::new(),
        links: Vec::new(),
        delays: scenario.links.iter().map(|l| l.delay).collect(),
        kinds: Vec::new(),
        hops: Vec::new(),
        origins: Vec::new(),
        first: Vec::new(),
        known: BTreeMap::new(),
        routes: BTreeMap::new(),
        left: Vec::new(),
        look_at: LOOK_EVERY,
        jitter: scenario.links.iter().map(|l| l.jitter).collect(),
        seed,
    };
    for (i, spec) in scenario.links.iter().enumerate() {
        let ticks = spec.clock != Clock::Exact;
        let source = net.source(scheduler, if ticks { Kind::Serve(i as u32) } else { Kind::Link(i as u32) });
        let mut link = Link::new(spec, i, seed, source)?;
        if ticks {
            let release = net.source(scheduler, Kind::Release(i as u32));
            link.tick = Tick::new(spec, seed, release)?.map(Box::new);
            // Its own delay line does the propagation.
            link.delay = Duration::ZERO;
        }
        net.links.push(link);
    }
    tick::order(&mut net, scheduler);
    for f in 0..scenario.flows.len() {
        net.add_flow(scenario, f, seed, scheduler)?;
    }
    Ok(net)
}

fn access_link(flow: &FlowSpec, rate: Rate) -> experiment::Link {
    experiment::Link {
        rate: Some(RateSpec::Constant(rate)),
        // A host does not drop its own packets; it holds them.
        buffer: Some(aqm::Limit::Packets(usize::MAX)),
        ..experiment::Link::plain(format!("{}'s access", flow.name), Spec::named("fifo"))
    }
}
