//! Who was the limit: the window, the application or the peer; and what delivery rates make of it.

use super::alone::{Alone, Left};
use super::*;
use crate::pair::Plain;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use cc::{Ack, Congestion, CongestionControl, Flow, RateSample, Reaction};
use std::sync::Mutex;
use units::Bytes;

/// A first segment is acknowledged; then `out` bytes leave with this window, and with slow start below `threshold`.
fn using(window: u64, threshold: u64, out: u64) -> Alone {
    let mut a = Alone::with(linux(), 1, Box::new(Plain { fixed: true }), MSS);
    a.hear(MSS, &[]);
    widen(&mut a, window, threshold, out);
    a
}

fn widen(a: &mut Alone, window: u64, threshold: u64, more: u64) {
    (a.end.flow_mut().cwnd, a.end.flow_mut().ssthresh) = (Bytes::new(window), Bytes::new(threshold));
    a.end.write(a.now, more);
    a.leaving();
}

/// An ACK from a peer that takes so much beyond it.
fn offer(a: &mut Alone, ack: u64, window: u32) -> Left {
    a.now += MS(1);
    a.end.on_segment(a.now, &Segment { seq: 1, ack: 1 + ack, window, flags: Flags::ACK, ..Segment::default() });
    a.leaving()
}

#[test]
fn the_window_is_the_limit_if_it_has_no_room_for_a_segment_and_in_slow_start_if_half_of_it_is_used() {
    // Linux' `tcp_write_xmit` and `tcp_is_cwnd_limited`. (window, bytes out, above the threshold, below it)
    for (window, out, steady, starting) in [
        (10_000, 10_000, true, true),
        (10_999, 10_000, true, true),
        (11_000, 10_000, false, true),
        (10_000, 9001, true, true),
        (10_000, 9000, false, true),
        (10_000, 5001, false, true),
        (10_000, 5000, false, false),
        (10_000, 1000, false, false),
    ] {
        for (threshold, limited) in [(0, steady), (u64::MAX, starting)] {
            let a = using(window, threshold, out);
            assert_eq!((a.end.sender.pipe(), a.end.sender.is_window_limited()), (out, limited), "{window}, {out}");
        }
    }
}

#[test]
fn freebsd_grows_its_window_up_to_the_peer_s() {
    // `cc_ack_received`: CCF_CWND_LIMITED where `snd_cwnd <= snd_wnd`, however little of it is used.
    for (window, limited) in [(63_999, true), (64_000, true), (64_001, false)] {
        let mut a = Alone::new(Config { receive_window: Bytes::new(64_000), ..stack(Stack::FreeBsd11) }, 1);
        a.end.flow_mut().cwnd = Bytes::new(window);
        assert_eq!(a.end.sender.is_window_limited(), limited, "{window}");
    }
}

#[test]
fn that_the_window_was_the_limit_holds_for_what_was_out_then() {
    // `tcp_cwnd_validate`, 6.0: four segments fill the window, which then is larger than what is written.
    let mut a = using(4000, 0, 4000);
    for (ack, written, limited) in [
        (0, 3000, true), // more is out, and no reason
        (1000, 1000, true),
        (3000, 1000, true),
        (3000, 0, true), // nothing left, so that nothing was asked
        (4000, 0, true),
        (4000, 1000, false), // all that was out then is acknowledged
        (5000, 0, false),
    ] {
        a.hear(MSS + ack, &[]);
        widen(&mut a, 20_000, 0, written);
        assert_eq!(a.end.sender.is_window_limited(), limited, "{ack} {written}");
    }
}

