//! One flow as its host sees it, and the words algorithms share.

use crate::{Cause, EventRecord};
use alloc::vec::Vec;
use units::{Bytes, Duration, Instant, Rate};

/// Where the flow stands with losses (Linux's Open, CWR, Recovery and Loss).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing wrong.
    #[default]
    Open,
    /// Coming down after a delay or ECN signal; nothing is lost.
    Reduced,
    /// Repairing losses.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl Phase {
    /// May the window grow? Not while the host brings it down or repairs losses.
    #[inline]
    pub fn grows(self) -> bool {
        matches!(self, Phase::Open | Phase::Loss)
    }

    /// Are losses being repaired?
    #[inline]
    pub fn repairs(self) -> bool {
        matches!(self, Phase::Recovery | Phase::Loss)
    }
}

/// How the window comes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `cwnd` drops now.
    AtOnce,
    /// Proportional rate reduction brings `cwnd` down over a round; the host enters [`Phase::Reduced`].
    Prr,
}

/// How much of the acknowledged data slow start may add to the window. Set by a [`SlowStart`](crate::SlowStart).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Add one byte for this many acknowledged (HyStart++ uses 4 in its conservative phase; 0 adds nothing).
    pub divisor: u32,
    /// Add no more than this per ACK.
    pub per_ack: Bytes,
}

impl Growth {
    /// Double every round.
    pub const STANDARD: Growth = Growth { divisor: 1, per_ack: Bytes::MAX };
}

/// One flow. The algorithm sets `cwnd`, `ssthresh` and `pacing`, and where it needs to `growth`,
/// `slow_start_at_ssthresh`, `repair_growth`, `slow_start_to`, `floor` and `request`. All other public fields are
/// measured and filled in by the host.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Congestion window. Below one MSS (if `floor` allows) the host sends a segment every `mss / cwnd` RTTs.
    pub cwnd: Bytes,
    /// Slow-start threshold; [`Bytes::MAX`] until the first congestion.
    pub ssthresh: Bytes,
    /// Send no faster than this. `None`: the host may send as the window allows.
    pub pacing: Option<Rate>,

    /// The time now.
    pub now: Instant,
    /// A segment: its largest payload, and on stacks that count them its options.
    pub mss: Bytes,
    /// So much of it is options.
    pub options: u8,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// Last fresh RTT sample; zero before the first.
    pub rtt: Duration,
    /// Smallest RTT of the flow's life; zero before the first sample.
    pub min_rtt: Duration,
    /// Largest RTT of the flow's life.
    pub max_rtt: Duration,
    /// Sent and neither acknowledged nor declared lost (retransmissions included).
    pub in_flight: Bytes,
    /// Acknowledged in the flow's life, cumulatively or selectively.
    pub delivered: Bytes,
    /// All below is acknowledged (`snd_una`).
    pub acked_to: u64,
    /// Highest byte sent (`snd_nxt`).
    pub sent_to: u64,
    /// The receiver's window.
    pub receive_window: Bytes,
    /// The window, not the application, held the last flight back.
    pub cwnd_limited: bool,
    /// The application had nothing to send.
    pub app_limited: bool,
    /// Where the flow stands with losses.
    pub phase: Phase,
    /// Growth in slow start.
    pub growth: Growth,
    /// `cwnd == ssthresh` still counts as slow start (FreeBSD).
    pub slow_start_at_ssthresh: bool,
    /// After a timeout: some of what it found lost has not been sent again (FreeBSD: `snd_nxt` is below `snd_max`).
    pub resends: bool,
    /// Bytes by which this ACK grows the repair's own window, on hosts that keep one apart from `cwnd` (FreeBSD); the
    /// host takes them and sets zero.
    pub repair_growth: u16,
    /// This ACK ends a repair, and the window that it leaves is beyond `ssthresh`. FreeBSD sets that window before its modules
    /// hear of the ACK (`cc_post_recovery`), so that it finds no slow start there.
    pub ends_beyond: bool,
    /// The host is FreeBSD's. What was out at a back-off counts down there by what is acknowledged in order, to nought wherever
    /// its congestion recovery ends (`snd_recover`), after a timeout too: no end of an episode cuts it short. And repairs have a
    /// window of their own, so that more may be out once they end than the flow's window was.
    pub freebsd: bool,
    /// Once the repair (or the reduction) is over, slow start goes on up to here; zero if it does not.
    pub slow_start_to: Bytes,
    /// Smallest window the host will use.
    pub floor: Bytes,
    /// What to ask the routers for in the SYN, as [`quick_start`](crate::quick_start) writes rates; 0 asks for nothing.
    pub request: u8,

    /// Acknowledged bytes not yet turned into additive growth.
    credit: Bytes,
    /// A reduction the host still has to carry out by PRR; [`Bytes::MAX`] for none.
    reduction: Bytes,
    /// Window changes with their causes, until the host collects them.
    events: Vec<EventRecord>,
}

