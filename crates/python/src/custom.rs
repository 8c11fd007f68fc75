//! A Python class as a congestion control: slow, for trying ideas. It has `on_ack` and `on_congestion`, and may have
//! `on_sent` and `on_event`.

use cc::{About, Ack, Congestion, CongestionControl, Ecn, Event, Flow, Reaction, Sent};
use experiment::FlowSpec;
use params::{Spec, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use units::{Bytes, Duration, Instant, Rate};

/// The classes given by the caller, and the first exception one of them raised.
pub(crate) struct Custom {
    classes: Vec<Class>,
    shared: Arc<Shared>,
}

struct Class {
    name: String,
    class: Py<PyAny>,
    ecn: Ecn,
}

struct Shared {
    failure: Mutex<Option<PyErr>>,
    stop: Arc<AtomicBool>,
}

impl Shared {
    /// Keeps the exception, with a note of which flow's it is and when, and ends the run: a congestion control has no way
    /// to return it.
    fn fail(&self, error: PyErr, of: &str, now: Instant) {
        let note = format!("flow {of} at {} s", now.as_secs_f64());
        // An exception that takes no notes is told without.
        let _ = Python::attach(|py| error.value(py).call_method1("add_note", (note,)).map(|_| ()));
        self.failure.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Custom {
    pub(crate) fn new(classes: Option<Bound<'_, PyDict>>, stop: Arc<AtomicBool>) -> PyResult<Self> {
        let mut list = Vec::new();
        for (name, class) in classes.iter().flat_map(|d| d.iter()) {
            if !class.is_callable() {
                return Err(PyTypeError::new_err(format!("python_cc[{name}] is no class: {class}")));
            }
            let name: String = name.extract()?;
            list.push(Class { ecn: ecn(&name, &class)?, name, class: class.unbind() });
        }
        Ok(Custom { classes: list, shared: Arc::new(Shared { failure: Mutex::new(None), stop }) })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.classes.iter().map(|c| c.name.clone()).collect()
    }

    pub(crate) fn failure(&self) -> Option<PyErr> {
        self.shared.failure.lock().expect("no thread panics while it holds the lock").take()
    }

    fn find(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|c| c.name == name)
    }
}

impl sim::CustomCc for Custom {
    fn about(&self, name: &str) -> Option<About> {
        self.find(name).map(|c| About { ecn: c.ecn, ..About::DEFAULT })
    }

    fn build(&self, of: &FlowSpec, flow: &mut Flow, seed: u64) -> Option<Box<dyn CongestionControl>> {
        let class = &self.find(&of.cc.name)?.class;
        let shared = self.shared.clone();
        let object = Python::attach(|py| -> PyResult<_> {
            let settings = PyDict::new(py);
            for (key, value) in &of.cc.args {
                setting(&settings, key, value)?;
            }
            let object = class.call(py, (), Some(&settings))?;
            object.setattr(py, "seed", seed)?;
            let view = Py::new(py, FlowView::of(flow, [0.0; 2]))?;
            // An attribute that is there and raises is no absent one.
            let has = |method| object.bind(py).hasattr(method);
            let (on_sent, on_event) = (has("on_sent")?, has("on_event")?);
            let exact = Cell::default();
            Ok(PythonCc { of: of.name.clone(), object, view, shared: shared.clone(), exact, on_sent, on_event })
        });
        match object {
            Ok(cc) => Some(Box::new(cc)),
            Err(error) => {
                shared.fail(error, &of.name, flow.now);
                // The run ends before its first event; until then anything will do.
                cc::build(&Spec::named("newreno"), flow, units::Rng::new(seed, 0, 0)).ok()
            }
        }
    }
}

/// What the class says of how it uses ECN, in its attribute `ecn`.
fn ecn(name: &str, class: &Bound<'_, PyAny>) -> PyResult<Ecn> {
    let words = [("off", Ecn::Off), ("classic", Ecn::Classic), ("accurate", Ecn::Accurate), ("l4s", Ecn::L4s)];
    // Only what is absent has a default: an attribute that raises is the class' mistake.
    let Some(given) = class.getattr_opt("ecn")? else { return Ok(Ecn::Classic) };
    for (word, ecn) in words {
        if given.eq(word)? {
            return Ok(ecn);
        }
    }
    let allowed = words.map(|(word, _)| format!("{word:?}")).join(", ");
    Err(PyValueError::new_err(format!("algorithms: {name}.ecn is {given:?}; allowed are {allowed}")))
}

/// A setting such as `beta=0.7` becomes an argument: truth values and numbers as such, the rest as text. They are read as
/// everywhere else, so that what a sweep takes for one value (`on` and `true`, `5%` and `0.05`) arrives as one.
fn setting(settings: &Bound<'_, PyDict>, key: &str, text: &str) -> PyResult<()> {
    if let Some(is) = bool::parse(text) {
        settings.set_item(key, is)
    } else if let Some(whole) = u64::parse(text) {
        settings.set_item(key, whole)
    } else if let Some(whole) = i64::parse(text) {
        settings.set_item(key, whole)
    } else if let Some(number) = f64::parse(text) {
        settings.set_item(key, number)
    } else {
        settings.set_item(key, text)
    }
}

/// The flow as Python sees it. `cwnd`, `ssthresh` (bytes) and `pacing_bps` may be set.
#[pyclass(name = "Flow")]
struct FlowView {
    /// Congestion window in bytes.
    #[pyo3(get, set)]
    cwnd: f64,
    /// Slow-start threshold in bytes; infinite until the first congestion.
    #[pyo3(get, set)]
    ssthresh: f64,
    /// Pacing rate in bits of payload per second, or None.
    #[pyo3(get, set)]
    pacing_bps: Option<f64>,
    /// Time in seconds.
    #[pyo3(get)]
    now: f64,
    /// Largest payload in bytes.
    #[pyo3(get)]
    mss: f64,
    /// Smoothed RTT in seconds.
    #[pyo3(get)]
    srtt: f64,
    /// Smallest RTT in seconds.
    #[pyo3(get)]
    min_rtt: f64,
    /// Bytes in flight.
    #[pyo3(get)]
    in_flight: f64,
    /// The window held the last flight back.
    #[pyo3(get)]
    cwnd_limited: bool,
    /// "open", "reduced", "recovery" or "loss".
    #[pyo3(get)]
    phase: &'static str,
}

impl FlowView {
    /// With `exact` windows where the flow still has them.
    fn of(flow: &Flow, exact: [f64; 2]) -> Self {
        let seconds = |d: Duration| d.as_secs_f64();
        let fraction = |window: Bytes, set: f64| if Bytes::from_f64(set) == window { set } else { window.as_f64() };
        FlowView {
            cwnd: fraction(flow.cwnd, exact[0]),
            ssthresh: if flow.ssthresh == Bytes::MAX { f64::INFINITY } else { fraction(flow.ssthresh, exact[1]) },
            pacing_bps: flow.pacing.map(|r| r.as_bps() as f64),
            now: flow.now.as_secs_f64(),
            mss: flow.mss.as_f64(),
            srtt: seconds(flow.srtt),
            min_rtt: seconds(flow.min_rtt),
            in_flight: flow.in_flight.as_f64(),
            cwnd_limited: flow.cwnd_limited,
            phase: match flow.phase {
                cc::Phase::Open => "open",
                cc::Phase::Reduced => "reduced",
                cc::Phase::Recovery => "recovery",
                cc::Phase::Loss => "loss",
            },
        }
    }

    /// Takes over what was set since it was `shown`, or says what of it makes no sense. The host keeps the floor: it leaves
    /// less than that after a timeout.
    fn apply(&self, shown: [f64; 2], flow: &mut Flow) -> Result<(), String> {
        if self.cwnd != shown[0] {
            flow.cwnd = window("cwnd", self.cwnd)?;
        }
        if self.ssthresh != shown[1] {
            flow.ssthresh = match self.ssthresh {
                f64::INFINITY => Bytes::MAX,
                bytes => window("ssthresh", bytes).map_err(|e| e + ", or math.inf")?,
            };
        }
        flow.pacing = match self.pacing_bps {
            Some(rate) if rate.is_nan() || rate < 1.0 => {
                let given = rate.to_string().to_lowercase();
                return Err(format!(
                    "pacing_bps = {given}; allowed are bits per second, 1 or more, or None for no pacing"
                ));
            }
            rate => rate.map(Rate::from_bps_f64),
        };
        Ok(())
    }
}

/// A window that Python gave: it comes from arithmetic, which a division by an RTT not yet measured, say, leads astray.
fn window(name: &str, bytes: f64) -> Result<Bytes, String> {
    if bytes.is_finite() && bytes >= 0.0 {
        Ok(Bytes::from_f64(bytes))
    } else {
        // As Python writes it.
        let given = bytes.to_string().to_lowercase();
        Err(format!("{name} = {given}; allowed are finite bytes, 0 or more"))
    }
}

/// An acknowledgement as Python sees it.
#[pyclass(frozen, get_all, name = "Ack")]
struct AckView {
    /// Bytes newly acknowledged in order, as far as they may grow a window.
    acked: f64,
    /// Bytes newly delivered in all.
    delivered: f64,
    /// Bytes declared lost.
    lost: f64,
    /// Bytes that arrived marked.
    ce: f64,
    /// Nothing new in order.
    duplicate: bool,
    /// A fresh RTT sample in seconds, or None.
    rtt: Option<f64>,
    /// A round ended that had RTT samples: the smallest and the largest in seconds, or None.
    round: Option<(f64, f64)>,
}

struct PythonCc {
    /// The name of its flow.
    of: String,
    object: Py<PyAny>,
    view: Py<FlowView>,
    shared: Arc<Shared>,
    /// `cwnd` and `ssthresh` as the class set them: what is less than a byte of growth an ACK is not lost.
    exact: Cell<[f64; 2]>,
    /// Methods that a class may leave out.
    on_sent: bool,
    on_event: bool,
}

impl std::fmt::Debug for PythonCc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PythonCc")
    }
}

