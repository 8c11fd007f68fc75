//! FreeBSD 11's repair, acknowledgement by acknowledgement: what each lets go. Numbers are bytes of the stream; a segment
//! carries 1000, and counts 1012 with its options where the window and silly-window avoidance see it.

use super::alone::{Alone, Owner};
use super::*;
use crate::pair::Plain;
use alloc::boxed::Box;
use alloc::vec::Vec;
use cc::{Ack, CauseKind, Congestion, CongestionControl, Flow, Phase, Reaction};
use units::Bytes;

const UNIT: u64 = MSS + 12;

/// With a window of so many segments with their options.
fn alone(window: u64) -> Alone {
    Alone::new(stack(Stack::FreeBsd11), window)
}

fn with(window: u64, cc: Box<dyn CongestionControl>, written: u64) -> Alone {
    Alone::with(stack(Stack::FreeBsd11), window, cc, written)
}

/// Grows its window by a segment with every ACK of a recovery, or only with those that move on.
#[derive(Debug)]
struct Grower {
    on_duplicates: bool,
}

impl CongestionControl for Grower {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if flow.phase == Phase::Recovery && (self.on_duplicates || !ack.duplicate) {
            flow.cwnd += flow.mss;
        }
    }
    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd / 2)
    }
}

#[test]
fn a_segment_needs_room_for_its_options_beside_what_is_out() {
    // Silly-window avoidance of `tcp_output`; what is out is payload.
    for loss in WAYS {
        for (window, segments) in [(1012, 1), (2011, 1), (2012, 2), (3011, 2), (3012, 3)] {
            let mut a = Alone::new(Config { loss, ..stack(Stack::FreeBsd11) }, 1);
            (a.end.flow_mut().cwnd, a.end.flow_mut().floor) = (Bytes::new(window), Bytes::new(1));
            assert_eq!(a.hear(1000, &[]).len(), segments, "{loss:?}, {window}");
        }
    }
}

