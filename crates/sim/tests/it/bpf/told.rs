//! A call put into words: of a flow made up, or of the simulator's tape.

use super::words::{ACK, CONGESTION, INIT, NOTICE, WAKE, WORDS, Words};
use cc::host::DataRtt;
use cc::{Ack, Event, Flow, Signal};
use sim::tape::{Call, Entry};
use units::{Bytes, Duration};

impl Words {
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
            ("resends", flow.resends as u64), ("cwnd_limited", flow.cwnd_limited as u64),
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
}

/// The calls of one flow's tape. What no law here listens to (sent, lost) is left out. The kernel's laws begin after the
/// handshake, whose RTT is not among those of the flow there (`bpf/host.h`).
pub fn of_tape(entries: &[Entry]) -> Vec<Words> {
    let mut tape: Vec<Words> = Vec::new();
    let mut last: Option<(Bytes, Bytes)> = None;
    let mut rtts = DataRtt::default();
    for e in entries.iter().filter(|e| e.flow == 0) {
        let before = rtts;
        match &e.call {
            Call::Ack(ack) => rtts.see(ack),
            _ if rtts.base().is_zero() => {}
            _ => rtts.take(e.before.rtt),
        }
        let of_flow = |call, detail, rtts: DataRtt| {
            let mut words = Words::new(call, detail, &e.before);
            words.set("min_rtt", rtts.base().as_nanos());
            words.set("max_rtt", rtts.largest().as_nanos());
            words
        };
        let words = |call, detail| of_flow(call, detail, rtts);
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
            Call::Undo => Some(words(NOTICE, 2)),
            _ => None,
        };
        if let Some(mut words) = call {
            if tape.is_empty() {
                tape.push(of_flow(INIT, 0, before));
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
