//! The mechanisms together, on ACKs and rounds given by hand: packets of 1000 bytes, a base RTT of 100 ms.

use super::*;
use crate::testing::{ms, packets};
use crate::{CauseKind, EventRecord};
use crate::{Phase, Round};
use std::vec;
use std::vec::Vec;
use units::streams;

mod competitors;
mod rounds;

struct Bench {
    cc: Hldg,
    flow: Flow,
    number: u64,
    /// ACKs and alarms so far: what should end and does not ends here.
    steps: u32,
}

/// A flow of 100 packets in congestion avoidance that has seen a base RTT of 100 ms.
fn bench(spec: &str) -> Bench {
    let mut flow = crate::testing::flow(100, 100);
    flow.ssthresh = packets(50);
    flow.in_flight = flow.cwnd;
    flow.now = Instant::from_millis(1000);
    let p = <Params as ::params::Params>::from_spec(&spec.parse().unwrap()).unwrap();
    let setup = Setup { flow: &mut flow, rng: Rng::new(1, 0, streams::CC), own_start: true };
    let cc = Hldg::new(&p, setup);
    let mut b = Bench { cc, flow, number: 0, steps: 0 };
    b.round(100, 100);
    b
}

impl Bench {
    /// A round of its RTT in which a whole window (as it was) is acknowledged, closed by an ACK of one packet.
    fn round(&mut self, min: u64, max: u64) -> Vec<CauseKind> {
        self.paced_round(min, max, self.flow.cwnd)
    }

    /// The same with so much acknowledged.
    fn paced_round(&mut self, min: u64, max: u64, delivered: Bytes) -> Vec<CauseKind> {
        self.number += 1;
        let start = self.flow.now;
        self.flow.now += ms(max);
        self.flow.rtt = ms(max);
        let round = Round {
            number: self.number,
            start,
            end: self.flow.now,
            min_rtt: ms(min),
            max_rtt: ms(max),
            samples: 10,
            delivered,
            ..Round::default()
        };
        let mut seen = self.ack(min, None);
        seen.extend(self.ack(max, Some(round)));
        seen
    }

    fn ack(&mut self, rtt: u64, round: Option<Round>) -> Vec<CauseKind> {
        let ack = Ack { round, ..crate::testing::ack(1, rtt) };
        // What the ACKs that are not given here would have acknowledged.
        self.cc.acked = ack.round.as_ref().map_or(Bytes::ZERO, |r| r.delivered.saturating_sub(ack.cumulative));
        self.cc.on_ack(&mut self.flow, &ack);
        self.kinds()
    }

    fn wake(&mut self) -> Vec<CauseKind> {
        self.flow.now = self.cc.wake().expect("a timer").max(self.flow.now);
        self.cc.on_event(&mut self.flow, Event::Wake);
        self.kinds()
    }

    fn congest(&mut self, signal: Signal) -> Reaction {
        let c = crate::testing::congestion(signal, &self.flow);
        self.cc.on_congestion(&mut self.flow, &c)
    }

    fn events(&mut self) -> Vec<EventRecord> {
        self.flow.drain_events().collect()
    }

    fn kinds(&mut self) -> Vec<CauseKind> {
        self.steps += 1;
        assert!(self.steps < 10_000, "no end to it");
        self.events().iter().map(|e| e.cause().unwrap()).collect()
    }

    fn var(&self, name: &str) -> f64 {
        let mut found = None;
        self.cc.vars(&mut |n, v| {
            if n == name {
                found = Some(v);
            }
        });
        found.expect(name)
    }

    /// Rounds of rising RTT until one backs off; the bandwidth of each is 8 Mbit/s.
    fn until_backoff(&mut self) -> EventRecord {
        for rtt in (102..10_000).step_by(10) {
            let delivered = Bytes::new(1000 * rtt);
            self.number += 1;
            let start = self.flow.now;
            self.flow.now += ms(rtt);
            self.flow.rtt = ms(rtt);
            let round = Round {
                start,
                end: self.flow.now,
                min_rtt: ms(rtt),
                max_rtt: ms(rtt),
                samples: 10,
                delivered,
                ..Round::default()
            };
            let ack = Ack { round: Some(round), ..crate::testing::ack(1, rtt) };
            self.cc.acked = delivered - ack.cumulative;
            self.cc.on_ack(&mut self.flow, &ack);
            if let Some(e) = self.events().into_iter().find(|e| e.cause() == Some(CauseKind::DelayBackoff)) {
                return e;
            }
        }
        panic!("no back-off")
    }
}

