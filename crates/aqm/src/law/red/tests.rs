//! The paper's numbers, and what the implementations make of them.

use super::*;
use crate::law::testing::look;
use crate::{Ecn, Limit};
use ::params::Auto;
use std::vec::Vec;
use units::{Duration, Rate, streams};

fn link(mbps: f64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_mbps(mbps),
        delay: Duration::ZERO,
        mtu: Bytes::new(1500),
        limit: Some(Limit::Packets(120)),
    }
}

fn red(spec: &str) -> Red {
    use ::params::Params as _;
    let spec: ::params::Spec = spec.parse().unwrap();
    let set = |mut p: Params| {
        spec.args.iter().for_each(|(name, text)| p.set("red", name, text).unwrap());
        p
    };
    let p = set(Red::defaults(&set(Params::default()), Place::Alone));
    p.check().unwrap();
    Red::new(&p, &link(10.0), Rng::new(1, 0, streams::AQM))
}

/// An arrival at a queue of so many packets.
fn arriving(q: usize, ecn: Ecn) -> Look {
    let backlog = Bytes::new(1500 * q as u64);
    Look {
        now: Instant::ZERO,
        size: Bytes::new(1500),
        ecn,
        sojourn: Duration::ZERO,
        head_age: Duration::ZERO,
        own_backlog: backlog,
        total_backlog: backlog,
        len: q,
        mtu: Bytes::new(1500),
        largest: Bytes::new(1500),
        largest_of_all: Bytes::new(1500),
    }
}

/// RED with its average at rest at q packets, and what it says to so many arrivals.
fn at_rest(spec: &str, q: usize, ecn: Ecn, n: usize) -> [usize; 3] {
    let mut red = red(spec);
    let q_mean = if red.params.bytes { 1500.0 * q as f64 / red.is.mean.as_f64() } else { q as f64 };
    red.avg.value = q_mean;
    let mut said = [0; 3];
    for _ in 0..n {
        said[red.on_enqueue(&arriving(q, ecn)) as usize] += 1;
    }
    said
}

#[test]
fn p_b_rises_between_the_thresholds() {
    let base = |spec: &str, avg| {
        let mut red = red(spec);
        red.avg.value = avg;
        red.base()
    };
    assert!((base("x(max_p=0.1)", 10.0) - 0.05).abs() < 1e-12);
    assert_eq!([base("x", 4.99), base("x", 15.0)], [0.0, 1.0]);
    assert!((base("x(max_p=0.1, gentle=true)", 22.5) - 0.55).abs() < 1e-12);
    assert!((base("x(max_p=0.1, gentle=true, reference=dummynet)", 22.5) - 0.55).abs() < 1e-12, "c3 avg − c4");
    assert_eq!(base("x(gentle=true)", 30.0), 1.0);
}

#[test]
fn p_a_makes_gaps_uniform() {
    let mut red = red("x");
    red.count = 10.0;
    assert!((red.spread(0.05) - 0.1).abs() < 1e-12);
    red.count = 19.0;
    assert!((red.spread(0.05) - 1.0).abs() < 1e-9);
    // With wait the gap lies between 1/p and 2/p.
    red.params.wait = true;
    assert_eq!(red.spread(0.05), 0.0);
    red.count = 20.0;
    assert!((red.spread(0.05) - 0.05).abs() < 1e-9);
    red.count = 39.0;
    assert!((red.spread(0.05) - 1.0).abs() < 1e-9);
}

#[test]
fn gaps_between_drops_are_bounded_by_one_over_p() {
    for (spec, least, most) in [
        ("x(max_p=0.1)", 1, 20),
        ("x(max_p=0.1, wait=true)", 20, 40),
        ("x(max_p=0.1, reference=dummynet)", 1, 20),
        ("x(max_p=0.1, reference=linux, min=7.5, max=22.5, weight=0.001)", 1, 20),
    ] {
        // p_b = 0.05 throughout: the average rests at 10 packets of 1500 B.
        let mut red = red(spec);
        red.avg.value = if red.params.bytes { 15.0 } else { 10.0 };
        let mut gap = 0;
        let mut seen = (usize::MAX, 0);
        for _ in 0..40_000 {
            gap += 1;
            if red.on_enqueue(&arriving(10, Ecn::NotEct)) == Verdict::Drop {
                seen = (seen.0.min(gap), seen.1.max(gap));
                gap = 0;
            }
        }
        // p_a reaches 1 a packet before 1/p.
        assert!(seen.0 == least && (most - 1..=most).contains(&seen.1), "{spec}: {seen:?}");
    }
}

