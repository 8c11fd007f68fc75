//! Where others compete: CUBIC on a window of its own, the bound on what is unacknowledged, and what losses take.

use super::Nimbus;
use crate::{Flow, causes};
use units::{Bytes, Duration, Rate};

impl Nimbus {
    /// CUBIC's growth, on its own window.
    pub(super) fn compete(&mut self, flow: &Flow, acked: Bytes) {
        let rival = &mut self.rival;
        (rival.now, rival.srtt, rival.mss, rival.floor) = (flow.now, flow.srtt, flow.mss, flow.floor);
        if !acked.is_zero() && !flow.app_limited && flow.phase.grows() {
            self.curve.avoidance(rival, acked);
        }
    }

    /// Two windows of the rate and of what a pulse adds: room, and a bound.
    pub(super) fn bound(&self, flow: &Flow) -> Bytes {
        (Rate::from_mbps(self.rate + self.p.pulse * self.mu) * flow.srtt * 2).max(flow.floor)
    }

    /// The answer to losses, once an RTT (`cubic_drop`): a repair that never ends is told as one episode. Of the window only
    /// what is beyond the bound goes.
    pub(super) fn lose(&mut self, flow: &mut Flow, lost: Bytes) {
        if !flow.rtt_passed(self.cut_at) {
            return;
        }
        self.cut_at = Some(flow.now);
        if self.competing {
            self.cut(flow, false);
        }
        let before = flow.windows();
        // There is no rate yet just after slow start.
        if self.rate > 0.0 {
            flow.cwnd = flow.cwnd.min(self.bound(flow));
            flow.ssthresh = flow.ssthresh.min(flow.cwnd);
        }
        flow.because(causes::LossBackoff { lost: lost.get() as i64, ..Default::default() }, before);
    }

    pub(super) fn cut(&mut self, flow: &Flow, timeout: bool) {
        self.rival.cwnd = self.curve.reduce(&self.rival, timeout).max(flow.floor);
        self.rival.reset_credit();
        self.rate = (self.rival.cwnd / flow.srtt.max(Duration::from_micros(1))).as_mbps();
    }
}
