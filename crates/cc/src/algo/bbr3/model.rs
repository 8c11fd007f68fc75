//! What BBR v3 knows of the path: the largest delivery rate of two cycles, the smallest RTT, whether the pipe is full, how
//! much more than expected is acknowledged at once.

use super::cycle::Phase;
use super::{Bbr3, MIN_WINDOW};
use crate::{Ack, Flow, RateSample, causes, exits, probes};
use units::{Bytes, Rate};

/// Rounds without 25 % more that make a plateau.
const FULL_ROUNDS: u32 = 3;
/// Rounds over which bunched ACKs are remembered once the pipe was full (ExtraAckedFilterLen).
const EXTRA_ROUNDS: u64 = 10;

/// Has the delivery rate stopped growing?
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plateau {
    pub(super) bw: Rate,
    rounds: u32,
    pub(super) now: bool,
}

impl Plateau {
    /// A new search, from that rate.
    pub(super) fn from(bw: Rate) -> Self {
        Plateau { bw, ..Plateau::default() }
    }

    /// A round without application limits ended with that rate.
    pub(super) fn round(&mut self, bw: Rate) {
        if bw >= self.bw.mul_f64(1.25) {
            *self = Plateau::from(bw);
        } else {
            self.rounds += 1;
            self.now = self.rounds >= FULL_ROUNDS;
        }
    }
}

impl Bbr3 {
    pub(super) fn max_bandwidth(&self) -> Rate {
        self.max_bw.get().unwrap_or(Rate::ZERO)
    }

    pub(super) fn bandwidth(&self) -> Rate {
        self.bounds.bw.map_or(self.max_bandwidth(), |short| short.min(self.max_bandwidth()))
    }

    pub(super) fn sample(ack: &Ack) -> Option<(RateSample, Rate)> {
        ack.rate.filter(|s| !s.interval.is_zero()).map(|s| (s, s.delivered / s.interval))
    }

    pub(super) fn app_limited(&self, s: &RateSample) -> bool {
        s.app_limited || self.probe_span.is_some_and(|(from, to)| (from..=to).contains(&s.prior_delivered))
    }

    /// Rounds, and the rate and volume delivered within one.
    pub(super) fn update_latest(&mut self, flow: &Flow, ack: &Ack) {
        (self.round_start, self.loss_round_start) = (false, false);
        let Some((s, bw)) = Self::sample(ack) else { return };
        self.bw_sample = bw;
        self.bw_latest = self.bw_latest.max(bw);
        self.inflight_latest = self.inflight_latest.max(s.delivered);
        if s.prior_delivered >= self.loss_round_end {
            (self.loss_round_end, self.loss_round_start) = (flow.delivered, true);
        }
        if s.prior_delivered >= self.next_round {
            self.start_round(flow);
            self.rounds += 1;
            self.state.rounds_since_probe += 1;
            self.round_start = true;
        }
        if bw >= self.max_bandwidth() || !self.app_limited(&s) {
            self.max_bw.update(self.cycles, bw);
        }
    }

    pub(super) fn start_round(&mut self, flow: &Flow) {
        self.next_round = flow.delivered;
    }

    /// At the end of a round the latest signals begin anew.
    pub(super) fn forget_latest(&mut self, ack: &Ack) {
        if let (true, Some((s, bw))) = (self.loss_round_start, Self::sample(ack)) {
            (self.bw_latest, self.inflight_latest) = (bw, s.delivered);
            self.losses_in_round = 0;
        }
    }

    pub(super) fn update_aggregation(&mut self, flow: &Flow, ack: &Ack) {
        if ack.rate.is_none() {
            return;
        }
        let mut expected = self.bandwidth() * flow.now.since(self.extra_began);
        if self.extra_acked <= expected {
            (self.extra_began, self.extra_acked, expected) = (flow.now, Bytes::ZERO, Bytes::ZERO);
        }
        self.extra_acked += ack.delivered;
        let extra = self.extra_acked.saturating_sub(expected).min(flow.cwnd);
        self.extra.set_window(if self.full { EXTRA_ROUNDS } else { 1 });
        self.extra.update(self.rounds, extra);
    }

    pub(super) fn check_plateau(&mut self, flow: &mut Flow, ack: &Ack) {
        let Some((s, bw)) = Self::sample(ack) else { return };
        if self.plateau.now || !self.round_start || self.app_limited(&s) {
            return;
        }
        self.plateau.round(bw);
        if self.plateau.now && !self.full {
            self.fill(flow, exits::PLATEAU);
        }
    }

