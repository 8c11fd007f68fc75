//! BBR, version 1: send at the rate the bottleneck was seen to deliver, with about two bandwidth-delay products in
//! flight at most, and empty the queue now and then to see the base RTT.
//!
//! ```text
//! BtlBw  = max of delivery rate over 10 rounds        RTprop = min of RTT over 10 s
//! pacing = pacing_gain · BtlBw · 0.99                 cwnd   = cwnd_gain · BtlBw · RTprop + 3 bursts + extra_acked
//!
//! STARTUP   both gains 2/ln 2; to DRAIN after 3 rounds without 25 % more bandwidth
//! DRAIN     pacing gain 1/2.885 until in flight <= BDP; to PROBE_BW
//! PROBE_BW  cwnd gain 2; pacing gains 1.25, 0.75, 1, 1, 1, 1, 1, 1, each for RTprop
//! PROBE_RTT when no RTT was below RTprop for 10 s: cwnd of 4 packets for 200 ms and a round
//! ```
//! Source: Cardwell et al., CACM 60(2), 2017; draft-cardwell-iccrg-bbr-congestion-control-00; constants and rounding of
//! Linux 6.1. Beside this file: `model` (bandwidth, RTT, when the pipe is full), `window` (pacing and window),
//! `cycle` (modes, gains, phases), `policer` (policed paths), `aggregation` (room for bunched ACKs).

mod aggregation;
mod cycle;
mod model;
mod policer;
#[cfg(test)]
mod tests;
mod window;

use crate::filter::WindowedMax;
use crate::{
    About, Ack, Algorithm, Cause, Congestion, CongestionControl, Ecn, Event, Evidence, Family, Flow, Lost, Phase,
    Reaction, Sent, Setup, Signal, StartRule,
};
use cycle::{Cycle, Mode};
use units::{Bytes, Duration, Instant, Rate, Rng};

params::params! {
    /// Constants of Linux 6.1.
    pub struct Params {
        /// Gain of pacing and window in STARTUP; 2/ln 2 in 256ths.
        startup_gain: f64 = 739.0 / 256.0, 1.1 => 10.0;
        /// Pacing gain in DRAIN.
        drain_gain: f64 = 88.0 / 256.0, 0.05 => 1.0;
        /// Window in bandwidth-delay products in PROBE_BW.
        cwnd_gain: f64 = 2.0, 1.0 => 10.0;
        /// Rounds over which the largest delivery rate counts.
        bandwidth_rounds: u32 = 10, 1 => 1000;
        /// Time over which the smallest RTT counts.
        min_rtt_window: Duration = Duration::from_secs(10), Duration::from_millis(100) => Duration::from_secs(1000);
        /// How long PROBE_RTT holds the smallest window.
        probe_rtt_time: Duration = Duration::from_millis(200), Duration::ZERO => Duration::from_secs(10);
        /// Look for a policer and send at its rate.
        policer: bool = true;
    }
}

/// Smallest window in packets: two ACKs of two packets under way.
const MIN_WINDOW: u64 = 4;
/// Rounds without 25 % more bandwidth that end STARTUP.
const FULL_ROUNDS: u32 = 3;
/// Pace one percent below the estimate, so that queues drain.
const MARGIN: f64 = 0.99;

/// State: the model of the path, the mode, and what to restore after recovery.
#[derive(Debug)]
pub struct Bbr {
    p: Params,
    rng: Rng,
    cycle: Cycle,
    max_bw: WindowedMax<Rate>,
    rounds: u64,
    round_start: bool,
    next_round: Bytes,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    seen_rtt: bool,
    full_bw: Rate,
    full_rounds: u32,
    full: bool,
    /// When PROBE_RTT may end, once its small window is reached; and whether a round has passed since.
    probe_until: Option<Instant>,
    probe_round_over: bool,
    /// Rate samples of data sent in PROBE_RTT count as application-limited: between these counts of delivered bytes.
    probe_span: Option<(Bytes, Bytes)>,
    prior_cwnd: Bytes,
    phase_before: Phase,
    conserve: bool,
    idle_restart: bool,
    policer: policer::Policer,
    aggregation: aggregation::Aggregation,
    /// What this ACK has to say of the window that it leaves.
    why: Option<Cause>,
}

