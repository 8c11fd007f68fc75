//! The receiving half: reassembly, the advertised window, what ACKs say.

mod delaying;
mod reading;

use crate::autotuning::Autotuning;
use crate::clock::TickClock;
use crate::config::{Config, DelayedAck, Stack};
use crate::reassembly::Reassembly;
use crate::{Flags, SackBlocks, Segment, Stats, ecn};
use alloc::boxed::Box;
use cc::host::RttEstimator;
use reading::Reading;
use units::{Duration, Instant};

/// What ACKs may say beyond what has come in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ranges {
    /// Nothing: the two ends did not agree on SACK.
    None,
    /// What is held beyond a gap (RFC 2018).
    Held,
    /// The same from FreeBSD's list.
    Listed,
    /// What is held, and what came twice (RFC 2883).
    HeldAndTwice,
}

/// What segments seldom ask for comes first, so that the rest lies next to the sender's first fields.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// Position of the peer's FIN; `MAX` while unknown.
    fin_at: u64,
    buffer: u32,
    /// What came in order and waits for the application.
    unread: u32,
    scale: u8,

    pub fin: bool,
    /// An ACK must leave now, or at `ack_at` at the latest.
    pub ack_now: bool,
    reading: Reading,
    accurate: bool,
    ranges: Ranges,
    /// Data goes both ways by turns and at once, so ACKs may wait for it.
    pub talks: bool,
    /// Data is missing below some that arrived.
    gap: bool,
    /// Next position expected.
    pub nxt: u64,
    acked_to: u64,
    /// Largest right edge offered.
    edge: u64,
    pub(crate) ack_at: Instant,
    /// What arrived beyond a gap. Its memory is kept for the next: under heavy loss they come by the thousand.
    gaps: Option<Box<Reassembly>>,
    twice: Option<(u64, u64)>,
    policy: DelayedAck,
    delay: Duration,
    last_data: Instant,
    /// Segments not yet acknowledged.
    pending: u32,
    pub ts_recent: u32,
    largest: u32,
    quick: u8,
    /// Bytes of options that FreeBSD counts as part of a segment.
    options: u8,
    /// Linux's receive window may still be opened.
    opening: bool,
    /// When a round trip of it is over; `MAX` elsewhere.
    round_ends: Instant,
    pub tuning: Option<Box<Autotuning>>,
    /// The other end's writes, by which it pushes: bytes, or 0.
    writes: u32,
    /// The window in bytes while nothing waits in the buffer, as the scaled field conveys it.
    full_window: u32,
    pub ecn: ecn::Receiver,
}

impl Receiver {
    /// Where the fields begin that every segment looks at.
    pub const HOT: usize = core::mem::offset_of!(Receiver, fin);

    pub fn new(config: &Config) -> Self {
        let mut receiver = Receiver {
            nxt: 0,
            fin_at: u64::MAX,
            fin: false,
            ack_now: false,
            ack_at: Instant::MAX,
            pending: 0,
            acked_to: 0,
            edge: 0,
            buffer: config.buffer(),
            scale: config.window_scale(),
            full_window: 0,
            reading: Reading::of(config),
            unread: 0,
            options: config.counted_options.get() as u8,
            policy: config.delayed_ack,
            writes: config.writes.get().min(u32::MAX.into()) as u32,
            accurate: config.accurate_ecn,
            ranges: match (config.sack(), config.dsack) {
                (false, _) => Ranges::None,
                (true, false) if config.stack == Stack::FreeBsd11 => Ranges::Listed,
                (true, false) => Ranges::Held,
                (true, true) => Ranges::HeldAndTwice,
            },
            ecn: ecn::Receiver::default(),
            ts_recent: 0,
            largest: 0,
            quick: 0,
            opening: config.delayed_ack == DelayedAck::Linux || Reading::of(config) == Reading::Linux,
            round_ends: Instant::MAX,
            tuning: (Reading::of(config) == Reading::Linux).then(|| Box::new(Autotuning::new(config.buffer()))),
            delay: Duration::ZERO,
            last_data: Instant::ZERO,
            talks: false,
            gap: false,
            gaps: None,
            twice: None,
        };
        receiver.full_window = receiver.quantised(receiver.buffer.into());
        receiver
    }

    /// The peer's SYN took position 0.
    pub fn establish(&mut self) {
        self.nxt = 1;
        self.acked_to = 1;
        // A slow reader's is what the SYN tells; one that never closes is as wide from the beginning.
        let window = if self.reading == Reading::AtOnce { self.full_window } else { self.unscaled_window() };
        self.edge = 1 + u64::from(window);
    }

    fn quantised(&self, window: u64) -> u32 {
        (((window >> self.scale).min(65_535)) << self.scale) as u32
    }

    /// The application has read what lies below; what is unread fits the buffer.
    #[inline]
    fn read_to(&self) -> u64 {
        self.nxt - u64::from(self.unread)
    }

    /// Payload handed to the application.
    pub fn received(&self) -> u64 {
        self.read_to().saturating_sub(1 + u64::from(self.fin))
    }

    /// Takes in a segment that occupies sequence space, or an old empty one (a window probe). `rtt` is of our own
    /// sending half. Returns the payload it brought in order.
    #[inline(always)]
    pub fn on_data(
        &mut self,
        now: Instant,
        s: &Segment,
        stats: &mut Stats,
        rtt: &RttEstimator,
        clock: &mut TickClock,
    ) -> u64 {
        let delivered = self.take_in(now, s, stats, rtt, clock);
        if now >= self.round_ends {
            self.end_round(now, s, rtt, clock);
        }
        delivered
    }

