//! Tmix traffic: connections that come and go. A connection has a place among the nodes, made when it is opened and used
//! again after it was closed, so that memory follows what is open at a time. What it counted goes to the flow it belongs
//! to, which stands for all of its connections in the results.
//!
//! The receiver of the flow's data is the initiator, a client; what the acceptor sends takes the flow's route.

mod coming;
mod conversation;
pub mod talk;
mod whose;

use crate::RunError;
use crate::build;
use crate::histogram::Histogram;
use crate::node::Transport;
use crate::probe::{FlowSample, Probe, Trace, VarSource};
use crate::summary::{BINS, Connections};
use crate::world::{Options, World};
use core::sync::atomic::Ordering;
use experiment::tmix::{Adu, Replay};
use experiment::{Scenario, Traffic};
use talk::Talk;
use tcp::Config;
use units::{Duration, Instant};
pub(crate) use whose::{Roll, Whose};

/// Connections of one flow, and what is known of them.
#[derive(Debug)]
pub(crate) struct Source {
    replay: Replay,
    next: usize,
    /// Places of closed connections, and when each was closed.
    free: Vec<(u32, Instant)>,
    /// Acceptor's and initiator's settings.
    configs: [Config; 2],
    count: Count,
}

/// Figures over the connections of a flow; those in the measure window but for `opened` and `closed`.
#[derive(Debug, Default)]
struct Count {
    opened: u64,
    closed: u64,
    open: u64,
    most: u64,
    /// Integral of `open` over the window, in connection-nanoseconds.
    time: u128,
    since: Instant,
    /// Opening to the end of both sides.
    lasted: Histogram,
    /// Exchanges by size of the reply: from the request's first byte (the SYN, for the first) to the reply's last, less
    /// what the server waited.
    exchanges: [Histogram; BINS.len()],
}

/// A place for a connection.
#[derive(Debug)]
pub(crate) struct Place {
    flow: u32,
    /// Where its units begin, and how many there are.
    units: (u32, u32),
    /// Which connection of this place it is: entries of the calendar name it.
    generation: u32,
    opened: Instant,
    talk: Talk,
}

/// All connections of all Tmix flows.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// Flows of the experiment: nodes from here on are connections.
    pub fixed: u32,
    sources: Vec<Option<Box<Source>>>,
    places: Vec<Place>,
}

impl Sessions {
    /// Every connection of the run, known in advance.
    pub fn new(scenario: &Scenario, seed: u64, options: &Options<'_>) -> Result<Sessions, RunError> {
        let stopped = || options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let mut sources = Vec::with_capacity(scenario.flows.len());
        for (f, flow) in scenario.flows.iter().enumerate() {
            let Traffic::Tmix(tmix) = &flow.traffic else {
                sources.push(None);
                continue;
            };
            if options.custom.is_some() && cc::find(&flow.cc.name).is_err() {
                let message = format!("{}: tmix traffic runs with the built-in algorithms only", flow.cc.name);
                return Err(RunError::Unsupported(message));
            }
            let configs = build::configs(flow, &scenario.run, seed, f as u64, None);
            let header = configs[0].headers().get() as u32;
            let (rate, horizon) = (scenario.bottleneck(flow), scenario.horizon(flow));
            let replay = Replay::new(tmix, flow, header, rate, horizon, (seed, f as u64), &stopped)
                .map_err(|e| RunError::Unsupported(format!("{}: {e}", flow.name)))?;
            if stopped() {
                return Err(RunError::Stopped);
            }
            let source = Source { replay, next: 0, free: Vec::new(), configs, count: Count::default() };
            sources.push(Some(Box::new(source)));
        }
        Ok(Sessions { fixed: scenario.flows.len() as u32, sources, places: Vec::new() })
    }

    /// A further flow of the experiment, while there are no connections: flows from outside appear as they come.
    pub fn add_flow(&mut self) {
        debug_assert!(self.places.is_empty(), "connections have the numbers behind the flows");
        self.sources.push(None);
        self.fixed += 1;
    }

    /// The flow that a node's packets count for.
    #[inline]
    pub fn flow(&self, node: u32) -> u32 {
        if node < self.fixed { node } else { self.places[(node - self.fixed) as usize].flow }
    }

    /// Is this a flow that stands for connections?
    pub fn are_of(&self, flow: usize) -> bool {
        self.sources.get(flow).is_some_and(Option::is_some)
    }

    fn place(&mut self, node: u32) -> &mut Place {
        &mut self.places[(node - self.fixed) as usize]
    }

