//! Repairs by count, with selective acknowledgements and without: what counts as what, and what each ACK lets go.

use super::alone::{Alone, Left};
use super::*;
use crate::pair::Plain;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use cc::{Ack, CauseKind, Congestion, CongestionControl, Flow, Phase, Reaction};
use std::sync::Mutex;
use units::Bytes;

const ECHO: Flags = Flags::ACK.with(Flags::ECE);

/// Ten segments of 100 bytes each, of 1000 that would be possible.
fn small(of: Stack) -> Alone {
    let mut a = Alone::with(Config { loss: LossDetection::Sack, ..stack(of) }, 1, Box::new(Plain { fixed: true }), 100);
    a.end.flow_mut().cwnd = Bytes::new(20 * MSS);
    (1..10).for_each(|_| {
        a.end.write(a.now, 100);
        assert_eq!(a.leaving().len(), 1);
    });
    a
}

#[test]
fn three_ranges_above_or_more_than_two_segments_worth_make_a_loss() {
    // RFC 6675, `IsLost`: bytes beside ranges, each against the largest segment. (size of segments, ranges, lost)
    let whole = || Alone::new(stack(Stack::Ns2), 10);
    for (mut a, size, ranges, lost) in [
        (whole(), 1000, &[(1, 3)][..], 0),
        (whole(), 1000, &[(1, 4)], 1),
        (whole(), 1000, &[(1, 2), (3, 4)], 0),
        (whole(), 1000, &[(1, 3), (4, 5)], 1),
        (whole(), 1000, &[(2, 4), (6, 8)], 2), // 4 and 5 lie below two only
        (small(Stack::Ns2), 100, &[(1, 9)], 0),
        (small(Stack::Ns2), 100, &[(1, 2), (3, 4)], 0),
        (small(Stack::Ns2), 100, &[(1, 2), (3, 4), (5, 6)], 1),
        (small(Stack::Ns2), 100, &[(2, 3), (4, 6), (8, 9)], 2),
    ] {
        let ranges: Vec<_> = ranges.iter().map(|(from, to)| (from * size, to * size)).collect();
        a.hear(0, &ranges);
        assert_eq!(a.end.stats().lost / size, lost, "{size}: {ranges:?}");
        a.hear(0, &ranges);
        assert_eq!(a.end.stats().lost / size, lost, "{size}: nothing is lost twice");
    }
}

#[test]
fn three_duplicates_with_news_condemn_the_first_segment_however_short() {
    // RFC 6675, section 5, step 2: `DupAcks`, which progress sets back.
    let ranges = |from, to| [(from, to)];
    let mut a = small(Stack::Ns2);
    let mut hear = |ack, from, to| {
        a.hear(ack, &ranges(from, to));
        a.end.stats().recoveries
    };
    assert_eq!([hear(0, 200, 300), hear(0, 200, 400)], [0, 0]);
    assert_eq!(hear(100, 200, 400), 0);
    assert_eq!([hear(100, 200, 500), hear(100, 200, 500), hear(100, 200, 600)], [0, 0, 0], "one without news");
    assert_eq!(hear(100, 200, 700), 1);
}

#[test]
fn what_a_range_delivers_counts_once_and_only_if_it_was_sent() {
    // RFC 2018, and RFC 2883: the first range of a report of a duplicate is none. Delivered so far, of ten segments.
    let mut a = Alone::new(stack(Stack::Ns2), 10);
    let dsack = Flags::ACK.with(Flags::DSACK);
    for (ack, flags, ranges, delivered) in [
        (0, Flags::ACK, &[(1000, 2000)][..], 1),
        (0, Flags::ACK, &[(1000, 2000)], 1),
        (0, Flags::ACK, &[(9000, 12_000)], 1), // beyond what was sent
        (0, dsack, &[(8000, 9000)], 1),
        (0, dsack, &[(1000, 2000), (3000, 4000), (1000, 2000)], 2),
        (0, Flags::ACK, &[(6000, 7000), (3000, 4000), (1000, 2000)], 3),
        (0, Flags::ACK, &[(5000, 8000), (3000, 4000), (1000, 2000)], 5), // it grew at both ends
        (0, Flags::ACK, &[(3000, 8000), (1000, 2000)], 6),
        (2000, Flags::ACK, &[(3000, 8000), (1000, 2000)], 7), // the last is old
        (8000, Flags::ACK, &[], 8),
    ] {
        a.hear_with(ack, ranges, flags);
        assert_eq!(a.end.flow().delivered, Bytes::new(delivered * MSS), "{ack} {ranges:?}");
    }
    assert_eq!(a.end.stats().duplicates_reported, 2);
}

