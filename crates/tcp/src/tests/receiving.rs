use super::*;
use crate::pair::{Fate, Pair, Plain};
use crate::{Config, DelayedAck, Endpoint};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use units::Bytes;

/// A receiver alone, opened already; timestamps off so that segments are easy to write.
fn receiver(config: Config) -> Endpoint {
    let config = Config { handshake: false, timestamps: false, ..config };
    Endpoint::listen(config, &mut |_| Box::new(Plain::default()))
}

fn segment(n: u64) -> Segment {
    Segment {
        seq: 1 + (n - 1) * MSS,
        ack: 1,
        len: MSS as u32,
        window: 1 << 20,
        flags: Flags::ACK,
        ..Segment::default()
    }
}

/// An ACK: (time in ms, acknowledged segments, ranges as segment numbers).
type Acked = (u64, u64, Vec<(u64, u64)>);

/// Feeds segments (time in ms, number) and lists the ACKs.
fn acks(e: &mut Endpoint, arrivals: &[(u64, u64)], until: u64) -> Vec<Acked> {
    let mut out = Vec::new();
    let mut collect = |e: &mut Endpoint, now: Instant| {
        while let Some(s) = e.poll_send(now) {
            let edge = |offset: i32| (s.ack as i64 + offset as i64 - 1) as u64 / MSS;
            let ranges = s.sack.used().iter().map(|b| (edge(b.0) + 1, edge(b.0) + b.1 as u64 / MSS)).collect();
            out.push((now.as_nanos() / 1_000_000, (s.ack - 1) / MSS, ranges));
        }
    };
    for (at, n) in arrivals.iter().copied().chain([(until, 0)]) {
        while e.next_timer() <= AT(at) {
            let now = e.next_timer();
            e.on_timer(now);
            collect(e, now);
        }
        if n > 0 {
            e.on_segment(AT(at), &segment(n));
            collect(e, AT(at));
        }
    }
    out
}

#[test]
fn every_second_segment_or_after_the_timeout() {
    let config = Config { delayed_ack: DelayedAck::EverySecond { timeout: MS(100) }, ..linux() };
    let got = acks(&mut receiver(config), &[(0, 1), (1, 2), (2, 3), (10, 4), (11, 5)], 1000);
    assert_eq!(got, [(1, 2, Vec::new()), (10, 4, Vec::new()), (111, 5, Vec::new())]);
}

#[test]
fn freebsd_acknowledges_every_second_segment_or_when_its_kernel_wakes() {
    let waits: Vec<u64> = (0..50)
        .map(|n| {
            let got = acks(&mut receiver(stack(Stack::FreeBsd11)), &[(n, 1), (n, 2), (n + 2, 3), (n + 300, 4)], 1000);
            assert_eq!((got[0].0, got[0].1, got[1].1), (n, 2, 3));
            got[1].0 - n - 2
        })
        .collect();
    assert!(waits.iter().all(|ms| (99..=107).contains(ms)), "{waits:?}");
    assert!(waits.iter().any(|ms| *ms < 102) && waits.iter().any(|ms| *ms > 104), "{waits:?}");
}

#[test]
fn every_segment_without_delay() {
    let config = Config { delayed_ack: DelayedAck::None, ..linux() };
    let got = acks(&mut receiver(config), &[(0, 1), (1, 2)], 1000);
    assert_eq!(got, [(0, 1, Vec::new()), (1, 2, Vec::new())]);
}

#[test]
fn linux_is_quick_while_its_window_opens_for_sixteen_segments_more_and_again_after_silence() {
    // Eight segments of 1000 bytes open the window by the 15,320 bytes that it may grow at first.
    let mut e = receiver(linux());
    let arrivals: Vec<_> = (1..=32).map(|n| (n, n)).collect();
    let got = acks(&mut e, &arrivals, 35);
    assert_eq!(got.iter().filter(|a| a.0 <= 24).count(), 24);
    assert_eq!(got.iter().filter(|a| a.0 > 24).map(|a| a.1).collect::<Vec<_>>(), [26, 28, 30, 32]);
    // A lone segment now waits 40 ms, and the next one twice that; after silence beyond the receiver's own timeout, a second
    // here, none does.
    for (at, acked, next) in [(40, 80, 33), (400, 480, 34), (1450, 1450, 35), (1600, 1600, 36)] {
        assert_eq!(acks(&mut e, &[(at, next)], at + 100).iter().map(|a| a.0).collect::<Vec<_>>(), [acked]);
    }
}

