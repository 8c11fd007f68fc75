//! The smallest worlds that keep one loop busy: a packet for queues, two endpoints on a perfect path, an ACK clock.

use aqm::{Ecn, LinkInfo, Packet, Qdisc, Reason, Sink};
use cc::{Ack, CongestionControl, Flow, Phase, Reaction, Round};
use std::collections::VecDeque;
use tcp::{Config, Endpoint, Segment, Stack};
use units::{Bytes, Duration, Instant, Rate, Rng, streams};

/// A data packet, as large in memory as a simulator's.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    flow: u32,
    _segment: Segment,
}

impl Packet for Sample {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
    fn flow(&self) -> u64 {
        self.flow as u64
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) -> bool {
        false
    }
}

#[derive(Debug)]
struct Nowhere;

impl Sink<Sample> for Nowhere {
    fn dropped(&mut self, _: Sample, _: Reason) {}
}

/// A queue in which 30 packets of eight flows stand at 10 Mbit/s: 36 ms, so that laws have something to decide.
#[derive(Debug)]
pub struct Standing {
    queue: Box<dyn Qdisc<Sample>>,
    turn: u32,
    now: Instant,
}

impl Standing {
    /// The queue a spec names.
    pub fn new(spec: &str) -> Standing {
        let link = LinkInfo { rate: Rate::from_mbps(10.0), delay: Duration::ZERO, mtu: Bytes::new(1500), limit: None };
        let spec = spec.parse().expect("a spec");
        let queue = aqm::build(&spec, &link, Rng::new(1, 0, streams::AQM)).expect("a queue");
        let mut standing = Standing { queue, turn: 0, now: Instant::ZERO };
        (0..30).for_each(|_| standing.arrive());
        standing
    }

    fn arrive(&mut self) {
        self.turn += 1;
        self.now += Duration::from_micros(1200);
        let packet = Sample { flow: self.turn % 8, _segment: Segment::default() };
        self.queue.enqueue(self.now, packet, &mut Nowhere);
    }

    /// One packet in and, if 30 stand or the queue wants no more, one out.
    pub fn step(&mut self) -> bool {
        let stood = self.queue.len();
        self.arrive();
        let stands = self.queue.len();
        (stands > 30 || stands <= stood) && self.queue.dequeue(self.now, &mut Nowhere).is_some()
    }
}

/// A window that stays as it is, so that only the endpoints work.
#[derive(Debug)]
struct Constant;

impl CongestionControl for Constant {
    fn on_ack(&mut self, _: &mut Flow, _: &Ack) {}
    fn on_congestion(&mut self, flow: &mut Flow, _: &cc::Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd)
    }
}

/// Sends `segments` full segments of `window` packets a round from one endpoint to another; every `lose`-th data
/// packet is lost. Returns what the receiver got.
pub fn transfer(segments: u64, window: u64, lose: Option<u64>) -> u64 {
    let config = Config { handshake: false, ..Config::of(Stack::Linux) };
    let mut constant = |flow: &mut Flow| -> Box<dyn CongestionControl> {
        flow.cwnd = flow.mss * window;
        Box::new(Constant)
    };
    let mut ends = [Endpoint::established(config.clone(), &mut constant), Endpoint::established(config, &mut constant)];
    let mut now = Instant::ZERO;
    let mut paths: [VecDeque<(Instant, Segment)>; 2] = Default::default();
    let mut sent = 0;
    let bytes = segments * ends[0].flow().mss.get();
    ends[0].write(now, bytes);
    ends[0].close(now);
    loop {
        for from in 0..2 {
            while let Some(segment) = ends[from].poll_send(now) {
                sent += u64::from(segment.len > 0);
                if segment.len == 0 || lose.is_none_or(|n| !u64::is_multiple_of(sent, n)) {
                    paths[1 - from].push_back((now + Duration::from_millis(10), segment));
                }
            }
        }
        let arrivals = paths.each_ref().map(|path| path.front().map_or(Instant::MAX, |(at, _)| *at));
        let timers = ends.each_ref().map(Endpoint::next_timer);
        let next = arrivals.into_iter().chain(timers).min().expect("four times");
        if next == Instant::MAX || ends[0].is_finished() {
            return ends[1].received();
        }
        now = now.max(next);
        for to in 0..2 {
            while paths[to].front().is_some_and(|(at, _)| *at <= now) {
                let (_, segment) = paths[to].pop_front().expect("there is a front");
                ends[to].on_segment(now, &segment);
            }
            if ends[to].next_timer() <= now {
                ends[to].on_timer(now);
            }
        }
    }
}

