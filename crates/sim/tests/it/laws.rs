//! Laws of congestion controls: what theory says of a rate or a queue, on the smallest path that shows it.

use crate::common::{dumbbell, flow, run};
use experiment::{LossModel, Scenario, Traffic};
use units::{Bytes, Duration, Instant, Rate};

/// Measures from a second on, to the end.
fn from(mut s: Scenario, second: u64) -> sim::Summary {
    s.run.measure.0 = Instant::ZERO + Duration::from_secs(second);
    run(&s)
}

/// 12 Mbit/s over 40 ms, a packet a millisecond and 40 in flight, with so many BDP of buffer; the second flow comes after
/// 5 s.
fn small(bdp: usize, ccs: &[&str], seconds: u64) -> sim::Summary {
    let mut s = dumbbell(12.0, 40.0, 40 * bdp, "fifo", ccs, seconds);
    if let Some(late) = s.flows.get_mut(1) {
        late.start = Instant::ZERO + Duration::from_secs(5);
    }
    from(s, 15)
}

fn shares(r: &sim::Summary) -> Vec<f64> {
    r.groups.iter().map(|g| g.share).collect()
}

/// Mean window in packets of a flow with random loss p that the link never limits.
fn window(cc: &str, rtt_ms: f64, p: f64) -> f64 {
    window_under(LossModel::Random(p), cc, rtt_ms)
}

/// Goodput times RTT. Every packet is acknowledged, as the formulas assume.
fn window_under(loss: LossModel, cc: &str, rtt_ms: f64) -> f64 {
    let mut s = dumbbell(1000.0, rtt_ms, 100_000, "fifo", &[cc], 420);
    s.links[0].loss = loss;
    s.flows[0].delayed_ack = false;
    let f = &from(s, 20).flows[0];
    f.goodput_mbps * 1e6 / 8.0 / 1448.0 * f.rtt_ms.unwrap().mean / 1000.0
}

fn near(what: &str, got: f64, law: f64, tolerance: f64) {
    assert!((got / law - 1.0).abs() < tolerance, "{what}: {got:.2}, the law says {law:.2}");
}

#[test]
fn reno_has_the_inverse_root_of_the_loss_rate() {
    // Mathis et al., CCR 27(3), 1997: 1.22/√p without delayed ACKs.
    for cc in ["newreno", "sack_reno"] {
        for (rtt, p) in [(100.0, 0.0005), (100.0, 0.001), (100.0, 0.003), (100.0, 0.01), (200.0, 0.002)] {
            near(&format!("{cc} at {p}"), window(cc, rtt, p), 1.22 / f64::sqrt(p), 0.15);
        }
    }
}

#[test]
fn without_dice_renos_sawtooth_has_the_height_of_the_formula() {
    for every in [1000, 3000, 10_000, 30_000] {
        let loss = LossModel::Periodic { first: every, every, burst: 1 };
        // Mathis et al., section 2, whose model has no dice: √(3/2p). A recovery takes a round in which nothing grows.
        let reno = f64::sqrt(1.5 * every as f64);
        near(&format!("newreno at 1/{every}"), window_under(loss, "newreno", 100.0), reno, 0.05);
    }
}

#[test]
fn beyond_one_per_cent_reno_waits_for_timeouts() {
    for p in [0.02, 0.03, 0.05, 0.08] {
        // Padhye et al., SIGCOMM 1998, equation 30, in RTTs, for an ACK a packet and a timeout of 100 + 200 ms.
        let waiting = 3.0 * (3.0 * f64::sqrt(3.0 * p / 8.0)).min(1.0) * p * (1.0 + 32.0 * p * p);
        let law = 1.0 / (f64::sqrt(2.0 * p / 3.0) + waiting);
        let got = window("sack_reno", 100.0, p);
        near(&format!("sack_reno at {p}"), got, law, 0.15);
        // Tail probes and lost retransmissions found by time spare Linux' NewReno timeouts.
        let spared = window("newreno", 100.0, p);
        assert!(spared > got && spared < 1.22 / f64::sqrt(p), "newreno at {p}: {spared:.2}, {got:.2} without RACK");
    }
}

#[test]
fn scalable_has_its_response_function() {
    for p in [0.003, 0.001, 0.0003] {
        // Kelly 2003: a·p⁻¹/b on average, 0.075/p. HighSpeed TCP's is a test of its own file.
        near(&format!("scalable at {p}"), window("scalable", 100.0, p), 0.075 / p, 0.15);
    }
}

#[test]
fn tfrc_has_renos_rate() {
    for p in [0.001, 0.003, 0.01] {
        near(&format!("tfrc at {p}"), window("tfrc", 100.0, p), 1.22 / f64::sqrt(p), 0.2);
    }
}

