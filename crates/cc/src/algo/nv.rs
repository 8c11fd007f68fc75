//! NV: Vegas by rates. A round's highest rate times the base RTT is the window it would have needed without a queue.
//!
//! ```text
//! every ACK:    R = delivered in the last RTT / RTT,  RTT averaged by halves;  base = its least in one to two periods of 5 s
//! every round:  W = max R·base / MSS + pad                                 pad = 10
//!   cwnd > W:           cwnd −= 0.3·(cwnd − W), ssthresh = W, no growth    after 2 rounds and 60 ACKs (the first time 30)
//!   cwnd ≤ W − 2:       grow as Reno does                                  after 20 ACKs
//! loss:         cwnd = ssthresh = 0.8·cwnd, no growth until a round finds room
//! timeout:      and each halves the growth, to 1/256; nine rounds with room double it again
//! ```
//! A round without enough ACKs is not judged, and those of the next count with it; after ten the window stops growing.
//!
//! Since no period of a busy link is without them, the ten packets become a part of the base, and others come on top, until the
//! buffer is full; a loss forgets the base, and the next has that queue in it. Alone on 10 Mbit/s, 40 ms with 66 packets of buffer
//! the mean RTT is 81 ms, and 53 with `base_rtt=42ms`, which the kernel can be told for this reason.
//!
//! Source: Linux 6.1 (`tcp_nv.c`, by L. Brakmo), in its integers. Its header wants it for data centres
//! where all flows are NV, since it gives way to those that fill queues.

mod path;

use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Phase, Reaction, Setup,
    Signal, causes, exits,
};
use path::Path;
use units::{Bytes, Duration, Instant};

params::params! {
    /// What the kernel's module takes, and what a program of BPF may tell it.
    pub struct Params {
        /// So many packets may be queued (nv_pad).
        pad: u32 = 10, 0 => 10_000;
        /// How long an RTT is believed to be the path's: from three quarters to five quarters of this, and as long again while
        /// the next is looked for (nv_reset_period).
        reset_period: Duration = Duration::from_secs(5), Duration::from_millis(100) => Duration::from_secs(3600);
        /// No queue takes more of the window than all but so many packets (nv_min_cwnd).
        min_cwnd: u32 = 2, 2 => 10_000;
        /// The base RTT is between 80 % of this and this, whatever is measured; 0 means that nobody knows
        /// (BPF_SOCK_OPS_BASE_RTT).
        base_rtt: Duration = Duration::ZERO, Duration::ZERO => Duration::from_secs(10);
    }
}

/// RTTs heard before a window shrinks, before it does so for the first time, and before it grows (`nv_dec_eval_min_calls`,
/// `nv_ssthresh_eval_min_calls`, `nv_inc_eval_min_calls`).
const SHRINK_CALLS: u8 = 60;
const FIRST_CALLS: u8 = 30;
const GROW_CALLS: u8 = 20;
/// Rounds before a window shrinks (`nv_rtt_min_cnt`), and rounds without a judgement that stop its growth (`nv_stop_rtt_cnt`).
const SHRINK_ROUNDS: u8 = 2;
const STOP_ROUNDS: u8 = 10;
/// Packets below the window's end where it stays (`nv_pad_buffer`).
const PAD_BUFFER: u64 = 2;
/// Of 128: how much of what is too much is given up (`nv_cong_dec_mult`, 30 %).
const GIVEN_UP: u64 = 38;
/// Of 1024: what a loss leaves (`nv_loss_dec_factor`).
const LEFT: u64 = 819;
/// Rounds with room that double a growth which timeouts have slowed (`nv_cwnd_growth_rate_neg`), and the slowest, 2⁻⁸.
const ROOM_ROUNDS: u32 = 8;
const SLOWEST: u32 = 8;
/// Windows too small to be judged, of which one ACK came in a round: the least, the step and the end (`NV_MIN_CWND`,
/// `NV_MIN_CWND_GROW`, `NV_TSO_CWND_BOUND`).
const SMALL: u64 = 4;
const SMALL_STEP: u64 = 2;
const SMALL_MOST: u64 = 81;

/// State.
#[derive(Debug)]
pub struct Nv {
    p: Params,
    path: Path,
    /// No queue was too long when it was last judged (`nv_allow_cwnd_growth`).
    grows: bool,
    /// A loss has made what follows out of date (`nv_reset`).
    stale: bool,
    /// When the last repair ended: the ACK that did it is not heard.
    mended: Option<Instant>,
    /// RTTs heard since a judgement, and rounds.
    calls: u8,
    rounds: u8,
    /// The round is over once more than this is acknowledged; what was at the last ACK heard.
    round_ends: u64,
    heard: u64,
    /// Judgements in a row that found room.
    with_room: u32,
    /// How often timeouts halved the growth (`cwnd_growth_factor`, negated).
    slowed: u32,
    /// Packets of a window that is too small to be judged (`nv_min_cwnd` of a flow).
    small: u64,
}

impl Algorithm for Nv {
    const ABOUT: About = About {
        name: "nv",
        title: "NV",
        paper: "Brakmo, TCP NV: TCP with Congestion Avoidance, Linux 6.1, tcp_nv.c; there is no paper",
        family: Family::Delay,
        signal: "rate and RTT per round",
        evidence: Evidence::Equations,
        departures: &[
            "clocks are exact, where the module's periods are in jiffies",
            "an ACK whose rate says nothing (as in delivery rate estimation) is not heard; the module divides by the RTT, whatever it is",
            "the module's faster growth is off in it (nv_cwnd_growth_rate_pos) and is not here",
        ],
        needs_rate: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        Nv {
            p: p.clone(),
            path: Path::new(p, setup.rng),
            grows: true,
            stale: false,
            mended: None,
            calls: 0,
            rounds: 0,
            round_ends: 0,
            heard: 0,
            with_room: 0,
            slowed: 0,
            small: SMALL,
        }
    }
}

