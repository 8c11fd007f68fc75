//! The figures of flows, of groups of flows, and of links.

use super::completions::{completion_bins, exchange_bins};
use super::{
    Backoffs, Connections, Figures, FlowSummary, GroupSummary, LinkSummary, Losses, QueuePackets, SlowStartExit,
};
use crate::capacity::Used;
use crate::count::{Completion, FlowCount};
use crate::histogram::Spread;
use crate::link::DropWhy;
use crate::node::{Node, Transport};
use crate::outside::Told;
use crate::probe::Probe;
use crate::world::World;
use experiment::Traffic;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// (Σx)² / (n Σx²); `None` where nothing is shared.
pub(super) fn jain(x: &[f64]) -> Option<f64> {
    let (sum, squares) = x.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    (squares > 0.0).then(|| sum * sum / (x.len() as f64 * squares))
}

/// Did the flow want anything within the window? One that was stopped before it did not, nor one whose transfer was done.
pub(super) fn ran_within(node: &Node, (from, to): (Instant, Instant)) -> bool {
    let done = match (&node.spec.traffic, node.count.completions.first()) {
        (Traffic::Bytes(_), Some(done)) => done.at <= from.as_secs_f64(),
        _ => false,
    };
    node.start < to && node.spec.stops(node.start).is_none_or(|stop| stop > from) && !done
}

/// Adds time to a mode's account.
pub(crate) fn add_mode(modes: &mut Vec<(i64, Duration)>, mode: i64, time: Duration) {
    match modes.iter_mut().find(|(m, _)| *m == mode) {
        Some((_, total)) => *total += time,
        None => modes.push((mode, time)),
    }
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

/// A part in percent, if there is a whole.
fn percent(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| 100.0 * part as f64 / of as f64)
}

impl Backoffs {
    /// With the sum and the shares that its counts of losses give.
    fn with_shares(self) -> Backoffs {
        let judged = self.tolerated.map(|tolerated| self.loss + tolerated);
        let share = |part: Option<u64>| percent(part?, judged?);
        Backoffs { judged, tolerated_pct: share(self.tolerated), unused_pct: share(self.unused), ..self }
    }
}

impl Losses {
    /// With the shares that its counts give.
    fn with_shares(self) -> Losses {
        let judged = [self.answered, self.tolerated].into_iter().sum::<Option<u64>>();
        let share = |part: Option<u64>| percent(part?, judged?);
        Losses { tolerated_pct: share(self.tolerated), unused_pct: share(self.unused), ..self }
    }
}

/// Packets lost in percent of those lost or arrived: of what was sent in the window much may still wait at its end, and what
/// is lost in it may have been sent before.
fn loss_pct<'a>(counts: impl Iterator<Item = &'a FlowCount>) -> Option<f64> {
    let (lost, through) = counts.fold((0, 0), |(l, t), c| (l + c.lost_packets, t + c.came_through()));
    percent(lost, lost + through)
}

