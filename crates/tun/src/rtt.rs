//! RTTs as a sender sees them: from a segment's leaving it to the acknowledgement's reaching it.

use crate::frame::Sequence;
use experiment::{FlowSpec, Traffic};
use std::collections::{HashMap, VecDeque};
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

/// A meter for each flow, and for each connection of flows that have many.
#[derive(Debug)]
pub struct Meters {
    flows: Vec<Option<RttMeter>>,
    connections: HashMap<(u32, u16), RttMeter>,
    /// So many connections are known at a time.
    most: usize,
}

/// Meters of connections that were closed are thrown away when there are more than this, and than twice those in use.
const CONNECTIONS: usize = 4096;

impl Meters {
    /// For these flows.
    pub fn new(flows: &[FlowSpec]) -> Self {
        let one = |f: &FlowSpec| (!matches!(f.traffic, Traffic::Tmix(_))).then(RttMeter::default);
        Meters { flows: flows.iter().map(one).collect(), connections: HashMap::new(), most: CONNECTIONS }
    }

    /// The meter of a flow, or of its connection with the receiver's port; none for what programs send.
    pub fn of(&mut self, flow: u32, port: u16) -> Option<&mut RttMeter> {
        match self.flows.get_mut(flow as usize)? {
            Some(meter) => Some(meter),
            None => {
                if self.connections.len() >= self.most && !self.connections.contains_key(&(flow, port)) {
                    self.connections.retain(|_, meter| !meter.sent.is_empty());
                    self.most = CONNECTIONS.max(2 * self.connections.len());
                }
                Some(self.connections.entry((flow, port)).or_default())
            }
        }
    }
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
        // The port may have been another connection's.
        if s.opens && self.sent.is_empty() {
            *self = RttMeter::default();
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
        if self.mute_until.is_some_and(|until| !before(until, end)) {
            return None;
        }
        // Kept, it would lie ahead again half the serial numbers later.
        self.mute_until = None;
        Some(now.since(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(t: u64) -> Instant {
        Instant::from_millis(t)
    }

    fn data(seq: u32) -> Sequence {
        Sequence { seq, ack: 0, span: 100, acks: true, opens: false }
    }

    fn ack(ack: u32) -> Sequence {
        Sequence { seq: 0, ack, span: 0, acks: true, opens: false }
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
    fn a_port_s_next_connection_begins_anew() {
        let mut meter = RttMeter::default();
        meter.sent(&data(5000), ms(0));
        assert_eq!(meter.acknowledged(&ack(5100), ms(40)), Some(Duration::from_millis(40)));
        meter.sent(&Sequence { seq: 100, ack: 1, span: 1, acks: true, opens: true }, ms(90));
        meter.sent(&data(101), ms(91));
        assert_eq!(meter.acknowledged(&ack(201), ms(131)), Some(Duration::from_millis(40)));
    }

    #[test]
    fn what_was_sent_twice_is_forgotten_before_its_numbers_lie_ahead_again() {
        let mut meter = RttMeter::default();
        meter.sent(&data(0), ms(0));
        meter.sent(&data(0), ms(50));
        assert_eq!(meter.acknowledged(&ack(100), ms(90)), None);
        // A gigabyte at a time, past 2 GiB and round.
        for n in 1..9 {
            let seq = (n * 1_000_000_000_u64) as u32;
            meter.sent(&data(seq), ms(100 * n));
            let rtt = meter.acknowledged(&ack(seq.wrapping_add(100)), ms(100 * n + 40));
            assert_eq!(rtt, Some(Duration::from_millis(40)), "{n} GB");
        }
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
