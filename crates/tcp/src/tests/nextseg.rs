//! What goes again without being thought lost (RFC 6675, `NextSeg`, rules 3 and 4), segment by segment.

use super::alone::{Alone, Left};
use super::*;
use crate::pair::Plain;
use alloc::boxed::Box;
use alloc::vec::Vec;
use cc::Phase;
use units::Bytes;

/// Ten segments, of which 0 is lost and 1 to 3 arrived; that is known, 0 is sent again, and there is room for more. So many bytes
/// are written beyond the ten, and the peer's window ends so far beyond them.
fn repairing(unsent: u64, room: u64) -> Alone {
    let config = Config { receive_window: Bytes::new(10 * MSS + room), ..stack(Stack::Ns2) };
    let mut a = Alone::with(config, 10, Box::new(Plain { fixed: true }), 10 * MSS);
    assert_eq!(hear(&mut a, 0, &[(1, 4)], room), [(0, 1000)]);
    assert_eq!(a.phase(), Phase::Recovery);
    a.end.flow_mut().cwnd = Bytes::new(30 * MSS);
    a.end.write(a.now, unsent);
    a
}

/// An ACK with ranges, all in segments, and the peer's window, which never goes beyond the ten and `room`.
fn hear(a: &mut Alone, ack: u64, ranges: &[(u64, u64)], room: u64) -> Left {
    let ranges: Vec<_> = ranges.iter().map(|(from, to)| (from * MSS, to * MSS)).collect();
    hear_to(a, ack * MSS, &ranges, 10 * MSS + room)
}

/// The same in bytes, and where the peer's window ends.
fn hear_to(a: &mut Alone, ack: u64, ranges: &[(u64, u64)], edge: u64) -> Left {
    a.now += MS(1);
    let mut s = Segment { seq: 1, ack: 1 + ack, window: (edge - ack) as u32, flags: Flags::ACK, ..Segment::default() };
    for (block, (from, to)) in s.sack.blocks.iter_mut().zip(ranges) {
        *block = ((from - ack) as i32, (to - from) as u32);
    }
    a.end.on_segment(a.now, &s);
    a.leaving()
}

/// Whole segments by number.
fn segments(left: &Left) -> Vec<u64> {
    left.iter().map(|l| l.0 / MSS).collect()
}

#[test]
fn holes_go_again_though_not_thought_lost_and_then_once_the_last_segment() {
    // (ranges beside that of 1 to 3; what leaves). Two segments' worth above a hole is not enough to lose it.
    for (ranges, again) in [
        (&[][..], &[9][..]), // what follows the highest range is no hole
        (&[(5, 6)], &[4, 9]),
        (&[(5, 7)], &[4, 9]),
        (&[(6, 7)], &[4, 5, 9]),
        (&[(5, 6), (7, 8)], &[4, 6, 9]),
        (&[(9, 10)], &[4, 5, 6, 7, 8]), // the last arrived; of what is left the last goes already
        (&[(4, 10)], &[]),              // what was sent again is no more to be had
        (&[(4, 9)], &[9]),
    ] {
        let mut a = repairing(0, 20 * MSS);
        let ranges: Vec<_> = [(1, 4)].iter().chain(ranges).copied().collect();
        assert_eq!(segments(&hear(&mut a, 0, &ranges, 20 * MSS)), again, "{ranges:?}");
        assert_eq!(a.end.stats().lost, MSS, "{ranges:?}");
        assert_eq!(a.end.sender.board.recount(), a.end.sender.board.sums());
        assert_eq!(segments(&hear(&mut a, 0, &ranges, 20 * MSS)), [], "{ranges:?}: once each");
    }
}

