//! For tests: two endpoints, a path between them, a virtual clock.

use crate::{Config, Endpoint, Heard, Segment};
use alloc::boxed::Box;
use cc::{Ack, Congestion, CongestionControl, Flow, Phase, Reaction};
use std::collections::BinaryHeap;
use std::vec::Vec;
use units::{Bytes, Duration, Instant};

/// NewReno by the book, noting what it is told.
#[derive(Debug, Default)]
pub struct Plain {
    pub fixed: bool,
}

impl CongestionControl for Plain {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if self.fixed || !flow.cwnd_limited || matches!(flow.phase, Phase::Recovery | Phase::Reduced) {
            return;
        }
        let mut acked = ack.cumulative;
        if flow.in_slow_start() {
            acked = flow.slow_start(acked);
        }
        if !acked.is_zero() {
            flow.additive(flow.cwnd, acked);
        }
    }
    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd / 2)
    }
}

/// What happens to a packet on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    /// Arrives so much later than the others.
    Late(Duration),
    Twice,
    Mark,
}

#[derive(PartialEq, Eq)]
struct Flying {
    at: Instant,
    order: u64,
    to: usize,
    segment: Segment,
}
impl Ord for Flying {
    fn cmp(&self, o: &Self) -> core::cmp::Ordering {
        (o.at, o.order).cmp(&(self.at, self.order))
    }
}
impl PartialOrd for Flying {
    fn partial_cmp(&self, o: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(o))
    }
}

/// Decides a packet's fate from its direction (0: from the first end), its number in that direction, and itself.
pub type Path<'a> = Box<dyn FnMut(usize, u64, &Segment) -> Fate + 'a>;

pub struct Pair<'a> {
    pub now: Instant,
    pub ends: [Endpoint; 2],
    pub delay: Duration,
    /// Time one data segment takes at the bottleneck from the first end.
    pub service: Duration,
    /// Room of the bottleneck's queue in segments.
    pub room: u64,
    pub path: Path<'a>,
    /// What the first end sent, with the time.
    pub sent: Vec<(Instant, Segment)>,
    /// What the second end sent.
    pub replied: Vec<(Instant, Segment)>,
    pub heard: Vec<(Instant, Heard)>,
    busy_until: Instant,
    flying: BinaryHeap<Flying>,
    count: [u64; 2],
    order: u64,
}

impl<'a> Pair<'a> {
    pub fn new(config: Config, path: impl FnMut(usize, u64, &Segment) -> Fate + 'a) -> Self {
        Pair::with(config.clone(), config, &mut |_| Box::new(Plain::default()), path)
    }

    /// A window that never changes by itself.
    pub fn fixed(config: Config, path: impl FnMut(usize, u64, &Segment) -> Fate + 'a) -> Self {
        Pair::with(config.clone(), config, &mut |_| Box::new(Plain { fixed: true }), path)
    }

    pub fn with(
        a: Config,
        b: Config,
        build: crate::Build<'_>,
        path: impl FnMut(usize, u64, &Segment) -> Fate + 'a,
    ) -> Self {
        Pair {
            now: Instant::ZERO,
            ends: [Endpoint::connect(a, build), Endpoint::listen(b, build)],
            delay: Duration::from_millis(20),
            service: Duration::ZERO,
            room: u64::MAX,
            path: Box::new(path),
            sent: Vec::new(),
            replied: Vec::new(),
            heard: Vec::new(),
            busy_until: Instant::ZERO,
            flying: BinaryHeap::new(),
            count: [0; 2],
            order: 0,
        }
    }

    fn send(&mut self, from: usize) {
        while let Some(mut segment) = self.ends[from].poll_send(self.now) {
            let log = if from == 0 { &mut self.sent } else { &mut self.replied };
            log.push((self.now, segment));
            let n = self.count[from];
            self.count[from] += 1;
            let fate = (self.path)(from, n, &segment);
            let mut at = self.now + self.delay;
            if from == 0 && !self.service.is_zero() && segment.len > 0 {
                let start = self.busy_until.max(self.now);
                if start.since(self.now).as_nanos() / self.service.as_nanos() >= self.room {
                    continue;
                }
                self.busy_until = start + self.service;
                at = self.busy_until + self.delay;
            }
            match fate {
                Fate::Drop => continue,
                Fate::Late(by) => at += by,
                Fate::Mark if segment.ecn != 0 => segment.ecn = 3,
                _ => {}
            }
            for _ in 0..(if fate == Fate::Twice { 2 } else { 1 }) {
                self.order += 1;
                self.flying.push(Flying { at, order: self.order, to: 1 - from, segment });
            }
        }
    }

    fn check(&self) {
        for end in &self.ends {
            let s = &end.sender;
            assert_eq!(s.board.recount(), s.board.sums(), "sums of the scoreboard");
            // The initial window may be smaller.
            if s.flow.phase == Phase::Open && s.flow.acked_to > 1 {
                assert!(s.flow.cwnd >= s.flow.floor, "window under the floor");
            }
            if s.flow.acked_to < s.nxt {
                assert!(end.next_timer() != Instant::MAX, "outstanding data and no timer");
            }
            if !s.is_outstanding() && end.unsent() > 0 && end.is_established() {
                assert!(end.next_timer() != Instant::MAX, "data to send and nothing to wait for");
            }
        }
    }

    /// Runs until `until` or until nothing is left to happen.
    pub fn run(&mut self, until: Duration) {
        let until = Instant::ZERO + until;
        self.send(0);
        self.send(1);
        loop {
            self.check();
            let timer = self.ends[0].next_timer().min(self.ends[1].next_timer());
            let arrival = self.flying.peek().map_or(Instant::MAX, |f| f.at);
            let next = timer.min(arrival);
            if next > until || next == Instant::MAX {
                self.now = self.now.max(until.min(next));
                return;
            }
            self.now = self.now.max(next);
            if arrival <= timer {
                let f = self.flying.pop().unwrap();
                let heard = self.ends[f.to].on_segment(self.now, &f.segment);
                if f.to == 0 {
                    self.heard.push((self.now, heard));
                }
                self.send(f.to);
            } else {
                for i in 0..2 {
                    if self.ends[i].next_timer() <= self.now {
                        self.ends[i].on_timer(self.now);
                        self.send(i);
                    }
                }
            }
        }
    }

    /// Writes `bytes` at the first end, closes it, and runs until all is acknowledged.
    pub fn transfer(&mut self, bytes: u64) {
        self.ends[0].write(self.now, bytes);
        self.ends[0].close(self.now);
        for _ in 0..10_000 {
            self.run(self.now.since(Instant::ZERO) + Duration::from_secs(10));
            if self.ends[0].is_finished() {
                assert_eq!(self.ends[1].received(), bytes);
                assert_eq!(self.ends[0].acked(), bytes);
                return;
            }
        }
        panic!("not finished: {:?}", self.ends[0]);
    }

    pub fn cwnd(&self) -> Bytes {
        self.ends[0].flow().cwnd
    }
}
