//! One repetition of one case, captured as pcapng.

use crate::convert::{Source, unsound};
use crate::run::{StopFlag, unfinished};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use sim::Options;
use sim::capture::{Capture, Wanted, points};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

/// Where packets of a case can be captured.
#[pyfunction]
pub fn capture_points(experiment: Source, case: usize) -> PyResult<Vec<String>> {
    let case = experiment.case(case)?;
    Ok(points(&case.scenario).into_iter().map(str::to_string).collect())
}

/// Runs one repetition of one case and writes its packets to `out`. Returns the run's digest and the number of packets.
#[pyfunction]
#[pyo3(signature = (experiment, case, repetition, out, *, points, flows, title, stop = None))]
#[allow(clippy::too_many_arguments)]
pub fn capture(
    py: Python<'_>,
    experiment: Source,
    case: usize,
    repetition: u32,
    out: PathBuf,
    points: Vec<String>,
    flows: Vec<u32>,
    title: &str,
    stop: Option<&StopFlag>,
) -> PyResult<(String, u64)> {
    let stop = StopFlag::of(stop);
    // Nothing runs a class in Python here.
    let case = experiment.experiment_with(&[])?.case(case).map_err(unsound)?;
    let failed = |e: std::io::Error| PyOSError::new_err((e.raw_os_error().unwrap_or(0), e.to_string()));
    let sink = BufWriter::with_capacity(1 << 18, File::create(&out).map_err(failed)?);
    let capture = Capture::new(&case.scenario, &Wanted { points, flows }, sink, title).map_err(failed)?;
    let outcome = py.detach(|| {
        let options = Options { repetition, stop: Some(&*stop), custom: None, tape: None, outside: false };
        sim::run(&case.scenario, capture, options).map(|(summary, capture)| (summary.digest, capture.finish()))
    });
    let (digest, written) = outcome.map_err(unfinished)?;
    Ok((digest, written.map_err(failed)?.0))
}
