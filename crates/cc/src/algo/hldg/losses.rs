//! What a loss in delay mode does.

use super::Hldg;
use crate::Flow;
use units::Bytes;

impl Hldg {
    /// A loss in delay mode. Returns the window after it.
    pub(super) fn lose(&mut self, flow: &mut Flow, timeout: bool) -> Bytes {
        // FreeBSD halves after a timeout before its modules are asked; 5.5 is about losses that ACKs tell.
        let to = if timeout { flow.cwnd / 2 } else { self.after_loss(flow) };
        self.abandon_base_probe(flow);
        self.start.searching = false;
        if self.own_start && (timeout || self.p.search_again) {
            self.start.again();
        }
        self.decision.reset();
        if !self.p.every_round {
            self.gradients.interrupt();
        }
        to
    }

    /// What a loss in delay mode leaves (section 5.5): the BDP, if it lies within reason, as in Westwood; never less than
    /// half of what a loss-based flow would have.
    fn after_loss(&mut self, flow: &Flow) -> Bytes {
        let (window, bdp) = (flow.cwnd, self.bdp());
        let within = bdp < window && bdp > window.mul_f64(self.p.beta_delay);
        // In slow start Algorithm 5.3 halves.
        let rule =
            if self.p.westwood && within && window >= flow.ssthresh { bdp } else { window.mul_f64(self.p.beta_loss) };
        self.shadow = self.shadow / 2;
        if self.p.shadow_cap {
            // Linux's: a shadow of twice the window is all that counts.
            self.shadow = self.shadow.min(window);
        }
        rule.max(self.shadow)
    }
}
