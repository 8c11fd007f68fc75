//! Nimbus: keep a short queue by delay while the cross traffic does not care, compete as CUBIC while it does, and find out
//! which by pulsing the rate and looking for the pulses in what the others send.
//!
//! ```text
//! every 10 ms:   z = µ·R_in/R_out − R_in                  the others' rate; µ: the largest R_out seen, smoothed
//! delay:         R = (1 − α)·R_in + α·(µ − z) + β·µ/RTT·(RTT_min + d − RTT)             d = RTT_min/4
//!                RTT_min: the smallest RTT of data, which never ages
//! competitive:   CUBIC's window over the RTT, cut once an RTT in which anything is lost
//! window:        2·RTT·(R + ¼µ), at a loss down to it
//! pulses:        + ¼µ·sin, a quarter of each 1/5 s;  − 1/12·µ·sin, the rest: they cost nothing on average
//! η            = |Z(5 Hz)| / max |Z(6.5 … 9.5 Hz)|, Z the Fourier transform of the last 5 s of z
//!                discounted where Z(5 Hz) is weaker than a quarter of our own deliveries' (the authors' code)
//! smoothed η > 2.25: competitive, with the rate of 5 s ago;    < 2 and 5 s after the last switch: delay
//! ```
//! Who starts beside others never sees the whole link, and takes µ for less than it is and them for less than they are: 10 s after
//! CUBIC on 12 Mbit/s, 40 ms and four BDP of buffer its share from 20 to 100 s is 44 to 55 %, 10 s before it 60 %.
//!
//! Source: Goyal, Narayan, Cangialosi, Narayana, Alizadeh and Balakrishnan, Elasticity detection, arXiv 1802.08730 and
//! SIGCOMM 2022; constants of the authors' code. The HLDG thesis (Eq 2.16) calls the target d the present queueing delay.

mod elasticity;
mod rival;
#[cfg(test)]
mod tests;

use super::cubic;
use crate::filter::{Ewma, Ring};
use crate::host::{DataRtt, RoundTripRates};
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Setup, Signal,
    StartRule, causes, exits, modes,
};
use elasticity::{Elasticity, SAMPLES, TICK};
use units::{Duration, Instant, Rate};

params::params! {
    /// Values of the paper and of the authors' code.
    pub struct Params {
        /// Weight of what the others leave (α).
        alpha: f64 = 0.8, 0.0 => 1.0;
        /// How hard the queue is held to its target (β).
        beta: f64 = 0.5, 0.0 => 2.0;
        /// The queueing delay to hold, in parts of RTT_min.
        target: f64 = 0.25, 0.01 => 10.0;
        /// Height of a pulse, in parts of the link.
        pulse: f64 = 0.25, 0.01 => 0.5;
        /// Pulses a second; slower ones leave no band to compare with.
        frequency: f64 = 5.0, 3.0 => 20.0;
        /// More elastic than this, and it competes.
        compete_above: f64 = 2.25, 0.0 => 100.0;
        /// Less elastic than this, and delay decides.
        yield_below: f64 = 2.0, 0.0 => 100.0;
    }
    check |p| {
        if p.yield_below <= p.compete_above { Ok(()) } else { Err(params::ParamError::Conflict("nimbus: yield_below must not exceed compete_above (2 and 2.25)".into())) }
    }
}

/// Never slower than this part of the link.
const LEAST: f64 = 0.05;
/// Weight of a sample in the smoothed R_out whose maximum is µ.
const GAIN: f64 = 0.2;
/// No return to delay so soon after a switch.
const DWELL: Duration = Duration::from_secs(5);

/// State: rates in Mbit/s, the elasticity, and CUBIC on a window of its own.
#[derive(Debug)]
pub struct Nimbus {
    p: Params,
    rates: RoundTripRates,
    /// Their smallest is the authors' `base_rtt`.
    rtts: DataRtt,
    out: Ewma,
    mu: f64,
    cross: f64,
    /// Before the pulse.
    rate: f64,
    history: Ring<SAMPLES>,
    /// The last ACK, and ticks without one in the RTT before since the last sample.
    heard: Instant,
    missed: usize,
    elasticity: Elasticity,
    rival: Flow,
    curve: cubic::rfc::Curve,
    competing: bool,
    switched_at: Instant,
    /// The last answer to a loss.
    cut_at: Option<Instant>,
    began: Instant,
    next: Instant,
}

