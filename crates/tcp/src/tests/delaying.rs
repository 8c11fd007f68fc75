//! A receiver segment by segment: when it acknowledges, what it offers, what it counts.

use super::*;
use crate::pair::Plain;
use crate::{DelayedAck, Endpoint};
use alloc::boxed::Box;
use alloc::vec::Vec;
use units::Bytes;

const SECOND: DelayedAck = DelayedAck::EverySecond { timeout: Duration::from_millis(100) };

fn receiver(config: Config) -> Endpoint {
    let config = Config { handshake: false, timestamps: false, ..config };
    Endpoint::listen(config, &mut |_| Box::new(Plain::default()))
}

/// So many bytes from `from` on.
fn bytes(from: u64, len: u32) -> Segment {
    Segment { seq: 1 + from, ack: 1, len, window: 1 << 20, flags: Flags::ACK, ..Segment::default() }
}

/// What is acknowledged at once as `s` arrives, if anything is.
fn acked(e: &mut Endpoint, now: Instant, s: Segment) -> Option<u64> {
    e.on_segment(now, &s);
    e.poll_send(now).map(|s| s.ack - 1)
}

#[test]
fn linux_fits_the_delay_of_acks_to_the_gaps_between_segments() {
    // `tcp_event_data_recv`: `ato` starts at 40 ms; a gap of half of that or less pulls it back there, a longer one that is
    // still shorter than it counts half. No ACK waits longer than 200 ms. (gaps in ms, delay of the last segment's ACK)
    for (gaps, delay) in [
        (&[20][..], 40),
        (&[21], 41),
        (&[30], 50),
        (&[39], 59),
        (&[40], 40), // no sign of anything
        (&[30, 45], 70),
        (&[30, 50], 50),
        (&[30, 45, 69], 104),
        (&[30, 45, 69, 100], 152),
        (&[30, 45, 69, 100, 150], 200),
        (&[30, 45, 69, 100, 150, 20], 133),
        (&[30, 45, 10], 55),
        (&[30, 1, 1], 42),
    ] {
        // The quick ones are over; of what follows the last is the first of a pair.
        let mut e = receiver(linux());
        let mut now = AT(1000);
        let mut seq = 0;
        let mut next = |e: &mut Endpoint, gap| {
            now += Duration::from_micros(gap);
            seq += MSS;
            let at_once = acked(e, now, bytes(seq - MSS, 1000)).is_some();
            (at_once, e.next_timer().since(now))
        };
        (0..40 + (gaps.len() + 1) % 2).for_each(|_| _ = next(&mut e, 1000));
        let (at_once, waits) = gaps.iter().map(|gap| next(&mut e, gap * 1000)).last().unwrap();
        assert!(!at_once, "{gaps:?}");
        assert_eq!(waits.as_nanos() / 1_000_000, delay, "{gaps:?}");
    }
}

#[test]
fn linux_waits_twice_as_long_after_an_ack_that_nothing_hastened_but_no_longer_than_a_round_trip() {
    // (RTT in ms as this host knows it; delays of the ACKs of lone segments, 205 ms after each other)
    for (rtt, delays) in [(0, [40, 80, 160, 200, 200]), (100, [40, 80, 100, 100, 100]), (10, [40; 5])] {
        // A small window is open at once, and segments that open it further hasten no ACK.
        let mut e = receiver(Config { receive_window: Bytes::new(20_000), ..linux() });
        if rtt > 0 {
            e.sender.rtt.sample(MS(rtt), 1, 1);
        }
        (0..40).for_each(|n| _ = acked(&mut e, AT(1000 + n), bytes(n * MSS, 1000)));
        let waits = (0..5u64).map(|n| {
            let now = AT(1205 + 205 * n);
            assert_eq!(acked(&mut e, now, bytes((40 + n) * MSS, 1000)), None, "{rtt}, {n}");
            let due = e.next_timer();
            e.on_timer(due);
            assert!(e.poll_send(due).is_some(), "{rtt}, {n}");
            due.since(now).as_nanos() / 1_000_000
        });
        assert_eq!(waits.collect::<Vec<_>>(), delays, "{rtt}");
    }
}

