//! Dumbbells for tests.

use experiment::{FlowSpec, Link, RateSpec, Run, Scenario, Traffic, Vary};
use sim::probe::{Probe, Trace};
use sim::{Options, RunError, Summary};
use tcp::{Offload, Stack};
use units::{Bytes, Duration, Instant, Rate};

pub fn ms(ms: f64) -> Duration {
    Duration::from_millis_f64(ms)
}

pub fn link(name: &str, rate: Option<f64>, delay: Duration, buffer: Option<usize>, queue: &str) -> Link {
    Link {
        rate: rate.map(|mbps| RateSpec::Constant(Rate::from_mbps(mbps))),
        delay,
        buffer: buffer.map(aqm::Limit::Packets),
        ..Link::plain(name, queue.parse().unwrap())
    }
}

/// Opportunities at these milliseconds.
pub fn trace(at_ms: &[u64]) -> RateSpec {
    RateSpec::Trace { file: String::new(), times: at_ms.iter().map(|ms| Instant::from_millis(*ms)).collect() }
}

pub fn flow(name: &str, cc: &str, rtt_ms: f64) -> FlowSpec {
    FlowSpec {
        name: name.into(),
        group: 0,
        cc: cc.parse().unwrap(),
        stack: Stack::Linux,
        start: Instant::ZERO,
        stop: None,
        lasts: None,
        route: vec![0],
        back: vec![1],
        edge: Duration::ZERO,
        edge_back: Duration::ZERO,
        access: None,
        traffic: Traffic::Bulk { header: Bytes::ZERO },
        ecn: false,
        delayed_ack: true,
        writes: Bytes::ZERO,
        clock_skew_ppb: 0,
        clock_drift_ppb: 0,
        pacing: false,
        pacing_quantum: 1,
        initial_window: 10,
        mss: Bytes::new(1448),
        receive_window: Bytes::new(64 << 20),
        read_rate: None,
        offload: Offload::Off,
        base_rtt: ms(rtt_ms),
    }
}

/// A dumbbell: every flow in a group of its own, no variation, the whole run measured.
pub fn dumbbell(mbps: f64, rtt_ms: f64, packets: usize, queue: &str, ccs: &[&str], seconds: u64) -> Scenario {
    let mut flows: Vec<FlowSpec> = ccs
        .iter()
        .enumerate()
        .map(|(i, cc)| flow(&format!("{}-{i}", cc.split('(').next().unwrap()), cc, rtt_ms))
        .collect();
    for (i, f) in flows.iter_mut().enumerate() {
        f.group = i;
    }
    Scenario {
        links: vec![
            link("bottleneck", Some(mbps), ms(rtt_ms / 2.0), Some(packets), queue),
            link("return", None, ms(rtt_ms / 2.0), None, "fifo"),
        ],
        groups: flows.iter().map(|f| f.name.clone()).collect(),
        flows,
        run: Run {
            duration: Duration::from_secs(seconds),
            measure: (Instant::ZERO, Instant::ZERO + Duration::from_secs(seconds)),
            seed: 1,
            repeat: 1,
            vary: Vary::None,
            processing: None,
            gaps: Vec::new(),
            estimates: false,
        },
    }
}

pub fn run(s: &Scenario) -> Summary {
    sim::run(s, (), Options::default()).unwrap().0
}

/// `sim::run` with any probe: the simulator is compiled once for all of them, not once for each (twenty seconds).
pub fn run_with<P: Probe>(s: &Scenario, mut probe: P, options: Options<'_>) -> Result<(Summary, P), RunError> {
    let (summary, _) = sim::run(s, Shared(&mut probe), options)?;
    Ok((summary, probe))
}

pub fn watch<P: Probe>(s: &Scenario, probe: P) -> (Summary, P) {
    run_with(s, probe, Options::default()).unwrap()
}

/// A probe without its type.
trait See {
    fn see(&mut self, now: Instant, trace: Trace<'_>);
    fn queues(&self) -> bool;
    fn step(&self) -> Option<Duration>;
}

impl<P: Probe> See for P {
    fn see(&mut self, now: Instant, trace: Trace<'_>) {
        Probe::see(self, now, trace);
    }
    fn queues(&self) -> bool {
        Probe::queues(self)
    }
    fn step(&self) -> Option<Duration> {
        Probe::step(self)
    }
}

struct Shared<'a>(&'a mut dyn See);

impl Probe for Shared<'_> {
    fn see(&mut self, now: Instant, trace: Trace<'_>) {
        self.0.see(now, trace);
    }
    fn queues(&self) -> bool {
        self.0.queues()
    }
    fn step(&self) -> Option<Duration> {
        self.0.step()
    }
}
