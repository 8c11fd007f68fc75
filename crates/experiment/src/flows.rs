//! Flows: every `count` expanded, every default from the stack filled in.

use crate::assign::flow_names;
use crate::limits::{
    DURATION_MAX, FLOWS_MAX, INITIAL_WINDOW_MAX, MSS_MAX, MSS_MIN, OFFLOAD_MAX, PACING_QUANTUM_MAX, RATE_MAX, RATE_MIN,
    RECEIVE_WINDOW_MAX,
};
use crate::links::access;
use crate::quantity::{Burst, Cc, Q, SpecOf, Whole};
use crate::raw::{File, FlowFile};
use crate::resolve::{Context, whole, within};
use crate::scenario::{FlowSpec, LinkId, Traffic};
use crate::source::{Checked, Fault, did_you_mean};
use crate::tmix::Origin;
use crate::traffic::{self, TRAFFIC};
use crate::tree::At;
use params::{ParamError, Spec, Value};
use std::collections::BTreeMap;
use tcp::{Config, Offload, Segment, Stack};
use units::{Bytes, Duration, Instant, Rate};

/// A flow's way through the topology.
pub(crate) struct Wire {
    pub route: Vec<LinkId>,
    pub back: Vec<LinkId>,
    pub edge: Duration,
    pub edge_back: Duration,
    pub base_rtt: Duration,
}

/// The name of an entry.
pub(crate) fn name(flow: &At<FlowFile>) -> Checked<String> {
    match &flow.value.name {
        Some(name) => Ok(name.value.0.0.clone()),
        None => Err(Fault::at(flow.place, "the key \"name\" is missing").under("flow")),
    }
}

/// The congestion control of datagrams, as results name it.
const NO_CC: &str = "none";

pub(crate) fn expand(file: &File, wires: &[Wire], end: Instant, context: &Context<'_>) -> Checked<Vec<FlowSpec>> {
    let path = file.path.as_ref().map(|p| &p.value);
    let shared_access = match path {
        Some(path) => access(&path.access, "path.access")?,
        None => None,
    };
    let stack = path.and_then(|p| p.stack.as_ref()).map_or(Stack::Linux, |at| at.value.0.0);
    let mut flows: Vec<FlowSpec> = Vec::new();
    let mut names: BTreeMap<String, (String, u64)> = BTreeMap::new();
    for (group, (at, wire)) in file.flow.iter().zip(wires).enumerate() {
        let entry = name(at)?;
        let key = |k: &str| format!("flow.{entry}.{k}");
        let flow = &at.value;
        let count = match &flow.count {
            Some(count) => whole(count, &key("count"), 1, FLOWS_MAX)?,
            None => 1,
        };
        if flows.len() as u64 + count > FLOWS_MAX {
            let place = flow.count.as_ref().map_or(at.place, |c| c.place);
            return Err(Fault::at(place, format!("more than {FLOWS_MAX} flows")).under(key("count")));
        }
        let mut one = single(at, &entry, wire, stack, context)?;
        one.group = group;
        if flow.access.is_none() {
            one.access = shared_access;
        }
        let stagger = match &flow.stagger {
            Some(at) if flow.count.is_none() => {
                let message = "there is one flow of this kind, and nothing to stagger: give count, or start";
                return Err(Fault::at(at.place, message).under(key("stagger")));
            }
            Some(at) => within(at, &key("stagger"), Duration::ZERO, DURATION_MAX)?,
            None => Duration::ZERO,
        };
        let lasts = match &flow.lasts {
            Some(at) if flow.stop.is_some() => {
                let message = "says when it stops, as stop does: leave out one of them";
                return Err(Fault::at(at.place, message).under(key("lasts")));
            }
            Some(at) => Some(within(at, &key("lasts"), Duration::from_nanos(1), DURATION_MAX)?),
            None => None,
        };
        let first = one.start;
        for (i, flow_name) in flow_names(&entry, count).enumerate() {
            let start = first + stagger * i as u64;
            let (place, blame) = match (&flow.start, &flow.stagger) {
                (_, Some(stagger)) if i > 0 => (stagger.place, "stagger"),
                (Some(start), _) => (start.place, "start"),
                _ => (at.place, "start"),
            };
            let begins = || start.since(Instant::ZERO).show();
            if start >= end {
                let message = format!(
                    "{flow_name} would start at {}, not before the end of the run, {}",
                    begins(),
                    end.since(Instant::ZERO).show()
                );
                return Err(Fault::at(place, message).under(key(blame)));
            }
            if let (Some(stop), Some(written)) = (one.stop, &flow.stop)
                && stop <= start
            {
                let message =
                    format!("{flow_name} starts at {} and would stop before, at {}", begins(), written.value.0.show());
                return Err(Fault::at(written.place, message).under(key("stop")));
            }
            if let Some(earlier) = names.insert(flow_name.clone(), (entry.clone(), count)) {
                return Err(two_called(&flow_name, &[earlier, (entry.clone(), count)], at));
            }
            flows.push(FlowSpec { name: flow_name, start, lasts, ..one.clone() });
        }
    }
    Ok(flows)
}

