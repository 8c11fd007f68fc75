//! q_th and p_max found on the way, for which section VI of the paper asks: a proposal of ours.
//!
//! ```text
//! q_th  = max(share RTT_min, 2 q_min),   at most q_max / 2 once the buffer is known
//! p_max = min(1, −2 ln(miss) d / (q_th − q_min)),   d = MSS / B
//! ```
//! A window that is halved keeps the link busy if the queue held a base RTT's worth; the paper's 30 ms are three quarters
//! of its 40. A flow adds a packet to the queue in a round, and so do the others, so that the queue grows by d, the time between two packets at the flow's own rate B,
//! whatever their number. It climbs through region A in n = (q_th − q_min) / d rounds, and misses every toss on the way
//! with probability ∏ (1 − p_max i / n) ≈ exp(−p_max n / 2). At 10 Mbit/s and a miss in ten this gives 0.22, where the
//! paper found 0.25 to do well.
//!
//! A buffer shorter than q_th would make every loss look random: a loss within a tenth of the largest queue ever seen is
//! taken for its end, and q_th stays in its lower half.

use super::{Backoff, Params};
use crate::{Flow, Round};
use units::{Duration, math};

impl Params {
    /// Was this the end of the buffer?
    pub(super) fn is_full(queue: Duration, flow: &Flow) -> bool {
        queue >= flow.max_rtt.saturating_sub(flow.min_rtt).mul_f64(0.9)
    }

    /// Figure 1 after this round; `bounded` once the end of the buffer was met.
    pub(super) fn thresholds(&self, last: Backoff, bounded: bool, flow: &Flow, round: &Round) -> Backoff {
        let mut next = last;
        if self.auto_q_th > 0.0 {
            let most = if bounded { flow.max_rtt.saturating_sub(flow.min_rtt) / 2 } else { Duration::MAX };
            next.q_th = flow.min_rtt.mul_f64(self.auto_q_th).min(most).max(self.q_min * 2);
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
