//! The file as users write it. The doc comments here are the reference: the JSON schema and
//! `docs/experiment-file.md` are made from them.

use crate::decode::decode;
use crate::limits::FORMAT;
use crate::loss::LossText;
use crate::published::PublishedFile;
use crate::quantity::{
    AccessText, Buffer, Burst, Cc, ClockKind, Kind, Name, Parts, Probability, Q, Queue, RateText, SpecOf, Version,
    Whole, Word,
};
use crate::scenario::Vary;
use crate::source::Checked;
use crate::sweep::SweepFile;
use crate::tree::{Any, At, get};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};
use tcp::Stack;
use units::{Bytes, Duration, Rate};

mod expect;

pub(crate) use expect::{ExpectFile, WhenFile};

/// A key that may be left out.
pub(crate) type Opt<T> = Option<At<Q<T>>>;

/// An experiment: a path or links, flows, a run, and what is swept, claimed and compared.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an experiment")]
#[schemars(rename = "experiment")]
pub(crate) struct File {
    /// Version of this format.
    #[schemars(extend("const" = FORMAT, "default" = FORMAT, "examples" = [FORMAT]))]
    pub format: Opt<Version>,
    /// What the experiment shows, in a line.
    #[schemars(extend("examples" = ["HLDG against CUBIC, 340 ms buffer"]))]
    pub title: Option<String>,
    /// How the publication draws it: kinds of `sojourn plot` with their options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("examples" = [["heat(metric=flow.a.share)"]]))]
    pub figure: Vec<At<String>>,
    /// A dumbbell: one bottleneck and the way back. Or use `[[link]]`.
    pub path: Option<At<PathFile>>,
    /// One-way links, for anything but a dumbbell; flows name them in `route` and `back`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<At<LinkFile>>,
    /// The flows. At least one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<At<FlowFile>>,
    /// How long, how often, and what is measured.
    pub run: Option<At<RunFile>>,
    /// Keys that take several values: every combination is a case.
    #[schemars(with = "Option<SweepFile>")]
    pub sweep: Option<At<Any>>,
    /// Claims, checked after the run: exit code 1 if one fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<At<ExpectFile>>,
    /// What a publication printed, cell by cell. One table `[published]` or several `[[published]]`.
    #[schemars(with = "Option<PublishedFile>")]
    pub published: Option<At<Any>>,
}

/// Refuses another format before anything else of a file: what that has for keys is not known.
pub(crate) fn refuse_other_format(doc: &At<Any>) -> Checked<()> {
    let Any::Table(root) = &doc.value else { return Ok(()) };
    let Some(format) = get(root, "format") else { return Ok(()) };
    decode::<At<Q<Version>>>(format).map(|_| ()).map_err(|fault| fault.under("format"))
}

/// The key with the table that it belongs to: `path.rtt` for `rtt`, `flow.*.cc` for `cc`.
pub(crate) fn full_key(key: &str) -> Option<String> {
    let has = |schema: Schema| schema.get("properties").is_some_and(|keys| keys.get(key).is_some());
    let tables = [
        ("path", schema_for!(PathFile)),
        ("run", schema_for!(RunFile)),
        ("flow.*", schema_for!(FlowFile)),
        ("link.*", schema_for!(LinkFile)),
    ];
    tables.into_iter().find_map(|(table, schema)| has(schema).then(|| format!("{table}.{key}")))
}

