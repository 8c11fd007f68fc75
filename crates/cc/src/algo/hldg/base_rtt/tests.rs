//! The window of the base RTT and its probes, by the clock.

use super::*;
use crate::testing::ms;

fn at(s: u64) -> Instant {
    Instant::from_millis(1000 * s)
}

#[test]
fn a_lower_sample_begins_the_window_and_an_equal_one_does_not() {
    let mut b = BaseRtt::new(ms(30_000), ms(1000), 1);
    b.sees(at(1), ms(40));
    b.sees(at(5), ms(40));
    assert_eq!((b.rtt, b.deadline()), (ms(40), at(31)));
    assert!(b.due(at(31)) && !b.due(at(30)));
    b.sees(at(6), ms(39));
    assert_eq!((b.rtt, b.deadline()), (ms(39), at(36)));
}

#[test]
fn a_due_probe_waits_for_the_next_back_off_where_they_are_frequent() {
    let mut b = BaseRtt::new(ms(30_000), ms(1000), 1);
    b.sees(at(0), ms(40));
    // (last back-off, when the probe begins at the latest)
    for (last, latest) in [(20_000, 30_000), (29_000, 30_000), (29_600, 30_600), (30_000, 31_000)] {
        b.backs_off(Instant::from_millis(last));
        assert_eq!(b.deadline(), Instant::from_millis(latest), "{last}");
    }
    assert!(b.due(at(30)), "a back-off would begin it now");
}

#[test]
fn a_probe_finds_a_longer_route() {
    // Figure 5.15: 40 ms become 80 ms at 10 s; the probe at 30 s finds it.
    let mut b = BaseRtt::new(ms(30_000), ms(1000), 1);
    b.sees(at(0), ms(40));
    b.sees(at(12), ms(85));
    assert!(b.due(at(30)));
    b.probe(at(30));
    b.sees(at(30), ms(84));
    b.sees(at(31), ms(80));
    b.sees(at(32), ms(82));
    b.sees(at(32), ms(80));
    assert_eq!(b.rtt, ms(40), "in use until the probe ends");
    assert!(!b.round(at(29)) && b.round(at(31)));
    b.conclude(at(32));
    assert_eq!((b.rtt, b.deadline()), (ms(80), at(61)));
}

#[test]
fn a_probe_cut_short_leaves_the_base_and_comes_again() {
    let mut b = BaseRtt::new(ms(30_000), ms(1000), 1);
    b.sees(at(0), ms(12));
    b.probe(at(30));
    b.sees(at(31), ms(181));
    b.abandon(at(31));
    assert_eq!((b.rtt, b.probing(), b.due(at(31)), b.deadline()), (ms(12), false, true, at(31)));
}

#[test]
fn without_a_window_the_smallest_stays() {
    let mut b = BaseRtt::new(Duration::ZERO, ms(1000), 1);
    b.sees(at(0), ms(40));
    assert_eq!(b.deadline(), Instant::MAX);
    assert!(!b.due(at(1_000_000)));
}
