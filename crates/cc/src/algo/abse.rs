//! TCPW ABSE, adaptive bandwidth share estimation: one estimate between Westwood's two, its samples long in congestion and
//! short without, its memory long when samples jump about.
//!
//! ```text
//! VE = cwnd / RTT_min       RE: achieved over the last RTT, smoothed        T = RTT·(VE − RE)/VE, from an ACK's gap to the RTT
//! s = acknowledged in T / T          ERE = s filtered with τ = RTT + N·RTT·U/U_max, U the mean jump between samples
//! loss:  ssthresh = ERE·RTT_min, and the window if it is larger;  growth as Reno
//! ```
//! Source: Wang, Valla, Sanadidi and Gerla, Adaptive bandwidth share estimation in TCP Westwood, Globecom 2002. The
//! estimate lives in `host::EligibleRate`, where agile probing and adaptive start read it too.

use super::westwood::{carried, down_to, weighed};
use crate::host::EligibleRate;
use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup};
use units::Bytes;

params::params! {
    /// Nothing to set: N = 10 and the weights 0.6 and 0.4 of U are the estimate's.
    pub struct Params {}
}

/// State: the estimate.
#[derive(Debug)]
pub struct Abse {
    ere: EligibleRate,
}

impl Algorithm for Abse {
    const ABOUT: About = About {
        name: "abse",
        title: "TCPW ABSE",
        paper: "Wang, Valla, Sanadidi and Gerla, Adaptive bandwidth share estimation in TCP Westwood, Globecom 2002",
        family: Family::DelaySensitive,
        signal: "loss, rate of ACKs over an adaptive time",
        evidence: Evidence::Memory,
        departures: &["N = 10 and the ten values of U_max are from memory"],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(_: &Params, _: Setup<'_>) -> Self {
        Abse { ere: EligibleRate::new() }
    }
}

impl CongestionControl for Abse {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.ere.see(flow, ack);
        flow.grow_as_reno(ack.cumulative);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        down_to(carried(self.ere.get(), flow.min_rtt, flow), flow, congestion.signal)
    }

    fn weighed(&self, flow: &Flow) -> [Bytes; 2] {
        weighed(self.ere.get(), flow.min_rtt)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("ere_mbps", self.ere.get().unwrap_or(0.0) * 8e-6);
        see("span_ms", self.ere.span.as_millis_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::testing::{ack, congestion, flow, packets};
    use units::{Instant, Rng};

    /// Bunches of ten ACKs 1 ms apart, every 20 ms: 50 packets in a base RTT of 100 ms. Then a loss.
    fn after_loss(cwnd: u64, rtt: u64) -> u64 {
        let mut f = flow(cwnd, 100);
        f.srtt = crate::testing::ms(rtt);
        let mut cc = Abse::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        for n in 0..3000 {
            f.now = Instant::from_millis(n / 10 * 20 + n % 10);
            f.cwnd = packets(cwnd);
            cc.on_ack(&mut f, &ack(1, rtt));
        }
        f.cwnd = packets(cwnd);
        let c = congestion(Signal::Loss, &f);
        let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
        to.get() / 1000
    }

    #[test]
    fn a_window_that_queues_comes_down_to_the_achieved_rate() {
        // A window of 200 asks for four times what comes of it: samples of 300 of the 400 ms.
        let to = after_loss(200, 400);
        assert!((48..=53).contains(&to), "{to}");
    }

    #[test]
    fn a_window_that_gets_what_it_asks_for_is_sampled_shortly_and_keeps_more() {
        // VE = RE: samples of one gap, and those see the speed of the bunches.
        let (short, long) = (after_loss(50, 100), after_loss(200, 400));
        assert!(short >= 50 && long >= 48, "{short}, {long}");
        let mut f = flow(50, 100);
        let mut ere = EligibleRate::new();
        for n in 0..3000 {
            f.now = Instant::from_millis(n / 10 * 20 + n % 10);
            ere.see(&f, &ack(1, 100));
        }
        assert!(ere.span <= crate::testing::ms(20), "{:?}", ere.span);
        assert!(ere.get().unwrap() > 1.1 * 500_000.0, "{:?}", ere.get());
    }
}
