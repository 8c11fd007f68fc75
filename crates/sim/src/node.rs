//! A flow's two hosts and the application that feeds them.

use crate::gaps::Gaps;
use crate::histogram::Histogram;
use crate::outside::Told;
use crate::packet::Way;
use crate::{prefetch, summary};
use cc::{CauseKind, EventRecord};
use core::mem::offset_of;
use experiment::{FlowSpec, Run};
use tcp::{BandwidthEstimates, Endpoint};
use units::{Bytes, Duration, Instant, Rng};

/// More than any run can send.
pub const ENDLESS: u64 = 1 << 60;

/// A TCP connection: the data sender and the receiver.
#[derive(Debug)]
#[repr(C)]
pub struct Tcp {
    /// In-order payload at which the present transfer is done; `MAX` if there is none.
    pub goal: u64,
    /// Packets the data sender has handed over in the window.
    pub sent: u64,
    /// Window at the last look, for the digest.
    pub cwnd: Bytes,
    /// When the timers of the two go off next (`MAX`: none is set), and their orders.
    pub timers: [(Instant, u64); 2],
    /// Receives the data.
    pub receiver: Endpoint,
    /// Sends it.
    pub sender: Endpoint,
}

impl Tcp {
    /// The receiver of the data, or its sender.
    #[inline(always)]
    pub fn end(&mut self, receiver: bool) -> &mut Endpoint {
        if receiver { &mut self.receiver } else { &mut self.sender }
    }
}

/// A source of datagrams.
#[derive(Debug)]
pub struct Datagrams {
    /// Bytes at the IP layer.
    pub size: u32,
    /// From one to the next.
    pub gap: Duration,
    /// Mean talk spurt; zero: always on.
    pub on: Duration,
    /// Mean silence.
    pub off: Duration,
    /// End of the present spurt.
    pub until: Instant,
    /// Number of the next one.
    pub number: u64,
    /// Datagrams that arrived.
    pub received: u64,
    /// Bytes of payload that arrived.
    pub received_bytes: u64,
}

/// What carries a flow's data. Not boxed: a flow's state lies in one piece whose address is known without reading it,
/// so that it can be fetched before its packet arrives.
#[derive(Debug)]
#[repr(C)]
#[allow(clippy::large_enum_variant)]
pub enum Transport {
    /// A connection.
    Tcp(Tcp),
    /// Datagrams without congestion control.
    Datagrams(Datagrams),
    /// Programs outside the simulator, and what they say of themselves.
    Outside(Told),
}

/// A finished transfer.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Completion {
    /// Payload bytes.
    pub bytes: u64,
    /// From request to last byte, in seconds.
    pub seconds: f64,
    /// When it was done, in seconds.
    pub at: f64,
}

/// Data packets lost on the way, by what the algorithm made of the loss that it heard of next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Not heard of yet.
    pub silent: u64,
    /// Taken for random.
    pub tolerated: u64,
    /// Of those, with a shadow window larger than the window.
    pub unused: u64,
    /// The window was cut.
    pub answered: u64,
    /// Of those, with a threshold above the window: the shadow window's.
    pub shadow: u64,
    /// Left to a timeout.
    pub timeout: u64,
}

impl Losses {
    /// The algorithm hears of a loss: of how many packets.
    fn heard(&mut self) -> u64 {
        core::mem::take(&mut self.silent)
    }

    /// Adds those of one of its connections.
    pub fn add(&mut self, other: &Losses) {
        self.tolerated += other.tolerated;
        self.unused += other.unused;
        self.answered += other.answered;
        self.shadow += other.shadow;
        self.timeout += other.timeout;
    }
}

