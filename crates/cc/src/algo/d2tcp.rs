//! D2TCP: DCTCP whose answer to marks depends on how near the flow's deadline is.
//!
//! ```text
//! d = T_c / D, between ½ and 2       T_c: time that what is not yet sent takes at the present rate (a sawtooth's
//!                                    mean, ¾ of the window a round); D: time left
//! p = α^d                            α: DCTCP's
//! a mark:  cwnd = (1 − p/2)·cwnd, once per window;  otherwise as DCTCP
//! ```
//! A far deadline (d < 1) gives way more than DCTCP does, a near one less; without one it is DCTCP.
//!
//! Source: Vamanan, Hasan and Vijaykumar, Deadline-aware datacenter TCP (D2TCP), SIGCOMM 2012; equations and constants
//! checked against a public port to ns-3 (`d2tcp-socket.cc`): ¾, ½, 2, ½ for who has missed the deadline, and that data under
//! way is no longer to be sent. Here the deadline and the size are the flow's parameters: `d2tcp(size=1MB, deadline=20ms)`.

use crate::filter::Ewma;
use crate::host::MarkedFraction;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Ecn, Evidence, Family, Flow, Reaction, Setup, Signal,
};
use units::{Bytes, Duration, Instant, math};

params::params! {
    /// DCTCP's gain, and what the application would tell.
    pub struct Params {
        /// Weight of the newest window in α (g).
        gain: f64 = 0.0625, 0.001 => 1.0;
        /// From the flow's first ACK to its deadline; 0 is none.
        deadline: Duration = Duration::ZERO, Duration::ZERO => Duration::from_secs(100_000);
        /// What is to be sent by then.
        size: Bytes = Bytes::ZERO, Bytes::ZERO => Bytes::new(1 << 50);
        /// Bounds of d: this and its inverse.
        most: f64 = 2.0, 1.0 => 16.0;
    }
    check |p| {
        let (size, deadline) = (!p.size.is_zero(), !p.deadline.is_zero());
        p.need(&Params::default(), &["deadline"], size, "size")?;
        p.need(&Params::default(), &["size"], deadline, "deadline")?;
        p.need(&Params::default(), &["most"], size && deadline, "size and deadline")
    }
}

/// State: α, and when the deadline is.
#[derive(Debug)]
pub struct D2tcp {
    p: Params,
    alpha: Ewma,
    marks: MarkedFraction,
    due: Option<Instant>,
}

impl Algorithm for D2tcp {
    const ABOUT: About = About {
        name: "d2tcp",
        title: "D2TCP",
        paper: "Vamanan, Hasan and Vijaykumar, Deadline-aware datacenter TCP, SIGCOMM 2012",
        family: Family::Ecn,
        signal: "fraction of marked bytes, time to a deadline",
        evidence: Evidence::Equations,
        departures: &["size and deadline are parameters, where the paper's applications tell them through the socket"],
        ecn: Ecn::Accurate,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        let alpha = Ewma::starting_at(p.gain, 1.0);
        D2tcp { p: p.clone(), alpha, marks: MarkedFraction::default(), due: None }
    }
}

/// d: how many times the time left the rest would take at this rate.
fn imminence(rest: Bytes, cwnd: Bytes, rtt: Duration, left: Duration, most: f64) -> f64 {
    let needed = rest.as_f64() / (0.75 * cwnd.as_f64()) * rtt.as_secs_f64();
    (needed / left.as_secs_f64()).clamp(1.0 / most, most)
}

impl D2tcp {
    /// 1 without a deadline; the least when it has passed or all is sent: hurry would help nobody.
    fn d(&self, flow: &Flow) -> f64 {
        let rest = self.p.size.saturating_sub(Bytes::new(flow.sent_to));
        match self.due {
            None => 1.0,
            Some(due) if due > flow.now && !rest.is_zero() => {
                imminence(rest, flow.cwnd, flow.srtt, due.since(flow.now), self.p.most)
            }
            Some(_) => 1.0 / self.p.most,
        }
    }

    fn penalty(&self, flow: &Flow) -> f64 {
        math::pow(self.alpha.get().unwrap_or(1.0), self.d(flow))
    }
}

impl CongestionControl for D2tcp {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if self.due.is_none() && !self.p.deadline.is_zero() {
            self.due = Some(flow.now + self.p.deadline);
        }
        if let Some(fraction) = self.marks.see(ack, ack.round.is_some()) {
            self.alpha.update(fraction);
        }
        flow.grow_as_reno(ack.cumulative);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        let part = if congestion.signal == Signal::Ecn { self.penalty(flow) / 2.0 } else { 0.5 };
        Reaction::Reduce(flow.cwnd.mul_f64(1.0 - part))
    }

    fn marked(&self) -> f64 {
        self.alpha.get().unwrap_or(1.0)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha.get().unwrap_or(1.0));
    }
}

#[cfg(test)]
mod tests;