/// `[path]`: a dumbbell of a link "bottleneck" and a link "return".
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of keys such as rate and rtt")]
#[schemars(rename = "path")]
pub(crate) struct PathFile {
    /// Bottleneck rate at the IP layer, or a mahimahi trace beside the file. Needed.
    #[schemars(extend("examples" = ["12 Mbit/s", "trace(lte.up)"]))]
    pub rate: Opt<RateText>,
    /// Rate of the way back.
    #[schemars(extend("default" = "unlimited", "examples" = ["1 Mbit/s"]))]
    pub up: Opt<RateText>,
    /// Buffer of the way back; needs `up`. Default: the queue's own limit.
    #[schemars(extend("examples" = ["50 packets"]))]
    pub up_buffer: Opt<Buffer>,
    /// Queue of the way back.
    #[schemars(extend("default" = "fifo", "examples" = ["fq_codel"]))]
    pub up_queue: Opt<SpecOf<Queue>>,
    /// Loss of the way back, as `loss`; before its queue.
    #[schemars(extend("default" = 0, "examples" = ["0.1 %"]))]
    pub up_loss: Opt<LossText>,
    /// Base RTT: propagation there and back, half each way. Needed.
    #[schemars(extend("examples" = ["40 ms"]))]
    pub rtt: Opt<Duration>,
    /// Buffer of the bottleneck in packets, bytes, time at the link's rate, or bandwidth-delay products (rate × rtt). It
    /// wins over the queue's own limit, which is the default.
    #[schemars(extend("examples" = ["2 BDP", "80 packets", "340 ms", "120 kB", "packets(2 BDP)"]))]
    pub buffer: Opt<Buffer>,
    /// Queue of the bottleneck: any of `sojourn list queues`, with settings.
    #[schemars(extend("default" = "fifo", "examples" = ["pie(target=20ms)"]))]
    pub queue: Opt<SpecOf<Queue>>,
    /// Loss of the data path that is not its queue's: a probability; `gilbert(good=…, bad=…)` with the mean lengths in packets of its
    /// good and bad periods (and `loss_good`, `loss_bad`); or `periodic(every=…)`, one packet in so many without dice (and `burst`,
    /// how many in a row, and `first`, the number of the first).
    #[schemars(extend("default" = 0, "examples" = ["0.1 %", "gilbert(good=990, bad=10)", "periodic(every=1000)"]))]
    pub loss: Opt<LossText>,
    /// Where `loss` happens: before the queue, as in dummynet, or after the transmitter.
    #[schemars(extend("default" = "enqueue"))]
    pub loss_at: Opt<Word<LossWhere>>,
    /// Extra delay per packet of the data path, order kept: the size of a normal number with this standard deviation, so 0.8 of
    /// it on average.
    #[schemars(extend("default" = "0 ms", "examples" = ["2 ms"]))]
    pub jitter: Opt<Duration>,
    /// Packets of the data path taken out of order.
    pub reorder: Option<At<ReorderFile>>,
    /// Probability that a packet of the data path arrives twice.
    #[schemars(extend("default" = 0, "examples" = ["0.01 %"]))]
    pub duplicate: Opt<Probability>,
    /// The router knows Quick-Start (RFC 4782) and grants up to this share of the rate to senders that ask
    /// (`slow_start=quick_start`). Default: it does not know it.
    #[schemars(extend("examples" = ["90 %"]))]
    pub quick_start: Opt<Probability>,
    /// Rate of every sender's own link. Its queue has no limit: where it is slower than the bottleneck, it fills without
    /// end under an algorithm that waits for losses, and the RTT with it.
    #[schemars(extend("default" = "unlimited", "examples" = ["1 Gbit/s"]))]
    pub access: Opt<AccessText>,
    /// Clock of the emulator, both ways: `exact`, or `tick(hz=1000)` as dummynet, with the settings of the table below.
    #[schemars(extend("default" = "exact", "examples" = ["tick(hz=1000)"]))]
    pub clock: Opt<SpecOf<ClockKind>>,
    /// Whose TCP the hosts run.
    #[schemars(extend("default" = "linux"))]
    pub stack: Opt<Word<Stack>>,
    /// Changes during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<At<PathChange>>,
}

/// A change of the path during the run. What is not named stays.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as {at = \"10 s\", rtt = \"80 ms\"}")]
#[schemars(rename = "change")]
pub(crate) struct PathChange {
    /// When. Needed.
    #[schemars(extend("examples" = ["10 s"]))]
    pub at: At<Q<Duration>>,
    /// New bottleneck rate.
    #[schemars(extend("examples" = ["4 Mbit/s"]))]
    pub rate: Opt<Rate>,
    /// New rate of the way back; needs `up` in the path.
    #[schemars(extend("examples" = ["500 kbit/s"]))]
    pub up: Opt<Rate>,
    /// New base RTT: the flows with the smallest one get it, and those with a longer `rtt` of their own shift by the same
    /// amount.
    #[schemars(extend("examples" = ["80 ms"]))]
    pub rtt: Opt<Duration>,
    /// New loss; `periodic` counts from here.
    #[schemars(extend("examples" = ["1 %"]))]
    pub loss: Opt<LossText>,
}

