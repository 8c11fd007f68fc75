//! What was sent and is not yet acknowledged in order: one record a segment, and sums over them.

mod delivery;

pub(crate) use self::delivery::Delivery;

use crate::ring::Ring;
use alloc::collections::VecDeque;
use units::Instant;

/// Selectively acknowledged.
pub(crate) const SACKED: u8 = 1;
/// Declared lost.
pub(crate) const LOST: u8 = 2;
/// A retransmission of it is in flight.
pub(crate) const RESENT: u8 = 4;
/// It has been retransmitted at some time (Karn).
pub(crate) const EVER: u8 = 8;
/// It carries the FIN, the last unit of its length.
pub(crate) const FIN: u8 = 16;
/// It was selectively acknowledged before the scoreboard was cleared, so it is not delivered a second time.
pub(crate) const KNOWN: u8 = 32;
/// Delivered or doubted.
pub(crate) const UNUSUAL: u8 = SACKED | LOST | RESENT | EVER;

/// One segment as it was last sent. Retransmissions keep its borders, but for FreeBSD's (`pieces.rs`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    pub seq: u64,
    /// When it left last.
    pub sent_at: Instant,
    /// Sequence space: payload, plus one for a FIN.
    pub len: u32,
    /// Counts transmissions (modulo 2^16): many leave at the same nanosecond here, and order matters to RACK.
    pub order: u16,
    pub flags: u8,
}

/// A place in the order of transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    pub at: Instant,
    pub order: u16,
}

impl Turn {
    #[inline]
    pub fn is_after(self, o: Turn) -> bool {
        self.at > o.at || (self.at == o.at && (self.order.wrapping_sub(o.order) as i16) > 0)
    }
}

impl Record {
    #[inline]
    pub fn turn(&self) -> Turn {
        Turn { at: self.sent_at, order: self.order }
    }
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + self.len as u64
    }
    #[inline]
    pub fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

/// The records and their sums in bytes of sequence space.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Scoreboard {
    pub ring: Ring<Record>,
    /// The pipe: sent, neither delivered nor lost, retransmissions counted too.
    pub in_flight: u64,
    pub sacked: u64,
    pub lost: u64,
    /// Lost and waiting for retransmission.
    pub to_resend: u64,
    /// Retransmissions in flight.
    pub resent: u64,
    /// End of the highest selectively acknowledged segment.
    pub sacked_to: u64,
    /// Nothing below this number waits for retransmission.
    resend_from: u64,
    /// Originals below this number have been judged lost or delivered.
    pub judged: u64,
    /// Retransmissions in order of time, for RACK. Stale entries are recognised by number and time.
    pub resent_order: VecDeque<(u64, Turn)>,
    /// The next transmission's [`Record::order`].
    order: u16,
    /// What arrived and was sent again, but counts as lost no more, is still on its way once more (Linux: `tcp_sacktag_one`).
    pub keeps_resent: bool,
    /// Segments behind `sacked`, however short (Linux: `sacked_out`).
    pub sacked_segments: u32,
}

impl Scoreboard {
    pub fn new() -> Self {
        Scoreboard {
            ring: Ring::new(),
            in_flight: 0,
            sacked: 0,
            lost: 0,
            to_resend: 0,
            resent: 0,
            sacked_to: 0,
            resend_from: 0,
            judged: 0,
            resent_order: VecDeque::new(),
            order: 0,
            keeps_resent: false,
            sacked_segments: 0,
        }
    }

    /// A segment leaves for the first time.
    #[inline]
    pub fn push(&mut self, seq: u64, len: u32, flags: u8, now: Instant) -> u64 {
        self.in_flight += len as u64;
        self.order = self.order.wrapping_add(1);
        self.ring.push(Record { seq, sent_at: now, len, order: self.order, flags })
    }

    /// Takes a record out of the sums, whatever its state.
    pub(crate) fn forget(&mut self, r: &Record) {
        let len = r.len as u64;
        if r.is(SACKED) {
            self.sacked -= len;
            self.sacked_segments -= 1;
        } else if r.is(LOST) {
            self.lost -= len;
            if !r.is(RESENT) {
                self.to_resend -= len;
            }
        } else {
            self.in_flight -= len;
        }
        if r.is(RESENT) {
            self.in_flight -= len;
            self.resent -= len;
        }
    }