#[test]
fn samples_of_repairs_count_for_the_base_rtt_unless_told_otherwise() {
    for (spec, base) in [("hldg", 4), ("hldg(base_in_repairs=false)", 100)] {
        for phase in [Phase::Recovery, Phase::Loss] {
            let mut b = bench(spec);
            b.flow.phase = phase;
            b.ack(4, None);
            assert_eq!(b.cc.base.rtt, ms(base), "{spec} {phase:?}");
            b.flow.phase = Phase::Open;
            b.ack(3, None);
            assert_eq!(b.cc.base.rtt, ms(3), "{spec}");
        }
    }
}

#[test]
fn a_backoff_leads_to_0_95_of_the_bdp() {
    // 10 Mbit/s over 100 ms are 125 000 bytes: 118 750.
    let mut b = bench("hldg");
    b.cc.bandwidth = Rate::from_mbps(10.0);
    b.flow.cwnd = Bytes::new(150_000);
    assert_eq!((b.cc.bdp(), b.cc.back_off_to(&b.flow)), (Bytes::new(125_000), Bytes::new(118_750)));
    b.cc.p.lpcc = true;
    assert_eq!(b.cc.back_off_to(&b.flow), Bytes::new(93_750), "λ = 0.75");
}

#[test]
fn beta_takes_over_without_a_credible_bdp_and_with_the_option_for_company() {
    let to = |spec: &str, cwnd: u64| {
        let mut b = bench(spec);
        b.cc.bandwidth = Rate::from_mbps(10.0);
        b.flow.cwnd = Bytes::new(cwnd);
        b.cc.back_off_to(&b.flow).get()
    };
    assert_eq!(to("hldg", 100_000), 70_000, "cwnd < BDP");
    assert_eq!(to("hldg(bdp=false)", 150_000), 105_000);
    assert_eq!(to("hldg", 300_000), 118_750);
    assert_eq!(to("hldg(use_max=true)", 300_000), 210_000, "Eq 5.8");
    assert_eq!(to("hldg(use_max=true)", 150_000), 118_750);
}

#[test]
fn the_event_tells_why() {
    let mut b = bench("hldg");
    let e = b.until_backoff();
    let value = |name: &str| crate::testing::value(&e, name);
    assert!(value("drew") < value("probability"));
    assert!(value("average_min") > 0 && value("g_min") > 0);
    // 8 Mbit/s over 100 ms.
    assert!((99_000..=100_000).contains(&value("bdp")), "{e:?}");
    assert_eq!(e.cwnd_after, value("bdp") as u64 * 95 / 100);
    assert_eq!(e.ssthresh_after, e.cwnd_after);
}

#[test]
fn a_round_adds_a_packet_also_after_a_backoff_and_so_does_the_first_ack_as_in_freebsd() {
    for (spec, grown) in [("hldg", 3), ("hldg(slow_start_at_ssthresh=false)", 2)] {
        let mut b = bench(spec);
        b.until_backoff();
        let before = b.flow.cwnd;
        b.round(100, 100);
        b.round(100, 100);
        assert_eq!(b.flow.cwnd, before + packets(grown), "{spec}");
        assert_eq!(b.var("consecutive"), 0.0, "zeroing counts as effectual");
    }
}

#[test]
fn without_the_backoff_to_the_bdp_a_long_queue_is_no_sign_of_competitors() {
    for (spec, on) in [("hldg", true), ("hldg(bdp=false)", false), ("hldg(bdp=false, mode_switch=true)", true)] {
        let p = <Params as ::params::Params>::from_spec(&spec.parse().unwrap()).unwrap().resolved();
        assert_eq!(p.mode_switch.or(!on), on, "{spec}");
    }
}

