//! One repetition of one case, with the interpreter free to do other work meanwhile.

use crate::convert::{Source, refuse, unsound};
use crate::custom::Custom;
use experiment::limits::{SERIES_MAX, SERIES_MIN};
use params::Value;
use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sim::{Keep, Options, Recorder, RunError, Summary, Table, Tape};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use units::Duration;

create_exception!(sojourn._core, Stopped, PyRuntimeError, "The run was stopped before its end.");

/// Stops runs from another thread.
#[pyclass(frozen)]
#[derive(Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// The flag that was given, or one that nobody sets.
    pub(crate) fn of(given: Option<&StopFlag>) -> Arc<AtomicBool> {
        given.map_or_else(Arc::default, |flag| flag.0.clone())
    }
}

#[pymethods]
impl StopFlag {
    #[new]
    fn new() -> Self {
        Self::default()
    }
    /// Asks every run that holds the flag to end.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// Has it been set?
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a run gave.
#[pyclass(frozen)]
pub struct RunResult {
    #[pyo3(get)]
    summary: String,
    #[pyo3(get)]
    names: Vec<&'static str>,
    tables: Vec<(&'static str, Table)>,
}

impl RunResult {
    pub(crate) fn new(summary: String, names: Vec<&'static str>, tables: Vec<(&'static str, Table)>) -> Self {
        RunResult { summary, names, tables }
    }
}

#[pymethods]
impl RunResult {
    /// Tables by name; columns as (type, little-endian bytes).
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for (name, table) in &self.tables {
            let columns = PyDict::new(py);
            for (column, values) in table {
                columns.set_item(column, (values.dtype(), PyBytes::new(py, &values.bytes())))?;
            }
            tables.set_item(name, columns)?;
        }
        Ok(tables)
    }
}

fn finish(
    mut summary: Summary,
    recorder: Option<Recorder>,
    values: Vec<(String, String)>,
    began: Instant,
) -> RunResult {
    summary.case = values.into_iter().collect();
    summary.wall_s = began.elapsed().as_secs_f64();
    let mut tables = std::mem::take(&mut summary.tables);
    let mut names = Vec::new();
    if let Some(recorder) = recorder {
        tables.extend(recorder.tables());
        names = recorder.names().to_vec();
    }
    RunResult { summary: serde_json::to_string(&summary).expect("a summary is plain data"), names, tables }
}

/// Why a run did not come to its end, as an exception.
pub(crate) fn unfinished(error: RunError) -> PyErr {
    match error {
        RunError::Stopped => Stopped::new_err("the run was stopped before its end"),
        error => refuse(error),
    }
}

/// What is kept of a run, as Python says it: `sojourn._types.Record`.
#[derive(FromPyObject)]
pub struct Record {
    series_ms: Option<f64>,
    events: bool,
    pub(crate) acks: bool,
    diftr: bool,
    window: Option<(f64, f64)>,
}

impl Record {
    fn window(&self) -> Option<(units::Instant, units::Instant)> {
        self.window.map(|(from, to)| (units::Instant::from_secs_f64(from), units::Instant::from_secs_f64(to)))
    }

    pub(crate) fn keep(&self) -> PyResult<Keep> {
        let series = self.series_ms.map(step).transpose()?;
        Ok(Keep { series, window: self.window(), events: self.events, diftr: self.diftr })
    }
}

fn step(ms: f64) -> PyResult<Duration> {
    let step = Duration::from_millis_f64(ms);
    if (SERIES_MIN..=SERIES_MAX).contains(&step) {
        Ok(step)
    } else {
        let (least, most) = (SERIES_MIN.show(), SERIES_MAX.show());
        Err(refuse(format!("series: the step must lie between {least} and {most}")))
    }
}

/// Runs one repetition of one case. Raises `SpecError` on bad input and `Stopped` when the flag was set.
#[pyfunction]
#[pyo3(signature = (experiment, case, repetition, record, *, stop = None, python_cc = None))]
pub fn run(
    py: Python<'_>,
    experiment: Source,
    case: usize,
    repetition: u32,
    record: Record,
    stop: Option<&StopFlag>,
    python_cc: Option<Bound<'_, PyDict>>,
) -> PyResult<RunResult> {
    let began = Instant::now();
    let stop = StopFlag::of(stop);
    let custom = Custom::new(python_cc, stop.clone())?;
    let case = experiment.experiment_with(&custom.names())?.case(case).map_err(unsound)?;
    let keep = record.keep()?;
    let tape = record.acks.then(|| Tape::between(record.window()));
    let outcome = py.detach(|| {
        let options =
            Options { repetition, stop: Some(&*stop), custom: Some(&custom), tape: tape.as_ref(), outside: false };
        if keep == Keep::default() {
            sim::run(&case.scenario, (), options).map(|(s, ())| (s, None))
        } else {
            sim::run(&case.scenario, Recorder::new(keep), options).map(|(s, r)| (s, Some(r)))
        }
    });
    if let Some(error) = custom.failure() {
        return Err(error);
    }
    let (mut summary, recorder) = outcome.map_err(unfinished)?;
    summary.tables.extend(tape.map(|t| ("acks", t.table())));
    Ok(finish(summary, recorder, case.values, began))
}