/// An algorithm that gets an ACK for two packets every 2.4 ms, a round every 40 of them, and no congestion until its
/// window is 1000 packets.
#[derive(Debug)]
pub struct Clocked {
    cc: Box<dyn CongestionControl>,
    flow: Flow,
    acks: u64,
}

impl Clocked {
    /// The algorithm a name means, at 80 packets with a base RTT of 96 ms.
    pub fn new(name: &str) -> Clocked {
        let mss = Bytes::new(1448);
        let mut flow = Flow::new(mss, mss * 80);
        flow.ssthresh = mss * 40;
        let cc =
            cc::build(&name.parse().expect("a spec"), &mut flow, Rng::new(1, 0, streams::CC)).expect("an algorithm");
        Clocked { cc, flow, acks: 0 }
    }

    /// One ACK.
    pub fn step(&mut self) -> Bytes {
        let flow = &mut self.flow;
        self.acks += 1;
        let rtt = Duration::from_micros(96_000 + 10 * (self.acks % 100));
        let bytes = flow.mss * 2;
        flow.now += Duration::from_micros(2400);
        flow.delivered += bytes;
        (flow.rtt, flow.srtt, flow.min_rtt, flow.max_rtt) =
            (rtt, rtt, Duration::from_millis(96), Duration::from_millis(97));
        flow.in_flight = flow.cwnd;
        let round = self.acks.is_multiple_of(40).then(|| Round {
            number: self.acks / 40,
            end: flow.now,
            min_rtt: rtt,
            max_rtt: rtt,
            min_rtt_reused: rtt,
            max_rtt_reused: rtt,
            marked_rtt: rtt,
            samples: 40,
            delivered: bytes * 40,
            sent: bytes * 40,
            cwnd: flow.cwnd,
            ..Round::default()
        });
        let ack = Ack { cumulative: bytes, delivered: bytes, rtt: Some(rtt), round, ..Ack::default() };
        self.cc.on_ack(flow, &ack);
        flow.drain_events().for_each(drop);
        if flow.cwnd > flow.mss * 1000 {
            let congestion = cc::Congestion {
                signal: cc::Signal::Loss,
                during: Phase::Open,
                lost: flow.mss,
                cwnd_before: flow.cwnd,
                restart: flow.mss,
            };
            if let Reaction::Reduce(to) | Reaction::ResendAll(to) = self.cc.on_congestion(flow, &congestion) {
                (flow.cwnd, flow.ssthresh) = (to.max(flow.floor), to.max(flow.floor));
            }
        }
        flow.cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_arrives_whole_also_when_packets_are_lost() {
        for lose in [None, Some(50)] {
            assert_eq!(transfer(2_000, 40, lose), 2_000 * 1448, "{lose:?}");
        }
    }

    #[test]
    fn every_queue_lets_packets_through_and_every_algorithm_keeps_a_window() {
        for about in aqm::QDISCS {
            let mut standing = Standing::new(about.name);
            assert!((0..1000).filter(|_| standing.step()).count() > 500, "{}", about.name);
        }
        for entry in cc::ALGORITHMS {
            let mut clocked = Clocked::new(entry.about.name);
            assert!((0..10_000).all(|_| !clocked.step().is_zero()), "{}", entry.about.name);
        }
    }
}
