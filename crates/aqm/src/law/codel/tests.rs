//! The numbers of the reference implementations (schedules worked out from their formulas) and of the RFC's text.

use super::*;
use crate::Ecn;
use units::streams;

fn codel(spec: &str) -> Codel {
    use params::Params as _;
    let link =
        LinkInfo { rate: units::Rate::from_mbps(10.0), delay: Duration::ZERO, mtu: Bytes::new(1500), limit: None };
    let p = Params::from_spec(&spec.parse().unwrap()).unwrap();
    Codel::new(&p, &link, Rng::new(1, 0, streams::AQM))
}

/// A packet at the head of a long queue.
fn waited(now_ms: f64, sojourn_ms: f64) -> Look {
    Look {
        now: Instant::ZERO + Duration::from_millis_f64(now_ms),
        size: Bytes::new(1500),
        ecn: Ecn::NotEct,
        sojourn: Duration::from_millis_f64(sojourn_ms),
        head_age: Duration::from_millis_f64(sojourn_ms),
        own_backlog: Bytes::new(150_000),
        total_backlog: Bytes::new(150_000),
        len: 100,
        mtu: Bytes::new(1500),
        largest: Bytes::new(1500),
        largest_of_all: Bytes::new(1500),
    }
}

/// Times of the drops in a lasting overload looked at every 10 µs, in ms since the first packet above target.
fn drops(spec: &str, n: usize) -> Vec<f64> {
    let (mut law, mut times, mut step) = (codel(spec), Vec::new(), 0u64);
    while times.len() < n {
        let now = step as f64 * 0.01;
        while law.on_dequeue(&waited(now, 20.0)) == Verdict::Drop {
            times.push(now);
        }
        step += 1;
    }
    times
}

use std::vec::Vec;

fn near(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= tolerance, "{got:?} is not {want:?}");
    }
}

#[test]
fn the_rfc_schedule_is_exact() {
    // interval/√n summed: 100, 170.71, 228.45, … after the first drop, which comes one interval after arming.
    let want = [100.0, 200.0, 270.711, 328.446, 378.446, 423.167, 463.992, 501.788, 537.144];
    near(&drops("x", 9), &want, 0.011);
}

#[test]
fn schedules_are_kept_to_the_nanosecond() {
    let mut law = codel("x");
    let mut at = Instant::ZERO;
    for (count, ns) in [100_000_000u64, 70_710_678, 57_735_027, 50_000_000, 44_721_360, 40_824_829].iter().enumerate() {
        law.count = count as u32 + 1;
        let next = law.control_law(at);
        assert_eq!(next.since(at).as_nanos(), *ns);
        at = next;
    }
}

fn intervals(spec: &str, n: u32) -> Vec<f64> {
    let mut law = codel(spec);
    law.enter(Instant::from_millis(1_000));
    let mut times = std::vec![law.drop_next];
    for _ in 1..n {
        law.bump();
        law.drop_next = law.control_law(law.drop_next);
        times.push(law.drop_next);
    }
    let mut last = Instant::from_millis(1_000);
    times
        .iter()
        .map(|t| core::mem::replace(&mut last, *t))
        .zip(&times)
        .map(|(a, b)| b.since(a).as_millis_f64())
        .collect()
}

#[test]
fn freebsd_takes_one_newton_step_a_drop_from_seven_tenths() {
    let want = [100.0, 70.70, 53.04, 49.72, 43.85, 40.48, 37.50, 35.16];
    near(&intervals("x(reference=freebsd)", 8), &want, 0.012);
}

#[test]
fn linux_takes_one_newton_step_a_drop_from_one() {
    let want = [100.0, 50.0, 56.25, 48.78, 44.15, 40.41, 37.52, 35.15];
    near(&intervals("x(reference=linux)", 8), &want, 0.012);
}

#[test]
fn newton_wraps_instead_of_panicking_far_from_the_root() {
    for x in [0, 1, 1000, u16::MAX] {
        for count in [0, 1, 70, 1 << 20, u32::MAX] {
            newton_linux(x, count);
            newton_freebsd(x, count);
        }
    }
}

#[test]
fn re_entry_remembers_the_rate_within_a_window_of_intervals() {
    // count 10, lastcount 4, left at drop_next; back after `gap` ms.
    let count_after = |spec: &str, gap: u64| {
        let mut law = codel(spec);
        (law.count, law.lastcount, law.drop_next) = (10, 4, Instant::from_millis(5_000));
        law.enter(Instant::from_millis(5_000 + gap));
        law.count
    };
    assert_eq!(count_after("x", 1_000), 6, "1.0 s is within 16 intervals");
    assert_eq!(count_after("x(reference=linux)", 1_000), 6);
    assert_eq!(count_after("x(reference=freebsd)", 1_000), 1, "1.0 s is beyond 8 intervals");
    assert_eq!(count_after("x", 500), 6);
    assert_eq!(count_after("x(reference=freebsd)", 500), 8);
    assert_eq!(count_after("x", 1_600), 1, "the window is open at its end");
}

