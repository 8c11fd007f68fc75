//! HLDG, Hybrid Loss-Delay Gradient: CDG with fewer needless back-offs, shallower ones, and company for loss-based flows.
//!
//! ```text
//! once per round n:
//!   g_n   = RTT_n − RTT_(n−1), after a back-off at b: g_(b+2) = RTT_(b+2) − RTT_b, g_(b+1) none   (5.1, 5.2)  gradient
//!   ḡ     = weighted mean of the last 8, zeroed if g_(b+2) < 0                                     (5.2.4)    gradient
//!   B     = bytes acknowledged / length of the round                                              (5.5)
//!   P     = 0 if ḡ < γ·8·MTU / (B·8), else 1 − e^(−ḡ/G)                                            (5.3, 5.4)  decision
//!   P̄     = sum of P since it was last 0                                                          (5.10)     decision
//! with probability P̄:   cwnd = 0.95·B·RTT_base                                                    (5.6, 5.7)
//! otherwise:            cwnd += MSS
//! loss:                 cwnd = B·RTT_base if that is within (0.7 cwnd, cwnd), else cwnd / 2; at least shadow / 2 (5.5)
//! RTT_base              = smallest RTT of 30 s, then 20 % less window to find it again            (5.9)      base_rtt
//! four rounds with RTT_min − RTT_base > 100 ms, and a second later still: CUBIC, until a probe at a loss
//!                       finds the queue short                                                     (5.3.2)    mode
//! slow start:           ssthresh = bandwidth of 8 ACKs · RTT_base, or where g_min says so         (5.15)     slow_start
//! ```
//! Source: R. Al-Saadi, "Hybrid Loss-Delay Gradient congestion control", PhD thesis, chapters 5 and 6.4 (equation and
//! algorithm numbers are its). No code was published. HLDG was built from FreeBSD's CDG, and what the thesis does not
//! change is as there: above all, cwnd equal to ssthresh is still slow start, so that the first ACK after a back-off adds
//! a packet. Where the text leaves something open, the reading chosen is written where it matters, and the others are
//! parameters (docs/what-the-thesis-leaves-open.md).

mod base_rtt;
pub(crate) mod decision;
mod gradient;
mod loss_mode;
mod losses;
mod mode;
mod params;
mod probes;
mod round;
pub(crate) mod slow_start;
mod window;

pub use self::params::{
    Acked, BandwidthBy, DelayForG, Params, ProbeRounds, RepairGrowth, Return, StartBandwidth, StartThreshold,
    Threshold, Weights,
};

use crate::algo::cdg::queue_state::QueueState;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Setup, Signal,
    StartRule, modes,
};
use base_rtt::BaseRtt;
use decision::Decision;
use gradient::Gradients;
use loss_mode::LossMode;
use mode::{Mode, Modes};
use slow_start::SlowStart;
use units::{Bytes, Duration, Instant, Rate, Rng};

/// The flow's state, by mechanism.
#[derive(Debug)]
pub struct Hldg {
    p: Params,
    own_start: bool,
    rng: Rng,
    /// B_n (Eq 5.5).
    bandwidth: Rate,
    base: BaseRtt,
    /// Acknowledged in order in the round under way.
    acked: Bytes,
    /// The window given up for a probe of the base RTT is growing back.
    regrowing: bool,
    gradients: Gradients,
    decision: Decision,
    modes: Modes,
    loss_mode: LossMode,
    start: SlowStart,
    /// Delay indications since delay last fell (ineffectual back-off, from CDG).
    consecutive: u32,
    /// What a loss-based flow would have; 0 is "forgotten" (from CDG).
    shadow: Bytes,
    queue: QueueState,
    /// Q_min,n (Eq 5.13).
    queue_min: Duration,
    /// B_n as it was when the last probe for competitors began.
    bandwidth_before_probe: Rate,
    /// The losses that led to that probe are still being repaired.
    repairing: bool,
    /// What the threshold becomes when the repair under way is over, if that is more.
    lift: Bytes,
}

impl Algorithm for Hldg {
    const ABOUT: About = About {
        name: "hldg",
        title: "HLDG (Hybrid Loss-Delay Gradient)",
        paper: "Al-Saadi, PhD thesis, Swinburne University of Technology, chapters 5 and 6",
        family: Family::DualMode,
        signal: "growth of the smallest and the largest RTT of a round; queueing delay against competitors; loss",
        evidence: Evidence::Published,
        departures: &[
            "the thesis prints no coefficients of the adaptive G: an exponential through the points of its text",
            "a probe for competitors counts rounds that began in it, or, where rounds go by sequence and last as long as its repair, \
             RTTs by the clock; it ends after twice their time when too few are measured",
            "after a probe that finds nobody the window regrows by slow start to λ·BDP as it was before the probe",
            "of FreeBSD's CDG are left out: windows below one packet, the branch for losses after a delay back-off, growth of a window \
             that was not filled (FreeBSD's host takes any within the receiver's for filled) and, in delay mode, in repairs, \
             certainty above five times G, gradients of slow starts and repairs",
        ],
        floor: 1.0,
        start: StartRule::Own("hldg"),
        modes: &[modes::DELAY, modes::LOSS, modes::PROBE],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let p = p.resolved();
        setup.flow.slow_start_at_ssthresh = p.slow_start_at_ssthresh;
        setup.flow.floor = (setup.flow.mss * u64::from(p.least)).max(Bytes::new(1));
        Hldg {
            own_start: setup.own_start,
            rng: setup.rng,
            bandwidth: Rate::ZERO,
            acked: Bytes::ZERO,
            base: BaseRtt::new(p.base_window, p.base_wait, p.base_hold),
            regrowing: false,
            gradients: Gradients::new(&p),
            decision: Decision::new(&p),
            modes: Modes::new(&p),
            loss_mode: LossMode::new(&p, setup.flow.mss),
            start: SlowStart::new(setup.own_start, p.train),
            consecutive: 0,
            shadow: if p.use_shadow { setup.flow.cwnd } else { Bytes::ZERO },
            queue: QueueState::Unknown,
            queue_min: Duration::ZERO,
            bandwidth_before_probe: Rate::ZERO,
            repairing: false,
            lift: Bytes::ZERO,
            p,
        }
    }
}

