//! What is told of a window is what became of it: in lossy and marked runs of every algorithm, each fall of the window has
//! its event, and each event tells the window that is left.

use crate::common::{dumbbell, run_with};
use cc::{CauseKind, EventRecord, Reaction, causes};
use core::mem::replace;
use experiment::{LossModel, Scenario};
use sim::probe::{Probe, Trace};
use sim::tape::{Call, Entry};
use sim::{Options, Tape};
use std::fmt::Write;
use tcp::Stack;
use units::Instant;

const MSS: u64 = 1448;

/// Made anew from a model with every ACK, their windows may also be smaller for what the model has forgotten or leaves to
/// others (BBR v3's headroom, 15 %); that is no event.
const MODELS: [&str; 2] = ["bbr", "bbr3"];

#[derive(Default)]
struct Events(Vec<EventRecord>);

impl Probe for Events {
    fn see(&mut self, _: Instant, trace: Trace<'_>) {
        if let Trace::Event(e) = trace {
            self.0.push(*e);
        }
    }
}

fn watched(s: &Scenario) -> (Vec<Entry>, Vec<EventRecord>) {
    let tape = Tape::new();
    let (_, events) = run_with(s, Events::default(), Options { tape: Some(&tape), ..Options::default() }).unwrap();
    (tape.entries(), events.0)
}

fn lossy(cc: &str, stack: Stack, part: f64) -> Scenario {
    let mut s = dumbbell(12.0, 40.0, 40, "fifo", &[cc], 20);
    s.flows[0].stack = stack;
    s.links[0].loss = LossModel::Random(part);
    s
}

fn of(events: &[EventRecord], kind: CauseKind) -> impl Iterator<Item = &EventRecord> {
    events.iter().filter(move |e| e.cause() == Some(kind))
}

/// A window as an ACK left it.
struct Left {
    at: u64,
    cwnd: u64,
    /// PRR takes it in steps to what an event told.
    steps: bool,
}

fn windows(entries: &[Entry], stack: Stack) -> Vec<Left> {
    let (mut left, mut owned, mut busy) = (Vec::new(), false, false);
    for e in entries {
        match e.call {
            Call::Ack(_) => {
                let was = replace(&mut busy, e.before.phase != cc::Phase::Open);
                let steps = stack == Stack::Linux && !owned && (busy || was);
                left.push(Left { at: e.before.now.as_nanos(), cwnd: e.answer.cwnd.get(), steps });
            }
            Call::Congestion(_) => owned = matches!(e.answer.reaction, Some(Reaction::Own | Reaction::Repeat)),
            _ => {}
        }
    }
    left
}

/// Falls by more than a segment, and beyond this part, that nothing tells; and the last of them.
fn untold(left: &[Left], events: &[EventRecord], part: f64) -> (usize, String) {
    let (mut falls, mut last) = (0, String::new());
    for pair in left.windows(2) {
        let [was, is] = pair else { unreachable!() };
        let first = events.partition_point(|e| e.time < was.at);
        let tells = |e: &EventRecord| e.cwnd_after < e.cwnd_before || e.ssthresh_after < e.cwnd_before;
        let told = events[first..].iter().take_while(|e| e.time <= is.at).any(tells);
        if is.cwnd + MSS + (was.cwnd as f64 * part) as u64 <= was.cwnd && !is.steps && !told {
            falls += 1;
            last = format!("{} -> {} at {}", was.cwnd, is.cwnd, is.at);
        }
    }
    (falls, last)
}

/// Events that tell another window than the host had next, and the last of them.
fn untrue(entries: &[Entry], events: &[EventRecord], stack: Stack) -> (usize, String) {
    let (mut count, mut last) = (0, String::new());
    for (i, e) in events.iter().enumerate() {
        // Of several at a time the last one tells what is left.
        if e.cwnd_after == e.cwnd_before || events.get(i + 1).is_some_and(|next| next.time == e.time) {
            continue;
        }
        let at = entries.partition_point(|entry| entry.before.now.as_nanos() <= e.time);
        let Some(next) = entries.get(at) else { continue };
        let mut reactions = entries[..at].iter().rev().filter_map(|entry| entry.answer.reaction);
        let owned = matches!(reactions.next(), Some(Reaction::Own | Reaction::Repeat));
        let steps = stack == Stack::Linux && !owned && next.before.phase != cc::Phase::Open;
        // The same ACK may have grown it, by two segments with options at most.
        if !steps && next.before.cwnd.get().abs_diff(e.cwnd_after) > 2 * (MSS + 12) {
            count += 1;
            let name = e.cause().unwrap().name();
            last = format!("{name} {} -> {}, is {} at {}", e.cwnd_before, e.cwnd_after, next.before.cwnd.get(), e.time);
        }
    }
    (count, last)
}

