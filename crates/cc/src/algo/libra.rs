//! Libra: growth and cut scaled by the RTT so that flows of any RTT share alike, and growth by the capacity of the path so
//! that large ones are filled soon.
//!
//! ```text
//! per packet acknowledged:  w += α/w · RTT² / (RTT + T₀)
//! α = k₁·C·p;   p = e^(−k₂·Q/Q_max)                C: capacity in Mbit/s;  Q = RTT − RTT_min, Q_max = RTT_max − RTT_min
//! loss:                     w −= T₁·w / (2·(RTT + T₀))
//! ```
//! RTTs in seconds. C makes α depend on the unit of capacity, and a longer RTT loses less.
//!
//! Source: Marfia, Palazzi, Pau, Gerla, Sanadidi and Roccetti, TCP Libra: exploring RTT-fairness for TCP, 2005/2007, as the
//! HLDG thesis tells it in section 2.4.3.3 (Eq 2.18 to 2.21); capacity by CapProbe, [`CapProbe`].

use crate::host::CapProbe;
use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup};
use units::{Duration, math};

params::params! {
    /// Values of the paper, from the thesis.
    pub struct Params {
        /// Growth per Mbit/s of capacity (k₁).
        k1: f64 = 2.0, 0.01 => 100.0;
        /// How much a queue slows growth (k₂).
        k2: f64 = 2.0, 0.0 => 100.0;
        /// RTTs well below this grow with their square (T₀).
        t0: Duration = Duration::from_secs(1), Duration::from_millis(1) => Duration::from_secs(100);
        /// What a loss takes is this over 2·(RTT + T₀) (T₁).
        t1: Duration = Duration::from_secs(1), Duration::from_millis(1) => Duration::from_secs(100);
    }
    check |p| {
        if p.t1 <= p.t0 * 2 { Ok(()) } else { Err(params::ParamError::Conflict("libra: t1 must not exceed twice t0, or a loss takes more than there is (both 1s)".into())) }
    }
}

/// State: what packet pairs say of the capacity.
#[derive(Debug)]
pub struct Libra {
    p: Params,
    capacity: CapProbe,
    alpha: f64,
}

impl Algorithm for Libra {
    const ABOUT: About = About {
        name: "libra",
        title: "TCP Libra",
        paper: "Marfia, Palazzi, Pau, Gerla, Sanadidi and Roccetti, TCP Libra: exploring RTT-fairness for TCP, UCLA 2005; Networking 2007",
        family: Family::DualSignal,
        signal: "loss, queueing delay per ACK, packet pairs",
        evidence: Evidence::Equations,
        departures: &["before the first pair the capacity is taken for that of the window over the RTT"],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        Libra { p: p.clone(), capacity: CapProbe::default(), alpha: 0.0 }
    }
}

impl Libra {
    /// Eq 2.20 and 2.21.
    fn alpha(&self, capacity_mbps: f64, queue: Duration, largest: Duration) -> f64 {
        let q = if largest.is_zero() { 0.0 } else { queue / largest };
        self.p.k1 * capacity_mbps * math::exp(-self.p.k2 * q)
    }

    /// Eq 2.18: packets that a round adds.
    fn growth(&self, rtt: Duration) -> f64 {
        let (rtt, t0) = (rtt.as_secs_f64(), self.p.t0.as_secs_f64());
        self.alpha * rtt * rtt / (rtt + t0)
    }

    /// Eq 2.19: what part a loss takes.
    fn cut(&self, rtt: Duration) -> f64 {
        self.p.t1.as_secs_f64() / (2.0 * (rtt.as_secs_f64() + self.p.t0.as_secs_f64()))
    }
}

impl CongestionControl for Libra {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.capacity.see(flow, ack);
        if let Some(rtt) = ack.rtt {
            let capacity = self.capacity.get().unwrap_or(flow.cwnd / flow.srtt.max(Duration::from_micros(1)));
            let (queue, largest) = (rtt.saturating_sub(flow.min_rtt), flow.max_rtt.saturating_sub(flow.min_rtt));
            self.alpha = self.alpha(capacity.as_mbps(), queue, largest);
        }
        if !flow.may_grow() {
            return;
        }
        let mut acked = ack.cumulative;
        if flow.in_slow_start() {
            acked = flow.slow_start(acked);
        }
        // No faster than slow start.
        let growth = self.growth(flow.rtt).min(flow.cwnd.packets(flow.mss));
        if !acked.is_zero() && growth > 0.0 {
            flow.additive(flow.cwnd.mul_f64(1.0 / growth), acked);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd.mul_f64(1.0 - self.cut(flow.rtt)))
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha);
        see("capacity_mbps", self.capacity.get().map_or(0.0, |c| c.as_mbps()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::testing::{ack, congestion, flow, ms, packets};
    use units::Rng;

    fn libra(f: &mut Flow) -> Libra {
        f.ssthresh = packets(2);
        Libra::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
    }

    #[test]
    fn growth_at_100_ms_over_10_mbit() {
        // Reference, section 4.3: 0.18 packets a round, +0.00182 a packet of a window of 100.
        let mut cc = libra(&mut flow(100, 100));
        cc.alpha = cc.alpha(10.0, ms(0), ms(100));
        assert_eq!(cc.alpha, 20.0);
        assert!((cc.growth(ms(100)) / 100.0 - 0.00182).abs() < 5e-6);
        // A full queue leaves e⁻² of it; ten times the RTT grows 55 times as much a round.
        assert!((cc.alpha(10.0, ms(100), ms(100)) / 20.0 - 0.1353).abs() < 5e-5);
        assert!((cc.growth(ms(1000)) / cc.growth(ms(100)) - 55.0).abs() < 1e-9);
    }

    #[test]
    fn a_loss_takes_45_of_100_packets_and_less_at_longer_rtts() {
        for (rtt, left) in [(100, 54_545), (1000, 75_000)] {
            let mut f = flow(100, rtt);
            let mut cc = libra(&mut f);
            let c = congestion(Signal::Loss, &f);
            let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
            assert!(to.get().abs_diff(left) <= 1, "{to:?}");
        }
    }

    #[test]
    fn a_second_of_acks_adds_what_the_equation_says() {
        // 8 Mbit/s by a pair: α = 16, at 500 ms and an empty queue 16 · 0.25/1.5 = 2.67 a round; two rounds.
        let mut f = flow(100, 500);
        let mut cc = libra(&mut f);
        for n in 0..203u64 {
            f.now = units::Instant::from_millis(1000 + n);
            cc.on_ack(&mut f, &Ack { sent_at: units::Instant::from_millis(1000), ..ack(1, 500) });
        }
        assert_eq!((cc.alpha, f.cwnd.get() / 1000), (16.0, 105));
    }
}
