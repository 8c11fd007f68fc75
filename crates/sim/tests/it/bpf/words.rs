//! One call as words of 64 bits: `struct law_tape` of `bpf/law/tape.h`.

use cc::{Ack, Flow, Phase, Round};
use units::{Bytes, Duration, Instant};

pub const WORDS: usize = 36;

/// A tape's entry, by [`NAMES`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Words(pub [u64; WORDS]);

#[rustfmt::skip]
const NAMES: [&str; WORDS] = [
    "call", "detail", "flow",
    "cwnd", "ssthresh", "now", "mss", "srtt", "rtt", "min_rtt", "max_rtt", "in_flight", "receive_window", "floor", "lost",
    "phase", "resends", "cwnd_limited", "host_cwnd", "host_ssthresh", "draw",
    "cumulative", "delivered", "ack_rtt", "closed",
    "start", "end", "round_min_rtt", "round_max_rtt", "min_rtt_reused", "max_rtt_reused", "samples", "round_delivered",
    "after_cwnd", "after_ssthresh", "reaction",
];

/// What `call` says.
pub const ACK: u64 = 0;
pub const CONGESTION: u64 = 1;
pub const NOTICE: u64 = 2;
pub const WAKE: u64 = 3;
pub const INIT: u64 = 4;

fn place(name: &str) -> usize {
    NAMES.iter().position(|n| *n == name).unwrap_or_else(|| panic!("no word {name}"))
}

impl Words {
    pub fn get(&self, name: &str) -> u64 {
        self.0[place(name)]
    }
    pub fn set(&mut self, name: &str, to: u64) {
        self.0[place(name)] = to;
    }
    pub fn now(&self) -> u64 {
        self.get("now")
    }
    pub fn mss(&self) -> u64 {
        self.get("mss")
    }

    /// The ACK the words tell of.
    pub fn ack(&self) -> Ack {
        let ns = |name| Duration::from_nanos(self.get(name));
        let bytes = |name| Bytes::new(self.get(name));
        let at = |name| Instant::from_nanos(self.get(name));
        Ack {
            cumulative: bytes("cumulative"),
            delivered: bytes("delivered"),
            rtt: Some(ns("ack_rtt")).filter(|rtt| !rtt.is_zero()),
            round: (self.get("closed") == 1).then(|| Round {
                start: at("start"),
                end: at("end"),
                min_rtt: ns("round_min_rtt"),
                max_rtt: ns("round_max_rtt"),
                min_rtt_reused: ns("min_rtt_reused"),
                max_rtt_reused: ns("max_rtt_reused"),
                samples: self.get("samples") as u32,
                delivered: bytes("round_delivered"),
                ..Round::default()
            }),
            ..Ack::default()
        }
    }

    /// Fills in what the host measured, and its windows where it had changed them.
    pub fn measure(&self, flow: &mut Flow, first: bool) {
        let ns = |name| Duration::from_nanos(self.get(name));
        let bytes = |name| Bytes::new(self.get(name));
        if first || self.get("host_cwnd") == 1 {
            flow.cwnd = bytes("cwnd");
        }
        if first || self.get("host_ssthresh") == 1 {
            flow.ssthresh = bytes("ssthresh");
        }
        flow.now = Instant::from_nanos(self.get("now"));
        (flow.mss, flow.floor) = (bytes("mss"), bytes("floor"));
        (flow.srtt, flow.rtt, flow.min_rtt, flow.max_rtt) = (ns("srtt"), ns("rtt"), ns("min_rtt"), ns("max_rtt"));
        (flow.in_flight, flow.receive_window) = (bytes("in_flight"), bytes("receive_window"));
        flow.phase = [Phase::Open, Phase::Reduced, Phase::Recovery, Phase::Loss][self.get("phase") as usize];
        (flow.resends, flow.cwnd_limited) = (self.get("resends") == 1, self.get("cwnd_limited") == 1);
    }
}

impl std::fmt::Debug for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, word) in NAMES.iter().zip(self.0).filter(|(_, word)| *word != 0) {
            write!(f, "{name}={word} ")?;
        }
        Ok(())
    }
}
