//! REM: drops arrivals with a probability that grows exponentially with a price, which adds up the mismatch of queue and
//! rate. Athuraliya, Low, Li and Yin, IEEE Network 15(3), 2001.
//!
//! ```text
//! every tupdate:  price ← max(0, price + γ (in + α (q − q_ref) − c))       in, c: packets come and sent at most
//! p = 1 − φ^(−price)                                        so the p of a path is that of the sum of its prices
//! ```
//!
//! As ns-2's `rem.cc`, which the bachelor's thesis ran: α is 0.1 there, hard-wired, although the thesis prints 1.
//!
//! With ECN, packets that can be marked are marked when they leave, as in ns-2; there is no safeguard.
//!
//! In sub-queues REM's c is the whole link's: the price of a flow that has a share of it stands still at a queue longer than
//! q_ref, by (c − in)/α packets.
//!
//! Departures: ns-2 lets what cannot be marked pass under ECN; we drop it on arrival with the same p. The price stops where
//! p is 1 in floating point (36,737 by default).

use super::{Integrator, Ticker};
use crate::{Law, LawKind, LinkInfo, Look, Verdict};
use units::{Bytes, Duration, Instant, Rate, Rng, math};

params::params! {
    /// What users may set.
    pub struct Params {
        /// Packets held where the price stands still (the suite sets a part of the buffer).
        q_ref: f64 = 20.0, 0.0 => 1e6;
        /// Weight of a mismatch in the price.
        gamma: f64 = 0.001, 0.0 => 1.0;
        /// Base of the probability's exponential.
        phi: f64 = 1.001, 1.0001 => 10.0;
        /// Weight of the queue's mismatch beside the rate's (ns-2's constant).
        alpha: f64 = 0.1, 0.0 => 10.0;
        /// Time between updates.
        tupdate: Duration = Duration::from_millis(2), Duration::from_micros(100) => Duration::from_secs(10);
        /// Weight of the last period in the rate of arrivals.
        weight: f64 = 1.0, 0.001 => 1.0;
        /// Size of a packet on average (the suite 1400 B); 0 is the link's MTU.
        mean_packet: Bytes = Bytes::new(1_000), Bytes::ZERO => Bytes::new(65_535);
        /// Measure in bytes, and let p go with a packet's size.
        bytes: bool = false;
        /// Mark packets that can be marked instead of dropping them.
        ecn: bool = false;
    }
}

/// REM's state.
#[derive(Clone, Debug)]
pub struct Rem {
    p: Params,
    price: Integrator,
    /// Arrivals in this period, and their average a period.
    count: f64,
    arrivals: f64,
    probability: f64,
    /// Packets the link can send in a period.
    capacity: f64,
    mean: Bytes,
    ticker: Ticker,
    rng: Rng,
}

impl Rem {
    fn length(&self, look: &Look) -> f64 {
        if self.p.bytes { look.own_backlog.packets(self.mean) } else { look.len as f64 }
    }

    /// The change of the price in a period that ends with a queue of `q`.
    fn step(&self, q: f64) -> f64 {
        self.p.gamma * (self.arrivals + self.p.alpha * (q - self.p.q_ref) - self.capacity)
    }

    #[cold]
    fn catch_up(&mut self, now: Instant, q: f64) {
        while self.ticker.due(now).is_some() {
            self.arrivals += self.p.weight * (self.count - self.arrivals);
            self.count = 0.0;
            let step = self.step(q);
            self.price.add(step, 1);
            // Nothing has come for long: the steps that remain are equal.
            if self.arrivals < 1e-9 {
                self.arrivals = 0.0;
                let (missed, _) = self.ticker.skip(now);
                self.price.add(self.step(q), missed);
            }
        }
        self.probability = 1.0 - math::pow(self.p.phi, -self.price.get());
    }

    /// What a packet counts for, in packets.
    fn part(&self, look: &Look) -> f64 {
        if self.p.bytes { look.size.packets(self.mean) } else { 1.0 }
    }

    fn strikes(&mut self, look: &Look) -> bool {
        self.rng.chance((self.probability * self.part(look)).min(1.0))
    }
}

impl Law for Rem {
    #[inline]
    fn advance(&mut self, look: &Look) {
        if self.ticker.is_due(look.now) {
            self.catch_up(look.now, self.length(look));
        }
    }

    fn on_enqueue(&mut self, look: &Look) -> Verdict {
        self.count += self.part(look);
        let later = self.p.ecn && look.markable();
        if !later && self.strikes(look) { Verdict::Drop } else { Verdict::Pass }
    }

    fn on_dequeue(&mut self, look: &Look) -> Verdict {
        let now = self.p.ecn && look.markable();
        if now && self.strikes(look) { Verdict::Mark } else { Verdict::Pass }
    }

    fn on_refused(&mut self, look: &Look) {
        self.count += self.part(look);
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.mean = if self.p.mean_packet.is_zero() { link.mtu } else { self.p.mean_packet }.max(Bytes::new(1));
        let rate: Rate = link.rate;
        self.capacity = self.p.tupdate.as_secs_f64() * rate.bytes_per_sec() / self.mean.as_f64();
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("price", self.price.get());
        see("p", self.probability);
        see("arrivals", self.arrivals);
    }
}

