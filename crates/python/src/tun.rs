//! Namespaces, TUN devices and runs between them.

use crate::convert::{experiment, refuse, unsound};
use crate::run::{RunResult, step, unfinished};
use ::tun::{Hosts, Setup, Shared, Sorter, Wanted, drive};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use sim::outside::Arrival;
use sim::packet::Way;
use sim::{Keep, Recorder, RunError};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

/// The run, the flows that programs made with whether each goes by the first link, its end in seconds, and why the capture
/// is not whole.
type Finished = (RunResult, Vec<(String, bool)>, f64, Option<String>);
/// Recorded arrivals: `time_ns`, `flow`, `way`, `size`, `ecn`.
type Columns = (Vec<u64>, Vec<u32>, Vec<u16>, Vec<u32>, Vec<u16>);

/// A network namespace that lives as long as this object.
#[pyclass(frozen)]
pub struct Namespace(::tun::Namespace);

#[pymethods]
impl Namespace {
    #[new]
    fn new() -> PyResult<Self> {
        ::tun::Namespace::new().map(Namespace).map_err(|e| PyOSError::new_err(e.to_string()))
    }

    /// Where other programs find it: `nsenter --net=PATH`.
    #[getter]
    fn path(&self) -> String {
        self.0.path()
    }

    /// The kernel's tables of its sockets, with their names.
    fn sockets(&self) -> PyResult<Vec<(&'static str, String)>> {
        let names = ["tcp", "tcp6", "udp", "udp6"];
        let read = |name| {
            let path = format!("/proc/thread-self/net/{name}");
            std::fs::read_to_string(path).map(|text| (name, text))
        };
        let tables = self.0.within(|| names.into_iter().map(read).collect());
        tables.map_err(|e| PyOSError::new_err(format!("the tables of sockets: {e}")))
    }

    /// Sets a value under /proc/sys/net in it.
    fn sysctl(&self, name: &str, value: &str) -> PyResult<()> {
        let path = format!("/proc/sys/net/{name}");
        let set = self.0.within(|| std::fs::write(&path, value));
        set.map_err(|e| PyOSError::new_err(format!("{path}: {e}")))
    }

    /// Reads a value under /proc/sys/net in it.
    fn read_sysctl(&self, name: &str) -> PyResult<String> {
        let path = format!("/proc/sys/net/{name}");
        let read = self.0.within(|| std::fs::read_to_string(&path));
        read.map(|text| text.trim().to_string()).map_err(|e| PyOSError::new_err(format!("{path}: {e}")))
    }
}

/// A TUN device that lives as long as this object.
#[pyclass(frozen)]
pub struct Device(::tun::Device);

#[pymethods]
impl Device {
    #[new]
    fn new(namespace: &Namespace, name: &str) -> PyResult<Self> {
        ::tun::Device::new(&namespace.0, name).map(Device).map_err(|e| PyOSError::new_err(e.to_string()))
    }
}

type Ended = Result<::tun::Outcome, ::tun::Failure>;

/// A run between two devices, on a thread of its own.
#[pyclass(frozen)]
pub struct Emulator {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<Ended>>>,
    values: Vec<(String, String)>,
    began: Instant,
    /// The end that an experiment's flows have; programs end when they like.
    end: Option<units::Instant>,
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.lock().ok().and_then(|mut t| t.take()) {
            let _ = thread.join();
        }
    }
}

