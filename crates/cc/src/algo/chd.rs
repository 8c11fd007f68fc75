//! CHD, CAIA-Hamilton delay: HD once per round, with a shadow window against loss-based flows and tolerance of random loss.
//!
//! ```text
//! h = max of q over a round;  g(h) as in HD
//! once per round:   w = w / 2                if X < g(h)
//!                   w = w + 1                otherwise                                           (2)
//! at a back-off:    s = max(w, s)            if h > q_th, or h_b < h < q_th, h_b of the back-off before
//!                   s = 0                    otherwise                                           (3)
//! between them:     s grows as w does, unless it is 0, and is halved by a loss
//! loss:             w = max(w, s) / 2        if h > q_th (region B)
//!                   w as it is               otherwise, and no growth until it is repaired       (4)
//! ```
//! A round is a marked packet's RTT on FreeBSD's stack (section IV-A, footnote 2) and a window of data elsewhere. The
//! shadow window is what a NewReno flow would have; after back-offs that others' queue caused, a loss gives half of it back.
//!
//! Source: D. A. Hayes and G. Armitage, "Improved coexistence and loss tolerance for delay based TCP congestion control",
//! LCN 2010, section IV. Eq (3) says s = 0 in every round without a back-off, too; the text and Figure 2 let s live until
//! the next back-off, and so do both references. `freebsd` is `cc_chd.c`: other q_th and p_max; one back-off per RTT; a
//! loss in the round after a back-off cuts nothing; loss is judged by the round under way; s starts as the window, is
//! kept by any h above h_b, and is used only if the last toss in region B was a hit; what is left is rounded up to segments.

use super::cdg::Switch;
use super::hd::{Backoff, Reference, Toss, grow};
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, How, Phase, Reaction, Round,
    Setup, Signal, causes,
};
use params::{Auto, AutoTime};
use units::{Bytes, Duration, Rng};

params::params! {
    /// Delays are the paper's and FreeBSD's (there in ticks of 1 ms); where a default is `auto`, the reference decides.
    pub struct Params {
        /// Whose rules: paper or freebsd.
        reference: Reference = Reference::Paper;
        /// No back-off at or below this queueing delay (sysctl queue_min).
        q_min: Duration = Duration::from_millis(5), Duration::ZERO => Duration::from_secs(10);
        /// Where region B begins (sysctl queue_threshold). auto: 30 ms in the paper, 20 ms in freebsd.
        q_th: AutoTime = AutoTime::AUTO, AutoTime::millis(1) => AutoTime::millis(10_000);
        /// Probability of a back-off per round at q_th (sysctl pmax, in percent). auto: 0.25 in the paper, 0.5 in freebsd.
        p_max: Auto = Auto::AUTO, Auto::of(0.0) => Auto::of(1.0);
        /// The round's delay is its largest, not its last (sysctl use_max).
        use_max: bool = true;
        /// Keep a shadow window (sysctl loss_fair).
        loss_fair: bool = true;
        /// Tolerate losses in region A.
        tolerate: bool = true;
        /// What a delay back-off leaves of the window; the paper's section VI wonders about more than half.
        beta_delay: f64 = 0.5, 0.1 => 0.99;
        /// Grow while a tolerated loss is repaired (section VI; the paper and FreeBSD do not).
        grow_in_recovery: bool = false;
        /// No toss while data sent before the last back-off is under way: one back-off per RTT. auto: freebsd only.
        once_per_rtt: Switch = Switch::Auto;
    }
    check |p| { p.backoff().check() }
}

impl Params {
    fn backoff(&self) -> Backoff {
        let (q_th, p_max) = match self.reference {
            Reference::Paper => (30, 0.25),
            Reference::FreeBsd => (20, 0.5),
        };
        Backoff { q_min: self.q_min, q_th: self.q_th.or(Duration::from_millis(q_th)), p_max: self.p_max.or(p_max) }
    }
}

/// State named as in the paper.
#[derive(Debug)]
pub struct Chd {
    p: Params,
    backoff: Backoff,
    kernel: bool,
    once: bool,
    rng: Rng,
    /// h: largest queueing delay of the last round.
    h: Duration,
    /// h_b: h at the last back-off.
    h_b: Duration,
    /// s: what a loss-based flow would have; 0 is "forgotten".
    shadow: Bytes,
    /// Largest RTT of the round under way.
    largest: Duration,
    /// FreeBSD: the last toss was a hit in region B.
    competing: bool,
    /// Data out at the last back-off and not yet acknowledged.
    outstanding: Bytes,
    /// The loss being repaired was tolerated.
    tolerated: bool,
    toss: Toss,
}