impl Algorithm for Nimbus {
    const ABOUT: About = About {
        name: "nimbus",
        title: "Nimbus",
        paper: "Goyal et al., Elasticity detection: a building block for Internet congestion control, SIGCOMM 2022",
        family: Family::DualMode,
        signal: "rates of sending and delivery, delay, paced",
        evidence: Evidence::Equations,
        departures: &[
            "opens with slow start until the queue is twice its target, or a loss; the authors' code sends at 16 Mbit/s for a second",
            "one flow that pulses: pulsers and watchers among several Nimbus flows are not here",
            "a loss in delay mode changes no rate: the queue it came from is in the delay; a timeout starts from one packet",
            "the window has room for a pulse all the time and comes down at losses; the authors' code sets it with every report",
            "back in delay mode the target is at once what is set; the authors' code lets it sink there from the present RTT by \
             RTT_min/2 a second. That code also pulses at 6 Hz in delay mode, adds what it sees at 5 Hz to the 6 of cross \
             traffic of nearly the whole link, and judges nothing for 10 s, switches nothing for 15",
        ],
        start: StartRule::Fixed,
        modes: &[modes::DELAY, modes::LOSS],
        paces: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        setup.flow.avoid_at_ssthresh();
        let flow = setup.flow;
        Nimbus {
            p: p.clone(),
            rates: RoundTripRates::default(),
            rtts: DataRtt::default(),
            out: Ewma::new(GAIN),
            mu: 0.0,
            cross: 0.0,
            rate: 0.0,
            history: Ring::new(),
            heard: flow.now,
            missed: 0,
            elasticity: Elasticity::new(),
            rival: Flow::new(flow.mss, flow.cwnd),
            curve: cubic::rfc::Curve::new(&cubic::Params::default()),
            competing: false,
            switched_at: flow.now,
            cut_at: None,
            began: flow.now,
            next: flow.now + TICK,
        }
    }
}

/// The others' rate, given one's own in and out of a busy link.
fn cross(mu: f64, sent: f64, delivered: f64) -> f64 {
    if delivered > 0.0 { (mu * sent / delivered - sent).clamp(0.0, mu) } else { 0.0 }
}

impl Nimbus {
    /// Eq 2.17 of the thesis.
    fn delay_rate(&self, sent: f64, z: f64, rtt: Duration, base: Duration) -> f64 {
        let Params { alpha, beta, target, .. } = self.p;
        let room = base.mul_f64(1.0 + target).diff_millis(rtt) / rtt.as_millis_f64();
        (1.0 - alpha) * sent + alpha * (self.mu - z) + beta * self.mu * room
    }

    fn base(&self, flow: &Flow) -> Duration {
        if self.rtts.base().is_zero() { flow.min_rtt } else { self.rtts.base() }
    }

    /// What the pulse adds now, in parts of the link.
    fn pulse(&self, since: Duration) -> f64 {
        self.p.pulse * elasticity::pulse(since.as_secs_f64() * self.p.frequency)
    }

    fn tick(&mut self, flow: &mut Flow) {
        let (Some((sent, delivered)), false) = (self.rates.get(), flow.app_limited) else { return };
        let opening = flow.in_slow_start();
        if flow.now.since(self.heard) <= flow.srtt {
            self.sample(flow, sent.as_mbps(), delivered.as_mbps());
        } else {
            self.missed += 1;
        }
        if !opening && self.rate > 0.0 {
            let pulsed = self.rate + self.mu * self.pulse(flow.now.since(self.began));
            flow.pacing = Some(Rate::from_mbps(pulsed.max(LEAST * self.mu)).max(Rate::from_bps(1)));
        }
    }