#[test]
fn every_fall_of_a_window_has_its_event_and_every_event_its_window() {
    let mut wrong = String::new();
    for entry in cc::ALGORITHMS {
        for stack in [Stack::Linux, Stack::FreeBsd11] {
            let name = entry.about.name;
            let (entries, events) = watched(&lossy(name, stack, 0.003));
            let model = MODELS.contains(&name);
            let (falls, last) = untold(&windows(&entries, stack), &events, if model { 0.15 } else { 0.0 });
            // FreeBSD has no BBR, and its repairs are none to conserve packets in.
            if falls > 0 && !(model && stack == Stack::FreeBsd11) {
                writeln!(wrong, "{name} on {stack:?}: nothing tells of {falls} falls, as {last}").unwrap();
            }
            let (others, last) = untrue(&entries, &events, stack);
            if others > 0 {
                writeln!(wrong, "{name} on {stack:?}: {others} events tell another window, as {last}").unwrap();
            }
            let heard = [CauseKind::LossBackoff, CauseKind::LossTolerated].map(|kind| of(&events, kind).count());
            if heard == [0, 0] {
                writeln!(wrong, "{name} on {stack:?}: nothing of losses").unwrap();
            }
            let probes = [CauseKind::ProbeStart, CauseKind::ProbeEnd].map(|kind| of(&events, kind).count());
            // BBR begins in the middle of a cycle, others may end in the middle of a probe.
            if probes[0].abs_diff(probes[1]) > 2 {
                writeln!(wrong, "{name} on {stack:?}: {probes:?} probes began and ended").unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn a_timeout_tells_how_long_it_took_whoever_owns_the_window() {
    for entry in cc::ALGORITHMS {
        let name = entry.about.name;
        let mut timeouts = Vec::new();
        // All that is out and what is sent again first, of large windows and of small ones.
        for (first, burst) in [(2000, 160), (60, 40)] {
            let mut s = dumbbell(12.0, 40.0, 40, "fifo", &[name], 10);
            s.links[0].loss = LossModel::Periodic { first, every: 1_000_000, burst };
            timeouts.extend(watched(&s).1.iter().filter_map(causes::Timeout::of));
        }
        let known = timeouts.iter().all(|t| t.timeouts > 0 && t.rto >= 200_000_000);
        assert!(known && !timeouts.is_empty(), "{name}: {timeouts:?}");
    }
}

#[test]
fn a_mark_tells_what_part_is_marked_where_that_decides() {
    for entry in cc::ALGORITHMS.iter().filter(|entry| entry.about.family == cc::Family::Ecn) {
        let mut s =
            dumbbell(12.0, 40.0, 200, "codel(reference=linux, ecn=true, ce_threshold=1ms)", &[entry.about.name], 10);
        s.flows[0].ecn = true;
        let (_, events) = watched(&s);
        let marks: Vec<_> = events.iter().filter_map(causes::EcnBackoff::of).collect();
        let known = marks.iter().all(|m| m.fraction > 0 && m.fraction <= 1_000_000_000 && m.marked > 0);
        let averages = marks.iter().any(|m| m.fraction < 500_000_000);
        assert!(known && averages, "{}: {marks:?}", entry.about.name);
    }
}

#[test]
fn a_loss_tells_the_bdp_or_the_shadow_that_the_window_comes_from() {
    let told = |ccs: &[&str], stack: Stack, value: fn(causes::LossBackoff) -> i64| {
        let mut s = dumbbell(12.0, 40.0, 80, "fifo", ccs, 40);
        s.flows[0].stack = stack;
        s.links[0].loss = LossModel::Random(0.0005);
        let (_, events) = watched(&s);
        let mine = events.iter().filter(|e| e.flow == 0).filter_map(causes::LossBackoff::of);
        mine.map(value).max().unwrap_or(0)
    };
    for name in ["westwood", "westwood_be", "abse", "crb", "bbe", "agile", "hldg"] {
        let bdp = told(&[name], Stack::Linux, |c| c.bdp);
        // 60 kB, by rates that bunched ACKs may make twice the link's.
        assert!((30_000..=130_000).contains(&bdp), "{name}: {bdp}");
    }
    for (name, stack) in [("chd(reference=freebsd)", Stack::FreeBsd11), ("cdg(reference=linux)", Stack::Linux)] {
        let shadow = told(&[name, "cubic"], stack, |c| c.shadow);
        assert!(shadow > 2 * MSS as i64, "{name}: {shadow}");
    }
}

#[test]
fn copa_tells_of_losses_that_cost_it_part_of_its_share() {
    let of = |ccs: &[&str]| {
        let (_, events) = watched(&dumbbell(12.0, 40.0, 80, "fifo", ccs, 30));
        let mine: Vec<_> = events.into_iter().filter(|e| e.flow == 0).collect();
        [CauseKind::LossBackoff, CauseKind::LossTolerated].map(|kind| self::of(&mine, kind).count())
    };
    let competing = of(&["copa", "cubic"]);
    assert!(competing[0] > 0, "{competing:?}");
}
