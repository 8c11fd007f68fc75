//! Paced start: trains of packets with gaps of their own find the rate that is free, by bisection, in a few round trips.
//!
//! ```text
//! first train: the initial window back to back.  Of each train: g_s sent gap, g_d mean gap of its ACKs
//! g_d > g_s·(1 + ε): faster than what is free, so the next gap is larger;  otherwise smaller; halfway between the bounds
//! the bounds 10 % apart, or five trains: g* found;  ssthresh = RTT / g*,  one window at g*, then by ACKs
//! ```
//! Source: Hu and Steenkiste, Improving TCP startup performance using active measurements, ICNP 2003, as section 2.5 of the
//! HLDG thesis tells it; ε and the stopping rule are from memory. A train is a round's window, which slow start doubles.

use crate::{Ack, Flow, SlowStart, causes, exits, start::Start};
use units::{Bytes, Instant, Rate, Rng};

params::params! {
    /// From memory.
    pub struct Params {
        /// ACKs further apart than sent by this part mean that a queue grew (ε).
        tolerance: f64 = 0.05, 0.0 => 1.0;
        /// Trains after which the bounds are taken as they are.
        trains: u32 = 5, 2 => 100;
        /// Part of the upper bound that the lower one must have reached.
        close: f64 = 0.9, 0.1 => 1.0;
    }
}

/// State: the train being heard, and the bounds.
#[derive(Debug)]
pub struct Paced {
    p: Params,
    first: Option<Instant>,
    last: Instant,
    bytes: Bytes,
    trains: u32,
    /// Rate the train was sent at; `None`: back to back.
    asked: Option<Rate>,
    low: Rate,
    high: Option<Rate>,
    found: Option<Rate>,
}

impl Start for Paced {
    const NAME: &'static str = "paced";
    const PAPER: &'static str = "Hu and Steenkiste, Improving TCP startup performance using active measurements, \
                                 ICNP 2003; partly from memory";
    const PACES: bool = true;
    type Params = Params;

    fn new(p: &Params, flow: &mut Flow, _: Rng) -> Self {
        Paced {
            p: p.clone(),
            first: None,
            last: flow.now,
            bytes: Bytes::ZERO,
            trains: 0,
            asked: None,
            low: Rate::ZERO,
            high: None,
            found: None,
        }
    }
}

impl Paced {
    /// A train was heard at that rate: what to ask next. The bounds close in.
    fn next(&mut self, heard: Rate) -> Rate {
        self.trains += 1;
        match self.asked {
            // Back to back: the bottleneck's rate is the most there can be.
            None => self.high = Some(heard),
            Some(asked) if heard.mul_f64(1.0 + self.p.tolerance) < asked => {
                self.high = Some(asked.min(self.high.unwrap_or(asked)));
            }
            Some(asked) => self.low = self.low.max(asked),
        }
        let high = self.high.unwrap_or(heard);
        let over = self.low >= high.mul_f64(self.p.close) || self.trains >= self.p.trains;
        if over {
            // Never found a rate that was free: what the last train came through with is.
            self.found = Some(if self.low == Rate::ZERO { heard } else { self.low });
        }
        // Trust the bottleneck's own rate first.
        if self.low == Rate::ZERO && self.trains == 1 {
            return high.mul_f64(self.p.close);
        }
        Rate::from_bps((self.low.as_bps() + high.as_bps()) / 2)
    }

    fn end_of_train(&mut self, flow: &mut Flow) {
        let Some(first) = self.first.take() else { return };
        let span = self.last.since(first);
        if self.bytes.is_zero() || span.is_zero() {
            return;
        }
        let next = self.next(self.bytes / span);
        let least = flow.mss / units::Duration::from_secs(1);
        (self.asked, self.bytes) = (Some(next.max(least)), Bytes::ZERO);
        flow.pacing = self.asked;
        if let Some(rate) = self.found {
            let before = flow.windows();
            flow.ssthresh = (rate * flow.min_rtt).max(flow.floor);
            flow.cwnd = flow.cwnd.min(flow.ssthresh);
            self.asked = Some(rate.max(least));
            flow.pacing = self.asked;
            flow.because(
                causes::SlowStartExit {
                    reason: exits::TRAINS,
                    rtt: flow.rtt.as_nanos() as i64,
                    base_rtt: flow.min_rtt.as_nanos() as i64,
                    bandwidth: rate.as_bps() as i64,
                    bdp: flow.ssthresh.get() as i64,
                    ..Default::default()
                },
                before,
            );
        }
    }
}

