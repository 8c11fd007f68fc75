//! Tail probes: what goes, whatever window and pacing say, and what stays as it was.

use super::alone::Alone;
use super::*;
use crate::pair::Plain;
use crate::sender::Fin;
use alloc::boxed::Box;
use cc::Phase;
use units::{Bytes, Rate};

/// Ten segments out that fill the window; so much waits, of which the peer's window takes `room`.
fn waiting(config: Config, unsent: u64, room: u64) -> Alone {
    let config = Config { receive_window: Bytes::new(10 * MSS + room), loss: LossDetection::RackTlp, ..config };
    let mut a = Alone::with(config, 10, Box::new(Plain { fixed: true }), 10 * MSS);
    a.end.flow_mut().cwnd = Bytes::new(10 * MSS);
    a.end.write(a.now, unsent);
    assert_eq!(a.leaving(), []);
    a
}

#[test]
fn a_probe_is_of_new_data_if_the_peer_takes_it_and_else_the_last_segment_again() {
    // RFC 8985, section 7.3: the window is no matter, nor that FreeBSD's segments count with their options.
    for of in [Stack::Linux, Stack::FreeBsd11] {
        for (unsent, room, probe) in [
            (0, 0, (9000, 1000)),
            (1000, 1000, (10_000, 1000)),
            (1000, 999, (9000, 1000)),
            (500, 500, (10_000, 500)),
            (500, 499, (9000, 1000)),
            (3000, 5000, (10_000, 1000)),
        ] {
            let mut a = waiting(stack(of), unsent, room);
            assert_eq!(a.ring(), [probe], "{of:?}, {unsent}, {room}");
            let again = probe.0 < 10_000;
            let s = &a.end.sender;
            assert_eq!((s.probe.again, s.stats.retransmissions), (again, u64::from(again)));
            assert_eq!((s.probe.high, s.stats.tail_probes), (s.nxt, 1));
            assert_eq!((s.flow.cwnd, s.flow.app_limited), (Bytes::new(10 * MSS), false), "the window is full");
            assert_eq!(s.board.recount(), s.board.sums());
            // Nothing is to be probed but by the retransmission's timer, which begins anew.
            let waits = a.end.next_timer().since(a.now);
            assert!(may_wait(of, waits, a.end.rto()), "{of:?}, {unsent}, {room}: {waits:?}");
        }
    }
}

#[test]
fn a_probe_is_of_the_last_segment_that_has_not_been_acknowledged_selectively() {
    let mut a = waiting(linux(), 0, 0);
    let board = &mut a.end.sender.board;
    let (last, mut delivery) = (*board.ring.get(board.ring.next() - 1), crate::scoreboard::Delivery::new(0));
    board.sack(last.seq, last.seq + MSS, &mut delivery, |_, _| {});
    assert_eq!(a.ring(), [(8000, 1000)]);
    assert_eq!(a.end.sender.board.recount(), a.end.sender.board.sums());
    a.hear(10_000, &[]);
    assert_eq!(a.end.sender.board.sums(), [0; 6]);
}

#[test]
fn a_probe_takes_the_fin_along() {
    // Linux' waits for no window.
    let mut a = waiting(Config { loss: LossDetection::RackTlp, ..stack(Stack::Ns2) }, 1000, 5000);
    a.end.close(a.now);
    assert_eq!((a.leaving().len(), a.end.sender.fin), (0, Fin::Queued));
    assert_eq!((a.ring(), a.end.sender.fin), ([(10_000, 1000)].to_vec(), Fin::Sent));
}

#[test]
fn a_probe_waits_for_no_pace_and_what_follows_waits_for_both() {
    // A segment in 80 ms. (pace before in ms from the probe, and after it)
    for (before, after) in [(500, 500), (90, 90), (70, 80), (0, 80)] {
        let mut a = waiting(linux(), 3000, 5000);
        let at = a.end.next_timer();
        a.end.flow_mut().pacing = Some(Rate::from_bps(100_000));
        a.end.sender.pace_next = at + MS(before);
        a.end.sender.burst_left = 3;
        assert_eq!((a.ring(), a.now), ([(10_000, 1000)].to_vec(), at));
        let s = &a.end.sender;
        assert_eq!((s.pace_next.since(at), s.burst_left), (MS(after), 3), "{before}");
    }
}

