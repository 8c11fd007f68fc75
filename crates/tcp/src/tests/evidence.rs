//! What counts as evidence that losses were none, and what is put back then.

use super::alone::Alone;
use super::*;
use crate::pair::Plain;
use crate::undo::{Evidence, Frto};
use alloc::boxed::Box;
use alloc::vec::Vec;
use cc::{Ack, Congestion, CongestionControl, Flow, Phase, Reaction};
use units::Bytes;

#[test]
fn a_report_of_a_duplicate_counts_whatever_it_is_of_if_it_lies_beyond_where_the_episode_began() {
    // Linux' `tcp_check_dsack` and `tcp_sacktag_one` ask for `undo_marker` alone: what was sent again beyond the end of the
    // recovery was counted as it left, so it counts as it is reported. Sent again are segments 1, 10 and, beyond it, 11.
    let dsack = Flags::ACK.with(Flags::DSACK);
    for (reports, undos) in [
        (&[(1, 2), (10, 11)][..], 0),
        (&[(1, 2), (10, 11), (11, 12)], 1),
        (&[(10, 11), (11, 12), (0, 1)], 0),         // from before the episode
        (&[(1, 2), (10, 11), (11, 99)], 0),         // not sent yet
        (&[(0, 1), (1, 2), (10, 11), (11, 12)], 0), // more than was sent again: the network copies
    ] {
        let mut a = Alone::new(linux(), 10);
        a.now += MS(39);
        a.hear(1000, &[]);
        assert_eq!(a.hear(1000, &[(2000, 5000)])[0], (1000, 1000));
        assert_eq!(a.end.sender.recover, 11_001);
        a.threshold(30 * MSS);
        a.end.flow_mut().cwnd = Bytes::new(30 * MSS);
        a.hear(1000, &[(2000, 10_000)]);
        a.now += MS(39);
        assert_eq!(a.hear(10_000, &[(12_000, 15_000)])[..2], [(10_000, 1000), (11_000, 1000)]);
        a.hear(10_000, &[(12_000, 16_000)]);
        for (from, to) in reports {
            a.hear_with(10_000, &[(from * MSS, to * MSS), (12_000, 16_000)], dsack);
        }
        assert_eq!((a.end.stats().retransmissions, a.end.stats().undos), (3, undos), "{reports:?}");
    }
}

#[test]
fn a_mark_in_an_episode_leaves_its_window_as_it_is_though_the_losses_were_none() {
    // Linux' `tcp_fastretrans_alert` and `tcp_enter_recovery`: ECE prohibits undoing, though the episode is over.
    // (marks on the ACK that begins it, within it, on that which ends it; threshold, and whether CWR is still to be sent)
    let echo = |marked: bool| if marked { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
    for (begins, within, ends, threshold, tells) in [
        (false, false, false, 10_000, false),
        (true, false, false, 5000, true),
        (false, true, false, 5000, true),
        (false, false, true, 3500, true), // and a congestion of its own
    ] {
        let mut a = Alone::new(Config { ecn: true, ..linux() }, 10);
        a.now += MS(39);
        a.hear(1000, &[]);
        a.hear_with(1000, &[(2000, 5000)], echo(begins));
        assert_eq!(a.phase(), Phase::Recovery);
        a.hear_with(1000, &[(2000, 6000)], echo(within));
        a.end.sender.ecn.tell_reduced = true;
        a.end.truncate(a.now);
        a.hear_with(7000, &[(1000, 2000)], echo(ends).with(Flags::DSACK));
        assert_eq!(a.end.stats().undos, 1);
        let seen = (a.end.flow().ssthresh.get(), a.end.sender.ecn.tell_reduced);
        assert_eq!(seen, (threshold, tells), "{begins} {within} {ends}");
        assert_eq!(a.end.flow().cwnd < Bytes::new(10 * MSS), tells);
    }
}

#[test]
fn an_episode_takes_over_the_retransmissions_that_are_out_and_the_stamp_of_the_first() {
    // Linux' `tcp_init_undo` and `tcp_any_retrans_done`. (sent again, of these lost again; reports that explain all, if any
    // can, and whether the stamp counts on)
    for (again, lost, explained, stamp) in [
        (&[][..], &[][..], None, None),
        (&[0], &[], Some(1), Some(50)),
        (&[1], &[], Some(1), Some(50)),
        (&[0, 1, 2], &[], Some(3), Some(50)),
        (&[0, 1, 2], &[0, 1], Some(1), Some(50)),
        (&[0], &[0], None, Some(50)),
        (&[1], &[1], None, None),
    ] {
        let mut a = Alone::new(linux(), 10);
        let s = &mut a.end.sender;
        for id in again {
            s.lose(*id);
            s.board.resend(*id, AT(1000));
            s.on_resent(Some(50));
            s.stats.retransmissions += 1;
        }
        lost.iter().for_each(|id| s.lose(*id));
        s.remember(s.flow.windows());
        assert_eq!(s.undo.stamp, stamp, "{again:?} {lost:?}");
        let is_explained = |s: &crate::sender::Sender| s.evidence(0, None).is_some();
        let count = (0..5).find(|n| {
            if *n > 0 {
                s.on_duplicate_reported(s.nxt - MSS, s.nxt);
            }
            is_explained(s)
        });
        assert_eq!(count, explained, "{again:?} {lost:?}");
    }
}

/// Notes by a byte that it was told of an undo, and what was in flight then.
#[derive(Debug)]
struct Told;

impl CongestionControl for Told {
    fn on_ack(&mut self, _: &mut Flow, _: &Ack) {}
    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd / 2)
    }
    fn on_undo(&mut self, flow: &mut Flow) {
        flow.cwnd += Bytes::new(1);
        flow.ssthresh = flow.in_flight;
    }
}

