//! What of a link's rate was used: windows that begin and end anywhere, rates that change, traces, ticks.

use crate::common::{self, dumbbell, ms};
use experiment::{Change, Clock, Scenario, TickParams, Traffic};
use proptest::prelude::*;
use sim::probe::{LinkSample, Probe, Trace};
use sim::summary::LinkSummary;
use units::{Bytes, Duration, Instant, Rate};

/// Datagrams at `offered` Mbit/s over a link of `mbps`, the first at 0 s.
fn stream(mbps: f64, offered: f64, size: u64, seconds: u64) -> Scenario {
    let mut s = dumbbell(mbps, 20.0, 50, "fifo", &["newreno"], seconds);
    s.flows[0].traffic = Traffic::Cbr {
        rate: Rate::from_mbps(offered),
        size: Bytes::new(size),
        on: Duration::ZERO,
        off: Duration::ZERO,
    };
    s
}

fn at(seconds: f64) -> Instant {
    Instant::from_secs_f64(seconds)
}

fn changed(mut s: Scenario, changes: &[(f64, f64)]) -> Scenario {
    s.links[0].changes = changes
        .iter()
        .map(|&(when, mbps)| Change { at: at(when), rate: Some(Rate::from_mbps(mbps)), delay: None, loss: None })
        .collect();
    s
}

fn over(s: &Scenario, from: f64, to: f64) -> LinkSummary {
    let mut s = s.clone();
    s.run.measure = (at(from), at(to));
    common::run(&s).links.swap_remove(0)
}

/// Rate in Mbit/s, utilisation, load.
fn figures(s: &Scenario, from: f64, to: f64) -> (f64, f64, f64) {
    let l = over(s, from, to);
    (l.rate_mbps.unwrap(), l.utilisation.unwrap(), l.load.unwrap())
}

#[test]
fn a_rate_that_falls_or_rises_is_taken_as_it_was() {
    for (changes, mean) in
        [(vec![(10.0, 1.0)], 5.5), (vec![(10.0, 100.0)], 55.0), (vec![(5.0, 2.0), (15.0, 40.0)], 13.5)]
    {
        let s = changed(stream(10.0, 200.0, 1500, 20), &changes);
        let (rate, used, load) = figures(&s, 0.0, 20.0);
        assert_eq!(rate, mean, "{changes:?}");
        // A packet that began before a rise is still sent at the old rate: up to 1.2 ms, or 6 ms, at once.
        assert!(used <= 1.0 && used > 0.999, "{changes:?}: {used}");
        assert!((load * mean / 200.0 - 1.0).abs() < 1e-4, "{changes:?}: {load}");
        // Wholly before, and wholly after.
        let (rate, used, load) = figures(&s, 1.0, 4.0);
        assert_eq!((rate, used), (10.0, 1.0));
        assert!((load - 20.0).abs() < 0.001);
        let last = changes.last().unwrap().1;
        let (rate, used, _) = figures(&s, 16.0, 19.0);
        assert_eq!((rate, used), (last, 1.0));
    }
}

#[test]
fn a_link_half_used_is_so_before_and_after() {
    let s = changed(stream(10.0, 5.0, 1500, 20), &[(10.0, 20.0)]);
    let (rate, used, load) = figures(&s, 0.0, 20.0);
    assert!((rate - 15.0).abs() < 1e-12 && (used - 1.0 / 3.0).abs() < 1e-4 && (load - used).abs() < 1e-4);
}

#[test]
fn a_packet_at_an_edge_counts_with_its_share() {
    // One of a millisecond every two, from 0 s on.
    let s = stream(12.0, 6.0, 1500, 2);
    for (from, to, want) in [
        (1.0, 1.001, 1.0),
        (1.0005, 1.0025, 0.5),
        (1.0002, 1.0006, 1.0),
        (1.0008, 1.0012, 0.5),
        (1.0012, 1.0018, 0.0),
        (1.0015, 1.0025, 0.5),
        (0.0, 1.0, 0.5),
    ] {
        let used = figures(&s, from, to).1;
        assert!((used - want).abs() < 1e-12, "{from} to {to}: {used}");
    }
}

#[test]
fn one_bit_a_second_is_never_more_than_one() {
    let mut s = stream(1e-6, 1e-3, 1500, 100_000);
    s.links[0].buffer = Some(aqm::Limit::Packets(5));
    assert_eq!(figures(&s, 0.0, 100_000.0).1, 1.0);
    assert_eq!(figures(&s, 30_000.0, 30_001.0).1, 1.0);
}

#[test]
fn a_packet_keeps_the_rate_at_which_it_began() {
    // Of 12 000 bits at 12 kbit/s half a second is over when the rate falls, twice, and rises.
    let s = changed(stream(0.012, 0.0012, 1500, 4), &[(0.5, 0.003), (0.6, 0.006), (0.7, 12.0)]);
    for (from, to, bits) in [(0.0, 0.5, 6000.0), (0.5, 1.0, 6000.0), (0.55, 0.65, 1200.0), (0.8, 4.0, 2400.0)] {
        let l = over(&s, from, to);
        let beyond = match from {
            0.5 => 900.0 + 600.0,
            0.55 => 450.0 + 300.0,
            _ => 0.0,
        };
        let carried = l.rate_mbps.unwrap() * 1e6 * (to - from) + beyond;
        let used = l.utilisation.unwrap();
        assert!((used * carried - bits).abs() < 1e-3, "{from} to {to}: {}", used * carried);
    }
}

