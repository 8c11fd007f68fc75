//! LEDBAT: a scavenger that holds the queue of the way forth at a target delay and so gives way to whoever fills it.
//!
//! ```text
//! queue     = min(newest one-way delays) − min(minute minima of the last ten minutes)
//! off       = (TARGET − queue) / TARGET
//! each ACK:   cwnd += GAIN·off·acked·MSS / cwnd, to no more than in flight + ALLOWED_INCREASE·MSS
//! loss:       cwnd / 2
//! ```
//! At the target it rests; without a queue it grows as Reno; with twice the target it shrinks as fast. Whoever comes
//! late takes the queue of those before for the path's own delay: the latecomer's advantage.
//!
//! Source: RFC 6817, section 2.4.2 (`rfc`), which grows from the initial window without slow start. `libutp` is
//! BitTorrent's: up to 3000 bytes per RTT, so twice Reno's pace and more with small packets; three newest delays and
//! never more than the RTT; thirteen minutes; a slow start of a packet per RTT up to 0.9 of the target.

use crate::filter::Minima;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Phase, Reaction, Setup, StartRule,
    causes, exits,
};
use params::Auto;
use units::{Bytes, Duration};

params::choice! {
    /// Whose rules.
    pub enum Reference {
        /// RFC 6817.
        Rfc = "rfc",
        /// BitTorrent's library.
        Libutp = "libutp",
    }
}

params::params! {
    /// Values of RFC 6817, sections 2.4.2 and 2.5; where a default is `auto`, the reference decides.
    pub struct Params {
        /// Whose rules.
        reference: Reference = Reference::Rfc;
        /// Queueing delay to hold. The RFC allows no more than 100 ms; 25 and 5 ms are Apple's early and Linux' module's.
        target: Duration = Duration::from_millis(100), Duration::from_millis(1) => Duration::from_secs(1);
        /// Growth without a queue in packets per RTT; the RFC allows no more than 1. auto: 1, or libutp's 3000 bytes.
        gain: Auto = Auto::AUTO, Auto::of(0.01) => Auto::of(10.0);
        /// The window grows to no more than what is in flight and so many packets (ALLOWED_INCREASE).
        allowed_increase: f64 = 1.0, 0.0 => 100.0;
        /// Minutes whose smallest delays are remembered (BASE_HISTORY). auto: 10, or libutp's 13.
        base_history: Auto = Auto::AUTO, Auto::of(1.0) => Auto::of(100.0);
        /// Newest delays of which the smallest counts (CURRENT_FILTER). auto: 4, or libutp's 3.
        current_filter: Auto = Auto::AUTO, Auto::of(1.0) => Auto::of(64.0);
    }
}

/// Most that libutp's window grows in an RTT (`MAX_CWND_INCREASE_BYTES_PER_RTT`).
const LIBUTP_INCREASE: Bytes = Bytes::new(3000);
/// The part of the target at which libutp's slow start ends.
const LIBUTP_EXIT: f64 = 0.9;

/// State: two filters of the one-way delay, and growth (or decline) that does not make a packet yet.
#[derive(Debug)]
pub struct Ledbat {
    p: Params,
    own_start: bool,
    base: Minima<Duration>,
    current: Minima<Duration>,
    samples: u64,
    queue: Duration,
    fraction: f64,
}

impl Algorithm for Ledbat {
    const ABOUT: About = About {
        name: "ledbat",
        title: "LEDBAT",
        paper: "RFC 6817; libutp",
        family: Family::Delay,
        signal: "one-way delay",
        evidence: Evidence::Equations,
        departures: &[
            "moves by whole segments: fractions are kept until they make one",
            "starts from the host's initial window (the RFC's is initial_window=2), and grows only a window that is used",
            "the allowance over what is in flight limits growth; it does not take back a window that was not used",
            "without timestamps it has no signal and is Reno",
            "libutp: the host decides how often a loss counts (once a window; libutp once in 100 ms), windows stay at two \
             packets or above, and its corrections for drifting clocks are left out",
        ],
        start: StartRule::Own("ledbat"),
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        if setup.own_start && p.reference == Reference::Rfc {
            setup.flow.ssthresh = setup.flow.cwnd;
        }
        let (history, filter) = if p.reference == Reference::Rfc { (10.0, 4.0) } else { (13.0, 3.0) };
        Ledbat {
            p: p.clone(),
            own_start: setup.own_start,
            base: Minima::new(p.base_history.or(history) as usize),
            current: Minima::new(p.current_filter.or(filter) as usize),
            samples: 0,
            queue: Duration::ZERO,
            fraction: 0.0,
        }
    }
}