/// What is wrong where flows of two entries, each with its name and count, are called the same; `at` is the later one.
fn two_called(name: &str, entries: &[(String, u64); 2], at: &At<FlowFile>) -> Fault {
    let place = at.value.name.as_ref().map_or(at.place, |n| n.place);
    let numbered = entries.iter().find(|(entry, _)| entry != name);
    let why = numbered.map_or_else(String::new, |(entry, count)| {
        format!(" (the {count} of {entry:?} are called {entry}, {entry}-2, …)")
    });
    // A name that nobody wrote stands where its flow does.
    let cure = if place == at.place {
        format!("give {:?} a name of its own", entries[1].0)
    } else {
        "give one of them another name".into()
    };
    Fault::at(place, format!("there are two flows called {name:?}{why}: {cure}")).under("flow")
}

/// One flow of an entry.
fn single(at: &At<FlowFile>, entry: &str, wire: &Wire, stack: Stack, context: &Context<'_>) -> Checked<FlowSpec> {
    let flow = &at.value;
    let key = |k: &str| format!("flow.{entry}.{k}");
    let (sends, udp) = match &flow.traffic {
        Some(at) => {
            let fail = |e: String| Fault::at(at.place, e).under(key("traffic"));
            let spec = &at.value.0.0;
            let mut sends = traffic::read(spec).map_err(fail)?;
            if let Traffic::Tmix(tmix) = &mut sends
                && let Origin::File(name) = &tmix.params.file
            {
                tmix.file = Some(context.traces.vectors(name).map_err(fail)?);
            }
            (sends, traffic::find(spec).map_err(fail)?.udp)
        }
        None => (Traffic::Bulk { header: Bytes::ZERO }, false),
    };
    if udp {
        refuse_tcp_keys(flow, entry)?;
    }
    let cc = match &flow.cc {
        Some(cc) => checked_cc(cc, context).map_err(|f| f.under(key("cc")))?,
        None if udp => Spec::named(NO_CC),
        None => {
            let message = "the key \"cc\" is missing: write cc = \"cubic\", for instance";
            return Err(Fault::at(at.place, message).under(format!("flow.{entry}")));
        }
    };
    let stack = flow.stack.as_ref().map_or(stack, |at| at.value.0.0);
    let pacing = flow.pacing.as_ref().is_some_and(|at| at.value);
    let paced = pacing || paces(&cc, context);
    let preset = Config::of(stack);
    let tmix = matches!(sends, Traffic::Tmix(_));
    let time = |at: &Option<At<Q<Duration>>>, k: &str| match at {
        Some(at) => within(at, &key(k), Duration::ZERO, DURATION_MAX).map(Some),
        None => Ok(None),
    };
    Ok(FlowSpec {
        name: entry.into(),
        group: 0,
        cc,
        stack,
        start: Instant::ZERO + time(&flow.start, "start")?.unwrap_or(Duration::ZERO),
        stop: time(&flow.stop, "stop")?.map(|t| Instant::ZERO + t),
        lasts: None,
        route: wire.route.clone(),
        back: wire.back.clone(),
        edge: wire.edge,
        edge_back: wire.edge_back,
        access: access(&flow.access, &key("access"))?,
        traffic: sends,
        delayed_ack: flow.delayed_ack.as_ref().is_none_or(|at| at.value),
        writes: match &flow.writes {
            Some(at) => within(at, &key("writes"), MSS_MIN, RECEIVE_WINDOW_MAX)?,
            None => Bytes::ZERO,
        },
        clock_skew_ppb: flow.clock_skew.as_ref().map_or(0, |at| at.value.0.0),
        clock_drift_ppb: flow.clock_drift.as_ref().map_or(0, |at| at.value.0.0),
        pacing,
        pacing_quantum: match &flow.pacing_quantum {
            Some(at) => quantum(at, &key("pacing_quantum"), paced)?,
            None => 1,
        },
        ecn: flow.ecn.as_ref().map_or(preset.ecn, |at| at.value),
        initial_window: match &flow.initial_window {
            Some(at) => whole(at, &key("initial_window"), 1, INITIAL_WINDOW_MAX)? as u32,
            None => preset.initial_window,
        },
        mss: match &flow.mss {
            Some(at) => within(at, &key("mss"), MSS_MIN, MSS_MAX)?,
            None => preset.mss,
        },
        receive_window: match &flow.receive_window {
            Some(at) => {
                let least = flow.mss.as_ref().map_or(preset.mss, |m| m.value.0);
                within(at, &key("receive_window"), least, RECEIVE_WINDOW_MAX)?
            }
            None => preset.receive_window,
        },
        read_rate: match &flow.read_rate {
            Some(at) => Some(read_rate(at, &key("read_rate"), stack, tmix)?),
            None => None,
        },
        offload: match &flow.offload {
            None => preset.offload,
            Some(at) => match at.value.0 {
                Burst::Off | Burst::Segments(1) => Offload::Off,
                Burst::Auto => Offload::Auto,
                Burst::Segments(n) if (2..=OFFLOAD_MAX).contains(&n) => Offload::Burst(n as u32),
                Burst::Segments(n) => {
                    let message =
                        format!("{n} is out of range: allowed is \"off\", \"auto\" or 1 to {OFFLOAD_MAX} segments");
                    return Err(Fault::at(at.place, message).under(key("offload")));
                }
            },
        },
        base_rtt: wire.base_rtt,
    })
}