#[test]
fn without_a_limit_the_most_that_was_out_in_a_flight_counts() {
    // Below the threshold. (ACK, written, most out)
    let mut a = using(100_000, u64::MAX, 1000);
    for (ack, written, most) in [
        (0, 4000, 5000),
        (4000, 1000, 5000), // 2000 are out
        (4000, 4000, 6000),
        (5000, 1000, 6000),   // as much is not more
        (10_000, 1000, 2000), // a new flight
    ] {
        a.hear(MSS + ack, &[]);
        widen(&mut a, 100_000, u64::MAX, written);
        let mut limited = |window| {
            a.end.flow_mut().cwnd = Bytes::new(window);
            a.end.sender.is_window_limited()
        };
        assert_eq!([limited(2 * most - 1), limited(2 * most)], [true, false], "{ack} {written}");
    }
}

#[test]
fn a_window_that_holds_everything_back_is_the_limit_though_nothing_was_sent() {
    // `tcp_write_xmit`: `sent_pkts || is_cwnd_limited`. Of ten segments none filled the window, which then shrinks.
    for (window, waiting, limited) in
        [(9000, 1000, true), (10_000, 1000, true), (12_000, 1000, false), (9000, 0, false)]
    {
        let mut a = using(20_000, 0, 10_000);
        assert!(!a.end.sender.is_window_limited());
        a.end.flow_mut().cwnd = Bytes::new(window);
        a.end.write(a.now, waiting);
        a.hear(MSS, &[]);
        let seen = (a.end.sender.is_window_limited(), a.end.unsent() > 0);
        assert_eq!(seen, (limited, limited), "{window}, {waiting}");
    }
}

#[test]
fn a_flight_that_the_peer_s_window_ends_is_not_limited_by_ours() {
    // `tcp_write_xmit` stops at `tcp_snd_wnd_test` and asks `tcp_cwnd_validate` all the same.
    let config = Config { receive_window: Bytes::new(4000), ..linux() };
    let mut a = Alone::with(config, 4, Box::new(Plain { fixed: true }), 4000);
    widen(&mut a, 20_000, 0, 5000);
    assert!(a.end.sender.is_window_limited());
    assert_eq!(offer(&mut a, 4000, 2000).len(), 2);
    assert!(!a.end.sender.is_window_limited());
}

#[test]
fn a_peer_that_never_takes_a_segment_gets_what_it_takes() {
    // RFC 9293, section 3.8.6.2.1, and Linux' `tcp_bound_to_half_wnd`.
    for of in [Stack::Linux, Stack::FreeBsd11, Stack::Ns2] {
        let config = Config { receive_window: Bytes::new(500), ..stack(of) };
        let mut a = Alone::with(config, 1, Box::new(Plain { fixed: true }), 5000);
        assert_eq!(offer(&mut a, 500, 500), [(500, 500)], "{of:?}");
    }
}

#[test]
fn a_part_of_a_segment_waits_for_the_timer_but_for_half_of_the_widest_window() {
    // RFC 9293, section 3.8.6.2.1; FreeBSD's `tcp_output`. On Linux what is below its own segment always waits
    // (`tcp_snd_wnd_test`), and that is half of a window of less than two (`tcp_bound_to_half_wnd`). All that was sent is
    // acknowledged. (widest window, what the peer takes then, what leaves at once, what the timer lets go)
    use Stack::{FreeBsd11, Linux, Ns2};
    type Row = (Stack, u64, u32, &'static [u32], &'static [u32]);
    let rows: [Row; 17] = [
        (Linux, 10_000, 128, &[], &[128]),
        (FreeBsd11, 10_000, 128, &[], &[128]),
        (Ns2, 10_000, 128, &[], &[128]),
        (Linux, 10_000, 999, &[], &[999]),
        (Ns2, 10_000, 999, &[], &[999]),
        (Linux, 10_000, 1000, &[1000], &[]),
        (Linux, 10_000, 0, &[], &[0]), // a probe
        (FreeBsd11, 10_000, 0, &[], &[0]),
        (Linux, 1500, 1500, &[750, 750], &[]),
        (Linux, 1500, 749, &[], &[749]),
        (FreeBsd11, 1500, 1500, &[1000], &[]),
        (FreeBsd11, 1500, 750, &[750], &[]),
        (FreeBsd11, 1500, 749, &[], &[749]),
        (Ns2, 1500, 750, &[750], &[]),
        (Ns2, 1500, 749, &[], &[749]),
        (Linux, 536, 536, &[536], &[]),
        (Linux, 538, 538, &[269, 269], &[]),
    ];
    for (of, widest, room, at_once, later) in rows {
        let config = Config { receive_window: Bytes::new(widest), ..stack(of) };
        let segments = if widest > 536 { widest.div_ceil(MSS).max(2) } else { 1 };
        let mut a = Alone::with(config, segments, Box::new(Plain { fixed: true }), widest);
        a.now += MS(39);
        a.end.flow_mut().cwnd = Bytes::new(4 * MSS);
        a.end.write(a.now, 1_000_000);
        let lengths = |left: Left| left.into_iter().map(|(_, len)| len).collect::<Vec<_>>();
        assert_eq!(lengths(offer(&mut a, widest, room)), at_once, "{of:?} {widest} {room}");
        if !later.is_empty() {
            let waited = a.end.next_timer().since(a.now);
            assert!(waited >= MS(200), "{of:?} {widest} {room}: {waited:?}");
            assert_eq!(lengths(a.ring()), later, "{of:?} {widest} {room}");
        }
    }
}

