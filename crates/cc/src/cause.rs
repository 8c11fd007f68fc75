//! Why a window changed: one table of causes, one fixed-size record.
//!
//! The record is the same in the simulator, in `bpf/` (the C header is generated from this table), in the Parquet
//! columns and in the documentation. Numbers of kinds and orders of values are part of the format: append, never edit.

use units::{Bytes, Instant, math};

/// Version of [`EventRecord`] and of the table of causes.
pub const EVENT_VERSION: u16 = 1;

/// The unit of a named value in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueUnit {
    /// Nanoseconds, signed.
    Nanos,
    /// Billionths: probabilities and factors.
    Ppb,
    /// Bytes.
    Bytes,
    /// Bits per second.
    Bps,
    /// A plain number.
    Count,
}

/// A cause with its numbers, ready to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Which one.
    pub kind: CauseKind,
    /// Up to eight values, named by [`CauseKind::values`].
    pub values: [i64; 8],
}

/// One event: fixed size, the same layout in Rust and C.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// [`EVENT_VERSION`].
    pub version: u16,
    /// [`CauseKind`] as a number.
    pub kind: u16,
    /// The flow's number; filled in by the host.
    pub flow: u32,
    /// When, in nanoseconds.
    pub time: u64,
    /// Window before, in bytes.
    pub cwnd_before: u64,
    /// Window after (the goal, where PRR takes it there), in bytes.
    pub cwnd_after: u64,
    /// Threshold before, in bytes; `u64::MAX` means unset.
    pub ssthresh_before: u64,
    /// Threshold after, in bytes; `u64::MAX` means unset.
    pub ssthresh_after: u64,
    /// The values named by [`CauseKind::values`].
    pub values: [i64; 8],
}

impl EventRecord {
    pub(crate) fn new(now: Instant, why: Cause, before: (Bytes, Bytes), after: (Bytes, Bytes)) -> Self {
        EventRecord {
            version: EVENT_VERSION,
            kind: why.kind as u16,
            flow: 0,
            time: now.as_nanos(),
            cwnd_before: before.0.get(),
            cwnd_after: after.0.get(),
            ssthresh_before: before.1.get(),
            ssthresh_after: after.1.get(),
            values: why.values,
        }
    }

    /// The kind, if this version knows it.
    pub fn cause(&self) -> Option<CauseKind> {
        CauseKind::ALL.iter().copied().find(|k| *k as u16 == self.kind)
    }
}

/// Milliseconds as the nanoseconds of an event value.
pub fn nanos(ms: f64) -> i64 {
    math::round(ms * 1e6) as i64
}

/// A probability or factor as the billionths of an event value.
pub fn ppb(x: f64) -> i64 {
    math::round(x * 1e9) as i64
}

macro_rules! table {
    ($( $(#[doc = $doc:literal])+ $number:literal $kind:ident $word:literal { $( $value:ident : $unit:ident ),* $(,)? } )+) => {
        /// The kinds of causes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum CauseKind { $( $(#[doc = $doc])+ $kind = $number, )+ }

        impl CauseKind {
            /// Every kind, in order of number.
            pub const ALL: &'static [CauseKind] = &[$( CauseKind::$kind ),+];
            /// The word used in tables and plots.
            pub const fn name(self) -> &'static str {
                match self { $( CauseKind::$kind => $word ),+ }
            }
            /// What it means.
            pub const fn doc(self) -> &'static str {
                match self { $( CauseKind::$kind => concat!($($doc),+) ),+ }
            }
            /// The names and units of its values.
            pub const fn values(self) -> &'static [(&'static str, ValueUnit)] {
                match self { $( CauseKind::$kind => &[$( (stringify!($value), ValueUnit::$unit) ),*] ),+ }
            }
        }

        /// The causes as structs with named values, so that an algorithm writes `DelayBackoff { g_min, .. }`.
        pub mod causes {
            use super::{Cause, CauseKind, EventRecord};
            $(
                $(#[doc = $doc])+
                #[derive(Clone, Copy, Debug, Default)]
                #[allow(missing_docs)]
                pub struct $kind { $( pub $value: i64, )* }
                impl From<$kind> for Cause {
                    fn from(c: $kind) -> Cause {
                        let _ = &c;
                        let given: &[i64] = &[$( c.$value ),*];
                        let mut values = [0; 8];
                        values[..given.len()].copy_from_slice(given);
                        Cause { kind: CauseKind::$kind, values }
                    }
                }
                impl $kind {
                    /// What an event says, if it is one of these.
                    pub fn of(event: &EventRecord) -> Option<Self> {
                        let [$( $value, )* ..] = event.values;
                        (event.kind == CauseKind::$kind as u16).then_some($kind { $( $value ),* })
                    }
                }
            )+
        }
    };
}