impl Hldg {
    /// BDP (Eq 5.7). It counts payload, as the window does.
    fn bdp(&self) -> Bytes {
        if self.base.rtt == Duration::MAX { Bytes::ZERO } else { self.bandwidth * self.base.rtt }
    }

    /// Queueing delay now (Eq 5.12).
    fn queueing(&self, flow: &Flow) -> Duration {
        flow.rtt.saturating_sub(self.base.rtt)
    }
}

impl CongestionControl for Hldg {
    #[inline]
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt
            && (self.p.base_in_repairs || !flow.phase.repairs())
        {
            self.base.sees(flow.now, rtt);
        }
        // What comes with the ACK that closes a round belongs to it.
        self.acked += ack.cumulative;
        let hit = ack.round.as_ref().is_some_and(|round| self.end_of_round(flow, round));
        if let Some(rtt) = ack.rtt.filter(|_| self.probes_by_clock(flow)) {
            self.probe_measures(flow, rtt);
        }
        if hit {
            return;
        }
        if !ack.cumulative.is_zero() || self.repairing {
            self.grow(flow, ack);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        let timeout = c.signal == Signal::Timeout;
        self.repairing = false;
        self.lift = Bytes::ZERO;
        if self.modes.mode == Mode::Loss {
            if !timeout && self.modes.probes(flow.now) {
                return self.probe_for_competitors(flow, c);
            }
            return Reaction::Reduce(self.loss_mode.reduce(flow, timeout));
        }
        Reaction::Reduce(self.lose(flow, c.signal))
    }

    fn on_undo(&mut self, _: &mut Flow) {
        // Nothing was lost: there is no repair, whose end would be told.
        self.repairing = false;
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        match event {
            Event::RecoveryEnd | Event::Restart => {
                self.repairing = false;
                if event == Event::Restart || !self.p.every_round {
                    self.gradients.interrupt();
                }
                let lift = core::mem::take(&mut self.lift);
                if event == Event::RecoveryEnd && self.modes.mode == Mode::Delay {
                    flow.ssthresh = flow.ssthresh.max(lift);
                }
                // Algorithm 5.3 asks only for ssthresh and cwnd: this slow start is one, too.
                let searches = self.own_start && self.p.search_again && self.modes.mode == Mode::Delay;
                if event == Event::Restart && searches && flow.in_slow_start() {
                    self.start.again();
                }
            }
            Event::Wake => {
                self.loss_mode.wake_up(flow);
                let turn = self.modes.wake_up(flow.now);
                self.turn(flow, turn);
                if self.modes.mode == Mode::Delay && flow.now >= self.base.deadline() {
                    self.probe_base_rtt(flow);
                }
            }
            Event::MssChanged => self.loss_mode.rescale(flow.mss),
            Event::Timeout | Event::Granted(_) => {}
        }
    }

    fn weighed(&self, _: &Flow) -> [Bytes; 2] {
        [self.shadow, self.bdp()]
    }

    fn wake(&self) -> Option<Instant> {
        let base = if self.modes.mode == Mode::Delay { self.base.deadline() } else { Instant::MAX };
        let at = self.modes.wake().min(self.loss_mode.wake()).min(base);
        (at < Instant::MAX).then_some(at)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let ms = |d: Duration| if d == Duration::MAX { 0.0 } else { d.as_millis_f64() };
        see("mode", if self.loss_mode.restoring() { modes::RESTORE as f64 } else { self.modes.mode as u8 as f64 });
        see("g_min", self.gradients.min.last);
        see("g_max", self.gradients.max.last);
        see("average_min", self.gradients.min.average);
        see("average_max", self.gradients.max.average);
        see("accumulated_min", self.decision.min);
        see("accumulated_max", self.decision.max);
        see("probability", self.decision.toss.probability);
        see("drew", self.decision.toss.drew);
        see("threshold", self.decision.threshold);
        see("g", self.decision.g);
        see("bandwidth", self.bandwidth.as_bps() as f64);
        see("base_rtt", ms(self.base.rtt));
        see("bdp", self.bdp().as_f64());
        see("queue_min", ms(self.queue_min));
        see("detection", self.modes.detected());
        see("consecutive", self.consecutive as f64);
        see("shadow", self.shadow.as_f64());
    }
}

#[cfg(test)]
mod tests;
