//! The equations by numbers, and the story of Figure 2.

use super::*;
use crate::testing::{ack, closing, congestion, flow, ms, packets};
use crate::{CauseKind, build};
use std::boxed::Box;
use std::string::String;
use std::vec::Vec;
use units::Instant;

const BASE: u64 = 40;

struct Run {
    f: Flow,
    cc: Box<dyn CongestionControl>,
}

impl Run {
    /// In avoidance, with 100 ms of queue seen before.
    fn new(spec: &str, cwnd: u64) -> Run {
        let mut f = flow(cwnd, BASE);
        (f.ssthresh, f.max_rtt) = (packets(2), ms(BASE + 100));
        let cc = build(&spec.parse().unwrap(), &mut f, Rng::new(1, 0, 0)).unwrap();
        Run { f, cc }
    }

    /// One round with that largest queueing delay; what happened to the window, in packets.
    fn round(&mut self, queue: u64) -> f64 {
        self.f.rtt = ms(BASE + queue);
        self.f.in_flight = Bytes::ZERO;
        let mut last = closing(2, BASE + queue);
        last.round.as_mut().unwrap().max_rtt_reused = ms(BASE + queue);
        self.cc.on_ack(&mut self.f, &last);
        self.f.cwnd.get() as f64 / 1000.0
    }

    fn lose(&mut self) -> Reaction {
        let c = congestion(Signal::Loss, &self.f);
        self.cc.on_congestion(&mut self.f, &c)
    }

    fn shadow(&self) -> f64 {
        let mut seen = Vec::new();
        self.cc.vars(&mut |name, value| seen.push((String::from(name), value)));
        seen.iter().find(|v| v.0 == "shadow").unwrap().1 / 1000.0
    }

    fn causes(&mut self) -> Vec<CauseKind> {
        self.f.drain_events().filter_map(|e| e.cause()).collect()
    }
}

fn reduced(n: u64) -> Reaction {
    Reaction::Reduce(packets(n))
}

#[test]
fn one_toss_per_round_at_p_max() {
    // p_max = 0.25 per round at q_th: binomial, 1000 ± 4 standard deviations of 27.
    let mut run = Run::new("chd", 40);
    let mut count = 0;
    for _ in 0..4000 {
        run.f.cwnd = packets(40);
        for _ in 0..5 {
            run.cc.on_ack(&mut run.f, &ack(2, BASE + 90));
        }
        count += usize::from(run.round(30) < 40.0);
    }
    assert!((890..=1110).contains(&count), "{count}");
    run.f.cwnd = packets(40);
    assert_eq!(run.round(5), 41.0, "q_min never backs off, and a round adds one packet");
}

#[test]
fn the_story_of_figure_2() {
    // 1: grow; 2: the delay rises above that of the last back-off, s = w; 3: w backs off again; 4: s grows on;
    // 5: a loss in region B, and w is half of s. p_max = 1 makes a back-off certain at 30 ms and impossible at the
    // largest delay seen, which says where in region B a round lies.
    let mut run = Run::new("chd(p_max=1)", 40);
    run.f.max_rtt = ms(BASE + 200);
    assert_eq!(run.round(1), 41.0);
    assert_eq!((run.round(30), run.shadow()), (20.5, 0.0), "h = q_th belongs to neither region");
    run.f.max_rtt = ms(BASE + 100_000);
    run.f.cwnd = packets(40);
    assert_eq!((run.round(31), run.shadow()), (20.0, 40.0), "region B");
    assert_eq!((run.round(31), run.shadow()), (10.0, 40.0));
    assert_eq!((run.round(2), run.round(3), run.shadow()), (11.0, 12.0, 42.0));
    run.f.max_rtt = ms(BASE + 100);
    assert_eq!((run.round(100), run.shadow()), (13.0, 43.0));
    assert_eq!((run.lose(), run.shadow()), (Reaction::Reduce(Bytes::new(21_500)), 21.5));
    assert_eq!(run.cc.weighed(&run.f), [packets(43), Bytes::ZERO], "s as the loss found it");
    assert!(run.causes().contains(&CauseKind::Restore));
}

#[test]
fn the_shadow_is_kept_by_a_rising_delay_and_forgotten_by_a_falling_one() {
    // Region A, hard below a q_th of 10 s: a back-off is certain but for one draw in a thousand.
    let mut run = Run::new("chd(p_max=1, q_th=10s)", 32);
    assert_eq!((run.round(9998), run.shadow()), (16.0, 32.0), "h_b was 0");
    assert_eq!((run.round(9997), run.shadow()), (8.0, 0.0));
    assert_eq!((run.round(9998), run.shadow()), (4.0, 8.0));
    let mut plain = Run::new("chd(p_max=1, q_th=10s, loss_fair=false)", 32);
    assert_eq!((plain.round(9998), plain.shadow()), (16.0, 0.0));
}