    /// Something was heard in the last RTT. Ticks before that heard nothing for longer are of this sample, too: the transform
    /// needs one for each, and the authors' code fills them so.
    fn sample(&mut self, flow: &mut Flow, sent: f64, delivered: f64) {
        let missed = core::mem::take(&mut self.missed).min(SAMPLES);
        self.mu = self.mu.max(self.out.update(delivered));
        self.cross = cross(self.mu, sent, delivered);
        if flow.in_slow_start() {
            return self.maybe_leave_slow_start(flow);
        }
        self.rate = if self.competing {
            (self.rival.cwnd / flow.srtt).as_mbps()
        } else {
            self.delay_rate(sent, self.cross, flow.rtt, self.base(flow))
        };
        self.rate = self.rate.max(LEAST * self.mu);
        (0..=missed).for_each(|_| _ = self.history.push(self.rate));
        let (cross, own) = (self.cross / self.mu, delivered / self.mu);
        self.elasticity.fill(cross, own, missed);
        if self.elasticity.see(cross, own, self.p.frequency) {
            self.choose_mode(flow);
        }
    }

    fn maybe_leave_slow_start(&self, flow: &mut Flow) {
        let base = self.base(flow);
        if flow.rtt > base.mul_f64(1.0 + 2.0 * self.p.target) {
            let (rtt, base_rtt) = (flow.rtt.as_nanos() as i64, base.as_nanos() as i64);
            flow.leave_slow_start(causes::SlowStartExit { reason: exits::DELAY, rtt, base_rtt, ..Default::default() });
        }
    }

    fn choose_mode(&mut self, flow: &mut Flow) {
        let since = flow.now.since(self.switched_at);
        let compete = if self.competing {
            self.elasticity.value >= self.p.yield_below || since < DWELL
        } else {
            self.elasticity.value > self.p.compete_above
        };
        if compete == self.competing {
            return;
        }
        (self.competing, self.switched_at) = (compete, flow.now);
        let (from, to) = if compete { (modes::DELAY, modes::LOSS) } else { (modes::LOSS, modes::DELAY) };
        let queue = flow.rtt.saturating_sub(self.base(flow)).as_nanos() as i64;
        let bandwidth = (self.mu * 1e6) as i64;
        flow.note(causes::ModeSwitch { from, to, queue, bandwidth });
        if compete {
            // The rate before the competitor took it.
            let rate = self.history.iter().next().unwrap_or(self.rate);
            let window = Rate::from_mbps(rate) * flow.srtt;
            self.rival.cwnd = window.max(flow.floor);
            self.rival.ssthresh = self.rival.cwnd;
            self.curve = cubic::rfc::Curve::new(&cubic::Params::default());
        }
    }
}

impl CongestionControl for Nimbus {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.heard = flow.now;
        self.rates.see(flow.now, ack.sent_at, flow.delivered, flow.srtt);
        self.rtts.see(ack);
        if flow.in_slow_start() {
            if flow.may_grow() {
                flow.slow_start(ack.cumulative);
            }
            return;
        }
        if self.competing {
            self.compete(flow, ack.cumulative);
        }
        flow.cwnd = flow.cwnd.max((flow.cwnd + ack.delivered).min(self.bound(flow)));
        if !ack.newly_lost.is_zero() {
            self.lose(flow, ack.newly_lost);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        if c.signal == Signal::Timeout && self.competing {
            self.cut(flow, true);
        }
        if c.signal == Signal::Timeout || flow.in_slow_start() {
            return Reaction::Reduce(flow.cwnd / 2);
        }
        self.lose(flow, c.lost);
        Reaction::Own
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        match event {
            Event::Wake => {
                self.next = flow.now + TICK;
                self.tick(flow);
            }
            // A pace of less than a packet in a timeout is no silence of the application's.
            Event::Restart if flow.app_limited => {
                self.rates.clear();
                self.elasticity.clear();
                self.missed = 0;
            }
            _ => {}
        }
    }

    fn wake(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("mu_mbps", self.mu);
        see("cross_mbps", self.cross);
        see("rate_mbps", self.rate);
        see("elasticity", self.elasticity.value);
        see("competing", self.competing as u8 as f64);
    }
}
