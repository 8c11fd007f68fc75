//! What a loss does: tolerated or not, the shadow window's part, and how FreeBSD leaves a repair.

use super::super::{Infer, queue};
use super::FreeBsd;
use crate::algo::cdg::queue_state::QueueState;
use crate::{Ack, Congestion, Flow, Reaction, causes};

impl FreeBsd {
    /// FreeBSD's CDG does not ask whether a repair is under way (NewReno does): every partial ACK, and the one that ends
    /// it, adds a packet to the small window of the repair, which is in slow start, and to the shadow. What the last leaves may
    /// be in congestion avoidance.
    pub(super) fn grow_in_recovery(&mut self, flow: &mut Flow, ack: &Ack) {
        if !self.rules.restarts {
            return;
        }
        if !flow.ends_beyond {
            flow.grow_repair(flow.mss);
            self.grow_shadow(flow.mss);
        } else if ack.round.is_some() {
            flow.grow_repair(flow.mss * self.additive_packets() as u64);
            self.grow_shadow(flow.mss);
        }
    }

    /// Should this loss be taken for random?
    fn tolerates(&self, flow: &Flow) -> bool {
        let full = match (self.rules.infer, self.queue) {
            (Infer::Extremes, _) => {
                flow.rtt.saturating_sub(flow.min_rtt) * 4 >= flow.max_rtt.saturating_sub(flow.min_rtt) * 3
            }
            (_, QueueState::Full) => true,
            (_, QueueState::Unknown) => self.rules.unknown_full,
            _ => false,
        };
        (self.rules.recovery_bug && !self.outstanding.is_zero()) || (self.rules.use_tolerance && !full)
    }

    pub(super) fn on_loss(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        self.kept = true;
        if self.tolerates(flow) {
            let before = flow.windows();
            flow.ssthresh = flow.cwnd;
            let why = causes::LossTolerated {
                lost: c.lost.get() as i64,
                queue: queue(flow),
                queue_state: self.queue as i64,
                shadow: self.shadow.get() as i64,
            };
            flow.because(why, before);
            return Reaction::Own;
        }
        self.rounds = 0;
        self.step = 0;
        self.shadow = self.shadow.min(flow.receive_window) / 2;
        let to = self.shadow.max(flow.cwnd.min(flow.receive_window).mul_f64(self.rules.beta_loss));
        if to <= flow.cwnd {
            self.kept = false;
            return Reaction::Reduce(to);
        }
        // A larger shadow is only the threshold: the window grows towards it as in slow start.
        let before = flow.windows();
        flow.ssthresh = to;
        let why = causes::LossBackoff {
            lost: c.lost.get() as i64,
            in_flight: flow.in_flight.get() as i64,
            shadow: self.shadow.get() as i64,
            bdp: 0,
        };
        flow.because(why, before);
        Reaction::Own
    }
}
