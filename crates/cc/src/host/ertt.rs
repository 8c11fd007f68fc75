//! FreeBSD's enhanced RTT (the h_ertt kernel helper): the clock of CDG, CHD, HD and Vegas there, and of HLDG.
//!
//! One segment at a time is *marked*; the ACK that covers it closes a round, and the next segment sent is marked then.
//! Samples count whole ticks and add one. Delayed ACKs are guessed from what ACKs cover: while the guess says the
//! receiver delays, an ACK of a single segment is taken for a late one and gives no sample, and the mark slides from a
//! segment acknowledged along with later ones to the last but one of them. Source: FreeBSD 11 `sys/netinet/khelp/h_ertt.c`
//! (behaviour re-told in the reference, section 0.3). Segment offload is left out: every segment is its own record.

use alloc::collections::VecDeque;
use units::Bytes;

/// The guess about delayed ACKs moves between 0 and this.
const DELAYED_MAX: u8 = 5;
/// More inconsistent echoes than this and timestamps are no longer used for matching.
const TIMESTAMP_ERRORS_MAX: u32 = 10;

/// One transmission.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    seq: u64,
    len: u32,
    /// Tick it left at.
    tick: u32,
    /// Newest timestamp received from the peer by then.
    peer: u32,
    marked: bool,
}

/// What an ACK says, in the words of this helper.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heard {
    /// Bytes newly acknowledged in order.
    pub acked: u64,
    /// The acknowledgement number.
    pub ack: u64,
    /// Highest right edge that its SACK blocks report, whether new or not, else zero; while there are holes, what it
    /// acknowledges in order is a block too.
    pub sacked_to: u64,
    /// This host's tick counter.
    pub tick: u32,
    /// Echoed timestamp and the peer's own, if there were timestamps.
    pub echo: Option<(u32, u32)>,
}

/// The measurement a marked segment gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkedRound {
    /// Its RTT in ticks, plus one.
    pub ticks: u32,
    /// Sent while it was under way.
    pub sent: Bytes,
}

/// Per-flow state of the helper. All RTTs are in ticks.
#[derive(Clone, Debug, Default)]
pub struct EnhancedRtt {
    flying: VecDeque<Transmission>,
    /// Last accepted sample; stale until the next.
    rtt: u32,
    sent_in_round: u64,
    timestamp_errors: u32,
    delayed: u8,
    in_progress: bool,
}

/// A mark on its way from a record that cannot be timed to the next.
#[derive(Clone, Copy)]
struct Sliding {
    tick: u32,
    len: u64,
    adjust: u64,
}

impl EnhancedRtt {
    /// Nothing sent.
    pub fn new() -> Self {
        EnhancedRtt::default()
    }

    /// A segment with data leaves (a retransmission too).
    pub fn on_sent(&mut self, seq: u64, len: u32, tick: u32, peer: u32) {
        let marked = !self.in_progress;
        if marked {
            self.in_progress = true;
            self.sent_in_round = 0;
        }
        self.sent_in_round += len as u64;
        self.flying.push_back(Transmission { seq, len, tick, peer, marked });
    }

    /// The last accepted sample; zero before the first.
    pub fn rtt(&self) -> u32 {
        self.rtt
    }

    /// An ACK came in. Returns the fresh sample and the round it closed.
    pub fn on_ack(&mut self, heard: &Heard, mss: u64) -> (Option<u32>, Option<MarkedRound>) {
        let sack = heard.sacked_to != 0;
        if heard.acked == 0 && !sack {
            return (None, None);
        }
        let ack = if heard.acked == 0 { heard.sacked_to } else { heard.ack };
        let mut several = false;
        let mut sliding: Option<Sliding> = None;
        let mut fresh = None;
        let mut round = None;
        while let Some(&t) = self.flying.front() {
            let end = t.seq + t.len as u64;
            if ack > end {
                self.slide(&t, &mut sliding);
                continue;
            }
            if !sack {
                let len = t.len as u64;
                if heard.acked > mss || heard.acked > len {
                    several = true;
                    self.delayed = (self.delayed + 1).min(DELAYED_MAX);
                } else if heard.acked == mss || heard.acked == len {
                    self.delayed = self.delayed.saturating_sub(1);
                }
            }
            if let Some((echo, peer)) = heard.echo.filter(|_| self.timestamp_errors < TIMESTAMP_ERRORS_MAX) {
                let age = echo.wrapping_sub(t.tick) as i32;
                // A delaying receiver echoes the first of the segments it acknowledges, so an older echo is normal.
                if age < 0 && self.delayed == 0 {
                    break;
                }
                if age > 0 {
                    self.slide(&t, &mut sliding);
                    continue;
                }
                if age == 0 && (peer.wrapping_sub(t.peer) as i32) < 0 {
                    self.timestamp_errors += 1;
                }
            }
            if ack <= t.seq {
                break;
            }
            let elapsed = |since: u32| heard.tick.wrapping_sub(since).wrapping_add(1);
            if self.delayed == 0 || several || sack {
                self.rtt = elapsed(t.tick);
                fresh = Some(self.rtt);
            }
            if t.marked {
                round = Some(self.finish(elapsed(t.tick), self.sent_in_round));
            }
            self.flying.pop_front();
            break;
        }
        if let Some(s) = sliding {
            // FreeBSD times the last record the mark slid over, even if a later one was matched (the helper means to
            // do so only when it runs out of records, but does not clear its note of the slide).
            let ticks = heard.tick.wrapping_sub(s.tick).wrapping_add(1);
            round = Some(self.finish(ticks, (self.sent_in_round + s.len).saturating_sub(s.adjust)));
        }
        (fresh, round)
    }

