//! Applications that read when they like: what waits for them closes the window, and what they read opens it again.

use super::*;
use crate::Endpoint;
use crate::pair::{Pair, Plain};
use alloc::boxed::Box;
use alloc::vec::Vec;
use cc::CauseKind;
use units::Bytes;

const ALL: Bytes = Bytes::MAX;

fn slow(of: Stack, buffer: u64) -> Config {
    Config { receive_window: Bytes::new(buffer), slow_reader: true, ..stack(of) }
}

/// A receiver alone, opened already, that acknowledges every segment.
fn receiver(config: Config) -> Endpoint {
    let config = Config { handshake: false, timestamps: false, delayed_ack: crate::DelayedAck::None, ..config };
    Endpoint::listen(config, &mut |_| Box::new(Plain::default()))
}

fn bytes(from: u64, len: u32) -> Segment {
    Segment { seq: 1 + from, ack: 1, len, window: 1 << 20, flags: Flags::ACK, ..Segment::default() }
}

/// The window that an ACK tells of, if one leaves.
fn told(e: &mut Endpoint) -> Option<u32> {
    e.poll_send(AT(1)).map(|s| s.window)
}

/// Windows told as the buffer fills with segments of 1000 bytes.
fn fill(e: &mut Endpoint, segments: u64) -> Vec<u32> {
    let arrive = |n| {
        e.on_segment(AT(1), &bytes(n * MSS, 1000));
        told(e).unwrap()
    };
    (0..segments).map(arrive).collect()
}

/// Segments read so far where an ACK left for the window alone, and the window.
fn empty(e: &mut Endpoint) -> Vec<(u64, u32)> {
    let mut updates = Vec::new();
    let mut read = 0;
    while e.read(Bytes::new(MSS)) > Bytes::ZERO {
        read += 1;
        updates.extend(told(e).map(|window| (read, window / 1000)));
    }
    updates
}

#[test]
fn what_waits_takes_the_window_away_from_the_left() {
    // RFC 9293, section 3.8.6: the right edge stays where it was.
    for of in [Stack::Linux, Stack::FreeBsd11] {
        let mut e = receiver(slow(of, 16_000));
        assert_eq!(fill(&mut e, 16), (0..16).rev().map(|n| n * 1000).collect::<Vec<_>>(), "{of:?}");
        assert_eq!((e.received(), e.has_unread()), (0, true));
        e.on_segment(AT(2), &bytes(16_000, 1000));
        assert_eq!((told(&mut e), e.read(ALL)), (Some(0), Bytes::new(16_000)), "the window is closed");
        assert_eq!((e.received(), e.read(ALL), e.has_unread()), (16_000, Bytes::ZERO, false));
    }
}

#[test]
fn each_stack_tells_of_the_room_in_its_own_steps() {
    for (of, buffer, updates) in [
        // `tcp_cleanup_rbuf`: twice what was offered.
        (Stack::Linux, 16, &[(1, 1), (2, 2), (4, 4), (8, 8), (16, 16)][..]),
        // Nothing below a sixteenth of the buffer (`__tcp_select_window`).
        (Stack::Linux, 48, &[(3, 3), (6, 6), (12, 12), (24, 24), (48, 48)]),
        // `tcp_output`: a quarter of the buffer, and two segments with their options at least.
        (Stack::FreeBsd11, 16, &[(4, 4), (8, 8), (12, 12), (16, 16)]),
        // Of a small buffer those two.
        (Stack::FreeBsd11, 8, &[(3, 3), (6, 6)]),
        // Or when less than an eighth is free.
        (Stack::FreeBsd11, 48, &[(3, 3), (6, 6), (18, 18), (30, 30), (42, 42)]),
        // Of three segments half.
        (Stack::FreeBsd11, 3, &[(2, 2)]),
    ] {
        let mut e = receiver(slow(of, buffer * MSS));
        fill(&mut e, buffer);
        assert_eq!(empty(&mut e), updates, "{of:?} {buffer}");
        assert_eq!(e.received(), buffer * MSS);
    }
}

#[test]
fn less_than_a_segment_is_not_told_and_no_update_overtakes_an_ack_that_waits() {
    // A sixteenth of this buffer is half a segment.
    let mut e = receiver(slow(Stack::Linux, 8 * MSS));
    fill(&mut e, 8);
    let windows = [999, 1].map(|n| (e.read(Bytes::new(n)), told(&mut e)).1);
    assert_eq!(windows, [None, Some(1000)]);
    // TF_DELACK: the fifth's ACK will tell.
    let config = Config { delayed_ack: crate::DelayedAck::FreeBsd, ..slow(Stack::FreeBsd11, 8 * MSS) };
    let config = Config { handshake: false, timestamps: false, ..config };
    let mut e = Endpoint::listen(config, &mut |_| Box::new(Plain::default()));
    let windows: Vec<_> = (0..5)
        .filter_map(|n| {
            e.on_segment(AT(1), &bytes(n * MSS, 1000));
            told(&mut e)
        })
        .collect();
    assert_eq!((windows, e.read(ALL), told(&mut e)), ([6000, 4000].to_vec(), Bytes::new(5000), None));
    let due = e.next_timer();
    e.on_timer(due);
    assert_eq!(e.poll_send(due).map(|s| s.window), Some(8000));
}

