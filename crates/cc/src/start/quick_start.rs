//! Quick-Start: the SYN asks every router on the way for a rate; what all of them granted is sent at from the first packet.
//!
//! ```text
//! request: 40 kbit/s · 2^N on the SYN; each router that agrees lowers N to what it can spare, one that does not ends it
//! granted R:  cwnd = R·RTT, paced at R for a round; then slow start goes on from there
//! ```
//! Source: RFC 4782, sections 4.3 and 4.4. Routers agree where the link says so: `quick_start = "90 %"` in `[path]` or a
//! `[[link]]`. Without that, or without a handshake, it is standard slow start.

use crate::{Ack, Event, Flow, SlowStart, causes, exits, start::Start};
use units::{Rate, Rng};

/// N = 0 stands for no request, and this for each doubling above it (RFC 4782, section 3.1).
const UNIT: u64 = 40_000;

/// The largest N whose rate is no more than this; 0 asks for nothing.
pub fn code(rate: Rate) -> u8 {
    (1..=15).rev().find(|n| UNIT << n <= rate.as_bps()).unwrap_or(0)
}

/// The rate of N, if it is a request.
pub fn rate(code: u8) -> Option<Rate> {
    (1..=15).contains(&code).then(|| Rate::from_bps(UNIT << code))
}

params::params! {
    /// What to ask for.
    pub struct Params {
        /// Rate asked for; the request says the next lower 40 kbit/s·2^N, 1.31 Gbit/s at most.
        request: Rate = Rate::from_bps(100_000_000), Rate::from_bps(80_000) => Rate::from_bps(1_310_720_000);
    }
}

/// State: what was granted, and whether its round is under way.
#[derive(Debug)]
pub struct QuickStart {
    granted: Rate,
    pacing: bool,
}

impl Start for QuickStart {
    const NAME: &'static str = "quick_start";
    const PAPER: &'static str = "RFC 4782";
    type Params = Params;

    fn new(p: &Params, flow: &mut Flow, _: Rng) -> Self {
        flow.request = code(p.request);
        QuickStart { granted: Rate::ZERO, pacing: false }
    }
}

impl QuickStart {
    fn stop_pacing(&mut self, flow: &mut Flow) {
        if core::mem::take(&mut self.pacing) {
            flow.pacing = None;
        }
    }
}

impl SlowStart for QuickStart {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        // The first round to end is the handshake's; the granted window's ends with the next.
        if ack.round.as_ref().is_some_and(|r| r.number > 1) {
            self.stop_pacing(flow);
        }
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        let Event::Granted(rate) = event else { return };
        let before = flow.windows();
        self.granted = rate;
        let window = rate * flow.srtt;
        if window <= flow.cwnd {
            return;
        }
        flow.cwnd = window;
        (flow.pacing, self.pacing) = (Some(rate), true);
        let (bandwidth, base_rtt) = (rate.as_bps() as i64, flow.srtt.as_nanos() as i64);
        flow.because(causes::SlowStartCap { bandwidth, base_rtt, bdp: window.get() as i64 }, before);
    }

    fn on_end(&mut self, flow: &mut Flow) {
        self.stop_pacing(flow);
        if self.granted > Rate::ZERO && flow.ssthresh == flow.cwnd {
            let bandwidth = self.granted.as_bps() as i64;
            flow.note(causes::SlowStartExit { reason: exits::GRANTED, bandwidth, ..Default::default() });
        }
    }

    fn on_reset(&mut self, flow: &mut Flow) {
        self.stop_pacing(flow);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("quick_start_mbps", self.granted.as_mbps());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Round;
    use crate::testing::{ack, flow, packets};

    #[test]
    fn a_granted_rate_is_a_window_at_once_and_paced_for_a_round() {
        let mut f = flow(10, 100);
        let mut start = QuickStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        assert_eq!(f.request, 11, "81.92 Mbit/s");
        start.on_event(&mut f, Event::Granted(Rate::from_mbps(8.0)));
        assert_eq!((f.cwnd, f.pacing), (packets(100), Some(Rate::from_mbps(8.0))), "8 Mbit/s over 100 ms");
        let closing = |number| Ack { round: Some(Round { number, ..Round::default() }), ..ack(1, 100) };
        start.on_ack(&mut f, &closing(1));
        assert!(f.pacing.is_some());
        start.on_ack(&mut f, &closing(2));
        assert_eq!(f.pacing, None);
    }

    #[test]
    fn rates_of_the_rfc() {
        // RFC 4782, section 3.1: from 80 kbit/s to 1.31072 Gbit/s.
        assert_eq!((rate(0), rate(1), rate(16)), (None, Some(Rate::from_bps(80_000)), None));
        assert_eq!(rate(15), Some(Rate::from_bps(1_310_720_000)));
        let codes = [79_999, 80_000, 10_000_000, 5_000_000_000].map(|bps| code(Rate::from_bps(bps)));
        assert_eq!(codes, [0, 1, 7, 15], "10 Mbit/s asks for 5.12");
    }

    #[test]
    fn less_than_the_initial_window_changes_nothing() {
        let mut f = flow(10, 100);
        let mut start = QuickStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        start.on_event(&mut f, Event::Granted(Rate::from_bps(80_000)));
        assert_eq!((f.cwnd, f.pacing), (packets(10), None));
    }
}