/// Counters of a flow: first what is seldom touched, last what is [noted](crate::delays) with every packet.
#[derive(Debug, Default)]
#[repr(C)]
pub struct FlowCount {
    /// Of the packets sent in the window, lost on the way (whenever they were sent).
    pub lost_packets: u64,
    /// In-order payload at the start and end of the window.
    pub goodput: [u64; 2],
    /// Retransmissions at the start and end of the window.
    pub retransmits: [u64; 2],
    /// Delay, loss, ECN and timeout back-offs of the whole run.
    pub backoffs: [u64; 4],
    /// Of all those, with a window below the path's BDP.
    pub below_bdp: u64,
    /// End of slow start: time, threshold, ratio to the BDP.
    pub slow_start_exit: Option<(Instant, u64, f64)>,
    /// Time spent in modes, by number, and the present one with its beginning.
    pub modes: Vec<(i64, Duration)>,
    /// The present mode and when it began.
    pub mode: Option<(i64, Instant)>,
    /// Finished transfers.
    pub completions: Vec<Completion>,
    /// IP bytes and in-order payload at the last sample.
    pub sampled: (u64, u64),
    /// In-order payload of the flow's connections that are through (Tmix).
    pub ended_goodput: u64,
    /// Delay back-offs sooner than `ON_THE_HEELS` RTTs after another, both with a window below the BDP; when the last
    /// delay back-off was, if its window was below, too; the sum of the windows that all delay back-offs left, in
    /// bytes.
    pub doubles: (u64, Option<Instant>, u64),
    /// Counts: delay indications ignored; losses tolerated; losses answered with a threshold above the window; of the
    /// tolerated losses, those with a shadow window above the window.
    pub unanswered: [u64; 4],
    /// What its lost packets came to, over the whole run.
    pub losses: Losses,
    /// Gaps between arrivals of data and of acknowledgements, if they are asked for.
    pub gaps: Option<Box<[Gaps; 2]>>,

    /// If asked for: what each round in the window says of the bandwidth, at the IP layer in bit/s, by the ACKs' rate and
    /// by the window over the RTT. A bit a second counts as a nanosecond, so that milliseconds are Mbit/s.
    pub bandwidth: Option<Box<[Histogram; 2]>>,
    /// Packets handed over in the window by others than a connection's data sender, which [counts](Tcp::sent) itself.
    pub sent_packets: u64,

    /// RTT samples in the window.
    pub rtt: Histogram,
    /// IP bytes delivered in the whole run.
    pub total_bytes: u64,
    /// IP bytes delivered to the receiver in the window.
    pub delivered_bytes: u64,
    /// Interarrival jitter of RFC 3550, section 6.4.1, in nanoseconds.
    pub jitter: f64,
    last_one_way: Option<Duration>,
    /// Of the step of the series under way.
    pub step: StepDelay,
    /// One-way delays of data packets in the window.
    pub one_way: Histogram,
}

impl FlowCount {
    /// Nothing has happened yet.
    pub fn new(run: &Run) -> Self {
        let gaps = || Box::new([Gaps::new(&run.gaps), Gaps::new(&run.gaps)]);
        FlowCount {
            gaps: (!run.gaps.is_empty()).then(gaps),
            bandwidth: run.estimates.then(Box::default),
            ..FlowCount::default()
        }
    }

    /// A round is over; `packet` is the size at the IP layer of one with `mss` bytes of payload.
    pub fn round(&mut self, estimates: BandwidthEstimates, mss: Bytes, packet: Bytes) {
        for (histogram, rate) in
            self.bandwidth.iter_mut().flat_map(|b| &mut **b).zip([estimates.ack_rate, estimates.window_rate])
        {
            let bps = rate.as_bps() as u128 * packet.get() as u128 / mss.get() as u128;
            histogram.add(Duration::from_nanos(u64::try_from(bps).unwrap_or(u64::MAX)));
        }
    }

