//! FreeBSD 11's repairs and timeouts: what they leave, and what takes them back.

use super::*;
use crate::DelayedAck;
use crate::pair::{Pair, Plain};
use cc::{CauseKind, Phase};
use std::boxed::Box;
use std::vec::Vec;
use units::{Bytes, Rng};

/// 40 packets a flight and 5 ms for each, so that 200 ms of RTT are mostly queue; segments with these numbers are lost, a
/// number given twice the repair too. `written` segments are sent.
fn queueing(of: Stack, lost: &[u64], written: u64) -> Pair<'static> {
    let mut p = Pair::new(Config { undo: false, delayed_ack: DelayedAck::None, ..stack(of) }, losing(lost));
    p.service = MS(5);
    p.ends[0].flow_mut().cwnd = Bytes::new(40 * (MSS + 12));
    p.ends[0].flow_mut().ssthresh = Bytes::new(20 * (MSS + 12));
    p.ends[0].write(p.now, written * MSS);
    p
}

/// Runs until `done`, by steps of a millisecond.
fn until(p: &mut Pair<'_>, done: impl Fn(&Pair<'_>) -> bool) {
    while !done(p) {
        p.run(p.now.since(Instant::ZERO) + MS(1));
    }
}

#[test]
fn an_ack_within_half_an_rtt_takes_a_timeout_back() {
    // The last two of 200 segments are lost. The queue has drained when the timeout sends one again, and its answer comes
    // a base RTT and a service time later: within half a smoothed RTT.
    for (of, restored) in [(Stack::FreeBsd11, true), (Stack::Ns2, false)] {
        let mut p = queueing(of, &[199, 200], 200);
        until(&mut p, |p| p.now > AT(1000) && p.ends[0].sender.flow.acked_to > 190 * MSS);
        let before = (p.cwnd(), p.ends[0].flow().ssthresh);
        until(&mut p, |p| p.ends[0].stats().timeouts == 1);
        assert_eq!(p.cwnd(), Bytes::new(p.ends[0].sender.mss), "{of:?}");
        let una = p.ends[0].sender.flow.acked_to;
        until(&mut p, |p| p.ends[0].sender.flow.acked_to > una);
        let f = p.ends[0].flow();
        assert_eq!((f.cwnd >= before.0, f.ssthresh == before.1), (restored, restored), "{of:?}: {before:?}, {f:?}");
        assert_eq!((f.phase == Phase::Open, p.ends[0].stats().undos), (restored, u64::from(restored)), "{of:?}");
        let told = p.ends[0].flow_mut().drain_events().any(|e| e.cause() == Some(CauseKind::Undo) && e.values[0] == 4);
        assert_eq!(told, restored, "{of:?}");
        // What was lost still is repaired.
        until(&mut p, |p| !p.ends[0].sender.is_outstanding());
    }
}

#[test]
fn a_second_timeout_in_a_row_stands() {
    // As above, but the repair is lost, too.
    let mut p = queueing(Stack::FreeBsd11, &[199, 199, 200], 200);
    until(&mut p, |p| p.ends[0].stats().timeouts == 2);
    let una = p.ends[0].sender.flow.acked_to;
    until(&mut p, |p| p.ends[0].sender.flow.acked_to > una);
    assert_eq!((p.ends[0].stats().undos, p.ends[0].flow().phase), (0, Phase::Loss));
}

#[test]
fn a_repair_that_a_timeout_interrupted_goes_on_where_the_timeout_is_taken_back() {
    // Three of a flight arrive, so that one is sent again, and it is lost.
    let mut lost: Vec<u64> = (200..238).collect();
    lost.push(200);
    let mut p = queueing(Stack::FreeBsd11, &lost, 240);
    until(&mut p, |p| p.ends[0].stats().timeouts == 1);
    let una = p.ends[0].sender.flow.acked_to;
    until(&mut p, |p| p.ends[0].sender.flow.acked_to > una);
    let left = p.ends[0].sender.recover - p.ends[0].sender.flow.acked_to;
    assert_eq!((p.ends[0].flow().phase, left / MSS), (Phase::Recovery, 40));
    until(&mut p, |p| !p.ends[0].sender.is_outstanding());
    assert_eq!((p.ends[0].stats().timeouts, p.ends[0].stats().recoveries), (1, 1));
}

