//! What links do to datagrams of a known rhythm: rates, queues, losses, delays, changes.

use crate::common::{self, dumbbell, ms, trace};
use experiment::{Change, Link, LossAt, LossModel, RateSpec, Reorder, Scenario, Traffic};
use sim::Summary;
use sim::probe::{Probe, Trace};
use sim::summary::FlowSummary;
use units::{Bytes, Duration, Instant, Rate};

/// Arrival times and numbers of datagrams.
#[derive(Default)]
struct Arrivals(Vec<(Instant, u64)>);

impl Probe for Arrivals {
    fn see(&mut self, now: Instant, trace: Trace<'_>) {
        if let Trace::Deliver { packet } = trace {
            self.0.push((now, packet.segment.seq));
        }
    }
}

/// 1500-byte datagrams at `mbps` over a 12 Mbit/s link (1 ms each) with 20 ms of delay.
fn cbr(mbps: f64, buffer: usize, seconds: u64) -> Scenario {
    let mut s = dumbbell(12.0, 40.0, buffer, "fifo", &["newreno"], seconds);
    s.flows[0].traffic =
        Traffic::Cbr { rate: Rate::from_mbps(mbps), size: Bytes::new(1500), on: Duration::ZERO, off: Duration::ZERO };
    s
}

fn watch(s: &Scenario) -> (Summary, Vec<(Instant, u64)>) {
    let (summary, arrivals) = common::watch(s, Arrivals::default());
    (summary, arrivals.0)
}

#[test]
fn an_idle_link_takes_one_transmission_and_one_propagation() {
    let (r, arrivals) = watch(&cbr(6.0, 10, 1));
    assert_eq!(arrivals[0], (Instant::from_millis(21), 1));
    assert_eq!(arrivals[1], (Instant::from_millis(23), 2));
    let owd = r.flows[0].owd_ms.unwrap();
    assert_eq!((owd.min, owd.max, r.flows[0].jitter_ms), (21.0, 21.0, Some(0.0)));
    assert_eq!(r.links[0].queue_ms.unwrap().max, 0.0);
    assert!((r.links[0].utilisation.unwrap() - 0.5).abs() < 0.001);
}

#[test]
fn a_rate_of_fractions_of_a_nanosecond_is_kept() {
    // 64 bytes take 51.2 ns at 10 Gbit/s and 5.12 at 100, and calendars know whole ones.
    for gbps in [1.0, 10.0, 100.0] {
        let mut s = dumbbell(gbps * 2000.0, 0.04, 100_000, "fifo", &["newreno"], 1);
        let rate = Rate::from_mbps(gbps * 1000.0);
        s.flows[0].traffic = Traffic::Cbr { rate, size: Bytes::new(64), on: Duration::ZERO, off: Duration::ZERO };
        s.run.duration = Duration::from_millis(1);
        s.run.measure = (Instant::ZERO, Instant::from_millis(1));
        let sent = common::run(&s).flows[0].sent as f64;
        let due = gbps * 1e9 / 1000.0 / 8.0 / 64.0;
        assert!((sent - due).abs() <= 1.0, "{sent} for {due}");
    }
}

#[test]
fn twice_the_rate_fills_the_buffer_and_loses_half() {
    let (r, _) = watch(&cbr(24.0, 10, 10));
    let l = &r.links[0];
    assert!((l.utilisation.unwrap() - 1.0).abs() < 0.001);
    assert!((l.drop_pct.unwrap() - 50.0).abs() < 0.2, "{:?}", l.drop_pct);
    // Ten packets wait while one is sent: the tenth waits ten transmissions less what has passed of the first.
    assert!((l.queue_ms.unwrap().median - 9.5).abs() < 0.6, "{:?}", l.queue_ms);
    assert_eq!((l.queue_packets.max, l.dropped_law, l.dropped_random), (10, 0, 0));
}

#[test]
fn many_packets_that_wait_for_days_are_all_in_the_mean() {
    let mut s = cbr(10.0, 1_000_000, 1_000_000);
    s.flows[0].traffic =
        Traffic::Cbr { rate: Rate::from_mbps(10.0), size: Bytes::new(65_535), on: Duration::ZERO, off: Duration::ZERO };
    s.flows[0].stop = Some(Instant::from_millis(2_000_000));
    s.links[0].rate = Some(RateSpec::Constant(Rate::from_mbps(1e-6)));
    let (r, _) = watch(&s);
    let (mean, arrived) = (r.links[0].queue_packets.mean, r.links[0].arrived.unwrap() as f64);
    assert!(arrived > 38_000.0 && mean > 0.998 * arrived && mean < arrived, "{mean} of {arrived}");
}

