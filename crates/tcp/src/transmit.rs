//! What may leave now: repairs first, then new data, as far as window, pacing and the peer allow.

mod again;
mod fitting;

use crate::config::{Offload, Stack};
use crate::scoreboard::FIN;
use crate::segment::Segment;
use crate::sender::{Fin, Pace, Sender};
use cc::{Phase, Sent};
use units::{Bytes, Duration, Instant};

/// Frames that Linux' `fq` lets a new flow send before it is paced (`initial_quantum`), and its TCP in `fq`'s stead.
const INITIAL_QUANTUM: u64 = 10;
/// Bytes of an Ethernet header, which Linux' queues count too.
const ETHERNET: u32 = 14;
/// Bytes of Linux' longest burst: 64 KB less room for headers (`sk_setup_caps`).
const GSO_MAX: u64 = 65_536 - 1 - 320;
/// Linux' `sk_pacing_shift` and `tcp_tso_rtt_log`.
const PACING_SHIFT: u32 = 10;
const TSO_RTT_LOG: u32 = 9;
/// So long after the last segment Linux may hold the next ones back.
const BURST_TIME: Duration = Duration::from_millis(1);
/// BBR's `bbr_min_tso_rate` in bits per second.
const SLOW_OWN_RATE: u64 = 1_200_000;

/// A stretch of the stream to be put into a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub seq: u64,
    pub len: u32,
    pub fin: bool,
    pub again: bool,
}

impl Sender {
    /// The next segment's worth of data, or `None` until something changes. `peer` is the newest timestamp received.
    #[inline(always)]
    pub(crate) fn poll(&mut self, now: Instant, peer: u32) -> Option<Chunk> {
        let chunk = self.poll_once(now, peer);
        if chunk.is_none() && self.flow.phase == Phase::Recovery && self.ways.own_window {
            if self.answer_empty() {
                return Some(Chunk { seq: self.nxt, len: 0, fin: false, again: true });
            }
            if self.begin_second_output() {
                return self.poll_once(now, peer);
            }
        }
        chunk
    }

    #[inline(always)]
    fn poll_once(&mut self, now: Instant, peer: u32) -> Option<Chunk> {
        if (self.board.to_resend > 0 || self.probe.due || self.window_probe)
            && let Some(decided) = self.poll_repair(now, peer)
        {
            // What waits for a window does not keep Linux' last segment, which asks for none (`tcp_data_snd_check` follows
            // `tcp_xmit_recovery`).
            if decided.is_none() && self.is_last() {
                return self.poll_new_out_of_line(now, peer);
            }
            return decided;
        }
        let chunk = self.poll_new(now, peer);
        if chunk.is_none() && self.flow.phase == Phase::Recovery && self.ways.by_count {
            return self.poll_unlikely(now, peer);
        }
        chunk
    }

    /// Does the window let `len` go now, with `spare` left over? Notes who said no.
    #[inline(always)]
    fn admits(&mut self, now: Instant, seq: u64, len: u64, spare: u64) -> bool {
        let pipe = self.pipe();
        let cwnd = self.flow.cwnd.get();
        let fits = if self.ways.own_window {
            self.fits_own_window(seq, len, spare)
        } else {
            pipe == 0 || pipe + len + spare <= cwnd
        };
        if !fits {
            self.flow.app_limited = false;
            return false;
        }
        self.is_time(now)
    }

    /// Does pacing let anything go now?
    #[inline(always)]
    fn is_time(&mut self, now: Instant) -> bool {
        let paced = self.flow.pacing.is_some() || self.flow.cwnd.get() < self.mss;
        if now < self.pace_next && self.burst_left == 0 && paced {
            self.pace_at = self.pace_next;
            return false;
        }
        true
    }

    /// Is what comes next Linux' last segment, with its FIN?
    #[cold]
    #[inline(never)]
    fn is_last(&self) -> bool {
        let left = self.written.saturating_sub(self.nxt) + self.aside.behind.unwrap_or(0);
        self.fin == Fin::Queued && left <= self.mss && self.config.stack == Stack::Linux
    }

