//! Prague: DCTCP made fit for the Internet. Its packets say that they want L4S treatment, they are paced, and flows of
//! short RTT grow as if theirs were 25 ms, so that they leave room for others.
//!
//! ```text
//! RTT_virt = max(srtt, 25 ms), after the first 500 rounds of avoidance (until then and in slow start, srtt)
//! once per RTT_virt:  α += (F − α)/16,  F the fraction of marked bytes, where a round ends after it; α = 1 until the
//!                     first mark
//! a mark:             cwnd = (1 − α/2)·cwnd, once per round, of old flows once per 25 ms
//! a loss:             cwnd / 2
//! avoidance:          cwnd += (srtt / RTT_virt)² packets a round, earned by unmarked data only, in the round that
//!                     follows a mark as in any other
//! pacing:             cwnd / srtt; twice that below half of ssthresh
//! ```
//! The square: by as much less a round as rounds are shorter, and in as many more rounds. That growth goes on while the
//! window comes down is what makes the window 2/p, as the coupling of DualPI2 wants it; DCTCP has half of that.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control-04, section 2.4, partly from memory; read beside it: Cloudflare's
//! quiche, and versions 0.6 and 0.7 of the authors' `tcp_prague.c` for growth (`prague_update_cwnd`), for pacing, for when α
//! moves and for what is an old flow (`prague_should_update_ewma`, `prague_new_round`, `prague_is_rtt_indep`). The flow needs `ecn = true`, and a queue that marks early (`dualpi2`, or `codel` with `ce_threshold`).

use crate::filter::Ewma;
use crate::host::MarkedFraction;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Ecn, Evidence, Family, Flow, Phase, Reaction, Setup, Signal,
};
use units::{Bytes, Duration, Instant};

params::params! {
    /// Defaults of the draft.
    pub struct Params {
        /// Weight of the newest fraction in α (g).
        gain: f64 = 0.0625, 0.001 => 1.0;
        /// Flows with a shorter RTT grow as if they had this one.
        virtual_rtt: Duration = Duration::from_millis(25), Duration::ZERO => Duration::from_secs(10);
        /// Rounds of avoidance until then: short flows keep their speed.
        transition: u32 = 500, 0 => 1000000;
    }
}

/// State: α, what was marked, and how many rounds have passed.
#[derive(Debug)]
pub struct Prague {
    p: Params,
    alpha: Ewma,
    marks: MarkedFraction,
    updated: Instant,
    /// When a mark last took from the window, if one did.
    reduced: Option<Instant>,
    /// A mark was seen: there is a queue that marks.
    marked: bool,
    rounds: u32,
    /// Unmarked data acknowledged and not yet turned into growth. A reduction leaves it alone, unlike the host's own count.
    earned: Bytes,
}

impl Algorithm for Prague {
    const ABOUT: About = About {
        name: "prague",
        title: "Prague",
        paper: "draft-briscoe-iccrg-prague-congestion-control-04",
        family: Family::Ecn,
        signal: "fraction of marked bytes (L4S)",
        evidence: Evidence::Equations,
        departures: &[
            "a loss halves, where the draft leaves the choice between Reno and CUBIC",
            "no detection of classic AQMs, which the draft leaves to future work",
            "500 rounds make a flow old, and α is 1 at first, as in version 0.6 of `tcp_prague.c`; in 0.7 four rounds do, and α is 0 \
             at first, with which the first mark halves the window once",
            "the window moves in whole packets; version 0.7 has a rate, and smaller packets, for one of 6000 bytes or less",
            "pacing goes by the window; `tcp_prague.c` takes what is in flight where that is more, and 0.7 no less than 100 kbit/s",
        ],
        ecn: Ecn::L4s,
        paces: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        Prague {
            p: p.clone(),
            alpha: Ewma::starting_at(p.gain, 1.0),
            marks: MarkedFraction::default(),
            updated: setup.flow.now,
            reduced: None,
            marked: false,
            rounds: 0,
            earned: Bytes::ZERO,
        }
    }
}

impl Prague {
    fn is_old(&self, flow: &Flow) -> bool {
        self.rounds >= self.p.transition && !flow.in_slow_start()
    }

    fn virtual_rtt(&self, flow: &Flow) -> Duration {
        if self.is_old(flow) { flow.srtt.max(self.p.virtual_rtt) } else { flow.srtt }
    }

    /// Packets a round in avoidance.
    fn growth(&self, flow: &Flow) -> f64 {
        let ratio = flow.srtt / self.virtual_rtt(flow);
        if flow.srtt.is_zero() { 1.0 } else { ratio * ratio }
    }

    /// While the host brings the window down growth is only saved up: the host sets the window when it is done.
    fn grow(&mut self, flow: &mut Flow, mut unmarked: Bytes) {
        if !flow.cwnd_limited || flow.phase == Phase::Recovery {
            return;
        }
        let down = flow.phase == Phase::Reduced;
        if !down && flow.in_slow_start() {
            unmarked = flow.slow_start(unmarked);
        }
        self.earned += unmarked;
        let per = flow.cwnd.mul_f64(1.0 / self.growth(flow)).max(Bytes::new(1));
        if !down && self.earned >= per {
            let packets = self.earned.get() / per.get();
            self.earned -= per * packets;
            flow.cwnd += flow.mss * packets;
        }
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rounds = self.rounds.saturating_add(u32::from(ack.round.is_some() && !flow.in_slow_start()));
        // The end of the first round past 25 ms, and of any longer one (`prague_should_update_ewma`).
        let due = !self.is_old(flow) || flow.now.since(self.updated) >= self.p.virtual_rtt;
        let over = ack.round.is_some() && due;
        self.marked |= !ack.ce.is_zero();
        if let Some(fraction) = self.marks.see(ack, over) {
            // Until a mark shows a queue that marks there is nothing to average.
            if self.marked {
                self.alpha.update(fraction);
            }
            self.updated = flow.now;
        }
        self.grow(flow, ack.cumulative.saturating_sub(ack.ce));
        if !flow.srtt.is_zero() {
            // Where the window may double once more (`prague_update_pacing_rate`).
            let ahead = if flow.cwnd < flow.ssthresh / 2 { 2 } else { 1 };
            flow.pacing = Some((flow.cwnd.max(flow.mss) * ahead / flow.srtt).max(units::Rate::from_bps(1)));
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        if congestion.signal != Signal::Ecn {
            return Reaction::Reduce(flow.cwnd.mul_f64(0.5));
        }
        // Old flows of a short RTT answer once per RTT_virt, as they grow.
        if self.is_old(flow) && self.reduced.is_some_and(|at| flow.now.since(at) < self.p.virtual_rtt) {
            return Reaction::Own;
        }
        self.reduced = Some(flow.now);
        Reaction::Reduce(flow.cwnd.mul_f64(1.0 - self.alpha.get().unwrap_or(1.0) / 2.0))
    }

    fn marked(&self) -> f64 {
        self.alpha.get().unwrap_or(1.0)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha.get().unwrap_or(1.0));
        see("rounds", self.rounds as f64);
    }
}

#[cfg(test)]
mod tests;
