//! HyStart: leave slow start when ACKs come in a train as long as the path, or when the round's RTT has risen.
//!
//! ```text
//! base:       smallest RTT of data since the last timeout
//! ACK train:  gaps <= 2 ms and now - round start > base / 2            → ssthresh = cwnd
//! delay:      9th sample on, round min > base + clamp(base / 8, 4, 16 ms) → ssthresh = cwnd
//! ```
//! Source: Ha and Rhee, "Taming the elephants" (2011), as Linux 6.1 runs it in CUBIC. Departures from the paper are
//! Linux's: the delay test compares with the base RTT, not with the round before; a paced sender makes no bursts, so its
//! train must last the whole base RTT and an allowance for offload. That CUBIC takes no RTT in the first second of an epoch
//! of its curve is left out, since other algorithms have no epochs.

use crate::host::DataRtt;
use crate::{Ack, Congestion, Event, Flow, Reaction, Signal, SlowStart, causes, exits, start::Start};
use units::{Bytes, Duration, Instant, Rng};

params::params! {
    /// Constants of Linux 6.1.
    pub struct Params {
        /// Stay in slow start below this window, in packets.
        low_window: u32 = 16, 2 => 10000;
        /// Look for ACK trains.
        train: bool = true;
        /// Look for a rise of the RTT.
        delay: bool = true;
        /// ACKs closer than this belong to one train.
        gap: Duration = Duration::from_millis(2), Duration::from_micros(1) => Duration::from_secs(1);
        /// RTT samples to wait for in a round.
        samples: u32 = 8, 1 => 1000;
        /// Least rise of the RTT that counts.
        min_rise: Duration = Duration::from_millis(4), Duration::ZERO => Duration::from_secs(1);
        /// Greatest rise of the RTT that is waited for.
        max_rise: Duration = Duration::from_millis(16), Duration::ZERO => Duration::from_secs(10);
    }
    check |p| {
        if p.min_rise <= p.max_rise {
            Ok(())
        } else {
            Err(params::ParamError::Conflict("hystart: min_rise must not exceed max_rise".into()))
        }
    }
}

/// State: the base RTT (`delay_min`), the current round and whether an exit was found.
#[derive(Debug)]
pub struct HyStart {
    p: Params,
    rtts: DataRtt,
    round_start: Instant,
    last_ack: Instant,
    round_min: Duration,
    samples: u32,
    found: bool,
}

/// The rise of the RTT that ends slow start (also HyStart++'s).
pub(super) fn rise(base: Duration, least: Duration, most: Duration) -> Duration {
    (base / 8).clamp(least, most)
}

/// How long a train of ACKs may last: the base RTT and what offload may hold back (`hystart_ack_delay`), half of both
/// where the sender does not pace. Linux reckons a pacing rate then, too.
fn train_limit(flow: &Flow, base: Duration) -> Duration {
    let rate = flow.pacing.or_else(|| flow.window_rate());
    let allowance = rate.map_or(Duration::ZERO, |rate| (Bytes::new(4 * 65_536) / rate).min(Duration::from_millis(1)));
    let whole = base + allowance;
    if flow.pacing.is_some() { whole } else { whole / 2 }
}

impl Start for HyStart {
    const NAME: &'static str = "hystart";
    const PAPER: &'static str = "Ha and Rhee, Taming the elephants, Computer Networks 55 (2011); Linux 6.1";
    type Params = Params;

    fn new(p: &Params, flow: &mut Flow, _: Rng) -> Self {
        let mut h = HyStart {
            p: p.clone(),
            rtts: DataRtt::default(),
            round_start: flow.now,
            last_ack: flow.now,
            round_min: Duration::MAX,
            samples: 0,
            found: false,
        };
        h.begin_round(flow.now);
        h
    }
}

impl HyStart {
    fn begin_round(&mut self, now: Instant) {
        (self.round_start, self.last_ack) = (now, now);
        (self.round_min, self.samples) = (Duration::MAX, 0);
    }