impl Algorithm for Chd {
    const ABOUT: About = About {
        name: "chd",
        title: "CHD (CAIA-Hamilton delay)",
        paper: "Hayes and Armitage, LCN 2010",
        family: Family::DualMode,
        signal: "largest queueing delay of a round; loss",
        evidence: Evidence::Equations,
        departures: &[
            "a tolerated loss in slow start ends it (ssthresh becomes cwnd), as FreeBSD's way of leaving cwnd alone does",
            "paper: Eq (3) is taken at back-offs only; a timeout forgets the shadow window",
            "freebsd: probabilities are not rounded to whole steps per tick",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let kernel = p.reference == Reference::FreeBsd;
        setup.flow.slow_start_at_ssthresh |= kernel;
        Chd {
            p: p.clone(),
            backoff: p.backoff(),
            kernel,
            once: p.once_per_rtt.or(kernel),
            rng: setup.rng,
            h: Duration::ZERO,
            h_b: Duration::ZERO,
            shadow: if kernel { setup.flow.cwnd } else { Bytes::ZERO },
            largest: Duration::ZERO,
            competing: false,
            outstanding: Bytes::ZERO,
            tolerated: false,
            toss: Toss::default(),
        }
    }
}

impl Chd {
    /// Takes the round's delay and tosses. True for a back-off.
    fn end_of_round(&mut self, flow: &mut Flow, round: &Round) -> bool {
        let rtt = match (self.p.use_max, self.kernel) {
            (true, true) => round.max_rtt_reused.max(round.max_rtt),
            (true, false) => round.max_rtt,
            (false, _) => flow.rtt,
        };
        self.largest = Duration::ZERO;
        if rtt.is_zero() {
            return false;
        }
        self.h = rtt.saturating_sub(flow.min_rtt);
        if self.is_recovering(flow) {
            return false;
        }
        self.toss = Toss { queue: self.h, ..Toss::default() };
        if self.h > self.backoff.q_min {
            self.toss = self.backoff.toss(self.h, flow, &mut self.rng);
        }
        self.competing = self.p.loss_fair && self.toss.hit && self.h > self.backoff.q_th;
        if self.toss.hit {
            self.back_off(flow);
        }
        self.toss.hit
    }

    /// Losses are under repair or, where that counts, the last back-off's round is not over.
    fn is_recovering(&self, flow: &Flow) -> bool {
        matches!(flow.phase, Phase::Recovery | Phase::Reduced) || (self.once && !self.outstanding.is_zero())
    }

    fn back_off(&mut self, flow: &mut Flow) {
        // Eq (3)
        let compete = if self.kernel {
            self.competing || self.h > self.h_b
        } else {
            self.p.loss_fair && (self.h > self.backoff.q_th || (self.h < self.backoff.q_th && self.h > self.h_b))
        };
        self.shadow = if compete { self.shadow.max(flow.cwnd) } else { Bytes::ZERO };
        self.h_b = self.h;
        self.outstanding = flow.in_flight;
        flow.reduce(self.cut(flow.cwnd, self.p.beta_delay, flow), How::AtOnce, self.toss.cause(flow));
    }

    /// A part of a window, in FreeBSD in segments and rounded up.
    fn cut(&self, window: Bytes, beta: f64, flow: &Flow) -> Bytes {
        let to = window.min(flow.receive_window).mul_f64(beta);
        if self.kernel { flow.mss * to.get().div_ceil(flow.mss.get()) } else { to }
    }

    /// Eq (2) without a hit. FreeBSD counts acknowledged bytes (RFC 3465) where the paper counts rounds.
    fn grow(&mut self, flow: &mut Flow, ack: &Ack) {
        let before = flow.cwnd;
        if self.kernel || flow.in_slow_start() {
            grow(flow, ack.cumulative);
        } else if ack.round.is_some() {
            flow.cwnd += flow.mss;
        }
        if !self.shadow.is_zero() {
            self.shadow += flow.cwnd - before;
        }
    }

