//! dummynet's clock against Appendix B of the thesis: full TCP runs of the experiment files, gaps taken on the wire.
//! What single packets must do stands in `src/tick.rs`; what the counters do in Figures B.1 to B.6 stands here.

use crate::common::{self, dumbbell, ms};
use experiment::{Clock, RateSpec, Scenario, TickParams, Traffic};
use sim::packet::Way;
use sim::probe::{Probe, Trace};
use std::collections::BTreeMap;
use units::{Bytes, Duration, Instant, Rate};

/// Arrivals of one direction, and the RTT of every packet that was acknowledged.
#[derive(Default)]
struct Wire {
    arrivals: [Vec<Instant>; 2],
    /// When each byte position was first sent, by the acknowledgement that covers it.
    sent: BTreeMap<u64, Instant>,
    /// RTTs on the wire: of full packets, as the synthetic packet pairs of Figure B.3 measure them.
    rtt: Vec<Duration>,
}

impl Probe for Wire {
    fn see(&mut self, now: Instant, trace: Trace<'_>) {
        match trace {
            Trace::Send { packet } if packet.way == Way::Out => {
                self.sent.entry(packet.segment.seq + packet.segment.span()).or_insert(now);
            }
            Trace::Deliver { packet } => {
                self.arrivals[packet.way as usize].push(now);
                if packet.way == Way::Back
                    && let Some(sent) = self.sent.remove(&packet.segment.ack)
                {
                    self.rtt.push(now.since(sent));
                }
            }
            _ => {}
        }
    }
}

