//! When it ends, by trains and by delay, on ACKs given by hand.

use super::*;
use crate::testing::{flow, value};

/// The ACK at which slow start ends, of 100 that are `gap` apart with this RTT, after a smallest RTT of 40 ms.
fn exit(detect: u32, gap: Duration, rtt: i64) -> Option<usize> {
    let mut f = flow(10, 40);
    let mut h = Hybrid::new(detect);
    h.delay_min = 40_000;
    let ended = (0..100).find(|_| {
        h.ack(&mut f, rtt);
        f.now += gap;
        f.has_events()
    });
    for e in f.drain_events() {
        let of = |name: &str| value(&e, name);
        let reason = if detect == ACK_TRAIN { exits::ACK_TRAIN } else { exits::DELAY };
        assert_eq!((of("reason"), of("rtt"), of("base_rtt")), (reason, rtt * 1000, 40_000_000));
    }
    ended
}

#[test]
fn delay_ends_it_at_nine_eighths_of_the_smallest_rtt_after_eight_samples() {
    let gap = Duration::from_millis(1);
    assert_eq!((exit(2, gap, 45_000), exit(2, gap, 45_001)), (None, Some(8)));
}

#[test]
fn a_train_ends_it_when_longer_than_half_the_smallest_rtt() {
    assert_eq!(exit(1, Duration::from_millis(1), 40_000), Some(21));
    assert_eq!(exit(1, Duration::from_millis(3), 40_000), None, "too far apart");
    assert_eq!(exit(0, Duration::from_millis(1), 40_000), None);
}

#[test]
fn a_round_or_idleness_begins_the_count_and_the_train_anew() {
    let ended = |detect: u32, begin: fn(&mut Hybrid)| {
        let mut f = flow(10, 40);
        let mut h = Hybrid::new(detect);
        h.ack(&mut f, 40_000);
        (0..100).find(|n| {
            if n % 8 == 7 {
                begin(&mut h);
            }
            f.now += Duration::from_millis(1);
            h.ack(&mut f, 46_000);
            f.has_events()
        })
    };
    for detect in [ACK_TRAIN, DELAY] {
        assert!(ended(detect, |_| ()).is_some());
        assert_eq!(ended(detect, Hybrid::round), None, "{detect}: eight ACKs are neither samples enough nor a train");
        assert_eq!(ended(detect, Hybrid::restart), None, "{detect}");
    }
    // After idleness the smallest RTT is another's, too.
    let mut h = Hybrid::new(DELAY);
    h.ack(&mut flow(10, 40), 40_000);
    h.restart();
    assert_eq!((h.delay_min, h.detect), (0, DELAY));
}

#[test]
fn rounds_without_a_sample_say_nothing_and_a_window_that_is_not_used_has_no_train() {
    let mut f = flow(10, 40);
    let mut h = Hybrid::new(ACK_TRAIN | DELAY);
    h.ack(&mut f, 0);
    assert_eq!(h.delay_min, 0);
    h.ack(&mut f, 40_000);
    h.ack(&mut f, 0);
    assert_eq!(h.delay_min, 40_000);
    f.cwnd_limited = false;
    for _ in 0..100 {
        f.now += Duration::from_millis(1);
        h.ack(&mut f, 40_000);
    }
    assert!(!f.has_events());
    // Trains alone do not look at delay, nor delay alone at trains.
    assert_eq!(exit(ACK_TRAIN, Duration::from_millis(3), 60_000), None);
    assert_eq!(exit(DELAY, Duration::from_millis(1), 40_000), None);
}
