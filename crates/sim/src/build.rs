//! From a scenario to a flow's hosts at rest.

use crate::RunError;
use crate::count::FlowCount;
use crate::network::Network;
use crate::node::{Datagrams, Gap, Node, Seen, Tcp, Transport};
use crate::outside::Told;
use crate::world::Options;
use cc::{About, CongestionControl, Flow};
use experiment::{FlowSpec, Run, Scenario, Traffic, Vary};
use params::Spec;
use tcp::{Config, DelayedAck, Endpoint, LossDetection};
use units::{Duration, Instant, Rng, streams};

/// Congestion controls that are not in the registry (Python classes): asked first.
pub trait CustomCc {
    /// What the host of one of that name needs; `None` if there is none.
    fn about(&self, name: &str) -> Option<About>;
    /// The one that `of` names, for its flow, with a seed; `None` if there is none of that name.
    fn build(&self, of: &FlowSpec, flow: &mut Flow, seed: u64) -> Option<Box<dyn CongestionControl>>;
}

/// Builds a flow's hosts.
pub fn node(scenario: &Scenario, net: &Network, f: usize, seed: u64, options: &Options<'_>) -> Result<Node, RunError> {
    let spec = scenario.flows[f].clone();
    let entity = f as u64;
    let transport = match &spec.traffic {
        _ if options.outside => Transport::Outside(Told::default()),
        Traffic::Cbr { rate, size, on, off } => Transport::Datagrams(Datagrams {
            size: size.get() as u32,
            gap: Gap::new(*size, *rate),
            on: *on,
            off: *off,
            until: Instant::ZERO,
            number: 0,
            seen: Seen::default(),
            received_bytes: 0,
        }),
        _ => {
            let [mut sending, receiving] = configs(&spec, &scenario.run, seed, entity, options.custom);
            sending.quick_start = grants_quick_start(scenario, &spec);
            sending.one_way_delays |= options.tape.is_some();
            let offset = sending.one_way_offset();
            let mut failed = None;
            let sender = Endpoint::connect(sending, &mut |flow| {
                let custom = options.custom.and_then(|custom| custom.build(&spec, flow, seed));
                let cc = custom.unwrap_or_else(|| {
                    let rng = Rng::new(seed, entity, streams::CC);
                    cc::build(&spec.cc, flow, rng).unwrap_or_else(|e| {
                        failed = Some(e);
                        standard(flow)
                    })
                });
                match options.tape {
                    Some(tape) => tape.record(f as u32, offset, cc),
                    None => cc,
                }
            });
            if let Some(e) = failed {
                return Err(e.into());
            }
            let receiver = Endpoint::listen(receiving, &mut standard);
            let cwnd = sender.flow().cwnd;
            Transport::Tcp(Tcp { sender, receiver, goal: u64::MAX, sent: 0, cwnd, timers: [(Instant::MAX, 0); 2] })
        }
    };
    let jitter = match scenario.run.vary {
        Vary::None => Duration::ZERO,
        Vary::Start | Vary::StartHost => {
            // One that is to stop within an RTT, or whose run is to end, starts before that.
            let end = Instant::ZERO + scenario.run.duration;
            let ends = spec.stop.map_or(end, |stop| stop.min(end)).since(spec.start);
            let most = spec.base_rtt.min(ends).as_nanos().max(1);
            Duration::from_nanos(Rng::new(seed, entity, streams::START).below(most))
        }
    };
    Ok(Node {
        transport,
        count: FlowCount::new(&scenario.run),
        start: spec.start + jitter,
        stopped: false,
        started: false,
        rng: Rng::new(seed, entity, streams::TRAFFIC),
        transfer: None,
        spurt_until: Instant::ZERO,
        reads_at: Instant::ZERO,
        bdp: net.bdp(scenario, &spec),
        spec: Box::new(spec),
    })
}

/// The settings of a flow's two ends, the data's sender first.
pub fn configs(spec: &FlowSpec, run: &Run, seed: u64, entity: u64, custom: Option<&dyn CustomCc>) -> [Config; 2] {
    let mut config = Config::of(spec.stack);
    config.mss = spec.mss;
    config.initial_window = spec.initial_window;
    config.receive_window = spec.receive_window;
    config.ecn = spec.ecn;
    config.offload = spec.offload;
    config.pacing = spec.pacing;
    config.pacing_quantum = spec.pacing_quantum;
    config.writes = spec.writes;
    if !spec.delayed_ack {
        config.delayed_ack = DelayedAck::None;
    }
    let tick = config.rtt_tick.as_nanos().max(1);
    let phase = |host: u64| Duration::from_nanos(Rng::new(seed, entity * 2 + host, streams::CLOCK).below(tick));
    let (mut sending, mut receiving) = (config.clone(), config);
    sending.estimates = run.estimates;
    sending.tick_phase = phase(0);
    receiving.tick_phase = phase(1);
    receiving.slow_reader = spec.read_rate.is_some();
    // Only the difference between the two clocks is ever seen: the receiver's is the true one.
    (sending.clock_skew_ppb, sending.clock_drift) = (spec.clock_skew_ppb, spec.clock_drift_ppb);
    let own = custom.and_then(|custom| custom.about(&spec.cc.name));
    if let Some(about) = own.or_else(|| cc::find(&spec.cc.name).ok().map(|entry| entry.about)) {
        suit(&mut sending, &about);
        suit(&mut receiving, &about);
    }
    [sending, receiving]
}

/// Does every router on the way out know Quick-Start? One that does not leaves the option alone, which the sender tells by
/// the packet's TTL (RFC 4782, section 3.1). Links without a rate have nothing to grant.
fn grants_quick_start(scenario: &Scenario, flow: &FlowSpec) -> bool {
    flow.route.iter().map(|&l| &scenario.links[l]).all(|l| l.rate.is_none() || l.quick_start.is_some())
}

/// Gives an algorithm the host it was published with.
fn suit(config: &mut Config, about: &cc::About) {
    config.rate_samples = about.needs_rate;
    config.one_way_delays = about.needs_one_way;
    config.ecn &= about.ecn != cc::Ecn::Off;
    config.accurate_ecn = matches!(about.ecn, cc::Ecn::Accurate | cc::Ecn::L4s);
    config.ect1 = about.ecn == cc::Ecn::L4s;
    if about.feedback == cc::Feedback::EveryPacket {
        config.delayed_ack = DelayedAck::None;
        config.timestamp_tick = Duration::from_micros(1);
    }
    match about.recovery {
        None => {}
        Some(cc::Recovery::Tahoe) => config.loss = LossDetection::Tahoe,
        Some(cc::Recovery::Reno) => config.loss = LossDetection::Reno,
        Some(cc::Recovery::NewReno) => config.loss = LossDetection::NewReno,
        Some(cc::Recovery::Sack) => config.loss = LossDetection::Sack,
    }
}

fn standard(flow: &mut Flow) -> Box<dyn CongestionControl> {
    cc::build(&Spec::named("newreno"), flow, Rng::new(0, 0, 0)).expect("newreno needs no settings")
}
