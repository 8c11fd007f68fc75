//! FreeBSD 11's SACK sender, which knows no pipe: what is outstanding counts, and a recovery has a window of its own
//! (`tcp_do_segment`, `tcp_sack_partialack`, `tcp_output`; `net.inet.tcp.rfc6675_pipe` is off).

use crate::conservative::THRESHOLD;
use crate::scoreboard::{Delivery, LOST, SACKED};
use crate::sender::Sender;
use crate::undo::Evidence;
use cc::{Phase, causes};
use units::{Bytes, Instant};

/// What may leave beside the window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnWindow {
    /// During recovery: what was sent again and is not acknowledged, and what was new, fit into it.
    pub window: u64,
    /// Where the new data of this recovery begins (`sack_newdata`).
    pub from: u64,
    /// After a duplicate ACK that began no recovery: so much more may leave, whatever the window (one byte stands for
    /// nothing). Zero: the window decides.
    limited: u64,
    /// Sent so in this row of duplicates.
    limited_sent: u16,
    /// A partial ACK asks for an answer at once, be it less than a segment with its options (`TF_ACKNOW`).
    answers: bool,
    /// The algorithm grew it by so much on the last ACK.
    grew: u16,
    /// A partial ACK of so much lets things leave before `snd_una` moves and the algorithm hears of it
    /// (`tcp_sack_partialack`), and again after that, when the window has grown by `growth`.
    acked: u32,
    growth: u32,
}

/// What a first timeout replaced, should it prove needless (`snd_cwnd_prev` and its like).
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeforeTimeout {
    /// Half a smoothed RTT on: an ACK before then is taken for one of what was sent before the timeout (`t_badrxtwin`).
    until: Instant,
    cwnd: Bytes,
    ssthresh: Bytes,
    /// Where the repair that was under way ends, and its window.
    repair: Option<(u64, OwnWindow)>,
}

impl Sender {
    /// May `len` from `seq` on leave, where silly-window avoidance wants `spare` to be left over?
    #[inline]
    pub(crate) fn fits_own_window(&self, seq: u64, len: u64, spare: u64) -> bool {
        let own = &self.aside.own_window;
        let (need, outstanding) = (if own.answers { len } else { len + spare }, self.nxt - self.una);
        match self.flow.phase {
            Phase::Recovery if self.board.to_resend > 0 => need <= self.room(seq),
            Phase::Recovery if self.board.resent > 0 => self.board.resent + self.nxt - own.from + need <= own.window,
            Phase::Recovery => outstanding + u64::from(own.acked) + need <= own.window,
            Phase::Loss => need <= self.room(seq),
            _ if own.limited > 0 => need <= own.limited,
            _ => outstanding == 0 || outstanding + need <= self.flow.cwnd.get(),
        }
    }

    /// So much may be sent again from the hole at `seq` on.
    #[inline]
    fn room(&self, seq: u64) -> u64 {
        match self.flow.phase {
            Phase::Recovery => self.aside.own_window.window.saturating_sub(self.board.resent),
            // `snd_nxt` went back: what was received beyond a hole takes its part of the window. The first hole needs none.
            Phase::Loss if seq != self.una => self.flow.cwnd.get().saturating_sub(seq - self.una),
            _ => u64::MAX,
        }
    }

    /// So much of it may leave as one segment.
    pub(crate) fn piece(&self, seq: u64) -> u64 {
        if self.force_one { self.mss } else { self.room(seq).min(self.mss) }
    }

    /// Something left.
    #[inline]
    pub(crate) fn use_own_window(&mut self, span: u64) {
        let own = &mut self.aside.own_window;
        own.answers = false;
        if own.limited > 0 {
            own.limited = own.limited.saturating_sub(span).max(1);
            own.limited_sent += 1;
        }
    }

    /// A timeout: nothing of it holds any more.
    pub(crate) fn forget_own_window(&mut self) {
        self.aside.own_window = OwnWindow::default();
    }

    /// What a timeout is about to replace; none if it is not the first in a row.
    pub(crate) fn before_timeout(&self, now: Instant) -> Option<BeforeTimeout> {
        let repair = (self.flow.phase == Phase::Recovery).then_some((self.recover, self.aside.own_window));
        (self.ways.lenient && self.rtt.doublings() == 0).then(|| BeforeTimeout {
            until: now + self.rtt.srtt() / 2,
            cwnd: self.flow.cwnd,
            ssthresh: self.flow.ssthresh,
            repair,
        })
    }

