//! How an endpoint behaves: presets of whole stacks, and what a flow may set.

use crate::Segment;
use crate::measure::ONE_WAY_OFFSET;
use units::{Bytes, Duration};

params::choice! {
    /// Whose TCP.
    pub enum Stack {
        /// Linux 6.1: RTTs to the nanosecond (the kernel's are whole microseconds), rounds by sequence number,
        /// RACK-TLP, PRR, 200 ms RTO floor.
        Linux = "linux",
        /// FreeBSD 11: 1 ms clock (h_ertt: elapsed ticks plus one), rounds by marked packet, SACK recovery with a window
        /// of its own and no pipe, `cwnd == ssthresh` counts as slow start, windows grow by segments with their options,
        /// timers up to a sixteenth late.
        FreeBsd11 = "freebsd-11",
        /// ns-2's one-way agents: no handshake, every-other-segment delayed ACK, 200 ms minimum RTO.
        Ns2 = "ns-2",
    }
}

/// What ends a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundKind {
    /// An ACK passes what was the highest byte sent when the round began (Linux).
    Sequence,
    /// The ACK of a marked segment; the next segment sent is marked then (FreeBSD's h_ertt).
    Marked,
}

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAck {
    /// Every segment.
    None,
    /// Every second full segment or after `timeout`.
    EverySecond {
        /// Longest wait.
        timeout: Duration,
    },
    /// FreeBSD: the same by a callout of its kernel, which goes off when it may, 99 to 106 ms later.
    FreeBsd,
    /// Linux: immediate ACKs at the start of a connection (and after idleness), then every second, 40–200 ms timer.
    Linux,
}

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// RACK-TLP (RFC 8985) with PRR (RFC 6937).
    RackTlp,
    /// SACK scoreboard with conservative recovery (RFC 6675).
    Sack,
    /// Without SACK: NewReno (RFC 6582).
    NewReno,
    /// Without SACK: Reno (RFC 5681), leaves recovery on the first new ACK.
    Reno,
    /// Without SACK: Tahoe, restarts from one segment.
    Tahoe,
}

/// Sender offload: how many segments leave back to back as one burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// One by one.
    Off,
    /// Up to so many at a time (TSO), held back until the window opens for them.
    Burst(u32),
    /// As many as Linux 6.x puts into one burst: what its pacing rate sends in a millisecond and more on short paths
    /// (`tcp_tso_autosize`).
    Auto,
}

/// Everything an endpoint needs to know at birth.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whose TCP this is.
    pub stack: Stack,
    /// Largest payload.
    pub mss: Bytes,
    /// Bytes of options that algorithms and silly-window avoidance count as part of a segment's data.
    pub counted_options: Bytes,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Receive buffer offered to the other side.
    pub receive_window: Bytes,
    /// Negotiate ECN.
    pub ecn: bool,
    /// Timestamps option on every segment.
    pub timestamps: bool,
    /// FreeBSD: step of the clock that RTTs are read off. ns-2: step that timeouts are counted in, 10 ms at least.
    /// Linux does not read it: its RTTs are exact.
    pub rtt_tick: Duration,
    /// Step of the timestamp clock; with marked rounds it is `rtt_tick`, since h_ertt reads RTTs off timestamps.
    pub timestamp_tick: Duration,
    /// What ends a round.
    pub round: RoundKind,
    /// The receiver's acknowledgement rule.
    pub delayed_ack: DelayedAck,
    /// The application reads when it likes, by [`Endpoint::read`](crate::Endpoint::read); otherwise what comes, as it comes.
    pub slow_reader: bool,
    /// What the other end writes at a time, and pushes; zero: it keeps its buffer full.
    pub writes: Bytes,
    /// Loss detection and recovery.
    pub loss: LossDetection,
    /// Least retransmission timeout.
    pub min_rto: Duration,
    /// Largest retransmission timeout.
    pub max_rto: Duration,
    /// Sender offload.
    pub offload: Offload,
    /// Pace at the window over the RTT and some more, whatever the algorithm; one that sets a rate of its own keeps it.
    pub pacing: bool,
    /// Packets that leave together where the flow is paced. More than one: by the rules of Linux' `fq`, whose quantum is two.
    pub pacing_quantum: u32,
    /// Phase of this host's tick clock, so that hosts do not tick together.
    pub tick_phase: Duration,
    /// Skew of this host's timestamp clock in parts per billion: how much too fast it is at the start.
    pub clock_skew_ppb: i64,
    /// Drift of that clock: by how many parts per billion the skew grows in an hour.
    pub clock_drift: i64,
    /// Every router on the way knows Quick-Start, so that a request makes sense.
    pub quick_start: bool,
    /// Open with SYN and SYN-ACK; without, both ends are established at once (ns-2's one-way agents).
    pub handshake: bool,
    /// Measure delivery rates (an algorithm whose `About` says `needs_rate`).
    pub rate_samples: bool,
    /// Work out one-way delays (an algorithm whose `About` says `needs_one_way`, a tape, or who knows what).
    pub one_way_delays: bool,
    /// Keep two estimates of the bandwidth of every round, for whoever asks.
    pub estimates: bool,
    /// Byte-exact CE feedback instead of RFC 3168's echo: the receiver acknowledges every change of CE at once and the
    /// sender reads the counter.
    pub accurate_ecn: bool,
    /// Send ECT(1) (L4S) instead of ECT(0).
    pub ect1: bool,
    /// Take back reductions found spurious (DSACK, timestamps, F-RTO).
    pub undo: bool,
    /// The receiver reports what came twice (RFC 2883).
    pub dsack: bool,
}

