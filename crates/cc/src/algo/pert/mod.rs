//! PERT: act at the sender as an AQM would in the router, on the queueing delay, before anything is dropped.
//!
//! ```text
//! srtt = 0.99·srtt + 0.01·RTT per ACK           q = srtt − RTT_min
//! law=red:  P(q) 0 up to th_min;  to p_max at th_max;  to 1 at 2·th_max;  straight between them    (gentle RED)
//! law=pi:   P moves until q is the target (pi.rs)
//! per ACK, with probability P, at most once an RTT:   cwnd = 0.65·cwnd
//! else as Reno: +1 a round, half on loss              coexist: +α a round, and other cuts (coexist.rs)
//! ```
//! The thresholds are times. Where a window of two packets alone has an RTT longer than RTT_min by 2·th_max, P is one whatever
//! it does and the window stays at two: 37 % of 1 Mbit/s and 40 ms that had been 20 Mbit/s (all of it with `coexist`, where P
//! reaches one the later, the longer the queue has been).
//!
//! Source: Bhandarkar, Reddy, Zhang and Loguinov, Emulating AQM from end hosts, SIGCOMM 2007, as the HLDG thesis tells it
//! in section 2.4.1.7 and Figure 2.12. The thesis adds the thresholds to RTT_min and then doubles one; what is doubled
//! here is the queueing delay. `coexist`: Kotla and Reddy, IWQoS 2008, with the constants of the port to ns-3, which is
//! `tcp-pert-red.cc` in rahul-nitk/Implementation-of-RED-like-PERT-algorithm-in-ns-3 and `tcp-pert-pi.cc` in
//! noorsgalaxy/Implementation-of-PI-like-PERT-algorithm-in-ns-3.

mod coexist;
mod pi;

use crate::filter::Ewma;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, How, Reaction, Setup, causes, ppb,
};
use coexist::Coexist;
use params::ParamError;
use pi::Pi;
use units::{Bytes, Duration, Rng};

params::choice! {
    /// Which AQM is emulated.
    pub enum Law {
        /// Gentle RED.
        Red = "red",
        /// The proportional-integral controller.
        Pi = "pi",
    }
}

params::params! {
    /// Values of the paper; the target of `law=pi` is from memory.
    pub struct Params {
        /// Which AQM is emulated.
        law: Law = Law::Red;
        /// No back-off at or below this queueing delay.
        th_min: Duration = Duration::from_millis(5), Duration::ZERO => Duration::from_secs(1);
        /// The queueing delay at which the probability is p_max; it is one at twice this.
        th_max: Duration = Duration::from_millis(10), Duration::from_micros(100) => Duration::from_secs(2);
        /// Back-off probability per ACK at th_max.
        p_max: f64 = 0.05, 0.0 => 1.0;
        /// Weight of a sample in the smoothed RTT.
        gain: f64 = 0.01, 0.001 => 1.0;
        /// What a delay back-off leaves of the window; with `coexist` the queue decides.
        beta_delay: f64 = 0.65, 0.1 => 0.99;
        /// The queueing delay that `law=pi` holds.
        target: Duration = Duration::from_millis(3), Duration::from_micros(100) => Duration::from_secs(1);
        /// Make up for early responses where others answer only to loss.
        coexist: bool = false;
    }
    check |p| {
        if p.th_min < p.th_max { Ok(()) } else { Err(ParamError::Conflict("pert: th_min must be below th_max (5ms and 10ms)".into())) }
    }
}

impl Params {
    /// Figure 2.12 of the thesis, where P is one at `certain` = 2·th_max.
    fn probability(&self, q: Duration, certain: Duration) -> f64 {
        if q <= self.th_min {
            0.0
        } else if q <= self.th_max {
            self.p_max * ((q - self.th_min) / (self.th_max - self.th_min))
        } else {
            (self.p_max + (1.0 - self.p_max) * ((q - self.th_max) / (certain - self.th_max))).min(1.0)
        }
    }
}

/// State: the slow average, the dice, and up to where the last back-off is still to be felt.
#[derive(Debug)]
pub struct Pert {
    p: Params,
    rng: Rng,
    srtt_ms: Ewma,
    /// Once this is delivered, the last back-off has been felt.
    felt: Bytes,
    probability: f64,
    pi: Pi,
    coexist: Option<Coexist>,
}