#[test]
fn duplicates_are_counted_from_the_ack_that_reported_the_first_range_or_filled_a_hole() {
    // `tcp_do_segment` counts ACKs that change the scoreboard (`tcp_sack_doack`), and one that also moves `snd_una` is the
    // first of a row. (ACKs before, further duplicates until the third)
    type Heard<'a> = (u64, &'a [(u64, u64)]);
    let cases: [(&str, &[Heard<'_>], u64); 5] = [
        ("nothing before", &[], 3),
        ("progress", &[(2000, &[])], 3),
        ("progress with a range", &[(2000, &[(3000, 4000)])], 2),
        ("a hole filled", &[(0, &[(1000, 2000)]), (2000, &[])], 2),
        ("progress up to where a hole was filled", &[(0, &[(1000, 2000)]), (2000, &[]), (3000, &[])], 3),
    ];
    for (what, before, duplicates) in cases {
        let mut a = alone(20);
        before.iter().for_each(|(ack, ranges)| _ = a.hear(*ack, ranges));
        let una = before.last().map_or(0, |b| b.0);
        let count = (1..9).find(|n| {
            a.hear(una, &[(una + 2000, una + 2000 + n * MSS + MSS)]);
            a.phase() == Phase::Recovery
        });
        assert_eq!(count, Some(duplicates), "{what}");
    }
}

#[test]
fn limited_transmit_makes_room_for_as_many_segments_as_duplicates_less_those_it_sent() {
    // `snd_limited`. The first duplicate lets the rest of a write go, which needs no room for options; the second makes
    // room for one payload more, which does not hold a whole segment.
    let mut a = with(10, Box::new(Plain { fixed: true }), 10 * MSS);
    a.end.write(a.now, 600);
    a.end.push();
    a.end.write(a.now, 9 * MSS);
    assert_eq!(a.hear(0, &[(1000, 2000)]), [(10_000, 600)]);
    assert_eq!(a.hear(0, &[(1000, 3000)]), []);
    // Room for two where the first let nothing go.
    let mut a = alone(10);
    assert_eq!(a.hear(0, &[(1000, 2000)]), []);
    assert_eq!(a.hear(0, &[(1000, 3000)]), [(10_000, 1000)]);
    // Progress with a range begins a row: what the window lets go counts for nothing, what the row before sent still does.
    assert_eq!(a.hear(3000, &[(4000, 5000)]), [(11_000, 1000), (12_000, 1000)]);
    assert_eq!(a.hear(3000, &[(4000, 6000)]), []);
}

#[test]
fn a_row_that_begins_with_a_duplicate_forgets_what_limited_transmit_sent_and_a_recovery_does_not() {
    let mut a = alone(10);
    assert_eq!(a.three(0, 1000), [[].to_vec(), [(10_000, 1000)].to_vec(), [(0, 1000)].to_vec()]);
    a.hear(11_000, &[]);
    assert_eq!(a.phase(), Phase::Open);
    a.end.flow_mut().cwnd = Bytes::new(10 * UNIT);
    a.hear(12_000, &[]);
    a.hear(13_000, &[(14_000, 15_000)]);
    assert_eq!(a.hear(13_000, &[(14_000, 16_000)]), [], "one left in the row before the recovery");
    a.hear(16_000, &[]);
    a.hear(17_000, &[]);
    assert_eq!(a.hear(17_000, &[(18_000, 19_000)]), []);
    assert_eq!(a.hear(17_000, &[(18_000, 20_000)]).len(), 1);
}

#[test]
fn what_limited_transmit_left_over_ends_with_progress() {
    let mut a = alone(10);
    assert_eq!(a.hear(0, &[(1000, 2000)]), []);
    assert_eq!(a.hear(2000, &[]), [(10_000, 1000), (11_000, 1000)], "what the window lets go, no less");
}

#[test]
fn a_partial_ack_makes_room_for_two_segments_if_it_is_for_two_with_their_options() {
    // `tcp_sack_partialack`: BYTES_THIS_ACK over `t_maxseg`, two at most. What the hole takes of it leaves at once.
    for (acked, lens) in [
        (1000, &[1000, 12][..]),
        (2000, &[1000, 12]),
        (2023, &[1000, 12]),
        (2024, &[1000, 1000, 24]),
        (5000, &[1000, 1000, 24]),
    ] {
        let mut a = alone(30);
        a.three(0, 20_000);
        let left = a.hear(acked, &[(20_000, 23_000)]);
        assert_eq!((left[0].0, left.iter().map(|l| l.1).collect::<Vec<_>>()), (acked, lens.to_vec()), "{acked}");
    }
}

#[test]
fn where_rates_are_sampled_what_goes_again_keeps_its_borders() {
    // A tag belongs to a record by its number.
    let mut a = Alone::new(Config { rate_samples: true, ..stack(Stack::FreeBsd11) }, 30);
    a.three(0, 20_000);
    assert_eq!(a.hear(1000, &[(20_000, 23_000)]), [(1000, 1000)], "and no 12 bytes");
}

#[test]
fn the_answer_to_a_partial_ack_needs_no_room_for_options_but_what_follows_it_does() {
    // TF_ACKNOW overrules silly-window avoidance for one segment (`tcp_output`), of any length: with no room it is a pure ACK.
    // Two holes, both sent again; the first is acknowledged. (threshold less what is out, what leaves)
    for (room, lens) in [
        (0, &[0][..]),
        (1, &[1]),
        (999, &[999]),
        (1000, &[1000]),
        (1011, &[1000]),
        (1012, &[1000]),
        (2011, &[1000]),
        (2012, &[1000, 1000]),
        (9000, &[1000, 1000]),
    ] {
        let mut a = alone(12);
        let mut hear = |to| a.hear(0, &[(5000, to), (1000, 4000)]);
        assert_eq!([6000, 7000, 8000].map(&mut hear).concat(), [(12_000, 1000), (0, 1000)]);
        a.threshold(9 * MSS);
        let mut hear = |to| a.hear(0, &[(5000, to), (1000, 4000)]);
        assert_eq!([9000, 10_000].map(&mut hear).concat(), [(4000, 1000)]);
        a.threshold(MSS + room);
        let expected: Vec<_> = (13..).zip(lens).map(|(n, len)| (n * MSS, *len)).collect();
        assert_eq!(a.hear(4000, &[(5000, 10_000)]), expected, "{room}");
    }
}

#[test]
fn with_nothing_sent_again_the_window_begins_at_what_is_acknowledged_after_the_first_output() {
    // Where `sack_bytes_rexmit` is zero `tcp_output` counts from `snd_una`, which moves after `tcp_sack_partialack`; the
    // exception from silly-window avoidance is used up then, by a pure ACK. One segment is still out. (room beside it, what leaves)
    for (room, lens) in [(1000, &[0][..]), (1011, &[0]), (1012, &[0, 1000]), (9000, &[0, 1000])] {
        let mut a = alone(10);
        a.three(0, 1000);
        assert_eq!(a.hear(0, &[(1000, 10_000)]), []);
        a.threshold(MSS + room);
        let left: Vec<_> = a.hear(10_000, &[]).iter().map(|l| l.1).collect();
        assert_eq!(left, lens, "{room}");
        assert_eq!(a.phase(), Phase::Recovery);
    }
}

#[test]
fn a_duplicate_with_news_makes_room_while_less_is_out_than_the_threshold() {
    // `tcp_do_segment`: what is beyond the highest range and what was sent again, against `snd_ssthresh`. With the fourth
    // duplicate that is 6000 and 1000.
    for (threshold, news, leaves) in
        [(7000, true, &[][..]), (7001, true, &[(2000, 1000)]), (7001, false, &[]), (30_000, false, &[])]
    {
        let mut a = alone(12);
        [4000, 5000, 6000].iter().for_each(|to| _ = a.hear(0, &[(3000, *to), (1000, 2000)]));
        assert_eq!(a.end.stats().lost, 2 * MSS, "both holes");
        a.threshold(threshold);
        assert_eq!(a.hear(0, &[(3000, if news { 7000 } else { 6000 })]), leaves, "{threshold}, {news}");
    }
}

#[test]
fn a_partial_ack_leaves_room_for_what_was_new_in_the_recovery() {
    let mut a = alone(12);
    let hear = |a: &mut Alone, to| a.hear(0, &[(5000, to), (1000, 4000)]);
    [6000, 7000, 8000].iter().for_each(|to| _ = hear(&mut a, *to));
    a.threshold(20 * MSS);
    let left = [9000, 10_000, 11_000].map(|to| hear(&mut a, to)).concat();
    assert_eq!(left, [(4000, 1000), (13_000, 1000)]);
    assert_eq!(a.hear(4000, &[(5000, 11_000)]), [(14_000, 1000), (15_000, 1000)]);
}

#[test]
fn what_the_algorithm_adds_on_a_duplicate_leaves_at_once_and_on_a_partial_ack_with_a_second_output() {
    for (on_duplicates, left) in [(true, 1), (false, 0)] {
        let mut a = with(12, Box::new(Grower { on_duplicates }), crate::ENDLESS);
        a.three(0, 1000);
        a.threshold(MSS);
        assert_eq!(a.hear(0, &[(1000, 5000)]).len(), left, "{on_duplicates}");
        let mut a = with(30, Box::new(Grower { on_duplicates }), crate::ENDLESS);
        a.three(0, 20_000);
        let lens: Vec<_> = a.hear(1000, &[(20_000, 23_000)]).iter().map(|l| l.1).collect();
        assert_eq!(lens, [1000, 12, 1000, 12], "{on_duplicates}");
    }
}

/// Notes at the end of a repair whether what that leaves is beyond the threshold.
#[derive(Debug)]
struct Ends;

impl CongestionControl for Ends {
    fn on_ack(&mut self, flow: &mut Flow, _: &Ack) {
        flow.floor = Bytes::new(1 + u64::from(flow.ends_beyond));
    }
    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd / 2)
    }
}