#[test]
fn a_trace_could_carry_its_opportunities() {
    // Five in the first 20 ms of 100, two at the end; 1500 bytes each.
    let mut s = stream(10.0, 20.0, 1500, 3);
    s.links[0].rate = Some(common::trace(&[4, 8, 8, 12, 20, 99, 100]));
    for (from, to, lines) in [(1.0, 1.021, 5), (1.005, 1.012, 2), (1.021, 1.099, 0), (1.0, 2.0, 70), (0.5, 2.2, 119)] {
        // The line at 100 ms is the next repetition's begin.
        let lines = lines + u32::from(to == 1.021);
        let l = over(&s, from, to);
        let mbps = f64::from(lines) * 1500.0 * 8e-6 / (to - from);
        assert!((l.rate_mbps.unwrap() - mbps).abs() < 1e-9, "{from} to {to}: {:?}", l.rate_mbps);
        match l.utilisation {
            Some(used) => assert!((used - 1.0).abs() < 1e-12, "{from} to {to}: {used}"),
            None => assert_eq!(lines, 0),
        }
    }
}

fn ticking(mut s: Scenario, settings: &str) -> Scenario {
    let spec: params::Spec = settings.parse().unwrap();
    s.links[0].clock = Clock::Tick(<TickParams as params::Params>::from_spec(&spec).unwrap());
    s
}

#[test]
fn a_ticking_link_that_is_full_is_full_between_ticks() {
    for settings in ["tick", "tick(hz=300)", "tick(hz=10000, clock=coarse)"] {
        for (mbps, size) in [(12.0, 1500), (7.0, 300), (100.0, 1500), (0.5, 1500)] {
            let s = ticking(stream(mbps, 10.0 * mbps, size, 3), settings);
            for (from, to) in [(0.5, 2.5), (1.0003, 1.0018), (1.0, 1.0004), (0.9999, 1.0077)] {
                let (rate, used, _) = figures(&s, from, to);
                assert_eq!(rate, mbps);
                assert!((used - 1.0).abs() < 1e-9, "{settings}, {mbps} Mbit/s, {from} to {to}: {used}");
            }
            let fallen = ticking(changed(stream(mbps, 10.0 * mbps, size, 3), &[(1.5, mbps / 10.0)]), settings);
            let (rate, used, _) = figures(&fallen, 0.5, 2.5);
            // As in dummynet, all time since the service before the change is reckoned at the new rate: that of a packet,
            // or between two readings of the clock.
            let service = (size as f64 * 8e-6 / mbps).max(0.004);
            let least = 1.0 - 0.9 * service / (0.55 * 2.0);
            assert!((rate - 0.55 * mbps).abs() < 1e-9 && used > least && used <= 1.0, "{settings}, {mbps}: {used}");
        }
    }
}

/// Utilisation in every step.
#[derive(Default)]
struct Steps(Vec<LinkSample>);

impl Probe for Steps {
    fn see(&mut self, _: Instant, trace: Trace<'_>) {
        if let Trace::LinkSample { link: 0, sample } = trace {
            self.0.push(sample);
        }
    }
    fn step(&self) -> Option<Duration> {
        Some(ms(0.7))
    }
}

#[test]
fn steps_of_a_series_are_windows_too() {
    let s = changed(stream(10.0, 20.0, 1500, 2), &[(1.0, 2.0)]);
    let (_, steps) = common::watch(&s, Steps::default());
    assert!(steps.0.len() > 2800);
    for (i, step) in steps.0.iter().enumerate() {
        assert!((step.utilisation - 1.0).abs() < 1e-12, "step {i}: {step:?}");
    }
}

#[test]
fn nobody_counts_on_a_link_that_only_delays() {
    let mut s = dumbbell(10.0, 20.0, 50, "fifo", &["cubic"], 2);
    let plain = &common::run(&s).links[1];
    assert_eq!((plain.rate_mbps, plain.utilisation, plain.load), (None, None, None));
    assert_eq!((plain.arrived, plain.arrived_mb, plain.departed_mb), (None, None, None));
    s.links[1].jitter = ms(1.0);
    let counted = &common::run(&s).links[1];
    assert!(counted.arrived.unwrap() > 100 && counted.arrived_mb == counted.departed_mb && counted.load.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_fifo_never_passes_more_than_its_rate(
        mbps in prop_oneof![0.01f64..1.0, 1.0f64..50.0],
        offered in 0.2f64..3.0,
        size in 40u64..9000,
        edges in proptest::array::uniform3(0u64..1_500_000_000),
        change in prop_oneof![Just(None), (0.0f64..1.5, 0.01f64..50.0).prop_map(Some)],
    ) {
        let mut edges = edges;
        edges.sort_unstable();
        prop_assume!(edges[0] < edges[1] && edges[1] < edges[2]);
        let mut s = stream(mbps, offered * mbps, size, 2);
        if let Some(change) = change {
            s = changed(s, &[change]);
        }
        let window = |from: usize, to: usize| {
            let mut s = s.clone();
            s.run.measure = (Instant::from_nanos(edges[from]), Instant::from_nanos(edges[to]));
            let l = common::run(&s).links.swap_remove(0);
            (l.utilisation.unwrap(), l.rate_mbps.unwrap() * (edges[to] - edges[from]) as f64)
        };
        let (first, second, whole) = (window(0, 1), window(1, 2), window(0, 2));
        for (used, _) in [first, second, whole] {
            prop_assert!((0.0..=1.0).contains(&used), "{used}");
        }
        prop_assert!((first.1 + second.1 - whole.1).abs() <= 1e-9 * whole.1);
        if change.is_none() {
            let parts = first.0 * first.1 + second.0 * second.1;
            prop_assert!((parts - whole.0 * whole.1).abs() <= 1e-9 * whole.1, "{first:?} {second:?} {whole:?}");
        }
    }
}