/// `[[link]]`: a one-way link: queue, transmitter, propagation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of keys such as name, rate and delay")]
#[schemars(rename = "link")]
pub(crate) struct LinkFile {
    /// Its name. Needed.
    #[schemars(extend("examples" = ["core"]))]
    pub name: At<Q<Name>>,
    /// Rate at the IP layer, or a mahimahi trace.
    #[schemars(extend("default" = "unlimited", "examples" = ["12 Mbit/s"]))]
    pub rate: Opt<RateText>,
    /// Propagation delay.
    #[schemars(extend("default" = "0 ms", "examples" = ["20 ms"]))]
    pub delay: Opt<Duration>,
    /// Buffer, as `path.buffer`; one BDP is the rate times the longest base RTT of the flows through the link.
    #[schemars(extend("examples" = ["1 BDP"]))]
    pub buffer: Opt<Buffer>,
    /// Queue.
    #[schemars(extend("default" = "fifo", "examples" = ["codel"]))]
    pub queue: Opt<SpecOf<Queue>>,
    /// Loss that is not its queue's, as `path.loss`.
    #[schemars(extend("default" = 0, "examples" = ["0.1 %"]))]
    pub loss: Opt<LossText>,
    /// Where `loss` happens.
    #[schemars(extend("default" = "enqueue"))]
    pub loss_at: Opt<Word<LossWhere>>,
    /// Extra delay per packet, order kept: the size of a normal number with this standard deviation, so 0.8 of it on average.
    #[schemars(extend("default" = "0 ms", "examples" = ["2 ms"]))]
    pub jitter: Opt<Duration>,
    /// Packets taken out of order.
    pub reorder: Option<At<ReorderFile>>,
    /// Probability that a packet arrives twice.
    #[schemars(extend("default" = 0, "examples" = ["0.01 %"]))]
    pub duplicate: Opt<Probability>,
    /// The router knows Quick-Start (RFC 4782) and grants up to this share of the rate to senders that ask
    /// (`slow_start=quick_start`). Default: it does not know it.
    #[schemars(extend("examples" = ["90 %"]))]
    pub quick_start: Opt<Probability>,
    /// Clock of the emulator: as in a `[path]`.
    #[schemars(extend("default" = "exact", "examples" = ["tick(hz=1000)"]))]
    pub clock: Opt<SpecOf<ClockKind>>,
    /// Changes during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<At<LinkChange>>,
}

/// A change of a link during the run. What is not named stays.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as {at = \"10 s\", delay = \"80 ms\"}")]
#[schemars(rename = "link_change")]
pub(crate) struct LinkChange {
    /// When. Needed.
    #[schemars(extend("examples" = ["10 s"]))]
    pub at: At<Q<Duration>>,
    /// New rate.
    #[schemars(extend("examples" = ["4 Mbit/s"]))]
    pub rate: Opt<Rate>,
    /// New propagation delay.
    #[schemars(extend("examples" = ["40 ms"]))]
    pub delay: Opt<Duration>,
    /// New loss; `periodic` counts from here.
    #[schemars(extend("examples" = ["1 %"]))]
    pub loss: Opt<LossText>,
}

/// Packets delayed past their successors.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as {probability = \"1 %\", delay = \"5 ms\"}")]
#[schemars(rename = "reorder")]
pub(crate) struct ReorderFile {
    /// Probability per packet. Needed.
    #[schemars(extend("examples" = ["1 %"]))]
    pub probability: At<Q<Probability>>,
    /// Extra delay of those packets. Needed.
    #[schemars(extend("examples" = ["5 ms"]))]
    pub delay: At<Q<Duration>>,
}

