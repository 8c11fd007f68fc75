//! Two endpoints over a perfect path: what one delivered segment costs, ACKs included.
//!
//! ```text
//! cargo build --release -p sojourn-tcp --example pair
//! valgrind --tool=callgrind --toggle-collect='*converse*' target/release/examples/pair linux 200000 [window [one lost in]]
//! ```
//! Instructions collected divided by segments delivered is the figure. About 270 of them are this program's own queues.

use cc::{Ack, Congestion, CongestionControl, Flow, Reaction};
use std::collections::VecDeque;
use tcp::{Config, Endpoint, Segment, Stack};
use units::{Bytes, Duration, Instant};

/// A window of fixed size, so that the work measured is the host's.
#[derive(Debug)]
struct Fixed;

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _: &mut Flow, _: &Ack) {}
    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd)
    }
}

/// A segment leaves every 12 µs (1 Gbit/s), travels 1 ms each way, and the window covers that.
#[inline(never)]
fn converse(a: &mut Endpoint, b: &mut Endpoint, segments: u64, one_lost_in: u64) -> (u64, u64) {
    let delay = Duration::from_millis(1);
    let service = Duration::from_micros(12);
    let mut lines: [VecDeque<(Instant, Segment)>; 2] = [VecDeque::new(), VecDeque::new()];
    let (mut now, mut free) = (Instant::ZERO, Instant::ZERO);
    let (mut delivered, mut acks, mut sent) = (0, 0, 0);
    while delivered < segments {
        // As a simulator would: only the end that something happened to is asked what it sends.
        while let Some(s) = a.poll_send(now) {
            free = free.max(now) + service;
            sent += 1;
            // In runs, so that reports have ranges of several segments.
            if one_lost_in == 0 || sent / 4 % one_lost_in != 1 {
                lines[0].push_back((free + delay, s));
            }
        }
        loop {
            let at = |line: &VecDeque<(Instant, Segment)>| line.front().map_or(Instant::MAX, |f| f.0);
            let (data, ack, timer) = (at(&lines[0]), at(&lines[1]), a.next_timer().min(b.next_timer()));
            now = data.min(ack).min(timer);
            if timer <= data.min(ack) {
                a.on_timer(now);
                b.on_timer(now);
            } else if data <= ack {
                let (_, s) = lines[0].pop_front().expect("something is on its way");
                delivered += u64::from(s.len > 0);
                b.on_segment(now, &s);
            } else {
                let (_, s) = lines[1].pop_front().expect("something is on its way");
                a.on_segment(now, &s);
                break;
            }
            while let Some(s) = b.poll_send(now) {
                acks += 1;
                lines[1].push_back((now + delay, s));
            }
            if timer <= now {
                break;
            }
        }
    }
    (delivered, acks)
}

fn main() {
    let mut args = std::env::args().skip(1);
    let stack = match args.next().as_deref() {
        Some("freebsd-11") => Stack::FreeBsd11,
        Some("ns-2") => Stack::Ns2,
        _ => Stack::Linux,
    };
    let segments = args.next().and_then(|n| n.parse().ok()).unwrap_or(200_000);
    let window: u64 = args.next().and_then(|n| n.parse().ok()).unwrap_or(300);
    let one_lost_in = args.next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let config = Config::of(stack);
    let build = &mut |flow: &mut Flow| -> Box<dyn CongestionControl> {
        flow.cwnd = Bytes::new(window * flow.mss.get());
        Box::new(Fixed)
    };
    let mut a = Endpoint::connect(config.clone(), build);
    let mut b = Endpoint::listen(config, build);
    a.write(Instant::ZERO, tcp::ENDLESS);
    let (delivered, acks) = converse(&mut a, &mut b, segments, one_lost_in);
    println!("{delivered} segments, {acks} ACKs, an endpoint is {} bytes", size_of::<Endpoint>());
    println!("{:?}", a.stats());
}