#[test]
fn rounds_of_linux_receive_window_take_what_timestamps_tell() {
    // The clock counts milliseconds; the segment at 100 ms was let go by an ACK of 70 ms.
    let config = Config { handshake: false, tick_phase: MS(0), timestamp_tick: MS(1), ..linux() };
    let mut e = Endpoint::listen(config, &mut |_| Box::new(Plain::default()));
    let flags = Flags(Flags::ACK.0 | Flags::TIMESTAMP.0);
    e.on_segment(AT(100), &Segment { flags, ts_val: 5, ts_ecr: 70, ..segment(1) });
    let tuning = e.receiver.tuning.as_ref().unwrap();
    assert_eq!(tuning.ends(), AT(130));
}

#[test]
fn what_arrives_beyond_a_hole_opens_linux_receive_window_too() {
    // Of the eight segments that open it at first five came beyond the first.
    let mut e = receiver(linux());
    let arrivals: Vec<_> = (1..=5).map(|n| (n, n + 1)).collect();
    acks(&mut e, &arrivals, 6);
    let tuning = e.receiver.tuning.as_mut().unwrap();
    assert_eq!((0..9).take_while(|_| tuning.opens(MSS as u32, MSS as u32, 0)).count(), 3);
}

#[test]
fn linux_is_quick_for_sixteen_acks_after_a_duplicate() {
    for (policy, quick) in [(DelayedAck::Linux, 16), (DelayedAck::EverySecond { timeout: MS(100) }, 1)] {
        let mut e = receiver(Config { delayed_ack: policy, ..linux() });
        let until_steady: Vec<_> = (1..=20).map(|n| (n, n)).collect();
        acks(&mut e, &until_steady, 30);
        let arrivals: Vec<_> = [(31, 3)].into_iter().chain((21..=50).map(|n| (n + 11, n))).collect();
        let at: Vec<_> = acks(&mut e, &arrivals, 61).iter().map(|a| a.0).collect();
        let expected: Vec<_> = (31..31 + quick).chain((31 + quick..=61).skip(1).step_by(2)).collect();
        assert_eq!(at, expected, "{policy:?}");
    }
}

#[test]
fn the_end_of_a_write_is_acknowledged_alone_by_linux() {
    // Writes of two and a half segments end in 25, 28, 30, 33, 35, 38, 40; the quick ACKs are over.
    for (policy, acked) in [
        (DelayedAck::Linux, &[27, 28, 30, 32, 33, 35, 37, 38, 40][..]),
        (DelayedAck::EverySecond { timeout: MS(100) }, &[28, 30, 32, 34, 36, 38, 40]),
    ] {
        let mut e = receiver(Config { delayed_ack: policy, writes: Bytes::new(MSS * 5 / 2), ..linux() });
        let arrivals: Vec<_> = (1..=40).map(|n| (n, n)).collect();
        let got: Vec<_> = acks(&mut e, &arrivals, 41).iter().map(|a| a.1).filter(|n| *n > 26).collect();
        assert_eq!(got, acked, "{policy:?}");
    }
}

#[test]
fn a_short_segment_is_acknowledged_at_once_by_linux_unless_this_end_talks() {
    for (policy, talks, at) in [
        (DelayedAck::Linux, false, 32),
        (DelayedAck::Linux, true, 72),
        (DelayedAck::EverySecond { timeout: MS(100) }, false, 132),
    ] {
        let mut e = receiver(Config { delayed_ack: policy, ..linux() });
        // The quick ACKs are over, and nothing waits.
        let arrivals: Vec<_> = (1..=30).map(|n| (n, n)).collect();
        acks(&mut e, &arrivals, 31);
        if talks {
            e.write(AT(31), 10);
            while e.poll_send(AT(31)).is_some() {}
        }
        e.on_segment(AT(32), &Segment { len: 100, ..segment(31) });
        let mut sent = None;
        for now in [AT(32), AT(72), AT(132)] {
            e.on_timer(now);
            sent = sent.or(e.poll_send(now).filter(|s| s.ack > 1 + 30 * MSS).map(|_| now));
        }
        assert_eq!(sent, Some(AT(at)), "{policy:?}, talks: {talks}");
    }
}

