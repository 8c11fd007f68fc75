//! What may be taken back, and what may not.

use super::alone::Alone;
use super::*;
use crate::DelayedAck;
use crate::pair::{Fate, Pair};
use crate::scoreboard::{LOST, RESENT};
use crate::undo::Evidence;
use cc::{CauseKind, Phase};
use units::Bytes;

/// Twenty segments a flight, no growth to speak of, every segment acknowledged.
fn twenty<'a>(loss: LossDetection, path: impl FnMut(usize, u64, &Segment) -> Fate + 'a) -> Pair<'a> {
    let mut p = Pair::new(Config { delayed_ack: DelayedAck::None, ..with_loss(loss) }, path);
    p.ends[0].flow_mut().cwnd = Bytes::new(20 * MSS);
    p.ends[0].flow_mut().ssthresh = Bytes::new(20 * MSS);
    p.ends[0].write(p.now, crate::ENDLESS);
    p
}

#[test]
fn a_timeout_during_recovery_is_never_thought_spurious() {
    // RFC 5682, section 3.2: F-RTO is for timeouts that interrupt no recovery. The path gets longer than the timeout:
    // in the middle of a recovery (segment 3 is lost), or without any loss.
    for (lost, undone) in [(3, false), (u64::MAX, true)] {
        let mut drops = 1;
        let mut p = twenty(LossDetection::RackTlp, move |from, _, s| {
            if from == 0 && number(s) == lost && drops > 0 {
                drops -= 1;
                return Fate::Drop;
            }
            Fate::Pass
        });
        p.run(MS(90));
        assert_eq!(p.ends[0].flow().phase, if undone { Phase::Open } else { Phase::Recovery });
        p.delay = MS(600);
        p.run(MS(3000));
        let s = *p.ends[0].stats();
        assert!(s.timeouts >= 1, "{s:?}");
        assert_eq!(s.undos > 0, undone, "{s:?}");
        if undone {
            // The ACKs of late originals say nothing of what was sent before the retransmission (`tcp_skb_spurious_retrans`).
            assert_eq!((s.retransmissions, s.recoveries), (1, 0), "{s:?}");
        }
    }
}

#[test]
fn a_late_original_undoes_nothing_while_other_retransmissions_are_out() {
    // Segment 3 comes 4 ms late, which RACK takes for a loss; segment 9 is really lost, or not.
    for (lost, undos) in [(9, 0), (u64::MAX, 1)] {
        let mut drops = 1;
        let mut p = twenty(LossDetection::RackTlp, move |from, _, s| {
            if from == 0 && number(s) == lost && drops > 0 {
                drops -= 1;
                return Fate::Drop;
            }
            if from == 0 && number(s) == 3 { Fate::Late(MS(4)) } else { Fate::Pass }
        });
        p.run(MS(400));
        let s = *p.ends[0].stats();
        assert_eq!((s.undos, s.recoveries, s.timeouts), (undos, 1, 0), "{s:?}");
        let reduced = p.ends[0].flow_mut().drain_events().filter(|e| e.cause() == Some(CauseKind::LossBackoff)).count();
        assert_eq!(reduced, 1);
    }
}

/// Of ten segments 1, 2 and 3 are lost, and of these 1 and 2 go again. Then an ACK of 1 comes, which lacks 8, too.
fn one_more_than_is_out_again(echoed: u32) -> Alone {
    let mut a = Alone::new(linux(), 10);
    a.now += MS(39);
    a.hear(1000, &[]);
    let mut left = a.hear(1000, &[(4000, 7000)]);
    left.extend(a.hear(1000, &[(4000, 8000)]));
    assert_eq!((&left[..], a.end.sender.board.resent), (&[(1000, 1000), (2000, 1000)][..], 2 * MSS));
    a.now += MS(1);
    let mut ack = Segment { seq: 1, ack: 2001, window: 1 << 20, ts_ecr: echoed, ..Segment::default() };
    ack.flags = Flags::ACK.with(Flags::TIMESTAMP);
    (ack.sack.blocks[0], ack.sack.blocks[1]) = ((7000, 1000), (2000, 4000));
    a.end.on_segment(a.now, &ack);
    a
}

