//! What one round's gradients lead to: where none are taken, what falling delay forgets, which probability decides.

use super::*;

/// No back-off by chance: a gradient of a millisecond has a probability of a thousandth.
const NO_CHANCE: &str = "adaptive_g=false, g=1000, mode_switch=false";

/// After a round of 110 and 120 ms, its gradients forgotten.
fn quiet(more: &str) -> Bench {
    let mut b = bench(&std::format!("hldg({NO_CHANCE}{more})"));
    b.cc.gradients.clear();
    b.round(110, 120);
    b
}

/// The RTTs of the round after `quiet` that change the averages by a quarter of this.
fn moved(b: &mut Bench, (min, max): (i64, i64)) {
    b.round((110 + min) as u64, (120 + max) as u64);
    assert_eq!((b.var("average_min"), b.var("average_max")), (min as f64 / 4.0, max as f64 / 4.0));
}

#[test]
fn no_gradients_in_loss_mode_nor_while_the_base_rtt_is_probed_for_or_the_window_regrows() {
    let rising = |b: &mut Bench| {
        for rtt in [300, 400, 500] {
            b.paced_round(rtt, rtt, packets(20));
        }
        (b.var("g_min"), b.var("probability"))
    };
    let mut loss = bench("hldg");
    loss.cc.modes.mode = Mode::Loss;
    let mut probing = bench("hldg(base_hold=100, mode_switch=false, every_round=true)");
    probing.cc.probe_base_rtt(&mut probing.flow);
    let mut regrowing = bench("hldg(mode_switch=false, every_round=true)");
    regrowing.cc.regrowing = true;
    regrowing.flow.ssthresh = packets(1000);
    for (b, why) in [(&mut loss, "loss mode"), (&mut probing, "probe"), (&mut regrowing, "regrowth")] {
        assert_eq!(rising(b), (0.0, 0.0), "{why}");
    }
    assert_eq!(rising(&mut bench("hldg(mode_switch=false)")).0, 100.0, "any other flow has");
}

#[test]
fn falling_averages_show_a_back_off_to_have_worked_either_of_them() {
    let cases =
        [((0, 0), 3), ((3, 0), 3), ((0, 3), 3), ((3, 3), 3), ((-1, 0), 0), ((0, -1), 0), ((-1, 3), 0), ((3, -1), 0)];
    for (gradients, consecutive) in cases {
        let mut b = quiet("");
        b.cc.consecutive = 3;
        moved(&mut b, gradients);
        assert_eq!(b.cc.consecutive, consecutive, "{gradients:?}");
    }
}

#[test]
fn the_shadow_is_forgotten_where_this_rounds_signs_say_the_queue_is_empty() {
    for more in ["", ", forget_shadow=true", ", forget_shadow=false"] {
        for was in [QueueState::Empty, QueueState::Rising] {
            for gradients in [(0, -1), (0, 0), (-1, 0), (0, 3), (-1, 3), (-1, -1), (3, -1), (3, 3)] {
                let mut b = quiet(more);
                (b.cc.queue, b.cc.shadow) = (was, packets(70));
                moved(&mut b, gradients);
                let forgotten = gradients == (0, -1) && b.cc.p.forget_shadow;
                assert_eq!(b.cc.shadow < packets(70), forgotten, "{more} {was:?} {gradients:?}");
            }
        }
    }
}

#[test]
fn the_smallest_rtts_probability_decides_where_there_is_one_and_where_asked_while_it_rises() {
    // The threshold at 12 Mbit/s (payload) is 2 · 8 · 1500 / 18 Mbit/s / 8 = 0.167 ms; gradients are an eighth and two of it.
    let decides = |more: &str, averages: (f64, f64)| {
        let mut b = bench(&std::format!("hldg(adaptive_g=false{more})"));
        (b.cc.gradients.min.average, b.cc.gradients.max.average) = averages;
        let Hldg { p, gradients, decision, rng, .. } = &mut b.cc;
        decision.round(p, gradients, Rate::from_mbps(12.0), Bytes::new(1000), Duration::ZERO, rng);
        assert!((decision.threshold - 1.0 / 6.0).abs() < 1e-12, "packets of the network layer: {}", decision.threshold);
        assert_eq!(decision.toss.hit, decision.toss.drew < decision.toss.probability);
        decision.toss.probability
    };
    let p = |gradient: f64| 1.0 - units::math::exp(-gradient / 3.0);
    let cases = [
        ((0.3, 1.0), p(0.3), p(0.3)),
        ((0.0, 1.0), p(1.0), p(1.0)),
        ((-0.1, 1.0), p(1.0), p(1.0)),
        ((0.02, 1.0), 0.0, p(1.0)),
        ((0.02, 0.02), 0.0, 0.0),
        ((1.0, 0.0), p(1.0), p(1.0)),
    ];
    for (averages, first, either) in cases {
        for (more, expected) in [(", min_first=true", first), (", min_first=false", either)] {
            let got = decides(more, averages);
            assert!((got - expected).abs() < 1e-9, "{averages:?}{more}: {got}, {expected}");
        }
    }
}