#[test]
fn a_little_more_room_begins_linux_timer_anew_and_leaves_freebsd_s_alone() {
    // `tcp_ack_probe` sets it with every ACK; `tcp_output` sets one where none runs.
    for (of, anew) in [(Stack::Linux, true), (Stack::FreeBsd11, false)] {
        let config = Config { receive_window: Bytes::new(10_000), ..stack(of) };
        let mut a = Alone::with(config, 10, Box::new(Plain { fixed: true }), 10_000);
        a.end.write(a.now, 1_000_000);
        assert_eq!(offer(&mut a, 10_000, 100), []);
        let due = a.end.next_timer();
        assert_eq!(offer(&mut a, 10_000, 200), []);
        assert_eq!(a.end.next_timer() > due, anew, "{of:?}");
        assert_eq!(offer(&mut a, 10_000, 1100), [(10_000, 1000)], "{of:?}");
    }
}

#[test]
fn an_application_that_leaves_room_for_a_segment_is_the_limit() {
    // Of ten segments the window takes five, and the others are given up. (window then)
    for (window, limited) in [(5000, false), (5999, false), (6000, true), (10_000, true)] {
        let mut a = using(5000, 0, 10_000);
        assert!(!a.end.flow().app_limited, "it waits for the window");
        a.end.truncate(a.now);
        widen(&mut a, window, 0, 0);
        assert_eq!(a.end.flow().app_limited, limited, "{window}");
    }
}

#[test]
fn a_window_that_comes_with_data_is_used_at_once() {
    // RFC 9293, section 3.10.7.4: SND.WND is of every segment that is accepted.
    let config = Config { receive_window: Bytes::new(2000), ..linux() };
    let mut a = Alone::with(config, 2, Box::new(Plain { fixed: true }), 9000);
    a.end.flow_mut().cwnd = Bytes::new(9000);
    assert_eq!(offer(&mut a, 2000, 0), []);
    let data = Segment { seq: 1, len: 100, ack: 2001, window: 2000, flags: Flags::ACK, ..Segment::default() };
    a.end.on_segment(a.now, &data);
    assert_eq!(a.leaving(), [(2000, 1000), (3000, 1000)]);
}

/// Keeps its window, and the rates that it is told.
#[derive(Debug)]
struct Rates(Arc<Mutex<Vec<RateSample>>>);

impl CongestionControl for Rates {
    fn on_ack(&mut self, _: &mut Flow, ack: &Ack) {
        self.0.lock().unwrap().extend(ack.rate);
    }
    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd / 2)
    }
}

fn rated(window: u64, written: u64) -> (Alone, Arc<Mutex<Vec<RateSample>>>) {
    let told = Arc::default();
    let config = Config { rate_samples: true, undo: false, ..linux() };
    (Alone::with(config, window, Box::new(Rates(Arc::clone(&told))), written), told)
}

