//! How the window and its shadow grow.

use super::FreeBsd;
use crate::{Ack, Flow};
use units::Bytes;

impl FreeBsd {
    /// Growth on an ACK that indicates nothing.
    pub(super) fn grow(&mut self, flow: &mut Flow, ack: &Ack) {
        if flow.in_slow_start() {
            let before = flow.cwnd;
            flow.slow_start(ack.growth(flow.mss, self.rules.ack_counting));
            self.grow_shadow(flow.cwnd - before);
            self.rounds = 0;
            self.step = 0;
        } else if ack.round.is_some() {
            self.grow_shadow(flow.mss);
            flow.cwnd += flow.mss * self.additive_packets() as u64;
        }
    }

    /// Packets to add this round: one, or as `alpha_inc` says.
    pub(super) fn additive_packets(&mut self) -> u32 {
        if self.rules.alpha_inc == 0 {
            return 1;
        }
        self.rounds += 1;
        if self.rounds >= self.rules.alpha_inc {
            self.rounds = 0;
            self.step += 1;
        }
        self.step
    }

    pub(super) fn grow_shadow(&mut self, by: Bytes) {
        if !self.shadow.is_zero() {
            self.shadow += by;
        }
    }
}
