//! Vegas+: Vegas while it is alone with its like, Reno while the RTT rises though its own window does not.
//!
//! ```text
//! ACK, cwnd not grown since the last:   RTT risen: count += 1;   RTT fallen: count −= 1 (not below 0)
//! loss:      count /= 2                 timeout: count = 0
//! count ≥ 8: aggressive, grows as Reno  count = 0: moderate, Vegas
//! ```
//! Source: Hasegawa, Kurata and Murata, Analysis and improvement of fairness between TCP Reno and Vegas for deployment
//! of TCP Vegas to the Internet, ICNP 2000, as the HLDG thesis tells it in section 2.4.2.1. RTTs that jitter push the
//! count up as well as down, and losses that Reno's growth causes only halve it: it may never find back.

use super::vegas::{self, Vegas};
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Setup, Signal,
    StartRule, causes, modes,
};
use core::cmp::Ordering;
use params::{Auto, ParamError};
use units::{Bytes, Duration};

params::params! {
    /// Vegas' thresholds, and the paper's count.
    pub struct Params {
        /// Grow while fewer packets than this are queued (moderate).
        alpha: f64 = 1.0, 0.0 => 1000.0;
        /// Shrink while more packets than this are queued (moderate).
        beta: f64 = 3.0, 0.0 => 1000.0;
        /// So many rises of the RTT more than falls mean a loss-based competitor.
        count_max: u32 = 8, 1 => 1000;
    }
    check |p| {
        if p.alpha <= p.beta { Ok(()) } else { Err(ParamError::Conflict("vegas_plus: alpha must not exceed beta (1 and 3)".into())) }
    }
}

/// State: Vegas', the count, and RTT and window at the last ACK.
#[derive(Debug)]
pub struct VegasPlus {
    vegas: Vegas,
    count_max: u32,
    count: u32,
    aggressive: bool,
    last: Option<(Duration, Bytes)>,
}

impl Algorithm for VegasPlus {
    const ABOUT: About = About {
        name: "vegas_plus",
        title: "Vegas+",
        paper: "Hasegawa, Kurata and Murata, Analysis and improvement of fairness between TCP Reno and Vegas, ICNP 2000",
        family: Family::DualMode,
        signal: "RTT per round; trend of the RTT",
        evidence: Evidence::Equations,
        departures: &[
            "slow start stays Vegas' in either mode",
            "losses in either mode halve the window, as Vegas' here",
        ],
        start: StartRule::Own("vegas"),
        modes: &[modes::DELAY, modes::LOSS],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let inner = vegas::Params { alpha: Auto::of(p.alpha), beta: Auto::of(p.beta), ..Default::default() };
        let vegas = Vegas::new(&inner, setup);
        VegasPlus { vegas, count_max: p.count_max, count: 0, aggressive: false, last: None }
    }
}

impl VegasPlus {
    fn watch(&mut self, flow: &mut Flow, rtt: Duration) {
        if let Some((before, cwnd)) = self.last.replace((rtt, flow.cwnd))
            && flow.cwnd <= cwnd
        {
            match rtt.cmp(&before) {
                Ordering::Greater => self.count = self.count.saturating_add(1),
                Ordering::Less => self.count = self.count.saturating_sub(1),
                Ordering::Equal => {}
            }
        }
        let aggressive = self.count >= self.count_max || (self.aggressive && self.count > 0);
        if aggressive != self.aggressive {
            let (from, to) = if aggressive { (modes::DELAY, modes::LOSS) } else { (modes::LOSS, modes::DELAY) };
            let queue = rtt.saturating_sub(flow.min_rtt).as_nanos() as i64;
            flow.note(causes::ModeSwitch { from, to, queue, ..Default::default() });
            self.aggressive = aggressive;
        }
    }
}

impl CongestionControl for VegasPlus {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        // Slow start's resting rounds hear the queue of its growing ones.
        if let Some(rtt) = ack.rtt.filter(|_| !flow.in_slow_start()) {
            self.watch(flow, rtt);
        }
        if !self.aggressive || flow.in_slow_start() {
            return self.vegas.on_ack(flow, ack);
        }
        self.vegas.hear(ack);
        flow.grow_as_reno(ack.cumulative);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        self.count = if congestion.signal == Signal::Timeout { 0 } else { self.count / 2 };
        self.vegas.on_congestion(flow, congestion)
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::Timeout {
            self.count = 0;
        }
        self.vegas.on_event(flow, event);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.vegas.vars(see);
        see("count", self.count as f64);
        see("aggressive", self.aggressive as u8 as f64);
    }
}

#[cfg(test)]
mod tests;