#[test]
fn a_window_that_moves_is_no_answer_to_a_probe() {
    // `tcp_process_tlp_ack`: FLAG_NOT_DUP, of which FLAG_WIN_UPDATE is one. A duplicate of what the probe repeated is one.
    for (edge, out) in [(11_000, false), (20_000, true)] {
        let mut a = waiting(linux(), 0, 0);
        assert_eq!(a.ring(), [(9000, 1000)]);
        a.end.write(a.now, 1000);
        for edge in [11_000, edge] {
            let window = edge - 10_000;
            a.end.on_segment(a.now, &Segment { seq: 1, ack: 10_001, window, flags: Flags::ACK, ..Segment::default() });
            a.leaving();
        }
        assert_eq!(a.end.sender.probe.is_out(), out, "{edge}");
    }
}

#[test]
fn the_answer_to_a_probe_shows_that_the_timeout_after_it_was_needless() {
    // Linux' `tcp_send_loss_probe` leaves `retrans_stamp` alone, so that the timeout sets it. (what of it is echoed, undone)
    for (probe, undos) in [(true, 1), (false, 0)] {
        let mut a = Alone::with(linux(), 1, Box::new(Plain { fixed: true }), MSS);
        a.now += MS(39);
        a.hear(1000, &[]);
        a.end.write(a.now, MSS);
        assert_eq!(a.leaving(), [(1000, 1000)]);
        let sent = [a.ring(), a.ring()].concat();
        assert_eq!((sent, a.end.stats().timeouts), ([(1000, 1000); 2].to_vec(), 1));
        let timed_out = a.now;
        let stamp = if probe { timed_out - MS(100) } else { timed_out };
        a.now += MS(10);
        let ts_ecr = a.end.sender.clock.read(stamp);
        let flags = Flags::ACK.with(Flags::TIMESTAMP);
        a.end.on_segment(a.now, &Segment { seq: 1, ack: 2001, window: 1 << 20, flags, ts_ecr, ..Segment::default() });
        assert_eq!(a.end.stats().undos, undos, "{probe}");
    }
}

#[test]
fn the_timer_begins_anew_with_what_the_first_segment_is_sent_again_and_with_no_other() {
    // RFC 6675, section 5.1; Linux' `tcp_xmit_retransmit_queue` asks `skb == rtx_head`. By count, so that there is one timer.
    for loss in [LossDetection::Sack, LossDetection::NewReno] {
        let mut a = Alone::new(with_loss(loss), 12);
        let [_, _, first] = a.three(0, 1000);
        assert_eq!((first, a.end.next_timer()), ([(0, 1000)].to_vec(), a.now + a.end.rto()), "{loss:?}");
    }
    let mut a = Alone::new(stack(Stack::Ns2), 12);
    let [_, _, first] = a.three(0, 1000);
    assert_eq!(first, [(0, 1000)]);
    let due = a.now + a.end.rto();
    assert_eq!(a.end.next_timer(), due);
    a.end.flow_mut().cwnd = Bytes::new(30 * MSS);
    a.end.truncate(a.now);
    a.now += MS(20);
    assert_eq!(a.hear(0, &[(5000, 8000), (1000, 4000)])[0], (4000, 1000));
    assert_eq!(a.end.next_timer(), due);
}

#[test]
fn a_probe_set_after_a_send_comes_no_later_than_the_first_segments_timeout_would() {
    // Linux' `tcp_rto_delta_us`: from when the first segment out left, though an ACK has restarted the timer since.
    let ack = |a: &mut Alone, at: u64, bytes: u64| {
        a.now = AT(at - 1);
        a.hear(bytes, &[])
    };
    let write = |a: &mut Alone, at: u64| {
        a.now = AT(at);
        a.end.write(a.now, MSS);
        assert_eq!(a.leaving().len(), 1);
    };
    let config = Config { timestamps: false, ..linux() };
    let mut a = Alone::with(config, 1, Box::new(Plain { fixed: true }), MSS);
    a.end.flow_mut().cwnd = Bytes::new(10 * MSS);
    ack(&mut a, 1300, MSS);
    write(&mut a, 1300);
    write(&mut a, 1301);
    ack(&mut a, 1650, 2 * MSS);
    assert_eq!(a.end.next_timer().since(a.now), a.end.rto().min(a.end.flow().srtt * 2 + MS(200)), "after an ACK");
    write(&mut a, 1660);
    assert_eq!(a.end.next_timer(), AT(1301) + a.end.rto());
    assert!(a.end.rto() < a.end.flow().srtt * 2 + MS(361), "sooner than two round trips from now");
    // If that is past, it says nothing: a timeout would have come.
    a.now = AT(1301) + a.end.rto();
    a.end.sender.probe_at = Instant::MAX;
    let later = a.now.as_nanos() / 1_000_000 + 1;
    write(&mut a, later);
    assert_eq!(a.end.next_timer(), a.end.sender.rto_at);
}

