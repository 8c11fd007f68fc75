//! The sending half: its state.

mod acks;

use crate::clock::TickClock;
use crate::config::{Config, LossDetection, Offload, RoundKind, Stack};
use crate::ecn;
use crate::freebsd::OwnWindow;
use crate::handshake::CAUTIOUS_RTO;
use crate::ring::Ring;
use crate::scoreboard::Scoreboard;
use crate::{BandwidthEstimates, Segment, Stats, prr::Prr, rack::Rack, timers::Probe, undo::Undo, usage::Usage};
use alloc::boxed::Box;
use cc::host::{EnhancedRtt, RateTag, RateTracker, RoundTracker, RttEstimator, RttRule};
use cc::{CongestionControl, Event, Flow, Phase};
use units::{Bytes, Duration, Instant, Rate};

/// Delivery rate: the flow's side and one tag per record of the scoreboard.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    pub tracker: RateTracker,
    pub tags: Ring<RateTag>,
}

/// What only SACK blocks and curious hosts ask for: not worth room among the fields of every segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside {
    /// SACK blocks of the last ACK that had some.
    pub seen_blocks: [(u64, u64); 3],
    /// One of these found no room on FreeBSD's scoreboard, so they are to be tried again.
    pub refused: bool,
    /// Of the last round that nobody has asked for yet.
    pub estimates: Option<BandwidthEstimates>,
    pub own_window: OwnWindow,
    /// New segments that FreeBSD's duplicates let go, whatever the window (`snd_limited`).
    pub limited_sent: u16,
    /// Written behind a push of what is not all sent yet.
    pub behind: Option<u64>,
    /// When the other side was last heard of; FreeBSD only.
    pub heard_at: Instant,
    /// The widest window that the peer offered, as far as it may be less than two segments.
    pub widest: u64,
    /// When our FIN was acknowledged.
    pub ended: Instant,
    /// Bytes sent less those waited for, where packets are paced by quanta.
    pub taken: i64,
    /// The rate that the host paces at; none where it does not, or the algorithm has one of its own.
    pub host_rate: Option<Rate>,
    /// Nanoseconds by which the burst under way left late and that no segment of it made up for.
    pub late: u64,
    /// Since when losses are being repaired.
    pub repairs_since: Option<Instant>,
    /// Time that repairs took, without the one under way.
    pub repaired: Duration,
}

/// Our FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fin {
    /// More may be written.
    Open,
    /// To follow the last byte.
    Queued,
    /// Sent.
    Sent,
}

/// Timestamps of a segment: (echoed, the peer's own), in ticks.
pub(crate) type Echo = Option<(u32, u32)>;

/// How paced packets leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Each a gap after the one before.
    Plain,
    /// Several at a time.
    Quanta,
    /// The first are not paced, and what left late is made up for.
    Credit,
}

/// What the configuration comes to, for the questions asked with every packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ways {
    pub sack: bool,
    pub rack: bool,
    /// Losses are found by count, as RFC 6675 has it.
    pub by_count: bool,
    /// FreeBSD's own window in recovery instead of a pipe.
    pub own_window: bool,
    /// FreeBSD's ways, wherever they are not those of the others.
    pub freebsd: bool,
    /// Somebody reads one-way delays.
    pub one_way: bool,
    /// Rounds end by sequence number.
    pub by_sequence: bool,
    /// Segments leave in bursts.
    pub bursts: bool,
    /// NewReno's repair, with its impatient timer.
    pub newreno: bool,
    /// The host paces where the algorithm does not.
    pub paced: bool,
    pub pace: Pace,
    /// Windows grow by what an ACK newly delivered, also by the one that ends a repair (Linux).
    pub by_delivery: bool,
}

/// ns-2's `tcpTick_`, which its timeouts are counted in.
const NS2_TICK: Duration = Duration::from_millis(10);