#[test]
fn linux_holds_back_no_ack_of_a_short_segment_whatever_else_is_special_about_it() {
    // `tcp_measure_rcv_mss`: what is below the largest counts as pushed. The mark is not the first. (reads when it likes, marked,
    // length, acknowledged at once)
    for (slow_reader, ecn, len, at_once) in [
        (false, 2, 1000, false),
        (false, 2, 400, true),
        (false, crate::ecn::CE, 1000, false),
        (false, crate::ecn::CE, 400, true),
        (true, 2, 1000, false),
        (true, 2, 400, true),
    ] {
        let mut e = receiver(Config { ecn: true, slow_reader, receive_window: Bytes::new(20_000), ..linux() });
        for n in 0..60 {
            acked(&mut e, AT(1000 + n), Segment { ecn, ..bytes(n * MSS, 1000) });
            e.read(Bytes::new(MSS));
            _ = e.poll_send(AT(1000 + n));
        }
        let last = acked(&mut e, AT(1060), Segment { ecn, ..bytes(60 * MSS, len) });
        assert_eq!(last.is_some(), at_once, "{slow_reader} {ecn} {len}");
    }
}

#[test]
fn what_linux_adds_to_the_delay_of_acks_ends_at_its_own_timeout_and_with_an_answer() {
    // Gaps in ms before segments, and the delay of the last one's ACK. A host that knows no RTT has a timeout of a second. No
    // ACK waits longer than 200 ms, so four segments that follow fast show how long it would have been: each takes half.
    let lone = |gaps: &[u64], talks: bool| {
        let mut e = receiver(Config { receive_window: Bytes::new(20_000), ..linux() });
        (0..40).for_each(|n| _ = acked(&mut e, AT(1000 + n), bytes(n * MSS, 1000)));
        let (mut now, mut waits) = (AT(1039), Duration::ZERO);
        for (n, gap) in (40..).zip(gaps) {
            now += MS(*gap);
            while e.next_timer() <= now {
                let due = e.next_timer();
                e.receiver.talks = talks;
                e.on_timer(due);
                _ = e.poll_send(due);
            }
            acked(&mut e, now, bytes(n * MSS, 1000));
            waits = e.next_timer().since(now);
        }
        waits.as_nanos() / 1_000_000
    };
    // 40, 80, … 640 and 1000 for 1280; half of it and 205: 705, 372, 206, 123, 81.
    assert_eq!(lone(&[900, 900, 900, 900, 900, 205, 1, 1, 1, 1], false), 81);
    // Half of 1000 and 900 are a second, too: 520, 280, 160, 100.
    assert_eq!(lone(&[900, 900, 900, 900, 900, 900, 1, 1, 1, 1], false), 100);
    // Where an answer was to carry the ACK it is 40 ms again.
    assert_eq!((lone(&[205, 205, 205], false), lone(&[205, 205, 205], true)), (160, 40));
}

#[test]
fn what_lies_beyond_the_window_is_refused_with_an_ack() {
    // RFC 9293, section 3.10.7.4.
    let mut e = receiver(Config { receive_window: Bytes::new(4000), delayed_ack: SECOND, ..linux() });
    for (from, len, ack, received) in [
        (0, 1000, None, 1000),
        (3001, 1000, Some(1000), 1000),
        (3000, 1000, Some(1000), 1000),
        (1000, 2000, Some(4000), 4000),
    ] {
        assert_eq!((acked(&mut e, AT(1), bytes(from, len)), e.received()), (ack, received), "{from}");
    }
    assert_eq!(e.stats().out_of_order, 1);
}