#[test]
fn on_the_ack_of_a_late_original_nothing_is_lost_or_goes_again_while_other_retransmissions_are_out() {
    // `tcp_try_undo_partial`, where `tcp_fastretrans_alert` returns. (timestamp echoed; what leaves with that ACK and the next,
    // lost by then)
    for (echoed, leaves, lost, then) in
        [(1000, &[11_000, 12_000][..], 3, 3000), (1100, &[3000, 8000, 11_000], 4, 12_000)]
    {
        let mut a = one_more_than_is_out_again(echoed);
        assert!(a.leaving().iter().map(|left| left.0).eq(leaves.iter().copied()), "{echoed}");
        assert_eq!(a.end.stats().lost, lost * MSS, "{echoed}");
        assert_eq!(a.hear(2000, &[(9000, 11_000), (4000, 8000)])[0], (then, 1000), "{echoed}");
    }
}

#[test]
fn without_a_further_ack_a_timer_ends_the_wait_after_a_late_original() {
    let mut a = one_more_than_is_out_again(1000);
    assert_eq!(a.leaving(), [(11_000, 1000), (12_000, 1000)]);
    assert_eq!(a.ring().first(), Some(&(2000, 1000)));
}

#[test]
fn the_stamp_of_an_older_retransmission_outlives_its_episode() {
    // An ACK it causes is older than the retransmissions of the new episode, and proves nothing about them.
    let mut p = twenty(LossDetection::RackTlp, |_, _, _| Fate::Pass);
    p.run(MS(50));
    let s = &mut p.ends[0].sender;
    let windows = s.flow.windows();
    let first = s.board.ring.first();
    s.remember(windows);
    s.lose(first);
    s.board.resend(first, AT(50));
    s.on_resent(Some(50));
    s.forget_undo();
    s.remember(windows);
    s.on_resent(Some(70));
    assert_eq!(s.evidence(MSS, Some((60, 0))).map(|e| e as u32), None, "stamped 60: after the first");
    assert_eq!(s.evidence(0, Some((49, 0))).map(|e| e as u32), None, "nothing was acknowledged in order");
    assert_eq!(s.evidence(MSS, Some((49, 0))).map(|e| e as u32), Some(Evidence::Timestamp as u32));
    // With nothing outstanding that was sent twice, the next episode starts afresh.
    p.run(MS(130));
    let s = &mut p.ends[0].sender;
    assert_eq!(s.board.resent, 0);
    s.forget_undo();
    s.remember(windows);
    s.on_resent(Some(130));
    assert_eq!(s.evidence(MSS, Some((100, 0))).map(|e| e as u32), Some(Evidence::Timestamp as u32));
}

#[test]
fn what_was_never_sent_again_is_found_by_an_original_late_for_a_part_of_a_recovery_and_after_timeouts() {
    // `unmark_loss` of `tcp_undo_cwnd_reduction`. (phase, more is to come of it, evidence, lost all the same)
    for (phase, more, how, lost) in [
        (Phase::Recovery, true, Evidence::Timestamp, 0),
        (Phase::Recovery, false, Evidence::Timestamp, 2 * MSS),
        (Phase::Recovery, true, Evidence::Dsack, 2 * MSS),
        (Phase::Loss, true, Evidence::Timestamp, 0),
        (Phase::Loss, false, Evidence::Timestamp, 0),
        (Phase::Loss, true, Evidence::Dsack, 0),
        (Phase::Loss, true, Evidence::Frto, 0),
    ] {
        let mut p = twenty(LossDetection::RackTlp, |_, _, _| Fate::Pass);
        p.run(MS(50));
        let s = &mut p.ends[0].sender;
        let windows = s.flow.windows();
        s.remember(windows);
        let first = s.board.ring.first();
        s.lose(first);
        s.lose(first + 1);
        s.enter(phase);
        s.recover = if more { s.nxt } else { s.flow.acked_to };
        s.take_back(how);
        assert_eq!((s.board.lost, s.board.to_resend), (lost, lost), "{phase:?} {more} {how:?}");
    }
}