#[test]
fn the_window_that_a_repair_leaves_is_set_before_the_algorithm_hears_of_the_ack_that_ends_it() {
    // `newreno_post_recovery`: what is out and a segment with its options, if less than the threshold is out. 2000 are.
    for (threshold, beyond, window) in [
        (2000, false, 2000),
        (2001, true, 2000 + UNIT),
        (2000 + UNIT - 1, true, 2000 + UNIT),
        (2000 + UNIT, false, 2000 + UNIT),
        (9000, false, 2000 + UNIT),
    ] {
        let mut a = with(10, Box::new(Ends), crate::ENDLESS);
        a.three(0, 1000);
        a.threshold(30 * MSS);
        let left = [5000, 6000, 7000].map(|to| a.hear(0, &[(1000, to)])).concat();
        assert_eq!(left, [(11_000, 1000), (12_000, 1000)]);
        a.threshold(threshold);
        a.hear(11_000, &[]);
        let f = a.end.flow();
        assert_eq!((f.floor, f.cwnd), (Bytes::new(1 + u64::from(beyond)), Bytes::new(window)), "{threshold}");
        assert!(!f.ends_beyond);
    }
}

#[test]
fn a_hole_beyond_where_the_recovery_ends_waits_for_the_next() {
    let mut a = alone(10);
    a.three(0, 1000);
    a.threshold(30 * MSS);
    let left = [5000, 6000, 7000].map(|to| a.hear(0, &[(1000, to)])).concat();
    assert_eq!(left, [(11_000, 1000), (12_000, 1000)]);
    // 11,000 was new, and is lost.
    assert_eq!(a.hear(0, &[(12_000, 13_000), (1000, 11_000)]), [(13_000, 1000)]);
    a.hear(11_000, &[(12_000, 14_000)]);
    assert_eq!(a.phase(), Phase::Open);
}

