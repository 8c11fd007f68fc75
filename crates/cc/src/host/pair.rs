//! Packet pairs: two segments that leave back to back are drawn apart by the slowest link, and their ACKs keep the gap.
//!
//! Source: Keshav, A control-theoretic approach to flow control, SIGCOMM 1991. Cross traffic between the two widens the
//! gap, ACKs held up together narrow it: who uses pairs must choose among many.

use crate::{Ack, Flow};
use units::{Duration, Instant, Rate};

/// What a pair showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dispersion {
    /// Between the two departures.
    pub sent: Duration,
    /// Between the two acknowledgements.
    pub heard: Duration,
    /// What the second acknowledged, over the gap: the rate of the slowest link, if nothing came between.
    pub rate: Rate,
}

/// Looks for pairs among the ACKs of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketPair {
    last: Option<(Instant, Instant)>,
}

impl PacketPair {
    /// No ACK yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an ACK. A pair needs fresh data in order, sent no further apart than `within`.
    pub fn see(&mut self, flow: &Flow, ack: &Ack, within: Duration) -> Option<Dispersion> {
        if ack.rtt.is_none() || ack.cumulative.is_zero() || ack.cumulative != ack.delivered {
            self.last = None;
            return None;
        }
        let (sent_at, heard_at) = self.last.replace((ack.sent_at, flow.now))?;
        let (sent, heard) = (ack.sent_at.since(sent_at), flow.now.since(heard_at));
        if sent > within || heard.is_zero() {
            return None;
        }
        Some(Dispersion { sent, heard, rate: ack.cumulative / heard })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow, ms};

    #[test]
    fn two_packets_at_once_come_back_a_packet_time_apart() {
        let mut f = flow(10, 40);
        let mut pair = PacketPair::new();
        let at = |sent: u64| Ack { sent_at: Instant::from_millis(sent), ..ack(1, 40) };
        assert_eq!(pair.see(&f, &at(5), ms(1)), None);
        f.now += ms(2);
        let found = pair.see(&f, &at(5), ms(1)).unwrap();
        assert_eq!((found.sent, found.heard, found.rate), (ms(0), ms(2), Rate::from_mbps(4.0)));
        f.now += ms(2);
        assert_eq!(pair.see(&f, &at(9), ms(1)), None, "not back to back");
        f.now += ms(2);
        assert_eq!(pair.see(&f, &Ack { rtt: None, ..at(9) }, ms(1)), None, "sent again");
        assert_eq!(pair.see(&f, &at(9), ms(1)), None, "and nothing to pair with after that");
    }
}
