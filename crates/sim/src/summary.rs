//! The figures of a run, in the words of the results' schema.

use crate::histogram::{Histogram, Spread};
use crate::link::DropWhy;
use crate::node::{Completion, Transport};
use crate::probe::Probe;
use crate::record::{Column, Table};
use crate::world::World;
use crate::{MODEL, SCHEMA};
use experiment::Traffic;
use serde::Serialize;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// One repetition of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The swept values of the case, filled in by whoever expanded it.
    pub case: BTreeMap<String, String>,
    /// The seed of this repetition.
    pub seed: u64,
    /// Version of this structure.
    pub schema: u32,
    /// Version of the simulator's behaviour: digests of different models cannot be compared.
    pub model: u32,
    /// The digest.
    pub digest: String,
    /// One entry per flow.
    pub flows: Vec<FlowSummary>,
    /// One entry per `[[flow]]` of the experiment.
    pub groups: Vec<GroupSummary>,
    /// One entry per link of the experiment.
    pub links: Vec<LinkSummary>,
    /// Over all flows that ran in the window.
    pub fairness: Fairness,
    /// Time the run took, in seconds; filled in by whoever ran it.
    pub wall_s: f64,
    /// Packets delivered to hosts, ACKs included, over the whole run.
    pub packets: u64,
    /// Packets dropped over the whole run.
    pub dropped: u64,
    /// Distributions, for plots: kept out of the JSON.
    #[serde(skip)]
    pub tables: Vec<(&'static str, Table)>,
}

/// Reductions of the window over the whole run, and what might have been one.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Backoffs {
    pub delay: u64,
    pub loss: u64,
    pub ecn: u64,
    pub timeout: u64,
    /// Of all these, with a window below the path's BDP, rate × base RTT, as the papers reckon.
    pub below_bdp: u64,
    /// Of those for delay, below the BDP and within two and a half RTTs of another.
    pub double: u64,
    /// Mean window that those for delay left.
    pub to_bytes: Option<f64>,
    /// Delay indications that were ignored.
    pub ignored: u64,
    /// Losses taken for random and tolerated.
    pub tolerated: u64,
    /// Of those for loss, with a threshold above the window: the shadow window's.
    pub shadow: u64,
}

/// How slow start ended.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct SlowStartExit {
    pub at_s: f64,
    pub ssthresh_bytes: u64,
    pub bdp_ratio: f64,
}

/// A flow over the measure window; back-offs, slow start, modes and completions over the whole run.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct FlowSummary {
    pub name: String,
    pub group: String,
    pub cc: String,
    pub stack: String,
    pub base_rtt_ms: f64,
    pub start_s: f64,
    pub throughput_mbps: f64,
    pub goodput_mbps: f64,
    pub share: f64,
    pub rtt_ms: Option<Spread>,
    pub owd_ms: Option<Spread>,
    pub jitter_ms: f64,
    /// Bandwidth as the rounds of the window show it, if `run.estimates` asks for it, by Eq 5.5 of the HLDG thesis: bytes
    /// acknowledged over their length.
    pub ack_rate_mbps: Option<Spread>,
    /// The same as Vegas has it: window over smoothed RTT.
    pub window_rate_mbps: Option<Spread>,
    pub sent: u64,
    pub lost: u64,
    pub loss_pct: f64,
    pub retransmits: u64,
    pub completion_s: Option<f64>,
    pub backoffs: Backoffs,
    pub slow_start_exit: Option<SlowStartExit>,
    pub mode_s: BTreeMap<String, f64>,
    /// Shares of the bands of gaps between packets at the receiver.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub data_gaps: BTreeMap<String, f64>,
    /// The same of acknowledgements at the sender.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ack_gaps: BTreeMap<String, f64>,
    /// Of Tmix traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
}

