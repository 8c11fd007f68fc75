//! Loss by time (RACK, RFC 8985): a segment is lost if one sent later was delivered a reordering window ago.

use crate::scoreboard::{Delivery, LOST, RESENT, SACKED, Turn};
use crate::sender::Sender;
use units::{Duration, Instant};

/// Recoveries after which a reordering window widened by DSACKs is forgotten (RFC 8985, section 6.2).
const PERSIST: u8 = 16;

/// What RACK remembers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// The segment sent last among those delivered.
    pub newest: Turn,
    pub rtt: Duration,
    /// Reordering has been seen.
    pub reordering: bool,
    /// The most bytes that something was late by.
    pub most_late: u32,
    /// Width of the window in quarters of the smallest RTT; saturates, as Linux's does.
    steps: u8,
    persist: u8,
    /// A further DSACK counts once this is acknowledged.
    dsack_until: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            newest: Turn::default(),
            rtt: Duration::ZERO,
            reordering: false,
            most_late: 0,
            steps: 1,
            persist: 0,
            dsack_until: 0,
        }
    }
}

impl Rack {
    /// Learns from what an ACK delivered.
    #[inline]
    pub fn on_delivery(&mut self, now: Instant, d: &Delivery, min_rtt: Duration) {
        if d.bytes == 0 {
            return;
        }
        let mut newest = d.newest;
        // The ACK of an original would make a retransmission look faster than the path; the originals beside it still tell.
        if d.newest_again && now.since(newest.at) < min_rtt {
            newest = d.youngest;
        }
        if newest != Turn::default() {
            self.rtt = now.since(newest.at);
            if newest.is_after(self.newest) {
                self.newest = newest;
            }
        }
        self.reordering |= d.late > 0;
        self.most_late = self.most_late.max(u32::try_from(d.late).unwrap_or(u32::MAX));
    }

    /// A retransmission was spurious: wait longer from now on, once a round.
    pub fn on_dsack(&mut self, una: u64, nxt: u64) {
        if una >= self.dsack_until {
            self.dsack_until = nxt;
            self.steps = self.steps.saturating_add(1);
            self.persist = PERSIST;
            self.reordering = true;
        }
    }

    /// A recovery ended.
    pub fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// How late a segment may be and still count as reordered.
    fn window(&self, repairing: bool, sacked_segments: u64, min_rtt: Duration, srtt: Duration) -> Duration {
        if !self.reordering && (repairing || sacked_segments >= 3) {
            return Duration::ZERO;
        }
        (min_rtt * self.steps as u64 / 4).min(srtt)
    }
}

impl Sender {
    /// Declares lost what RACK says is lost, and returns when to look again.
    pub(crate) fn detect_by_time(&mut self, now: Instant) -> Instant {
        let repairing = self.flow.phase.repairs();
        let rack = self.rack;
        let allowed =
            rack.rtt + rack.window(repairing, self.board.sacked / self.mss.max(1), self.flow.min_rtt, self.flow.srtt);
        let mut again = Instant::MAX;
        // Originals were sent in order of number, so the first that is not yet due ends the walk.
        let mut id = self.board.judged.max(self.board.ring.first());
        while id < self.board.ring.next() {
            let r = *self.board.ring.get(id);
            // What an undo found again may have been sent twice, and no retransmission of it be left in flight.
            if !r.is(SACKED | LOST | RESENT) {
                if !rack.newest.is_after(r.turn()) {
                    break;
                }
                let due = r.sent_at + allowed;
                if due > now {
                    again = due;
                    break;
                }
                self.lose(id);
            }
            id += 1;
            self.board.judged = id;
        }
        // Retransmissions wait in a queue of their own, in order of time.
        while let Some(&(id, turn)) = self.board.resent_order.front() {
            let valid = id >= self.board.ring.first() && {
                let r = self.board.ring.get(id);
                r.is(RESENT) && r.turn() == turn
            };
            if valid {
                if !rack.newest.is_after(turn) {
                    break;
                }
                let due = turn.at + allowed;
                if due > now {
                    again = again.min(due);
                    break;
                }
                self.lose(id);
            }
            self.board.resent_order.pop_front();
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_nothing_until_reordering_is_seen_and_widens_by_a_quarter_a_dsack_round() {
        let ms = Duration::from_millis;
        let mut rack = Rack::default();
        assert_eq!(rack.window(true, 0, ms(40), ms(100)), Duration::ZERO);
        assert_eq!(rack.window(false, 3, ms(40), ms(100)), Duration::ZERO);
        assert_eq!(rack.window(false, 2, ms(40), ms(100)), ms(10));
        for (una, quarters) in [(10, 2), (10, 2), (20, 3), (30, 4)] {
            rack.on_dsack(una, una + 10);
            assert_eq!(rack.window(true, 9, ms(40), ms(100)), ms(10 * quarters), "una {una}");
        }
        assert_eq!(rack.window(true, 9, ms(40), ms(15)), ms(15), "never more than the smoothed RTT");
        (0..PERSIST).for_each(|_| rack.on_recovered());
        assert_eq!(rack.window(true, 9, ms(40), ms(100)), ms(10));
    }

    #[test]
    fn originals_tell_what_a_retransmission_acknowledged_too_early_does_not() {
        let (at, ms) = (Instant::from_millis, Duration::from_millis);
        let turn = |millis, order| Turn { at: at(millis), order };
        let ack = |youngest: Turn, newest: Turn, newest_again| Delivery {
            bytes: 3000,
            youngest,
            newest,
            newest_again,
            ..Delivery::new(0)
        };
        let mut rack = Rack::default();
        rack.on_delivery(at(100), &ack(turn(50, 1), turn(50, 1), false), ms(40));
        assert_eq!((rack.rtt, rack.newest), (ms(50), turn(50, 1)));
        // Sent again 10 ms ago on a path of 40 ms: the original's ACK. Beside it lies one sent at 55 ms.
        rack.on_delivery(at(110), &ack(turn(55, 2), turn(100, 3), true), ms(40));
        assert_eq!((rack.rtt, rack.newest), (ms(55), turn(55, 2)));
        rack.on_delivery(at(120), &ack(Turn::default(), turn(100, 4), true), ms(40));
        assert_eq!((rack.rtt, rack.newest), (ms(55), turn(55, 2)), "nothing beside it");
        rack.on_delivery(at(150), &ack(Turn::default(), turn(100, 4), true), ms(40));
        assert_eq!((rack.rtt, rack.newest), (ms(50), turn(100, 4)), "old enough");
    }
}
