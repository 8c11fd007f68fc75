//! The order in which an acknowledgement is worked through.

use super::{Echo, Sender};
use crate::conservative::DUP_THRESH;
use crate::ecn::Marked;
use crate::scoreboard::{Delivery, Record};
use crate::{Heard, Segment};
use cc::{Ack, Phase};
use units::{Bytes, Duration, Instant};

impl Sender {
    /// [`on_ack`](Self::on_ack) where speed does not matter.
    #[cold]
    #[inline(never)]
    pub fn on_ack_out_of_line(&mut self, now: Instant, s: &Segment, echo: Echo, heard: &mut Heard) {
        self.on_ack(now, s, echo, heard);
    }

    /// Reads what `s` acknowledges.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Instant, s: &Segment, echo: Echo, heard: &mut Heard) {
        if s.ack > self.nxt || (s.ack < self.flow.acked_to && s.sack.is_empty()) {
            return;
        }
        let window_moved = self.see_window(s);
        // Data of the other side that acknowledges nothing new.
        if s.ack == self.flow.acked_to && s.len > 0 && s.sack.is_empty() {
            return;
        }
        self.asleep = false;
        self.work_through(now, s, echo, window_moved, heard);
    }

    /// The order is Linux's: scoreboard, RTT, losses and phases, then the algorithm, then what the host does to the
    /// window, then timers.
    #[inline(always)]
    fn work_through(&mut self, now: Instant, s: &Segment, echo: Echo, window_moved: bool, heard: &mut Heard) {
        let before = self.flow.acked_to;
        let ack = s.ack.max(before);
        // Before this ACK counts: an algorithm hears of it before FreeBSD moves `snd_nxt`.
        self.flow.resends = self.flow.phase == Phase::Loss && self.board.to_resend > 0;
        let mut delivery = Delivery::new(self.board.sacked_to);
        let dsack = !s.sack.is_empty() && self.ways.sack && self.on_blocks(s, &mut delivery);
        let cumulative = ack - before;
        if cumulative > 0 {
            self.pop_acknowledged(ack, echo, &mut delivery);
            self.flow.acked_to = ack;
            heard.acked = cumulative;
            if ack > self.written {
                // The FIN is no payload.
                heard.acked -= 1;
                self.aside.ended = now;
            }
            if self.flow.phase == Phase::Loss && self.ways.freebsd {
                self.take_timeout_back(now);
            }
        }
        let duplicate = cumulative == 0 && s.ack == before && s.span() == 0 && !window_moved && before < self.nxt;
        let delivered = Bytes::new(delivery.bytes);
        self.flow.delivered += delivered;
        self.flow.receive_window = Bytes::new(self.edge - ack);
        if delivery.is_clean() {
            heard.rtt = Some(now.since(delivery.youngest.at));
        }

        let (fresh, marked_round) = if self.ertt.is_some() {
            self.measure_enhanced(now, s, cumulative, &delivery, echo)
        } else {
            (self.measure(now, ack, cumulative, &delivery, echo), None)
        };
        if self.ways.rack {
            self.rack.on_delivery(now, &delivery, self.flow.min_rtt);
        }
        let marked =
            if self.ecn.on { self.ecn.on_feedback(s, &self.config, delivery.bytes) } else { Marked::default() };
        // `tcp_fastretrans_alert` reads the echo first.
        self.undo.proven |= marked.congested;
        let lost_before = self.stats.lost;
        let mut over = false;
        let trouble = self.board.sacked | self.board.lost | self.probe.high | self.duplicates as u64;
        if trouble != 0 || self.flow.phase != Phase::Open || cumulative == 0 || dsack {
            over = self.repair(now, cumulative, &delivery, duplicate, echo);
            // Linux is out of the repair before the algorithm hears of the ACK that ends it (`tcp_fastretrans_alert`, then
            // `tcp_cong_control`).
            if over && self.ways.by_delivery {
                over = false;
                self.leave_recovery(now);
            }
        }
        if marked.congested {
            self.on_mark(marked.bytes);
        }
        let newly_lost = self.stats.lost - lost_before;
        self.flow.in_flight = Bytes::new(self.pipe());

        if delivery.bytes > 0 || duplicate || newly_lost > 0 {
            self.flow.cwnd_limited = self.is_window_limited();
            self.rounds.see(fresh, self.flow.rtt, delivered);
            let (one_way, received_at) =
                if self.ways.one_way { self.one_way(now, echo, cumulative, &delivery) } else { (None, None) };
            let message = Ack {
                cumulative: Bytes::new(self.earned(cumulative, delivery.bytes)),
                delivered,
                newly_lost: Bytes::new(newly_lost),
                duplicate: cumulative == 0,
                ce: Bytes::new(marked.bytes),
                rtt: fresh,
                one_way,
                sent_at: delivery.newest.at,
                received_at,
                rate: self.sample_rate(now),
                round: self.close_round(now, ack, fresh, marked_round),
            };
            let window = self.flow.cwnd;
            if over && self.ways.own_window {
                self.flow.ends_beyond = self.ends_beyond();
            }
            let timed_out = self.ways.freebsd && self.flow.phase == Phase::Loss;
            if timed_out {
                // A back-off rests until `snd_max` is acknowledged, whatever the timeout declared lost.
                self.flow.in_flight = Bytes::new(self.nxt - self.flow.acked_to);
            }
            self.cc.on_ack(&mut self.flow, &message);
            if timed_out {
                self.flow.in_flight = Bytes::new(self.pipe());
            }
            if self.flow.phase == Phase::Recovery {
                self.grow_own_window(window);
            }
            self.after_algorithm();
            if self.ways.paced {
                self.pace_window();
            }
            // An ACK that delivers nothing moves no window (RFC 9937, section 6; `tcp_cwnd_reduction`); without SACK nobody knows.
            if self.prr.on && (delivery.bytes > 0 || !self.ways.sack) {
                self.step_reduction(delivery.bytes, cumulative > 0 && newly_lost == 0);
            }
        }
        if over {
            self.leave_recovery(now);
        }
        if cumulative > 0 {
            self.restart_timers(now);
        }
    }

    /// Bytes by which this ACK may grow the window: it may cover what arrived long before and only waited for a hole to
    /// be filled. Linux with SACK: what was newly delivered, and only if `una` moved or a packet was ever late by more
    /// than three segments (`tcp_may_raise_cwnd`). Others: what was acknowledged in order; after a timeout no more than
    /// was newly delivered, or without SACK than one segment (RFC 3465, section 2.3). FreeBSD caps its growth after a
    /// timeout elsewhere ([`Flow::slow_start`]).
    #[inline]
    pub(crate) fn earned(&self, cumulative: u64, delivered: u64) -> u64 {
        match self.flow.phase {
            Phase::Open | Phase::Loss if self.ways.by_delivery => {
                if cumulative > 0 || u64::from(self.rack.most_late) > u64::from(DUP_THRESH) * self.mss {
                    delivered
                } else {
                    0
                }
            }
            Phase::Loss if self.ways.freebsd => cumulative,
            Phase::Loss if self.ways.sack => cumulative.min(delivered),
            Phase::Loss => cumulative.min(self.mss),
            _ => cumulative,
        }
    }

    #[inline]
    fn pop_acknowledged(&mut self, ack: u64, echo: Echo, delivery: &mut Delivery) {
        let Sender { board, rates, clock, ways, .. } = self;
        // `tcp_skb_spurious_retrans`, which Linux asks of what is acknowledged in order only (`tcp_clean_rtx_queue`).
        let late = |r: &Record| ways.rack && echo.is_some_and(|(echoed, _)| clock.is_past(echoed, r.sent_at));
        let Some(rates) = rates else { return board.acknowledge(ack, delivery, late, |_, _| {}) };
        board.acknowledge(ack, delivery, late, |id, r| {
            rates.tracker.on_delivered(rates.tags.get(id), r.sent_at, r.end());
        });
        while rates.tags.first() < board.ring.first() {
            rates.tags.pop();
        }
    }

    #[inline]
    fn sample_rate(&mut self, now: Instant) -> Option<cc::RateSample> {
        let rates = self.rates.as_mut()?;
        // FreeBSD's smallest RTT is in ticks, up to two more than it took.
        let spare = if self.ways.freebsd { self.clock.tick() * 2 } else { Duration::ZERO };
        let least = self.flow.min_rtt.saturating_sub(spare);
        let sample = rates.tracker.sample(now, self.flow.delivered, least);
        self.flow.app_limited = rates.tracker.is_app_limited();
        sample
    }
}
