//! Slow start capped by the bandwidth an ACK train shows, and ended by the gradient of the smallest RTT (section 5.4,
//! Algorithm 5.3).

use super::StartBandwidth;
use crate::algo::cdg::probability::{Toss, exact};
use crate::host::Train;
use crate::{Ack, Flow, causes, exits, ppb};
use units::{Duration, Rate, Rng};

/// State of Algorithm 5.3, which runs while the threshold is still being looked for: from the start and after a
/// timeout.
#[derive(Debug)]
pub struct SlowStart {
    /// The threshold is unknown.
    pub searching: bool,
    train: Train,
    previous: Option<Duration>,
    /// The first gradient comes from the burst of the initial window and is ignored (5.4.1; Algorithm 5.3 forgot it), with
    /// the round's RTT, as CDG ignores a round: the next round has nothing to compare with.
    pub first: bool,
    toss: Toss,
    gradient: f64,
    /// B_erate of the last train (Eq 5.15); zero before the first.
    rate: Rate,
}

impl SlowStart {
    /// `own` is false if another slow start is in charge; `train` is how many ACKs make an estimate.
    pub fn new(own: bool, train: u32) -> Self {
        let (toss, gradient, rate) = Default::default();
        SlowStart { searching: own, train: Train::new(train), previous: None, first: true, toss, gradient, rate }
    }

    /// The search begins anew.
    pub fn again(&mut self) {
        self.searching = true;
        self.previous = None;
        self.rate = Rate::ZERO;
        self.train.begin();
    }

    /// B of Eq 5.3, "bottleneck bandwidth". A round in slow start tells "10 × MSS/RTT which is less than the actual bottleneck
    /// bandwidth", the reason why 5.4.1 has trains: by it γ would be 0 in the first rounds of long paths.
    pub fn bandwidth(&self, by: StartBandwidth, round: Rate) -> Rate {
        if by == StartBandwidth::Train && self.rate > Rate::ZERO { self.rate } else { round }
    }

    /// An ACK in slow start: grows by what it acknowledged.
    pub fn ack(&mut self, flow: &mut Flow, ack: &Ack, base: Duration, ack_counting: bool) {
        let acked = ack.growth(flow.mss, ack_counting);
        if !self.searching {
            flow.slow_start(acked);
            return;
        }
        let before = flow.windows();
        let told = self.cap(flow, ack, base);
        flow.slow_start(acked);
        if flow.cwnd >= flow.ssthresh {
            self.searching = false;
            let bandwidth = told.unwrap_or_else(|| flow.ssthresh / base).as_bps() as i64;
            let bdp = flow.ssthresh.get() as i64;
            flow.because(self.exit(flow, exits::BANDWIDTH, base, bandwidth, bdp), before);
        } else if let Some(rate) = told {
            let why = causes::SlowStartCap {
                bandwidth: rate.as_bps() as i64,
                base_rtt: base.as_nanos() as i64,
                bdp: flow.ssthresh.get() as i64,
            };
            flow.because(why, before);
        }
    }

    /// What the train of ACKs says, once a round: the threshold, to which a larger window comes down.
    pub fn cap(&mut self, flow: &mut Flow, ack: &Ack, base: Duration) -> Option<Rate> {
        if ack.round.is_some() {
            self.train.begin();
        }
        let rate = self.train.ack(flow.now, ack.cumulative)?;
        self.rate = rate;
        // Line 13 of Algorithm 5.3 sets ssthresh to a rate; the text makes it a window by the base RTT.
        flow.ssthresh = (rate * base).max(flow.floor);
        flow.cwnd = flow.cwnd.min(flow.ssthresh);
        Some(rate)
    }

    /// A round ended in slow start. True if its gradient ended slow start too: the window stays as it is, without β.
    /// `threshold` and `g` are in ms.
    pub fn round(
        &mut self,
        flow: &mut Flow,
        min: Duration,
        base: Duration,
        (threshold, g): (f64, f64),
        rng: &mut Rng,
    ) -> bool {
        let Some(previous) = self.previous.replace(min) else { return false };
        self.gradient = min.diff_millis(previous);
        if core::mem::take(&mut self.first) {
            self.previous = None;
            return false;
        }
        if !self.searching || self.gradient <= 0.0 || self.gradient < threshold {
            return false;
        }
        // Neither smoothed nor accumulated: "probabilistic_backoff(g_min,n)".
        let (probability, drew) = (exact(self.gradient, g), rng.uniform());
        self.toss = Toss { probability, drew, hit: drew < probability };
        if self.toss.hit {
            self.searching = false;
            flow.leave_slow_start(self.exit(flow, exits::GRADIENT, base, 0, 0));
        }
        self.toss.hit
    }