/// In order of use, so that a packet of a flow not seen for a while fetches few cache lines: first what both halves look
/// at, then what every acknowledgement does, then what only trouble does.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// Next to send, right edge of the peer's window. What is acknowledged is the algorithm's to know, too: `flow.acked_to`.
    pub nxt: u64,
    pub edge: u64,
    /// Retransmission (or persist, or SYN) timer, and the shorter one of RACK-TLP.
    pub rto_at: Instant,
    pub probe_at: Instant,
    /// When pacing lets the next segment go, if something waits for it.
    pub pace_at: Instant,
    /// The algorithm's own timer.
    pub wake_at: Instant,
    /// Nothing has happened that could let more leave.
    pub asleep: bool,
    /// Timestamps were agreed on.
    pub stamped: bool,
    pub fin: Fin,
    /// One segment may leave whatever the window says (the fast retransmission).
    pub force_one: bool,
    /// Window probe to be sent.
    pub window_probe: bool,
    /// The window was the limit when its use was noted last.
    pub limited: bool,
    /// Something left since then.
    pub sent_since_check: bool,
    pub partial_seen: bool,
    pub clock: TickClock,
    pub stats: Stats,

    pub flow: Flow,
    pub cc: Box<dyn CongestionControl>,
    pub ertt: Option<Box<EnhancedRtt>>,
    pub rates: Option<Box<Rates>>,
    /// End of what was written.
    pub written: u64,
    pub mss: u64,
    /// When pacing lets the next segment go.
    pub pace_next: Instant,
    pub last_sent: Instant,
    pub usage: Usage,
    /// Without SACK: bytes that duplicate ACKs say have left the network.
    pub credit: u64,
    pub duplicates: u32,
    pub burst_left: u32,
    pub ways: Ways,
    /// So many more ACKs for a single segment are suspected of having been delayed, for one-way delays; `None` until
    /// one ACK was for several.
    pub suspects: Option<u8>,
    /// Every round leaves two estimates of the bandwidth.
    pub estimating: bool,
    /// The algorithm answered [`Reaction::Own`](cc::Reaction::Own) last time.
    pub owns_window: bool,
    pub board: Scoreboard,
    pub rtt: RttEstimator,
    pub rounds: RoundTracker,
    pub rack: Rack,
    pub probe: Probe,
    pub prr: Prr,
    pub ecn: ecn::Sender,

    /// Episode in progress ends when this is acknowledged.
    pub recover: u64,
    pub undo: Box<Undo>,
    pub aside: Box<Aside>,
    pub config: Box<Config>,
}

impl Sender {
    pub fn new(config: Config, build: &mut dyn FnMut(&mut Flow) -> Box<dyn CongestionControl>) -> Self {
        let mss = config.mss.get();
        let window = mss * config.initial_window.max(1) as u64;
        let unit = mss + if config.timestamps { config.counted_options.get() } else { 0 };
        let mut flow = Flow::new(Bytes::new(unit), Bytes::new(window));
        flow.slow_start_at_ssthresh = config.stack == Stack::FreeBsd11;
        // TCP's options are 40 bytes at most.
        flow.options = (unit - mss) as u8;
        flow.freebsd = config.stack == Stack::FreeBsd11;
        let cc = build(&mut flow);
        let sack = config.sack();
        let rule = match config.stack {
            Stack::Linux => RttRule::Linux,
            Stack::FreeBsd11 => RttRule::FreeBsd { tick: config.rtt_tick },
            Stack::Ns2 => RttRule::Rfc { tick: NS2_TICK.max(config.rtt_tick) },
        };
        let mut rtt = RttEstimator::new(rule, config.min_rto, config.max_rto);
        if config.stack == Stack::FreeBsd11 {
            rtt.set_initial(CAUTIOUS_RTO);
        }
        let mut board = Scoreboard::new();
        board.keeps_resent = config.stack == Stack::Linux;
        Sender {
            board,
            nxt: 0,
            written: 1,
            edge: 0,
            mss,
            asleep: false,
            rto_at: Instant::MAX,
            probe_at: Instant::MAX,
            pace_next: Instant::ZERO,
            pace_at: Instant::MAX,
            // No alarm rings before the connection is up.
            wake_at: Instant::MAX,
            last_sent: Instant::ZERO,
            rtt,
            rounds: RoundTracker::new(Instant::ZERO, flow.cwnd, 0),
            recover: 0,
            prr: Prr::default(),
            rack: Rack::default(),
            undo: Box::default(),
            probe: Probe::default(),
            ecn: ecn::Sender::default(),
            suspects: None,
            estimating: config.estimates,
            duplicates: 0,
            credit: 0,
            force_one: false,
            partial_seen: false,
            owns_window: false,
            fin: Fin::Open,
            window_probe: false,
            limited: false,
            usage: Usage::default(),
            sent_since_check: false,
            burst_left: 0,
            ertt: (config.round == RoundKind::Marked).then(Box::default),
            rates: config.rate_samples.then(|| Box::new(Rates { tracker: RateTracker::default(), tags: Ring::new() })),
            aside: Box::default(),
            stats: Stats::default(),
            clock: TickClock::new(config.clock_tick(), config.tick_phase, config.clock_skew_ppb, config.clock_drift),
            stamped: config.timestamps,
            ways: Ways {
                sack,
                rack: config.loss == LossDetection::RackTlp,
                by_count: config.loss == LossDetection::Sack && config.stack != Stack::FreeBsd11,
                own_window: config.stack == Stack::FreeBsd11 && config.loss == LossDetection::Sack,
                freebsd: config.stack == Stack::FreeBsd11,
                one_way: config.one_way_delays,
                by_sequence: config.round == RoundKind::Sequence,
                bursts: config.offload != Offload::Off,
                newreno: config.loss == LossDetection::NewReno,
                paced: config.pacing,
                pace: match config.stack {
                    _ if config.pacing_quantum > 1 => Pace::Quanta,
                    Stack::Linux => Pace::Credit,
                    _ => Pace::Plain,
                },
                by_delivery: config.stack == Stack::Linux && sack,
            },
            config: Box::new(config),
            flow,
            cc,
        }
    }