#[test]
fn loss_is_tolerated_in_region_a_and_halves_in_region_b() {
    let mut run = Run::new("chd(p_max=0)", 20);
    run.round(30);
    assert_eq!((run.lose(), run.f.cwnd, run.f.ssthresh), (Reaction::Own, packets(21), packets(21)));
    let e = run.f.drain_events().last().unwrap();
    assert_eq!((e.cause(), e.values[1]), (Some(CauseKind::LossTolerated), 30_000_000));
    run.f.phase = Phase::Recovery;
    assert_eq!(run.round(30), 21.0, "no growth while the loss is repaired");
    run.f.phase = Phase::Open;
    run.round(31);
    assert_eq!((run.lose(), run.causes()), (reduced(11), std::vec![]));
    let mut strict = Run::new("chd(p_max=0, tolerate=false)", 20);
    strict.round(1);
    assert_eq!(strict.lose(), Reaction::Reduce(Bytes::new(10_500)));
    let mut growing = Run::new("chd(p_max=0, grow_in_recovery=true)", 20);
    growing.lose();
    growing.f.phase = Phase::Recovery;
    assert_eq!(growing.round(1), 21.0);
    // Of a loss that was not tolerated nothing grows.
    let mut cut = Run::new("chd(p_max=0, grow_in_recovery=true, tolerate=false)", 20);
    cut.lose();
    cut.f.phase = Phase::Recovery;
    assert_eq!((cut.round(1), cut.f.repair_growth), (20.0, 0), "the paper's repairs have no window of their own");
}

#[test]
fn freebsd_rounds_up_waits_a_round_and_judges_the_round_under_way() {
    let mut run = Run::new("chd(reference=freebsd, p_max=1)", 21);
    assert_eq!(run.shadow(), 21.0, "from the start");
    assert_eq!((run.round(20), run.shadow()), (11.0, 21.0), "h above h_b keeps the shadow");
    // A loss while the data of the back-off is out cuts nothing, whatever the delay.
    run.f.rtt = ms(BASE + 20);
    run.f.in_flight = packets(30);
    let mut last = closing(2, BASE + 20);
    last.round.as_mut().unwrap().max_rtt_reused = ms(BASE + 20);
    run.cc.on_ack(&mut run.f, &last);
    run.f.rtt = ms(BASE + 90);
    assert_eq!(run.lose(), Reaction::Own);
    // Now it is over: 90 ms in the round under way is region B, though the last round's h was in region A.
    let mut run = Run::new("chd(reference=freebsd, p_max=0)", 21);
    run.round(1);
    run.f.rtt = ms(BASE + 90);
    run.cc.on_ack(&mut run.f, &ack(1, BASE + 90));
    assert_eq!(run.lose(), reduced(11));
}

#[test]
fn freebsd_remembers_a_hit_in_region_b_until_the_delay_leaves_it() {
    // At the largest queue seen, 100 ms, the probability of region B has fallen to zero: a certain miss.
    for (then, left) in [(100, 12), (1, 7)] {
        let mut run = Run::new("chd(reference=freebsd, p_max=1)", 21);
        assert_eq!((run.round(21), run.shadow()), (11.0, 21.0), "a hit in region B");
        run.f.cwnd = packets(11);
        run.round(then);
        run.f.rtt = ms(BASE + 90);
        run.cc.on_ack(&mut run.f, &ack(1, BASE + 90));
        assert_eq!(run.lose(), reduced(left), "{then} ms");
    }
}

#[test]
fn a_base_rtt_too_long_hides_that_much_of_the_queue() {
    let mut run = Run::new("chd(p_max=1, base_error=10ms)", 40);
    assert_eq!(run.round(15), 41.0, "15 ms look like 5, which never backs off");
    run.f.cwnd = packets(40);
    assert_eq!(run.round(40), 20.0, "40 ms look like 30");
}

#[test]
fn automatic_thresholds_follow_the_path() {
    let mut run = Run::new("chd(auto_q_th=1.25, auto_p_max=0.1)", 40);
    let mut seen = Vec::new();
    // A base RTT of 40 ms; a round of 40 packets of 1000 bytes in 40 ms: a packet a millisecond.
    run.f.now = Instant::from_millis(1000);
    let mut last = closing(2, BASE);
    let round = last.round.as_mut().unwrap();
    (round.start, round.end) = (Instant::from_millis(960), Instant::from_millis(1000));
    round.delivered = packets(40);
    run.cc.on_ack(&mut run.f, &last);
    run.cc.vars(&mut |name, value| seen.push((String::from(name), value)));
    let var = |name: &str| seen.iter().find(|v| v.0 == name).unwrap().1;
    assert_eq!(var("q_th_ms"), 50.0);
    // 45 packets from q_min to q_th: 2 ln 10 / 45.
    assert!((var("p_max") - 0.10234).abs() < 1e-5, "{}", var("p_max"));
}