    /// Pops what `ack` covers; `see` gets every record newly delivered, with its number. `late` tells of one that was sent
    /// again whether its original caused the ACK.
    #[inline]
    pub fn acknowledge(
        &mut self,
        ack: u64,
        delivery: &mut Delivery,
        late: impl Fn(&Record) -> bool,
        mut see: impl FnMut(u64, &Record),
    ) {
        let (mut run, mut runs) = (0, 0);
        let (mut first, mut last) = (Record::default(), Record::default());
        while let Some(r) = self.ring.front() {
            if r.end() > ack {
                break;
            }
            if !r.is(UNUSUAL) {
                last = *r;
                if run == 0 {
                    first = last;
                }
                run += last.len as u64;
                see(self.ring.first(), &last);
            } else {
                if run > 0 {
                    delivery.add_run(run, &first, &last);
                    (run, runs) = (0, runs + run);
                }
                self.acknowledge_unusual(delivery, &late, &mut see);
            }
            self.ring.pop();
        }
        if run > 0 {
            delivery.add_run(run, &first, &last);
        }
        self.in_flight -= runs + run;
        if self.ring.front().is_some_and(|r| r.seq < ack) {
            self.trim(ack, delivery);
        }
    }

    #[cold]
    #[inline(never)]
    fn acknowledge_unusual(
        &mut self,
        delivery: &mut Delivery,
        late: &impl Fn(&Record) -> bool,
        see: &mut impl FnMut(u64, &Record),
    ) {
        let id = self.ring.first();
        let r = *self.ring.get(id);
        self.forget(&r);
        delivery.ambiguous |= r.is(EVER);
        if !r.is(SACKED | KNOWN) {
            if r.is(EVER) && late(&r) {
                // That the retransmission arrived is not known, so it says nothing of those sent before it.
                delivery.bytes += r.len as u64;
            } else {
                delivery.add(&r);
            }
            see(id, &r);
        }
    }

    /// Marks everything within [start, end) as selectively acknowledged.
    pub fn sack(&mut self, start: u64, end: u64, delivery: &mut Delivery, mut see: impl FnMut(u64, &Record)) {
        let mut id = self.find(start);
        while id < self.ring.next() {
            let r = *self.ring.get(id);
            if r.end() > end {
                break;
            }
            if !r.is(SACKED) {
                delivery.news = true;
                self.forget(&r);
                if !r.is(KNOWN) {
                    delivery.add(&r);
                    see(id, &r);
                }
                let slot = self.ring.get_mut(id);
                slot.flags = (slot.flags & !(LOST | RESENT)) | SACKED;
                if self.keeps_resent && r.is(RESENT) && !r.is(LOST) {
                    slot.flags |= RESENT;
                    self.in_flight += r.len as u64;
                    self.resent += r.len as u64;
                }
                self.sacked += r.len as u64;
                self.sacked_segments += 1;
                self.sacked_to = self.sacked_to.max(r.end());
            }
            id += 1;
        }
    }

