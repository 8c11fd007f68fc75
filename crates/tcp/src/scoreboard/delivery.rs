//! What an ACK delivered.

use super::{EVER, LOST, RESENT, Record, SACKED, Scoreboard, Turn};
use units::Instant;

/// What the records an ACK delivered add up to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    pub bytes: u64,
    /// Earliest and latest sending among those never retransmitted; `oldest` is `MAX` if there is none.
    pub oldest: Instant,
    pub youngest: Turn,
    /// Lowest end among those never retransmitted (F-RTO).
    pub original_end: u64,
    /// The one sent last, and whether it was a retransmission.
    pub newest: Turn,
    pub newest_again: bool,
    /// The one looked at last, selective acknowledgements first, and whether it was a retransmission.
    pub last: Turn,
    pub last_again: bool,
    /// The ACK covers a retransmission, so it says nothing of when the segments around it arrived (Karn).
    pub ambiguous: bool,
    /// The highest selective acknowledgement before this ACK.
    pub known_to: u64,
    /// By how many bytes an original was late: it was delivered after higher ones (reordering).
    pub late: u64,
    /// A selective acknowledgement that was not on the scoreboard, which a timeout may have cleared.
    pub news: bool,
    /// The ACK reports that the tail probe that is out came twice.
    pub probe_twice: bool,
}

impl Delivery {
    #[inline]
    pub fn new(known_to: u64) -> Self {
        Delivery {
            bytes: 0,
            oldest: Instant::MAX,
            youngest: Turn::default(),
            original_end: u64::MAX,
            newest: Turn::default(),
            newest_again: false,
            last: Turn::default(),
            last_again: false,
            ambiguous: false,
            known_to,
            late: 0,
            news: false,
            probe_twice: false,
        }
    }

    /// Is there a segment that was never retransmitted, fit for an RTT sample?
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.oldest != Instant::MAX && !self.ambiguous
    }

    #[inline]
    fn note(&mut self, turn: Turn, again: bool) {
        (self.last, self.last_again) = (turn, again);
        if turn.is_after(self.newest) {
            (self.newest, self.newest_again) = (turn, again);
        }
    }

    /// A run of neighbours never retransmitted, sent in order: its bytes, its first and its last.
    #[inline]
    pub(super) fn add_run(&mut self, bytes: u64, first: &Record, last: &Record) {
        self.late = self.late.max(self.known_to.saturating_sub(first.seq));
        if self.bytes == 0 {
            // The common case: nothing to compare with.
            self.bytes = bytes;
            (self.oldest, self.youngest) = (first.sent_at, last.turn());
            self.original_end = first.end();
            (self.newest, self.newest_again) = (last.turn(), false);
            (self.last, self.last_again) = (last.turn(), false);
            return;
        }
        self.bytes += bytes;
        self.oldest = self.oldest.min(first.sent_at);
        if last.turn().is_after(self.youngest) {
            self.youngest = last.turn();
        }
        self.original_end = self.original_end.min(first.end());
        self.note(last.turn(), false);
    }

    pub(super) fn add(&mut self, r: &Record) {
        if r.is(EVER) {
            self.bytes += r.len as u64;
            self.note(r.turn(), true);
        } else {
            self.add_run(r.len as u64, r, r);
        }
    }
}

impl Scoreboard {
    /// What lies within [start, end) arrived twice: its retransmission is under way no more. Returns the start of the first
    /// that had been sent again and whose original is known to have arrived, `MAX` if there is none: that was reordering
    /// (Linux' `tcp_sacktag_one`).
    pub fn see_twice(&mut self, start: u64, end: u64) -> u64 {
        let mut late = u64::MAX;
        let mut id = self.find(start);
        while id < self.ring.next() {
            let slot = self.ring.get_mut(id);
            if slot.end() > end {
                break;
            }
            if slot.is(SACKED) && slot.is(EVER) {
                late = late.min(slot.seq);
            }
            if slot.is(RESENT) && !slot.is(LOST) {
                slot.flags &= !RESENT;
                let len = u64::from(slot.len);
                self.in_flight -= len;
                self.resent -= len;
            }
            id += 1;
        }
        late
    }
}
