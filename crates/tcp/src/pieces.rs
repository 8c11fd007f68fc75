//! What FreeBSD's scoreboard does otherwise: it has room for only so many holes; it resends what fits of a hole, not
//! the segments as they first left, so that borders of records move; and it may count a retransmission as an original
//! (`settle`).

use crate::scoreboard::{Delivery, EVER, FIN, KNOWN, LOST, RESENT, Record, SACKED, Scoreboard};

/// Does it wait for retransmission, with nothing special about it?
fn waits(r: &Record) -> bool {
    r.is(LOST) && !r.is(SACKED | RESENT | FIN)
}

impl Scoreboard {
    /// Makes record `id`, which waits for retransmission, `len` bytes long, as far as the records behind it wait too:
    /// the border moves, records behind it are taken in, or what is left over becomes a record. If only a part of it
    /// was received before a timeout cleared the scoreboard, all of it counts as new, so that less than a segment is
    /// counted as delivered twice.
    pub fn recut(&mut self, id: u64, len: u32) {
        let mut r = *self.ring.get(id);
        if !waits(&r) || r.len == len || len == 0 {
            return;
        }
        let joins = |board: &Self| {
            let n = (id + 1 < board.ring.next()).then(|| *board.ring.get(id + 1))?;
            waits(&n).then_some(n)
        };
        while r.len < len
            && let Some(mut next) = joins(self)
        {
            let take = next.len.min(len - r.len);
            r.len += take;
            r.flags = (r.flags | next.flags & EVER) & (next.flags | !KNOWN);
            if take == next.len {
                self.ring.remove(id + 1);
                self.judged -= u64::from(self.judged > id + 1);
            } else {
                next.seq += take as u64;
                next.len -= take;
                *self.ring.get_mut(id + 1) = next;
            }
        }
        if r.len > len {
            let rest = r.len - len;
            r.len = len;
            match joins(self).filter(|next| next.flags == r.flags) {
                Some(next) => {
                    *self.ring.get_mut(id + 1) = Record { seq: r.end(), len: next.len + rest, ..next };
                }
                None => {
                    self.ring.insert_after(id, Record { seq: r.end(), len: rest, ..r });
                    self.judged += u64::from(self.judged > id);
                }
            }
        }
        *self.ring.get_mut(id) = r;
    }

    /// A border at `seq`: FreeBSD's holes know no segments, and a range may begin or end inside what left as one.
    pub fn split(&mut self, seq: u64) {
        let Some(id) = self.find(seq).checked_sub(1).filter(|id| *id >= self.ring.first()) else { return };
        let r = *self.ring.get(id);
        if r.end() <= seq {
            return;
        }
        let len = (seq - r.seq) as u32;
        *self.ring.get_mut(id) = Record { len, flags: r.flags & !FIN, ..r };
        self.ring.insert_after(id, Record { seq, len: r.len - len, ..r });
        self.sacked_segments += u32::from(r.is(SACKED));
        self.judged += u64::from(self.judged > id);
    }

    /// Holes below the highest selective acknowledgement if `start` to `end` were one too and made a new hole; zero if it
    /// makes none.
    pub fn would_be_holes(&self, start: u64, end: u64) -> u64 {
        let (first, next) = (self.ring.first(), self.ring.next());
        let (from, to) = (self.find(start), self.find(end));
        let is_sacked = |id: u64| id >= first && id < next && self.ring.get(id).is(SACKED);
        if from == first || (from.saturating_sub(1)..=to).any(is_sacked) {
            return 0;
        }
        let mut holes = 1;
        let mut inside = false;
        for id in first..self.find(self.sacked_to) {
            let is_hole = !self.ring.get(id).is(SACKED);
            holes += u64::from(is_hole && !inside);
            inside = is_hole;
        }
        holes
    }

    /// A retransmission under way counts as an original from here on, though never for RTTs (Karn).
    pub fn settle(&mut self, id: u64) {
        let slot = self.ring.get_mut(id);
        if slot.is(LOST) && slot.is(RESENT) {
            slot.flags &= !(LOST | RESENT);
            let len = slot.len as u64;
            self.lost -= len;
            self.resent -= len;
        }
    }

