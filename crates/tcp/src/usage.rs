//! How much of the window is used: growth is earned only where it is the limit (`tcp_cwnd_validate`).

use crate::sender::Sender;

/// What was out, beside `Sender::limited`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Most bytes out in this window of data, which ends at `until`.
    most_out: u64,
    until: u64,
}

impl Sender {
    /// Was cwnd the limit of this flight? Asked when sending stops. If nothing left since the last time, only a cwnd that
    /// holds data back counts (`tcp_write_xmit`: `sent_pkts || is_cwnd_limited`). `waits`: the caller knows that it does.
    ///
    /// A window that is not used for a timeout is not forgotten. Linux has that (`tcp_cwnd_application_limited`, RFC 2861), but counts
    /// the time from the last ACK (`tcp_cong_avoid` moves `snd_cwnd_stamp`), so that it never comes to pass before the restart after
    /// idleness: kernel 6.18 keeps 127 segments through ten seconds of two segments every 40 ms.
    #[inline]
    pub(crate) fn note_usage(&mut self, waits: bool) {
        let limited = waits || self.pipe() + self.mss > self.flow.cwnd.get();
        if !(limited || self.sent_since_check) {
            return;
        }
        self.sent_since_check = false;
        let out = self.nxt - self.flow.acked_to;
        let u = &mut self.usage;
        if self.flow.acked_to >= u.until || limited || (!self.limited && out > u.most_out) {
            self.limited = limited;
            *u = Usage { most_out: out, until: self.nxt };
        }
    }

    /// Growth is earned only where the window was the limit; in slow start half of it in use is enough.
    #[inline]
    pub(crate) fn is_window_limited(&self) -> bool {
        if self.ways.freebsd {
            return self.flow.cwnd <= self.flow.receive_window;
        }
        self.limited || (self.flow.in_slow_start() && self.flow.cwnd.get() < 2 * self.usage.most_out)
    }

    /// Does the algorithm pace, or its slow start, by another rate than the host gave it?
    pub(crate) fn has_own_rate(&self) -> bool {
        self.flow.pacing.is_some() && self.flow.pacing != self.aside.host_rate
    }
}
