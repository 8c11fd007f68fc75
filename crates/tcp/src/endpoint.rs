//! One end of a connection.

use crate::clock::TickClock;
use crate::handshake::{Opening, State};
use crate::receiver::Receiver;
use crate::sender::{Fin, Sender};
use crate::{Config, Flags, Segment, Stats};
use alloc::boxed::Box;
use cc::{CongestionControl, Flow};
use units::{Duration, Instant};

/// Builds the congestion control once the flow exists.
pub type Build<'a> = &'a mut dyn FnMut(&mut Flow) -> Box<dyn CongestionControl>;

/// What a segment told its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Fresh RTT of the newest segment it acknowledged, exact and by Karn's rule; what the summary counts.
    pub rtt: Option<Duration>,
    /// Payload bytes of ours it newly acknowledged in order.
    pub acked: u64,
    /// Payload bytes of theirs it brought, or released, in order.
    pub delivered: u64,
}

/// One end of a connection and both directions of its data. Positions in a stream are 64-bit: the SYN takes 0, data
/// begins at 1, the FIN follows the last byte.
///
/// After every call with a time, call [`poll_send`](Self::poll_send) until it returns `None`, then wait until
/// [`next_timer`](Self::next_timer).
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) clock: TickClock,
    pub(crate) state: State,
    pub(crate) timestamps: bool,
    pub(crate) opening: Opening,
}

impl Endpoint {
    fn new(config: Config, build: Build<'_>, state: State) -> Endpoint {
        Endpoint {
            receiver: Receiver::new(&config),
            // Timestamps and RTTs read the same clock where it is coarse (FreeBSD).
            clock: TickClock::new(config.timestamp_tick, config.tick_phase, config.clock_skew_ppb),
            state,
            timestamps: config.timestamps,
            opening: Opening { due: state == State::SynSent, tries: 0, sent_at: Instant::ZERO },
            sender: Sender::new(config, build),
        }
    }

    /// An active open: the SYN leaves with the first poll. Without `config.handshake`, established at once.
    pub fn connect(config: Config, build: Build<'_>) -> Endpoint {
        if !config.handshake {
            return Endpoint::established(config, build);
        }
        Endpoint::new(config, build, State::SynSent)
    }

    /// A passive open. Without `config.handshake`, established at once.
    pub fn listen(config: Config, build: Build<'_>) -> Endpoint {
        if !config.handshake {
            return Endpoint::established(config, build);
        }
        Endpoint::new(config, build, State::Listen)
    }

    /// One end of a connection that was opened before the run began, with what both ends' `config` would negotiate.
    pub fn established(config: Config, build: Build<'_>) -> Endpoint {
        let mut endpoint = Endpoint::new(config, build, State::Established);
        endpoint.receiver.establish();
        let window = endpoint.receiver.window();
        endpoint.sender.ecn.on = endpoint.sender.config.ecn;
        // The peer's first ACK corrects this; until then its window is taken to be like ours.
        endpoint.sender.establish(Instant::ZERO, 1 + window as u64);
        endpoint
    }

    /// The application hands over so many bytes (`u64::MAX / 4` is for ever).
    pub fn write(&mut self, now: Instant, bytes: u64) {
        self.sender.flow.now = now;
        if self.sender.fin == Fin::Open {
            self.sender.written = self.sender.written.saturating_add(bytes).min(u64::MAX / 2);
        }
    }

    /// Nothing more will be written: the FIN follows the last byte.
    pub fn close(&mut self, now: Instant) {
        self.sender.flow.now = now;
        if self.sender.fin == Fin::Open {
            self.sender.fin = Fin::Queued;
        }
    }

    /// Drops what was written and not yet sent (a bulk flow that stops).
    pub fn truncate(&mut self, now: Instant) {
        self.sender.flow.now = now;
        if self.sender.fin != Fin::Sent {
            self.sender.written = self.sender.nxt.max(1);
        }
    }

    /// The application stops (`true`) or resumes reading; what it does not read closes the window.
    pub fn hold_reading(&mut self, now: Instant, held: bool) {
        self.sender.flow.now = now;
        self.receiver.hold(held);
    }

    /// A segment arrived.
    pub fn on_segment(&mut self, now: Instant, s: &Segment) -> Heard {
        let mut heard = Heard::default();
        self.sender.flow.now = now;
        if self.state != State::Established && !self.on_opening_segment(now, s, &mut heard) {
            return heard;
        }
        if s.flags.has(Flags::SYN) || s.flags.has(Flags::RST) {
            if s.flags.has(Flags::RST) {
                self.state = State::Reset;
            }
            // Our last ACK of the opening was lost.
            self.receiver.ack_now = true;
            return heard;
        }
        let stamped = self.timestamps && s.flags.has(Flags::TIMESTAMP);
        if s.flags.has(Flags::ACK) {
            let echo = if stamped || self.sender.ertt.is_some() {
                Some((s.ts_ecr, s.ts_val, self.clock.read(now)))
            } else {
                None
            };
            self.sender.on_ack(now, s, echo, &mut heard);
        }
        // RFC 7323, section 4.3: echo the stamp of the first segment not yet acknowledged.
        if stamped && s.seq <= self.receiver.acked_to() && (s.ts_val.wrapping_sub(self.receiver.ts_recent) as i32) >= 0
        {
            self.receiver.ts_recent = s.ts_val;
        }
        if s.span() > 0 || s.seq < self.receiver.nxt {
            heard.delivered = self.receiver.on_data(now, s, &mut self.sender.stats).delivered;
        }
        heard
    }

