use super::*;
use crate::pair::{Fate, Pair, Plain};
use crate::{Config, DelayedAck, Segment};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use cc::{Ack, Congestion, CongestionControl, Flow, Phase, Reaction, Signal};
use std::sync::Mutex;
use units::{Bytes, Rate};

/// Keeps what it is told.
#[derive(Debug)]
struct Spy {
    acks: Arc<Mutex<Vec<(Instant, Ack, Flow)>>>,
    plain: Plain,
    /// The window that a recovery leaves it, in segments; half if none.
    keeps: Option<u64>,
}

impl CongestionControl for Spy {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.acks.lock().unwrap().push((flow.now, ack.clone(), flow.clone()));
        self.plain.on_ack(flow, ack);
    }
    fn on_congestion(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        let kept = self.keeps.map(|n| if c.signal == Signal::Timeout { 100 * MSS } else { n * MSS });
        Reaction::Reduce(kept.map_or(flow.cwnd / 2, Bytes::new))
    }
}

/// What the algorithm of a bulk flow with a window of `window` segments is told until `until`.
fn told(config: Config, window: u64, until: u64) -> Vec<(Instant, Ack, Flow)> {
    told_over(config.clone(), config, window, until, |_, _, _| Fate::Pass)
}

/// The same over a path that is no plain one, from a receiver of its own.
fn told_over<'a>(
    sender: Config,
    receiver: Config,
    window: u64,
    until: u64,
    path: impl FnMut(usize, u64, &Segment) -> Fate + 'a,
) -> Vec<(Instant, Ack, Flow)> {
    let acks = Arc::new(Mutex::new(Vec::new()));
    let mss = sender.mss.get();
    let mut p = Pair::with(
        sender,
        receiver,
        &mut |flow| {
            flow.cwnd = Bytes::new(window * mss);
            Box::new(Spy { acks: acks.clone(), plain: Plain { fixed: true }, keeps: None })
        },
        path,
    );
    p.service = MS(1);
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(until));
    acks.lock().unwrap().drain(..).collect()
}

/// Drops a packet of the sender.
fn a_hole(from: usize, n: u64, _: &Segment) -> Fate {
    if from == 0 && n == 200 { Fate::Drop } else { Fate::Pass }
}

/// What is told with the ACK that fills it.
fn filling(acks: &[(Instant, Ack, Flow)]) -> (Instant, Ack, Flow) {
    let lost = acks.iter().position(|a| a.1.newly_lost > Bytes::ZERO).expect("a loss");
    acks[lost + 1..].iter().find(|a| !a.1.duplicate).expect("a repair").clone()
}

#[test]
fn linux_rounds_last_a_round_trip_and_tile_time_and_data() {
    let acks = told(linux(), 100, 2000);
    let rounds: Vec<_> = acks.iter().filter_map(|a| a.1.round).collect();
    // 100 segments of 1 ms each: the window takes 100 ms, path and queue together.
    assert!((18..=20).contains(&rounds.len()), "{}", rounds.len());
    assert_eq!((rounds[0].number, rounds[0].start), (1, AT(40)), "as the connection is up");
    for (n, pair) in rounds.windows(2).enumerate() {
        assert_eq!(pair[1].number, pair[0].number + 1);
        assert_eq!(pair[1].start, pair[0].end);
        if n > 1 {
            assert_eq!(pair[1].delivered, Bytes::new(100 * MSS));
            assert_eq!((pair[1].min_rtt, pair[1].max_rtt, pair[1].cwnd), (MS(100), MS(100), Bytes::new(100 * MSS)));
        }
    }
    let delivered: Bytes = rounds.iter().map(|r| r.delivered).sum();
    let last = acks.iter().rposition(|a| a.1.round.is_some()).unwrap();
    assert_eq!(delivered, acks[..=last].iter().map(|a| a.1.delivered).sum(), "what closes a round belongs to it");
}