    fn exit(&self, flow: &Flow, reason: i64, base: Duration, bandwidth: i64, bdp: i64) -> causes::SlowStartExit {
        causes::SlowStartExit {
            reason,
            rtt: flow.rtt.as_nanos() as i64,
            base_rtt: base.as_nanos() as i64,
            gradient: crate::nanos(self.gradient),
            probability: ppb(self.toss.probability),
            drew: ppb(self.toss.drew),
            bandwidth,
            bdp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, closing, flow, ms, packets};
    use crate::{CauseKind, EventRecord};
    use std::vec::Vec;
    use units::{Bytes, streams};

    fn events(flow: &mut Flow) -> Vec<EventRecord> {
        flow.drain_events().collect()
    }

    #[test]
    fn the_ninth_ack_of_a_round_caps_the_window() {
        // 8 packets of 1000 bytes in 8 ms are 8 Mbit/s; over 40 ms 40 packets.
        let mut f = flow(30, 40);
        let mut s = SlowStart::new(true, 8);
        for _ in 0..8 {
            s.ack(&mut f, &ack(1, 40), ms(40), false);
            f.now += ms(1);
        }
        assert_eq!((f.cwnd, f.ssthresh), (packets(38), Bytes::MAX));
        s.ack(&mut f, &ack(1, 40), ms(40), false);
        assert_eq!((f.cwnd, f.ssthresh, s.searching), (packets(39), packets(40), true));
        s.ack(&mut f, &ack(1, 40), ms(40), false);
        assert_eq!((f.cwnd, s.searching), (packets(40), false));
        let seen = events(&mut f);
        let kinds: Vec<_> = seen.iter().filter_map(EventRecord::cause).collect();
        assert_eq!(kinds, [CauseKind::SlowStartCap, CauseKind::SlowStartExit]);
        assert_eq!((seen[0].values[0], seen[1].values[0]), (8_000_000, exits::BANDWIDTH));
    }

    #[test]
    fn a_window_beyond_the_estimate_comes_down_to_it() {
        let mut f = flow(100, 40);
        let mut s = SlowStart::new(true, 8);
        for _ in 0..9 {
            s.ack(&mut f, &ack(1, 40), ms(40), false);
            f.now += ms(1);
        }
        assert_eq!((f.cwnd, f.ssthresh, s.searching), (packets(40), packets(40), false));
    }

    #[test]
    fn a_gradient_below_the_threshold_tosses_no_coin() {
        let mut rng = Rng::new(1, 0, streams::CC);
        for (threshold, ends) in [(0.0, true), (900.0, true), (900.1, false)] {
            let mut f = flow(10, 40);
            let mut s = SlowStart::new(true, 8);
            s.first = false;
            assert!(!s.round(&mut f, ms(40), ms(40), (threshold, 3.0), &mut rng));
            assert_eq!(s.round(&mut f, ms(940), ms(40), (threshold, 3.0), &mut rng), ends, "{threshold}");
            assert_eq!(s.searching, !ends);
        }
    }

    #[test]
    fn the_first_gradient_is_ignored_and_a_later_one_ends_slow_start_where_it_is() {
        let mut f = flow(10, 40);
        let mut rng = Rng::new(1, 0, streams::CC);
        let mut s = SlowStart::new(true, 8);
        assert!(!s.round(&mut f, ms(40), ms(40), (0.0, 3.0), &mut rng));
        assert!(!s.round(&mut f, ms(940), ms(40), (0.0, 3.0), &mut rng), "900 ms up, but the first");
        assert!(!s.round(&mut f, ms(1840), ms(40), (0.0, 3.0), &mut rng), "nothing to compare with");
        assert!(s.round(&mut f, ms(2740), ms(40), (0.0, 3.0), &mut rng));
        assert_eq!((f.ssthresh, f.cwnd), (packets(10), packets(10)));
        let seen = events(&mut f);
        assert_eq!(seen[0].values[0], exits::GRADIENT);
    }

    #[test]
    fn the_bandwidth_is_a_trains_once_known_in_this_slow_start_and_the_rounds_until_then() {
        let round = Rate::from_mbps(1.5);
        for (by, of_the_train) in [(StartBandwidth::Train, Rate::from_mbps(8.0)), (StartBandwidth::Round, round)] {
            let mut f = flow(30, 40);
            let mut s = SlowStart::new(true, 8);
            for acks in 0..9 {
                assert_eq!(s.bandwidth(by, round), round, "{by:?} after {acks} ACKs");
                s.ack(&mut f, &ack(1, 40), ms(40), false);
                f.now += ms(1);
            }
            assert_eq!(s.bandwidth(by, round), of_the_train, "{by:?}");
            s.ack(&mut f, &closing(1, 40), ms(40), false);
            assert_eq!(s.bandwidth(by, round), of_the_train, "{by:?}: the next train is not complete");
            s.again();
            assert_eq!(s.bandwidth(by, round), round, "{by:?}: another slow start knows nothing yet");
        }
    }

    #[test]
    fn an_ack_that_ends_a_round_is_the_first_of_the_next_train() {
        let mut f = flow(10, 40);
        let mut s = SlowStart::new(true, 8);
        for _ in 0..5 {
            s.ack(&mut f, &ack(1, 40), ms(40), false);
            f.now += ms(1);
        }
        for i in 0..8 {
            s.ack(&mut f, &if i == 0 { closing(1, 40) } else { ack(1, 40) }, ms(40), false);
            f.now += ms(1);
        }
        assert_eq!(f.ssthresh, Bytes::MAX);
        s.ack(&mut f, &ack(1, 40), ms(40), false);
        assert_eq!(f.ssthresh, packets(40));
    }
}
