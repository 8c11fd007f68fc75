//! What Linux does around losses, marks and windows that are not used, for algorithms that take part in it.

use super::*;
use crate::Endpoint;
use crate::pair::{Fate, Pair};
use alloc::boxed::Box;
use alloc::vec::Vec;
use cc::{CongestionControl, Flow, How, Phase, causes};
use units::{Bytes, Rng};

fn built(spec: &str, flow: &mut Flow) -> Box<dyn CongestionControl> {
    cc::build(&spec.parse().unwrap(), flow, Rng::new(1, 0, 0)).unwrap()
}

/// A connection that has sent all that a window of so many segments allows, at its threshold.
fn sending(spec: &str, config: Config, window: u64) -> (Endpoint, Instant) {
    let mut end = Endpoint::connect(Config { handshake: false, ..config }, &mut |flow| {
        (flow.cwnd, flow.ssthresh) = (flow.mss * window, flow.mss * window);
        built(spec, flow)
    });
    let now = AT(1000);
    end.write(now, crate::ENDLESS);
    drain(&mut end, now);
    (end, now)
}

fn drain(end: &mut Endpoint, now: Instant) -> Vec<Segment> {
    core::iter::from_fn(|| end.poll_send(now)).collect()
}

/// An ACK of so many bytes, with marks and one range beyond it; what leaves then.
fn hear(end: &mut Endpoint, now: Instant, ack: u64, ce: u32, beyond: Option<(u64, u64)>) -> Vec<Segment> {
    let mut s =
        Segment { seq: 1, ack: 1 + ack, window: 1 << 20, flags: Flags::ACK, ce_bytes: ce, ..Segment::default() };
    if let Some((from, to)) = beyond {
        s.sack.blocks[0] = ((from - ack) as i32, (to - from) as u32);
    }
    end.on_segment(now, &s);
    drain(end, now)
}

#[test]
fn after_a_timeout_the_first_segment_goes_again_though_later_ones_are_on_their_way() {
    // An application writes now and then, one segment each time; of the first alone the ACK arrives.
    for spec in ["newreno", "cubic(reference=linux)", "bbr", "bbr3"] {
        let config = Config { handshake: false, timestamps: false, rate_samples: true, ..linux() };
        let mut end = Endpoint::connect(config, &mut |flow| built(spec, flow));
        let mut writes = [1000, 1100, 1200, 1290, 1400, 1500, 1570, 1575].map(AT).into_iter().peekable();
        let (mut acked, mut sent) = (false, Vec::new());
        loop {
            let ack_at = if acked { Instant::MAX } else { AT(1040) };
            let now = end.next_timer().min(ack_at).min(writes.peek().copied().unwrap_or(Instant::MAX));
            if now > AT(1600) {
                break;
            }
            if writes.next_if_eq(&now).is_some() {
                end.write(now, MSS);
                sent.extend(drain(&mut end, now).iter().map(|s| (now, s.seq)));
            } else if ack_at == now {
                acked = true;
                hear(&mut end, now, MSS, 0, None);
            } else {
                end.on_timer(now);
                sent.extend(drain(&mut end, now).iter().map(|s| (now, s.seq)));
            }
        }
        assert_eq!(end.stats().timeouts, 1, "{spec}");
        let again: Vec<_> = sent.iter().filter(|(at, seq)| *seq == 1 + MSS && *at > AT(1100)).collect();
        assert!(again.iter().any(|(at, _)| *at > AT(1400) && *at < AT(1600)), "{spec}: {sent:?}");
    }
}

#[test]
fn who_lives_by_marks_answers_losses_though_a_mark_began_the_reduction() {
    // With an α of 0.1 the mark takes a twentieth, with one of 1 as much as a loss. Then 39 of a hundred segments are found lost.
    for (spec, marked, lost) in [
        ("newreno", 50, 50),
        ("dctcp(alpha=0.1)", 95, 50),
        ("dctcp(alpha=0.1, reference=linux)", 95, 50),
        ("prague", 50, 49),
    ] {
        let accurate_ecn = spec != "newreno";
        let (mut end, mut now) = sending(spec, Config { ecn: true, accurate_ecn, ..linux() }, 100);
        now += MS(40);
        let mut first = Segment {
            seq: 1,
            ack: 1 + MSS,
            window: 1 << 20,
            flags: Flags::ACK,
            ce_bytes: MSS as u32,
            ..Segment::default()
        };
        if !accurate_ecn {
            first.flags = first.flags.with(Flags::ECE);
        }
        end.on_segment(now, &first);
        drain(&mut end, now);
        assert_eq!((end.flow().phase, end.flow().ssthresh.get() / MSS), (Phase::Reduced, marked), "{spec}");
        let mut repaired = Vec::new();
        for n in 1..=20 {
            now += MS(1);
            repaired.extend(hear(&mut end, now, MSS, MSS as u32, Some((40 * MSS, (40 + n) * MSS))));
        }
        let threshold = end.flow().ssthresh.get() / MSS;
        assert_eq!((end.flow().phase, threshold), (Phase::Recovery, lost), "{spec}");
        // The reduction goes on from the window that the mark found, and nothing takes back what a mark has proven.
        let sender = &end.sender;
        assert_eq!((sender.prr.prior, sender.undo.marker > 0 && !sender.undo.proven), (100 * MSS, false), "{spec}");
        let again: Vec<_> = repaired.iter().filter(|s| s.seq < 1 + 40 * MSS).collect();
        assert!(
            !again.is_empty() && again.iter().all(|s| (s.ecn != 0) == accurate_ecn),
            "{spec}: repairs that can be marked"
        );
    }
}