#[test]
fn vegas_and_fast_hold_alpha_packets_each() {
    for (cc, n, packets) in [
        ("vegas(alpha=4, beta=4)", 1, 4.0),
        ("vegas(alpha=4, beta=4)", 3, 12.0),
        ("fast(alpha=8)", 1, 8.0),
        ("fast(alpha=8)", 3, 24.0),
        ("fast(alpha=20)", 2, 40.0),
    ] {
        let mut s = dumbbell(12.0, 100.0, 400, "fifo", &vec![cc; n], 60);
        for (i, f) in s.flows.iter_mut().enumerate() {
            f.start = Instant::ZERO + Duration::from_millis(13 * i as u64);
        }
        let r = from(s, 20);
        // A packet a millisecond; the one on the link waits no more.
        let queued = r.links[0].queue_ms.unwrap().mean;
        assert!((packets - 2.0..packets + n as f64).contains(&queued), "{n} {cc}: {queued}");
        let fair = 1.0 / n as f64;
        assert!(shares(&r).iter().all(|s| (s / fair - 1.0).abs() < 0.05), "{n} {cc}: {:?}", shares(&r));
    }
}

#[test]
fn who_comes_late_to_vegas_or_fast_takes_the_golden_ratio() {
    // The first holds α in the queue. The second thinks α of the delay the path's own, so that its b packets satisfy
    // b²/(α + b) = α: b = 1.618·α.
    for cc in ["vegas(alpha=8, beta=8)", "fast(alpha=20)"] {
        let late = shares(&small(10, &[cc, cc], 60))[1];
        assert!((late - 0.618).abs() < 0.025, "{cc}: {late}");
    }
}

#[test]
fn slowing_down_at_intervals_takes_the_latecomers_advantage() {
    for (cc, range) in [("ledbat(target=60ms)", 0.75..1.0), ("ledbat_pp", 0.4..0.6)] {
        let late = shares(&small(10, &[cc, cc], 120))[1];
        assert!(range.contains(&late), "{cc}: {late}");
    }
}

#[test]
fn scavengers_yield_to_cubic() {
    // A late LEDBAT++ takes the shortest queue that it finds for the path's own delay: it has 6 to 23 %, by when it begins.
    for (cc, most) in [("nice", 0.15), ("tcp_lp", 0.15), ("ledbat_pp", 0.25)] {
        let (first, late) = (shares(&small(4, &[cc, "cubic"], 60))[0], shares(&small(4, &["cubic", cc], 60))[1]);
        assert!(first < 0.15 && late < most, "{cc}: {first} before CUBIC, {late} after it");
        let alone = small(4, &[cc], 60).links[0].utilisation.unwrap();
        assert!(alone > 0.9, "{cc} alone: {alone}");
    }
}

#[test]
fn nice_beside_cubic_sends_less_than_two_packets_an_rtt() {
    let r = small(4, &["nice", "cubic"], 60);
    let f = &r.flows[0];
    let packets = f.goodput_mbps * 1e6 / 8.0 / 1448.0 * f.rtt_ms.unwrap().mean / 1000.0;
    assert!((0.01..0.1).contains(&packets), "{packets} in the mean of an RTT, for 1/48");
}

#[test]
fn the_timer_of_a_lone_packets_ack_does_not_hold_tcp_lp_at_one_packet() {
    // A packet alone waits 40 ms for its ACK; believed to be a queue, which is 36 ms long at 15 % of this buffer, flows of one
    // packet stayed so beside one with the rest.
    for seed in 1..=4 {
        let mut s = dumbbell(10.0, 40.0, 200, "fifo", &["tcp_lp"; 3], 70);
        s.run.seed = seed;
        s.run.vary = experiment::Vary::StartHost;
        s.flows[1].start = Instant::ZERO + Duration::from_secs(20);
        s.flows[2].start = Instant::ZERO + Duration::from_secs(40);
        let least = shares(&from(s, 50)).into_iter().fold(1.0, f64::min);
        assert!(least > 0.15, "seed {seed}: one of three has {least:.3}");
    }
}

#[test]
fn ledbat_yields_to_cubic_where_the_buffer_is_several_targets() {
    // 160 ms of buffer. With the RFC's target of 100 ms a latecomer, which never saw the path without CUBIC's queue, takes
    // most of that queue for the path.
    let shares_of = |target: &str| {
        let cc = format!("ledbat(target={target})");
        [shares(&small(4, &[&cc, "cubic"], 60))[0], shares(&small(4, &["cubic", &cc], 60))[1]]
    };
    assert!(shares_of("25ms").iter().all(|share| *share < 0.05), "{:?}", shares_of("25ms"));
    let latecomers: Vec<_> = (1..=4)
        .map(|seed| {
            let mut s = dumbbell(12.0, 40.0, 160, "fifo", &["cubic", "ledbat(target=100ms)"], 60);
            (s.run.seed, s.run.vary) = (seed, experiment::Vary::Start);
            s.flows[1].start = Instant::ZERO + Duration::from_secs(5);
            shares(&from(s, 15))[1]
        })
        .collect();
    assert!(latecomers.iter().sum::<f64>() / 4.0 > 0.15, "{latecomers:?}");
}

