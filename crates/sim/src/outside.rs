//! A world whose hosts are not simulated: packets come from outside and go out again.
//!
//! Links, queues, delay lines, changes and probes are those of any run, so a bottleneck that real packets pass is the
//! simulator's own, only paced by somebody's clock: a driver calls [`World::advance`] with the time, [`World::inject`]
//! with what has come, and takes what became of it from [`World::fates`]. Decisions are made at the times at which
//! events are due, however late the driver wakes, so the same arrivals give the same run: [`replay`] plays them again.

use crate::backoffs::Reductions;
use crate::count::Completion;
use crate::hosts::ON_THE_HEELS;
use crate::node::{Node, Transport};
use crate::packet::{Packet, Way};
use crate::probe::{FlowSample, Probe, Trace};
use crate::record::{Column, Table};
use crate::summary::{self, Summary};
use crate::world::World;
use crate::{Options, RunError, build};
use aqm::{Ecn, Packet as _};
use cc::EventRecord;
use experiment::{FlowSpec, Scenario, Traffic};
use tcp::Segment;
use units::{Duration, Instant};

/// What the driver knows of the hosts of a flow, such as the kernel's view of its sockets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// Window, smoothed RTT and the like; its two rates and its one-way delay are not looked at, nor of a flow that is one
    /// connection its RTT, which [`World::rtt`] tells.
    pub sample: FlowSample,
    /// When all that it had to send had come, after which it has neither window nor RTT.
    pub ended: Option<Instant>,
    /// The last RTT: for [`World::rtt`] to fill in.
    pub rtt: Option<Duration>,
    /// In-order payload received.
    pub goodput: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Its algorithm tells of what it does ([`World::caused`]). Of one that does not, nobody knows more than was sampled.
    pub tells: bool,
}

/// What became of a packet; `handle` is what [`World::inject`] was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It reached the end of its route.
    Delivered {
        /// When it was due there.
        at: Instant,
        /// Its flow.
        flow: u32,
        /// Its way.
        way: Way,
        /// The packet.
        handle: u32,
        /// It carries CE now.
        ce: bool,
    },
    /// It was lost.
    Dropped {
        /// The packet.
        handle: u32,
    },
    /// It goes on twice: one more fate will come.
    Copied {
        /// The packet.
        handle: u32,
    },
}

impl Told {
    /// The last RTT in milliseconds, unless nothing is `arriving` or known to be under way.
    pub(crate) fn rtt_ms(&self, arriving: bool) -> f64 {
        let fresh = self.ended.is_none() && (arriving || self.sample.in_flight_bytes > 0.0);
        self.rtt.filter(|_| fresh).map_or(f64::NAN, Duration::as_millis_f64)
    }
}

impl Fate {
    pub(crate) fn delivered(at: Instant, p: &Packet) -> Self {
        let handle = p.segment.ts_val;
        Fate::Delivered { at, flow: p.flow, way: p.way, handle, ce: p.ecn() == Ecn::Ce }
    }
}

/// A packet that came from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Instant,
    /// Its flow.
    pub flow: u32,
    /// Its way.
    pub way: Way,
    /// Bytes at the IP layer.
    pub size: u32,
    /// The IP header's ECN field.
    pub ecn: u8,
}

/// Every arrival as columns: what [`replay`] needs besides the scenario.
pub fn arrivals_table(arrivals: &[Arrival]) -> Table {
    vec![
        ("time_ns", Column::U64(arrivals.iter().map(|a| a.at.as_nanos()).collect())),
        ("flow", Column::U32(arrivals.iter().map(|a| a.flow).collect())),
        ("way", Column::U16(arrivals.iter().map(|a| a.way as u16).collect())),
        ("size", Column::U32(arrivals.iter().map(|a| a.size).collect())),
        ("ecn", Column::U16(arrivals.iter().map(|a| a.ecn as u16).collect())),
    ]
}

impl<P: Probe> World<P> {
    /// The next time at which something is due inside.
    #[inline]
    pub fn due(&self) -> Option<Instant> {
        self.scheduler.peek().map(|(at, _)| at)
    }

    /// Brings everything up to `to`, each event at its own time.
    pub fn advance(&mut self, to: Instant) {
        while let Some((at, source)) = self.scheduler.peek() {
            if at > to {
                break;
            }
            self.now = at;
            self.handle(source);
        }
        self.now = self.now.max(to);
    }

    /// A packet comes from outside, now: after [`advance`](World::advance) to the time at which it came.
    #[inline]
    pub fn inject(&mut self, flow: u32, way: Way, size: u32, ecn: u8, handle: u32) {
        self.number += 1;
        let segment = Segment { seq: self.number, len: size, ts_val: handle, ecn: ecn & 3, ..Segment::default() };
        if self.measuring && way == Way::Out {
            self.nodes[flow as usize].count.sent_packets += 1;
        }
        self.launch(flow, way, segment, size);
    }

