//! An application that reads when it likes: what waits for it closes the window, and what it takes opens the window again, in
//! large steps, as each stack avoids silly windows (RFC 9293, section 3.8.6.2.2).

use super::Receiver;
use crate::config::{Config, Stack};
use units::Instant;

/// When the application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// All that comes, as it comes: the window stays open.
    AtOnce,
    /// When it calls, and Linux tells of the room.
    Linux,
    /// When it calls, and FreeBSD does.
    FreeBsd,
}

impl Reading {
    pub fn of(config: &Config) -> Reading {
        match config.stack {
            _ if !config.slow_reader => Reading::AtOnce,
            Stack::FreeBsd11 => Reading::FreeBsd,
            Stack::Linux | Stack::Ns2 => Reading::Linux,
        }
    }
}

impl Receiver {
    /// The application takes up to so many bytes of what waits; returns how many there were. The room that they leave may be worth
    /// an ACK of its own.
    pub fn read(&mut self, most: u32) -> u32 {
        let bytes = self.unread.min(most);
        self.unread -= bytes;
        // After a FIN no room is asked for.
        self.ack_now |= bytes > 0
            && !self.fin
            && match self.reading {
                Reading::AtOnce => false,
                Reading::Linux => self.linux_tells(),
                Reading::FreeBsd => self.freebsd_tells(),
            };
        bytes
    }

    /// What waits for the application.
    #[inline]
    pub fn unread(&self) -> u32 {
        self.unread
    }

    /// The window to offer by what waits. The right edge never moves back.
    #[cold]
    #[inline(never)]
    pub(super) fn closing_window(&mut self) -> u32 {
        let offered = self.offered();
        match self.reading {
            Reading::AtOnce => self.full_window,
            Reading::Linux => self.linux_window().max(self.aligned(offered)),
            Reading::FreeBsd => self.freebsd_window().max(self.quantised(offered.into())),
        }
    }

    /// What is left of the window that was offered last.
    fn offered(&self) -> u32 {
        self.edge.saturating_sub(self.nxt) as u32
    }

    /// What the scaled field conveys and is no less.
    fn aligned(&self, window: u32) -> u32 {
        self.quantised(u64::from(window) + (1 << self.scale) - 1)
    }

    /// What Linux' buffer has grown to, and what may be offered of it (`tcp_full_space`, `rcv_ssthresh`).
    fn linux_space(&self) -> (u32, u32) {
        self.tuning.as_ref().map_or((self.buffer, self.buffer), |tuning| tuning.space())
    }

    /// `__tcp_select_window`: nothing below a segment or a sixteenth of the buffer; without scaling whole segments.
    fn linux_window(&mut self) -> u32 {
        let (full, threshold) = self.linux_space();
        let segment = self.largest.min(full);
        let mut room = full.saturating_sub(self.unread);
        if room < full / 2 {
            self.quick = 0;
            room = self.quantised(room.into());
            if room < full / 16 || room < segment {
                return 0;
            }
        }
        room = room.min(threshold);
        if self.scale > 0 {
            return self.aligned(room);
        }
        let before = (self.edge - self.acked_to) as u32;
        if before <= room.saturating_sub(segment) || before > room {
            room - room % segment.max(1)
        } else if segment == full && room > before + full / 2 {
            room
        } else {
            before
        }
    }

    /// Does what came since the last ACK leave the right edge room to move? If not, Linux leaves the ACK to the reader
    /// (`__tcp_ack_snd_check`).
    #[cold]
    #[inline(never)]
    pub(super) fn edge_may_move(&mut self) -> bool {
        u64::from(self.linux_window()) >= self.edge - self.acked_to
    }

    /// `tcp_cleanup_rbuf`: an ACK that was left to the reader, or a window twice what is left of the last.
    fn linux_tells(&mut self) -> bool {
        if self.ack_at != Instant::MAX && self.nxt - self.acked_to > u64::from(self.largest) {
            return true;
        }
        let window = self.linux_window();
        window > 0 && window / 2 >= self.offered()
    }

    /// `tcp_output`: nothing below a segment, but for a quarter of the buffer.
    fn freebsd_window(&self) -> u32 {
        let room = self.buffer.saturating_sub(self.unread);
        if room < self.buffer / 4 && room < self.freebsd_segment() { 0 } else { self.quantised(room.into()) }
    }

    /// The same's own ACK for the window alone, if none waits: two segments more where that is a quarter of the buffer, or the
    /// buffer is small or nearly full; else half of it.
    fn freebsd_tells(&self) -> bool {
        let (buffer, segment) = (self.buffer, self.freebsd_segment());
        let room = buffer.saturating_sub(self.unread);
        let offered = self.offered();
        let more = room.min(u32::from(u16::MAX) << self.scale).saturating_sub(offered);
        let shows = (offered + more) >> self.scale > offered >> self.scale;
        let pressed = more >= buffer / 4 || room <= buffer / 8 || buffer <= 8 * segment;
        self.ack_at == Instant::MAX && shows && (more >= 2 * segment && pressed || more >= buffer.div_ceil(2))
    }

    /// With the options that FreeBSD counts (`t_maxseg`).
    fn freebsd_segment(&self) -> u32 {
        self.largest + u32::from(self.options)
    }
}
