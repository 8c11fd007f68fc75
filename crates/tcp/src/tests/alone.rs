//! A sender whose receiver is written by hand, for tables of ACKs and what they let go.

use super::*;
use crate::Endpoint;
use crate::pair::Plain;
use alloc::boxed::Box;
use alloc::vec::Vec;
use cc::{Ack, Congestion, CongestionControl, Flow, Phase, Reaction};
use units::Bytes;

/// What leaves: first byte of the stream and length.
pub(super) type Left = Vec<(u64, u32)>;

pub(super) struct Alone {
    pub end: Endpoint,
    pub now: Instant,
}

impl Alone {
    /// With a window of so many segments, as `config` counts them, that no ACK changes; all are sent at a second's time, and
    /// data has no end.
    pub fn new(config: Config, window: u64) -> Alone {
        Alone::with(config, window, Box::new(Plain { fixed: true }), crate::ENDLESS)
    }

    pub fn with(config: Config, window: u64, cc: Box<dyn CongestionControl>, written: u64) -> Alone {
        let mut cc = Some(cc);
        let end = Endpoint::connect(Config { handshake: false, ..config }, &mut |flow| {
            flow.cwnd = flow.mss * window;
            flow.ssthresh = flow.cwnd;
            cc.take().unwrap()
        });
        let mut alone = Alone { end, now: AT(1000) };
        alone.end.write(alone.now, written);
        assert_eq!(alone.leaving().len() as u64, window);
        alone
    }

    pub fn leaving(&mut self) -> Left {
        core::iter::from_fn(|| self.end.poll_send(self.now)).map(|s| (s.seq - 1, s.len)).collect()
    }

    /// A millisecond later an ACK up to `ack`, with these ranges.
    pub fn hear(&mut self, ack: u64, ranges: &[(u64, u64)]) -> Left {
        self.hear_with(ack, ranges, Flags::ACK)
    }

    pub fn hear_with(&mut self, ack: u64, ranges: &[(u64, u64)], flags: Flags) -> Left {
        self.now += MS(1);
        let mut s = Segment { seq: 1, ack: 1 + ack, window: 1 << 20, flags, ..Segment::default() };
        for (block, (from, to)) in s.sack.blocks.iter_mut().zip(ranges) {
            *block = ((*from as i64 - ack as i64) as i32, (to - from) as u32);
        }
        self.end.on_segment(self.now, &s);
        self.leaving()
    }

    /// The next timer rings.
    pub fn ring(&mut self) -> Left {
        self.now = self.end.next_timer();
        self.end.on_timer(self.now);
        self.leaving()
    }

    /// Three duplicates of `una`, each with a segment more from `from` on: the last begins a recovery.
    pub fn three(&mut self, una: u64, from: u64) -> [Left; 3] {
        [1, 2, 3].map(|n| self.hear(una, &[(from, from + n * MSS)]))
    }

    pub fn threshold(&mut self, bytes: u64) {
        self.end.flow_mut().ssthresh = Bytes::new(bytes);
    }

    pub fn phase(&self) -> Phase {
        self.end.flow().phase
    }
}

/// Keeps its window whatever happens.
#[derive(Debug)]
pub(super) struct Owner;

impl CongestionControl for Owner {
    fn on_ack(&mut self, _: &mut Flow, _: &Ack) {}
    fn on_congestion(&mut self, _: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Own
    }
}