#[test]
fn more_changes_of_delays_than_an_event_can_name_lines() {
    let mut s = dumbbell(10.0, 40.0, 500, "fifo", &["newreno"; 200], 6);
    s.links[1].rate = Some(RateSpec::Constant(Rate::from_mbps(10.0)));
    for (f, flow) in s.flows.iter_mut().enumerate() {
        flow.edge_back = Duration::from_nanos(f as u64);
    }
    let change = |i: u64| Change {
        at: Instant::from_millis(1 + i),
        rate: None,
        delay: Some(ms(20.0) + Duration::from_nanos(i * 1000)),
        loss: None,
    };
    s.links[1].changes = (0..5300).map(change).collect();
    let (r, _) = watch(&s);
    assert!(r.links[0].utilisation.unwrap() > 0.9);
}

#[test]
fn what_waits_after_the_window_is_not_in_its_mean() {
    let mean = |seconds| {
        let mut s = cbr(24.0, 10, seconds);
        s.run.measure = (Instant::from_millis(1000), Instant::from_millis(2000));
        watch(&s).0.links[0].queue_packets.mean
    };
    assert!((mean(2) - 9.5).abs() < 0.6, "{}", mean(2));
    assert_eq!(mean(2), mean(6));
}

#[test]
fn random_losses_come_at_their_rates() {
    for (model, want) in [
        (LossModel::Random(0.1), 10.0),
        // One in eleven packets meets the bad state (0.02 / (0.02 + 0.2)), which loses half.
        (LossModel::Gilbert { to_bad: 0.02, to_good: 0.2, loss_good: 0.0, loss_bad: 0.5 }, 50.0 / 11.0),
    ] {
        for at in [LossAt::Enqueue, LossAt::After] {
            let mut s = cbr(6.0, 10, 100);
            s.links[0].loss = model;
            s.links[0].loss_at = at;
            let r = watch(&s).0;
            let lost = r.flows[0].loss_pct.unwrap();
            assert!((lost - want).abs() < 0.5, "{model:?} {at:?}: {lost}");
            let dropped = r.links[0].drop_pct.unwrap();
            assert!((dropped - lost).abs() < 0.01, "{model:?} {at:?}: {dropped} of the link, {lost} of the flow");
            assert_eq!(r.links[0].dropped_random, r.links[0].dropped);
        }
    }
}

#[test]
fn a_window_that_begins_with_a_standing_queue_has_no_more_than_all_lost() {
    // Five seconds of overload, then silence: CoDel drops from what waits, and nobody sends any more.
    let mut s = dumbbell(1.0, 40.0, 1000, "codel", &["newreno"; 2], 12);
    for (flow, stop) in s.flows.iter_mut().zip([5_000, 5_500]) {
        let mbps = Rate::from_mbps(1.5);
        flow.traffic = Traffic::Cbr { rate: mbps, size: Bytes::new(1500), on: Duration::ZERO, off: Duration::ZERO };
        flow.stop = Some(Instant::from_millis(stop));
    }
    (s.flows[0].group, s.flows[1].group) = (0, 0);
    s.groups.truncate(1);
    s.run.measure.0 = Instant::from_millis(5_000);
    let r = watch(&s).0;
    let (a, b, l) = (&r.flows[0], &r.flows[1], &r.links[0]);
    let through = |f: &FlowSummary| f.owd_ms.unwrap().samples;
    let of = |lost: u64, through: u64| Some(100.0 * lost as f64 / (lost + through) as f64);
    assert!(a.sent == 0 && a.lost > 50 && l.dropped > l.arrived.unwrap(), "{a:?} {l:?}");
    assert_eq!((a.loss_pct, b.loss_pct), (of(a.lost, through(a)), of(b.lost, through(b))));
    assert_eq!(r.groups[0].loss_pct, of(a.lost + b.lost, through(a) + through(b)));
    assert_eq!(l.drop_pct, of(l.dropped, l.queue_ms.unwrap().samples));
    assert!(l.drop_pct.unwrap() < 100.0);
}

