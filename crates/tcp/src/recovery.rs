//! Phases: when losses or marks begin an episode, what the window does in it, and when it ends.

use crate::conservative::DUP_THRESH;
use crate::prr::{Prr, Step};
use crate::scoreboard::Delivery;
use crate::sender::{Echo, Sender};
use crate::undo::{Evidence, Frto};
use crate::{LossDetection, Stack};
use cc::{Cause, Congestion, Phase, Reaction, Signal, causes, ppb};
use units::{Bytes, Duration, Instant};

impl Sender {
    /// An ACK that is not plain progress: ends episodes that are over, finds losses, begins episodes. True if it ends
    /// a recovery: that is left to after the algorithm has seen the ACK, since what it acknowledges in order was
    /// delivered long before and must not earn growth.
    #[cold]
    #[inline(never)]
    pub(crate) fn repair(&mut self, now: Instant, cumulative: u64, d: &Delivery, duplicate: bool, echo: Echo) -> bool {
        self.stats.duplicate_acks += u64::from(duplicate);
        if self.probe.is_out() {
            self.judge_probe(cumulative, duplicate && d.bytes == 0, d.probe_twice);
        }
        if !self.ways.sack {
            return self.repair_without_sack(now, cumulative, duplicate);
        }
        self.undo.waits = false;
        let over = self.end_if_over(cumulative, d, duplicate, echo);
        if self.undo.waits {
            // Neither is more lost, nor is anything waited for (`tcp_fastretrans_alert` returns, `tcp_set_xmit_timer`).
            self.probe.wait_for_reordered(&mut self.probe_at, Instant::MAX);
            return false;
        }
        let mut relapsed = false;
        if self.ways.rack {
            let resent = self.board.resent;
            // Linux is out of the repair before it looks for losses (`tcp_try_undo_recovery`, `tcp_identify_packet_loss`).
            let again = self.detect_by_time(now, self.flow.phase.repairs() && !over);
            // A retransmission lost is another congestion (RFC 5681, section 4.3), after a timeout too (Linux'
            // FLAG_LOST_RETRANS).
            relapsed = self.flow.phase == Phase::Loss && !over && self.board.resent < resent;
            self.probe.wait_for_reordered(&mut self.probe_at, again);
            // What was sent before the first segment went (again) still arrives, so its answer cannot be overdue
            // (Linux re-arms the timer with such ACKs only, lest recovery never end).
            if cumulative == 0 && self.board.ring.front().is_some_and(|r| d.oldest < r.sent_at) {
                self.rto_at = self.deadline(now);
            }
        } else {
            if self.ways.own_window {
                self.refill_own_window(cumulative, d);
            } else {
                if cumulative > 0 {
                    self.duplicates = 0;
                } else if d.bytes > 0 {
                    self.duplicates += 1;
                }
                self.detect_by_count();
            }
            if self.duplicates >= DUP_THRESH && matches!(self.flow.phase, Phase::Open | Phase::Reduced) {
                self.lose_first();
            }
        }
        let after_timeout = self.ways.own_window && self.flow.phase == Phase::Loss && self.duplicates >= DUP_THRESH;
        if after_timeout || relapsed || (self.board.lost > 0 && matches!(self.flow.phase, Phase::Open | Phase::Reduced))
        {
            self.enter_recovery(now);
        }
        over
    }

    fn end_if_over(&mut self, cumulative: u64, d: &Delivery, duplicate: bool, echo: Echo) -> bool {
        match self.flow.phase {
            Phase::Open => {
                if let Some(how) = self.evidence(0, echo) {
                    self.take_back(how);
                }
            }
            Phase::Reduced => {
                // One beyond, so that the first segment sent with CWR is acknowledged. Linux waits for it though nothing is
                // out (`tcp_fastretrans_alert`).
                let idle = self.config.stack != Stack::Linux && !self.is_outstanding();
                if self.flow.acked_to > self.recover || idle {
                    self.leave_reduced();
                }
            }
            Phase::Recovery => {
                let whole = self.flow.acked_to >= self.recover;
                let evidence = self.evidence(cumulative, echo);
                if !whole && matches!(evidence, Some(Evidence::Timestamp)) {
                    // A late original filled the hole: that is reordering (`tcp_try_undo_partial`).
                    self.rack.on_late(self.board.sacked_to.max(self.flow.acked_to) - (self.flow.acked_to - cumulative));
                }
                match evidence {
                    // One original was merely late; what the other retransmissions out there prove is still open.
                    Some(Evidence::Timestamp) if !whole && self.board.resent > 0 => self.undo.waits = true,
                    Some(how) => self.take_back(how),
                    None => return whole,
                }
            }
            Phase::Loss => {
                if let Some(how) = self.evidence(cumulative, echo).filter(|_| cumulative > 0) {
                    self.take_back(how);
                } else if !self.watch_timeout(cumulative, d, duplicate) {
                    return self.flow.acked_to >= self.recover;
                }
            }
        }
        false
    }