impl Config {
    /// Step of a host's clock. FreeBSD's RTTs are read off the timestamp clock.
    pub(crate) fn clock_tick(&self) -> Duration {
        if self.round == RoundKind::Marked { self.rtt_tick } else { self.timestamp_tick }
    }

    /// What [`one_way`](cc::Ack::one_way) has beyond the delay, but for what the clocks of the two hosts differ.
    pub fn one_way_offset(&self) -> Duration {
        self.clock_tick() * ONE_WAY_OFFSET as u64
    }

    /// Of a data segment, IPv4's and TCP's with its usual options.
    pub fn headers(&self) -> Bytes {
        Bytes::new((Segment::HEADER + if self.timestamps { Segment::TIMESTAMPS } else { 0 }) as u64)
    }

    /// The receive buffer in bytes; of half as much a window field can tell at most.
    pub(crate) fn buffer(&self) -> u32 {
        self.receive_window.get().min(u64::from(u32::MAX / 2)) as u32
    }

    /// The least shift with which the window field conveys the whole buffer, 14 at most (RFC 7323, section 2.3).
    pub fn window_scale(&self) -> u8 {
        (0..14).find(|scale| self.buffer() >> scale <= u32::from(u16::MAX)).unwrap_or(14)
    }

    /// Do the two ends agree on selective acknowledgements (RFC 2018)?
    pub fn sack(&self) -> bool {
        matches!(self.loss, LossDetection::RackTlp | LossDetection::Sack)
    }

    /// The preset of a stack.
    pub fn of(stack: Stack) -> Config {
        let linux = Config {
            stack,
            mss: Bytes::new(1448),
            counted_options: Bytes::ZERO,
            initial_window: 10,
            receive_window: Bytes::new(64 << 20),
            ecn: false,
            timestamps: true,
            rtt_tick: Duration::from_micros(1),
            timestamp_tick: Duration::from_millis(1),
            round: RoundKind::Sequence,
            delayed_ack: DelayedAck::Linux,
            slow_reader: false,
            writes: Bytes::ZERO,
            loss: LossDetection::RackTlp,
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            offload: Offload::Off,
            pacing: false,
            pacing_quantum: 1,
            tick_phase: Duration::ZERO,
            clock_skew_ppb: 0,
            clock_drift: 0,
            quick_start: false,
            handshake: true,
            rate_samples: false,
            one_way_delays: true,
            estimates: false,
            accurate_ecn: false,
            ect1: false,
            undo: true,
            dsack: true,
        };
        match stack {
            Stack::Linux => linux,
            Stack::FreeBsd11 => Config {
                // `t_maxseg` is the MSS without options since r293284, of January 2016, and the modules in `netinet/cc` and
                // `tcp_output` still read it; initial window, RTO and repairs count `tcp_maxseg()`, the payload.
                counted_options: Bytes::new(12),
                rtt_tick: Duration::from_millis(1),
                round: RoundKind::Marked,
                delayed_ack: DelayedAck::FreeBsd,
                loss: LossDetection::Sack,
                min_rto: Duration::from_millis(230),
                max_rto: Duration::from_secs(64),
                undo: false,
                // Its receivers report duplicates since r347382, of May 2019.
                dsack: false,
                ..linux
            },
            Stack::Ns2 => Config {
                mss: Bytes::new(1460),
                timestamps: false,
                delayed_ack: DelayedAck::EverySecond { timeout: Duration::from_millis(100) },
                loss: LossDetection::Sack,
                max_rto: Duration::from_secs(60),
                handshake: false,
                undo: false,
                ..linux
            },
        }
    }
}