impl SlowStart for Paced {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if self.found.is_some() {
            return;
        }
        if ack.round.is_some() {
            self.end_of_train(flow);
        }
        if self.found.is_none() && !ack.delivered.is_zero() {
            // The first ACK opens the span; what it acknowledges came before.
            if self.first.is_some() {
                self.bytes += ack.delivered;
            }
            self.first.get_or_insert(flow.now);
            self.last = flow.now;
        }
    }

    /// The first train leaves at once: spread over an RTT by the algorithm it would measure just that.
    fn pace(&self, _: Option<Rate>) -> Option<Rate> {
        self.asked
    }

    fn on_end(&mut self, flow: &mut Flow) {
        // Not what the algorithm has set by now.
        if self.asked.take() == flow.pacing {
            flow.pacing = None;
        }
    }

    fn on_reset(&mut self, flow: &mut Flow) {
        (flow.pacing, self.asked) = (None, None);
        (self.first, self.bytes) = (None, Bytes::ZERO);
        self.found = Some(self.low);
    }

    /// Nothing was found yet where there was no threshold: the search goes on, with a train at once.
    fn on_undo(&mut self, flow: &mut Flow) {
        if flow.ssthresh == Bytes::MAX {
            self.found = None;
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("paced_low_mbps", self.low.as_mbps());
        see("paced_high_mbps", self.high.unwrap_or(Rate::ZERO).as_mbps());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, closing, flow, ms, packets};
    use units::Duration;

    /// Trains over a bottleneck of 10 Mbit/s of which so much is free; returns what was found and in how many trains.
    fn search(free: f64) -> (f64, u32) {
        let mut start = Paced::new(&Params::default(), &mut flow(10, 100), Rng::new(1, 0, 0));
        start.asked = Some(start.next(Rate::from_mbps(10.0)));
        while start.found.is_none() {
            let asked = start.asked.unwrap().as_mbps();
            // What is asked beyond what is free comes through in part: fluid sharing with the other traffic.
            let heard = if asked <= free { asked } else { asked * 10.0 / (asked + 10.0 - free) };
            start.asked = Some(start.next(Rate::from_mbps(heard)));
        }
        (start.found.unwrap().as_mbps(), start.trains)
    }

    #[test]
    fn an_empty_link_is_found_in_two_trains() {
        assert_eq!(search(10.0), (9.0, 2));
    }

    #[test]
    fn half_a_link_is_found_in_five_trains_at_most_and_from_below() {
        for free in [3.0, 5.0, 7.0] {
            let (found, trains) = search(free);
            // A train too fast by 5 % of the link is still taken for free: ACKs that little apart tell nothing.
            assert!(trains <= 5 && found <= free + 0.5 && found > 0.6 * free, "{free}: {found} in {trains}");
        }
    }

    #[test]
    fn a_train_is_timed_from_its_first_ack_to_its_last() {
        let mut f = flow(10, 100);
        let mut start = Paced::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        // Packets of 8000 bits, one in 1 ms: 8 Mbit/s, whatever pauses lie between trains and ACKs that bring nothing.
        let mut train = |start: &mut Paced, gap_us: u64| {
            f.now += ms(500);
            for n in 0..10 {
                start.on_ack(&mut f, &if n == 0 { closing(1, 100) } else { ack(1, 100) });
                if n < 9 {
                    f.now += Duration::from_micros(gap_us);
                }
            }
            f.now += ms(5);
            start.on_ack(&mut f, &ack(0, 100));
            (f.pacing.map(|rate| rate.as_bps() / 1000), f.cwnd.get(), f.in_slow_start())
        };
        assert_eq!(train(&mut start, 1000), (None, 10_000, true));
        // Nine tenths of the bottleneck's rate next; they come through, so they are it: 7.2 Mbit/s fill 90 packets.
        assert_eq!(train(&mut start, 1112), (Some(7200), 10_000, true));
        f.cwnd = packets(100);
        start.on_ack(&mut f, &closing(0, 100));
        assert_eq!((f.cwnd.get(), f.ssthresh.get(), f.in_slow_start()), (90_000, 90_000, false));
        assert_eq!(f.drain_events().count(), 1);
    }

    #[test]
    fn congestion_and_silence_end_it_with_what_was_free() {
        let mut f = flow(10, 100);
        let mut start = Paced::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        (start.low, f.pacing) = (Rate::from_mbps(3.0), Some(Rate::from_mbps(5.0)));
        start.on_reset(&mut f);
        assert_eq!((start.found, f.pacing), (Some(Rate::from_mbps(3.0)), None));
        f.ssthresh = packets(50);
        start.on_undo(&mut f);
        assert!(start.found.is_some(), "a threshold was known before");
        f.ssthresh = Bytes::MAX;
        start.on_undo(&mut f);
        assert_eq!((start.found, start.low), (None, Rate::from_mbps(3.0)), "no congestion: the search goes on");
    }

    #[test]
    fn where_no_train_came_through_what_the_last_one_came_through_with_is_found() {
        let mut start = Paced::new(&Params::default(), &mut flow(10, 100), Rng::new(1, 0, 0));
        for heard in [10.0, 8.0, 4.0, 2.0, 1.0] {
            assert_eq!(start.found, None);
            start.asked = Some(start.next(Rate::from_mbps(heard)));
        }
        assert_eq!(start.found, Some(Rate::from_mbps(1.0)));
    }
}
