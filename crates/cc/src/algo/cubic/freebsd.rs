//! The curve of FreeBSD 11's `cc_cubic.c` and `cc_cubic.h`, in its integers: windows in bytes, time in ticks of 1 ms, factors
//! in 256ths. It follows draft-rhee-tcpm-cubic-02, whose β leaves 0.8 of the window.
//!
//! Where its rules are not the RFC's: the window is *set* to the curve, once per window acknowledged (RFC 3465), in either
//! direction and however far (silence does not stop the clock, so after it the window jumps); the curve is looked up a mean
//! smoothed RTT ahead, the mean of the epoch before; the first congestion halves; the epoch begins where a repair ends; fast
//! convergence leaves 0.9 of W_max; a timeout halves, as the host's, and begins an epoch of the curve from before it; no
//! window has a least size.
//!
//! The surprise is `tf_cwnd`, what Reno would have: its product has 32 bits, and wraps every 75 ms with segments of 1460
//! bytes, where it has added (2^32 / 461 / 256) bytes over the RTT in ms: 0.6 of a segment at 40 ms, and never more. So a
//! FreeBSD 11 flow grows by the curve alone on paths where Linux grows as Reno would (`wide_reno` takes the wrap out).

mod law;

use super::Params;
use crate::{Ack, Congestion, Flow, Signal, causes};
use law::{Law, SHIFT};
use units::Bytes;

const TICK: u64 = 1_000_000;
/// `CUBIC_FC_FACTOR`: what fast convergence leaves of W_max, ~0.9.
const FAST_CONVERGENCE: u64 = 230;
/// `CUBIC_MIN_RTT_SAMPLES`: the smoothed RTT means something from then on.
const RTT_SAMPLES: u32 = 8;

/// State named as in RFC 9438 where it can be; in quotes as in the source.
#[derive(Debug)]
pub(super) struct Curve {
    law: Law,
    fast_convergence: bool,
    friendliness: bool,

    /// `max_cwnd` and `prev_max_cwnd`, in bytes.
    w_max: u64,
    previous: u64,
    /// In 256ths of a second.
    k: i64,
    /// Tick of the last congestion, which a repair that ends moves to its end.
    since: u64,
    /// `num_cong_events`.
    events: u32,
    /// What the reaction under way answers; a timeout ends it.
    episode: Option<Signal>,
    /// Timeouts in a row (`t_rxtshift`).
    timeouts: u32,
    rtts: u32,
    /// `mean_rtt_ticks`, and the sum it comes from.
    mean_rtt: u64,
    sum: u64,
    acks: u64,
    /// Acknowledged towards the next look at the curve.
    acked: u64,
}

fn now(flow: &Flow) -> u64 {
    flow.now.as_nanos() / TICK
}

impl Curve {
    pub(super) fn new(p: &Params, flow: &mut Flow) -> Self {
        flow.slow_start_at_ssthresh = true;
        flow.floor = Bytes::new(1);
        Curve {
            law: Law::new(p),
            fast_convergence: p.fast_convergence,
            friendliness: p.friendliness,
            w_max: flow.cwnd.get(),
            previous: 0,
            k: 0,
            since: now(flow),
            events: 0,
            episode: None,
            timeouts: 0,
            rtts: 0,
            mean_rtt: 1,
            sum: 0,
            acks: 0,
            acked: 0,
        }
    }

    /// `cubic_record_rtt`: any ACK counts.
    fn sample(&mut self, flow: &Flow) {
        if self.rtts < RTT_SAMPLES {
            return;
        }
        let srtt = flow.srtt.as_nanos() / TICK;
        if self.rtts == RTT_SAMPLES && self.mean_rtt == 1 {
            self.mean_rtt = srtt.max(1);
        }
        (self.sum, self.acks) = (self.sum + srtt, self.acks + 1);
    }

    pub(super) fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rtts = self.rtts.saturating_add(u32::from(ack.rtt.is_some()));
        self.sample(flow);
        if !ack.cumulative.is_zero() {
            self.timeouts = 0;
        }
        // `CCF_CWND_LIMITED` asks for no more than a window the receiver would take.
        if !flow.phase.grows() || ack.cumulative.is_zero() || flow.cwnd > flow.receive_window {
            return;
        }
        let mss = flow.mss.get();
        if flow.in_slow_start() {
            self.acked = 0;
            flow.slow_start(ack.cumulative);
            return;
        }
        self.acked += ack.cumulative.get().min(2 * mss);
        if self.acked < flow.cwnd.get() {
            return;
        }
        self.acked -= flow.cwnd.get();
        if self.rtts < RTT_SAMPLES {
            flow.cwnd += flow.mss;
            return;
        }
        let passed = now(flow) - self.since;
        let ahead = self.law.cubic(passed + self.mean_rtt, self.w_max, self.k, mss);
        let reno = if self.friendliness { self.law.reno(passed, self.mean_rtt, self.w_max, mss) } else { 0 };
        let before = flow.windows();
        flow.cwnd = if ahead < reno { Bytes::new(reno) } else { flow.cwnd.max(Bytes::new(ahead)) };
        // After silence the curve may be far above: nothing bounds the step (RFC 9438 does, by half of the window).
        if flow.cwnd < before.0 || flow.cwnd > before.0 * 3 / 2 {
            flow.because(causes::Curve { cubic: ahead as i64, reno: reno as i64 }, before);
        }
        if self.events == 0 {
            self.w_max = self.w_max.max(flow.cwnd.get());
        }
    }

    pub(super) fn reduce(&mut self, flow: &Flow, c: &Congestion) -> Bytes {
        self.acked = 0;
        if c.signal == Signal::Timeout {
            // A first timeout may be a false alarm and does not count; the braces that would spare it the new epoch, too, are
            // missing. `ssthresh` is the host's.
            self.timeouts += 1;
            self.events += u32::from(self.timeouts > 1);
            self.since = now(flow);
            self.episode = None;
            return flow.cwnd.min(flow.receive_window) / 2;
        }
        let cwnd = flow.cwnd.get();
        let to = if self.events == 0 { cwnd / 2 } else { self.law.leaves(cwnd) };
        self.events += 1;
        self.episode = Some(c.signal);
        (self.previous, self.w_max) = (self.w_max, cwnd);
        if c.signal == Signal::Ecn {
            self.since = now(flow);
        }
        Bytes::new(to)
    }

    /// `cubic_post_recovery`, which the host calls after fast retransmissions and marks.
    pub(super) fn recovered(&mut self, flow: &mut Flow) {
        let Some(episode) = self.episode.take() else { return };
        if self.fast_convergence && self.w_max < self.previous {
            self.w_max = (self.w_max * FAST_CONVERGENCE) >> SHIFT;
        }
        self.since = now(flow);
        if self.acks > 0 && self.sum >= self.acks {
            self.mean_rtt = self.sum / self.acks;
        }
        (self.sum, self.acks) = (0, 0);
        self.k = self.law.k(self.w_max, flow.mss.get());
        if episode == Signal::Ecn {
            return;
        }
        let before = flow.windows();
        flow.cwnd = if flow.in_flight < flow.ssthresh {
            flow.in_flight + flow.mss
        } else {
            Bytes::new(self.law.leaves(self.w_max).max(1))
        };
        if flow.cwnd < before.0 {
            flow.because(causes::RecoveryExit { in_flight: flow.in_flight.get() as i64 }, before);
        }
    }

    pub(super) fn vars(&self, mss: Bytes) -> (f64, f64, f64) {
        (self.w_max as f64 / mss.as_f64(), self.k as f64 / 256.0, 0.0)
    }
}

#[cfg(test)]
mod tests;