/// `[[flow]]`: one flow, or `count` of a kind. Results are given for each flow and for each such entry (a group).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of keys such as name, cc and start")]
#[schemars(rename = "flow")]
pub(crate) struct FlowFile {
    /// Its name in results, claims and `--set flow.NAME.…`. Default: the name of the congestion control or the traffic,
    /// with -2, -3, … where that is taken. With `count`, the flows are called NAME, NAME-2, NAME-3, ….
    #[schemars(extend("examples" = ["a"]))]
    pub name: Opt<Name>,
    /// Congestion control: any of `sojourn list cc`, with settings. Needed, except for UDP traffic.
    #[schemars(extend("examples" = ["hldg", "cubic(slow_start=hystart)"]))]
    pub cc: Opt<SpecOf<Cc>>,
    /// So many flows of this kind.
    #[schemars(extend("default" = 1, "examples" = [5]))]
    pub count: Opt<Whole>,
    /// Time from one flow's start to the next one's; needs `count`.
    #[schemars(extend("default" = "0 s", "examples" = ["10 s"]))]
    pub stagger: Opt<Duration>,
    /// When it starts.
    #[schemars(extend("default" = "0 s", "examples" = ["10 s"]))]
    pub start: Opt<Duration>,
    /// When it stops sending. Default: the end of the run.
    #[schemars(extend("examples" = ["110 s"]))]
    pub stop: Opt<Duration>,
    /// How long each sends, from its own start on. In place of `stop`.
    #[schemars(extend("examples" = ["300 s"]))]
    pub lasts: Opt<Duration>,
    /// Base RTT of this flow. Default: the path's, or the sum of its links' delays.
    #[schemars(extend("examples" = ["120 ms"]))]
    pub rtt: Opt<Duration>,
    /// Whose TCP. Default: `path.stack`.
    #[schemars(extend("examples" = ["freebsd-11"]))]
    pub stack: Opt<Word<Stack>>,
    /// With `[[link]]`: the links from the data's sender to its receiver.
    #[schemars(extend("examples" = [["edge", "core"]]))]
    pub route: Option<At<Vec<At<String>>>>,
    /// With `[[link]]`: the links of the way back.
    #[schemars(extend("examples" = [["core-back"]]))]
    pub back: Option<At<Vec<At<String>>>>,
    /// With `[path]`: data goes through the bottleneck (`down`) or through the way back (`up`).
    #[schemars(extend("default" = "down"))]
    pub direction: Opt<Word<Direction>>,
    /// Negotiate ECN.
    #[schemars(extend("default" = false))]
    pub ecn: Option<At<bool>>,
    /// The receiver delays ACKs by its stack's rule; `false` acknowledges every packet at once.
    #[schemars(extend("default" = true))]
    pub delayed_ack: Option<At<bool>>,
    /// The application writes so much at a time, and the last packet of a write is pushed (PSH): Linux since 6.6 acknowledges it
    /// alone. Default: it keeps the sender's buffer full, and pushes nothing. On linux the driver's writes are of 11 kB.
    #[schemars(extend("examples" = ["10860 B"]))]
    pub writes: Opt<Bytes>,
    /// How much faster the sender's clock runs than the receiver's, as time stamps show it.
    #[schemars(extend("default" = "0 ppm", "examples" = ["50 ppm"]))]
    pub clock_skew: Opt<Parts>,
    /// How much the skew grows in an hour.
    #[schemars(extend("default" = "0 ppm", "examples" = ["-0.5 ppm"]))]
    pub clock_drift: Opt<Parts>,
    /// Pace the packets over the RTT as Linux does, whatever the congestion control: 1.2 times the window, twice in slow
    /// start. An algorithm with a rate of its own (BBR) keeps that.
    #[schemars(extend("default" = false))]
    pub pacing: Option<At<bool>>,
    /// Packets that leave together where the flow is paced, by its host or its congestion control. Linux' `fq` has a quantum of
    /// two, waits for the time that two Ethernet frames take, and lets a new flow's first ten go.
    #[schemars(extend("default" = 1, "examples" = [2]))]
    pub pacing_quantum: Opt<Whole>,
    /// Initial window in segments. Default: the stack's (10).
    #[schemars(extend("examples" = [3]))]
    pub initial_window: Opt<Whole>,
    /// Largest payload of a segment. Default: the stack's (1448 B; 1460 B for ns-2).
    #[schemars(extend("examples" = ["536 B"]))]
    pub mss: Opt<Bytes>,
    /// The receiver's buffer. Default: the stack's (64 MiB).
    #[schemars(extend("examples" = ["1 MiB"]))]
    pub receive_window: Opt<Bytes>,
    /// How fast the receiving application reads, a segment's worth at a time. Where that is slower than data comes, the buffer
    /// fills and flow control holds the sender back. Default: it reads all that comes, as it comes.
    #[schemars(extend("examples" = ["4 Mbit/s"]))]
    pub read_rate: Opt<Rate>,
    /// Sender offload: the largest burst in segments that leaves back to back; `auto` sizes it as Linux does: a millisecond's worth
    /// of 1.2 windows (in slow start two) per RTT or of the algorithm's rate, two segments at least, more below 5 ms, 64 KB at most.
    #[schemars(extend("default" = "off", "examples" = [16, "auto"]))]
    pub offload: Opt<Burst>,
    /// Rate of the sender's own link, whose queue has no limit. Default: `path.access`.
    #[schemars(extend("examples" = ["100 Mbit/s"]))]
    pub access: Opt<AccessText>,
    /// What it sends; the kinds are listed below.
    #[schemars(extend("default" = "bulk", "examples" = ["cbr(rate=1Mbit/s)", "web"]))]
    pub traffic: Opt<SpecOf<Kind>>,
}