#[test]
fn gaps_are_reported_at_once_newest_range_first_and_closed_at_once() {
    let config = Config { delayed_ack: DelayedAck::EverySecond { timeout: MS(100) }, ..linux() };
    let arrivals = [(0, 1), (1, 3), (2, 5), (3, 6), (4, 8), (5, 10), (6, 4), (7, 2), (8, 2)];
    let got = acks(&mut receiver(config), &arrivals, 9);
    let expected = [
        (1, 1, &[(3, 3)][..]),
        (2, 1, &[(5, 5), (3, 3)]),
        (3, 1, &[(5, 6), (3, 3)]),
        (4, 1, &[(8, 8), (5, 6), (3, 3)]),
        (5, 1, &[(10, 10), (8, 8), (5, 6)]),
        (6, 1, &[(3, 6), (10, 10), (8, 8)]),
        (7, 6, &[(10, 10), (8, 8)]),
        (8, 6, &[(2, 2), (10, 10), (8, 8)]), // the second copy of 2, as a duplicate
    ];
    assert_eq!(got.iter().map(|a| (a.0, a.1, &a.2[..])).collect::<Vec<_>>(), expected);
}

#[test]
fn the_window_is_conveyed_by_a_scaled_sixteen_bit_field() {
    for (buffer, offered) in [
        (60_000, 60_000),
        (65_535, 65_535),
        (65_536, 65_536),
        (100_000, 100_000),
        (100_001, 100_000),
        (10 << 20, 10 << 20),
        // No scale beyond 14 (RFC 7323, section 2.3).
        (2 << 30, 65_535 << 14),
    ] {
        let config = Config { receive_window: units::Bytes::new(buffer), delayed_ack: DelayedAck::None, ..linux() };
        let mut e = receiver(config);
        e.on_segment(AT(0), &segment(1));
        assert_eq!(e.poll_send(AT(0)).unwrap().window, offered, "buffer {buffer}");
        // No scale applies to a SYN (RFC 7323, section 2.2).
        let config = Config { receive_window: units::Bytes::new(buffer), ..linux() };
        let syn = Endpoint::connect(config, &mut |_| Box::new(Plain::default())).poll_send(AT(0)).unwrap();
        assert_eq!(u64::from(syn.window), buffer.min(65_535));
    }
}

#[test]
fn ce_is_echoed_until_the_sender_reduced_and_counted_exactly() {
    let config = Config { ecn: true, ..linux() };
    let mut p = Pair::new(config, |from, _, s| if from == 0 && number(s) == 15 { Fate::Mark } else { Fate::Pass });
    p.service = MS(1);
    p.ends[0].write(p.now, 200 * MSS);
    p.run(MS(1000));
    assert_eq!(p.ends[1].stats().ce_received, 1);
    let echoes = p.replied.iter().filter(|(_, s)| s.flags.has(Flags::ECE) && !s.flags.has(Flags::SYN)).count();
    assert!(echoes > 3, "{echoes} echoes over a round trip");
    assert_eq!(p.sent.iter().filter(|(_, s)| s.flags.has(Flags::CWR) && s.len > 0).count(), 1);
    assert_eq!(p.replied.last().unwrap().1.ce_bytes as u64, MSS);
    assert!(!p.replied.last().unwrap().1.flags.has(Flags::ECE));
    assert_eq!(p.ends[0].stats().retransmissions, 0);
}

#[test]
fn freebsd_says_of_a_duplicate_only_where_it_lies() {
    let arrivals = [(0, 1), (1, 2), (2, 4), (3, 6), (4, 2), (5, 4)];
    let config = |of| Config { delayed_ack: DelayedAck::None, ..stack(of) };
    let last = |of| acks(&mut receiver(config(of)), &arrivals, 10)[4..].to_vec();
    assert_eq!(last(Stack::Linux), [(4, 2, vec![(2, 2), (6, 6), (4, 4)]), (5, 2, vec![(4, 4), (4, 4), (6, 6)])]);
    assert_eq!(last(Stack::FreeBsd11), [(4, 2, vec![(6, 6), (4, 4)]), (5, 2, vec![(4, 4), (6, 6)])]);
}

#[test]
fn linux_keeps_no_ack_for_an_answer_that_does_not_come_at_once() {
    // (time to answer the first five and the other requests of 300 bytes with 5300, RTT of the eleventh request)
    for (first, thinks, rtt) in [(10, 10, MS(50)), (100, 100, MS(40)), (10, 100, MS(40))] {
        let mut p = Pair::new(linux(), |_, _, _| Fate::Pass);
        for i in 1..=11 {
            p.run(MS(i * 400));
            p.ends[0].write(p.now, 300);
            p.run(MS(i * 400 + 20 + if i <= 5 { first } else { thinks }));
            p.ends[1].write(p.now, 5300);
        }
        p.run(MS(12 * 400));
        let last = p.heard.iter().filter_map(|(_, heard)| heard.rtt).next_back();
        assert_eq!(last, Some(rtt), "answers after {first}, then {thinks} ms");
    }
}