#[test]
fn an_ack_is_a_duplicate_if_it_brings_nothing_and_moves_nothing_while_something_is_out() {
    // RFC 5681, section 2. (ACK, payload, window's right edge, duplicate)
    let mut a = Alone::new(with_loss(LossDetection::NewReno), 2);
    a.end.truncate(a.now);
    let edge = 65 << 20;
    let mut seq = 1;
    for (ack, len, edge, expected) in [
        (0, 0, edge, false), // the edge moved
        (0, 0, edge, true),
        (0, 0, edge - 1000, true), // back it does not go
        (0, 100, edge, false),
        (0, 0, edge + 1000, false),
        (1000, 0, edge + 1000, false),
        (1000, 0, edge + 1000, true),
        (0, 0, edge + 1000, false),    // old
        (5000, 0, edge + 1000, false), // of what was never sent
        (2000, 0, edge + 1000, false),
        (2000, 0, edge + 1000, false), // nothing is out
    ] {
        let before = a.end.stats().duplicate_acks;
        let window = (edge - ack) as u32;
        let s = Segment { seq, ack: 1 + ack, len, window, flags: Flags::ACK, ..Segment::default() };
        seq += u64::from(len);
        a.end.on_segment(a.now, &s);
        a.leaving();
        assert_eq!(a.end.stats().duplicate_acks > before, expected, "{ack} {len} {edge}");
    }
}

#[test]
fn a_reduction_goes_no_lower_than_the_floor_and_tells_what_was_lost_and_in_flight() {
    for of in [Stack::Linux, Stack::Ns2, Stack::FreeBsd11] {
        for (floor, threshold) in [(1000, 5000), (7000, 7000)] {
            let mut a = Alone::new(Config { loss: LossDetection::Sack, ..stack(of) }, 10);
            a.end.flow_mut().cwnd = Bytes::new(10 * MSS);
            a.end.flow_mut().floor = Bytes::new(floor);
            a.three(0, 7000);
            let told = a.end.flow_mut().drain_events().find(|e| e.cause() == Some(CauseKind::LossBackoff)).unwrap();
            // Limited transmit sent one or two beyond the ten, of which three arrived.
            let sent = a.end.sender.nxt - 1;
            let lost = if of == Stack::FreeBsd11 { 1 } else { 7 };
            assert_eq!(told.values[..2], [lost * 1000, sent as i64 - 3000 - lost * 1000], "{of:?}");
            assert_eq!(a.end.flow().ssthresh, Bytes::new(threshold), "{of:?}, {floor}");
        }
    }
}

#[test]
fn what_was_lost_beyond_a_recovery_begins_the_next_as_it_ends() {
    // RFC 6675, section 5.1: the loss of what was new is another congestion.
    let mut a = Alone::new(stack(Stack::Ns2), 10);
    a.hear(0, &[(1000, 4000)]);
    a.end.flow_mut().cwnd = Bytes::new(20 * MSS);
    a.hear(0, &[(1000, 10_000)]);
    a.hear(0, &[(11_000, 15_000), (1000, 10_000)]);
    assert_eq!((a.end.stats().recoveries, a.end.stats().lost), (1, 2 * MSS));
    a.hear(10_000, &[(11_000, 15_000)]);
    assert_eq!((a.phase(), a.end.stats().recoveries), (Phase::Recovery, 2));
}

#[test]
fn a_timeout_begins_the_count_of_duplicates_anew_and_is_over_with_what_was_out_then() {
    for of in [Stack::Ns2, Stack::FreeBsd11] {
        let mut a = Alone::new(stack(of), 10);
        [2, 3].iter().for_each(|to| _ = a.hear(0, &[(1000, to * 1000)]));
        let out = a.end.sender.nxt - 1;
        while a.end.stats().timeouts == 0 {
            a.ring();
        }
        a.hear(0, &[(1000, 4000)]);
        assert_eq!((a.phase(), a.end.stats().recoveries), (Phase::Loss, 0), "{of:?}: one");
        a.end.flow_mut().cwnd = Bytes::new(30 * MSS);
        for (ack, phase) in [(4000, Phase::Loss), (out - 1000, Phase::Loss), (out, Phase::Open)] {
            a.hear(ack, &[]);
            assert_eq!(a.phase(), phase, "{of:?}, {ack} of {out}");
            assert!(a.end.sender.nxt > out + 1, "new data follows");
        }
    }
}