#[test]
fn the_first_round_of_a_connection_that_was_there_before_begins_with_its_first_data() {
    let acks = Arc::new(Mutex::new(Vec::new()));
    let spy = Spy { acks: acks.clone(), plain: Plain { fixed: true }, keeps: None };
    let mut a = super::alone::Alone::with(stack(Stack::Ns2), 2, Box::new(spy), 2 * MSS);
    // The second of silence before it is none of it, and what is written later begins no round.
    a.hear(1000, &[]);
    a.now += MS(5);
    a.end.write(a.now, MSS);
    assert_eq!(a.leaving().len(), 1);
    a.hear(2000, &[]);
    a.hear(3000, &[]);
    let starts: Vec<_> = acks.lock().unwrap().iter().filter_map(|(_, ack, _)| Some(ack.round?.start)).collect();
    assert_eq!(starts, [AT(1000), AT(1001)]);
}

#[test]
fn freebsd_counts_ticks_plus_one_and_closes_rounds_by_marked_segments() {
    // Of 51 000 bytes of window FreeBSD uses 50 000: what is left is a segment, but none with its options.
    let acks = told(stack(Stack::FreeBsd11), 51, 1500);
    for (_, ack, flow) in &acks {
        if let Some(rtt) = ack.rtt {
            assert_eq!(rtt.as_nanos() % 1_000_000, 0);
            assert_eq!(flow.rtt, rtt);
        }
    }
    // Alone with 50 segments of 1 ms and 41 ms of path the RTT is 50 ms: ticks 50, plus one.
    let steady: Vec<_> = acks.iter().filter(|a| a.0 > AT(500)).collect();
    assert!(steady.iter().filter_map(|a| a.1.rtt).all(|r| r == MS(51)), "{:?}", steady[0].1);
    // With delayed ACKs every sample comes from an ACK of two segments.
    assert!(steady.iter().all(|a| a.1.rtt.is_some() == (a.1.cumulative == Bytes::new(2 * MSS))));
    let rounds: Vec<_> = steady.iter().filter_map(|a| a.1.round).collect();
    for r in &rounds {
        // The mark goes to the segment sent on the ACK that closed the round before.
        let length = r.end.since(r.start);
        assert!((MS(50)..=MS(53)).contains(&length), "{length:?}");
        assert_eq!((r.min_rtt, r.max_rtt_reused), (MS(51), MS(51)));
        assert!((51..=53).contains(&r.marked_rtt.as_millis()), "{:?}", r.marked_rtt);
    }
    assert!((18..=20).contains(&rounds.len()), "{}", rounds.len());
}

#[test]
fn a_delaying_receiver_makes_single_segment_samples_stale() {
    let config = Config { delayed_ack: DelayedAck::EverySecond { timeout: MS(100) }, ..stack(Stack::FreeBsd11) };
    let acks = told(config, 7, 3000);
    // Seven segments: three ACKs of two and one of a single segment, delayed by 100 ms, a round.
    let late: Vec<_> = acks.iter().filter(|a| a.0 > AT(300) && a.1.cumulative == Bytes::new(MSS)).collect();
    for (_, ack, flow) in late {
        assert_eq!(ack.rtt, None);
        assert!(flow.rtt < MS(80), "the stale sample stays: {:?}", flow.rtt);
    }
}

#[test]
fn delivery_rate_is_that_of_the_bottleneck() {
    let acks = told(Config { rate_samples: true, ..linux() }, 100, 1500);
    for (at, ack, _) in acks.iter().filter(|a| a.0 > AT(600)) {
        let Some(rate) = ack.rate else { panic!("no sample at {at:?}") };
        assert_eq!(rate.delivered / rate.interval, Rate::from_mbps(8.0));
        assert_eq!(rate.tx_in_flight, Bytes::new(100 * MSS));
        assert!(!rate.app_limited);
    }
}

