//! Taking back what was done for losses that were none: by DSACK (RFC 3708), by timestamps (Eifel, RFC 3522), by
//! F-RTO (RFC 5682).

use crate::Stack;
use crate::freebsd::BeforeTimeout;
use crate::scoreboard::{Delivery, EVER};
use crate::sender::{Echo, Sender};
use cc::{Phase, causes, evidence};
use units::Bytes;

/// How F-RTO stands after a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Frto {
    /// Not watching.
    #[default]
    Off,
    /// The first segment was sent again; its ACK decides what to try.
    Retransmitted,
    /// New data was sent instead of further retransmissions; its ACK decides.
    NewData,
}

/// What a reduction replaced, and the evidence so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undo {
    /// `una` when the episode began; zero when there is nothing to take back.
    pub marker: u64,
    /// Retransmissions not yet reported as duplicates.
    pub unexplained: u32,
    pub retransmitted: bool,
    /// A mark proved the congestion, if not the losses: the window stays (Linux' `prior_ssthresh` of zero).
    pub proven: bool,
    pub cwnd: Bytes,
    pub ssthresh: Bytes,
    /// Timestamp of the first retransmission since none was outstanding: it outlives the episode, since an ACK that an
    /// older retransmission caused says nothing of the new one (Linux's `retrans_stamp`).
    pub stamp: Option<u32>,
    pub frto: Frto,
    /// The last ACK was caused by a late original while retransmissions were out: nothing goes again on it.
    pub waits: bool,
    /// `una` at the last timeout; outlives the episode too.
    pub timed_out_at: u64,
    /// FreeBSD: what its first timeout in a row replaced.
    pub before_timeout: Option<BeforeTimeout>,
}

/// What gave a spurious episode away, as the event's `how`.
#[derive(Clone, Copy, Debug)]
#[repr(i64)]
pub(crate) enum Evidence {
    Dsack = evidence::DUPLICATES,
    Timestamp = evidence::TIMESTAMP,
    Frto = evidence::FRTO,
    Soon = evidence::SOON,
}

impl Sender {
    /// An episode begins: remember what to go back to.
    pub(crate) fn remember(&mut self, windows: (Bytes, Bytes)) {
        if !self.config.undo {
            return;
        }
        // A tail probe that is out may be reported, too (`tcp_init_undo`).
        let probes = u32::from(self.config.stack == Stack::Linux && self.probe.is_out() && self.probe.again);
        let outstanding = self.board.resent.div_ceil(self.mss) as u32 + probes;
        let unanswered = self.board.resent > 0 || self.board.ring.front().is_some_and(|r| r.is(EVER));
        *self.undo = Undo {
            marker: self.flow.acked_to,
            unexplained: outstanding,
            retransmitted: outstanding > 0,
            proven: false,
            cwnd: windows.0,
            ssthresh: windows.1,
            stamp: self.undo.stamp.filter(|_| unanswered),
            frto: Frto::Off,
            waits: false,
            timed_out_at: self.undo.timed_out_at,
            before_timeout: None,
        };
    }

    /// A retransmission left, at our timestamp `stamp`.
    pub(crate) fn on_resent(&mut self, stamp: Option<u32>) {
        self.undo.stamp = self.undo.stamp.or(stamp);
        self.undo.unexplained += 1;
        self.undo.retransmitted = true;
    }

    /// Nothing is to be taken back any more.
    pub(crate) fn forget_undo(&mut self) {
        *self.undo = Undo { stamp: self.undo.stamp, timed_out_at: self.undo.timed_out_at, ..Undo::default() };
    }

    /// The other side received this range twice. False if that says nothing.
    pub(crate) fn on_duplicate_reported(&mut self, start: u64, end: u64) -> bool {
        if end > self.nxt {
            return false;
        }
        // More duplicates than retransmissions: the network copies packets, and nothing follows from that.
        if self.stats.duplicates_reported > self.stats.retransmissions {
            return false;
        }
        if end > self.undo.marker {
            self.undo.unexplained = self.undo.unexplained.saturating_sub(1);
        }
        // A needless tail probe was a timer's mistake, not RACK's (`tcp_dsack_seen`).
        if !self.is_probe(start, end) {
            self.rack.on_dsack(self.flow.acked_to, self.nxt);
        }
        true
    }

    /// Every retransmission proved needless?
    fn is_explained(&self) -> bool {
        self.undo.marker > 0 && self.undo.retransmitted && self.undo.unexplained == 0
    }

    /// Did the original, sent before the retransmission, cause this ACK?
    fn is_answered_early(&self, echo: Echo) -> bool {
        match (self.undo.marker > 0, self.undo.stamp, echo) {
            (true, Some(stamp), Some((echoed, _))) => (echoed.wrapping_sub(stamp) as i32) < 0,
            _ => false,
        }
    }

    /// The evidence this ACK completes, if any. Timestamps count only on ACKs that move `una`, and there before reports
    /// (`tcp_try_undo_partial`, then `tcp_try_undo_dsack`).
    pub(crate) fn evidence(&self, cumulative: u64, echo: Echo) -> Option<Evidence> {
        if cumulative > 0 && self.is_answered_early(echo) {
            return Some(Evidence::Timestamp);
        }
        self.is_explained().then_some(Evidence::Dsack)
    }

    /// Puts the window back and tells the algorithm, unless a mark forbids that.
    pub(crate) fn take_back(&mut self, how: Evidence) {
        // What was declared lost and not sent again is brought back after timeouts, and by an original that was late for
        // a part of a recovery; that every retransmission was needless, or the first in a recovery that is over, says
        // nothing of it (`unmark_loss` of `tcp_undo_cwnd_reduction`).
        let partial = matches!(how, Evidence::Timestamp) && self.flow.acked_to < self.recover;
        if self.flow.phase == Phase::Loss || partial {
            self.board.unmark_lost();
        }
        let before = self.flow.windows();
        self.prr.on = false;
        let proven = self.undo.proven;
        self.ecn.tell_reduced &= proven;
        if !self.owns_window && !proven {
            self.flow.cwnd = self.flow.cwnd.max(self.undo.cwnd);
            self.flow.ssthresh = self.flow.ssthresh.max(self.undo.ssthresh);
        }
        self.enter(Phase::Open);
        self.flow.in_flight = Bytes::new(self.pipe());
        self.forget_undo();
        self.undo.timed_out_at = 0;
        self.force_one = false;
        self.stats.undos += 1;
        self.rtt.reset_back_off();
        if !proven {
            self.cc.on_undo(&mut self.flow);
        }
        self.flow.because(causes::Undo { how: how as i64 }, before);
        self.after_algorithm();
    }

    /// F-RTO on an ACK after a timeout. True if it ended the episode.
    pub(crate) fn watch_timeout(&mut self, cumulative: u64, d: &Delivery, duplicate: bool) -> bool {
        if self.undo.frto == Frto::Off {
            return false;
        }
        if d.original_end <= self.recover {
            self.take_back(Evidence::Frto);
            return true;
        }
        if self.nxt > self.recover {
            // Any selective acknowledgement, also beside progress (FLAG_DATA_SACKED).
            if duplicate || d.news {
                self.undo.frto = Frto::Off;
            }
        } else if cumulative > 0 {
            self.recover = self.nxt;
            // With nothing new to try it is over (`tcp_process_loss`, step 2.b).
            self.undo.frto = if self.has_unsent() && self.edge > self.nxt { Frto::NewData } else { Frto::Off };
        }
        false
    }
}
