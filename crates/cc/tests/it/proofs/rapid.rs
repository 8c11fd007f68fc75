//! Proof of the interface: RAPID sends trains in which every gap asks for another rate, and reads from the one-way
//! delays at which rate the queue began to grow.

use crate::host::{Host, MSS, Path};
use cc::{Ack, Congestion, CongestionControl, Flow, Reaction, Sent};
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Rate};

const TRAIN: usize = 30;
const SPREAD: f64 = 1.07;

#[derive(Debug)]
struct Rapid {
    rate: Rate,
    /// Place in the train of the next segment.
    place: usize,
    /// Of each segment under way: when it left, its place, and the rate its gap asked for.
    sent: VecDeque<(Instant, usize, Rate)>,
    delays: Vec<(Duration, Rate)>,
    trains: u32,
}

impl Rapid {
    /// Rates of a train rise geometrically around the present one.
    fn asked(&self) -> Rate {
        self.rate.mul_f64(libm_pow(SPREAD, self.place as f64 - TRAIN as f64 / 2.0))
    }

    /// The last rate before the delay began to rise for good.
    fn available(&self) -> Rate {
        let rises = |w: &[(Duration, Rate)]| w[1].0 > w[0].0 + Duration::from_micros(20);
        let from = self.delays.windows(2).rposition(|w| !rises(w)).map_or(0, |i| i + 1);
        self.delays[from.min(self.delays.len() - 1)].1
    }
}

fn libm_pow(x: f64, y: f64) -> f64 {
    units::math::pow(x, y)
}

impl CongestionControl for Rapid {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        // The segment is known by when it left.
        while let Some((at, place, rate)) = self.sent.pop_front() {
            if at < ack.sent_at {
                continue;
            }
            self.delays.push((ack.one_way.expect("one-way delays"), rate));
            if place == TRAIN - 1 {
                if self.delays.len() == TRAIN {
                    let found = self.available();
                    self.rate = Rate::from_bps((self.rate.as_bps() + found.as_bps()) / 2);
                    self.trains += 1;
                }
                self.delays.clear();
            }
            break;
        }
        flow.cwnd = Bytes::new(1 << 30);
    }

    fn on_sent(&mut self, flow: &mut Flow, _: &Sent) {
        let rate = self.asked();
        self.sent.push_back((flow.now, self.place, rate));
        self.place = (self.place + 1) % TRAIN;
        flow.pacing = Some(self.asked());
    }

    fn on_congestion(&mut self, _: &mut Flow, _: &Congestion) -> Reaction {
        self.rate = self.rate.mul_f64(0.5);
        Reaction::Own
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rate_mbps", self.rate.as_mbps());
        see("trains", self.trains as f64);
    }
}

fn rapid(start: f64) -> Host {
    Host::new(Path::new(100, 80, 1000), |flow| {
        flow.cwnd = Bytes::new(1 << 30);
        let rate = Rate::from_mbps(start);
        flow.pacing = Some(rate);
        Box::new(Rapid { rate, place: 0, sent: VecDeque::new(), delays: Vec::new(), trains: 0 })
    })
}

#[test]
fn the_gaps_of_a_train_are_those_asked_for() {
    let mut host = rapid(5.0);
    host.run(Instant::from_millis(60));
    for (n, pair) in host.log.windows(2).take(TRAIN - 1).enumerate() {
        let rate = Rate::from_mbps(5.0).mul_f64(libm_pow(SPREAD, (n + 1) as f64 - 15.0));
        assert_eq!(pair[1].0.since(pair[0].0), MSS / rate, "gap {n}");
    }
}

#[test]
fn trains_find_the_path_s_rate_from_below_and_from_above() {
    for start in [3.0, 20.0] {
        let mut host = rapid(start);
        host.run(Instant::from_millis(6_000));
        let mut rate = 0.0;
        host.cc.vars(&mut |name, value| {
            if name == "rate_mbps" {
                rate = value;
            }
        });
        assert!((8.0..=11.5).contains(&rate), "10 Mbit/s path, from {start}: {rate}");
    }
}
