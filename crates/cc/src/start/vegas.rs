//! Vegas' slow start: doubles every other round, so that every other round measures a window that stood still, and ends
//! when more than γ packets are queued.
//!
//! ```text
//! Δ = cwnd·(RTT − base) / RTT > γ  →  cwnd −= cwnd/8,  ssthresh = cwnd
//! ```
//! Source: Brakmo, O'Malley and Peterson, TCP Vegas, SIGCOMM 1994; the eighth is from memory. In Vegas itself it is built in
//! and follows the reference chosen there. A burst that queues for a moment ends it early (HLDG thesis, section 2.5).

use crate::algo::vegas::delta_paper;
use crate::{Ack, Flow, Growth, SlowStart, causes, exits, start::Start};
use units::Rng;

params::params! {
    /// γ is the paper's.
    pub struct Params {
        /// More packets queued than this end slow start.
        gamma: f64 = 1.0, 0.0 => 1000.0;
        /// What part of the window is given up then.
        exit_cut: f64 = 0.125, 0.0 => 0.5;
    }
}

/// State: does this round grow?
#[derive(Debug)]
pub struct VegasStart {
    p: Params,
    grows: bool,
    delta: f64,
}

impl Start for VegasStart {
    const NAME: &'static str = "vegas";
    const PAPER: &'static str = "Brakmo, O'Malley and Peterson, TCP Vegas, SIGCOMM 1994";
    type Params = Params;

    fn new(p: &Params, _: &mut Flow, _: Rng) -> Self {
        VegasStart { p: p.clone(), grows: true, delta: 0.0 }
    }
}

impl SlowStart for VegasStart {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(round) = &ack.round {
            self.grows = !self.grows;
            let rtt = if round.marked_rtt.is_zero() { round.min_rtt } else { round.marked_rtt };
            let window = if round.cwnd.is_zero() { flow.cwnd } else { round.cwnd };
            if !rtt.is_zero() && !flow.min_rtt.is_zero() {
                self.delta = delta_paper(window.packets(flow.mss), rtt, flow.min_rtt);
            }
            if self.delta > self.p.gamma {
                let before = flow.windows();
                flow.cwnd = flow.cwnd.mul_f64(1.0 - self.p.exit_cut).max(flow.floor);
                flow.ssthresh = flow.cwnd;
                let (rtt, base_rtt) = (rtt.as_nanos() as i64, flow.min_rtt.as_nanos() as i64);
                let bdp = flow.cwnd.get() as i64;
                let why = causes::SlowStartExit { reason: exits::QUEUED, rtt, base_rtt, bdp, ..Default::default() };
                flow.because(why, before);
            }
        }
        let divisor = u32::from(self.grows);
        flow.growth = Growth { divisor, ..Growth::STANDARD };
    }

    fn on_end(&mut self, flow: &mut Flow) {
        flow.growth = Growth::STANDARD;
    }

    fn on_reset(&mut self, _: &mut Flow) {
        (self.grows, self.delta) = (true, 0.0);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("vegas_delta", self.delta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, closing, flow};

    #[test]
    fn it_doubles_every_other_round_and_ends_with_a_queue() {
        let mut f = flow(2, 100);
        let mut start = VegasStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        let mut windows = std::vec::Vec::new();
        for _ in 0..4 {
            for n in 0..f.cwnd.get() / 1000 {
                start.on_ack(&mut f, &if n == 0 { closing(1, 100) } else { ack(1, 100) });
                f.slow_start(f.mss);
            }
            windows.push(f.cwnd.get() / 1000);
        }
        assert_eq!(windows, [2, 4, 4, 8]);
        // Δ = 8·(115 − 100)/115 = 1.04.
        start.on_ack(&mut f, &closing(1, 115));
        assert_eq!((f.cwnd.get(), f.in_slow_start()), (7000, false));
    }
}