    /// Changes the phase, and keeps an account of the time in repairs.
    pub(crate) fn enter(&mut self, phase: Phase) {
        self.flow.phase = phase;
        let now = self.flow.now;
        if phase.repairs() {
            self.aside.repairs_since.get_or_insert(now);
        } else if let Some(since) = self.aside.repairs_since.take() {
            self.aside.repaired += now.since(since);
        }
    }

    /// [`Endpoint::repairing`](crate::Endpoint::repairing).
    pub fn repairing(&self, now: Instant) -> Duration {
        self.aside.repaired + self.aside.repairs_since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// Asks the algorithm about congestion.
    pub(crate) fn ask(&mut self, signal: Signal) -> Reaction {
        let congestion = Congestion {
            signal,
            during: self.flow.phase,
            lost: Bytes::new(self.board.lost),
            cwnd_before: self.flow.cwnd,
            restart: self.restart_window(),
        };
        let reaction = self.cc.on_congestion(&mut self.flow, &congestion);
        self.owns_window = matches!(reaction, Reaction::Own | Reaction::Repeat);
        match reaction {
            Reaction::Reduce(to) => Reaction::Reduce(to.max(self.flow.floor)),
            Reaction::ResendAll(to) => Reaction::ResendAll(to.max(self.flow.floor)),
            other => other,
        }
    }

    /// Sets the threshold and records why; the event shows the goal where PRR takes the window there.
    pub(crate) fn record(&mut self, to: Bytes, window: Bytes, why: impl Into<Cause>, before: (Bytes, Bytes)) {
        let cwnd = self.flow.cwnd;
        self.flow.ssthresh = to;
        self.flow.cwnd = window;
        self.flow.because(why, before);
        self.flow.cwnd = cwnd;
        self.flow.reset_credit();
    }

    /// Losses were found: ask the algorithm and begin to repair.
    pub(crate) fn enter_recovery(&mut self, now: Instant) {
        self.stats.recoveries += 1;
        let during = self.flow.phase;
        let again_from = if during == Phase::Loss && self.ways.own_window { self.settle_after_timeout() } else { None };
        let before = self.flow.windows();
        self.flow.in_flight = Bytes::new(self.pipe());
        // One window is cut once (RFC 3168, section 6.1.2): where a mark began the reduction under way, each stack lets
        // it answer for these losses too (FreeBSD's modules where `IN_CONGRECOVERY`, ns-2 after `CWND_ACTION_ECN`), and
        // Linux whatever began it. Not for algorithms that answer marks with less than losses (RFC 8257, section 3.5;
        // `dctcp_state`, `prague_state`).
        let marked = self.ecn.heeded_to == self.recover;
        let reducing = during == Phase::Reduced && (marked || self.config.stack == Stack::Linux);
        let answered = reducing && !self.config.accurate_ecn;
        // To Linux such a repair is over where the reduction under way is (`tcp_enter_recovery` leaves out
        // `tcp_init_cwnd_reduction`).
        let tahoe = self.config.loss == LossDetection::Tahoe;
        let goes_on = answered && self.config.stack == Stack::Linux && !tahoe;
        if !goes_on {
            self.recover = self.nxt;
        }
        self.force_one = true;
        self.partial_seen = false;
        if !self.probe.reordering {
            // No probe is due in a recovery (RFC 8985, section 7.2).
            self.probe_at = Instant::MAX;
        }
        // The reduction under way told the receiver of itself; FreeBSD tells it again (`cc_cong_signal`).
        self.ecn.tell_reduced |= !answered || self.ways.freebsd;
        if answered && !tahoe {
            if goes_on {
                // Needless retransmissions end the repair, and leave the window (`tcp_init_undo`, `prior_ssthresh` of zero).
                self.remember(before);
                self.undo.proven = true;
            } else {
                self.probe.high = 0;
            }
            self.enter(Phase::Recovery);
            return self.begin_repair(again_from);
        }
        self.remember(before);
        self.undo.proven |= reducing;
        // What a tail probe may still repair is one of these losses (Linux: `tcp_init_cwnd_reduction`).
        self.probe.high = 0;
        let lost = self.board.lost;
        let reaction = self.ask(Signal::Loss);
        let why = self.loss_backoff(lost);
        match reaction {
            Reaction::Reduce(to) if self.config.loss == LossDetection::Tahoe => {
                self.restart_from_one(now, to, why, before)
            }
            Reaction::ResendAll(to) => self.restart_from_one(now, to, why, before),
            Reaction::Reduce(to) => {
                self.record(to, to, why, before);
                if !self.ways.rack {
                    self.prr.on = false;
                    self.flow.cwnd = to;
                } else if !(reducing && self.prr.on) {
                    self.prr = Prr::start(before.0.get());
                }
                self.enter(Phase::Recovery);
            }
            Reaction::Own => {
                self.prr.on = false;
                self.enter(Phase::Recovery);
                self.after_algorithm();
            }
            Reaction::Repeat => {
                self.lose_everything(false);
                self.enter(Phase::Recovery);
                self.after_algorithm();
            }
        }
        self.begin_repair(again_from);
        self.wake_at = self.cc.wake().unwrap_or(Instant::MAX);
    }

    /// What the answer to a loss, just given, was chosen by.
    pub(crate) fn loss_backoff(&self, lost: u64) -> causes::LossBackoff {
        let [shadow, bdp] = self.cc.weighed(&self.flow).map(|w| w.get() as i64);
        causes::LossBackoff { lost: lost as i64, in_flight: self.flow.in_flight.get() as i64, shadow, bdp }
    }

    fn begin_repair(&mut self, again_from: Option<u64>) {
        if self.ways.own_window && self.flow.phase == Phase::Recovery {
            self.open_own_window(again_from);
        }
    }

    /// Tahoe: back to one segment and send everything outstanding again.
    pub(crate) fn restart_from_one(&mut self, now: Instant, to: Bytes, why: impl Into<Cause>, before: (Bytes, Bytes)) {
        self.record(to, self.flow.mss, why, before);
        self.flow.cwnd = self.flow.mss;
        self.forget_undo();
        self.lose_everything(true);
        self.enter(Phase::Loss);
        self.rto_at = self.deadline(now);
    }

    /// Everything outstanding counts as lost; with `go_back`, what was selectively acknowledged too.
    pub(crate) fn lose_everything(&mut self, go_back: bool) {
        if go_back {
            self.board.forget_sacks();
            self.aside.seen_blocks = [(0, 0); 3];
        }
        for id in self.board.ring.first()..self.board.ring.next() {
            self.lose(id);
        }
        self.board.judged = self.board.ring.next();
        self.board.resent_order.clear();
        self.begin_again();
    }

    /// A timeout under RACK: the first segment is lost, and whatever has had its round trip; the rest is left to RACK
    /// (RFC 8985, section 6.3).
    pub(crate) fn lose_overdue(&mut self, now: Instant) {
        let first = self.board.ring.first();
        for id in first..self.board.ring.next() {
            if id == first || self.board.ring.get(id).sent_at + self.rack.rtt <= now {
                self.lose(id);
            }
        }
        self.board.judged = first;
        self.begin_again();
    }

    fn begin_again(&mut self) {
        self.recover = self.nxt;
        self.prr.on = false;
        self.forget_own_window();
        self.credit = 0;
        self.duplicates = 0;
        self.force_one = false;
    }

    /// Recovery is over: the window becomes the threshold, or less where the stack avoids the burst that would follow
    /// when little is outstanding (FreeBSD; RFC 6582, section 3.2, step 3).
    pub(crate) fn leave_recovery(&mut self, now: Instant) {
        self.rack.on_recovered();
        self.undo.frto = Frto::Off;
        let ssthresh = self.flow.ssthresh;
        // After a timeout the window grew by itself.
        let keeps = self.owns_window || self.aside.own_window.ends;
        if self.flow.phase == Phase::Recovery && !keeps && ssthresh != Bytes::MAX {
            let outstanding = self.nxt - self.flow.acked_to;
            let before = self.flow.windows();
            self.flow.cwnd = match (self.config.loss, self.config.stack) {
                (LossDetection::NewReno, _) => ssthresh.min(Bytes::new(outstanding.max(self.mss) + self.mss)),
                (LossDetection::Sack, Stack::FreeBsd11) if outstanding < ssthresh.get() => {
                    Bytes::new(outstanding) + self.flow.mss
                }
                _ => ssthresh,
            };
            // That the window comes down to the threshold the loss told already.
            if self.flow.cwnd != before.0 && self.flow.cwnd != ssthresh {
                self.flow.because(causes::RecoveryExit { in_flight: outstanding as i64 }, before);
            }
        }
        self.credit = 0;
        self.end_episode();
        self.flow.ends_beyond = false;
        if self.board.lost > 0 {
            self.enter_recovery(now);
        }
    }

    pub(crate) fn leave_reduced(&mut self) {
        if self.prr.on {
            self.flow.cwnd = self.flow.ssthresh;
        }
        self.end_episode();
    }

    /// An ECN mark, at most once a window.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_mark(&mut self, bytes: u64) {
        // Also of an episode that this very ACK began (`tcp_enter_recovery`).
        self.undo.proven = true;
        if self.flow.phase != Phase::Open || self.flow.acked_to <= self.ecn.heeded_to {
            return;
        }
        self.ecn.heeded_to = self.nxt;
        self.ecn.tell_reduced = true;
        let before = self.flow.windows();
        self.flow.in_flight = Bytes::new(self.pipe());
        match self.ask(Signal::Ecn) {
            Reaction::Reduce(to) | Reaction::ResendAll(to) => {
                let why = causes::EcnBackoff { marked: bytes as i64, fraction: ppb(self.cc.marked()) };
                self.record(to, to, why, before);
                if self.ways.rack {
                    self.reduce_smoothly(to);
                } else {
                    self.flow.cwnd = to;
                    self.begin_reduced();
                }
            }
            Reaction::Own | Reaction::Repeat => self.after_algorithm(),
        }
    }

