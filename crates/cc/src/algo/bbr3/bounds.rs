//! What losses teach: the short-term bounds, for losses outside probes, and the long-term one, for probes that lost too
//! much.

use super::cycle::Phase;
use super::{Bbr3, MIN_WINDOW};
use crate::{Ack, Flow, Lost, causes, exits};
use units::{Bytes, Rate};

/// Bounds on bandwidth and on what is in flight; `None` is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    pub(super) bw: Option<Rate>,
    pub(super) shortterm: Option<Bytes>,
    pub(super) longterm: Option<Bytes>,
    /// Something was lost in this round.
    pub(super) lost: bool,
    pub(super) saved: (Option<Rate>, Option<Bytes>, Option<Bytes>),
    pub(super) is_saved: bool,
}

impl Bounds {
    pub(super) fn reset_short_term(&mut self) {
        (self.bw, self.shortterm) = (None, None);
    }

    /// A round with losses and without a probe: down towards what was delivered in it, but not below `beta`.
    pub(super) fn after_loss(&mut self, latest: (Rate, Bytes), first: (Rate, Bytes), beta: f64) {
        self.bw = Some(latest.0.max(self.bw.unwrap_or(first.0).mul_f64(beta)));
        self.shortterm = Some(latest.1.max(self.shortterm.unwrap_or(first.1).mul_f64(beta)));
    }

    pub(super) fn save(&mut self) {
        self.saved = (self.bw, self.shortterm, self.longterm);
    }

    /// The recovery was spurious: no bound is tighter than before it.
    pub(super) fn undo(&mut self) {
        fn looser<T: Ord>(now: Option<T>, before: Option<T>) -> Option<T> {
            Some(now?.max(before?))
        }
        self.lost = false;
        self.bw = looser(self.bw, self.saved.0);
        self.shortterm = looser(self.shortterm, self.saved.1);
        self.longterm = looser(self.longterm, self.saved.2);
    }

    /// The long-term bound with room left to others.
    pub(super) fn with_headroom(&self, headroom: f64, mss: Bytes) -> Option<Bytes> {
        let bound = self.longterm?;
        Some(bound.saturating_sub(bound.mul_f64(headroom).max(mss)).max(mss * MIN_WINDOW))
    }
}

/// How many packets of a segment went before the loss rate crossed the threshold: lost_prefix of the draft.
pub(super) fn prefix(inflight_before: f64, lost_before: f64, threshold: f64) -> f64 {
    (threshold * inflight_before - lost_before) / (1.0 - threshold)
}

impl Bbr3 {
    /// Once a round of losses: adapt the short-term bounds, unless a probe explains them.
    pub(super) fn update_bounds(&mut self, flow: &Flow, ack: &Ack) {
        if !self.loss_round_start {
            return;
        }
        if self.bounds.lost && !self.state.is_probing() {
            let (latest, before) = ((self.bw_latest, self.inflight_latest), self.bounds);
            self.bounds.after_loss(latest, (self.max_bandwidth(), flow.cwnd), self.p.beta);
            let lost = ack.rate.map_or(ack.newly_lost, |sample| sample.lost);
            self.tell_bound(flow, lost, before);
        }
        self.bounds.lost = false;
    }

    /// A bound tighter than `before` is this algorithm's back-off.
    #[cold]
    fn tell_bound(&mut self, flow: &Flow, lost: Bytes, before: Bounds) {
        fn tighter<T: Ord>(now: Option<T>, before: Option<T>) -> bool {
            now.is_some_and(|now| before.is_none_or(|before| now < before))
        }
        let long = tighter(self.bounds.longterm, before.longterm);
        if long || tighter(self.bounds.shortterm, before.shortterm) || tighter(self.bounds.bw, before.bw) {
            let bound = if long { self.bounds.longterm } else { self.bounds.shortterm };
            let [lost, in_flight, shadow, bdp] =
                [lost, flow.in_flight, bound.unwrap_or_default(), self.bdp(flow, 1.0)].map(|b| b.get() as i64);
            self.why = Some(causes::LossBackoff { lost, in_flight, shadow, bdp }.into());
        }
    }

    /// One lost segment.
    pub(super) fn note_loss(&mut self, flow: &mut Flow, lost: &Lost) {
        // Before the first loss of an episode tightens what the episode, if spurious, gives back.
        if !flow.phase.repairs() && !core::mem::replace(&mut self.bounds.is_saved, true) {
            self.bounds.save();
        }
        if !self.bounds.lost {
            self.loss_round_end = flow.delivered;
        }
        self.bounds.lost = true;
        let too_much = lost.lost.as_f64() > lost.tx_in_flight.as_f64() * self.p.loss_threshold;
        if self.state.sampling_probe && too_much {
            let (before, lost_before) =
                (lost.tx_in_flight.saturating_sub(lost.size), lost.lost.saturating_sub(lost.size));
            let part = prefix(before.as_f64(), lost_before.as_f64(), self.p.loss_threshold);
            let bounds = self.bounds;
            self.too_high(flow, Bytes::from_f64((before.as_f64() + part).max(0.0)), lost.app_limited);
            self.tell_bound(flow, lost.lost, bounds);
        }
    }

    /// A probe lost too much at this volume in flight.
    fn too_high(&mut self, flow: &mut Flow, at: Bytes, app_limited: bool) {
        self.state.sampling_probe = false;
        self.state.previous_too_high = true;
        if !app_limited {
            let least = self.target_inflight(flow).mul_f64(self.p.beta);
            self.bounds.longterm = Some(at.max(least).max(flow.mss * MIN_WINDOW));
        }
        if self.state.phase == Phase::Up {
            self.enter(flow, Phase::Down);
        }
    }

    /// The loss rate is safe: lift the long-term bound to what was seen to fit, and in UP beyond.
    pub(super) fn raise_long_term(&mut self, flow: &Flow, tx_in_flight: Bytes, acked: Bytes) {
        let Some(bound) = self.bounds.longterm.map(|bound| bound.max(tx_in_flight)) else { return };
        self.bounds.longterm = Some(bound);
        if self.state.phase == Phase::Up && flow.cwnd_limited && flow.cwnd >= bound {
            let grown = self.state.climb(flow, acked, self.round_start);
            self.bounds.longterm = Some(bound + grown);
        }
    }

    /// STARTUP ends by losses after a round of recovery with six of them and more than the threshold.
    pub(super) fn startup_lost_too_much(&self, flow: &Flow, lost: Bytes, tx_in_flight: Bytes) -> bool {
        const LOSSES: u32 = 6;
        self.state.phase == Phase::Startup
            && self.loss_round_start
            && flow.phase == crate::Phase::Recovery
            && self.rounds > self.recovery_round
            && self.losses_in_round >= LOSSES
            && lost.as_f64() > tx_in_flight.as_f64() * self.p.loss_threshold
    }

    pub(super) fn end_startup_by_loss(&mut self, flow: &mut Flow) {
        self.fill(flow, exits::LOSS);
        self.bounds.longterm = Some(self.bdp(flow, 1.0).max(self.inflight_latest));
    }
}
