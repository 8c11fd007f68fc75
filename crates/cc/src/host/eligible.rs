//! Rates read off acknowledgements, as the Westwood family does: of single ACKs, of a fixed time, of a time that adapts.
//!
//! An ACK's data is what it newly delivered, in order or not, so that a duplicate ACK counts its segment once and the
//! cumulative ACK behind it does not count it again. All rates are in bytes per second.

use crate::filter::{Ring, Tustin};
use crate::{Ack, Flow};
use alloc::collections::VecDeque;
use units::{Bytes, Duration, Instant};

/// Westwood's bandwidth estimate BE: the rate of every ACK, filtered; silence counts as rates of nothing.
///
/// It sees the speed of the bottleneck rather than the flow's share of it, and what compresses ACKs looks like bandwidth.
///
/// What ends a silence is taken for the rate of what is left of it after whole steps of τ/2, as in the authors' code for ns-2
/// (`tcp-westwood-nr.cc`, filter 3): ACKs that come a little more than a step apart say more than the truth, with τ = 500 ms
/// and a packet every 260 ms thirteen times that, every 375 ms one and a half. Nearer to whole steps the rest is no step of its own.
#[derive(Clone, Debug)]
pub struct AckRate {
    tau: Duration,
    at: Option<Instant>,
    waiting: Bytes,
    filter: Tustin,
}

/// Silences are filled with empty samples this often in τ (the paper's m, which must be at least 2).
const PER_TAU: u64 = 2;
/// What is left of a silence after whole steps joins the last of them if it is shorter than this (the authors' code).
const LEAST_REST: Duration = Duration::from_millis(10);
/// After so many of them nothing is left: 0.6 to the 40th.
const ENOUGH: u64 = 40;

impl AckRate {
    /// An estimate that remembers for `tau`.
    pub fn new(tau: Duration) -> Self {
        AckRate { tau, at: None, waiting: Bytes::ZERO, filter: Tustin::new() }
    }

    /// Takes an ACK.
    pub fn see(&mut self, now: Instant, delivered: Bytes) {
        self.waiting += delivered;
        let Some(at) = self.at else {
            (self.at, self.waiting) = (Some(now), Bytes::ZERO);
            return;
        };
        let mut delta = now.since(at);
        // ACKs at one instant are one sample with what comes next.
        if delta.is_zero() || self.waiting.is_zero() {
            return;
        }
        let step = (self.tau / PER_TAU).max(Duration::from_nanos(1));
        let mut empty = 0;
        while delta >= step + LEAST_REST && self.filter.get().is_some() {
            if empty == ENOUGH {
                self.filter.clear();
                delta = step;
                break;
            }
            self.filter.update(self.tau, step, 0.0);
            delta -= step;
            empty += 1;
        }
        self.filter.update(self.tau, delta, self.waiting.as_f64() / delta.as_secs_f64());
        (self.at, self.waiting) = (Some(now), Bytes::ZERO);
    }

    /// The estimate, once there was a sample.
    pub fn get(&self) -> Option<f64> {
        self.filter.get()
    }
}

/// What was delivered over the last span of time (RE): the flow's share, but low after losses of any kind.
#[derive(Clone, Debug)]
pub struct RecentRate {
    began: Option<Instant>,
    acks: VecDeque<(Instant, Bytes)>,
    sum: Bytes,
}

impl RecentRate {
    /// Nothing delivered yet.
    pub fn new() -> Self {
        RecentRate { began: None, acks: VecDeque::new(), sum: Bytes::ZERO }
    }

    /// Takes an ACK and forgets those more than `keep` ago.
    pub fn see(&mut self, now: Instant, delivered: Bytes, keep: Duration) {
        self.began.get_or_insert(now);
        if !delivered.is_zero() {
            self.acks.push_back((now, delivered));
            self.sum += delivered;
        }
        while let Some(&(at, size)) = self.acks.front()
            && now.since(at) >= keep
        {
            self.acks.pop_front();
            self.sum -= size;
        }
    }

