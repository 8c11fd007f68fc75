use super::alone::Alone;
use super::*;
use crate::pair::{Fate, Pair};
use crate::{Config, DelayedAck};
use alloc::vec::Vec;
use cc::{CauseKind, Phase};
use units::Bytes;

/// Acknowledging every segment makes the arithmetic of the RFCs exact.
fn config(loss: LossDetection) -> Config {
    Config { delayed_ack: DelayedAck::None, ..with_loss(loss) }
}

/// When segment `n` was sent, in ms.
fn sent(p: &Pair<'_>, n: u64) -> Vec<u64> {
    p.sent.iter().filter(|(_, s)| number(s) == n).map(|(at, _)| at.as_nanos() / 1_000_000).collect()
}

#[test]
fn one_loss_is_repaired_in_a_round_trip_and_halves_the_window() {
    for loss in WAYS {
        let mut p = Pair::new(config(loss), losing(&[5]));
        p.ends[0].flow_mut().ssthresh = Bytes::new(10 * MSS);
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(115));
        assert_eq!(sent(&p, 5), [40, 80], "{loss:?}: found by the ACKs of the same flight");
        assert_eq!(p.ends[0].repairing(AT(115)), Duration::from_millis(35), "{loss:?}: under way");
        p.run(MS(125));
        assert_eq!(p.ends[0].repairing(AT(125)), Duration::from_millis(40), "{loss:?}: a round trip");
        let flow = p.ends[0].flow();
        assert_eq!(flow.phase, Phase::Open, "{loss:?}");
        let tahoe = loss == LossDetection::Tahoe;
        assert_eq!(flow.ssthresh, Bytes::new(5 * MSS));
        if !tahoe {
            assert_eq!(flow.cwnd.get() / MSS, 5, "{loss:?}");
        }
        assert_eq!(p.ends[0].stats().timeouts, 0);
        let causes: Vec<_> = p.ends[0].flow_mut().drain_events().filter_map(|e| e.cause()).collect();
        assert_eq!(causes, [CauseKind::LossBackoff], "{loss:?}");
        p.run(MS(5000));
        let needless = p.ends[1].stats().duplicates_received;
        assert_eq!(needless, if tahoe { needless } else { 0 }, "{loss:?}");
    }
}

#[test]
fn tahoe_starts_over_from_one_segment() {
    let mut p = Pair::new(config(LossDetection::Tahoe), losing(&[5]));
    p.ends[0].flow_mut().ssthresh = Bytes::new(10 * MSS);
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(90));
    assert_eq!((p.cwnd(), p.ends[0].flow().ssthresh), (Bytes::new(MSS), Bytes::new(5 * MSS)));
    // Reference, section 1.1: 1, 2, 4, then ssthresh.
    let mut windows = Vec::new();
    for end in [125, 165, 205, 245] {
        p.run(MS(end));
        windows.push(p.cwnd().get() / MSS);
    }
    assert_eq!(windows, [2, 4, 5, 6]);
}

#[test]
fn newreno_repairs_one_loss_a_round_trip_and_selective_acknowledgements_all_at_once() {
    for (loss, when) in [
        (LossDetection::NewReno, [80, 120, 160]),
        (LossDetection::Sack, [80, 80, 80]),
        (LossDetection::RackTlp, [80, 80, 80]),
    ] {
        let mut p = Pair::new(config(loss), losing(&[3, 5, 7]));
        p.ends[0].flow_mut().cwnd = Bytes::new(20 * MSS);
        p.ends[0].flow_mut().ssthresh = Bytes::new(20 * MSS);
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(300));
        assert_eq!([3, 5, 7].map(|n| sent(&p, n)[1]), when, "{loss:?}");
        assert_eq!((p.ends[0].stats().recoveries, p.ends[0].stats().timeouts), (1, 0), "{loss:?}");
    }
}

#[test]
fn limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    for loss in [LossDetection::NewReno, LossDetection::Sack] {
        let mut p = Pair::new(Config { initial_window: 4, ..config(loss) }, losing(&[2]));
        p.ends[0].flow_mut().ssthresh = Bytes::new(4 * MSS);
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(85));
        // The ACK of 1 lets 5 go. Only two duplicates come from 3 and 4: they let 6 and 7 go, and 5 brings the third.
        assert_eq!(p.sent.iter().map(|(_, s)| number(s)).max(), Some(7), "{loss:?}");
        p.run(MS(125));
        assert_eq!(sent(&p, 2), [40, 120], "{loss:?}");
        assert_eq!(p.ends[0].stats().timeouts, 0);
    }
}