#[test]
fn a_timeout_forgets_what_limited_transmit_left_over() {
    let mut a = with(10, Box::new(Plain { fixed: true }), 10 * MSS);
    a.end.write(a.now, 600);
    assert_eq!(a.hear(0, &[(1000, 2000)]), [(10_000, 600)]);
    assert_eq!(a.ring(), [(0, 1000)], "not 400");
}

/// Twenty segments timed out; the first arrived the second time, and 1000 to 13,000 were sent again behind it.
fn timed_out() -> Alone {
    let mut a = alone(20);
    assert_eq!(a.ring(), [(0, 1000)]);
    a.end.flow_mut().cwnd = Bytes::new(12 * MSS);
    assert_eq!(a.hear(1000, &[]).len(), 12);
    a
}

#[test]
fn an_algorithm_hears_whether_a_timeout_has_left_something_to_be_sent_again() {
    let mut a = timed_out();
    assert!(a.end.flow().resends);
    a.end.flow_mut().cwnd = Bytes::new(30 * MSS);
    // As this one comes, 13,000 to 20,000 have not been; it lets them go, and new ones.
    assert_eq!(a.hear(2000, &[]).last(), Some(&(30_000, 1000)));
    assert!(a.end.flow().resends);
    a.hear(3000, &[]);
    assert_eq!((a.end.flow().resends, a.phase()), (false, Phase::Loss));
}

/// Writes down what an ACK tells to be out, where nothing else writes after a timeout.
#[derive(Debug)]
struct Outs;

impl CongestionControl for Outs {
    fn on_ack(&mut self, flow: &mut Flow, _: &Ack) {
        assert!(flow.freebsd);
        flow.floor = flow.in_flight;
    }
    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd / 2)
    }
}

#[test]
fn after_a_timeout_an_algorithm_hears_of_all_that_is_not_acknowledged() {
    // `snd_max` is where a back-off's rest ends; nineteen were lost, of which none was sent again yet.
    let mut a = with(20, Box::new(Outs), crate::ENDLESS);
    a.ring();
    a.hear(1000, &[]);
    assert_eq!(a.end.flow().floor, Bytes::new(19 * MSS));
    assert!(a.end.flow().in_flight < Bytes::new(19 * MSS), "no more than was sent again");
}

#[test]
fn in_a_recovery_after_a_timeout_what_was_not_sent_again_is_new() {
    // `snd_nxt` went back: what lies beyond it takes part in `sack_newdata`, not in `sack_bytes_rexmit`.
    let mut a = timed_out();
    let hear = |a: &mut Alone, to| a.hear(1000, &[(5000, to), (2000, 4000)]);
    assert_eq!(hear(&mut a, 6000), [(13_000, 1000)]);
    assert_eq!(hear(&mut a, 7000), [(14_000, 1000), (15_000, 1000)]);
    assert_eq!(hear(&mut a, 8000), [(1000, 1000)]);
    // To the algorithm what the timeout took back and was not sent again is lost, and the hole.
    let told = a.end.flow_mut().drain_events().filter(|e| e.cause() == Some(CauseKind::LossBackoff));
    assert_eq!(told.map(|e| e.values[0]).collect::<Vec<_>>(), [5000]);
    // The holes first, be they sent again or not; then what comes next as long as room is.
    a.threshold(30 * MSS);
    assert_eq!(hear(&mut a, 9000), [(4000, 1000)]);
    assert_eq!(hear(&mut a, 10_000), [(16_000, 1000)]);
    // Out: 17,000 less 11,000, and two repairs.
    a.threshold(8 * MSS);
    assert_eq!(hear(&mut a, 11_000), []);
    assert_eq!(hear(&mut a, 12_000), [(17_000, 1000)]);
    a.threshold(30 * MSS);
    let left = [13_000, 14_000, 15_000, 16_000].map(|to| hear(&mut a, to)).concat();
    assert_eq!(left, [(18_000, 1000), (19_000, 1000), (20_000, 1000)]);
    // Beyond what the timeout took back new data is new again: 5000 since the recovery began, a repair, and two segments.
    assert_eq!(a.hear(4000, &[(5000, 16_000)]), [(21_000, 1000), (22_000, 1000)]);
}

