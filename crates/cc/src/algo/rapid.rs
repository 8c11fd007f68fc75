//! RAPID: every packet is a probe. Packets leave in trains in which each gap asks for a higher rate than the one before;
//! from where on one-way delays keep rising tells what rate is free, and that is the rate of the next trains.
//!
//! ```text
//! a train of N packets: rates r_i = r_1·s^i, so that the whole train goes at the rate R          s = 1.07, N = 30
//! heard:  i is the first gap from which on the delay rises to the end        free = r_(i−1); r_N if it does not
//! R += (l / τ)·(free − R),  l the length of the train in time, τ = 200 ms: on a free path e-fold in 93 ms at any rate
//! loss:   R / 2, once a window
//! ```
//! The window only keeps a path that has gone silent from being flooded: it opens to twice what R has under way and a
//! train, and comes down to that at a loss.
//!
//! Source: Konda and Kaur, RAPID: shrinking the congestion-control timescale, Infocom 2009, as section 2.4.4.4 of the HLDG
//! thesis tells it; which rises of delay count is pathChirp's rule (Ribeiro et al., PAM 2003), with its F and L; how steeply one must
//! begin is ours, and goes with the rate, since beyond a link's rate C a packet of size L waits L/C − L/r_i longer than the one
//! before it: less than a microsecond at 1 Gbit/s. Trains are the host's (`host::ProbeTrain`); they need an ACK for every packet and fine time stamps.

use crate::host::{Probe, ProbeTrain};
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Feedback, Flow, Reaction, Sent, Setup,
    Signal, StartRule, causes,
};
use alloc::vec::Vec;
use units::{Bytes, Duration, Instant, Rate, math};

params::params! {
    /// The thesis gives no constants: from memory.
    pub struct Params {
        /// Packets in a train (N).
        train: u32 = 30, 3 => 128;
        /// Each gap asks for this many times the rate of the one before (s).
        spread: f64 = 1.07, 1.001 => 2.0;
        /// How fast the rate follows what was found (τ).
        tau: Duration = Duration::from_millis(200), Duration::from_millis(1) => Duration::from_secs(10);
        /// Delays must rise from a packet to the next by at least this part of its time at the rate it asks for to begin a rise.
        least: f64 = 0.02, 0.0 => 1.0;
        /// A rise is over when it has fallen to its height over this (F of pathChirp).
        fall: f64 = 1.5, 1.0 => 100.0;
        /// A rise to the end of the train counts if it has more packets than this (L of pathChirp).
        busy: u32 = 5, 1 => 128;
        /// Rate of the first train.
        initial: Rate = Rate::from_bps(1_000_000), Rate::from_bps(10_000) => Rate::from_bps(1_000_000_000_000);
    }
}

/// State: the trains, and the rate.
#[derive(Debug)]
pub struct Rapid {
    p: Params,
    trains: ProbeTrain,
    rate: Rate,
    free: Rate,
    heard: u32,
    /// The last answer to a loss.
    cut_at: Option<Instant>,
}

impl Algorithm for Rapid {
    const ABOUT: About = About {
        name: "rapid",
        title: "RAPID",
        paper: "Konda and Kaur, RAPID: shrinking the congestion-control timescale, Infocom 2009",
        family: Family::DelaySensitive,
        signal: "one-way delay along trains of rising rate",
        evidence: Evidence::Memory,
        departures: &[
            "constants from memory",
            "the sender judges the trains by time stamps, where the paper's receiver judges them and tells the rate",
            "nothing is free from the first packet of a train that was lost: a full queue cannot get longer",
            "R is at least two packets per RTT",
        ],
        ecn: crate::Ecn::Off,
        start: StartRule::Fixed,
        feedback: Feedback::EveryPacket,
        needs_one_way: true,
        paces: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let mut rapid =
            Rapid { p: p.clone(), trains: ProbeTrain::new(), rate: p.initial, free: p.initial, heard: 0, cut_at: None };
        rapid.begin(setup.flow);
        rapid
    }
}

/// The rates of a train's packets, the whole of which goes at `rate`.
fn rates(rate: Rate, n: u32, spread: f64) -> impl DoubleEndedIterator<Item = Rate> {
    // The gaps of rates s^0 … s^(n−1) sum to (1 − s^−n)/(1 − 1/s) times the first; the mean gap is to be that of `rate`.
    let inverse = 1.0 / spread;
    let sum = (1.0 - math::pow(inverse, n as f64)) / (1.0 - inverse);
    let first = rate.mul_f64(sum / n as f64);
    (0..n).map(move |i| first.mul_f64(math::pow(spread, i as f64)).max(Rate::from_bps(1000)))
}