/// The cases of one of the thesis' files.
fn cases(file: &str) -> Vec<(String, Scenario)> {
    let path = format!("{}/../../experiments/thesis/{file}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let cases = experiment::parse(&text, &path).unwrap().cases().unwrap();
    cases.into_iter().map(|c| (c.values[0].1.clone(), c.scenario)).collect()
}

fn watch(s: &Scenario) -> Wire {
    common::watch(s, Wire::default()).1
}

/// Percent of the gaps within each of these ranges, in µs.
fn shares(arrivals: &[Instant], ranges: &[(u64, u64)]) -> Vec<f64> {
    let gaps: Vec<u64> = arrivals.windows(2).map(|w| w[1].since(w[0]).as_nanos() / 1000).collect();
    assert!(gaps.len() > 10_000, "only {} gaps", gaps.len());
    let within = |&(low, high): &(u64, u64)| gaps.iter().filter(|g| (low..high).contains(*g)).count();
    ranges.iter().map(|r| within(r) as f64 * 100.0 / gaps.len() as f64).collect()
}

/// The figures' shares were read to about a percent; issue and reference ask for five points.
fn holds(what: &str, ours: &[f64], printed: &[f64]) {
    for (o, p) in ours.iter().zip(printed) {
        assert!((o - p).abs() <= 5.0, "{what}: {ours:.1?}, printed {printed:?}");
    }
    println!("{what}: {ours:.1?}, printed {printed:?}");
}

#[test]
fn figures_b1_and_b2_the_tick_pairs_acks_and_rounding_down_parts_them() {
    let gaps = [(0, 100), (900, 1100), (1900, 2100)];
    let cases = cases("appendix-b-ack-compression");
    let [(_, before), (_, after), ..] = &cases[..] else { panic!("{} cases", cases.len()) };
    holds("B.1", &shares(&watch(before).arrivals[1], &gaps), &[50.0, 0.0, 50.0]);
    holds("B.2", &shares(&watch(after).arrivals[1], &gaps), &[0.0, 100.0, 0.0]);
}

#[test]
fn figure_b3_an_empty_pipe_adds_a_tick_unless_debts_are_rounded_down() {
    let least = |s: &Scenario| {
        let wire = watch(s);
        let handshake = wire.rtt[0].as_millis_f64();
        (handshake, wire.rtt[1..].iter().min().unwrap().as_millis_f64())
    };
    let [(_, before), (_, after)] = cases("appendix-b-excess-delay").try_into().unwrap();
    let (before, after) = (least(&before), least(&after));
    println!("B.3: SYN and least data RTT {before:?}, fixed {after:?}");
    // A SYN comes somewhere within a tick and waits for less than the rest of it.
    assert!((41.0..=42.0).contains(&before.0) && (39.0..=40.0).contains(&after.0), "{before:?} {after:?}");
    // A full packet is acknowledged one tick sooner: its own transmission is true, the ACK's was not.
    assert!((before.1 - 42.0).abs() < 0.1 && (after.1 - 41.0).abs() < 0.1, "{before:?} {after:?}");
}

#[test]
fn figures_b4_to_b6_what_a_tick_lets_through_leaves_at_once() {
    let gaps = [(0, 50), (50, 150), (150, 250), (250, 350), (850, 950), (950, 1050)];
    let all = cases("appendix-b-bursts");
    let printed: [(&str, [f64; 6]); 4] = [
        ("tick(hz=1000)", [75.0, 0.0, 0.0, 0.0, 0.0, 25.0]),
        ("tick(hz=10000, clock=coarse)", [65.0, 10.0, 0.0, 0.0, 10.0, 15.0]),
        ("tick(hz=10000)", [0.0, 0.0, 50.0, 50.0, 0.0, 0.0]),
        // The text's remark on 20 kHz: 250 µs, the rate itself.
        ("tick(hz=20000)", [0.0, 0.0, 0.0, 100.0, 0.0, 0.0]),
    ];
    for ((clock, scenario), (want, shares_printed)) in all.iter().zip(printed) {
        assert_eq!(clock, want);
        holds(clock, &shares(&watch(scenario).arrivals[0], &gaps), &shares_printed);
    }
}

/// Datagrams at `mbps` over a ticking link of `rate`, 20 ms long.
fn cbr(clock: &str, rate: Option<f64>, mbps: f64, seconds: u64) -> Scenario {
    let mut s = dumbbell(1.0, 40.0, 100, "fifo", &["newreno"], seconds);
    let spec: params::Spec = clock.parse().unwrap();
    s.links[0].clock = Clock::Tick(<TickParams as params::Params>::from_spec(&spec).unwrap());
    s.links[0].rate = rate.map(|r| RateSpec::Constant(Rate::from_mbps(r)));
    s.flows[0].traffic =
        Traffic::Cbr { rate: Rate::from_mbps(mbps), size: Bytes::new(1500), on: Duration::ZERO, off: Duration::ZERO };
    s
}

#[test]
fn a_packet_leaves_with_a_tick_after_its_debt_and_its_delay() {
    // 12 packets a second: each finds the pipe idle. One tick of debt, twenty of delay, less the part of the first tick
    // that had passed.
    for (clock, rate, least, most) in [
        ("tick", Some(12.0), 20.0, 21.0),
        ("tick(hz=10000)", Some(12.0), 20.9, 21.0),
        ("tick", None, 19.0, 20.0),
        ("tick(round=floor)", Some(120.0), 19.0, 20.0),
        ("tick", Some(120.0), 20.0, 21.0),
    ] {
        let s = cbr(clock, rate, 0.144, 60);
        let owd = sim::run(&s, (), sim::Options::default()).unwrap().0.flows[0].owd_ms.unwrap();
        assert!(owd.min >= least - 0.001 && owd.max <= most + 0.001, "{clock} {rate:?}: {owd:?}");
    }
}

#[test]
fn a_law_that_drops_every_packet_hears_that_the_link_is_idle() {
    // One overflow takes BLUE's p to 1. Nothing comes in then; only idleness takes it down again, on either link.
    let used = |clock: Option<&str>| {
        let mut s = cbr("tick", Some(12.0), 24.0, 20);
        s.links[0].clock = clock.map_or(Clock::Exact, |clock| cbr(clock, None, 1.0, 1).links[0].clock.clone());
        s.links[0].queue = "blue(d1=1, d2=0.0005, freeze=1ms)".parse().unwrap();
        let r = sim::run(&s, (), sim::Options::default()).unwrap().0;
        r.links[0].utilisation.unwrap()
    };
    let (exact, ticking) = (used(None), used(Some("tick(hz=10000)")));
    assert!((exact - ticking).abs() < 0.05, "{exact}, {ticking}");
}

#[test]
fn the_link_keeps_its_rate_its_losses_and_its_changes() {
    for clock in ["tick", "tick(hz=10000, clock=coarse)", "tick(hz=300, round=floor)", "tick(io_fast=true)"] {
        let mut s = cbr(clock, Some(12.0), 24.0, 20);
        s.links[0].loss = experiment::LossModel::Random(0.1);
        s.links[0].changes.push(experiment::Change {
            at: Instant::from_millis(10_000),
            rate: Some(Rate::from_mbps(6.0)),
            delay: Some(ms(40.0)),
            loss: None,
        });
        let (r, wire) = common::watch(&s, Wire::default());
        // Half of ten seconds at 1000 packets a second, half at 500; 4 ms for what a tick of 300 Hz holds back.
        let count = |from: u64, to: u64| {
            let (from, to) = (Instant::from_millis(from), Instant::from_millis(to));
            wire.arrivals[0].iter().filter(|t| (from..to).contains(*t)).count() as i64
        };
        assert!((count(1000, 10_000) - 9000).abs() <= 4, "{clock}: {}", count(1000, 10_000));
        assert!((count(11_000, 20_000) - 4500).abs() <= 4, "{clock}: {}", count(11_000, 20_000));
        let offered = 40_000.0;
        assert!((r.links[0].dropped_random as f64 / offered - 0.1).abs() < 0.01, "{clock}: {:?}", r.links[0]);
        // The second half flies 40 ms: two thirds of 20 s at 24 Mbit/s are dropped, none is lost in the counts.
        assert!(wire.arrivals[0].windows(2).all(|w| w[0] <= w[1]), "{clock}: a delay line keeps its order");
    }
}

#[test]
fn runs_repeat_and_the_phase_of_the_tick_is_the_seeds() {
    let s = cases("appendix-b-ack-compression").remove(0).1;
    let digest = |seed: u64| {
        let mut s = s.clone();
        s.run.seed = seed;
        s.run.duration = Duration::from_secs(5);
        s.run.measure.1 = Instant::from_millis(5000);
        sim::run(&s, (), sim::Options::default()).unwrap().0.digest
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn every_queue_works_behind_a_tick_and_keeps_its_packets() {
    // The run itself asserts that no packet appears or vanishes. (Schedulers over other laws than these hold packets alike.)
    for queue in aqm::QDISCS.iter().filter(|q| q.name == q.law || ["fifo", "codel"].contains(&q.law)) {
        for clock in ["tick", "tick(hz=10000, clock=coarse, round=floor)"] {
            let mut s = dumbbell(10.0, 20.0, 100, queue.name, &["newreno", "cubic"], 5);
            let spec: params::Spec = clock.parse().unwrap();
            for link in &mut s.links {
                link.clock = Clock::Tick(<TickParams as params::Params>::from_spec(&spec).unwrap());
                link.jitter = ms(0.3);
                link.duplicate = 0.01;
                link.reorder = Some(experiment::Reorder { probability: 0.01, delay: ms(2.0) });
            }
            let utilisation = common::run(&s).links[0].utilisation.unwrap();
            assert!(utilisation > 0.3, "{} behind {clock}: {utilisation}", queue.name);
        }
    }
}
