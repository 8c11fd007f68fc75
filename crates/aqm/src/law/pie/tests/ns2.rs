//! What ns-2.36's `pie.cc` does otherwise.

use super::*;

#[test]
fn a_burst_begins_with_the_first_packet_and_again_after_a_second_and_a_half() {
    let mut pie = pie("x(reference=ns-2)");
    assert_eq!((pie.state.activity, pie.state.burst), (Activity::Asleep, Duration::ZERO));
    pie.on_enqueue(&arriving(Instant::ZERO, 0));
    assert_eq!((pie.state.activity, pie.state.burst), (Activity::Active, Duration::from_millis(100)));
    // Four updates of 30 ms spend it, and p stays at nought meanwhile, however long the queue.
    pie.state.departure = known();
    for left in [70, 40, 10, 0] {
        pie.update(Bytes::new(400_000));
        assert_eq!((pie.state.p, pie.state.burst), (0.0, Duration::from_millis(left)));
    }
    pie.update(Bytes::new(400_000));
    assert!(pie.state.p > 0.0);
    // Calm from here on: the first update ends the burst, and 51 more are 1.53 s.
    (pie.state.p, pie.state.updated) = (0.0, Duration::ZERO);
    for n in 0..52 {
        assert_eq!(pie.state.activity, if n == 0 { Activity::Active } else { Activity::Quiescent }, "{n}");
        pie.update(Bytes::ZERO);
    }
    assert_eq!(pie.state.activity, Activity::Asleep);
}

#[test]
fn its_beat_is_the_clocks_and_a_drop_begins_no_burst() {
    let mut pie = pie("x(reference=ns-2)");
    // The first packet comes 10 ms after the start, the next update is due at 30 all the same.
    pie.on_enqueue(&arriving(Instant::from_millis(10), 0));
    assert!(!pie.ticker.is_due(Instant::from_millis(29)) && pie.ticker.is_due(Instant::from_millis(30)));
    let mut pie = congested("x(reference=ns-2)", 1.0);
    pie.state.activity = Activity::Quiescent;
    assert_eq!(pie.on_enqueue(&arriving(Instant::ZERO, 90_000)), Verdict::Drop);
    assert_eq!((pie.state.activity, pie.state.burst), (Activity::Quiescent, Duration::ZERO));
}

#[test]
fn a_rate_is_forgotten_in_calm_and_kept_in_freebsd() {
    for (spec, kept) in [("x(reference=ns-2)", false), ("x(reference=freebsd)", true)] {
        let mut pie = congested(spec, 0.0);
        pie.state.departure = known();
        (pie.state.updated, pie.state.burst) = (Duration::ZERO, Duration::from_millis(100));
        pie.update(Bytes::ZERO);
        assert_eq!(pie.state.departure.is_known(), kept, "{spec}");
    }
}

/// A departure rate of a full packet a millisecond.
fn known() -> Departure {
    let mut departure = Departure::new(Reference::Ns2);
    for ms in 0..100 {
        departure.on_dequeue(Instant::from_millis(ms), Bytes::new(1_500), Bytes::new(100_000));
    }
    let full = departure.delay(Bytes::new(1_500)).as_millis_f64();
    assert!((full - 1.0).abs() < 0.01, "{full} ms");
    departure
}

#[test]
fn the_buffer_counts_packets_of_mean_size_and_p_goes_by_size() {
    // 1000 packets of 1000 B, where the others hold 1000 of any size.
    let mut full = pie("x(reference=ns-2)");
    full.on_enqueue(&arriving(Instant::ZERO, 0));
    assert_eq!(full.on_enqueue(&arriving(Instant::ZERO, 999_999)), Verdict::Pass);
    assert_eq!(full.on_enqueue(&arriving(Instant::ZERO, 1_000_000)), Verdict::Drop);
    // 0 is the link's MTU, 1500 B; a buffer in bytes is what it is.
    for (mean, limit, holds) in [
        (0, crate::Limit::Packets(1_000), 1_500_000),
        (1_500, crate::Limit::Packets(1_000), 1_500_000),
        (0, crate::Limit::Bytes(Bytes::new(70_000)), 70_000),
    ] {
        let mut pie = pie(&std::format!("x(reference=ns-2, mean_packet={mean}B)"));
        pie.set_link(&LinkInfo { limit: Some(limit), ..LINK });
        let said = [0, holds - 1, holds].map(|held| pie.on_enqueue(&arriving(Instant::ZERO, held)));
        assert_eq!(said, [Verdict::Pass, Verdict::Pass, Verdict::Drop], "{mean} B, {limit:?}");
    }
    let struck = |size| {
        let mut pie = congested("x(reference=ns-2)", 0.4);
        let look = Look { size: Bytes::new(size), ..arriving(Instant::ZERO, 90_000) };
        (0..20_000).filter(|_| pie.on_enqueue(&look) == Verdict::Drop).count()
    };
    let (large, small) = (struck(1_500), struck(500));
    assert!((11_800..12_200).contains(&large) && (3_800..4_200).contains(&small), "{large} of 0.6, {small} of 0.2");
}

#[test]
fn marks_stop_at_the_threshold_of_the_packets_own_p() {
    // drop_early scales p by the packet's part of 1000 B before it compares it with mark_p_: 0.105 and 0.09 of 1500 B, 0.06 of 500 B.
    for (p, size, verdict) in [(0.07, 1_500, Verdict::Drop), (0.06, 1_500, Verdict::Mark), (0.12, 500, Verdict::Mark)] {
        let mut pie = congested("x(reference=ns-2, ecn=true)", p);
        let look = Look { size: Bytes::new(size), ecn: Ecn::Ect0, ..arriving(Instant::ZERO, 90_000) };
        let said: Vec<_> = (0..500).map(|_| pie.on_enqueue(&look)).filter(|said| *said != Verdict::Pass).collect();
        assert!(!said.is_empty() && said.iter().all(|said| *said == verdict), "{p} of {size} B: {said:?}");
    }
}

#[test]
fn calm_forgets_the_rate_but_not_since_when_it_is_measured() {
    let mut departure = Departure::new(Reference::Ns2);
    let out = |departure: &mut Departure, ms, left| {
        departure.on_dequeue(Instant::from_millis(ms), Bytes::new(1_500), Bytes::new(left));
    };
    out(&mut departure, 0, 10_000);
    departure.reset();
    assert!(!departure.is_known());
    // Seven packets make the 10 000 bytes, counted from the first millisecond on.
    for ms in 101..=107 {
        out(&mut departure, ms, 50_000);
    }
    assert_eq!(departure.delay(Bytes::new(10_500)), Duration::from_millis(107));
}