/// How fast an application reads that has a receive buffer to leave data in.
fn read_rate(at: &At<Q<Rate>>, key: &str, stack: Stack, tmix: bool) -> Checked<Rate> {
    let message = if stack == Stack::Ns2 {
        "ns-2's receivers close no window: give stack = \"linux\" or \"freebsd-11\", or leave read_rate out"
    } else if tmix {
        "every connection of tmix has a reader of its own, which keeps up: leave read_rate out"
    } else {
        return within(at, key, RATE_MIN, RATE_MAX);
    };
    Err(Fault::at(at.place, message).under(key))
}

/// Checks a congestion control against the registry, or lets one pass that the caller brings.
fn checked_cc(at: &At<Q<SpecOf<Cc>>>, context: &Context<'_>) -> Checked<Spec> {
    let spec = &at.value.0.0;
    if context.extra_cc.contains(&spec.name) {
        // What it takes it alone knows; but of two values of a name the last would be taken in silence.
        return match spec.repeated() {
            Some(name) => Err(Fault::at(at.place, ParamError::Repeated { name: name.into() }.to_string())),
            None => Ok(spec.clone()),
        };
    }
    let Ok(entry) = cc::find(&spec.name) else {
        let mut names: Vec<&str> = cc::ALGORITHMS.iter().map(|e| e.about.name).collect();
        names.extend(context.extra_cc.iter().map(String::as_str));
        let near = if TRAFFIC.iter().any(|kind| kind.name == spec.name) {
            format!("; it is traffic: write traffic = {:?}", spec.to_string())
        } else {
            did_you_mean(&spec.name, names.iter().copied())
        };
        let message = format!("there is no congestion control {:?}{near} (there are {})", spec.name, names.join(", "));
        return Err(Fault::at(at.place, message));
    };
    entry.resolve(spec).map_err(|e| Fault::at(at.place, e.to_string()))?;
    Ok(spec.clone())
}