    /// An ACK moved `una` after a timeout. One that comes too soon to answer the retransmission takes the timeout back
    /// (`CC_RTO_ERR`), and modules are not told. The surprise: where a queue made the RTT long and has drained since, an honest
    /// answer comes that soon, too.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_timeout_back(&mut self, now: Instant) {
        let Some(was) = self.undo.before_timeout.take() else { return };
        if now >= was.until || self.owns_window {
            return;
        }
        self.board.start_anew();
        let before = self.flow.windows();
        (self.flow.cwnd, self.flow.ssthresh) = (was.cwnd, was.ssthresh);
        self.undo.timed_out_at = 0;
        self.stats.undos += 1;
        match was.repair {
            Some((recover, own)) if self.una < recover => {
                self.recover = recover;
                self.aside.own_window = own;
                self.enter(Phase::Recovery);
            }
            _ => self.end_episode(),
        }
        self.flow.because(causes::Undo { how: Evidence::Soon as i64 }, before);
    }

    /// A recovery begins.
    pub(crate) fn open_own_window(&mut self) {
        self.aside.own_window = OwnWindow { window: self.mss, from: self.nxt, ..OwnWindow::default() };
    }

    /// What the algorithm, whose window was `before`, made of an ACK of a repair.
    pub(crate) fn grow_own_window(&mut self, before: Bytes) {
        let asked = core::mem::take(&mut self.flow.repair_growth);
        let grew = if self.ways.own_window { asked } else { 0 };
        let own = &mut self.aside.own_window;
        let growth = self.flow.cwnd.saturating_sub(before).get() + u64::from(grew);
        own.grew = grew;
        if own.acked > 0 {
            own.growth = growth as u32;
        } else {
            own.window += growth;
        }
    }

    /// Nothing more leaves for a partial ACK itself. True if something may after the algorithm has heard of it.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_second_output(&mut self) -> bool {
        let own = &mut self.aside.own_window;
        own.answers = false;
        own.window += u64::from(core::mem::take(&mut own.growth));
        core::mem::take(&mut own.acked) > 0
    }

    /// The repair is over. What its last ACK added is the flow's: FreeBSD sets the window (`cc_post_recovery`)
    /// before the algorithm hears of that ACK.
    pub(crate) fn keep_last_growth(&mut self) {
        self.flow.cwnd += Bytes::new(core::mem::take(&mut self.aside.own_window.grew).into());
    }

    /// What an ACK does to the count of duplicates and to what may leave.
    pub(crate) fn refill_own_window(&mut self, cumulative: u64, d: &Delivery) {
        self.count_duplicates(cumulative, d);
        if self.flow.phase != Phase::Recovery {
            return;
        }
        let (mss, ssthresh, resent) = (self.mss, self.flow.ssthresh.get(), self.board.resent);
        let with_options = self.flow.mss.get();
        let own = &mut self.aside.own_window;
        if cumulative > 0 {
            // Segments count with their options here (`t_maxseg`): an ACK of two counts for one, and what room is left, 12
            // bytes a segment, leaves as a segment of its own.
            let segments = if cumulative >= 2 * with_options { 2 } else { 1 };
            own.window = (resent + (self.nxt - own.from) + segments * with_options).min(ssthresh);
            own.answers = true;
            own.acked = cumulative as u32;
        } else if d.bytes > 0 && self.nxt - self.board.sacked_to.max(self.una) + resent < ssthresh {
            own.window = (own.window + mss).min(ssthresh);
        }
        self.lose_holes();
    }

    /// An ACK with a new range counts, and one that also moves `una` is the first of a row, as is one that fills a hole
    /// (`tcp_sack_doack`). The first two of a row each make room for a segment.
    fn count_duplicates(&mut self, cumulative: u64, d: &Delivery) {
        self.aside.own_window.limited = 0;
        if cumulative > 0 {
            let had_holes = d.known_to > self.una - cumulative;
            self.duplicates = u32::from(had_holes || d.bytes > cumulative);
            self.aside.own_window.limited_sent = 0;
        } else if d.bytes > 0 {
            self.duplicates += 1;
            if self.duplicates == 1 {
                self.aside.own_window.limited_sent = 0;
            }
            if self.duplicates < THRESHOLD && matches!(self.flow.phase, Phase::Open | Phase::Reduced) {
                let segments = self.duplicates.saturating_sub(self.aside.own_window.limited_sent.into()) as u64;
                self.aside.own_window.limited = (segments * self.mss).max(1);
            }
        }
    }

    /// In recovery every hole counts as lost once, up to where the recovery ends.
    pub(crate) fn lose_holes(&mut self) {
        let end = self.board.find(self.board.sacked_to.min(self.recover));
        for id in self.board.judged.max(self.board.ring.first())..end {
            if !self.board.ring.get(id).is(SACKED | LOST) {
                self.lose(id);
            }
        }
        self.board.judged = self.board.judged.max(end);
    }
}
