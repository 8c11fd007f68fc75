//! Selective acknowledgements and reports of duplicates (RFC 2018, RFC 2883).

use crate::freebsd::HOLES_MAX;
use crate::scoreboard::Delivery;
use crate::sender::Sender;
use crate::{Flags, Segment};
use cc::Phase;
use units::Bytes;

impl Sender {
    /// Notes the blocks of `s` on the scoreboard. True if the first reports a duplicate.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_blocks(&mut self, s: &Segment, delivery: &mut Delivery) -> bool {
        let block = |i: usize| {
            let (offset, len) = s.sack.blocks[i];
            let start = s.ack.wrapping_add_signed(offset as i64);
            (start, start + len as u64)
        };
        let mut first = 0;
        let dsack = s.flags.has(Flags::DSACK);
        let mut late = u64::MAX;
        if dsack {
            first = 1;
            self.stats.duplicates_reported += 1;
            let (start, end) = block(0);
            delivery.probe_twice = self.is_probe(start, end);
            if self.on_duplicate_reported(start, end) && self.ways.by_delivery {
                self.count_duplicate(end - start, delivery);
                late = self.see_twice(start, end, s.ack);
            }
        }
        let mut blocks = [(0, 0); 3];
        let mut refused = false;
        let used = s.sack.used().len();
        let mut ranges = [0, 1, 2].map(|i| if i >= first && i < used { block(i) } else { (0, 0) });
        if self.ways.rack {
            // In order of number, so that the RTT that RACK keeps is that of the highest (`tcp_sacktag_write_queue`).
            ranges.sort_unstable();
        }
        for (kept, (start, end)) in blocks.iter_mut().zip(ranges) {
            // An old block, or one for what was never sent.
            if end > self.nxt || end <= self.flow.acked_to {
                continue;
            }
            *kept = (start, end);
            // A receiver may tell of a part of a segment (`tcp_sack_doack` knows bytes only).
            if self.ways.own_window && self.rates.is_none() {
                self.board.split(start);
                self.board.split(end);
            }
            // What the last ACK reported already needs no second walk: only the new parts at either end do.
            let seen = self.aside.seen_blocks.iter().filter(|_| !self.aside.refused);
            let known = seen.clone().find(|k| k.0 < k.1 && start <= k.0 && k.1 <= end);
            match known.copied() {
                Some((from, to)) => {
                    if start < from {
                        self.sack_range(start, from, delivery);
                    }
                    if to < end {
                        self.sack_range(to, end, delivery);
                    }
                }
                None if self.ways.own_window && self.board.would_be_holes(start, end) > HOLES_MAX => {
                    refused = true;
                    // `tcp_sack_doack` notes that a hole is to be split before it asks for room, and of a hole at the tail after.
                    delivery.news |= start < self.board.sacked_to;
                }
                None => self.sack_range(start, end, delivery),
            }
        }
        self.aside.seen_blocks = blocks;
        self.aside.refused = refused;
        if late != u64::MAX && (self.flow.phase != Phase::Loss || self.undo.marker > 0) {
            self.rack.on_late(self.board.sacked_to.saturating_sub(late));
        }
        dsack
    }

    /// A needless retransmission arrived, which is a delivery to Linux: for rate reduction, growth and delivery rates
    /// (`tcp_dsack_seen`; only the last where nothing is out, `tcp_ack`).
    fn count_duplicate(&mut self, len: u64, delivery: &mut Delivery) {
        let bytes = len.next_multiple_of(self.mss);
        if self.is_outstanding() {
            delivery.bytes += bytes;
        } else {
            self.flow.delivered += Bytes::new(bytes);
        }
    }

    /// The scoreboard's part of a report of what came twice, if that is still on it (`tcp_is_sackblock_valid`).
    fn see_twice(&mut self, start: u64, end: u64, ack: u64) -> u64 {
        let marker = self.undo.marker;
        let valid = start > ack || (marker > 0 && start >= marker && end <= ack);
        if valid && end > self.flow.acked_to { self.board.see_twice(start, end) } else { u64::MAX }
    }

    fn sack_range(&mut self, start: u64, end: u64, delivery: &mut Delivery) {
        let Sender { board, rates, .. } = self;
        board.sack(start, end, delivery, |id, r| {
            if let Some(rates) = rates {
                rates.tracker.on_delivered(rates.tags.get(id), r.sent_at, r.end());
            }
        });
    }

    /// Declares a record lost, and tells the algorithm.
    pub(crate) fn lose(&mut self, id: u64) {
        let r = *self.board.ring.get(id);
        let size = self.board.mark_lost(id);
        if size > 0 {
            self.stats.lost += size;
            let (tx_in_flight, lost, app_limited) = match &mut self.rates {
                Some(rates) => {
                    let tag = *rates.tags.get(id);
                    (tag.tx_in_flight, rates.tracker.on_lost(&tag, size), tag.app_limited)
                }
                None => (0, size, false),
            };
            let lost = cc::Lost {
                size: Bytes::new(size),
                sent_at: r.sent_at,
                tx_in_flight: Bytes::new(tx_in_flight),
                lost: Bytes::new(lost),
                app_limited,
            };
            self.cc.on_lost(&mut self.flow, &lost);
        }
    }
}
