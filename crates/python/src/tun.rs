//! Namespaces, TUN devices and runs between them.

use crate::convert::{Source, refuse};
use crate::run::{Record, RunResult, unfinished};
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

/// What a run between two devices gave.
#[pyclass(frozen, get_all)]
pub struct Finished {
    /// The run.
    result: Py<RunResult>,
    /// The flows that programs made, with whether each goes by the first link.
    flows: Vec<(String, bool)>,
    /// Its end.
    seconds: f64,
    /// Why the capture is not whole.
    uncaptured: Option<String>,
}

/// What is kept of one, as Python says it: `sojourn._types.Kept`.
#[derive(FromPyObject)]
pub struct Kept {
    record: Record,
    arrivals: bool,
    capture: Option<PathBuf>,
    points: Vec<String>,
}

/// How the kernel is to run a flow, as Python says it: `sojourn._types.KernelFlow`.
#[derive(FromPyObject)]
struct KernelFlow {
    cc: Option<String>,
    delay_based: bool,
    paced: bool,
    own_window: bool,
    tells: bool,
}

impl From<KernelFlow> for Wanted {
    fn from(KernelFlow { cc, delay_based, paced, own_window, tells }: KernelFlow) -> Self {
        Wanted { cc, delay_based, paced, own_window, tells }
    }
}

/// The kernel's hosts, as Python says them: `sojourn._types.KernelHosts`.
#[derive(FromPyObject)]
pub struct KernelHosts {
    spaces: (Py<Namespace>, Py<Namespace>),
    flows: Vec<KernelFlow>,
    lowat: u32,
    rings: Vec<(u32, Option<u32>)>,
}

/// Arrivals that were recorded, as the columns of their table.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Arrivals {
    time_ns: Vec<u64>,
    flow: Vec<u32>,
    way: Vec<u16>,
    size: Vec<u32>,
    ecn: Vec<u16>,
}

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
    /// Starts. Without `hosts` it carries what programs send; with them it runs the case's flows over the kernel's TCP.
    #[new]
    #[pyo3(signature = (experiment, case, repetition, devices, kept, *, realtime = true, hosts = None))]
    fn new(
        experiment: Source,
        case: usize,
        repetition: u32,
        devices: (Py<Device>, Py<Device>),
        kept: Kept,
        realtime: bool,
        hosts: Option<KernelHosts>,
    ) -> PyResult<Self> {
        let case = experiment.case(case)?;
        let scenario = case.scenario;
        let keep = Keep { window: None, ..kept.record.keep()? };
        let seed = scenario.run.seed.wrapping_add(repetition as u64);
        let end = hosts.is_some().then(|| units::Instant::ZERO + scenario.run.duration);
        let (sorter, hosts, rings) = match hosts {
            Some(KernelHosts { spaces: (near, far), flows, lowat, rings }) => {
                let wanted: Vec<Wanted> = flows.into_iter().map(Wanted::from).collect();
                let homes = [&near.get().0, &far.get().0];
                let hosts = Hosts::new(homes, &scenario.flows, &wanted, lowat, seed)
                    .map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
                (Sorter::Experiment { flows: scenario.flows.len() as u32 }, Some(hosts), rings)
            }
            None => (Sorter::programs(&scenario.flows[0]), None, Vec::new()),
        };
        let title = format!("{}, repetition {repetition}", experiment.file);
        let capture = kept.capture.map(|path| (path, kept.points, title));
        let ends = [devices.0.get().0.clone(), devices.1.get().0.clone()];
        let (arrivals, acks) = (kept.arrivals, kept.record.acks);
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

    /// Waits for the end. Raises `Stopped` where an experiment's flows had not come to theirs.
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
        let seconds = outcome.end.as_nanos() as f64 * 1e-9;
        let uncaptured = outcome.uncaptured.map(|e| e.to_string());
        let result = Py::new(py, RunResult::new(summary.to_string(), outcome.names, outcome.tables))?;
        Ok(Finished { result, flows, seconds, uncaptured })
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
pub fn linux_refuses(experiment: Source, case: usize, carried: bool) -> PyResult<Option<String>> {
    let case = experiment.case(case)?;
    let able = ::tun::able::able(&case.scenario);
    Ok(if carried { able.and_then(|()| ::tun::able::carried(&case.scenario)) } else { able }.err())
}

/// What the sender of a flow asks of the system.
#[pyclass(frozen, get_all)]
pub struct Asks {
    /// It sends datagrams.
    datagrams: bool,
    /// ECN, which its congestion control takes.
    ecn: bool,
    /// In segments, if it is another than the kernel's.
    initial_window: Option<u32>,
    /// Segments of an offload burst.
    burst: u32,
    /// A pace of its own.
    paced: bool,
}

/// What the senders of a case ask, per flow.
#[pyfunction]
pub fn linux_asks(experiment: Source, case: usize) -> PyResult<Vec<Asks>> {
    let usual = tcp::Config::of(tcp::Stack::Linux).initial_window;
    let asks = |f: &::experiment::FlowSpec| Asks {
        datagrams: matches!(f.traffic, ::experiment::Traffic::Cbr { .. }),
        ecn: f.ecn && !cc::find(&f.cc.name).is_ok_and(|entry| entry.about.ecn == cc::Ecn::Off),
        initial_window: (f.initial_window != usual).then_some(f.initial_window),
        burst: ::tun::able::burst(f),
        paced: f.pacing,
    };
    Ok(experiment.case(case)?.scenario.flows.iter().map(asks).collect())
}

/// Plays recorded arrivals through the links of a case; of flows that programs made `flows` has whether each goes by the
/// first link. The result has the table `drops`.
#[pyfunction]
pub fn replay(
    py: Python<'_>,
    experiment: Source,
    case: usize,
    repetition: u32,
    arrivals: Arrivals,
    flows: Vec<(String, bool)>,
    end_s: f64,
) -> PyResult<RunResult> {
    let scenario = experiment.case(case)?.scenario;
    let Arrivals { time_ns: times, flow: numbers, way: ways, size: sizes, ecn: marks } = arrivals;
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
