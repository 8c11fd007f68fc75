//! The scoreboard against what its records say, and what ACKs make of them.

use super::{AT, MS, MSS};
use crate::scoreboard::{Delivery, EVER, KNOWN, LOST, RESENT, Record, SACKED, Scoreboard, Turn};
use alloc::vec::Vec;
use units::{Instant, Rng};

/// Segments of so many bytes, 10 ms apart from 10 ms on.
fn board(lens: &[u32]) -> Scoreboard {
    let mut b = Scoreboard::new();
    let (mut seq, mut at) = (0, Instant::ZERO);
    for len in lens {
        at += MS(10);
        b.push(seq, *len, 0, at);
        seq += u64::from(*len);
    }
    b
}

fn records(b: &Scoreboard) -> Vec<(u64, Record)> {
    (b.ring.first()..b.ring.next()).map(|id| (id, *b.ring.get(id))).collect()
}

#[test]
fn whatever_happens_the_sums_are_those_of_the_records_and_every_byte_is_delivered_once() {
    for seed in 0..40 {
        let mut dice = Rng::new(seed, 0, 0);
        let mut b = Scoreboard::new();
        let (mut nxt, mut una, mut delivered) = (0, 0, 0);
        for step in 0..400u64 {
            let all = records(&b);
            let any = (!all.is_empty()).then(|| all[dice.below(all.len() as u64) as usize]);
            let lowest =
                |b: &Scoreboard| records(b).iter().find(|(_, r)| r.is(LOST) && !r.is(RESENT)).map(|(id, _)| *id);
            let mut d = Delivery::new(b.sacked_to);
            let mut seen = 0;
            match (dice.below(12), any) {
                (0..4, _) | (_, None) => {
                    let len = if dice.below(3) > 0 { 1000 } else { 1 + dice.below(2000) };
                    b.push(nxt, len as u32, 0, AT(step));
                    nxt += len;
                }
                (4, Some((id, r))) => {
                    let changes = !r.is(SACKED) && (!r.is(LOST) || r.is(RESENT));
                    assert_eq!(b.mark_lost(id), if changes { u64::from(r.len) } else { 0 });
                }
                (5, Some((id, r))) if !r.is(SACKED) => assert_eq!(b.resend(id, AT(step)).seq, r.seq),
                (6, Some(_)) => _ = b.next_lost().map(|id| b.resend(id, AT(step))),
                (7 | 8, Some((id, r))) => {
                    let last = *b.ring.get(id + dice.below(b.ring.next() - id));
                    b.sack(r.seq, last.end(), &mut d, |_, r| seen += u64::from(r.len));
                }
                (9, Some((_, r))) if dice.below(2) > 0 => {
                    una = r.end();
                    b.acknowledge(una, &mut d, |_| false, |_, r| seen += u64::from(r.len));
                }
                (10, _) => match dice.below(8) {
                    0 => b.forget_sacks(),
                    1 => b.unmark_lost(),
                    2 => b.forget_losses(),
                    _ => {}
                },
                _ => {}
            }
            delivered += d.bytes;
            assert_eq!((b.recount(), seen), (b.sums(), d.bytes), "{seed}, {step}");
            let next = lowest(&b);
            assert_eq!(b.next_lost(), next, "{seed}, {step}");
            let all = records(&b);
            let beyond = all.iter().filter(|(_, r)| r.is(SACKED | KNOWN)).map(|(_, r)| u64::from(r.len)).sum::<u64>();
            assert_eq!(delivered, una + beyond, "{seed}, {step}");
            if let Some((_, r)) = all.iter().rev().find(|(_, r)| r.is(SACKED)) {
                assert_eq!(b.sacked_to, r.end(), "{seed}, {step}");
            }
            let from = dice.below(nxt + 2);
            let place = all.iter().find(|(_, r)| r.seq >= from).map_or(b.ring.next(), |(id, _)| *id);
            assert_eq!(b.find(from), place, "{seed}, {step}");
        }
    }
}

#[test]
fn a_range_takes_in_whole_segments_only() {
    for (from, to, sacked) in [(1000, 3000, 0b0110), (1000, 2999, 0b0010), (999, 2000, 0b0010), (1001, 3000, 0b0100)] {
        let mut b = board(&[1000; 4]);
        b.sack(from, to, &mut Delivery::new(0), |_, _| ());
        let flags = records(&b).iter().map(|(id, r)| u64::from(r.is(SACKED)) << id).sum::<u64>();
        assert_eq!(flags, sacked, "{from} to {to}");
    }
}

#[test]
fn of_two_at_a_time_the_later_is_after_the_earlier_and_the_count_goes_round() {
    let turn = |at, order| Turn { at: AT(at), order };
    for (one, other, after) in [
        (turn(2, 1), turn(1, 9), true),
        (turn(1, 9), turn(2, 1), false),
        (turn(1, 2), turn(1, 1), true),
        (turn(1, 1), turn(1, 1), false),
        (turn(1, 1), turn(1, 2), false),
        (turn(1, 0), turn(1, u16::MAX), true),
        (turn(1, u16::MAX), turn(1, 0), false),
    ] {
        assert_eq!(one.is_after(other), after, "{one:?} {other:?}");
    }
    // Sent again counts, too.
    let mut b = board(&[1000; 2]);
    b.mark_lost(0);
    b.resend(0, AT(20));
    assert!(b.ring.get(0).turn().is_after(b.ring.get(1).turn()));
}

