//! CHD, CAIA-Hamilton delay: HD once per round, with a shadow window against loss-based flows and tolerance of random loss.
//!
//! ```text
//! h = max of q over a round;  g(h) as in HD
//! once per round:   w = w / 2                if X < g(h)
//!                   w = w + 1                otherwise                                           (2)
//! at a back-off:    s = max(w, s)            if h > q_th, or h_b < h < q_th, h_b of the back-off before
//!                   s = 0                    otherwise                                           (3)
//! between them:     s grows as w does, unless it is 0, and is halved by a loss
//! loss:             w = max(w, s) / 2        if h > q_th (region B)
//!                   w as it is               otherwise, and no growth until it is repaired       (4)
//! ```
//! A round is a marked packet's RTT on FreeBSD's stack (section IV-A, footnote 2) and a window of data elsewhere. The
//! shadow window is what a NewReno flow would have; after back-offs that others' queue caused, a loss gives half of it back.
//!
//! Source: D. A. Hayes and G. Armitage, "Improved coexistence and loss tolerance for delay based TCP congestion control",
//! LCN 2010, section IV. Eq (3) says s = 0 in every round without a back-off, too; the text and Figure 2 let s live until
//! the next back-off, and so do both references. `freebsd` is `cc_chd.c`: other q_th and p_max; one back-off per RTT; a
//! loss in the round after a back-off cuts nothing; repairs grow and end as CDG's there; loss is judged by the round under way; s starts as the window, is
//! kept by any h above h_b, and is used only after a hit in region B, until the delay leaves it; what is left is rounded up to
//! segments.

mod params;
mod thresholds;

pub use self::params::Params;

use super::cdg::restart;
use super::hd::{Backoff, Reference, Toss};
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, How, Phase, Reaction, Round,
    Setup, Signal, causes,
};
use units::{Bytes, Duration, Rng};

/// State named as in the paper.
#[derive(Debug)]
pub struct Chd {
    p: Params,
    backoff: Backoff,
    kernel: bool,
    once: bool,
    rng: Rng,
    /// h: largest queueing delay of the last round.
    h: Duration,
    /// h_b: h at the last back-off.
    h_b: Duration,
    /// s: what a loss-based flow would have; 0 is "forgotten".
    shadow: Bytes,
    /// Largest RTT of the round under way.
    largest: Duration,
    /// FreeBSD: a toss hit in region B, and the delay has not left it since.
    competing: bool,
    /// Data out at the last back-off and not yet acknowledged.
    outstanding: Bytes,
    /// The loss being repaired was tolerated.
    tolerated: bool,
    /// s as the last loss that was answered found it, 0 where it did not count.
    weighed: Bytes,
    /// `auto_q_th`: the end of the buffer was met.
    bounded: bool,
    toss: Toss,
}

impl Algorithm for Chd {
    const ABOUT: About = About {
        name: "chd",
        title: "CHD (CAIA-Hamilton delay)",
        paper: "Hayes and Armitage, LCN 2010",
        family: Family::DualMode,
        signal: "largest queueing delay of a round; loss",
        evidence: Evidence::Equations,
        departures: &[
            "a tolerated loss in slow start ends it (ssthresh becomes cwnd), as FreeBSD's way of leaving cwnd alone does",
            "the handshake's RTT counts for the base, but on FreeBSD's hosts and in the kernel: without it flows that begin together take \
             the queue of their first windows for none, and tolerate each other's losses",
            "paper: Eq (3) is taken at back-offs only; a timeout forgets the shadow window",
            "freebsd: probabilities are not rounded to whole steps per tick",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let kernel = p.reference == Reference::FreeBsd;
        if kernel {
            setup.flow.follow_freebsd();
        }
        Chd {
            p: p.clone(),
            backoff: p.backoff(),
            kernel,
            once: p.once_per_rtt.or(kernel),
            rng: setup.rng,
            h: Duration::ZERO,
            h_b: Duration::ZERO,
            shadow: if kernel { setup.flow.cwnd } else { Bytes::ZERO },
            largest: Duration::ZERO,
            competing: false,
            outstanding: Bytes::ZERO,
            tolerated: false,
            weighed: Bytes::ZERO,
            bounded: false,
            toss: Toss::default(),
        }
    }
}

impl Chd {
    /// Takes the round's delay and tosses, unless it `rests` after a back-off. True for a back-off.
    fn end_of_round(&mut self, flow: &mut Flow, round: &Round, rests: bool) -> bool {
        let rtt = match (self.p.use_max, self.kernel) {
            (true, true) => round.max_rtt_reused.max(round.max_rtt),
            (true, false) => round.max_rtt,
            (false, _) => flow.rtt,
        };
        self.largest = Duration::ZERO;
        if rtt.is_zero() {
            return false;
        }
        self.backoff = self.p.thresholds(self.backoff, self.bounded, flow, round);
        self.h = self.queue(rtt, flow);
        if rests || matches!(flow.phase, Phase::Recovery | Phase::Reduced) {
            return false;
        }
        self.toss = Toss { queue: self.h, ..Toss::default() };
        if self.h > self.backoff.q_min {
            let largest = self.queue(flow.max_rtt, flow);
            self.toss = self.backoff.toss(self.h, largest, &mut self.rng);
        }
        // A miss in region B leaves the flag as it is; region A takes it back.
        self.competing = self.h > self.backoff.q_th && (self.competing || (self.p.loss_fair && self.toss.hit));
        if self.toss.hit {
            self.back_off(flow);
        }
        self.toss.hit
    }

    /// The queueing delay in an RTT.
    fn queue(&self, rtt: Duration, flow: &Flow) -> Duration {
        rtt.saturating_sub(flow.min_rtt + self.p.base_error)
    }

