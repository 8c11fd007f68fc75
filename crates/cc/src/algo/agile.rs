//! TCPW-A, agile probing: an eligible rate keeps raising the threshold that slow start climbs to, at the start and again
//! whenever congestion stays away for rounds, the latter with any slow start.
//!
//! ```text
//! ERE = ABSE's estimate
//! probing:     each round, ssthresh < ERE·RTT_min: ssthresh = ERE·RTT_min;   below it as slow start, at it as Reno
//! avoidance:   as Reno; each round is judged by its achieved rate RE (non-congestion detection):
//!              IER = ssthresh / RTT_min when avoidance began      EER = cwnd / RTT_min
//!              RE > β·IER + (1 − β)·EER: one round more without congestion, else one less
//!              more than 4: probing begins again
//! loss:        ssthresh = ERE·RTT_min, and the window if it is larger
//! ```
//! Source: Wang, Yamada, Sanadidi and Gerla, TCP with sender-side intelligence to handle dynamic, large, leaky pipes, IEEE
//! JSAC 23(2), 2005, partly from memory; HLDG thesis, section 2.4.4.2. Its start alone is `slow_start=adaptive`.

use super::westwood::{carried, down_to, weighed};
use crate::host::EligibleRate;
use crate::start::adaptive::raise;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Round, Setup,
    causes, probes,
};
use units::Bytes;

params::params! {
    /// From memory of the paper.
    pub struct Params {
        /// Packets that slow start climbs to before the estimate is there (the initial ssthresh, as `slow_start=adaptive`).
        initial: u32 = 32, 2 => 100_000;
        /// Weight of the rate at the beginning of avoidance in the boundary between congestion and none (β).
        beta: f64 = 0.5, 0.0 => 1.0;
        /// So many rounds without congestion, and one more, start a probe.
        rounds: u32 = 4, 1 => 1000;
    }
}

/// State: the estimate, and the search for lasting absence of congestion.
#[derive(Debug)]
pub struct Agile {
    p: Params,
    ere: EligibleRate,
    /// The threshold follows the estimate.
    probing: bool,
    /// Rate expected when avoidance began, in bytes per second.
    initial: f64,
    calm: u32,
    /// Its beginning is among the events, which that of the first slow start is not.
    told: bool,
}

impl Algorithm for Agile {
    const ABOUT: About = About {
        name: "agile",
        title: "TCPW-A (agile probing)",
        paper: "Wang, Yamada, Sanadidi and Gerla, TCP with sender-side intelligence to handle dynamic, large, leaky pipes, \
                IEEE JSAC 23(2), 2005",
        family: Family::DelaySensitive,
        signal: "loss, eligible rate, achieved against expected rate",
        evidence: Evidence::Memory,
        departures: &["β, the count of rounds and the estimate's constants are from memory"],
        start: crate::StartRule::Own("adaptive"),
        of_start: &["initial"],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        if setup.own_start {
            // An infinite threshold could not be raised.
            setup.flow.ssthresh = (setup.flow.mss * p.initial as u64).max(setup.flow.cwnd);
        }
        Agile { p: p.clone(), ere: EligibleRate::new(), probing: setup.own_start, initial: 0.0, calm: 0, told: false }
    }
}

/// The boundary between congestion and none: below what the window asks for, above what avoidance began with.
fn boundary(initial: f64, expected: f64, beta: f64) -> f64 {
    beta * initial + (1.0 - beta) * expected
}

impl Agile {
    /// A round of avoidance: has congestion stayed away for long enough?
    fn judge(&mut self, flow: &mut Flow, round: &Round) {
        let length = round.end.since(round.start).as_secs_f64();
        if length <= 0.0 || flow.min_rtt.is_zero() {
            return;
        }
        let achieved = round.delivered.as_f64() / length;
        let window = if round.cwnd.is_zero() { flow.cwnd } else { round.cwnd };
        let expected = window.as_f64() / flow.min_rtt.as_secs_f64();
        if achieved > boundary(self.initial, expected, self.p.beta) {
            self.calm += 1;
        } else {
            self.calm = self.calm.saturating_sub(1);
        }
        if self.calm > self.p.rounds {
            (self.probing, self.calm, self.told) = (true, 0, true);
            flow.note(causes::ProbeStart { what: probes::BANDWIDTH, base_rtt: flow.min_rtt.as_nanos() as i64 });
        }
    }

    fn end_probe(&mut self, flow: &mut Flow) {
        self.probing = false;
        if core::mem::take(&mut self.told) {
            let queue = flow.rtt.saturating_sub(flow.min_rtt).as_nanos() as i64;
            flow.note(causes::ProbeEnd { what: probes::BANDWIDTH, base_rtt: flow.min_rtt.as_nanos() as i64, queue });
        }
    }

    /// Avoidance begins at this window.
    fn settle(&mut self, flow: &Flow) {
        self.initial = flow.ssthresh.min(flow.cwnd).as_f64() / flow.min_rtt.as_secs_f64().max(1e-9);
        self.calm = 0;
    }
}

impl CongestionControl for Agile {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.ere.see(flow, ack);
        let (slow_start, probed) = (flow.in_slow_start(), self.probing);
        if probed && flow.may_grow() {
            // The first round's ACKs come at the sender's speed.
            if let Some(rate) = self.ere.get().filter(|_| ack.round.as_ref().is_some_and(|r| r.number > 1)) {
                raise(flow, rate);
            }
        } else if let Some(round) = ack.round.as_ref().filter(|_| !slow_start) {
            self.judge(flow, round);
        }
        flow.grow_as_reno(ack.cumulative);
        if slow_start && !flow.in_slow_start() {
            self.settle(flow);
        }
        // A probe that has reached its threshold and is not carried further is over.
        if probed && !slow_start && ack.round.is_some() && !flow.in_slow_start() {
            self.end_probe(flow);
            self.settle(flow);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        self.end_probe(flow);
        down_to(carried(self.ere.get(), flow.min_rtt, flow), flow, congestion.signal)
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::RecoveryEnd {
            self.settle(flow);
        }
    }

    fn weighed(&self, flow: &Flow) -> [Bytes; 2] {
        weighed(self.ere.get(), flow.min_rtt)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("ere_mbps", self.ere.get().unwrap_or(0.0) * 8e-6);
        see("calm_rounds", self.calm as f64);
        see("probing", self.probing as u8 as f64);
    }
}

#[cfg(test)]
mod tests;
