//! Quick-Start: the SYN asks every router on the way for a rate; what all of them granted is sent at from the first packet.
//!
//! ```text
//! request: 40 kbit/s · 2^N on the SYN; each router that agrees lowers N to what it can spare, one that does not ends it
//! granted R:  cwnd = R·RTT·MSS/(MSS + 40), paced at R until it is sent; then slow start goes on from there
//! one of these packets lost or marked:  the window falls back to the initial one, at most
//! ```
//! Source: RFC 4782, sections 4.3, 4.4 and 4.6. Routers agree where the link says so: `quick_start = "90 %"` in `[path]` or a
//! `[[link]]`. Without that, or without a handshake, it is standard slow start.

use super::HEADERS;
use crate::{Ack, Congestion, Event, Flow, Lost, Reaction, Sent, Signal, SlowStart, causes, exits, start::Start};
use units::{Bytes, Instant, Rate, Rng};

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

/// State: what was granted, and what of it is on its way.
#[derive(Debug)]
pub struct QuickStart {
    granted: Rate,
    pacing: bool,
    /// Window without the grant.
    initial: Bytes,
    /// End of the window granted, and when it was sent.
    until: u64,
    sent_at: Instant,
    /// One of its packets was lost.
    lost: bool,
}

impl Start for QuickStart {
    const NAME: &'static str = "quick_start";
    const PAPER: &'static str = "RFC 4782";
    const PACES: bool = true;
    type Params = Params;

    fn new(p: &Params, flow: &mut Flow, _: Rng) -> Self {
        flow.request = code(p.request);
        QuickStart {
            granted: Rate::ZERO,
            pacing: false,
            initial: flow.cwnd,
            until: 0,
            sent_at: Instant::ZERO,
            lost: false,
        }
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
        // The sender had less to send than was granted: its round is over, too.
        if ack.round.as_ref().is_some_and(|r| r.number > 1) {
            self.stop_pacing(flow);
        }
    }

    fn pace(&self, algorithm: Option<Rate>) -> Option<Rate> {
        if self.pacing { Some(self.granted) } else { algorithm }
    }

    fn on_sent(&mut self, flow: &mut Flow, _: &Sent) {
        if self.pacing {
            self.sent_at = flow.now;
            if flow.sent_to + flow.mss.get() > self.until {
                self.stop_pacing(flow);
            }
        }
    }

    fn on_lost(&mut self, _: &mut Flow, lost: &Lost) {
        self.lost |= self.until > 0 && lost.sent_at <= self.sent_at;
    }

    fn answer(&mut self, flow: &mut Flow, congestion: &Congestion, reaction: Reaction) -> Reaction {
        let marked = congestion.signal == Signal::Ecn && flow.delivered.get() < self.until;
        match reaction {
            Reaction::Reduce(to) if self.lost || marked => {
                // Once: its other losses belong to the same answer.
                (self.until, self.lost) = (0, false);
                Reaction::Reduce(to.min(self.initial))
            }
            other => other,
        }
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        let Event::Granted(rate) = event else { return };
        let before = flow.windows();
        self.granted = rate;
        let window = (rate * flow.srtt).mul_f64(flow.mss.as_f64() / (flow.mss + HEADERS).as_f64());
        self.initial = flow.cwnd;
        if window <= flow.cwnd {
            return;
        }
        flow.cwnd = window;
        self.until = flow.sent_to + window.get();
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
    use crate::testing::{congestion, flow, packets};

    #[test]
    fn a_granted_rate_is_a_window_at_once_and_paced_until_it_is_sent() {
        let mut f = flow(10, 100);
        let mut start = QuickStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        assert_eq!(f.request, 11, "81.92 Mbit/s");
        f.sent_to = 1;
        start.on_event(&mut f, Event::Granted(Rate::from_mbps(8.0)));
        // 8 Mbit/s over 100 ms are 96 packets of 1000 bytes and their headers.
        assert_eq!((f.cwnd.get() / 1000, f.pacing), (96, Some(Rate::from_mbps(8.0))));
        let (sent, other) =
            (Sent { size: packets(1), in_flight: packets(1), retransmission: false }, Some(Rate::from_mbps(1.0)));
        assert_eq!(start.pace(other), f.pacing, "whatever the algorithm paces by");
        let paced = (1..200).take_while(|_| {
            f.sent_to += 1000;
            start.on_sent(&mut f, &sent);
            f.pacing.is_some()
        });
        assert_eq!(paced.count(), 95, "the 96th is the last");
        assert_eq!(start.pace(other), other);
    }

    #[test]
    fn a_lost_packet_of_the_granted_window_takes_it_back() {
        for (lost_at, to) in [(50, 10), (150, 48)] {
            let mut f = flow(10, 100);
            let mut start = QuickStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
            f.sent_to = 1;
            start.on_event(&mut f, Event::Granted(Rate::from_mbps(8.0)));
            f.now = Instant::from_millis(100);
            start.on_sent(&mut f, &Sent { size: packets(1), in_flight: packets(96), retransmission: false });
            let sent_at = Instant::from_millis(lost_at);
            start.on_lost(
                &mut f,
                &Lost { size: packets(1), sent_at, tx_in_flight: packets(96), lost: packets(1), app_limited: false },
            );
            let c = congestion(Signal::Loss, &f);
            assert_eq!(start.answer(&mut f, &c, Reaction::Reduce(packets(48))), Reaction::Reduce(packets(to)));
        }
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