    /// Its algorithm told of something, `now`, on a flow that started at `start` over a path of this BDP. Two delay
    /// back-offs sooner after each other than `soon` are a double one.
    #[cold]
    pub fn caused(&mut self, event: &EventRecord, now: Instant, start: Instant, bdp: f64, soon: Duration) {
        let backoff = match event.cause() {
            Some(CauseKind::DelayBackoff) => Some(0),
            Some(CauseKind::LossBackoff) => Some(1),
            Some(CauseKind::EcnBackoff) => Some(2),
            Some(CauseKind::Timeout) => Some(3),
            Some(CauseKind::ModeSwitch) => {
                let (from, to) = (event.values[0], event.values[1]);
                let (_, since) = self.mode.unwrap_or((from, start));
                summary::add_mode(&mut self.modes, from, now.since(since));
                self.mode = Some((to, now));
                None
            }
            Some(CauseKind::DelayIgnored) => {
                self.unanswered[0] += 1;
                None
            }
            Some(CauseKind::LossTolerated) => {
                let lost = self.losses.heard();
                self.losses.tolerated += lost;
                self.unanswered[1] += 1;
                if event.values[3] > event.cwnd_before as i64 {
                    self.losses.unused += lost;
                    self.unanswered[3] += 1;
                }
                None
            }
            _ => None,
        };
        if let Some(kind) = backoff {
            let below = (event.cwnd_before as f64) < bdp;
            self.backoffs[kind] += 1;
            self.below_bdp += u64::from(below);
            if kind == 0 {
                let (doubles, last, left) = &mut self.doubles;
                let since = core::mem::replace(last, below.then_some(now)).map(|last| now.since(last));
                *doubles += u64::from(below && since.is_some_and(|gap| gap < soon));
                *left += event.cwnd_after;
            }
            if kind == 1 {
                let lost = self.losses.heard();
                self.losses.answered += lost;
                // CDG's way to use its shadow window: a threshold above the window, which slow start then climbs to.
                if event.ssthresh_after > event.cwnd_before {
                    self.losses.shadow += lost;
                    self.unanswered[2] += 1;
                }
            }
            if kind == 3 {
                self.losses.timeout += self.losses.heard();
            }
        }
        // A threshold learned on the way (SlowStartCap) is not the end yet; BBR's end sets no threshold.
        let ends = event.cause() == Some(CauseKind::SlowStartExit)
            || (event.ssthresh_before == u64::MAX && event.ssthresh_after != u64::MAX);
        if self.slow_start_exit.is_none() && ends && event.cause() != Some(CauseKind::SlowStartCap) {
            let unset = event.ssthresh_after == u64::MAX;
            let threshold = if unset { event.cwnd_after } else { event.ssthresh_after };
            self.slow_start_exit = Some((now, threshold, threshold as f64 / bdp));
        }
    }

    /// Mean one-way delay (ms) of the packets since this was last asked; NaN if none came.
    pub fn step_owd_ms(&mut self) -> f64 {
        let StepDelay { nanos, packets } = core::mem::take(&mut self.step);
        if packets == 0 { f64::NAN } else { nanos as f64 * 1e-6 / packets as f64 }
    }

    /// A data packet arrived; `bucket` is its delay's in the histogram.
    #[inline]
    pub fn arrived(&mut self, size: u32, one_way: Duration, bucket: usize, measuring: bool) {
        self.total_bytes += size as u64;
        self.step.add(one_way);
        if !measuring {
            return;
        }
        self.delivered_bytes += size as u64;
        if let Some(last) = self.last_one_way {
            let d = one_way.as_nanos().abs_diff(last.as_nanos()) as f64;
            self.jitter += (d - self.jitter) * (1.0 / 16.0);
        }
        self.last_one_way = Some(one_way);
        self.one_way.add_to(bucket, one_way);
    }
}

/// One-way delays of the packets of a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepDelay {
    nanos: u64,
    packets: u64,
}

impl StepDelay {
    /// A packet arrived.
    #[inline]
    pub fn add(&mut self, one_way: Duration) {
        self.nanos += one_way.as_nanos();
        self.packets += 1;
    }
}

