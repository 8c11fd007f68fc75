//! Proportional rate reduction: how much may leave per ACK while the window comes down (RFC 6937, RFC 9937).

/// One reduction under way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// `RecoverFS`: the window (Linux) when the reduction began. Like all amounts here, in bytes.
    pub prior: u64,
    /// Delivered since.
    pub delivered: u64,
    /// Sent since.
    pub out: u64,
    /// A reduction is under way.
    pub on: bool,
}

/// One ACK during a reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Delivered by it.
    pub delivered: u64,
    /// In flight after it.
    pub in_flight: u64,
    /// The goal.
    pub ssthresh: u64,
    /// It moved `una` and showed no new loss.
    pub safe: bool,
    /// Segment size.
    pub mss: u64,
    /// What the share is counted in: Linux counts segments (`tcp_cwnd_reduction`), the RFC bytes.
    pub unit: u64,
}

impl Prr {
    /// Begins a reduction from a window of `prior`.
    pub fn start(prior: u64) -> Self {
        Prr { prior: prior.max(1), delivered: 0, out: 0, on: true }
    }

    /// What may leave now; the window becomes `in_flight` plus this.
    pub fn allowance(&mut self, s: Step) -> u64 {
        self.delivered += s.delivered;
        let count = if s.in_flight > s.ssthresh {
            // The share of what was delivered that the reduced window keeps.
            (self.delivered * s.ssthresh).div_ceil(self.prior).next_multiple_of(s.unit).saturating_sub(self.out)
        } else {
            let mut limit = self.delivered.saturating_sub(self.out).max(s.delivered);
            if s.safe {
                limit += s.mss;
            }
            limit.min(s.ssthresh - s.in_flight)
        };
        // The fast retransmission itself never waits; Linux lets a segment go where nothing is to be repaired, too.
        if self.out == 0 { count.max(s.mss) } else { count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_reference() {
        // Section 1.4: RecoverFS 100, ssthresh 70, delivered 10, out 5 gives 2.
        let mut prr = Prr { prior: 100, delivered: 9, out: 5, on: true };
        assert_eq!(prr.allowance(Step { delivered: 1, in_flight: 90, ssthresh: 70, safe: true, mss: 1, unit: 1 }), 2);
    }

    #[test]
    fn table() {
        // (delivered, out, in flight, safe) → allowance; RecoverFS 20, ssthresh 10, segments of 1.
        for (delivered, out, in_flight, safe, expected) in [
            (1, 0, 19, true, 1),   // the first retransmission is forced
            (2, 1, 18, true, 0),   // half of two is already out
            (3, 1, 17, true, 1),   // rounds up
            (12, 5, 6, false, 4),  // conservative bound: what was delivered and not yet answered, up to ssthresh
            (12, 11, 6, false, 1), // conservative: one for one
            (12, 11, 6, true, 2),  // slow-start bound: one more when it is safe
            (12, 11, 10, true, 0), // at the goal
        ] {
            let mut prr = Prr { prior: 20, delivered: delivered - 1, out, on: true };
            let step = Step { delivered: 1, in_flight, ssthresh: 10, safe, mss: 1, unit: 1 };
            assert_eq!(prr.allowance(step), expected, "delivered {delivered}, out {out}, in flight {in_flight}");
        }
    }
}