impl Algorithm for Pert {
    const ABOUT: About = About {
        name: "pert",
        title: "PERT",
        paper: "Bhandarkar, Reddy, Zhang and Loguinov, Emulating AQM from end hosts, SIGCOMM 2007",
        family: Family::Delay,
        signal: "queueing delay per ACK, smoothed",
        evidence: Evidence::Equations,
        departures: &[
            "early responses in slow start, too, which the first of them ends: the thesis has them on every ACK. The port to ns-3 has \
             none below the threshold",
            "law=pi: gains by the design rule for routers with the flow's own window and RTT; the paper's constants were not at hand, \
             and the port's are a router's for packets (1.822e-5 and 1.816e-5 at 170 Hz), taken for seconds: P settles at nothing \
             below half a second of queue and gains 1e-5 a second with a second more. It rests while a response is still to be \
             felt, and goes by the newest delay where the average is behind",
            "coexist: after the port to ns-3; α begins at 1, there at its largest, 32; a loss halves, there it leaves what an early \
             response would; α is chosen on every ACK that is due, there only between two losses; the ACK of an early response \
             grows the window first, or a window of one ACK a round would never grow",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let srtt_ms = Ewma::new(p.gain);
        let coexist = p.coexist.then(Coexist::new);
        let (felt, pi) = (Bytes::ZERO, Pi::default());
        Pert { p: p.clone(), rng: setup.rng, srtt_ms, felt, probability: 0.0, pi, coexist }
    }
}

impl Pert {
    fn queue(&self, flow: &Flow) -> Duration {
        let srtt = self.srtt_ms.get().map_or(Duration::ZERO, Duration::from_millis_f64);
        srtt.saturating_sub(flow.min_rtt)
    }
}

impl Pert {
    /// The probability of an early response now.
    fn respond(&mut self, flow: &Flow, queue: Duration) -> f64 {
        match self.p.law {
            Law::Pi => {
                // With a small window the average follows slowly: a queue that the newest RTT shows to be gone needs no
                // answer.
                let queue = queue.min(flow.rtt.saturating_sub(flow.min_rtt));
                // The gains are those at the target, whatever the queue is now (`pi.rs`).
                let rtt = flow.min_rtt + self.p.target;
                let w = flow.cwnd.packets(flow.mss) * (rtt / flow.srtt.max(rtt));
                if flow.delivered >= self.felt {
                    self.pi.advance(flow.now, queue, self.p.target, w, rtt);
                } else {
                    self.pi.pause(flow.now);
                }
                self.pi.probability
            }
            Law::Red if self.coexist.is_some() => self.p.probability(queue, Coexist::certain_at(flow, self.p.th_max)),
            Law::Red => self.p.probability(queue, self.p.th_max * 2),
        }
    }

    fn grow(&self, flow: &mut Flow, acked: Bytes) {
        let alpha = self.coexist.as_ref().map_or(1.0, |c| c.alpha);
        let acked = if flow.in_slow_start() { flow.slow_start(acked) } else { acked };
        if !acked.is_zero() {
            flow.additive(flow.cwnd.mul_f64(1.0 / alpha), acked);
        }
    }
}

impl CongestionControl for Pert {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.srtt_ms.update(rtt.as_millis_f64());
            let queue = self.queue(flow);
            if let Some(c) = &mut self.coexist {
                c.see(flow, ack.delivered.packets(flow.mss), queue, self.p.th_min);
            }
            self.probability = self.respond(flow, queue);
            if self.probability > 0.0 && flow.may_grow() && flow.delivered >= self.felt {
                let drew = self.rng.uniform();
                if drew < self.probability {
                    self.felt = flow.delivered + flow.in_flight;
                    let left = if self.p.coexist { Coexist::beta(flow, queue) } else { self.p.beta_delay };
                    if let Some(c) = &mut self.coexist {
                        c.early.close();
                        self.grow(flow, ack.cumulative);
                    }
                    let (probability, drew, queue) = (ppb(self.probability), ppb(drew), queue.as_nanos() as i64);
                    let cause = causes::DelayBackoff { probability, drew, queue, ..Default::default() };
                    flow.reduce(flow.cwnd.mul_f64(left), How::AtOnce, cause);
                    return;
                }
            }
        }
        if flow.may_grow() {
            self.grow(flow, ack.cumulative);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        self.felt = flow.delivered + flow.in_flight;
        if let Some(c) = &mut self.coexist {
            c.losses.close();
        }
        Reaction::Reduce(flow.cwnd / 2)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("srtt_ms", self.srtt_ms.get().unwrap_or(0.0));
        see("probability", self.probability);
        see("alpha", self.coexist.as_ref().map_or(1.0, |c| c.alpha));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow, packets};
    use units::Instant;

    #[test]
    fn the_curve_of_figure_2_12() {
        // Reference, section 2.8.
        let p = Params::default();
        for (us, expected) in
            [(5_000, 0.0), (7_500, 0.025), (10_000, 0.05), (15_000, 0.525), (20_000, 1.0), (90_000, 1.0)]
        {
            let got = p.probability(Duration::from_micros(us), p.th_max * 2);
            assert!((got - expected).abs() < 1e-12, "{us} µs: {got}");
        }
    }

    #[test]
    fn a_back_off_leaves_0_65_and_the_next_waits_for_a_round() {
        let mut f = flow(100, 100);
        (f.ssthresh, f.in_flight) = (packets(50), packets(100));
        let mut cc = Pert::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        // A queue of 20 ms from the first sample on: certain.
        let windows = [0, 50, 99, 100].map(|delivered| {
            f.delivered = packets(delivered);
            cc.on_ack(&mut f, &ack(0, 120));
            f.cwnd.get()
        });
        assert_eq!(windows, [65_000, 65_000, 65_000, 42_250]);
    }

    #[test]
    fn pi_reckons_with_the_window_that_the_target_would_leave() {
        // 103 of 206 ms: half of 40 packets.
        let mut f = flow(40, 100);
        (f.srtt, f.rtt, f.now) = (Duration::from_millis(206), Duration::from_millis(206), Instant::from_millis(10));
        let p = Params { law: Law::Pi, ..Params::default() };
        let mut cc = Pert::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        let mut pi = Pi::default();
        let queue = Duration::from_millis(50);
        pi.advance(f.now, queue, p.target, 20.0, Duration::from_millis(103));
        assert_eq!(cc.respond(&f, queue), pi.probability);
    }

    #[test]
    fn the_average_moves_by_a_hundredth() {
        let mut f = flow(100, 100);
        let mut cc = Pert::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        cc.on_ack(&mut f, &ack(0, 100));
        cc.on_ack(&mut f, &ack(0, 200));
        assert_eq!((cc.queue(&f), cc.probability), (Duration::from_millis(1), 0.0));
    }
}