    /// Brings the window down to `to` (already the threshold) over a round.
    #[cold]
    #[inline(never)]
    pub(crate) fn reduce_smoothly(&mut self, to: Bytes) {
        match self.flow.phase {
            // All that `tcp_enter_cwr` does then is to forget the threshold that an undo would restore.
            Phase::Loss if self.config.stack == Stack::Linux => {
                self.undo.proven = true;
                self.flow.refuse_reduction(to);
            }
            Phase::Loss => self.flow.cwnd = self.flow.cwnd.min(to),
            // `tcp_enter_cwr` does not ask what is out.
            _ if self.config.stack != Stack::Linux && !self.is_outstanding() => self.flow.cwnd = to,
            phase => {
                if !self.prr.on {
                    self.prr = Prr::start(self.flow.cwnd.get());
                }
                if phase == Phase::Open {
                    self.begin_reduced();
                }
                self.owns_window = false;
            }
        }
    }

    /// One ACK's step of a reduction under way.
    #[cold]
    #[inline(never)]
    pub(crate) fn step_reduction(&mut self, delivered: u64, safe: bool) {
        let in_flight = self.pipe();
        let unit = if self.config.stack == Stack::Linux { self.mss } else { 1 };
        let step = Step { delivered, in_flight, ssthresh: self.flow.ssthresh.get(), safe, mss: self.mss, unit };
        // With nothing in flight an allowance of nothing would close the window: one segment can always go.
        self.flow.cwnd = Bytes::new((in_flight + self.prr.allowance(step)).max(self.mss));
    }

    fn begin_reduced(&mut self) {
        self.enter(Phase::Reduced);
        self.recover = self.nxt;
        self.probe.high = 0;
        self.ecn.tell_reduced = true;
        self.forget_undo();
    }
}
