//! Little windows of the peer: how much goes into one, and when (RFC 9293, section 3.8.6.2.1).

use crate::config::Stack;
use crate::sender::Sender;
use units::Instant;

/// Windows of more than this Linux fills with two segments at least (`TCP_MSS_DEFAULT`).
const HALVED: u64 = 536;

impl Sender {
    /// Of `len` bytes what goes now where the peer takes less than two segments more; `None` to wait for more room.
    #[cold]
    #[inline(never)]
    pub(super) fn fit(&mut self, now: Instant, len: u64, room: u64) -> Option<u64> {
        self.aside.widest = self.aside.widest.max(self.edge - self.flow.acked_to);
        let len = len.min(self.segment());
        if len <= room {
            return Some(len);
        }
        // Forced is only what the timer lets go: fast retransmissions have something outstanding.
        let forced = self.force_one && !self.is_outstanding();
        if room > 0 && (forced || self.takes_part(room)) {
            return Some(room);
        }
        self.persist(now);
        self.note_usage(false);
        None
    }

    /// Goes a part of a segment at once? Never on Linux (`tcp_snd_wnd_test`). Elsewhere half of the widest window does, on
    /// FreeBSD (`tcp_output`) whatever is out.
    fn takes_part(&self, room: u64) -> bool {
        self.config.stack != Stack::Linux
            && room >= self.aside.widest / 2
            && (self.ways.freebsd || !self.is_outstanding())
    }

    /// The longest segment: on Linux half of the widest window that the peer offered, or all of a tiny one
    /// (`tcp_bound_to_half_wnd`).
    fn segment(&self) -> u64 {
        let widest = self.aside.widest;
        if self.config.stack != Stack::Linux || widest == 0 {
            return self.mss;
        }
        self.mss.min(if widest > HALVED { widest / 2 } else { widest })
    }

    /// Is there new data, and does the peer take a segment of it?
    pub(crate) fn may_send_new(&self) -> bool {
        self.written > self.nxt && self.edge >= self.nxt + self.segment().min(self.written - self.nxt)
    }

    /// Nothing is outstanding, and what waits is more than the peer takes, which is something.
    pub(crate) fn waits_for_room(&self) -> bool {
        !self.is_outstanding() && self.edge > self.nxt && self.has_unsent()
    }
}