#[test]
fn below_target_nothing_is_armed_and_one_short_wait_disarms() {
    for spec in ["x", "x(reference=linux)", "x(reference=freebsd)"] {
        let mut law = codel(spec);
        for ms in 0..500 {
            assert_eq!(law.on_dequeue(&waited(ms as f64, 4.999)), Verdict::Pass, "{spec}");
        }
        assert_eq!(law.first_above, None);
        for ms in 500..599 {
            assert_eq!(law.on_dequeue(&waited(ms as f64, 5.0)), Verdict::Pass, "{spec}");
        }
        law.on_dequeue(&waited(599.0, 4.0));
        assert_eq!(law.on_dequeue(&waited(700.0, 9.0)), Verdict::Pass, "{spec}: armed anew");
        assert_eq!(law.on_dequeue(&waited(801.0, 9.0)), Verdict::Drop, "{spec}");
    }
}

#[test]
fn only_linux_waits_for_more_than_the_interval() {
    for (spec, want) in
        [("x", Verdict::Drop), ("x(reference=freebsd)", Verdict::Drop), ("x(reference=linux)", Verdict::Pass)]
    {
        let mut law = codel(spec);
        law.on_dequeue(&waited(0.0, 9.0));
        assert_eq!(law.on_dequeue(&waited(100.0, 9.0)), want, "{spec}");
    }
}

#[test]
fn each_reference_has_its_own_queue_too_small_to_act_on() {
    let acts = |spec: &str, own: u64, total: u64, largest: u64| {
        let mut law = codel(spec);
        let look = |ms| Look {
            own_backlog: Bytes::new(own),
            total_backlog: Bytes::new(total),
            largest: Bytes::new(largest),
            ..waited(ms, 9.0)
        };
        law.on_dequeue(&look(0.0));
        law.on_dequeue(&look(101.0)) == Verdict::Drop
    };
    // RFC: up to the largest packet seen.
    assert!(!acts("x", 600, 90_000, 600) && acts("x", 601, 90_000, 600));
    // Linux: the whole qdisc up to an MTU, so a flow with nothing left is hit while others queue.
    assert!(acts("x(reference=linux)", 0, 1501, 600) && !acts("x(reference=linux)", 1500, 1500, 600));
    // FreeBSD: the largest packet, never under 500 B.
    assert!(!acts("x(reference=freebsd)", 500, 90_000, 60) && acts("x(reference=freebsd)", 501, 90_000, 60));
    // ns-2: all that waits, up to the largest packet of all flows.
    assert!(!acts("x(reference=ns-2)", 900, 1_500, 60) && acts("x(reference=ns-2)", 900, 1_501, 60));
}

#[test]
fn a_schedule_that_ends_in_a_good_packet_is_not_advanced() {
    // RFC and Linux count the last drop of an episode, FreeBSD does not; none moves drop_next for it.
    for (spec, count) in [("x", 2), ("x(reference=linux)", 2), ("x(reference=freebsd)", 1)] {
        let mut law = codel(spec);
        law.on_dequeue(&waited(0.0, 9.0));
        assert_eq!(law.on_dequeue(&waited(101.0, 9.0)), Verdict::Drop);
        assert_eq!(law.on_dequeue(&waited(101.0, 9.0)), Verdict::Pass, "the packet behind the entry drop passes");
        let planned = law.drop_next;
        assert_eq!(law.on_dequeue(&waited(202.0, 9.0)), Verdict::Drop);
        assert_eq!(law.on_dequeue(&waited(202.0, 1.0)), Verdict::Pass);
        assert_eq!((law.count, law.drop_next, law.dropping), (count, planned, false), "{spec}");
    }
}

#[test]
fn marks_replace_drops_and_keep_the_schedule() {
    let mut law = codel("x(ecn=true)");
    let ect = |now| Look { ecn: Ecn::Ect0, ..waited(now, 20.0) };
    let mut marks = Vec::new();
    for step in 0..55_000 {
        let now = step as f64 * 0.01;
        match law.on_dequeue(&ect(now)) {
            Verdict::Mark => marks.push(now),
            Verdict::Pass => {}
            Verdict::Drop => panic!("dropped a packet that could be marked"),
        }
    }
    near(&marks, &[100.0, 200.0, 270.711, 328.446, 378.446, 423.167, 463.992, 501.788, 537.144], 0.011);
    assert_eq!(codel("x(ecn=true)").ecn_off(), Verdict::Drop);
}