table! {
    /// Delay showed congestion and the window was reduced.
    1 DelayBackoff "delay_backoff" { g_min: Nanos, g_max: Nanos, average_min: Nanos, average_max: Nanos, probability: Ppb, drew: Ppb, queue: Nanos, bdp: Bytes }
    /// A delay indication that was ignored (ineffectual back-off detection, competing flows).
    2 DelayIgnored "delay_ignored" { probability: Ppb, drew: Ppb, consecutive: Count, queue: Nanos }
    /// Loss set the window, most often lower: to a part of it, to the shadow window or to the BDP, where these were asked.
    3 LossBackoff "loss_backoff" { lost: Bytes, in_flight: Bytes, shadow: Bytes, bdp: Bytes }
    /// Loss was taken for random and tolerated.
    4 LossTolerated "loss_tolerated" { lost: Bytes, queue: Nanos, queue_state: Count, shadow: Bytes }
    /// An ECN mark reduced the window.
    5 EcnBackoff "ecn_backoff" { marked: Bytes, fraction: Ppb }
    /// The retransmission timer fired.
    6 Timeout "timeout" { in_flight: Bytes, timeouts: Count, rto: Nanos }
    /// A reduction was found spurious and taken back: by duplicates reported (`how` 1), timestamps (2), F-RTO (3), or an ACK too soon for an answer (4, FreeBSD).
    7 Undo "undo" { how: Count }
    /// Slow start ended by other means than loss; `reason` says by which.
    8 SlowStartExit "slow_start_exit" { reason: Count, rtt: Nanos, base_rtt: Nanos, gradient: Nanos, probability: Ppb, drew: Ppb, bandwidth: Bps, bdp: Bytes }
    /// The algorithm changed its mode; `from` and `to` say which.
    9 ModeSwitch "mode_switch" { from: Count, to: Count, queue: Nanos, bandwidth: Bps }
    /// A probe began; `what` says of what.
    10 ProbeStart "probe_start" { what: Count, base_rtt: Nanos }
    /// A probe ended.
    11 ProbeEnd "probe_end" { what: Count, base_rtt: Nanos, queue: Nanos }
    /// A window given up for a probe or a mode is being restored.
    12 Restore "restore" { target: Bytes, interval: Nanos }
    /// Sending began again after idleness and the window was cut.
    13 IdleRestart "idle_restart" { idle: Nanos }
    /// A slow start changed its pace.
    14 SlowStartPace "slow_start_pace" { divisor: Count, rtt: Nanos, base_rtt: Nanos }
    /// A slow start learned where to end: the threshold became this bandwidth-delay product.
    15 SlowStartCap "slow_start_cap" { bandwidth: Bps, base_rtt: Nanos, bdp: Bytes }
    /// A recovery is over: the window starts again from what is in flight (FreeBSD; CDG and CHD only where nothing was cut).
    16 RecoveryExit "recovery_exit" { in_flight: Bytes }
    /// The window was set to its curve, which lies below it, or above it by more than half of it (FreeBSD's CUBIC).
    17 Curve "curve" { cubic: Bytes, reno: Bytes }
    /// Nothing is outstanding and the peer's window, in FreeBSD the flow's own too, has room for less than a segment: the persist timer runs.
    18 Persist "persist" { room: Bytes, wait: Nanos }
}

/// What the `reason` of a [`causes::SlowStartExit`] means. Part of the format: append, never renumber.
pub mod exits {
    /// ACKs kept coming in a train for longer than half the base RTT (HyStart).
    pub const ACK_TRAIN: i64 = 1;
    /// The round's RTT rose above a threshold (HyStart).
    pub const DELAY: i64 = 2;
    /// The conservative phase ran its rounds without the RTT falling back (HyStart++).
    pub const CONSERVATIVE: i64 = 3;
    /// More packets queued than allowed (Vegas' γ).
    pub const QUEUED: i64 = 4;
    /// The delivery rate stopped growing (BBR).
    pub const PLATEAU: i64 = 5;
    /// A delay gradient (CDG).
    pub const GRADIENT: i64 = 6;
    /// The window reached the bandwidth-delay product told by an ACK train (HLDG, Hoe).
    pub const BANDWIDTH: i64 = 7;
    /// Too much was lost in a round (BBR v3), or anything (Copa).
    pub const LOSS: i64 = 8;
    /// Packet pairs came back further apart than they left (CapStart).
    pub const DISPERSION: i64 = 9;
    /// Trains found the rate that is free (paced start).
    pub const TRAINS: i64 = 10;
    /// The routers on the way granted a rate (Quick-Start).
    pub const GRANTED: i64 = 11;
}

/// What the `what` of a [`causes::ProbeStart`] and [`causes::ProbeEnd`] means. Append, never renumber.
pub mod probes {
    /// The base RTT: the queue is emptied to see it.
    pub const BASE_RTT: i64 = 1;
    /// More bandwidth.
    pub const BANDWIDTH: i64 = 2;
    /// Whether loss-based competitors are there.
    pub const COMPETITORS: i64 = 3;
}

