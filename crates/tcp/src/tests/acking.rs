//! What an acknowledgement comes to: for whom it counts, what it may grow, and what it leaves of the window.

use super::alone::{Alone, Owner};
use super::*;
use crate::pair::{Fate, Pair, Plain};
use crate::{DelayedAck, Endpoint};
use alloc::boxed::Box;
use cc::Phase;
use units::Bytes;

#[test]
fn what_earns_growth_is_what_was_newly_delivered_or_acknowledged_by_stack_and_phase() {
    // (host, phase, how late something was; earned of an ACK of 5000 that delivers 2000, and of 2000 delivered beyond a hole).
    // Linux' `tcp_may_raise_cwnd`: beyond a hole where more than three were late. FreeBSD bounds it itself; RFC 3465, section 2.3.
    let newreno = || with_loss(LossDetection::NewReno);
    for (config, phase, late, in_order, beyond) in [
        (linux(), Phase::Open, 0, 2000, 0),
        (linux(), Phase::Open, 3000, 2000, 0),
        (linux(), Phase::Open, 3001, 2000, 2000),
        (linux(), Phase::Loss, 0, 2000, 0),
        (linux(), Phase::Loss, 3001, 2000, 2000),
        (linux(), Phase::Recovery, 3001, 5000, 0),
        (linux(), Phase::Reduced, 3001, 5000, 0),
        (stack(Stack::Ns2), Phase::Open, 3001, 5000, 0),
        (stack(Stack::Ns2), Phase::Loss, 3001, 2000, 0),
        (stack(Stack::FreeBsd11), Phase::Open, 0, 5000, 0),
        (stack(Stack::FreeBsd11), Phase::Loss, 0, 5000, 0),
        (newreno(), Phase::Open, 0, 5000, 0),
        (newreno(), Phase::Loss, 0, 1000, 0),
        (newreno(), Phase::Recovery, 0, 5000, 0),
    ] {
        let mut a = Alone::new(config.clone(), 10);
        let s = &mut a.end.sender;
        (s.flow.phase, s.rack.most_late) = (phase, late);
        let earned = [s.earned(5000, 2000), s.earned(0, 2000)];
        assert_eq!(earned, [in_order, beyond], "{:?} {phase:?} {late}", config.loss);
    }
}

#[test]
fn a_window_under_the_floor_is_lifted_outside_of_repairs_and_reductions() {
    for (phase, before, after) in [
        (Phase::Open, 3999, 4000),
        (Phase::Open, 4001, 4001),
        (Phase::Reduced, 3999, 3999),
        (Phase::Recovery, 3999, 3999),
        (Phase::Loss, 3999, 3999),
    ] {
        let mut a = Alone::new(linux(), 10);
        let s = &mut a.end.sender;
        (s.flow.phase, s.flow.cwnd, s.flow.floor) = (phase, Bytes::new(before), Bytes::new(4000));
        s.after_algorithm();
        assert_eq!(s.flow.cwnd, Bytes::new(after), "{phase:?}, {before}");
    }
}

#[test]
fn a_connection_begins_with_whole_payloads_and_segments_as_the_algorithm_counts_them() {
    // (host, timestamps, initial window; window, segment)
    for (of, timestamps, segments, window, unit) in [
        (Stack::Linux, true, 10, 10_000, 1000),
        (Stack::Linux, true, 0, 1000, 1000),
        (Stack::FreeBsd11, true, 10, 10_000, 1012),
        (Stack::FreeBsd11, false, 10, 10_000, 1000), // no timestamps, no options
        (Stack::Ns2, false, 2, 2000, 1000),
    ] {
        let config = Config { timestamps, initial_window: segments, ..stack(of) };
        let end = Endpoint::connect(config, &mut |_| Box::new(Plain::default()));
        let flow = end.flow();
        assert_eq!((flow.cwnd.get(), flow.mss.get()), (window, unit), "{of:?}, {timestamps}, {segments}");
        assert_eq!(flow.slow_start_at_ssthresh, of == Stack::FreeBsd11);
        assert_eq!(end.next_timer(), Instant::MAX, "no alarm before it is up");
    }
}