#[test]
fn a_partial_ack_beyond_what_was_sent_again_counts_that_as_new() {
    let mut a = timed_out();
    a.three(1000, 2000);
    a.threshold(30 * MSS);
    // The originals of all up to 18,000 arrived after all: 16,000 was where new data began. Before `snd_una` moves that is
    // beyond the window, so that the answer is an ACK.
    assert_eq!(
        a.hear(18_000, &[]),
        [(20_000, 0), (18_000, 1000), (19_000, 1000), (20_000, 1000), (21_000, 1000)],
        "2000 of it, and two segments"
    );
}

/// The answer to twenty segments takes 100 ms; so the smoothed RTT, and half of it, are exact.
fn measured(cc: Box<dyn CongestionControl>) -> Alone {
    let mut a = with(20, cc, crate::ENDLESS);
    a.now += MS(99);
    assert_eq!(a.hear(1000, &[]), [(20_000, 1000)]);
    a
}

/// The same with a recovery that a timeout interrupts: it was to end at 22,000, and 22,000 left since.
fn interrupted() -> Alone {
    let mut a = measured(Box::new(Plain { fixed: true }));
    a.three(1000, 2000);
    a.threshold(30 * MSS);
    assert_eq!([6000, 7000].map(|to| a.hear(1000, &[(2000, to)])).concat(), [(22_000, 1000)]);
    assert_eq!(a.ring(), [(1000, 1000)]);
    a
}

#[test]
fn an_ack_takes_a_timeout_back_before_half_an_rtt_is_over_and_not_then() {
    // `t_badrxtwin`. An algorithm whose window is its own has nothing to be taken back.
    for (ns, owns, undos) in [(49_999_999, false, 1), (50_000_000, false, 0), (1_000_000, true, 0)] {
        let mut a = measured(if owns { Box::new(Owner) } else { Box::new(Plain { fixed: true }) });
        a.ring();
        a.now = a.now + Duration::from_nanos(ns) - MS(1);
        a.hear(10_000, &[]);
        assert_eq!(a.end.stats().undos, undos, "{ns}, {owns}");
    }
}

#[test]
fn a_recovery_whose_timeout_is_taken_back_ends_where_it_was_to_end() {
    // TF_WASFRECOVERY and `snd_recover_prev`; an ACK that reaches that ends it there and then, without what the end of a
    // repair does to the window: it is the repair's, a segment and two duplicates (`snd_cwnd_prev`).
    let mut a = interrupted();
    assert_eq!(a.hear(10_000, &[]), []);
    assert_eq!(a.phase(), Phase::Recovery);
    a.hear(22_000, &[]);
    assert_eq!(a.phase(), Phase::Open);
    let mut a = interrupted();
    a.hear(22_000, &[]);
    assert_eq!((a.phase(), a.end.flow().cwnd), (Phase::Open, Bytes::new(3 * MSS)));
}

/// `tcp_do_segment`: CC_RTO_ERR comes after the question whether a recovery is under way, so the ACK that takes a timeout back is no
/// partial ACK: the window is what it was, 3000, of which 2000 are out.
#[test]
fn the_ack_that_takes_a_timeout_back_is_no_partial_ack() {
    let mut a = Alone::new(stack(Stack::FreeBsd11), 20);
    a.now += MS(99);
    a.hear(1000, &[]);
    a.three(1000, 2000);
    a.threshold(30 * MSS);
    a.hear(1000, &[(2000, 6000)]);
    assert_eq!(a.hear(1000, &[(2000, 7000)]), [(22_000, 1000)]);
    a.ring();
    assert_eq!(a.hear(21_000, &[]), []);
}