impl Codel {
    fn ecn_off(&mut self) -> Verdict {
        self.on_dequeue(&waited(0.0, 20.0));
        self.on_dequeue(&waited(200.0, 20.0))
    }
}

#[test]
fn the_ce_threshold_marks_what_the_law_passes() {
    let mut law = codel("x(reference=linux, ce_threshold=1ms)");
    let ect = |ms| Look { ecn: Ecn::Ect1, ..waited(0.0, ms) };
    assert_eq!(law.on_dequeue(&ect(1.0)), Verdict::Pass);
    assert_eq!(law.on_dequeue(&ect(1.001)), Verdict::Mark);
    assert_eq!(law.on_dequeue(&waited(0.0, 2.0)), Verdict::Pass);
}

#[test]
fn an_overflow_under_linux_counts_as_so_many_drops() {
    let (mut linux, mut rfc) = (codel("x(reference=linux)"), codel("x"));
    let full = waited(0.0, 20.0);
    linux.on_forced_drop(&full, 64);
    rfc.on_forced_drop(&full, 64);
    assert_eq!((linux.count, rfc.count), (64, 0));
}

#[test]
fn lone_packets_that_wait_over_the_target_are_not_dropped() {
    // One every 20 ms that waits 6 ms while other flows hold data, which Linux' size of the queue counts.
    for reference in ["rfc", "linux", "freebsd", "ns-2"] {
        let mut law = codel(&std::format!("x(reference={reference})"));
        for i in 0..500u32 {
            let look = Look { own_backlog: Bytes::ZERO, len: 0, ..waited(f64::from(i) * 20.0, 6.0) };
            assert_eq!(law.on_dequeue(&look), Verdict::Pass, "{reference}, packet {i}");
            law.on_empty(look.now);
        }
    }
}

#[test]
fn a_wait_of_the_target_itself_is_too_long() {
    for reference in ["rfc", "linux", "freebsd", "ns-2"] {
        for (wait, armed) in [(4.999, false), (5.0, true)] {
            let mut law = codel(&std::format!("x(reference={reference})"));
            law.on_dequeue(&waited(0.0, wait));
            assert_eq!(law.first_above.is_some(), armed, "{reference}, {wait} ms");
        }
    }
}

#[test]
fn an_overflow_before_the_first_dropping_state_leaves_linux_a_schedule() {
    // sch_fq_codel adds the overflow's drops to the count, but the time of a next drop that never was is not near.
    let mut law = codel("x(reference=linux)");
    law.on_forced_drop(&waited(0.0, 20.0), 64);
    let (mut times, mut step) = (Vec::new(), 0u64);
    while step < 30_000 {
        let now = step as f64 * 0.01;
        while law.on_dequeue(&waited(now, 20.0)) == Verdict::Drop && times.len() < 1_000 {
            times.push(now);
        }
        step += 1;
    }
    assert!(times.len() < 25, "{} drops in 300 ms, interval 100 ms: 1/√count is {}", times.len(), law.inv_sqrt);
}

#[test]
fn two_drops_more_are_enough_to_remember() {
    for reference in ["rfc", "linux"] {
        for (count, want) in [(5, 1), (6, 2), (7, 3)] {
            let mut law = codel(&std::format!("x(reference={reference})"));
            (law.count, law.lastcount, law.drop_next) = (count, 4, Instant::from_millis(900));
            law.enter(Instant::from_millis(1_000));
            assert_eq!((law.count, law.lastcount), (want, want), "{reference}: {count} after 4");
        }
    }
}

#[test]
fn a_drop_is_due_at_its_very_time() {
    for spec in ["x", "x(reference=linux)", "x(reference=freebsd)"] {
        let mut law = codel(spec);
        law.on_dequeue(&waited(0.0, 20.0));
        assert_eq!(law.on_dequeue(&waited(101.0, 20.0)), Verdict::Drop);
        assert_eq!(law.on_dequeue(&waited(101.0, 20.0)), Verdict::Pass);
        let at = law.drop_next;
        let looks = |nanos: u64| Look { now: Instant::from_nanos(at.as_nanos() - nanos), ..waited(0.0, 20.0) };
        assert_eq!([1, 0].map(|nanos| law.on_dequeue(&looks(nanos))), [Verdict::Pass, Verdict::Drop], "{spec}");
    }
}

