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
    /// Loss set the window, most often lower: to a part of it, to the shadow window or to the BDP, where these were asked; BBR v3: to a bound, told as the shadow.
    3 LossBackoff "loss_backoff" { lost: Bytes, in_flight: Bytes, shadow: Bytes, bdp: Bytes }
    /// Loss was taken for random and tolerated.
    4 LossTolerated "loss_tolerated" { lost: Bytes, queue: Nanos, queue_state: Count, shadow: Bytes }
    /// An ECN mark reduced the window: by `fraction`, the average part of data that is marked, where the algorithm goes by that; `marked` is known where feedback is exact.
    5 EcnBackoff "ecn_backoff" { marked: Bytes, fraction: Ppb }
    /// The retransmission timer fired.
    6 Timeout "timeout" { in_flight: Bytes, timeouts: Count, rto: Nanos }
    /// A reduction was found spurious and taken back; `how` says by which evidence.
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
    /// A recovery is over: the window starts again from what is in flight, where that is less than the threshold (FreeBSD; NewReno's repair without SACK).
    16 RecoveryExit "recovery_exit" { in_flight: Bytes }
    /// The window was set to its curve, which lies below it, or above it by more than half of it (FreeBSD's CUBIC).
    17 Curve "curve" { cubic: Bytes, reno: Bytes }
    /// Nothing is outstanding and the peer's window, in FreeBSD the flow's own too, has room for less than a segment: the persist timer runs.
    18 Persist "persist" { room: Bytes, wait: Nanos }
}