#[test]
fn rate_reduction_sends_one_for_two_while_the_window_halves() {
    let mut p = Pair::new(config(LossDetection::RackTlp), losing(&[1]));
    p.ends[0].flow_mut().cwnd = Bytes::new(20 * MSS);
    p.ends[0].flow_mut().ssthresh = Bytes::new(20 * MSS);
    p.service = Duration::from_micros(100);
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(120));
    // Nineteen arrive above the hole; from the third on (when it is lost) half as many leave, the retransmission first.
    let during = p.sent.iter().filter(|(at, _)| *at > AT(60) && *at < AT(120)).count();
    assert_eq!(during, 10);
    p.run(MS(150));
    assert_eq!(p.cwnd().get() / MSS, 10);
}

#[test]
fn freebsd_lets_one_segment_go_per_duplicate_and_leaves_without_a_burst() {
    // (written, outstanding and window when recovery ends): the threshold is ten, but no burst follows if less than
    // that is outstanding. A segment counts with its options, so that ten do not fill the threshold.
    const UNIT: u64 = MSS + 12;
    for (written, outstanding, window) in
        [(crate::ENDLESS, 10 * MSS, 9 * MSS + UNIT), (26 * MSS, 5 * MSS, 5 * MSS + UNIT)]
    {
        let config = Config { delayed_ack: DelayedAck::None, ..stack(Stack::FreeBsd11) };
        let mut p = Pair::new(config, losing(&[1]));
        p.ends[0].flow_mut().cwnd = Bytes::new(20 * UNIT);
        p.ends[0].flow_mut().ssthresh = Bytes::new(20 * UNIT);
        p.service = Duration::from_micros(100);
        p.ends[0].write(p.now, written);
        p.run(MS(120));
        let mut per_ack: Vec<(Instant, u32)> = Vec::new();
        for (at, _) in p.sent.iter().filter(|(at, _)| *at > AT(60)) {
            match per_ack.last_mut() {
                Some((t, n)) if t == at => *n += 1,
                _ => per_ack.push((*at, 1)),
            }
        }
        assert!(per_ack.iter().all(|(_, n)| *n == 1), "{per_ack:?}");
        while p.ends[0].flow().phase == Phase::Recovery {
            p.run(p.now.since(Instant::ZERO) + Duration::from_micros(10));
        }
        let s = &p.ends[0].sender;
        assert_eq!((s.nxt - s.flow.acked_to, p.cwnd()), (outstanding, Bytes::new(window)));
    }
}

/// The numbers of what FreeBSD sends between two times, where segments with these numbers are lost once, with a window of
/// `window` segments with their options.
fn freebsd_sends(window: u64, lost: &[u64], from: u64, to: u64) -> Vec<u64> {
    let config = Config { delayed_ack: DelayedAck::None, ..stack(Stack::FreeBsd11) };
    let mut p = Pair::fixed(config, losing(lost));
    p.ends[0].flow_mut().cwnd = Bytes::new(window * (MSS + 12));
    p.service = Duration::from_micros(100);
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(to));
    p.sent.iter().filter(|(at, _)| *at > AT(from)).map(|(_, s)| number(s)).collect()
}

#[test]
fn freebsd_s_silly_window_avoidance_holds_one_new_segment_back_in_a_repair() {
    // Limited transmit and the recovery make room by payloads, and less than one with its options is too little. Nine
    // duplicates: nothing, 11, the repair; then (threshold five) room from the ACK of 7 on, and one behind.
    assert_eq!(freebsd_sends(10, &[1], 60, 82), [11, 1, 12, 13, 14]);
}

#[test]
fn freebsd_leaves_holes_beyond_the_recovery_to_the_next() {
    // 21 leaves before the third duplicate and 22 after: its loss is repaired once 1 is, and three duplicates later. The second
    // of them lets none go, since 21 went so (`snd_limited`): what left is 22 to 31.
    let sent = freebsd_sends(20, &[1, 22], 60, 400);
    let at = |n: u64| sent.iter().enumerate().filter(|(_, s)| **s == n).map(|(i, _)| i).collect::<Vec<_>>();
    assert_eq!((at(1).len(), at(22).len()), (1, 2), "{sent:?}");
    assert_eq!(at(22)[1], at(22)[0] + 10, "{sent:?}");
}