#[test]
fn a_reduction_without_losses_lets_one_segment_go_at_once() {
    // From 100 to 50 segments: one for the first of every two acknowledged, since half a segment counts as a whole one.
    let (mut end, mut now) = sending("newreno", Config { ecn: true, ..linux() }, 100);
    let left: Vec<usize> = (1..=6)
        .map(|n| {
            now += MS(1);
            let flags = Flags::ACK.with(Flags::ECE);
            end.on_segment(now, &Segment { seq: 1, ack: 1 + MSS * n, window: 1 << 20, flags, ..Segment::default() });
            drain(&mut end, now).len()
        })
        .collect();
    assert_eq!(left, [1, 0, 1, 0, 1, 0]);
}

#[test]
fn a_tail_probe_waits_for_a_delayed_ack_of_one_segment_not_of_few_bytes() {
    for (segments, wait) in [(1, 280), (2, 82), (3, 82)] {
        let (mut end, mut now) = (
            Endpoint::connect(Config { handshake: false, timestamps: false, ..linux() }, &mut |flow| {
                built("newreno", flow)
            }),
            AT(1000),
        );
        let write = |end: &mut Endpoint, now| {
            end.write(now, 100);
            drain(end, now);
        };
        write(&mut end, now);
        now += MS(40);
        hear(&mut end, now, 100, 0, None);
        now += MS(60);
        (0..segments).for_each(|_| write(&mut end, now));
        // RFC 8985: twice the RTT of 40 ms, and 200 ms or 2.
        assert_eq!(end.next_timer().since(now), MS(wait).min(end.sender.rto_at.since(now)), "{segments}");
    }
}

#[test]
fn a_window_that_the_application_does_not_use_stays_as_long_as_acks_come() {
    // As in kernel 6.18, whose clock for forgetting it every ACK sets back (`tcp_cong_avoid`).
    let mut p = Pair::with(linux(), linux(), &mut |flow| built("newreno", flow), |_, _, _| Fate::Pass);
    p.service = MS(1);
    p.room = 200;
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(8_000));
    let now = p.now;
    p.ends[0].truncate(now);
    p.run(MS(8_300));
    let before = p.cwnd();
    for n in 1..=250 {
        p.ends[0].write(p.now, 2 * MSS);
        p.run(MS(8_300 + 40 * n));
    }
    assert_eq!(p.cwnd(), before);
}

#[test]
fn a_repair_within_a_reduction_ends_where_that_does_and_needless_it_leaves_the_window() {
    // Linux' `tcp_enter_recovery`: no `tcp_init_cwnd_reduction` where one is under way, but `tcp_init_undo`. A mark halves a
    // window of ten; then the third of the segments seems lost, with new data out beyond the reduction's end.
    for needless in [false, true] {
        let (mut end, mut now) = sending("newreno", Config { ecn: true, ..linux() }, 10);
        let mut hear = |end: &mut Endpoint, ms, ack, beyond: Option<(u64, u64)>, flags: Flags| {
            now += MS(ms);
            let mut s = Segment { seq: 1, ack: 1 + ack, window: 1 << 20, flags, ..Segment::default() };
            if let Some((from, to)) = beyond {
                s.sack.blocks[0] = ((from as i64 - ack as i64) as i32, (to - from) as u32);
            }
            end.on_segment(now, &s);
            drain(end, now)
        };
        hear(&mut end, 40, MSS, None, Flags::ACK.with(Flags::ECE));
        hear(&mut end, 1, 2 * MSS, None, Flags::ACK);
        let ends = end.sender.recover;
        assert_eq!((end.flow().phase, ends < end.sender.nxt), (Phase::Reduced, true));
        hear(&mut end, 5, 2 * MSS, Some((3 * MSS, 6 * MSS)), Flags::ACK);
        hear(&mut end, 1, 2 * MSS, Some((3 * MSS, 7 * MSS)), Flags::ACK);
        assert_eq!((end.flow().phase, end.sender.recover), (Phase::Recovery, ends));
        assert_eq!(end.stats().retransmissions, 1);
        if needless {
            let duplicate = Some((2 * MSS, 3 * MSS));
            hear(&mut end, 1, 7 * MSS, duplicate, Flags::ACK.with(Flags::DSACK));
            assert_eq!((end.flow().phase, end.stats().undos), (Phase::Open, 1));
            assert!(end.flow().cwnd <= Bytes::new(6 * MSS), "a mark proved the congestion");
        } else {
            hear(&mut end, 40, ends - 1, None, Flags::ACK);
            assert_eq!((end.flow().phase, end.stats().recoveries), (Phase::Open, 1));
        }
        assert_eq!(end.flow().ssthresh, Bytes::new(5 * MSS), "cut once");
    }
}

