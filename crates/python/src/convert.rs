//! Descriptions as JSON: what `list`, `show` and the checks print.

use experiment::Experiment;
use params::Field;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

create_exception!(sojourn._core, SpecError, PyValueError, "An experiment, a name or a value that cannot be used.");

pub(crate) fn refuse(error: impl std::fmt::Display) -> PyErr {
    SpecError::new_err(error.to_string())
}

/// Parses an experiment and applies `--set` overrides. `extra` names congestion controls from outside the registry.
pub(crate) fn experiment(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    extra: &[String],
) -> PyResult<Experiment> {
    let extra: Vec<&str> = extra.iter().map(String::as_str).collect();
    let mut experiment = experiment::parse_with(text, file, &extra).map_err(refuse)?;
    for (key, value) in overrides {
        experiment.set(key, value).map_err(refuse)?;
    }
    Ok(experiment)
}

fn link(l: &experiment::Link) -> Value {
    json!({
        "name": l.name,
        "rate_mbps": match &l.rate {
            Some(experiment::RateSpec::Constant(r)) => Some(r.as_mbps()),
            _ => None,
        },
        "delay_ms": l.delay.as_millis_f64(),
        "buffer": l.buffer.map(|b| match b {
            aqm::Limit::Packets(n) => format!("{n} packets"),
            aqm::Limit::Bytes(n) => params::Value::show(&n),
        }),
        "queue": l.queue.to_string(),
    })
}

fn flow(f: &experiment::FlowSpec, groups: &[String]) -> Value {
    json!({
        "name": f.name,
        "group": groups[f.group],
        "cc": f.cc.to_string(),
        "stack": params::Value::show(&f.stack),
        "start_s": f.start.as_secs_f64(),
        "stop_s": f.stop.map(|s| s.as_secs_f64()),
        "base_rtt_ms": f.base_rtt.as_millis_f64(),
    })
}

