//! What becomes of the window: after a delay indication and on an ACK that indicates nothing.

use super::mode::Mode;
use super::{Hldg, RepairGrowth};
use crate::{Ack, Flow, How, Phase, causes, ppb};
use units::Bytes;

impl Hldg {
    /// A delay indication: back off, unless backing off has proved ineffectual (from CDG).
    pub(super) fn congested(&mut self, flow: &mut Flow) {
        self.consecutive += 1;
        let before = flow.cwnd;
        if !self.p.use_ineffectual || self.consecutive <= self.p.consec_cong {
            self.back_off(flow);
            self.gradients.backed_off();
            self.decision.reset();
        } else {
            flow.note(causes::DelayIgnored {
                probability: ppb(self.decision.toss.probability),
                drew: ppb(self.decision.toss.drew),
                consecutive: self.consecutive as i64,
                queue: self.queueing(flow).as_nanos() as i64,
            });
            if self.consecutive >= self.p.consec_cong + self.p.hold_backoff {
                self.consecutive = 0;
            }
            // As CDG. No back-off, no effect to look for (5.2.4.3), and the sum goes on (Eq 5.10: "since the last back-off").
            self.gradients.skip();
        }
        self.base.backs_off(flow.now);
        if self.modes.mode == Mode::Delay && self.base.due(flow.now) {
            self.probe_base_rtt(flow);
        }
        if self.p.use_shadow {
            self.shadow = self.shadow.max(if self.p.shadow_after_cut { flow.cwnd } else { before });
        }
    }

    /// Where a delay back-off leads (Eq 5.6, with the option 5.8).
    pub(super) fn back_off_to(&self, flow: &Flow) -> Bytes {
        let by_beta = flow.cwnd.mul_f64(self.p.beta_delay);
        let bdp = self.bdp();
        // "BDP should never be greater than cwnd"; when it is, it is wrong.
        if !self.p.bdp || bdp > flow.cwnd {
            return by_beta;
        }
        let by_bdp = bdp.mul_f64(self.p.lambda());
        if self.p.use_max { by_bdp.max(by_beta) } else { by_bdp }
    }

    fn back_off(&mut self, flow: &mut Flow) {
        let (min, max) = (&self.gradients.min, &self.gradients.max);
        let why = causes::DelayBackoff {
            g_min: crate::nanos(min.last),
            g_max: crate::nanos(max.last),
            average_min: crate::nanos(min.average),
            average_max: crate::nanos(max.average),
            probability: ppb(self.decision.toss.probability),
            drew: ppb(self.decision.toss.drew),
            queue: self.queueing(flow).as_nanos() as i64,
            bdp: self.bdp().get() as i64,
        };
        // What follows a back-off is no search for the bandwidth.
        self.start.searching = false;
        flow.reduce(self.back_off_to(flow), How::AtOnce, why);
    }

    fn grows_in_repair(&self) -> bool {
        match self.p.repair_growth {
            RepairGrowth::None => false,
            RepairGrowth::Loss => self.modes.mode == Mode::Loss,
            RepairGrowth::Both => true,
        }
    }

    /// Growth on an ACK that indicates nothing.
    pub(super) fn grow(&mut self, flow: &mut Flow, ack: &Ack) {
        if flow.phase == Phase::Recovery && !self.repairing && self.grows_in_repair() {
            if flow.ends_beyond && ack.round.is_none() {
                return;
            }
            flow.grow_repair(flow.mss);
            if self.modes.mode != Mode::Loss && !self.shadow.is_zero() {
                self.shadow += flow.mss;
            }
            return;
        }
        if self.modes.mode == Mode::Loss {
            return self.loss_mode.ack(flow, ack);
        }
        if self.repairing && flow.phase == Phase::Recovery {
            // A probe may end sooner than the repair of what was lost before it. Its window must not last as long.
            if flow.cwnd < flow.ssthresh {
                flow.slow_start(ack.delivered);
            }
            return;
        }
        if !flow.may_grow() {
            return;
        }
        let before = flow.cwnd;
        if self.base.probing() && self.p.base_hold > 0 {
            return;
        }
        if flow.in_slow_start() {
            // "By the number of acknowledged bytes for every ACK" is said of the regrowth after a base-RTT probe alone (5.2.6).
            self.start.ack(flow, ack, self.base.rtt, self.p.ack_counting && !self.regrowing);
        } else if ack.round.is_some() {
            flow.cwnd += flow.mss;
        }
        if !self.shadow.is_zero() {
            self.shadow += flow.cwnd.saturating_sub(before);
        }
    }
}
