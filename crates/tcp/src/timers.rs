//! Timers: retransmission timeout (RFC 6298), tail loss probe (RFC 8985, section 7), reordering, window probes.

use crate::Stack;
use crate::conservative::DUP_THRESH;
use crate::scoreboard::SACKED;
use crate::sender::Sender;
use crate::undo::Frto;
use cc::{Event, Phase, Reaction, Signal, causes};
use units::{Bytes, Duration, Instant};

/// What the shorter timer is for, and the probe that may be out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    /// The timer waits for reordered segments, not for the tail.
    pub reordering: bool,
    /// A tail probe is to be sent.
    pub due: bool,
    /// `nxt` when a probe was sent; zero when none is out.
    pub high: u64,
    /// It was a retransmission.
    pub again: bool,
}

impl Probe {
    #[inline]
    pub fn is_out(&self) -> bool {
        self.high > 0
    }

    /// Sets the timer for segments that may turn out lost; `MAX` for none.
    pub fn wait_for_reordered(&mut self, at: &mut Instant, again: Instant) {
        if again != Instant::MAX {
            self.reordering = true;
            *at = again;
        } else if self.reordering {
            self.reordering = false;
            *at = Instant::MAX;
        }
    }
}

/// Room for scheduling noise in Linux's probe and reordering timeouts (`TCP_TIMEOUT_MIN`): two jiffies at 1000 Hz.
pub(crate) const JIFFIES: Duration = Duration::from_millis(2);

/// The window after idleness in FreeBSD 11 (`newreno_after_idle`, which its modules share): RFC 3390's initial window, though
/// connections begin with ten segments there.
fn rfc3390(mss: Bytes) -> Bytes {
    (mss * 4).min((mss * 2).max(Bytes::new(4380)))
}

impl Sender {
    /// New data was acknowledged: the timers start over.
    #[inline]
    pub(crate) fn restart_timers(&mut self, now: Instant) {
        if self.flow.acked_to == self.nxt {
            self.rto_at = Instant::MAX;
            self.probe_at = Instant::MAX;
            self.probe.reordering = false;
            return;
        }
        // NewReno's "impatient" variant restarts the timer on the first partial ACK only (RFC 6582, section 4).
        let impatient = self.ways.newreno && self.flow.phase == Phase::Recovery;
        if !impatient || !self.partial_seen {
            self.rto_at = self.deadline(now);
        }
        self.partial_seen |= impatient;
        if self.board.sacked | self.board.lost == 0 {
            // The hole that was waited for is filled: RACK has nothing to time, and the tail's probe takes the timer
            // (RFC 8985, section 7.2; Linux's `tcp_set_xmit_timer`).
            self.probe.reordering = false;
        }
        self.plan_probe(now, |s| s.rto_at);
    }

    /// When the retransmission timer goes off if it is set `now`.
    #[inline]
    pub(crate) fn deadline(&self, now: Instant) -> Instant {
        self.timer(now, self.rtt.rto())
    }

    #[inline]
    pub(crate) fn timer(&self, now: Instant, wait: Duration) -> Instant {
        if self.ways.freebsd { self.clock.callout(now, wait) } else { now + wait }
    }

    /// RFC 8985, section 7.2, without the receiver's part.
    #[inline]
    fn probe_timeout(&self) -> Duration {
        if self.flow.srtt.is_zero() { Duration::from_secs(1) } else { self.flow.srtt * 2 }
    }

    /// After a send: no later than a timeout of the first segment out would come, had its timer been set when it left
    /// (`tcp_schedule_loss_probe` asks `tcp_rto_delta_us`), if that is yet to come.
    #[inline]
    pub(crate) fn plan_probe_after_send(&mut self, now: Instant) {
        self.plan_probe(now, |s| {
            let due = s.board.ring.front().map_or(Instant::MAX, |r| r.sent_at + s.rtt.rto());
            if due > now { due.min(s.rto_at) } else { s.rto_at }
        });
    }

    /// Sets the tail probe where one makes sense.
    #[inline]
    fn plan_probe(&mut self, now: Instant, latest: impl Fn(&Sender) -> Instant) {
        if !self.ways.rack || self.probe.reordering {
            return;
        }
        if self.board.sacked | self.board.lost == 0 && matches!(self.flow.phase, Phase::Open | Phase::Reduced) {
            // A lone segment may meet a delayed ACK (RFC 8985's WCDelAckT; Linux takes its RTO floor).
            let slack = if self.board.ring.next() - self.board.ring.first() == 1 { self.rtt.min() } else { JIFFIES };
            self.probe_at = (now + self.probe_timeout() + slack).min(latest(self));
        } else {
            self.probe_at = Instant::MAX;
        }
    }

