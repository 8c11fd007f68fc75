//! Watching a run. A probe is a type parameter of the world: `()` costs nothing.

use crate::link::DropWhy;
use crate::packet::{Packet, Way};
use cc::EventRecord;
use units::{Bytes, Duration, Instant};

/// One thing that happened, for those who watch. `link` and `flow` count as in the scenario.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Trace<'a> {
    /// A packet entered a link's queue, which now holds `len`.
    Enqueue { link: u32, packet: &'a Packet, len: usize },
    /// A packet left a link's queue.
    Dequeue { link: u32, packet: &'a Packet, sojourn: Duration, len: usize },
    /// A packet was dropped at a link.
    Drop { link: u32, packet: &'a Packet, why: DropWhy },
    /// A packet was marked at a link.
    Mark { link: u32, packet: &'a Packet },
    /// Something happened to a packet at a link's queue, which is there to be asked; only if [`Probe::queues`].
    Queue {
        link: u32,
        event: crate::diftr::Event,
        packet: &'a Packet,
        sojourn: Option<Duration>,
        queue: &'a dyn aqm::Qdisc<Packet>,
    },
    /// A connection of a flow is opened, its `connection`th from 1. Packets born from now on with `place` as their flow
    /// are this connection's, until the next one opens at the same `place`. `scales` are those of the windows that its
    /// packets tell, by [`Way`](crate::packet::Way).
    Open { place: u32, flow: u32, connection: u32, mss: Bytes, scales: [u8; 2] },
    /// The application at one end wrote so many bytes to the flow or connection at `place`, whose data go this way.
    Write { place: u32, way: Way, bytes: u64 },
    /// A host handed a packet over.
    Send { packet: &'a Packet },
    /// A packet reached its host.
    Deliver { packet: &'a Packet },
    /// A congestion control event.
    Event(&'a EventRecord),
    /// A flow, at a step of the series.
    FlowSample { flow: u32, sample: FlowSample },
    /// A link, at a step of the series.
    LinkSample { link: u32, sample: LinkSample },
    /// An inner variable of a flow's algorithm or of a link's queue, at a step.
    Var { source: VarSource, index: u32, name: &'static str, value: f64 },
}

/// Whose an inner variable is, and what its `index` counts; the number of the table `vars`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum VarSource {
    /// A flow's algorithm.
    Flow = 0,
    /// A link's queue.
    Link = 1,
}

/// A flow at one step. What nobody knows, or what is not set, is NaN.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct FlowSample {
    pub throughput_mbps: f64,
    pub goodput_mbps: f64,
    pub cwnd_bytes: f64,
    pub ssthresh_bytes: f64,
    /// The last sample, while something is under way.
    pub rtt_ms: f64,
    pub srtt_ms: f64,
    pub in_flight_bytes: f64,
    pub pacing_mbps: f64,
    /// Mean one-way delay of the data packets that arrived in this step; NaN if none did.
    pub owd_ms: f64,
}

impl Default for FlowSample {
    fn default() -> Self {
        FlowSample {
            throughput_mbps: f64::NAN,
            goodput_mbps: f64::NAN,
            cwnd_bytes: f64::NAN,
            ssthresh_bytes: f64::NAN,
            rtt_ms: f64::NAN,
            srtt_ms: f64::NAN,
            in_flight_bytes: f64::NAN,
            pacing_mbps: f64::NAN,
            owd_ms: f64::NAN,
        }
    }
}

/// A link at one step.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct LinkSample {
    /// Sojourn of the packet that left last; zero if none left in this step and the queue is empty.
    pub queue_ms: f64,
    pub queue_packets: u32,
    pub queue_bytes: f64,
    /// Share of what the rate would have carried in this step; NaN where it would have carried nothing.
    pub utilisation: f64,
    pub dropped: u32,
    pub marked: u32,
    /// NaN, as is `departed_bytes`, on a link that only delays: nobody counts there.
    pub arrived_bytes: f64,
    pub departed_bytes: f64,
    /// Mean sojourn of the packets that left in this step; NaN if none did.
    pub delay_ms: f64,
}

/// Somebody who watches.
pub trait Probe {
    /// False makes every call vanish.
    const ON: bool = true;
    /// Sees one thing happen.
    fn see(&mut self, now: Instant, trace: Trace<'_>);
    /// Does it want [`Trace::Queue`]?
    fn queues(&self) -> bool {
        false
    }
    /// The step of the series it wants, if any.
    fn step(&self) -> Option<Duration> {
        None
    }
}

impl Probe for () {
    const ON: bool = false;
    #[inline(always)]
    fn see(&mut self, _: Instant, _: Trace<'_>) {}
}

impl<A: Probe, B: Probe> Probe for (A, B) {
    const ON: bool = A::ON || B::ON;
    fn see(&mut self, now: Instant, trace: Trace<'_>) {
        self.0.see(now, trace);
        self.1.see(now, trace);
    }
    fn queues(&self) -> bool {
        self.0.queues() || self.1.queues()
    }
    fn step(&self) -> Option<Duration> {
        match (self.0.step(), self.1.step()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}
