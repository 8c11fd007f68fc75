//! The figures of a run, in the words of the results' schema.

mod completions;
mod figures;

pub(crate) use completions::BINS;
pub(crate) use figures::add_mode;

use crate::histogram::{Histogram, Spread};
use crate::probe::Probe;
use crate::record::{Column, Table};
use crate::world::World;
use crate::{MODEL, SCHEMA};
use figures::{flow, group, jain, link, ran_within};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Deref;
use units::Instant;

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

/// Reductions of the window over the whole run, and what might have been one. What nobody tells of is `None`: of the kernel's
/// own algorithms on linux how often there was one is all that can be seen.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Backoffs {
    pub delay: u64,
    pub loss: u64,
    pub ecn: u64,
    pub timeout: u64,
    /// Of all these, with a window below the path's BDP, rate × base RTT, as the papers reckon.
    pub below_bdp: Option<u64>,
    /// Of those for delay, within two and a half RTTs of another, both below the BDP.
    pub double: Option<u64>,
    /// Mean window that those for delay left, in bytes; `None` also if there were none.
    pub to_bytes: Option<f64>,
    /// Delay indications that were ignored.
    pub ignored: Option<u64>,
    /// Losses that were judged: answered or tolerated.
    pub judged: Option<u64>,
    /// Those taken for random and tolerated.
    pub tolerated: Option<u64>,
    /// Of those for loss, with a threshold above the window: the shadow window's.
    pub shadow: Option<u64>,
    /// Losses tolerated though the shadow window was larger than the window.
    pub unused: Option<u64>,
    /// `tolerated` in percent of `judged`; `None` also if that is none.
    pub tolerated_pct: Option<f64>,
    /// `unused` in percent of the same.
    pub unused_pct: Option<f64>,
}

/// Data packets lost over the whole run, by what became of the loss that the algorithm heard of next: where [`Backoffs`]
/// counts answers, this counts packets, as a log of the queue does. `None` as there.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Losses {
    /// Taken for random and tolerated.
    pub tolerated: Option<u64>,
    /// Of these, though the shadow window was larger than the window.
    pub unused: Option<u64>,
    /// Answered with a smaller window or a threshold.
    pub answered: Option<u64>,
    /// Of these, with a threshold above the window: the shadow window's.
    pub shadow: Option<u64>,
    /// Left to the retransmission timer.
    pub timeout: Option<u64>,
    /// `tolerated` in percent of `answered + tolerated`; `None` also if that is none.
    pub tolerated_pct: Option<f64>,
    /// `unused` in percent of the same.
    pub unused_pct: Option<f64>,
}

/// How slow start ended.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct SlowStartExit {
    pub at_s: f64,
    pub ssthresh_bytes: u64,
    pub bdp_ratio: f64,
}

/// What flows did over the measure window; back-offs, slow start, modes and completions over the whole run. Of several
/// flows, rates, shares and counts are sums; delays, their quantiles and the end of slow start are means, the least and the
/// largest delay those of all flows.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Figures {
    pub throughput_mbps: f64,
    pub goodput_mbps: f64,
    pub share: f64,
    pub rtt_ms: Option<Spread>,
    pub owd_ms: Option<Spread>,
    /// Of several flows, the mean of those that have one; `None` for many connections, or with fewer than two packets.
    pub jitter_ms: Option<f64>,
    /// Bandwidth as the rounds of the window show it, if `run.estimates` asks for it, by Eq 5.5 of the HLDG thesis: bytes
    /// acknowledged over their length.
    pub ack_rate_mbps: Option<Spread>,
    /// The same as Vegas has it: window over smoothed RTT.
    pub window_rate_mbps: Option<Spread>,
    pub sent: u64,
    pub lost: u64,
    /// Of the packets of which the window saw what became of them, `lost` or arrived, those lost; a copy that a link made
    /// is neither. `None` where there was none.
    pub loss_pct: Option<f64>,
    pub retransmits: u64,
    /// Of the transfers that were done by the end of the run.
    pub completion_s: Option<f64>,
    /// Transfers begun and not done by then, which `completion_s` leaves out; `None` where traffic is not transfers.
    pub unfinished: Option<u64>,
    pub backoffs: Backoffs,
    pub losses: Losses,
    /// Time spent on repairs, from the signal of a loss to the ACK that ends its repair; of several flows the mean.
    pub repair_s: Option<f64>,
    pub slow_start_exit: Option<SlowStartExit>,
    /// Of an algorithm with modes, the time in each, also in those it was never in.
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

