//! The states of BBR v3, their gains, and when one follows another.

use super::{Bbr3, Params};
use crate::{Ack, Flow, causes, modes, probes};
use units::{Bytes, Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// What the samples now coming in tell of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    None,
    Refilling,
    Starting,
    Running,
    Stopping,
}

/// Most rounds between probes: what a Reno flow of 25 Mbit/s over 30 ms needs (section 5.3.3.6).
const RENO_ROUNDS: u64 = 63;

#[derive(Debug)]
pub(super) struct State {
    pub(super) phase: Phase,
    began: Instant,
    pub(super) wait: Duration,
    pub(super) rounds_since_probe: u64,
    feedback: Feedback,
    /// Losses now are those of a probe, not yet answered.
    pub(super) sampling_probe: bool,
    pub(super) previous_too_high: bool,
    cautious: bool,
    /// UP: rounds so far, what must be acknowledged for a packet more, what has been.
    climb_rounds: u32,
    climb_per: Bytes,
    climbed: Bytes,
}

impl State {
    pub(super) fn new(now: Instant) -> Self {
        State {
            phase: Phase::Startup,
            began: now,
            wait: Duration::ZERO,
            rounds_since_probe: 0,
            feedback: Feedback::None,
            sampling_probe: false,
            previous_too_high: false,
            cautious: false,
            climb_rounds: 0,
            climb_per: Bytes::MAX,
            climbed: Bytes::ZERO,
        }
    }

    pub(super) fn is_probe_bw(&self) -> bool {
        matches!(self.phase, Phase::Down | Phase::Cruise | Phase::Refill | Phase::Up)
    }

    pub(super) fn is_probing(&self) -> bool {
        matches!(self.phase, Phase::Startup | Phase::Refill | Phase::Up)
    }

    pub(super) fn mode(&self) -> i64 {
        match self.phase {
            Phase::Startup => modes::STARTUP,
            Phase::Drain => modes::DRAIN,
            Phase::ProbeRtt => modes::PROBE_RTT,
            _ => modes::PROBE_BW,
        }
    }

    pub(super) fn number(&self) -> u32 {
        self.phase as u32
    }

    pub(super) fn pacing_gain(&self, p: &Params) -> f64 {
        match self.phase {
            Phase::Startup => p.startup_gain,
            Phase::Drain => p.drain_gain,
            Phase::Down => p.down_gain,
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt => 1.0,
            Phase::Up => p.up_gain,
        }
    }

    pub(super) fn cwnd_gain(&self, p: &Params) -> f64 {
        match self.phase {
            Phase::Up => p.cwnd_gain + 0.25,
            Phase::ProbeRtt => 0.5,
            _ => p.cwnd_gain,
        }
    }

    /// UP: the long-term bound grows by 1, 2, 4 … packets in successive rounds, spread over each. Returns by how much.
    pub(super) fn climb(&mut self, flow: &Flow, acked: Bytes, round: bool) -> Bytes {
        self.climbed += acked;
        let packets = self.climbed.get() / self.climb_per.get().max(1);
        self.climbed -= self.climb_per * packets;
        if round {
            self.steepen(flow);
        }
        flow.mss * packets
    }

    fn steepen(&mut self, flow: &Flow) {
        self.climb_per = (flow.cwnd / (1u64 << self.climb_rounds)).max(flow.mss);
        self.climb_rounds = (self.climb_rounds + 1).min(30);
    }
}

impl Bbr3 {
    pub(super) fn enter(&mut self, flow: &mut Flow, to: Phase) {
        let (from, was) = (self.state.mode(), self.state.phase);
        self.state.phase = to;
        if from != self.state.mode() {
            let queue = flow.rtt.saturating_sub(self.min_rtt.get().unwrap_or(flow.rtt)).as_nanos() as i64;
            let bandwidth = self.bandwidth().as_bps() as i64;
            flow.note(causes::ModeSwitch { from, to: self.state.mode(), queue, bandwidth });
        }
        let base_rtt = self.min_rtt.get().unwrap_or_default().as_nanos() as i64;
        if was == Phase::Up {
            let queue = flow.rtt.saturating_sub(flow.min_rtt).as_nanos() as i64;
            flow.note(causes::ProbeEnd { what: probes::BANDWIDTH, base_rtt, queue });
        }
        match to {
            Phase::Drain => self.drain_began = self.rounds,
            Phase::Down => self.enter_down(flow),
            Phase::Refill => self.enter_refill(flow),
            Phase::Up => {
                self.state.feedback = Feedback::Starting;
                self.start_round(flow);
                self.plateau = super::Plateau::from(self.bw_sample);
                self.state.steepen(flow);
                flow.note(causes::ProbeStart { what: probes::BANDWIDTH, base_rtt });
            }
            Phase::ProbeRtt => self.state.feedback = Feedback::Stopping,
            Phase::Startup | Phase::Cruise => {}
        }
    }

