//! What arrives: data, acknowledgements, and the rest.

use super::{Endpoint, Heard};
use crate::handshake::State;
use crate::sender::Sender;
use crate::{Flags, Segment};
use units::Instant;

impl Endpoint {
    /// A segment arrived.
    #[inline(never)]
    pub fn on_segment(&mut self, now: Instant, s: &Segment) -> Heard {
        if self.is_plain_data(s) {
            self.on_plain_data(now, s)
        } else if self.is_pure_ack(s) {
            self.on_pure_ack(now, s)
        } else {
            self.on_any_segment(now, s)
        }
    }

    /// [`on_segment`](Self::on_segment) where it mostly is data.
    #[inline(always)]
    pub fn on_data(&mut self, now: Instant, s: &Segment) -> Heard {
        if self.is_plain_data(s) { self.on_plain_data(now, s) } else { self.on_segment(now, s) }
    }

    /// [`on_segment`](Self::on_segment) where it mostly is an acknowledgement.
    #[inline(always)]
    pub fn on_ack(&mut self, now: Instant, s: &Segment) -> Heard {
        if self.is_pure_ack(s) { self.on_pure_ack(now, s) } else { self.on_segment(now, s) }
    }

    /// Data, and no news about ours?
    #[inline(always)]
    fn is_plain_data(&self, s: &Segment) -> bool {
        const FLAGS: u8 = Flags::ACK.0 | Flags::TIMESTAMP.0;
        self.state == State::Established
            && s.len > 0
            && s.ack == self.sender.flow.acked_to
            && s.flags.0 & !FLAGS == 0
            && s.sack.is_empty()
    }

    /// An ACK and nothing else? One with ranges is: under heavy loss every fifth has some.
    #[inline(always)]
    fn is_pure_ack(&self, s: &Segment) -> bool {
        const FLAGS: u8 = Flags::ACK.0 | Flags::TIMESTAMP.0 | Flags::DSACK.0 | Flags::ECE.0;
        self.state == State::Established && s.len == 0 && s.seq == self.receiver.nxt && s.flags.0 & !FLAGS == 0
    }

    #[inline(always)]
    fn hear(&mut self, now: Instant) {
        if self.hears {
            self.sender.aside.heard_at = now;
        }
    }

    #[inline(always)]
    fn on_plain_data(&mut self, now: Instant, s: &Segment) -> Heard {
        self.hear(now);
        self.sender.see_window(s);
        self.note_stamp(s);
        let delivered = self.take_in(now, s);
        Heard { rtt: None, acked: 0, delivered }
    }

    #[inline(always)]
    fn take_in(&mut self, now: Instant, s: &Segment) -> u64 {
        let Sender { stats, rtt, clock, .. } = &mut self.sender;
        self.receiver.on_data(now, s, stats, rtt, clock)
    }

    #[inline(always)]
    fn on_pure_ack(&mut self, now: Instant, s: &Segment) -> Heard {
        let mut heard = Heard::default();
        self.sender.flow.now = now;
        self.hear(now);
        self.sender.on_ack(now, s, self.echo(s), &mut heard);
        self.note_stamp(s);
        heard
    }

    #[cold]
    #[inline(never)]
    fn on_any_segment(&mut self, now: Instant, s: &Segment) -> Heard {
        let mut heard = Heard::default();
        self.sender.flow.now = now;
        self.hear(now);
        if self.state != State::Established && !self.on_opening_segment(now, s, &mut heard) {
            return heard;
        }
        if s.flags.has(Flags::SYN) {
            // Our last ACK of the opening was lost.
            self.receiver.ack_now = true;
            return heard;
        }
        if s.flags.has(Flags::ACK) {
            self.sender.on_ack_out_of_line(now, s, self.echo(s), &mut heard);
        }
        self.note_stamp(s);
        if s.span() > 0 || s.seq < self.receiver.nxt {
            heard.delivered = self.take_in(now, s);
        }
        heard
    }

    #[inline]
    fn echo(&self, s: &Segment) -> Option<(u32, u32)> {
        if self.sender.stamped && s.flags.has(Flags::TIMESTAMP) { Some((s.ts_ecr, s.ts_val)) } else { None }
    }

    /// RFC 7323, section 4.3: what is echoed is the stamp of the first segment not yet acknowledged.
    #[inline]
    fn note_stamp(&mut self, s: &Segment) {
        let before = self.receiver.ts_recent;
        let newer = (s.ts_val.wrapping_sub(before) as i32) >= 0;
        // Every other segment is one not yet acknowledged: a choice of two values is cheaper than a branch.
        let taken = newer & (s.seq <= self.receiver.acked_to());
        self.receiver.ts_recent = if taken { s.ts_val } else { before };
    }
}
