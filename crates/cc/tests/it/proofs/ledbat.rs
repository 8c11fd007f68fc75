//! Proof of the interface: LEDBAT needs the one-way delay, whose clocks differ by an offset and drift apart.

use crate::host::{Host, MSS, Path};
use cc::{Ack, Congestion, CongestionControl, Flow, Reaction};
use units::{Duration, Instant};

const TARGET: Duration = Duration::from_millis(25);

/// Ten minima of ten seconds each (RFC 6817 has minutes), the smallest of four samples as current delay.
#[derive(Debug, Default)]
struct Ledbat {
    history: Vec<(u64, Duration)>,
    recent: Vec<Duration>,
    queue: Duration,
    fraction: f64,
}

impl Ledbat {
    fn take(&mut self, now: Instant, delay: Duration) {
        let span = now.as_nanos() / 10_000_000_000;
        match self.history.last_mut() {
            Some((at, least)) if *at == span => *least = (*least).min(delay),
            _ => self.history.push((span, delay)),
        }
        if self.history.len() > 10 {
            self.history.remove(0);
        }
        self.recent.push(delay);
        if self.recent.len() > 4 {
            self.recent.remove(0);
        }
        let base = self.history.iter().map(|(_, d)| *d).min().unwrap_or(delay);
        self.queue = self.recent.iter().copied().min().unwrap_or(delay).saturating_sub(base);
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let Some(delay) = ack.one_way else { return };
        self.take(flow.now, delay);
        let off = TARGET.diff_millis(self.queue) / TARGET.as_millis_f64();
        self.fraction += off * ack.delivered.packets(flow.mss) * flow.mss.as_f64() / flow.cwnd.packets(flow.mss);
        let whole = self.fraction as i64;
        self.fraction -= whole as f64;
        let grown = flow.cwnd.get().saturating_add_signed(whole);
        flow.cwnd = units::Bytes::new(grown).min(flow.in_flight + flow.mss * 2).max(flow.floor);
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd / 2)
    }
}

fn queue_after(seconds: u64, skew_ppm: u64) -> f64 {
    let path = Path { skew_ppm, ..Path::new(100, 100, 1000) };
    let mut host = Host::new(path, |flow| {
        flow.ssthresh = MSS * 2;
        Box::new(Ledbat::default())
    });
    host.run(Instant::from_millis(seconds * 1000));
    (host.queue() / host.path.rate).as_millis_f64()
}

#[test]
fn the_queue_settles_at_the_target_whatever_the_clocks_offset() {
    let queue = queue_after(60, 0);
    assert!((24.0..=27.0).contains(&queue), "{queue} ms");
}

#[test]
fn a_clock_that_gains_looks_like_a_queue_until_the_base_history_forgets() {
    // 200 ppm are 20 ms in the 100 s of the history.
    let queue = queue_after(60, 200);
    assert!((12.0..=22.0).contains(&queue), "{queue} ms");
}