impl Flow {
    /// A flow with nothing measured yet, that keeps two segments.
    pub fn new(mss: Bytes, cwnd: Bytes) -> Self {
        Flow {
            cwnd,
            ssthresh: Bytes::MAX,
            pacing: None,
            now: Instant::ZERO,
            mss,
            options: 0,
            srtt: Duration::ZERO,
            rtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            max_rtt: Duration::ZERO,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            acked_to: 0,
            sent_to: 0,
            receive_window: Bytes::MAX,
            cwnd_limited: true,
            app_limited: false,
            phase: Phase::Open,
            growth: Growth::STANDARD,
            slow_start_at_ssthresh: false,
            resends: false,
            repair_growth: 0,
            ends_beyond: false,
            freebsd: false,
            slow_start_to: Bytes::ZERO,
            floor: mss * 2,
            request: 0,
            credit: Bytes::ZERO,
            reduction: Bytes::MAX,
            events: Vec::new(),
        }
    }

    /// The pacing rate that Linux reckons for flows whose algorithm sets none (`tcp_pacing_ss_ratio`,
    /// `tcp_pacing_ca_ratio`): twice the window over the RTT while the window may double once more below the threshold, and
    /// 1.2 times later, so that pacing does not limit it. None before an RTT is known. In a repair the kernel takes what is out
    /// there for the window, if that is more.
    pub fn window_rate(&self) -> Option<Rate> {
        let percent = if self.cwnd < self.ssthresh / 2 { 200 } else { 120 };
        (!self.srtt.is_zero()).then(|| self.cwnd * percent / 100 / self.srtt)
    }

    /// FreeBSD's NewReno and the modules on it: `cwnd == ssthresh` is slow start, and a repair may leave one segment, though
    /// cuts keep two.
    pub fn follow_freebsd(&mut self) {
        (self.slow_start_at_ssthresh, self.floor) = (true, self.mss);
    }

    /// For algorithms that take the threshold down to their window: there they are in congestion avoidance, whatever the stack.
    pub(crate) fn avoid_at_ssthresh(&mut self) {
        self.slow_start_at_ssthresh = false;
    }

    /// In whole segments, two at least: what both kernels leave of a window.
    pub fn segments(&self, window: Bytes) -> Bytes {
        self.mss * (window.get() / self.mss.get()).max(2)
    }

    /// What FreeBSD's NewReno makes of a mark, for itself and for modules that hand it theirs.
    pub fn newreno_mark(&self) -> Bytes {
        self.segments(self.cwnd / 2)
    }