/// One flow. Its figures read as its own fields, in Rust as in JSON.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct FlowSummary {
    pub name: String,
    pub group: String,
    pub cc: String,
    pub stack: String,
    pub base_rtt_ms: f64,
    pub start_s: f64,
    #[serde(flatten)]
    pub figures: Figures,
}

/// The flows of one `[[flow]]` entry. Their figures read as its own fields, in Rust as in JSON.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct GroupSummary {
    pub name: String,
    pub cc: String,
    pub stack: String,
    pub flows: usize,
    #[serde(flatten)]
    pub figures: Figures,
    /// Among the flows of the group; `None` if nothing flowed.
    pub jain: Option<f64>,
    /// Flow completion times by size, for finite transfers; of Tmix traffic, exchanges by the size of the reply.
    pub completions: Vec<CompletionBin>,
}

impl Deref for FlowSummary {
    type Target = Figures;

    fn deref(&self) -> &Figures {
        &self.figures
    }
}

impl Deref for GroupSummary {
    type Target = Figures;

    fn deref(&self) -> &Figures {
        &self.figures
    }
}

/// The connections of a Tmix flow: over the window but for those opened, closed and open at the end of the run.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Connections {
    pub opened: u64,
    pub closed: u64,
    pub open: u64,
    pub active_mean: f64,
    /// Of a group the sum of its flows' own maxima.
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
    /// Mean over the window, which changes and a trace's opportunities move; absent on an unlimited link.
    pub rate_mbps: Option<f64>,
    /// Bits that the transmitter passed over what its rate would have carried: a packet under transmission at an edge of
    /// the window counts with the share of its transmission that lies inside. Absent on an unlimited link.
    pub utilisation: Option<f64>,
    /// What came, dropped or not, over what the rate would have carried: above 1 in overload.
    pub load: Option<f64>,
    /// Megabytes that came. Absent, as are `arrived` and `departed_mb`, on an unlimited link that only delays: nobody
    /// counts there.
    pub arrived_mb: Option<f64>,
    /// In whole packets, those whose transmission began in the window.
    pub departed_mb: Option<f64>,
    pub queue_ms: Option<Spread>,
    pub arrived: Option<u64>,
    pub dropped: u64,
    pub dropped_overflow: u64,
    pub dropped_law: u64,
    pub dropped_random: u64,
    /// Of the packets that the window saw dropped or passed on, those dropped; `None` where there was none.
    pub drop_pct: Option<f64>,
    pub marked: u64,
    pub queue_packets: QueuePackets,
}

/// Shares of the bottleneck; `None` if nothing flowed.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Fairness {
    /// (Σx)² / (n Σx²) of throughput (thesis, Equation 2.3).
    pub jain: Option<f64>,
    /// Least over greatest throughput.
    pub max_min: Option<f64>,
}

fn distribution<'a>(key: &'static str, of: impl Iterator<Item = &'a Histogram>, count: &'static str) -> Table {
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
    let shares: Vec<f64> =
        own.iter().zip(&flows).filter(|(n, _)| ran_within(n, (from, to))).map(|(_, f)| f.throughput_mbps).collect();
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
        fairness: Fairness { jain: jain(&shares), max_min: (most > 0.0).then(|| least / most) },
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
