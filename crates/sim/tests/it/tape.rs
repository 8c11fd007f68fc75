//! What an algorithm was told can be told again, and the answers are the same.

use crate::common::dumbbell;
use sim::tape::{Call, replay};
use sim::{Options, Tape};
use units::{Bytes, Rng, streams};

#[test]
fn a_replay_gives_the_recorded_windows_and_finds_a_changed_algorithm() {
    for entry in cc::ALGORITHMS {
        let name = entry.about.name;
        let s = dumbbell(10.0, 40.0, 60, "fifo", &[name], 8);
        let tape = Tape::new();
        sim::run(&s, (), Options { tape: Some(&tape), ..Options::default() }).unwrap();
        let entries = tape.entries();
        let acks = entries.iter().filter(|e| matches!(e.call, Call::Ack(_))).count();
        assert!(acks > 100, "{name}: {acks}");
        let born = || {
            let mut flow = cc::Flow::new(Bytes::new(1448), Bytes::new(14480));
            cc::build(&name.parse().unwrap(), &mut flow, Rng::new(s.run.seed, 0, streams::CC)).unwrap()
        };
        assert_eq!(replay(&entries, &mut *born()), None, "{name}");
        // The same calls with one ACK's delay forgotten or another algorithm: the first difference is told.
        let other = if name == "newreno" { "cubic" } else { "newreno" };
        let mut flow = cc::Flow::new(Bytes::new(1448), Bytes::new(14480));
        let mut other = cc::build(&other.parse().unwrap(), &mut flow, Rng::new(1, 0, streams::CC)).unwrap();
        assert!(replay(&entries, &mut *other).is_some(), "{name}");
    }
}

#[test]
fn an_algorithm_reads_nothing_that_its_entry_does_not_ask_for() {
    for entry in cc::ALGORITHMS {
        let name = entry.about.name;
        let s = dumbbell(10.0, 40.0, 60, "fifo", &[name], 8);
        let tape = Tape::new();
        sim::run(&s, (), Options { tape: Some(&tape), ..Options::default() }).unwrap();
        let mut entries = tape.entries();
        for ack in entries.iter_mut().filter_map(|e| if let Call::Ack(ack) = &mut e.call { Some(ack) } else { None }) {
            // What hosts spare themselves otherwise.
            ack.rate.take_if(|_| !entry.about.needs_rate);
            ack.one_way.take_if(|_| !entry.about.needs_one_way);
            ack.received_at.take_if(|_| !entry.about.needs_one_way);
        }
        let mut flow = cc::Flow::new(Bytes::new(1448), Bytes::new(14480));
        let rng = Rng::new(s.run.seed, 0, streams::CC);
        let mut cc = cc::build(&name.parse().unwrap(), &mut flow, rng).unwrap();
        assert_eq!(replay(&entries, &mut *cc), None, "{name}");
    }
}

#[test]
fn a_tape_hears_of_delays_that_its_algorithm_does_not_ask_for() {
    let s = dumbbell(10.0, 40.0, 60, "fifo", &["newreno"], 8);
    let tape = Tape::new();
    sim::run(&s, (), Options { tape: Some(&tape), ..Options::default() }).unwrap();
    assert!(tape.entries().iter().any(|e| matches!(&e.call, Call::Ack(ack) if ack.one_way.is_some())));
}