#[test]
fn where_nothing_is_decided_there_is_no_share_of_it() {
    let mut s = cbr(6.0, 10, 3);
    s.flows[0].stop = Some(Instant::from_millis(1000));
    s.run.measure.0 = Instant::from_millis(2000);
    let r = watch(&s).0;
    assert_eq!((r.flows[0].loss_pct, r.groups[0].loss_pct, r.links[0].drop_pct), (None, None, None));
    // Nor on a link that only delays, where nobody counts.
    assert_eq!(watch(&cbr(6.0, 10, 3)).0.links[1].drop_pct, None);
}

#[test]
fn jitter_that_was_not_measured_is_none_and_in_no_mean() {
    let mut s = dumbbell(12.0, 40.0, 10, "fifo", &["newreno"; 2], 3);
    for (flow, (mbps, stop)) in s.flows.iter_mut().zip([(7.0, 3_000), (6.0, 1_000)]) {
        let rate = Rate::from_mbps(mbps);
        flow.traffic = Traffic::Cbr { rate, size: Bytes::new(1500), on: Duration::ZERO, off: Duration::ZERO };
        flow.stop = Some(Instant::from_millis(stop));
        flow.group = 0;
    }
    s.groups.truncate(1);
    s.run.measure.0 = Instant::from_millis(2_000);
    s.links[0].jitter = ms(2.0);
    let r = watch(&s).0;
    assert!(r.flows[0].jitter_ms.unwrap() > 0.1, "{:?}", r.flows[0].jitter_ms);
    assert_eq!((r.flows[1].jitter_ms, r.groups[0].jitter_ms), (None, r.flows[0].jitter_ms));
}

#[test]
fn a_copy_is_neither_sent_nor_lost_nor_come_through() {
    let mut s = cbr(6.0, 10, 40);
    s.flows[0].stop = Some(Instant::from_millis(39_000));
    s.links[0].duplicate = 0.5;
    s.links[0].loss = LossModel::Random(0.1);
    let behind = Link { loss: LossModel::Random(0.1), ..Link::plain("behind", "fifo".parse().unwrap()) };
    s.links.push(behind);
    s.flows[0].route = vec![0, 2];
    let r = watch(&s).0;
    let flow = &r.flows[0];
    assert_eq!(flow.loss_pct.unwrap(), 100.0 * flow.lost as f64 / flow.sent as f64);
    assert!((flow.loss_pct.unwrap() - 19.0).abs() < 1.0, "{:?}", flow.loss_pct);
    assert!((r.links[2].drop_pct.unwrap() - 10.0).abs() < 1.0, "{:?}", r.links[2].drop_pct);
}

#[test]
fn periodic_losses_take_the_packets_that_they_name() {
    for (first, every, burst, want) in [
        (1000, 1000, 1, vec![1000, 2000, 3000, 4000, 5000]),
        (7, 2000, 3, vec![7, 8, 9, 2007, 2008, 2009, 4007, 4008, 4009]),
        (1, 1_000_000, 2, vec![1, 2]),
    ] {
        for at in [LossAt::Enqueue, LossAt::After] {
            let mut s = cbr(6.0, 10, 11);
            s.links[0].loss = LossModel::Periodic { first, every, burst };
            s.links[0].loss_at = at;
            let numbers: Vec<u64> = watch(&s).1.into_iter().map(|(_, number)| number).collect();
            let missing: Vec<u64> = (1..=5010).filter(|number| !numbers.contains(number)).collect();
            assert_eq!(missing, want, "{at:?}");
        }
    }
}

#[test]
fn a_change_of_a_periodic_loss_counts_anew() {
    let mut s = cbr(6.0, 10, 4);
    let periodic = |every| LossModel::Periodic { first: every, every, burst: 1 };
    s.links[0].loss = periodic(600);
    // A datagram every 2 ms: number 501 leaves at one second.
    s.links[0].changes =
        vec![Change { at: Instant::from_millis(999), rate: None, delay: None, loss: Some(periodic(900)) }];
    let numbers: Vec<u64> = watch(&s).1.into_iter().map(|(_, number)| number).collect();
    let missing: Vec<u64> = (1..=1900).filter(|number| !numbers.contains(number)).collect();
    assert_eq!(missing, [500 + 900]);
}

#[test]
fn jitter_delays_and_keeps_the_order() {
    let mut s = cbr(6.0, 10, 20);
    s.links[0].jitter = ms(3.0);
    let (r, arrivals) = watch(&s);
    assert!(arrivals.windows(2).all(|w| w[0].1 < w[1].1 && w[0].0 <= w[1].0));
    let owd = r.flows[0].owd_ms.unwrap();
    assert!(owd.min >= 21.0 && owd.mean > 23.0 && r.flows[0].jitter_ms.unwrap() > 1.0, "{owd:?}");
}