fn settings(values: Vec<(&'static str, String)>) -> Value {
    values.into_iter().map(|(k, v)| (k.to_string(), Value::String(v))).collect::<serde_json::Map<_, _>>().into()
}

/// Every parameter of every algorithm and queue in a case, defaults filled in.
fn resolved(s: &experiment::Scenario) -> Value {
    let mut all = serde_json::Map::new();
    for f in &s.flows {
        if let Ok(values) = cc::find(&f.cc.name).and_then(|e| e.resolve(&f.cc)) {
            all.insert(f.cc.to_string(), settings(values));
        }
    }
    for l in &s.links {
        if let Ok(values) = aqm::resolve(&l.queue) {
            all.insert(l.queue.to_string(), settings(values));
        }
    }
    all.into()
}

/// Checks an experiment; returns its cases as JSON.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, extra_cc = Vec::new()))]
pub fn check(text: &str, file: &str, overrides: Vec<(String, String)>, extra_cc: Vec<String>) -> PyResult<String> {
    let experiment = experiment(text, file, &overrides, &extra_cc)?;
    let cases: Vec<Value> = experiment
        .cases()
        .map_err(refuse)?
        .iter()
        .map(|case| {
            let s = &case.scenario;
            json!({
                "index": case.index,
                "values": case.values.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "hash": case.hash,
                "repeat": s.run.repeat,
                "seed": s.run.seed,
                "duration_s": s.run.duration.as_secs_f64(),
                "measure_s": [s.run.measure.0.as_secs_f64(), s.run.measure.1.as_secs_f64()],
                "groups": s.groups,
                "flows": s.flows.iter().map(|f| flow(f, &s.groups)).collect::<Vec<_>>(),
                "links": s.links.iter().map(link).collect::<Vec<_>>(),
                "resolved": resolved(s),
            })
        })
        .collect();
    let expect: Vec<Value> = experiment.claims().map(|c| json!({"name": c.name, "that": c.that, "is": c.is})).collect();
    let published = serde_json::to_value(experiment.published()).expect("published cells are plain data");
    Ok(json!({
        "title": experiment.title(),
        "hash": experiment.hash(),
        "toml": experiment.to_toml(),
        "cases": cases,
        "expect": expect,
        "published": published,
        "swept": experiment.swept().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
    })
    .to_string())
}

/// Evaluates the claims of an experiment on the summaries (JSON) of its runs.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, summaries, extra_cc = Vec::new()))]
pub fn evaluate(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    summaries: Vec<String>,
    extra_cc: Vec<String>,
) -> PyResult<String> {
    let experiment = experiment(text, file, &overrides, &extra_cc)?;
    let verdicts = experiment.evaluate(&parsed(&summaries)?);
    Ok(serde_json::to_string(&verdicts).expect("verdicts are plain data"))
}

/// Sets the published tables of an experiment beside the summaries (JSON) of its runs.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, summaries, extra_cc = Vec::new()))]
pub fn compare(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    summaries: Vec<String>,
    extra_cc: Vec<String>,
) -> PyResult<String> {
    let experiment = experiment(text, file, &overrides, &extra_cc)?;
    let tables = experiment.compare(&parsed(&summaries)?);
    Ok(serde_json::to_string(&tables).expect("comparisons are plain data"))
}

fn parsed(summaries: &[String]) -> PyResult<Vec<Value>> {
    summaries
        .iter()
        .map(|s| serde_json::from_str(s).map_err(|e| refuse(format!("a summary is not JSON: {e}"))))
        .collect()
}

/// The JSON schema of an experiment file.
#[pyfunction]
pub fn schema() -> String {
    experiment::schema().to_string()
}

fn fields(fields: Vec<Field>) -> Vec<Value> {
    fields
        .into_iter()
        .map(|f| {
            json!({"name": f.name, "doc": f.doc, "kind": f.kind, "default": f.default,
                   "range": f.range.map(|(low, high)| [low, high]), "choices": f.choices})
        })
        .collect()
}

/// Every congestion control, as JSON.
#[pyfunction]
pub fn algorithms() -> String {
    let all: Vec<Value> = cc::ALGORITHMS
        .iter()
        .map(|e| {
            let a = &e.about;
            json!({
                "name": a.name, "title": a.title, "paper": a.paper, "family": a.family.name(), "signal": a.signal,
                "evidence": a.evidence.text(), "departures": a.departures, "floor_packets": a.floor,
                "fields": fields((e.fields)()),
                "slow_start": match a.start {
                    cc::StartRule::Any => "any".to_string(),
                    cc::StartRule::Own(name) => format!("own:{name}"),
                    cc::StartRule::Fixed => "fixed".to_string(),
                },
            })
        })
        .collect();
    json!(all).to_string()
}

/// Every queue, as JSON.
#[pyfunction]
pub fn queues() -> String {
    let all: Vec<Value> =
        aqm::QDISCS.iter().map(|q| json!({"name": q.name, "paper": q.paper, "doc": q.doc, "scheduler": q.scheduler, "fields": fields((q.fields)())})).collect();
    json!(all).to_string()
}

/// Every slow start that may be chosen, as JSON.
#[pyfunction]
pub fn slow_starts() -> String {
    let all: Vec<Value> = cc::SLOW_STARTS
        .iter()
        .map(|s| json!({"name": s.name, "paper": s.paper, "fields": fields((s.fields)())}))
        .collect();
    json!(all).to_string()
}

/// Every stack, as JSON.
#[pyfunction]
pub fn stacks() -> String {
    json!(<tcp::Stack as params::Value>::choices()).to_string()
}

/// Every cause of a window change, as JSON.
#[pyfunction]
pub fn causes() -> String {
    let all: Vec<Value> = cc::CauseKind::ALL
        .iter()
        .map(|k| {
            let values: Vec<Value> = k
                .values()
                .iter()
                .map(|(name, unit)| json!({"name": name, "unit": format!("{unit:?}").to_lowercase()}))
                .collect();
            json!({"number": *k as u16, "name": k.name(), "doc": k.doc().trim(), "values": values})
        })
        .collect();
    json!(all).to_string()
}

/// Versions, as JSON.
#[pyfunction]
pub fn version() -> String {
    json!({"version": env!("CARGO_PKG_VERSION"), "schema": sim::SCHEMA, "model": sim::MODEL, "format": 1,
           "event": cc::EVENT_VERSION})
    .to_string()
}