    fn back_off(&mut self, flow: &mut Flow) {
        // Eq (3)
        let compete = if self.kernel {
            self.competing || self.h > self.h_b
        } else {
            self.p.loss_fair && (self.h > self.backoff.q_th || (self.h < self.backoff.q_th && self.h > self.h_b))
        };
        self.shadow = if compete { self.shadow.max(flow.cwnd) } else { Bytes::ZERO };
        self.h_b = self.h;
        self.outstanding = flow.in_flight;
        flow.reduce(self.cut(flow.cwnd, self.p.beta_delay, flow), How::AtOnce, self.toss.cause(flow, flow.min_rtt));
    }

    /// A part of a window. FreeBSD counts in segments: it takes away what is not to be left, rounded down, and keeps two.
    fn cut(&self, window: Bytes, beta: f64, flow: &Flow) -> Bytes {
        let window = window.min(flow.receive_window);
        if !self.kernel {
            return window.mul_f64(beta);
        }
        let mss = flow.mss.get();
        let to = (flow.mss * (window.get() / mss)).mul_f64(beta);
        flow.mss * to.get().div_ceil(mss).max(2)
    }

    /// Eq (2) without a hit. FreeBSD counts acknowledged bytes (RFC 3465) where the paper counts rounds.
    fn grow(&mut self, flow: &mut Flow, ack: &Ack) {
        let before = flow.cwnd;
        if self.kernel || flow.in_slow_start() {
            // In recovery too, where the parameter allows it.
            flow.grow_anyway(ack.cumulative, |flow| flow.cwnd);
        } else if ack.round.is_some() {
            flow.cwnd += flow.mss;
        }
        if !self.shadow.is_zero() {
            self.shadow += flow.cwnd - before;
        }
    }

    /// Eq (4), and what NewReno's window would have done.
    fn on_loss(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        let queue = if self.kernel { self.queue(flow.rtt.max(self.largest), flow) } else { self.h };
        self.bounded |= Params::is_full(self.largest.saturating_sub(flow.min_rtt), flow);
        let shadow = if !self.kernel || self.competing { self.shadow } else { Bytes::ZERO };
        self.shadow = self.shadow / 2;
        if self.kernel && !self.shadow.is_zero() {
            self.shadow = flow.segments(self.shadow);
        }
        let handled = self.kernel && !self.outstanding.is_zero();
        self.tolerated = handled || (self.p.tolerate && queue <= self.backoff.q_th);
        if self.tolerated {
            let before = flow.windows();
            flow.ssthresh = flow.cwnd;
            let why = causes::LossTolerated {
                lost: c.lost.get() as i64,
                queue: queue.as_nanos() as i64,
                queue_state: 0,
                shadow: shadow.get() as i64,
            };
            flow.because(why, before);
            return Reaction::Own;
        }
        self.weighed = shadow;
        let to = self.cut(flow.cwnd.max(shadow), 0.5, flow);
        if shadow > flow.cwnd {
            // The host records the loss; that it gives back more than half is told beside it.
            flow.note(causes::Restore { target: to.get() as i64, interval: 0 });
        }
        Reaction::Reduce(to)
    }
}

impl CongestionControl for Chd {
    #[inline]
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        // FreeBSD ends its congestion recovery after the algorithm has seen the ACK that ends it.
        let rests = self.once && !self.outstanding.is_zero();
        self.outstanding = self.outstanding.saturating_sub(ack.cumulative);
        self.largest = self.largest.max(flow.rtt);
        if let Some(round) = &ack.round
            && self.end_of_round(flow, round, rests)
        {
            return;
        }
        let repairing = flow.phase == Phase::Recovery;
        let grows = repairing && self.tolerated && self.p.grow_in_recovery;
        if flow.may_grow() || (grows && flow.cwnd_limited) {
            self.grow(flow, ack);
        } else if self.kernel && repairing && !flow.ends_beyond {
            // As CDG there, CHD does not ask whether a repair is under way; its slow start takes two packets an ACK. Congestion
            // avoidance begins to count anew with the ACK that ends it.
            let by = ack.cumulative.min(flow.mss * 2);
            flow.grow_repair(by);
            if !self.shadow.is_zero() {
                self.shadow += by;
            }
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        match c.signal {
            Signal::Loss => self.on_loss(flow, c),
            // FreeBSD hands the other two to NewReno.
            Signal::Ecn if self.once && !self.outstanding.is_zero() => Reaction::Own,
            Signal::Ecn if self.kernel => Reaction::Reduce(flow.newreno_mark()),
            Signal::Ecn => Reaction::Reduce(flow.cwnd / 2),
            Signal::Timeout => {
                (self.tolerated, self.outstanding) = (false, Bytes::ZERO);
                if !self.kernel {
                    self.shadow = Bytes::ZERO;
                }
                Reaction::Reduce(flow.cwnd / 2)
            }
        }
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::RecoveryEnd {
            if !flow.freebsd {
                self.outstanding = Bytes::ZERO;
            }
            if core::mem::take(&mut self.tolerated) && self.kernel {
                restart(flow);
            }
        }
    }

    fn weighed(&self, _: &Flow) -> [Bytes; 2] {
        [self.weighed, Bytes::ZERO]
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("h_ms", self.h.as_millis_f64());
        see("h_b_ms", self.h_b.as_millis_f64());
        see("probability", self.toss.probability);
        see("drew", self.toss.drew);
        see("shadow", self.shadow.as_f64());
        see("q_th_ms", self.backoff.q_th.as_millis_f64());
        see("p_max", self.backoff.p_max);
    }
}

#[cfg(test)]
mod tests;
