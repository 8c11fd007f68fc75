//! When to acknowledge: at once, with the second segment, or later, as each stack has it.

use super::Receiver;
use super::reading::Reading;
use crate::autotuning::Autotuning;
use crate::clock::TickClock;
use crate::config::DelayedAck;
use crate::{Flags, Segment};
use alloc::boxed::Box;
use cc::host::RttEstimator;
use units::{Duration, Instant};

/// Linux acknowledges at once so many segments at the start (`TCP_MAX_QUICKACKS`).
const QUICK_MAX: u8 = 16;
/// Segments that Linux acknowledges at once after a mark.
const QUICK_MARKED: u8 = 2;
/// Linux's shortest and longest delay of an ACK (`TCP_DELACK_MIN`, `TCP_DELACK_MAX`).
const DELAY_MIN: Duration = Duration::from_millis(40);
const DELAY_MAX: Duration = Duration::from_millis(200);
/// FreeBSD's (`TCPTV_DELACK`).
const FREEBSD_DELAY: Duration = Duration::from_millis(100);

impl Receiver {
    /// In-order data arrived: acknowledge now, or when?
    #[inline(always)]
    pub(super) fn schedule(&mut self, now: Instant, len: u32, rtt: &RttEstimator, clock: &TickClock) {
        self.pending += 1;
        let due = match self.policy {
            DelayedAck::None => {
                self.open_window(len);
                true
            }
            DelayedAck::EverySecond { timeout } => {
                self.ack_at = self.ack_at.min(now + timeout);
                self.pending >= 2
            }
            DelayedAck::FreeBsd => {
                if self.ack_at == Instant::MAX {
                    self.ack_at = clock.callout(now, FREEBSD_DELAY);
                }
                self.pending >= 2
            }
            DelayedAck::Linux => self.schedule_linux(now, len, rtt),
        };
        self.ack_now |= due;
    }

    /// Linux: more than one full segment unacknowledged, or still in the quick phase, or a short segment, which counts as
    /// pushed whatever its flags (`tcp_measure_rcv_mss`). The last two do not count while this end sends data too
    /// (`talks`): its data will carry the ACK.
    #[inline(always)]
    fn schedule_linux(&mut self, now: Instant, len: u32, rtt: &RttEstimator) -> bool {
        let idle = now.since(self.last_data);
        self.last_data = now;
        if idle > DELAY_MIN / 2 || self.delay != DELAY_MIN {
            self.adapt_delay(idle, rtt);
        }
        let before = self.ack_at;
        self.ack_at = if before == Instant::MAX { now + self.bounded_delay(rtt) } else { before };
        self.open_window(len);
        let at_once = (self.quick > 0) | (len < self.largest);
        let second =
            self.nxt - self.acked_to > self.largest as u64 && (self.reading == Reading::AtOnce || self.edge_may_move());
        second | (at_once & !self.talks) | self.is_pushed()
    }

    /// The quick phase lasts as long as segments open Linux's window further (`tcp_grow_window`).
    #[inline]
    pub(super) fn open_window(&mut self, len: u32) {
        if self.opening {
            self.open_window_further(len);
        }
    }

    #[cold]
    #[inline(never)]
    fn open_window_further(&mut self, len: u32) {
        let tuning = self.tuning.get_or_insert_with(|| Box::new(Autotuning::new(self.buffer)));
        self.quick |= u8::from(tuning.opens(len, self.largest, self.unread));
        self.note_tuning();
    }

    /// Copies what every segment asks of the boxed window to the fields that every segment reads.
    fn note_tuning(&mut self) {
        if let Some(tuning) = &self.tuning {
            (self.opening, self.round_ends) = (tuning.may_open(), tuning.ends());
        }
    }