#[test]
fn after_a_timeout_freebsd_s_window_begins_at_the_first_hole_and_holds_what_was_received_beyond() {
    // 2 to 4 and 6 to 8 were received. The window of two that the repair of 1 leaves ends before 9.
    let config = Config { delayed_ack: DelayedAck::None, ..stack(Stack::FreeBsd11) };
    let mut p = Pair::new(config, losing(&[1, 1, 5, 5, 9, 9]));
    p.ends[0].flow_mut().cwnd = Bytes::new(12 * (MSS + 12));
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(2000));
    assert_eq!(p.ends[0].stats().timeouts, 1);
    let [one, five, nine] = [1, 5, 9].map(|n| *sent(&p, n).last().unwrap());
    assert_eq!((five - one, nine - five), (40, 40));
}

#[test]
fn a_lost_retransmission_is_found_by_time_and_otherwise_by_timeout() {
    for (loss, timeouts) in [(LossDetection::RackTlp, 0), (LossDetection::Sack, 1)] {
        let mut p = Pair::new(config(loss), losing(&[3, 3]));
        p.ends[0].flow_mut().cwnd = Bytes::new(20 * MSS);
        p.ends[0].flow_mut().ssthresh = Bytes::new(20 * MSS);
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(2000));
        assert_eq!(p.ends[0].stats().timeouts, timeouts, "{loss:?}");
        assert_eq!(sent(&p, 3).len(), 3);
    }
}

#[test]
fn the_timeout_doubles_until_something_comes_back() {
    let mut p = Pair::new(config(LossDetection::Sack), |from, n, _| {
        if from == 0 && (30..34).contains(&n) { Fate::Drop } else { Fate::Pass }
    });
    p.ends[0].write(p.now, 10 * MSS);
    p.run(MS(200));
    let start = p.now;
    p.path = alloc::boxed::Box::new({
        let mut drops = 4;
        move |from, _, s| {
            if from == 0 && s.len > 0 && drops > 0 {
                drops -= 1;
                return Fate::Drop;
            }
            Fate::Pass
        }
    });
    p.ends[0].write(p.now, MSS);
    p.run(MS(20_000));
    let rto = 240; // 40 ms and Linux's floor of 200 ms
    let at: Vec<_> = sent(&p, 11).iter().map(|t| t - start.as_nanos() / 1_000_000).collect();
    assert_eq!(at, [0, rto, 3 * rto, 7 * rto, 15 * rto]);
    assert_eq!(p.ends[0].stats().timeouts, 4);
    let events: Vec<_> = p.ends[0].flow_mut().drain_events().collect();
    assert!(events.iter().filter(|e| e.cause() == Some(CauseKind::Timeout)).count() == 4);
    assert_eq!(p.ends[1].received(), 11 * MSS);
    // RFC 6298: the back-off ends with the next valid sample.
    p.ends[0].write(p.now, 2 * MSS);
    p.run(MS(21_000));
    assert!(p.ends[0].rto() < MS(400), "{:?}", p.ends[0].rto());
}

#[test]
fn freebsd_s_threshold_after_a_timeout_is_whole_segments_and_two_at_least() {
    for (window, threshold) in [(2 * MSS, 2), (7 * MSS, 3)] {
        let mut p = Pair::new(
            stack(Stack::FreeBsd11),
            |from, _, s| {
                if from == 0 && s.len > 0 { Fate::Drop } else { Fate::Pass }
            },
        );
        p.ends[0].flow_mut().cwnd = Bytes::new(window);
        p.ends[0].flow_mut().floor = Bytes::new(1);
        p.ends[0].write(p.now, 20 * MSS);
        while p.ends[0].stats().timeouts == 0 {
            p.run(p.now.since(Instant::ZERO) + MS(1));
        }
        assert_eq!((p.ends[0].stats().timeouts, p.ends[0].flow().ssthresh), (1, Bytes::new(threshold * MSS)));
    }
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    let mut p = Pair::new(config(LossDetection::RackTlp), losing(&[9, 10]));
    p.ends[0].write(p.now, 10 * MSS);
    p.run(MS(1000));
    // The last ACK came at 80 ms; two smoothed RTTs and two jiffies later the last segment goes again. Its selective
    // acknowledgement shows that 9 is lost.
    assert_eq!(sent(&p, 10), [40, 162]);
    assert_eq!(sent(&p, 9), [40, 202]);
    let s = p.ends[0].stats();
    assert_eq!((s.tail_probes, s.timeouts, s.recoveries), (1, 0, 1));
    assert_eq!(p.ends[0].acked(), 10 * MSS);
}