/// The flows of one `[[flow]]` entry, in the words of a flow: rates, shares and counts are sums; delays, their quantiles
/// and the end of slow start are means over the flows.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct GroupSummary {
    pub name: String,
    pub cc: String,
    pub stack: String,
    pub flows: usize,
    pub throughput_mbps: f64,
    pub goodput_mbps: f64,
    pub share: f64,
    pub rtt_ms: Option<Spread>,
    pub owd_ms: Option<Spread>,
    pub jitter_ms: f64,
    /// Bandwidth as the rounds of the window show it, if `run.estimates` asks for it, by Eq 5.5 of the HLDG thesis: bytes
    /// acknowledged over their length.
    pub ack_rate_mbps: Option<Spread>,
    /// The same as Vegas has it: window over smoothed RTT.
    pub window_rate_mbps: Option<Spread>,
    pub sent: u64,
    pub lost: u64,
    pub loss_pct: f64,
    pub retransmits: u64,
    pub completion_s: Option<f64>,
    pub backoffs: Backoffs,
    pub slow_start_exit: Option<SlowStartExit>,
    pub mode_s: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub data_gaps: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ack_gaps: BTreeMap<String, f64>,
    /// Among the flows of the group.
    pub jain: f64,
    /// Of Tmix traffic: sums over the flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// Flow completion times by size, for finite transfers; of Tmix traffic, exchanges by the size of the reply.
    pub completions: Vec<CompletionBin>,
}

/// The connections of a Tmix flow: over the window but for those opened, closed and open at the end of the run.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Connections {
    pub opened: u64,
    pub closed: u64,
    pub open: u64,
    pub active_mean: f64,
    pub active_max: u64,
    /// From opening to the end of both sides.
    pub duration_ms: Option<Spread>,
}

/// Completion times of transfers up to a size.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct CompletionBin {
    pub up_to_bytes: u64,
    pub transfers: usize,
    pub mean_s: f64,
    pub median_s: f64,
    pub p95_s: f64,
}

/// Length of a queue in packets.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct QueuePackets {
    pub mean: f64,
    pub max: usize,
}

/// A link over the measure window.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct LinkSummary {
    pub name: String,
    pub queue: String,
    pub rate_mbps: Option<f64>,
    /// Fraction of the rate; absent on an unlimited link.
    pub utilisation: Option<f64>,
    /// What came, dropped or not, as a fraction of the rate: above 1 in overload.
    pub load: Option<f64>,
    pub arrived_mb: f64,
    pub departed_mb: f64,
    pub queue_ms: Option<Spread>,
    pub arrived: u64,
    pub dropped: u64,
    pub dropped_overflow: u64,
    pub dropped_law: u64,
    pub dropped_random: u64,
    pub drop_pct: f64,
    pub marked: u64,
    pub queue_packets: QueuePackets,
}

/// Shares of the bottleneck.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Fairness {
    /// (Σx)² / (n Σx²) of throughput (thesis, Equation 2.3).
    pub jain: f64,
    /// Least over greatest throughput.
    pub max_min: f64,
}

/// Upper ends of the completion bins: what fits the initial windows of 3 and 10, then decades.
pub(crate) const BINS: [u64; 6] = [4_380, 14_600, 100_000, 1_000_000, 10_000_000, u64::MAX];

fn jain(x: &[f64]) -> f64 {
    let (sum, squares) = x.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    if squares > 0.0 { sum * sum / (x.len() as f64 * squares) } else { 1.0 }
}

/// Adds time to a mode's account.
pub(crate) fn add_mode(modes: &mut Vec<(i64, Duration)>, mode: i64, time: Duration) {
    match modes.iter_mut().find(|(m, _)| *m == mode) {
        Some((_, total)) => *total += time,
        None => modes.push((mode, time)),
    }
}

fn completion_bins(all: &[Completion]) -> Vec<CompletionBin> {
    let mut low = 0;
    let mut bins = Vec::new();
    for high in BINS {
        let mut s: Vec<f64> = all.iter().filter(|c| c.bytes > low && c.bytes <= high).map(|c| c.seconds).collect();
        low = high;
        if s.is_empty() {
            continue;
        }
        s.sort_by(f64::total_cmp);
        let at = |q: f64| s[((s.len() as f64 * q) as usize).min(s.len() - 1)];
        bins.push(CompletionBin {
            up_to_bytes: high,
            transfers: s.len(),
            mean_s: s.iter().sum::<f64>() / s.len() as f64,
            median_s: at(0.5),
            p95_s: at(0.95),
        });
    }
    bins
}

/// The same of exchanges that were counted as they came.
fn exchange_bins<P: Probe>(world: &World<P>, flows: &[usize]) -> Vec<CompletionBin> {
    let mut bins = Vec::new();
    for (i, up_to_bytes) in BINS.into_iter().enumerate() {
        let mut all = Histogram::default();
        flows.iter().filter_map(|&f| world.sessions.exchanges(f)).for_each(|e| all.merge(&e[i]));
        if let Some(s) = all.spread() {
            bins.push(CompletionBin {
                up_to_bytes,
                transfers: s.samples as usize,
                mean_s: s.mean * 1e-3,
                median_s: s.median * 1e-3,
                p95_s: s.p95 * 1e-3,
            });
        }
    }
    bins
}

