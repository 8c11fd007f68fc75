//! What waits for a burst's worth of the window, and how long.

use super::alone::Alone;
use super::*;
use crate::Offload;
use crate::pair::Plain;
use alloc::boxed::Box;
use cc::Phase;
use units::{Bytes, Rate};

/// So many segments out, which fill the window, and bursts from now on.
fn bursting(config: Config, offload: Offload, window: u64, written: u64) -> Alone {
    let mut a = Alone::with(config, window, Box::new(Plain { fixed: true }), window * MSS);
    a.end.sender.config.offload = offload;
    a.end.sender.ways.bursts = true;
    a.end.write(a.now, written);
    assert_eq!(a.leaving(), []);
    a
}

#[test]
fn a_third_of_the_window_a_burst_or_all_there_is_goes_at_once() {
    // Linux' `tcp_tso_should_defer`: room for segments, against a third that is not rounded. (window, longest burst, written, ACK
    // in segments, segments that leave)
    use crate::ENDLESS;
    for (window, most, written, ack, leave) in [
        (9, 44, ENDLESS, 2, 0),
        (9, 44, ENDLESS, 3, 3),
        (10, 44, ENDLESS, 3, 0),
        (10, 44, ENDLESS, 4, 4),
        (11, 44, ENDLESS, 4, 4),
        (12, 44, ENDLESS, 4, 4),
        (13, 44, ENDLESS, 4, 0),
        (2, 44, ENDLESS, 1, 1),
        (12, 3, ENDLESS, 2, 0),
        (12, 3, ENDLESS, 3, 3),
        (12, 3, ENDLESS, 5, 3), // two more wait for a third
        (12, 3, ENDLESS, 6, 6),
        (12, 44, 3000, 2, 0),
        (12, 44, 2001, 2, 0),
        (12, 44, 2000, 2, 2),
        (12, 44, 1500, 2, 2),
        (12, 44, 1000, 1, 1),
        (12, 44, ENDLESS, 12, 12), // nothing is out
    ] {
        let mut a = bursting(linux(), Offload::Burst(most), window, written);
        assert_eq!(a.hear(ack * MSS, &[]).len(), leave, "{window} {most} {written} {ack}");
    }
}

#[test]
fn the_third_is_of_the_peer_s_window_if_that_is_smaller() {
    // `tcp_tso_should_defer`: `min(snd_wnd, cwnd)`. Twelve of twelve are out. (the peer's window in bytes, cwnd in segments, ACK
    // in segments, segments that leave)
    for (peer, window, ack, leave) in [
        (12_000, 60, 3, 0),
        (12_000, 60, 4, 4),
        (12_000, 12, 4, 4),
        (12_999, 60, 4, 4), // 4999 of 4333
        (12_000, 60, 5, 5),
    ] {
        let config = Config { receive_window: Bytes::new(peer), ..linux() };
        let mut a = bursting(config, Offload::Burst(44), 12, crate::ENDLESS);
        a.end.flow_mut().cwnd = Bytes::new(window * MSS);
        a.now += MS(39);
        let s = Segment { seq: 1, ack: 1 + ack * MSS, window: peer as u32, flags: Flags::ACK, ..Segment::default() };
        a.end.on_segment(a.now, &s);
        assert_eq!(a.leaving().len(), leave, "{peer} {window} {ack}");
    }
}

#[test]
fn a_burst_is_over_with_what_there_was_to_send() {
    // Of a window of twelve, by a pace of a segment a millisecond. (written at once, then with the ACK of all, what leaves then)
    for (first, then, leave) in [(2, 5, 0), (2, 0, 0), (12, 5, 0)] {
        let mut a = bursting(linux(), Offload::Burst(44), 12, first * MSS);
        a.end.flow_mut().pacing = Some(Rate::from_mbps(8.0));
        a.now += MS(39);
        assert_eq!(a.hear(12 * MSS, &[]).len(), first as usize);
        assert_eq!(a.end.sender.burst_left, 0, "{first}");
        a.end.write(a.now, then * MSS);
        assert_eq!(a.leaving().len(), leave, "{first} {then}");
    }
}