#[test]
fn a_timeout_in_a_repair_leaves_half_of_the_repair_s_window() {
    // Twelve of 60 arrive, so that ten are sent again, which are lost.
    let lost: Vec<u64> = (1..49).chain(1..49).collect();
    let mut p = queueing(Stack::FreeBsd11, &lost, crate::ENDLESS / MSS);
    p.service = Duration::from_micros(500);
    p.ends[0].flow_mut().cwnd = Bytes::new(60 * (MSS + 12));
    p.ends[0].flow_mut().ssthresh = Bytes::new(60 * (MSS + 12));
    let mut window = 0;
    while p.ends[0].stats().timeouts == 0 {
        window = p.ends[0].sender.aside.own_window.window;
        p.run(p.now.since(Instant::ZERO) + MS(1));
    }
    assert!(window > 8 * MSS && window < 12 * MSS, "{window}");
    assert_eq!(p.ends[0].flow().ssthresh, Bytes::new(window / 2 / MSS * MSS));
}

#[test]
fn a_repair_may_leave_one_segment_where_the_algorithm_lets_it() {
    // The first of four is lost; the other three bring it back, and nothing is outstanding when it is acknowledged.
    for (floor, left) in [(2, 2), (1, 1)] {
        let mut p = queueing(Stack::FreeBsd11, &[1], 4);
        p.ends[0].flow_mut().floor = Bytes::new(floor * (MSS + 12));
        until(&mut p, |p| p.ends[0].stats().recoveries == 1);
        until(&mut p, |p| p.ends[0].flow().phase == Phase::Open);
        assert_eq!(p.cwnd(), Bytes::new(left * (MSS + 12)), "{floor}");
    }
}

#[test]
fn a_partial_ack_makes_room_for_segments_with_their_options_and_fills_it_to_the_byte_before_growth_and_after() {
    // The repair of 1 is acknowledged with what lies before the next hole, two segments or three. CDG then adds a segment
    // with its options, for a second output.
    for (cc, next, sizes) in [
        ("fixed", 3, &[1000, 12][..]),
        ("fixed", 4, &[1000, 1000, 24]),
        ("cdg(g=10000)", 3, &[1000, 12, 1000, 12]),
        ("cdg(g=10000)", 4, &[1000, 1000, 24, 1000, 12]),
    ] {
        let mut lost: Vec<u64> = (next..25).collect();
        lost.push(1);
        let config = Config { delayed_ack: DelayedAck::None, ..stack(Stack::FreeBsd11) };
        let build: &mut dyn FnMut(&mut cc::Flow) -> Box<dyn cc::CongestionControl> = &mut |f| match cc {
            "fixed" => Box::new(Plain { fixed: true }),
            spec => cc::build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap(),
        };
        let mut p = Pair::with(config.clone(), config, build, losing(&lost));
        p.ends[0].flow_mut().cwnd = Bytes::new(30 * (MSS + 12));
        p.ends[0].flow_mut().ssthresh = Bytes::new(30 * (MSS + 12));
        p.service = Duration::from_micros(100);
        p.ends[0].write(p.now, crate::ENDLESS);
        let mut before = 0;
        while p.ends[0].sender.flow.acked_to <= MSS {
            before = p.sent.len();
            p.run(p.now.since(Instant::ZERO) + Duration::from_micros(10));
        }
        let sent: Vec<u32> = p.sent[before..].iter().map(|(_, s)| s.len).collect();
        assert_eq!(sent, sizes, "{cc}, {next}");
    }
}

#[test]
fn limited_transmit_goes_on_while_a_mark_is_answered() {
    // Twenty a flight; 3 comes marked, and 8 is lost while the window of ten that this leaves is overdrawn. The second
    // duplicate lets a new segment go, before the third brings 8 back.
    let mut lose = losing(&[8]);
    let config = Config { delayed_ack: DelayedAck::None, ecn: true, ..stack(Stack::FreeBsd11) };
    let mut p = Pair::new(config, move |from, n, s| match lose(from, n, s) {
        Fate::Pass if from == 0 && number(s) == 3 => Fate::Mark,
        fate => fate,
    });
    p.ends[0].flow_mut().cwnd = Bytes::new(20 * (MSS + 12));
    p.ends[0].flow_mut().ssthresh = Bytes::new(20 * (MSS + 12));
    p.service = Duration::from_micros(100);
    p.ends[0].write(p.now, crate::ENDLESS);
    while p.ends[0].flow().phase != Phase::Reduced {
        p.run(p.now.since(Instant::ZERO) + Duration::from_micros(10));
    }
    let new = p.ends[0].sender.nxt / MSS;
    until(&mut p, |p| p.ends[0].stats().recoveries == 1);
    let sent: Vec<u64> = p.sent.iter().map(|(_, s)| number(s)).filter(|n| *n > 0).collect();
    let again = sent.iter().rposition(|n| *n == 8).unwrap();
    assert_eq!(sent[..again].iter().filter(|n| **n > new).count(), 1, "{new}: {sent:?}");
}

