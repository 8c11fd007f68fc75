//! When timers ring, and what a timeout leaves.

use super::alone::{Alone, Owner};
use super::*;
use crate::pair::Plain;
use crate::undo::Evidence;
use alloc::boxed::Box;
use alloc::vec::Vec;
use cc::{CauseKind, Phase};
use units::Bytes;

/// Ten segments, of which the first is acknowledged after 40 ms.
fn ten(loss: LossDetection) -> Alone {
    let mut a = Alone::new(with_loss(loss), 10);
    a.now += MS(39);
    assert_eq!(a.hear(1000, &[]), [(10_000, 1000)]);
    a
}

/// How long from now until the next timer rings.
fn rings(a: &Alone) -> Duration {
    a.end.next_timer().since(a.now)
}

/// What leaves as the retransmission timer expires, with room for all of it from then on.
fn time_out(a: &mut Alone) -> super::alone::Left {
    let timeouts = a.end.stats().timeouts;
    let mut left = a.ring();
    while a.end.stats().timeouts == timeouts {
        left = a.ring();
    }
    a.end.flow_mut().cwnd = Bytes::new(30 * MSS);
    left
}

#[test]
fn a_segment_below_one_that_arrived_waits_for_a_quarter_of_the_rtt_and_two_jiffies() {
    // RFC 8985, section 6.2, step 5. Both left at 1000 ms, and the second took 41: 41 + 10 + 2.
    let mut a = ten(LossDetection::RackTlp);
    assert_eq!(a.hear(1000, &[(2000, 3000)]), [(11_000, 1000)]);
    assert_eq!(a.end.next_timer(), AT(1053));
    assert_eq!(a.ring(), [(1000, 1000)], "by the reduction's measure no more than this");
    assert_eq!((a.phase(), a.end.stats().recoveries), (Phase::Recovery, 1));
    // Nothing to wait for, if it was only late.
    let mut a = ten(LossDetection::RackTlp);
    a.hear(1000, &[(2000, 3000)]);
    a.hear(1000, &[(2000, 4000)]);
    a.hear(2000, &[(3000, 4000)]);
    while a.end.next_timer() < AT(1060) {
        a.ring();
    }
    assert_eq!((a.phase(), a.end.stats().lost), (Phase::Open, 0));
}

#[test]
fn the_timer_for_reordering_ends_no_recovery_and_begins_none_within_one() {
    // 1000 was late, so that there is reordering; 3000 is lost, and then 10,000, which left at 1040 ms.
    let mut a = ten(LossDetection::RackTlp);
    a.hear(1000, &[(2000, 3000)]);
    a.hear(3000, &[]);
    a.hear(3000, &[(4000, 10_000)]);
    assert_eq!((a.ring(), a.now), ([(3000, 1000)].to_vec(), AT(1055)));
    a.now = AT(1081);
    assert_eq!(a.hear(3000, &[(11_000, 12_000), (4000, 10_000)]), []);
    // Outside an acknowledgement the window stays as it was, and what is lost leaves room (`tcp_rack_reo_timeout`).
    assert_eq!((a.ring(), a.now), ([(10_000, 1000)].to_vec(), AT(1093)));
    assert_eq!((a.phase(), a.end.stats().recoveries, a.end.stats().lost), (Phase::Recovery, 1, 2 * MSS));
    // An algorithm whose window is its own keeps it.
    let mut a = Alone::with(linux(), 10, Box::new(Owner), crate::ENDLESS);
    a.now += MS(39);
    a.hear(0, &[(1000, 2000)]);
    a.ring();
    assert_eq!((a.phase(), a.end.flow().cwnd), (Phase::Recovery, Bytes::new(10 * MSS)));
}

