//! Probing trains: segments sent at gaps that were asked for, and what the receiver saw of each.
//!
//! The algorithm says what rate each segment of a train is to follow the one before it at; the train paces them so, knows
//! their ACKs again by when they left, and hands over the whole train when the last one is heard of. It needs an ACK for
//! every segment and fine time stamps (`About::feedback`).

use crate::{Ack, Flow};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use units::{Instant, Rate};

/// One segment of a train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Rate asked for between the segment before and this one.
    pub rate: Rate,
    /// One-way delay in nanoseconds between two clocks: all of a train have one constant added, and it may be negative.
    /// `None` if later segments came and this one did not. It is reckoned from when the receiver says that the segment
    /// came: the echoed stamp on the ACK of a segment behind a hole is an older one's.
    pub delay: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    train: u64,
    rate: Rate,
}

/// Sends trains one after the other and collects what becomes of them.
#[derive(Clone, Debug, Default)]
pub struct ProbeTrain {
    /// Rates of the segments of the train under way that are yet to leave, next one last.
    plan: Vec<Rate>,
    number: u64,
    sent: VecDeque<Sent>,
    heard: Vec<Probe>,
    /// The train that is being heard.
    listening: u64,
    /// When the last segment left.
    left_at: Instant,
}

impl ProbeTrain {
    /// No train yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has the train under way left?
    pub fn is_over(&self) -> bool {
        self.plan.is_empty()
    }

    /// Begins a train: its rates in order.
    pub fn begin(&mut self, rates: impl DoubleEndedIterator<Item = Rate>) {
        self.plan.clear();
        self.plan.extend(rates.rev());
        self.number += 1;
    }

    /// A segment left: notes it, and paces the next one as planned.
    pub fn on_sent(&mut self, flow: &mut Flow, retransmission: bool) {
        let gap = flow.now.since(core::mem::replace(&mut self.left_at, flow.now));
        if let Some(asked) = self.plan.pop()
            && !retransmission
        {
            // Where the application or the window kept it back, it asked for less.
            let rate = if gap.is_zero() { asked } else { asked.min(flow.mss / gap) };
            self.sent.push_back(Sent { at: flow.now, train: self.number, rate });
        }
        if let Some(&rate) = self.plan.last() {
            flow.pacing = Some(rate);
        }
    }

    /// An ACK: the train it completes, if it does; the newest, if it skips several.
    pub fn on_ack(&mut self, ack: &Ack) -> Option<Vec<Probe>> {
        let received = ack.received_at?;
        let mut whole = None;
        while let Some(sent) = self.sent.front().copied().filter(|sent| sent.at <= ack.sent_at) {
            self.sent.pop_front();
            if sent.train != self.listening {
                self.listening = sent.train;
                whole = Some(core::mem::take(&mut self.heard));
            }
            let arrived = sent.at == ack.sent_at;
            let delay = arrived.then(|| received.as_nanos() as i64 - sent.at.as_nanos() as i64);
            self.heard.push(Probe { rate: sent.rate, delay });
            if arrived {
                break;
            }
        }
        whole.filter(|w| !w.is_empty())
    }

    /// Forgets what is under way (after a timeout).
    pub fn forget(&mut self) {
        self.sent.clear();
        self.heard.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    #[test]
    fn a_train_is_paced_as_planned_and_heard_whole_when_the_next_one_begins() {
        let mut f = flow(10, 40);
        let mut train = ProbeTrain::new();
        let rates = [4.0, 5.0, 6.0].map(Rate::from_mbps);
        for round in 0..2 {
            train.begin(rates.into_iter());
            for n in 0..3u64 {
                f.now = Instant::from_millis(10 * round + n);
                train.on_sent(&mut f, false);
                let next = rates.get(n as usize + 1).copied();
                assert!(next.is_none_or(|rate| f.pacing == Some(rate)));
            }
            assert!(train.is_over());
        }
        let heard = |train: &mut ProbeTrain, sent, delay| {
            let received_at = Some(Instant::from_millis(sent + delay));
            train.on_ack(&Ack { sent_at: Instant::from_millis(sent), received_at, ..ack(1, 40) })
        };
        assert_eq!(heard(&mut train, 0, 20), None);
        // The second segment was lost.
        assert_eq!(heard(&mut train, 2, 22), None);
        let whole = heard(&mut train, 10, 20).unwrap();
        let delays = [Some(20_000_000), None, Some(22_000_000)];
        assert_eq!(whole, [0, 1, 2].map(|i| Probe { rate: rates[i], delay: delays[i] }));
    }

    #[test]
    fn a_segment_that_came_late_asked_for_what_its_gap_says() {
        let mut f = flow(10, 40);
        let mut train = ProbeTrain::new();
        train.begin([4.0, 5.0].map(Rate::from_mbps).into_iter());
        for at in [0, 8] {
            f.now = Instant::from_millis(at);
            train.on_sent(&mut f, false);
        }
        // 1000 bytes in 8 ms.
        assert_eq!(train.sent.back().unwrap().rate, Rate::from_mbps(1.0));
    }
}