#[test]
fn a_fin_is_no_payload_and_its_ack_is_the_end() {
    for written in [0, 1, 2500] {
        let mut p = Pair::new(Config { delayed_ack: DelayedAck::None, ..linux() }, |_, _, _| Fate::Pass);
        p.ends[0].write(p.now, written);
        p.run(MS(500));
        assert_eq!(p.ends[0].finished_at(), None);
        p.ends[0].close(p.now);
        p.run(MS(1000));
        assert_eq!(p.heard.iter().map(|h| h.1.acked).sum::<u64>(), written, "{written}");
        assert_eq!((p.ends[0].finished_at(), p.ends[0].acked()), (Some(AT(540)), written), "{written}");
    }
}

#[test]
fn an_old_ack_tells_by_its_ranges_only_and_one_with_data_by_what_it_acknowledges() {
    // Ten out, and the first two acknowledged. (ACK, payload, range in segments; delivered by it)
    for (ack, len, range, delivered) in [
        (1, 0, None, 0),
        (1, 0, Some((4, 5)), 1),
        (2, 0, Some((4, 6)), 2),
        (2, 500, None, 0),
        (2, 500, Some((4, 5)), 1),
        (4, 500, None, 2),
        (12, 0, None, 10),
        (13, 0, None, 0), // more than was sent
        (13, 0, Some((4, 5)), 0),
    ] {
        let mut a = Alone::new(linux(), 10);
        assert_eq!(a.hear(2000, &[]).len(), 2);
        let before = a.end.flow().delivered;
        let mut s =
            Segment { seq: 1, ack: 1 + ack * MSS, len, window: 1 << 20, flags: Flags::ACK, ..Segment::default() };
        if let Some((from, to)) = range {
            s.sack.blocks[0] = (((from - ack as i64) * 1000) as i32, ((to - from) * 1000) as u32);
        }
        a.end.on_segment(a.now + MS(1), &s);
        assert_eq!(a.end.flow().delivered, before + Bytes::new(delivered * MSS), "{ack} {len} {range:?}");
        let duplicate = ack == 2 && len == 0;
        assert_eq!(a.end.stats().duplicate_acks, u64::from(duplicate), "{ack} {len} {range:?}");
    }
}

#[test]
fn the_peer_s_window_is_what_is_left_of_it_and_its_edge_goes_forward_only() {
    let mut a = Alone::new(Config { receive_window: Bytes::new(20_000), ..linux() }, 10);
    for (ack, window, left) in
        [(0, 20_000, 20_000), (1000, 19_000, 19_000), (2000, 10_000, 18_000), (3000, 30_000, 30_000)]
    {
        a.end.on_segment(a.now, &Segment { seq: 1, ack: 1 + ack, window, flags: Flags::ACK, ..Segment::default() });
        assert_eq!(a.end.flow().receive_window, Bytes::new(left), "{ack}");
        assert_eq!(a.end.sender.edge, 1 + ack + left);
    }
}

#[test]
fn what_is_in_flight_after_a_repair_is_all_that_is_out_where_there_is_no_pipe() {
    // Beyond the repair a segment arrived out of order.
    for (of, in_flight) in [(Stack::Ns2, 1000), (Stack::FreeBsd11, 2000)] {
        let mut a = Alone::with(stack(of), 10, Box::new(Owner), crate::ENDLESS);
        let s = &mut a.end.sender;
        s.board.acknowledge(8000 + 1, &mut crate::scoreboard::Delivery::new(0), |_| false, |_, _| ());
        s.board.sack(9001, 10_001, &mut crate::scoreboard::Delivery::new(0), |_, _| ());
        s.flow.acked_to = 8001;
        s.end_episode();
        assert_eq!(s.flow.in_flight, Bytes::new(in_flight), "{of:?}");
    }
}