    fn train_found(&mut self, flow: &Flow) -> bool {
        if flow.now.since(self.last_ack) > self.p.gap {
            return false;
        }
        self.last_ack = flow.now;
        flow.now.since(self.round_start) > train_limit(flow, self.rtts.base())
    }

    fn rise_found(&mut self, rtt: Duration) -> bool {
        self.round_min = self.round_min.min(rtt);
        if self.samples < self.p.samples {
            self.samples += 1;
            return false;
        }
        let base = self.rtts.base();
        self.round_min > base + rise(base, self.p.min_rise, self.p.max_rise)
    }

    /// Linux enters Loss (`bictcp_reset`).
    fn forget(&mut self) {
        (self.rtts, self.found) = (DataRtt::default(), false);
    }
}

impl SlowStart for HyStart {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rtts.see(ack);
        if !super::is_below(flow) {
            return;
        }
        if ack.round.is_some() {
            self.begin_round(flow.now);
        }
        let Some(rtt) = ack.rtt else { return };
        if self.found || flow.cwnd < flow.mss * self.p.low_window as u64 {
            return;
        }
        let train = self.p.train && self.train_found(flow);
        let delay = self.p.delay && self.rise_found(rtt);
        if train || delay {
            self.found = true;
            flow.leave_slow_start(causes::SlowStartExit {
                reason: if train { exits::ACK_TRAIN } else { exits::DELAY },
                rtt: rtt.as_nanos() as i64,
                base_rtt: self.rtts.base().as_nanos() as i64,
                ..Default::default()
            });
        }
    }

    // The base RTT is taken from all ACKs.
    fn watches(&self) -> bool {
        true
    }

    fn on_reset(&mut self, flow: &mut Flow) {
        self.begin_round(flow.now);
    }

    // Linux forgets the base RTT, and that it found an exit, where it enters Loss (`cubictcp_state`), and nowhere else: not
    // even where that proves spurious.
    fn answer(&mut self, _: &mut Flow, congestion: &Congestion, reaction: Reaction) -> Reaction {
        if congestion.signal == Signal::Timeout {
            self.forget();
        }
        reaction
    }

    fn on_event(&mut self, _: &mut Flow, event: Event) {
        if event == Event::Timeout {
            self.forget();
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("hystart_samples", self.samples as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, closing, congestion, flow, ms, value};
    use units::Rate;

    /// A window of 20 packets whose data has had this RTT, after a SYN that had half of it.
    fn measured(base: u64) -> (Flow, HyStart) {
        let mut f = flow(20, base / 2);
        let mut h = HyStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        h.on_ack(&mut f, &ack(1, base));
        (f, h)
    }

    /// Nine samples of one round, far enough apart to be no train: does slow start end, and at which sample?
    fn round(f: &mut Flow, h: &mut HyStart, rtt: u64) -> Option<usize> {
        f.ssthresh = Bytes::MAX;
        (1..=9).find(|n| {
            f.now += ms(10);
            h.on_ack(f, &if *n == 1 { closing(1, rtt) } else { ack(1, rtt) });
            !f.in_slow_start()
        })
    }

    fn exit_at(base: u64, rtt: u64) -> Option<usize> {
        let (mut f, mut h) = measured(base);
        round(&mut f, &mut h, rtt)
    }

    #[test]
    fn the_ninth_sample_above_the_limit_ends_slow_start() {
        assert_eq!(exit_at(40, 46), Some(9));
        assert_eq!(exit_at(40, 44), None);
        assert_eq!((exit_at(16, 20), exit_at(16, 21)), (None, Some(9)));
        assert_eq!((exit_at(200, 216), exit_at(200, 217)), (None, Some(9)));
    }

    #[test]
    fn a_train_longer_than_half_the_base_rtt_ends_slow_start_and_a_gap_breaks_it() {
        let exit_after = |gap: u64, pacing: Option<Rate>| {
            let mut f = flow(20, 40);
            f.pacing = pacing;
            let mut h = HyStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
            (1..=60).find(|_| {
                f.now += ms(gap);
                h.on_ack(&mut f, &ack(1, 40));
                !f.in_slow_start()
            })
        };
        assert_eq!(exit_after(2, None), Some(11), "22 ms > 20 ms");
        assert_eq!(exit_after(3, None), None);
        assert_eq!(exit_after(2, Some(Rate::from_mbps(10.0))), Some(21), "42 ms > 41 ms when paced");
    }

    #[test]
    fn the_allowance_for_offload_counts_unpaced_too_by_half() {
        let exit_after = |pacing: Option<Rate>| {
            let mut f = flow(20, 1);
            f.pacing = pacing;
            let mut h = HyStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
            (1..=60).find(|_| {
                f.now += Duration::from_micros(100);
                h.on_ack(&mut f, &ack(1, 1));
                !f.in_slow_start()
            })
        };
        // 1 ms and 1 ms, and half of that.
        assert_eq!((exit_after(None), exit_after(Some(Rate::from_mbps(320.0)))), (Some(11), Some(21)));
        // Four buffers of 64 KiB at 8 Gbit/s: 0.26 ms.
        assert_eq!(exit_after(Some(Rate::from_mbps(8000.0))), Some(13));
    }

    #[test]
    fn small_windows_stay_in_slow_start() {
        let (mut f, mut h) = measured(40);
        f.cwnd = f.mss * 15;
        for _ in 0..50 {
            f.now += ms(2);
            h.on_ack(&mut f, &ack(1, 90));
        }
        assert!(f.in_slow_start());
    }

    #[test]
    fn what_was_found_and_the_base_rtt_are_forgotten_by_a_timeout_only() {
        type What = fn(&mut HyStart, &mut Flow);
        // Linux clears them where it enters Loss, not when a loss is repaired or after silence (`cubictcp_state`).
        fn told(h: &mut HyStart, f: &mut Flow, signal: Signal) {
            let c = congestion(signal, f);
            h.on_reset(f);
            h.answer(f, &c, Reaction::Own);
        }
        let cases: [(bool, What); 6] = [
            (false, |h, f| told(h, f, Signal::Loss)),
            (false, |h, f| told(h, f, Signal::Ecn)),
            (false, |h, f| h.on_reset(f)),
            (false, |h, f| h.on_undo(f)),
            (true, |h, f| told(h, f, Signal::Timeout)),
            (true, |h, f| h.on_event(f, Event::Timeout)),
        ];
        for (n, (forgotten, what)) in cases.into_iter().enumerate() {
            let (mut f, mut h) = measured(40);
            assert_eq!(round(&mut f, &mut h, 60), Some(9));
            what(&mut h, &mut f);
            assert_eq!(core::mem::take(&mut h.found), !forgotten, "case {n}");
            assert_eq!(round(&mut f, &mut h, 60), (!forgotten).then_some(9), "case {n}: 40 or 60 ms are the base");
        }
    }

    #[test]
    fn the_base_rtt_is_of_all_data_and_of_no_syn() {
        // In congestion avoidance, and in slow start below the window from which exits are looked for.
        for (ssthresh, cwnd) in [(10, 20), (100, 10)] {
            let (mut f, mut h) = measured(60);
            (f.ssthresh, f.cwnd) = (f.mss * ssthresh, f.mss * cwnd);
            h.on_ack(&mut f, &ack(1, 40));
            assert!(h.watches());
            f.cwnd = f.mss * 20;
            assert_eq!(round(&mut f, &mut h, 60), Some(9));
            assert_eq!(f.drain_events().map(|e| value(&e, "base_rtt")).max(), Some(40_000_000));
        }
        // The SYN's RTT is half of that.
        assert_eq!(exit_at(60, 60), None);
    }
}