    /// Some time has come: call at (or after) [`next_timer`](Self::next_timer).
    pub fn on_timer(&mut self, now: Instant) {
        self.sender.flow.now = now;
        if self.state != State::Established {
            return self.on_opening_timer(now);
        }
        if self.receiver.ack_at <= now {
            self.receiver.ack_at = Instant::MAX;
            self.receiver.ack_now = true;
        }
        self.sender.on_timer(now);
    }

    /// The next segment to send now, until `None`.
    #[inline]
    pub fn poll_send(&mut self, now: Instant) -> Option<Segment> {
        if self.state != State::Established {
            return self.poll_opening(now);
        }
        self.sender.flow.now = now;
        // Ranges travel on ACKs without data, so that data segments keep their size.
        if self.receiver.ack_now && self.receiver.has_blocks() {
            return Some(self.pure_ack(now));
        }
        let stamp = if self.timestamps || self.sender.ertt.is_some() { self.clock.read(now) } else { 0 };
        if let Some(chunk) = self.sender.poll(now, (stamp, self.receiver.ts_recent)) {
            let mut s = self.segment(stamp);
            s.seq = chunk.seq;
            s.len = chunk.len;
            if chunk.fin {
                s.flags = s.flags.with(Flags::FIN);
            }
            if !chunk.again {
                s.ecn = self.sender.ecn.codepoint(&self.sender.config);
                if self.sender.ecn.tell_reduced && chunk.len > 0 {
                    self.sender.ecn.tell_reduced = false;
                    s.flags = s.flags.with(Flags::CWR);
                }
            }
            self.receiver.talks |= self.receiver.nxt > 1;
            return Some(s);
        }
        if self.receiver.ack_now { Some(self.pure_ack(now)) } else { None }
    }

    fn pure_ack(&mut self, now: Instant) -> Segment {
        let stamp = if self.timestamps { self.clock.read(now) } else { 0 };
        let mut s = self.segment(stamp);
        s.seq = self.sender.nxt;
        self.sender.stats.acks += 1;
        if self.receiver.has_blocks() {
            let (blocks, duplicate) = self.receiver.blocks();
            s.sack = blocks;
            if duplicate {
                s.flags = s.flags.with(Flags::DSACK);
            }
        }
        s
    }

    /// A segment with everything but sequence, data and ranges.
    #[inline]
    fn segment(&mut self, stamp: u32) -> Segment {
        let mut flags = Flags::ACK;
        let (mut ts_val, mut ts_ecr) = (0, 0);
        if self.timestamps {
            flags = flags.with(Flags::TIMESTAMP);
            (ts_val, ts_ecr) = (stamp, self.receiver.ts_recent);
        }
        if self.receiver.ecn.echo {
            flags = flags.with(Flags::ECE);
        }
        let s = Segment {
            ack: self.receiver.nxt,
            window: self.receiver.window(),
            ts_val,
            ts_ecr,
            ce_bytes: self.receiver.ecn.bytes,
            flags,
            ..Segment::default()
        };
        self.receiver.on_ack_sent();
        s
    }

    /// The earliest time [`on_timer`](Self::on_timer) is wanted; [`Instant::MAX`] for never.
    #[inline]
    pub fn next_timer(&self) -> Instant {
        let s = &self.sender;
        s.rto_at.min(s.probe_at).min(s.pace_at).min(s.wake_at).min(self.receiver.ack_at)
    }

    /// The flow as the algorithm sees it.
    #[inline]
    pub fn flow(&self) -> &Flow {
        &self.sender.flow
    }

    /// The same, to collect its events.
    #[inline]
    pub fn flow_mut(&mut self) -> &mut Flow {
        &mut self.sender.flow
    }

    /// The algorithm.
    pub fn cc(&self) -> &dyn CongestionControl {
        &*self.sender.cc
    }

    /// Payload bytes delivered in order to this side's application.
    #[inline]
    pub fn received(&self) -> u64 {
        self.receiver.received()
    }

    /// Payload bytes of ours acknowledged in order.
    #[inline]
    pub fn acked(&self) -> u64 {
        self.sender.una.min(self.sender.written).saturating_sub(1)
    }

    /// Bytes written and not yet sent for the first time.
    #[inline]
    pub fn unsent(&self) -> u64 {
        self.sender.written.saturating_sub(self.sender.nxt.max(1))
    }

    /// Is the opening over and no reset seen?
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Everything written, FIN included, is acknowledged.
    pub fn is_finished(&self) -> bool {
        self.sender.fin == Fin::Sent && self.sender.una == self.sender.nxt
    }

    /// Both directions are finished, or the connection was reset.
    pub fn is_closed(&self) -> bool {
        self.state == State::Reset || (self.is_finished() && self.receiver.fin)
    }

    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.sender.stats
    }

    /// The retransmission timeout in force.
    pub fn rto(&self) -> Duration {
        self.sender.rtt.rto()
    }
}