#[test]
fn what_is_taken_back_is_all_that_the_episode_changed() {
    // `tcp_undo_cwnd_reduction` and `tcp_try_undo_loss`. Of ten segments three are lost. (phase, evidence, an algorithm that owns
    // its window, a mark, window now, the least; window, threshold, CWR due)
    use {
        Evidence::{Dsack, Frto, Timestamp},
        Phase::{Loss, Recovery},
    };
    for (phase, how, owns, proven, now, floor, window, threshold, tells) in [
        (Recovery, Dsack, false, false, 5000, 0, 10_001, 7000, false),
        (Loss, Dsack, false, false, 5000, 0, 10_001, 10_000, false),
        (Loss, Timestamp, false, false, 5000, 0, 10_001, 10_000, false),
        (Loss, Frto, false, false, 5000, 0, 10_001, 10_000, false),
        (Loss, Frto, false, false, 12_000, 0, 12_001, 10_000, false), // it grew beyond
        (Loss, Frto, true, false, 5000, 0, 5001, 10_000, false),
        (Loss, Frto, false, true, 5000, 0, 5000, 2000, true),
        (Loss, Frto, true, false, 5000, 6000, 6000, 10_000, false),
    ] {
        let mut a = Alone::with(linux(), 10, Box::new(Told), crate::ENDLESS);
        let s = &mut a.end.sender;
        s.remember(s.flow.windows());
        (0..3).for_each(|id| s.lose(id));
        s.rtt.back_off();
        (s.force_one, s.prr.on, s.ecn.tell_reduced) = (true, true, true);
        (s.undo.timed_out_at, s.undo.proven, s.owns_window) = (1, proven, owns);
        (s.flow.cwnd, s.flow.ssthresh, s.flow.floor) = (Bytes::new(now), Bytes::new(2000), Bytes::new(floor));
        s.enter(phase);
        s.take_back(how);
        let seen = (s.flow.cwnd.get(), s.flow.ssthresh.get(), s.ecn.tell_reduced);
        assert_eq!(seen, (window, threshold, tells), "{how:?} {owns} {proven} {floor}");
        assert_eq!((s.force_one, s.prr.on, s.rtt.doublings()), (false, false, 0));
        assert_eq!((s.undo.marker, s.undo.timed_out_at, s.flow.phase), (0, 0, Phase::Open));
    }
}

#[test]
fn a_short_segment_sent_again_before_an_episode_is_one_more_to_be_explained() {
    // `tcp_init_undo` counts packets. (bytes of segments sent again and still out, retransmissions unexplained)
    for (resent, unexplained) in [(0, 0), (100, 1), (1000, 1), (1100, 2)] {
        let mut a = Alone::with(linux(), 10, Box::new(Told), crate::ENDLESS);
        let s = &mut a.end.sender;
        s.board.resent = resent;
        s.remember(s.flow.windows());
        assert_eq!((s.undo.unexplained, s.undo.retransmitted), (unexplained, unexplained > 0), "{resent}");
    }
}

