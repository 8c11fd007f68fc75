//! The base RTT over a window of time, found again by probing (Eq 5.9, section 5.2.6).

use units::{Duration, Instant};

/// Smallest RTT of the window that began (`T_begin`) when it was seen.
#[derive(Debug)]
pub struct BaseRtt {
    /// RTT_ebase; [`Duration::MAX`] before the first sample.
    pub rtt: Duration,
    /// W_rtt; zero keeps the smallest RTT for ever.
    window: Duration,
    /// When to probe if nothing lower is seen.
    due: Instant,
    /// How long a due probe may wait for a good occasion.
    wait: Duration,
    /// Rounds a probe lasts.
    hold: u32,
    probe: Option<Probe>,
}

/// A probe under way: what it has seen.
#[derive(Debug)]
struct Probe {
    since: Instant,
    /// Rounds still to come that begin in it.
    left: u32,
    lowest: Duration,
    at: Instant,
}

impl BaseRtt {
    /// Nothing seen yet.
    pub fn new(window: Duration, wait: Duration, hold: u32) -> Self {
        BaseRtt { rtt: Duration::MAX, window, due: Instant::MAX, wait, hold, probe: None }
    }

    /// Takes a sample. A lower one begins a new window at once.
    #[inline]
    pub fn sees(&mut self, now: Instant, rtt: Duration) {
        if let Some(probe) = &mut self.probe
            && rtt < probe.lowest
        {
            (probe.lowest, probe.at) = (rtt, now);
        }
        if rtt < self.rtt {
            self.rtt = rtt;
            self.begin(now);
        }
    }

    fn begin(&mut self, at: Instant) {
        self.due = if self.window.is_zero() { Instant::MAX } else { at + self.window };
    }

    /// Starts the window again without a sample: it stood still in the other modes.
    pub fn renew(&mut self, now: Instant) {
        self.begin(now);
    }

    /// Is a probe due? The next back-off is a good occasion: its window is within the BDP.
    pub fn due(&self, now: Instant) -> bool {
        now >= self.due && self.probe.is_none()
    }

    /// When to probe whatever the occasion.
    pub fn deadline(&self) -> Instant {
        if self.probe.is_some() { Instant::MAX } else { self.due + self.wait }
    }

    /// Not now: look again later.
    pub fn postpone(&mut self, until: Instant) {
        self.due = until;
    }

    /// A probe begins. The old value stays in use until it ends.
    pub fn probe(&mut self, now: Instant) {
        self.probe = Some(Probe { since: now, left: self.hold.max(1), lowest: Duration::MAX, at: now });
    }

    /// Is a probe under way?
    pub fn probing(&self) -> bool {
        self.probe.is_some()
    }

    /// A round ended. True if it was the last one the probe wanted; only rounds that began in the probe show what it
    /// wants to see.
    pub fn round(&mut self, began: Instant) -> bool {
        let Some(probe) = &mut self.probe else { return false };
        if began >= probe.since {
            probe.left -= 1;
        }
        probe.left == 0
    }

    /// The probe was cut short, and what it saw may be competitors' queue: the base stays, and the next occasion probes again.
    pub fn abandon(&mut self, now: Instant) {
        self.probe = None;
        self.due = now;
    }

    /// The probe is over: the lowest RTT it saw is the base, even if that is more than before. T_begin is when it was
    /// seen.
    pub fn conclude(&mut self, now: Instant) {
        let Some(probe) = self.probe.take() else { return };
        if probe.lowest == Duration::MAX {
            self.begin(now);
        } else {
            self.rtt = probe.lowest;
            self.begin(probe.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms;

    fn at(s: u64) -> Instant {
        Instant::from_millis(1000 * s)
    }

    #[test]
    fn a_lower_sample_begins_the_window_and_an_equal_one_does_not() {
        let mut b = BaseRtt::new(ms(30_000), ms(1000), 1);
        b.sees(at(1), ms(40));
        b.sees(at(5), ms(40));
        assert_eq!((b.rtt, b.deadline()), (ms(40), at(32)));
        assert!(b.due(at(31)) && !b.due(at(30)));
        b.sees(at(6), ms(39));
        assert_eq!((b.rtt, b.deadline()), (ms(39), at(37)));
    }

    #[test]
    fn a_probe_finds_a_longer_route() {
        // Figure 5.15: 40 ms become 80 ms at 10 s; the probe at 30 s finds it.
        let mut b = BaseRtt::new(ms(30_000), ms(1000), 1);
        b.sees(at(0), ms(40));
        b.sees(at(12), ms(85));
        assert!(b.due(at(30)));
        b.probe(at(30));
        b.sees(at(30), ms(84));
        b.sees(at(31), ms(80));
        b.sees(at(32), ms(82));
        assert_eq!(b.rtt, ms(40), "in use until the probe ends");
        assert!(!b.round(at(29)) && b.round(at(31)));
        b.conclude(at(32));
        assert_eq!((b.rtt, b.deadline()), (ms(80), at(62)));
    }

    #[test]
    fn a_probe_cut_short_leaves_the_base_and_comes_again() {
        let mut b = BaseRtt::new(ms(30_000), ms(1000), 1);
        b.sees(at(0), ms(12));
        b.probe(at(30));
        b.sees(at(31), ms(181));
        b.abandon(at(31));
        assert_eq!((b.rtt, b.probing(), b.due(at(31)), b.deadline()), (ms(12), false, true, at(32)));
    }

    #[test]
    fn without_a_window_the_smallest_stays() {
        let mut b = BaseRtt::new(Duration::ZERO, ms(1000), 1);
        b.sees(at(0), ms(40));
        assert_eq!(b.deadline(), Instant::MAX);
        assert!(!b.due(at(1_000_000)));
    }
}