#[test]
fn a_reduction_is_entered_and_lasts_though_nothing_is_out() {
    // Linux' `tcp_enter_cwr` has no exception, and `tcp_fastretrans_alert` waits for what carried CWR. All ten segments are
    // acknowledged at once, by an ACK with an echo or after one.
    for at_once in [true, false] {
        let config = Config { ecn: true, handshake: false, ..linux() };
        let mut end = Endpoint::connect(config, &mut |flow| {
            (flow.cwnd, flow.ssthresh) = (flow.mss * 10, flow.mss * 10);
            built("newreno", flow)
        });
        let mut now = AT(1000);
        end.write(now, 10 * MSS);
        drain(&mut end, now);
        let mut hear = |end: &mut Endpoint, ack, flags: Flags| {
            now += MS(40);
            end.on_segment(now, &Segment { seq: 1, ack: 1 + ack, window: 1 << 20, flags, ..Segment::default() });
            now
        };
        let echo = Flags::ACK.with(Flags::ECE);
        if !at_once {
            hear(&mut end, 5 * MSS, echo);
        }
        let now = hear(&mut end, 10 * MSS, echo);
        // `tcp_cwnd_reduction`: as much as was delivered and one, up to the threshold.
        let (phase, threshold) = (end.flow().phase, end.flow().ssthresh);
        assert_eq!((phase, threshold, end.sender.recover), (Phase::Reduced, Bytes::new(5 * MSS), 1 + 10 * MSS));
        end.write(now, MSS);
        assert!(drain(&mut end, now)[0].flags.has(Flags::CWR));
        hear(&mut end, 11 * MSS, Flags::ACK);
        assert_eq!((end.flow().phase, end.flow().cwnd), (Phase::Open, Bytes::new(5 * MSS)), "{at_once}");
    }
}

#[test]
fn a_back_off_after_a_timeout_changes_nothing() {
    // Linux' `tcp_enter_cwr` acts below `TCP_CA_CWR` only; `tcp_cdg_cong_avoid` is called in `TCP_CA_Loss`, too.
    for (of, window, threshold, events) in [(Stack::Linux, 4, 5, 0), (Stack::Ns2, 2, 2, 1)] {
        let (mut end, _) = sending("newreno", stack(of), 10);
        while end.stats().timeouts == 0 {
            let now = end.next_timer();
            end.on_timer(now);
            drain(&mut end, now);
        }
        let flow = end.flow_mut();
        flow.cwnd = flow.mss * 4;
        flow.drain_events().for_each(drop);
        flow.reduce(flow.mss * 2, How::Prr, causes::DelayBackoff::default());
        end.sender.after_algorithm();
        let flow = end.flow_mut();
        assert_eq!((flow.phase, flow.cwnd, flow.ssthresh), (Phase::Loss, flow.mss * window, flow.mss * threshold));
        assert_eq!((flow.drain_events().count(), end.sender.undo.proven), (events, of == Stack::Linux), "{of:?}");
    }
}

#[test]
fn the_rtt_that_rack_keeps_is_of_the_highest_segment_whatever_the_order_of_the_blocks() {
    // Linux sorts the blocks before it walks (`tcp_sacktag_write_queue`). Ten segments left a millisecond apart.
    for swapped in [false, true] {
        let (mut end, now) = sending("newreno", linux(), 10);
        let s = &mut end.sender;
        let first = s.board.ring.first();
        (0..10).for_each(|n| s.board.ring.get_mut(first + n).sent_at = now + MS(n));
        let mut blocks = [(2 * MSS as i32, MSS as u32), (8 * MSS as i32, MSS as u32)];
        if swapped {
            blocks.reverse();
        }
        let mut ack = Segment { seq: 1, ack: 1, window: 1 << 20, flags: Flags::ACK, ..Segment::default() };
        ack.sack.blocks[..2].copy_from_slice(&blocks);
        end.on_segment(now + MS(50), &ack);
        assert_eq!(end.sender.rack.rtt, MS(42), "swapped: {swapped}");
    }
}
