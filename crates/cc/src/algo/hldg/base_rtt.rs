//! The base RTT over a window of time, found again by probing (Eq 5.9, section 5.2.6).

use units::{Duration, Instant};

/// Smallest RTT since `T_begin`, which is when it was seen.
#[derive(Debug)]
pub struct BaseRtt {
    /// RTT_ebase; [`Duration::MAX`] before the first sample.
    pub rtt: Duration,
    begin: Instant,
    /// W_rtt; zero keeps the smallest RTT for ever.
    window: Duration,
    /// When to probe if nothing lower is seen.
    due: Instant,
    probe: Option<Probe>,
}

/// A probe under way: what it has seen.
#[derive(Debug)]
struct Probe {
    since: Instant,
    lowest: Duration,
    at: Instant,
}

impl BaseRtt {
    /// Nothing seen yet.
    pub fn new(window: Duration) -> Self {
        BaseRtt { rtt: Duration::MAX, begin: Instant::ZERO, window, due: Instant::MAX, probe: None }
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
        self.begin = at;
        self.due = if self.window.is_zero() { Instant::MAX } else { at + self.window };
    }

    /// Starts the window again without a sample: it stood still in the other modes.
    pub fn renew(&mut self, now: Instant) {
        self.begin(now);
    }

    /// When the next probe is due.
    pub fn due(&self) -> Instant {
        if self.probe.is_some() { Instant::MAX } else { self.due }
    }

    /// Not now: look again later.
    pub fn postpone(&mut self, until: Instant) {
        self.due = until;
    }

    /// A probe begins. The old value stays in use until it ends.
    pub fn probe(&mut self, now: Instant) {
        self.probe = Some(Probe { since: now, lowest: Duration::MAX, at: now });
    }

    /// Is a probe under way?
    pub fn probing(&self) -> bool {
        self.probe.is_some()
    }

    /// Did this round begin after the probe did, so that it shows what the probe wanted to see?
    pub fn shows(&self, round_start: Instant) -> bool {
        self.probe.as_ref().is_some_and(|p| round_start >= p.since)
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
        let mut b = BaseRtt::new(ms(30_000));
        b.sees(at(1), ms(40));
        b.sees(at(5), ms(40));
        assert_eq!((b.rtt, b.due()), (ms(40), at(31)));
        b.sees(at(6), ms(39));
        assert_eq!((b.rtt, b.due()), (ms(39), at(36)));
    }

    #[test]
    fn a_probe_finds_a_longer_route() {
        // Figure 5.15: 40 ms become 80 ms at 10 s; the probe at 30 s finds it.
        let mut b = BaseRtt::new(ms(30_000));
        b.sees(at(0), ms(40));
        b.sees(at(12), ms(85));
        assert_eq!(b.due(), at(30));
        b.probe(at(30));
        b.sees(at(30), ms(84));
        b.sees(at(31), ms(80));
        b.sees(at(32), ms(82));
        assert_eq!(b.rtt, ms(40), "in use until the probe ends");
        assert!(b.shows(at(31)) && !b.shows(at(29)));
        b.conclude(at(32));
        assert_eq!((b.rtt, b.due()), (ms(80), at(61)));
    }

    #[test]
    fn without_a_window_the_smallest_stays() {
        let mut b = BaseRtt::new(Duration::ZERO);
        b.sees(at(0), ms(40));
        assert_eq!(b.due(), Instant::MAX);
    }
}