    /// What became of packets since the last call, oldest first.
    pub fn fates(&mut self) -> std::vec::Drain<'_, Fate> {
        self.fates.drain(..)
    }

    /// A further flow; its group must be one of the scenario's. Returns its number.
    pub fn add_flow(&mut self, spec: FlowSpec) -> Result<u32, RunError> {
        let f = self.nodes.len();
        self.scenario.flows.push(spec);
        self.net.add_flow(&self.scenario, f, self.seed, &mut self.scheduler)?;
        let options = Options { outside: true, ..Options::default() };
        let mut node = build::node(&self.scenario, &self.net, f, self.seed, &options)?;
        (node.start, node.started) = (self.now, true);
        self.nodes.push(node);
        self.sessions.add_flow();
        Ok(f as u32)
    }

    /// The driver's news of a flow.
    pub fn tell(&mut self, flow: u32, news: Told) {
        if let Transport::Outside(told) = &mut self.nodes[flow as usize].transport {
            *told = Told { rtt: told.rtt, ..news };
        }
    }

    /// A flow's RTT as the driver measured it.
    pub fn measured_rtt(&mut self, flow: u32, rtt: Duration) {
        let node: &mut Node = &mut self.nodes[flow as usize];
        if let Transport::Outside(told) = &mut node.transport {
            told.rtt = Some(rtt);
        }
        if self.measuring {
            node.count.rtt.add(rtt);
        }
    }

    /// A transfer has come to its end.
    pub fn completed(&mut self, flow: u32, bytes: u64, took: Duration) {
        let completion = Completion { bytes, seconds: took.as_secs_f64(), at: self.now.as_secs_f64() };
        self.nodes[flow as usize].count.completions.push(completion);
    }

    /// Reductions of a flow's window.
    pub fn backed_off(&mut self, flow: u32, made: Reductions) {
        self.nodes[flow as usize].count.backoffs.made += made;
    }

    /// What a flow's algorithm told, at the time of the record: counted and shown as a simulated flow's is. It is not in the
    /// digest, which [`replay`] must be able to find again.
    pub fn caused(&mut self, event: EventRecord) {
        let f = event.flow as usize;
        let Node { spec, count, transport: Transport::Outside(told), start, bdp, .. } = &mut self.nodes[f] else {
            return;
        };
        let srtt = if told.sample.srtt_ms.is_finite() { told.sample.srtt_ms } else { 0.0 };
        let soon = Duration::from_millis_f64(srtt * ON_THE_HEELS);
        count.caused(&event, Instant::from_nanos(event.time), *start, *bdp, soon);
        if matches!(spec.traffic, Traffic::Tmix(_)) {
            // Modes and double back-offs are defined for one connection; this flow stands for many.
            count.backoffs.of_many();
            count.mode = None;
            count.modes.clear();
        }
        if P::ON {
            self.probe.see(self.now, Trace::Event(&event));
        }
    }

    /// A flow has left slow start, with this threshold.
    pub fn slow_start_over(&mut self, flow: u32, ssthresh: u64) {
        let now = self.now;
        let node: &mut Node = &mut self.nodes[flow as usize];
        node.count.slow_start_exit.get_or_insert((now, ssthresh, ssthresh as f64 / node.bdp));
    }

    /// When flow `flow` starts, `vary` included.
    pub fn start_of(&self, flow: u32) -> Instant {
        self.nodes[flow as usize].start
    }

    /// The scenario as it is by now, added flows included.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// A link's state, for a status line.
    pub fn look(&self, link: usize) -> Look {
        let l = &self.net.links[link];
        let idle = l.queue.is_empty();
        Look {
            at: self.now,
            measuring: self.measuring,
            sent_bytes: l.count.sent_bytes,
            queue: if idle { Duration::ZERO } else { l.last_sojourn },
            packets: l.queue.len(),
            dropped: l.count.dropped.iter().sum(),
            marked: l.count.marked,
        }
    }

    /// Ends the run here: the run's length and the window's end are what they have become.
    pub fn finish(mut self) -> (Summary, P) {
        let end = self.now;
        let run = &mut self.scenario.run;
        run.duration = end.since(Instant::ZERO);
        run.measure.1 = run.measure.1.min(end);
        run.measure.0 = run.measure.0.min(run.measure.1);
        if self.measuring {
            self.measure_ends();
        }
        self.settle_connections();
        self.check_conservation();
        (summary::of(&self), self.probe)
    }
}

/// A link at a glance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// When.
    pub at: Instant,
    /// Inside the measure window?
    pub measuring: bool,
    /// Bytes sent in the measure window.
    pub sent_bytes: u64,
    /// Time in the queue of the packet that left last; zero if nothing waits.
    pub queue: Duration,
    /// Packets waiting.
    pub packets: usize,
    /// Packets dropped in the measure window.
    pub dropped: u64,
    /// Packets marked in the measure window.
    pub marked: u64,
}

/// Plays recorded arrivals through the scenario's links until `end`. Flows beyond the scenario's are made when their
/// first packet comes, as the driver made them.
pub fn replay<P: Probe>(
    scenario: &Scenario,
    flows: &[FlowSpec],
    arrivals: &[Arrival],
    end: Instant,
    probe: P,
    repetition: u32,
) -> Result<(Summary, P), RunError> {
    let options = Options { repetition, outside: true, ..Options::default() };
    let mut world = World::new(scenario, probe, options)?;
    for a in arrivals {
        world.advance(a.at);
        while world.nodes.len() <= a.flow as usize {
            let next = flows.get(world.nodes.len());
            let next = next.ok_or_else(|| RunError::Unsupported(format!("no flow {} was recorded", a.flow)))?;
            world.add_flow(next.clone())?;
        }
        world.inject(a.flow, a.way, a.size, a.ecn, 0);
        world.fates.clear();
    }
    world.advance(end);
    Ok(world.finish())
}