fn connections_of<P: Probe>(world: &World<P>, flows: &[usize], window: Duration) -> Option<Connections> {
    let all: Vec<Connections> = flows.iter().filter_map(|&f| world.sessions.figures(f, window)).collect();
    let sum = |of: fn(&Connections) -> u64| all.iter().map(of).sum();
    (!all.is_empty()).then(|| Connections {
        opened: sum(|c| c.opened),
        closed: sum(|c| c.closed),
        open: sum(|c| c.open),
        active_mean: all.iter().map(|c| c.active_mean).sum(),
        active_max: sum(|c| c.active_max),
        duration_ms: mean_spread(all.iter().filter_map(|c| c.duration_ms.as_ref())),
    })
}

fn percent(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 }
}

fn flow<P: Probe>(world: &World<P>, f: usize, seconds: f64, total: f64) -> FlowSummary {
    let node = &world.nodes[f];
    let connections = world.sessions.figures(f, Duration::from_secs_f64(seconds));
    let c = &node.count;
    let throughput = c.delivered_bytes as f64 * 8e-6 / seconds;
    let mut modes = c.modes.clone();
    match (c.mode, &node.transport) {
        (Some((mode, since)), _) => add_mode(&mut modes, mode, world.now.since(since)),
        // An algorithm with modes that never left its first.
        (None, Transport::Tcp(tcp)) if node.started && connections.is_none() => {
            tcp.sender.cc().vars(&mut |name, value| {
                if name == "mode" {
                    add_mode(&mut modes, value as i64, world.now.since(node.start));
                }
            })
        }
        _ => {}
    }
    let bands = &world.scenario.run.gaps;
    let gaps = |way: usize| c.gaps.as_ref().map_or_else(BTreeMap::new, |g| g[way].shares(bands));
    FlowSummary {
        name: node.spec.name.clone(),
        group: world.scenario.groups[node.spec.group].clone(),
        cc: match &node.spec.traffic {
            Traffic::Cbr { .. } => "none".into(),
            _ => node.spec.cc.to_string(),
        },
        stack: params::Value::show(&node.spec.stack),
        base_rtt_ms: node.spec.base_rtt.as_millis_f64(),
        start_s: node.start.as_secs_f64(),
        throughput_mbps: throughput,
        goodput_mbps: (c.goodput[1] - c.goodput[0]) as f64 * 8e-6 / seconds,
        share: if total > 0.0 { throughput / total } else { 0.0 },
        rtt_ms: c.rtt.spread(),
        owd_ms: c.one_way.spread(),
        jitter_ms: c.jitter * 1e-6,
        ack_rate_mbps: c.bandwidth.as_ref().and_then(|b| b[0].spread()),
        window_rate_mbps: c.bandwidth.as_ref().and_then(|b| b[1].spread()),
        sent: node.sent_packets(),
        lost: c.lost_packets,
        loss_pct: percent(c.lost_packets, node.sent_packets()),
        retransmits: c.retransmits[1] - c.retransmits[0],
        completion_s: match c.completions.as_slice() {
            [] => None,
            all => Some(all.iter().map(|c| c.seconds).sum::<f64>() / all.len() as f64),
        },
        backoffs: Backoffs {
            delay: c.backoffs[0],
            loss: c.backoffs[1],
            ecn: c.backoffs[2],
            timeout: c.backoffs[3],
            below_bdp: c.below_bdp,
            double: c.doubles.0,
            to_bytes: (c.backoffs[0] > 0).then(|| c.doubles.2 as f64 / c.backoffs[0] as f64),
            ignored: c.unanswered[0],
            tolerated: c.unanswered[1],
            shadow: c.unanswered[2],
        },
        slow_start_exit: c.slow_start_exit.map(|(at, ssthresh_bytes, bdp_ratio)| SlowStartExit {
            at_s: at.since(node.start).as_secs_f64(),
            ssthresh_bytes,
            bdp_ratio,
        }),
        data_gaps: gaps(0),
        ack_gaps: gaps(1),
        connections,
        mode_s: modes.iter().map(|(m, t)| (cc::mode_name(*m).to_string(), t.as_secs_f64())).collect(),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0), |(s, n), x| (s + x, n + 1));
    (n > 0).then(|| sum / n as f64)
}

