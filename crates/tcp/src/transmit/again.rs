//! What goes again: segments that were lost or may be, and probes.

use super::Chunk;
use crate::Stack;
use crate::scoreboard::{FIN, RESENT, Record, SACKED, UNUSUAL};
use crate::sender::Sender;
use crate::undo::Frto;
use cc::Phase;
use units::{Bytes, Instant};

impl Sender {
    /// Retransmissions and probes. `None`: nothing of the kind, go on with new data.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_repair(&mut self, now: Instant, peer: u32) -> Option<Option<Chunk>> {
        if self.window_probe {
            self.window_probe = false;
            self.stats.window_probes += 1;
            // A byte long acknowledged: the answer tells the window.
            return Some(Some(Chunk { seq: self.flow.acked_to - 1, len: 0, fin: false, again: true }));
        }
        if self.probe.due {
            self.probe.due = false;
            if let Some(chunk) = self.tail_probe(now, peer) {
                return Some(Some(chunk));
            }
        }
        if self.undo.waits {
            return None;
        }
        // F-RTO tries new data before it sends more again, and waits for the answer, be it one segment (Linux' `tcp_xmit_recovery`).
        if self.undo.frto == Frto::NewData {
            if self.nxt > self.recover || self.may_send_new() {
                return None;
            }
            self.undo.frto = Frto::Off;
        }
        let id = self.board.next_lost()?;
        let r = self.board.ring.get(id);
        let (seq, mut len) = (r.seq, r.len as u64);
        // A rate tag belongs to a whole record: where rates are sampled, records keep their borders.
        let cuts = self.ways.own_window && self.rates.is_none();
        if cuts {
            len = self.piece(seq);
        }
        // A piece of 0 bytes means that there is no room: ask for one byte, which is then refused.
        if !self.force_one && !self.admits(now, seq, len.max(1), 0) {
            return Some(None);
        }
        if cuts {
            self.board.recut(id, len as u32);
        }
        Some(Some(self.resend(now, id, peer)))
    }

    fn resend(&mut self, now: Instant, id: u64, peer: u32) -> Chunk {
        let stamp = self.stamped.then(|| self.clock.read(now));
        self.on_resent(stamp);
        self.repeat(now, id, peer, false)
    }

    fn repeat(&mut self, now: Instant, id: u64, peer: u32, probe: bool) -> Chunk {
        if let Some(rates) = &mut self.rates {
            let r = self.board.ring.get(id);
            *rates.tags.get_mut(id) =
                rates.tracker.on_sent(now, self.flow.delivered, true, self.board.in_flight, r.len as u64);
        }
        let probe = probe && self.config.stack == Stack::Linux;
        let r = if probe { self.board.probe(id, now) } else { self.board.resend(id, now) };
        // A retransmission that is out already has another place in their order now.
        if self.ways.rack && (!probe || r.is(RESENT)) {
            self.board.resent_order.push_back((id, self.board.ring.get(id).turn()));
        }
        // NewReno's "impatient" variant lets the timer run on from the first partial ACK (RFC 6582, section 4).
        let impatient = self.ways.newreno && self.flow.phase == Phase::Recovery && self.partial_seen;
        if id == self.board.ring.first() && !impatient {
            self.rto_at = self.deadline(now);
        }
        self.stats.retransmissions += 1;
        let fin = r.is(FIN);
        let len = r.len - u32::from(fin);
        let out = self.prr.out;
        self.after_send(now, r.seq, len, r.len as u64, true, peer);
        if probe {
            // Nor does it use up what a reduction lets go (`tcp_send_loss_probe` adds nothing to `prr_out`).
            self.prr.out = out;
        }
        Chunk { seq: r.seq, len, fin, again: true }
    }

    /// RFC 8985, section 7.3: new data if there is any, else the last segment again, whatever the window.
    fn tail_probe(&mut self, now: Instant, peer: u32) -> Option<Chunk> {
        if !self.is_outstanding() {
            return None;
        }
        self.stats.tail_probes += 1;
        let chunk = if self.may_send_new() {
            let cwnd = self.flow.cwnd;
            // Room for a segment as it is counted, and a FIN.
            self.flow.cwnd = (Bytes::new(self.pipe() + 1) + self.flow.mss).max(cwnd);
            let (pace, burst) = (self.pace_next, self.burst_left);
            (self.pace_next, self.burst_left) = (pace.min(now), 1);
            let chunk = self.poll_new_out_of_line(now, peer);
            (self.pace_next, self.burst_left) = (self.pace_next.max(pace), burst);
            self.flow.cwnd = cwnd;
            chunk
        } else {
            None
        };
        self.probe.again = chunk.is_none();
        // The last segment, even if others may be lost: had it arrived, RACK would have judged them by now. The probe
        // is no evidence for a later undo, so its time and number are not kept (Linux' `tcp_send_loss_probe` calls
        // `__tcp_retransmit_skb`, which knows no `retrans_stamp` and no `undo_retrans`).
        // One that was selectively acknowledged would tell nothing; the first never is.
        let (first, last) = (self.board.ring.first(), self.board.ring.next() - 1);
        let open = (first..=last).rev().find(|id| !self.board.ring.get(*id).is(SACKED)).unwrap_or(first);
        let chunk = chunk.unwrap_or_else(|| self.repeat(now, open, peer, true));
        self.probe.high = self.nxt;
        self.probe_at = Instant::MAX;
        Some(chunk)
    }

    /// RFC 6675, `NextSeg` rules 3 and 4: with neither losses nor new data, a hole not yet thought lost, or once per
    /// recovery the last segment. No data first sent in this recovery, since its loss is another congestion (so does
    /// FreeBSD's rescue since D39274), and nothing that went again already.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_unlikely(&mut self, now: Instant, peer: u32) -> Option<Chunk> {
        if self.may_send_new() || self.undo.waits {
            return None;
        }
        let first = self.board.ring.first();
        let end = self.board.find(self.recover);
        let usable = |r: &Record| !r.is(UNUSUAL);
        let hole = (self.board.judged.max(first)..end)
            .take_while(|id| self.board.ring.get(*id).seq < self.board.sacked_to)
            .find(|id| usable(self.board.ring.get(*id)));
        // Once per recovery: sent again, it stays the last and is not usable; once it is SACKed, whatever is left below
        // it is a hole.
        let last = || (first..end).rev().find(|id| !self.board.ring.get(*id).is(SACKED));
        let id = hole.or_else(last).filter(|id| usable(self.board.ring.get(*id)))?;
        let r = self.board.ring.get(id);
        let (seq, len) = (r.seq, r.len as u64);
        if !self.admits(now, seq, len, 0) {
            return None;
        }
        Some(self.resend(now, id, peer))
    }
}