#[test]
fn the_rate_of_what_a_timeout_sent_again_counts_the_silence_before_it() {
    // Linux' `tcp_rate_skb_sent`: all ten are taken for lost, but they are out. The interval begins with the last ACK, at 1040 ms.
    let (mut a, told) = rated(10, 10 * MSS);
    a.now += MS(39);
    a.hear(1000, &[]);
    while a.end.stats().timeouts == 0 {
        a.ring();
    }
    a.now += MS(60);
    a.hear(2000, &[]);
    let last = *told.lock().unwrap().last().unwrap();
    assert_eq!((last.interval, last.delivered), (a.now.since(AT(1040)), Bytes::new(MSS)));
    assert_eq!(last.tx_in_flight, Bytes::new(MSS));
}

#[test]
fn a_rate_is_the_application_s_until_what_was_out_as_it_had_nothing_more_is_delivered() {
    // Five of ten that the window would take, then more than it takes. (ACK, whether the newest it covers left app-limited)
    let (mut a, told) = rated(1, MSS);
    widen(&mut a, 10_000, 0, 4000);
    for (ack, written, limited) in [(5000, 2000, false), (7000, 20_000, true), (17_000, 0, true), (27_000, 0, false)] {
        a.now += MS(40);
        a.hear(ack, &[]);
        assert_eq!(told.lock().unwrap().last().unwrap().app_limited, limited, "{ack}");
        widen(&mut a, 10_000, 0, written);
    }
    let s = &a.end.sender;
    assert_eq!(s.rates.as_ref().unwrap().tags.first(), s.board.ring.first(), "what is acknowledged is kept no longer");
}

#[test]
fn the_last_segment_and_its_fin_ask_for_no_window_on_linux() {
    // `tcp_cwnd_test` of 6.1. Ten segments fill the window. (written beyond, what the peer takes of it, one of the ten is lost and
    // waits, ms to the next by pacing; what leaves as the flow is closed)
    use Stack::{Linux, Ns2};
    let rows: [(_, _, _, _, _, &[(u64, u32)]); 9] = [
        (Linux, 1000, 9000, false, 0, &[(10_000, 1000)]),
        (Linux, 300, 9000, false, 0, &[(10_000, 300)]),
        (Linux, 0, 9000, false, 0, &[(10_000, 0)]),
        (Linux, 1001, 9000, false, 0, &[]),
        (Linux, 1000, 0, false, 0, &[]),
        (Linux, 1000, 9000, true, 0, &[(10_000, 1000)]),
        (Linux, 1000, 9000, false, 1, &[]),
        (Linux, 1000, 9000, true, 1, &[]),
        (Ns2, 1000, 9000, false, 0, &[]),
    ];
    for (of, beyond, room, lost, pace, leaves) in rows {
        let config = Config { receive_window: Bytes::new(10 * MSS + room), ..stack(of) };
        let mut a = Alone::with(config, 10, Box::new(Plain { fixed: true }), 10 * MSS);
        a.end.write(a.now, beyond);
        assert_eq!(a.leaving(), []);
        let s = &mut a.end.sender;
        if lost {
            s.lose(s.board.ring.first());
            s.flow.cwnd = Bytes::new(2 * MSS);
        }
        if pace > 0 {
            (s.flow.pacing, s.pace_next) = (Some(units::Rate::from_mbps(8.0)), a.now + MS(pace));
        }
        a.end.close(a.now);
        assert_eq!(a.leaving(), leaves, "{of:?} {beyond} {room} {lost} {pace}");
    }
    // What is more than a segment gets there.
    let mut a = Alone::with(linux(), 10, Box::new(Plain { fixed: true }), 11_001);
    a.end.close(a.now);
    assert_eq!(a.hear(1000, &[]), [(10_000, 1000), (11_000, 1)]);
}
