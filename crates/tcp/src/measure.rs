//! What an acknowledgement measures: RTT for the timeout and for the algorithm, rounds, one-way delay.

use crate::scoreboard::Delivery;
use crate::sender::{Echo, Sender};
use crate::{BandwidthEstimates, Segment};
use cc::host::{ErttHeard, MarkedRound};
use units::{Duration, Instant};

/// What keeps one-way delays positive, in ticks.
pub(crate) const ONE_WAY_OFFSET: i64 = 1 << 24;

impl Sender {
    /// Takes the samples of an ACK that delivered `delivery`; returns the one for the algorithm. The estimator is fed
    /// with the oldest segment delivered, so that the timeout allows for delayed ACKs, the algorithm with the newest.
    /// Segments ever retransmitted give none (Karn); their timestamp gives one to both (Linux' `tcp_ack_update_rtt`).
    #[inline]
    pub(crate) fn measure(
        &mut self,
        now: Instant,
        ack: u64,
        cumulative: u64,
        delivery: &Delivery,
        echo: Echo,
    ) -> Option<Duration> {
        if !delivery.is_clean() {
            let (echoed, _) = echo.filter(|_| cumulative > 0)?;
            return Some(self.measure_by_timestamp(now, ack, echoed));
        }
        self.take_rtt(now.since(delivery.oldest), ack);
        let fresh = now.since(delivery.youngest.at);
        self.note_rtt(fresh);
        Some(fresh)
    }

    /// Only retransmissions were acknowledged: a timestamp still tells which transmission it was.
    #[cold]
    #[inline(never)]
    pub(crate) fn measure_by_timestamp(&mut self, now: Instant, ack: u64, echoed: u32) -> Duration {
        let rtt = self.echoed_rtt(now, echoed);
        self.take_rtt(rtt, ack);
        self.note_rtt(rtt);
        rtt
    }

    /// How long ago the timestamp was that is echoed now, a tick at least.
    pub(crate) fn echoed_rtt(&mut self, now: Instant, echoed: u32) -> Duration {
        self.clock.tick() * self.clock.read(now).wrapping_sub(echoed).max(1) as u64
    }

    /// FreeBSD: the same through its coarse clock and h_ertt.
    #[inline(never)]
    pub(crate) fn measure_enhanced(
        &mut self,
        now: Instant,
        s: &Segment,
        cumulative: u64,
        delivery: &Delivery,
        echo: Echo,
    ) -> (Option<Duration>, Option<MarkedRound>) {
        let ticks_now = self.clock.read(now);
        let tick = self.clock.tick();
        let blocks: &[(u64, u64)] = if s.sack.is_empty() { &[] } else { &self.aside.seen_blocks };
        let sacked_to = last_sack_ack(s.ack, cumulative, delivery.known_to, blocks);
        let heard = ErttHeard { acked: cumulative, ack: s.ack, sacked_to, tick: ticks_now, echo };
        let (fresh, round) = match &mut self.ertt {
            Some(ertt) => ertt.on_ack(&heard, self.flow.mss.get()),
            None => (None, None),
        };
        // FreeBSD's modules that read h_ertt measure no rates, and what measures rates there does not read h_ertt. Without
        // this a late original that answers for its retransmission (see `host::ertt`) would be BBR's smallest RTT.
        let fresh = if self.rates.is_some() { fresh.filter(|_| delivery.is_clean()) } else { fresh };
        if cumulative > 0 {
            match echo {
                Some((echoed, _)) => self.take_rtt(tick * ticks_now.wrapping_sub(echoed).max(1) as u64, s.ack),
                None if delivery.is_clean() => {
                    let elapsed = now.since(delivery.oldest).as_nanos() / tick.as_nanos();
                    self.take_rtt(tick * elapsed.max(1), s.ack);
                }
                None => {}
            }
        }
        let fresh = fresh.map(|ticks| tick * ticks as u64);
        if let Some(rtt) = fresh {
            self.note_rtt(rtt);
        }
        (fresh, round)
    }

    #[inline]
    pub(crate) fn note_rtt(&mut self, rtt: Duration) {
        let flow = &mut self.flow;
        flow.rtt = rtt;
        if rtt < flow.min_rtt || flow.min_rtt.is_zero() {
            flow.min_rtt = rtt;
        }
        if rtt > flow.max_rtt {
            flow.max_rtt = rtt;
        }
    }

