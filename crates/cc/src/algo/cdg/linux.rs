//! Linux's CDG (`tcp_cdg.c`, 6.1, by K. K. Jonassen): sums of gradients in µs, a gentler back-off by proportional rate
//! reduction, a hybrid slow start, no loss tolerance unless asked for.

mod gradient;

use super::hybrid::Hybrid;
use super::probability::{Toss, exact};
use super::queue_state::QueueState;
use super::{Params, Reference, queue, switch_mode};
use crate::{Ack, Congestion, CongestionControl, Event, Flow, How, Phase, Reaction, Setup, Signal, causes, modes, ppb};
use alloc::vec;
use alloc::vec::Vec;
use units::{Bytes, Rng};

/// A smoothed gradient sum at or below this (µs, so 4 µs on average over 8) counts as falling delay.
const EFFECTUAL: i64 = -32;

/// Smallest and largest, in µs; zero is "none yet", as in the kernel.
#[derive(Clone, Copy, Debug, Default)]
struct MinMax {
    min: i64,
    max: i64,
}

/// State named as in `tcp_cdg.c`.
#[derive(Debug)]
pub struct Linux {
    beta: u32,
    beta_loss: f64,
    factor: u32,
    use_ineff: Option<u32>,
    use_shadow: bool,
    use_tolerance: bool,
    own_start: bool,
    rng: Rng,

    rtt: MinMax,
    rtt_prev: MinMax,
    gradients: Vec<MinMax>,
    sum: MinMax,
    last: MinMax,
    tail: usize,
    filled: bool,
    queue: QueueState,
    delack: u32,
    /// The round is over once more than this is acknowledged (`rtt_seq`).
    pub(super) round_ends: u64,
    backoffs: u32,
    /// A delay back-off that no reduction has ended (`CDG_BACKOFF`): in a timeout's repair the kernel carries none out.
    backed_off: bool,
    /// The repair under way is a timeout's.
    timed_out: bool,
    shadow: Bytes,
    toss: Toss,
    hybrid: Hybrid,
}

impl Linux {
    pub(super) fn new(p: &Params, setup: Setup<'_>) -> Self {
        debug_assert!(p.reference == Reference::Linux);
        setup.flow.floor = setup.flow.mss * 2;
        Linux {
            beta: p.backoff_beta,
            beta_loss: p.beta_loss,
            factor: p.backoff_factor,
            use_ineff: p.use_ineffectual.then_some(p.consec_cong),
            use_shadow: p.use_shadow,
            use_tolerance: p.use_tolerance.or(false),
            own_start: setup.own_start,
            rng: setup.rng,
            rtt: MinMax::default(),
            rtt_prev: MinMax::default(),
            gradients: vec![MinMax::default(); p.window as usize],
            sum: MinMax::default(),
            last: MinMax::default(),
            tail: 0,
            filled: false,
            queue: QueueState::Unknown,
            delack: 0,
            round_ends: setup.flow.sent_to,
            backoffs: 0,
            backed_off: false,
            timed_out: false,
            shadow: setup.flow.cwnd,
            toss: Toss::default(),
            hybrid: Hybrid::new(if setup.own_start { p.hystart } else { 0 }),
        }
    }

    /// Tosses, and says whether it backed off.
    fn backs_off(&mut self, flow: &mut Flow, gradient: i64) -> bool {
        let probability = exact(gradient as f64 * self.factor as f64 * 1e-6, 1.0);
        let drew = self.rng.uniform();
        self.toss = Toss { probability, drew, hit: drew < probability };
        if !self.toss.hit {
            return false;
        }
        let consecutive = self.backoffs + 1;
        let answered = self.use_ineff.is_none_or(|most| consecutive <= most);
        if answered {
            self.back_off(flow);
        } else {
            let consecutive = consecutive as i64;
            let why = causes::DelayIgnored {
                probability: ppb(probability),
                drew: ppb(drew),
                consecutive,
                queue: queue(flow),
            };
            flow.note(why);
        }
        self.count(flow, consecutive);
        answered
    }

    /// So many delay indications since delay last fell; after the most that are answered the next will be ignored.
    fn count(&mut self, flow: &mut Flow, backoffs: u32) {
        let mode = |n| if self.use_ineff.is_some_and(|most| n >= most) { modes::LOSS } else { modes::DELAY };
        switch_mode(flow, mode(self.backoffs), mode(backoffs));
        self.backoffs = backoffs;
    }

    fn after_delay(&self, flow: &Flow) -> Bytes {
        flow.mss * (flow.cwnd.get() / flow.mss.get() * self.beta.min(1024) as u64 / 1024)
    }

    fn back_off(&mut self, flow: &mut Flow) {
        self.shadow = self.shadow.max(flow.cwnd);
        (self.backed_off, self.queue) = (true, QueueState::Unknown);
        let to = self.after_delay(flow);
        let average = |sum: i64| sum * 1000 / self.gradients.len() as i64;
        let why = causes::DelayBackoff {
            g_min: self.last.min * 1000,
            g_max: self.last.max * 1000,
            average_min: average(self.sum.min),
            average_max: average(self.sum.max),
            probability: ppb(self.toss.probability),
            drew: ppb(self.toss.drew),
            queue: queue(flow),
            bdp: 0,
        };
        flow.reduce(to, How::Prr, why);
    }

