//! Loss by time (RACK, RFC 8985): a segment is lost if one sent later was delivered a reordering window ago.

use crate::Stack;
use crate::conservative::DUP_THRESH;
use crate::scoreboard::{Delivery, LOST, RESENT, SACKED, Turn};
use crate::sender::Sender;
use crate::timers::JIFFIES;
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
    /// The largest lateness seen, in bytes (see `Delivery::late`).
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
        let (mut newest, mut last) = (d.newest, d.last);
        if d.newest_again | d.last_again {
            // Sooner than `min_rtt` after the retransmission the ACK answers the original, and would make the path look
            // too fast. The originals beside it still tell.
            let told = |turn: Turn, again| if again && now.since(turn.at) < min_rtt { d.youngest } else { turn };
            (newest, last) = (told(newest, d.newest_again), told(last, d.last_again));
        }
        if newest.is_after(self.newest) {
            self.newest = newest;
        }
        // Not the newest's: Linux keeps the RTT of the last that it looks at, and what an ACK covers in order comes after
        // what it covers selectively (`tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`). So an ACK that was delayed until
        // the first segment beyond a hole proves nothing lost yet; the next does.
        if last != Turn::default() {
            self.rtt = now.since(last.at);
        }
        self.on_late(d.late);
    }

    /// A packet came later than others that were sent up to so many bytes beyond it; 0 for none.
    #[inline]
    pub fn on_late(&mut self, bytes: u64) {
        if bytes > 0 {
            self.reordering = true;
            self.most_late = self.most_late.max(u32::try_from(bytes).unwrap_or(u32::MAX));
        }
    }

    /// A retransmission was spurious: wait longer from now on, once a round. Where nothing was ever reordered it was not
    /// for want of waiting (`tcp_dsack_seen`).
    pub fn on_dsack(&mut self, una: u64, nxt: u64) {
        if self.reordering && una >= self.dsack_until {
            self.dsack_until = nxt;
            self.steps = self.steps.saturating_add(1);
            self.persist = PERSIST;
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
    fn window(&self, repairing: bool, sacked_segments: u32, min_rtt: Duration, srtt: Duration) -> Duration {
        if !self.reordering && (repairing || sacked_segments >= DUP_THRESH) {
            return Duration::ZERO;
        }
        (min_rtt * self.steps as u64 / 4).min(srtt)
    }
}

impl Sender {
    /// Declares lost what RACK says is lost, and returns when to look again: when the last of those that wait is due
    /// (RFC 8985, section 6.2, step 5). What is due earlier is found by the ACKs that arrive until then.
    pub(crate) fn detect_by_time(&mut self, now: Instant, repairing: bool) -> Instant {
        let rack = self.rack;
        let allowed = rack.rtt + rack.window(repairing, self.board.sacked_segments, self.flow.min_rtt, self.flow.srtt);
        let mut last_due = None;
        // Originals were sent in order of number, so the first that is not yet due ends what is lost.
        let mut id = self.board.judged.max(self.board.ring.first());
        while id < self.board.ring.next() {
            let r = *self.board.ring.get(id);
            // What an undo found again may have been sent twice, and no retransmission of it be left in flight.
            if !r.is(SACKED | LOST | RESENT) {
                if !rack.newest.is_after(r.turn()) {
                    break;
                }
                let due = r.sent_at + allowed;
                if due <= now {
                    self.lose(id);
                } else {
                    last_due = Some(due);
                }
            }
            id += 1;
            if last_due.is_none() {
                self.board.judged = id;
            }
        }
        // Retransmissions wait in a queue of their own, in order of time.
        let mut waiting = 0;
        while let Some(&(id, turn)) = self.board.resent_order.get(waiting) {
            let valid = id >= self.board.ring.first() && {
                let r = self.board.ring.get(id);
                r.is(RESENT) && !r.is(SACKED) && r.turn() == turn
            };
            if valid {
                if !rack.newest.is_after(turn) {
                    break;
                }
                let due = turn.at + allowed;
                if due <= now {
                    self.lose(id);
                } else {
                    last_due = last_due.max(Some(due));
                    waiting += 1;
                    continue;
                }
            }
            self.board.resent_order.remove(waiting);
        }
        let slack = if self.config.stack == Stack::Linux { JIFFIES } else { Duration::ZERO };
        last_due.map_or(Instant::MAX, |due| due + slack)
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
        rack.on_dsack(0, 5);
        assert_eq!(rack.window(true, 0, ms(40), ms(100)), Duration::ZERO, "a needless timeout is no reordering");
        rack.on_late(3000);
        for (una, quarters) in [(10, 2), (10, 2), (20, 3), (30, 4)] {
            rack.on_dsack(una, una + 10);
            assert_eq!(rack.window(true, 9, ms(40), ms(100)), ms(10 * quarters), "una {una}");
        }
        assert_eq!(rack.window(true, 9, ms(40), ms(15)), ms(15), "never more than the smoothed RTT");
        // RFC 8985, section 6.2: until sixteen recoveries have passed without a further one.
        for (recoveries, dsack, quarters) in [(15, true, 5), (15, false, 5), (1, false, 1), (1, true, 2)] {
            (0..recoveries).for_each(|_| rack.on_recovered());
            if dsack {
                rack.on_dsack(rack.dsack_until, rack.dsack_until + 10);
            }
            assert_eq!(rack.window(true, 9, ms(40), ms(100)), ms(10 * quarters), "{recoveries}");
        }
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
            last: newest,
            last_again: newest_again,
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

    #[test]
    fn the_rtt_is_of_what_an_ack_covers_in_order_though_the_newest_lies_beyond_a_hole() {
        // The first waited for its ACK in vain until the third, sent 30 ms later, arrived. The second is lost.
        let mut board = crate::scoreboard::Scoreboard::new();
        [10, 10, 40, 41].into_iter().enumerate().for_each(|(n, at)| {
            board.push(1000 * n as u64, 1000, 0, Instant::from_millis(at));
        });
        let mut rack = Rack::default();
        let mut hear = |now, ack, from, to| {
            let mut d = Delivery::new(0);
            board.sack(from, to, &mut d, |_, _| ());
            board.acknowledge(ack, &mut d, |_| false, |_, _| ());
            rack.on_delivery(Instant::from_millis(now), &d, Duration::from_millis(40));
            (rack.rtt, rack.newest.at)
        };
        assert_eq!(hear(80, 1000, 2000, 3000), (Duration::from_millis(70), Instant::from_millis(40)));
        assert_eq!(hear(81, 1000, 2000, 4000), (Duration::from_millis(40), Instant::from_millis(41)));
    }
}