#[test]
fn the_last_segment_waits_for_no_burst() {
    // 400 bytes and a FIN, or a FIN alone, where the window has no room for a segment.
    for written in [400, 0] {
        let mut a = bursting(linux(), Offload::Burst(8), 12, written);
        a.end.flow_mut().cwnd = Bytes::new(12 * MSS + 500);
        a.end.close(a.now);
        assert_eq!(a.leaving(), [(12_000, written as u32)]);
    }
}

#[test]
fn who_waits_for_the_peer_s_window_does_not_wait_for_its_own() {
    // Of twelve ten are out, so that four are wanted. (what more the peer takes, whether the window is the limit)
    for (room, limited) in [(3000, true), (2001, true), (2000, false), (1000, false)] {
        let config = Config { receive_window: Bytes::new(10 * MSS + room), ..linux() };
        let mut a = bursting(config, Offload::Burst(8), 10, 0);
        a.end.flow_mut().cwnd = Bytes::new(12 * MSS);
        (a.end.sender.limited, a.end.flow_mut().ssthresh) = (false, Bytes::ZERO);
        a.end.write(a.now, 50 * MSS);
        assert_eq!(a.leaving(), []);
        assert_eq!(a.end.sender.is_window_limited(), limited, "{room}");
    }
}

#[test]
fn linux_waits_for_a_burst_only_within_a_millisecond_and_where_an_ack_is_near() {
    // `tcp_tso_should_defer`. (µs since something left, and since the first outstanding did, of an RTT of 40 ms)
    for (last, oldest, phase, waits) in [
        (1000, 40_000, Phase::Open, true),
        (1001, 40_000, Phase::Open, false),
        (0, 20_000, Phase::Open, true),
        (0, 19_999, Phase::Open, false),
        (0, 40_000, Phase::Reduced, true),
        (0, 40_000, Phase::Recovery, false),
        (0, 40_000, Phase::Loss, false),
    ] {
        let mut a = bursting(linux(), Offload::Auto, 30, 90 * MSS);
        a.now += MS(39);
        assert_eq!(a.hear(2000, &[]).len(), 2, "a burst of two");
        let s = &mut a.end.sender;
        let ago = |us| AT(2000) - Duration::from_micros(us);
        let first = s.board.ring.first();
        s.board.ring.get_mut(first).sent_at = ago(oldest);
        (s.last_sent, s.flow.phase) = (ago(last), phase);
        s.flow.cwnd = Bytes::new(31 * MSS);
        (s.asleep, a.now) = (false, AT(2000));
        assert_eq!(a.leaving().is_empty(), waits, "{last} {oldest} {phase:?}");
    }
}

#[test]
fn the_longest_burst_of_linux_leaves_room_for_its_headers() {
    // `sk_setup_caps`: 65,536 less `MAX_TCP_HEADER` of 320 and one.
    let mut a = Alone::new(linux(), 1);
    a.end.sender.mss = 1;
    assert_eq!(a.end.sender.auto_burst(), 65_215);
}

#[test]
fn with_nothing_out_no_ack_is_to_be_waited_for() {
    // The peer takes two; the window's third would be four.
    let config = Config { receive_window: Bytes::new(2 * MSS), ..linux() };
    let mut a = bursting(config, Offload::Burst(8), 2, 50 * MSS);
    a.end.flow_mut().cwnd = Bytes::new(12 * MSS);
    a.end.on_segment(a.now, &Segment { seq: 1, ack: 2001, window: 2000, flags: Flags::ACK, ..Segment::default() });
    assert_eq!(a.leaving(), [(2000, 1000), (3000, 1000)]);
}