    /// The rate over the last `span`, which is no longer than what is kept. `None` before there was time for a sample.
    pub fn over(&self, now: Instant, span: Duration) -> Option<f64> {
        let began = self.began?;
        let span = span.min(now.since(began));
        if span.is_zero() {
            return None;
        }
        let sum: Bytes = self.acks.iter().rev().take_while(|(at, _)| now.since(*at) < span).map(|a| a.1).sum();
        Some(sum.as_f64() / span.as_secs_f64())
    }
}

impl Default for RecentRate {
    fn default() -> Self {
        Self::new()
    }
}

/// How far the filter's memory stretches when rates jump about (N).
const STRETCH: f64 = 10.0;
/// Weight of the newest in U and in the smoothed RE.
const NEWEST: f64 = 0.4;

/// The eligible rate of TCPW ABSE (its ERE): samples over a time T that is a whole RTT where the flow gets less than it
/// sends, and down to one ACK's where it gets all; and a filter that remembers the longer the less the samples agree.
///
/// ```text
/// VE = cwnd / RTT_min                                   RE = 0.6·RE + 0.4·(delivered over the last RTT / RTT)
/// T = RTT·(VE − RE)/VE, between the last ACK's gap and the RTT
/// s_k = delivered in T / T                              U = 0.6·U + 0.4·|s_k − s_(k−1)|
/// τ = RTT + N·RTT·U/U_max                               U_max of the last 10 values of U
/// ```
/// Source: Wang, Valla, Sanadidi and Gerla, Adaptive bandwidth share estimation in TCP Westwood, Globecom 2002, as section 2
/// of a paper on it tells it (SciTePress 2004, 13988); N and the ten of U_max from memory.
#[derive(Clone, Debug)]
pub struct EligibleRate {
    recent: RecentRate,
    filter: Tustin,
    at: Option<Instant>,
    /// RE, smoothed.
    achieved: Option<f64>,
    last: Option<f64>,
    jump: f64,
    jumps: Ring<10>,
    /// T of the last sample.
    pub span: Duration,
}

impl EligibleRate {
    /// Nothing seen yet.
    pub fn new() -> Self {
        EligibleRate {
            recent: RecentRate::new(),
            filter: Tustin::new(),
            at: None,
            achieved: None,
            last: None,
            jump: 0.0,
            jumps: Ring::new(),
            span: Duration::ZERO,
        }
    }

    /// T of the sample, from the window's rate and what came of it.
    fn span(rtt: Duration, gap: Duration, expected: f64, achieved: f64) -> Duration {
        rtt.mul_f64(((expected - achieved) / expected).clamp(0.0, 1.0)).max(gap).min(rtt)
    }

    /// τ of the filter.
    fn memory(rtt: Duration, jump: f64, largest: f64) -> Duration {
        let part = if largest > 0.0 { jump / largest } else { 0.0 };
        rtt + rtt.mul_f64(STRETCH * part)
    }

    /// Takes an ACK.
    pub fn see(&mut self, flow: &Flow, ack: &Ack) {
        let (now, rtt) = (flow.now, flow.srtt);
        if ack.delivered.is_zero() || rtt.is_zero() || flow.min_rtt.is_zero() {
            return;
        }
        self.recent.see(now, ack.delivered, rtt);
        let gap = self.at.replace(now).map_or(Duration::ZERO, |at| now.since(at));
        let Some(newest) = self.recent.over(now, rtt).filter(|_| !gap.is_zero()) else { return };
        let achieved = self.achieved.map_or(newest, |old| old + NEWEST * (newest - old));
        self.achieved = Some(achieved);
        let expected = flow.cwnd.as_f64() / flow.min_rtt.as_secs_f64();
        self.span = Self::span(rtt, gap, expected, achieved);
        let Some(sample) = self.recent.over(now, self.span) else { return };
        if let Some(last) = self.last.replace(sample) {
            self.jump += NEWEST * ((sample - last).abs() - self.jump);
        }
        self.jumps.push(self.jump);
        let largest = self.jumps.iter().fold(0.0, f64::max);
        self.filter.update(Self::memory(rtt, self.jump, largest), gap, sample);
    }

    /// The estimate, once there was a sample.
    pub fn get(&self) -> Option<f64> {
        self.filter.get()
    }
}

