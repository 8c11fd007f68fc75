//! Proof of the interface: BBR v3 needs to hear of every lost packet with what was in flight when it was sent.

use crate::host::{Host, MSS, Path};
use cc::filter::WindowedMax;
use cc::{Ack, Congestion, CongestionControl, Flow, Lost, Reaction};
use units::{Bytes, Duration, Instant, Rate, Rng};

const LOSS_THRESHOLD: f64 = 0.02;
const BETA: f64 = 0.7;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
}

#[derive(Debug)]
struct Bbr3 {
    rng: Rng,
    mode: Mode,
    since: Instant,
    wait: Duration,
    max_bw: WindowedMax<Rate>,
    cycle: u64,
    full_bw: Rate,
    plateau: u32,
    longterm: Bytes,
    loss_in_round: bool,
    bw_short: Option<Rate>,
}

/// How far into a flight, in packets, the loss threshold was crossed.
fn prefix(inflight_before: f64, lost_before: f64) -> f64 {
    (LOSS_THRESHOLD * inflight_before - lost_before) / (1.0 - LOSS_THRESHOLD)
}

impl Bbr3 {
    fn new(rng: Rng) -> Self {
        Bbr3 {
            rng,
            mode: Mode::Startup,
            since: Instant::ZERO,
            wait: Duration::ZERO,
            max_bw: WindowedMax::new(2),
            cycle: 0,
            full_bw: Rate::ZERO,
            plateau: 0,
            longterm: Bytes::MAX,
            loss_in_round: false,
            bw_short: None,
        }
    }

    fn bw(&self) -> Rate {
        let max = self.max_bw.get().unwrap_or(Rate::ZERO);
        self.bw_short.map_or(max, |short| short.min(max))
    }

    fn enter(&mut self, mode: Mode, now: Instant) {
        if mode == Mode::Down {
            self.cycle += 1;
            self.wait = Duration::from_secs_f64(2.0 + self.rng.uniform());
        }
        if mode == Mode::Refill {
            self.bw_short = None;
        }
        (self.mode, self.since, self.plateau) = (mode, now, 0);
    }

    fn plateau(&mut self, round: bool) -> bool {
        let bw = self.max_bw.get().unwrap_or(Rate::ZERO);
        if bw >= self.full_bw.mul_f64(1.25) {
            (self.full_bw, self.plateau) = (bw, 0);
        } else if round {
            self.plateau += 1;
        }
        self.plateau >= 3
    }

    fn advance(&mut self, flow: &Flow, round: bool) {
        let bdp = self.bw() * flow.min_rtt;
        let plateau = matches!(self.mode, Mode::Startup | Mode::Up) && self.plateau(round);
        let next = match self.mode {
            Mode::Startup if plateau => Some(Mode::Drain),
            Mode::Drain if flow.in_flight <= bdp => Some(Mode::Down),
            Mode::Down if flow.in_flight <= bdp.min(self.longterm.mul_f64(0.85)) => Some(Mode::Cruise),
            Mode::Cruise if flow.now.since(self.since) > self.wait => Some(Mode::Refill),
            Mode::Refill if round => Some(Mode::Up),
            Mode::Up if plateau => Some(Mode::Down),
            _ => None,
        };
        if let Some(mode) = next {
            self.enter(mode, flow.now);
        }
    }

    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (2.77, 2.0),
            Mode::Drain => (0.5, 2.0),
            Mode::Down => (0.9, 2.0),
            Mode::Cruise | Mode::Refill => (1.0, 2.0),
            Mode::Up => (1.25, 2.25),
        }
    }
}

impl CongestionControl for Bbr3 {
    fn on_lost(&mut self, flow: &mut Flow, lost: &Lost) {
        self.loss_in_round = true;
        let probing = matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up);
        if !probing || lost.lost.as_f64() <= lost.tx_in_flight.as_f64() * LOSS_THRESHOLD {
            return;
        }
        let before = (lost.tx_in_flight - lost.size).packets(flow.mss);
        let at = before + prefix(before, (lost.lost - lost.size).packets(flow.mss)).max(0.0);
        let target = (self.bw() * flow.min_rtt).mul_f64(BETA);
        self.longterm = flow.mss.mul_f64(at).max(target);
        let next = if self.mode == Mode::Startup { Mode::Drain } else { Mode::Down };
        self.enter(next, flow.now);
    }

    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let Some(s) = ack.rate.filter(|s| !s.interval.is_zero()) else { return };
        self.max_bw.update(self.cycle, s.delivered / s.interval);
        let round = ack.round.is_some();
        if round && std::mem::take(&mut self.loss_in_round) && matches!(self.mode, Mode::Down | Mode::Cruise) {
            self.bw_short = Some((s.delivered / s.interval).max(self.bw().mul_f64(BETA)));
        }
        self.advance(flow, round);
        let (pacing, window) = self.gains();
        flow.pacing = Some(self.bw().mul_f64(pacing * 0.99)).filter(|r| *r > Rate::ZERO);
        let cap = if self.mode == Mode::Cruise { self.longterm.mul_f64(0.85) } else { self.longterm };
        let model = (self.bw() * flow.min_rtt).mul_f64(window) + flow.mss * 4;
        flow.cwnd = if self.mode == Mode::Startup { flow.cwnd + ack.delivered } else { model.min(cap) };
        flow.cwnd = flow.cwnd.max(flow.mss * 4);
    }

    fn on_congestion(&mut self, _: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Own
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("longterm_packets", self.longterm.packets(MSS));
        see("cycles", self.cycle as f64);
    }
}

#[test]
fn the_loss_threshold_is_crossed_1_02_packets_into_the_flight() {
    assert!((prefix(100.0, 1.0) - 1.02).abs() < 0.001);
}

#[test]
fn a_shallow_buffer_is_learnt_from_lost_packets() {
    let mut host = Host::new(Path::new(100, 100, 20), |_| Box::new(Bbr3::new(Rng::new(1, 0, 0))));
    host.run(Instant::from_millis(10_000));
    let (delivered, lost) = (host.flow.delivered, host.lost);
    host.run_for(Duration::from_secs(60));
    let carried = (host.flow.delivered - delivered).packets(MSS) / 60_000.0;
    let loss = (host.lost - lost).packets(MSS) / 60_000.0;
    let mut vars = Vec::new();
    host.cc.vars(&mut |name, value| vars.push((name, value)));
    assert!(carried > 0.85, "utilisation {carried}");
    assert!(loss < 0.01, "lost {loss}");
    assert!((100.0..=126.0).contains(&vars[0].1), "{vars:?}: the path holds 120 packets");
    assert!(vars[1].1 >= 15.0, "{vars:?}");
}
