//! FreeBSD 11's `cc_htcp.c`, in its integers: windows in bytes, β in 256ths, time in ticks of 1 ms, RTTs smoothed and in 32nds
//! of a tick.
//!
//! Where it is not Linux's: Δ counts from the congestion itself, and from a timeout only if it is the second in a row; the
//! window grows once per window acknowledged (RFC 3465), by α whole segments at once; (Δ − 1)²/4 takes whole seconds for
//! one of its factors; extremes are of the smoothed RTT; the first congestion halves, and so does a timeout, as the host's.
//!
//! With `adaptive_backoff` the surprise is a bracket: what the largest RTT becomes at congestion, before β is taken
//! from it, is (RTT_min + 95 (RTT_max − RTT_min)) / 100, a hundredth of the smallest and not all of it. So β is 0.8 up to
//! an RTT_max of 2.3 times RTT_min, and 0.5 only from 3.1 times on.

use super::Params;
use crate::{Ack, Flow, Signal, causes};
use units::Bytes;

const HZ: i64 = 1000;
const TICK: u64 = 1_000_000;
/// `HTCP_SHIFT`; 0.5 and 0.8 by it.
const SHIFT: u32 = 8;
const BETA_MIN: i64 = 128;
const BETA_MAX: i64 = 204;
/// RTT over that of reference, by the same: 0.1 and 2.
const SCALE_MIN: i64 = 26;
const SCALE_MAX: i64 = 512;
/// `HTCP_RTT_REF`, 100 ms, as RTTs are kept.
const RTT_REF: i64 = 100 * 32;
/// `HTCP_MIN_RTT_SAMPLES`: the smoothed RTT means something from then on.
const RTT_SAMPLES: u32 = 8;
/// `htcp_max_diff`: α stays as it is beyond.
const LONGEST: i64 = i32::MAX as i64 / 160;

/// State; in quotes as in the source.
#[derive(Debug)]
pub struct State {
    rtt_scaling: bool,
    adaptive: bool,
    alpha: i64,
    beta: i64,
    /// Zero before there is one.
    rtt_min: i64,
    rtt_max: i64,
    rtts: u32,
    /// `t_last_cong`.
    since: i64,
    /// `prev_cwnd`, in bytes.
    previous: u64,
    /// What the reaction under way answers; a timeout ends it.
    episode: Option<Signal>,
    /// Timeouts in a row (`t_rxtshift`).
    timeouts: u32,
}

fn now(flow: &Flow) -> i64 {
    (flow.now.as_nanos() / TICK) as i64
}

/// `t_srtt`.
fn srtt(flow: &Flow) -> i64 {
    (flow.srtt.as_nanos() * 32 / TICK) as i64
}

/// `HTCP_CALC_ALPHA`: 1 + 10 t + (t/2)² of t = Δ − 1, in sixteenths, one factor of the square in whole seconds.
fn segments_per_round(t: i64) -> i64 {
    (16 + 160 * t / HZ + t / HZ * (16 * t / (4 * HZ))) >> 4
}

impl State {
    pub(super) fn new(p: &Params, flow: &mut Flow) -> Self {
        flow.slow_start_at_ssthresh = true;
        flow.floor = Bytes::new(1);
        State {
            rtt_scaling: p.rtt_scaling(),
            adaptive: p.adaptive_backoff,
            alpha: 1,
            beta: BETA_MIN,
            rtt_min: 0,
            rtt_max: 0,
            rtts: 0,
            since: now(flow),
            previous: 0,
            episode: None,
            timeouts: 0,
        }
    }

    /// `htcp_record_rtt`: any ACK counts.
    fn hear(&mut self, flow: &Flow) {
        if self.rtts < RTT_SAMPLES {
            return;
        }
        let srtt = srtt(flow);
        self.rtt_min = if self.rtt_min == 0 { srtt } else { self.rtt_min.min(srtt) };
        self.rtt_max = self.rtt_max.max(srtt);
    }

    fn update_beta(&mut self) {
        let known = self.adaptive && self.rtt_min != 0 && self.rtt_max != 0;
        let ratio = if known { (self.rtt_min << SHIFT) / self.rtt_max } else { 0 };
        self.beta = ratio.clamp(BETA_MIN, BETA_MAX);
    }

    fn update_alpha(&mut self, flow: &Flow) {
        let t = now(flow) - self.since - HZ;
        if t >= LONGEST {
            return;
        }
        self.alpha = 1;
        if t <= 0 {
            return;
        }
        self.alpha = segments_per_round(t);
        if self.adaptive {
            self.alpha = ((2 * (256 - self.beta) * self.alpha) >> SHIFT).max(1);
        }
        if self.rtt_scaling {
            let scale = ((srtt(flow) << SHIFT) / RTT_REF).clamp(SCALE_MIN, SCALE_MAX);
            self.alpha = ((scale * self.alpha) >> SHIFT).max(1);
        }
    }

    pub(super) fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rtts = self.rtts.saturating_add(u32::from(ack.rtt.is_some()));
        self.hear(flow);
        if ack.cumulative.is_zero() {
            return;
        }
        self.timeouts = 0;
        let (before, slow_start) = (flow.cwnd, flow.in_slow_start());
        flow.grow_as_reno(ack.cumulative);
        if flow.cwnd > before {
            self.update_beta();
            self.update_alpha(flow);
            if !slow_start {
                flow.cwnd += flow.mss * (self.alpha - 1) as u64;
            }
        }
    }

    pub(super) fn reduce(&mut self, flow: &Flow, signal: Signal) -> Bytes {
        if signal == Signal::Timeout {
            // A first timeout may be a false alarm.
            self.timeouts += 1;
            if self.timeouts > 1 {
                self.since = now(flow);
            }
            self.episode = None;
            return flow.cwnd.min(flow.receive_window) / 2;
        }
        self.rtt_max = (self.rtt_min + (self.rtt_max - self.rtt_min) * 95) / 100;
        let beta = if flow.ssthresh == Bytes::MAX {
            BETA_MIN
        } else {
            self.update_beta();
            self.beta
        };
        let to = (flow.cwnd.get() * beta as u64) >> SHIFT;
        self.since = now(flow);
        self.previous = flow.cwnd.get();
        self.episode = Some(signal);
        Bytes::new(to)
    }

    /// `htcp_post_recovery`.
    pub(super) fn recovered(&mut self, flow: &mut Flow) {
        if self.episode.take() != Some(Signal::Loss) {
            return;
        }
        let before = flow.windows();
        flow.cwnd = if flow.in_flight < flow.ssthresh {
            flow.in_flight + flow.mss
        } else {
            flow.mss * ((self.beta as u64 * self.previous / flow.mss.get()) >> SHIFT).max(1)
        };
        if flow.cwnd < before.0 {
            flow.because(causes::RecoveryExit { in_flight: flow.in_flight.get() as i64 }, before);
        }
    }

    pub(super) fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha as f64);
        see("beta", self.beta as f64 / 256.0);
    }
}

#[cfg(test)]
mod tests;