/// Numbers of the format with their words, in which that of number `n` is the `n`th: constants and `WORDS`.
macro_rules! numbered {
    ($(#[doc = $about:literal])+ mod $group:ident {
        $( $(#[doc = $doc:literal])+ $number:literal $constant:ident $word:literal )+
    } $( $more:item )*) => {
        $(#[doc = $about])+
        pub mod $group {
            $( $(#[doc = $doc])+ pub const $constant: i64 = $number; )+
            $( $more )*
            const NUMBERS: &[usize] = &[$( $number ),+];
            pub(super) const WORDS: [&str; NUMBERS[NUMBERS.len() - 1] + 1] = {
                let mut words = [""; NUMBERS[NUMBERS.len() - 1] + 1];
                $( words[$number] = $word; )+
                words
            };
        }
    };
}

numbered! {
    /// What the `how` of a [`causes::Undo`] means. Append, never renumber.
    mod evidence {
        /// All that was sent again was reported as come twice (DSACK).
        1 DUPLICATES "duplicates"
        /// An echo older than what was sent again (Eifel).
        2 TIMESTAMP "timestamp"
        /// ACKs of what had not been sent again (F-RTO).
        3 FRTO "F-RTO"
        /// An ACK too soon after the timeout to answer what that sent (FreeBSD).
        4 SOON "too soon"
    }
}

numbered! {
    /// What the `reason` of a [`causes::SlowStartExit`] means. Part of the format: append, never renumber.
    mod exits {
        /// ACKs kept coming in a train for longer than half the base RTT (HyStart).
        1 ACK_TRAIN "ACK train"
        /// The round's RTT rose above a threshold (HyStart).
        2 DELAY "delay"
        /// The conservative phase ran its rounds without the RTT falling back (HyStart++).
        3 CONSERVATIVE "conservative"
        /// More packets queued than allowed (Vegas' γ).
        4 QUEUED "queued"
        /// The delivery rate stopped growing (BBR).
        5 PLATEAU "plateau"
        /// A delay gradient (CDG).
        6 GRADIENT "gradient"
        /// The window reached the bandwidth-delay product told by an ACK train (HLDG, Hoe).
        7 BANDWIDTH "bandwidth"
        /// Too much was lost in a round (BBR v3), or anything (Copa).
        8 LOSS "loss"
        /// Packet pairs came back further apart than they left (CapStart).
        9 DISPERSION "dispersion"
        /// Trains found the rate that is free (paced start).
        10 TRAINS "trains"
        /// The routers on the way granted a rate (Quick-Start).
        11 GRANTED "granted"
    }
}

numbered! {
    /// What the `what` of a [`causes::ProbeStart`] and [`causes::ProbeEnd`] means. Append, never renumber.
    mod probes {
        /// The base RTT: the queue is emptied to see it.
        1 BASE_RTT "base RTT"
        /// More bandwidth.
        2 BANDWIDTH "bandwidth"
        /// Whether loss-based competitors are there.
        3 COMPETITORS "competitors"
    }
}

numbered! {
    /// What the `from` and `to` of a [`causes::ModeSwitch`] mean. Append, never renumber.
    mod modes {
        /// Delay decides (HLDG, Copa's default mode).
        0 DELAY "delay"
        /// Loss decides.
        1 LOSS "loss"
        /// Looking whether loss-based competitors have gone.
        2 PROBE "probe"
        /// Restoring a window given up for a probe.
        3 RESTORE "restore"
        /// BBR's Startup.
        4 STARTUP "startup"
        /// BBR's Drain.
        5 DRAIN "drain"
        /// BBR's ProbeBW.
        6 PROBE_BW "probe_bw"
        /// BBR's ProbeRTT.
        7 PROBE_RTT "probe_rtt"
    }
    /// BBR's, the first one first.
    pub const BBR: [i64; 4] = [STARTUP, DRAIN, PROBE_BW, PROBE_RTT];
}

/// Words for the values that are numbers of something: [`evidence`], reasons of [`exits`], [`probes`], [`modes`], CDG's
/// queue states. The word of number `n` is the `n`th; an empty one is a number that is not used.
pub fn words(value: &str) -> &'static [&'static str] {
    match value {
        "how" => &evidence::WORDS,
        "reason" => &exits::WORDS,
        "what" => &probes::WORDS,
        "from" | "to" => &modes::WORDS,
        "queue_state" => &["unknown", "empty", "rising", "falling", "full"],
        _ => &[],
    }
}

/// The word for a mode in tables and plots.
pub fn mode_name(mode: i64) -> &'static str {
    usize::try_from(mode).ok().and_then(|m| modes::WORDS.get(m)).copied().unwrap_or("other")
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
        assert_eq!(words("how"), ["", "duplicates", "timestamp", "F-RTO", "too soon"]);
        assert_eq!(words("what"), ["", "base RTT", "bandwidth", "competitors"]);
        assert_eq!((words("reason").len(), words("reason")[exits::GRANTED as usize]), (12, "granted"));
        assert_eq!((words("to").len(), words("from")[modes::PROBE_RTT as usize]), (8, "probe_rtt"));
        assert_eq!((mode_name(modes::PROBE_BW), mode_name(8), mode_name(-1)), ("probe_bw", "other", "other"));
        let named = CauseKind::ALL.iter().flat_map(|k| k.values()).map(|(name, _)| *name);
        for value in ["how", "reason", "what", "from", "to", "queue_state"] {
            assert!(named.clone().any(|name| name == value), "{value} is the value of no cause");
        }
    }

    #[test]
    fn named_values_land_in_order() {
        let cause: Cause =
            causes::DelayBackoff { g_min: nanos(0.42), probability: ppb(0.13), drew: ppb(0.09), ..Default::default() }
                .into();
        assert_eq!(cause.values, [420_000, 0, 0, 0, 130_000_000, 90_000_000, 0, 0]);
        let event = EventRecord::new(Instant::ZERO, cause, (Bytes::ZERO, Bytes::ZERO), (Bytes::ZERO, Bytes::ZERO));
        let read = causes::DelayBackoff::of(&event).unwrap();
        assert_eq!((read.g_min, read.probability, read.drew, read.bdp), (420_000, 130_000_000, 90_000_000, 0));
        assert!(causes::DelayIgnored::of(&event).is_none());
    }
}