#[test]
fn what_is_missing_as_a_repair_ends_may_be_late_as_outside_one() {
    // 1000 and then 9000 are lost; between their repairs 12,000 leaves, which the ACK of the latter, the end of it all, lacks.
    let mut a = ten(LossDetection::RackTlp);
    let mut left = a.hear(1000, &[(2000, 5000)]);
    a.now += MS(36);
    (6..=9).for_each(|to| left.extend(a.hear(1000, &[(2000, to * 1000)])));
    left.extend(a.hear(1000, &[(10_000, 11_000), (2000, 9000)]));
    assert_eq!(left, [1000, 11_000, 12_000, 9000, 13_000].map(|from| (from, 1000)));
    a.now += MS(39);
    a.hear(9000, &[(10_000, 12_000)]);
    a.hear(12_000, &[(13_000, 14_000)]);
    assert_eq!((a.phase(), a.end.stats().lost, a.end.stats().recoveries), (Phase::Open, 2 * MSS, 1));
    // A quarter of 40 ms and two jiffies later nobody waits for it any more.
    a.ring();
    assert_eq!((a.phase(), a.end.stats().lost, a.end.stats().recoveries), (Phase::Recovery, 3 * MSS, 2));
}

#[test]
fn a_closed_window_is_probed_ever_more_seldom_until_it_opens() {
    // RFC 9293, section 3.8.6.1.
    let config = Config { receive_window: Bytes::new(2000), ..linux() };
    let mut a = Alone::with(config, 2, Box::new(Plain { fixed: true }), 2000);
    a.now += MS(40);
    let mut s = Segment { seq: 1, ack: 2001, flags: Flags::ACK, ..Segment::default() };
    a.end.on_segment(a.now, &s);
    a.end.write(a.now, 3000);
    assert_eq!(a.leaving(), []);
    let rto = a.end.rto();
    for doubled in [1, 2, 4] {
        assert_eq!(rings(&a), rto * doubled);
        assert_eq!(a.ring(), [(1999, 0)]);
    }
    s.window = 5000;
    a.end.on_segment(a.now, &s);
    assert_eq!(a.leaving().len(), 2, "as much as the sender's own window takes");
    assert_eq!((a.end.stats().window_probes, a.end.rto()), (3, rto));
    while a.end.stats().timeouts == 0 {
        a.ring();
    }
    assert_eq!(a.end.stats().window_probes, 3);
}

#[test]
fn the_tail_is_probed_only_where_nothing_is_lost_or_received_beyond_a_hole() {
    // RFC 8985, section 7.2.
    let mut a = ten(LossDetection::RackTlp);
    assert_eq!(rings(&a), a.end.flow().srtt * 2 + MS(2));
    // Three beyond a hole begin a recovery, whose only timer is the retransmission's as soon as new data leaves.
    a.hear(1000, &[(2000, 5000)]);
    assert_eq!(a.phase(), Phase::Recovery);
    // What was sent before the repair still arrives: the answer to that cannot be overdue.
    for to in [6000, 7000, 8000] {
        a.hear(1000, &[(2000, to)]);
    }
    assert_eq!(rings(&a), a.end.rto());
    a.hear(8000, &[]);
    assert_eq!((a.phase(), rings(&a)), (Phase::Recovery, a.end.rto()), "a partial ACK starts it over");
}

#[test]
fn every_partial_ack_starts_the_timer_over_where_holes_are_known() {
    // RFC 6675, section 5.1, by way of RFC 6298's rule 5.3; NewReno has one of its own (RFC 6582, section 4).
    for of in [Stack::Linux, Stack::Ns2, Stack::FreeBsd11] {
        let mut a = Alone::new(Config { loss: LossDetection::Sack, undo: false, ..stack(of) }, 12);
        a.three(0, 3000);
        a.end.flow_mut().ssthresh = Bytes::new(30 * MSS);
        a.end.flow_mut().cwnd = Bytes::new(30 * MSS);
        // The holes below are all sent again by then.
        (7..12).for_each(|n| _ = a.hear(0, &[(3000, n * MSS)]));
        for una in [1000, 2000] {
            a.now += MS(3);
            a.hear(una, &[(3000, 11_000)]);
            assert_eq!(a.phase(), Phase::Recovery, "{of:?}, {una}");
            assert!(may_wait(of, rings(&a), a.end.rto()), "{of:?}, {una}: {:?}", rings(&a));
        }
    }
}