impl Algorithm for Bbr {
    const ABOUT: About = About {
        name: "bbr",
        title: "BBR v1",
        paper: "Cardwell et al., BBR: congestion-based congestion control, CACM 60(2), 2017",
        family: Family::Model,
        signal: "delivery rate, RTT",
        evidence: Evidence::Equations,
        departures: &[
            "rates are in bits per second and gains in floating point, where Linux has 2^-24 packets per µs",
            "the data already handed to a pacing queue is not subtracted from what is in flight",
        ],
        floor: 1.0,
        ecn: Ecn::Off,
        start: StartRule::Fixed,
        needs_rate: true,
        modes: &crate::modes::BBR,
        paces: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let flow = setup.flow;
        let mut bbr = Bbr {
            p: p.clone(),
            rng: setup.rng,
            cycle: Cycle::new(flow.now),
            max_bw: WindowedMax::new(p.bandwidth_rounds as u64),
            rounds: 0,
            round_start: false,
            next_round: Bytes::ZERO,
            min_rtt: None,
            min_rtt_at: flow.now,
            seen_rtt: false,
            full_bw: Rate::ZERO,
            full_rounds: 0,
            full: false,
            probe_until: None,
            probe_round_over: false,
            probe_span: None,
            prior_cwnd: Bytes::ZERO,
            phase_before: Phase::Open,
            conserve: false,
            idle_restart: false,
            policer: policer::Policer::new(),
            aggregation: aggregation::Aggregation::new(flow.now),
            why: None,
        };
        bbr.pace_by_window(flow);
        bbr
    }
}

impl Bbr {
    fn after_idle(&mut self, flow: &mut Flow) {
        self.idle_restart = true;
        self.aggregation.restart(flow.now);
        match self.cycle.mode {
            Mode::ProbeBw => self.pace(flow, 1.0),
            Mode::ProbeRtt => self.end_probe_rtt(flow),
            _ => {}
        }
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.update_bandwidth(flow, ack);
        if ack.rate.is_some() {
            self.aggregation.sample(flow, ack.delivered, self.round_start, self.bandwidth());
        }
        let before = flow.in_flight + ack.delivered + ack.newly_lost;
        let goal = self.cycle.goal(&self.p, self.policer.rate().is_some(), |gain| {
            // The burst about to leave counts when more is wanted in flight.
            let burst = if gain > 1.0 { flow.mss * self.burst(flow) } else { Bytes::ZERO };
            self.inflight_at(flow, self.max_bandwidth(), gain).saturating_sub(burst)
        });
        self.cycle.advance(flow, goal, before, !ack.newly_lost.is_zero(), self.min_rtt.unwrap_or_default());
        self.check_full(flow, ack);
        self.check_drain(flow);
        self.update_min_rtt(flow, ack);
        self.set_pacing(flow);
        self.set_cwnd(flow, ack);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        self.save_cwnd(flow);
        if congestion.signal == Signal::Timeout {
            self.phase_before = Phase::Loss;
            (self.full_bw, self.round_start) = (Rate::ZERO, true);
            if self.p.policer && self.policer.sample(flow, flow.mss, false, true, &mut self.cycle) {
                self.cycle.probe_bandwidth(flow, &mut self.rng);
            }
            flow.cwnd = congestion.restart;
        }
        Reaction::Own
    }

    fn on_sent(&mut self, flow: &mut Flow, sent: &Sent) {
        self.begin_min_rtt(flow);
        if sent.in_flight <= sent.size && flow.app_limited {
            self.after_idle(flow);
        }
    }

    fn on_lost(&mut self, _: &mut Flow, lost: &Lost) {
        self.policer.lost(lost.size);
    }

    fn on_undo(&mut self, flow: &mut Flow) {
        (self.full_bw, self.full_rounds) = (Rate::ZERO, 0);
        self.policer.reset(flow);
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::Restart {
            self.after_idle(flow);
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("mode", self.cycle.mode as i64 as f64);
        see("bandwidth_mbps", self.bandwidth().as_mbps());
        see("min_rtt_ms", self.min_rtt.unwrap_or_default().as_millis_f64());
        see("pacing_gain", self.cycle.pacing_gain(&self.p, self.policer.rate().is_some()));
        see("cwnd_gain", self.cycle.cwnd_gain(&self.p));
    }
}