impl LawKind for Rem {
    const PAPER: &'static str = "Athuraliya, Low, Li and Yin, IEEE Network 15(3), 2001";
    const DOC: &'static str = "Drops arrivals by a price that adds up how far queue and rate are off.";
    type Params = Params;

    fn new(p: &Params, link: &LinkInfo, rng: Rng) -> Self {
        let mut rem = Rem {
            p: p.clone(),
            price: Integrator::new(53.0 * core::f64::consts::LN_2 / math::ln(p.phi)),
            count: 0.0,
            arrivals: 0.0,
            probability: 0.0,
            capacity: 0.0,
            mean: link.mtu,
            ticker: Ticker::new(Instant::ZERO, p.tupdate, p.tupdate),
            rng,
        };
        rem.set_link(link);
        rem
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::testing::{link, look, side_by_side};
    use units::streams;

    fn rem(p: Params, mbps: f64) -> Rem {
        Rem::new(&p, &link(mbps), Rng::new(1, 0, streams::AQM))
    }

    #[test]
    fn one_update_at_100_mbps() {
        let mut rem = rem(Params { q_ref: 50.0, mean_packet: Bytes::new(1_400), ..Params::default() }, 100.0);
        assert!((rem.capacity - 17.857).abs() < 1e-3);
        rem.count = 20.0;
        rem.advance(&look(Instant::from_millis(2), 70));
        assert!((rem.price.get() - 0.004143).abs() < 1e-6, "{:?}", rem.price);
        assert!((rem.probability - 4.14e-6).abs() < 1e-8, "{}", rem.probability);
    }

    #[test]
    fn p_of_a_path_is_that_of_the_sum_of_prices() {
        for (price, p) in [(100.0, 0.0951), (693.0, 0.4998), (1_000.0, 0.632)] {
            let mut rem = rem(Params { gamma: 0.0, ..Params::default() }, 10.0);
            rem.price.set(price);
            rem.advance(&look(Instant::from_millis(2), 0));
            assert!((rem.probability - p).abs() < 5e-4, "{price}: {}", rem.probability);
        }
    }

    #[test]
    fn catching_up_equals_a_real_tick() {
        for weight in [1.0, 0.2] {
            // A strong γ, so that the price is up and back within the test.
            let p = Params { gamma: 0.5, weight, ecn: true, ..Params::default() };
            let p = side_by_side(|rng| Rem::new(&p, &link(10.0), rng), |law| law.probability);
            assert!(p.0 == 0.0 && p.1 > 0.02, "{p:?}");
        }
    }

    #[test]
    fn what_does_not_fit_counts_with_its_size() {
        for (bytes, count) in [(false, 1.0), (true, 1.5)] {
            let mut rem = rem(Params { bytes, ..Params::default() }, 10.0);
            rem.on_refused(&look(Instant::from_millis(1), 60));
            assert_eq!(rem.count, count);
        }
    }

    #[test]
    fn an_age_of_idleness_is_caught_up_in_no_time() {
        let mut rem = rem(Params { weight: 0.001, gamma: 1e-9, ..Params::default() }, 10.0);
        rem.price.set(1.0);
        rem.count = 1e6;
        rem.advance(&look(Instant::from_secs_f64(4e9), 0));
        assert_eq!(rem.price.get(), 0.0);
    }

    #[test]
    fn only_with_ecn_is_the_signal_left_for_the_way_out() {
        use crate::Ecn::{Ect0, NotEct};
        use Verdict::{Drop, Mark, Pass};
        for (ecn, codepoint, want) in [
            (false, NotEct, (Drop, Pass)),
            (false, Ect0, (Drop, Pass)),
            (true, NotEct, (Drop, Pass)),
            (true, Ect0, (Pass, Mark)),
        ] {
            let mut rem = rem(Params { ecn, ..Params::default() }, 10.0);
            rem.probability = 1.0;
            let look = Look { ecn: codepoint, ..look(Instant::ZERO, 10) };
            assert_eq!((rem.on_enqueue(&look), rem.on_dequeue(&look)), want, "ecn={ecn}, {codepoint:?}");
        }
    }

    #[test]
    fn a_mean_packet_of_nought_is_the_mtu() {
        let capacity = |mean| rem(Params { mean_packet: Bytes::new(mean), ..Params::default() }, 12.0).capacity;
        assert_eq!([0, 1_000, 1_500].map(capacity), [2.0, 3.0, 2.0], "packets of 2 ms at 12 Mbit/s");
    }

    #[test]
    fn arrivals_are_counted_and_averaged() {
        for (bytes, weight, want) in [(false, 1.0, 20.0), (true, 1.0, 30.0), (false, 0.25, 5.0)] {
            let mut rem = rem(Params { bytes, weight, ..Params::default() }, 10.0);
            (0..20).for_each(|_| _ = rem.on_enqueue(&look(Instant::ZERO, 10)));
            rem.advance(&look(Instant::from_millis(2), 10));
            assert_eq!((rem.arrivals, rem.count), (want, 0.0));
        }
    }
}