    /// Number of the first record that starts at `seq` or later.
    pub fn find(&self, seq: u64) -> u64 {
        let (mut low, mut high) = (self.ring.first(), self.ring.next());
        // Most segments have one length, so a guess from it is mostly right; a binary search mispredicts a branch at
        // every step.
        if let Some(front) = self.ring.front() {
            let guess = (low + seq.saturating_sub(front.seq) / front.len.max(1) as u64).min(high);
            let is_above = |id: u64| id == high || self.ring.get(id).seq >= seq;
            if is_above(guess) && (guess == low || !is_above(guess - 1)) {
                return guess;
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.ring.get(middle).seq < seq {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Declares a record lost, or its retransmission if one was in flight. Returns its length, 0 if nothing changed.
    pub fn mark_lost(&mut self, id: u64) -> u64 {
        let slot = self.ring.get_mut(id);
        let r = *slot;
        if r.is(SACKED) || (r.is(LOST) && !r.is(RESENT)) {
            return 0;
        }
        slot.flags = (r.flags & !RESENT) | LOST;
        let len = r.len as u64;
        if r.is(RESENT) {
            self.in_flight -= len;
            self.resent -= len;
        }
        if !r.is(LOST) {
            self.in_flight -= len;
            self.lost += len;
        }
        self.to_resend += len;
        self.resend_from = self.resend_from.min(id);
        len
    }

    /// The lowest record waiting for retransmission.
    pub fn next_lost(&mut self) -> Option<u64> {
        if self.to_resend == 0 {
            self.resend_from = self.ring.next();
            return None;
        }
        let mut id = self.resend_from.max(self.ring.first());
        while id < self.ring.next() {
            let r = self.ring.get(id);
            if r.is(LOST) && !r.is(RESENT) {
                self.resend_from = id;
                return Some(id);
            }
            id += 1;
        }
        None
    }

    /// Sends a record again.
    pub fn resend(&mut self, id: u64, now: Instant) -> Record {
        let slot = self.ring.get_mut(id);
        let before = *slot;
        slot.flags |= RESENT | EVER;
        slot.sent_at = now;
        self.order = self.order.wrapping_add(1);
        slot.order = self.order;
        let len = before.len as u64;
        if before.is(LOST) && !before.is(RESENT) {
            self.to_resend -= len;
        }
        if !before.is(RESENT) {
            self.in_flight += len;
            self.resent += len;
        }
        before
    }

    /// Sends a record again as a tail probe, which counts as no retransmission in flight: Linux' `__tcp_retransmit_skb` leaves
    /// `retrans_out` alone. It was sent last, so that originals stay in order of time.
    pub fn probe(&mut self, id: u64, now: Instant) -> Record {
        let slot = self.ring.get_mut(id);
        let before = *slot;
        slot.flags |= EVER;
        slot.sent_at = now;
        self.order = self.order.wrapping_add(1);
        slot.order = self.order;
        before
    }

    /// Forgets selective acknowledgements (go-back-N).
    pub fn forget_sacks(&mut self) {
        for id in self.ring.first()..self.ring.next() {
            let slot = self.ring.get_mut(id);
            if slot.is(SACKED) {
                slot.flags &= !SACKED;
                // It came through long ago: the ACK that covers it next says nothing of the RTT (Karn).
                slot.flags |= EVER | KNOWN;
                let len = slot.len as u64;
                self.sacked -= len;
                self.in_flight += len;
            }
        }
        self.sacked_to = 0;
        self.sacked_segments = 0;
    }

    /// Takes every loss back.
    pub fn unmark_lost(&mut self) {
        for id in self.ring.first()..self.ring.next() {
            let slot = self.ring.get_mut(id);
            if slot.is(LOST) {
                let r = *slot;
                slot.flags &= !LOST;
                let len = r.len as u64;
                self.lost -= len;
                self.in_flight += len;
                if !r.is(RESENT) {
                    self.to_resend -= len;
                }
            }
        }
        self.judged = self.ring.first();
    }

    /// Nothing was lost or sent again, as far as is known (FreeBSD empties its scoreboard at a timeout).
    pub fn forget_losses(&mut self) {
        self.unmark_lost();
        for id in self.ring.first()..self.ring.next() {
            let slot = self.ring.get_mut(id);
            if slot.is(RESENT) {
                slot.flags &= !RESENT;
                let len = slot.len as u64;
                self.in_flight -= len;
                self.resent -= len;
            }
        }
        self.resent_order.clear();
    }

    /// The sums again, from the records: (in flight, sacked, lost, to resend, resent, segments of
    /// what is sacked).
    #[cfg(test)]
    pub fn recount(&self) -> [u64; 6] {
        let mut sums = [0; 6];
        for id in self.ring.first()..self.ring.next() {
            let r = self.ring.get(id);
            let len = r.len as u64;
            sums[0] += len * (u64::from(!r.is(SACKED | LOST)) + u64::from(r.is(RESENT)));
            sums[1] += len * u64::from(r.is(SACKED));
            sums[2] += len * u64::from(r.is(LOST));
            sums[3] += len * u64::from(r.is(LOST) && !r.is(RESENT));
            sums[4] += len * u64::from(r.is(RESENT));
            sums[5] += u64::from(r.is(SACKED));
        }
        sums
    }

    /// The sums as they are kept.
    #[cfg(test)]
    pub fn sums(&self) -> [u64; 6] {
        [self.in_flight, self.sacked, self.lost, self.to_resend, self.resent, self.sacked_segments.into()]
    }
}