    fn slide(&mut self, t: &Transmission, sliding: &mut Option<Sliding>) {
        if t.marked || sliding.is_some() {
            let adjust = sliding.map_or(0, |s| s.adjust) + t.len as u64;
            *sliding = Some(Sliding { tick: t.tick, len: t.len as u64, adjust });
        }
        self.flying.pop_front();
    }

    fn finish(&mut self, ticks: u32, sent: u64) -> MarkedRound {
        self.in_progress = false;
        MarkedRound { ticks, sent: Bytes::new(sent) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn send(e: &mut EnhancedRtt, n: u64, tick: u32) {
        e.on_sent(n * MSS, MSS as u32, tick, 0);
    }

    fn ack(e: &mut EnhancedRtt, from: u64, to: u64, tick: u32) -> (Option<u32>, Option<u32>) {
        let heard = Heard { acked: (to - from) * MSS, ack: to * MSS, tick, ..Heard::default() };
        let (fresh, round) = e.on_ack(&heard, MSS);
        (fresh, round.map(|r| r.ticks))
    }

    #[test]
    fn a_sample_is_ticks_elapsed_plus_one() {
        let mut e = EnhancedRtt::new();
        send(&mut e, 0, 100);
        assert_eq!(ack(&mut e, 0, 1, 100), (Some(1), Some(1)), "never zero");
        send(&mut e, 1, 100);
        assert_eq!(ack(&mut e, 1, 2, 140), (Some(41), Some(41)));
    }

    #[test]
    fn an_ack_of_two_samples_the_second_and_closes_the_round_of_the_first() {
        let mut e = EnhancedRtt::new();
        send(&mut e, 0, 100);
        send(&mut e, 1, 103);
        send(&mut e, 2, 104);
        assert_eq!(ack(&mut e, 0, 2, 140), (Some(38), Some(41)));
        // The mark is free: the next segment sent takes it, number 2 does not.
        send(&mut e, 3, 141);
        assert_eq!(ack(&mut e, 2, 3, 150).1, None);
    }

    #[test]
    fn single_segments_are_not_sampled_while_the_receiver_is_thought_to_delay() {
        let mut e = EnhancedRtt::new();
        (0..8).for_each(|n| send(&mut e, n, 100));
        assert_eq!(ack(&mut e, 0, 2, 110).0, Some(11));
        assert_eq!(ack(&mut e, 2, 4, 111).0, Some(12));
        // Twice delayed: two single ACKs are needed to forget, and the one that brings the guess to zero counts.
        assert_eq!(ack(&mut e, 4, 5, 120).0, None);
        assert_eq!(e.rtt(), 12, "the last sample stays, stale");
        assert_eq!(ack(&mut e, 5, 6, 121).0, Some(22));
    }

    #[test]
    fn a_newer_echo_discards_older_transmissions() {
        let mut e = EnhancedRtt::new();
        send(&mut e, 0, 100); // lost
        e.on_sent(0, MSS as u32, 200, 0); // sent again
        let heard = Heard { acked: MSS, ack: MSS, tick: 240, echo: Some((200, 0)), ..Heard::default() };
        let (fresh, round) = e.on_ack(&heard, MSS);
        assert_eq!(fresh, Some(41), "the sample is the retransmission's");
        assert_eq!(round.map(|r| r.ticks), Some(141), "the mark was on the lost one");
    }

    #[test]
    fn a_late_ack_of_two_originals_is_taken_for_their_retransmissions() {
        // FreeBSD's own mistake, kept: an echo older than a record is what a delaying receiver sends, so with delayed ACKs
        // the helper cannot tell. Timestamps save it only while every segment is acknowledged by itself.
        for (first_ack, sample) in [(1, None), (2, Some(3))] {
            let mut e = EnhancedRtt::new();
            (0..first_ack).for_each(|n| send(&mut e, n, 90));
            ack(&mut e, 0, first_ack, 95);
            let n = first_ack;
            send(&mut e, n, 100);
            send(&mut e, n + 1, 100);
            // A needless timeout sends both again; the originals' records went with a SACK of what followed.
            send(&mut e, n + 2, 100);
            let sacked = Heard { sacked_to: (n + 3) * MSS, tick: 140, echo: Some((100, 0)), ..Heard::default() };
            e.on_ack(&sacked, MSS);
            send(&mut e, n, 200);
            send(&mut e, n + 1, 200);
            let to = if sample.is_some() { n + 2 } else { n + 1 };
            let late =
                Heard { acked: (to - n) * MSS, ack: to * MSS, tick: 202, echo: Some((100, 0)), ..Heard::default() };
            assert_eq!(e.on_ack(&late, MSS).0, sample);
        }
    }

    #[test]
    fn bytes_sent_during_a_round_lose_the_records_slid_over_but_the_last() {
        let mut e = EnhancedRtt::new();
        (0..6).for_each(|n| send(&mut e, n, 100));
        let heard = Heard { acked: 4 * MSS, ack: 4 * MSS, tick: 110, ..Heard::default() };
        assert_eq!(e.on_ack(&heard, MSS).1.unwrap().sent, Bytes::new(4 * MSS));
    }

    #[test]
    fn the_guess_goes_by_what_an_ack_covers_beside_a_segment_and_the_record_it_meets() {
        // (record's length, bytes acknowledged, guess of 2 after it), segments of 1000 bytes.
        for (len, acked, delayed) in [
            (1000, 2000, 3),
            (1000, 1000, 1),
            (1000, 1001, 3),
            // The last segment of a write is shorter.
            (24, 24, 1),
            (24, 1000, 3),
            (24, 500, 3),
            (1000, 500, 2),
        ] {
            let mut e = EnhancedRtt { delayed: 2, ..EnhancedRtt::new() };
            e.on_sent(5000, len, 100, 0);
            let heard = Heard { acked, ack: 5000 + u64::from(len), tick: 110, ..Heard::default() };
            let (fresh, _) = e.on_ack(&heard, MSS);
            assert_eq!(e.delayed, delayed, "{len} {acked}");
            assert_eq!(fresh.is_some(), delayed == 3, "{len} {acked}: one of several is not late");
        }
        // With SACK nothing is guessed, and all is sampled.
        let mut e = EnhancedRtt { delayed: 2, ..EnhancedRtt::new() };
        send(&mut e, 5, 100);
        let heard = Heard { acked: MSS, ack: 6 * MSS, sacked_to: 9 * MSS, tick: 110, ..Heard::default() };
        assert_eq!((e.on_ack(&heard, MSS).0, e.delayed), (Some(11), 2));
    }

    #[test]
    fn timestamps_that_run_backwards_ten_times_are_not_believed_any_more() {
        // The peer's own timestamp is older than the newest that was known when the segment left.
        let backwards = |e: &mut EnhancedRtt, n: u64, echo: u32, peer: u32| {
            e.on_sent(n * MSS, MSS as u32, 100, 50);
            let heard =
                Heard { acked: MSS, ack: (n + 1) * MSS, tick: 140, echo: Some((echo, peer)), ..Heard::default() };
            e.on_ack(&heard, MSS)
        };
        let mut e = EnhancedRtt::new();
        for (echo, peer, errors) in [(100, 50, 0), (100, 51, 0), (99, 49, 0), (100, 49, 1)] {
            e.flying.clear();
            backwards(&mut e, 0, echo, peer);
            assert_eq!(e.timestamp_errors, errors, "{echo} {peer}");
        }
        e.flying.clear();
        (0..9).for_each(|n| _ = backwards(&mut e, n, 100, 49));
        assert_eq!(e.timestamp_errors, 10);
        // An echo that would have told an old record from its retransmission says nothing now.
        assert_eq!(backwards(&mut e, 9, 200, 60).0, Some(41));
    }
}
