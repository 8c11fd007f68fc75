//! Descriptions as JSON: what `list`, `show` and the checks print.

use experiment::{Case, Experiment};
use params::{Field, Value as _};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use tun::addresses::{RECEIVERS, SENDERS, host, network};

create_exception!(sojourn._core, SpecError, PyValueError, "An experiment, a name or a value that cannot be used.");

pub(crate) fn refuse(error: impl std::fmt::Display) -> PyErr {
    SpecError::new_err(error.to_string())
}

/// The same of an experiment, with its parts as attributes: `source`, `key` and `what`.
pub(crate) fn unsound(error: experiment::Error) -> PyErr {
    let refused = refuse(&error);
    Python::attach(|py| {
        for (name, part) in [("source", error.source_name()), ("key", error.key()), ("what", error.what())] {
            refused.value(py).setattr(name, part)?;
        }
        Ok(())
    })
    .map_or_else(|failed: PyErr| failed, |()| refused)
}

/// An experiment as Python has it: `sojourn._types.Experiment`.
#[derive(FromPyObject)]
pub struct Source {
    text: String,
    pub(crate) file: String,
    overrides: Vec<(String, String)>,
    classes: Vec<String>,
}

impl Source {
    /// Parses it and applies its `--set` overrides.
    pub(crate) fn experiment(&self) -> PyResult<Experiment> {
        self.experiment_with(&self.classes)
    }

    /// The same with these congestion controls from outside the registry: those that a run has, or none.
    pub(crate) fn experiment_with(&self, classes: &[String]) -> PyResult<Experiment> {
        let classes: Vec<&str> = classes.iter().map(String::as_str).collect();
        let mut experiment = experiment::parse_with(&self.text, &self.file, &classes).map_err(unsound)?;
        let overrides = self.overrides.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        experiment.set_all(overrides).map_err(unsound)?;
        Ok(experiment)
    }

    /// One of its cases.
    pub(crate) fn case(&self, case: usize) -> PyResult<Case> {
        self.experiment()?.case(case).map_err(unsound)
    }
}

/// Checks an experiment; returns its cases as JSON.
#[pyfunction]
pub fn check(experiment: Source) -> PyResult<String> {
    Ok(experiment.experiment()?.describe().map_err(unsound)?.to_string())
}

/// What is wrong with a figure that the experiment asks for, at its place there, to be raised.
#[pyfunction]
pub fn misdrawn(experiment: Source, number: usize, message: &str) -> PyResult<PyErr> {
    Ok(unsound(experiment.experiment()?.misdrawn(number, message)))
}

/// The cases that an experiment's printed cells and claims speak of, each with those that its claims compare it with.
#[pyfunction]
pub fn asked(experiment: Source) -> PyResult<Vec<(usize, Vec<usize>)>> {
    experiment.experiment()?.asked().map_err(unsound)
}

/// Evaluates the claims of an experiment on the summaries (JSON) of its runs.
#[pyfunction]
pub fn evaluate(experiment: Source, summaries: Vec<String>) -> PyResult<String> {
    let verdicts = experiment.experiment()?.evaluate(&parsed(&summaries)?).map_err(unsound)?;
    Ok(serde_json::to_string(&verdicts).expect("verdicts are plain data"))
}

