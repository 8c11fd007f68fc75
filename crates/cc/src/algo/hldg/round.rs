//! What happens once per round.

use super::decision::{network_bps, start_threshold};
use super::gradient::Outcome;
use super::mode::Mode;
use super::{Acked, BandwidthBy, DelayForG, Hldg};
use crate::algo::cdg::queue_state::QueueState;
use crate::{Flow, Phase, Round};
use units::{Bytes, Duration};

impl Hldg {
    /// Everything that happens once per round. True if the round indicated congestion: then the window does not grow.
    pub(super) fn end_of_round(&mut self, flow: &mut Flow, round: &Round) -> bool {
        let cumulative = core::mem::take(&mut self.acked);
        let acked = match self.p.acked {
            Acked::Cumulative => cumulative,
            Acked::Delivered => round.delivered,
        };
        self.bandwidth = match self.p.bandwidth {
            BandwidthBy::AckRate => acked / round.end.since(round.start),
            BandwidthBy::Vegas => flow.cwnd / flow.srtt,
        };
        if round.samples == 0 {
            return false;
        }
        let (min_rtt, max_rtt) = if self.p.stale_rtt {
            (round.min_rtt_reused, round.max_rtt_reused)
        } else {
            (round.min_rtt, round.max_rtt)
        };
        if !self.probes_by_clock(flow) {
            self.judge_queue(flow, round.start, min_rtt);
        }
        if self.base.round(round.start) {
            self.end_base_probe(flow);
        }
        if self.regrowing && flow.cwnd >= flow.ssthresh {
            // The regrowth must not look like a queue: gradients begin again with the next round.
            self.regrowing = false;
            self.gradients.interrupt();
            return false;
        }
        if self.modes.mode == Mode::Loss || self.base.probing() || self.regrowing {
            return false;
        }
        let repair = flow.phase == Phase::Recovery;
        let slow_start = !repair && flow.cwnd < flow.ssthresh;
        let outcome = self.measure(repair, slow_start, min_rtt, max_rtt);
        if slow_start {
            let bandwidth = self.start.bandwidth(self.p.start_bandwidth, self.bandwidth);
            let threshold = start_threshold(&self.p, network_bps(&self.p, bandwidth, flow.mss));
            let ended = self.start.round(flow, min_rtt, self.base.rtt, (threshold, self.p.g), &mut self.rng);
            if ended {
                self.gradients.skip();
            }
            return ended;
        }
        if repair || outcome == Outcome::Nothing {
            return false;
        }
        let queue = match self.p.g_delay {
            DelayForG::Latest => self.queueing(flow),
            DelayForG::RoundMin => self.queue_min,
        };
        let hit = self.decision.round(&self.p, &self.gradients, self.bandwidth, flow.mss, queue, &mut self.rng);
        if hit {
            self.congested(flow);
        }
        hit
    }

    /// Takes the gradients of a round, and what follows from them but a back-off.
    fn measure(&mut self, repair: bool, slow_start: bool, min_rtt: Duration, max_rtt: Duration) -> Outcome {
        if (repair || slow_start) && !self.p.every_round {
            if slow_start {
                self.gradients.interrupt();
            }
            return Outcome::Nothing;
        }
        if slow_start && self.start.first && self.gradients.comparable() {
            // The initial window's, which slow start ignores, too (5.4.1).
            self.gradients.interrupt();
            return Outcome::Nothing;
        }
        let outcome = self.gradients.round(min_rtt, max_rtt);
        if outcome == Outcome::Nothing {
            return outcome;
        }
        // ZSGW leaves no negative average behind for CDG's test; without this the sixth back-off would always be
        // taken for ineffectual.
        let effectual = outcome == Outcome::Effectual && self.p.zsgw_effectual;
        let (min, max) = (self.gradients.min.average, self.gradients.max.average);
        if effectual || min < 0.0 || max < 0.0 {
            self.consecutive = 0;
        }
        self.queue = self.queue.next(min, max);
        // Empty by this round's signs, not by an older round's.
        if self.p.forget_shadow && self.queue == QueueState::Empty && min >= 0.0 && max < 0.0 {
            self.shadow = Bytes::ZERO;
        }
        outcome
    }

    /// Delay measurements start anew.
    pub(super) fn forget_delay(&mut self) {
        self.gradients.clear();
        self.decision.reset();
        self.consecutive = 0;
        self.queue = QueueState::Unknown;
    }
}