    /// Eq (4), and what NewReno's window would have done.
    fn on_loss(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        let queue = if self.kernel { flow.rtt.max(self.largest).saturating_sub(flow.min_rtt) } else { self.h };
        let shadow = if !self.kernel || self.competing { self.shadow } else { Bytes::ZERO };
        self.shadow = self.shadow / 2;
        if self.kernel && !self.shadow.is_zero() {
            self.shadow = (flow.mss * (self.shadow.get() / flow.mss.get())).max(flow.mss * 2);
        }
        let handled = self.kernel && !self.outstanding.is_zero();
        self.tolerated = handled || (self.p.tolerate && queue <= self.backoff.q_th);
        if self.tolerated {
            let before = flow.windows();
            flow.ssthresh = flow.cwnd;
            let why =
                causes::LossTolerated { lost: c.lost.get() as i64, queue: queue.as_nanos() as i64, queue_state: 0 };
            flow.because(why, before);
            return Reaction::Own;
        }
        let to = self.cut(flow.cwnd.max(shadow), 0.5, flow);
        if shadow > flow.cwnd {
            // The host records the loss; that it gives back more than half is told beside it.
            flow.note(causes::Restore { target: to.get() as i64, interval: 0 });
        }
        Reaction::Reduce(to)
    }
}

impl CongestionControl for Chd {
    #[inline]
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.outstanding = self.outstanding.saturating_sub(ack.cumulative);
        self.largest = self.largest.max(flow.rtt);
        if let Some(round) = &ack.round
            && self.end_of_round(flow, round)
        {
            return;
        }
        let repairing = flow.phase == Phase::Recovery && self.tolerated && self.p.grow_in_recovery;
        if flow.may_grow() || (repairing && flow.cwnd_limited) {
            self.grow(flow, ack);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        match c.signal {
            Signal::Loss => self.on_loss(flow, c),
            // FreeBSD hands the other two to NewReno.
            Signal::Ecn if self.once && !self.outstanding.is_zero() => Reaction::Own,
            Signal::Ecn => Reaction::Reduce(flow.cwnd / 2),
            Signal::Timeout => {
                self.tolerated = false;
                if !self.kernel {
                    self.shadow = Bytes::ZERO;
                }
                Reaction::Reduce(flow.cwnd / 2)
            }
        }
    }

