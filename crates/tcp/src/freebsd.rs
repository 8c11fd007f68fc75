//! FreeBSD 11's SACK sender, which knows no pipe: what is outstanding counts, and a recovery has a window of its own
//! (`tcp_do_segment`, `tcp_sack_partialack`, `tcp_output`; `net.inet.tcp.rfc6675_pipe` is off).

use crate::conservative::DUP_THRESH;
use crate::scoreboard::{Delivery, LOST, SACKED};
use crate::sender::Sender;
use crate::undo::Evidence;
use cc::{Phase, causes};
use units::{Bytes, Instant};

/// Holes that the scoreboard has room for (`net.inet.tcp.sack.maxholes`). A range that would make one more is left out, as
/// if it had not been reported.
pub(crate) const HOLES_MAX: u64 = 128;

/// What may leave beside the window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnWindow {
    /// During recovery, bytes: retransmissions not yet acknowledged and new data must fit into it.
    pub window: u64,
    /// Where the new data of this recovery begins (`sack_newdata`).
    pub from: u64,
    /// In a recovery that began after a timeout: where data that the timeout took back has not been sent again, so that
    /// "new" data goes on there (`snd_nxt`, below `snd_max`).
    again_from: Option<u64>,
    /// After a duplicate ACK that began no recovery: so much more may leave, whatever the window.
    limited: Option<u64>,
    /// A partial ACK asks for an answer at once, be it less than a segment or but an ACK (`TF_ACKNOW`).
    answers: bool,
    /// This ACK took a timeout back, so that the repair before it goes on.
    resumed: bool,
    /// It also ends that repair, which leaves the window as it is.
    pub ends: bool,
    /// The algorithm grew it by so much on the last ACK.
    grew: u16,
    /// Bytes that a partial ACK acknowledged: segments may leave before it moves `snd_una` and the algorithm hears of
    /// it (`tcp_sack_partialack`), and again after that, when the window has grown by `growth`.
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
        let need = if own.answers { len } else { len + spare };
        if self.flow.phase.repairs() || own.limited.is_some() {
            return need <= self.room(seq);
        }
        let outstanding = self.nxt - self.flow.acked_to;
        outstanding == 0 || outstanding + need <= self.flow.cwnd.get()
    }

    /// So much may leave from `seq` on.
    #[inline]
    fn room(&self, seq: u64) -> u64 {
        let (own, resent) = (&self.aside.own_window, self.board.resent);
        match self.flow.phase {
            Phase::Recovery if self.is_hole(seq) => own.window.saturating_sub(resent),
            // Before where the repair began, as after a timeout, there is none.
            Phase::Recovery if resent > 0 => own.window.saturating_sub((resent + seq).wrapping_sub(own.from)),
            Phase::Recovery => own.window.saturating_sub(seq - self.flow.acked_to + u64::from(own.acked)),
            _ if let Some(limited) = own.limited => limited,
            // `snd_nxt` went back: what was received beyond a hole takes its part of the window. The first hole needs none.
            Phase::Loss if seq != self.flow.acked_to => self.flow.cwnd.get().saturating_sub(seq - self.flow.acked_to),
            _ => u64::MAX,
        }
    }

    /// In a recovery: is it among the holes, not what follows them?
    #[inline]
    fn is_hole(&self, seq: u64) -> bool {
        seq < self.aside.own_window.from.max(self.board.sacked_to)
    }

    /// Where new data goes on; after a timeout that is what has not been sent again (`snd_nxt`). Holes below what is
    /// selectively acknowledged are not new even if they lie beyond it. FreeBSD resends the rest of the hole that
    /// `snd_nxt` lies in twice; we do not.
    #[inline]
    fn next_new(&self) -> u64 {
        self.aside.own_window.again_from.map_or(self.nxt, |from| from.max(self.board.sacked_to).max(self.flow.acked_to))
    }

    /// So much of it may leave as one segment.
    pub(crate) fn piece(&self, seq: u64) -> u64 {
        if self.force_one { self.mss } else { self.room(seq).min(self.mss) }
    }

    /// The answer to a partial ACK is as much new data as there is room for.
    #[inline]
    pub(crate) fn answer(&self, len: u64) -> u64 {
        let answers = self.flow.phase == Phase::Recovery && self.ways.own_window && self.aside.own_window.answers;
        match if answers { self.room(self.nxt) } else { 0 } {
            0 => len,
            room => len.min(room),
        }
    }

    /// With nothing to send it is a pure ACK, once; pacing may hold back what there is.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer_empty(&mut self) -> bool {
        let answers = core::mem::take(&mut self.aside.own_window.answers) && self.flow.pacing.is_none();
        self.stats.acks += u64::from(answers);
        answers
    }

    /// `span` from `seq` on left, perhaps `again`.
    #[inline]
    pub(crate) fn use_own_window(&mut self, seq: u64, span: u64, again: bool) {
        let own = &mut self.aside.own_window;
        own.answers = false;
        if let Some(limited) = &mut own.limited {
            *limited = limited.saturating_sub(span);
            self.aside.limited_sent += u16::from(!again);
        }
        if own.again_from.is_some() {
            self.go_on(seq, span, again);
        }
    }

    /// What a recovery after a timeout sends again beyond the holes is as if new.
    #[cold]
    #[inline(never)]
    fn go_on(&mut self, seq: u64, span: u64, again: bool) {
        if !again {
            self.aside.own_window.again_from = None;
        } else if !self.is_hole(seq) {
            self.board.settle(self.board.find(seq));
            self.aside.own_window.again_from = Some(seq + span);
        }
    }

    /// A timeout: nothing of it holds any more.
    pub(crate) fn forget_own_window(&mut self) {
        self.aside.own_window = OwnWindow::default();
    }

    /// What a timeout is about to replace; none if it is not the first in a row.
    pub(crate) fn before_timeout(&self, now: Instant) -> Option<BeforeTimeout> {
        let repair = (self.flow.phase == Phase::Recovery).then_some((self.recover, self.aside.own_window));
        (self.ways.freebsd && self.rtt.doublings() == 0).then(|| BeforeTimeout {
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
        self.board.forget_losses();
        let before = self.flow.windows();
        (self.flow.cwnd, self.flow.ssthresh) = (was.cwnd, was.ssthresh);
        self.stats.undos += 1;
        match was.repair {
            Some((recover, own)) => {
                // The window that is restored is the repair's. An ACK that reaches the repair's end finds it under way and ends
                // it after the algorithm, without `cc_post_recovery`: that was asked for before.
                let ends = self.flow.acked_to >= recover;
                if ends {
                    self.flow.cwnd = Bytes::new(own.window);
                }
                self.recover = recover;
                self.aside.own_window = OwnWindow { resumed: true, ends, ..own };
                self.enter(Phase::Recovery);
            }
            None => self.end_episode(),
        }
        self.flow.because(causes::Undo { how: Evidence::Soon as i64 }, before);
    }

    /// A recovery begins.
    pub(crate) fn open_own_window(&mut self, again_from: Option<u64>) {
        let own = OwnWindow { window: self.mss, again_from, ..OwnWindow::default() };
        self.aside.own_window = own;
        self.aside.own_window.from = self.next_new();
        self.lose_holes();
    }

    /// A third duplicate after a timeout: what the timeout sent again counts as new from here on, and a recovery may
    /// begin, since to FreeBSD no repair is under way then. Returns where the data begins that was not sent again, if
    /// there is any.
    pub(crate) fn settle_after_timeout(&mut self) -> Option<u64> {
        for id in self.board.ring.first()..self.board.ring.next() {
            self.board.settle(id);
        }
        self.board.judged = self.board.ring.first();
        let again_from = self.board.next_lost().map(|id| self.board.ring.get(id).seq);
        self.lose_first();
        again_from
    }

    /// Adds to the repair's window what the algorithm, whose `cwnd` was `before`, grew by on this ACK; after a partial
    /// ACK only with the second output.
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

    /// A partial ACK's first output is over: the window grows by what the algorithm made of that ACK. True if more may
    /// leave now.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_second_output(&mut self) -> bool {
        let own = &mut self.aside.own_window;
        own.answers = false;
        own.window += u64::from(core::mem::take(&mut own.growth));
        core::mem::take(&mut own.acked) > 0
    }

    /// Is a repair over, and what it leaves beyond the threshold? (`newreno_post_recovery`)
    #[cold]
    #[inline(never)]
    pub(crate) fn ends_beyond(&self) -> bool {
        let outstanding = Bytes::new(self.nxt - self.flow.acked_to);
        // Slow start goes on that far once it is over.
        let ssthresh = self.flow.ssthresh.max(self.flow.slow_start_to);
        let sets = self.flow.phase == Phase::Recovery && !self.aside.own_window.ends;
        sets && outstanding < ssthresh && outstanding + self.flow.mss > ssthresh
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
        let (with_options, next) = (self.flow.mss.get(), self.next_new());
        let own = &mut self.aside.own_window;
        if core::mem::take(&mut own.resumed) {
            // To FreeBSD this was no partial ACK: whether a repair is under way is asked before the timeout is taken back.
        } else if cumulative > 0 {
            // Segments count with their options here (`t_maxseg`): an ACK of two counts for one, and what room is left, 12
            // bytes a segment, leaves as a segment of its own.
            let segments = if cumulative >= 2 * with_options { 2 } else { 1 };
            // After a timeout `snd_nxt` may lie before where the repair began. FreeBSD's sum is unsigned, too: below nought it
            // is as large as it gets, which leaves ssthresh.
            let sent = resent.wrapping_add(next.wrapping_sub(own.from));
            own.window = sent.wrapping_add(segments * with_options).min(ssthresh);
            own.answers = true;
            own.acked = cumulative as u32;
        } else if d.news && next.wrapping_sub(self.board.sacked_to).wrapping_add(resent) < ssthresh {
            own.window = (own.window + mss).min(ssthresh);
        }
        self.lose_holes();
    }

    /// An ACK with a new range counts, and one that also moves `una` is the first of a row, as is one that fills a hole
    /// (`tcp_sack_doack`). The first two of a row each make room for a segment. What left so is forgotten (`snd_limited`) by the
    /// first only if it is a duplicate: a row that begins with progress has the count of the one before.
    fn count_duplicates(&mut self, cumulative: u64, d: &Delivery) {
        let own = &mut self.aside.own_window;
        own.limited = None;
        if cumulative > 0 {
            let had_holes = d.known_to > self.flow.acked_to - cumulative;
            self.duplicates = u32::from(had_holes || d.news);
        } else if d.news {
            self.duplicates += 1;
            if self.duplicates < DUP_THRESH && self.flow.phase != Phase::Recovery {
                if self.duplicates == 1 {
                    self.aside.limited_sent = 0;
                }
                let segments = self.duplicates.saturating_sub(self.aside.limited_sent.into());
                own.limited = Some(u64::from(segments) * self.mss);
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