#[test]
fn a_rate_of_the_algorithm_s_own_makes_bursts_and_that_of_the_host_does_not() {
    // 80 Mbit/s for a millisecond, whether the host would pace or not, and 1 MB/s by the window; below `bbr_min_tso_rate` one.
    for (host, own, segments) in [
        (false, Some(80.0), 9),
        (true, Some(80.0), 9),
        (true, None, 2),
        (false, Some(1.1), 1),
        (true, Some(1.1), 1),
        (false, Some(1.2), 2),
    ] {
        let mut a = Alone::new(Config { pacing: host, ..linux() }, 10);
        let flow = a.end.flow_mut();
        (flow.srtt, flow.min_rtt, flow.cwnd) = (MS(40), MS(40), Bytes::new(20 * MSS));
        flow.pacing = own.map(Rate::from_mbps);
        if host {
            a.end.sender.pace_window();
        }
        assert_eq!(a.end.sender.auto_burst(), segments, "{host}, {own:?}");
    }
}

#[test]
fn the_host_s_pace_steps_back_for_a_rate_of_the_algorithm_s_own_and_comes_back_after_it() {
    // The algorithm's, or its slow start's, that comes, changes, and goes: paced start has one until it is over. (what it sets
    // before an ACK, if it does, the rate after it in Mbit/s, whose that is)
    let mut a = Alone::new(Config { pacing: true, ..linux() }, 10);
    let flow = a.end.flow_mut();
    (flow.srtt, flow.cwnd, flow.ssthresh) = (MS(40), Bytes::new(20 * MSS), Bytes::new(20 * MSS));
    for (sets, mbps, own) in [
        (None, 4.8, false),
        (None, 4.8, false),
        (Some(Some(3.0)), 3.0, true),
        (None, 3.0, true),
        (Some(Some(4.8)), 4.8, true),
        (None, 4.8, true),
        (Some(None), 4.8, false),
        (Some(Some(9.0)), 9.0, true),
    ] {
        if let Some(rate) = sets {
            a.end.flow_mut().pacing = rate.map(Rate::from_mbps);
        }
        a.end.sender.pace_window();
        let now = (a.end.flow().pacing, a.end.sender.has_own_rate());
        assert_eq!(now, (Some(Rate::from_mbps(mbps)), own), "{sets:?}");
    }
    // A window that grew is the host's to follow, not where the algorithm has a rate.
    for (own, mbps) in [(Some(9.0), 9.0), (None, 9.6)] {
        let flow = a.end.flow_mut();
        (flow.cwnd, flow.ssthresh) = (Bytes::new(40 * MSS), Bytes::new(40 * MSS));
        flow.pacing = own.map(Rate::from_mbps);
        a.end.sender.pace_window();
        assert_eq!(a.end.flow().pacing, Some(Rate::from_mbps(mbps)), "{own:?}");
    }
}

#[test]
fn what_left_without_a_pace_keeps_nothing_waiting() {
    // Linux' `tcp_update_skb_after_send` moves `tcp_wstamp_ns` on where the flow is paced; FreeBSD 11 paces nothing, windows
    // below a segment neither.
    let mut a = Alone::new(linux(), 10);
    a.now += MS(39);
    assert_eq!(a.hear(1000, &[]).len(), 1);
    a.end.flow_mut().pacing = Some(Rate::from_mbps(8.0));
    assert_eq!(a.hear(2000, &[]).len(), 1);
    let mut a = Alone::with(stack(Stack::FreeBsd11), 1, Box::new(Plain { fixed: true }), MSS);
    a.now += MS(39);
    a.hear(1000, &[]);
    (a.end.flow_mut().cwnd, a.end.flow_mut().floor) = (Bytes::new(600), Bytes::new(1));
    for ack in [1000, 1500] {
        a.end.write(a.now, 500);
        assert_eq!(a.hear(ack, &[]), [(ack, 500)]);
    }
}
