//! TFRC, TCP-friendly rate control: send at the rate Reno would have, by the equation for it, and so much smoother.
//!
//! ```text
//! X_eq = s / (R·√(2p/3) + t_RTO·3·√(3p/8)·p·(1 + 32p²))        p: loss event rate, R: RTT, t_RTO = 4R
//! p    = 1 / weighted mean of the last eight loss intervals    losses within an RTT are one event
//! once an RTT, X_recv the most delivered in two RTTs:   p > 0:  X = min(X_eq, 2·X_recv)
//!                                                       p = 0:  X = min(2·X, 2·X_recv)     slow start, not below W_init/R
//! in an RTT without enough to send what arrives bounds nothing: X_recv is the most so far (after a loss, 0.85 and half of it)
//! first event:  the interval for which X_eq is X_recv/2
//! no feedback for a timeout, nor for 2·s/X:  X / 2, and with p > 0 X_recv is half of that (sections 4.3 and 4.4)
//! each gap:     s·√R_now / (X·mean √R), so that a growing queue slows it at once (section 4.5)
//! ```
//! It is no TCP, but RFC 5348 allows a sender-based variant (section 7): the receiver reports what arrived, reliably, and the
//! sender works out the loss events. That is what a host with SACK gives, so TFRC is an algorithm here: a pacing rate, with
//! a window wide enough never to hold it back. A report is what ACKs brought in an RTT, or one ACK where they are rarer;
//! rounds of sequence numbers would not do, of which none ends while holes are repaired slower than one in an RTT. What is
//! lost is sent again, inside the rate: it has goodput like any other.
//!
//! Source: RFC 5348; Floyd, Handley, Padhye and Widmer, Equation-based congestion control for unicast applications,
//! SIGCOMM 2000; the equation is that of Padhye, Firoiu, Towsley and Kurose, SIGCOMM 1998, for an ACK per packet.

use crate::filter::{Ewma, Intervals};
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Lost, Reaction, Setup, Signal,
    StartRule, causes,
};
use units::{Bytes, Duration, Instant, Rate, math};

params::params! {
    /// Values of RFC 5348.
    pub struct Params {
        /// Slow down at once where the RTT grows (section 4.5).
        damping: bool = true;
    }
}

/// Weight of a sample in the smoothed RTT and in the mean of its root, one with each report (sections 4.3 and 4.5:
/// q = q2 = 0.9).
const GAIN: f64 = 0.1;
/// Never slower than a packet in 64 s (t_mbi).
const LONGEST_GAP: f64 = 64.0;

/// State: the rate in bytes per second, the RTT and its root smoothed, the loss intervals.
#[derive(Debug)]
pub struct Tfrc {
    damping: bool,
    rate: f64,
    rtt: Ewma,
    root: Ewma,
    /// The newest RTT since the last report.
    newest: Option<Duration>,
    intervals: Intervals,
    /// When the first packet of the last loss event was sent.
    event_at: Option<Instant>,
    /// Rates of the last two reports (X_recv_set of section 4.3).
    received: [f64; 2],
    /// Delivered since the last report, and when that was.
    arrived: Bytes,
    reported: Instant,
    /// The last ACK or halving: since then the timer for missing feedback runs.
    heard: Instant,
    /// When the newest segment heard of was sent.
    sent: Instant,
    /// All that has arrived since the last report was sent while there was too little to send.
    data_limited: bool,
    /// A loss event began since the last report.
    lost: bool,
    /// The initial window in the first RTT: slow start goes no slower, however little there was to send (section 4.3).
    initial: f64,
}

impl Algorithm for Tfrc {
    const ABOUT: About = About {
        name: "tfrc",
        title: "TFRC",
        paper: "RFC 5348; Floyd, Handley, Padhye and Widmer, Equation-based congestion control, SIGCOMM 2000",
        family: Family::Loss,
        signal: "loss event rate, paced",
        evidence: Evidence::Equations,
        departures: &[
            "sender-based, over a host that acknowledges by SACK and sends again what was lost",
            "the timer for missing feedback is the host's retransmission timer, which counts only after 2·s/X without an ACK",
            "no history discounting (section 5.5, optional)",
        ],
        // Whether there was enough to send, of every segment acknowledged.
        needs_rate: true,
        start: StartRule::Fixed,
        paces: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let now = setup.flow.now;
        let (rtt, root, intervals) = (Ewma::new(GAIN), Ewma::new(GAIN), Intervals::default());
        Tfrc {
            damping: p.damping,
            rate: 0.0,
            rtt,
            root,
            newest: None,
            intervals,
            event_at: None,
            received: [0.0; 2],
            arrived: Bytes::ZERO,
            reported: now,
            heard: now,
            sent: now,
            data_limited: true,
            lost: false,
            initial: 0.0,
        }
    }
}

/// Section 3.1: bytes per second for packets of `s` bytes, an RTT in seconds and a loss event rate; b = 1, t_RTO = 4·R.
pub(crate) fn equation(s: f64, rtt: f64, p: f64) -> f64 {
    let timeouts = 4.0 * rtt * 3.0 * math::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p);
    s / (rtt * math::sqrt(2.0 * p / 3.0) + timeouts)
}

/// The loss event rate at which the equation gives this rate, to one part in a thousand.
fn inverse(s: f64, rtt: f64, rate: f64) -> f64 {
    let (mut low, mut high) = (1e-8, 1.0);
    while high / low > 1.001 {
        let middle = math::sqrt(low * high);
        if equation(s, rtt, middle) > rate { low = middle } else { high = middle }
    }
    high
}