#[test]
fn dummynet_marks_all_above_min_and_the_others_a_random_subset() {
    let [pass, mark, drop] = at_rest("x(ecn=true, reference=dummynet)", 10, Ecn::Ect0, 5_000);
    assert_eq!([pass, mark, drop], [0, 5_000, 0]);
    assert_eq!(at_rest("x(ecn=true, reference=dummynet)", 90, Ecn::Ect0, 100)[1], 100, "above max, too");
    for spec in ["x(ecn=true)", "x(ecn=true, reference=linux, min=7, max=23)"] {
        let [pass, mark, drop] = at_rest(spec, 10, Ecn::Ect0, 20_000);
        assert!(pass > 18_000 && mark > 100 && drop == 0, "{spec}: {pass} {mark} {drop}");
    }
}

#[test]
fn above_max_the_paper_drops_what_linux_marks() {
    assert_eq!(at_rest("x(ecn=true)", 40, Ecn::Ect0, 100), [0, 0, 100]);
    assert_eq!(at_rest("x(ecn=true, reference=linux, min=3, max=9)", 40, Ecn::Ect0, 100), [0, 100, 0]);
    assert_eq!(at_rest("x(ecn=true, reference=linux, min=3, max=9, hard_drop=true)", 40, Ecn::Ect0, 100), [0, 0, 100]);
    // ns-2 drops from p_b = 10 % on, and marks below.
    let spec = |max_p: f64| std::format!("x(ecn=true, reference=ns-2, min=15, max=45, max_p={max_p})");
    let [_, mark, drop] = at_rest(&spec(0.15), 10, Ecn::Ect0, 20_000);
    assert!(mark > 300 && drop == 0, "p_b = 7.5 %: {mark} marks, {drop} drops");
    let [_, mark, drop] = at_rest(&spec(0.3), 10, Ecn::Ect0, 20_000);
    assert!(mark == 0 && drop > 600, "p_b = 15 %: {mark} marks, {drop} drops");
}

#[test]
fn ns_2_never_drops_from_an_empty_queue_nor_at_the_crossing() {
    let mut red = red("x(reference=ns-2, max_p=1, min=5, max=1000)");
    red.avg.value = 900.0;
    assert_eq!(red.on_enqueue(&arriving(0, Ecn::NotEct)), Verdict::Pass);
    red.avg.value = 990.0;
    assert_eq!(red.on_enqueue(&arriving(10, Ecn::NotEct)), Verdict::Pass, "the first above min");
}

#[test]
fn linux_derives_thresholds_from_the_buffer() {
    // 180000 B: max 45, min 15 packets of 1000 B; a burst of 25 keeps the average below 15 with w = 1/16.
    let is = red("x(reference=linux)").is;
    assert_eq!((is.min, is.max, is.weight), (15.0, 45.0, 1.0 / 16.0));
}

#[test]
fn ns_2_derives_thresholds_from_the_link() {
    let is = Params::of(Reference::Ns2).resolve(&link(100.0));
    assert!((is.weight - 4.0e-5).abs() < 1e-9 && (is.min - 62.5).abs() < 1e-9 && (is.max - 187.5).abs() < 1e-9);
    let full = Params { mean_packet: Bytes::new(1500), ..Params::of(Reference::Ns2) };
    let is = full.resolve(&link(10.0));
    assert!((is.weight - 1.199e-3).abs() < 1e-6 && is.min == 5.0, "{is:?}");
}

#[test]
fn ns_2s_weight_knows_long_links() {
    // Ten round trips: of 100 ms, or of three times the delay and a packet of 500 B (0.4 ms at 10 Mbit/s).
    for (delay_ms, rtt) in [(0, 0.1), (32, 0.1), (100, 0.3012), (300, 0.9012)] {
        let long = LinkInfo { delay: Duration::from_millis(delay_ms), ..link(10.0) };
        let weight = |reference| Params { weight: Auto::AUTO, ..Params::of(reference) }.resolve(&long).weight;
        let want = 1.0 - units::math::exp(-1.0 / (10.0 * rtt * 2500.0));
        assert!((weight(Reference::Ns2) - want).abs() < 1e-12, "{delay_ms} ms");
        // The paper's rule is of 1993 and knows none; packets are the link's.
        assert!((weight(Reference::Paper) - (1.0 - units::math::exp(-1.0 / 833.333))).abs() < 1e-8);
    }
}