#[test]
fn freebsd_rests_to_the_ack_that_ends_it_and_grows_in_repairs() {
    let mut run = Run::new("chd(reference=freebsd, p_max=1)", 40);
    (run.f.rtt, run.f.in_flight) = (ms(BASE + 20), packets(4));
    let mut last = closing(2, BASE + 20);
    last.round.as_mut().unwrap().max_rtt_reused = ms(BASE + 20);
    let mut windows = Vec::new();
    for _ in 0..4 {
        run.cc.on_ack(&mut run.f, &last);
        windows.push(run.f.cwnd.get() / 1000);
    }
    // Four packets were out: the second ACK after the back-off acknowledges them, and still tosses nothing.
    assert_eq!(windows, [20, 22, 22, 11], "one packet in slow start's last step");

    let mut run = Run::new("chd(reference=freebsd, p_max=0)", 40);
    assert_eq!((run.lose(), run.shadow()), (Reaction::Own, 20.0));
    (run.f.phase, run.f.in_flight) = (Phase::Recovery, packets(5));
    run.cc.on_ack(&mut run.f, &ack(3, BASE));
    assert_eq!((run.f.repair_growth, run.shadow()), (2000, 22.0), "two packets an ACK");
    (run.f.repair_growth, run.f.ends_beyond) = (0, true);
    run.cc.on_ack(&mut run.f, &ack(3, BASE));
    assert_eq!((run.f.repair_growth, run.shadow()), (0, 22.0), "the last leaves slow start");
    run.f.ends_beyond = false;
    run.cc.on_event(&mut run.f, Event::RecoveryEnd);
    assert_eq!(run.f.cwnd, packets(6), "what is in flight and one");
    assert!(run.causes().contains(&CauseKind::RecoveryExit));
}

#[test]
fn freebsd_takes_away_half_of_the_whole_segments_and_keeps_two() {
    for (bytes, left) in [(20_100, 10), (10_990, 5), (9_500, 5), (8_500, 4), (3_000, 2), (2_000, 2), (1_500, 2)] {
        let mut run = Run::new("chd(reference=freebsd, p_max=1)", 21);
        run.f.cwnd = Bytes::new(bytes);
        assert_eq!(run.round(20), f64::from(left), "{bytes} bytes");
        assert_eq!(run.f.floor, packets(1), "a repair may leave one");
    }
}

#[test]
fn a_timeout_ends_the_rest_after_a_back_off() {
    let mut run = Run::new("chd(reference=freebsd, p_max=1)", 40);
    run.f.rtt = ms(BASE + 20);
    run.f.in_flight = packets(40);
    let mut last = closing(2, BASE + 20);
    last.round.as_mut().unwrap().max_rtt_reused = ms(BASE + 20);
    run.cc.on_ack(&mut run.f, &last);
    let c = congestion(Signal::Timeout, &run.f);
    run.cc.on_congestion(&mut run.f, &c);
    run.f.cwnd = packets(10);
    run.cc.on_ack(&mut run.f, &last);
    assert_eq!(run.f.cwnd, packets(5), "the toss that cannot miss");
}

#[test]
fn a_tenth_below_the_largest_queue_is_its_end() {
    let mut f = flow(40, 40);
    f.max_rtt = ms(140);
    assert_eq!([89, 90].map(|queue| Params::is_full(ms(queue), &f)), [false, true]);
}

#[test]
fn the_end_of_a_reduction_without_a_loss_changes_no_window() {
    let mut run = Run::new("chd(reference=freebsd)", 40);
    run.f.in_flight = packets(5);
    run.cc.on_event(&mut run.f, Event::RecoveryEnd);
    assert_eq!(run.f.cwnd, packets(40));
}

