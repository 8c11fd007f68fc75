//! PI: drops arrivals with a probability that a proportional-integral controller sets from the queue length. Hollot, Misra,
//! Towsley and Gong, INFOCOM 2001.
//!
//! ```text
//! at 170 Hz:  p += a (q − q_ref) − b (q before − q_ref)
//! ```
//!
//! As ns-2's `pi.cc`. b is a little less than a: the discrete form of a controller with a zero. At a queue at rest p moves by
//! (a − b)(q − q_ref): with b = a there is no integral, p is a·q whatever q_ref, and with b above a an empty link would raise p
//! until nothing comes in ever again. PIE is its child that measures delay and scales itself.
//!
//! No safeguard: with ECN, senders that ignore marks are bounded by the buffer alone.

use super::{Integrator, Ticker};
use crate::{Law, LawKind, LinkInfo, Look, Verdict};
use params::{ParamError, Value};
use units::{Bytes, Duration, Instant, Rng};

params::params! {
    /// What users may set.
    pub struct Params {
        /// Packets held that the controller aims at.
        q_ref: f64 = 50.0, 0.0 => 1e6;
        /// Weight of the error now (designed for 60 flows, 15 Mbit/s in packets of 500 B and 246 ms).
        a: f64 = 1.822e-5, 0.0 => 1.0;
        /// Weight of the error before; at most a.
        b: f64 = 1.816e-5, 0.0 => 1.0;
        /// Updates a second.
        hz: f64 = 170.0, 0.1 => 10_000.0;
        /// Measure in bytes, and let p go with a packet's size.
        bytes: bool = false;
        /// Size of a packet on average, for bytes (ns-2 500 B); 0 is the link's MTU.
        mean_packet: Bytes = Bytes::ZERO, Bytes::ZERO => Bytes::new(65_535);
        /// Mark packets that can be marked instead of dropping them.
        ecn: bool = false;
    }
    check |p| {
        if p.b > p.a {
            return Err(ParamError::Conflict(alloc::format!(
                "b = {} must not be above a = {}: on an empty queue p would rise by (b - a) q_ref at every update, to 1 and for ever",
                p.b.show(), p.a.show()
            )));
        }
        p.need(&Params::default(), &["q_ref"], p.b < p.a, "b below a")?;
        p.need(&Params::default(), &["mean_packet"], p.bytes, "bytes=true")
    }
}

/// PI's state.
#[derive(Clone, Debug)]
pub struct Pi {
    params: Params,
    p: Integrator,
    before: f64,
    ticker: Ticker,
    rng: Rng,
}

impl Pi {
    fn mean(&self, look: &Look) -> Bytes {
        if self.params.mean_packet.is_zero() { look.mtu } else { self.params.mean_packet }.max(Bytes::new(1))
    }

    fn length(&self, look: &Look) -> f64 {
        if self.params.bytes { look.own_backlog.packets(self.mean(look)) } else { look.len as f64 }
    }

    fn delta(&self, q: f64) -> f64 {
        self.params.a * (q - self.params.q_ref) - self.params.b * (self.before - self.params.q_ref)
    }
}

impl Law for Pi {
    fn advance(&mut self, look: &Look) {
        if self.ticker.due(look.now).is_none() {
            return;
        }
        let q = self.length(look);
        self.p.add(self.delta(q), 1);
        self.before = q;
        // The queue stays as it is until the next event, and so does the step.
        let (missed, _) = self.ticker.skip(look.now);
        self.p.add(self.delta(q), missed);
    }

    fn on_enqueue(&mut self, look: &Look) -> Verdict {
        let part = if self.params.bytes { look.size.packets(self.mean(look)) } else { 1.0 };
        if !self.rng.chance((self.p.get() * part).min(1.0)) {
            return Verdict::Pass;
        }
        if self.params.ecn { Verdict::Mark } else { Verdict::Drop }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("p", self.p.get());
    }
}

impl LawKind for Pi {
    const PAPER: &'static str = "Hollot, Misra, Towsley and Gong, INFOCOM 2001";
    const DOC: &'static str = "Drops arrivals at random, more often the longer the queue and the faster it grows.";
    type Params = Params;

    fn new(params: &Params, _: &LinkInfo, rng: Rng) -> Self {
        let period = Duration::from_secs_f64(1.0 / params.hz);
        Pi {
            params: params.clone(),
            p: Integrator::new(1.0),
            before: 0.0,
            ticker: Ticker::new(Instant::ZERO, period, period),
            rng,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::testing::{link, look, side_by_side};
    use units::streams;

    fn pi(params: Params) -> Pi {
        Pi::new(&params, &link(10.0), Rng::new(1, 0, streams::AQM))
    }

    #[test]
    fn one_update_at_100_after_80_packets() {
        let mut pi = pi(Params::default());
        pi.before = 80.0;
        assert!((pi.delta(100.0) - 3.662e-4).abs() < 1e-7, "{}", pi.delta(100.0));
        pi.advance(&look(Instant::from_millis(6), 100));
        assert!((pi.p.get() - 3.662e-4).abs() < 1e-7);
        pi.before = 50.0;
        assert_eq!(pi.delta(50.0), 0.0);
    }

    #[test]
    fn p_rests_at_the_reference_and_ends_at_its_bounds() {
        let mut law = pi(Params::default());
        law.advance(&look(Instant::from_secs_f64(4e9), 51));
        assert!(law.p.is_most(), "one packet too many for ever");
        law.advance(&look(Instant::from_secs_f64(8e9), 49));
        assert_eq!(law.p.get(), 0.0);
    }

    #[test]
    fn without_an_integral_p_follows_the_queue_down_again() {
        let mut law = pi(Params { a: 1e-3, b: 1e-3, ..Params::default() });
        let mut p = |seconds, len| {
            law.advance(&look(Instant::from_secs_f64(seconds), len));
            (law.p.get() * 1e6).round()
        };
        assert_eq!([p(1.0, 30), p(2.0, 30), p(3.0, 10), p(4.0, 0)], [30_000.0, 30_000.0, 10_000.0, 0.0]);
    }

    #[test]
    fn catching_up_equals_a_real_tick() {
        let params = Params { q_ref: 10.0, a: 1.1e-3, b: 1e-3, ecn: true, ..Params::default() };
        let p = side_by_side(|rng| Pi::new(&params, &link(10.0), rng), |law| law.p.get());
        assert!(p.0 == 0.0 && p.1 > 0.05, "{p:?}");
    }
}