#[test]
fn freebsds_retransmission_timer_is_late_by_chance_and_no_other() {
    for of in [Stack::Linux, Stack::Ns2, Stack::FreeBsd11] {
        let late: Vec<f64> = (0..50)
            .map(|n| {
                let mut a = Alone::new(stack(of), 12);
                a.now += MS(n);
                a.hear(1000, &[]);
                // The timer of a stack with tail probes lies behind the probe's.
                let waits = a.end.sender.rto_at.since(a.now);
                assert!(may_wait(of, waits, a.end.rto()), "{of:?}: {waits:?}");
                waits.as_millis_f64() / a.end.rto().as_millis_f64() - 1.0
            })
            .collect();
        let any = late.iter().any(|part| *part > 0.04) && late.iter().any(|part| *part < 0.02);
        assert_eq!(any, of == Stack::FreeBsd11, "{of:?}: {late:?}");
    }
}

#[test]
fn after_a_timeout_selective_acknowledgements_are_forgotten_but_under_rack_unless_the_receiver_forgot_too() {
    // RFC 2018, section 8: a first segment that was reported and still is not acknowledged shows that it was given up.
    for (loss, range, again) in [
        (LossDetection::Sack, (2000, 4000), [2000, 3000, 4000]),
        (LossDetection::RackTlp, (2000, 4000), [4000, 5000, 6000]),
        (LossDetection::RackTlp, (1000, 3000), [2000, 3000, 4000]),
    ] {
        let mut a = Alone::new(Config { undo: false, ..with_loss(loss) }, 10);
        a.now += MS(39);
        a.hear(1000, &[]);
        a.hear(1000, &[range]);
        assert_eq!(time_out(&mut a)[0], (1000, 1000));
        let left: Vec<u64> = a.hear(2000, &[]).iter().map(|l| l.0).take(3).collect();
        assert_eq!(left, again, "{loss:?} {range:?}");
    }
}

#[test]
fn a_first_timeout_of_a_segment_reduces_though_an_earlier_one_is_still_being_repaired() {
    // RFC 5681, section 3.1: what is lost after a timeout is lost anew.
    for of in [Stack::Linux, Stack::Ns2, Stack::FreeBsd11] {
        let config = Config { loss: LossDetection::Sack, undo: false, ..stack(of) };
        let mut a = Alone::new(config, 10);
        for (una, window, threshold) in [(0, 10, 5), (1000, 8, 4)] {
            a.hear(una, &[]);
            a.end.flow_mut().cwnd = Bytes::new(window * MSS);
            a.now += MS(100);
            time_out(&mut a);
            assert_eq!(a.end.flow().ssthresh / MSS, Bytes::new(threshold), "{of:?}, {una}");
        }
    }
}

#[test]
fn freebsd_s_host_alone_takes_whole_segments_after_a_timeout() {
    for (of, threshold) in [(Stack::Linux, 3750), (Stack::Ns2, 3750), (Stack::FreeBsd11, 3000)] {
        let mut a = Alone::new(stack(of), 10);
        a.end.flow_mut().cwnd = Bytes::new(7500);
        time_out(&mut a);
        assert_eq!(a.end.flow().ssthresh, Bytes::new(threshold), "{of:?}");
    }
}

#[test]
fn timeouts_in_a_row_are_told_by_number() {
    let mut a = Alone::new(with_loss(LossDetection::Sack), 10);
    (0..3).for_each(|_| _ = time_out(&mut a));
    a.hear(1000, &[]);
    let told: Vec<_> = a
        .end
        .flow_mut()
        .drain_events()
        .filter(|e| e.cause() == Some(CauseKind::Timeout))
        .map(|e| e.values[1])
        .collect();
    assert_eq!(told, [1, 2, 3]);
}

