//! PERT that makes up for its early responses where others answer only to loss (`coexist=true`).
//!
//! ```text
//! P(q) reaches one at th₃ = max(2·th_max, 0.65·q_max) instead of 2·th_max;   an early response leaves 1 − q/(q + q_max)
//! every five RTTs, by where q was for a window of packets or more:
//!   ≤ th_min           path idle:     α += 0.5, to no more than 32
//!   ≥ q_max/2          competition:   α += 0.1, to no more than 1 + p_early/p_loss (less below 0.65·q_max), and 32
//!   otherwise                         α = max(1, 0.9·α)
//! ```
//! q_max = max(10 ms, RTT_max − RTT_min). p_early and p_loss are the inverses of the average interval between early
//! responses and between losses, by TFRC's weights. Kotla and Reddy, Making a delay-based protocol adaptive to heterogeneous
//! environments, IWQoS 2008, with the constants of the port to ns-3 (`mod.rs`).

use crate::Flow;
use crate::filter::Intervals;
use units::{Duration, Instant};

/// Largest α.
const MOST: f64 = 32.0;
const IDLE_STEP: f64 = 0.5;
const COMPETING_STEP: f64 = 0.1;
const DECAY: f64 = 0.9;
/// α is chosen every so many RTTs.
const RTTS: u64 = 5;
/// The part of the early responses that α makes up for, by x = queue/q_max: all where x is this or more; below, the
/// hyperbola 1 − `SHARP`/(x − `HALF`), scaled to meet that, and so none at one half.
const FULLY: f64 = 0.65;
const HALF: f64 = 0.49;
const SHARP: f64 = 0.01;
/// The part of q_max at which P reaches one.
const CERTAIN: f64 = 0.65;
/// q_max is taken for no less than this.
const LEAST_RANGE: Duration = Duration::from_millis(10);

/// State: α, packets in a row in either region, the two intervals.
#[derive(Debug)]
pub(super) struct Coexist {
    pub alpha: f64,
    idle: f64,
    competing: f64,
    pub early: Intervals,
    pub losses: Intervals,
    chosen_at: Instant,
}

/// q_max.
fn range(flow: &Flow) -> Duration {
    flow.max_rtt.saturating_sub(flow.min_rtt).max(LEAST_RANGE)
}

impl Coexist {
    pub fn new() -> Self {
        let (early, losses) = (Intervals::default(), Intervals::default());
        Coexist { alpha: 1.0, idle: 0.0, competing: 0.0, early, losses, chosen_at: Instant::ZERO }
    }

    /// th₃.
    pub fn certain_at(flow: &Flow, th_max: Duration) -> Duration {
        (th_max * 2).max(range(flow).mul_f64(CERTAIN))
    }

    /// What an early response leaves of the window.
    pub fn beta(flow: &Flow, queue: Duration) -> f64 {
        1.0 - queue / (queue + range(flow))
    }

    /// So many packets were acknowledged at this queueing delay.
    pub fn see(&mut self, flow: &Flow, packets: f64, queue: Duration, th_min: Duration) {
        self.early.pass(packets);
        self.losses.pass(packets);
        if queue <= th_min {
            self.idle += packets;
        } else if queue * 2 >= range(flow) {
            self.competing += packets;
        } else {
            (self.idle, self.competing) = (0.0, 0.0);
        }
        if flow.now.since(self.chosen_at) >= flow.srtt * RTTS {
            self.choose(flow, queue);
            self.chosen_at = flow.now;
        }
    }

    fn choose(&mut self, flow: &Flow, queue: Duration) {
        let w = flow.cwnd.packets(flow.mss);
        if self.competing >= w {
            let lost = self.losses.rate();
            let full = queue / range(flow);
            let part = if full < FULLY { (1.0 - SHARP / (full - HALF)) / (1.0 - SHARP / (FULLY - HALF)) } else { 1.0 };
            let balanced = if lost > 0.0 { 1.0 + part * self.early.rate() / lost } else { MOST };
            self.alpha = (self.alpha + COMPETING_STEP).min(balanced).min(MOST);
        } else if self.idle >= w {
            self.alpha = (self.alpha + IDLE_STEP).min(MOST);
        } else {
            self.alpha = (self.alpha * DECAY).max(1.0);
        }
        (self.idle, self.competing) = (0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flow, ms};

    #[test]
    fn alpha_rises_on_an_idle_path_and_in_competition_and_falls_back() {
        let mut f = flow(20, 100);
        f.max_rtt = ms(200);
        let mut c = Coexist::new();
        let mut after = |seconds: u64, queue: u64| {
            f.now = Instant::from_millis(seconds * 1000);
            c.see(&f, 20.0, ms(queue), ms(5));
            c.alpha
        };
        assert_eq!([after(1, 0), after(2, 5), after(3, 60)], [1.5, 2.0, 2.1]);
        assert!((after(4, 30) - 1.89).abs() < 1e-12);
    }

    #[test]
    fn in_competition_alpha_makes_up_for_early_responses_and_no_more() {
        let mut c = Coexist::new();
        (c.alpha, c.competing) = (1.55, 30.0);
        // A response every 200 packets and a loss every 100: α = 1 + 100/200.
        (0..8).for_each(|_| {
            c.early.pass(200.0);
            c.losses.pass(100.0);
            c.early.close();
            c.losses.close();
        });
        let mut f = flow(20, 100);
        f.max_rtt = ms(200);
        c.choose(&f, ms(80));
        assert!((c.alpha - 1.5).abs() < 1e-12);
    }

    #[test]
    fn in_a_queue_just_long_enough_to_compete_alpha_makes_up_for_little() {
        // The port's curve: 1 at half of q_max, all of it at 0.65; between, 16/15·(1 − 0.01/(q/q_max − 0.49)) of it.
        let mut f = flow(20, 100);
        f.max_rtt = ms(200);
        for (queue, alpha) in [(50, 1.0), (55, 1.0 + 16.0 / 15.0 * (1.0 - 1.0 / 6.0)), (65, 2.0), (90, 2.0)] {
            let mut c = Coexist::new();
            (c.alpha, c.competing) = (5.0, 30.0);
            for intervals in [&mut c.early, &mut c.losses] {
                intervals.pass(100.0);
                intervals.close();
            }
            c.choose(&f, ms(queue));
            assert!((c.alpha - alpha).abs() < 1e-9, "{queue} ms: {}", c.alpha);
        }
    }

    #[test]
    fn a_response_leaves_half_at_the_largest_queue() {
        let mut f = flow(20, 100);
        f.max_rtt = ms(200);
        assert_eq!((Coexist::beta(&f, ms(100)), Coexist::beta(&f, ms(0))), (0.5, 1.0));
        assert_eq!(Coexist::certain_at(&f, ms(10)), ms(65));
        f.max_rtt = ms(110);
        assert_eq!(Coexist::certain_at(&f, ms(10)), ms(20));
        f.max_rtt = ms(101);
        assert_eq!(Coexist::beta(&f, ms(10)), 0.5, "q_max is 10 ms at least");
    }
}