/// Each share averaged over the flows that have it.
fn mean_by_name<'a>(all: impl Iterator<Item = &'a BTreeMap<String, f64>> + Clone) -> BTreeMap<String, f64> {
    let of = |name: &String| mean(all.clone().filter_map(|shares| shares.get(name).copied())).unwrap_or(0.0);
    all.clone().flat_map(BTreeMap::keys).map(|name| (name.clone(), of(name))).collect()
}

/// Each figure averaged over the flows that have it.
fn mean_spread<'a>(spreads: impl Iterator<Item = &'a Spread> + Clone) -> Option<Spread> {
    let of = |figure: fn(&Spread) -> f64| mean(spreads.clone().map(figure));
    Some(Spread {
        mean: of(|s| s.mean)?,
        median: of(|s| s.median)?,
        sd: of(|s| s.sd)?,
        p5: of(|s| s.p5)?,
        p50: of(|s| s.p50)?,
        p95: of(|s| s.p95)?,
        p99: of(|s| s.p99)?,
        min: of(|s| s.min)?,
        max: of(|s| s.max)?,
        samples: spreads.map(|s| s.samples).sum(),
    })
}

fn group<P: Probe>(world: &World<P>, g: usize, all: &[FlowSummary], window: Duration) -> GroupSummary {
    let numbers: Vec<usize> = (0..all.len()).filter(|&f| world.nodes[f].spec.group == g).collect();
    let flows: Vec<&FlowSummary> = numbers.iter().map(|&f| &all[f]).collect();
    let sum = |of: fn(&FlowSummary) -> f64| flows.iter().map(|f| of(f)).sum::<f64>();
    let count = |of: fn(&FlowSummary) -> u64| flows.iter().map(|f| of(f)).sum::<u64>();
    let exits: Vec<SlowStartExit> = flows.iter().filter_map(|f| f.slow_start_exit).collect();
    let mut mode_s = BTreeMap::new();
    for (mode, seconds) in flows.iter().flat_map(|f| &f.mode_s) {
        *mode_s.entry(mode.clone()).or_insert(0.0) += seconds / flows.len() as f64;
    }
    let completions: Vec<Completion> =
        numbers.iter().flat_map(|&f| world.nodes[f].count.completions.iter().copied()).collect();
    GroupSummary {
        name: world.scenario.groups[g].clone(),
        cc: flows.first().map_or(String::new(), |f| f.cc.clone()),
        stack: flows.first().map_or(String::new(), |f| f.stack.clone()),
        flows: flows.len(),
        throughput_mbps: sum(|f| f.throughput_mbps),
        goodput_mbps: sum(|f| f.goodput_mbps),
        share: sum(|f| f.share),
        rtt_ms: mean_spread(flows.iter().filter_map(|f| f.rtt_ms.as_ref())),
        owd_ms: mean_spread(flows.iter().filter_map(|f| f.owd_ms.as_ref())),
        jitter_ms: mean(flows.iter().map(|f| f.jitter_ms)).unwrap_or(0.0),
        ack_rate_mbps: mean_spread(flows.iter().filter_map(|f| f.ack_rate_mbps.as_ref())),
        window_rate_mbps: mean_spread(flows.iter().filter_map(|f| f.window_rate_mbps.as_ref())),
        sent: count(|f| f.sent),
        lost: count(|f| f.lost),
        loss_pct: percent(count(|f| f.lost), count(|f| f.sent)),
        retransmits: count(|f| f.retransmits),
        completion_s: mean(flows.iter().filter_map(|f| f.completion_s)),
        backoffs: Backoffs {
            delay: count(|f| f.backoffs.delay),
            loss: count(|f| f.backoffs.loss),
            ecn: count(|f| f.backoffs.ecn),
            timeout: count(|f| f.backoffs.timeout),
            below_bdp: count(|f| f.backoffs.below_bdp),
            double: count(|f| f.backoffs.double),
            to_bytes: mean(flows.iter().filter_map(|f| f.backoffs.to_bytes)),
            ignored: count(|f| f.backoffs.ignored),
            tolerated: count(|f| f.backoffs.tolerated),
            shadow: count(|f| f.backoffs.shadow),
        },
        slow_start_exit: mean(exits.iter().map(|e| e.at_s)).map(|at_s| SlowStartExit {
            at_s,
            ssthresh_bytes: exits.iter().map(|e| e.ssthresh_bytes).sum::<u64>() / exits.len() as u64,
            bdp_ratio: mean(exits.iter().map(|e| e.bdp_ratio)).unwrap_or(0.0),
        }),
        mode_s,
        data_gaps: mean_by_name(flows.iter().map(|f| &f.data_gaps)),
        ack_gaps: mean_by_name(flows.iter().map(|f| &f.ack_gaps)),
        jain: jain(&flows.iter().map(|f| f.throughput_mbps).collect::<Vec<_>>()),
        connections: connections_of(world, &numbers, window),
        completions: if completions.is_empty() {
            exchange_bins(world, &numbers)
        } else {
            completion_bins(&completions)
        },
    }
}