#[test]
fn what_an_undo_found_again_can_be_lost_again() {
    // Sent again, lost again, found again by an undo: no retransmission of it is in flight, and RACK must still see it.
    let mut p = twenty(LossDetection::RackTlp, |_, _, _| Fate::Pass);
    p.run(MS(50));
    let s = &mut p.ends[0].sender;
    let first = s.board.ring.first();
    s.remember(s.flow.windows());
    s.lose(first);
    s.board.resend(first, AT(50));
    s.lose(first);
    s.enter(Phase::Loss);
    s.take_back(Evidence::Frto);
    assert!(!s.board.ring.get(first).is(LOST | RESENT));
    s.rack.newest = crate::scoreboard::Turn { at: AT(60), order: 100 };
    s.rack.rtt = MS(1);
    s.detect_by_time(AT(100), false);
    assert!(s.board.ring.get(first).is(LOST));
}

#[test]
fn the_reordering_timer_waits_for_the_last_segment_and_acks_find_the_others() {
    // RFC 8985, section 6.2, step 5; Linux adds two jiffies. Four sent 2 ms apart, once as originals and once again.
    for (stack, slack) in [(Stack::Linux, 2), (Stack::Ns2, 0)] {
        for again in [false, true] {
            let config = Config { loss: LossDetection::RackTlp, delayed_ack: DelayedAck::None, ..super::stack(stack) };
            let mut p = Pair::new(config, |_, _, _| Fate::Pass);
            p.ends[0].flow_mut().cwnd = Bytes::new(20 * MSS);
            p.ends[0].write(p.now, crate::ENDLESS);
            p.run(MS(50));
            let s = &mut p.ends[0].sender;
            let first = s.board.ring.first();
            for k in 0..4 {
                if again {
                    s.lose(first + k);
                    s.board.resend(first + k, AT(60 + 2 * k));
                    s.board.resent_order.push_back((first + k, s.board.ring.get(first + k).turn()));
                } else {
                    s.board.ring.get_mut(first + k).sent_at = AT(60 + 2 * k);
                }
            }
            (s.rack.newest, s.rack.rtt) = (s.board.ring.get(first + 3).turn(), MS(30));
            (s.rack.reordering, s.flow.min_rtt, s.flow.srtt) = (true, MS(40), MS(40));
            let mut lost_at = |now| {
                let timer = s.detect_by_time(AT(now), false);
                let lost = |id| s.board.ring.get(id).is(LOST) && !s.board.ring.get(id).is(RESENT);
                ((0..4).filter(|k| lost(first + k)).count(), timer)
            };
            let timer = AT(104 + slack);
            assert_eq!(lost_at(99), (0, timer), "{stack:?}, again {again}: 30 ms and a window of 10 ms after each");
            assert_eq!(lost_at(100), (1, timer), "{stack:?}, again {again}");
            assert_eq!(lost_at(103), (2, timer), "{stack:?}, again {again}");
            assert_eq!(lost_at(104 + slack), (3, Instant::MAX), "{stack:?}, again {again}: the newest arrived");
        }
    }
}

#[test]
fn a_timeout_under_rack_spares_what_was_sent_within_the_last_round_trip() {
    // RFC 8985, section 6.3.
    let mut p = twenty(LossDetection::RackTlp, |_, _, _| Fate::Pass);
    p.run(MS(90));
    let s = &mut p.ends[0].sender;
    let (first, next) = (s.board.ring.first(), s.board.ring.next());
    assert!(next - first >= 10);
    for id in first + 5..next {
        s.board.ring.get_mut(id).sent_at = AT(500);
    }
    s.flow.now = AT(520);
    (s.rto_at, s.probe_at) = (AT(520), Instant::MAX);
    s.on_timer(AT(520));
    assert_eq!((s.board.lost, s.flow.phase), (5 * MSS, Phase::Loss));
    assert_eq!(s.flow.cwnd.get(), (next - first - 5 + 1) * MSS, "what is in flight and one more");
    assert_eq!(s.board.recount(), s.board.sums());
}