pub(super) fn flow<P: Probe>(world: &World<P>, f: usize, seconds: f64, total: f64) -> FlowSummary {
    let node = &world.nodes[f];
    let connections = world.sessions.figures(f, Duration::from_secs_f64(seconds));
    let (c, b) = (&node.count, &node.count.backoffs);
    let throughput = c.delivered_bytes as f64 * 8e-6 / seconds;
    let mut modes = c.modes.clone();
    let end = match &node.transport {
        Transport::Tcp(tcp) => tcp.sender.finished_at(),
        Transport::Outside(told) => told.ended,
        Transport::Datagrams(_) => None,
    }
    .unwrap_or(world.now);
    let all = cc::find(&node.spec.cc.name).map_or(&[][..], |entry| entry.about.modes);
    match (c.mode, all.first(), &node.transport) {
        (Some((mode, since)), ..) => add_mode(&mut modes, mode, end.since(since)),
        (None, Some(first), Transport::Tcp(_) | Transport::Outside(Told { tells: true, .. }))
            if node.started && connections.is_none() =>
        {
            add_mode(&mut modes, *first, end.since(node.start));
        }
        _ => {}
    }
    if !modes.is_empty() {
        all.iter().for_each(|mode| add_mode(&mut modes, *mode, Duration::ZERO));
    }
    let tells = match &node.transport {
        // Datagrams have nothing to tell.
        Transport::Outside(told) => told.tells || matches!(node.spec.traffic, Traffic::Cbr { .. }),
        _ => true,
    };
    let told = |count: u64| tells.then_some(count);
    let bands = &world.scenario.run.gaps;
    let gaps = |way: usize| c.gaps.as_ref().map_or_else(BTreeMap::new, |g| g[way].shares(bands));
    let figures = Figures {
        throughput_mbps: throughput,
        goodput_mbps: (c.goodput[1] - c.goodput[0]) as f64 * 8e-6 / seconds,
        share: if total > 0.0 { throughput / total } else { 0.0 },
        rtt_ms: c.rtt.spread(),
        owd_ms: c.one_way.spread(),
        // Outside, packets of a flow's connections are counted as those of one stream.
        jitter_ms: c.jitter_ms().filter(|_| connections.is_none()),
        ack_rate_mbps: c.bandwidth.as_ref().and_then(|b| b[0].spread()),
        window_rate_mbps: c.bandwidth.as_ref().and_then(|b| b[1].spread()),
        sent: node.sent_packets(),
        lost: c.lost_packets,
        loss_pct: loss_pct([c].into_iter()),
        retransmits: c.retransmits[1] - c.retransmits[0],
        completion_s: match c.completions.as_slice() {
            [] => None,
            all => Some(all.iter().map(|c| c.seconds).sum::<f64>() / all.len() as f64),
        },
        unfinished: unfinished(node),
        backoffs: Backoffs {
            delay: b.made.delay,
            loss: b.made.loss,
            ecn: b.made.ecn,
            timeout: b.made.timeout,
            below_bdp: told(b.below_bdp),
            double: told(b.double),
            to_bytes: (tells && b.made.delay > 0).then(|| b.left as f64 / b.made.delay as f64),
            ignored: told(b.ignored),
            tolerated: told(b.tolerated),
            shadow: told(b.shadow),
            unused: told(b.unused),
            ..Default::default()
        }
        .with_shares(),
        losses: Losses {
            tolerated: told(b.losses.tolerated),
            unused: told(b.losses.unused),
            answered: told(b.losses.answered),
            shadow: told(b.losses.shadow),
            timeout: told(b.losses.timeout),
            ..Default::default()
        }
        .with_shares(),
        repair_s: match &node.transport {
            Transport::Tcp(tcp) if connections.is_none() => Some(tcp.sender.repairing(world.now).as_secs_f64()),
            _ => None,
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
    };
    FlowSummary {
        name: node.spec.name.clone(),
        group: world.scenario.groups[node.spec.group].clone(),
        cc: node.spec.cc.to_string(),
        stack: params::Value::show(&node.spec.stack),
        base_rtt_ms: node.spec.base_rtt.as_millis_f64(),
        start_s: node.start.as_secs_f64(),
        figures,
    }
}

/// Transfers begun and not done; `None` if the flow's traffic is not transfers, or nobody tells.
fn unfinished(node: &Node) -> Option<u64> {
    match (&node.spec.traffic, &node.transport) {
        // A host outside tells the end of a transfer only.
        (Traffic::Bytes(_), Transport::Outside(_)) => {
            Some(u64::from(node.started && node.count.completions.is_empty()))
        }
        (Traffic::Bytes(_) | Traffic::Web { .. } | Traffic::Dash { .. }, Transport::Tcp(_)) => {
            Some(u64::from(node.transfer.is_some()))
        }
        _ => None,
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

/// Each figure averaged over the flows that have it, but for the extremes, which are those of all flows.
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
        min: spreads.clone().map(|s| s.min).reduce(f64::min)?,
        max: spreads.clone().map(|s| s.max).reduce(f64::max)?,
        samples: spreads.map(|s| s.samples).sum(),
    })
}