impl Tfrc {
    fn rtt(&self) -> f64 {
        self.rtt.get().unwrap_or(0.0).max(1e-6)
    }

    /// Takes the RTT that a report brings.
    fn smooth(&mut self) {
        if let Some(rtt) = self.newest.take() {
            self.rtt.update(rtt.as_secs_f64());
            self.root.update(math::sqrt(rtt.as_secs_f64()));
        }
    }

    fn least(flow: &Flow) -> f64 {
        flow.mss.as_f64() / LONGEST_GAP
    }

    /// Section 4.3: the most that may be sent where so much arrives. It bounds what the path has been seen to carry, and an
    /// application with little to say shows nothing of that.
    fn limit(&mut self, arrives: f64, data_limited: bool, lost: bool) -> f64 {
        let [last, before] = self.received;
        if !data_limited {
            self.received = [arrives, last];
            return 2.0 * arrives.max(last);
        }
        let (arrives, kept, times) = if lost { (0.85 * arrives, 0.5, 1.0) } else { (arrives, 1.0, 2.0) };
        let most = arrives.max(kept * last.max(before));
        self.received = [most, 0.0];
        times * most
    }

    /// Section 4.3: what a report does, once an RTT.
    fn report(&mut self, flow: &Flow) {
        let length = flow.now.since(self.reported).as_secs_f64();
        if length < self.rtt() || self.arrived.is_zero() {
            return;
        }
        let arrives = core::mem::take(&mut self.arrived).as_f64() / length;
        self.reported = flow.now;
        self.smooth();
        let (limited, lost) = (core::mem::replace(&mut self.data_limited, true), core::mem::take(&mut self.lost));
        let limit = self.limit(arrives, limited, lost);
        let s = flow.mss.as_f64();
        self.rate = if self.intervals.is_empty() {
            (2.0 * self.rate).min(limit).max(self.initial)
        } else {
            equation(s, self.rtt(), self.intervals.rate()).min(limit)
        }
        .max(Self::least(flow));
    }

    /// Section 4.4: the timer for missing feedback runs for 2·s/X at least, so that a pace of less than a packet in the host's
    /// timeout is no silence.
    fn halve(&mut self, flow: &Flow) {
        let s = flow.mss.as_f64();
        if flow.now.since(self.heard).as_secs_f64() < 2.0 * s / self.rate.max(Self::least(flow)) {
            return;
        }
        self.heard = flow.now;
        self.rate = (self.rate / 2.0).max(Self::least(flow));
        if !self.intervals.is_empty() {
            // Or the next report would take it back to what arrived before.
            self.received = [self.rate / 2.0, 0.0];
        }
    }

    /// A loss or mark of a packet sent then: an event, unless one began within the RTT before.
    fn lose(&mut self, flow: &Flow, sent: Instant) {
        let within = Duration::from_secs_f64(self.rtt());
        if self.event_at.is_some_and(|at| sent <= at + within) {
            return;
        }
        self.event_at = Some(sent);
        self.lost = true;
        let first = self.intervals.is_empty();
        self.intervals.close();
        if first {
            let received = if self.received[0] > 0.0 { self.received[0] } else { self.rate };
            let p = inverse(flow.mss.as_f64(), self.rtt(), received / 2.0);
            self.intervals.begin_with(1.0 / p);
        }
        self.rate =
            self.rate.min(equation(flow.mss.as_f64(), self.rtt(), self.intervals.rate())).max(Self::least(flow));
    }

    fn pace(&self, flow: &mut Flow) {
        let factor = match self.root.get() {
            Some(mean) if self.damping && !flow.rtt.is_zero() => mean / math::sqrt(flow.rtt.as_secs_f64()),
            _ => 1.0,
        };
        let rate = (self.rate * factor).max(Self::least(flow));
        flow.pacing = Some(Rate::from_bps_f64((rate * 8.0).max(1.0)));
        // Twice what it sends in an RTT, and nothing is held back; no more than arrives is added.
        flow.cwnd = flow.cwnd.max((flow.cwnd + flow.mss).min(Bytes::from_f64(2.0 * rate * self.rtt())));
    }
}

impl CongestionControl for Tfrc {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.newest = ack.rtt.or(self.newest);
        if self.rate == 0.0 && self.newest.is_some() {
            self.smooth();
            self.rate = flow.cwnd.as_f64() / self.rtt();
            self.initial = self.rate;
            self.reported = flow.now;
        }
        (self.heard, self.sent) = (flow.now, ack.sent_at);
        self.arrived += ack.delivered;
        self.intervals.pass(ack.delivered.packets(flow.mss));
        self.data_limited &= ack.delivered.is_zero() || ack.rate.is_some_and(|sample| sample.app_limited);
        if self.rate > 0.0 {
            self.report(flow);
            self.pace(flow);
        }
    }

    fn on_lost(&mut self, flow: &mut Flow, lost: &Lost) {
        self.intervals.pass(1.0);
        self.lose(flow, lost.sent_at);
    }

    fn on_congestion(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        let before = flow.windows();
        flow.ssthresh = flow.ssthresh.min(flow.cwnd);
        match c.signal {
            Signal::Loss => {
                flow.because(causes::LossBackoff { lost: c.lost.get() as i64, ..Default::default() }, before)
            }
            Signal::Ecn => {
                self.lose(flow, self.sent);
                flow.because(causes::EcnBackoff::default(), before);
            }
            Signal::Timeout => self.halve(flow),
        }
        if self.rate > 0.0 {
            self.pace(flow);
        }
        Reaction::Own
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate_mbps", self.rate * 8e-6);
        see("loss_event_rate", self.intervals.rate());
    }
}

#[cfg(test)]
mod tests;
