//! RTTs as a sender sees them: from a segment's leaving it to the acknowledgement's reaching it.

use crate::frame::Sequence;
use std::collections::VecDeque;
use units::{Duration, Instant};

/// One connection's segments under way.
#[derive(Debug, Default)]
pub struct RttMeter {
    /// End of each segment sent for the first time, and when.
    sent: VecDeque<(u32, Instant)>,
    highest: Option<u32>,
    /// Acknowledgements up to here tell nothing: something before was sent twice (Karn's rule).
    mute_until: Option<u32>,
}

/// Serial numbers compare within half their range (RFC 1982).
fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl RttMeter {
    /// A segment leaves its sender.
    pub fn sent(&mut self, s: &Sequence, now: Instant) {
        if s.span == 0 {
            return;
        }
        let end = s.seq.wrapping_add(s.span);
        match self.highest {
            Some(highest) if !before(highest, end) => self.mute_until = Some(highest),
            _ => {
                self.highest = Some(end);
                self.sent.push_back((end, now));
            }
        }
    }

    /// An acknowledgement reaches it: the RTT of the newest segment that it covers, if that was sent once.
    pub fn acknowledged(&mut self, s: &Sequence, now: Instant) -> Option<Duration> {
        if !s.acks {
            return None;
        }
        let mut newest = None;
        while let Some(&(end, at)) = self.sent.front()
            && !before(s.ack, end)
        {
            newest = Some((end, at));
            self.sent.pop_front();
        }
        let (end, at) = newest?;
        let mute = self.mute_until.is_some_and(|until| !before(until, end));
        (!mute).then(|| now.since(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(t: u64) -> Instant {
        Instant::from_millis(t)
    }

    fn data(seq: u32) -> Sequence {
        Sequence { seq, ack: 0, span: 100, acks: true }
    }

    fn ack(ack: u32) -> Sequence {
        Sequence { seq: 0, ack, span: 0, acks: true }
    }

    #[test]
    fn the_newest_covered_segment_tells() {
        let mut meter = RttMeter::default();
        meter.sent(&data(u32::MAX - 50), ms(0));
        meter.sent(&data(49), ms(3));
        assert_eq!(meter.acknowledged(&ack(149), ms(40)), Some(Duration::from_millis(37)));
        assert_eq!(meter.acknowledged(&ack(149), ms(41)), None);
    }

    #[test]
    fn what_was_sent_twice_tells_nothing() {
        let mut meter = RttMeter::default();
        for i in 0..4 {
            meter.sent(&data(i * 100), ms(i as u64));
        }
        meter.sent(&data(0), ms(50));
        assert_eq!(meter.acknowledged(&ack(400), ms(90)), None);
        meter.sent(&data(400), ms(91));
        assert_eq!(meter.acknowledged(&ack(500), ms(131)), Some(Duration::from_millis(40)));
    }
}
