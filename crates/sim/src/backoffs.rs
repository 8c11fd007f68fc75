//! How often a flow's algorithm answered congestion, how often it did not, and what that did to lost packets.

use cc::{CauseKind, EventRecord, causes};
use core::ops::AddAssign;
use units::{Duration, Instant};

/// Reductions of a flow's window, by what they answered.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Reductions {
    pub delay: u64,
    pub loss: u64,
    pub ecn: u64,
    pub timeout: u64,
}

impl AddAssign for Reductions {
    fn add_assign(&mut self, other: Reductions) {
        self.delay += other.delay;
        self.loss += other.loss;
        self.ecn += other.ecn;
        self.timeout += other.timeout;
    }
}

/// Data packets lost on the way, by what the algorithm made of the loss that it heard of next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Not heard of yet.
    pub silent: u64,
    /// Taken for random.
    pub tolerated: u64,
    /// Of those, with a shadow window larger than the window.
    pub unused: u64,
    /// The window was cut.
    pub answered: u64,
    /// Of those, with a threshold above the window: the shadow window's.
    pub shadow: u64,
    /// Left to a timeout.
    pub timeout: u64,
}

/// What a flow's algorithm answered in the whole run, and what it let pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoffs {
    /// The window was cut.
    pub made: Reductions,
    /// Of all those, with a window below the path's BDP.
    pub below_bdp: u64,
    /// Those for delay sooner than `ON_THE_HEELS` RTTs after another, both with a window below the BDP.
    pub double: u64,
    /// When the last for delay was, if its window was below, too.
    last_below: Option<Instant>,
    /// The windows that all those for delay left, added up, in bytes.
    pub left: u64,
    /// Delay indications ignored.
    pub ignored: u64,
    /// Losses tolerated.
    pub tolerated: u64,
    /// Of those, with a shadow window above the window.
    pub unused: u64,
    /// Losses answered with a threshold above the window.
    pub shadow: u64,
    /// What its lost packets came to.
    pub losses: Losses,
}

impl Backoffs {
    /// The algorithm told of something, `now`, on a path of this BDP. Two delay back-offs sooner after each other than
    /// `soon` are a double one.
    pub fn caused(&mut self, event: &EventRecord, now: Instant, bdp: f64, soon: Duration) {
        let below = (event.cwnd_before as f64) < bdp;
        let cut = match event.cause() {
            Some(CauseKind::DelayBackoff) => {
                self.made.delay += 1;
                let before = core::mem::replace(&mut self.last_below, below.then_some(now));
                self.double += u64::from(below && before.is_some_and(|before| now.since(before) < soon));
                self.left += event.cwnd_after;
                true
            }
            Some(CauseKind::LossBackoff) => {
                self.made.loss += 1;
                let lost = core::mem::take(&mut self.losses.silent);
                self.losses.answered += lost;
                // CDG's way to use its shadow window: a threshold above the window, which slow start then climbs to.
                if event.ssthresh_after > event.cwnd_before {
                    self.losses.shadow += lost;
                    self.shadow += 1;
                }
                true
            }
            Some(CauseKind::EcnBackoff) => {
                self.made.ecn += 1;
                true
            }
            Some(CauseKind::Timeout) => {
                self.made.timeout += 1;
                self.losses.timeout += core::mem::take(&mut self.losses.silent);
                true
            }
            Some(CauseKind::DelayIgnored) => {
                self.ignored += 1;
                false
            }
            Some(CauseKind::LossTolerated) => {
                self.tolerated += 1;
                let lost = core::mem::take(&mut self.losses.silent);
                self.losses.tolerated += lost;
                if causes::LossTolerated::of(event).is_some_and(|c| c.shadow > event.cwnd_before as i64) {
                    self.losses.unused += lost;
                    self.unused += 1;
                }
                false
            }
            _ => false,
        };
        self.below_bdp += u64::from(cut && below);
    }

    /// Forgets double back-offs, which are defined for one connection.
    pub fn of_many(&mut self) {
        (self.double, self.last_below) = (0, None);
    }

    /// Adds those of one of the flow's connections, which is through.
    pub fn add(&mut self, one: &Backoffs) {
        self.made += one.made;
        self.below_bdp += one.below_bdp;
        self.double += one.double;
        self.left += one.left;
        self.ignored += one.ignored;
        self.tolerated += one.tolerated;
        self.unused += one.unused;
        self.shadow += one.shadow;
        let (all, lost) = (&mut self.losses, &one.losses);
        all.tolerated += lost.tolerated;
        all.unused += lost.unused;
        all.answered += lost.answered;
        all.shadow += lost.shadow;
        all.timeout += lost.timeout;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_connections_did_adds_up_but_for_what_is_not_heard_yet() {
        let made = Reductions { delay: 1, loss: 2, ecn: 3, timeout: 4 };
        let losses = Losses { silent: 5, tolerated: 6, unused: 7, answered: 8, shadow: 9, timeout: 10 };
        let one = Backoffs {
            made,
            below_bdp: 11,
            double: 12,
            last_below: Some(Instant::ZERO),
            left: 13,
            ignored: 14,
            tolerated: 15,
            unused: 16,
            shadow: 17,
            losses,
        };
        let mut all = Backoffs::default();
        all.add(&one);
        let own = Backoffs { last_below: None, losses: Losses { silent: 0, ..losses }, ..one };
        assert_eq!(format!("{all:?}"), format!("{own:?}"));
        all.add(&one);
        assert_eq!((all.made.timeout, all.left, all.losses.timeout), (8, 26, 20));
    }

    #[test]
    fn double_back_offs_are_one_connections() {
        let mut backoffs = Backoffs { double: 3, last_below: Some(Instant::ZERO), ignored: 2, ..Backoffs::default() };
        backoffs.of_many();
        assert_eq!((backoffs.double, backoffs.last_below, backoffs.ignored), (0, None, 2));
    }
}