    /// The connection is up: data may flow, from position 1.
    pub fn establish(&mut self, now: Instant, edge: u64) {
        self.nxt = 1;
        self.edge = edge;
        self.rto_at = Instant::MAX;
        self.rtt.reset_back_off();
        self.wake_at = self.cc.wake().unwrap_or(Instant::MAX);
        self.flow.receive_window = Bytes::new(edge - 1);
        self.aside.widest = edge - 1;
        (self.flow.acked_to, self.flow.sent_to) = (1, 1);
        self.rounds = RoundTracker::new(now, self.flow.cwnd, 1);
    }

    /// Of a connection that was opened before the run began: its first round is not that long.
    pub fn begin(&mut self, now: Instant) {
        if self.nxt == 1 {
            self.rounds = RoundTracker::new(now, self.flow.cwnd, 1);
        }
    }

    /// In flight as the window sees it.
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.board.in_flight.saturating_sub(self.credit)
    }

    #[inline]
    pub fn is_outstanding(&self) -> bool {
        self.flow.acked_to < self.nxt
    }

    /// Notes the peer's window; true if its edge moved.
    #[inline]
    pub fn see_window(&mut self, s: &Segment) -> bool {
        let edge = s.ack + s.window as u64;
        let moved = edge > self.edge;
        if moved {
            self.edge = edge;
            self.asleep = false;
            self.stop_persisting();
        }
        moved
    }

    /// What every call of the algorithm may have left behind: a reduction to carry out, a window under the floor,
    /// another wake-up time.
    #[inline]
    pub fn after_algorithm(&mut self) {
        self.heed_algorithm();
        if self.flow.phase == Phase::Open && self.flow.cwnd < self.flow.floor {
            self.flow.cwnd = self.flow.floor;
        }
    }

    #[inline]
    fn heed_algorithm(&mut self) {
        if let Some(to) = self.flow.take_reduction() {
            self.reduce_smoothly(to);
        }
        self.wake_at = self.cc.wake().unwrap_or(Instant::MAX);
    }

    /// Tells the algorithm that the host's episode is over.
    pub fn end_episode(&mut self) {
        self.prr.on = false;
        // `t_bytes_acked` outlives the slow start after a timeout; only `cc_post_recovery` clears it.
        if !(self.ways.freebsd && self.flow.phase == Phase::Loss) {
            self.flow.reset_credit();
        }
        self.enter(Phase::Open);
        self.flow.in_flight =
            Bytes::new(if self.ways.own_window { self.nxt - self.flow.acked_to } else { self.pipe() });
        let to = core::mem::take(&mut self.flow.slow_start_to);
        if to > self.flow.cwnd {
            self.flow.ssthresh = self.flow.ssthresh.max(to);
        }
        self.cc.on_event(&mut self.flow, Event::RecoveryEnd);
        self.keep_last_growth();
        if self.ways.by_delivery {
            // The algorithm has yet to hear of the ACK; the least window is what that leaves.
            self.heed_algorithm();
        } else {
            self.after_algorithm();
        }
    }
}