#[test]
fn three_duplicates_after_a_timeout_begin_a_recovery() {
    // All from 201 on is lost in a flight of 40, so a timeout brings it back in slow start; there 212 is lost again. FreeBSD's
    // duplicates count from then on, the others wait for one more timeout.
    for (of, timeouts, recoveries) in [(Stack::FreeBsd11, 1, 1), (Stack::Ns2, 2, 0)] {
        let lost: Vec<u64> = (201..241).chain([212]).collect();
        let mut p = queueing(of, &lost, 240);
        p.service = Duration::from_micros(100);
        until(&mut p, |p| p.ends[0].stats().timeouts == 1);
        until(&mut p, |p| !p.ends[0].sender.is_outstanding());
        let stats = p.ends[0].stats();
        assert_eq!((stats.timeouts, stats.recoveries), (timeouts, recoveries), "{of:?}");
    }
}

#[test]
fn duplicates_after_a_timeout_let_what_comes_next_go_and_a_recovery_takes_it_for_new() {
    let lost: Vec<u64> = (201..241).chain([212]).collect();
    let mut p = queueing(Stack::FreeBsd11, &lost, 240);
    p.service = Duration::from_micros(100);
    until(&mut p, |p| p.ends[0].stats().timeouts == 1);
    // (duplicates, sent on them): nothing new left, so the second stands for two (`snd_limited`); the third for the hole.
    let mut sent: Vec<(u32, Vec<u64>)> = Vec::new();
    while p.ends[0].sender.duplicates < 3 {
        let before = p.sent.len();
        p.run(p.now.since(Instant::ZERO) + Duration::from_micros(10));
        let sender = &p.ends[0].sender;
        let numbers: Vec<u64> = p.sent[before..].iter().map(|(_, s)| number(s)).collect();
        if sender.duplicates > 0 && !numbers.is_empty() {
            sent.push((sender.duplicates, numbers));
        }
    }
    assert_eq!(sent, [(1, [224].to_vec()), (2, [225, 226].to_vec()), (3, [212].to_vec())]);
    let own = p.ends[0].sender.aside.own_window;
    assert_eq!((own.from, own.window), (226 * MSS + 1, MSS));
    // What goes on from there is no repair.
    let before = p.sent.len();
    while p.sent.len() < before + 3 {
        p.run(p.now.since(Instant::ZERO) + Duration::from_micros(10));
    }
    assert!(p.sent[before..].iter().map(|(_, s)| number(s)).eq(227..230));
    assert_eq!(p.ends[0].sender.board.resent, MSS);
}

#[test]
fn what_congestion_avoidance_counted_after_a_timeout_outlives_that() {
    // The window is beyond the threshold before all that timed out is acknowledged; the last ACK adds its 2000 bytes.
    for (of, kept) in [(Stack::FreeBsd11, true), (Stack::Ns2, false)] {
        let reno = Box::new(Plain { fixed: false });
        let mut a = super::alone::Alone::with(stack(of), 20, reno, crate::ENDLESS);
        a.ring();
        a.end.flow_mut().ssthresh = Bytes::new(2 * MSS);
        (1..=20).for_each(|n| _ = a.hear(n * MSS, &[]));
        assert_eq!(a.phase(), Phase::Open, "{of:?}");
        assert_eq!(a.end.flow().credit() > Bytes::new(MSS), kept, "{of:?}: {:?}", a.end.flow().credit());
    }
}

#[test]
fn a_closed_window_and_a_sliver_wait_for_the_persist_timer() {
    // An answer after a second: four of its RTT, eight of its deviation of a half, and the slop; a callout is up to a sixteenth late.
    for closed in [true, false] {
        let config = Config { receive_window: Bytes::new(10 * MSS), ..stack(Stack::FreeBsd11) };
        let mut a = super::alone::Alone::new(config, 10);
        a.end.flow_mut().floor = Bytes::new(1);
        a.end.flow_mut().cwnd = Bytes::new(500);
        a.now += MS(1000);
        let window = if closed { 0 } else { 1 << 20 };
        let s = Segment { seq: 1, ack: 1 + 10 * MSS, window, flags: Flags::ACK, ..Segment::default() };
        a.end.on_segment(a.now, &s);
        assert_eq!(a.leaving(), []);
        let waits = |a: &super::alone::Alone| a.end.next_timer().since(a.now).as_millis_f64();
        assert!((8199.0..8200.0 * 17.0 / 16.0).contains(&waits(&a)), "{closed}: {}", waits(&a));
        let left = a.ring();
        assert_eq!(left.iter().map(|l| l.1).collect::<Vec<_>>(), [if closed { 0 } else { 500 }]);
        if closed {
            assert!((16_199.0..16_200.0 * 17.0 / 16.0).contains(&waits(&a)), "{}", waits(&a));
        }
    }
}

