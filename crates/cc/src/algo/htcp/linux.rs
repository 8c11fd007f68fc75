//! Linux 6.1's `tcp_htcp.c`, in its integers: windows in packets, α and β in 128ths, time in jiffies of 1 ms.
//!
//! Where it is not the draft: Δ counts from the end of a repair; α is in whole packets and looked up when the window
//! grows, so that the first packet after congestion comes at the pace from before it; an ACK adds a packet at most, and
//! the one that does is not counted, so that a window of w grows by w/(w/α + 1) a round; RTT_max rises by 20 ms a sample
//! at most, outside of repairs, and gives up a twentieth of its way from RTT_min at every congestion; β is 0.5 up to a
//! RTT_min of 10 ms, and at the first congestion that could have another. What an undo puts back of RTT_max and the
//! throughput was taken after congestion had changed them: Δ alone is as before.

mod throughput;

use super::Params;
use crate::{Ack, Flow, Phase, Signal};
use throughput::Throughput;
use units::{Bytes, Duration};

const HZ: u64 = 1000;
/// 1.0 in α and β; 0.5 and 0.8 of it.
const ONE: u64 = 128;
const BETA_MIN: u64 = 64;
const BETA_MAX: u64 = 102;

/// State named as in the draft; in quotes as in the source.
#[derive(Debug)]
pub struct State {
    rtt_scaling: bool,
    bandwidth_switch: bool,

    alpha: u64,
    beta: u64,
    /// `modeswitch`: β may be another than 0.5.
    adapts: bool,
    /// `pkts_acked`: what the ACK at hand counts.
    acked: u64,
    /// `snd_cwnd_cnt`.
    counted: u64,
    rtt_min: u64,
    rtt_max: u64,
    /// `last_cong`, and what an undo makes it.
    since: u64,
    before: Option<u64>,
    /// The state that the last ACK left was Open.
    open: bool,
    throughput: Throughput,
}

fn now(flow: &Flow) -> u64 {
    flow.now.as_nanos() / (1_000_000_000 / HZ)
}

/// 1 + 10 t + (t/2)², of t = Δ − 1 in jiffies: whole packets, in 32 bits.
fn packets_per_round(t: u64) -> u64 {
    let half = (t / 2) as u32;
    1 + (10 * t + u64::from(half.wrapping_mul(half)) / HZ) / HZ
}

impl State {
    pub(super) fn new(p: &Params, flow: &Flow) -> Self {
        State {
            rtt_scaling: p.rtt_scaling(),
            bandwidth_switch: p.bandwidth_switch,
            alpha: ONE,
            beta: BETA_MIN,
            adapts: false,
            acked: 1,
            counted: 0,
            rtt_min: 0,
            rtt_max: 0,
            since: now(flow),
            before: None,
            open: true,
            throughput: Throughput::from(now(flow)),
        }
    }

    /// `measure_rtt`, in jiffies rounded up.
    fn hear(&mut self, rtt: Duration) {
        let rtt = (rtt.as_micros() * HZ).div_ceil(1_000_000);
        if rtt == 0 {
            return;
        }
        self.rtt_min = if self.rtt_min == 0 { rtt } else { self.rtt_min.min(rtt) };
        if self.open {
            self.rtt_max = self.rtt_max.max(self.rtt_min);
            if rtt <= self.rtt_max + 20 * HZ / 1000 {
                self.rtt_max = self.rtt_max.max(rtt);
            }
        }
    }

    /// `measure_achieved_throughput`.
    fn measure(&mut self, cwnd: u64, packets: u64, now: u64) {
        if !self.open {
            return self.throughput.pause(now);
        }
        // A round's growth may be more than the window; the kernel's difference wraps there, and nothing is measured.
        let round = cwnd.checked_sub((self.alpha / ONE).max(1)).unwrap_or(u64::MAX);
        self.throughput.see(packets, round, now, self.rtt_min, self.since);
    }

    fn update_beta(&mut self) {
        if self.bandwidth_switch && self.throughput.changed() {
            (self.beta, self.adapts) = (BETA_MIN, false);
        } else if self.adapts && self.rtt_min > 10 * HZ / 1000 && self.rtt_max > 0 {
            self.beta = (self.rtt_min * ONE / self.rtt_max).clamp(BETA_MIN, BETA_MAX);
        } else {
            (self.beta, self.adapts) = (BETA_MIN, true);
        }
    }

    fn update_alpha(&mut self, now: u64) {
        let mut factor = packets_per_round((now - self.since).saturating_sub(HZ));
        if self.rtt_scaling && self.rtt_min > 0 {
            let scale = (8 * HZ / (10 * self.rtt_min)).clamp(4, 80);
            factor = (8 * factor / scale).max(1);
        }
        self.alpha = 2 * factor * (ONE - self.beta);
    }

    pub(super) fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let cwnd = flow.cwnd.get() / flow.mss.get();
        let packets = ack.cumulative.get().div_ceil(flow.mss.get());
        // The kernel takes what follows before the ACK changes the state.
        if self.open {
            self.acked = packets;
        }
        if let Some(rtt) = ack.rtt {
            self.hear(rtt);
        }
        if self.bandwidth_switch {
            self.measure(cwnd, packets, now(flow));
        }
        self.open = flow.phase == Phase::Open;
        if packets == 0 || !flow.may_grow() {
            return;
        }
        if flow.in_slow_start() {
            flow.slow_start(ack.cumulative);
            return;
        }
        if self.counted * self.alpha / ONE >= cwnd {
            flow.cwnd += flow.mss;
            self.counted = 0;
            self.update_alpha(now(flow));
        } else {
            self.counted += self.acked;
        }
        self.acked = 1;
    }

    pub(super) fn reduce(&mut self, flow: &Flow, signal: Signal) -> Bytes {
        self.update_beta();
        self.update_alpha(now(flow));
        if self.rtt_min > 0 && self.rtt_max > self.rtt_min {
            self.rtt_max = self.rtt_min + (self.rtt_max - self.rtt_min) * 95 / 100;
        }
        self.counted = 0;
        if signal == Signal::Timeout {
            self.congested(flow);
        } else {
            self.reset(flow);
        }
        flow.mss * (flow.cwnd.get() / flow.mss.get() * self.beta / ONE).max(2)
    }

    /// `htcp_reset`.
    fn reset(&mut self, flow: &Flow) {
        self.before = Some(self.since);
        self.since = now(flow);
    }

    /// A timeout, in a repair too.
    pub(super) fn congested(&mut self, flow: &Flow) {
        self.reset(flow);
        self.open = false;
    }

    pub(super) fn recovered(&mut self, flow: &Flow) {
        if self.before.take().is_some() {
            self.since = now(flow);
        }
    }

    pub(super) fn undo(&mut self) {
        self.since = self.before.take().unwrap_or(self.since);
    }

    pub(super) fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha as f64 / ONE as f64);
        see("beta", self.beta as f64 / ONE as f64);
    }
}

#[cfg(test)]
mod tests;