/// Sets the published tables of an experiment beside the summaries (JSON) of its runs.
#[pyfunction]
pub fn compare(experiment: Source, summaries: Vec<String>) -> PyResult<String> {
    let tables = experiment.experiment()?.compare(&parsed(&summaries)?);
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
                "takes_ecn": a.ecn != cc::Ecn::Off,
                "fields": fields((e.fields)()), "variables": sim::shown::by_control(e),
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

/// An algorithm's parameters as whole numbers, as JSON: what its C in `bpf/` is built with.
#[pyfunction]
pub fn whole_numbers(spec: &str) -> PyResult<String> {
    let spec: params::Spec = spec.parse().map_err(refuse)?;
    let numbers = cc::find(&spec.name).and_then(|entry| entry.whole_numbers(&spec)).map_err(refuse)?;
    let all: serde_json::Map<_, _> = numbers.into_iter().map(|(name, n)| (name.to_string(), json!(n))).collect();
    Ok(Value::Object(all).to_string())
}

/// The columns and events of the table `diftr`.
#[pyfunction]
pub fn diftr() -> String {
    let rows = |pairs: &[(&str, &str)]| -> Value {
        pairs.iter().map(|(name, doc)| json!({"name": name, "doc": doc})).collect()
    };
    let vars: Vec<_> = aqm::VARS.iter().map(|var| (var.name, var.doc)).collect();
    json!({"columns": rows(&sim::diftr::COLUMNS), "events": rows(&sim::diftr::EVENTS), "vars": rows(&vars)}).to_string()
}

/// Every queue, as JSON.
#[pyfunction]
pub fn queues() -> String {
    let sought =
        |name: &str| aqm::SOUGHT.iter().filter(|(_, near)| *near == name).map(|(sought, _)| *sought).collect::<Value>();
    let all: Vec<Value> =
        aqm::QDISCS.iter().map(|q| json!({"name": q.name, "law": q.law, "paper": q.paper, "doc": q.doc, "scheduler": q.scheduler, "sought_as": sought(q.name), "variables": sim::shown::by_queue(q), "fields": fields((q.fields)())})).collect();
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

/// Every kind of traffic, as JSON.
#[pyfunction]
pub fn traffic() -> String {
    let all: Vec<Value> = experiment::TRAFFIC
        .iter()
        .map(|t| json!({"name": t.name, "doc": t.doc, "transport": if t.udp { "UDP" } else { "TCP" }, "fields": fields((t.fields)())}))
        .collect();
    json!(all).to_string()
}

/// Every figure of a summary, as JSON: its path, with `*` for a key that the algorithm chooses.
#[pyfunction]
pub fn figures() -> String {
    experiment::metrics().iter().map(|(subject, leaf)| format!("{subject}.{leaf}")).collect::<Value>().to_string()
}

/// Every stack, as JSON.
#[pyfunction]
pub fn stacks() -> String {
    json!(<tcp::Stack as params::Value>::choices()).to_string()
}

/// A value with its unit as its number, its unit, its kind and the unit's scale; none where it is no value.
#[pyfunction]
pub fn quantity(text: &str) -> Option<(f64, &str, &'static str, f64)> {
    params::measure(text).map(|m| (m.value, m.unit, m.kind, m.scale))
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
                .map(|(name, unit)| {
                    let unit = format!("{unit:?}").to_lowercase();
                    json!({"name": name, "unit": unit, "words": cc::words(name)})
                })
                .collect();
            json!({"number": *k as u16, "name": k.name(), "doc": k.doc().trim(), "values": values})
        })
        .collect();
    json!(all).to_string()
}

/// Limits that a front end holds input to before the core sees it, as JSON.
#[pyfunction]
pub fn limits() -> String {
    use experiment::limits::{REPEAT_MAX, RUNS_MAX, SEED_MAX, SERIES_MAX, SERIES_MIN, TEXT_MAX};
    let series = [SERIES_MIN, SERIES_MAX].map(|step| (step.show(), step.as_millis_f64()));
    json!({"text": TEXT_MAX, "repeat": REPEAT_MAX, "runs": RUNS_MAX, "seed": SEED_MAX, "series": series}).to_string()
}

/// The networks of the senders and of the receivers of an experiment over the kernel's hosts.
#[pyfunction]
pub fn networks() -> (String, String) {
    (network(SENDERS), network(RECEIVERS))
}

/// The addresses there of so many flows' senders and receivers.
#[pyfunction]
pub fn addresses(flows: usize) -> (Vec<String>, Vec<String>) {
    let of = |first| (0..flows).map(|flow| host(first, flow).to_string()).collect();
    (of(SENDERS), of(RECEIVERS))
}

/// The swept keys of an experiment.
#[pyfunction]
pub fn swept(experiment: Source) -> PyResult<Vec<String>> {
    Ok(experiment.experiment()?.swept().into_iter().map(|(key, _)| key).collect())
}

/// Versions, as JSON.
#[pyfunction]
pub fn version() -> String {
    json!({"version": env!("CARGO_PKG_VERSION"), "schema": sim::SCHEMA, "model": sim::MODEL, "format": experiment::limits::FORMAT,
           "event": cc::EVENT_VERSION, "git": option_env!("SOJOURN_COMMIT").unwrap_or_default()})
    .to_string()
}