/// Ten segments without selective acknowledgements, and so many duplicates.
fn duplicates(loss: LossDetection, count: usize) -> (Alone, Vec<Left>) {
    let mut a = Alone::new(Config { undo: false, ..with_loss(loss) }, 10);
    let left = (0..count).map(|_| a.hear(0, &[])).collect();
    (a, left)
}

#[test]
fn without_ranges_every_duplicate_stands_for_a_segment_that_left_the_network() {
    // RFC 5681, section 3.2, and RFC 3042: of twelve out the eighth duplicate leaves five, the window, less one.
    let new = |n: u64| [(n * MSS, 1000)].to_vec();
    let none = Left::new;
    for (loss, expected) in [
        (LossDetection::NewReno, [new(10), new(11), new(0), none(), none(), none(), none(), new(12), new(13)]),
        (LossDetection::Reno, [new(10), new(11), new(0), none(), none(), none(), none(), new(12), new(13)]),
        (LossDetection::Tahoe, [none(), none(), new(0), none(), none(), none(), none(), none(), none()]),
    ] {
        assert_eq!(duplicates(loss, 9).1, expected, "{loss:?}");
    }
}

#[test]
fn a_partial_ack_of_newreno_sends_the_next_hole_and_takes_back_what_it_acknowledges_but_one_segment() {
    // RFC 6582, section 3.2, step 3: 14,000 were sent, and the inflated window is fourteen.
    for (acked, left) in [
        (1000, &[(1000, 1000), (14_000, 1000)][..]),
        (3000, &[(3000, 1000), (14_000, 1000)]),
        (9000, &[(9000, 1000), (14_000, 1000)]),
    ] {
        let (mut a, _) = duplicates(LossDetection::NewReno, 9);
        assert_eq!(a.hear(acked, &[]), left, "{acked}");
        assert_eq!(a.phase(), Phase::Recovery);
    }
    let (mut a, _) = duplicates(LossDetection::Reno, 9);
    a.hear(1000, &[]);
    assert_eq!((a.phase(), a.end.flow().cwnd), (Phase::Open, Bytes::new(5 * MSS)), "the first new ACK ends Reno's");
}

#[test]
fn newreno_leaves_a_recovery_without_a_burst() {
    // RFC 6582, section 3.2, step 3, option 1. (duplicates, ACK, what is out then and window in segments)
    for (count, ack, out, window) in [(9, 14, 0, 2), (9, 13, 1, 2), (9, 12, 2, 3), (10, 12, 3, 4), (13, 12, 6, 5)] {
        let (mut a, _) = duplicates(LossDetection::NewReno, count);
        assert_eq!((a.end.sender.nxt - 1) / MSS - ack, out, "{count}");
        let left = a.hear(ack * MSS, &[]).len() as u64;
        let seen = (a.phase(), a.end.flow().cwnd / MSS, left);
        assert_eq!(seen, (Phase::Open, Bytes::new(window), window.saturating_sub(out)), "{count}, {ack}");
    }
}

#[test]
fn duplicates_up_to_where_a_recovery_ended_begin_no_other_but_reno_s() {
    // RFC 6582, section 3.2, step 1: they may be of what that recovery sent again. It ends at 12,000.
    for (loss, ack, recoveries) in [
        (LossDetection::NewReno, 12_000, 1),
        (LossDetection::NewReno, 13_000, 2),
        (LossDetection::Reno, 12_000, 2),
        (LossDetection::Reno, 13_000, 2),
    ] {
        let (mut a, _) = duplicates(loss, 13);
        for _ in 0..4 {
            a.hear(ack, &[]);
        }
        assert_eq!(a.end.stats().recoveries, recoveries, "{loss:?}, {ack}");
    }
}

#[test]
fn freebsd_leaves_a_recovery_with_the_threshold_or_what_is_out_and_a_segment_with_its_options() {
    // `cc_post_recovery` of NewReno: 7000 are out. (threshold, window)
    for (threshold, window) in [(6999, 6999), (7000, 7000), (7001, 8012), (20_000, 8012)] {
        let mut a = Alone::new(stack(Stack::FreeBsd11), 12);
        a.three(0, 1000);
        a.threshold(30 * MSS);
        (5..=12).for_each(|n| _ = a.hear(0, &[(1000, n * MSS)]));
        assert_eq!(a.end.sender.nxt, 20 * MSS + 1);
        a.threshold(threshold);
        a.hear(13_000, &[]);
        assert_eq!((a.phase(), a.end.flow().cwnd), (Phase::Open, Bytes::new(window)), "{threshold}");
    }
}