impl Nv {
    /// `tcpnv_reset`.
    fn begin_anew(&mut self, flow: &Flow) {
        (self.stale, self.with_room, self.rounds, self.calls) = (false, 0, 0, 0);
        self.path.begin_anew();
        (self.round_ends, self.heard) = (flow.acked_to, flow.acked_to);
    }

    fn reopen(&mut self, flow: &Flow) {
        if self.stale {
            self.begin_anew(flow);
        }
    }

    /// `tcpnv_acked`.
    fn hear(&mut self, flow: &mut Flow, rtt: Duration, sent: Instant, delivered: Bytes) {
        let acked = flow.acked_to - self.heard;
        self.heard = flow.acked_to;
        self.calls = self.calls.saturating_add(1);
        if self.path.hear(flow.now, rtt, sent, delivered) {
            self.small = (self.small / 2).max(SMALL);
        }
        if flow.acked_to > self.round_ends {
            self.round_ends = flow.sent_to;
            self.rounds = self.rounds.saturating_add(1);
            self.end_of_round(flow, acked);
        }
    }

    fn end_of_round(&mut self, flow: &mut Flow, acked: u64) {
        let mss = flow.mss.get();
        if self.calls == 1 && acked >= (self.small - 1) * mss && self.small < SMALL_MOST {
            self.small = (self.small + SMALL_STEP).min(SMALL_MOST);
            self.round_ends += self.small * mss;
            (self.calls, self.grows) = (0, true);
            return;
        }
        let cwnd = flow.cwnd.get() / mss;
        let needed = self.path.needed(flow.mss);
        let most = needed + u64::from(self.p.pad);
        let judged = if cwnd > most {
            self.shrink(flow, cwnd, most, needed)
        } else {
            cwnd + PAD_BUFFER <= most && self.find_room()
        };
        if judged {
            (self.calls, self.rounds, self.path.rate) = (0, 0, 0);
            flow.cwnd = flow.cwnd.max(flow.mss * u64::from(self.p.min_cwnd));
        }
    }

    /// A queue too long; false if there is too little to say so.
    fn shrink(&mut self, flow: &mut Flow, cwnd: u64, most: u64, needed: u64) -> bool {
        let first = flow.ssthresh == Bytes::MAX;
        if self.rounds < SHRINK_ROUNDS || first && self.calls < FIRST_CALLS {
            return false;
        }
        if !first && self.calls < SHRINK_CALLS {
            self.grows &= self.rounds <= STOP_ROUNDS;
            return false;
        }
        let before = flow.windows();
        let over = cwnd - most;
        let by = if over > 2 { (over * GIVEN_UP / 128).max(2) } else { over };
        (self.grows, self.with_room) = (false, 0);
        (flow.ssthresh, flow.cwnd) = (flow.mss * most, flow.cwnd - flow.mss * by);
        let (rtt, base_rtt) = (1000 * self.path.rtt as i64, 1000 * self.path.base as i64);
        let bdp = (flow.mss * needed).get() as i64;
        if first {
            let bandwidth = 100 * self.path.rate as i64;
            let why =
                causes::SlowStartExit { reason: exits::QUEUED, rtt, base_rtt, bandwidth, bdp, ..Default::default() };
            flow.because(why, before);
        } else {
            flow.because(causes::DelayBackoff { queue: rtt - base_rtt, bdp, ..Default::default() }, before);
        }
        true
    }

    /// Room for more; false if there is too little to say so.
    fn find_room(&mut self) -> bool {
        if self.calls < GROW_CALLS {
            return false;
        }
        self.grows = true;
        self.with_room += 1;
        if self.slowed > 0 && self.with_room > ROOM_ROUNDS {
            (self.slowed, self.with_room) = (self.slowed - 1, 0);
        }
        true
    }

    fn lose(&mut self, timed_out: bool) {
        (self.stale, self.grows) = (true, false);
        if timed_out {
            self.slowed = (self.slowed + 1).min(SLOWEST);
        }
    }
}

impl CongestionControl for Nv {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let listens = flow.phase == Phase::Open && self.mended != Some(flow.now);
        if let (true, Some(rtt), Some(rate)) = (listens, ack.rtt, ack.rate) {
            // The module counts packets.
            let delivered = flow.mss * rate.delivered.get().div_ceil(flow.mss.get());
            self.hear(flow, rtt, ack.sent_at, delivered);
        }
        if self.grows {
            let slowed = self.slowed;
            flow.grow(ack.cumulative, |flow| {
                if slowed == 0 { flow.cwnd.max(flow.mss * 4) } else { flow.cwnd * (1 << slowed) }
            });
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        self.lose(congestion.signal == Signal::Timeout);
        let packets = flow.cwnd.get() / flow.mss.get();
        Reaction::Reduce(flow.mss * (packets * LEFT / 1024).max(2))
    }

    fn on_undo(&mut self, flow: &mut Flow) {
        self.reopen(flow);
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        match event {
            Event::RecoveryEnd => {
                self.mended = Some(flow.now);
                self.reopen(flow);
            }
            Event::Timeout => self.lose(true),
            _ => {}
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate_mbps", self.path.rate as f64 / 1e4);
        see("base_rtt_ms", if self.path.base == u64::MAX { 0.0 } else { self.path.base as f64 / 1e3 });
    }
}

#[cfg(test)]
mod tests;
