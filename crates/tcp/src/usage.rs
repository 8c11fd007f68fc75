//! How much of the window is used: growth is earned only where it is the limit, and Linux forgets what is not used for long
//! (RFC 2861's idea; `tcp_cwnd_validate`).

use crate::Stack;
use crate::sender::Sender;
use cc::{Phase, causes};
use units::{Bytes, Instant};

/// Linux' account of the window's use, beside `Sender::limited`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Most bytes out in this window of data, which ends at `until`.
    most_out: u32,
    until: u64,
    /// Most bytes out while the window was not the limit, and since when it has not been.
    most_used: u32,
    unused_since: Instant,
}

impl Sender {
    /// Was cwnd the limit of this flight? Asked when sending stops. If nothing left since the last time, only a cwnd that
    /// holds data back counts (`tcp_write_xmit`: `sent_pkts || is_cwnd_limited`). `waits`: the caller knows that it does.
    #[inline]
    pub(crate) fn note_usage(&mut self, waits: bool) {
        let limited = waits || self.pipe() + self.mss > self.flow.cwnd.get();
        if !(limited || self.sent_since_check) {
            return;
        }
        self.sent_since_check = false;
        let out = u32::try_from(self.nxt - self.una).unwrap_or(u32::MAX);
        let u = &mut self.usage;
        if self.una >= u.until || limited || (!self.limited && out > u.most_out) {
            self.limited = limited;
            (u.most_out, u.until) = (out, self.nxt);
        }
        if self.is_window_limited() {
            self.use_window();
        } else if self.config.stack == Stack::Linux {
            self.note_unused(out);
        }
    }

    /// The window is in use from here on.
    #[inline]
    pub(crate) fn use_window(&mut self) {
        (self.usage.most_used, self.usage.unused_since) = (0, self.flow.now);
    }

    /// Once the application has not used the window for a timeout it comes halfway down to what was used. Algorithms with a
    /// rate of their own keep it (`cong_control`).
    #[cold]
    #[inline(never)]
    fn note_unused(&mut self, out: u32) {
        let u = &mut self.usage;
        u.most_used = u.most_used.max(out);
        let unused = self.flow.now.since(u.unused_since);
        if unused < self.rtt.rto() || self.has_own_rate() {
            return;
        }
        // A writer with more to send than the peer takes is not the limit (`SOCK_NOSPACE`).
        let calm = self.flow.phase == Phase::Open && self.board.sacked | self.board.lost == 0;
        if calm && !self.has_unsent() {
            let used =
                Bytes::new(u64::from(self.usage.most_used).max(self.mss * self.config.initial_window.max(1) as u64));
            if used < self.flow.cwnd {
                let before = self.flow.windows();
                self.flow.ssthresh = self.flow.ssthresh.max(before.0 / 4 * 3);
                self.flow.cwnd = (before.0 + used) / 2;
                self.flow.because(causes::IdleRestart { idle: unused.as_nanos() as i64 }, before);
            }
            self.usage.most_used = 0;
        }
        self.usage.unused_since = self.flow.now;
    }

    /// Does the algorithm set a rate by itself?
    pub(crate) fn has_own_rate(&self) -> bool {
        !self.ways.paced && self.flow.pacing.is_some()
    }

    /// Growth is earned only where the window was the limit; in slow start half of it in use is enough.
    #[inline]
    pub(crate) fn is_window_limited(&self) -> bool {
        if self.ways.freebsd {
            return self.flow.cwnd <= self.flow.receive_window;
        }
        self.limited || (self.flow.in_slow_start() && self.flow.cwnd.get() < 2 * u64::from(self.usage.most_out))
    }
}