#[test]
fn nice_fills_a_link_alone_though_it_never_saw_the_queue_full() {
    // Vegas' few packets are less than a tenth of a queue of 79 ms, and than a tenth of the RTT that it is taken for before.
    let alone = |teacher: bool| {
        let mut s = dumbbell(10.0, 40.0, 66, "fifo", &["nice", "cubic"], 60);
        s.flows[1].start = Instant::ZERO + Duration::from_secs(1);
        s.flows[1].stop = Some(Instant::ZERO + Duration::from_secs(4));
        if !teacher {
            s.flows.truncate(1);
            s.groups.truncate(1);
        }
        from(s, 20).links[0].utilisation.unwrap()
    };
    assert!(alone(true) > 0.99 && alone(false) > 0.99, "{} and {}", alone(true), alone(false));
}

#[test]
fn illinois_bic_and_cubic_fill_a_link_with_one_bdp_of_buffer() {
    for cc in ["illinois", "bic", "cubic"] {
        let used = small(1, &[cc], 60).links[0].utilisation.unwrap();
        assert!(used > 0.99, "{cc}: {used}");
    }
}

#[test]
fn pert_that_coexists_gets_more_beside_reno_and_no_longer_queue_alone() {
    let share = |cc: &str| shares(&small(4, &[cc, "newreno"], 100))[0];
    let (plain, coexists) = (share("pert"), share("pert(coexist=true)"));
    assert!(coexists > 3.0 * plain, "{plain} and {coexists}");
    for cc in ["pert", "pert(law=pi)", "pert(coexist=true)"] {
        for buffer in [4, 10] {
            let alone = small(buffer, &[cc], 60);
            let (queue, used) = (alone.links[0].queue_ms.unwrap().mean, alone.links[0].utilisation.unwrap());
            assert!(queue < 10.0 && used > 0.75, "{cc}: {queue} ms, {used} of the link");
        }
    }
}

#[test]
fn nimbus_competes_with_whom_its_pulses_move_and_with_no_one_else() {
    let alone = small(4, &["nimbus"], 60);
    let queue = alone.links[0].queue_ms.unwrap().mean;
    assert!((7.0..13.0).contains(&queue), "the target is 10 ms: {queue}");
    // Half the link at a constant rate, once it has seen the whole.
    let mut s = dumbbell(12.0, 40.0, 160, "fifo", &["nimbus"], 60);
    let mut cbr = flow("cbr", "newreno", 40.0);
    cbr.traffic =
        Traffic::Cbr { rate: Rate::from_mbps(6.0), size: Bytes::new(1500), on: Duration::ZERO, off: Duration::ZERO };
    (cbr.group, cbr.start) = (1, Instant::ZERO + Duration::from_secs(5));
    (s.groups, s.flows) = (vec!["nimbus".into(), "cbr".into()], vec![s.flows.remove(0), cbr]);
    let r = from(s, 15);
    let queue = r.links[0].queue_ms.unwrap().mean;
    assert!(queue < 20.0 && r.flows[0].mode_s.get("loss").is_none_or(|s| *s < 6.0), "{queue} {:?}", r.flows[0].mode_s);
    for cc in ["cubic", "newreno"] {
        let r = small(4, &["nimbus", cc], 60);
        assert!(r.flows[0].mode_s["loss"] > 40.0 && r.flows[0].share > 0.25, "{cc}: {:?}", r.flows[0]);
    }
}

#[test]
fn any_split_of_the_link_is_at_rest_with_timely_where_a_segment_takes_longer_than_a_round_trip() {
    // A decision comes with every segment acknowledged. Where that takes longer than RTT_min the step is whole, and who sends
    // faster decides more often: δ per segment is growth in proportion to the rate, and β·g a cut in proportion to it, since
    // the RTT moves more between rarer decisions. Nothing then moves the ratio of two rates (Zhu et al., ECN or delay, CoNEXT
    // 2016). Where it is shorter, steps go by time, and additive increase makes the rates meet.
    let share = |cc: &str, (a, b): (u32, u32)| {
        let mut s = dumbbell(100.0, 20.0, 2000, "fifo", &[cc, cc], 60);
        (s.flows[0].initial_window, s.flows[1].initial_window) = (a, b);
        shares(&from(s, 30))[0]
    };
    let long = "timely(segment=1MB)";
    assert!(share(long, (100, 30)) > 0.58 && share(long, (30, 100)) < 0.42);
    for starts in [(100, 30), (30, 100)] {
        let short = share("timely", starts);
        assert!((short - 0.5).abs() < 0.03, "{short}");
    }
}