/// `[run]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table of keys such as duration and repeat")]
#[schemars(rename = "run")]
pub(crate) struct RunFile {
    /// Simulated time.
    #[schemars(extend("default" = "60 s", "examples" = ["150 s"]))]
    pub duration: Opt<Duration>,
    /// Window of every summary figure: begin and end. Default: the whole run.
    #[schemars(extend("examples" = [["20 s", "110 s"]]))]
    pub measure: Option<At<Vec<At<Q<Duration>>>>>,
    /// Seed of the first repetition; repetition n has seed + n.
    #[schemars(extend("default" = 1))]
    pub seed: Opt<Whole>,
    /// Repetitions.
    #[schemars(extend("default" = 1, "examples" = [10]))]
    pub repeat: Opt<Whole>,
    /// What differs between repetitions besides the algorithms' dice: nothing, start times by up to one base RTT, or start
    /// times and host processing by up to one packet time.
    #[schemars(extend("default" = "start"))]
    pub vary: Opt<Word<Vary>>,
    /// The most that a host takes to process a packet, with `vary = "start+host"`. Default: one packet time of the path.
    #[schemars(extend("examples" = ["125 us"]))]
    pub processing: Opt<Duration>,
    /// Bands of the gaps between a flow's packets as they arrive, `NAME = [least, least above it]`: their shares are
    /// `data_gaps.NAME` (at the receiver) and `ack_gaps.NAME` (at the sender).
    #[schemars(with = "Option<std::collections::BTreeMap<String, [String; 2]>>")]
    #[schemars(extend("examples" = [{"burst": ["0 us", "50 us"]}]))]
    pub gaps: Option<At<Bands>>,
    /// Estimate the bandwidth from every round of every flow, by the rate of its ACKs (`ack_rate_mbps`) and by its window
    /// over its RTT (`window_rate_mbps`).
    #[schemars(extend("default" = false))]
    pub estimates: Option<At<bool>>,
}

/// Bands of gaps by name.
pub(crate) type Bands = std::collections::BTreeMap<String, At<Vec<At<Q<Duration>>>>>;

params::choice! {
    /// Where loss happens, in words.
    pub enum LossWhere {
        /// Before the queue.
        Enqueue = "enqueue",
        /// After the transmitter.
        After = "after",
    }
}

params::choice! {
    /// Which way data goes through a dumbbell.
    pub enum Direction {
        /// Through the bottleneck.
        Down = "down",
        /// Through the way back.
        Up = "up",
    }
}