    /// A round trip of Linux's receive window is over. The segment's echo tells when the ACK left that released it, and
    /// so the RTT (`tcp_rcv_rtt_measure_ts`; smoothed there).
    #[cold]
    #[inline(never)]
    pub(super) fn end_round(&mut self, now: Instant, s: &Segment, rtt: &RttEstimator, clock: &mut TickClock) {
        let told = s.flags.has(Flags::TIMESTAMP).then(|| clock.since(now, s.ts_ecr));
        let read_to = self.read_to();
        if let Some(tuning) = &mut self.tuning {
            tuning.end_round(now, read_to, told, rtt.srtt(), self.buffer);
        }
        self.note_tuning();
    }

    /// Does a write of the other end end with what came last? Linux since 6.6 acknowledges a full segment with PSH as soon as
    /// the reader has it, lest a sender wait for the ACK of its last (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`).
    #[inline]
    fn is_pushed(&self) -> bool {
        let ended = |at: u64| at.saturating_sub(1).checked_div(self.writes.into());
        self.writes > 0 && ended(self.nxt) != ended(self.nxt.saturating_sub(self.largest.into()))
    }

    /// Linux's estimate of how long an ACK may wait, from the gaps between segments.
    #[inline]
    fn adapt_delay(&mut self, idle: Duration, rtt: &RttEstimator) {
        let half = Duration::from_nanos(self.delay.as_nanos() / 2);
        if self.delay.is_zero() {
            self.quick = QUICK_MAX;
            self.delay = DELAY_MIN;
        } else if idle <= DELAY_MIN / 2 {
            self.delay = half + DELAY_MIN / 2;
        } else if idle < self.delay {
            self.delay = (half + idle).min(rtt.rto());
        } else if idle > rtt.rto() {
            // The sender seems to have started anew (`tcp_event_data_recv`, by this host's own timeout).
            self.quick = QUICK_MAX;
        }
    }

    /// The longest that an ACK waits is a round trip, where this host knows one (`tcp_send_delayed_ack`).
    #[inline]
    fn bounded_delay(&self, rtt: &RttEstimator) -> Duration {
        let most = if rtt.srtt().is_zero() { DELAY_MAX } else { rtt.srtt().max(DELAY_MIN).min(DELAY_MAX) };
        self.delay.min(most)
    }

    /// A delayed ACK had to leave without a second segment, or without an answer of ours to carry it. Linux waits twice as
    /// long for the next, or from now on for no answer (`tcp_delack_timer_handler`).
    pub fn miss_delay(&mut self, rto: Duration) {
        self.delay = if self.talks { DELAY_MIN } else { (self.delay * 2).min(rto) };
        self.talks = false;
    }

    /// Data of ours leave. They answer what came if it came no longer ago than an ACK may wait (`tcp_event_data_sent`).
    #[inline]
    pub fn note_answer(&mut self, now: Instant) {
        self.talks |= self.nxt > 1 && now.since(self.last_data) < self.delay;
    }

    /// Linux holds back no ACK of a sender whose window is small, as it may be after a mark; and a segment that may not be
    /// marked is most likely one sent again (`tcp_ecn_accept_cwr`, `__tcp_ecn_check_ce`). FreeBSD has none of this.
    #[cold]
    pub(super) fn heed_ecn(&mut self, s: &Segment, marked: bool) {
        self.ack_now |= s.flags.has(Flags::CWR) && s.len > 0;
        if marked || (s.ecn == 0 && s.len > 0) {
            self.enter_quick(QUICK_MARKED);
        }
    }

    /// Linux takes a duplicate for a sign that ACKs are missed, and holds back none of the next; the duplicate's own is
    /// one of them.
    pub(super) fn repeat_quickly(&mut self) {
        if self.policy == DelayedAck::Linux {
            self.enter_quick(QUICK_MAX);
            self.pending += 1;
        }
    }

    /// The next `segments` are acknowledged at once (`tcp_enter_quickack_mode`).
    fn enter_quick(&mut self, segments: u8) {
        self.quick = self.quick.max(segments);
        self.delay = DELAY_MIN;
        self.talks = false;
    }
}
