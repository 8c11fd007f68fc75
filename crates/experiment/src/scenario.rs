//! One case, resolved: links, flows and the run. No text, no defaults left open.

use crate::clock::TickParams;
use crate::tmix::Tmix;
use crate::trace::mean_rate;
use aqm::Limit;
use params::Spec;
use tcp::{Offload, Stack};
use units::{Bytes, Duration, Instant, Rate};

/// Index into [`Scenario::links`].
pub type LinkId = usize;

/// One case of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// One-way links with their queues.
    pub links: Vec<Link>,
    /// Flows, every `count` expanded.
    pub flows: Vec<FlowSpec>,
    /// Names of the `[[flow]]` entries, indexed by [`FlowSpec::group`].
    pub groups: Vec<String>,
    /// Duration, window, seed and repeats.
    pub run: Run,
}

impl Scenario {
    /// The rate of the slowest link on a flow's way out; of a trace its mean counts.
    pub fn bottleneck(&self, flow: &FlowSpec) -> Option<Rate> {
        let rates = flow.route.iter().filter_map(|&l| self.links[l].rate.as_ref().map(RateSpec::mean));
        rates.chain(flow.access).min()
    }

    /// How long a flow may send.
    pub fn horizon(&self, flow: &FlowSpec) -> Duration {
        let end = Instant::ZERO + self.run.duration;
        flow.stops(flow.start).map_or(end, |stop| stop.min(end)).since(flow.start)
    }
}

/// A one-way link: queue, transmitter, propagation.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name: "bottleneck" and "return" in a dumbbell.
    pub name: String,
    /// Transmission rate at the IP layer; `None` is unlimited: no queue forms.
    pub rate: Option<RateSpec>,
    /// Propagation delay.
    pub delay: Duration,
    /// Buffer; `None` leaves it to the queue's own limit.
    pub buffer: Option<Limit>,
    /// The queue.
    pub queue: Spec,
    /// Loss that is not its queue's.
    pub loss: LossModel,
    /// Where the loss happens.
    pub loss_at: LossAt,
    /// Standard deviation of the normal number whose size is a packet's extra delay; order is kept. Zero: none.
    pub jitter: Duration,
    /// Packets taken out of order.
    pub reorder: Option<Reorder>,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// The router knows Quick-Start and may grant this share of the rate.
    pub quick_start: Option<f64>,
    /// The emulator's clock.
    pub clock: Clock,
    /// Scheduled changes, in order of time.
    pub changes: Vec<Change>,
}

impl Link {
    /// A link that passes on whatever it gets, at once and always.
    pub fn plain(name: impl Into<String>, queue: Spec) -> Link {
        Link {
            name: name.into(),
            rate: None,
            delay: Duration::ZERO,
            buffer: None,
            queue,
            loss: LossModel::None,
            loss_at: LossAt::Enqueue,
            jitter: Duration::ZERO,
            reorder: None,
            duplicate: 0.0,
            quick_start: None,
            clock: Clock::Exact,
            changes: Vec::new(),
        }
    }

    /// Nothing happens to a packet there but its propagation: the simulator makes it a part of a delay line.
    pub fn only_delays(&self) -> bool {
        self.rate.is_none()
            && self.clock == Clock::Exact
            && self.changes.is_empty()
            && self.jitter.is_zero()
            && self.loss == LossModel::None
            && self.duplicate == 0.0
            && self.reorder.is_none()
            && self.quick_start.is_none()
    }
}

/// A full packet of a link, IP header included.
pub const MTU: Bytes = Bytes::new(1500);

/// How fast a link sends.
#[derive(Clone, Debug, PartialEq)]
pub enum RateSpec {
    /// Always the same, until a [`Change`].
    Constant(Rate),
    /// Delivery opportunities of one MTU (a mahimahi trace).
    Trace {
        /// The file, as the experiment names it.
        file: String,
        /// When they are; repeated after the last.
        times: Vec<Instant>,
    },
}

impl RateSpec {
    /// The rate, or over one repetition of a trace.
    pub fn mean(&self) -> Rate {
        match self {
            RateSpec::Constant(rate) => *rate,
            RateSpec::Trace { times, .. } => mean_rate(times),
        }
    }
}

/// Loss of a link that is not its queue's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossModel {
    /// None.
    None,
    /// Each packet with this probability.
    Random(f64),
    /// Gilbert–Elliott: a good and a bad state.
    Gilbert {
        /// Probability per packet of going from good to bad.
        to_bad: f64,
        /// Probability per packet of going from bad to good.
        to_good: f64,
        /// Loss in the good state.
        loss_good: f64,
        /// Loss in the bad state.
        loss_bad: f64,
    },
    /// No dice: bursts at equal distances.
    Periodic {
        /// Number of the first packet lost, counted from one.
        first: u64,
        /// Packets from the first of a burst to the first of the next.
        every: u64,
        /// Packets of a burst.
        burst: u64,
    },
}

/// Where that loss happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossAt {
    /// Before the queue, as in dummynet.
    Enqueue,
    /// After the transmitter.
    After,
}

/// Packets delayed past their successors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Probability per packet.
    pub probability: f64,
    /// Extra delay of those packets.
    pub delay: Duration,
}