#[test]
fn a_probe_that_repairs_the_only_loss_still_reduces_the_window() {
    let mut p = Pair::new(config(LossDetection::RackTlp), losing(&[10]));
    p.ends[0].write(p.now, 10 * MSS);
    p.run(MS(600));
    p.ends[0].write(p.now, MSS);
    p.run(MS(700));
    let s = p.ends[0].stats();
    assert_eq!((s.tail_probes, s.timeouts), (1, 0));
    assert!(p.ends[0].flow_mut().drain_events().any(|e| e.cause() == Some(CauseKind::LossBackoff)));
}

#[test]
fn reordering_costs_one_mistake_which_is_taken_back() {
    // Every tenth segment takes 8 ms longer; the reordering window is a quarter of 40 ms.
    let mut p = Pair::new(config(LossDetection::RackTlp), |from, _, s| {
        if from == 0 && number(s) % 10 == 3 { Fate::Late(MS(8)) } else { Fate::Pass }
    });
    p.service = Duration::from_micros(500);
    p.room = 70;
    p.ends[0].write(p.now, 2000 * MSS);
    p.ends[0].flow_mut().ssthresh = Bytes::new(40 * MSS);
    p.run(MS(8000));
    let s = p.ends[0].stats();
    assert_eq!(p.ends[1].received(), 2000 * MSS);
    assert!(s.retransmissions <= 3, "{s:?}");
    assert!(s.undos >= 1 && s.undos <= 2, "{s:?}");
    // Nothing was lost, so the window grew all the way.
    assert!(p.cwnd() >= Bytes::new(40 * MSS), "{:?}", p.cwnd());
}

#[test]
fn counting_duplicates_mistakes_reordering_for_loss() {
    // The contrast that makes the test above mean something.
    let mut p = Pair::new(config(LossDetection::Sack), |from, _, s| {
        if from == 0 && number(s) % 10 == 3 { Fate::Late(MS(8)) } else { Fate::Pass }
    });
    p.service = Duration::from_micros(500);
    p.ends[0].write(p.now, 2000 * MSS);
    p.run(MS(20_000));
    assert!(p.ends[0].stats().retransmissions > 50, "{:?}", p.ends[0].stats());
}

#[test]
fn a_delay_spike_is_recognised_and_the_window_restored() {
    // At 1 s the path gets longer by 0.6 s each way, more than the timeout of about 250 ms.
    let spiked = |undo| {
        let mut p = Pair::new(Config { undo, ..linux() }, |_, _, _| Fate::Pass);
        p.service = MS(1);
        p.room = 200;
        p.ends[0].flow_mut().ssthresh = Bytes::new(50 * MSS);
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(1000));
        let before = p.cwnd();
        p.delay = MS(620);
        p.run(MS(3000));
        (before, p)
    };
    let (before, mut p) = spiked(true);
    let s = *p.ends[0].stats();
    assert!(s.timeouts >= 1 && s.undos >= 1, "{s:?}");
    assert!(p.cwnd() >= before, "{before:?} became {:?}", p.cwnd());
    assert!(p.ends[0].flow_mut().drain_events().any(|e| e.cause() == Some(CauseKind::Undo)));
    let (before, p) = spiked(false);
    assert!(p.ends[0].stats().undos == 0 && p.cwnd() < before);
}

#[test]
fn a_mark_reduces_once_a_window_and_loses_nothing() {
    for stack_of in [Stack::Linux, Stack::FreeBsd11] {
        for accurate_ecn in [false, true] {
            let config = Config { ecn: true, accurate_ecn, ..stack(stack_of) };
            let mut p =
                Pair::new(
                    config,
                    |from, _, s| {
                        if from == 0 && (20..=24).contains(&number(s)) { Fate::Mark } else { Fate::Pass }
                    },
                );
            p.service = MS(1);
            p.ends[0].flow_mut().ssthresh = Bytes::new(30 * MSS);
            p.ends[0].write(p.now, crate::ENDLESS);
            p.run(MS(300));
            let events: Vec<_> = p.ends[0].flow_mut().drain_events().collect();
            assert_eq!(events.iter().filter_map(|e| e.cause()).collect::<Vec<_>>(), [CauseKind::EcnBackoff]);
            assert_eq!(events[0].cwnd_after, events[0].cwnd_before / 2);
            assert_eq!(p.ends[0].flow().ssthresh, Bytes::new(events[0].cwnd_after));
            assert_eq!(p.ends[1].stats().ce_received, 5);
            assert_eq!(p.replied.last().unwrap().1.ce_bytes as u64, 5 * MSS);
        }
    }
}

