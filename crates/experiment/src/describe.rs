//! An experiment as JSON: what `check` tells a front end.

use crate::scenario::{Change, Clock, FlowSpec, Link, LinkId, LossModel, MTU, RateSpec, Scenario};
use crate::{Case, Error, Experiment};
use aqm::{Limit, LinkInfo};
use params::{Params, Spec, Value};
use serde_json::{Map, Value as Json, json};
use units::{Duration, Instant};

impl Experiment {
    /// Checks every case and describes the experiment: title, hash, canonical text, cases with their flows and links,
    /// every setting with its value, claims, published tables and figures.
    pub fn describe(&self) -> Result<Json, Error> {
        let cases: Vec<Json> = self.cases()?.iter().map(case).collect();
        Ok(json!({
            "title": self.title(),
            "hash": self.hash(),
            "toml": self.to_toml(),
            "swept": self.swept().into_iter().map(|(key, values)| json!({"key": key, "values": values})).collect::<Vec<_>>(),
            "cases": cases,
            "expect": self.claims(),
            "published": self.published(),
            "figures": self.figures().into_iter().map(figure).collect::<Vec<_>>(),
        }))
    }
}

fn figure(spec: Spec) -> Json {
    json!({ "plot": spec.name, "options": pairs(&spec.args) })
}

fn pairs(values: &[(String, String)]) -> Json {
    Json::Object(values.iter().map(|(k, v)| (k.clone(), Json::String(v.clone()))).collect())
}

/// Divided: the product with 10⁻⁹ makes 60.00000000000001 of a minute.
fn seconds(at: Instant) -> f64 {
    at.as_nanos() as f64 / 1e9
}

fn milliseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

fn case(case: &Case) -> Json {
    let Scenario { links, flows, groups, run } = &case.scenario;
    json!({
        "index": case.index,
        "values": pairs(&case.values),
        "hash": case.hash,
        "repeat": run.repeat,
        "seed": run.seed,
        "duration_s": seconds(Instant::ZERO + run.duration),
        "measure_s": [seconds(run.measure.0), seconds(run.measure.1)],
        "vary": run.vary.show(),
        "groups": groups,
        "flows": flows.iter().map(|f| flow(f, groups, links)).collect::<Vec<_>>(),
        "links": links.iter().map(link).collect::<Vec<_>>(),
        "resolved": resolved(&case.scenario),
    })
}

fn flow(flow: &FlowSpec, groups: &[String], links: &[Link]) -> Json {
    let names = |way: &[LinkId]| way.iter().map(|id| links[*id].name.clone()).collect::<Vec<_>>();
    json!({
        "name": flow.name,
        "group": groups[flow.group],
        "cc": flow.cc.to_string(),
        "stack": flow.stack.show(),
        "start_s": seconds(flow.start),
        "stop_s": flow.stops(flow.start).map(seconds),
        "base_rtt_ms": milliseconds(flow.base_rtt),
        "route": names(&flow.route),
        "back": names(&flow.back),
        "mss": flow.mss.get(),
        "initial_window": flow.initial_window,
        "ecn": flow.ecn,
        "delayed_ack": flow.delayed_ack,
        "writes": flow.writes.get(),
        "pacing": flow.pacing,
        "pacing_quantum": flow.pacing_quantum,
        "read_rate_mbps": flow.read_rate.map(|r| r.as_mbps()),
        "access_mbps": flow.access.map(|r| r.as_mbps()),
    })
}

fn link(link: &Link) -> Json {
    let buffer = match link.buffer {
        Some(Limit::Packets(n)) => Json::String(format!("{n} packets")),
        Some(Limit::Bytes(n)) => Json::String(n.show()),
        None => Json::Null,
    };
    let rate = link.rate.as_ref().map(RateSpec::mean);
    let file = match &link.rate {
        Some(RateSpec::Trace { file, .. }) => Some(file),
        _ => None,
    };
    let average = rate.and_then(|rate| {
        let info = LinkInfo { rate, delay: link.delay, mtu: MTU, limit: link.buffer };
        aqm::averaging(&link.queue, &info)
    });
    json!({
        "name": link.name,
        "rate_mbps": rate.map(|r| r.as_mbps()),
        "trace": file,
        "delay_ms": milliseconds(link.delay),
        "buffer": buffer,
        "queue": link.queue.to_string(),
        "thresholds_bytes": average.map(|a| a.thresholds.map(|bytes| bytes.get())),
        "average_weight": average.map(|a| a.weight),
        "loss": mean_loss(link.loss),
        "clock": match &link.clock {
            Clock::Exact => "exact".to_string(),
            Clock::Tick(p) => {
                let all: Vec<String> = p.values().into_iter().map(|(k, v)| format!("{k}={v}")).collect();
                format!("tick({})", all.join(", "))
            }
        },
        "changes": link.changes.iter().map(change).collect::<Vec<_>>(),
    })
}

/// What changes, alone.
fn change(change: &Change) -> Json {
    let mut all = Map::new();
    all.insert("at_s".into(), seconds(change.at).into());
    all.extend(change.rate.map(|rate| ("rate_mbps".into(), rate.as_mbps().into())));
    all.extend(change.delay.map(|delay| ("delay_ms".into(), milliseconds(delay).into())));
    all.extend(change.loss.map(|loss| ("loss".into(), mean_loss(loss).into())));
    Json::Object(all)
}

fn mean_loss(loss: LossModel) -> f64 {
    match loss {
        LossModel::None => 0.0,
        LossModel::Random(p) => p,
        LossModel::Gilbert { to_bad, to_good, loss_good, loss_bad } => {
            let bad = if to_bad + to_good > 0.0 { to_bad / (to_bad + to_good) } else { 0.0 };
            bad * loss_bad + (1.0 - bad) * loss_good
        }
        LossModel::Periodic { every, burst, .. } => burst as f64 / every as f64,
    }
}

/// Every setting of every algorithm and queue with its value, defaults included.
fn resolved(scenario: &Scenario) -> Json {
    let mut all = Map::new();
    let table = |values: Vec<(&'static str, String)>| {
        Json::Object(values.into_iter().map(|(k, v)| (k.to_string(), Json::String(v))).collect())
    };
    for (group, name) in scenario.groups.iter().enumerate() {
        let Some(flow) = scenario.flows.iter().find(|f| f.group == group) else { continue };
        // What the registry does not know (UDP, classes in Python) has no settings to tell.
        let values = cc::find(&flow.cc.name).and_then(|entry| entry.resolve(&flow.cc)).unwrap_or_default();
        all.insert(format!("flow.{name}.cc"), table(values));
    }
    for link in &scenario.links {
        all.insert(format!("link.{}.queue", link.name), table(aqm::resolve(&link.queue).unwrap_or_default()));
    }
    Json::Object(all)
}
