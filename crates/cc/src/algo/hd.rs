//! HD, Hamilton delay: for every packet toss a coin that the queueing delay loads, and halve the window if it falls.
//!
//! ```text
//! on every packet, X uniform: w = w / 2      if X < g(q)
//!                            w = w + 1/w    otherwise                                       (1)
//! g(q), Figure 1:            0                                     q ≤ q_min
//!                            p_max (q − q_min) / (q_th − q_min)    region A, up to q_th
//!                            p_max (q_max − q) / (q_max − q_th)    region B, beyond it
//! q = RTT − RTT_min,  q_max = RTT_max − RTT_min, both of the flow's data
//! loss:                      w = w / 2
//! ```
//! Loss-based flows push the queue into region B, where HD backs off less and so keeps a part of the link; without them
//! region B is unstable, and HD finds back to a short queue.
//!
//! Source: D. A. Hayes and G. Armitage, "Improved coexistence and loss tolerance for delay based TCP congestion control",
//! LCN 2010, section III, after Ł. Budzisz et al., IEEE Communications Letters 13(7), 2009. `paper` is Eq (1) with the
//! values of the paper's experiments. `freebsd` is `cc_hd.c`: one toss an ACK; a back-off is handed to NewReno as an ECN
//! mark, so the ACK after it neither tosses nor grows (NewReno sets no end to its congestion recovery, and the host ends it
//! with the next ACK), and it leaves whole segments; q_th and p_max are others.

use crate::host::DataRtt;
use crate::{
    About, Ack, Algorithm, Cause, Congestion, CongestionControl, Event, Evidence, Family, Flow, How, Phase, Reaction,
    Setup, Signal, causes, exits, ppb,
};
use params::{Auto, AutoTime, ParamError};
use units::{Bytes, Duration, Rng, math};

params::choice! {
    /// Whose rules.
    pub enum Reference {
        /// The paper's equations and the values of its experiments.
        Paper = "paper",
        /// FreeBSD 11's module and its defaults.
        FreeBsd = "freebsd",
    }
}

params::choice! {
    /// How often the coin is tossed.
    pub enum Per {
        /// Once for every packet acknowledged.
        Packet = "packet",
        /// Once for every ACK, however much it covers.
        Ack = "ack",
        /// As the reference does.
        Auto = "auto",
    }
}

params::params! {
    /// Delays are the paper's and FreeBSD's (there in ticks of 1 ms); where a default is `auto`, the reference decides.
    pub struct Params {
        /// Whose rules: paper or freebsd.
        reference: Reference = Reference::Paper;
        /// No back-off at or below this queueing delay (sysctl queue_min).
        q_min: Duration = Duration::from_millis(5), Duration::ZERO => Duration::from_secs(10);
        /// Where region B begins (sysctl queue_threshold). auto: 30 ms in the paper, 20 ms in freebsd.
        q_th: AutoTime = AutoTime::AUTO, AutoTime::millis(1) => AutoTime::millis(10_000);
        /// Probability of a back-off per toss at q_th (sysctl pmax, in percent). auto: 0.02 in the paper, 0.05 in freebsd.
        p_max: Auto = Auto::AUTO, Auto::of(0.0) => Auto::of(1.0);
        /// What is tossed for. The paper calls p_max (section V) and g (Figure 1) "per packet", and Eq (1) grows by 1/w for
        /// each, so an ACK of two is two tosses; FreeBSD tosses for the ACK. auto: packet in the paper, ack in freebsd.
        per: Per = Per::Auto;
        /// What a delay back-off leaves of the window; the paper's section VI wonders about more than half.
        beta_delay: f64 = 0.5, 0.1 => 0.99;
        /// No toss while data sent before the last back-off is under way: one back-off per RTT.
        once_per_rtt: bool = false;
    }
    check |p| { p.backoff().check() }
}

impl Params {
    fn backoff(&self) -> Backoff {
        let (q_th, p_max) = match self.reference {
            Reference::Paper => (30, 0.02),
            Reference::FreeBsd => (20, 0.05),
        };
        let (q_th, p_max) = (self.q_th.or(Duration::from_millis(q_th)), self.p_max.or(p_max));
        Backoff { q_min: self.q_min, q_th, p_max, p_end: 0.0 }
    }
}

/// The back-off probability g of Figure 1, HD's, CHD's and Cx-TCP's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// No back-off at or below this delay.
    pub q_min: Duration,
    /// The delay between regions A and B.
    pub q_th: Duration,
    /// The probability there.
    pub p_max: f64,
    /// The probability at the largest queueing delay seen; 0 but in Cx-TCP.
    pub p_end: f64,
}

impl Backoff {
    /// g(q), with the largest queueing delay seen.
    pub fn probability(&self, q: Duration, q_max: Duration) -> f64 {
        if q <= self.q_min {
            0.0
        } else if q <= self.q_th {
            self.p_max * ((q - self.q_min) / (self.q_th - self.q_min))
        } else if q < q_max {
            let span = q_max - self.q_th;
            self.p_max * ((q_max - q) / span) + self.p_end * ((q - self.q_th) / span)
        } else {
            self.p_end
        }
    }

    pub(super) fn check(&self) -> Result<(), ParamError> {
        if self.q_min < self.q_th {
            return Ok(());
        }
        let text = "q_min must be below q_th (5ms and 30ms in the paper)";
        Err(ParamError::Conflict(text.into()))
    }

    /// One toss at this queueing delay, with the largest seen.
    pub(super) fn toss(&self, queue: Duration, largest: Duration, rng: &mut Rng) -> Toss {
        self.toss_for(1.0, queue, largest, rng)
    }