#[test]
fn a_probe_of_the_last_segment_is_no_retransmission_in_flight_on_linux() {
    // `__tcp_retransmit_skb` sets `TCPCB_EVER_RETRANS` alone: neither `retrans_out` nor `prr_out`. But `tcp_init_undo` counts it.
    for (of, in_flight, resent) in [(Stack::Linux, 10, 0), (Stack::FreeBsd11, 11, 1)] {
        let mut a = waiting(stack(of), 0, 0);
        (a.end.sender.prr.on, a.end.sender.prr.out) = (true, 5 * MSS);
        assert_eq!(a.ring(), [(9000, 1000)]);
        let s = &mut a.end.sender;
        s.prr.on = false;
        assert_eq!((s.board.in_flight, s.board.resent), (in_flight * MSS, resent * MSS), "{of:?}");
        assert_eq!((s.prr.out, s.flow.in_flight.get()), ((5 + resent) * MSS, in_flight * MSS), "{of:?}");
        assert_eq!(s.board.recount(), s.board.sums());
        if of != Stack::Linux {
            continue;
        }
        // The probe arrives beyond nine that did not.
        a.now += MS(100);
        let again = a.hear(0, &[(9000, 10_000)]);
        assert_eq!(again[0], (0, 1000));
        let s = &a.end.sender;
        assert_eq!(s.board.recount(), s.board.sums());
        assert_eq!(s.undo.unexplained, again.len() as u32 + 1);
    }
}

#[test]
fn a_probe_of_what_was_sent_again_already_is_found_lost_like_any_retransmission() {
    let mut a = waiting(linux(), 0, 0);
    let s = &mut a.end.sender;
    let last = s.board.ring.next() - 1;
    s.lose(last);
    s.board.resend(last, AT(1001));
    s.board.resent_order.push_back((last, s.board.ring.get(last).turn()));
    (s.probe.due, s.asleep) = (true, false);
    a.now = AT(1500);
    assert_eq!(a.leaving(), [(9000, 1000)]);
    let s = &mut a.end.sender;
    assert_eq!((s.board.resent, s.board.recount()), (MSS, s.board.sums()));
    s.rack.newest = crate::scoreboard::Turn { at: AT(1501), order: 100 };
    s.rack.rtt = MS(1);
    s.detect_by_time(AT(1600), true);
    assert_eq!(s.board.resent, 0);
}

/// Ten segments of which the last went again as a probe, and all are acknowledged; the one after them is out.
fn probed(phase: Phase) -> Alone {
    let mut a = waiting(linux(), 0, 0);
    let s = &mut a.end.sender;
    (s.flow.phase, s.recover, s.prr.on) = (phase, s.nxt, phase == Phase::Reduced);
    assert_eq!(a.ring(), [(9000, 1000)]);
    a.end.write(a.now, MSS);
    assert_eq!(a.hear(10_000, &[]), [(10_000, 1000)]);
    assert!(a.end.sender.probe.is_out(), "one ACK says nothing: there may be two");
    a.end.flow_mut().cwnd = Bytes::new(10 * MSS);
    a
}

#[test]
fn only_a_report_of_the_probe_itself_shows_that_it_was_needless() {
    // Linux' FLAG_DSACK_TLP: one segment that ends where the probe did; other segments may have come twice as well. (reported,
    // window and threshold)
    for (reported, cwnd, threshold) in [
        (None, 5 * MSS, 5 * MSS),
        (Some((9000, 10_000)), 10 * MSS, 10 * MSS),
        (Some((3000, 4000)), 5 * MSS, 5 * MSS),
        (Some((8000, 10_000)), 5 * MSS, 5 * MSS),
    ] {
        let mut a = probed(Phase::Open);
        let flags = if reported.is_some() { Flags::ACK.with(Flags::DSACK) } else { Flags::ACK };
        a.hear_with(11_000, reported.as_slice(), flags);
        let f = a.end.flow();
        assert_eq!((f.cwnd.get(), f.ssthresh.get()), (cwnd, threshold), "{reported:?}");
        assert!(!a.end.sender.probe.is_out(), "{reported:?}");
    }
}

#[test]
fn a_loss_that_a_probe_repaired_ends_a_reduction_with_one_of_its_own() {
    // `tcp_process_tlp_ack`: `tcp_init_cwnd_reduction`, whatever is under way, then `tcp_end_cwnd_reduction` at once.
    for phase in [Phase::Open, Phase::Reduced] {
        let mut a = probed(phase);
        a.threshold(8 * MSS);
        assert_eq!(a.phase(), phase);
        a.hear(11_000, &[]);
        let f = a.end.flow();
        assert_eq!((f.cwnd.get(), f.ssthresh.get(), f.phase), (5 * MSS, 5 * MSS, Phase::Open), "{phase:?}");
        assert!(!a.end.sender.prr.on, "{phase:?}");
    }
}
