//! Copa: steer towards the rate 1/(δ·d_q), so that about 1/δ packets of each flow are queued; where others keep the queue
//! full, trade δ by additive increase and multiplicative decrease.
//!
//! ```text
//! d_q = RTT_standing − RTT_min       RTT_standing: min over srtt/2;  RTT_min: min over 10 s
//! target window = RTT_standing / (δ·d_q);   cwnd ± v/(δ·cwnd) for each packet acknowledged, towards it
//! v: 1; doubled each round once three rounds went the same way; 1 again at a turn        pacing = 2·cwnd/RTT_standing
//! slow start: doubles until the target is passed or something is lost
//! competitive: the queue was not nearly empty (d_q < 0.1·(RTT_max − RTT_min), RTT_max over 4 RTTs) for 5 RTTs
//!              1/δ += 1 a round without loss, halved on loss, once an RTT;  otherwise δ = 0.5
//! heavy loss:  more than 30 % of the packets of two RTTs, and of 20:  cwnd·0.7, in either mode
//! ```
//! Source: Arun and Balakrishnan, Copa, NSDI 2018. Heavy loss is of the authors' code (genericCC, `MarkovianCC::onACK` and
//! `ReduceOnLoss`, of which the comment says 10 % in an RTT); the paper has no word of it. That code is told the default δ
//! as it starts (`auto:0.5`), and doubles v with every RTT in which most ACKs went the same way as in the one before; mvfst
//! has no competitive mode.

mod heavy;

use self::heavy::HeavyLoss;
use crate::filter::{WindowedMax, WindowedMin};
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Lost, Reaction, Setup, Signal,
    StartRule, causes, exits, modes,
};
use units::{Bytes, Duration, Instant};

params::params! {
    /// Values of the paper.
    pub struct Params {
        /// Inverse of the packets to keep queued (δ of the default mode, and the largest of the competitive one).
        delta: f64 = 0.5, 0.01 => 2.0;
        /// Where competitors fill the queue, compete.
        competitive: bool = true;
        /// v is 1 again as soon as the target is passed (mvfst), not at the end of the round that went the other way (the
        /// paper's "once per window"): what v had come to would empty the path within a round.
        turn_at_once: bool = true;
        /// RTT_min is the smallest of this long.
        min_rtt_window: Duration = Duration::from_secs(10), Duration::from_millis(100) => Duration::from_secs(1000);
    }
}

/// Rounds the same way before v doubles.
const SAME_WAY: u32 = 3;
/// The queue is nearly empty below this part of its range.
const NEARLY_EMPTY: f64 = 0.1;
/// RTT_max is taken over this many smoothed RTTs; competitors are assumed once the queue was not nearly empty for
/// `FULL_RTTS` of them.
const MAX_RTTS: u64 = 4;
const FULL_RTTS: u64 = 5;
/// State: three filters of the RTT, the velocity, and the mode.
#[derive(Debug)]
pub struct Copa {
    p: Params,
    delta: f64,
    base: WindowedMin<Duration>,
    standing: WindowedMin<Duration>,
    largest: WindowedMax<Duration>,
    velocity: f64,
    rising: bool,
    same_way: u32,
    /// Window at the start of the round, in packets, and what is owed to the window: it moves in whole ones.
    began: f64,
    owed: f64,
    nearly_empty_at: Instant,
    competing: bool,
    /// RTT_standing and d_q of the last sample: many an ACK of a repair brings none.
    last: Option<(Duration, Duration)>,
    /// Something was lost in this round, and when 1/δ was last halved.
    lost: bool,
    halved_at: Option<Instant>,
    heavy: HeavyLoss,
}

