//! What algorithms in the kernel tell of an experiment's flows, in the simulator's words: events with their causes, and
//! ACKs.

use crate::addresses::SENDERS;
use crate::ring::Ring;
use crate::{Failure, sys};
use cc::EventRecord;
use sim::World;
use sim::probe::Probe;
use sim::tape::AckRow;
use units::{Duration, Instant};

/// `struct law_event` of `bpf/law/events.h`.
const EVENT: usize = size_of::<EventRecord>();
/// `struct law_tape` of `bpf/law/tape.h`, in words of 64 bits.
const TAPE: usize = 36;
const NEVER: u64 = u64::MAX;

/// The places of words in a `struct law_tape`.
mod word {
    pub const CALL: usize = 0;
    pub const FLOW: usize = 2;
    pub const CWND: usize = 3;
    pub const NOW: usize = 5;
    pub const SRTT: usize = 7;
    pub const MIN_RTT: usize = 9;
    pub const IN_FLIGHT: usize = 11;
    pub const PHASE: usize = 15;
    pub const ACK_CUMULATIVE: usize = 21;
    pub const ACK_DELIVERED: usize = 22;
    pub const ACK_RTT: usize = 23;
    pub const ACK_CLOSED: usize = 24;
    pub const ROUND_MIN_RTT: usize = 27;
    pub const ROUND_MAX_RTT: usize = 28;
    pub const AFTER_CWND: usize = 33;
    pub const AFTER_SSTHRESH: usize = 34;
}
/// `LAW_CALL_ACK`.
const ACK: u64 = 0;

/// Reads the rings of all algorithms of a run.
#[derive(Debug)]
pub struct Listener {
    rings: Vec<Ring>,
    flows: u32,
    began: u64,
    events: Vec<EventRecord>,
    acks: Option<Vec<AckRow>>,
}

impl Listener {
    /// Of `flows` flows; `rings` are maps by number, the second of each the count of what was lost.
    pub fn new(rings: &[(u32, Option<u32>)], flows: u32, acks: bool) -> Result<Self, Failure> {
        let open = |&(ring, lost)| Ring::new(ring, lost).map_err(|e| Failure::at("the ring of an algorithm", e));
        let rings = rings.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Listener { rings, flows, began: 0, events: Vec::new(), acks: acks.then(Vec::new) })
    }

    /// Times count from now.
    pub fn begin(&mut self) {
        self.began = sys::monotonic();
    }

    /// Takes what is new.
    pub fn take<P: Probe>(&mut self, world: &mut World<P>) {
        for ring in &mut self.rings {
            ring.take(|record| {
                if let Some(mut event) = event(record) {
                    if let Some(flow) = flow(event.flow as u64, self.flows) {
                        (event.flow, event.time) = (flow, event.time.saturating_sub(self.began));
                        self.events.push(event);
                    }
                } else if let Some(words) = words(record)
                    && let Some(acks) = &mut self.acks
                    && words[word::CALL] == ACK
                    && let Some(flow) = flow(words[word::FLOW], self.flows)
                {
                    acks.push(row(&words, flow, self.began));
                }
            });
        }
        // Each ring is in order of time; several are not.
        self.events.sort_by_key(|e| e.time);
        for event in self.events.drain(..) {
            world.caused(event);
        }
    }

    /// How many records found no room in their ring.
    pub fn lost(&self) -> u64 {
        self.rings.iter().map(|ring| ring.lost().unwrap_or(0)).sum()
    }

    /// Every ACK in order of time, if they were asked for.
    pub fn acks(&mut self) -> Option<Vec<AckRow>> {
        let mut rows = self.acks.take()?;
        rows.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
        Some(rows)
    }
}

/// A record's flow, by the address that it is sent from. What the other end of a connection tells is no flow's.
fn flow(address: u64, flows: u32) -> Option<u32> {
    (address as u32).checked_sub(SENDERS).filter(|f| *f < flows)
}

