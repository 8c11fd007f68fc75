//! Which segments are pushed (PSH): those in which a write of their application ends.
//!
//! Linux marks the last segment that waits when a write returns, and the mark stays for when it is sent again (`tcp_push`,
//! `tcp_mark_push`). Left out: it also marks what waits when the sender's buffer is full, and every half of the widest
//! window (`forced_push`), since nobody models that buffer here.

use tcp::{ENDLESS, Segment};
use units::Bytes;

/// What one end of a connection wrote.
#[derive(Debug, Default)]
pub struct Written {
    /// Positions behind the last byte of each write, in order.
    ends: Vec<u64>,
}

impl Written {
    /// The application writes so many bytes behind those before.
    pub fn add(&mut self, bytes: u64) {
        // What has no end is not pushed, and what is left of it may be forgotten.
        if bytes < ENDLESS {
            // Data begin at 1.
            self.ends.push(self.ends.last().unwrap_or(&1) + bytes);
        }
    }

    /// Does a write end in this segment, one of those heard of or one of `each` (0: of none)?
    pub fn end_in(&self, s: &Segment, each: Bytes) -> bool {
        let end = s.seq + u64::from(s.len);
        let heard = || self.ends.get(self.ends.partition_point(|&at| at <= s.seq)).is_some_and(|&at| at <= end);
        let whole = |at: u64| at.saturating_sub(1).checked_div(each.get());
        s.len > 0 && (whole(end) != whole(s.seq) || heard())
    }
}
