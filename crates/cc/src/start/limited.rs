//! Limited slow start: above 100 packets, grow by at most 50 packets a round.
//!
//! ```text
//! cwnd <= max_ssthresh:  cwnd += acked
//! above:                 K = int(cwnd / (max_ssthresh / 2));  cwnd += acked / K
//! ```
//! Source: RFC 3742.

use crate::{Ack, Flow, Growth, SlowStart, causes, start::Start};
use units::Rng;

params::params! {
    /// The one constant of RFC 3742.
    pub struct Params {
        /// Up to this window, in packets, slow start is the standard one.
        max_ssthresh: u32 = 100, 4 => 1000000;
    }
}

/// State: the divisor now in force.
#[derive(Debug)]
pub struct Limited {
    max_ssthresh: u64,
    divisor: u32,
}

/// K of the RFC.
pub(super) fn divisor(cwnd: u64, max_ssthresh: u64) -> u32 {
    if cwnd <= max_ssthresh {
        return 1;
    }
    u32::try_from(2 * cwnd / max_ssthresh).unwrap_or(u32::MAX)
}

impl Start for Limited {
    const NAME: &'static str = "limited";
    const PAPER: &'static str = "RFC 3742";
    type Params = Params;

    fn new(p: &Params, _: &mut Flow, _: Rng) -> Self {
        Limited { max_ssthresh: p.max_ssthresh as u64, divisor: 1 }
    }
}

impl SlowStart for Limited {
    fn on_ack(&mut self, flow: &mut Flow, _: &Ack) {
        let k = divisor(flow.cwnd.get(), flow.mss.get() * self.max_ssthresh);
        if k != self.divisor {
            self.divisor = k;
            let (rtt, base_rtt) = (flow.rtt.as_nanos() as i64, flow.min_rtt.as_nanos() as i64);
            flow.note(causes::SlowStartPace { divisor: k as i64, rtt, base_rtt });
        }
        flow.growth = Growth { divisor: k, ..Growth::STANDARD };
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limited_divisor", self.divisor as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    #[test]
    fn divisors_of_the_rfc() {
        for (cwnd, k) in [(100, 1), (101, 2), (150, 3), (200, 4), (400, 8)] {
            assert_eq!(divisor(cwnd, 100), k, "{cwnd} packets");
        }
    }

    #[test]
    fn a_round_above_the_limit_grows_by_at_most_fifty_packets() {
        for cwnd in [101, 150, 400, 1000] {
            let mut f = flow(cwnd, 40);
            let mut start = Limited::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
            for _ in 0..cwnd {
                start.on_ack(&mut f, &ack(1, 40));
                f.slow_start(f.mss);
            }
            let grown = f.cwnd.packets(f.mss) - cwnd as f64;
            assert!((40.0..=50.5).contains(&grown), "{cwnd}: {grown}");
        }
    }
}
