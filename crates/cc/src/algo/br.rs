//! TCPW BR, bulk repeat: a loss that does not look like congestion costs no window; everything in flight goes again at
//! once, and a timeout does not double the timer.
//!
//! ```text
//! congestion, if either:  RTT > RTT_min + th·(RTT_max − RTT_min)         the queue is long (as in DUAL)
//!                         RE < a·VE,  VE = cwnd / RTT_min                less comes through than the window asks for
//! congestion:             as NewReno
//! otherwise:              the window stays, all outstanding is sent again, the timer is not doubled
//! ```
//! Source: Yang, Wang, Sanadidi and Gerla, TCPW with bulk repeat in next generation wireless networks, ICC 2003, as section
//! 2.4.4.2 of the HLDG thesis tells it. Made for links that lose more than 2 % at random.

use crate::host::RecentRate;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup, Signal, causes,
};

params::params! {
    /// The paper's tests; their thresholds are from memory.
    pub struct Params {
        /// Part of the range of queueing delay beyond which a loss is congestion (th).
        queue: f64 = 0.4, 0.0 => 1.0;
        /// Achieved rates below this part of the expected one mean congestion (a).
        rate: f64 = 0.5, 0.0 => 1.0;
    }
}

/// State: the achieved rate over the last RTT, and losses taken for errors.
#[derive(Debug)]
pub struct BulkRepeat {
    p: Params,
    re: RecentRate,
    achieved: Option<f64>,
    repeats: u32,
}

impl Algorithm for BulkRepeat {
    const ABOUT: About = About {
        name: "br",
        title: "TCPW BR (bulk repeat)",
        paper: "Yang, Wang, Sanadidi and Gerla, TCPW with bulk repeat in next generation wireless networks, ICC 2003",
        family: Family::DelaySensitive,
        signal: "loss, judged by queueing delay and achieved rate",
        evidence: Evidence::Memory,
        departures: &[
            "both thresholds are from memory: the thesis' summary gives none",
            "what SACK says has arrived is not sent again",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        BulkRepeat { p: p.clone(), re: RecentRate::new(), achieved: None, repeats: 0 }
    }
}

impl BulkRepeat {
    fn is_congestion(&self, flow: &Flow) -> bool {
        let range = flow.max_rtt.saturating_sub(flow.min_rtt);
        let queued = !range.is_zero() && flow.rtt > flow.min_rtt + range.mul_f64(self.p.queue);
        let expected = flow.cwnd.as_f64() / flow.min_rtt.as_secs_f64();
        queued || self.achieved.is_none_or(|achieved| achieved < self.p.rate * expected)
    }
}

impl CongestionControl for BulkRepeat {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if !flow.srtt.is_zero() {
            self.re.see(flow.now, ack.delivered, flow.srtt);
            self.achieved = self.re.over(flow.now, flow.srtt);
        }
        flow.grow_as_reno(ack.cumulative);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        if congestion.signal == Signal::Ecn || flow.min_rtt.is_zero() || self.is_congestion(flow) {
            return Reaction::Reduce(flow.cwnd / 2);
        }
        self.repeats += 1;
        let queue = flow.rtt.saturating_sub(flow.min_rtt).as_nanos() as i64;
        flow.note(causes::LossTolerated { lost: congestion.lost.get() as i64, queue, ..Default::default() });
        Reaction::Repeat
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("re_mbps", self.achieved.unwrap_or(0.0) * 8e-6);
        see("repeats", self.repeats as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, flow, ms, packets};
    use units::{Instant, Rng};

    /// A loss at that RTT, between 100 and 200 ms seen before, with so many packets coming through in 100 ms of 50 asked for.
    fn loss(rtt: u64, through: u64, signal: Signal) -> Reaction {
        let mut f = flow(50, 100);
        f.max_rtt = ms(200);
        let mut cc =
            BulkRepeat::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        for n in 0..200 {
            f.now = Instant::from_nanos(n * 100_000_000 / through);
            f.cwnd = packets(50);
            cc.on_ack(&mut f, &ack(1, rtt));
        }
        (f.rtt, f.cwnd) = (ms(rtt), packets(50));
        let c = congestion(signal, &f);
        cc.on_congestion(&mut f, &c)
    }

    #[test]
    fn a_short_queue_and_a_good_rate_mean_an_error_on_the_link() {
        assert_eq!(loss(110, 50, Signal::Loss), Reaction::Repeat);
        assert_eq!(loss(140, 50, Signal::Timeout), Reaction::Repeat, "40 % of the range, not more");
    }

    #[test]
    fn a_long_queue_or_a_poor_rate_means_congestion() {
        assert_eq!(loss(141, 50, Signal::Loss), Reaction::Reduce(packets(25)));
        assert_eq!(loss(110, 20, Signal::Loss), Reaction::Reduce(packets(25)), "20 of 50 is under one half");
        assert_eq!(loss(110, 50, Signal::Ecn), Reaction::Reduce(packets(25)), "a mark is no error");
    }
}
