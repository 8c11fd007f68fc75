//! HyStart++: when the round's RTT has risen, slow down to a quarter of the growth and look again; go on slowly for
//! five rounds, or return to full speed if the RTT falls back.
//!
//! ```text
//! slow start:    round min >= last round's min + clamp(last / 8, 4, 16 ms) → conservative, baseline = round min
//! conservative:  round min < baseline → slow start;  5 rounds → ssthresh = cwnd
//! growth:        min(acked, 8 MSS), a quarter of it when conservative; without the limit of 8 MSS when paced
//! ```
//! Source: RFC 9406. Only for the first slow start of a flow, as the RFC advises; that goes on where congestion is found to
//! have been none.

use super::hystart::rise;
use crate::{Ack, Event, Flow, Growth, SlowStart, causes, exits, start::Start};
use units::{Bytes, Duration, Rng};

params::params! {
    /// Constants of RFC 9406, section 4.3.
    pub struct Params {
        /// Least rise of the RTT that counts.
        min_rise: Duration = Duration::from_millis(4), Duration::ZERO => Duration::from_secs(1);
        /// Greatest rise of the RTT that is waited for.
        max_rise: Duration = Duration::from_millis(16), Duration::ZERO => Duration::from_secs(10);
        /// RTT samples to wait for in a round.
        samples: u32 = 8, 1 => 1000;
        /// By how much conservative growth is slower.
        divisor: u32 = 4, 2 => 100;
        /// Rounds of conservative growth.
        rounds: u32 = 5, 1 => 100;
        /// Most growth per ACK, in packets, when the sender does not pace.
        per_ack: u32 = 8, 1 => 1000;
    }
    check |p| {
        if p.min_rise <= p.max_rise {
            Ok(())
        } else {
            Err(params::ParamError::Conflict("hystart_pp: min_rise must not exceed max_rise".into()))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    SlowStart,
    /// With the RTT at entry, and the rounds begun so far.
    Conservative {
        baseline: Duration,
        rounds: u32,
    },
    Over,
}

/// State: where it stands, where it stood when congestion ended it, and the smallest RTT of this round and the one before.
#[derive(Debug)]
pub struct HyStartPp {
    p: Params,
    stage: Stage,
    ended_in: Stage,
    last_min: Duration,
    round_min: Duration,
    samples: u32,
}

impl Start for HyStartPp {
    const NAME: &'static str = "hystart_pp";
    const PAPER: &'static str = "RFC 9406";
    type Params = Params;

    fn new(p: &Params, _: &mut Flow, _: Rng) -> Self {
        HyStartPp {
            p: p.clone(),
            stage: Stage::SlowStart,
            ended_in: Stage::Over,
            last_min: Duration::MAX,
            round_min: Duration::MAX,
            samples: 0,
        }
    }
}

impl HyStartPp {
    fn begin_round(&mut self, flow: &mut Flow) {
        self.last_min = self.round_min;
        (self.round_min, self.samples) = (Duration::MAX, 0);
        if let Stage::Conservative { rounds, .. } = &mut self.stage {
            *rounds += 1;
            if *rounds > self.p.rounds {
                self.stage = Stage::Over;
                flow.leave_slow_start(causes::SlowStartExit {
                    reason: exits::CONSERVATIVE,
                    rtt: flow.rtt.as_nanos() as i64,
                    base_rtt: flow.min_rtt.as_nanos() as i64,
                    ..Default::default()
                });
            }
        }
    }

    fn next_stage(&self) -> Stage {
        if self.samples < self.p.samples {
            return self.stage;
        }
        match self.stage {
            Stage::SlowStart if self.last_min < Duration::MAX => {
                let limit = self.last_min + rise(self.last_min, self.p.min_rise, self.p.max_rise);
                // The round in which it begins counts as the first.
                let conservative = Stage::Conservative { baseline: self.round_min, rounds: 1 };
                if self.round_min >= limit { conservative } else { Stage::SlowStart }
            }
            Stage::Conservative { baseline, .. } if self.round_min < baseline => Stage::SlowStart,
            other => other,
        }
    }

    fn growth(&self, flow: &Flow) -> Growth {
        let divisor = if matches!(self.stage, Stage::Conservative { .. }) { self.p.divisor } else { 1 };
        let most = if flow.pacing.is_some() { Bytes::MAX } else { flow.mss * self.p.per_ack as u64 };
        match self.stage {
            Stage::Over => Growth::STANDARD,
            _ => Growth { divisor, per_ack: most / divisor as u64 },
        }
    }
}

impl SlowStart for HyStartPp {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if ack.round.is_some() {
            self.begin_round(flow);
        }
        if let Some(rtt) = ack.rtt {
            self.round_min = self.round_min.min(rtt);
            self.samples += 1;
            let before = self.growth(flow).divisor;
            self.stage = self.next_stage();
            let divisor = self.growth(flow).divisor;
            if divisor != before {
                let (rtt, base_rtt) = (rtt.as_nanos() as i64, flow.min_rtt.as_nanos() as i64);
                flow.note(causes::SlowStartPace { divisor: divisor as i64, rtt, base_rtt });
            }
        }
        flow.growth = self.growth(flow);
    }

    fn on_reset(&mut self, _: &mut Flow) {
        if self.stage != Stage::Over {
            self.ended_in = core::mem::replace(&mut self.stage, Stage::Over);
        }
    }

    fn on_undo(&mut self, flow: &mut Flow) {
        if flow.ssthresh == Bytes::MAX {
            self.stage = self.ended_in;
        }
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        // Silence before any threshold was learnt: it is still the initial slow start (RFC 9406, section 4.3).
        if event == Event::Restart && flow.ssthresh == Bytes::MAX {
            (self.stage, self.last_min) = (Stage::SlowStart, Duration::MAX);
            (self.round_min, self.samples) = (Duration::MAX, 0);
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let rounds = if let Stage::Conservative { rounds, .. } = self.stage { rounds } else { 0 };
        see("conservative_rounds", rounds as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, closing, flow};
    use units::Rate;

    /// One round of eight ACKs at the given RTT; the first closes the round before.
    fn round(h: &mut HyStartPp, f: &mut Flow, rtt: u64) {
        h.on_ack(f, &closing(1, rtt));
        for _ in 1..8 {
            h.on_ack(f, &ack(1, rtt));
        }
    }

    #[test]
    fn thresholds_of_the_rfc() {
        for (last, limit) in [(40, 45), (20, 24), (200, 216)] {
            for (rtt, divisor) in [(limit - 1, 1), (limit, 4)] {
                let mut f = flow(20, last);
                let mut h = HyStartPp::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
                round(&mut h, &mut f, last);
                round(&mut h, &mut f, rtt);
                assert_eq!(f.growth.divisor, divisor, "{last} then {rtt} ms");
            }
        }
    }

    #[test]
    fn conservative_growth_adds_a_quarter_for_five_rounds_and_then_ends() {
        let mut f = flow(20, 40);
        let mut h = HyStartPp::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        round(&mut h, &mut f, 40);
        round(&mut h, &mut f, 50);
        assert_eq!(f.slow_start(f.mss * 4), Bytes::ZERO);
        assert_eq!(f.cwnd, f.mss * 21, "four acknowledged, one grown");
        for n in 2..=5 {
            round(&mut h, &mut f, 50);
            assert!(f.in_slow_start(), "round {n}");
        }
        round(&mut h, &mut f, 50);
        assert!(!f.in_slow_start());
    }

    #[test]
    fn silence_before_a_threshold_is_learnt_is_still_the_initial_slow_start() {
        for (learnt, divisor) in [(false, 4), (true, 1)] {
            let mut f = flow(20, 40);
            let mut h = HyStartPp::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
            if learnt {
                f.ssthresh = f.mss * 1000;
            }
            h.on_reset(&mut f);
            h.on_event(&mut f, Event::Restart);
            round(&mut h, &mut f, 40);
            round(&mut h, &mut f, 50);
            assert_eq!(f.growth.divisor, divisor, "learnt: {learnt}");
        }
    }

    #[test]
    fn congestion_that_was_none_ends_nothing() {
        // Full speed or conservative growth, whichever it was; not once congestion has left a threshold.
        for (rtt, learnt, divisor, speed) in [(40, false, 1, 8), (50, false, 4, 2), (50, true, 1, u64::MAX / 1000)] {
            let mut f = flow(20, 40);
            let mut h = HyStartPp::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
            round(&mut h, &mut f, 40);
            round(&mut h, &mut f, rtt);
            // A loss, and a timeout before it was repaired.
            h.on_reset(&mut f);
            h.on_reset(&mut f);
            if learnt {
                f.ssthresh = f.mss * 1000;
            }
            h.on_undo(&mut f);
            h.on_ack(&mut f, &ack(1, rtt));
            let growth = (f.growth.divisor, f.growth.per_ack.get() / 1000);
            assert_eq!(growth, (divisor, speed), "{rtt} ms, learnt: {learnt}");
        }
    }

    #[test]
    fn an_rtt_that_falls_back_resumes_full_speed() {
        let mut f = flow(20, 40);
        let mut h = HyStartPp::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        round(&mut h, &mut f, 40);
        round(&mut h, &mut f, 50);
        round(&mut h, &mut f, 49);
        assert_eq!(f.growth, Growth { divisor: 1, per_ack: f.mss * 8 });
        f.pacing = Some(Rate::from_mbps(1.0));
        h.on_ack(&mut f, &ack(1, 49));
        assert_eq!(f.growth, Growth::STANDARD, "a paced sender needs no limit per ACK");
    }
}
