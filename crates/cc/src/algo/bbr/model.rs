//! What BBR knows of the path: bandwidth, RTT, whether the pipe is full; and the modes that follow from it.

use super::cycle::Mode;
use super::{Bbr, FULL_ROUNDS, MIN_WINDOW};
use crate::{Ack, Flow, RateSample, causes, exits, probes};
use units::Rate;

impl Bbr {
    pub(super) fn bandwidth(&self) -> Rate {
        self.policer.rate().unwrap_or(self.max_bandwidth())
    }

    pub(super) fn max_bandwidth(&self) -> Rate {
        self.max_bw.get().unwrap_or(Rate::ZERO)
    }

    pub(super) fn update_bandwidth(&mut self, flow: &mut Flow, ack: &Ack) {
        self.round_start = false;
        let Some(s) = ack.rate.filter(|s| !s.interval.is_zero()) else { return };
        if s.prior_delivered >= self.next_round {
            self.next_round = flow.delivered;
            self.rounds += 1;
            (self.round_start, self.conserve) = (true, false);
        }
        let app_limited = self.app_limited(&s);
        if self.p.policer && self.policer.sample(flow, ack.newly_lost, app_limited, self.round_start, &mut self.cycle) {
            self.cycle.probe_bandwidth(flow, &mut self.rng);
        }
        let bw = s.delivered / s.interval;
        if !app_limited || bw >= self.max_bandwidth() {
            self.max_bw.update(self.rounds, bw);
        }
    }

    pub(super) fn app_limited(&self, s: &RateSample) -> bool {
        s.app_limited || self.probe_span.is_some_and(|(from, to)| (from..=to).contains(&s.prior_delivered))
    }

    /// Is the pipe full? The bandwidth stopped growing.
    pub(super) fn check_full(&mut self, flow: &mut Flow, ack: &Ack) {
        if self.full || !self.round_start || ack.rate.is_some_and(|s| self.app_limited(&s)) {
            return;
        }
        let bw = self.max_bandwidth();
        if bw >= self.full_bw.mul_f64(1.25) {
            (self.full_bw, self.full_rounds) = (bw, 0);
            return;
        }
        self.full_rounds += 1;
        if self.full_rounds >= FULL_ROUNDS {
            self.full = true;
            let (rtt, base_rtt) = (flow.rtt.as_nanos() as i64, self.min_rtt.unwrap_or_default().as_nanos() as i64);
            let (bandwidth, bdp) = (bw.as_bps() as i64, self.bdp(flow, bw, 1.0).get() as i64);
            let reason = exits::PLATEAU;
            flow.note(causes::SlowStartExit { reason, rtt, base_rtt, bandwidth, bdp, ..Default::default() });
        }
    }

    pub(super) fn check_drain(&mut self, flow: &mut Flow) {
        let bdp = self.inflight_at(flow, self.max_bandwidth(), 1.0);
        if self.cycle.mode == Mode::Startup && self.full {
            self.switch(flow, Mode::Drain);
            flow.ssthresh = bdp;
        }
        if self.cycle.mode == Mode::Drain && flow.in_flight <= bdp {
            self.cycle.probe_bandwidth(flow, &mut self.rng);
        }
    }

    pub(super) fn switch(&mut self, flow: &mut Flow, to: Mode) {
        let queue = flow.rtt.saturating_sub(self.min_rtt.unwrap_or(flow.rtt));
        self.cycle.switch(flow, to, queue, self.bandwidth());
    }

    /// The handshake's RTT is the first (Linux' `bbr_init` takes `tcp_min_rtt`). It was not known as this was made, and is as
    /// the first data leaves.
    pub(super) fn begin_min_rtt(&mut self, flow: &Flow) {
        if self.min_rtt.is_none() && !flow.min_rtt.is_zero() {
            (self.min_rtt, self.min_rtt_at) = (Some(flow.min_rtt), flow.now);
        }
    }

    pub(super) fn update_min_rtt(&mut self, flow: &mut Flow, ack: &Ack) {
        let expired = flow.now > self.min_rtt_at + self.p.min_rtt_window;
        // The ACK of a lone packet that is not full may have been delayed (Linux' `FLAG_ACK_MAYBE_DELAYED`).
        let lone =
            ack.cumulative < flow.mss && ack.rate.is_some_and(|s| s.prior_delivered + ack.delivered == flow.delivered);
        // An RTT that is the same again does not put PROBE_RTT off: two flows with a queue between them would never find it
        // out (Linux since 5.10, `bbr_update_min_rtt`).
        if let Some(rtt) = ack.rtt
            && (self.min_rtt.is_none_or(|least| rtt < least) || (expired && !lone))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), flow.now);
        }
        if expired && !self.idle_restart && self.cycle.mode != Mode::ProbeRtt {
            self.switch(flow, Mode::ProbeRtt);
            self.save_cwnd(flow);
            self.probe_until = None;
            self.probe_span = Some((flow.delivered, flow.delivered));
            let base_rtt = self.min_rtt.unwrap_or_default().as_nanos() as i64;
            self.why = Some(causes::ProbeStart { what: probes::BASE_RTT, base_rtt }.into());
        }
        if self.cycle.mode == Mode::ProbeRtt {
            self.probe_rtt(flow);
        }
        if !ack.delivered.is_zero() {
            self.idle_restart = false;
        }
    }

    pub(super) fn probe_rtt(&mut self, flow: &mut Flow) {
        if let Some((_, to)) = &mut self.probe_span {
            *to = flow.delivered + flow.in_flight;
        }
        match self.probe_until {
            None if flow.in_flight <= flow.mss * MIN_WINDOW => {
                self.probe_until = Some(flow.now + self.p.probe_rtt_time);
                self.probe_round_over = false;
                self.next_round = flow.delivered;
            }
            None => {}
            Some(_) => {
                self.probe_round_over |= self.round_start;
                if self.probe_round_over {
                    self.end_probe_rtt(flow);
                }
            }
        }
    }

    pub(super) fn end_probe_rtt(&mut self, flow: &mut Flow) {
        if self.probe_until.is_none_or(|until| flow.now <= until) {
            return;
        }
        self.min_rtt_at = flow.now;
        if self.full {
            self.cycle.probe_bandwidth(flow, &mut self.rng);
        } else {
            self.switch(flow, Mode::Startup);
        }
        let before = flow.windows();
        flow.cwnd = flow.cwnd.max(self.prior_cwnd);
        let (base_rtt, queue) = (self.min_rtt.unwrap_or_default(), flow.rtt.saturating_sub(flow.min_rtt));
        let (base_rtt, queue) = (base_rtt.as_nanos() as i64, queue.as_nanos() as i64);
        flow.because(causes::ProbeEnd { what: probes::BASE_RTT, base_rtt, queue }, before);
    }
}