    #[inline]
    pub(crate) fn take_rtt(&mut self, sample: Duration, acked: u64) {
        self.rtt.sample(sample, acked, self.nxt);
        self.flow.srtt = self.rtt.srtt();
    }

    /// The rate of flows whose algorithm sets none (Linux: those without `cong_control`). With every ACK: a repair may grow
    /// the window for long without an RTT to measure (Karn).
    #[cold]
    pub(crate) fn pace_window(&mut self) {
        let rate = if self.has_own_rate() { None } else { self.flow.window_rate().or(self.flow.pacing) };
        self.aside.host_rate = rate;
        self.flow.pacing = rate.or(self.flow.pacing);
    }

    #[inline(always)]
    pub(crate) fn close_round(
        &mut self,
        now: Instant,
        ack: u64,
        fresh: Option<Duration>,
        marked: Option<MarkedRound>,
    ) -> Option<cc::Round> {
        let (sent, rtt) = match (self.ways.by_sequence, marked) {
            (true, _) if self.rounds.is_passed(ack) => (None, fresh.unwrap_or(self.flow.rtt)),
            (false, Some(m)) => (Some(m.sent), self.clock.tick() * m.ticks as u64),
            _ => return None,
        };
        let round = self.rounds.close(now, self.flow.cwnd, self.nxt, sent, rtt);
        if self.estimating {
            let (length, srtt) = (round.end.since(round.start), self.flow.srtt);
            let estimates =
                || BandwidthEstimates { ack_rate: round.delivered / length, window_rate: self.flow.cwnd / srtt };
            self.aside.estimates = (!length.is_zero() && !srtt.is_zero()).then(estimates);
        }
        Some(round)
    }

    /// One-way delay of the newest segment with an unknown constant: the offset keeps it positive while clocks drift apart
    /// for hours. None from an ACK behind a hole or for a retransmission, whose stamp is another segment's (RFC 7323,
    /// section 4.3), nor from one for a single segment that the receiver may have kept for its timer.
    #[inline]
    pub(crate) fn one_way(
        &mut self,
        now: Instant,
        echo: Echo,
        cumulative: u64,
        delivery: &Delivery,
    ) -> (Option<Duration>, Option<Instant>) {
        // An ACK for more than one segment shows that the receiver delays. Until this many ACKs in a row were for one
        // segment with more in flight, every ACK for one is suspect; after that, only those that leave nothing in
        // flight: they may have waited 40 ms for the timer, and believing them holds TCP-LP at one packet for good.
        const SUSPECTS: u8 = 8;
        let leaves_some = self.nxt > self.flow.acked_to;
        let may_be_late = cumulative <= self.mss && self.suspects.is_some_and(|n| n > 0 || !leaves_some);
        if cumulative > self.mss {
            self.suspects = Some(SUSPECTS);
        } else if cumulative > 0 && leaves_some {
            self.suspects = self.suspects.map(|n| n.saturating_sub(1));
        }
        let Some((_, theirs)) = echo else { return (None, None) };
        let tick = self.clock.tick();
        let ticks = ONE_WAY_OFFSET + theirs.wrapping_sub(self.clock.read(now)) as i32 as i64;
        // The echo is not used: it is the stamp of the first segment after the receiver's last ACK, which may have been
        // lost. When the newest segment left is known here.
        let valid = cumulative > 0 && delivery.is_clean() && !may_be_late;
        let delay = valid.then(|| tick * ticks.max(0) as u64 + now.since(delivery.youngest.at));
        (delay, Some(Instant::ZERO + tick * theirs as u64))
    }
}

/// FreeBSD's `last_sack_ack` (`tcp_sack_doack`): the highest right edge an ACK reports, be it news or not; zero if none. Where
/// ranges were `known_to` lie beyond a hole, an ACK that moves on reports what it acknowledges in order.
pub(crate) fn last_sack_ack(ack: u64, cumulative: u64, known_to: u64, blocks: &[(u64, u64)]) -> u64 {
    let in_order = if cumulative > 0 && known_to > ack - cumulative { ack } else { 0 };
    blocks.iter().filter(|(start, _)| *start > ack).fold(in_order, |to, (_, end)| to.max(*end))
}
