//! Loss by count (RFC 6675): a segment is lost once three ranges, or more than two segments' worth, above it arrived.

use crate::scoreboard::{EVER, LOST, SACKED};
use crate::sender::Sender;

/// DupThresh (RFC 6675, section 2): so many duplicate ACKs make a fast retransmission. Linux' `sysctl_tcp_reordering`.
pub(crate) const DUP_THRESH: u32 = 3;

impl Sender {
    /// Declares lost what the scoreboard says is lost.
    pub(crate) fn detect_by_count(&mut self) {
        if self.board.sacked == 0 {
            return;
        }
        let from = self.board.judged.max(self.board.ring.first());
        // Walk down from the highest arrival until enough lies above; what is below `from` is judged already, so no
        // more than two segments' worth of arrivals is ever walked twice.
        let (mut bytes, mut ranges, mut inside) = (0, 0, false);
        let mut id = self.board.find(self.board.sacked_to);
        while id > from {
            let r = self.board.ring.get(id - 1);
            if r.is(SACKED) {
                bytes += r.len as u64;
                ranges += u32::from(!inside);
                inside = true;
                if bytes > (DUP_THRESH as u64 - 1) * self.mss || ranges >= DUP_THRESH {
                    break;
                }
            } else {
                inside = false;
            }
            id -= 1;
        }
        for lost in from..id {
            if !self.board.ring.get(lost).is(SACKED | LOST | EVER) {
                self.lose(lost);
            }
        }
        self.board.judged = self.board.judged.max(id);
    }

    /// Three duplicate ACKs condemn the first segment, whatever lies above it, unless it was ever sent again. FreeBSD's
    /// condemn it then too: such segments are left by a timeout that was taken back, or whose retransmissions count as
    /// originals.
    pub(crate) fn lose_first(&mut self) {
        let first = self.board.ring.first();
        let spared = SACKED | LOST | if self.ways.own_window { 0 } else { EVER };
        if first < self.board.ring.next() && !self.board.ring.get(first).is(spared) {
            self.lose(first);
        }
    }
}
