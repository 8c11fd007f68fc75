//! What leaves: data when there is some, else an acknowledgement that is due.

use super::Endpoint;
use crate::handshake::State;
use crate::transmit::Chunk;
use crate::{Flags, Segment};
use units::Instant;

impl Endpoint {
    /// The next segment to send now, until `None`.
    #[inline]
    pub fn poll_send(&mut self, now: Instant) -> Option<Segment> {
        let mut s = Segment::default();
        self.poll_out_of_line(now, &mut s).then_some(s)
    }

    /// May [`poll_send`](Self::poll_send) give something? If not, it need not be asked.
    #[inline]
    pub fn may_send(&self) -> bool {
        !self.sender.asleep || self.receiver.ack_now
    }

    /// [`poll_send`](Self::poll_send) in place: true if `s` is now a segment to send. A segment just written is slow to
    /// copy, since its fields must reach the cache before they can be read in larger pieces.
    #[inline(always)]
    pub fn poll_into(&mut self, now: Instant, s: &mut Segment) -> bool {
        // Nothing has happened since the last `None` that could change it.
        if self.sender.asleep {
            return self.acknowledge_into(now, s);
        }
        self.poll_awake(now, s)
    }

    #[inline]
    fn acknowledge_into(&mut self, now: Instant, s: &mut Segment) -> bool {
        if self.receiver.ack_now {
            self.pure_ack(now, s);
            return true;
        }
        false
    }

    /// [`poll_into`](Self::poll_into) for an end that seldom has more to send than acknowledgements.
    #[inline]
    pub fn poll_out_of_line(&mut self, now: Instant, s: &mut Segment) -> bool {
        if self.sender.asleep {
            return self.acknowledge_into(now, s);
        }
        self.poll_awake_out_of_line(now, s)
    }

    #[inline(never)]
    fn poll_awake_out_of_line(&mut self, now: Instant, s: &mut Segment) -> bool {
        self.poll_awake(now, s)
    }

    #[inline(always)]
    fn poll_awake(&mut self, now: Instant, s: &mut Segment) -> bool {
        if self.state != State::Established {
            let opening = self.poll_opening(now);
            *s = opening.unwrap_or_default();
            return opening.is_some();
        }
        // Ranges travel on ACKs without data, so that data segments keep their size.
        if self.receiver.ack_now && self.receiver.is_out_of_order() {
            self.pure_ack(now, s);
            return true;
        }
        self.sender.flow.now = now;
        if let Some(chunk) = self.sender.poll(now, self.receiver.ts_recent) {
            self.data(now, chunk, s);
            return true;
        }
        self.sender.asleep = true;
        self.acknowledge_into(now, s)
    }

    #[inline]
    fn data(&mut self, now: Instant, chunk: Chunk, s: &mut Segment) {
        self.segment(now, s);
        s.seq = chunk.seq;
        s.len = chunk.len;
        if chunk.fin {
            s.flags = s.flags.with(Flags::FIN);
        }
        if self.sender.ecn.on {
            // Repairs cannot be marked (RFC 3168, section 6.1.5), but for algorithms that live by marks (RFC 8311, section 4.3;
            // `tcp_ecn_send`).
            if !chunk.again || self.sender.config.accurate_ecn {
                s.ecn = if self.sender.config.ect1 { 1 } else { 2 };
            }
            if !chunk.again && self.sender.ecn.tell_reduced && chunk.len > 0 {
                self.sender.ecn.tell_reduced = false;
                s.flags = s.flags.with(Flags::CWR);
            }
        }
        self.receiver.note_answer(now);
    }

    fn pure_ack(&mut self, now: Instant, s: &mut Segment) {
        self.segment(now, s);
        s.seq = self.sender.nxt;
        self.sender.stats.acks += 1;
        if self.receiver.is_out_of_order() {
            let (blocks, duplicate) = self.receiver.blocks();
            s.sack = blocks;
            if duplicate {
                s.flags = s.flags.with(Flags::DSACK);
            }
        }
    }

    /// A segment with everything but sequence, data and ranges.
    #[inline]
    fn segment(&mut self, now: Instant, s: &mut Segment) {
        let mut flags = Flags::ACK;
        let (mut ts_val, mut ts_ecr) = (0, 0);
        if self.sender.stamped {
            flags = flags.with(Flags::TIMESTAMP);
            (ts_val, ts_ecr) = (self.sender.clock.read(now), self.receiver.ts_recent);
        }
        if self.receiver.ecn.echo {
            flags = flags.with(Flags::ECE);
        }
        *s = Segment {
            ack: self.receiver.nxt,
            window: self.receiver.window(),
            ts_val,
            ts_ecr,
            ce_bytes: self.receiver.ecn.bytes,
            flags,
            ..Segment::default()
        };
        self.receiver.on_ack_sent();
    }
}