#[test]
fn a_range_that_finds_no_room_inside_a_hole_is_news_with_every_ack_and_one_beyond_all_is_none() {
    let mut a = super::alone::Alone::new(stack(Stack::FreeBsd11), 20);
    a.end.flow_mut().cwnd = Bytes::new(400 * MSS);
    a.hear(1000, &[]);
    // The hole below 10,000, and 127 of a segment each.
    (0..128).for_each(|n| _ = a.hear(1000, &[(10_000 + n * 2 * MSS, 11_000 + n * 2 * MSS)]));
    let mut counted = |range| {
        let before = a.end.sender.duplicates;
        a.hear(1000, &[range]);
        a.end.sender.duplicates - before
    };
    assert_eq!(
        [(4000, 5000), (4000, 5000), (350_000, 351_000), (9000, 10_000), (9000, 10_000)].map(&mut counted),
        [1, 1, 0, 1, 0]
    );
    assert_eq!(a.end.sender.board.sacked, 129 * MSS);
}

#[test]
fn a_range_within_a_segment_counts_and_leaves_a_hole_of_the_rest() {
    // `tcp_sack_doack` knows bytes. Where rates are sampled, segments stay whole.
    let plain = stack(Stack::FreeBsd11);
    let sampled = Config { rate_samples: true, ..plain.clone() };
    for (config, sacked, counted) in [
        (plain, [500, 500, 700, 1500], [1, 1, 2, 3]),
        (sampled, [0, 0, 0, 0], [0, 0, 0, 0]),
        (stack(Stack::Ns2), [0, 0, 0, 0], [0, 0, 0, 0]),
    ] {
        let mut a = super::alone::Alone::new(config, 20);
        a.hear(1000, &[]);
        let heard = [(2000, 2500), (2000, 2500), (2000, 2700), (2000, 3500)].map(|range| {
            a.hear(1000, &[range]);
            let s = &a.end.sender;
            assert_eq!(s.board.recount(), s.board.sums(), "{range:?}");
            (s.board.sacked, s.duplicates)
        });
        assert_eq!((heard.map(|h| h.0), heard.map(|h| h.1)), (sacked, counted));
        a.hear(4000, &[(5000, 5500)]);
        assert_eq!((a.end.sender.flow.acked_to, a.end.sender.board.recount()), (4001, a.end.sender.board.sums()));
    }
}

#[test]
fn the_scoreboard_has_room_for_128_holes() {
    // Of 400 that follow a first few every second is lost. What would be the 129th hole is not noted, so that it waits for its turn.
    for (of, holes) in [(Stack::FreeBsd11, 128), (Stack::Ns2, 200)] {
        let lost: Vec<u64> = (11..411).step_by(2).collect();
        let config = Config { undo: false, receive_window: Bytes::new(1 << 20), ..stack(of) };
        let mut p = Pair::new(config, losing(&lost));
        p.service = Duration::from_micros(10);
        p.ends[0].write(p.now, 10 * MSS);
        until(&mut p, |p| p.ends[0].sender.flow.acked_to > 10 * MSS);
        p.ends[0].flow_mut().cwnd = Bytes::new(400 * (MSS + 12));
        p.ends[0].write(p.now, 400 * MSS);
        let mut most = 0;
        while p.ends[0].sender.flow.acked_to == 1 + 10 * MSS {
            p.run(p.now.since(Instant::ZERO) + Duration::from_micros(10));
            let board = &p.ends[0].sender.board;
            let is_sacked = |id: u64| board.ring.get(id).is(crate::scoreboard::SACKED);
            let ids = board.ring.first() + 1..board.ring.next();
            most = most.max(ids.filter(|id| is_sacked(*id) && !is_sacked(id - 1)).count());
        }
        assert_eq!(most, holes, "{of:?}");
        until(&mut p, |p| p.ends[0].sender.flow.acked_to > 410 * MSS);
        assert_eq!(p.ends[1].received(), 410 * MSS);
    }
}