#[pymethods]
impl Emulator {
    /// Starts. Without `congestion_controls` it carries what programs send. With them it runs the case's flows over the
    /// kernel's TCP, each flow with (name in the kernel, delay-based, paced, judges its window itself, tells what it does), between
    /// the two namespaces. `rings` are the maps of algorithms that tell, each with the count of what was lost.
    #[new]
    #[pyo3(signature = (text, file, overrides, case, repetition, near, far, *, series_ms = None, events = false,
        diftr = false, arrivals = false, capture = None, points = Vec::new(), realtime = true, namespaces = None,
        congestion_controls = None, lowat = 32_768, rings = Vec::new(), acks = false))]
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    fn new(
        text: &str,
        file: &str,
        overrides: Vec<(String, String)>,
        case: usize,
        repetition: u32,
        near: &Device,
        far: &Device,
        series_ms: Option<f64>,
        events: bool,
        diftr: bool,
        arrivals: bool,
        capture: Option<PathBuf>,
        points: Vec<String>,
        realtime: bool,
        namespaces: Option<(Bound<'_, Namespace>, Bound<'_, Namespace>)>,
        congestion_controls: Option<Vec<(Option<String>, bool, bool, bool, bool)>>,
        lowat: u32,
        rings: Vec<(u32, Option<u32>)>,
        acks: bool,
    ) -> PyResult<Self> {
        let experiment = experiment(text, file, &overrides, &[])?;
        let case = experiment.case(case).map_err(unsound)?;
        let scenario = case.scenario;
        let keep = Keep { series: series_ms.map(step).transpose()?, window: None, events, diftr };
        let seed = scenario.run.seed.wrapping_add(repetition as u64);
        let wrong = |e: ::tun::Failure| PyRuntimeError::new_err(e.to_string());
        let end = congestion_controls.is_some().then(|| units::Instant::ZERO + scenario.run.duration);
        let (sorter, hosts) = match (congestion_controls, namespaces) {
            (Some(all), Some((near, far))) => {
                let wanted: Vec<Wanted> = all
                    .into_iter()
                    .map(|(cc, delay_based, paced, own_window, tells)| Wanted {
                        cc,
                        delay_based,
                        paced,
                        own_window,
                        tells,
                    })
                    .collect();
                let flows = scenario.flows.len() as u32;
                let homes = [&near.get().0, &far.get().0];
                let hosts = Hosts::new(homes, &scenario.flows, &wanted, lowat, seed).map_err(wrong)?;
                (Sorter::Experiment { flows }, Some(hosts))
            }
            _ => (Sorter::programs(&scenario.flows[0]), None),
        };
        let title = format!("{file}, repetition {repetition}");
        let capture = capture.map(|path| (path, points, title));
        let ends = [near.0.clone(), far.0.clone()];
        let setup = Setup { scenario, repetition, ends, keep, arrivals, capture, realtime, rings, acks };
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let thread = std::thread::Builder::new()
            .name("emulator".into())
            .spawn(move || drive(setup, sorter, hosts, &theirs))
            .map_err(|e| PyOSError::new_err(e.to_string()))?;
        Ok(Emulator { shared, thread: Mutex::new(Some(thread)), values: case.values, began: Instant::now(), end })
    }

    /// A glance at it, as JSON.
    fn status(&self) -> String {
        let status = self.shared.status.lock().map(|s| s.clone()).unwrap_or_default();
        serde_json::to_string(&status).expect("a status is plain data")
    }

    /// Is it still going?
    fn running(&self) -> bool {
        self.thread.lock().is_ok_and(|t| t.as_ref().is_some_and(|t| !t.is_finished()))
    }

    /// Asks it to end.
    fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Waits for the end; what the run gave, with the names and ways of the flows that programs made. Raises `Stopped` where
    /// an experiment's flows had not come to theirs.
    fn finish(&self, py: Python<'_>) -> PyResult<Finished> {
        let thread = self.thread.lock().ok().and_then(|mut t| t.take());
        let thread = thread.ok_or_else(|| PyRuntimeError::new_err("the run is over"))?;
        let ended = py.detach(|| thread.join()).map_err(|_| PyRuntimeError::new_err("the emulator panicked"))?;
        let outcome = ended.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        if self.end.is_some_and(|end| outcome.end < end) {
            return Err(unfinished(RunError::Stopped));
        }
        let mut summary = outcome.summary;
        summary.case = self.values.iter().cloned().collect();
        summary.wall_s = self.began.elapsed().as_secs_f64();
        let mut summary: Value = serde_json::to_value(&summary).expect("a summary is plain data");
        summary["validity"] = json!(outcome.validity);
        let flows = outcome.flows.iter().map(|f| (f.name.clone(), f.route.first() == Some(&0))).collect();
        let end = outcome.end.as_nanos() as f64 * 1e-9;
        let uncaptured = outcome.uncaptured.map(|e| e.to_string());
        Ok((RunResult::new(summary.to_string(), outcome.names, outcome.tables), flows, end, uncaptured))
    }
}

/// What a loaded algorithm tells: its ring, a map of BPF, and the map that counts what it had no room for.
#[pyclass(frozen)]
pub struct Ring(Mutex<::tun::Ring>);