#[test]
fn rising_delay_for_ever_is_ineffectual() {
    let mut b = bench("hldg(mode_switch=false, adaptive_g=false, g=0.1)");
    let mut seen = Vec::new();
    let mut rtt = 110;
    while seen.len() < 12 && rtt < 10_000 {
        seen.extend(b.round(rtt, rtt));
        rtt += 20;
    }
    use CauseKind::{DelayBackoff, DelayIgnored};
    let expected = [[DelayBackoff; 5], [DelayIgnored; 5]].concat();
    assert_eq!((&seen[..10], &seen[10..]), (&expected[..], &[DelayBackoff; 2][..]));
}

#[test]
fn an_ignored_indication_is_no_back_off() {
    let mut b = bench("hldg(mode_switch=false, adaptive_g=false, g=0.1)");
    let mut rtt = 110;
    while !b.round(rtt, rtt).contains(&CauseKind::DelayIgnored) {
        rtt += 20;
        assert!(rtt < 10_000, "none was ignored");
    }
    // Eq 5.10 counts from the last back-off, so the sum goes on; CDG's next round has no gradient.
    let sum = b.var("accumulated_min");
    assert!(sum > 0.0);
    assert_eq!(b.round(rtt + 20, rtt + 20), vec![]);
    assert_eq!((b.var("consecutive"), b.var("accumulated_min")), (6.0, sum));
    // 5.2.4.3 looks for the effect of a back-off alone: a gradient that falls here zeroes no window.
    b.round(rtt + 19, rtt + 19);
    assert!(b.var("average_min") > 0.0);
    assert!(b.var("consecutive") > 6.0, "and has shown no back-off to work");
}

#[test]
fn gradients_of_slow_start_count_by_choice() {
    let average = |spec: &str| {
        let mut b = bench(spec);
        b.flow.ssthresh = packets(1000);
        b.cc.start.searching = false;
        for rtt in [100, 110, 120, 130, 140] {
            b.round(rtt, rtt);
        }
        b.var("average_min")
    };
    assert_eq!(average("hldg"), 0.0);
    // The first is the initial window's and is left out with its RTT; then 10 ms three times, under the newest weights.
    assert_eq!(average("hldg(every_round=true)"), (0.25 + 0.25 + 0.125) * 10.0);
}

#[test]
fn a_loss_leads_to_the_bdp_within_reason() {
    // Section 5.5, with a window of 150 000 and no shadow.
    let to = |mbps: f64| {
        let mut b = bench("hldg(use_shadow=false)");
        b.cc.bandwidth = Rate::from_mbps(mbps);
        b.flow.cwnd = Bytes::new(150_000);
        let reaction = b.congest(Signal::Loss);
        assert_eq!(b.cc.weighed(&b.flow), [Bytes::ZERO, Bytes::new((mbps * 12_500.0) as u64)], "told beside it");
        reaction
    };
    assert_eq!(to(10.0), Reaction::Reduce(Bytes::new(125_000)));
    assert_eq!(to(8.4), Reaction::Reduce(Bytes::new(75_000)), "exactly β_delay is outside");
    assert_eq!(to(12.0), Reaction::Reduce(Bytes::new(75_000)), "exactly cwnd is outside");
    assert_eq!(to(2.0), Reaction::Reduce(Bytes::new(75_000)));
}

#[test]
fn the_shadow_window_lifts_a_cut_at_once_and_the_threshold_once_repaired() {
    // The window after the loss, and the threshold after its repair.
    let to = |spec: &str, shadow: u64| {
        let mut b = bench(spec);
        b.cc.bandwidth = Rate::ZERO;
        b.cc.shadow = Bytes::new(shadow);
        b.flow.cwnd = Bytes::new(100_000);
        let Reaction::Reduce(to) = b.congest(Signal::Loss) else { unreachable!() };
        (b.flow.cwnd, b.flow.ssthresh) = (to, to);
        b.cc.on_event(&mut b.flow, Event::RecoveryEnd);
        assert_eq!(b.flow.cwnd, to, "no jump");
        (to.get() / 1000, b.flow.ssthresh.get() / 1000)
    };
    assert_eq!(to("hldg", 0), (50, 50));
    assert_eq!(to("hldg", 160_000), (80, 80));
    assert_eq!(to("hldg(shadow_cap=true)", 400_000), (100, 100));
    assert_eq!(to("hldg(shadow_cap=false)", 400_000), (100, 200));
    assert_eq!(to("hldg(lpcc=true)", 160_000), (80, 80), "set by hand here");
    assert!(bench("hldg(lpcc=true)").cc.shadow.is_zero());
}