    fn on_event(&mut self, _: &mut Flow, event: Event) {
        if event == Event::RecoveryEnd {
            self.outstanding = Bytes::ZERO;
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("h_ms", self.h.as_millis_f64());
        see("h_b_ms", self.h_b.as_millis_f64());
        see("probability", self.toss.probability);
        see("drew", self.toss.drew);
        see("shadow", self.shadow.as_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, closing, congestion, flow, ms, packets};
    use crate::{CauseKind, build};
    use std::boxed::Box;
    use std::string::String;
    use std::vec::Vec;

    const BASE: u64 = 40;

    struct Run {
        f: Flow,
        cc: Box<dyn CongestionControl>,
    }

    impl Run {
        /// In avoidance, with 100 ms of queue seen before.
        fn new(spec: &str, cwnd: u64) -> Run {
            let mut f = flow(cwnd, BASE);
            (f.ssthresh, f.max_rtt) = (packets(2), ms(BASE + 100));
            let cc = build(&spec.parse().unwrap(), &mut f, Rng::new(1, 0, 0)).unwrap();
            Run { f, cc }
        }

        /// One round with that largest queueing delay; what happened to the window, in packets.
        fn round(&mut self, queue: u64) -> f64 {
            self.f.rtt = ms(BASE + queue);
            self.f.in_flight = Bytes::ZERO;
            let mut last = closing(2, BASE + queue);
            last.round.as_mut().unwrap().max_rtt_reused = ms(BASE + queue);
            self.cc.on_ack(&mut self.f, &last);
            self.f.cwnd.get() as f64 / 1000.0
        }

        fn lose(&mut self) -> Reaction {
            let c = congestion(Signal::Loss, &self.f);
            self.cc.on_congestion(&mut self.f, &c)
        }

        fn shadow(&self) -> f64 {
            let mut seen = Vec::new();
            self.cc.vars(&mut |name, value| seen.push((String::from(name), value)));
            seen.iter().find(|v| v.0 == "shadow").unwrap().1 / 1000.0
        }

        fn causes(&mut self) -> Vec<CauseKind> {
            self.f.drain_events().filter_map(|e| e.cause()).collect()
        }
    }

    fn reduced(n: u64) -> Reaction {
        Reaction::Reduce(packets(n))
    }

    #[test]
    fn one_toss_per_round_at_p_max() {
        // p_max = 0.25 per round at q_th: binomial, 1000 ± 4 standard deviations of 27.
        let mut run = Run::new("chd", 40);
        let mut count = 0;
        for _ in 0..4000 {
            run.f.cwnd = packets(40);
            for _ in 0..5 {
                run.cc.on_ack(&mut run.f, &ack(2, BASE + 90));
            }
            count += usize::from(run.round(30) < 40.0);
        }
        assert!((890..=1110).contains(&count), "{count}");
        run.f.cwnd = packets(40);
        assert_eq!(run.round(5), 41.0, "q_min never backs off, and a round adds one packet");
    }

    #[test]
    fn the_story_of_figure_2() {
        // 1: grow; 2: the delay rises above that of the last back-off, s = w; 3: w backs off again; 4: s grows on;
        // 5: a loss in region B, and w is half of s. p_max = 1 makes a back-off certain at 30 ms and impossible at the
        // largest delay seen, which says where in region B a round lies.
        let mut run = Run::new("chd(p_max=1)", 40);
        run.f.max_rtt = ms(BASE + 200);
        assert_eq!(run.round(1), 41.0);
        assert_eq!((run.round(30), run.shadow()), (20.5, 0.0), "h = q_th belongs to neither region");
        run.f.max_rtt = ms(BASE + 100_000);
        run.f.cwnd = packets(40);
        assert_eq!((run.round(31), run.shadow()), (20.0, 40.0), "region B");
        assert_eq!((run.round(31), run.shadow()), (10.0, 40.0));
        assert_eq!((run.round(2), run.round(3), run.shadow()), (11.0, 12.0, 42.0));
        run.f.max_rtt = ms(BASE + 100);
        assert_eq!((run.round(100), run.shadow()), (13.0, 43.0));
        assert_eq!((run.lose(), run.shadow()), (Reaction::Reduce(Bytes::new(21_500)), 21.5));
        assert!(run.causes().contains(&CauseKind::Restore));
    }

    #[test]
    fn the_shadow_is_kept_by_a_rising_delay_and_forgotten_by_a_falling_one() {
        // Region A, hard below a q_th of 10 s: a back-off is certain but for one draw in a thousand.
        let mut run = Run::new("chd(p_max=1, q_th=10s)", 32);
        assert_eq!((run.round(9998), run.shadow()), (16.0, 32.0), "h_b was 0");
        assert_eq!((run.round(9997), run.shadow()), (8.0, 0.0));
        assert_eq!((run.round(9998), run.shadow()), (4.0, 8.0));
        let mut plain = Run::new("chd(p_max=1, q_th=10s, loss_fair=false)", 32);
        assert_eq!((plain.round(9998), plain.shadow()), (16.0, 0.0));
    }

    #[test]
    fn loss_is_tolerated_in_region_a_and_halves_in_region_b() {
        let mut run = Run::new("chd(p_max=0)", 20);
        run.round(30);
        assert_eq!((run.lose(), run.f.cwnd, run.f.ssthresh), (Reaction::Own, packets(21), packets(21)));
        let e = run.f.drain_events().last().unwrap();
        assert_eq!((e.cause(), e.values[1]), (Some(CauseKind::LossTolerated), 30_000_000));
        run.f.phase = Phase::Recovery;
        assert_eq!(run.round(30), 21.0, "no growth while the loss is repaired");
        run.f.phase = Phase::Open;
        run.round(31);
        assert_eq!((run.lose(), run.causes()), (reduced(11), std::vec![]));
        let mut strict = Run::new("chd(p_max=0, tolerate=false)", 20);
        strict.round(1);
        assert_eq!(strict.lose(), Reaction::Reduce(Bytes::new(10_500)));
        let mut growing = Run::new("chd(p_max=0, grow_in_recovery=true)", 20);
        growing.lose();
        growing.f.phase = Phase::Recovery;
        assert_eq!(growing.round(1), 21.0);
    }

    #[test]
    fn freebsd_rounds_up_waits_a_round_and_judges_the_round_under_way() {
        let mut run = Run::new("chd(reference=freebsd, p_max=1)", 21);
        assert_eq!(run.shadow(), 21.0, "from the start");
        assert_eq!((run.round(20), run.shadow()), (11.0, 21.0), "h above h_b keeps the shadow");
        // A loss while the data of the back-off is out cuts nothing, whatever the delay.
        run.f.rtt = ms(BASE + 20);
        run.f.in_flight = packets(30);
        let mut last = closing(2, BASE + 20);
        last.round.as_mut().unwrap().max_rtt_reused = ms(BASE + 20);
        run.cc.on_ack(&mut run.f, &last);
        run.f.rtt = ms(BASE + 90);
        assert_eq!(run.lose(), Reaction::Own);
        // Now it is over: 90 ms in the round under way is region B, though the last round's h was in region A.
        let mut run = Run::new("chd(reference=freebsd, p_max=0)", 21);
        run.round(1);
        run.f.rtt = ms(BASE + 90);
        run.cc.on_ack(&mut run.f, &ack(1, BASE + 90));
        assert_eq!(run.lose(), reduced(11));
    }
}
