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
    /// A due probe waits for the flow's next back-off if the last one was no longer ago than this.
    wait: Duration,
    /// The last indication of delay.
    backed_off: Instant,
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
        BaseRtt { rtt: Duration::MAX, window, due: Instant::MAX, wait, backed_off: Instant::ZERO, hold, probe: None }
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

    /// Delay was indicated: the window was cut, unless cuts have proved ineffectual.
    pub fn backs_off(&mut self, now: Instant) {
        self.backed_off = now;
    }

    /// When to probe even without a back-off: when it is due, but no sooner than `wait` after the last back-off.
    pub fn deadline(&self) -> Instant {
        if self.probe.is_some() { Instant::MAX } else { self.due.max(self.backed_off + self.wait) }
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

    /// The probe was cut short, and what it saw may be competitors' queue: the base stays, and the next occasion probes
    /// again.
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
mod tests;