#[test]
fn linux_holds_back_no_ack_after_a_mark_a_reduction_or_what_may_not_be_marked() {
    // The ACKs of segments 61 to 68, of which 63 has these bits.
    let acked = |of: Stack, ecn: u8, flags: Flags| {
        let mut e = receiver(Config { ecn: true, ..stack(of) });
        let mut acks = Vec::new();
        for n in 1..=68 {
            let (ecn, flags) = if n == 63 { (ecn, Flags::ACK.with(flags)) } else { (2, Flags::ACK) };
            e.on_segment(AT(n), &Segment { ecn, flags, ..segment(n) });
            while let Some(s) = e.poll_send(AT(n)) {
                acks.push((s.ack - 1) / MSS);
            }
        }
        acks.retain(|n| *n > 60);
        acks
    };
    for (ecn, flags, linux) in [
        (2, Flags::default(), vec![62, 64, 66, 68]),
        (crate::ecn::CE, Flags::default(), vec![62, 63, 64, 66, 68]),
        (0, Flags::default(), vec![62, 63, 64, 66, 68]),
        (2, Flags::CWR, vec![62, 63, 65, 67]),
    ] {
        assert_eq!(acked(Stack::Linux, ecn, flags), linux, "{ecn} {flags:?}");
        assert_eq!(acked(Stack::FreeBsd11, ecn, flags), [62, 64, 66, 68], "{ecn} {flags:?}");
    }
}

#[test]
fn a_fin_beside_the_last_byte_of_the_window_is_taken() {
    // The FIN takes a number and no room.
    for of in [Stack::Linux, Stack::FreeBsd11, Stack::Ns2] {
        for (window, segments) in [(1, 1), (1, 40), (2, 40), (4, 4)] {
            let config = Config { receive_window: Bytes::new(window * MSS), ..stack(of) };
            let mut p = Pair::new(config, |_, _, _| Fate::Pass);
            p.ends[0].write(p.now, segments * MSS);
            p.ends[0].close(p.now);
            p.run(MS(60_000));
            let stats = p.ends[0].stats();
            let seen = (p.ends[0].is_finished(), p.ends[1].received(), stats.timeouts, stats.retransmissions);
            assert_eq!(seen, (true, segments * MSS, 0, 0), "{of:?} {window} {segments}");
        }
    }
}

#[test]
fn a_short_first_segment_that_comes_after_a_larger_one_is_told_apart_from_a_write() {
    let mut lost = 2;
    let config = Config { writes: Bytes::new(10_860), ..linux() };
    let mut p = Pair::new(config, move |from, _, s| {
        let drop = from == 0 && s.len > 0 && lost > 0;
        lost -= u32::from(drop);
        if drop { Fate::Drop } else { Fate::Pass }
    });
    p.ends[0].write(p.now, 24);
    p.ends[0].push();
    p.ends[0].write(p.now, 100_000);
    p.run(MS(60_000));
    assert_eq!(p.ends[1].received(), 100_024);
}

#[test]
fn freebsd_forgets_ranges_that_fell_off_its_list_of_six() {
    // Every second of 19 is lost but the first two; then 6, whose neighbours fell off the list, and 14, whose neighbours did not.
    let arrivals: Vec<(u64, u64)> = (10..).zip([1, 2, 4, 5, 7, 9, 11, 13, 15, 17, 19, 6, 14]).collect();
    for (of, [six, fourteen]) in [
        (Stack::FreeBsd11, [vec![(6, 6), (19, 19), (17, 17)], vec![(13, 15), (6, 6), (19, 19)]]),
        (Stack::Linux, [vec![(4, 7), (19, 19), (17, 17)], vec![(13, 15), (4, 7), (19, 19)]]),
    ] {
        let got = acks(&mut receiver(stack(of)), &arrivals, 30);
        let told = |at| got.iter().find(|a| a.0 == at).map(|a| a.2.clone()).unwrap();
        assert_eq!([told(21), told(22)], [six, fourteen], "{of:?}");
    }
}