#[test]
fn a_lift_is_of_its_own_repair() {
    for signal in [Signal::Ecn, Signal::Timeout] {
        let mut b = bench("hldg");
        b.cc.shadow = b.flow.cwnd * 4;
        b.congest(Signal::Loss);
        b.congest(signal);
        b.flow.ssthresh = packets(20);
        b.cc.on_event(&mut b.flow, Event::RecoveryEnd);
        assert_eq!(b.flow.ssthresh, packets(20), "{signal:?}");
    }
}

#[test]
fn a_mark_halves_as_newreno_does_whatever_bdp_and_shadow() {
    for (window, to) in [(100_000, 50_000), (7900, 3000), (2500, 2000)] {
        let mut b = bench("hldg");
        b.cc.bandwidth = Rate::from_mbps(6.0);
        b.cc.shadow = b.flow.cwnd * 4;
        b.flow.cwnd = Bytes::new(window);
        assert_eq!(b.congest(Signal::Ecn), Reaction::Reduce(Bytes::new(to)));
        assert!(!b.cc.start.searching);
    }
}

#[test]
fn slow_start_after_idleness_searches_anew_and_takes_no_gradient_across_it() {
    // RTTs that rise by a second a round end it in the second round after.
    for (spec, searches) in [("hldg", true), ("hldg(search_again=false)", false)] {
        let mut b = bench(spec);
        b.cc.start.searching = false;
        (b.flow.cwnd, b.flow.ssthresh) = (packets(4), packets(50));
        b.cc.on_event(&mut b.flow, Event::Restart);
        let ended: Vec<_> = [1100, 2100, 3100, 4100, 5100]
            .map(|rtt| b.paced_round(rtt, rtt, packets(4)).contains(&CauseKind::SlowStartExit))
            .into();
        assert_eq!(ended.contains(&true), searches, "{spec}: {ended:?}");
        assert!(!ended[0], "{spec}");
    }
}

#[test]
fn low_priority_refuses_what_it_switches_off() {
    for spec in ["lpcc=true, adaptive_g=true", "lpcc=true, mode_switch=true"] {
        let refused = <Params as ::params::Params>::from_spec(&std::format!("hldg({spec})").parse().unwrap());
        assert!(refused.is_err(), "{spec}");
    }
}

#[test]
fn low_priority_switches_the_coexistence_off() {
    let p = bench("hldg(lpcc=true)").cc.p;
    assert!(!(p.adaptive_g.or(true) || p.mode_switch.or(true) || p.use_ineffectual || p.use_shadow));
    assert_eq!((p.lambda(), p.g), (0.75, 3.0));
}

#[test]
fn the_base_rtt_is_probed_for_after_thirty_seconds() {
    let mut b = bench("hldg");
    // The base of 100 ms was seen by the first ACK, at 1.1 s.
    b.flow.now = Instant::from_millis(30_900);
    b.round(105, 105);
    let before = b.flow.cwnd;
    assert_eq!(b.wake(), vec![CauseKind::ProbeStart]);
    assert_eq!(b.flow.now, Instant::from_millis(31_100), "at once: there was no back-off to wait for another");
    assert_eq!((b.flow.ssthresh, b.flow.cwnd), (before, before.mul_f64(0.8)));
    // A round that began before the probe says nothing, ACKs within it grow nothing.
    b.flow.now += ms(50);
    b.ack(130, Some(Round { min_rtt: ms(130), max_rtt: ms(130), samples: 1, end: b.flow.now, ..Round::default() }));
    assert_eq!(b.flow.cwnd, before.mul_f64(0.8));
    // The path has become longer: 120 ms.
    assert_eq!(b.round(120, 125), vec![CauseKind::ProbeEnd]);
    assert_eq!(b.var("base_rtt"), 120.0);
    // It grows back as in slow start, without looking for an exit, and gradients wait for it.
    // The ACK that ended the probe counts; one of two packets counts for two, where the first slow start takes one per ACK.
    let two = crate::testing::ack(2, 130);
    b.cc.on_ack(&mut b.flow, &two);
    assert_eq!(b.flow.cwnd, before.mul_f64(0.8) + packets(1 + 2));
    for _ in 0..30 {
        b.ack(130, None);
    }
    assert_eq!(b.flow.cwnd, before.mul_f64(0.8) + packets(21), "the ACK that passes ssthresh is the last");
    assert_eq!(b.round(140, 140), vec![]);
    assert_eq!(b.round(150, 150), vec![], "nothing to compare with yet");
    assert_eq!(b.var("average_min"), 0.0);
    b.round(151, 151);
    assert_eq!(b.var("g_min"), 1.0);
}