#[test]
fn gradients_across_a_loss_are_not_taken_unless_every_rounds_are() {
    for (spec, gradient) in [("hldg(mode_switch=false)", 0.0), ("hldg(mode_switch=false, every_round=true)", 7.0)] {
        let mut b = bench(spec);
        b.congest(Signal::Loss);
        b.flow.ssthresh = b.flow.cwnd;
        b.round(107, 107);
        assert_eq!(b.var("g_min"), gradient, "{spec}");
    }
}

#[test]
fn a_probe_of_the_base_rtt_waits_while_the_flow_repairs_grows_or_has_nothing_out() {
    let probes = |disturb: fn(&mut Flow)| {
        let mut b = bench("hldg");
        disturb(&mut b.flow);
        b.cc.probe_base_rtt(&mut b.flow);
        assert!(b.cc.base.probing() || b.cc.base.deadline() >= b.flow.now + b.flow.srtt, "asked again an RTT later");
        b.cc.base.probing()
    };
    assert!(probes(|_| ()));
    assert!(!probes(|f| f.phase = Phase::Recovery));
    assert!(!probes(|f| f.phase = Phase::Reduced));
    assert!(!probes(|f| f.ssthresh = f.cwnd + Bytes::new(1)));
    assert!(!probes(|f| f.in_flight = Bytes::ZERO));
}

#[test]
fn gradients_across_idleness_are_never_taken_and_across_a_repair_where_every_rounds_are() {
    for (more, event, gradient) in [
        ("", Event::RecoveryEnd, 0.0),
        ("", Event::Restart, 0.0),
        (", every_round=true", Event::RecoveryEnd, 7.0),
        (", every_round=true", Event::Restart, 0.0),
    ] {
        let mut b = quiet(more);
        b.cc.on_event(&mut b.flow, event);
        b.cc.gradients.min.last = 0.0;
        b.round(117, 127);
        assert_eq!(b.var("g_min"), gradient, "{more} {event:?}");
    }
}

#[test]
fn the_shadow_grows_with_the_window_unless_it_is_forgotten() {
    for (shadow, after) in [(packets(7), packets(8)), (Bytes::ZERO, Bytes::ZERO)] {
        let mut b = quiet("");
        b.cc.shadow = shadow;
        let before = b.flow.cwnd;
        b.round(110, 120);
        assert_eq!((b.flow.cwnd, b.cc.shadow), (before + packets(1), after));
    }
}

#[test]
fn the_rate_of_a_round_counts_what_sack_reports_unless_told_otherwise() {
    // Two ACKs of a packet each in 100 ms, and 40 packets that SACK told of.
    for (spec, packets_acked) in [("hldg", 40), ("hldg(acked=cumulative)", 2)] {
        let mut b = bench(spec);
        b.flow.now += ms(100);
        let start = b.flow.now - ms(100);
        let round = Round {
            start,
            end: b.flow.now,
            min_rtt: ms(100),
            max_rtt: ms(100),
            samples: 2,
            delivered: packets(40),
            ..Round::default()
        };
        b.cc.on_ack(&mut b.flow, &crate::testing::ack(1, 100));
        b.cc.on_ack(&mut b.flow, &Ack { round: Some(round), ..crate::testing::ack(1, 100) });
        assert_eq!(b.cc.bandwidth, packets(packets_acked) / ms(100), "{spec}");
    }
}
