//! TCP-Africa: HighSpeed TCP while less than two packets are queued, Reno as soon as there are more.
//!
//! ```text
//! Δ = cwnd·(RTT − base) / RTT                   packets queued, with a smoothed RTT
//! fast (Δ < α):   as HighSpeed TCP: +a(cwnd) a round; loss: cwnd −= b(cwnd)·cwnd
//! slow (Δ ≥ α):   as Reno: +1 a round; loss: cwnd / 2
//! ```
//! Source: King, Baraniuk and Riedi, TCP-Africa: an adaptive and fair rapid increase rule for scalable TCP, INFOCOM 2005, as
//! the HLDG thesis tells it in section 2.4.3.1.

use super::highspeed::{self, HighSpeed};
use crate::host::DataRtt;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup, causes, modes,
};

params::params! {
    /// α is the paper's; what the fast mode does is HighSpeed TCP's, with RFC 3649's values.
    pub struct Params {
        /// Fewer packets queued than this, and it grows fast.
        alpha: f64 = 1.641, 0.0 => 1000.0;
    }
}

/// State: the mode and the base RTT.
#[derive(Debug)]
pub struct Africa {
    alpha: f64,
    fast: HighSpeed,
    rtts: DataRtt,
    queued: f64,
    is_fast: bool,
}

impl Algorithm for Africa {
    const ABOUT: About = About {
        name: "africa",
        title: "TCP-Africa",
        paper: "King, Baraniuk and Riedi, TCP-Africa: an adaptive and fair rapid increase rule for scalable TCP, INFOCOM 2005",
        family: Family::DualSignal,
        signal: "loss, RTT per round",
        evidence: Evidence::Equations,
        departures: &["the mode is chosen at the end of each round, by the host's smoothed RTT"],
        modes: &[modes::DELAY, modes::LOSS],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let rtts = DataRtt::of(setup.flow);
        let fast = HighSpeed::new(&highspeed::Params::default(), setup);
        Africa { alpha: p.alpha, fast, rtts, queued: 0.0, is_fast: true }
    }
}

impl Africa {
    fn end_of_round(&mut self, flow: &mut Flow) {
        if flow.srtt.is_zero() {
            return;
        }
        let queue = self.rtts.queue(flow.srtt);
        self.queued = flow.cwnd.packets(flow.mss) * (queue / flow.srtt);
        let fast = self.queued < self.alpha;
        if fast != self.is_fast {
            self.is_fast = fast;
            let (from, to) = if fast { (modes::LOSS, modes::DELAY) } else { (modes::DELAY, modes::LOSS) };
            flow.note(causes::ModeSwitch { from, to, queue: queue.as_nanos() as i64, ..Default::default() });
        }
    }
}

impl CongestionControl for Africa {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rtts.see(ack);
        if ack.round.is_some() {
            self.end_of_round(flow);
        }
        if self.is_fast {
            self.fast.on_ack(flow, ack);
        } else {
            flow.grow_as_reno(ack.cumulative);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        if self.is_fast { self.fast.on_congestion(flow, congestion) } else { Reaction::Reduce(flow.cwnd / 2) }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("queued", self.queued);
        see("fast", self.is_fast as u8 as f64);
    }
}

#[cfg(test)]
mod tests;