#[test]
fn ns_2_counts_whole_packets_of_mean_size() {
    // 7 and 9 packets of 40 B since the last signal are none of 500 B, 13 are one; without bytes they are what they are.
    let mut red = red("x(reference=ns-2, wait=false)");
    for (count, whole) in [(0.56, 0.0), (0.72, 0.0), (1.04, 1.0), (3.0, 3.0)] {
        red.count = count;
        assert!((red.spread(0.1) - 0.1 / (1.0 - whole * 0.1)).abs() < 1e-12, "{count}");
    }
}

#[test]
fn certainty_is_spread_in_ns_2_but_not_scaled() {
    // The average above twice max, packets of two thirds of the mean size: of three in a row after a drop the first counts
    // none, which is no drop with `wait`, the second one, which is certain whatever its size.
    let mut red = red("x(reference=ns-2, bytes=false, by_size=true, mean_packet=1500B, min=5, max=15, weight=1)");
    let look = Look { size: Bytes::new(1000), ..arriving(31, Ecn::NotEct) };
    red.observe(&look);
    (red.crossed, red.count) = (true, 0.0);
    let said: Vec<bool> = (0..6).map(|_| red.on_enqueue(&look) == Verdict::Drop).collect();
    assert_eq!(said, [false, true, false, true, false, true]);
}

#[test]
fn p_goes_with_the_size_where_asked_though_the_queue_is_counted_in_packets() {
    let p_of = |spec: &str, size: u64| {
        let mut red = red(spec);
        (red.crossed, red.avg.value) = (true, 10.0);
        let hits = (0..20_000).filter(|_| {
            red.count = 0.0;
            let look = Look { size: Bytes::new(size), ..arriving(10, Ecn::NotEct) };
            red.judge(&look) == Verdict::Drop
        });
        hits.count() as f64 / 20_000.0
    };
    let spec = "x(reference=ns-2, bytes=false, wait=false, weight=0.002, max_p=0.1, min=5, max=15, mean_packet=500B";
    // p_b = 0.05; a full packet is three of 500 B, 0.05 / (1 - 3 * 0.05) * 3 = 0.176.
    for (asked, size, want) in [("", 1500, 0.0526), (", by_size=true", 1500, 0.176), (", by_size=true", 250, 0.025)] {
        let p = p_of(&std::format!("{spec}{asked})"), size);
        assert!((p - want).abs() < 0.1 * want, "{asked} {size}: {p}");
    }
}

#[test]
fn dummynets_p_goes_with_a_packets_part_of_1500_bytes_where_sizes_count() {
    let drops = |by_size: bool| {
        let mut red = red(&std::format!("x(reference=dummynet, max_p=0.1, weight=0.002, by_size={by_size})"));
        red.avg.value = 10.0;
        let look = Look { size: Bytes::new(300), ..arriving(10, Ecn::NotEct) };
        (0..20_000).filter(|_| red.on_enqueue(&look) == Verdict::Drop).count()
    };
    // One throw a gap: gaps of 1 to 20 packets, and five times that.
    let (all_alike, by_size) = (drops(false) as f64, drops(true) as f64);
    assert!((4.0..6.0).contains(&(all_alike / by_size)), "{all_alike} and {by_size}");
}

#[test]
fn an_average_above_max_falls_although_every_arrival_is_dropped() {
    for reference in ["paper", "ns-2", "linux"] {
        let mut red = red(&std::format!("x(reference={reference}, min=5, max=15, gentle=false, weight=0.002)"));
        red.avg.value = 40.0;
        red.on_empty(Instant::ZERO);
        // A sender that retries every 100 ms is let in before long: 500 packet times halve the average.
        let let_in = (1..100).find(|i| {
            let look = Look { now: Instant::from_millis(100 * i), ..arriving(0, Ecn::NotEct) };
            red.on_enqueue(&look) == Verdict::Pass
        });
        assert!(let_in.is_some(), "{reference}: {}", red.avg.value);
    }
}

