//! One tape played to the C and the Rust, call by call.

use super::native::{Answer, Native};
use super::replay::{Replay, Step};
use super::words::Words;
use units::Bytes;

/// Bytes by which a call's windows may differ.
const ROUNDING: u64 = 2;

/// How far the two were apart at most, and how much they decided.
#[derive(Debug, Default)]
pub struct Apart {
    /// After one call, in bytes, but for what is `late`.
    pub windows: u64,
    /// Calls that left one of them a packet ahead: additive growth waits for a window of bytes, and one byte more makes
    /// an ACK of it; or that one of them counted for growth, and the other had Reno's window for the larger.
    pub late: usize,
    /// Calls that left one of them a packet ahead by Reno's window, which keeps no bytes for later: a window grows by
    /// parts that add up to a whole packet, and their last bit says with which ACK.
    pub ties: usize,
    /// Of a probability.
    pub probability: f64,
    /// Calls made.
    pub calls: usize,
    /// Events that both told.
    pub events: usize,
    /// Numbers drawn.
    pub draws: usize,
}

/// What both had before a call.
struct Held {
    cwnd: u64,
    credit: u64,
}

/// The two, side by side. The Rust draws; the C is given what was drawn.
///
/// A float's rounding may part them by a byte (0.7 of 43,440 is 30,408, or a byte less in binary). That byte is no error,
/// but what grows from it is a packet (one more step of slow start), and at last an event that only one of them tells. So
/// both go on from the C's windows and its credit: every call is judged for itself, and closely.
pub struct Both {
    spec: String,
    pub replay: Replay,
    native: Native,
    pub apart: Apart,
}

impl Both {
    pub fn new(spec: &str) -> Both {
        Both { spec: spec.into(), replay: Replay::new(spec), native: Native::new(spec), apart: Apart::default() }
    }

    /// Makes the call and returns the reaction.
    pub fn call(&mut self, mut words: Words) -> u64 {
        let before = Held { cwnd: self.replay.flow.cwnd.get(), credit: self.replay.flow.credit().get() };
        let ours = self.replay.call(&mut words);
        let theirs = self.native.call(&words);
        self.judge(&words, &before, &ours, &theirs);
        let flow = &mut self.replay.flow;
        (flow.cwnd, flow.ssthresh) = (Bytes::new(theirs.cwnd), Bytes::new(theirs.ssthresh));
        flow.reset_credit();
        // No window is that large: it is all kept for later.
        flow.additive(Bytes::MAX, Bytes::new(theirs.credit));
        theirs.reaction
    }

    /// The same decisions, and windows but for their rounding.
    fn judge(&mut self, words: &Words, before: &Held, a: &Step, b: &Answer) {
        let most = &mut self.apart;
        let at =
            || format!("{}, call {} at {} ns: {words:?}\nRust {a:?}\nC    {b:?}", self.spec, most.calls, words.now());
        let kinds = |events: &[cc::EventRecord]| events.iter().map(|e| e.kind).collect::<Vec<_>>();
        assert_eq!(kinds(&a.events), kinds(&b.events), "{}", at());
        let windows = [(a.cwnd, b.cwnd), (a.ssthresh, b.ssthresh), (a.reaction, b.reaction)];
        let of_events = a.events.iter().zip(&b.events).map(|(x, y)| (x.cwnd_after, y.cwnd_after));
        let mut apart = windows.into_iter().chain(of_events).map(|(x, y)| x.abs_diff(y)).max().unwrap_or(0);
        // A packet costs a window of bytes, or the part of it that the curve's fixed point says, a 600th off in its steep
        // parts.
        let grown = a.cwnd.saturating_sub(before.cwnd) / words.mss();
        let acked = words.get("cumulative").max(words.get("delivered"));
        let spent = (before.credit + acked).saturating_sub(a.credit);
        let rounding = ROUNDING * (1 + grown) + spent / 256;
        let credits = a.credit.abs_diff(b.credit);
        let ahead = apart.abs_diff(words.mss()) <= ROUNDING;
        let late = a.events.is_empty() && (ahead || (credits > rounding && credits.abs_diff(acked) <= ROUNDING));
        if ahead && late {
            apart = 0;
        }
        assert!(late || credits <= rounding, "{credits} bytes of credit apart: {}", at());
        assert!(apart <= ROUNDING, "{apart} bytes apart: {}", at());
        let mut probability = 0.0_f64;
        for (x, y) in a.events.iter().zip(&b.events) {
            for ((what, unit), (p, q)) in x.cause().unwrap().values().iter().zip(x.values.iter().zip(&y.values)) {
                if *what == "probability" {
                    probability = probability.max(p.abs_diff(*q) as f64 * 1e-9);
                } else if *unit == cc::ValueUnit::Nanos {
                    // Times are exact but for the rounding of averages. An interval closes a gap, and the gap has the
                    // rounding of windows.
                    let gap = || (x.values[0] - x.cwnd_before as i64).max(1);
                    let within = if *what == "interval" { 2 + p * ROUNDING as i64 / gap() } else { 2 };
                    assert!(p.abs_diff(*q) as i64 <= within, "{what}: {}", at());
                }
            }
        }
        let reno = before.cwnd >= a.ssthresh && before.credit == 0 && a.credit == 0 && b.credit == 0;
        most.ties += usize::from(late && reno);
        most.late += usize::from(late && !reno);
        most.windows = most.windows.max(apart);
        most.probability = most.probability.max(probability);
        most.calls += 1;
        most.events += a.events.len();
        most.draws += usize::from(a.drew);
    }

    pub fn end(self) -> Apart {
        self.native.end();
        assert!(self.apart.late <= 2 + self.apart.calls / 2000, "{}: {:?}", self.spec, self.apart);
        assert!(self.apart.ties <= 2 + self.apart.calls / 300, "{}: {:?}", self.spec, self.apart);
        self.apart
    }
}

/// Plays a tape to both.
pub fn both(spec: &str, tape: Vec<Words>) -> Apart {
    let mut both = Both::new(spec);
    for words in tape {
        both.call(words);
    }
    both.end()
}