#[test]
fn new_data_is_tried_after_a_timeout_that_interrupts_no_recovery() {
    // F-RTO, RFC 5682, section 2.1: with the second ACK for what was not sent again the timeout was needless.
    for (undo, recovery, expected) in [
        (true, false, &[(10_000, 1000), (11_000, 1000)][..]),
        (false, false, &[(1000, 1000), (2000, 1000)]),
        (true, true, &[]),
    ] {
        let mut a = Alone::new(Config { undo, ..with_loss(LossDetection::Sack) }, 10);
        if recovery {
            a.three(0, 5000);
        }
        let (before, _) = (a.end.flow().cwnd, time_out(&mut a));
        a.end.flow_mut().cwnd = Bytes::new(2 * MSS);
        let left = a.hear(1000, &[]);
        if recovery {
            assert_eq!(left[0], (1000, 1000), "repairs go on");
            continue;
        }
        assert_eq!(left, expected, "{undo}");
        a.hear(2000, &[]);
        assert_eq!(a.end.stats().undos, u64::from(undo));
        assert_eq!(a.end.flow().cwnd >= before, undo);
        assert_eq!(a.phase(), if undo { Phase::Open } else { Phase::Loss });
    }
}

#[test]
fn new_data_is_tried_again_after_a_second_timeout_of_the_same_segment() {
    // RFC 5682, section 2.1, does not ask how often it timed out.
    let mut a = Alone::new(with_loss(LossDetection::Sack), 10);
    assert_eq!([time_out(&mut a), time_out(&mut a)].concat(), [(0, 1000), (0, 1000)]);
    assert_eq!(a.hear(1000, &[])[0], (10_000, 1000));
}

#[test]
fn a_tail_probe_that_was_needless_costs_nothing_and_one_that_repaired_a_loss_does() {
    // RFC 8985, section 7.4, as Linux reads it: an ACK beyond the probe decides, unless one before showed a duplicate.
    let dsack = Flags::ACK.with(Flags::DSACK);
    for (what, then, reduces) in [
        ("the ACK of the probe", &[(10_000, None)][..], false),
        ("and one beyond", &[(10_000, None), (11_000, None)], true),
        ("a report that it came twice", &[(10_000, Some((9000, 10_000))), (11_000, None)], false),
        ("a bare duplicate", &[(10_000, None), (10_000, None), (11_000, None)], false),
        ("an ACK below it", &[(9000, None), (10_000, None), (11_000, None)], true),
    ] {
        let mut a = Alone::with(linux(), 10, Box::new(Plain { fixed: true }), 10 * MSS);
        assert_eq!(a.ring(), [(9000, 1000)]);
        assert_eq!(a.end.stats().tail_probes, 1);
        a.end.write(a.now, 5 * MSS);
        for (ack, twice) in then {
            match twice {
                Some(range) => _ = a.hear_with(*ack, &[*range], dsack),
                None => _ = a.hear(*ack, &[]),
            }
        }
        let threshold = if reduces { 5 } else { 10 };
        assert_eq!((a.end.flow().ssthresh / MSS, a.phase()), (Bytes::new(threshold), Phase::Open), "{what}");
    }
}

#[test]
fn one_probe_is_out_at_a_time_and_one_of_new_data_costs_nothing() {
    // RFC 8985, sections 7.3 and 7.4.
    let mut a = Alone::with(linux(), 10, Box::new(Plain { fixed: true }), 10 * MSS);
    assert_eq!(a.ring(), [(9000, 1000)]);
    a.end.write(a.now, 3 * MSS);
    assert_eq!(a.hear(5000, &[]).len(), 3);
    assert_eq!((a.ring(), a.end.stats().tail_probes, a.end.stats().timeouts), (Vec::new(), 1, 0));
    let mut a = Alone::new(linux(), 10);
    assert_eq!(a.ring(), [(10_000, 1000)]);
    for ack in [11_000, 12_000, 13_000] {
        a.hear(ack, &[]);
    }
    assert_eq!((a.end.stats().tail_probes, a.end.flow().ssthresh), (1, Bytes::new(10 * MSS)));
}

