//! FreeBSD's CDG, each of its quirks a switch, and with the switches turned the paper's.

mod growth;
mod losses;

use super::probability::Toss;
use super::queue_state::QueueState;
use super::quirks::Rules;
use super::trend::Trend;
use super::{Params, Reference, Skip, queue, restart, switch_mode};
use crate::{
    Ack, Cause, Congestion, CongestionControl, Event, Flow, How, Phase, Reaction, Round, Setup, Signal, causes, exits,
    modes, ppb,
};
use units::{Bytes, Rng};

/// State named as in the paper and `cc_cdg.c`.
#[derive(Debug)]
pub struct FreeBsd {
    rules: Rules,
    rng: Rng,
    /// Smallest and largest RTT of the round before, in ns; `None` if there is nothing to take a gradient from.
    previous: Option<(u64, u64)>,
    min: Trend,
    max: Trend,
    queue: QueueState,
    /// What a loss-based flow would have; 0 is "forgotten".
    shadow: Bytes,
    /// Delay indications since delay last fell.
    consecutive: u32,
    /// The round under way follows a back-off.
    blind: bool,
    /// Data out at the last delay back-off and not yet acknowledged: FreeBSD's "congestion recovery".
    outstanding: Bytes,
    /// Rounds since the last step of `alpha_inc`, and packets added per round.
    rounds: u32,
    step: u32,
    toss: Toss,
    /// A loss under repair cut nothing.
    kept: bool,
    /// No gradient was taken yet.
    first: bool,
}

impl FreeBsd {
    pub(super) fn new(p: &Params, setup: Setup<'_>) -> Self {
        let kernel = p.reference == Reference::FreeBsd;
        setup.flow.slow_start_at_ssthresh = p.slow_start_at_ssthresh.or(kernel);
        setup.flow.floor = if p.keep_two.or(!kernel) { setup.flow.mss * 2 } else { Bytes::new(1) };
        FreeBsd {
            rules: Rules::new(p, setup.own_start),
            rng: setup.rng,
            previous: None,
            min: Trend::new(p.window),
            max: Trend::new(p.window),
            queue: QueueState::Unknown,
            // In case loss-based flows are there from the start.
            shadow: if p.use_shadow { setup.flow.cwnd } else { Bytes::ZERO },
            consecutive: 0,
            blind: false,
            outstanding: Bytes::ZERO,
            rounds: 0,
            step: 0,
            toss: Toss::default(),
            kept: false,
            first: true,
        }
    }

    /// Takes the gradients of a round and tosses, at most once. True if it indicated congestion, acted upon or not.
    fn end_of_round(&mut self, flow: &mut Flow, round: &Round) -> bool {
        let (min, max) = if self.rules.stale_rtt {
            (round.min_rtt_reused, round.max_rtt_reused)
        } else {
            (round.min_rtt, round.max_rtt)
        };
        let blind = core::mem::take(&mut self.blind);
        if blind && self.rules.skip == Skip::Round {
            return false;
        }
        let now = (min.as_nanos(), max.as_nanos());
        let before = self.previous.filter(|_| !(blind && self.rules.skip == Skip::Gradient));
        // A round without samples leaves nothing to compare with, as FreeBSD's zero does.
        self.previous = (now.1 > 0).then_some(now);
        let (Some(before), true) = (before, now.1 > 0) else { return false };

        if core::mem::take(&mut self.first) && self.rules.slow_start_min && flow.in_slow_start() {
            // Of the initial window's burst (5.4.1), ignored with its RTT as a round after a back-off is.
            self.previous = None;
            return false;
        }
        self.min.push(self.rules.dice.gradient(now.0 as i64 - before.0 as i64)); // Eq 2.24, 2.26
        self.max.push(self.rules.dice.gradient(now.1 as i64 - before.1 as i64)); // Eq 2.25, 2.26
        let hit = !(blind && self.rules.skip == Skip::Toss) && self.toss(flow);

        self.queue = self.queue.next(self.min.average as f64, self.max.average as f64);
        // Empty by this round's signs, not by an older round's.
        if self.queue == QueueState::Empty && self.min.average >= 0 && self.max.average < 0 {
            self.shadow = Bytes::ZERO;
        }
        let mode = self.mode();
        if self.min.average < 0 || self.max.average < 0 {
            self.consecutive = 0;
        }
        if hit {
            self.congested(flow);
        }
        switch_mode(flow, mode, self.mode());
        hit
    }

    /// What the thesis calls loss mode (4.3.3.1): the next delay indication will be ignored.
    fn mode(&self) -> i64 {
        let ignores = self.rules.use_ineffectual && self.consecutive >= self.rules.consec_cong;
        if ignores { modes::LOSS } else { modes::DELAY }
    }