#[pymethods]
impl Ring {
    #[new]
    #[pyo3(signature = (ring, lost = None))]
    fn new(ring: u32, lost: Option<u32>) -> PyResult<Self> {
        let opened = ::tun::Ring::new(ring, lost);
        opened.map(|r| Ring(Mutex::new(r))).map_err(|e| PyOSError::new_err(format!("map {ring} of BPF: {e}")))
    }

    /// What has been written since the last call, oldest first.
    fn read<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        let mut records = Vec::new();
        if let Ok(mut ring) = self.0.lock() {
            ring.take(|record| records.push(PyBytes::new(py, record)));
        }
        records
    }

    /// How many records found no room since this was made.
    fn lost(&self) -> PyResult<u64> {
        self.0.lock().map_or(Ok(0), |ring| ring.lost().map_err(|e| PyOSError::new_err(e.to_string())))
    }
}

/// Why the kernel's hosts cannot run a case, with what they can, if they cannot; its congestion controls aside. With
/// `carried` also why a machine such as the one that was measured does not carry it in real time.
#[pyfunction]
pub fn linux_refuses(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    case: usize,
    carried: bool,
) -> PyResult<Option<String>> {
    let case = experiment(text, file, &overrides, &[])?.case(case).map_err(unsound)?;
    let able = ::tun::able::able(&case.scenario);
    Ok(if carried { able.and_then(|()| ::tun::able::carried(&case.scenario)) } else { able }.err())
}

/// What the senders of a case ask of the system, per flow: name, datagrams, ECN, initial window (segments), segments of an
/// offload burst, a pace of its own.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn linux_asks(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    case: usize,
) -> PyResult<Vec<(String, bool, bool, u32, u32, bool)>> {
    let case = experiment(text, file, &overrides, &[])?.case(case).map_err(unsound)?;
    let asks = |f: &::experiment::FlowSpec| {
        let datagrams = matches!(f.traffic, ::experiment::Traffic::Cbr { .. });
        (f.name.clone(), datagrams, f.ecn, f.initial_window, ::tun::able::burst(f), f.pacing)
    };
    Ok(case.scenario.flows.iter().map(asks).collect())
}

/// Plays recorded arrivals through the links of a case: columns `time_ns`, `flow`, `way`, `size` and `ecn`, and for flows
/// that programs made whether each goes by the first link. The result has the table `drops`.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn replay(
    py: Python<'_>,
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    case: usize,
    repetition: u32,
    columns: Columns,
    flows: Vec<(String, bool)>,
    end_s: f64,
) -> PyResult<RunResult> {
    let experiment = experiment(text, file, &overrides, &[])?;
    let scenario = experiment.case(case).map_err(unsound)?.scenario;
    let (times, numbers, ways, sizes, marks) = columns;
    let rows = times.len();
    if [numbers.len(), ways.len(), sizes.len(), marks.len()] != [rows; 4] {
        return Err(refuse("the columns of recorded arrivals differ in length"));
    }
    let at = |i: usize| Arrival {
        at: units::Instant::from_nanos(times[i]),
        flow: numbers[i],
        way: if ways[i] == 0 { Way::Out } else { Way::Back },
        size: sizes[i],
        ecn: marks[i] as u8,
    };
    let arrivals: Vec<Arrival> = (0..rows).map(at).collect();
    if !arrivals.is_sorted_by_key(|a| a.at) {
        return Err(refuse("the recorded arrivals are not in order of time"));
    }
    let mut specs = scenario.flows.clone();
    let template = scenario.flows[0].clone();
    for (name, first) in flows {
        let mut spec = template.clone();
        (spec.name, spec.back) = (name, Vec::new());
        spec.route = if first { template.route.clone() } else { template.back.clone() };
        specs.push(spec);
    }
    let end = units::Instant::from_nanos((end_s * 1e9).round() as u64);
    let recorder = Recorder::new(Keep { events: true, ..Keep::default() });
    let played = py.detach(|| sim::outside::replay(&scenario, &specs, &arrivals, end, recorder, repetition));
    let (summary, recorder) = played.map_err(refuse)?;
    let names = recorder.names().to_vec();
    let text = serde_json::to_string(&summary).expect("a summary is plain data");
    Ok(RunResult::new(text, names, recorder.tables()))
}