impl Algorithm for Copa {
    const ABOUT: About = About {
        name: "copa",
        title: "Copa",
        paper: "Arun and Balakrishnan, Copa: practical delay-based congestion control for the Internet, NSDI 2018",
        family: Family::DualMode,
        signal: "queueing delay per ACK, paced",
        evidence: Evidence::Equations,
        departures: &[
            "the window moves in whole packets: fractions are kept until they make one",
            "never faster than doubling in a round, however large v; the authors' code halves a v beyond δ·cwnd",
            "RTT_min is the smallest of 10 s, as in the paper; the authors' code looks back 20 RTT_min where they are longer",
            "5 RTTs without a small d_q tell of competitors, as in the paper; in the authors' code the smallest RTT of 4 does",
            "v is 1 again as soon as the target is passed, as in mvfst (`turn_at_once`); in the paper once a round",
            "a loss ends slow start, which in the authors' code only the target does; a timeout halves the window, there it \
             does nothing",
            "a mark halves the window, in any state; the authors' code does not know marks",
        ],
        start: StartRule::Fixed,
        modes: &[modes::DELAY, modes::LOSS],
        paces: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        setup.flow.avoid_at_ssthresh();
        Copa {
            p: p.clone(),
            delta: p.delta,
            base: WindowedMin::new(p.min_rtt_window.as_nanos()),
            standing: WindowedMin::new(0),
            largest: WindowedMax::new(0),
            velocity: 1.0,
            rising: true,
            same_way: 0,
            began: setup.flow.cwnd.packets(setup.flow.mss),
            owed: 0.0,
            nearly_empty_at: setup.flow.now,
            competing: false,
            last: None,
            lost: false,
            halved_at: None,
            heavy: HeavyLoss::since(setup.flow.now),
        }
    }
}

/// The window whose rate is 1/(δ·d_q), in packets; without bound for an empty queue.
fn target(standing: Duration, queue: Duration, delta: f64) -> f64 {
    if queue.is_zero() { f64::INFINITY } else { standing / queue / delta }
}

/// What so many acknowledged packets move a window by.
fn step(cwnd: f64, target: f64, velocity: f64, delta: f64, acked: f64) -> f64 {
    let step = (velocity / (delta * cwnd)).min(1.0) * acked;
    if cwnd <= target { step } else { -step }
}

impl Copa {
    /// Takes a sample; returns RTT_standing and d_q.
    fn measure(&mut self, flow: &Flow, rtt: Duration) -> (Duration, Duration) {
        let (now, srtt) = (flow.now.as_nanos(), flow.srtt.as_nanos());
        self.standing.set_window(srtt / 2);
        self.largest.set_window(srtt * MAX_RTTS);
        let (base, standing, largest) =
            (self.base.update(now, rtt), self.standing.update(now, rtt), self.largest.update(now, rtt));
        let queue = standing.saturating_sub(base);
        if queue.is_zero() || queue < largest.saturating_sub(base).mul_f64(NEARLY_EMPTY) {
            self.nearly_empty_at = flow.now;
        }
        (standing, queue)
    }

    fn choose_mode(&mut self, flow: &mut Flow, queue: Duration) {
        let full = flow.now.since(self.nearly_empty_at) > flow.srtt * FULL_RTTS;
        let competing = self.p.competitive && full && !flow.in_slow_start();
        if competing != self.competing {
            self.competing = competing;
            self.delta = self.p.delta;
            let (from, to) = if competing { (modes::DELAY, modes::LOSS) } else { (modes::LOSS, modes::DELAY) };
            flow.note(causes::ModeSwitch { from, to, queue: queue.as_nanos() as i64, ..Default::default() });
        }
    }

    fn end_of_round(&mut self, flow: &Flow) {
        let cwnd = flow.cwnd.packets(flow.mss);
        let rising = cwnd > self.began;
        self.same_way = if rising == self.rising { self.same_way.saturating_add(1) } else { 0 };
        self.velocity = if self.same_way >= SAME_WAY { (self.velocity * 2.0).min(cwnd) } else { 1.0 };
        (self.rising, self.began) = (rising, cwnd);
        if self.competing && !self.lost {
            self.delta = (1.0 / (1.0 / self.delta + 1.0)).max(1.0 / cwnd).min(self.p.delta);
        }
        self.lost = false;
    }

    /// Where it competes a loss halves 1/δ, once an RTT: a repair that never ends is told as one episode. True if it did.
    fn lose(&mut self, flow: &Flow) -> bool {
        self.lost = true;
        let halves = self.competing && flow.rtt_passed(self.halved_at);
        if halves {
            self.delta = (self.delta * 2.0).min(self.p.delta);
            self.halved_at = Some(flow.now);
        }
        halves
    }