#[test]
fn silence_leaves_no_more_than_the_initial_window_and_no_more_than_there_was() {
    // RFC 5681, section 4.1. (segment, window and threshold before in segments; after one timeout of silence in bytes)
    for (of, mss, (cwnd, ssthresh), after) in [
        (Stack::Linux, 1000, (40, 10), (20_000, 30_000)),
        (Stack::Linux, 1000, (15, 20), (10_000, 20_000)), // half is less than the initial window
        (Stack::Linux, 1000, (4, 2), (4000, 3000)),
        (Stack::Ns2, 1000, (40, 10), (10_000, 30_000)),
        (Stack::Ns2, 1000, (4, 2), (4000, 3000)),
        // FreeBSD: RFC 3390, of segments with their options, and the threshold stays.
        (Stack::FreeBsd11, 488, (40, 10), (2000, 5000)),
        (Stack::FreeBsd11, 1448, (40, 10), (4380, 14_600)),
        (Stack::FreeBsd11, 2988, (40, 10), (6000, 30_000)),
        (Stack::FreeBsd11, 1448, (2, 10), (2920, 14_600)),
    ] {
        let config = Config { mss: Bytes::new(mss), ..stack(of) };
        let mut a = Alone::with(config, 2, Box::new(Plain { fixed: true }), 2 * mss);
        a.now += MS(39);
        a.hear(2 * mss, &[]);
        let flow = a.end.flow_mut();
        (flow.cwnd, flow.ssthresh, flow.floor) = (flow.mss * cwnd, flow.mss * ssthresh, Bytes::new(1));
        let before = flow.cwnd;
        flow.drain_events().for_each(drop);
        a.now += a.end.rto() + MS(1);
        a.end.write(a.now, 100);
        a.leaving();
        let flow = a.end.flow_mut();
        assert_eq!((flow.cwnd.get(), flow.ssthresh.get()), after, "{of:?}, {mss}, {cwnd}");
        let told = flow.drain_events().filter(|e| e.cause() == Some(CauseKind::IdleRestart)).count();
        assert_eq!(told, usize::from(after.0 != before.get()), "{of:?}, {mss}, {cwnd}");
    }
}

/// RFC 8985, section 7.2: a PTO is armed when an ACK moves on; a reordering timer that no hole is left for must not stand in its way.
#[test]
fn a_reordering_timer_is_gone_once_its_hole_is_filled() {
    let mut a = Alone::new(linux(), 10);
    a.now += MS(39);
    a.hear(1000, &[]);
    a.hear(1000, &[(2000, 3000)]);
    a.hear(3000, &[]);
    assert_eq!(a.end.next_timer().since(a.now), a.end.flow().srtt * 2 + MS(2));
}

#[test]
fn a_lost_tail_is_probed_after_a_hole_was_filled() {
    let mut a = Alone::with(linux(), 10, Box::new(Plain { fixed: true }), 10 * MSS);
    a.now += MS(39);
    a.hear(1000, &[]);
    a.hear(1000, &[(2000, 3000)]);
    a.hear(9000, &[]);
    let mut sent = Vec::new();
    while a.end.stats().tail_probes + a.end.stats().timeouts == 0 {
        sent.push((a.now, a.ring()));
    }
    assert_eq!((a.end.stats().tail_probes, a.end.stats().timeouts), (1, 0), "{:?} {sent:?}", a.now);
}