/// May this congestion control set a rate to send at? Of one that the caller brings nobody knows.
fn paces(cc: &Spec, context: &Context<'_>) -> bool {
    context.extra_cc.contains(&cc.name) || cc::find(&cc.name).is_ok_and(|entry| entry.paces(cc))
}

fn quantum(at: &At<Q<Whole>>, key: &str, paced: bool) -> Checked<u32> {
    let quantum = whole(at, key, 1, PACING_QUANTUM_MAX)? as u32;
    if quantum == 1 || paced {
        return Ok(quantum);
    }
    let (given, default) = (quantum.to_string(), "1".into());
    let vain = ParamError::Vain { name: "pacing_quantum", given, needs: "pacing = true", default };
    Err(Fault::at(at.place, vain.to_string()).under(key))
}

fn refuse_tcp_keys(flow: &FlowFile, entry: &str) -> Checked<()> {
    let given = [
        ("cc", flow.cc.as_ref().map(|x| x.place)),
        ("stack", flow.stack.as_ref().map(|x| x.place)),
        ("ecn", flow.ecn.as_ref().map(|x| x.place)),
        ("delayed_ack", flow.delayed_ack.as_ref().map(|x| x.place)),
        ("writes", flow.writes.as_ref().map(|x| x.place)),
        ("clock_skew", flow.clock_skew.as_ref().map(|x| x.place)),
        ("clock_drift", flow.clock_drift.as_ref().map(|x| x.place)),
        ("pacing", flow.pacing.as_ref().map(|x| x.place)),
        ("pacing_quantum", flow.pacing_quantum.as_ref().map(|x| x.place)),
        ("initial_window", flow.initial_window.as_ref().map(|x| x.place)),
        ("mss", flow.mss.as_ref().map(|x| x.place)),
        ("receive_window", flow.receive_window.as_ref().map(|x| x.place)),
        ("read_rate", flow.read_rate.as_ref().map(|x| x.place)),
        ("offload", flow.offload.as_ref().map(|x| x.place)),
    ];
    for (key, place) in given {
        if let Some(place) = place {
            // Of what was written before the traffic came by --set, no --set takes a key away.
            let set = flow.traffic.as_ref().is_some_and(|at| at.place.source > place.source);
            let cure = if set {
                ", and no --set takes a key away: remove it in the file, or name the traffic in the line"
            } else {
                ": leave it out"
            };
            let message = format!("this traffic is UDP and takes no {key}{cure}");
            return Err(Fault::at(place, message).under(format!("flow.{entry}.{key}")));
        }
    }
    Ok(())
}

/// The largest packet of a flow at the IP layer.
pub(crate) fn packet(flow: &FlowSpec) -> Bytes {
    match flow.traffic {
        Traffic::Cbr { size, .. } => size,
        _ => flow.mss + Config::of(flow.stack).headers(),
    }
}

/// The largest acknowledgement of a flow at the IP layer, with three ranges; none of datagrams.
pub(crate) fn ack(flow: &FlowSpec) -> Bytes {
    match flow.traffic {
        Traffic::Cbr { .. } => Bytes::ZERO,
        _ => Config::of(flow.stack).headers() + Bytes::new(Segment::RANGES.into()),
    }
}