    /// As many tosses as packets, of which one hit is enough.
    fn toss_for(&self, packets: f64, queue: Duration, largest: Duration, rng: &mut Rng) -> Toss {
        let each = self.probability(queue, largest);
        let probability = if packets == 1.0 { each } else { 1.0 - math::pow(1.0 - each, packets) };
        let drew = rng.uniform();
        Toss { queue, probability, drew, hit: drew < probability }
    }
}

/// One toss with its numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Toss {
    pub queue: Duration,
    pub probability: f64,
    pub drew: f64,
    pub hit: bool,
}

impl Toss {
    /// What a hit is called: leaving the first slow start is its own event, so that back-offs after it can be counted.
    pub fn cause(&self, flow: &Flow, base: Duration) -> Cause {
        let (probability, drew) = (ppb(self.probability), ppb(self.drew));
        if flow.in_slow_start() && flow.ssthresh == Bytes::MAX {
            let (rtt, base_rtt) = ((base + self.queue).as_nanos() as i64, base.as_nanos() as i64);
            let reason = exits::DELAY;
            return causes::SlowStartExit { reason, rtt, base_rtt, probability, drew, ..Default::default() }.into();
        }
        let queue = self.queue.as_nanos() as i64;
        causes::DelayBackoff { probability, drew, queue, ..Default::default() }.into()
    }
}

/// State: the dice, the extremes of the RTT, and what is still out of the window that was halved last.
#[derive(Debug)]
pub struct Hd {
    backoff: Backoff,
    kernel: bool,
    once: bool,
    per_packet: bool,
    beta_delay: f64,
    rng: Rng,
    rtts: DataRtt,
    outstanding: Bytes,
    /// FreeBSD: no ACK has come since the back-off, or not yet all that was out at a timeout before it. HD does not move
    /// `snd_recover`, which is old but after a timeout.
    rests: bool,
    toss: Toss,
}

impl Algorithm for Hd {
    const ABOUT: About = About {
        name: "hd",
        title: "HD (Hamilton delay)",
        paper: "Budzisz, Stanojevic, Shorten and Baker, 2009; Hayes and Armitage, LCN 2010",
        family: Family::DualMode,
        signal: "queueing delay per packet; loss",
        evidence: Evidence::Equations,
        departures: &[
            "an ACK without a fresh RTT tosses again on the last one, as in FreeBSD",
            "no toss while losses are repaired; freebsd: probabilities are not rounded to whole steps per tick",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let kernel = p.reference == Reference::FreeBsd;
        if kernel {
            setup.flow.follow_freebsd();
        }
        Hd {
            backoff: p.backoff(),
            kernel,
            once: p.once_per_rtt,
            per_packet: match p.per {
                Per::Packet => true,
                Per::Ack => false,
                Per::Auto => !kernel,
            },
            beta_delay: p.beta_delay,
            rng: setup.rng,
            rtts: DataRtt::of(setup.flow),
            outstanding: Bytes::ZERO,
            rests: false,
            toss: Toss::default(),
        }
    }
}

impl Hd {
    /// The paper's, with another curve and no more than one back-off per RTT (Cx-TCP).
    pub(super) fn once_per_rtt(backoff: Backoff, beta_delay: f64, setup: Setup<'_>) -> Hd {
        Hd { backoff, once: true, beta_delay, ..Hd::new(&Params::default(), setup) }
    }

    fn cut(&self, flow: &Flow, beta: f64) -> Bytes {
        let to = flow.cwnd.min(flow.receive_window).mul_f64(beta);
        if self.kernel { flow.segments(to) } else { to }
    }

    /// The last back-off does not count any more.
    fn forget(&mut self) {
        self.outstanding = Bytes::ZERO;
        self.rests = false;
    }

    /// May this ACK toss?
    fn may_back_off(&self, flow: &Flow) -> bool {
        flow.phase.grows() && (!self.once || self.outstanding.is_zero())
    }
}

impl CongestionControl for Hd {
    #[inline]
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rtts.see(ack);
        self.outstanding = self.outstanding.saturating_sub(ack.cumulative);
        if ack.cumulative.is_zero() {
            return;
        }
        if self.rests {
            self.rests = flow.phase == Phase::Loss;
            return;
        }
        let queue = self.rtts.queue(flow.rtt);
        if queue > self.backoff.q_min && self.may_back_off(flow) {
            let packets = if self.per_packet { ack.cumulative.get() as f64 / flow.mss.get() as f64 } else { 1.0 };
            self.toss = self.backoff.toss_for(packets, queue, self.rtts.range(), &mut self.rng);
            if self.toss.hit {
                self.outstanding = flow.in_flight;
                self.rests = self.kernel;
                flow.reduce(self.cut(flow, self.beta_delay), How::AtOnce, self.toss.cause(flow, self.rtts.base()));
                return;
            }
        }
        flow.grow_as_reno(ack.cumulative);
    }

    fn on_congestion(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        let once = self.once && !self.outstanding.is_zero();
        match c.signal {
            Signal::Ecn if once || self.rests => return Reaction::Own,
            // NewReno enters fast recovery from congestion recovery with the threshold as it is.
            Signal::Loss if self.rests => return Reaction::Reduce(flow.ssthresh),
            Signal::Timeout => self.forget(),
            _ => {}
        }
        Reaction::Reduce(self.cut(flow, 0.5))
    }

    fn on_event(&mut self, _: &mut Flow, event: Event) {
        if event == Event::RecoveryEnd {
            self.forget();
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("queue_ms", self.toss.queue.as_millis_f64());
        see("probability", self.toss.probability);
        see("drew", self.toss.drew);
    }
}

#[cfg(test)]
mod tests;