    /// Some time has come.
    pub(crate) fn on_timer(&mut self, now: Instant) {
        self.flow.now = now;
        if self.probe_at.min(self.rto_at).min(self.pace_at) <= now {
            // Each of these sends again what is lost (`tcp_rack_reo_timeout`, `tcp_retransmit_timer`, `tcp_tsq_write`).
            self.undo.waits = false;
        }
        if self.probe_at <= now {
            self.probe_at = Instant::MAX;
            if self.probe.reordering {
                self.probe.reordering = false;
                self.on_reordering_timer(now);
            } else if !self.probe.is_out() {
                self.probe.due = self.is_outstanding();
                self.rto_at = self.deadline(now);
            }
        }
        if self.rto_at <= now {
            if self.is_outstanding() {
                self.on_timeout(now);
            } else if self.is_sliver() || self.waits_for_room() {
                // What fits leaves, and is sent again like anything else (`tcp_write_wakeup`, `tcp_timer_persist`).
                self.force_one = true;
                self.rto_at = Instant::MAX;
                self.rtt.reset_back_off();
            } else {
                self.window_probe = true;
                self.rtt.back_off_persist();
                self.rto_at = self.timer(now, self.rtt.persist());
            }
        }
        if self.pace_at <= now {
            self.pace_at = Instant::MAX;
        }
        if self.wake_at <= now {
            self.cc.on_event(&mut self.flow, Event::Wake);
            self.after_algorithm();
            // An algorithm that leaves its alarm in the past is woken with the next ACK, not for ever.
            if self.wake_at <= now {
                self.wake_at = Instant::MAX;
            }
        }
    }

    fn on_reordering_timer(&mut self, now: Instant) {
        let before = self.stats.lost;
        let again = self.detect_by_time(now, self.flow.phase.repairs());
        self.probe.wait_for_reordered(&mut self.probe_at, again);
        if self.stats.lost == before {
            return;
        }
        // Within a recovery the window stays: what is lost now makes room for itself (`tcp_rack_reo_timeout`).
        if self.flow.phase != Phase::Recovery {
            self.enter_recovery(now);
            if self.prr.on {
                // One segment counts as delivered there.
                self.step_reduction(self.mss, false);
            }
        }
        self.flow.in_flight = Bytes::new(self.pipe());
    }

