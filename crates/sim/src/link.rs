//! A link: loss, a queue, a transmitter.

use crate::capacity::Capacity;
use crate::histogram::Histogram;
use crate::packet::Packet;
use crate::quick_start::Router;
use crate::scheduler::Source;
use crate::tick::Tick;
use crate::trace::Trace;
use aqm::{Limit, LinkInfo, Qdisc, Reason};
use experiment::{Link as Spec, LossAt, LossModel, MTU, RateSpec};
use units::{Bytes, Duration, Instant, Rate, Rng, streams};

/// How a link sends.
#[derive(Debug)]
pub enum Transmitter {
    /// At once: the link only delays and loses.
    Unlimited,
    /// At a constant rate.
    Constant {
        /// The rate.
        rate: Rate,
        /// Transmission times of the last two packet sizes: data and ACKs.
        cache: [(u32, Duration); 2],
    },
    /// At the delivery opportunities of a trace.
    Trace(Trace),
}

impl Transmitter {
    fn new(spec: &Option<RateSpec>) -> Self {
        match spec {
            None => Transmitter::Unlimited,
            Some(RateSpec::Constant(rate)) => Transmitter::Constant { rate: *rate, cache: [(0, Duration::ZERO); 2] },
            Some(RateSpec::Trace { times, .. }) => Transmitter::Trace(Trace::new(times.clone())),
        }
    }

    /// When a packet whose transmission begins now has left.
    #[inline]
    pub fn sent_by(&mut self, now: Instant, size: u32) -> Instant {
        match self {
            Transmitter::Unlimited => now,
            Transmitter::Constant { rate, cache } => {
                if cache[0].0 != size {
                    cache.swap(0, 1);
                    if cache[0].0 != size {
                        cache[0] = (size, Bytes::new(size as u64) / *rate);
                    }
                }
                now + cache[0].1
            }
            Transmitter::Trace(trace) => trace.sent_by(now, size),
        }
    }

    /// The rate, or the trace's mean rate; `None` if unlimited.
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Transmitter::Unlimited => None,
            Transmitter::Constant { rate, .. } => Some(*rate),
            Transmitter::Trace(trace) => Some(trace.mean_rate()),
        }
    }
}

/// Loss other than the queue's, at work.
#[derive(Debug)]
pub struct Loss {
    model: LossModel,
    bad: bool,
    /// Packets seen, counted for periodic loss only.
    seen: u64,
    rng: Rng,
}

impl Loss {
    /// Is this packet lost?
    #[inline]
    pub fn strikes(&mut self) -> bool {
        match self.model {
            LossModel::None => false,
            LossModel::Random(p) => self.rng.chance(p),
            LossModel::Gilbert { to_bad, to_good, loss_good, loss_bad } => {
                let turn = if self.bad { to_good } else { to_bad };
                self.bad ^= self.rng.chance(turn);
                self.rng.chance(if self.bad { loss_bad } else { loss_good })
            }
            LossModel::Periodic { first, every, burst } => {
                self.seen += 1;
                self.seen >= first && (self.seen - first) % every < burst
            }
        }
    }
}

/// Counters over the measure window.
#[derive(Debug, Default)]
pub struct LinkCount {
    /// Packets that came.
    pub arrived: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// Dropped by the queue, by its law, by chance.
    pub dropped: [u64; 3],
    /// Packets marked.
    pub marked: u64,
    /// Packets that passed without a transmission.
    pub passed: u64,
    /// Packets dropped though they had been sent: by chance, behind the transmitter.
    pub lost_behind: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Time from enqueue to start of transmission.
    pub queue: Histogram,
    /// Integral of the queue length over time, in packet-nanoseconds.
    pub packet_time: u128,
    /// When that integral was last brought up to date.
    pub since: Instant,
    /// Longest queue in packets.
    pub most: usize,
}