    /// The pipe is full: STARTUP is over.
    pub(super) fn fill(&mut self, flow: &mut Flow, reason: i64) {
        self.full = true;
        let base_rtt = self.min_rtt.get().unwrap_or_default();
        let (bandwidth, bdp) = (self.max_bandwidth().as_bps() as i64, (self.max_bandwidth() * base_rtt).get() as i64);
        flow.note(causes::SlowStartExit {
            reason,
            rtt: flow.rtt.as_nanos() as i64,
            base_rtt: base_rtt.as_nanos() as i64,
            bandwidth,
            bdp,
            ..Default::default()
        });
    }

    /// The handshake's RTT is the first (BBROnInit; Linux' `tcp_min_rtt`). It was not known as this was made, and is as the
    /// first data leaves.
    pub(super) fn begin_min_rtt(&mut self, flow: &Flow) {
        if self.probe_rtt_min.is_none() && !flow.min_rtt.is_zero() {
            self.probe_rtt_min = Some((flow.min_rtt, flow.now));
            self.min_rtt.update(flow.now.as_nanos(), flow.min_rtt);
        }
    }

    /// The smallest RTT, and PROBE_RTT when it has grown old.
    pub(super) fn update_min_rtt(&mut self, flow: &mut Flow, ack: &Ack) {
        let old = self.probe_rtt_min.is_some_and(|(_, at)| flow.now > at + self.p.probe_rtt_interval);
        if let Some(rtt) = ack.rtt {
            if self.probe_rtt_min.is_none_or(|(least, _)| rtt < least) || old {
                self.probe_rtt_min = Some((rtt, flow.now));
            }
            self.min_rtt.update(flow.now.as_nanos(), rtt);
        }
        if old && !self.idle_restart && self.state.phase != Phase::ProbeRtt {
            self.enter_probe_rtt(flow);
        }
        if self.state.phase == Phase::ProbeRtt {
            self.probe_rtt(flow);
        }
        if !ack.delivered.is_zero() {
            self.idle_restart = false;
        }
    }

    fn enter_probe_rtt(&mut self, flow: &mut Flow) {
        self.enter(flow, Phase::ProbeRtt);
        self.save_cwnd(flow);
        self.probe_rtt_until = None;
        self.probe_span = Some((flow.delivered, flow.delivered));
        self.start_round(flow);
        let base_rtt = self.min_rtt.get().unwrap_or_default().as_nanos() as i64;
        self.why = Some(causes::ProbeStart { what: probes::BASE_RTT, base_rtt }.into());
    }

    fn probe_rtt(&mut self, flow: &mut Flow) {
        if let Some((_, to)) = &mut self.probe_span {
            *to = flow.delivered + flow.in_flight;
        }
        match self.probe_rtt_until {
            None if flow.in_flight <= self.probe_rtt_window(flow) => {
                self.probe_rtt_until = Some(flow.now + self.p.probe_rtt_time);
                self.probe_rtt_round = false;
                self.start_round(flow);
            }
            None => {}
            Some(_) => {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.end_probe_rtt(flow);
                }
            }
        }
    }

    /// Leaves PROBE_RTT if its time is over: after a round of it, or as sending begins anew after silence.
    pub(super) fn end_probe_rtt(&mut self, flow: &mut Flow) {
        if self.probe_rtt_until.is_some_and(|until| flow.now > until) {
            self.leave_probe_rtt(flow);
        }
    }

    pub(super) fn probe_rtt_window(&self, flow: &Flow) -> Bytes {
        self.bdp(flow, 0.5).max(flow.mss * MIN_WINDOW)
    }

    fn leave_probe_rtt(&mut self, flow: &mut Flow) {
        if let Some((_, at)) = &mut self.probe_rtt_min {
            *at = flow.now;
        }
        self.bounds.reset_short_term();
        if self.full {
            self.enter(flow, Phase::Down);
            self.enter(flow, Phase::Cruise);
        } else {
            self.enter(flow, Phase::Startup);
        }
        let before = flow.windows();
        flow.cwnd = flow.cwnd.max(self.prior_cwnd);
        let (base_rtt, queue) = (self.min_rtt.get().unwrap_or_default(), flow.rtt.saturating_sub(flow.min_rtt));
        let (base_rtt, queue) = (base_rtt.as_nanos() as i64, queue.as_nanos() as i64);
        flow.because(causes::ProbeEnd { what: probes::BASE_RTT, base_rtt, queue }, before);
    }
}
