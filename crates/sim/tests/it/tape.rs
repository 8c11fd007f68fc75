//! What an algorithm was told can be told again, and the answers are the same.

use crate::common::dumbbell;
use sim::tape::{Call, Entry, replay};
use sim::{Column, Options, Table, Tape};
use units::{Bytes, Rng, streams};

const SEED: u64 = 1;

/// What an algorithm is told alone on a link.
fn recorded(name: &str) -> Vec<Entry> {
    taped(name).entries()
}

/// The ACKs among it.
fn acks_of(name: &str) -> Table {
    taped(name).table()
}

fn taped(name: &str) -> Tape {
    let mut s = dumbbell(10.0, 40.0, 60, "fifo", &[name], 8);
    s.run.seed = SEED;
    let tape = Tape::new();
    sim::run(&s, (), Options { tape: Some(&tape), ..Options::default() }).unwrap();
    tape
}

/// The same one, with the same dice, before it has heard anything.
fn born(name: &str) -> Box<dyn cc::CongestionControl> {
    let mut flow = cc::Flow::new(Bytes::new(1448), Bytes::new(14480));
    cc::build(&name.parse().unwrap(), &mut flow, Rng::new(SEED, 0, streams::CC)).unwrap()
}

#[test]
fn a_replay_gives_the_recorded_windows_and_finds_a_changed_algorithm() {
    for entry in cc::ALGORITHMS {
        let name = entry.about.name;
        let entries = recorded(name);
        let acks = entries.iter().filter(|e| matches!(e.call, Call::Ack(_))).count();
        assert!(acks > 100, "{name}: {acks}");
        assert_eq!(replay(&entries, &mut *born(name)), None, "{name}");
        // Another algorithm parts from it. Without marks and chance losses several are NewReno.
        let parts = |other| replay(&entries, &mut *born(other)).is_some();
        assert!(["newreno", "cubic"].into_iter().any(parts), "{name}");
    }
}

#[test]
fn an_algorithm_reads_nothing_that_its_entry_does_not_ask_for() {
    for entry in cc::ALGORITHMS {
        let name = entry.about.name;
        let mut entries = recorded(name);
        for ack in entries.iter_mut().filter_map(|e| if let Call::Ack(ack) = &mut e.call { Some(ack) } else { None }) {
            // What hosts spare themselves otherwise.
            ack.rate.take_if(|_| !entry.about.needs_rate);
            ack.one_way.take_if(|_| !entry.about.needs_one_way);
            ack.received_at.take_if(|_| !entry.about.needs_one_way);
        }
        assert_eq!(replay(&entries, &mut *born(name)), None, "{name}");
    }
}

#[test]
fn one_way_delays_are_those_of_the_path_but_for_a_tick() {
    // LEDBAT's host has another clock than NewReno's.
    for name in ["newreno", "ledbat"] {
        let table = acks_of(name);
        let Some((_, Column::F64(all))) = table.iter().find(|(column, _)| *column == "one_way_ms") else { panic!() };
        let least = all.iter().copied().filter(|x| x.is_finite()).fold(f64::INFINITY, f64::min);
        assert!((least - 20.0).abs() < 3.0, "{name}: {least} ms");
    }
}

#[test]
fn a_tape_hears_of_delays_that_its_algorithm_does_not_ask_for() {
    assert!(recorded("newreno").iter().any(|e| matches!(&e.call, Call::Ack(ack) if ack.one_way.is_some())));
}