#[test]
fn a_due_probe_begins_with_a_backoff() {
    let mut b = bench("hldg");
    b.flow.now = Instant::from_millis(31_050);
    let e = b.until_backoff();
    assert!(b.cc.base.probing());
    assert_eq!((b.flow.ssthresh.get(), b.flow.cwnd.get()), (e.cwnd_after, (e.cwnd_after as f64 * 0.8) as u64));
}

#[test]
fn a_flow_that_has_just_backed_off_waits_a_second_for_the_next_time() {
    let mut b = bench("hldg");
    b.flow.now = Instant::from_millis(30_000);
    b.until_backoff();
    let last = b.flow.now;
    assert!(last < Instant::from_millis(31_100) && !b.cc.base.probing());
    assert_eq!(b.wake(), vec![CauseKind::ProbeStart]);
    assert_eq!(b.flow.now, last + ms(1000));
}

#[test]
fn a_timeout_halves_whatever_the_shadow_and_searches_anew() {
    let mut b = bench("hldg");
    b.round(101, 101);
    b.round(102, 102);
    assert!(b.var("accumulated_min") > 0.0);
    b.cc.shadow = b.flow.cwnd * 4;
    assert_eq!(b.congest(Signal::Timeout), Reaction::Reduce(b.flow.cwnd / 2));
    assert_eq!((b.var("accumulated_min"), b.cc.shadow), (0.0, b.flow.cwnd * 4));
    assert!(b.cc.start.searching);
}

#[test]
fn the_window_keeps_so_many_packets_and_a_probe_leaves_a_small_one_as_it_is() {
    // The window before a probe of the base RTT and after it, in tenths of a packet (5.2.6, footnote 4).
    for (spec, floor, windows) in [
        ("hldg", packets(1), [(20, 16), (11, 10), (10, 10)]),
        ("hldg(least=2)", packets(2), [(24, 20), (20, 20), (30, 24)]),
        ("hldg(least=0)", Bytes::new(1), [(12, 9), (10, 10), (5, 5)]),
    ] {
        for (before, after) in windows {
            let mut b = bench(spec);
            assert_eq!(b.flow.floor, floor, "{spec}");
            let window = |tenths| packets(tenths) / 10;
            (b.flow.cwnd, b.flow.ssthresh) = (window(before), window(before));
            b.cc.probe_base_rtt(&mut b.flow);
            assert!(b.cc.base.probing(), "{spec}");
            assert_eq!(b.flow.cwnd.get() * 10 / packets(1).get(), after, "{spec}: {before}");
        }
    }
}

#[test]
fn acks_inside_a_round_change_nothing_in_congestion_avoidance() {
    let mut b = bench("hldg");
    let (cwnd, ssthresh) = b.flow.windows();
    for _ in 0..50 {
        assert!(b.ack(101, None).is_empty());
    }
    assert_eq!(b.flow.windows(), (cwnd, ssthresh));
}

#[test]
fn slow_start_after_a_loss_searches_again_and_that_after_a_probe_for_the_base_rtt_does_not() {
    for (spec, searches) in [("hldg", true), ("hldg(search_again=false)", false)] {
        let mut b = bench(spec);
        b.congest(Signal::Loss);
        assert_eq!(b.cc.start.searching, searches, "{spec}");
        b.cc.probe_base_rtt(&mut b.flow);
        assert!(b.cc.base.probing() && !b.cc.start.searching, "{spec}");
    }
}
