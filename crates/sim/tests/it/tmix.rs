//! Tmix traffic: what vectors say is what happens, byte by byte and wait by wait, on every stack.

use crate::common::{dumbbell, link, ms, trace, watch};
use experiment::tmix::{Tmix, TmixParams, Vectors};
use experiment::{LossModel, Scenario, Traffic};
use params::Params;
use sim::packet::Way;
use sim::probe::{Probe, Trace};
use sim::{Options, Summary};
use std::sync::Arc;
use tcp::Stack;

fn scenario(spec: &str, vectors: Option<&str>, mbps: f64, seconds: u64) -> Scenario {
    let mut s = dumbbell(mbps, 40.0, 200, "fifo", &["newreno"], seconds);
    s.flows[0].traffic = traffic(spec, vectors);
    s
}

pub fn traffic(spec: &str, vectors: Option<&str>) -> Traffic {
    let params = TmixParams::from_spec(&spec.parse().unwrap()).unwrap();
    let file = vectors.map(|text| (Arc::new(Vectors::read(text, "vectors").unwrap()), 0));
    Traffic::Tmix(Box::new(Tmix { params, file }))
}

fn run(s: &Scenario) -> Summary {
    sim::run(s, (), Options::default()).unwrap().0
}

/// Two exchanges with a server's wait and a think time, then a minute's silence before the end.
const TALK: &str = "S 0 2 0 0\nI 0 0 200\nA 0 100000 3000\nI 0 2000000 300\nA 0 50000 40000\nA 60000000 0 0\n";

#[test]
fn an_exchange_takes_what_the_path_takes_and_waits_are_kept() {
    for (stack, opening) in [(Stack::Linux, 40.0), (Stack::FreeBsd11, 40.0), (Stack::Ns2, 0.0)] {
        let mut s = scenario("tmix(scale=100, shuffle=false, small=0)", Some(TALK), 100.0, 70);
        s.flows[0].stack = stack;
        let summary = run(&s);
        let c = summary.flows[0].connections.unwrap();
        assert_eq!((c.opened, c.closed, c.open), (1, 1, 0), "{stack:?}");
        let g = &summary.groups[0];
        // The opening and one round trip; then 40 000 bytes, 28 packets from a window of 10, take two or three.
        let first = g.completions.iter().find(|b| b.up_to_bytes == 4380).unwrap();
        assert_eq!(first.transfers, 1);
        assert!((first.mean_s * 1e3 - opening - 40.0).abs() < 3.0, "{stack:?}: {first:?}");
        let second = g
            .completions
            .iter()
            .find(|b| b.up_to_bytes == 100_000)
            .unwrap_or_else(|| panic!("{stack:?}: {:?}", g.completions));
        assert!((75.0..150.0).contains(&(second.mean_s * 1e3)), "{stack:?}: {second:?}");
        // Waits of 2.15 s and of a minute, and a few round trips.
        let lasted = c.duration_ms.unwrap().mean;
        assert!((62_150.0..62_700.0).contains(&lasted), "{stack:?}: {lasted}");
        assert!((c.active_mean - lasted / 70_000.0).abs() < 1e-6);
        // Payload the other way round is no goodput of the flow.
        assert!((g.goodput_mbps * 70.0 / 8e-6 - 43_000.0).abs() < 1.0, "{stack:?}: {}", g.goodput_mbps);
    }
}

#[test]
fn without_a_delay_on_the_way_back_no_unit_is_written_twice() {
    // What leaves a host is there at once, while its applications are still in the middle of a turn.
    let mut s = scenario("tmix(scale=100, shuffle=false, small=0)", Some(TALK), 100.0, 70);
    s.links[0].delay = ms(40.0);
    s.links[1].delay = ms(0.0);
    let summary = run(&s);
    assert_eq!(summary.flows[0].connections.unwrap().closed, 1);
    assert!((summary.flows[0].goodput_mbps * 70.0 / 8e-6 - 43_000.0).abs() < 1.0, "{}", summary.flows[0].goodput_mbps);
}