#[test]
fn after_a_timeout_what_only_waited_for_a_hole_earns_no_growth() {
    // The retransmission of 3 is lost too. The ACK of its third copy covers the whole flight.
    for loss in [LossDetection::Sack, LossDetection::NewReno, LossDetection::Reno] {
        let mut drops = 2;
        let mut p = twenty(loss, move |from, _, s| {
            if from == 0 && number(s) == 3 && drops > 0 {
                drops -= 1;
                return Fate::Drop;
            }
            Fate::Pass
        });
        let mut largest = 0;
        while p.ends[0].stats().timeouts == 0 {
            p.run(p.now.since(Instant::ZERO) + MS(1));
        }
        let (una, segments) = (p.ends[0].sender.flow.acked_to, p.ends[0].stats().segments);
        while p.ends[0].sender.flow.acked_to == una {
            p.run(p.now.since(Instant::ZERO) + MS(1));
            largest = largest.max(p.cwnd().get() / MSS);
        }
        assert!(p.ends[0].sender.flow.acked_to > una + 10 * MSS, "{loss:?}: the ACK jumps");
        assert_eq!(largest, 2, "{loss:?}");
        assert!(p.ends[0].stats().segments <= segments + 3, "{loss:?}: no burst");
    }
}

#[test]
fn forgotten_selective_acknowledgements_are_not_delivered_twice() {
    // With data that follows, later blocks report them again; without, the ACK of the hole covers them.
    for written in [crate::ENDLESS, 20 * MSS] {
        let mut drops = 2;
        let mut p = Pair::new(with_loss(LossDetection::Sack), move |from, _, s| {
            if from == 0 && number(s) == 3 && drops > 0 {
                drops -= 1;
                return Fate::Drop;
            }
            Fate::Pass
        });
        p.ends[0].flow_mut().cwnd = Bytes::new(20 * MSS);
        p.ends[0].write(p.now, written);
        p.run(MS(5000));
        assert_eq!(p.ends[0].stats().timeouts, 1);
        let s = &p.ends[0].sender;
        // What was sent again without need was delivered, too.
        let needless = s.stats.duplicates_reported * MSS;
        assert_eq!(s.flow.delivered.get(), s.flow.acked_to - 1 + s.board.sacked + needless, "{written}");
    }
}

#[test]
fn a_timeout_in_the_middle_of_a_recovery_reduces_again_but_not_on_linux() {
    // RFC 5681, section 3.1, against Linux's `tcp_enter_loss`. All later copies of 3 are lost for a while, so that the
    // same segment times out twice: the second time changes nothing but on FreeBSD.
    for (of, thresholds) in [(Stack::Linux, [10, 10]), (Stack::FreeBsd11, [5, 2]), (Stack::Ns2, [5, 5])] {
        let mut p = Pair::new(Config { undo: false, ..stack(of) }, |from, n, s| {
            if from == 0 && (number(s) == 3 || n > 23) { Fate::Drop } else { Fate::Pass }
        });
        p.ends[0].flow_mut().cwnd = Bytes::new(20 * MSS);
        p.ends[0].flow_mut().ssthresh = Bytes::new(20 * MSS);
        p.ends[0].write(p.now, crate::ENDLESS);
        for (timeout, threshold) in thresholds.into_iter().enumerate() {
            while p.ends[0].stats().timeouts == timeout as u64 {
                p.run(p.now.since(Instant::ZERO) + MS(1));
            }
            assert_eq!(p.ends[0].flow().ssthresh.get() / MSS, threshold, "{of:?}, timeout {timeout}");
        }
    }
}

#[test]
fn a_needless_tail_probe_makes_no_later_repair_wait() {
    // The ACK of the tenth segment is 300 ms late, so that a probe goes out and is reported. Of those after it the 32nd is lost:
    // the third range beyond it condemns it, and no quarters of the RTT are waited for.
    let (mut late, mut lost) = (false, false);
    let mut p = Pair::fixed(linux(), move |from, _, s| {
        if from == 1 && s.ack == 1 + 10 * MSS && !core::mem::replace(&mut late, true) {
            return Fate::Late(MS(300));
        }
        if number(s) == 32 && !core::mem::replace(&mut lost, true) { Fate::Drop } else { Fate::Pass }
    });
    p.service = MS(1);
    p.ends[0].write(p.now, 10 * MSS);
    p.run(MS(1000));
    assert_eq!((p.ends[0].stats().tail_probes, p.ends[0].stats().duplicates_reported), (1, 1));
    p.ends[0].write(p.now, 60 * MSS);
    p.run(MS(3000));
    let sent: alloc::vec::Vec<_> = p.sent.iter().filter(|(_, s)| number(s) == 32).map(|(at, _)| *at).collect();
    assert_eq!(sent[1].since(sent[0]), MS(44));
}
