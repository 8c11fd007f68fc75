//! When to change between the modes, on rounds given by hand.

use super::*;
use crate::testing::ms;

fn modes() -> Modes {
    Modes::new(&Params::default())
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Rounds of 100 ms from a time on.
fn rounds(m: &mut Modes, from: u64, high: &[bool]) -> Turn {
    let turns = high.iter().zip(0..).map(|(h, i)| m.round(at(from + 100 * i + 100), at(from + 100 * i), *h));
    turns.fold(Turn::Stay, |last, turn| if turn == Turn::Stay { last } else { turn })
}

/// A machine in loss mode since 1.4 s.
fn in_loss() -> Modes {
    let mut m = modes();
    rounds(&mut m, 0, &[true; 4]);
    assert_eq!((m.wake(), m.wake_up(at(1400)), m.mode), (at(1400), Turn::EnterLoss, Mode::Loss));
    m
}

#[test]
fn four_long_rounds_and_a_second_lead_to_loss_mode() {
    in_loss();
    let mut m = modes();
    rounds(&mut m, 0, &[true, true, true, false, true, true, true]);
    assert_eq!(m.wake(), Instant::MAX, "not four in a row");
}

#[test]
fn a_queue_that_went_away_within_the_second_cancels() {
    let mut m = modes();
    rounds(&mut m, 0, &[true, true, true, true, false]);
    assert_eq!((m.wake_up(at(1400)), m.mode, m.wake()), (Turn::Stay, Mode::Delay, Instant::MAX));
}

#[test]
fn a_long_round_is_a_suspicion_until_a_short_one_or_the_second_is_over() {
    let mut m = modes();
    assert!(!m.suspects());
    rounds(&mut m, 0, &[true]);
    assert!(m.suspects());
    rounds(&mut m, 100, &[false]);
    assert!(!m.suspects());
    rounds(&mut m, 200, &[true, true, true, true, false]);
    assert!(m.suspects(), "the second is not over");
    m.wake_up(at(1600));
    assert!(!m.suspects());
    let mut lpcc = Modes::new(&Params { lpcc: true, ..Params::default() }.resolved());
    rounds(&mut lpcc, 0, &[true; 4]);
    assert!(!lpcc.suspects(), "nothing is decided by it");
}

#[test]
fn a_loss_probes_only_after_five_seconds_and_longer_than_the_last_probe() {
    let mut m = in_loss();
    assert!(!m.probes(at(6400)));
    assert!(m.probes(at(6401)));
    m.probe(at(7000), ms(200));
    assert_eq!(rounds(&mut m, 7000, &[true; 4]), Turn::BackToLoss);
    assert!(!m.probes(at(7800)), "the probe took 400 ms, loss mode lasted as long");
    assert!(m.probes(at(7801)));
}

#[test]
fn one_long_round_of_four_is_tolerated_two_are_not() {
    // sum = 100 ≤ 25·4; 200 is not.
    for (high, turn) in [
        ([true, false, false, false], Turn::EnterDelay { probed: true }),
        ([true, true, false, false], Turn::BackToLoss),
    ] {
        let mut m = in_loss();
        m.probe(at(7000), ms(200));
        assert_eq!(rounds(&mut m, 7000, &high), turn);
    }
}

#[test]
fn a_probe_counts_rounds_that_began_in_it() {
    let mut m = in_loss();
    m.probe(at(7050), ms(200));
    assert_eq!(m.round(at(7100), at(7000), true), Turn::Stay);
    assert_eq!(m.detection.len, 0);
    // 1.92 s of queue make m = 4 rounds last 7.68 s (thesis section 5.3.3).
    let mut m = in_loss();
    m.probe(at(10_000), ms(1920));
    for i in 0..4 {
        m.round(at(10_000 + 1920 * (i + 1)), at(10_000 + 1920 * i), true);
    }
    assert_eq!((m.mode, m.probe_epoch), (Mode::Loss, ms(7680)));
}

#[test]
fn a_probe_without_acks_ends_by_the_clock() {
    let mut m = in_loss();
    m.probe(at(7000), ms(200));
    assert_eq!(m.wake(), at(7000 + 1600));
    assert_eq!((m.wake_up(at(8600)), m.mode), (Turn::BackToLoss, Mode::Loss));
}

#[test]
fn loss_mode_does_not_end_by_short_queues() {
    let mut m = in_loss();
    assert_eq!(rounds(&mut m, 2000, &[false; 8]), Turn::Stay);
    assert_eq!(m.mode, Mode::Loss);
}

#[test]
fn where_short_queues_may_end_loss_mode_they_do_when_it_has_lasted_longer_than_five_seconds() {
    for (now, turn) in [(6400, Turn::Stay), (6401, Turn::EnterDelay { probed: false })] {
        let mut m = in_loss();
        m.leave_loss = true;
        assert_eq!(rounds(&mut m, 2000, &[false; 4]), Turn::Stay);
        assert_eq!(m.round(at(now), at(now - 100), false), turn, "{now} ms");
    }
}

#[test]
fn the_clock_of_a_probe_that_is_over_changes_no_mode() {
    let mut m = in_loss();
    m.probe(at(7000), ms(100));
    assert_eq!((m.wake_up(at(7799)), m.mode), (Turn::Stay, Mode::Probe));
    assert_eq!(rounds(&mut m, 7000, &[false; 4]), Turn::EnterDelay { probed: true });
    assert_eq!((m.wake_up(at(9000)), m.mode), (Turn::Stay, Mode::Delay));
}

#[test]
fn the_heuristic_is_drawn_from_0_to_100() {
    let mut m = modes();
    let seen = [true, true, false, true, true, true].map(|high| {
        m.round(at(100), at(0), high);
        m.detected()
    });
    assert_eq!(seen, [25.0, 50.0, 50.0, 75.0, 75.0, 75.0]);
}
