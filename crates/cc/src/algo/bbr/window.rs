//! What BBR does about it: pacing rate and window, in recovery and out of it.

use super::cycle::Mode;
use super::{Bbr, MARGIN, MIN_WINDOW};
use crate::{Ack, Cause, Flow, Phase, causes};
use units::{Bytes, Duration, Rate};

impl Bbr {
    /// `gain` bandwidth-delay products, up to whole packets; ten packets before the first RTT.
    pub(super) fn bdp(&self, flow: &Flow, bw: Rate, gain: f64) -> Bytes {
        let Some(rtt) = self.min_rtt else { return flow.mss * 10 };
        flow.mss * (bw * rtt).mul_f64(gain).get().div_ceil(flow.mss.get())
    }

    /// Linux' burst: a millisecond of pacing, at most 64 KiB, at least two packets (one below 1.2 Mbit/s).
    pub(super) fn burst(&self, flow: &Flow) -> u64 {
        let rate = flow.pacing.unwrap_or(Rate::ZERO);
        let least = if rate.as_bps() < 1_200_000 { 1 } else { 2 };
        ((rate.as_bps() / 8 / 1024).min(65_536) / flow.mss.get()).clamp(least, 127)
    }

    /// Room for bursts at both hosts, and an even number of packets for delayed ACKs.
    pub(super) fn with_bursts(&self, flow: &Flow, window: Bytes) -> Bytes {
        let packets = window.get() / flow.mss.get() + 3 * self.burst(flow);
        let probing = self.cycle.mode == Mode::ProbeBw && self.cycle.index == 0;
        flow.mss * (packets.next_multiple_of(2) + if probing { 2 } else { 0 })
    }

    pub(super) fn inflight_at(&self, flow: &Flow, bw: Rate, gain: f64) -> Bytes {
        self.with_bursts(flow, self.bdp(flow, bw, gain))
    }

    /// Before the first RTT: as if the window took a millisecond.
    pub(super) fn pace_by_window(&mut self, flow: &mut Flow) {
        self.seen_rtt = !flow.srtt.is_zero();
        let rtt = if self.seen_rtt { flow.srtt } else { Duration::from_millis(1) };
        flow.pacing = Some((flow.cwnd / rtt).mul_f64(self.p.startup_gain * MARGIN));
    }

    pub(super) fn set_pacing(&mut self, flow: &mut Flow) {
        if !self.seen_rtt && !flow.srtt.is_zero() {
            self.pace_by_window(flow);
        }
        let gain = self.cycle.pacing_gain(&self.p, self.policer.rate().is_some());
        self.pace(flow, gain);
    }

    pub(super) fn pace(&mut self, flow: &mut Flow, gain: f64) {
        // A rate of nothing would never send what tells more: a packet per second at least.
        let rate = self.bandwidth().mul_f64(gain * MARGIN).max(flow.mss / Duration::from_secs(1));
        // Until the pipe is full the rate only rises.
        if self.full || flow.pacing.is_none_or(|old| rate > old) {
            flow.pacing = Some(rate);
        }
    }

    pub(super) fn save_cwnd(&mut self, flow: &Flow) {
        let temporary = self.phase_before.repairs() || self.cycle.mode == Mode::ProbeRtt;
        self.prior_cwnd = if temporary { self.prior_cwnd.max(flow.cwnd) } else { flow.cwnd };
    }

    /// The first round of recovery conserves packets; after recovery the window is what it was, which is true then.
    fn recover(&mut self, flow: &mut Flow, ack: &Ack) -> bool {
        let was = core::mem::replace(&mut self.phase_before, flow.phase);
        let restores = was.repairs() && !flow.phase.repairs();
        flow.cwnd = flow.cwnd.saturating_sub(ack.newly_lost).max(flow.mss);
        if flow.phase == Phase::Recovery && was != Phase::Recovery {
            self.conserve = true;
            self.next_round = flow.delivered;
            flow.cwnd = flow.in_flight + ack.delivered;
            self.why = self.why.or(Some(Self::loss_backoff(flow, ack)));
        } else if restores {
            self.conserve = false;
            flow.cwnd = flow.cwnd.max(self.prior_cwnd);
        }
        if self.conserve {
            flow.cwnd = flow.cwnd.max(flow.in_flight + ack.delivered);
        }
        restores
    }

    pub(super) fn set_cwnd(&mut self, flow: &mut Flow, ack: &Ack) {
        let (before, mut restores) = (flow.windows(), false);
        if !ack.delivered.is_zero() {
            restores = self.recover(flow, ack);
            if !self.conserve {
                self.follow_model(flow, ack.delivered);
            }
        }
        if self.cycle.mode == Mode::ProbeRtt {
            flow.cwnd = flow.cwnd.min(flow.mss * MIN_WINDOW);
        }
        let taken = !ack.newly_lost.is_zero() && flow.cwnd < before.0;
        if taken || restores || self.why.is_some() || flow.has_events() {
            self.tell(flow, before, taken.then(|| Self::loss_backoff(flow, ack)), restores);
        }
    }

    fn loss_backoff(flow: &Flow, ack: &Ack) -> Cause {
        let (lost, in_flight) = (ack.newly_lost.get() as i64, flow.in_flight.get() as i64);
        causes::LossBackoff { lost, in_flight, ..Default::default() }.into()
    }

    /// The model and PROBE_RTT decide last, also about what a repair takes and gives back.
    #[cold]
    fn tell(&mut self, flow: &mut Flow, before: (Bytes, Bytes), taken: Option<Cause>, restores: bool) {
        let restore = causes::Restore { target: self.prior_cwnd.get() as i64, interval: 0 }.into();
        flow.settle(self.why.take().or(taken), restores.then_some(restore), before);
    }

    pub(super) fn follow_model(&mut self, flow: &mut Flow, acked: Bytes) {
        let bw = self.bandwidth();
        let extra = if self.full { self.aggregation.extra(bw) } else { Bytes::ZERO };
        let target = self.with_bursts(flow, self.bdp(flow, bw, self.cycle.cwnd_gain(&self.p)) + extra);
        if self.full {
            flow.cwnd = (flow.cwnd + acked).min(target);
        } else if flow.cwnd < target || flow.delivered < flow.mss * 10 {
            flow.cwnd += acked;
        }
        flow.cwnd = flow.cwnd.max(flow.mss * MIN_WINDOW);
    }
}
