//! Long-term sampling: two intervals of at least four rounds with like rates and a fifth of the data lost tell of a
//! policer; then send at the mean of their rates for 48 rounds without probing.

use super::cycle::{Cycle, Mode};
use crate::Flow;
use units::{Bytes, Instant, Rate};

const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 48;

#[derive(Debug)]
pub(super) struct Policer {
    /// The last interval's rate.
    rate: Option<Rate>,
    in_force: bool,
    sampling: bool,
    rounds: u32,
    began: Instant,
    delivered_then: Bytes,
    lost_then: Bytes,
    lost: Bytes,
}

/// A fifth of what was delivered (50/256).
fn lossy(lost: Bytes, delivered: Bytes) -> bool {
    !delivered.is_zero() && lost.get() as u128 * 256 >= delivered.get() as u128 * 50
}

/// Within an eighth, or 4 kbit/s.
fn alike(a: Rate, b: Rate) -> bool {
    let apart = a.as_bps().abs_diff(b.as_bps());
    apart <= b.as_bps() / 8 || apart <= 4_000
}

impl Policer {
    pub(super) fn new() -> Self {
        Policer {
            rate: None,
            in_force: false,
            sampling: false,
            rounds: 0,
            began: Instant::ZERO,
            delivered_then: Bytes::ZERO,
            lost_then: Bytes::ZERO,
            lost: Bytes::ZERO,
        }
    }

    /// The policer's rate, while it is taken to be there.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate.filter(|_| self.in_force)
    }

    #[cfg(test)]
    pub(super) fn is_sampling(&self) -> bool {
        self.sampling
    }

    #[cfg(test)]
    pub(super) fn force(&mut self, rate: Rate, rounds: u32) {
        (self.rate, self.in_force, self.rounds) = (Some(rate), true, rounds);
    }

    pub(super) fn lost(&mut self, size: Bytes) {
        self.lost += size;
    }

    fn begin_interval(&mut self, flow: &Flow) {
        (self.began, self.rounds) = (flow.now, 0);
        (self.delivered_then, self.lost_then) = (flow.delivered, self.lost);
    }

    pub(super) fn reset(&mut self, flow: &Flow) {
        (self.rate, self.in_force, self.sampling) = (None, false, false);
        self.begin_interval(flow);
    }

    /// Takes one ACK into account; true when the 48 rounds are over and probing may begin anew.
    pub(super) fn sample(&mut self, flow: &Flow, lost: Bytes, limited: bool, round: bool, cycle: &mut Cycle) -> bool {
        if self.in_force {
            if cycle.mode == Mode::ProbeBw && round {
                self.rounds += 1;
                if self.rounds >= MAX_ROUNDS {
                    self.reset(flow);
                    return true;
                }
            }
            return false;
        }
        if !self.sampling {
            // The first loss tells that a policer's tokens are used up.
            if lost.is_zero() {
                return false;
            }
            self.begin_interval(flow);
            self.sampling = true;
        }
        if limited {
            self.reset(flow);
            return false;
        }
        self.rounds += round as u32;
        if self.rounds > 4 * MIN_ROUNDS {
            self.reset(flow);
        } else if self.rounds >= MIN_ROUNDS && !lost.is_zero() {
            self.end_interval(flow);
        }
        false
    }

    fn end_interval(&mut self, flow: &Flow) {
        let delivered = flow.delivered.saturating_sub(self.delivered_then);
        let took = flow.now.since(self.began);
        if !lossy(self.lost.saturating_sub(self.lost_then), delivered) || took.as_millis() < 1 {
            return;
        }
        let rate = delivered / took;
        match self.rate {
            Some(before) if alike(rate, before) => {
                self.rate = Some(Rate::from_bps(rate.as_bps().midpoint(before.as_bps())));
                (self.in_force, self.rounds) = (true, 0);
            }
            _ => {
                self.rate = Some(rate);
                self.begin_interval(flow);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flow, ms, packets};

    #[test]
    fn a_fifth_lost_and_rates_within_an_eighth() {
        assert!(lossy(packets(20), packets(100)) && !lossy(packets(19), packets(100)));
        assert!(!lossy(packets(1), Bytes::ZERO) && lossy(packets(50), packets(256)));
        let mbps = Rate::from_mbps;
        assert!(alike(mbps(1.125), mbps(1.0)) && !alike(mbps(1.13), mbps(1.0)));
        assert!(alike(Rate::from_bps(14_000), Rate::from_bps(10_000)), "4 kbit/s apart");
    }

    #[test]
    fn two_lossy_intervals_of_four_rounds_set_the_rate_for_48_rounds() {
        let mut f = flow(10, 100);
        let mut cycle = Cycle::new(f.now);
        cycle.mode = Mode::ProbeBw;
        let mut policer = Policer::new();
        let mut round = |policer: &mut Policer| {
            // 100 packets of 1000 bytes delivered and 25 lost in 100 ms: 8 Mbit/s.
            f.now += ms(100);
            f.delivered += packets(100);
            policer.lost(packets(25));
            policer.sample(&f, packets(25), false, true, &mut cycle)
        };
        let until_set = (1..).find(|_| round(&mut policer) || policer.rate().is_some());
        assert_eq!(until_set, Some(8), "four rounds, then four more");
        assert_eq!(policer.rate(), Some(Rate::from_mbps(8.0)));
        assert_eq!((1..100).find(|_| round(&mut policer)), Some(48));
        assert_eq!(policer.rate(), None);
        let again = (1..100).find(|_| round(&mut policer) || policer.rate().is_some());
        assert_eq!(again, Some(8), "and it looks for one anew");
    }

    #[test]
    fn few_losses_are_no_policers() {
        let mut f = flow(10, 100);
        let mut cycle = Cycle::new(f.now);
        let mut policer = Policer::new();
        for _ in 0..100 {
            f.now += ms(100);
            f.delivered += packets(100);
            policer.lost(packets(19));
            assert!(!policer.sample(&f, packets(19), false, true, &mut cycle), "nothing to begin anew");
        }
        assert_eq!((policer.rate(), policer.rate), (None, None));
    }
}