/// RFC 8985, section 7.2: no probe in a recovery.
#[test]
fn no_tail_probe_is_due_within_a_recovery() {
    let mut a = Alone::with(linux(), 10, Box::new(Plain { fixed: true }), 10 * MSS);
    a.now += MS(39);
    a.hear(1000, &[]);
    a.hear(1000, &[(2000, 5000)]);
    assert_eq!(a.phase(), Phase::Recovery);
    let left = a.ring();
    assert_eq!((a.end.stats().tail_probes, a.end.stats().timeouts), (0, 1), "{:?} {left:?}", a.now);
}

/// RFC 6582, section 4: the impatient variant resets the timer on the first partial ACK only.
#[test]
fn newreno_is_impatient() {
    let mut a = Alone::new(Config { undo: false, ..with_loss(LossDetection::NewReno) }, 10);
    a.now += MS(39);
    a.hear(1000, &[]);
    (0..3).for_each(|_| _ = a.hear(1000, &[]));
    a.hear(2000, &[]);
    let first = a.end.next_timer();
    a.hear(3000, &[]);
    assert_eq!(a.end.next_timer(), first);
}

#[test]
fn once_newreno_s_recovery_is_over_every_ack_begins_the_timer_anew() {
    // RFC 6298, section 5.3; the impatient variant is of recoveries (RFC 6582, section 4).
    let mut a = ten(LossDetection::NewReno);
    (0..3).for_each(|_| _ = a.hear(1000, &[]));
    for (ack, phase, anew) in [
        (2000, Phase::Recovery, true),
        (3000, Phase::Recovery, false),
        (13_000, Phase::Open, true),
        (14_000, Phase::Open, true),
    ] {
        a.now += MS(20);
        a.hear(ack, &[]);
        assert_eq!((a.phase(), rings(&a) == a.end.rto()), (phase, anew), "{ack}");
    }
}

#[test]
fn progress_leaves_the_timer_for_reordering_to_what_still_waits() {
    // RFC 8985, section 6.2, step 5. Of those after the first the fourth arrived; the second was lost and sent again, or is late
    // as the third is.
    for lost in [false, true] {
        let mut a = ten(LossDetection::RackTlp);
        a.end.sender.rack.reordering = true;
        if lost {
            a.end.sender.board.ring.get_mut(2).sent_at = AT(980);
        }
        let first = a.hear(1000, &[(4000, 5000)])[0];
        assert_eq!(first, (if lost { 2000 } else { 11_000 }, 1000));
        assert_eq!(a.end.next_timer(), AT(1041 + 10 + 2));
        a.hear(2000, &[(4000, 5000)]);
        assert_eq!((a.end.sender.probe.reordering, a.end.next_timer()), (true, AT(1042 + 10 + 2)), "{lost}");
    }
}

#[test]
fn a_timeout_after_an_episode_that_was_taken_back_is_a_congestion_of_its_own() {
    // `tcp_enter_loss` asks for the state first, then whether all of the episode is acknowledged.
    let mut a = ten(LossDetection::RackTlp);
    a.three(1000, 2000);
    let s = &mut a.end.sender;
    s.take_back(Evidence::Timestamp);
    assert_eq!((s.flow.phase, s.flow.ssthresh, s.flow.acked_to < s.recover), (Phase::Open, Bytes::new(10 * MSS), true));
    while a.end.stats().timeouts == 0 {
        a.ring();
    }
    assert_eq!(a.end.flow().ssthresh, Bytes::new(5 * MSS));
}

#[test]
fn a_range_begins_the_timer_anew_if_it_is_of_what_left_before_the_first_segment_did() {
    // `tcp_clean_rtx_queue`: `sack_rtt_us` beyond the age of the first. (µs before)
    for (before, anew) in [(0, false), (1, true)] {
        let mut a = ten(LossDetection::RackTlp);
        a.end.sender.board.ring.get_mut(2).sent_at = AT(1000) - Duration::from_micros(before);
        a.hear(1000, &[(2000, 3000)]);
        assert_eq!(a.end.sender.rto_at == a.now + a.end.rto(), anew, "{before}");
    }
}