    /// One toss per round, for the first gradient that rises. In slow start gradients as they are come first.
    fn toss(&mut self, flow: &Flow) -> bool {
        let slow_start = flow.in_slow_start();
        if slow_start && !self.rules.own_start {
            return false;
        }
        let only_min = slow_start && self.rules.slow_start_min;
        let raw = only_min || (slow_start && self.rules.raw_slow_start);
        let candidates = [
            (raw, self.min.last),
            (!only_min, self.min.average),
            (raw && !only_min, self.max.last),
            (!only_min, self.max.average),
        ];
        let Some((_, gradient)) = candidates.into_iter().find(|(look, g)| *look && *g > 0) else {
            self.toss = Toss::default();
            return false;
        };
        self.toss = self.rules.dice.toss(gradient, self.rules.g, &mut self.rng);
        self.toss.hit
    }

    /// A delay indication: back off, unless backing off has proved ineffectual.
    fn congested(&mut self, flow: &mut Flow) {
        self.consecutive += 1;
        // While a reaction is under way (to a loss, or FreeBSD's congestion recovery) indications only count.
        if flow.phase == Phase::Recovery || !self.outstanding.is_zero() {
            return;
        }
        let window = flow.cwnd;
        if !self.rules.use_ineffectual || self.consecutive <= self.rules.consec_cong {
            self.back_off(flow);
        } else {
            flow.note(causes::DelayIgnored {
                probability: ppb(self.toss.probability),
                drew: ppb(self.toss.drew),
                consecutive: self.consecutive as i64,
                queue: queue(flow),
            });
            if self.consecutive >= self.rules.consec_cong + self.rules.hold_backoff {
                self.consecutive = 0;
            }
        }
        self.blind = true;
        if self.rules.use_shadow {
            self.shadow = self.shadow.max(if self.rules.shadow_after_cut { flow.cwnd } else { window });
        }
    }

    fn back_off(&mut self, flow: &mut Flow) {
        let keeps = self.rules.slow_start_min && flow.in_slow_start();
        let factor = if keeps { 1.0 } else { self.rules.beta_delay };
        let to = flow.cwnd.min(flow.receive_window).mul_f64(factor);
        self.outstanding = flow.in_flight;
        self.rounds = 0;
        self.step = 0;
        flow.reduce(to, How::AtOnce, self.cause(flow));
    }

    /// Leaving the first slow start is its own event, so that back-offs in congestion avoidance can be counted.
    fn cause(&self, flow: &Flow) -> Cause {
        let nanos = |g: i64| (self.rules.dice.millis(g) * 1e6) as i64;
        if flow.in_slow_start() && flow.ssthresh == Bytes::MAX {
            let gradient = if self.min.last > 0 { self.min.last } else { self.max.last };
            return causes::SlowStartExit {
                reason: exits::GRADIENT,
                rtt: flow.rtt.as_nanos() as i64,
                base_rtt: flow.min_rtt.as_nanos() as i64,
                gradient: nanos(gradient),
                probability: ppb(self.toss.probability),
                drew: ppb(self.toss.drew),
                ..Default::default()
            }
            .into();
        }
        causes::DelayBackoff {
            g_min: nanos(self.min.last),
            g_max: nanos(self.max.last),
            average_min: nanos(self.min.average),
            average_max: nanos(self.max.average),
            probability: ppb(self.toss.probability),
            drew: ppb(self.toss.drew),
            queue: queue(flow),
            bdp: 0,
        }
        .into()
    }
}

impl CongestionControl for FreeBsd {
    #[inline]
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.outstanding = self.outstanding.saturating_sub(ack.cumulative);
        if let Some(round) = &ack.round
            && self.end_of_round(flow, round)
        {
            if self.rules.shadow_always_grows {
                self.grow_shadow(flow.mss);
            }
            return;
        }
        let limited = flow.cwnd_limited || (self.rules.grow_when_limited && flow.cwnd < flow.receive_window);
        match flow.phase {
            _ if ack.cumulative.is_zero() => {}
            Phase::Recovery => self.grow_in_recovery(flow, ack),
            _ if limited => self.grow(flow, ack),
            _ => {}
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        match c.signal {
            Signal::Loss => self.on_loss(flow, c),
            // FreeBSD hands the other two to NewReno.
            Signal::Ecn if !self.outstanding.is_zero() => Reaction::Own,
            Signal::Ecn => {
                self.outstanding = flow.in_flight;
                Reaction::Reduce(flow.newreno_mark())
            }
            Signal::Timeout => {
                self.kept = false;
                self.outstanding = Bytes::ZERO;
                Reaction::Reduce(flow.cwnd / 2)
            }
        }
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::RecoveryEnd {
            if !flow.freebsd {
                self.outstanding = Bytes::ZERO;
            }
            if core::mem::take(&mut self.kept) && self.rules.restarts {
                restart(flow);
            }
        }
    }

    fn weighed(&self, _: &Flow) -> [Bytes; 2] {
        [self.shadow, Bytes::ZERO]
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let ms = |g| self.rules.dice.millis(g);
        see("g_min", ms(self.min.last));
        see("g_max", ms(self.max.last));
        see("average_min", ms(self.min.average));
        see("average_max", ms(self.max.average));
        see("probability", self.toss.probability);
        see("drew", self.toss.drew);
        see("consecutive", self.consecutive as f64);
        see("shadow", self.shadow.as_f64());
        see("queue_state", self.queue as u8 as f64);
        see("g", self.rules.g);
    }
}

#[cfg(test)]
mod tests;
