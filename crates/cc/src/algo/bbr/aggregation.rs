//! How much more is acknowledged at once than the bandwidth explains: room for it in the window keeps the sender
//! sending while ACKs are held up on the way (Wi-Fi, cable, offload).

use crate::Flow;
use units::{Bytes, Duration, Instant, Rate};

/// Rounds in each half of the window of the maximum.
const HALF: u32 = 5;
/// Never more than this of the bandwidth.
const MOST: Duration = Duration::from_millis(100);
/// Packets after which an epoch is too old (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Aggregation {
    began: Instant,
    acked: Bytes,
    /// Largest excess in this half of the window and in the one before.
    excess: [Bytes; 2],
    half: usize,
    rounds: u32,
}

impl Aggregation {
    pub(super) fn new(now: Instant) -> Self {
        Aggregation { began: now, acked: Bytes::ZERO, excess: [Bytes::ZERO; 2], half: 0, rounds: 0 }
    }

    pub(super) fn restart(&mut self, now: Instant) {
        (self.began, self.acked) = (now, Bytes::ZERO);
    }

    pub(super) fn sample(&mut self, flow: &Flow, acked: Bytes, round: bool, bw: Rate) {
        if acked.is_zero() {
            return;
        }
        if round {
            self.rounds += 1;
            if self.rounds >= HALF {
                (self.rounds, self.half) = (0, 1 - self.half);
                self.excess[self.half] = Bytes::ZERO;
            }
        }
        let mut expected = bw * flow.now.since(self.began);
        if self.acked <= expected || self.acked + acked >= flow.mss * EPOCH {
            self.restart(flow.now);
            expected = Bytes::ZERO;
        }
        self.acked += acked;
        let excess = self.acked.saturating_sub(expected).min(flow.cwnd);
        self.excess[self.half] = self.excess[self.half].max(excess);
    }

    pub(super) fn extra(&self, bw: Rate) -> Bytes {
        self.excess[0].max(self.excess[1]).min(bw * MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flow, ms, packets};

    #[test]
    fn an_epoch_is_over_after_a_million_packets() {
        // Faster than the bandwidth that is known, for long: 4 ms of ACKs every ms.
        let mut f = flow(1 << 22, 100);
        let mut a = Aggregation::new(f.now);
        let bw = Rate::from_mbps(8.0);
        let mut epochs = 0;
        for _ in 0..3 << 18 {
            f.now += ms(1);
            let began = a.began;
            a.sample(&f, packets(4), false, bw);
            epochs += u32::from(a.began > began);
        }
        assert_eq!(epochs, 4, "the first of them with the first ACK");
    }

    #[test]
    fn a_bunch_of_acks_is_remembered_for_five_to_ten_rounds() {
        let mut f = flow(100, 100);
        let mut a = Aggregation::new(f.now);
        let bw = Rate::from_mbps(8.0); // one packet of 1000 bytes per ms
        f.now += ms(30);
        a.sample(&f, packets(30), true, bw);
        assert_eq!(a.extra(bw), packets(30), "thirty at once after thirty ms of silence");
        let mut rounds = 0;
        while a.extra(bw) == packets(30) {
            f.now += ms(100);
            a.sample(&f, packets(1), true, bw);
            rounds += 1;
        }
        assert!((5..=10).contains(&rounds), "{rounds}");
    }

    #[test]
    fn no_more_than_a_hundred_milliseconds_and_no_more_than_the_window() {
        let mut f = flow(1000, 100);
        let mut a = Aggregation::new(f.now);
        let bw = Rate::from_mbps(8.0);
        a.sample(&f, packets(500), true, bw);
        assert_eq!(a.extra(bw), packets(100));
        f.cwnd = packets(20);
        let mut a = Aggregation::new(f.now);
        a.sample(&f, packets(500), true, bw);
        assert_eq!(a.extra(bw), packets(20));
    }
}
