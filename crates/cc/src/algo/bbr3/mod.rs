//! BBR, version 3: a model of the path from delivery rate, RTT and losses. It probes for more now and then, remembers how
//! much in flight was too much, and leaves room for others in between.
//!
//! ```text
//! bw        = min(max_bw, bw_shortterm)          max_bw: largest delivery rate of two probing cycles
//! pacing    = pacing_gain · bw · 0.99            cwnd = cwnd_gain · bw · min_rtt + extra_acked, capped by the bounds below
//! bounds    inflight_longterm: where the last probe lost more than 2 %; in CRUISE 0.85 of it
//!           bw_shortterm, inflight_shortterm: losses outside probes take up to 0.3 of them a round
//!
//! STARTUP 2.77 → DRAIN 0.5 → DOWN 0.9 → CRUISE 1 → REFILL 1, one round → UP 1.25 → DOWN …     (pacing gains; window 2,
//! PROBE_RTT: after 5 s without a smaller RTT, half a BDP in flight for 200 ms                    in UP 2.25)
//! ```
//! STARTUP ends at a plateau of the delivery rate (three rounds without 25 % more) or at six ACKs with losses and 2 % in a
//! round of recovery (Linux; the draft has six ranges); DOWN when the pipe is no longer over-full; CRUISE after 2 to 3 s or as many rounds as a Reno flow would need,
//! 63 at most; UP at a plateau or at a loss of more than 2 %.
//!
//! Source: draft-ietf-ccwg-bbr-05, sections 4 and 5. Beside this file: `model` (what the path carries), `bounds` (what
//! losses teach), `cycle` (states and when they change), `window` (pacing and window).

mod bounds;
mod cycle;
mod model;
#[cfg(test)]
mod tests;
mod window;

use crate::filter::{WindowedMax, WindowedMin};
use crate::{
    About, Ack, Algorithm, Cause, Congestion, CongestionControl, Ecn, Event, Evidence, Family, Flow, Lost, Phase,
    Reaction, Sent, Setup, Signal, StartRule,
};
use bounds::Bounds;
use cycle::State;
use model::Plateau;
use units::{Bytes, Duration, Instant, Rate, Rng};

params::params! {
    /// Constants of the draft.
    pub struct Params {
        /// Pacing gain in STARTUP (4 ln 2).
        startup_gain: f64 = 2.77, 1.1 => 10.0;
        /// Pacing gain in DRAIN.
        drain_gain: f64 = 0.5, 0.05 => 1.0;
        /// Pacing gain in DOWN.
        down_gain: f64 = 0.9, 0.05 => 1.0;
        /// Pacing gain in UP.
        up_gain: f64 = 1.25, 1.0 => 4.0;
        /// Window in bandwidth-delay products.
        cwnd_gain: f64 = 2.0, 1.0 => 10.0;
        /// A probe that loses more than this part of what was in flight went too far (LossThresh).
        loss_threshold: f64 = 0.02, 0.0 => 0.5;
        /// Losses take no more than down to this part (Beta).
        beta: f64 = 0.7, 0.1 => 1.0;
        /// What CRUISE leaves of the long-term bound to others (Headroom).
        headroom: f64 = 0.15, 0.0 => 0.9;
        /// PROBE_RTT once no RTT was smaller for this long (ProbeRTTInterval).
        probe_rtt_interval: Duration = Duration::from_secs(5), Duration::from_millis(100) => Duration::from_secs(1000);
        /// How long PROBE_RTT lasts at least.
        probe_rtt_time: Duration = Duration::from_millis(200), Duration::ZERO => Duration::from_secs(10);
    }
}

/// Smallest window in packets (MinPipeCwnd).
const MIN_WINDOW: u64 = 4;

/// State: the model, the bounds, the cycle, and what recovery and PROBE_RTT have to restore.
#[derive(Debug)]
pub struct Bbr3 {
    p: Params,
    rng: Rng,
    state: State,
    bounds: Bounds,
    max_bw: WindowedMax<Rate>,
    /// Probing cycles: the clock of `max_bw`.
    cycles: u64,
    rounds: u64,
    round_start: bool,
    next_round: Bytes,
    /// The delivery rate of the last sample.
    bw_sample: Rate,
    /// The largest delivery rate and volume of the round by losses.
    bw_latest: Rate,
    inflight_latest: Bytes,
    loss_round_end: Bytes,
    loss_round_start: bool,
    plateau: Plateau,
    /// The pipe was full once.
    full: bool,
    drain_began: u64,
    /// The pace of the initial window goes by an RTT.
    seen_rtt: bool,
    /// Smallest RTT of the interval of PROBE_RTT, and of twice that.
    probe_rtt_min: Option<(Duration, Instant)>,
    min_rtt: WindowedMin<Duration>,
    probe_rtt_until: Option<Instant>,
    probe_rtt_round: bool,
    /// Rate samples of data sent in PROBE_RTT count as application-limited: between these counts of delivered bytes.
    probe_span: Option<(Bytes, Bytes)>,
    idle_restart: bool,
    extra: WindowedMax<Bytes>,
    extra_began: Instant,
    extra_acked: Bytes,
    prior_cwnd: Bytes,
    phase_before: Phase,
    recovery_round: u64,
    losses_in_round: u32,
    /// What this ACK has to say of the window that it leaves.
    why: Option<Cause>,
}