#[test]
fn bytes_scale_p_before_it_is_spread_in_the_paper_and_after_in_ns_2() {
    // p_b = 0.05 at the tenth packet since the last, a third of a mean packet long: 0.05/3 / (1 − 10 · 0.05/3) = 0.02, and
    // 0.05 / (1 − 9 · 0.05) / 3 = 0.0303 in ns-2, which counts whole packets of the mean size.
    for (reference, expected) in [("paper", 0.02), ("ns-2", 0.0303)] {
        let spec = std::format!(
            "x(reference={reference}, bytes=true, wait=false, mean_packet=1500B, min=5, max=15, gentle=false)"
        );
        let mut red = red(&spec);
        let look = Look { size: Bytes::new(500), ..arriving(10, Ecn::NotEct) };
        let mut hits = 0;
        for _ in 0..800_000 {
            (red.count, red.crossed) = (9.0, true);
            hits += u32::from(red.strikes(&look, 0.05));
        }
        let p = f64::from(hits) / 800_000.0;
        assert!((p - expected).abs() < 0.0006, "{reference}: {p}");
    }
}

#[test]
fn ns_2_asks_for_more_than_one_packet_in_the_queue() {
    for (reference, one, two) in [("ns-2", false, true), ("paper", true, true)] {
        for (q, above) in [(1, one), (2, two)] {
            let mut red = red(&std::format!("x(reference={reference}, bytes=false, min=5, max=15)"));
            red.avg.value = 10.0;
            assert_eq!(red.observe(&arriving(q, Ecn::NotEct)), above, "{reference}, {q}");
        }
    }
}

#[test]
fn linux_sets_its_weight_by_the_burst_of_two_thirds_of_min_and_a_third_of_max() {
    // tc_red_eval_ewma of a third and of all of a quarter of the buffer, in packets of 1000 B, and of bursts of whole ones:
    // 16.7 are 16, and 33.3 are 33.
    for (packets, log) in [(8, 1), (60, 3), (80, 3), (160, 4), (200, 5), (300, 5), (700, 7)] {
        let link = LinkInfo { limit: Some(Limit::Packets(packets)), ..link(10.0) };
        let is = Params::of(Reference::Linux).resolve(&link);
        assert_eq!((is.min, is.max), (packets as f64 * 0.125, packets as f64 * 0.375));
        assert_eq!(is.weight, 1.0 / f64::from(1 << log), "{packets} packets");
    }
}

#[test]
fn what_a_full_buffer_refuses_counts_as_the_signal_in_ns_2_alone() {
    for (reference, count) in [("paper", 7.0), ("ns-2", 0.0), ("dummynet", 7.0), ("linux", 7.0)] {
        let mut red = red(&std::format!("x(reference={reference})"));
        red.count = 7.0;
        red.on_refused(&look(Instant::ZERO, 60));
        assert_eq!(red.count, count, "{reference}");
    }
}

#[test]
fn above_max_the_count_begins_again() {
    for (spec, count) in [
        ("x", 0.0),
        ("x(reference=ns-2, min=2, max=4, bytes=false)", 0.0),
        ("x(reference=dummynet)", -1.0),
        ("x(reference=linux, min=3, max=9)", -1.0),
    ] {
        let mut red = red(spec);
        (red.avg.value, red.count, red.crossed) = (90.0, 7.0, true);
        assert_eq!(red.on_enqueue(&arriving(60, Ecn::NotEct)), Verdict::Drop);
        assert_eq!(red.count, count, "{spec}");
    }
}

#[test]
fn ns_2_lets_the_packet_pass_that_finds_the_threshold_crossed() {
    let mut red = red("x(reference=ns-2, min=5, max=1000, max_p=1, wait=false, bytes=false)");
    red.avg.value = 950.0;
    assert_eq!([(); 2].map(|()| red.on_enqueue(&arriving(900, Ecn::NotEct))), [Verdict::Pass, Verdict::Drop]);
}

#[test]
fn dummynet_and_linux_throw_first_and_drop_then() {
    for spec in ["x(reference=dummynet, min=5, max=1000, max_p=1)", "x(reference=linux, min=5, max=1000, max_p=1)"] {
        let mut red = red(spec);
        red.avg.value = 950.0;
        let q = if red.params.bytes { 633 } else { 950 };
        assert_eq!(red.on_enqueue(&arriving(q, Ecn::NotEct)), Verdict::Pass, "{spec}: only the throw");
        assert!((0..3).any(|_| red.on_enqueue(&arriving(q, Ecn::NotEct)) == Verdict::Drop), "{spec}");
    }
}