#[test]
fn one_way_delay_sees_the_forward_path_and_the_skew_of_the_clocks() {
    for (skew_ppb, drift) in [(0, 0), (10_000_000, 10), (-10_000_000, -10)] {
        let a = Config { timestamp_tick: Duration::from_micros(100), ..linux() };
        let acks = told_over(a.clone(), Config { clock_skew_ppb: skew_ppb, ..a }, 20, 1500, |_, _, _| Fate::Pass);
        let seen: Vec<_> = acks.iter().filter_map(|a| Some((a.0, a.1.one_way?))).collect();
        let near = |at| seen.iter().find(|s| s.0 >= AT(at)).unwrap().1;
        // The constant is unknown, but one per cent of skew moves it by 10 ms a second.
        let moved = near(1400).diff_millis(near(400));
        assert!((moved - drift as f64).abs() <= 1.2, "skew {skew_ppb}: {moved} ms in a second");
    }
}

#[test]
fn a_hole_makes_no_one_way_delay() {
    // What is lost at 300 ms leaves a hole for a round trip, and the stamp echoed meanwhile gets old.
    let a = Config { timestamp_tick: Duration::from_millis(1), ..linux() };
    let acks = told_over(a.clone(), a, 20, 1500, a_hole);
    assert!(acks.iter().any(|a| a.1.newly_lost > Bytes::ZERO) && acks.iter().any(|a| a.1.duplicate), "no hole");
    // The first flight leaves at once and queues.
    let delays: Vec<_> = acks.iter().filter(|a| a.0 > AT(250)).filter_map(|a| a.1.one_way).collect();
    let (least, most) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
    assert!(*most - *least <= MS(3), "{least:?} to {most:?}");
}

#[test]
fn a_repair_is_timed_by_its_timestamp_alone() {
    // The ACK that fills the hole is for a segment that went twice, and for those behind it, known already (Karn): the stamp
    // tells which sending it was (Linux' `tcp_ack_update_rtt`).
    for timestamps in [true, false] {
        let a = Config { timestamps, ..linux() };
        let (_, filled, _) = filling(&told_over(a.clone(), a, 20, 1500, a_hole));
        // The repair leaves behind one segment that the second ACK beyond the hole let go.
        assert_eq!(filled.rtt, timestamps.then_some(MS(42)));
    }
}

#[test]
fn linux_is_out_of_a_repair_before_the_ack_that_ends_it_grows_the_window() {
    // It covers twenty segments of which one is new: that one counts (`tcp_fastretrans_alert`, then `tcp_cong_control`).
    for (of, phase, counts) in [(Stack::Linux, Phase::Open, 1), (Stack::FreeBsd11, Phase::Recovery, 20)] {
        let (_, ack, flow) = filling(&told_over(stack(of), stack(of), 20, 1500, a_hole));
        assert_eq!((flow.phase, ack.cumulative.get() / stack(of).mss.get()), (phase, counts), "{of:?}");
    }
}

#[test]
fn once_packets_were_late_by_more_than_three_linux_grows_beyond_a_hole() {
    // The first late packet shows that there is reordering, the second how far it goes; what is delivered beyond the third
    // counts if that was far (`tcp_may_raise_cwnd`).
    for (second, counts) in [(3, false), (8, true)] {
        let late = [(200, 3), (300, second), (400, 8)];
        let acks = told_over(linux(), linux(), 40, 1500, |from, n, _| {
            let by = late.iter().find(|(number, _)| from == 0 && *number == n);
            by.map_or(Fate::Pass, |(_, by)| Fate::Late(MS(*by)))
        });
        assert!(acks.iter().all(|a| a.2.phase == Phase::Open), "nothing was taken for lost");
        let beyond: Vec<_> = acks.iter().filter(|a| a.1.duplicate).collect();
        let counted = |a: &&(Instant, Ack, Flow)| a.1.cumulative == a.1.delivered;
        assert!(beyond.len() > 6 && !counted(&beyond[0]), "{beyond:?}");
        assert_eq!(beyond.last().is_some_and(counted), counts, "late by {second} packets");
    }
}