impl Algorithm for Bbr3 {
    const ABOUT: About = About {
        name: "bbr3",
        title: "BBR v3",
        paper: "draft-ietf-ccwg-bbr-05",
        family: Family::Model,
        signal: "delivery rate, RTT, loss in rounds and in probes",
        evidence: Evidence::Equations,
        departures: &[
            "the send quantum is not told to the host: a window leaves as the host's pacing and offload have it",
            "after a spurious recovery the bounds are restored, but not the state it ended",
            "after a probe that went too far the next one stops at the long-term bound, and goes on beyond it if its round was \
             free of losses: that is Linux' code (v3), not the draft",
            "no ECN: the draft specifies none, Linux' code has some",
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
        let mut bbr = Bbr3 {
            p: p.clone(),
            rng: setup.rng,
            state: State::new(flow.now),
            bounds: Bounds::default(),
            max_bw: WindowedMax::new(1),
            cycles: 0,
            rounds: 0,
            round_start: false,
            next_round: Bytes::ZERO,
            bw_sample: Rate::ZERO,
            bw_latest: Rate::ZERO,
            inflight_latest: Bytes::ZERO,
            loss_round_end: Bytes::ZERO,
            loss_round_start: false,
            plateau: Plateau::default(),
            full: false,
            drain_began: 0,
            seen_rtt: false,
            probe_rtt_min: None,
            min_rtt: WindowedMin::new((p.probe_rtt_interval * 2).as_nanos()),
            probe_rtt_until: None,
            probe_rtt_round: false,
            probe_span: None,
            idle_restart: false,
            extra: WindowedMax::new(1),
            extra_began: flow.now,
            extra_acked: Bytes::ZERO,
            prior_cwnd: Bytes::ZERO,
            phase_before: Phase::Open,
            recovery_round: 0,
            losses_in_round: 0,
            why: None,
        };
        bbr.pace_by_window(flow);
        bbr
    }
}

impl Bbr3 {
    fn after_idle(&mut self, flow: &mut Flow) {
        self.idle_restart = true;
        (self.extra_began, self.extra_acked) = (flow.now, Bytes::ZERO);
        if self.state.is_probe_bw() {
            self.pace(flow, 1.0);
        } else if self.state.phase == cycle::Phase::ProbeRtt {
            self.end_probe_rtt(flow);
        }
    }
}

impl CongestionControl for Bbr3 {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        // An ACK's losses are one event, however many in a row (Linux' `loss_events_in_round`).
        self.losses_in_round += u32::from(!ack.newly_lost.is_zero());
        self.update_latest(flow, ack);
        self.update_bounds(flow, ack);
        self.update_aggregation(flow, ack);
        self.check_plateau(flow, ack);
        self.advance(flow, ack);
        self.update_min_rtt(flow, ack);
        self.forget_latest(ack);
        self.set_pacing(flow);
        self.set_cwnd(flow, ack);
    }

    fn on_lost(&mut self, flow: &mut Flow, lost: &Lost) {
        self.note_loss(flow, lost);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        self.save_cwnd(flow);
        if !core::mem::take(&mut self.bounds.is_saved) {
            self.bounds.save();
        }
        self.recovery_round = self.rounds;
        if congestion.signal == Signal::Timeout {
            self.phase_before = Phase::Loss;
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

    fn on_undo(&mut self, flow: &mut Flow) {
        self.bounds.undo();
        self.plateau = Plateau::default();
        flow.cwnd = flow.cwnd.max(self.prior_cwnd);
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::Restart {
            self.after_idle(flow);
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("mode", self.state.mode() as f64);
        see("phase", self.state.number() as f64);
        see("bandwidth_mbps", self.bandwidth().as_mbps());
        see("min_rtt_ms", self.min_rtt.get().unwrap_or_default().as_millis_f64());
        see("pacing_gain", self.state.pacing_gain(&self.p));
        see("cwnd_gain", self.state.cwnd_gain(&self.p));
        see("inflight_longterm", self.bounds.longterm.map_or(-1.0, Bytes::as_f64));
        see("inflight_shortterm", self.bounds.shortterm.map_or(-1.0, Bytes::as_f64));
    }
}