    #[inline(always)]
    fn take_in(&mut self, now: Instant, s: &Segment, stats: &mut Stats, rtt: &RttEstimator, clock: &TickClock) -> u64 {
        const SPECIAL: u8 = Flags::FIN.0 | Flags::CWR.0;
        let end = s.seq + s.len as u64;
        let unusual = s.ecn == ecn::CE || (self.ecn.on && s.ecn == 0);
        let plain = s.seq == self.nxt && s.flags.0 & SPECIAL == 0 && !unusual;
        if plain
            && !self.gap
            && self.reading == Reading::AtOnce
            && end <= self.edge
            && !(self.accurate && self.ecn.echo)
        {
            self.nxt = end;
            self.largest = self.largest.max(s.len);
            self.schedule(now, s.len, rtt, clock);
            return s.len as u64;
        }
        self.on_special(now, s, stats, rtt, clock)
    }

    #[cold]
    #[inline(never)]
    fn on_special(
        &mut self,
        now: Instant,
        s: &Segment,
        stats: &mut Stats,
        rtt: &RttEstimator,
        clock: &TickClock,
    ) -> u64 {
        let end = s.seq + s.span();
        stats.ce_received += u64::from(s.ecn == ecn::CE);
        let news = self.ecn.on_data(s, self.accurate);
        self.largest = self.largest.max(s.len);
        self.ack_now |= news & self.accurate;
        if self.policy == DelayedAck::Linux && self.ecn.on && !self.accurate {
            self.heed_ecn(s, news);
        }
        if end <= self.nxt {
            if s.span() > 0 {
                stats.duplicates_received += 1;
                self.twice = Some((s.seq, end));
                self.repeat_quickly();
            }
            self.ack_now = true;
            return 0;
        }
        // Beyond what was offered: the other side probes, or errs. Or beyond the buffer, of which Linux may offer more than is left.
        let full = self.unread > 0 && self.unread + s.len > self.buffer;
        if s.len > 0 && (s.seq + s.len as u64 > self.edge || full) {
            self.ack_now = true;
            return 0;
        }
        if s.flags.has(Flags::FIN) {
            self.fin_at = end - 1;
        }
        if s.seq > self.nxt {
            stats.out_of_order += 1;
            let twice = self
                .gaps
                .get_or_insert_with(|| Box::new(Reassembly::new(self.ranges == Ranges::Listed)))
                .insert(s.seq, end);
            self.gap = true;
            self.twice = self.twice.or(twice);
            self.ack_now = true;
            self.open_window(s.len);
            return 0;
        }
        if s.seq < self.nxt {
            self.twice = Some((s.seq, self.nxt));
        }
        let before = self.nxt;
        self.nxt = end;
        if let Some(gaps) = self.gaps.as_mut().filter(|_| self.gap) {
            self.nxt = gaps.advance(end);
            self.ack_now = true;
            self.gap = !gaps.is_empty();
        }
        let mut delivered = self.nxt - before;
        if self.nxt > self.fin_at && !self.fin {
            self.fin = true;
            self.ack_now = true;
            delivered -= 1;
        }
        if self.reading != Reading::AtOnce {
            self.unread += delivered as u32;
        }
        // A FIN alone is no short segment (`tcp_data_queue`).
        let len = if s.len > 0 { s.len } else { self.largest };
        self.schedule(now, len, rtt, clock);
        delivered
    }

    /// A segment carrying the ACK leaves.
    #[inline]
    pub fn on_ack_sent(&mut self) {
        self.quick = self.quick.saturating_sub(self.pending.min(u8::MAX.into()) as u8);
        self.pending = 0;
        self.ack_now = false;
        self.ack_at = Instant::MAX;
        self.acked_to = self.nxt;
    }

    /// The window to offer now.
    #[inline]
    pub fn window(&mut self) -> u32 {
        let window = if self.reading == Reading::AtOnce { self.full_window } else { self.closing_window() };
        self.edge = self.edge.max(self.nxt + window as u64);
        window
    }

    /// The window of a SYN, which no scale applies to.
    pub fn unscaled_window(&self) -> u32 {
        self.buffer.min(65_535)
    }

    /// Does the next ACK answer data that came twice or leaves a gap? It travels alone then, so that it counts as a duplicate.
    #[inline]
    pub fn is_out_of_order(&self) -> bool {
        self.gap || self.twice.is_some()
    }

    /// What the last ACK acknowledged.
    #[inline]
    pub fn acked_to(&self) -> u64 {
        self.acked_to
    }

    /// The ranges for this ACK, none if the two ends did not agree on SACK; true if the first reports a duplicate.
    pub fn blocks(&mut self) -> (SackBlocks, bool) {
        let mut blocks = SackBlocks::default();
        if self.ranges == Ranges::None {
            self.twice = None;
            return (blocks, false);
        }
        let mut free = blocks.blocks.iter_mut();
        let mut put = |range: (u64, u64)| {
            if let Some(block) = free.next() {
                let offset = range.0 as i64 - self.nxt as i64;
                *block = (offset as i32, (range.1 - range.0) as u32);
            }
        };
        let twice = self.twice.take();
        let told = twice.filter(|_| self.ranges == Ranges::HeldAndTwice);
        let gaps = self.gaps.as_deref().filter(|_| self.gap);
        // RFC 2883: the larger range the duplicate lies in comes second; first, if the duplicate is not told.
        let around = twice.filter(|_| self.ranges != Ranges::Listed).and_then(|t| gaps?.around(t.0));
        told.into_iter().chain(around).for_each(&mut put);
        if let Some(gaps) = gaps {
            gaps.recent().filter(|r| Some(*r) != around).for_each(put);
        }
        (blocks, told.is_some())
    }
}
