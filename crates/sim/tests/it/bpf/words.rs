//! One call as words of 64 bits: `struct law_tape` of `bpf/law/tape.h`.
#![allow(dead_code, reason = "the test and the example each use a part of it")]

use cc::{Ack, Event, Flow, Phase, Round, Signal};
use sim::tape::{Call, Entry};
use std::collections::BTreeMap;
use units::{Bytes, Duration, Instant};

pub const WORDS: usize = 35;

/// A tape's entry, by [`NAMES`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Words(pub [u64; WORDS]);

#[rustfmt::skip]
const NAMES: [&str; WORDS] = [
    "call", "detail", "flow",
    "cwnd", "ssthresh", "now", "mss", "srtt", "rtt", "min_rtt", "max_rtt", "in_flight", "receive_window", "floor", "lost",
    "phase", "cwnd_limited", "host_cwnd", "host_ssthresh", "draw",
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
    pub fn answer(&self) -> (u64, u64, u64) {
        (self.get("after_cwnd"), self.get("after_ssthresh"), self.get("reaction"))
    }

    /// A call on a flow; what else it carries is set by the caller.
    pub fn new(call: u64, detail: u64, flow: &Flow) -> Words {
        let mut words = Words([0; WORDS]);
        let lost = 0;
        #[rustfmt::skip]
        let of_flow = [
            ("call", call), ("detail", detail), ("cwnd", flow.cwnd.get()), ("ssthresh", flow.ssthresh.get()),
            ("now", flow.now.as_nanos()), ("mss", flow.mss.get()), ("srtt", flow.srtt.as_nanos()),
            ("rtt", flow.rtt.as_nanos()), ("min_rtt", flow.min_rtt.as_nanos()), ("max_rtt", flow.max_rtt.as_nanos()),
            ("in_flight", flow.in_flight.get()), ("receive_window", flow.receive_window.get()),
            ("floor", flow.floor.get()), ("lost", lost), ("phase", flow.phase as u64),
            ("cwnd_limited", flow.cwnd_limited as u64),
        ];
        for (name, value) in of_flow {
            words.set(name, value);
        }
        words
    }

    pub fn with_ack(mut self, ack: &Ack) -> Words {
        self.set("cumulative", ack.cumulative.get());
        self.set("delivered", ack.delivered.get());
        self.set("ack_rtt", ack.rtt.map_or(0, Duration::as_nanos));
        self.set("closed", ack.round.is_some() as u64);
        let Some(r) = &ack.round else { return self };
        #[rustfmt::skip]
        let of_round = [
            ("start", r.start.as_nanos()), ("end", r.end.as_nanos()), ("round_min_rtt", r.min_rtt.as_nanos()),
            ("round_max_rtt", r.max_rtt.as_nanos()), ("min_rtt_reused", r.min_rtt_reused.as_nanos()),
            ("max_rtt_reused", r.max_rtt_reused.as_nanos()), ("samples", r.samples as u64),
            ("round_delivered", r.delivered.get()),
        ];
        for (name, value) in of_round {
            self.set(name, value);
        }
        self
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
        flow.cwnd_limited = self.get("cwnd_limited") == 1;
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

/// The calls of one flow's tape. What no law here listens to (sent, lost, undo) is left out.
pub fn of_tape(entries: &[Entry]) -> Vec<Words> {
    let mut tape: Vec<Words> = Vec::new();
    let mut last: Option<(Bytes, Bytes)> = None;
    for e in entries.iter().filter(|e| e.flow == 0) {
        let words = |call, detail| Words::new(call, detail, &e.before);
        let call = match &e.call {
            Call::Ack(ack) => Some(words(ACK, 0).with_ack(ack)),
            Call::Congestion(c) => {
                let signal = [Signal::Loss, Signal::Ecn, Signal::Timeout].iter().position(|s| *s == c.signal);
                let mut words = words(CONGESTION, signal.unwrap() as u64);
                words.set("lost", c.lost.get());
                Some(words)
            }
            Call::Event(Event::Wake) => Some(words(WAKE, 0)),
            Call::Event(Event::Restart) => Some(words(NOTICE, 0)),
            Call::Event(Event::RecoveryEnd) => Some(words(NOTICE, 1)),
            _ => None,
        };
        if let Some(mut words) = call {
            if tape.is_empty() {
                tape.push(Words::new(INIT, 0, &e.before));
            }
            let (cwnd, ssthresh) = last.unwrap_or(e.before.windows());
            words.set("host_cwnd", u64::from(e.before.cwnd != cwnd));
            words.set("host_ssthresh", u64::from(e.before.ssthresh != ssthresh));
            tape.push(words);
            last = Some((e.answer.cwnd, e.answer.ssthresh));
        }
    }
    tape
}

/// A recording as the kernel wrote it: the calls of each flow that was there from its beginning.
pub fn of_bytes(bytes: &[u8]) -> Vec<Vec<Words>> {
    assert_eq!(bytes.len() % (8 * WORDS), 0, "not a tape");
    let word = |b: &[u8]| u64::from_le_bytes(b.try_into().unwrap());
    let mut flows: BTreeMap<u64, Vec<Words>> = BTreeMap::new();
    for entry in bytes.chunks(8 * WORDS) {
        let words = Words(std::array::from_fn(|i| word(&entry[8 * i..8 * i + 8])));
        flows.entry(words.get("flow")).or_default().push(words);
    }
    flows.into_values().filter(|calls| calls[0].get("call") == INIT).collect()
}