impl Ledbat {
    fn measure(&mut self, flow: &Flow, delay: Duration) {
        self.samples += 1;
        let base = self.base.update(flow.now.as_nanos() / Duration::from_secs(60).as_nanos(), delay);
        self.queue = self.current.update(self.samples, delay).saturating_sub(base);
        if self.p.reference == Reference::Libutp && !flow.rtt.is_zero() {
            self.queue = self.queue.min(flow.rtt);
        }
    }

    /// What an ACK adds to the window, in bytes; negative above the target.
    fn step(&self, flow: &Flow, acked: Bytes) -> f64 {
        let off = self.p.target.diff_millis(self.queue) / self.p.target.as_millis_f64();
        let (gain, part) = match self.p.reference {
            Reference::Rfc => (1.0, acked.as_f64() / flow.cwnd.as_f64()),
            Reference::Libutp => {
                let part = acked.min(flow.cwnd).as_f64() / acked.max(flow.cwnd).as_f64();
                (LIBUTP_INCREASE.packets(flow.mss), part)
            }
        };
        let (step, mss) = (self.p.gain.or(gain) * off, flow.mss.as_f64());
        mss * part * if self.is_starting(flow) && self.own_start { step.max(1.0) } else { step }
    }

    /// The RFC has no slow start, also not after a timeout.
    fn is_starting(&self, flow: &Flow) -> bool {
        flow.in_slow_start() && !(self.own_start && self.p.reference == Reference::Rfc)
    }

    /// Slow start, its own or another, ends near the target.
    fn maybe_leave_slow_start(&self, flow: &mut Flow) {
        if self.is_starting(flow) && self.queue > self.p.target.mul_f64(LIBUTP_EXIT) {
            let (rtt, base_rtt) = (flow.rtt.as_nanos() as i64, flow.min_rtt.as_nanos() as i64);
            flow.leave_slow_start(causes::SlowStartExit { reason: exits::DELAY, rtt, base_rtt, ..Default::default() });
        }
    }

    fn apply(&mut self, flow: &mut Flow, acked: Bytes) {
        let step = self.step(flow, acked);
        if step > 0.0 && !flow.may_grow() {
            return;
        }
        self.fraction += step;
        let whole = (self.fraction / flow.mss.as_f64()) as i64;
        self.fraction -= whole as f64 * flow.mss.as_f64();
        if whole > 0 {
            let allowed = flow.in_flight + acked + flow.mss.mul_f64(self.p.allowed_increase);
            flow.cwnd = flow.cwnd.max((flow.cwnd + flow.mss * whole as u64).min(allowed));
        } else if whole < 0 {
            let before = flow.windows();
            flow.cwnd = flow.cwnd.saturating_sub(flow.mss * whole.unsigned_abs()).max(flow.floor).min(flow.cwnd);
            flow.ssthresh = flow.ssthresh.min(flow.cwnd.max(flow.floor));
            flow.because(causes::DelayBackoff { queue: self.queue.as_nanos() as i64, ..Default::default() }, before);
        }
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(delay) = ack.one_way {
            self.measure(flow, delay);
        }
        if !matches!(flow.phase, Phase::Open | Phase::Loss) {
            return;
        }
        self.maybe_leave_slow_start(flow);
        let mut acked = ack.cumulative;
        let deaf = self.samples == 0;
        if (deaf || !self.own_start) && flow.in_slow_start() {
            acked = if flow.may_grow() { flow.slow_start(acked) } else { Bytes::ZERO };
        }
        if deaf && flow.may_grow() && !acked.is_zero() {
            flow.additive(flow.cwnd, acked);
        } else if !deaf && !acked.is_zero() {
            self.apply(flow, acked);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        self.fraction = 0.0;
        Reaction::Reduce(flow.cwnd / 2)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("queue_ms", self.queue.as_millis_f64());
        see("base_ms", self.base.get().map_or(0.0, Duration::as_millis_f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::testing::{ack, flow, ms, packets};
    use std::boxed::Box;
    use units::Rng;

    fn ledbat(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
        build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
    }

    /// An ACK of so many packets whose one-way delay was that of an empty queue and so much more.
    fn late(n: u64, queue: u64) -> Ack {
        Ack { one_way: Some(ms(1000 + queue)), ..ack(n, 100 + queue) }
    }

    /// The window in packets after a round of ten, at a delay that all filters have settled to.
    fn after_round(spec: &str, queue: u64) -> u64 {
        let mut f = flow(10, 100);
        (f.in_flight, f.rtt) = (packets(10), ms(100 + queue));
        let mut cc = ledbat(spec, &mut f);
        cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..late(0, 0) });
        (0..64).for_each(|_| cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..late(0, queue) }));
        (0..10).for_each(|_| cc.on_ack(&mut f, &late(1, queue)));
        f.cwnd.get() / 1000
    }