#[test]
fn what_came_twice_is_counted_where_it_is_all_of_a_segment_and_told_where_it_is_a_part() {
    // RFC 2883, section 4. (segment, duplicates and others out of order so far, range told first: from, to)
    let mut e = receiver(Config { delayed_ack: DelayedAck::None, ..linux() });
    let mut delivered = 0;
    for (from, len, counted, told) in [
        (0, 1000, (0, 0), None),
        (0, 1000, (1, 0), Some((0, 1000))),
        (500, 1000, (1, 0), Some((500, 1000))),
        (3000, 1000, (1, 1), None),
        (3500, 1000, (1, 2), Some((3500, 4000))),
        (1500, 2000, (1, 2), None),
    ] {
        delivered += e.on_segment(AT(1), &bytes(from, len)).delivered;
        let s = e.poll_send(AT(1));
        let range = s.filter(|s| s.flags.has(Flags::DSACK)).map(|s| {
            let (offset, len) = s.sack.blocks[0];
            let start = s.ack.wrapping_add_signed(offset.into()) - 1;
            (start, start + u64::from(len))
        });
        let stats = e.stats();
        assert_eq!(((stats.duplicates_received, stats.out_of_order), range), (counted, told), "{from}");
    }
    assert_eq!((e.received(), delivered), (4500, 4500));
}

#[test]
fn acks_are_held_back_again_once_the_last_hole_is_filled() {
    // RFC 5681, section 4.2: at once while there is a hole, and for what fills it.
    let mut e = receiver(Config { delayed_ack: SECOND, ..linux() });
    for (n, ack) in
        [(1, None), (3, Some(1)), (5, Some(1)), (2, Some(3)), (4, Some(5)), (6, None), (7, Some(7)), (8, None)]
    {
        assert_eq!(acked(&mut e, AT(n), bytes((n - 1) * MSS, 1000)), ack.map(|n| n * MSS), "{n}");
    }
}

#[test]
fn exact_feedback_acknowledges_every_change_of_the_mark_at_once() {
    // Marked are segments 3 to 5, and 7; every second is acknowledged otherwise. RFC 3168's echo asks for nothing.
    for (accurate_ecn, acks) in [(true, [2, 3, 5, 6, 7, 8, 10].to_vec()), (false, [2, 4, 6, 8, 10].to_vec())] {
        let mut e = receiver(Config { ecn: true, accurate_ecn, delayed_ack: SECOND, ..linux() });
        let mut seen = Vec::new();
        for n in 1..=10u64 {
            let ecn = if matches!(n, 3..=5 | 7) { crate::ecn::CE } else { 2 };
            seen.extend(acked(&mut e, AT(n), Segment { ecn, ..bytes((n - 1) * MSS, 1000) }).map(|ack| ack / MSS));
        }
        assert_eq!((seen, e.stats().ce_received), (acks, 4), "{accurate_ecn}");
    }
}

#[test]
fn the_end_is_acknowledged_at_once_and_is_no_payload() {
    // Alone, with data, and after a hole is filled.
    let fin = Flags::ACK.with(Flags::FIN);
    for (arrivals, ack, payload) in [
        (&[(0, 0, fin)][..], 1, 0),
        (&[(0, 1000, fin)], 1001, 1000),
        (&[(1000, 500, fin), (0, 1000, Flags::ACK)], 1501, 1500),
        (&[(0, 1000, fin), (0, 1000, fin)], 1001, 1000),
    ] {
        let mut e = receiver(Config { delayed_ack: SECOND, ..linux() });
        let (mut last, mut delivered) = (None, 0);
        for (from, len, flags) in arrivals {
            delivered += e.on_segment(AT(1), &Segment { flags: *flags, ..bytes(*from, *len) }).delivered;
            last = e.poll_send(AT(1)).map(|s| s.ack - 1);
        }
        let seen = (last, delivered, e.received(), e.peer_has_closed());
        assert_eq!(seen, (Some(ack), payload, payload, true), "{arrivals:?}");
    }
}