#[test]
fn each_end_keeps_to_the_others_window_from_the_first_segment_on() {
    // A client's and a server's window; the smaller one holds up whoever sends to it, with and without a handshake.
    for (windows, sent, [client, server]) in [
        ("65535 1460", "I 0 0 50000\nA 0 0 100\n", [50_000, 100]),
        ("6432 65535", "I 0 0 100\nA 0 0 200000\n", [100, 200_000]),
    ] {
        let text = format!("S 0 1 0 0\nw {windows}\n{sent}");
        let lasted = [Stack::Linux, Stack::Ns2].map(|stack| {
            let mut s = scenario("tmix(scale=100, shuffle=false, small=0)", Some(&text), 100.0, 20);
            s.flows[0].stack = stack;
            let summary = run(&s);
            let c = summary.flows[0].connections.unwrap();
            assert_eq!(c.closed, 1, "{windows}, {stack:?}");
            c.duration_ms.unwrap().mean
        });
        // Four segments of 1448 bytes fit 6432, one fits 1460; a round trip of 40 ms for each window.
        let rounds = if client > server { 50_000.0 / 1460.0 } else { 200_000.0 / 6432.0 };
        for took in lasted {
            assert!(took > rounds * 40.0 * 0.95, "{windows}: {took} ms for {rounds} windows");
        }
    }
}

#[test]
fn both_sides_of_a_concurrent_connection_send_at_once() {
    let text = "C 0 2 3 0 0\nI 0 0 1000\nA 500000 0 2000\nI 1000000 0 1000\nA 100000 0 5000\nA 100000 0 700\n";
    let summary = run(&scenario("tmix(scale=100, shuffle=false)", Some(text), 10.0, 10));
    let c = summary.flows[0].connections.unwrap();
    assert_eq!((c.opened, c.closed), (1, 1));
    // The initiator is the last to speak, a second after its first words.
    let lasted = c.duration_ms.unwrap().mean;
    assert!((1_040.0..1_200.0).contains(&lasted), "{lasted}");
    assert!((summary.flows[0].goodput_mbps * 10.0 / 8e-6 - 7_700.0).abs() < 1.0);
}

#[test]
fn the_load_is_of_a_traces_mean_rate() {
    // Four packets in 4 ms, 12 Mbit/s, where the constant rate before was 100.
    let mut s = scenario("tmix(load=0.5)", None, 100.0, 40);
    s.links[0].rate = Some(trace(&[1, 2, 3, 4]));
    let alone = run(&s);
    let load = alone.links[0].load.unwrap();
    assert!((0.4..0.6).contains(&load), "{load}");
    s.links.push(link("wide", Some(100.0), ms(0.0), None, "fifo"));
    s.flows[0].route.push(2);
    let used = run(&s).links[0].utilisation.unwrap();
    assert!((used - alone.links[0].utilisation.unwrap()).abs() < 0.01, "{used}");
}

#[test]
fn a_second_of_the_mix_is_the_same_again_and_carries_its_load() {
    let s = scenario("tmix(load=0.7)", None, 20.0, 40);
    let (a, b) = (run(&s), run(&s));
    assert_eq!(a.digest, b.digest);
    let mut other = s.clone();
    other.run.seed += 1;
    assert_ne!(run(&other).digest, a.digest);
    let used = a.links[0].utilisation.unwrap();
    assert!((0.6..0.8).contains(&used), "{used}");
    let c = a.flows[0].connections.unwrap();
    assert!(c.opened > 9_000 && c.closed + c.open == c.opened, "{c:?}");
    assert_eq!(a.flows.len(), 1, "connections are not flows");
    assert!(a.links[0].load.unwrap() >= used);
}

