//! BLUE: drops arrivals with a probability raised by losses and lowered by idleness, whatever the queue's length. Feng, Shin,
//! Kandlur and Saha, IEEE/ACM Transactions on Networking 10(4), 2002.
//!
//! ```text
//! overflow:   p += d1      link idle:   p −= d2      at most one change every `freeze`
//! ```
//!
//! d1 is larger than d2, so that p reacts quickly to more load and slowly to less.
//!
//! No safeguard: with ECN, senders that ignore marks are bounded by the buffer alone. SFB finds them.

use crate::{Law, LawKind, LinkInfo, Look, Verdict};
use units::{Duration, Instant, Rng};

params::params! {
    /// What users may set.
    pub struct Params {
        /// Step up (the paper's experiments: 0.0025 to 0.02).
        d1: f64 = 0.0025, 0.0 => 1.0;
        /// Step down (a tenth).
        d2: f64 = 0.00025, 0.0 => 1.0;
        /// Least time between two changes: about what a change takes to show (10 to 100 ms).
        freeze: Duration = Duration::from_millis(100), Duration::ZERO => Duration::from_secs(10);
        /// Packets held that count as an overflow already, for room to absorb bursts; 0 is the buffer.
        threshold: usize = 0, 0 => 1_000_000_000;
        /// Mark packets that can be marked instead of dropping them.
        ecn: bool = false;
    }
}

/// BLUE's state.
#[derive(Clone, Debug)]
pub struct Blue {
    params: Params,
    p: f64,
    changed: Option<Instant>,
    /// The lull that lasts has been told of.
    rested: bool,
    rng: Rng,
}

impl Blue {
    fn change(&mut self, now: Instant, by: f64) {
        if self.changed.is_none_or(|at| now.since(at) >= self.params.freeze) {
            self.p = (self.p + by).clamp(0.0, 1.0);
            self.changed = Some(now);
        }
    }
}

impl Law for Blue {
    fn on_enqueue(&mut self, look: &Look) -> Verdict {
        if self.params.threshold > 0 && look.len >= self.params.threshold {
            self.change(look.now, self.params.d1);
        }
        if !self.rng.chance(self.p) {
            return Verdict::Pass;
        }
        if self.params.ecn { Verdict::Mark } else { Verdict::Drop }
    }

    fn on_empty(&mut self, now: Instant) {
        self.change(now, -self.params.d2);
        self.rested = true;
    }

    /// A sub-queue whose arrivals were all dropped has nothing to send, so that no scheduler finds it empty.
    fn on_activate(&mut self, now: Instant) {
        if !core::mem::take(&mut self.rested) {
            self.change(now, -self.params.d2);
        }
    }

    fn on_forced_drop(&mut self, look: &Look, _: u32) {
        self.change(look.now, self.params.d1);
    }

    fn on_refused(&mut self, look: &Look) {
        self.change(look.now, self.params.d1);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("p", self.p);
    }
}

impl LawKind for Blue {
    const PAPER: &'static str = "Feng, Shin, Kandlur and Saha, IEEE/ACM Transactions on Networking 10(4), 2002";
    const DOC: &'static str = "Drops arrivals at random, more often after overflows, less often after idle times.";
    type Params = Params;

    fn new(params: &Params, _: &LinkInfo, rng: Rng) -> Self {
        Blue { params: params.clone(), p: 0.0, changed: None, rested: true, rng }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::testing::{link, look};
    use units::streams;

    fn blue(params: Params) -> Blue {
        Blue::new(&params, &link(10.0), Rng::new(1, 0, streams::AQM))
    }

    #[test]
    fn p_moves_once_a_freeze_time() {
        let mut blue = blue(Params::default());
        let p_after = |blue: &mut Blue, ms: u64, overflow: bool| {
            let now = Instant::from_millis(ms);
            if overflow {
                blue.on_refused(&look(now, 60))
            } else {
                blue.on_empty(now)
            }
            blue.p
        };
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(p_after(&mut blue, 0, true), 0.0025));
        assert!(near(p_after(&mut blue, 99, true), 0.0025));
        assert!(near(p_after(&mut blue, 100, true), 0.005));
        assert!(near(p_after(&mut blue, 150, false), 0.005));
        assert!(near(p_after(&mut blue, 200, false), 0.00475), "a tenth of the way up");
        blue.p = 0.0001;
        assert_eq!(p_after(&mut blue, 300, false), 0.0);
    }

    #[test]
    fn a_long_queue_may_count_as_an_overflow() {
        let mut blue = blue(Params { threshold: 50, d1: 1.0, ..Params::default() });
        assert_eq!(blue.on_enqueue(&look(Instant::ZERO, 49)), Verdict::Pass);
        assert_eq!(blue.on_enqueue(&look(Instant::ZERO, 50)), Verdict::Drop);
    }
}