/// No slower than the least window of two packets: a train of 30 at a packet a second would be heard of in half a minute.
fn least(flow: &Flow) -> Rate {
    flow.mss * 2 / flow.srtt.max(Duration::from_millis(1))
}

/// The last rate before delays began to rise for good, and whether they did. Cross traffic makes delays rise for a while:
/// a rise is over once all but 1/F of it is gone again. From the first packet that did not come nothing was free.
fn judge(train: &[Probe], p: &Params, mss: Bytes) -> (Rate, bool) {
    let lost = train.iter().position(|probe| probe.delay.is_none()).unwrap_or(train.len());
    let delays: Vec<i64> = train[..lost].iter().filter_map(|probe| probe.delay).collect();
    let least = |at: usize| ((mss / train[at].rate).mul_f64(p.least).as_nanos() as i64).max(1);
    let mut from = 0;
    while from + 1 < delays.len() {
        let rises = delays[from + 1] - delays[from] >= least(from + 1);
        let mut highest = 0;
        let over = delays[from..].iter().position(|delay| {
            let rise = delay - delays[from];
            highest = highest.max(rise);
            (rise as f64) < highest as f64 / p.fall
        });
        match over.filter(|_| rises) {
            Some(after) => from += after,
            None if rises && (lost < train.len() || delays.len() - from > p.busy as usize) => {
                return (train[from].rate, true);
            }
            None => from += 1,
        }
    }
    (train[lost.saturating_sub(1)].rate, lost < train.len())
}

impl Rapid {
    fn begin(&mut self, flow: &mut Flow) {
        self.trains.begin(rates(self.rate, self.p.train, self.p.spread));
        // The first gap of the train.
        flow.pacing = rates(self.rate, self.p.train, self.p.spread).next();
    }

    /// A train was heard of.
    fn learn(&mut self, flow: &Flow, train: &[Probe]) {
        (self.free, _) = judge(train, &self.p, flow.mss);
        self.heard += 1;
        let length = (flow.mss * train.len() as u64 / self.rate).as_secs_f64();
        let part = (length / self.p.tau.as_secs_f64()).min(1.0);
        let (now, goal) = (self.rate.as_bps() as f64, self.free.as_bps() as f64);
        self.rate = Rate::from_bps_f64(now + part * (goal - now)).max(least(flow));
    }

    /// What the rate has under way, twice, and a train.
    fn wanted(&self, flow: &Flow) -> Bytes {
        self.rate * flow.srtt * 2 + flow.mss * self.p.train as u64
    }

    /// Earned as slow start earns it.
    fn open_window(&mut self, flow: &mut Flow, acked: Bytes) {
        flow.cwnd = flow.cwnd.max((flow.cwnd + acked).min(self.wanted(flow)));
    }

    /// The answer to losses, once an RTT: a repair that never ends is told as one episode.
    fn lose(&mut self, flow: &mut Flow, lost: Bytes) {
        if !flow.rtt_passed(self.cut_at) {
            return;
        }
        self.cut_at = Some(flow.now);
        self.rate = self.rate.mul_f64(0.5).max(least(flow));
        let (before, in_flight) = (flow.windows(), flow.in_flight.get() as i64);
        flow.cwnd = flow.cwnd.min(self.wanted(flow)).max(flow.floor);
        flow.because(causes::LossBackoff { lost: lost.get() as i64, in_flight, ..Default::default() }, before);
    }
}

impl CongestionControl for Rapid {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(train) = self.trains.on_ack(ack)
            && train.len() > 2
        {
            self.learn(flow, &train);
        }
        self.open_window(flow, ack.delivered);
        if !ack.newly_lost.is_zero() {
            self.lose(flow, ack.newly_lost);
        }
    }

    fn on_sent(&mut self, flow: &mut Flow, sent: &Sent) {
        self.trains.on_sent(flow, sent.retransmission);
        if self.trains.is_over() {
            self.begin(flow);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        if congestion.signal == Signal::Timeout {
            self.rate = self.rate.mul_f64(0.5).max(least(flow));
            self.trains.forget();
            return Reaction::Reduce(flow.cwnd / 2);
        }
        self.lose(flow, congestion.lost);
        Reaction::Own
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate_mbps", self.rate.as_mbps());
        see("free_mbps", self.free.as_mbps());
        see("trains", self.heard as f64);
    }
}

#[cfg(test)]
mod tests;
