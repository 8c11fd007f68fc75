//! CapStart: slow start while packet pairs come back as they left; once they are drawn apart there is a narrower link ahead
//! where a queue will form, and growth is limited.
//!
//! ```text
//! dispersion = smallest gap between ACKs of a pair in this round / a packet's time (headers, too) on the sender's own link
//! dispersion > ratio:  limited slow start from this window on (RFC 3742);  otherwise as slow start
//! ```
//! Source: Cavendish, Kumazoe, Tsuru, Oie and Gerla, CapStart: an adaptive TCP slow start for high speed networks, 2009, as
//! section 2.5 of the HLDG thesis tells it; the threshold is a parameter, since the thesis gives none.

use super::{HEADERS, limited::divisor};
use crate::host::PacketPair;
use crate::{Ack, Flow, Growth, SlowStart, causes, exits, start::Start};
use units::{Bytes, Duration, Rate, Rng};

params::params! {
    /// What the sender knows of itself, and when a gap counts.
    pub struct Params {
        /// Rate of the sender's own link.
        line_rate: Rate = Rate::from_bps(1_000_000_000), Rate::from_bps(1000) => Rate::from_bps(1_000_000_000_000);
        /// Pairs drawn apart by more than this factor mean a narrower link.
        dispersion_ratio: f64 = 1.1, 1.0 => 100.0;
        /// Up to this window, in packets, growth is never limited.
        max_ssthresh: u32 = 100, 4 => 1000000;
        /// Pairs to see in a round.
        pairs: u32 = 3, 1 => 1000;
        /// Two segments are a pair if they left no further apart.
        within: Duration = Duration::from_micros(100), Duration::ZERO => Duration::from_millis(100);
    }
}

/// State: the round's smallest gap, and whether growth is limited.
#[derive(Debug)]
pub struct CapStart {
    p: Params,
    pairs: PacketPair,
    seen: u32,
    fastest: Rate,
    narrow: bool,
}

impl Start for CapStart {
    const NAME: &'static str = "capstart";
    const PAPER: &'static str = "Cavendish et al., CapStart: an adaptive TCP slow start for high speed networks, 2009; \
                                 partly from memory";
    type Params = Params;

    fn new(p: &Params, _: &mut Flow, _: Rng) -> Self {
        CapStart { p: p.clone(), pairs: PacketPair::new(), seen: 0, fastest: Rate::ZERO, narrow: false }
    }
}

impl CapStart {
    fn end_of_round(&mut self, flow: &mut Flow) {
        if self.seen >= self.p.pairs {
            let dispersed = self.fastest.mul_f64(self.p.dispersion_ratio) < self.p.line_rate;
            if dispersed != self.narrow {
                self.narrow = dispersed;
                let (rtt, base_rtt) = (flow.rtt.as_nanos() as i64, flow.min_rtt.as_nanos() as i64);
                flow.note(causes::SlowStartPace { divisor: self.divisor(flow) as i64, rtt, base_rtt });
            }
        }
        (self.seen, self.fastest) = (0, Rate::ZERO);
    }

    fn divisor(&self, flow: &Flow) -> u32 {
        if self.narrow { divisor(flow.cwnd.get(), flow.mss.get() * self.p.max_ssthresh as u64) } else { 1 }
    }
}

impl SlowStart for CapStart {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(pair) = self.pairs.see(flow, ack, self.p.within) {
            self.seen += 1;
            // Its payload's rate, where links have rates of whole packets.
            let payload = flow.mss.saturating_sub(Bytes::new(flow.options.into()));
            let rate = pair.rate.mul_f64((flow.mss + HEADERS).as_f64() / payload.as_f64());
            self.fastest = self.fastest.max(rate);
        }
        if ack.round.is_some() {
            self.end_of_round(flow);
        }
        flow.growth = Growth { divisor: self.divisor(flow), ..Growth::STANDARD };
    }

    fn on_end(&mut self, flow: &mut Flow) {
        flow.growth = Growth::STANDARD;
        if self.narrow && flow.ssthresh == flow.cwnd {
            let base_rtt = flow.min_rtt.as_nanos() as i64;
            flow.note(causes::SlowStartExit { reason: exits::DISPERSION, base_rtt, ..Default::default() });
        }
    }

    fn on_reset(&mut self, _: &mut Flow) {
        (self.seen, self.fastest, self.narrow) = (0, Rate::ZERO, false);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("capstart_narrow", self.narrow as u8 as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, closing, flow};

    /// The divisor at 200 packets after a round of pairs that far apart, behind a link of 8.32 Mbit/s: a packet of 1000 bytes
    /// and its headers in 1 ms.
    fn divisor_after(gap_us: u64, options: u8) -> u32 {
        let mut f = flow(200, 100);
        f.options = options;
        let payload = f.mss - Bytes::new(options.into());
        let p = Params { line_rate: Rate::from_bps(8_320_000), ..Params::default() };
        let mut start = CapStart::new(&p, &mut f, Rng::new(1, 0, 0));
        for n in 0..5 {
            let ack = if n == 4 { closing(1, 100) } else { ack(1, 100) };
            start.on_ack(&mut f, &Ack { cumulative: payload, delivered: payload, ..ack });
            f.now += Duration::from_micros(gap_us);
        }
        f.growth.divisor
    }

    #[test]
    fn pairs_as_close_as_they_left_do_not_slow_it() {
        assert_eq!([divisor_after(1000, 0), divisor_after(1099, 0)], [1, 1]);
        assert_eq!(divisor_after(1099, 12), 1, "with options that the window counts");
    }

    #[test]
    fn pairs_drawn_apart_limit_growth_as_rfc_3742_does() {
        assert_eq!([divisor_after(1101, 0), divisor_after(5000, 0), divisor_after(1101, 12)], [4, 4, 4]);
    }
}