fn link<P: Probe>(world: &World<P>, l: usize, window: Duration) -> LinkSummary {
    let (spec, link) = (&world.scenario.links[l], &world.net.links[l]);
    let c = &link.count;
    let rate = link.transmitter.rate();
    let dropped: u64 = c.dropped.iter().sum();
    LinkSummary {
        name: spec.name.clone(),
        queue: spec.queue.to_string(),
        rate_mbps: rate.map(|r| r.as_mbps()),
        utilisation: rate.map(|r| c.sent_bytes as f64 / (r.bytes_per_sec() * window.as_secs_f64())),
        load: rate.map(|r| c.arrived_bytes as f64 / (r.bytes_per_sec() * window.as_secs_f64())),
        arrived_mb: c.arrived_bytes as f64 * 1e-6,
        departed_mb: c.sent_bytes as f64 * 1e-6,
        queue_ms: c.queue.spread(),
        arrived: c.arrived,
        dropped,
        dropped_overflow: c.dropped[DropWhy::Overflow as usize],
        dropped_law: c.dropped[DropWhy::Law as usize],
        dropped_random: c.dropped[DropWhy::Random as usize],
        drop_pct: percent(dropped, c.arrived),
        marked: c.marked,
        queue_packets: QueuePackets { mean: c.packet_time as f64 / window.as_nanos() as f64, max: c.most },
    }
}

fn distribution<'a>(
    key: &'static str,
    of: impl Iterator<Item = &'a crate::histogram::Histogram>,
    count: &'static str,
) -> Table {
    let (mut id, mut low, mut high, mut n) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (i, histogram) in of.enumerate() {
        for (from, to, packets) in histogram.buckets() {
            id.push(i as u32);
            low.push(from);
            high.push(to);
            n.push(packets);
        }
    }
    vec![(key, Column::U32(id)), ("low_ms", Column::F64(low)), ("high_ms", Column::F64(high)), (count, Column::U64(n))]
}

/// Sums a finished run up.
pub(crate) fn of<P: Probe>(world: &World<P>) -> Summary {
    let (from, to) = world.scenario.run.measure;
    let end = Instant::ZERO + world.scenario.run.duration;
    let window = to.min(end).since(from);
    let seconds = window.as_secs_f64();
    let own = &world.nodes[..world.scenario.flows.len()];
    let total: f64 = own.iter().map(|n| n.count.delivered_bytes as f64 * 8e-6 / seconds).sum();
    let flows: Vec<FlowSummary> = (0..own.len()).map(|f| flow(world, f, seconds, total)).collect();
    // Fairness is a matter of those who wanted a share: a flow that never ran in the window is not counted.
    let shares: Vec<f64> = own
        .iter()
        .zip(&flows)
        .filter(|(n, _)| n.start < to && n.spec.stop.is_none_or(|s| s > from))
        .map(|(_, f)| f.throughput_mbps)
        .collect();
    let (least, most) = shares.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &x| (a.min(x), b.max(x)));
    Summary {
        case: BTreeMap::new(),
        seed: world.seed,
        schema: SCHEMA,
        model: MODEL,
        digest: world.digest.text(),
        groups: (0..world.scenario.groups.len()).map(|g| group(world, g, &flows, window)).collect(),
        flows,
        links: (0..world.scenario.links.len()).map(|l| link(world, l, window)).collect(),
        fairness: Fairness { jain: jain(&shares), max_min: if most > 0.0 { least / most } else { 1.0 } },
        wall_s: 0.0,
        packets: world.packets.delivered,
        dropped: world.packets.dropped,
        tables: vec![
            (
                "queue_delay",
                distribution(
                    "link",
                    world.net.links.iter().take(world.scenario.links.len()).map(|l| &l.count.queue),
                    "packets",
                ),
            ),
            ("rtt", distribution("flow", own.iter().map(|n| &n.count.rtt), "samples")),
        ],
    }
}