    #[inline(always)]
    fn poll_new(&mut self, now: Instant, peer: u32) -> Option<Chunk> {
        let mut left = self.written.saturating_sub(self.nxt);
        if left == 0 {
            self.take_behind();
            left = self.written.saturating_sub(self.nxt);
            if left == 0 && self.fin != Fin::Queued {
                self.starve();
                return None;
            }
        }
        // A window below one segment is silent for several RTTs by design.
        if self.flow.acked_to == self.nxt
            && self.flow.cwnd.get() >= self.mss
            && now.since(self.last_sent) > self.rtt.rto()
        {
            self.restart_after_idle(now);
        }
        let mut len = self.answer(left.min(self.mss));
        let room = self.edge.saturating_sub(self.nxt);
        if room < 2 * self.mss {
            len = self.fit(now, len, room)?;
        }
        if self.flow.cwnd < self.flow.mss && self.is_sliver() && left > self.flow.cwnd.get() {
            if !self.force_one {
                self.hold_sliver(now);
                return None;
            }
            len = self.flow.cwnd.get().clamp(1, self.mss);
        }
        let fin = left == len && self.fin == Fin::Queued;
        let span = len + u64::from(fin);
        // FreeBSD's silly-window avoidance takes less than a segment with its options for less than a segment.
        let spare = if len == self.mss { self.flow.mss.get() - len } else { 0 };
        // "Don't be strict about the congestion window for the final FIN" (`tcp_cwnd_test`).
        let free = fin && self.config.stack == Stack::Linux;
        if !(if free { self.is_time(now) } else { self.admits(now, self.nxt, span, spare) }) {
            self.note_usage(false);
            return None;
        }
        if self.ways.bursts && self.holds_back(now, left, room) {
            // What is held back for a longer burst counts as held back by cwnd (`tcp_tso_should_defer`), unless the
            // peer's window leaves less room.
            let by_window = self.flow.cwnd.get().saturating_sub(self.pipe()) < room;
            self.note_usage(by_window);
            return None;
        }
        let (seq, flight, outstanding) = (self.nxt, self.board.in_flight, self.is_outstanding());
        let flags = if fin { FIN } else { 0 };
        self.board.push(seq, span as u32, flags, now);
        if let Some(rates) = &mut self.rates {
            rates.tags.push(rates.tracker.on_sent(now, self.flow.delivered, outstanding, flight, span));
        }
        self.nxt = seq + span;
        self.flow.sent_to = self.nxt;
        if fin {
            self.fin = Fin::Sent;
        }
        if self.rto_at == Instant::MAX {
            self.rto_at = self.deadline(now);
        }
        self.plan_probe_after_send(now);
        self.sent_since_check = true;
        if self.burst_left > 0 {
            self.burst_left -= 1;
        }
        self.after_send(now, seq, len as u32, span, false, peer);
        Some(Chunk { seq, len: len as u32, fin, again: false })
    }

    /// [`poll_new`](Self::poll_new) where speed does not matter.
    #[cold]
    #[inline(never)]
    fn poll_new_out_of_line(&mut self, now: Instant, peer: u32) -> Option<Chunk> {
        self.poll_new(now, peer)
    }

    #[inline(always)]
    fn after_send(&mut self, now: Instant, seq: u64, len: u32, span: u64, again: bool, peer: u32) {
        let before = core::mem::replace(&mut self.last_sent, now);
        self.stats.segments += 1;
        self.force_one = false;
        if self.prr.on {
            self.prr.out += span;
        }
        if self.ways.own_window {
            self.use_own_window(seq, span, again);
        }
        let in_flight = Bytes::new(self.pipe());
        self.flow.in_flight = in_flight;
        if let Some(ertt) = &mut self.ertt
            && len > 0
        {
            ertt.on_sent(seq, len, self.clock.read(now), peer);
        }
        self.cc.on_sent(&mut self.flow, &Sent { size: Bytes::new(len as u64), in_flight, retransmission: again });
        self.pace(now, len as u64, before);
    }

    /// When the next segment may go; the last one went at `before`.
    #[inline(always)]
    fn pace(&mut self, now: Instant, len: u64, before: Instant) {
        let gap = match self.flow.pacing {
            Some(rate) => {
                let len = if self.ways.pace == Pace::Quanta { self.take_quantum(len) } else { len };
                // `len` is at most 64 segments of 65 kB (2^22 bytes), so the product fits 64 bits and needs no 128-bit
                // division.
                let gap = (len * 8_000_000_000).checked_div(rate.as_bps()).unwrap_or(u64::MAX);
                if self.ways.pace == Pace::Credit { self.forgive(now, gap, before) } else { gap }
            }
            None => {
                let cwnd = self.flow.cwnd.get();
                if cwnd >= self.mss || self.ways.freebsd {
                    return;
                }
                // Less than one segment per RTT: one segment in so many RTTs (NICE).
                let srtt = self.flow.srtt.as_nanos() as u128 * self.mss as u128;
                u64::try_from(srtt / cwnd.max(1) as u128).unwrap_or(u64::MAX)
            }
        };
        self.pace_next = self.pace_next.max(now) + Duration::from_nanos(gap);
    }

    /// What is left of `gap` where Linux' TCP paces (`tcp_update_skb_after_send`, since 4.20): nothing before the tenth
    /// segment of a flow, else less the time that this one left late, up to half. A burst is one packet there.
    #[inline]
    fn forgive(&mut self, now: Instant, gap: u64, before: Instant) -> u64 {
        let burst = u64::from(self.burst_left);
        if self.stats.segments + burst < INITIAL_QUANTUM {
            return 0;
        }
        let late = if now < self.pace_next {
            self.aside.late
        } else {
            // Unpaced segments move `tcp_wstamp_ns`, too.
            now.since(self.pace_next.max(before)).as_nanos()
        };
        let less = late.min(gap / 2);
        if self.ways.bursts {
            self.aside.late = if burst > 0 { late - less } else { 0 };
        }
        gap - less
    }