    fn enter_down(&mut self, flow: &mut Flow) {
        self.bounds.lost = false;
        (self.bw_latest, self.inflight_latest) = (units::Rate::ZERO, Bytes::ZERO);
        self.state.climb_per = Bytes::MAX;
        self.state.rounds_since_probe = self.rng.below(2);
        self.state.wait = Duration::from_secs_f64(2.0 + self.rng.uniform());
        self.state.began = flow.now;
        self.state.feedback = Feedback::Stopping;
        self.start_round(flow);
    }

    fn enter_refill(&mut self, flow: &mut Flow) {
        self.bounds.reset_short_term();
        (self.state.climb_rounds, self.state.climbed, self.state.cautious) = (0, Bytes::ZERO, false);
        self.state.feedback = Feedback::Refilling;
        self.start_round(flow);
    }

    /// What should be in flight: the BDP, unless congestion cut the window.
    pub(super) fn target_inflight(&self, flow: &Flow) -> Bytes {
        self.bdp(flow, 1.0).min(flow.cwnd)
    }

    /// Goes on to the next state where it is time.
    pub(super) fn advance(&mut self, flow: &mut Flow, ack: &Ack) {
        let (lost, tx) = ack.rate.map_or((Bytes::ZERO, Bytes::ZERO), |s| (s.lost, s.tx_in_flight));
        if self.startup_lost_too_much(flow, lost, tx) {
            self.end_startup_by_loss(flow);
        }
        if self.state.phase == Phase::Startup && self.full {
            self.enter(flow, Phase::Drain);
            flow.ssthresh = self.bdp(flow, 1.0).max(flow.floor);
        }
        // A queue that never formed need not be drained: both may come with one ACK.
        let drained = flow.in_flight <= self.inflight(flow, 1.0) || self.rounds > self.drain_began + 3;
        if self.state.phase == Phase::Drain && drained {
            self.enter(flow, Phase::Down);
        }
        if self.full && !self.adapt_long_term(flow, ack, lost, tx) {
            self.advance_probe_bw(flow);
        }
    }

    /// Follows the feedback of a probe. True if it decided on a state.
    fn adapt_long_term(&mut self, flow: &mut Flow, ack: &Ack, lost: Bytes, tx: Bytes) -> bool {
        if self.round_start {
            match self.state.feedback {
                Feedback::Starting => self.state.feedback = Feedback::Running,
                Feedback::Stopping => {
                    self.state.sampling_probe = false;
                    self.state.feedback = Feedback::None;
                    if self.state.is_probe_bw() && !ack.rate.is_some_and(|s| self.app_limited(&s)) {
                        self.cycles += 1;
                    }
                    // A cautious probe that lost nothing is followed by a bold one.
                    if self.state.is_probe_bw() && self.state.cautious && !self.state.previous_too_high {
                        self.enter(flow, Phase::Refill);
                        return true;
                    }
                }
                _ => {}
            }
        }
        if lost.as_f64() <= tx.as_f64() * self.p.loss_threshold {
            self.raise_long_term(flow, tx, ack.delivered);
        }
        false
    }

    fn advance_probe_bw(&mut self, flow: &mut Flow) {
        let phase = self.state.phase;
        match phase {
            Phase::Down | Phase::Cruise if self.is_time_to_probe(flow) => self.enter(flow, Phase::Refill),
            Phase::Down if self.has_drained(flow) => self.enter(flow, Phase::Cruise),
            Phase::Refill if self.round_start => {
                self.state.sampling_probe = true;
                self.enter(flow, Phase::Up);
            }
            Phase::Up if self.is_time_to_go_down(flow) => {
                self.state.previous_too_high = false;
                self.enter(flow, Phase::Down);
            }
            _ => {}
        }
    }

    pub(super) fn is_time_to_probe(&self, flow: &Flow) -> bool {
        let reno = (self.target_inflight(flow).get() / flow.mss.get().max(1)).min(RENO_ROUNDS);
        flow.now.since(self.state.began) > self.state.wait || self.state.rounds_since_probe >= reno.max(1)
    }

    fn has_drained(&self, flow: &Flow) -> bool {
        let room = self.bounds.with_headroom(self.p.headroom, flow.mss);
        room.is_none_or(|room| flow.in_flight <= room) && flow.in_flight <= self.inflight_at_max(flow)
    }

    fn is_time_to_go_down(&mut self, flow: &Flow) -> bool {
        if let Some(bound) = self.bounds.longterm {
            if self.state.previous_too_high && flow.in_flight >= bound {
                self.state.cautious = true;
                return true;
            }
            if flow.cwnd_limited && flow.cwnd >= bound {
                // It is the bound that holds the rate back, not the path.
                self.plateau = super::Plateau::from(self.bw_sample);
                return false;
            }
        }
        self.plateau.now
    }
}