    /// A round begins: it ends when an ACK passes what is out now.
    fn begin_round(&mut self, flow: &Flow) {
        self.round_ends = flow.sent_to;
        self.rtt_prev = self.rtt;
        self.rtt = MinMax::default();
        self.hybrid.round();
    }
}

impl CongestionControl for Linux {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let packets = ack.delivered.get().div_ceil(flow.mss.get());
            self.sample(rtt, packets, ack.delivered > ack.cumulative);
        }
        // The kernel calls no congestion avoidance while a reduction is under way.
        if matches!(flow.phase, Phase::Reduced | Phase::Recovery) || ack.cumulative.is_zero() {
            return;
        }
        if flow.cwnd < flow.ssthresh {
            self.hybrid.ack(flow, self.rtt.min);
        }
        if flow.acked_to > self.round_ends && self.rtt.max > 0 {
            let mut gradient = 0;
            if self.rtt_prev.max > 0 {
                gradient = self.gradient();
                if self.sum.min <= EFFECTUAL || self.sum.max <= EFFECTUAL {
                    self.count(flow, 0);
                }
            }
            self.begin_round(flow);
            let may = self.own_start || !flow.in_slow_start();
            if gradient > 0 && may && self.backs_off(flow, gradient) {
                return;
            }
        }
        if !flow.cwnd_limited {
            self.shadow = self.shadow.min(flow.cwnd);
            return;
        }
        let before = flow.cwnd;
        let mut acked = ack.advance();
        if flow.in_slow_start() {
            acked = flow.slow_start(acked);
        }
        if !acked.is_zero() {
            flow.additive(flow.cwnd, acked);
        }
        self.shadow += flow.cwnd - before;
    }

    fn on_congestion(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        self.timed_out = c.signal == Signal::Timeout;
        // For every signal: the kernel's `ssthresh` is not told which it was.
        if self.backed_off {
            return Reaction::Reduce(self.after_delay(flow));
        }
        if self.use_tolerance && self.queue == QueueState::Rising {
            flow.note(causes::LossTolerated {
                lost: c.lost.get() as i64,
                queue: queue(flow),
                queue_state: self.queue as i64,
                shadow: self.shadow.get() as i64,
            });
            flow.ssthresh = flow.cwnd;
            return if c.signal == Signal::Timeout { Reaction::Reduce(flow.cwnd) } else { Reaction::Own };
        }
        // Half the shadow, but no more than the window: of a shadow, no more than twice the window counts. The kernel
        // counts packets.
        let whole = |bytes: Bytes| flow.mss * (bytes.get() / flow.mss.get());
        self.shadow = whole((self.shadow / 2).min(flow.cwnd));
        let cut = whole(whole(flow.cwnd).mul_f64(self.beta_loss));
        Reaction::Reduce(if self.use_shadow { cut.max(self.shadow) } else { cut })
    }

    fn on_undo(&mut self, _: &mut Flow) {
        self.timed_out = false;
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        match event {
            // The kernel tells of no end of a timeout's repair (`tcp_fastretrans_alert`).
            Event::RecoveryEnd if core::mem::take(&mut self.timed_out) => {}
            // The gradient across a reduction is never taken: the window of sums stays as it was before.
            Event::RecoveryEnd => {
                (self.queue, self.backed_off) = (QueueState::Unknown, false);
                self.begin_round(flow);
            }
            Event::Restart => {
                self.gradients.fill(MinMax::default());
                (self.sum, self.last, self.rtt, self.rtt_prev) = Default::default();
                (self.tail, self.filled, self.queue, self.delack) = (0, false, QueueState::Unknown, 0);
                self.backed_off = false;
                self.count(flow, 0);
                self.hybrid.restart();
                self.shadow = flow.cwnd;
                self.round_ends = flow.sent_to;
            }
            Event::Timeout => self.timed_out = true,
            Event::MssChanged | Event::Wake | Event::Granted(_) => {}
        }
    }

    fn weighed(&self, _: &Flow) -> [Bytes; 2] {
        let asked = self.use_shadow && !self.backed_off;
        [if asked { self.shadow } else { Bytes::ZERO }, Bytes::ZERO]
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let average = |sum: i64| sum as f64 * 1e-3 / self.gradients.len() as f64;
        see("g_min", self.last.min as f64 * 1e-3);
        see("g_max", self.last.max as f64 * 1e-3);
        see("average_min", average(self.sum.min));
        see("average_max", average(self.sum.max));
        see("probability", self.toss.probability);
        see("drew", self.toss.drew);
        see("consecutive", self.backoffs as f64);
        see("shadow", self.shadow.as_f64());
        see("queue_state", self.queue as u8 as f64);
        see("g", 1000.0 / (self.factor as f64 * self.gradients.len() as f64));
    }
}

#[cfg(test)]
mod tests;