#[test]
fn new_data_behind_a_retransmission_tells_whether_a_timeout_was_needless() {
    // RFC 5682, section 3.1, with selective acknowledgements, as `tcp_process_loss` has it. Eleven segments, and a probe's; 1 is
    // sent again. (already received beyond the hole, ACKs with a range; how it stands, undone, what the last lets go first)
    type Range = Option<(u64, u64)>;
    type Row<'a> = (Range, &'a [(u64, Range)], Frto, u64, Option<u64>);
    let cases: [Row<'_>; 9] = [
        (None, &[(1, None)], Frto::Retransmitted, 0, Some(2)), // an old duplicate
        (None, &[(2, None)], Frto::NewData, 0, Some(12)),
        (None, &[(2, None), (2, None)], Frto::Off, 0, Some(2)),
        (None, &[(2, None), (2, Some((12, 13)))], Frto::Off, 0, Some(2)),
        (None, &[(2, None), (2, Some((3, 4)))], Frto::Off, 1, None),
        (None, &[(2, None), (3, None)], Frto::Off, 1, None),
        (None, &[(4, None)], Frto::Off, 1, Some(12)), // more than was sent again
        (None, &[(1, Some((2, 3)))], Frto::Off, 1, None),
        (Some((2, 4)), &[(4, None)], Frto::NewData, 0, Some(13)),
    ];
    for (known, acks, frto, undos, first) in cases {
        let mut a = Alone::new(linux(), 10);
        a.now += MS(39);
        a.hear(1000, &[]);
        let segments = |(from, to): &(u64, u64)| (from * MSS, to * MSS);
        if let Some(range) = known {
            a.end.sender.ways.rack = false; // nothing is lost before the timeout
            a.end.truncate(a.now);
            a.hear(1000, &[segments(&range)]);
            a.end.sender.ways.rack = true;
            a.end.write(a.now, crate::ENDLESS);
        }
        while a.end.stats().timeouts == 0 {
            a.ring();
        }
        let mut left = Vec::new();
        for (ack, range) in acks {
            a.end.flow_mut().cwnd = Bytes::new(a.end.sender.pipe() + 2 * MSS);
            let ranges: Vec<_> = range.iter().map(segments).collect();
            left = a.hear(ack * MSS, &ranges);
        }
        let seen = (a.end.sender.undo.frto, a.end.stats().undos, left.first().map(|l| l.0 / MSS));
        assert_eq!(seen, (frto, undos, first), "{known:?} {acks:?}");
    }
}

#[test]
fn f_rto_waits_for_the_answer_to_as_little_new_data_as_there_is_and_does_without_if_there_is_none() {
    // `tcp_process_loss` and `tcp_xmit_recovery`. The window takes three. (written beyond the ten, what of it the peer takes, what leaves
    // with the ACK of what was sent again, how F-RTO stands then, what a duplicate lets go)
    let repairs = &[(1000, 1000), (2000, 1000), (3000, 1000)][..];
    type Leaves = &'static [(u64, u32)];
    let rows: [(u64, u64, Leaves, Frto, Leaves); 6] = [
        (0, 5000, repairs, Frto::Off, &[]),
        (1000, 5000, &[(10_000, 1000)], Frto::NewData, &[(1000, 1000), (2000, 1000)]),
        (300, 5000, &[(10_000, 300)], Frto::NewData, &[(1000, 1000), (2000, 1000)]),
        (9000, 5000, &[(10_000, 1000), (11_000, 1000), (12_000, 1000)], Frto::NewData, &[]),
        (1000, 0, repairs, Frto::Off, &[]),
        (1000, 999, repairs, Frto::Off, &[]),
    ];
    for (unsent, room, leaves, frto, then) in rows {
        let receive_window = Bytes::new(10 * MSS + room);
        let config = Config { receive_window, rate_samples: true, ..with_loss(LossDetection::Sack) };
        let mut a = Alone::with(config, 10, Box::new(Plain { fixed: true }), 10 * MSS);
        a.end.write(a.now, unsent);
        while a.end.stats().timeouts == 0 {
            a.ring();
        }
        a.end.flow_mut().cwnd = Bytes::new(3 * MSS);
        let mut hear = || {
            a.now += MS(1);
            let window = (9 * MSS + room) as u32;
            a.end.on_segment(a.now, &Segment { seq: 1, ack: 1001, window, flags: Flags::ACK, ..Segment::default() });
            (a.leaving(), a.end.sender.undo.frto, a.end.flow().app_limited)
        };
        assert_eq!(hear(), (leaves.to_vec(), frto, false), "{unsent}, {room}");
        assert_eq!(hear(), (then.to_vec(), Frto::Off, false), "{unsent}, {room}");
    }
}

#[test]
fn f_rto_is_over_where_there_is_nothing_new_to_try() {
    // `tcp_process_loss`, step 2.b. Three that RACK spared at the timeout, so that nothing is to be sent again either. (written
    // behind them, watched, taken back by the ACK of the next)
    for (written, taken_back) in [(0, 0), (1000, 0), (3000, 1)] {
        let mut a = Alone::with(linux(), 5, Box::new(Plain { fixed: true }), 5000 + written);
        a.end.flow_mut().cwnd = Bytes::new(5 * MSS);
        a.now += MS(39);
        a.hear(1000, &[]);
        let s = &mut a.end.sender;
        let (first, at) = (s.board.ring.first(), s.rto_at);
        (s.probe_at, s.probe.high) = (Instant::MAX, 0);
        (first + 1..s.board.ring.next()).for_each(|id| s.board.ring.get_mut(id).sent_at = at - MS(10));
        a.ring();
        assert_eq!((a.end.stats().timeouts, a.end.stats().lost), (1, MSS));
        a.hear(2000, &[]);
        a.now += MS(20);
        a.hear(3000, &[]);
        assert_eq!(a.end.stats().undos, taken_back, "{written}");
    }
}