pub(super) fn group<P: Probe>(world: &World<P>, g: usize, all: &[FlowSummary], window: Duration) -> GroupSummary {
    let numbers: Vec<usize> = (0..all.len()).filter(|&f| world.nodes[f].spec.group == g).collect();
    let flows: Vec<&FlowSummary> = numbers.iter().map(|&f| &all[f]).collect();
    let sum = |of: fn(&FlowSummary) -> f64| flows.iter().map(|f| of(f)).sum::<f64>();
    let count = |of: fn(&FlowSummary) -> u64| flows.iter().map(|f| of(f)).sum::<u64>();
    let told = |of: fn(&FlowSummary) -> Option<u64>| flows.iter().map(|f| of(f)).sum::<Option<u64>>();
    let exits: Vec<SlowStartExit> = flows.iter().filter_map(|f| f.slow_start_exit).collect();
    let mut mode_s = BTreeMap::new();
    for (mode, seconds) in flows.iter().flat_map(|f| &f.mode_s) {
        *mode_s.entry(mode.clone()).or_insert(0.0) += seconds / flows.len() as f64;
    }
    let ran = numbers.iter().copied().filter(|&f| ran_within(&world.nodes[f], world.scenario.run.measure));
    let completions: Vec<Completion> =
        numbers.iter().flat_map(|&f| world.nodes[f].count.completions.iter().copied()).collect();
    let figures = Figures {
        throughput_mbps: sum(|f| f.throughput_mbps),
        goodput_mbps: sum(|f| f.goodput_mbps),
        share: sum(|f| f.share),
        rtt_ms: mean_spread(flows.iter().filter_map(|f| f.rtt_ms.as_ref())),
        owd_ms: mean_spread(flows.iter().filter_map(|f| f.owd_ms.as_ref())),
        jitter_ms: mean(flows.iter().filter_map(|f| f.jitter_ms)),
        ack_rate_mbps: mean_spread(flows.iter().filter_map(|f| f.ack_rate_mbps.as_ref())),
        window_rate_mbps: mean_spread(flows.iter().filter_map(|f| f.window_rate_mbps.as_ref())),
        sent: count(|f| f.sent),
        lost: count(|f| f.lost),
        loss_pct: loss_pct(numbers.iter().map(|&f| &world.nodes[f].count)),
        retransmits: count(|f| f.retransmits),
        completion_s: mean(flows.iter().filter_map(|f| f.completion_s)),
        unfinished: flows.iter().filter_map(|f| f.unfinished).reduce(|a, b| a + b),
        backoffs: Backoffs {
            delay: count(|f| f.backoffs.delay),
            loss: count(|f| f.backoffs.loss),
            ecn: count(|f| f.backoffs.ecn),
            timeout: count(|f| f.backoffs.timeout),
            below_bdp: told(|f| f.backoffs.below_bdp),
            double: told(|f| f.backoffs.double),
            to_bytes: mean(flows.iter().filter_map(|f| f.backoffs.to_bytes)),
            ignored: told(|f| f.backoffs.ignored),
            tolerated: told(|f| f.backoffs.tolerated),
            shadow: told(|f| f.backoffs.shadow),
            unused: told(|f| f.backoffs.unused),
            ..Default::default()
        }
        .with_shares(),
        losses: Losses {
            tolerated: told(|f| f.losses.tolerated),
            unused: told(|f| f.losses.unused),
            answered: told(|f| f.losses.answered),
            shadow: told(|f| f.losses.shadow),
            timeout: told(|f| f.losses.timeout),
            ..Default::default()
        }
        .with_shares(),
        repair_s: mean(flows.iter().filter_map(|f| f.repair_s)),
        slow_start_exit: mean(exits.iter().map(|e| e.at_s)).map(|at_s| SlowStartExit {
            at_s,
            ssthresh_bytes: exits.iter().map(|e| e.ssthresh_bytes).sum::<u64>() / exits.len() as u64,
            bdp_ratio: mean(exits.iter().map(|e| e.bdp_ratio)).unwrap_or(0.0),
        }),
        mode_s,
        data_gaps: mean_by_name(flows.iter().map(|f| &f.data_gaps)),
        ack_gaps: mean_by_name(flows.iter().map(|f| &f.ack_gaps)),
        connections: connections_of(world, &numbers, window),
    };
    GroupSummary {
        name: world.scenario.groups[g].clone(),
        cc: flows.first().map_or(String::new(), |f| f.cc.clone()),
        stack: flows.first().map_or(String::new(), |f| f.stack.clone()),
        flows: flows.len(),
        figures,
        jain: jain(&ran.map(|f| all[f].throughput_mbps).collect::<Vec<_>>()),
        completions: if completions.is_empty() {
            exchange_bins(world, &numbers)
        } else {
            completion_bins(&completions)
        },
    }
}

pub(super) fn link<P: Probe>(world: &World<P>, l: usize, window: Duration) -> LinkSummary {
    let (spec, link) = (&world.scenario.links[l], &world.net.links[l]);
    let c = &link.count;
    let [from, to] = &link.capacity.window;
    let used = Used::between(from, to, c.sent_bytes);
    let came = |count: u64| (!spec.only_delays()).then_some(count);
    let dropped: u64 = c.dropped.iter().sum();
    LinkSummary {
        name: spec.name.clone(),
        queue: spec.queue.to_string(),
        rate_mbps: link.transmitter.rate().and_then(|_| used.mean_mbps()),
        utilisation: used.utilisation(),
        load: used.load(c.arrived_bytes),
        arrived_mb: came(c.arrived_bytes).map(|bytes| bytes as f64 * 1e-6),
        departed_mb: came(c.sent_bytes).map(|bytes| bytes as f64 * 1e-6),
        queue_ms: c.queue.spread(),
        arrived: came(c.arrived),
        dropped,
        dropped_overflow: c.dropped[DropWhy::Overflow as usize],
        dropped_law: c.dropped[DropWhy::Law as usize],
        dropped_random: c.dropped[DropWhy::Random as usize],
        drop_pct: percent(dropped, c.decided()),
        marked: c.marked,
        queue_packets: QueuePackets { mean: c.packet_time as f64 / window.as_nanos() as f64, max: c.most },
    }
}