    /// Bytes whose time at the pacing rate Linux' `fq` lets pass before the next packet: none while there is credit,
    /// then a quantum. It counts Ethernet frames, though the rate is of payload, and does not make up for what left
    /// late (`fq_dequeue`, 4.9). Left out: after 40 ms of silence it fills the credit up, by a frame at most.
    #[cold]
    #[inline(never)]
    fn take_quantum(&mut self, len: u64) -> u64 {
        let headers = (ETHERNET + Segment::HEADER + if self.stamped { Segment::TIMESTAMPS } else { 0 }) as u64;
        let largest = self.mss + headers;
        let quantum = self.config.pacing_quantum as u64 * largest;
        self.aside.taken += (len + headers) as i64;
        if self.aside.taken < (INITIAL_QUANTUM * largest) as i64 {
            return 0;
        }
        self.aside.taken -= quantum as i64;
        quantum
    }

    /// Sender offload: wait until a burst's worth may go at once, or a third of the window, or all there is.
    #[cold]
    #[inline(never)]
    fn holds_back(&mut self, now: Instant, left: u64, room: u64) -> bool {
        // What is one segment is no burst (`tcp_write_xmit` asks `tcp_tso_should_defer` of several).
        if self.burst_left > 0 || left <= self.mss {
            return false;
        }
        let (most, waits) = match self.config.offload {
            Offload::Off => return false,
            Offload::Burst(most) => (most.max(1) as u64, true),
            Offload::Auto => (self.auto_burst(), self.may_wait(now)),
        };
        // `tcp_tso_should_defer` sends if `limit >= chunk`. Of cwnd its limit is in whole segments, its third is not; the
        // third is of the peer's window where that is the smaller one.
        let (cwnd, pipe) = (self.flow.cwnd.get(), self.pipe());
        let limit = (cwnd.saturating_sub(pipe) / self.mss * self.mss).min(room);
        let third = (cwnd / self.mss * self.mss).min(self.edge - self.flow.acked_to) / 3;
        if waits && limit < third.min(most * self.mss).min(left) && pipe > 0 {
            return true;
        }
        // No more than there is: what is written later is another burst.
        self.burst_left = (limit.min(left).div_ceil(self.mss)).clamp(1, most) as u32;
        false
    }

    /// Does Linux wait for a longer burst (`tcp_tso_should_defer`)? Only while nothing is repaired, within a
    /// millisecond of the last segment sent, and if an ACK is near: the oldest segment out left half an RTT ago.
    fn may_wait(&self, now: Instant) -> bool {
        let oldest = self.board.ring.front().map_or(now, |r| r.sent_at);
        !self.flow.phase.repairs() && now.since(self.last_sent) <= BURST_TIME && now.since(oldest) >= self.flow.srtt / 2
    }

    /// Segments that Linux puts into one burst (`tcp_tso_autosize`): what its pacing rate, which it reckons whether it
    /// paces or not, sends in a millisecond, and 64 KB halved with every 512 µs of the smallest RTT
    /// (`tcp_tso_rtt_log`), together 64 KB at most. At least two segments (`tcp_min_tso_segs`); for an algorithm with a
    /// rate of its own below 1.2 Mbit/s, one (`bbr_min_tso_segs`).
    pub(crate) fn auto_burst(&self) -> u64 {
        let own = self.flow.pacing.filter(|_| self.has_own_rate());
        // Before anything is measured Linux' rate is infinite.
        let rate = own.or_else(|| self.flow.window_rate()).map_or(GSO_MAX, |rate| (rate.as_bps() / 8) >> PACING_SHIFT);
        let halvings = u32::try_from((self.flow.min_rtt.as_nanos() / 1000) >> TSO_RTT_LOG).unwrap_or(u32::MAX);
        let bytes = rate.saturating_add(GSO_MAX.checked_shr(halvings).unwrap_or(0)).min(GSO_MAX);
        let least = if own.is_some_and(|rate| rate.as_bps() < SLOW_OWN_RATE) { 1 } else { 2 };
        (bytes / self.mss).max(least)
    }

    /// What was written behind a push, now that all before it is sent.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_behind(&mut self) {
        self.written = self.written.saturating_add(self.aside.behind.take().unwrap_or(0)).min(u64::MAX / 2);
    }

    /// Is there anything that was not sent yet?
    pub(crate) fn has_unsent(&self) -> bool {
        self.written > self.nxt || self.aside.behind.is_some_and(|bytes| bytes > 0) || self.fin == Fin::Queued
    }

    /// Nothing to send although the window may be open.
    #[inline]
    fn starve(&mut self) {
        let pipe = self.pipe();
        // What F-RTO keeps from being sent again is something to send (`tcp_rate_check_app_limited`).
        if pipe + self.mss <= self.flow.cwnd.get() && self.board.to_resend == 0 {
            self.flow.app_limited = true;
            if let Some(rates) = &mut self.rates {
                rates.tracker.on_app_limited(self.flow.delivered, pipe);
            }
        }
        if self.sent_since_check {
            self.note_usage(false);
        }
    }
}
