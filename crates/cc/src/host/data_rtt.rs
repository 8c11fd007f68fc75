//! The smallest and the largest RTT of acknowledged data.

use crate::{Ack, Flow};
use units::Duration;

/// What an algorithm that measures queues by RTTs of data compares them with.
///
/// Among those of `flow.min_rtt` is the handshake's RTT. A SYN is a small packet: beside it, data shows a queue where there is
/// none, as long as a full packet takes to leave the slowest link. The kernels' modules never hear of the handshake: Linux
/// begins them after it and tells them of data (`pkts_acked`), and FreeBSD's h_ertt times data alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataRtt {
    least: Duration,
    most: Duration,
}

impl DataRtt {
    /// Begins with what is known of a flow: nothing, if it is new.
    pub fn of(flow: &Flow) -> Self {
        DataRtt { least: flow.min_rtt, most: flow.max_rtt.max(flow.min_rtt) }
    }

    /// Takes an ACK.
    #[inline]
    pub fn see(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.take(rtt);
        }
    }

    /// Takes an RTT.
    #[inline]
    pub fn take(&mut self, rtt: Duration) {
        self.least = if self.least.is_zero() { rtt } else { self.least.min(rtt) };
        self.most = self.most.max(rtt);
    }

    /// The base RTT; zero before the first sample.
    pub fn base(&self) -> Duration {
        self.least
    }

    /// The largest RTT; zero before the first sample.
    pub fn largest(&self) -> Duration {
        self.most
    }

    /// The largest queueing delay seen.
    pub fn range(&self) -> Duration {
        self.most - self.least
    }

    /// The queueing delay in an RTT; none before there is a base.
    pub fn queue(&self, rtt: Duration) -> Duration {
        if self.least.is_zero() { Duration::ZERO } else { rtt.saturating_sub(self.least) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow, ms};
    use units::Bytes;

    #[test]
    fn the_handshake_does_not_count() {
        let mut f = Flow::new(Bytes::new(1000), Bytes::new(10_000));
        let mut rtt = DataRtt::of(&f);
        (f.min_rtt, f.max_rtt, f.rtt) = (ms(38), ms(38), ms(38));
        rtt.see(&Ack::default());
        assert_eq!((rtt.base(), rtt.queue(f.rtt)), (Duration::ZERO, Duration::ZERO));
        for (sample, base, largest) in [(50, 50, 50), (60, 50, 60), (44, 44, 60)] {
            rtt.see(&ack(1, sample));
            assert_eq!((rtt.base(), rtt.largest(), rtt.range()), (ms(base), ms(largest), ms(largest - base)));
        }
        assert_eq!([43, 44, 60].map(|sample| rtt.queue(ms(sample))), [0, 0, 16].map(ms));
        assert_eq!(DataRtt::of(&flow(10, 40)).base(), ms(40), "of a flow that is known");
    }
}