#[test]
fn only_freebsds_sub_queue_forgets_when_it_comes_back() {
    for (spec, forgets) in [("x", false), ("x(reference=linux)", false), ("x(reference=freebsd)", true)] {
        let mut law = codel(spec);
        (0..200).for_each(|ms| _ = law.on_dequeue(&waited(ms as f64, 20.0)));
        assert!(law.dropping && law.first_above.is_some(), "{spec}");
        law.on_activate(Instant::from_millis(200));
        assert_eq!((law.dropping, law.first_above.is_some()), (!forgets, !forgets), "{spec}");
    }
}

#[test]
fn in_ns_2_a_queue_that_comes_back_soon_waits_for_less() {
    let mut law = codel("x(reference=ns-2)");
    (law.count, law.drop_next) = (16, Instant::from_millis(1_000));
    // 100 ms / 4 within eight intervals of the last drop, all 100 from then on; RFC, Linux and FreeBSD wait all 100 at any time.
    for (at, wait, spec) in [
        (1_100, 25, "x(reference=ns-2)"),
        (1_799, 25, "x(reference=ns-2)"),
        (1_800, 100, "x(reference=ns-2)"),
        (1_100, 100, "x(reference=freebsd)"),
        (1_100, 100, "x(reference=linux)"),
        (1_100, 100, "x"),
    ] {
        let mut law = Codel { p: codel(spec).p, ..law.clone() };
        assert_eq!(law.on_dequeue(&waited(f64::from(at), 20.0)), Verdict::Pass);
        assert_eq!(law.first_above, Some(Instant::from_millis((at + wait) as u64)), "{spec} at {at}");
    }
    // sfqcodel.cc has no such rule, and tells by all that waits whether there is a queue.
    let mut one_of_many = Codel { first_above: None, ..law.clone().among(850, 1_024) };
    one_of_many.on_dequeue(&Look { own_backlog: Bytes::new(1), ..waited(1_100.0, 20.0) });
    assert_eq!(one_of_many.first_above, Some(Instant::from_millis(1_200)));
    one_of_many.on_dequeue(&Look { own_backlog: Bytes::ZERO, ..waited(1_101.0, 20.0) });
    assert_eq!(one_of_many.first_above, None, "none waits behind it");
}

#[test]
fn ns_2_remembers_two_less_and_63_of_64_of_many() {
    for (count, at, want) in [(2, 640, 1), (9, 640, 7), (9, 1_440, 1), (128, 640, 126), (200, 640, 196)] {
        let mut law = codel("x(reference=ns-2)");
        (law.count, law.drop_next) = (count, Instant::from_millis(640));
        law.enter(Instant::from_millis(at));
        assert_eq!(law.count, want, "{count} at {at} ms");
        let mut one_of_many = codel("x(reference=ns-2)").among(850, 1_024);
        (one_of_many.count, one_of_many.drop_next) = (count, Instant::from_millis(640));
        one_of_many.enter(Instant::from_millis(at));
        assert_eq!(one_of_many.count, if want == 196 { 198 } else { want }, "{count} at {at} ms, under sfqCoDel");
    }
}

#[test]
fn a_sub_queue_of_ns_2_that_nobody_used_waits_for_no_interval() {
    let first = |spec: &str, wait| codel(spec).among(850, 1_024).on_dequeue(&waited(1_000.0, wait));
    for (spec, wait, verdict) in [
        ("x(reference=ns-2)", 5.0, Verdict::Drop),
        ("x(reference=ns-2)", 4.999, Verdict::Pass),
        ("x(reference=linux)", 5.0, Verdict::Pass),
        ("x(reference=freebsd)", 5.0, Verdict::Pass),
        ("x", 5.0, Verdict::Pass),
    ] {
        assert_eq!(first(spec, wait), verdict, "{spec}, {wait} ms");
    }
    // A packet that was in time, or that none waited behind, and it has been used.
    for used in [waited(900.0, 1.0), Look { own_backlog: Bytes::ZERO, ..waited(900.0, 20.0) }] {
        let mut law = codel("x(reference=ns-2)").among(850, 1_024);
        assert_eq!(law.on_dequeue(&used), Verdict::Pass);
        let late = [1_000.0, 1_099.9, 1_100.0].map(|ms| law.on_dequeue(&waited(ms, 20.0)));
        assert_eq!(late, [Verdict::Pass, Verdict::Pass, Verdict::Drop]);
    }
}

#[test]
fn the_ns_2_schedule_is_the_rfcs() {
    near(&drops("x(reference=ns-2)", 9), &drops("x", 9), 1e-9);
}