#[test]
fn nobody_asks_for_more_after_the_end() {
    for of in [Stack::Linux, Stack::FreeBsd11] {
        let mut e = receiver(slow(of, 16_000));
        fill(&mut e, 15);
        e.on_segment(AT(2), &Segment { flags: Flags::ACK.with(Flags::FIN), ..bytes(15_000, 1000) });
        assert_eq!((told(&mut e), e.peer_has_closed(), e.received()), (Some(0), true, 0));
        assert_eq!((empty(&mut e), e.received()), (Vec::new(), 16_000), "{of:?}");
    }
}

#[test]
fn linux_opens_the_window_of_a_slow_reader_with_what_comes_and_freebsd_at_once() {
    // `rcv_ssthresh`: 65,160 bytes and two segments more with each, as far as 80,480; the field counts 128 bytes here.
    let windows = |of| {
        let mut e = receiver(slow(of, 6 << 20));
        let mut windows = Vec::new();
        for n in 0..9 {
            e.on_segment(AT(1), &bytes(n * MSS, 1000));
            e.read(ALL);
            windows.extend(told(&mut e));
        }
        windows
    };
    let linux = [67_200, 69_248, 71_168, 73_216, 75_264, 77_184, 79_232, 80_512, 80_512];
    assert_eq!(windows(Stack::Linux), linux);
    assert_eq!(windows(Stack::FreeBsd11), [6 << 20; 9]);
}

#[test]
fn where_the_field_counts_in_more_than_a_segment_linux_closes_no_window_until_the_buffer_is_full() {
    // What is left is rounded up (`tcp_select_window`), so that another segment comes: kernel 6.18 does it with 100 kbit/s at
    // 40 ms, where the field counts by 2048 bytes. Here it is 32.
    let mut e = receiver(slow(Stack::Linux, 1 << 20));
    let mut came = 0;
    loop {
        e.on_segment(AT(1), &bytes(came, 10));
        let s = e.poll_send(AT(1)).unwrap();
        if s.ack - 1 == came {
            break;
        }
        came += 10;
        assert_eq!((s.ack - 1, s.window > 0), (came, true));
    }
    assert_eq!((came, e.read(ALL)), ((1 << 20) / 10 * 10, Bytes::new(came)), "the rest is refused");
    e.on_segment(AT(1), &bytes(came, 10));
    assert_eq!(e.poll_send(AT(1)).unwrap().ack - 1, came + 10);
}

#[test]
fn linux_leaves_acks_that_move_no_window_to_the_reader() {
    // `__tcp_ack_snd_check`: of what fills more than half of the buffer no second segment is acknowledged, until the reader takes
    // some (`tcp_cleanup_rbuf`) or an ACK has waited long enough.
    let config = Config { delayed_ack: crate::DelayedAck::Linux, ..slow(Stack::Linux, 20_000) };
    let config = Config { handshake: false, timestamps: false, ..config };
    let mut e = Endpoint::listen(config, &mut |_| Box::new(Plain::default()));
    let acked = |e: &mut Endpoint, now| e.poll_send(now).map(|s| (s.ack / MSS, s.window));
    for n in 0..12 {
        e.on_segment(AT(n), &bytes(n * MSS, 1000));
        let _ = acked(&mut e, AT(n));
    }
    for n in 12..15 {
        e.on_segment(AT(n), &bytes(n * MSS, 1000));
        assert_eq!(acked(&mut e, AT(n)), None, "{n}");
    }
    e.read(Bytes::new(MSS));
    assert_eq!(acked(&mut e, AT(15)), Some((15, 6000)));
    e.on_segment(AT(16), &bytes(15 * MSS, 1000));
    e.on_segment(AT(17), &bytes(16 * MSS, 1000));
    assert_eq!(acked(&mut e, AT(17)), None);
    let due = e.next_timer();
    e.on_timer(due);
    assert_eq!(acked(&mut e, due), Some((17, 4000)));
    assert_eq!(due, AT(16 + 40));
}

#[test]
fn a_reader_that_stops_closes_the_window_and_probes_find_it_open_again() {
    for of in [Stack::Linux, Stack::FreeBsd11] {
        let mut lost_update = 0;
        let mut p = Pair::new(slow(of, 20 * MSS), move |from, _, s| {
            // The first two ACKs after 3 s that open the window again get lost.
            if from == 1 && s.ack > 20 * MSS && s.window > 0 && lost_update < 2 {
                lost_update += 1;
                return Fate::Drop;
            }
            Fate::Pass
        });
        p.ends[0].write(p.now, 50 * MSS);
        p.run(MS(200));
        let window = p.cwnd();
        p.run(MS(10_000));
        assert_eq!((p.ends[0].acked(), p.ends[1].received()), (20 * MSS, 0), "{of:?}");
        let stats = p.ends[0].stats();
        assert!(stats.window_probes >= 1 && stats.timeouts == 0, "{of:?} {stats:?}");
        let mut told: Vec<_> = p.ends[0].flow_mut().drain_events().map(|e| (e.cause(), e.values[0])).collect();
        if of == Stack::FreeBsd11 {
            // `cc_after_idle`, whether anything leaves or not.
            assert_eq!(told.pop().map(|(cause, _)| cause), Some(Some(CauseKind::IdleRestart)));
        }
        assert_eq!(told, [(Some(CauseKind::Persist), 0)], "once, however often it asks");
        assert_eq!(p.cwnd() == window, of == Stack::Linux, "nothing leaves");
        for second in 10..120 {
            p.ends[1].read(ALL);
            p.run(MS(1000 * second));
        }
        assert_eq!(p.ends[1].received(), 50 * MSS, "{of:?}");
    }
}