impl PythonCc {
    /// Shows the flow, calls, and takes back what was set.
    fn call<T>(
        &self,
        method: &str,
        flow: &mut Flow,
        f: impl FnOnce(Python<'_>, &Py<PyAny>, &Py<FlowView>) -> PyResult<T>,
    ) -> Option<T> {
        // The run looks at the flag only now and then, and a class that had to be interrupted would loop again.
        if self.shared.stop.load(Ordering::Relaxed) {
            return None;
        }
        let result = Python::attach(|py| {
            let view = FlowView::of(flow, self.exact.get());
            let shown = [view.cwnd, view.ssthresh];
            *self.view.borrow_mut(py) = view;
            let value = f(py, &self.object, &self.view)?;
            let view = self.view.borrow(py);
            view.apply(shown, flow).map_err(|e| self.wrong(py, &format!("{method} set flow.{e}")))?;
            self.exact.set([view.cwnd, view.ssthresh]);
            Ok(value)
        });
        result.map_err(|e| self.shared.fail(e, &self.of, flow.now)).ok()
    }

    /// The class did what makes no sense.
    fn wrong(&self, py: Python<'_>, what: &str) -> PyErr {
        let class = self.object.bind(py).get_type();
        let class = class.name().map_or_else(|_| "the class".into(), |name| name.to_string());
        PyValueError::new_err(format!("{class}.{what}"))
    }
}

impl CongestionControl for PythonCc {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let view = AckView {
            acked: ack.cumulative.as_f64(),
            delivered: ack.delivered.as_f64(),
            lost: ack.newly_lost.as_f64(),
            ce: ack.ce.as_f64(),
            duplicate: ack.duplicate,
            rtt: ack.rtt.map(|r| r.as_secs_f64()),
            // Zeros, which stand for "no sample" there, would be the smallest RTT of any class that looks for it.
            round: ack.round.filter(|r| r.samples > 0).map(|r| (r.min_rtt.as_secs_f64(), r.max_rtt.as_secs_f64())),
        };
        self.call("on_ack", flow, |py, object, flow| object.call_method1(py, "on_ack", (flow, view)).map(|_| ()));
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        let signal = match congestion.signal {
            cc::Signal::Loss => "loss",
            cc::Signal::Ecn => "ecn",
            cc::Signal::Timeout => "timeout",
        };
        let before = flow.cwnd;
        let to = self.call("on_congestion", flow, |py, object, flow| {
            let given = object.call_method1(py, "on_congestion", (flow, signal))?;
            let allowed = "allowed are the new window in finite bytes, 0 or more, or None if flow.cwnd was set";
            let told = || self.wrong(py, &format!("on_congestion returned {:?}; {allowed}", given.bind(py)));
            let to = given.extract::<Option<f64>>(py).map_err(|_| told())?;
            to.map(|bytes| window("", bytes).map_err(|_| told())).transpose()
        });
        match to {
            Some(Some(to)) => {
                flow.cwnd = before;
                Reaction::Reduce(to)
            }
            Some(None) => Reaction::Own,
            None => Reaction::Reduce(before / 2),
        }
    }

    fn on_sent(&mut self, flow: &mut Flow, sent: &Sent) {
        if !self.on_sent {
            return;
        }
        let size = sent.size.as_f64();
        self.call("on_sent", flow, |py, object, flow| object.call_method1(py, "on_sent", (flow, size)).map(|_| ()));
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        if !self.on_event {
            return;
        }
        let name = match event {
            Event::Restart => "restart",
            Event::RecoveryEnd => "recovery_end",
            Event::Timeout => "timeout",
            Event::MssChanged => "mss_changed",
            Event::Wake => "wake",
            Event::Granted(_) => "granted",
        };
        self.call("on_event", flow, |py, object, flow| object.call_method1(py, "on_event", (flow, name)).map(|_| ()));
    }
}