/// What the `from` and `to` of a [`causes::ModeSwitch`] mean. Append, never renumber.
pub mod modes {
    /// Delay decides (HLDG, Copa's default mode).
    pub const DELAY: i64 = 0;
    /// Loss decides.
    pub const LOSS: i64 = 1;
    /// Looking whether loss-based competitors have gone.
    pub const PROBE: i64 = 2;
    /// Restoring a window given up for a probe.
    pub const RESTORE: i64 = 3;
    /// BBR's Startup.
    pub const STARTUP: i64 = 4;
    /// BBR's Drain.
    pub const DRAIN: i64 = 5;
    /// BBR's ProbeBW.
    pub const PROBE_BW: i64 = 6;
    /// BBR's ProbeRTT.
    pub const PROBE_RTT: i64 = 7;
    /// BBR's, the first one first.
    pub const BBR: [i64; 4] = [STARTUP, DRAIN, PROBE_BW, PROBE_RTT];
}

/// Words for the values that are numbers of something: reasons of [`exits`], [`probes`], [`modes`], CDG's queue states.
/// The word of number `n` is the `n`th; an empty one is a number that is not used.
pub fn words(value: &str) -> &'static [&'static str] {
    match value {
        "reason" => &REASONS,
        "what" => &["", "base RTT", "bandwidth", "competitors"],
        "from" | "to" => &MODES,
        "queue_state" => &["unknown", "empty", "rising", "falling", "full"],
        _ => &[],
    }
}

const REASONS: [&str; 12] = [
    "",
    "ACK train",
    "delay",
    "conservative",
    "queued",
    "plateau",
    "gradient",
    "bandwidth",
    "loss",
    "dispersion",
    "trains",
    "granted",
];

const MODES: [&str; 8] = ["delay", "loss", "probe", "restore", "startup", "drain", "probe_bw", "probe_rtt"];

/// The word for a mode in tables and plots.
pub fn mode_name(mode: i64) -> &'static str {
    usize::try_from(mode).ok().and_then(|m| MODES.get(m)).copied().unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cause_has_more_values_than_a_record_holds() {
        for kind in CauseKind::ALL {
            assert!(kind.values().len() <= 8, "{}", kind.name());
        }
        assert_eq!(size_of::<EventRecord>(), 112);
    }

    #[test]
    fn words_go_with_their_numbers() {
        let table: [(&str, &[(i64, &str)]); 3] = [
            (
                "reason",
                &[
                    (exits::ACK_TRAIN, "ACK train"),
                    (exits::DELAY, "delay"),
                    (exits::CONSERVATIVE, "conservative"),
                    (exits::QUEUED, "queued"),
                    (exits::PLATEAU, "plateau"),
                    (exits::GRADIENT, "gradient"),
                    (exits::BANDWIDTH, "bandwidth"),
                    (exits::LOSS, "loss"),
                    (exits::DISPERSION, "dispersion"),
                    (exits::TRAINS, "trains"),
                    (exits::GRANTED, "granted"),
                ],
            ),
            (
                "what",
                &[
                    (probes::BASE_RTT, "base RTT"),
                    (probes::BANDWIDTH, "bandwidth"),
                    (probes::COMPETITORS, "competitors"),
                ],
            ),
            (
                "to",
                &[
                    (modes::DELAY, "delay"),
                    (modes::LOSS, "loss"),
                    (modes::PROBE, "probe"),
                    (modes::RESTORE, "restore"),
                    (modes::STARTUP, "startup"),
                    (modes::DRAIN, "drain"),
                    (modes::PROBE_BW, "probe_bw"),
                    (modes::PROBE_RTT, "probe_rtt"),
                ],
            ),
        ];
        for (value, numbers) in table {
            let used = words(value).iter().filter(|word| !word.is_empty()).count();
            assert_eq!(used, numbers.len(), "every word of {value} has a number");
            for (number, word) in numbers {
                assert_eq!(words(value)[*number as usize], *word, "{value} {number}");
            }
        }
        assert_eq!((mode_name(modes::PROBE_BW), mode_name(8), mode_name(-1)), ("probe_bw", "other", "other"));
        let named = CauseKind::ALL.iter().flat_map(|k| k.values()).map(|(name, _)| *name);
        for value in ["reason", "what", "from", "to", "queue_state"] {
            assert!(named.clone().any(|name| name == value), "{value} is the value of no cause");
        }
    }

    #[test]
    fn named_values_land_in_order() {
        let cause: Cause =
            causes::DelayBackoff { g_min: nanos(0.42), probability: ppb(0.13), drew: ppb(0.09), ..Default::default() }
                .into();
        assert_eq!(cause.values, [420_000, 0, 0, 0, 130_000_000, 90_000_000, 0, 0]);
    }
}