#[test]
fn heard_reports_every_fresh_sample() {
    let mut p = Pair::fixed(linux(), |_, _, _| Fate::Pass);
    p.ends[0].write(p.now, 100 * MSS);
    p.run(MS(1000));
    let samples: Vec<_> = p.heard.iter().filter_map(|h| h.1.rtt).collect();
    assert!(samples.len() > 50 && samples.iter().all(|r| *r == MS(40)), "{samples:?}");
    assert_eq!(p.heard.iter().map(|h| h.1.acked).sum::<u64>(), 100 * MSS);
}

#[test]
fn freebsd_times_nothing_by_what_it_sends_again_after_a_timeout() {
    // Three of ten segments are lost, the first one's retransmission too, and a small window repairs few before the timeout.
    // After it the sender knows three of the ranges that arrived and sends much of the others again. ACKs of these duplicates
    // report ranges that are known, and so take what went again off the list of what is to be timed. Were it left there, the
    // ACK of the next hole that is filled would answer for a segment that left 5 ms before.
    let acks = Arc::new(Mutex::new(Vec::new()));
    let config = stack(Stack::FreeBsd11);
    const LOST: [u64; 3] = [2, 5, 6];
    let mut first_again = true;
    let mut p = Pair::with(
        config.clone(),
        config,
        &mut |flow| {
            flow.cwnd = Bytes::new(400 * MSS);
            Box::new(Spy { acks: acks.clone(), plain: Plain::default(), keeps: Some(4) })
        },
        move |end, n, s| match number(s) {
            number if end == 0 && (200..400).contains(&number) && LOST.contains(&(number % 10)) => {
                let lost = n < 402 || (number == 202 && core::mem::take(&mut first_again));
                if lost { Fate::Drop } else { Fate::Pass }
            }
            _ => Fate::Pass,
        },
    );
    p.service = MS(1);
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(4000));
    assert_eq!(p.ends[0].stats().timeouts, 1);
    let acks = acks.lock().unwrap();
    let shortest = acks.iter().filter_map(|a| a.1.rtt).min().unwrap();
    // An ACK that jumps over what had arrived may still answer for a segment sent a little after the one that it fills.
    assert!(shortest >= p.delay * 2 - MS(2), "{shortest:?}");
}

#[test]
fn freebsd_hears_of_the_highest_edge_an_ack_reports() {
    use crate::measure::last_sack_ack;
    for (what, [ack, cumulative, known_to], blocks, edge) in [
        ("the highest, not the first", [10, 0, 30], &[(12, 15), (20, 30)][..], 30),
        ("beside what is in order too", [10, 5, 30], &[(20, 30)], 30),
        ("what is in order, while ranges lie beyond a hole", [10, 5, 30], &[], 10),
        ("and as these are reached", [30, 25, 30], &[], 30),
        ("nothing without a hole", [10, 5, 5], &[], 0),
        ("nothing without ranges", [10, 0, 30], &[], 0),
        ("nothing of what is acknowledged, nor of no block", [10, 0, 30], &[(8, 9), (0, 0)], 0),
    ] {
        assert_eq!(last_sack_ack(ack, cumulative, known_to, blocks), edge, "{what}");
    }
}

#[test]
fn a_lost_acknowledgement_does_not_shorten_one_way_delays() {
    // Three in a row: the next one echoes the first segment behind the last of them.
    let a = Config { timestamp_tick: Duration::from_millis(1), ..linux() };
    let loses = |from, n, _: &Segment| if from == 1 && (200..203).contains(&n) { Fate::Drop } else { Fate::Pass };
    let acks = told_over(a.clone(), a, 20, 1500, loses);
    let most = acks.iter().filter(|a| a.0 > AT(250)).map(|a| a.1.cumulative).max().unwrap();
    assert!(most >= Bytes::new(8 * MSS), "no acknowledgement was lost: {most:?}");
    // What was held back leaves in a burst and waits longer; nothing is faster than the path.
    let least = |from, to| acks.iter().filter(|a| a.0 > AT(from) && a.0 < AT(to)).filter_map(|a| a.1.one_way).min();
    let (before, all) = (least(150, 350).unwrap(), least(150, 1500).unwrap());
    assert!(all + MS(1) >= before, "{before:?}, then {all:?}");
}