/// A flow at work: first what packets need, in the order in which they do.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Node {
    /// What carries its data.
    pub transport: Transport,
    /// Its counters.
    pub count: FlowCount,
    /// What the experiment says of it.
    pub spec: Box<FlowSpec>,
    /// When it starts, `vary` included.
    pub start: Instant,
    /// It has been told to stop.
    pub stopped: bool,
    /// It has started.
    pub started: bool,
    /// The application's dice.
    pub rng: Rng,
    /// End of the present on period of on/off traffic.
    pub spurt_until: Instant,
    /// The bottleneck's rate × the base RTT in bytes, both as they are by now.
    pub bdp: f64,
    /// Payload of the present transfer, and when it was asked for.
    pub transfer: Option<(u64, Instant)>,
}

impl Node {
    /// In a C enum the contents follow the tag.
    const TCP: usize = offset_of!(Node, transport) + align_of::<Transport>();
    const RECEIVER: usize = Self::TCP + offset_of!(Tcp, receiver);
    const SENDER: usize = Self::TCP + offset_of!(Tcp, sender);

    /// Fetches what an arriving packet will touch in here. With a thousand flows their state lies in the third-level
    /// cache, and waiting for it takes longer than working on a packet. By address alone: to read here which transport
    /// it is would be to wait.
    #[inline(always)]
    pub fn prefetch(&self, way: Way) {
        prefetch::line(self);
        match way {
            Way::Out => prefetch::lines::<
                { Node::RECEIVER + Endpoint::RECEIVING.start },
                { Node::RECEIVER + Endpoint::RECEIVING.end },
                Node,
            >(self),
            Way::Back => prefetch::lines::<
                { Node::SENDER + Endpoint::SENDING.start },
                { Node::SENDER + Endpoint::SENDING.end },
                Node,
            >(self),
        }
    }

    /// Fetches what a timer that goes off and was put off meanwhile looks at.
    #[inline]
    pub fn prefetch_timer(&self, receiver: bool) {
        prefetch::line(self);
        let host = if receiver { Node::RECEIVER } else { Node::SENDER };
        let timers = core::ptr::from_ref(self).cast::<u8>().wrapping_add(host + Endpoint::TIMERS);
        prefetch::line(timers);
        prefetch::line(timers.wrapping_add(prefetch::LINE));
    }

    const ONE_WAY: usize = offset_of!(Node, count) + offset_of!(FlowCount, total_bytes);
    const RTT: usize = offset_of!(Node, count) + offset_of!(FlowCount, rtt);

    /// Fetches what is counted of a data packet.
    #[inline]
    pub fn prefetch_one_way(&self) {
        prefetch::lines::<{ Node::ONE_WAY }, { offset_of!(Node, count) + size_of::<FlowCount>() }, Node>(self);
    }

    /// Fetches what is counted of an RTT sample.
    #[inline]
    pub fn prefetch_rtt(&self) {
        prefetch::lines::<{ Node::RTT }, { Node::ONE_WAY }, Node>(self);
    }

    /// One step later: fetches what an acknowledgement will touch elsewhere, whose addresses are in here.
    #[inline]
    pub fn prefetch_outlying(&self) {
        if let Transport::Tcp(tcp) = &self.transport {
            tcp.sender.outlying().into_iter().for_each(prefetch::line);
        }
    }

    /// In-order payload received.
    pub fn goodput(&self) -> u64 {
        match &self.transport {
            Transport::Tcp(t) => t.receiver.received(),
            Transport::Datagrams(d) => d.received_bytes,
            Transport::Outside(told) => told.goodput,
        }
    }

    /// Packets handed over in the window by the sender of the data.
    pub fn sent_packets(&self) -> u64 {
        match &self.transport {
            Transport::Tcp(t) => self.count.sent_packets + t.sent,
            _ => self.count.sent_packets,
        }
    }

    /// Segments sent again.
    pub fn retransmits(&self) -> u64 {
        match &self.transport {
            Transport::Tcp(t) => t.sender.stats().retransmissions,
            Transport::Datagrams(_) => 0,
            Transport::Outside(told) => told.retransmits,
        }
    }
}