    fn on_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        let before = self.flow.windows();
        let in_flight = self.pipe();
        let why = causes::Timeout {
            in_flight: in_flight as i64,
            timeouts: self.rtt.doublings() as i64 + 1,
            rto: self.rtt.rto().as_nanos() as i64,
        };
        let phase = self.flow.phase;
        let recurring = self.undo.timed_out_at == self.flow.acked_to;
        let fresh = self.is_news(recurring);
        self.undo.timed_out_at = self.flow.acked_to;
        self.flow.in_flight = Bytes::new(in_flight);
        if fresh {
            self.remember(before);
        }
        self.undo.before_timeout = self.before_timeout(now);
        if self.ways.own_window && phase == Phase::Recovery {
            // FreeBSD has one window: in a repair it is the repair's, and half of that is what the timeout leaves.
            self.flow.cwnd = Bytes::new(self.aside.own_window.window);
        }
        let reneged = self.board.ring.front().is_some_and(|r| r.is(SACKED));
        if reneged || !self.ways.rack {
            self.lose_everything(true);
        } else {
            self.lose_overdue(now);
        }
        if self.config.stack == Stack::Linux && phase == Phase::Open && self.board.sacked_segments >= DUP_THRESH {
            // So much arrived beyond the hole, and still it was lost (`tcp_enter_loss`).
            self.rack.most_late = self.rack.most_late.min(DUP_THRESH * self.mss as u32);
        }
        let window = self.restart_window();
        let (to, doubles) = self.threshold_after_timeout(fresh);
        if let Some(to) = to {
            self.record(to, window, why, before);
            self.flow.cwnd = window;
        } else {
            self.flow.because(why, before);
        }
        self.enter(Phase::Loss);
        // FreeBSD 11 tells of fast retransmissions and of marks only (`cc_cong_signal`).
        self.ecn.tell_reduced |= !self.ways.freebsd;
        // Not where losses were already being repaired (RFC 5682, section 3.2): there a late original proves nothing.
        let watch = recurring || matches!(phase, Phase::Open | Phase::Reduced);
        self.undo.frto = if self.config.undo && watch { Frto::Retransmitted } else { Frto::Off };
        self.flow.in_flight = Bytes::new(self.pipe());
        self.probe = Probe::default();
        self.probe_at = Instant::MAX;
        if doubles {
            self.rtt.back_off();
        }
        self.rto_at = self.deadline(now);
        self.pace_next = self.pace_next.min(now);
        self.wake_at = self.cc.wake().unwrap_or(Instant::MAX);
    }

    /// A first timeout of a segment is news, though it was sent again already (RFC 5681, section 3.1); to Linux it is not
    /// while losses of the same window are being repaired.
    fn is_news(&self, recurring: bool) -> bool {
        let phase = self.flow.phase;
        let linux = self.config.stack == Stack::Linux;
        phase == Phase::Open || self.flow.acked_to >= self.recover || (!recurring && (phase == Phase::Loss || !linux))
    }

    /// The threshold that a timeout leaves, none where the algorithm owns its window, and whether the next one waits twice as
    /// long. An algorithm that owns its window must always be told: nobody else cuts it.
    fn threshold_after_timeout(&mut self, fresh: bool) -> (Option<Bytes>, bool) {
        if fresh || self.owns_window {
            return match self.ask(Signal::Timeout) {
                // FreeBSD's host takes whole segments, two at least, whatever the algorithm's floor (`cc_cong_signal`).
                Reaction::Reduce(to) if self.ways.freebsd => (Some(self.whole_segments(to)), true),
                Reaction::Reduce(to) | Reaction::ResendAll(to) => (Some(to), true),
                Reaction::Own => (None, true),
                Reaction::Repeat => {
                    self.lose_everything(false);
                    (None, false)
                }
            };
        }
        if self.ways.freebsd {
            // RFC 5681 leaves the threshold alone when the same segment times out again; FreeBSD's host does not
            // (`cc_cong_signal`). Its modules set none after a timeout, so the algorithm has no say.
            let usable = self.flow.cwnd.min(self.flow.receive_window);
            return (Some(self.whole_segments(usable / 2)), true);
        }
        if self.config.stack == Stack::Linux {
            // `tcp_enter_loss` does not ask for `ssthresh` here, but sets the state, of which the algorithm is told.
            self.cc.on_event(&mut self.flow, Event::Timeout);
        }
        (Some(self.flow.ssthresh), true)
    }

    /// Whole segments, two at least.
    fn whole_segments(&self, window: Bytes) -> Bytes {
        Bytes::new((window.get() / self.mss).max(2) * self.mss)
    }

    /// The window that a timeout leaves. Where what is in flight is known, there is room for it and the first repair (Linux'
    /// `tcp_enter_loss`).
    pub(crate) fn restart_window(&self) -> Bytes {
        Bytes::new(if self.ways.rack { self.pipe() } else { 0 } + self.mss)
    }

    /// Is what came twice the tail probe that is out? Of one segment (Linux' FLAG_DSACK_TLP).
    pub(crate) fn is_probe(&self, start: u64, end: u64) -> bool {
        self.probe.high == end && end - start <= self.mss
    }

    /// What became of a tail probe (RFC 8985, section 7.4; Linux's reading, `tcp_process_tlp_ack`). `needless`: the ACK tells
    /// that it came twice.
    pub(crate) fn judge_probe(&mut self, cumulative: u64, pure_duplicate: bool, needless: bool) {
        if self.flow.acked_to < self.probe.high {
            return;
        }
        if !self.probe.again || needless || (cumulative == 0 && pure_duplicate) {
            self.probe.high = 0;
        } else if self.flow.acked_to > self.probe.high {
            // The probe repaired a loss that would have gone unnoticed.
            self.probe.high = 0;
            let before = self.flow.windows();
            self.ecn.tell_reduced = true;
            if let Reaction::Reduce(to) | Reaction::ResendAll(to) = self.ask(Signal::Loss) {
                let why = self.loss_backoff(self.mss);
                self.record(to, to, why, before);
                self.flow.cwnd = to;
            }
            if self.flow.phase == Phase::Reduced {
                // This reduction is carried out at once, and with it the one under way (`tcp_end_cwnd_reduction`,
                // `tcp_try_keep_open`).
                self.end_episode();
            }
            self.after_algorithm();
        }
    }

    /// The window closed with nothing outstanding: ask for news now and then (RFC 9293, section 3.8.6.1).
    #[cold]
    #[inline(never)]
    pub(crate) fn persist(&mut self, now: Instant) {
        if !self.is_outstanding() {
            self.wait_for_room(now, self.rtt.persist(), self.edge.saturating_sub(self.nxt));
        }
    }

    /// FreeBSD's own window is less than a segment with nothing outstanding: silly-window avoidance holds the sliver back
    /// until the persist timer forces it out (`tcp_output`).
    #[cold]
    #[inline(never)]
    pub(crate) fn hold_sliver(&mut self, now: Instant) {
        self.wait_for_room(now, self.rtt.persist(), self.flow.cwnd.get());
    }

    fn wait_for_room(&mut self, now: Instant, wait: Duration, room: u64) {
        if self.rto_at == Instant::MAX {
            self.rto_at = self.timer(now, wait);
            self.flow.note(causes::Persist { room: room as i64, wait: wait.as_nanos() as i64 });
        }
    }

    /// Nothing is outstanding and FreeBSD's window is less than a segment.
    #[inline]
    pub(crate) fn is_sliver(&self) -> bool {
        self.ways.freebsd
            && self.flow.cwnd < self.flow.mss
            && !self.is_outstanding()
            && self.edge >= self.nxt + self.mss
    }

    pub(crate) fn stop_persisting(&mut self) {
        // A little more room does not put off FreeBSD's timer (`tcp_output` sets it where none runs); Linux' begins anew with every
        // ACK (`tcp_ack_probe`).
        if !self.is_outstanding() && self.rto_at != Instant::MAX && (!self.ways.freebsd || self.may_send_new()) {
            self.rto_at = Instant::MAX;
            self.rtt.reset_back_off();
        }
        self.window_probe = false;
    }

    /// Sends again after silence longer than the timeout: the old window says nothing about the path any more.
    /// Algorithms that set a rate of their own keep it, since they do not burst (Linux: those with `cong_control`).
    #[cold]
    #[inline(never)]
    pub(crate) fn restart_after_idle(&mut self, now: Instant) {
        let linux = self.config.stack == Stack::Linux;
        // FreeBSD is idle since it last heard of the other side (`t_rcvtime`), be that a request this is the answer to.
        let last = if self.ways.freebsd { self.aside.heard_at.max(self.last_sent) } else { self.last_sent };
        let (idle, rto) = (now.since(last), self.rtt.rto());
        // Linux' reduction may outlast what was out.
        let reduced = linux && self.flow.phase == Phase::Reduced;
        if self.last_sent == Instant::ZERO || idle <= rto || !(reduced || self.flow.phase == Phase::Open) {
            return;
        }
        if !self.has_own_rate() {
            let before = self.flow.windows();
            let initial = Bytes::new(self.mss * self.config.initial_window.max(1) as u64);
            let restart = if self.ways.freebsd { rfc3390(self.flow.mss) } else { initial }.min(self.flow.cwnd);
            let mut cwnd = self.flow.cwnd;
            if linux {
                // Half for every timeout of silence.
                let mut left = idle.as_nanos() / rto.as_nanos().max(1);
                while left > 0 && cwnd > restart {
                    cwnd = cwnd / 2;
                    left -= 1;
                }
            } else {
                cwnd = restart;
            }
            // FreeBSD 11 forgets how large the window was; a reduction has its threshold (`tcp_current_ssthresh`).
            if !(self.ways.freebsd || reduced) {
                self.flow.ssthresh = self.flow.ssthresh.max(before.0 / 4 * 3);
            }
            self.flow.cwnd = cwnd.max(restart);
            if self.flow.cwnd != before.0 {
                self.flow.because(causes::IdleRestart { idle: idle.as_nanos() as i64 }, before);
            }
        }
        self.cc.on_event(&mut self.flow, Event::Restart);
        self.after_algorithm();
    }
}