    #[test]
    fn a_round_without_queue_adds_the_gain_and_one_at_twice_the_target_takes_it() {
        assert_eq!([0, 100, 200, 300].map(|q| after_round("ledbat", q)), [11, 10, 9, 8]);
        assert_eq!([0, 25, 50].map(|q| after_round("ledbat(target=25ms)", q)), [11, 10, 9]);
        assert_eq!([0, 5, 10].map(|q| after_round("ledbat(target=5ms)", q)), [11, 10, 9]);
        // Three packets of 1000 bytes; the RTT bounds what it takes for queue.
        assert_eq!([0, 100, 200].map(|q| after_round("ledbat(reference=libutp, allowed_increase=9)", q)), [12, 10, 7]);
    }

    #[test]
    fn half_the_target_grows_at_half_the_pace() {
        // Reference, section 2.9: 10 packets of 1500 bytes, 50 ms, 3000 bytes acknowledged.
        let mut f = Flow::new(Bytes::new(1500), Bytes::new(15_000), Bytes::new(3000));
        let mut cc = Ledbat::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        cc.measure(&f, ms(1000));
        (0..4).for_each(|_| cc.measure(&f, ms(1050)));
        assert!((cc.step(&f, Bytes::new(3000)) - 150.0).abs() < 1e-9);
    }

    #[test]
    fn the_base_is_forgotten_with_its_minute() {
        let mut f = flow(10, 100);
        let mut cc = ledbat("ledbat(base_history=2)", &mut f);
        let mut queue = |seconds: u64, delay| {
            f.now = units::Instant::from_millis(seconds * 1000);
            (0..4).for_each(|_| cc.on_ack(&mut f, &late(1, delay)));
            let mut seen = 0.0;
            cc.vars(&mut |name, value| seen = if name == "queue_ms" { value } else { seen });
            seen
        };
        assert_eq!(
            [(0, 0), (59, 30), (61, 30), (119, 30), (121, 30)].map(|(s, d)| queue(s, d)),
            [0.0, 30.0, 30.0, 30.0, 0.0]
        );
    }

    #[test]
    fn it_has_no_slow_start_unless_asked_and_that_ends_near_the_target() {
        for (spec, window) in [("ledbat", 11), ("ledbat(slow_start=standard)", 20), ("ledbat(reference=libutp)", 12)] {
            assert_eq!(after_start(spec, 0), window, "{spec}");
        }
        assert_eq!(after_start("ledbat(slow_start=standard)", 95), 10);
    }

    fn after_start(spec: &str, queue: u64) -> u64 {
        let mut f = flow(10, 100);
        f.in_flight = packets(20);
        let mut cc = ledbat(spec, &mut f);
        cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..late(0, 0) });
        (0..10).for_each(|_| cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..late(0, queue) }));
        (0..10).for_each(|_| cc.on_ack(&mut f, &late(1, queue)));
        f.cwnd.get() / 1000
    }
}