#[test]
fn marks_and_timeouts_are_newrenos_in_freebsd_and_a_mark_waits_while_a_back_off_is_out() {
    // (spec, a back-off is out, after a mark, shadow after a timeout)
    for (spec, out, marked, shadow) in [
        ("chd(p_max=0)", false, Reaction::Reduce(Bytes::new(10_500)), 0.0),
        ("chd(p_max=1, once_per_rtt=true)", true, Reaction::Own, 0.0),
        ("chd(p_max=1)", true, Reaction::Reduce(Bytes::new(5_250)), 0.0),
        ("chd(reference=freebsd, p_max=0)", false, reduced(10), 21.0),
        ("chd(reference=freebsd, p_max=1)", true, Reaction::Own, 21.0),
        ("chd(reference=freebsd, p_max=1, once_per_rtt=false)", true, reduced(5), 21.0),
    ] {
        let mut run = Run::new(spec, 21);
        if out {
            run.f.rtt = ms(BASE + 20);
            run.f.in_flight = packets(30);
            run.f.max_rtt = ms(BASE + 20);
            let mut last = closing(2, BASE + 20);
            last.round.as_mut().unwrap().max_rtt_reused = ms(BASE + 20);
            run.cc.on_ack(&mut run.f, &last);
            assert_eq!(run.causes(), [CauseKind::DelayBackoff], "{spec}");
        }
        let mut congest = |signal| {
            let c = congestion(signal, &run.f);
            run.cc.on_congestion(&mut run.f, &c)
        };
        assert_eq!(congest(Signal::Ecn), marked, "{spec}");
        assert_eq!(congest(Signal::Timeout), Reaction::Reduce(run.f.cwnd / 2), "{spec}");
        assert_eq!(run.shadow(), shadow, "{spec}");
        assert_ne!(run.lose(), Reaction::Reduce(run.f.cwnd), "{spec}");
    }
}

#[test]
fn the_end_of_the_buffer_once_met_bounds_the_automatic_threshold() {
    // The largest queue seen is 100 ms: a loss at 95 ms is its end, one at 20 ms is not.
    let q_th = |losses: &[u64]| {
        let mut run = Run::new("chd(auto_q_th=2, p_max=0)", 40);
        for &queue in losses {
            run.f.rtt = ms(BASE + queue);
            run.cc.on_ack(&mut run.f, &ack(1, BASE + queue));
            run.lose();
            run.cc.on_event(&mut run.f, Event::RecoveryEnd);
            run.round(1);
        }
        let mut seen = Vec::new();
        run.cc.vars(&mut |name, value| seen.push((String::from(name), value)));
        seen.iter().find(|v| v.0 == "q_th_ms").unwrap().1
    };
    assert_eq!([q_th(&[20]), q_th(&[95]), q_th(&[95, 20]), q_th(&[20, 95])], [80.0, 50.0, 50.0, 50.0]);
}

#[test]
fn automatic_thresholds_keep_what_they_have_where_a_round_tells_nothing() {
    let params = |spec: &str| <Params as ::params::Params>::from_spec(&spec.parse().unwrap());
    let p = params("chd(auto_q_th=0.1, auto_p_max=0.1)").unwrap();
    let mut f = flow(40, 40);
    f.max_rtt = ms(140);
    let round = |millis: u64, delivered: u64| Round {
        end: Instant::from_millis(1000 + millis),
        start: Instant::from_millis(1000),
        delivered: packets(delivered),
        ..Round::default()
    };
    let last = Backoff { p_max: 0.123, ..p.backoff() };
    for (millis, delivered, p_max) in [(0, 40, 0.123), (40, 0, 0.123), (40, 40, 0.9210)] {
        let next = p.thresholds(last, false, &f, &round(millis, delivered));
        // A tenth of 40 ms is below twice q_min.
        assert_eq!(next.q_th, p.q_min * 2);
        assert!((next.p_max - p_max).abs() < 1e-3, "{}", next.p_max);
    }
    let fixed = params("chd(auto_q_th=0.1)").unwrap();
    assert_eq!(fixed.thresholds(last, false, &f, &round(40, 40)).p_max, 0.123);
    assert!(params("chd(auto_q_th=1, q_th=20ms)").is_err() && params("chd(auto_p_max=0.1, p_max=0.2)").is_err());
    assert!(params("chd(q_th=20ms, p_max=0.2)").is_ok());
}

#[test]
fn freebsds_shadow_is_whole_segments_or_forgotten_and_is_not_used_where_fairness_is_off() {
    let mut run = Run::new("chd(reference=freebsd, p_max=0)", 21);
    let halved = [(); 4].map(|()| {
        run.lose();
        run.shadow()
    });
    assert_eq!(halved, [10.0, 5.0, 2.0, 2.0]);
    let mut run = Run::new("chd(reference=freebsd, p_max=1, q_th=10s)", 40);
    assert_eq!((run.round(9998), run.shadow()), (20.0, 40.0));
    assert_eq!((run.round(9997), run.shadow()), (10.0, 0.0), "a delay that falls");
    run.lose();
    assert_eq!(run.shadow(), 0.0);
    // A hit in region B competes where fairness is on: what is left then is half of the shadow.
    for (spec, left) in [("", 12), (", loss_fair=false", 7)] {
        let mut run = Run::new(&std::format!("chd(reference=freebsd, p_max=1{spec})"), 21);
        run.round(21);
        run.f.cwnd = packets(11);
        run.round(100);
        run.f.rtt = ms(BASE + 90);
        run.cc.on_ack(&mut run.f, &ack(1, BASE + 90));
        assert_eq!(run.lose(), reduced(left), "{spec}");
    }
}
