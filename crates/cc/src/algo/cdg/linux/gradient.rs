//! RTT samples of a round, and the gradient between rounds.

use super::{Linux, MinMax};
use crate::algo::cdg::queue_state::QueueState;
use units::Duration;

impl Linux {
    /// Takes an RTT sample. An ACK for one packet is presumed delayed if ACKs for several came before: then it may
    /// only lower the minimum (Hayes' filter).
    pub(super) fn sample(&mut self, rtt: Duration, packets: u64, sacked: bool) {
        let us = rtt.as_micros() as i64;
        if us <= 0 {
            return;
        }
        if !sacked {
            if packets == 1 && self.delack > 0 {
                self.rtt.min = self.rtt.min.min(us);
                self.delack -= 1;
                return;
            }
            if packets > 1 && self.delack < 5 {
                self.delack += 1;
            }
        }
        self.rtt.min = if self.rtt.min == 0 { us } else { self.rtt.min.min(us) };
        self.rtt.max = self.rtt.max.max(us);
    }

    /// The gradient to decide on: the sum over the window of the smallest RTT's if it rises, else the largest's.
    /// Sums, not averages, so that what happens during a reduction can be left out.
    pub(super) fn gradient(&mut self) -> i64 {
        self.last = MinMax { min: self.rtt.min - self.rtt_prev.min, max: self.rtt.max - self.rtt_prev.max };
        let oldest = core::mem::replace(&mut self.gradients[self.tail], self.last);
        self.sum.min += self.last.min - oldest.min;
        self.sum.max += self.last.max - oldest.max;
        let window = self.gradients.len();
        self.tail = (self.tail + 1) & (window - 1);

        let mut gradient = if self.sum.min > 0 { self.sum.min } else { self.sum.max };
        if !self.filled {
            if self.tail == 0 {
                self.filled = true;
            } else {
                // Missing gradients are taken to be like those there are.
                gradient = gradient * window as i64 / self.tail as i64;
            }
        }
        if self.use_tolerance {
            self.queue = self.queue.after_sums(self.sum.min, self.sum.max);
            self.backed_off &= self.queue == QueueState::Unknown;
        }
        gradient
    }
}