/// The clock of the emulator that a link imitates.
#[derive(Clone, Debug, PartialEq)]
pub enum Clock {
    /// Events happen when they happen.
    Exact,
    /// When dummynet's clock ticks.
    Tick(TickParams),
}

/// A change of a link during the run. `None` leaves a value alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When.
    pub at: Instant,
    /// New rate.
    pub rate: Option<Rate>,
    /// New propagation delay.
    pub delay: Option<Duration>,
    /// New loss.
    pub loss: Option<LossModel>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Its name, such as "a" or "cubic-2".
    pub name: String,
    /// The `[[flow]]` entry it comes from.
    pub group: usize,
    /// Congestion control.
    pub cc: Spec,
    /// Whose TCP.
    pub stack: Stack,
    /// When it starts.
    pub start: Instant,
    /// When it stops sending, if that is what was written; without either, at the end of the run.
    pub stop: Option<Instant>,
    /// How long it sends, if that is: then it stops so long after its start, wherever `vary` puts that.
    pub lasts: Option<Duration>,
    /// Links from the data sender to the receiver.
    pub route: Vec<LinkId>,
    /// Links back.
    pub back: Vec<LinkId>,
    /// Extra one-way delay between the sender and the first link.
    pub edge: Duration,
    /// Extra one-way delay between the last link back and the sender.
    pub edge_back: Duration,
    /// The sender's own link; `None` is unlimited.
    pub access: Option<Rate>,
    /// What it sends.
    pub traffic: Traffic,
    /// Negotiate ECN.
    pub ecn: bool,
    /// The receiver delays ACKs by its stack's rule; otherwise every packet is acknowledged at once.
    pub delayed_ack: bool,
    /// What the application writes at a time; zero: it keeps the sender's buffer full.
    pub writes: Bytes,
    /// How much faster than the receiver's the sender's clock is at the start, in parts per billion.
    pub clock_skew_ppb: i64,
    /// How much that grows in an hour, in parts per billion.
    pub clock_drift_ppb: i64,
    /// The host paces where the algorithm does not.
    pub pacing: bool,
    /// Packets that leave together where the flow is paced.
    pub pacing_quantum: u32,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Largest payload.
    pub mss: Bytes,
    /// The receiver's buffer.
    pub receive_window: Bytes,
    /// How fast the receiving application reads; `None`: all that comes, as it comes.
    pub read_rate: Option<Rate>,
    /// Sender offload.
    pub offload: Offload,
    /// Smallest RTT of the empty path, propagation only: the base RTT.
    pub base_rtt: Duration,
}

impl FlowSpec {
    /// When it stops sending if it starts then.
    pub fn stops(&self, start: Instant) -> Option<Instant> {
        self.lasts.map_or(self.stop, |lasts| Some(start + lasts))
    }
}

/// What a flow sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// As much as the window allows.
    Bulk {
        /// First write, in a segment of its own.
        header: Bytes,
    },
    /// A file of this size, then FIN.
    Bytes(Bytes),
    /// Datagrams at a constant rate, no congestion control (UDP).
    Cbr {
        /// Rate at the IP layer.
        rate: Rate,
        /// Size at the IP layer.
        size: Bytes,
        /// Mean length of a talk spurt; zero: always on.
        on: Duration,
        /// Mean length of a silence.
        off: Duration,
    },
    /// Bulk in exponential on and off periods over one connection.
    OnOff {
        /// Mean on period.
        on: Duration,
        /// Mean off period.
        off: Duration,
        /// Application rate while on; `None` is as fast as the window allows.
        rate: Option<Rate>,
    },
    /// Requests of random size with think times between, over one connection.
    Web {
        /// Median size.
        size: Bytes,
        /// σ of the logarithm of the size.
        sigma: f64,
        /// Mean think time.
        think: Duration,
    },
    /// Chunks of a video, each asked for when its turn has come and the one before is there, over one connection.
    Dash {
        /// Size of a chunk.
        chunk: Bytes,
        /// Time between two turns.
        cycle: Duration,
    },
    /// Many connections, opened by the receiver of the data.
    Tmix(Box<Tmix>),
}

/// Duration, window, seed and repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Simulated time.
    pub duration: Duration,
    /// Window of every summary figure.
    pub measure: (Instant, Instant),
    /// The seed of the first repetition; repetition n has seed + n.
    pub seed: u64,
    /// Repetitions.
    pub repeat: u32,
    /// What differs between repetitions.
    pub vary: Vary,
    /// The most that a host takes for a packet; the path's packet time if not set.
    pub processing: Option<Duration>,
    /// Bands of the gaps between packets of a flow that are counted.
    pub gaps: Vec<Band>,
    /// The rounds' two estimates of the bandwidth are kept.
    pub estimates: bool,
}

/// A range of the gaps between a flow's packets as they arrive.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Its name.
    pub name: String,
    /// Least gap in it.
    pub from: Duration,
    /// Least gap above it.
    pub to: Duration,
}

params::choice! {
    /// What differs between repetitions besides the algorithms' own dice.
    pub enum Vary {
        /// Nothing.
        None = "none",
        /// Start times, by up to one base RTT.
        Start = "start",
        /// Start times, and host processing by up to one packet time.
        StartHost = "start+host",
    }
}