#[test]
fn reordered_packets_come_late_and_duplicates_twice() {
    let mut s = cbr(6.0, 10, 20);
    s.links[0].reorder = Some(Reorder { probability: 0.05, delay: ms(5.0) });
    let (_, arrivals) = watch(&s);
    let late = arrivals.windows(2).filter(|w| w[0].1 > w[1].1).count();
    assert!((300..700).contains(&late), "{late} of 10 000 late");
    let mut s = cbr(6.0, 10, 20);
    s.links[0].duplicate = 0.05;
    let (_, arrivals) = watch(&s);
    let twice = arrivals.windows(2).filter(|w| w[0].1 == w[1].1).count();
    assert!((400..600).contains(&twice), "{twice} of 10 000 twice");
    // What is read is read once, also where a copy comes without its original.
    let behind = Link { loss: LossModel::Random(0.3), ..Link::plain("behind", "fifo".parse().unwrap()) };
    s.links.push(behind);
    s.flows[0].route = vec![0, 2];
    s.links[0].duplicate = 0.5;
    let (r, arrivals) = watch(&s);
    let numbers: std::collections::BTreeSet<u64> = arrivals.iter().map(|a| a.1).collect();
    let mbps = numbers.len() as f64 * 1472.0 * 8e-6 / 20.0;
    assert!((r.flows[0].goodput_mbps - mbps).abs() < 1e-9, "{} of {mbps} Mbit/s", r.flows[0].goodput_mbps);
    assert!((mbps / (6.0 * 1472.0 / 1500.0) - 0.805).abs() < 0.02, "{mbps}");
}

#[test]
fn rate_and_delay_change_on_schedule() {
    let mut s = cbr(6.0, 10, 3);
    let change = |at: f64, mbps: Option<f64>, delay: Option<f64>| Change {
        at: Instant::from_secs_f64(at),
        rate: mbps.map(Rate::from_mbps),
        delay: delay.map(ms),
        loss: None,
    };
    s.links[0].changes = vec![change(1.0, None, Some(50.0)), change(2.0, Some(120.0), None)];
    let (_, arrivals) = watch(&s);
    let at = |n: u64| arrivals.iter().find(|a| a.1 == n).unwrap().0;
    // Number n leaves at 2 (n − 1) ms.
    assert_eq!(at(100), Instant::from_millis(198 + 21));
    assert_eq!(at(502), Instant::from_millis(1002 + 51));
    assert_eq!(at(1002), Instant::from_millis(2002 + 50) + Duration::from_micros(100));
}

#[test]
fn who_starts_as_a_path_changes_finds_it_changed() {
    for at in [0, 1] {
        let mut s = dumbbell(12.0, 40.0, 80, "fifo", &["vegas"], 3);
        let at = Instant::ZERO + Duration::from_secs(at);
        s.flows[0].start = at;
        for link in &mut s.links {
            link.changes = vec![Change { at, rate: None, delay: Some(ms(40.0)), loss: None }];
        }
        let least = common::run(&s).flows[0].rtt_ms.unwrap().min;
        assert!(least >= 80.0, "{at:?}: {least}");
    }
}

#[test]
fn a_trace_carries_one_packet_per_line() {
    let mut s = cbr(12.0, 100, 2);
    // Two lines in 10 ms: 2 × 1500 bytes, 2.4 Mbit/s.
    s.links[0].rate = Some(trace(&[4, 10]));
    let (r, arrivals) = watch(&s);
    let gaps: Vec<u64> = arrivals.windows(2).take(6).map(|w| (w[1].0 - w[0].0).as_millis()).collect();
    assert_eq!(gaps, [6, 4, 6, 4, 6, 4]);
    assert!((r.links[0].utilisation.unwrap() - 1.0).abs() < 0.01);
}

#[test]
fn the_window_of_measurement_counts_only_what_lies_in_it() {
    let mut s = cbr(6.0, 10, 10);
    s.flows[0].stop = Some(Instant::from_secs_f64(5.0));
    s.run.measure = (Instant::from_secs_f64(4.0), Instant::from_secs_f64(6.0));
    let r = watch(&s).0;
    assert!((r.flows[0].throughput_mbps - 3.06).abs() < 0.02, "{}", r.flows[0].throughput_mbps);
    assert_eq!(r.links[0].arrived, Some(500));
}