fn words(record: &[u8]) -> Option<[u64; TAPE]> {
    let mut words = [0; TAPE];
    if record.len() != 8 * TAPE {
        return None;
    }
    for (word, bytes) in words.iter_mut().zip(record.as_chunks().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    Some(words)
}

fn event(record: &[u8]) -> Option<EventRecord> {
    if record.len() != EVENT {
        return None;
    }
    let (first, _) = record.as_chunks::<8>();
    let word = |i: usize| u64::from_ne_bytes(first[i]);
    let [a, b, c, d, e, f, g, h] = first[0];
    Some(EventRecord {
        version: u16::from_ne_bytes([a, b]),
        kind: u16::from_ne_bytes([c, d]),
        flow: u32::from_ne_bytes([e, f, g, h]),
        time: word(1),
        cwnd_before: word(2),
        cwnd_after: word(3),
        ssthresh_before: word(4),
        ssthresh_after: word(5),
        values: std::array::from_fn(|i| word(6 + i) as i64),
    })
}

fn row(w: &[u64; TAPE], flow: u32, began: u64) -> AckRow {
    let ms = |ns: u64| if ns == 0 { f64::NAN } else { Duration::from_nanos(ns).as_millis_f64() };
    let closed = |i: usize| if w[word::ACK_CLOSED] == 1 { ms(w[i]) } else { f64::NAN };
    AckRow {
        time_s: Instant::from_nanos(w[word::NOW].saturating_sub(began)).as_secs_f64(),
        flow,
        acked: w[word::ACK_CUMULATIVE] as f64,
        delivered: w[word::ACK_DELIVERED] as f64,
        // The kernel tells neither of these, nor delays one way, ACK by ACK.
        lost: f64::NAN,
        ce: f64::NAN,
        rtt_ms: ms(w[word::ACK_RTT]),
        one_way_ms: f64::NAN,
        round_min_rtt_ms: closed(word::ROUND_MIN_RTT),
        round_max_rtt_ms: closed(word::ROUND_MAX_RTT),
        cwnd_before: w[word::CWND] as f64,
        cwnd_after: w[word::AFTER_CWND] as f64,
        in_flight: w[word::IN_FLIGHT] as f64,
        ssthresh_after: if w[word::AFTER_SSTHRESH] == NEVER { f64::NAN } else { w[word::AFTER_SSTHRESH] as f64 },
        srtt_ms: w[word::SRTT] as f64 * 1e-6,
        min_rtt_ms: ms(w[word::MIN_RTT]),
        pacing_mbps: f64::NAN,
        phase: w[word::PHASE] as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of a struct's members in a header, those of structs within put in their place.
    fn members(header: &str, name: &str, within: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
        let start = header.find(&format!("struct {name} {{")).expect("it is there");
        let body = &header[start..][..header[start..].find("\n};").expect("it has an end")];
        let mut text = body.split_once('{').expect("a body").1.to_string();
        while let Some((before, rest)) = text.split_once("/*") {
            text = format!("{before}{}", rest.split_once("*/").expect("a closed comment").1);
        }
        let mut all = Vec::new();
        for line in text.split(';').map(str::trim).filter(|line| !line.is_empty()) {
            match line.strip_prefix("struct ") {
                Some(other) => {
                    let (kind, name) = other.split_once(' ').expect("a type and a name");
                    all.extend(within(kind).into_iter().map(|member| format!("{name}.{member}")));
                }
                None => all.extend(line.trim_start_matches("u64 ").split(',').map(|m| m.trim().to_string())),
            }
        }
        all
    }

    #[test]
    fn words_are_where_the_c_puts_them() {
        let tape = include_str!("../../../bpf/law/tape.h");
        let flow = include_str!("../../../bpf/law/flow.h");
        let round = |_: &str| members(flow, "law_round", &|_| Vec::new());
        let names = members(tape, "law_tape", &|kind| members(flow, kind, &round));
        assert_eq!(names.len(), TAPE, "{names:?}");
        for (place, name) in [
            (word::CALL, "call"),
            (word::FLOW, "flow"),
            (word::CWND, "cwnd"),
            (word::NOW, "now"),
            (word::SRTT, "srtt"),
            (word::MIN_RTT, "min_rtt"),
            (word::IN_FLIGHT, "in_flight"),
            (word::PHASE, "phase"),
            (word::ACK_CUMULATIVE, "ack.cumulative"),
            (word::ACK_DELIVERED, "ack.delivered"),
            (word::ACK_RTT, "ack.rtt"),
            (word::ACK_CLOSED, "ack.closed"),
            (word::ROUND_MIN_RTT, "ack.round.min_rtt"),
            (word::ROUND_MAX_RTT, "ack.round.max_rtt"),
            (word::AFTER_CWND, "after_cwnd"),
            (word::AFTER_SSTHRESH, "after_ssthresh"),
        ] {
            assert_eq!(names[place], name);
        }
    }

    #[test]
    fn a_record_is_of_the_flow_that_sends_from_its_address() {
        let mut bytes = vec![0; EVENT];
        bytes[..2].copy_from_slice(&1_u16.to_ne_bytes());
        bytes[2..4].copy_from_slice(&8_u16.to_ne_bytes());
        bytes[4..8].copy_from_slice(&0x0aca_0003_u32.to_ne_bytes());
        bytes[104..].copy_from_slice(&(-7_i64).to_ne_bytes());
        let found = event(&bytes).expect("an event");
        assert_eq!((found.cause(), found.values[7]), (Some(cc::CauseKind::SlowStartExit), -7));
        assert_eq!(flow(found.flow as u64, 3), Some(2));
        assert_eq!(flow(found.flow as u64, 2), None);
        assert_eq!(flow(crate::addresses::RECEIVERS as u64, 3), None);
        assert!(event(&bytes[..96]).is_none() && words(&bytes).is_none());
    }
}
