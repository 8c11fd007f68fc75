//! What mahimahi's `pie_packet_queue.cc` makes of the first draft.

use super::*;

#[test]
fn the_draft_allows_another_burst_after_two_calm_updates_at_a_p_of_nought() {
    for (p, now, before, again) in
        [(0.0, 9_999, 9_999, true), (0.0, 10_000, 9_999, false), (0.0, 9_999, 10_000, false), (0.1, 0, 0, false)]
    {
        let mut pie = congested("x(reference=draft, alpha=0, beta=0, rate_estimator=false)", p);
        (pie.state.delay, pie.state.updated) = (Duration::from_micros(now), Duration::from_micros(before));
        pie.update(Bytes::new(90_000));
        let want = if again { Duration::from_millis(150) } else { Duration::ZERO };
        assert_eq!(pie.state.burst, want, "p = {p}, {now} µs after {before}");
    }
}

#[test]
fn a_burst_is_allowed_only_after_a_lull_that_followed_a_measured_rate() {
    assert_eq!([pie("x").state.burst, pie("x(reference=draft)").state.burst].map(|burst| burst.as_millis()), [150, 0]);
    for (spec, measured, burst_ms, known) in [
        ("x(reference=draft)", true, 150, false),
        ("x(reference=draft)", false, 0, false),
        ("x(reference=linux, rate_estimator=true)", true, 150, false),
        ("x(reference=freebsd)", true, 0, true),
    ] {
        let mut pie = congested(spec, 0.0);
        (pie.state.delay, pie.state.updated) = (Duration::ZERO, Duration::ZERO);
        if measured {
            drain(&mut pie);
            pie.state.burst = Duration::ZERO;
        }
        pie.update(Bytes::ZERO);
        assert_eq!((pie.state.burst.as_millis(), pie.state.departure.is_known()), (burst_ms, known), "{spec}");
    }
}

#[test]
fn the_time_of_a_measurement_is_taken_off_the_burst() {
    for (spec, left_ms) in [("x(reference=draft)", 90), ("x(rate_estimator=true)", 100)] {
        let mut pie = congested(spec, 0.0);
        pie.state.burst = Duration::from_millis(100);
        drain(&mut pie);
        assert_eq!(pie.state.burst.as_millis(), left_ms, "{spec}");
    }
}

/// Twelve full packets leave, one a millisecond: the eleventh makes 2^14 bytes, 10 ms after the first.
fn drain(pie: &mut Pie) {
    for ms in 0..12 {
        pie.on_dequeue(&arriving(Instant::from_millis(ms), 100_000));
    }
    assert!(pie.state.departure.is_known());
}
