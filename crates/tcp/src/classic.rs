//! Repair without SACK: Tahoe, Reno (RFC 5681) and NewReno (RFC 6582), with limited transmit (RFC 3042).
//!
//! The RFCs inflate `cwnd` by a segment for each duplicate ACK. Here the segment is taken off what is in flight
//! instead (`credit`): the same packets leave, and `cwnd` stays what the algorithm set.

use crate::LossDetection;
use crate::conservative::DUP_THRESH;
use crate::sender::Sender;
use cc::Phase;
use units::Instant;

impl Sender {
    /// As [`repair`](Self::repair).
    pub(crate) fn repair_without_sack(&mut self, now: Instant, cumulative: u64, duplicate: bool) -> bool {
        if cumulative > 0 {
            self.duplicates = 0;
            match self.flow.phase {
                Phase::Recovery => return self.on_new_ack_in_recovery(cumulative),
                Phase::Loss => return self.flow.acked_to >= self.recover,
                Phase::Reduced if self.flow.acked_to > self.recover || !self.is_outstanding() => self.leave_reduced(),
                _ => {}
            }
            self.credit = 0;
        } else if duplicate {
            self.duplicates += 1;
            self.on_duplicate(now);
        }
        false
    }

    fn on_duplicate(&mut self, now: Instant) {
        match self.flow.phase {
            Phase::Recovery => self.credit += self.mss,
            // Limited transmit.
            Phase::Open | Phase::Reduced
                if self.duplicates < DUP_THRESH && self.config.loss != LossDetection::Tahoe =>
            {
                self.credit += self.mss;
            }
            // Duplicates of what an earlier episode sent again must not begin another (RFC 6582, section 3.2).
            Phase::Open | Phase::Reduced
                if self.duplicates == DUP_THRESH
                    && (self.flow.acked_to > self.recover || self.config.loss == LossDetection::Reno) =>
            {
                self.lose_first();
                self.credit = DUP_THRESH as u64 * self.mss;
                self.enter_recovery(now);
            }
            _ => {}
        }
    }

    fn on_new_ack_in_recovery(&mut self, cumulative: u64) -> bool {
        if self.flow.acked_to >= self.recover || self.config.loss == LossDetection::Reno {
            return true;
        }
        // Partial: the next hole is lost too. Deflate by what was acknowledged, less the segment it lets go.
        self.credit = (self.credit + self.mss).saturating_sub(cumulative);
        self.lose_first();
        self.force_one = true;
        false
    }
}
