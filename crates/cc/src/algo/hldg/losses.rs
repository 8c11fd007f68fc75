//! What a loss in delay mode does, or in a probe.

use super::Hldg;
use super::mode::Mode;
use crate::{Flow, Signal};
use units::Bytes;

impl Hldg {
    /// Congestion in delay mode or in a probe. Returns the window after it.
    pub(super) fn lose(&mut self, flow: &mut Flow, signal: Signal) -> Bytes {
        let probing = self.modes.mode == Mode::Probe;
        let to = match signal {
            // FreeBSD halves after a timeout before its modules are asked; 5.5 is about losses that ACKs tell.
            Signal::Timeout => flow.cwnd / 2,
            // The probe's two packets stay for its m rounds; what the shadow knows is of the time before loss mode.
            _ if probing => flow.cwnd,
            Signal::Loss => self.after_loss(flow),
            // As FreeBSD's CDG, which hands marks to NewReno.
            Signal::Ecn => flow.newreno_mark(),
        };
        self.abandon_base_probe(flow);
        self.start.searching = false;
        let searches = signal == Signal::Timeout || (signal == Signal::Loss && self.p.search_again);
        if self.own_start && searches && !probing {
            self.start.again();
        }
        self.decision.reset();
        if !self.p.every_round {
            self.gradients.interrupt();
        }
        to
    }

    /// What a loss in delay mode leaves (section 5.5): the BDP if that is between `beta_delay` of the window and all of
    /// it, as in Westwood, else `beta_loss` of it; but at least half of the shadow window, up to the window itself. If
    /// half of the shadow is more, it becomes the threshold when the repair ends ("cwnd will increase exponentially",
    /// 4.3.3.2), not now: hosts that put the window at the threshold would jump.
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
        self.lift = self.shadow;
        rule.max(self.shadow.min(window))
    }
}