#[test]
fn overflowing_a_queue_is_repaired_by_every_way() {
    // (most retransmissions, most timeouts): a slow start that doubles loses about a queue and a pipe.
    for (loss, again, timeouts) in [
        (LossDetection::RackTlp, 160, 0),
        (LossDetection::Sack, 160, 0),
        // Its timer runs from the first partial ACK on, and a hole a round trip fills too few of them by then.
        (LossDetection::NewReno, 300, 2),
        (LossDetection::Reno, 400, 3),
        (LossDetection::Tahoe, 500, 2),
    ] {
        let mut p = Pair::new(with_loss(loss), |_, _, _| Fate::Pass);
        p.service = MS(1);
        p.room = 60;
        p.transfer(5_000 * MSS);
        let s = p.ends[0].stats();
        assert!(s.retransmissions <= again && s.timeouts <= timeouts, "{loss:?} {s:?}");
        assert!(s.recoveries >= 1, "{loss:?} {s:?}");
    }
}

#[test]
fn the_order_of_retransmissions_is_kept_for_rack_alone() {
    for loss in WAYS {
        let mut n = 0;
        let mut p = Pair::new(with_loss(loss), move |from, _, s| {
            n += u32::from(from == 0 && s.len > 0);
            if from == 0 && s.len > 0 && n % 50 == 0 { Fate::Drop } else { Fate::Pass }
        });
        p.service = Duration::from_micros(100);
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(20_000));
        let (stats, kept) = (p.ends[0].stats(), p.ends[0].sender.board.resent_order.len());
        assert!(stats.retransmissions > 50 && kept < 50, "{loss:?}: {kept} of {}", stats.retransmissions);
        assert!(loss == LossDetection::RackTlp || kept == 0, "{loss:?}");
    }
}

#[test]
fn below_its_goal_a_reduction_lets_one_more_go_than_an_ack_delivers_if_that_moves_on_and_shows_no_loss() {
    // RFC 9937, SafeACK; `tcp_cwnd_reduction`: FLAG_SND_UNA_ADVANCED and no `newly_lost`. (ACK, ranges, delivered, what leaves)
    let mut a = Alone::new(linux(), 20);
    a.now += MS(39);
    a.hear(1000, &[]);
    assert_eq!(a.hear(1000, &[(8000, 12_000)]), [(1000, 1000)]);
    a.threshold(40 * MSS);
    assert_eq!(a.hear(1000, &[(8000, 13_000)]).len(), 4, "as many as were delivered until now");
    for (ack, ranges, delivered, leave) in [
        (1000, &[(8000, 14_000)][..], 1, 1),
        (2000, &[(8000, 14_000)], 1, 2),
        (2000, &[(8000, 16_000)], 2, 2),
        (4000, &[(8000, 16_000)], 2, 3),
        (5000, &[(18_000, 19_000), (8000, 16_000)], 2, 2),
    ] {
        let before = a.end.flow().delivered;
        let left = a.hear(ack, ranges).len();
        assert_eq!((a.end.flow().delivered - before, left), (Bytes::new(delivered * MSS), leave), "{ack} {ranges:?}");
    }
    assert_eq!((a.phase(), a.end.stats().lost), (Phase::Recovery, 9 * MSS));
}

#[test]
fn an_ack_that_delivers_nothing_moves_no_window_of_a_reduction() {
    // RFC 9937, section 6, and `tcp_cwnd_reduction` (`newly_acked_sacked <= 0`): what RACK finds lost meanwhile makes room for itself,
    // be it found by its timer or by a duplicate without news.
    for by_timer in [true, false] {
        let mut a = Alone::new(linux(), 20);
        a.now += MS(39);
        a.hear(1000, &[]);
        a.end.sender.rack.reordering = true;
        let first = a.end.sender.board.ring.first();
        (first..first + 3).for_each(|id| a.end.sender.board.ring.get_mut(id).sent_at = AT(985));
        a.hear(1000, &[(8000, 12_000)]);
        a.hear(1000, &[(8000, 13_000)]);
        let (window, lost) = (a.end.flow().cwnd, a.end.stats().lost);
        let left = if by_timer {
            a.ring()
        } else {
            a.now = AT(1052);
            a.hear(1000, &[(8000, 13_000)])
        };
        assert_eq!((a.phase(), a.end.stats().lost - lost, a.end.flow().cwnd), (Phase::Recovery, 4 * MSS, window));
        assert_eq!(left.iter().filter(|(seq, _)| *seq < 8000).count(), 4, "by timer: {by_timer}");
    }
}