impl Default for EligibleRate {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow, ms, packets};

    #[test]
    fn a_steady_stream_is_its_own_rate_and_silence_fades_it() {
        let mut be = AckRate::new(ms(500));
        for n in 0..100 {
            be.see(Instant::from_millis(10 * n), packets(1));
        }
        assert!((be.get().unwrap() - 100_000.0).abs() < 1e-6);
        // 250 ms of silence: one empty sample in 500 ms, α = 0.6, half of it the last full one.
        be.see(Instant::from_millis(990 + 260), packets(1));
        let faded: f64 = 0.6 * 100_000.0 + 0.4 * 50_000.0;
        let alpha = (1000.0 - 10.0) / (1000.0 + 10.0);
        assert!((be.get().unwrap() - (alpha * faded + (1.0 - alpha) * 50_000.0)).abs() < 1e-6);
        be.see(Instant::from_millis(3_600_000), packets(1));
        assert!(be.get().unwrap() < 10_000.0, "an hour later nothing is left of it");
    }

    #[test]
    fn what_is_left_of_a_silence_is_no_sample_if_it_is_short() {
        // A packet after every so many ms; the estimate beside the true rate once it has settled.
        let over = |gap: u64| {
            let mut be = AckRate::new(ms(500));
            (0..100).for_each(|n| be.see(Instant::from_millis(gap * n), packets(1)));
            be.get().unwrap() * gap as f64 / 1e6
        };
        for gap in [100, 250, 251, 255, 259] {
            assert!((over(gap) - 1.0).abs() < 1e-6, "{gap}: {}", over(gap));
        }
        // Two steps, of which one is empty: the authors' filter swings about the rate.
        for gap in [500, 505, 509] {
            assert!((0.9..1.1).contains(&over(gap)), "{gap}: {}", over(gap));
        }
        for (gap, times) in [(260, 13.0), (375, 1.5)] {
            assert!((over(gap) - times).abs() < 0.01, "{gap}: {}", over(gap));
        }
    }

    #[test]
    fn compressed_acks_raise_the_rate_of_acks_but_not_that_of_a_span() {
        let (mut be, mut re) = (AckRate::new(ms(50)), RecentRate::new());
        for burst in 0..20u64 {
            for n in 0..10 {
                let now = Instant::from_nanos(burst * 100_000_000 + n * 1_000_000);
                be.see(now, packets(1));
                re.see(now, packets(1), ms(500));
            }
        }
        let now = Instant::from_millis(1909);
        assert!(be.get().unwrap() > 200_000.0, "{:?}", be.get());
        assert_eq!(re.over(now, ms(500)), Some(100_000.0));
    }

    #[test]
    fn the_span_is_a_round_trip_in_congestion_and_a_gap_without() {
        let span = |achieved| EligibleRate::span(ms(100), ms(10), 100_000.0, achieved);
        assert_eq!([span(0.0), span(40_000.0), span(99_000.0), span(120_000.0)], [ms(100), ms(60), ms(10), ms(10)]);
        let memory = |jump| EligibleRate::memory(ms(100), jump, 4.0);
        assert_eq!([memory(0.0), memory(1.0), memory(4.0)], [ms(100), ms(350), ms(1100)]);
    }

    #[test]
    fn the_eligible_rate_of_a_steady_stream() {
        let mut f = flow(10, 100);
        let mut ere = EligibleRate::new();
        for n in 0..400 {
            f.now = Instant::from_millis(10 * n);
            ere.see(&f, &ack(1, 100));
        }
        assert!((ere.get().unwrap() / 100_000.0 - 1.0).abs() < 0.02, "{ere:?}");
    }

    #[test]
    fn what_was_achieved_is_smoothed_before_it_makes_a_span() {
        let mut f = flow(100, 1000);
        let mut ere = EligibleRate::new();
        // 100 kB/s, which is all that the window asks for, then 200 ms of silence: 81 packets in the last second, twice.
        for at in (0..400).map(|n| 10 * n).chain([4190, 4200]) {
            f.now = Instant::from_millis(at);
            ere.see(&f, &ack(1, 1000));
        }
        let achieved: f64 = 100.0 * 0.36 + 81.0 * (0.24 + 0.4);
        assert!((ere.span.as_millis_f64() - 10.0 * (100.0 - achieved)).abs() < 1e-3, "{:?}", ere.span);
    }
}
