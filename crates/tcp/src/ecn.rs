//! Explicit congestion notification: RFC 3168's echo, and exact byte counts.

use crate::{Config, Flags, Segment};

/// ECN field of a packet that congestion marked.
pub(crate) const CE: u8 = 3;

/// The sender's side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sender {
    /// Both ends agreed.
    pub on: bool,
    /// The next new data segment tells that the window was reduced, for whatever reason (RFC 3168, section 6.1.2).
    pub tell_reduced: bool,
    /// Marks below this position belong to a window already reduced.
    pub heeded_to: u64,
    /// The peer's counter so far.
    counted: u32,
}

/// What an ACK says of marks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marked {
    pub congested: bool,
    /// Bytes marked, where feedback is exact.
    pub bytes: u64,
}

impl Sender {
    /// Reads the echo.
    #[inline]
    pub fn on_feedback(&mut self, s: &Segment, config: &Config, delivered: u64) -> Marked {
        if config.accurate_ecn {
            let more = s.ce_bytes.wrapping_sub(self.counted);
            // An older counter on a reordered ACK is no news.
            if more as i32 <= 0 {
                return Marked::default();
            }
            self.counted = s.ce_bytes;
            return Marked { congested: true, bytes: more as u64 };
        }
        Marked { congested: s.flags.has(Flags::ECE) && delivered > 0, bytes: 0 }
    }
}

/// The receiver's side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Receiver {
    /// Payload bytes that came with CE.
    pub bytes: u32,
    /// Echo: until CWR arrives, or (exact feedback) while packets come marked.
    pub echo: bool,
    /// Both ends agreed.
    pub on: bool,
}

impl Receiver {
    /// A data packet arrived. True if it is the first with CE, or (exact feedback) unlike the last.
    #[inline]
    pub fn on_data(&mut self, s: &Segment, accurate: bool) -> bool {
        let ce = s.ecn == CE;
        if ce {
            self.bytes = self.bytes.wrapping_add(s.len);
        }
        if accurate {
            let changed = ce != self.echo;
            self.echo = ce;
            return changed;
        }
        if s.flags.has(Flags::CWR) {
            self.echo = false;
        }
        let news = ce && !self.echo;
        self.echo |= ce;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(ecn: u8, flags: Flags) -> Segment {
        Segment { len: 1000, ecn, flags, ..Segment::default() }
    }

    #[test]
    fn the_classic_echo_lasts_until_the_sender_says_it_reduced() {
        let mut r = Receiver::default();
        for (ecn, flags, news, echo) in [
            (2, Flags::default(), false, false),
            (CE, Flags::default(), true, true),
            (2, Flags::default(), false, true),
            (CE, Flags::default(), false, true),
            (2, Flags::CWR, false, false),
            (CE, Flags::CWR, true, true),
        ] {
            assert_eq!((r.on_data(&data(ecn, flags), false), r.echo), (news, echo));
        }
        assert_eq!(r.bytes, 3000);
    }

    #[test]
    fn exact_feedback_reports_every_change_at_once() {
        let mut r = Receiver::default();
        let news: [bool; 5] = [2, CE, CE, 2, 2].map(|e| r.on_data(&data(e, Flags::default()), true));
        assert_eq!(news, [false, true, false, true, false]);
    }
}