    /// Below the slow-start threshold?
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh || (self.slow_start_at_ssthresh && self.cwnd == self.ssthresh)
    }

    /// Has this ACK grow the repair's own window ([`repair_growth`](Self::repair_growth)), by 65,535 bytes at most.
    pub fn grow_repair(&mut self, by: Bytes) {
        self.repair_growth = by.get().min(u16::MAX.into()) as u16;
    }

    /// May an ACK grow the window? Not in every [`Phase`], and not a window that was not used.
    #[inline]
    pub fn may_grow(&self) -> bool {
        self.cwnd_limited && self.phase.grows()
    }

    /// Has an RTT passed since then, if there was a then? What counts once an RTT asks this.
    #[inline]
    pub fn rtt_passed(&self, since: Option<Instant>) -> bool {
        since.is_none_or(|since| self.now.since(since) >= self.srtt)
    }

    /// Ends slow start here: `ssthresh` becomes the window.
    pub fn leave_slow_start(&mut self, why: crate::causes::SlowStartExit) {
        let before = self.windows();
        self.ssthresh = self.cwnd;
        self.because(why, before);
    }

    /// Grows by what was acknowledged, as far as `ssthresh`. Returns the bytes it had no use for.
    #[inline]
    pub fn slow_start(&mut self, acked: Bytes) -> Bytes {
        let grow = match self.growth.divisor {
            1 => acked,
            0 => Bytes::ZERO,
            d => acked / d as u64,
        }
        .min(self.growth.per_ack);
        if self.slow_start_at_ssthresh {
            // FreeBSD grows by no more than two packets an ACK (abc_l_var; by one while what a timeout found lost is sent
            // again, RFC 3465, which ends as soon as all of it has been: `newreno_ack_received`), and past ssthresh with
            // the last of them: the ACK that ends a recovery may cover a whole window. What congestion avoidance had
            // counted is forgotten (`cc_ack_received`).
            self.credit = Bytes::ZERO;
            self.cwnd += grow.min(if self.resends { self.mss } else { self.mss * 2 });
            return Bytes::ZERO;
        }
        let room = self.ssthresh.saturating_sub(self.cwnd);
        if grow <= room {
            self.cwnd += grow;
            return Bytes::ZERO;
        }
        self.cwnd = self.ssthresh;
        // The acknowledged bytes behind the growth that found no room. What `per_ack` held back is not owed to
        // congestion avoidance.
        (grow - room) * self.growth.divisor as u64
    }

    /// Grows by one MSS for every `per` bytes acknowledged; remainders are kept for the next ACK.
    #[inline]
    pub fn additive(&mut self, per: Bytes, acked: Bytes) {
        let per = per.max(Bytes::new(1));
        // A credit saved up under a larger window must not burst out when `per` shrinks (as in Linux).
        if self.credit >= per {
            self.credit = Bytes::ZERO;
            self.cwnd += self.mss;
        }
        self.credit += acked;
        if self.credit >= per {
            let times = self.credit.get() / per.get();
            self.credit -= per * times;
            self.cwnd += self.mss * times;
        }
    }

    /// Of the bytes an ACK acknowledged, those that congestion avoidance counts: in FreeBSD two payloads an ACK at most
    /// (`abc_l_var` times `tcp_maxseg`, `cc_ack_received`).
    #[inline]
    pub fn counted(&self, acked: Bytes) -> Bytes {
        let payload = self.mss.saturating_sub(Bytes::new(self.options.into()));
        if self.slow_start_at_ssthresh { acked.min(payload * 2) } else { acked }
    }

    /// Slow start up to `ssthresh`, then one MSS for every `per(flow)` acknowledged; nothing where growth is not earned.
    #[inline]
    pub fn grow(&mut self, acked: Bytes, per: impl FnOnce(&Flow) -> Bytes) {
        if self.may_grow() {
            self.grow_anyway(acked, per);
        }
    }

    /// The same where the algorithm decides whether growth is earned.
    #[inline]
    pub fn grow_anyway(&mut self, mut acked: Bytes, per: impl FnOnce(&Flow) -> Bytes) {
        if self.in_slow_start() {
            acked = self.slow_start(acked);
        }
        if !acked.is_zero() {
            self.additive(per(self), self.counted(acked));
        }
    }

    /// Reno's growth: one MSS for every window acknowledged.
    #[inline]
    pub fn grow_as_reno(&mut self, acked: Bytes) {
        self.grow(acked, |flow| flow.cwnd);
    }

    /// The algorithm's own back-off: `ssthresh` and the window come down to `to`.
    pub fn reduce(&mut self, to: Bytes, how: How, why: impl Into<Cause>) {
        let to = to.max(self.floor);
        let before = (self.cwnd, self.ssthresh);
        self.ssthresh = to;
        match how {
            How::AtOnce => self.cwnd = to,
            How::Prr => self.reduction = to,
        }
        let mut record = self.record(why.into(), before);
        record.cwnd_after = to.get();
        self.events.push(record);
    }

    /// Names the cause of a change already made to `cwnd` or `ssthresh`; `before` is what they were.
    pub fn because(&mut self, why: impl Into<Cause>, before: (Bytes, Bytes)) {
        let record = self.record(why.into(), before);
        self.events.push(record);
    }

    /// For algorithms that make their window last, of all that an ACK told: what it became, and by which of its reasons. One that
    /// gives back, `restore`, counts where the window rose, and goes before `why`. Without either it was the newest event's doing.
    #[cold]
    pub(crate) fn settle(&mut self, why: Option<Cause>, restore: Option<Cause>, before: (Bytes, Bytes)) {
        let (now, cwnd) = (self.now, self.cwnd);
        let restore = restore.filter(|_| cwnd > before.0);
        match (why, restore) {
            (Some(why), Some(_)) => self.events.push(EventRecord::new(now, why, before, before)),
            (Some(why), None) => self.because(why, before),
            (None, None) => {
                let newest = self.events.last_mut().filter(|e| e.time == now.as_nanos());
                newest.into_iter().for_each(|e| e.cwnd_after = cwnd.get());
            }
            (None, Some(_)) => {}
        }
        restore.into_iter().for_each(|restore| self.because(restore, before));
    }

    /// Notes something that changed no window (a mode switch, a suppressed indication).
    pub fn note(&mut self, why: impl Into<Cause>) {
        self.because(why, (self.cwnd, self.ssthresh));
    }

    /// Window and threshold, for [`because`](Self::because).
    pub fn windows(&self) -> (Bytes, Bytes) {
        (self.cwnd, self.ssthresh)
    }

    fn record(&self, why: Cause, before: (Bytes, Bytes)) -> EventRecord {
        EventRecord::new(self.now, why, before, (self.cwnd, self.ssthresh))
    }

    /// For hosts: the PRR reduction asked for, once.
    pub fn take_reduction(&mut self) -> Option<Bytes> {
        let to = core::mem::replace(&mut self.reduction, Bytes::MAX);
        (to != Bytes::MAX).then_some(to)
    }

    /// For hosts: the reduction just taken, to `to`, is not to be. The threshold and the events are as before it.
    #[cold]
    pub fn refuse_reduction(&mut self, to: Bytes) {
        let is_it = |e: &EventRecord| e.cwnd_after == to.get() && e.ssthresh_after == to.get();
        if let Some(at) = self.events.iter().rposition(is_it) {
            self.ssthresh = Bytes::new(self.events.remove(at).ssthresh_before);
        }
    }

    /// For hosts: is there an event to collect?
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// For hosts: hands over the events in order of time.
    pub fn drain_events(&mut self) -> impl Iterator<Item = EventRecord> + '_ {
        self.events.drain(..)
    }

    /// Acknowledged, and not yet turned into additive growth.
    pub fn credit(&self) -> Bytes {
        self.credit
    }

    /// For hosts: forget the fractional growth (after a reduction).
    pub fn reset_credit(&mut self) {
        self.credit = Bytes::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(cwnd: u64) -> Flow {
        Flow::new(Bytes::new(1000), Bytes::new(cwnd * 1000))
    }

    #[test]
    fn ten_packets_and_acks_of_two_grow_to_eleven_after_five() {
        // Reference, section 1.2.
        let mut f = flow(10);
        for _ in 0..4 {
            f.additive(f.cwnd, Bytes::new(2000));
            assert_eq!(f.cwnd, Bytes::new(10_000));
        }
        f.additive(f.cwnd, Bytes::new(2000));
        assert_eq!(f.cwnd, Bytes::new(11_000));
    }

    #[test]
    fn congestion_avoidance_counts_two_payloads_an_ack_on_freebsd() {
        for (freebsd, counted) in [(true, 1976), (false, 5000)] {
            let mut f = flow(10);
            (f.options, f.slow_start_at_ssthresh, f.ssthresh) = (12, freebsd, Bytes::new(5000));
            f.grow_as_reno(Bytes::new(5000));
            assert_eq!(f.credit(), Bytes::new(counted), "{freebsd}");
        }
    }

    #[test]
    fn linux_paces_at_twice_the_window_while_it_may_double_below_the_threshold() {
        // 10 packets of 1000 bytes in 100 ms are 800 kbit/s.
        let mut f = flow(10);
        assert_eq!(f.window_rate(), None);
        f.srtt = Duration::from_millis(100);
        for (threshold, kbps) in [(u64::MAX, 1600), (20_002, 1600), (20_000, 960), (10_000, 960)] {
            f.ssthresh = Bytes::new(threshold);
            assert_eq!(f.window_rate().map(|rate| rate.as_bps()), Some(kbps * 1000), "{threshold}");
        }
    }

    #[test]
    fn slow_start_hands_back_what_lies_beyond_ssthresh() {
        let mut f = flow(10);
        f.ssthresh = Bytes::new(11_000);
        assert_eq!(f.slow_start(Bytes::new(3000)), Bytes::new(2000));
        assert_eq!(f.cwnd, Bytes::new(11_000));
        assert!(!f.in_slow_start());
    }

    #[test]
    fn an_ack_for_a_whole_window_does_not_burst_past_ssthresh_on_freebsd() {
        let mut f = flow(10);
        f.ssthresh = Bytes::new(11_000);
        f.slow_start_at_ssthresh = true;
        assert_eq!(f.slow_start(Bytes::new(300_000)), Bytes::ZERO);
        assert_eq!(f.cwnd, Bytes::new(12_000));
        assert!(!f.in_slow_start());
    }
}