#[test]
fn new_data_comes_first_if_the_peer_takes_it() {
    // (written beyond the ten, what of it the peer's window takes, what leaves). Nothing from beyond where the recovery ends goes
    // again: what is lost of that is another congestion.
    let new = |from, len| (from, len);
    for (unsent, room, leaves) in [
        (0, 0, &[][..]),
        (1000, 1000, &[new(10_000, 1000)]),
        (1000, 999, &[]),
        (500, 500, &[new(10_000, 500)]),
        (500, 499, &[]),
        (3000, 2000, &[new(10_000, 1000), new(11_000, 1000)]),
    ] {
        let mut a = repairing(unsent, room);
        let expected = [leaves, &[(4000, 1000), (9000, 1000)]].concat();
        assert_eq!(hear(&mut a, 0, &[(5, 6), (1, 4)], room), expected, "{unsent}, {room}");
    }
}

#[test]
fn new_data_that_waits_for_the_window_lets_nothing_go_again_instead() {
    // Ten segments of 100 bytes, and room for four more in the window. (written beyond them, what of it the peer's window takes)
    for (unsent, room, leaves) in [
        (0, 0, &[(400, 100), (900, 100)][..]),
        (1000, 1000, &[]),
        (1000, 999, &[(400, 100), (900, 100)]),
        (2000, 1000, &[]),
        (500, 500, &[]),
        (500, 499, &[(400, 100), (900, 100)]),
    ] {
        let config = Config { receive_window: Bytes::new(1000 + room), ..stack(Stack::Ns2) };
        let mut a = Alone::with(config, 1, Box::new(Plain { fixed: true }), 100);
        a.end.flow_mut().cwnd = Bytes::new(20 * MSS);
        (1..10).for_each(|_| {
            a.end.write(a.now, 100);
            assert_eq!(a.leaving().len(), 1);
        });
        (a.end.flow_mut().cwnd, a.end.flow_mut().floor) = (Bytes::new(1000), Bytes::new(1));
        [200, 300, 400].iter().for_each(|to| _ = hear_to(&mut a, 0, &[(100, *to)], 1000 + room));
        assert_eq!(a.phase(), Phase::Recovery);
        a.end.flow_mut().cwnd = Bytes::new(1000);
        a.end.write(a.now, unsent);
        assert_eq!(hear_to(&mut a, 0, &[(500, 600), (100, 400)], 1000 + room), leaves, "{unsent}, {room}");
    }
}

#[test]
fn what_goes_again_so_needs_room_in_the_window() {
    // Of 4 to 9 all but 5 are in flight, and 0 again. (window, what leaves)
    for (window, again) in [(6999, &[][..]), (7000, &[4]), (7999, &[4]), (8000, &[4, 9]), (9000, &[4, 9])] {
        let mut a = repairing(0, 0);
        a.end.flow_mut().cwnd = Bytes::new(window);
        assert_eq!(segments(&hear(&mut a, 0, &[(5, 6), (1, 4)], 0)), again, "{window}");
    }
}

#[test]
fn the_last_segment_goes_again_once_in_every_recovery_and_in_recoveries_only() {
    let mut a = repairing(0, 20 * MSS);
    assert_eq!(segments(&hear(&mut a, 0, &[(1, 4)], 20 * MSS)), [9]);
    assert_eq!(hear(&mut a, 10, &[], 20 * MSS), []);
    // Ten more, of which the first is lost.
    a.end.flow_mut().cwnd = Bytes::new(30 * MSS);
    a.end.write(a.now, 10 * MSS);
    assert_eq!(a.leaving().len(), 10);
    assert_eq!(hear(&mut a, 10, &[(12, 13)], 20 * MSS), [], "not before a recovery begins");
    assert_eq!(segments(&hear(&mut a, 10, &[(11, 14)], 20 * MSS)), [10, 19]);
    assert_eq!(a.end.stats().recoveries, 2);
}

#[test]
fn a_hole_that_a_fin_ends_goes_again_with_it() {
    let mut a = Alone::with(stack(Stack::Ns2), 9, Box::new(Plain { fixed: true }), 9 * MSS);
    a.end.close(a.now);
    a.end.flow_mut().cwnd = Bytes::new(30 * MSS);
    assert_eq!(a.leaving(), [(9000, 0)], "a FIN alone");
    assert_eq!(a.hear(0, &[(1000, 4000)]), [(0, 1000), (9000, 0)]);
}