    /// What this ACK's losses did, none of which takes from the window by itself.
    fn tell_loss(&self, flow: &mut Flow, lost: Bytes) {
        let (lost, queue) = (lost.get() as i64, self.last.map_or(Duration::ZERO, |(_, queue)| queue).as_nanos() as i64);
        if self.halved_at == Some(flow.now) {
            let in_flight = flow.in_flight.get() as i64;
            flow.note(causes::LossBackoff { lost, in_flight, ..Default::default() });
        } else {
            flow.note(causes::LossTolerated { lost, queue, ..Default::default() });
        }
    }

    fn answer_heavy_loss(&mut self, flow: &mut Flow) {
        let before = flow.windows();
        flow.cwnd = flow.cwnd.mul_f64(heavy::LEAVES).max(flow.floor).min(flow.cwnd);
        flow.ssthresh = flow.ssthresh.min(flow.cwnd);
        flow.because(causes::LossBackoff { in_flight: flow.in_flight.get() as i64, ..Default::default() }, before);
    }

    fn steer(&mut self, flow: &mut Flow, target: f64, acked: f64, queue: Duration) {
        let cwnd = flow.cwnd.packets(flow.mss);
        if cwnd <= target && !flow.cwnd_limited {
            return;
        }
        let up = cwnd <= target;
        if self.p.turn_at_once && up != self.rising && self.velocity > 1.0 {
            (self.rising, self.same_way, self.velocity, self.began) = (up, 0, 1.0, cwnd);
        }
        self.owed += step(cwnd, target, self.velocity, self.delta, acked);
        let whole = self.owed as i64;
        self.owed -= whole as f64;
        let by = flow.mss * whole.unsigned_abs();
        if whole > 0 {
            flow.cwnd += by;
        } else if whole < 0 {
            let before = flow.windows();
            flow.cwnd = flow.cwnd.saturating_sub(by).max(flow.floor);
            flow.ssthresh = flow.ssthresh.min(flow.cwnd);
            flow.because(causes::DelayBackoff { queue: queue.as_nanos() as i64, ..Default::default() }, before);
        }
    }
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let (standing, queue) = self.measure(flow, rtt);
            self.last = Some((standing, queue));
            self.choose_mode(flow, queue);
        }
        self.heavy.came += ack.delivered.packets(flow.mss);
        if self.heavy.judge(flow) {
            self.answer_heavy_loss(flow);
        }
        let Some((standing, queue)) = self.last else { return };
        let target = target(standing, queue, self.delta);
        if flow.in_slow_start() {
            if flow.cwnd.packets(flow.mss) > target {
                let (rtt, base_rtt) = (flow.rtt.as_nanos() as i64, (standing - queue).as_nanos() as i64);
                flow.leave_slow_start(causes::SlowStartExit {
                    reason: exits::QUEUED,
                    rtt,
                    base_rtt,
                    ..Default::default()
                });
            } else if flow.may_grow() {
                flow.slow_start(ack.delivered);
            }
        } else {
            if ack.round.is_some() {
                self.end_of_round(flow);
            }
            self.steer(flow, target, ack.delivered.packets(flow.mss), queue);
        }
        let standing = standing.max(Duration::from_micros(1));
        flow.pacing = Some((flow.cwnd * 2 / standing).max(units::Rate::from_bps(1)));
    }

    fn on_lost(&mut self, flow: &mut Flow, lost: &Lost) {
        self.heavy.lost += lost.size.packets(flow.mss);
        if self.lose(flow) && flow.phase.repairs() {
            self.tell_loss(flow, lost.size);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        self.lose(flow);
        if congestion.signal != Signal::Loss {
            return Reaction::Reduce(flow.cwnd / 2);
        }
        if flow.in_slow_start() {
            let (rtt, base_rtt) = (flow.rtt.as_nanos() as i64, flow.min_rtt.as_nanos() as i64);
            flow.leave_slow_start(causes::SlowStartExit { reason: exits::LOSS, rtt, base_rtt, ..Default::default() });
        } else {
            self.tell_loss(flow, congestion.lost);
        }
        Reaction::Own
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("delta", self.delta);
        see("velocity", self.velocity);
        see("competing", self.competing as u8 as f64);
    }
}

#[cfg(test)]
mod tests;