#[test]
fn losses_overload_and_duplicates_lose_no_byte_and_no_connection() {
    // The simulator asserts conservation of packets, bytes and connections itself; here it has something to do.
    for (load, cc) in [(0.8, "cubic"), (1.6, "newreno"), (0.8, "bbr"), (0.8, "ledbat")] {
        let mut s = scenario(&format!("tmix(load={load}, think=100ms)"), None, 5.0, 20);
        s.flows[0].cc = cc.parse().unwrap();
        for link in &mut s.links {
            link.loss = LossModel::Random(0.02);
            link.duplicate = 0.01;
        }
        s.links[0].rate = Some(experiment::RateSpec::Constant(units::Rate::from_mbps(5.0)));
        let summary = run(&s);
        let c = summary.flows[0].connections.unwrap();
        assert!(c.closed > 500, "{cc}: {c:?}");
        // Its packets are not one stream.
        assert_eq!(summary.groups[0].jitter_ms, None);
        let (sent, lost) = (summary.flows[0].sent as f64, summary.flows[0].lost as f64);
        let pct = summary.flows[0].loss_pct.unwrap();
        assert!((pct / (100.0 * lost / sent) - 1.0).abs() < 0.02, "{cc}: {pct} % of {sent}, {lost} lost");
        assert!(summary.flows[0].retransmits > 50, "{cc}");
    }
}

/// Counts what of the sender's packets is dropped, and how much of it after the place's connection was closed or changed.
#[derive(Default)]
struct Dropped {
    opened: std::collections::BTreeMap<u32, units::Instant>,
    all: u64,
    late: u64,
}

impl Probe for Dropped {
    fn see(&mut self, now: units::Instant, trace: Trace<'_>) {
        match trace {
            Trace::Open { place, .. } => {
                self.opened.insert(place, now);
            }
            Trace::Drop { packet, .. } if packet.way == Way::Out && !packet.copy => {
                self.all += 1;
                self.late += u64::from(packet.born < self.opened[&packet.flow]);
            }
            _ => {}
        }
    }
}

#[test]
fn a_packet_lost_after_its_connection_was_closed_is_its_flows_loss() {
    // What the first link delays is lost on the second, up to a second later.
    let mut s = scenario("tmix(load=0.6, think=50ms)", None, 5.0, 20);
    s.links[0].reorder = Some(experiment::Reorder { probability: 0.1, delay: ms(1_000.0) });
    s.links.push(link("late", Some(100.0), ms(0.0), None, "fifo"));
    s.links[2].loss = LossModel::Random(0.2);
    s.flows[0].route = vec![0, 2];
    let (summary, dropped) = watch(&s, Dropped::default());
    assert!(dropped.late > 10, "{} late of {}", dropped.late, dropped.all);
    assert_eq!(summary.flows[0].lost, dropped.all);
}

#[test]
fn windows_named_by_vectors_are_kept_and_whole_segments_are_whole() {
    let big = "S 0 1 0 0\nw 5000 65535\nI 0 0 100\nA 0 0 200000\n";
    let narrow = run(&scenario("tmix(scale=100, shuffle=false, small=0)", Some(big), 100.0, 20));
    let wide = run(&scenario("tmix(scale=100, shuffle=false, small=0, windows=false)", Some(big), 100.0, 20));
    let lasted = |s: &Summary| s.flows[0].connections.unwrap().duration_ms.unwrap().mean;
    // 40 round trips of 5000 bytes against a slow start.
    assert!(lasted(&narrow) > 1_500.0 && lasted(&wide) < 400.0, "{} {}", lasted(&narrow), lasted(&wide));
    let whole = run(&scenario("tmix(scale=100, shuffle=false, small=0, whole=true)", Some(TALK), 100.0, 70));
    let bytes = whole.groups[0].goodput_mbps * 70.0 / 8e-6;
    assert!((bytes - (3.0 + 28.0) * 1448.0).abs() < 1.0, "{bytes}");
}

#[test]
fn what_stops_opens_nothing_more_and_ends_in_peace() {
    let mut s = scenario("tmix(load=0.5, think=50ms, prefill=5s)", None, 10.0, 30);
    s.flows[0].stop = Some(units::Instant::ZERO + ms(10_000.0));
    let c = run(&s).flows[0].connections.unwrap();
    assert!(c.opened > 500 && c.open < c.opened / 50, "{c:?}");
}
