//! From the model to a pacing rate and a window.

use super::cycle::Phase;
use super::{Bbr3, MIN_WINDOW};
use crate::{Ack, Flow, causes};
use units::{Bytes, Duration, Rate};

/// Pace one percent below the estimate, so that queues drain (PacingMarginPercent).
const MARGIN: f64 = 0.99;

impl Bbr3 {
    fn product(&self, flow: &Flow, bw: Rate, gain: f64) -> Bytes {
        self.min_rtt.get().map_or(flow.mss * 10, |rtt| (bw * rtt).mul_f64(gain))
    }

    pub(super) fn bdp(&self, flow: &Flow, gain: f64) -> Bytes {
        self.product(flow, self.bandwidth(), gain)
    }

    /// A millisecond of pacing, at most 64 KiB, at least two packets: the send quantum.
    fn burst(&self, flow: &Flow) -> Bytes {
        let rate = flow.pacing.unwrap_or(Rate::ZERO);
        (rate * Duration::from_millis(1)).min(Bytes::new(65_536)).max(flow.mss * 2)
    }

    /// Room for bursts at both hosts and for pipelining.
    fn with_bursts(&self, flow: &Flow, window: Bytes) -> Bytes {
        let window = window.max(self.burst(flow) * 3).max(flow.mss * MIN_WINDOW);
        if self.state.phase == Phase::Up { window + flow.mss * 2 } else { window }
    }

    pub(super) fn inflight(&self, flow: &Flow, gain: f64) -> Bytes {
        self.with_bursts(flow, self.bdp(flow, gain))
    }

    pub(super) fn inflight_at_max(&self, flow: &Flow) -> Bytes {
        self.with_bursts(flow, self.product(flow, self.max_bandwidth(), 1.0))
    }

    /// Before the first RTT: as if the window took a millisecond.
    pub(super) fn pace_by_window(&mut self, flow: &mut Flow) {
        self.seen_rtt = !flow.srtt.is_zero();
        let rtt = if self.seen_rtt { flow.srtt } else { Duration::from_millis(1) };
        flow.pacing = Some((flow.cwnd / rtt).mul_f64(self.p.startup_gain * MARGIN));
    }

    pub(super) fn set_pacing(&mut self, flow: &mut Flow) {
        // The ACK that brings it brings a bandwidth, too (Linux' `has_seen_rtt`).
        if !self.seen_rtt && !flow.srtt.is_zero() {
            self.pace_by_window(flow);
        }
        self.pace(flow, self.state.pacing_gain(&self.p));
    }

    pub(super) fn pace(&mut self, flow: &mut Flow, gain: f64) {
        let rate = self.bandwidth().mul_f64(gain * MARGIN).max(flow.mss / Duration::from_secs(1));
        // Until the pipe is full the rate only rises.
        if self.full || flow.pacing.is_none_or(|old| rate > old) {
            flow.pacing = Some(rate);
        }
    }

    pub(super) fn save_cwnd(&mut self, flow: &Flow) {
        let temporary = self.phase_before.repairs() || self.state.phase == Phase::ProbeRtt;
        self.prior_cwnd = if temporary { self.prior_cwnd.max(flow.cwnd) } else { flow.cwnd };
    }

    pub(super) fn set_cwnd(&mut self, flow: &mut Flow, ack: &Ack) {
        let (before, was) = (flow.windows(), core::mem::replace(&mut self.phase_before, flow.phase));
        let restores = was.repairs() && !flow.phase.repairs();
        if restores {
            flow.cwnd = flow.cwnd.max(self.prior_cwnd);
        }
        let extra = self.extra.get().unwrap_or(Bytes::ZERO);
        let most = self.with_bursts(flow, self.bdp(flow, self.state.cwnd_gain(&self.p)) + extra);
        if self.full {
            flow.cwnd = (flow.cwnd + ack.delivered).min(most);
        } else if flow.cwnd < most || flow.delivered < flow.mss * 10 {
            flow.cwnd += ack.delivered;
        }
        flow.cwnd = flow.cwnd.max(flow.mss * MIN_WINDOW);
        if self.state.phase == Phase::ProbeRtt {
            flow.cwnd = flow.cwnd.min(self.probe_rtt_window(flow));
        }
        flow.cwnd = flow.cwnd.min(self.cap(flow));
        if restores || self.why.is_some() || flow.has_events() {
            self.tell(flow, before, restores);
        }
    }

    /// The bounds decide last, also about what a repair gives back.
    #[cold]
    fn tell(&mut self, flow: &mut Flow, before: (Bytes, Bytes), restores: bool) {
        let restore = causes::Restore { target: self.prior_cwnd.get() as i64, interval: 0 }.into();
        flow.settle(self.why.take(), restores.then_some(restore), before);
    }

    /// The bounds in force.
    fn cap(&self, flow: &Flow) -> Bytes {
        let long = match self.state.phase {
            Phase::Down | Phase::Refill | Phase::Up => self.bounds.longterm,
            Phase::Cruise | Phase::ProbeRtt => self.bounds.with_headroom(self.p.headroom, flow.mss),
            Phase::Startup | Phase::Drain => None,
        };
        let cap = long.unwrap_or(Bytes::MAX).min(self.bounds.shortterm.unwrap_or(Bytes::MAX));
        cap.max(flow.mss * MIN_WINDOW)
    }
}
