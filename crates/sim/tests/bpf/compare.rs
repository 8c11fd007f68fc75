//! Two replays of one tape, call by call.

use super::native::{self, compile, play};
use super::replay::{Replay, Step};
use super::words::Words;

/// How far the two were apart at most, and how much they decided.
#[derive(Debug, Default)]
pub struct Apart {
    /// Of the window, in segments.
    pub cwnd: f64,
    /// Of a probability.
    pub probability: f64,
    /// Events that both told.
    pub events: usize,
    /// Numbers drawn.
    pub draws: usize,
}

/// In whole segments, as the kernel counts; what both leave unset is equal.
fn segments_apart(a: u64, b: u64, mss: u64) -> u64 {
    (a / mss).abs_diff(b / mss)
}

/// Compares two replays call by call: the same decisions, windows within one segment.
pub fn compare(name: &str, tape: &[Words], ours: &[Step], theirs: &[native::Answer]) -> Apart {
    let mut most = Apart::default();
    assert_eq!(ours.len(), theirs.len(), "{name}");
    for (i, ((words, a), b)) in tape.iter().zip(ours).zip(theirs).enumerate() {
        let at = || format!("{name}, call {i} at {} ns: {words:?}\nRust {a:?}\nC    {b:?}", words.now());
        let kinds = |events: &[cc::EventRecord]| events.iter().map(|e| e.kind).collect::<Vec<_>>();
        assert_eq!(kinds(&a.events), kinds(&b.events), "{}", at());
        assert_eq!(a.reaction == u64::MAX, b.reaction == u64::MAX, "{}", at());
        for (x, y) in [(a.cwnd, b.cwnd), (a.ssthresh, b.ssthresh), (a.reaction, b.reaction)] {
            assert!(segments_apart(x, y, words.mss()) <= 1, "{}", at());
        }
        most.cwnd = most.cwnd.max(a.cwnd.abs_diff(b.cwnd) as f64 / words.mss() as f64);
        for (x, y) in a.events.iter().zip(&b.events) {
            assert!(segments_apart(x.cwnd_after, y.cwnd_after, words.mss()) <= 1, "{}", at());
            for ((what, unit), (p, q)) in x.cause().unwrap().values().iter().zip(x.values.iter().zip(&y.values)) {
                if *what == "probability" {
                    most.probability = most.probability.max(p.abs_diff(*q) as f64 * 1e-9);
                } else if *unit == cc::ValueUnit::Nanos {
                    // Times are exact but for the rounding of averages; an interval follows CUBIC's curve, whose time
                    // is in quarters of a millisecond.
                    let within = if *what == "interval" { p / 1000 } else { 2 };
                    assert!(p.abs_diff(*q) as i64 <= within, "{what}: {}", at());
                }
            }
        }
        most.events += a.events.len();
        most.draws += usize::from(a.drew);
    }
    most
}

/// Plays a tape to both.
pub fn both(spec: &str, tape: Vec<Words>) -> Apart {
    let (tape, ours) = Replay::new(spec).all(tape);
    compare(spec, &tape, &ours, &play(&compile(spec), &tape))
}
