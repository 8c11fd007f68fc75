//! TCP-LP: halve at the first sign of a queue on the way forth, drop to one packet if it stays, watch before growing again.
//!
//! ```text
//! sowd = 7/8·sowd + 1/8·one-way delay             indication: sowd > min + δ·(max − min), a tick at least
//! first indication:             cwnd / 2, and no growth for the inference time of 3 RTTs
//! another within that time:     cwnd = 1, and the time begins anew
//! otherwise:                    as Reno
//! ```
//! The extremes are learned until the first loss, of which the largest delay is, and move with the clocks later. Delays on the
//! way back, of ACKs, do not count; the clocks' offset cancels between sowd and its extremes.
//!
//! Half the window drains a short queue within the RTT, and the ACK that finds it gone is the first that counts: if sowd is
//! above the limit still, after one more packet or two of 1/8 each, the window is one packet, which adds one a round. Alone on
//! 10 Mbit/s, 40 ms it does so behind 20 packets (48 % used), and no longer behind 66 (88).
//!
//! Source: Kuzmanovic and Knightly, TCP-LP: low-priority service via end-point congestion control, ToN 14(4), 2006 (INFOCOM
//! 2003). Linux 6.1 differs: it takes the second largest delay for the largest, scales both clocks to milliseconds, and
//! forgets the extremes at every back-off (min = sowd, max = 2·sowd): tried here, it backs off for delay once in a flow's
//! life and has Reno's share beside CUBIC. The HLDG thesis gives the time as one RTT.

use crate::filter::{Ewma, Minima};
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, How, Reaction, Setup, causes,
};
use units::{Duration, Instant, math};

params::params! {
    /// Values of the paper and of Linux 6.1.
    pub struct Params {
        /// The sign of a queue: this part of the largest delay (δ).
        delta: f64 = 0.15, 0.0 => 1.0;
        /// Weight of a delay in the smoothed one (γ).
        gain: f64 = 0.125, 0.01 => 1.0;
        /// How long it watches after a back-off, in RTTs.
        inference: f64 = 3.0, 1.0 => 100.0;
    }
}

/// Of the clocks that delays are told by. Behind a buffer of a few milliseconds δ of the range is less, and the phase of the
/// two clocks alone would be a sign for ever.
const TICK: Duration = Duration::from_millis(1);
/// Minutes for which a smallest delay is believed, as LEDBAT's: clocks drift apart (RFC 6817, section 4.1).
const MINUTES: usize = 10;
const MINUTE: u64 = 60_000_000_000;

/// So many packets of one delay leave nothing of the average before.
const ENOUGH: u64 = 64;

/// State: smoothed and smallest one-way delay, how far they range, when it began and last backed off.
#[derive(Debug)]
pub struct TcpLp {
    p: Params,
    smoothed_ms: Ewma,
    smallest: Minima<Duration>,
    range: Duration,
    began: Instant,
    last_back_off: Option<Instant>,
    watches_until: Instant,
    /// The buffer has been full, so that the largest delay is known.
    has_lost: bool,
}

impl Algorithm for TcpLp {
    const ABOUT: About = About {
        name: "tcp_lp",
        title: "TCP-LP",
        paper: "Kuzmanovic and Knightly, TCP-LP: low-priority service via end-point congestion control, INFOCOM 2003; ToN 14(4), 2006",
        family: Family::Delay,
        signal: "one-way delay, smoothed",
        evidence: Evidence::Equations,
        departures: &[
            "an ACK of two packets counts twice in the average, which is one of packets: both waited as long",
            "an indication counts once per RTT, or the ACK after the first back-off, still from before it, would bring the second",
            "the smallest delay is that of the last ten minutes, as LEDBAT's, so that clocks may drift",
            "without timestamps it has no signal and is Reno",
        ],
        floor: 1.0,
        needs_one_way: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        TcpLp {
            p: p.clone(),
            smoothed_ms: Ewma::new(p.gain),
            smallest: Minima::new(MINUTES),
            range: Duration::ZERO,
            began: setup.flow.now,
            last_back_off: None,
            watches_until: Instant::ZERO,
            has_lost: false,
        }
    }
}

impl TcpLp {
    /// Takes the delay of so many packets; returns how long the smoothed one says packets wait, if that is a sign.
    fn measure(&mut self, now: Instant, delay: Duration, packets: u64) -> Option<Duration> {
        let (minute, before) = (now.since(self.began).as_nanos() / MINUTE, self.smallest.get().unwrap_or(delay));
        let smallest = self.smallest.update(minute, delay);
        // A smaller delay is news of the path in the first minute, later of the clocks: the largest drifts with it.
        let news = if minute == 0 { before - smallest } else { Duration::ZERO };
        self.range = (self.range + news).max(delay - smallest);
        let mut smoothed = delay.as_millis_f64();
        for _ in 0..packets.clamp(1, ENOUGH) {
            smoothed = self.smoothed_ms.update(delay.as_millis_f64());
        }
        let waits = Duration::from_millis_f64(smoothed).saturating_sub(smallest);
        (waits > self.range.mul_f64(self.p.delta).max(TICK)).then_some(waits)
    }

    fn back_off(&mut self, flow: &mut Flow, queue: i64) {
        if !flow.rtt_passed(self.last_back_off) {
            return;
        }
        let again = self.last_back_off.is_some() && flow.now < self.watches_until;
        (self.last_back_off, self.watches_until) = (Some(flow.now), flow.now + flow.srtt.mul_f64(self.p.inference));
        let to = if again { flow.mss } else { flow.cwnd / 2 };
        flow.reduce(to.min(flow.cwnd), How::AtOnce, causes::DelayBackoff { queue, ..Default::default() });
    }
}

impl CongestionControl for TcpLp {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let sign = ack.one_way.and_then(|delay| {
            let packets = math::round(ack.delivered.packets(flow.mss)) as u64;
            self.measure(flow.now, delay, packets)
        });
        let heeds = self.has_lost && flow.phase.grows();
        if let Some(waits) = sign.filter(|_| heeds) {
            return self.back_off(flow, waits.as_nanos() as i64);
        }
        if flow.may_grow() && flow.now >= self.watches_until {
            flow.grow_as_reno(ack.cumulative);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        self.has_lost = true;
        Reaction::Reduce(flow.cwnd / 2)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let smallest = self.smallest.get().unwrap_or(Duration::ZERO).as_millis_f64();
        see("queue_ms", (self.smoothed_ms.get().unwrap_or(0.0) - smallest).max(0.0));
        see("range_ms", self.range.as_millis_f64());
    }
}

#[cfg(test)]
mod tests;
