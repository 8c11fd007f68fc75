//! DCTCP: the window comes down by how much was marked, not by that something was.
//!
//! ```text
//! once per window:  F = bytes marked / bytes acknowledged
//!                   α = (1 − g)·α + g·F                        g = 1/16, α = 1 at first
//! a mark:           cwnd = (1 − α/2)·cwnd, once per window
//! a loss:           cwnd / 2;  growth as Reno
//! ```
//! The queue is to mark every packet beyond a threshold K on its instantaneous length, about a seventh of the BDP
//! (Alizadeh et al., SIGCOMM 2010, equation 13); the receiver echoes every mark. The flow needs `ecn = true`, or this
//! is Reno.
//!
//! Random marks, one a round, leave no round to grow in between: the window is then about 1/p and not the 2/p of the
//! fluid model. `growth=always` grows on.
//!
//! Source: RFC 8257, section 3.3. Linux 6.1 (`linux`) keeps α in 1024ths, rounded down at each step, and α whose 1/16
//! would be nothing becomes nothing; it cuts whole segments.

use crate::host::MarkedFraction;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Ecn, Evidence, Family, Flow, Phase, Reaction, Setup, Signal,
};
use units::Bytes;

params::choice! {
    /// Whose arithmetic.
    pub enum Reference {
        /// RFC 8257, in floating point.
        Rfc = "rfc",
        /// Linux 6.1, in 1024ths.
        Linux = "linux",
    }
}

params::choice! {
    /// When the window grows.
    pub enum Growth {
        /// Not while it comes down, the round after a mark: as Linux, and as a literal reading of RFC 3168.
        Open = "open",
        /// By every acknowledgement: as the fluid model has it, and as the coupling of DualPI2 takes for granted.
        Always = "always",
    }
}

params::params! {
    /// Defaults of RFC 8257, sections 3.3 and 4.2.
    pub struct Params {
        /// Whose arithmetic.
        reference: Reference = Reference::Rfc;
        /// Weight of the newest window in the average of the marked fraction (g).
        gain: f64 = 0.0625, 0.001 => 1.0;
        /// α before the first window: 1 answers the first mark as a loss, 0 hardly at all.
        alpha: f64 = 1.0, 0.0 => 1.0;
        /// Does the window grow in the round in which it comes down?
        growth: Growth = Growth::Open;
    }
}

/// State: α, and what this window counted.
#[derive(Debug)]
pub struct Dctcp {
    p: Params,
    alpha: f64,
    marks: MarkedFraction,
    /// Acknowledged while the window came down, to grow by afterwards.
    banked: Bytes,
}

impl Algorithm for Dctcp {
    const ABOUT: About = About {
        name: "dctcp",
        title: "DCTCP",
        paper: "RFC 8257; Alizadeh et al., Data Center TCP, SIGCOMM 2010",
        family: Family::Ecn,
        signal: "fraction of marked bytes",
        evidence: Evidence::Equations,
        departures: &[
            "feedback is a counter of marked bytes, which lost and delayed ACKs cannot blur, where the RFC has a flag",
            "a mark on the ACK that ends a window is answered by the α before that window",
        ],
        ecn: Ecn::Accurate,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        Dctcp { p: p.clone(), alpha: p.alpha, marks: MarkedFraction::default(), banked: Bytes::ZERO }
    }
}

impl Dctcp {
    /// α after a window with that fraction of marks.
    fn average(&self, fraction: f64) -> f64 {
        let Params { gain, reference, .. } = self.p;
        if reference == Reference::Rfc {
            return (1.0 - gain) * self.alpha + gain * fraction;
        }
        let alpha = (1024.0 * self.alpha) as u64;
        let faded = match (alpha as f64 * gain) as u64 {
            0 => 0,
            part => alpha - part,
        };
        (faded + (1024.0 * gain * fraction) as u64).min(1024) as f64 / 1024.0
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(fraction) = self.marks.see(ack, ack.round.is_some()) {
            self.alpha = self.average(fraction);
        }
        // While the window comes down the host sets it; the growth is saved up and added when the host is done.
        if self.p.growth == Growth::Always && flow.phase == Phase::Reduced {
            self.banked += ack.cumulative;
        } else {
            flow.grow_as_reno(ack.cumulative + core::mem::take(&mut self.banked));
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        let marked = congestion.signal == Signal::Ecn;
        let part = if marked { self.alpha / 2.0 } else { 0.5 };
        let packets = flow.cwnd.get() / flow.mss.get();
        Reaction::Reduce(match self.p.reference {
            Reference::Rfc => flow.cwnd.mul_f64(1.0 - part),
            // A mark rounds what it takes (`dctcp_ssthresh`), a loss what it leaves (`dctcp_react_to_loss`).
            Reference::Linux if marked => flow.mss * (packets - (packets as f64 * part) as u64),
            Reference::Linux => flow.mss * (packets / 2),
        })
    }

    fn marked(&self) -> f64 {
        self.alpha
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha);
    }
}

#[cfg(test)]
mod tests;