    /// The ACK ends inside the first record: its borders have moved since that data was sent.
    #[cold]
    #[inline(never)]
    pub fn trim(&mut self, ack: u64, delivery: &mut Delivery) {
        let r = *self.ring.get(self.ring.first());
        let came = Record { len: (ack - r.seq) as u32, ..r };
        self.forget(&came);
        self.sacked_segments += u32::from(r.is(SACKED));
        delivery.ambiguous = true;
        if !r.is(SACKED | KNOWN) {
            delivery.bytes += came.len as u64;
        }
        let id = self.ring.first();
        *self.ring.get_mut(id) = Record { seq: ack, len: r.len - came.len, ..r };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use units::Instant;

    /// Five segments of 1000 bytes, the second to the fourth lost.
    fn board() -> Scoreboard {
        let mut b = Scoreboard::new();
        (0..5).for_each(|n| _ = b.push(n * 1000, 1000, 0, Instant::ZERO));
        (1..4).for_each(|id| _ = b.mark_lost(id));
        b.judged = 4;
        b
    }

    fn cuts(b: &Scoreboard) -> Vec<(u64, u32)> {
        (b.ring.first()..b.ring.next()).map(|id| (b.ring.get(id).seq, b.ring.get(id).len)).collect()
    }

    fn sums(b: &Scoreboard) -> [u64; 6] {
        b.sums()
    }

    #[test]
    fn a_piece_of_a_hole_moves_the_border_and_one_at_its_end_is_cut_off() {
        let mut b = board();
        b.recut(1, 12);
        assert_eq!(cuts(&b), [(0, 1000), (1000, 12), (1012, 1988), (3000, 1000), (4000, 1000)]);
        b.resend(1, Instant::ZERO);
        b.recut(2, 1000);
        b.resend(2, Instant::ZERO);
        assert_eq!(cuts(&b), [(0, 1000), (1000, 12), (1012, 1000), (2012, 1988), (4000, 1000)]);
        b.recut(3, 1000);
        assert_eq!(cuts(&b), [(0, 1000), (1000, 12), (1012, 1000), (2012, 1000), (3012, 988), (4000, 1000)]);
        assert_eq!((b.judged, b.recount()), (5, sums(&b)));
    }

    #[test]
    fn what_waits_behind_is_taken_in_and_what_does_not_is_left_alone() {
        let mut b = board();
        b.recut(1, 2500);
        assert_eq!(cuts(&b), [(0, 1000), (1000, 2500), (3500, 500), (4000, 1000)]);
        b.recut(1, 9000);
        assert_eq!(cuts(&b), [(0, 1000), (1000, 3000), (4000, 1000)]);
        b.recut(0, 500);
        assert_eq!((b.judged, cuts(&b).len(), b.recount()), (2, 3, sums(&b)));
    }

    #[test]
    fn a_hole_at_the_end_of_what_was_sent_takes_in_nothing_beyond() {
        let mut b = board();
        b.mark_lost(4);
        b.recut(3, 1500);
        assert_eq!(cuts(&b)[3..], [(3000, 1500), (4500, 500)]);
        b.recut(3, 9000);
        assert_eq!(cuts(&b)[3..], [(3000, 2000)]);
        b.recut(3, 9000);
        assert_eq!((cuts(&b).len(), cuts(&b)[3], b.recount()), (4, (3000, 2000), sums(&b)));
    }

    #[test]
    fn a_border_within_a_record_leaves_both_parts_as_it_was() {
        // (border, records then, judged of 4)
        for (seq, records, judged) in
            [(0, 5, 4), (1000, 5, 4), (2400, 6, 5), (2999, 6, 5), (4500, 6, 4), (5000, 5, 4), (6000, 5, 4)]
        {
            let mut b = board();
            (1..3).for_each(|id| _ = b.resend(id, Instant::ZERO));
            b.split(seq);
            assert_eq!((cuts(&b).len(), b.judged, b.recount()), (records, judged, sums(&b)), "{seq}");
            assert!(cuts(&b).windows(2).all(|w| w[0].0 + u64::from(w[0].1) == w[1].0), "{seq}");
            assert!(records == 5 || b.ring.get(b.find(seq)).seq == seq, "{seq}");
        }
        let mut b = board();
        b.resend(2, Instant::ZERO);
        b.split(2400);
        assert_eq!((cuts(&b)[2], cuts(&b)[3]), ((2000, 400), (2400, 600)));
        assert_eq!(b.ring.get(2).flags, b.ring.get(3).flags);
        // What was received is two received ones.
        b.sack(0, 1000, &mut Delivery::new(0), |_, _| ());
        b.split(300);
        assert_eq!((b.sacked_segments, b.recount()), (2, sums(&b)));
        b.acknowledge(100, &mut Delivery::new(0), |_| false, |_, _| {});
        assert_eq!((b.sacked_segments, b.recount()), (2, sums(&b)));
        let mut b = board();
        // A FIN is the last of its record.
        b.push(5000, 501, FIN, Instant::ZERO);
        b.split(5100);
        assert_eq!([5, 6].map(|id| b.ring.get(id).flags), [0, FIN]);
    }

    #[test]
    fn a_fin_leaves_as_it_was_cut() {
        let mut b = board();
        b.push(5000, 1, FIN, Instant::ZERO);
        (4..6).for_each(|id| _ = b.mark_lost(id));
        b.recut(4, 1448);
        b.recut(5, 1448);
        assert_eq!(cuts(&b)[4..], [(4000, 1000), (5000, 1)]);
    }

    #[test]
    fn what_was_judged_stays_so_where_borders_move() {
        // (judged, after a cut within record 1, after it took in record 2)
        for (judged, cut, joined) in [(1, 1, 1), (2, 3, 2), (3, 4, 2), (4, 5, 3)] {
            let mut b = board();
            b.judged = judged;
            b.ring.get_mut(2).flags |= EVER;
            b.recut(1, 12);
            assert_eq!(b.judged, cut, "{judged}");
            let mut b = board();
            b.judged = judged;
            b.recut(1, 2000);
            assert_eq!(b.judged, joined, "{judged}");
        }
    }

    #[test]
    fn only_what_makes_a_hole_more_is_counted() {
        let mut b = Scoreboard::new();
        (0..10).for_each(|n| _ = b.push(n * 1000, 1000, 0, Instant::ZERO));
        let mut d = Delivery::new(0);
        b.sack(2000, 3000, &mut d, |_, _| {});
        b.sack(5000, 6000, &mut d, |_, _| {});
        for (start, end, holes) in [
            (7000, 8000, 3), // beside 0 to 2000 and 3000 to 5000
            (7000, 9000, 3),
            (6000, 7000, 0), // continues what is known
            (3000, 4000, 0),
            (4000, 5000, 0),
            (1000, 2000, 0),
            (5000, 6000, 0),
            (0, 1000, 0), // leaves nothing below it
        ] {
            assert_eq!(b.would_be_holes(start, end), holes, "{start} to {end}");
        }
    }

    #[test]
    fn what_was_sent_again_once_or_received_is_taken_in_too() {
        let mut b = board();
        b.recut(1, 12);
        b.resend(1, Instant::ZERO);
        b.mark_lost(1);
        b.recut(1, 1000);
        assert_eq!(cuts(&b), [(0, 1000), (1000, 1000), (2000, 1000), (3000, 1000), (4000, 1000)]);
        b.recut(1, 12);
        assert_eq!(cuts(&b)[1..3], [(1000, 12), (1012, 988)], "what is left was sent again, what follows was not");
        b.ring.get_mut(3).flags |= KNOWN;
        b.recut(1, 1448);
        assert_eq!(cuts(&b)[1..3], [(1000, 1448), (2448, 552)]);
        assert_eq!([1, 2].map(|id| b.ring.get(id).is(KNOWN)), [false, true], "new, as a whole");
        assert_eq!([1, 2].map(|id| b.ring.get(id).is(EVER)), [true, false], "part of it was sent before");
        assert_eq!(b.recount(), sums(&b));
        // The other way about: what comes behind was sent before and not received.
        let mut b = board();
        b.ring.get_mut(1).flags |= KNOWN;
        b.ring.get_mut(2).flags |= EVER;
        b.recut(1, 1500);
        assert_eq!([1, 2].map(|id| b.ring.get(id).flags & (KNOWN | EVER)), [EVER, EVER]);
    }

    #[test]
    fn what_is_settled_was_sent_twice_for_all_that() {
        let mut b = board();
        b.resend(1, Instant::ZERO);
        b.settle(1);
        assert_eq!(b.ring.get(1).flags & (LOST | RESENT | EVER), EVER);
        b.settle(2);
        assert!(b.ring.get(2).is(LOST), "it was not sent again");
        assert_eq!(b.recount(), sums(&b));
    }

    #[test]
    fn an_ack_up_to_the_middle_of_a_record_leaves_its_rest() {
        let mut b = board();
        let mut d = Delivery::new(0);
        b.acknowledge(1400, &mut d, |_| false, |_, _| {});
        assert_eq!((cuts(&b)[0], d.bytes, b.lost), ((1400, 600), 1400, 2600));
        assert!(d.ambiguous, "its time says nothing of a round trip");
        assert_eq!(b.recount(), sums(&b));
        // What was received before a timeout forgot that is not delivered again.
        b.ring.get_mut(b.ring.first()).flags |= KNOWN;
        let mut d = Delivery::new(0);
        b.acknowledge(1700, &mut d, |_| false, |_, _| {});
        assert_eq!((cuts(&b)[0], d.bytes), ((1700, 300), 0));
    }
}