impl LinkCount {
    /// Packets of which the window saw what became of them: dropped, or passed on.
    pub fn decided(&self) -> u64 {
        let dropped: u64 = self.dropped.iter().sum();
        // A ticking link's delay lies between the two, so that what was sent before the window may be lost in it.
        (self.queue.count() + self.passed + dropped).saturating_sub(self.lost_behind).max(dropped)
    }
}

/// Counters over one step of the series.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Step {
    pub dropped: u32,
    pub marked: u32,
    pub arrived_bytes: u64,
    pub sent_bytes: u64,
    /// Packets sent, and the sum of their times in the queue.
    pub sent: u32,
    pub sojourn: Duration,
}

/// Packets wait in the row of the one delay line behind the link, not in a queue of its own.
#[derive(Clone, Copy, Debug)]
pub struct Through {
    /// The line.
    pub line: u32,
    /// How many may wait.
    pub limit: Limit,
}

/// A link at work.
#[derive(Debug)]
pub struct Link {
    /// Its event source: the end of a transmission, while packets wait.
    pub source: Source,
    /// What holds the packets.
    pub queue: Box<dyn Qdisc<Packet>>,
    /// How it sends.
    pub transmitter: Transmitter,
    /// Propagation.
    pub delay: Duration,
    /// The pipe of an emulator that ticks.
    pub tick: Option<Box<Tick>>,
    /// The transmitter is busy until then.
    pub free_at: Instant,
    /// An event of it is in the scheduler.
    pub pending: bool,
    /// Packets in the queue.
    pub len: usize,
    /// Where a FIFO's packets wait, if nobody watches.
    pub through: Option<Through>,
    /// Data waiting there.
    pub backlog: Bytes,
    /// Loss that is not the queue's.
    pub loss: Loss,
    /// Where it strikes.
    pub loss_at: LossAt,
    /// Some packets go astray after the transmitter (loss, duplication, reordering), or a router reads them: the slow path.
    pub impaired: bool,
    /// The router in front of it knows Quick-Start.
    pub router: Option<Box<Router>>,
    /// Packets that arrive twice.
    pub duplicate: (f64, Rng),
    /// Packets taken out of order: probability and extra delay.
    pub reorder: Option<(f64, Duration, Rng)>,
    /// What the queue was told of the link.
    pub info: LinkInfo,
    /// The window's counters.
    pub count: LinkCount,
    /// How long the last packet sent had waited.
    pub last_sojourn: Duration,
    /// Since the last sample.
    pub step: Step,
    /// What the rate would have carried.
    pub capacity: Box<Capacity>,
}

impl Link {
    /// A link at rest.
    pub fn new(spec: &Spec, id: usize, seed: u64, source: Source) -> Result<Self, params::ParamError> {
        let transmitter = Transmitter::new(&spec.rate);
        let mut info = LinkInfo {
            rate: transmitter.rate().unwrap_or(Rate::from_bps(u64::MAX)),
            delay: spec.delay,
            mtu: MTU,
            limit: spec.buffer,
        };
        if matches!(transmitter, Transmitter::Unlimited) {
            info.limit = None;
        }
        let entity = id as u64;
        Ok(Link {
            source,
            queue: aqm::build(&spec.queue, &info, Rng::new(seed, entity, streams::AQM))?,
            transmitter,
            delay: spec.delay,
            tick: None,
            free_at: Instant::ZERO,
            pending: false,
            len: 0,
            through: None,
            backlog: Bytes::ZERO,
            loss: Loss { model: spec.loss, bad: false, seen: 0, rng: Rng::new(seed, entity, streams::LOSS) },
            loss_at: spec.loss_at,
            impaired: spec.duplicate > 0.0
                || spec.reorder.is_some()
                || spec.loss != LossModel::None
                || spec.quick_start.is_some()
                || spec.changes.iter().any(|c| c.loss.is_some()),
            router: spec.quick_start.map(|share| Box::new(Router::new(share))),
            duplicate: (spec.duplicate, Rng::new(seed, entity, streams::DUPLICATE)),
            reorder: spec.reorder.map(|r| (r.probability, r.delay, Rng::new(seed, entity, streams::REORDER))),
            info,
            count: LinkCount::default(),
            last_sojourn: Duration::ZERO,
            step: Step::default(),
            capacity: Box::default(),
        })
    }