    /// Gives a new node its place, or an old one's place to another connection.
    fn take(&mut self, node: u32, place: Place) {
        match self.places.get_mut((node - self.fixed) as usize) {
            Some(old) => *old = Place { generation: old.generation.wrapping_add(1), ..place },
            None => self.places.push(place),
        }
    }

    fn source(&mut self, flow: u32) -> &mut Source {
        self.sources[flow as usize].as_mut().expect("a connection's flow has tmix traffic")
    }

    fn units(&self, node: u32) -> &[Adu] {
        let place = &self.places[(node - self.fixed) as usize];
        let Some(source) = &self.sources[place.flow as usize] else { return &[] };
        &source.replay.vectors.adus[place.units.0 as usize..][..place.units.1 as usize]
    }

    fn unit(&self, node: u32, i: u32) -> Option<Adu> {
        self.units(node).get(i as usize).copied()
    }

    /// The figures of a flow's connections.
    pub fn figures(&self, flow: usize, window: Duration) -> Option<Connections> {
        let count = &self.sources[flow].as_ref()?.count;
        Some(Connections {
            opened: count.opened,
            closed: count.closed,
            open: count.open,
            active_mean: count.time as f64 / window.as_nanos() as f64,
            active_max: count.most,
            duration_ms: count.lasted.spread(),
        })
    }

    /// Completion times of a flow's exchanges by size of the reply.
    pub fn exchanges(&self, flow: usize) -> Option<&[Histogram; BINS.len()]> {
        Some(&self.sources[flow].as_ref()?.count.exchanges)
    }

    /// The window of measurement begins, or is over.
    pub fn mark(&mut self, now: Instant, begins: bool) {
        for count in self.sources.iter_mut().flatten().map(|s| &mut s.count) {
            if begins {
                count.since = now;
                count.most = count.open;
            } else {
                count.pass(now);
                count.since = Instant::MAX;
            }
        }
    }
}

impl Count {
    fn pass(&mut self, now: Instant) {
        self.time += self.open as u128 * now.since(self.since).as_nanos() as u128;
        self.since = self.since.max(now);
    }

    fn opens(&mut self, now: Instant, measuring: bool) {
        if measuring {
            self.pass(now);
            self.most = self.most.max(self.open + 1);
        }
        self.open += 1;
        self.opened += 1;
    }

    fn closes(&mut self, now: Instant, measuring: bool, lasted: Duration) {
        if measuring {
            self.pass(now);
            self.lasted.add(lasted);
        }
        self.open -= 1;
        self.closed += 1;
    }
}

impl<P: Probe> World<P> {
    /// Flows of the series: sums over open connections, means of their windows.
    pub(crate) fn sample_connections(&mut self, mbps: impl Fn(u64) -> f64) {
        let now = self.now;
        for f in 0..self.sessions.fixed {
            let Some(source) = &self.sessions.sources[f as usize] else { continue };
            if !self.nodes[f as usize].started {
                continue;
            }
            let open = source.count.open as f64;
            self.probe.see(now, Trace::Var { source: VarSource::Flow, index: f, name: "active", value: open });
            if self.outside {
                continue;
            }
            let (mut n, mut cwnd, mut flying, mut srtt, mut timed) = (0u64, 0.0, 0.0, 0.0, 0u64);
            let mut goodput = self.nodes[f as usize].count.ended_goodput;
            for (place, node) in self.sessions.places.iter().zip(&self.nodes[self.sessions.fixed as usize..]) {
                let Transport::Tcp(tcp) = &node.transport else { continue };
                if place.flow != f || !node.started {
                    continue;
                }
                goodput += node.goodput();
                if tcp.sender.is_established() {
                    let flow = tcp.sender.flow();
                    n += 1;
                    cwnd += flow.cwnd.as_f64();
                    flying += flow.in_flight.as_f64();
                    if !flow.srtt.is_zero() {
                        (srtt, timed) = (srtt + flow.srtt.as_millis_f64(), timed + 1);
                    }
                }
            }
            let mean = |sum: f64, n: u64| if n > 0 { sum / n as f64 } else { f64::NAN };
            let count = &mut self.nodes[f as usize].count;
            let (total, owd_ms) = (count.total_bytes, count.step_owd_ms());
            let before = core::mem::replace(&mut count.sampled, (total, goodput));
            let sample = FlowSample {
                throughput_mbps: mbps(total - before.0),
                goodput_mbps: mbps(goodput - before.1),
                cwnd_bytes: mean(cwnd, n),
                rtt_ms: mean(srtt, timed),
                srtt_ms: mean(srtt, timed),
                in_flight_bytes: flying,
                owd_ms,
                ..FlowSample::default()
            };
            self.probe.see(now, Trace::FlowSample { flow: f, sample });
        }
    }
}
