//! q_th and p_max found on the way, for which section VI of the paper asks: a proposal of ours.
//!
//! ```text
//! q_th  = max(share q_max, 2 q_min)
//! p_max = min(1, −2 ln(miss) d / (q_th − q_min)),   d = MSS / B
//! ```
//! The paper's q_th of 30 ms is a third of its buffer, which a slow start fills. A flow adds a packet to the queue in a
//! round, and so do the others, so that the queue grows by d, the time between two packets at the flow's own rate B,
//! whatever their number. It climbs through region A in n = (q_th − q_min) / d rounds, and misses every toss on the way
//! with probability ∏ (1 − p_max i / n) ≈ exp(−p_max n / 2). At 10 Mbit/s and a miss in ten this gives 0.22, where the
//! paper found 0.25 to do well.

use super::{Backoff, Params};
use crate::{Flow, Round};
use units::math;

impl Params {
    /// Figure 1 after this round.
    pub(super) fn thresholds(&self, last: Backoff, flow: &Flow, round: &Round) -> Backoff {
        let mut next = last;
        if self.auto_q_th > 0.0 {
            let q_max = flow.max_rtt.saturating_sub(flow.min_rtt);
            next.q_th = q_max.mul_f64(self.auto_q_th).max(self.q_min * 2);
        }
        let length = round.end.since(round.start);
        if self.auto_p_max > 0.0 && !length.is_zero() && !round.delivered.is_zero() {
            let packet = length.as_secs_f64() * (flow.mss.as_f64() / round.delivered.as_f64());
            let region_a = (next.q_th - next.q_min).as_secs_f64();
            next.p_max =
                if region_a > 0.0 { (-2.0 * math::ln(self.auto_p_max) * packet / region_a).min(1.0) } else { 1.0 };
        }
        next
    }
}