/// Five segments of 1000, sent 10 ms apart; these are lost and sent again at 60 ms. Then ranges arrive, in this order, and an ACK.
fn told(again: &[u64], known_to: u64, ranges: &[(u64, u64)], ack: u64) -> Delivery {
    let mut b = board(&[1000; 5]);
    for id in again {
        b.mark_lost(*id);
        b.resend(*id, AT(60));
    }
    let mut d = Delivery::new(known_to);
    ranges.iter().for_each(|(from, to)| b.sack(from * MSS, to * MSS, &mut d, |_, _| ()));
    b.acknowledge(ack * MSS, &mut d, |_| false, |_, _| ());
    d
}

#[test]
fn what_an_ack_delivers_tells_of_the_first_and_last_that_left_and_of_what_left_twice() {
    // (sent again, ranges, ACK; segments; oldest and youngest never sent again, lowest end of these; newest, last, fit for an RTT)
    type Ranges<'a> = &'a [(u64, u64)];
    type Row<'a> = (&'a [u64], Ranges<'a>, u64, u64, (u64, u64, u64), (u64, bool), (u64, bool), bool);
    let rows: [Row<'_>; 10] = [
        (&[], &[], 1, 1, (10, 10, 1), (10, false), (10, false), true),
        (&[], &[], 3, 3, (10, 30, 1), (30, false), (30, false), true),
        (&[], &[(2, 3)], 0, 1, (30, 30, 3), (30, false), (30, false), true),
        (&[], &[(4, 5), (2, 3)], 0, 2, (30, 50, 3), (50, false), (30, false), true),
        (&[], &[(4, 5)], 1, 2, (10, 50, 1), (50, false), (10, false), true),
        (&[1], &[], 1, 1, (10, 10, 1), (10, false), (10, false), true),
        (&[1], &[], 2, 2, (10, 10, 1), (60, true), (60, true), false),
        (&[1], &[], 3, 3, (10, 30, 1), (60, true), (30, false), false),
        (&[0], &[], 2, 2, (20, 20, 2), (60, true), (20, false), false),
        (&[0], &[(3, 4)], 1, 2, (40, 40, 4), (60, true), (60, true), false),
    ];
    for (again, ranges, ack, segments, (oldest, youngest, end), newest, last, clean) in rows {
        let d = told(again, 0, ranges, ack);
        let what = (again, ranges, ack);
        assert_eq!(d.bytes, segments * MSS, "{what:?}");
        assert_eq!((d.oldest, d.youngest.at, d.original_end), (AT(oldest), AT(youngest), end * MSS), "{what:?}");
        assert_eq!((d.newest.at, d.newest_again), (AT(newest.0), newest.1), "{what:?}");
        assert_eq!((d.last.at, d.last_again), (AT(last.0), last.1), "{what:?}");
        assert_eq!((d.is_clean(), d.news), (clean, !ranges.is_empty()), "{what:?}");
    }
    let only_again = told(&[0], 0, &[], 1);
    assert_eq!((only_again.oldest, only_again.original_end, only_again.is_clean()), (Instant::MAX, u64::MAX, false));
}

#[test]
fn an_original_below_what_was_known_is_late_by_the_difference_and_the_most_counts() {
    for (again, known_to, ranges, ack, late) in [
        (&[][..], 0, &[(2, 3)][..], 0, 0),
        (&[], 4000, &[(2, 3)], 0, 2000),
        (&[], 4000, &[(2, 3), (1, 2)], 0, 3000),
        (&[], 4000, &[(1, 2), (2, 3)], 0, 3000),
        (&[], 4000, &[], 2, 4000),
        (&[0], 4000, &[], 1, 0), // sent again it proves nothing
        (&[], 2000, &[(2, 3)], 0, 0),
    ] {
        assert_eq!(told(again, known_to, ranges, ack).late, late, "{again:?} {known_to} {ranges:?} {ack}");
    }
}

#[test]
fn what_was_received_before_a_timeout_is_news_to_the_scoreboard_and_no_delivery() {
    let mut b = board(&[1000; 5]);
    b.sack(2000, 3000, &mut Delivery::new(0), |_, _| ());
    b.forget_sacks();
    assert_eq!((b.sacked_to, b.ring.get(2).flags), (0, EVER | KNOWN));
    let mut d = Delivery::new(0);
    b.sack(2000, 3000, &mut d, |_, _| panic!("known"));
    assert_eq!((d.news, d.bytes, d.late), (true, 0, 0));
    b.forget_sacks();
    let mut d = Delivery::new(0);
    b.acknowledge(3000, &mut d, |_| false, |_, _| ());
    assert_eq!((d.bytes, d.ambiguous, d.original_end), (2 * MSS, true, MSS));
}

#[test]
fn what_is_found_again_is_to_be_judged_anew() {
    for anew in [false, true] {
        let mut b = board(&[1000; 5]);
        b.acknowledge(1000, &mut Delivery::new(0), |_| false, |_, _| ());
        (1..4).for_each(|id| _ = b.mark_lost(id));
        b.resend(1, AT(60));
        b.resent_order.push_back((1, b.ring.get(1).turn()));
        b.judged = 5;
        if anew {
            b.forget_losses()
        } else {
            b.unmark_lost()
        };
        let left = if anew { 0 } else { 1000 };
        assert_eq!((b.judged, b.sums()), (1, [4000 + left, 0, 0, 0, left, 0]));
        assert_eq!(b.resent_order.is_empty(), anew);
        assert_eq!(b.next_lost(), None);
        b.mark_lost(2);
        assert_eq!(b.next_lost(), Some(2));
    }
}