    /// A scheduled change of the rate.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        // A ticking link has no packet under way, only debt, which is paid at the new rate.
        let busy_until = if self.tick.is_some() { now } else { self.free_at };
        self.capacity.changes(now, &self.transmitter, busy_until);
        self.transmitter = Transmitter::Constant { rate, cache: [(0, Duration::ZERO); 2] };
        self.info.rate = rate;
        self.queue.set_link(&self.info);
    }

    /// A scheduled change of the propagation delay.
    pub fn set_delay(&mut self, delay: Duration) {
        match &mut self.tick {
            Some(tick) => tick.set_delay(delay),
            None => self.delay = delay,
        }
        self.info.delay = delay;
        self.queue.set_link(&self.info);
    }

    /// Packets that wait, wherever they do.
    pub fn waiting_packets(&self) -> usize {
        if self.through.is_some() { self.len } else { self.queue.len() }
    }

    /// What the router in front does with a packet.
    #[cold]
    pub fn pass_router(&mut self, now: Instant, packet: &mut Packet) {
        if let (Some(router), Some(rate)) = (&mut self.router, self.transmitter.rate()) {
            router.pass(now, packet, rate);
        }
    }

    /// A scheduled change of the loss.
    pub fn set_loss(&mut self, model: LossModel) {
        (self.loss.model, self.loss.seen) = (model, 0);
    }

    /// Brings the queue-length integral up to `now`; call before `len` changes.
    #[inline]
    pub fn account(&mut self, now: Instant) {
        self.count.packet_time += self.len as u128 * now.since(self.count.since).as_nanos() as u128;
        // `measure_ends` sets `since` to `MAX` and `max` keeps it there, so nothing after the window is added.
        self.count.since = self.count.since.max(now);
    }

    /// A packet came.
    #[inline]
    pub fn arrived(&mut self, size: u32, measuring: bool) {
        self.step.arrived_bytes += size as u64;
        if measuring {
            self.count.arrived += 1;
            self.count.arrived_bytes += size as u64;
        }
    }

    /// The transmission of a packet begins, which waited for `sojourn`.
    #[inline(always)]
    pub fn sends(&mut self, now: Instant, size: u32, sojourn: Duration, measuring: bool) {
        self.free_at = self.transmitter.sent_by(now, size);
        self.last_sojourn = sojourn;
        if measuring {
            self.count.sent_bytes += size as u64;
            self.count.queue.add(sojourn);
        }
        self.departed(size, sojourn);
    }

    /// A packet passed without a transmission.
    pub fn passed(&mut self, size: u32, measuring: bool) {
        self.step.sent_bytes += size as u64;
        if measuring {
            self.count.passed += 1;
            self.count.sent_bytes += size as u64;
        }
    }

    /// A packet left the queue.
    #[inline]
    pub fn departed(&mut self, size: u32, sojourn: Duration) {
        self.step.sent += 1;
        self.step.sent_bytes += size as u64;
        self.step.sojourn += sojourn;
    }

    /// Counts a drop.
    pub fn count_drop(&mut self, why: DropWhy, measuring: bool) {
        if measuring {
            self.count.dropped[why as usize] += 1;
        }
        self.step.dropped += 1;
    }
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropWhy {
    /// The buffer was full.
    Overflow = 0,
    /// The law said so.
    Law = 1,
    /// Chance.
    Random = 2,
}

impl From<DropWhy> for crate::diftr::Event {
    fn from(why: DropWhy) -> Self {
        match why {
            DropWhy::Overflow => Self::DropFull,
            DropWhy::Law => Self::DropLaw,
            DropWhy::Random => Self::DropRandom,
        }
    }
}

impl From<Reason> for DropWhy {
    fn from(r: Reason) -> Self {
        match r {
            Reason::Overflow => DropWhy::Overflow,
            Reason::Law => DropWhy::Law,
        }
    }
}
