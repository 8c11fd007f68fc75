//! The throughput that Linux' H-TCP compares from congestion to congestion: packets per second, a window at a time.

use super::HZ;

/// State; in quotes as in the source.
#[derive(Debug, Default)]
pub(super) struct Throughput {
    /// Packets, and since when (`packetcount`, `lasttime`).
    pub packets: u64,
    pub from: u64,
    /// `Bi`, its largest since congestion, and the largest of the time before.
    pub rate: u64,
    pub most: u64,
    pub before: u64,
}

impl Throughput {
    pub(super) fn from(now: u64) -> Self {
        Throughput { from: now, ..Throughput::default() }
    }

    /// In a repair nothing is counted.
    pub(super) fn pause(&mut self, now: u64) {
        (self.packets, self.from) = (0, now);
    }

    /// A sample is due once `round` packets have come, and an RTT has passed. Those of the first three RTTs since
    /// congestion are taken as they are, later ones averaged.
    pub(super) fn see(&mut self, packets: u64, round: u64, now: u64, rtt: u64, since: u64) {
        self.packets += packets;
        let took = now - self.from;
        if self.packets < round || took < rtt || rtt == 0 {
            return;
        }
        let rate = self.packets * HZ / took;
        if (now - since) / rtt <= 3 {
            (self.rate, self.most) = (rate, rate);
        } else {
            self.rate = (3 * self.rate + rate) / 4;
            self.most = self.most.max(self.rate);
        }
        self.pause(now);
    }

    /// At congestion: is the throughput before it beyond a fifth of what it was before the last one?
    pub(super) fn changed(&mut self) -> bool {
        let before = core::mem::replace(&mut self.before, self.most);
        !(4 * before..=6 * before).contains(&(5 * self.most))
    }
}