#[test]
fn a_partial_ack_of_an_original_takes_a_recovery_back_unless_more_that_went_again_is_out() {
    // `tcp_try_undo_partial`: `tcp_packet_delayed`, then `retrans_out`. Of ten segments that left at a second the first ones are
    // late and went again 40 ms later; the stamp tells which sending the ACK is for. (late, stamp, taken back)
    for (late, stamp, undos) in [(1, 1000, 1), (1, 1043, 0), (2, 1000, 0), (2, 1043, 0)] {
        let mut a = Alone::new(linux(), 10);
        a.now += MS(39);
        (1..=8).for_each(|n| _ = a.hear(0, &[(late * MSS, (late + n) * MSS)]));
        assert_eq!((a.phase(), a.end.sender.board.resent), (Phase::Recovery, late * MSS), "{late}");
        let flags = Flags::ACK.with(Flags::TIMESTAMP);
        // Up to the next that is late, or to the end of what arrived.
        let ack = 1 + if late == 1 { 9 * MSS } else { MSS };
        let s = Segment { seq: 1, ack, window: 1 << 20, flags, ts_ecr: stamp, ..Segment::default() };
        a.end.on_segment(a.now, &s);
        assert_eq!(a.end.stats().undos, undos, "{late} {stamp}");
        assert!(a.end.sender.flow.acked_to < a.end.sender.recover, "partial");
    }
}

#[test]
fn a_needless_retransmission_counts_as_delivered_on_linux() {
    // `tcp_dsack_seen`: `sack_delivered` has what was reported, unless more was than was sent again, for the rate reduction, too.
    let dsack = Flags::ACK.with(Flags::DSACK);
    for (of, counts) in [(Stack::Linux, true), (Stack::Ns2, false)] {
        let config = Config { timestamps: false, loss: LossDetection::RackTlp, ..stack(of) };
        let mut a = Alone::new(config, 20);
        a.now += MS(39);
        a.hear(1000, &[]);
        a.hear(1000, &[(3000, 6000)]);
        a.hear(1000, &[(3000, 7000)]);
        assert_eq!((a.phase(), a.end.stats().retransmissions), (Phase::Recovery, 2), "{of:?}");
        let mut before = (a.end.flow().delivered.get(), a.end.sender.prr.delivered);
        for (n, counts) in [(1, counts), (2, counts), (3, false)] {
            // Reported is what the second was, though the first is still awaited.
            a.hear_with(1000, &[(2000, 3000), (2000, 7000)][..if n == 1 { 2 } else { 1 }], dsack);
            let after = (a.end.flow().delivered.get(), a.end.sender.prr.delivered);
            let news = if n == 1 { MSS } else { 0 };
            let needless = if counts { MSS } else { 0 };
            assert_eq!(after.0 - before.0, news + needless, "{of:?}, report {n}");
            if n == 1 {
                assert_eq!(after.1 - before.1, news + needless, "{of:?}");
            }
            before = after;
        }
    }
}

#[test]
fn what_arrived_beyond_a_hole_counts_by_segments_however_short() {
    // Linux' `tcp_rack_reo_wnd` and `tcp_enter_loss` ask `sacked_out`, and RFC 8985, section 6.2, step 4 counts segments, too.
    // (written, received from here on, lost at once, the lateness that a timeout leaves)
    for (written, from, lost, late) in [
        (6000, 3000, true, 3000),
        (6000, 4000, false, 9000),
        (5300, 3000, true, 3000), // two full ones and a short one
        (5300, 4000, false, 9000),
    ] {
        let sacked = |reordering: bool| {
            let mut a = Alone::with(linux(), 6, Box::new(Plain { fixed: true }), written);
            (a.end.sender.rack.reordering, a.end.sender.rack.most_late) = (reordering, 9000);
            a.now += MS(39);
            a.hear(0, &[(from, written)]);
            assert_eq!(a.end.sender.board.recount(), a.end.sender.board.sums());
            a
        };
        assert_eq!(sacked(false).end.stats().lost > 0, lost, "{written} {from}");
        let mut a = sacked(true);
        assert_eq!(a.end.stats().lost, 0);
        a.end.sender.probe_at = Instant::MAX; // the timer for what is late waits longer
        a.ring();
        let seen = (a.end.stats().timeouts, a.end.sender.rack.most_late);
        assert_eq!(seen, (1, late), "{written} {from}");
    }
}