#[test]
fn a_reduction_for_a_mark_ends_with_the_first_segment_that_told_of_it() {
    // RFC 3168, section 6.1.2: ten were out; the eleventh carries CWR. Or with everything acknowledged, but on Linux.
    for of in [Stack::Linux, Stack::Ns2, Stack::FreeBsd11] {
        let config = Config { ecn: true, loss: LossDetection::Sack, ..stack(of) };
        let mut a = Alone::new(config.clone(), 10);
        assert_eq!(a.hear_with(1000, &[], ECHO), []);
        for (ack, phase) in [(7000, Phase::Reduced), (10_000, Phase::Reduced), (11_000, Phase::Open)] {
            a.hear(ack, &[]);
            assert_eq!(a.phase(), phase, "{of:?}, {ack}");
        }
        let mut a = Alone::with(config, 10, Box::new(Plain { fixed: true }), 10 * MSS);
        a.hear_with(1000, &[], ECHO);
        a.hear(10_000, &[]);
        assert_eq!(a.phase(), if of == Stack::Linux { Phase::Reduced } else { Phase::Open }, "{of:?}");
    }
}

#[test]
fn what_is_lost_goes_again_where_there_is_room_for_all_of_it() {
    // RFC 6675, section 5, step C. Four are lost, of which the first went at once. (room beside the pipe, segments that leave)
    for of in [Stack::Linux, Stack::Ns2] {
        for (room, segments) in [(999, 0), (1000, 1), (1999, 1), (2000, 2)] {
            let config = Config { loss: LossDetection::Sack, ..stack(of) };
            let mut a = Alone::with(config, 12, Box::new(Plain { fixed: true }), 12 * MSS);
            assert_eq!(a.three(0, 4000)[2], [(0, 1000)]);
            a.end.flow_mut().cwnd = Bytes::new(a.end.sender.pipe() + room);
            let expected: Vec<_> = (1..=segments).map(|n| (n * MSS, 1000)).collect();
            assert_eq!(a.hear(0, &[(4000, 7000)]), expected, "{of:?}, {room}");
        }
    }
}

/// Keeps what it is told of ACKs.
#[derive(Debug)]
struct Acks(Arc<Mutex<Vec<Ack>>>);

impl CongestionControl for Acks {
    fn on_ack(&mut self, _: &mut Flow, ack: &Ack) {
        self.0.lock().unwrap().push(ack.clone());
    }
    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd / 2)
    }
}

#[test]
fn the_algorithm_hears_of_duplicates_that_deliver_nothing_and_of_losses_that_they_or_others_show() {
    // Linux' `tcp_ack` ends with `tcp_cong_control` and what was lost; FreeBSD's `cc_ack_received` with CC_DUPACK, which a moved
    // window is none.
    for of in [Stack::Linux, Stack::FreeBsd11] {
        let told = Arc::default();
        let config = Config { loss: LossDetection::NewReno, ..stack(of) };
        let mut a = Alone::with(config, 10, Box::new(Acks(Arc::clone(&told))), 10 * MSS);
        for (edge, told_of) in [(64 << 20, 1), (65 << 20, 1), (65 << 20, 2)] {
            a.end.on_segment(a.now, &Segment { seq: 1, ack: 1, window: edge, flags: Flags::ACK, ..Segment::default() });
            assert_eq!(told.lock().unwrap().len(), told_of, "{of:?}");
        }
        assert!(told.lock().unwrap().iter().all(|ack| ack.duplicate && ack.delivered.is_zero()));
    }
    // RACK waits for what may be late, until a window moves.
    let told = Arc::default();
    let mut a = Alone::with(linux(), 10, Box::new(Acks(Arc::clone(&told))), 10 * MSS);
    a.now += MS(39);
    a.hear(1000, &[]);
    a.hear(1000, &[(2000, 3000)]);
    assert_eq!((a.end.stats().lost, told.lock().unwrap().len()), (0, 2));
    a.now += MS(40);
    a.end.on_segment(a.now, &Segment { seq: 1, ack: 1001, window: 65 << 20, flags: Flags::ACK, ..Segment::default() });
    let told = told.lock().unwrap();
    assert_eq!((a.end.stats().lost, told.last().unwrap().newly_lost, told.len()), (MSS, Bytes::new(MSS), 3));
}
