use super::*;
use crate::testing::{ack, closing, congestion, flow, ms, packets, value};
use crate::{CauseKind, build};
use std::boxed::Box;
use std::vec::Vec;

fn hd(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
    build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 5e-5, "{a} is not {b}");
}

#[test]
fn the_probability_of_figure_1() {
    // Reference, sections 3.3 and 3.4.
    let hd = Params::default().backoff();
    for (us, p) in [(5_000, 0.0), (17_500, 0.01), (30_000, 0.02), (65_000, 0.01), (100_000, 0.0), (120_000, 0.0)] {
        near(hd.probability(Duration::from_micros(us), ms(100)), p);
    }
    let chd = Backoff { q_min: ms(5), q_th: ms(20), p_max: 0.5, p_end: 0.0 };
    for (q, p) in [(10, 0.1667), (20, 0.5), (60, 0.25)] {
        near(chd.probability(ms(q), ms(100)), p);
    }
}

#[test]
fn a_queue_that_never_passed_q_th_has_no_region_b() {
    let hd = Params::default().backoff();
    near(hd.probability(ms(20), ms(20)), 0.012);
    near(hd.probability(ms(30), ms(30)), 0.02);
}

#[test]
fn q_min_above_q_th_is_refused() {
    let e = crate::find("hd").unwrap().resolve(&"hd(q_min=30ms)".parse().unwrap()).unwrap_err();
    assert!(alloc::format!("{e}").contains("q_min must be below q_th"), "{e}");
}

/// Back-offs in 20,000 packets, so many to an ACK, each ACK at 17.5 ms of queue with 100 ms seen before, with that much in flight.
fn backoffs(spec: &str, in_flight: u64, packets_an_ack: u64) -> usize {
    let mut f = flow(40, 40);
    (f.ssthresh, f.max_rtt) = (packets(20), ms(140));
    f.rtt = Duration::from_micros(57_500);
    let mut cc = hd(spec, &mut f);
    let mut count = 0;
    for _ in 0..20_000 / packets_an_ack {
        (f.cwnd, f.in_flight) = (packets(40), packets(in_flight));
        cc.on_ack(&mut f, &ack(packets_an_ack, 57));
        count += f.drain_events().filter(|e| e.cause() == Some(CauseKind::DelayBackoff)).count();
    }
    count
}

#[test]
fn one_toss_per_packet_at_one_percent() {
    // Binomial: 200 ± 4 standard deviations of 14; two packets an ACK are two tosses.
    for packets_an_ack in [1, 2] {
        let n = backoffs("hd", 40, packets_an_ack);
        assert!((144..=256).contains(&n), "{n}");
    }
    // FreeBSD's toss per ACK: half as many (100 ± 4 · 10).
    let n = backoffs("hd(per=ack)", 40, 2);
    assert!((60..=140).contains(&n), "{n}");
    // With 40 packets to wait out after each there is room for 20,000 / (100 + 40) = 143 (4 sd: 40).
    let n = backoffs("hd(once_per_rtt=true)", 40, 1);
    assert!((103..=183).contains(&n), "{n}");
}

#[test]
fn a_back_off_halves_with_its_numbers_and_freebsd_in_segments() {
    for (spec, to) in [("hd(p_max=1)", 10_500), ("hd(p_max=1, q_th=30ms, reference=freebsd)", 10_000)] {
        let mut f = flow(21, 40);
        (f.ssthresh, f.max_rtt, f.rtt) = (packets(10), ms(140), ms(70));
        let mut cc = hd(spec, &mut f);
        cc.on_ack(&mut f, &ack(1, 70));
        assert_eq!((f.cwnd.get(), f.ssthresh.get()), (to, to), "{spec}");
        let e = f.drain_events().next().unwrap();
        assert_eq!((e.cause(), e.values[4], e.values[6]), (Some(CauseKind::DelayBackoff), 1_000_000_000, 30_000_000));
    }
}

#[test]
fn loss_halves_and_a_short_queue_grows() {
    let mut f = flow(20, 40);
    f.ssthresh = packets(10);
    f.rtt = ms(45);
    let mut cc = hd("hd(p_max=1)", &mut f);
    for _ in 0..10 {
        cc.on_ack(&mut f, &ack(2, 45));
    }
    assert_eq!(f.cwnd, packets(21), "q = q_min never backs off");
    let c = congestion(Signal::Loss, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(Bytes::new(10_500)));
}

#[test]
fn freebsd_rests_for_one_ack_and_no_longer() {
    // A back-off is certain at q_th. The second ACK ends NewReno's congestion recovery; the third tosses again.
    let mut f = flow(40, 40);
    (f.ssthresh, f.max_rtt, f.rtt, f.in_flight) = (packets(10), ms(140), ms(70), packets(40));
    let mut cc = hd("hd(p_max=1, q_th=30ms, reference=freebsd)", &mut f);
    let mut windows = Vec::new();
    for _ in 0..4 {
        cc.on_ack(&mut f, &ack(2, 70));
        windows.push(f.cwnd.get() / 1000);
    }
    assert_eq!(windows, [20, 20, 10, 10]);
    let c = congestion(Signal::Ecn, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(5)), "its rest is over");
    cc.on_ack(&mut f, &ack(2, 70));
    for (signal, reaction) in [(Signal::Ecn, Reaction::Own), (Signal::Loss, Reaction::Reduce(packets(5)))] {
        let c = congestion(signal, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), reaction, "while it rests");
    }
}

#[test]
fn freebsd_keeps_two_segments_when_it_cuts_and_one_after_a_repair() {
    for (spec, floor, to) in [("hd(p_max=1)", 2, 1_500), ("hd(p_max=1, q_th=30ms, reference=freebsd)", 1, 2_000)] {
        let mut f = flow(3, 40);
        (f.ssthresh, f.max_rtt, f.rtt) = (packets(2), ms(140), ms(70));
        let mut cc = hd(spec, &mut f);
        assert_eq!(f.floor, packets(floor), "{spec}");
        let c = congestion(Signal::Loss, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(Bytes::new(to)), "{spec}: the host keeps its floor");
        cc.on_ack(&mut f, &ack(1, 70));
        assert_eq!(f.cwnd, packets(2), "{spec}");
    }
}

#[test]
fn a_back_off_forgets_freebsds_count_of_acknowledged_bytes() {
    // Seven of eight packets are counted when the window is halved; what follows is slow start for one ACK, then four anew.
    let mut f = flow(8, 40);
    (f.ssthresh, f.max_rtt, f.rtt) = (packets(4), ms(140), ms(40));
    let mut cc = hd("hd(p_max=1, q_th=30ms, reference=freebsd)", &mut f);
    for _ in 0..7 {
        cc.on_ack(&mut f, &ack(1, 40));
    }
    f.rtt = ms(70);
    cc.on_ack(&mut f, &ack(1, 70));
    f.rtt = ms(40);
    let windows: Vec<_> = (0..6)
        .map(|_| {
            cc.on_ack(&mut f, &ack(1, 40));
            f.cwnd.get() / 1000
        })
        .collect();
    assert_eq!(windows, [4, 5, 5, 5, 5, 5], "a rest, slow start, and the count from nothing");
}

#[test]
fn freebsds_rest_is_over_with_a_repair_or_a_timeout() {
    let rested = |end: &dyn Fn(&mut dyn CongestionControl, &mut Flow)| {
        let mut f = flow(40, 40);
        (f.ssthresh, f.max_rtt, f.rtt, f.in_flight) = (packets(10), ms(140), ms(70), packets(40));
        let mut cc = hd("hd(p_max=1, q_th=30ms, reference=freebsd)", &mut f);
        cc.on_ack(&mut f, &ack(2, 70));
        end(&mut *cc, &mut f);
        cc.on_ack(&mut f, &ack(2, 70));
        f.cwnd
    };
    assert_eq!(rested(&|_, _| ()), packets(20));
    assert_eq!(rested(&|cc, f| cc.on_event(f, Event::RecoveryEnd)), packets(10));
    assert_eq!(rested(&|cc, f| _ = cc.on_congestion(f, &congestion(Signal::Timeout, f))), packets(10));
}

#[test]
fn freebsds_rest_after_a_timeout_lasts_until_all_that_was_out_then_is_acknowledged() {
    // `snd_recover` is `snd_max` of the timeout, and HD leaves it there.
    let mut f = flow(40, 40);
    (f.ssthresh, f.max_rtt, f.rtt) = (packets(10), ms(140), ms(70));
    let mut cc = hd("hd(p_max=1, q_th=30ms, reference=freebsd)", &mut f);
    f.phase = Phase::Loss;
    let hear = |f: &mut Flow, cc: &mut dyn CongestionControl| {
        cc.on_ack(f, &ack(2, 70));
        f.cwnd
    };
    assert_eq!([0; 4].map(|_| hear(&mut f, &mut *cc)), [packets(20); 4]);
    f.phase = Phase::Open;
    cc.on_event(&mut f, Event::RecoveryEnd);
    assert_eq!(hear(&mut f, &mut *cc), packets(10));
}

#[test]
fn only_the_first_slow_start_is_left() {
    for (ssthresh, cause) in [(Bytes::MAX, CauseKind::SlowStartExit), (packets(100), CauseKind::DelayBackoff)] {
        let mut f = flow(21, 40);
        (f.ssthresh, f.max_rtt, f.rtt) = (ssthresh, ms(140), ms(70));
        hd("hd(p_max=1)", &mut f).on_ack(&mut f, &ack(1, 70));
        let e = f.drain_events().next().unwrap();
        assert_eq!(e.cause(), Some(cause));
        if cause == CauseKind::SlowStartExit {
            assert_eq!((value(&e, "rtt"), value(&e, "base_rtt")), (70_000_000, 40_000_000));
        }
        assert_eq!(value(&e, "probability"), 1_000_000_000, "at q_th");
        assert!((1..1_000_000_000).contains(&value(&e, "drew")));
    }
}

#[test]
fn a_mark_waits_while_the_window_that_was_halved_is_out_where_once_a_round_is_asked_for() {
    for (spec, marked) in
        [("hd(p_max=1, once_per_rtt=true)", Reaction::Own), ("hd(p_max=1)", Reaction::Reduce(packets(10)))]
    {
        let mut f = flow(40, 40);
        (f.ssthresh, f.max_rtt, f.rtt, f.in_flight) = (packets(10), ms(140), ms(70), packets(40));
        let mut cc = hd(spec, &mut f);
        let c = congestion(Signal::Ecn, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(20)), "{spec}: nothing was halved");
        cc.on_ack(&mut f, &ack(1, 70));
        assert_eq!((f.cwnd, cc.on_congestion(&mut f, &c)), (packets(20), marked), "{spec}");
    }
}

#[test]
fn the_handshakes_rtt_is_no_base() {
    // The SYN took 30 ms, data on an empty path takes 40, of which ten are its own length.
    for spec in ["hd(p_max=1)", "hd(p_max=1, q_th=30ms, reference=freebsd)", "cx_tcp(p_max=1)"] {
        let mut f = Flow::new(packets(1), packets(20));
        let mut cc = hd(spec, &mut f);
        (f.ssthresh, f.min_rtt, f.max_rtt) = (packets(10), ms(30), ms(30));
        let mut hear = |rtt| {
            (f.rtt, f.max_rtt) = (ms(rtt), f.max_rtt.max(ms(rtt)));
            (0..20).for_each(|_| cc.on_ack(&mut f, &closing(1, rtt)));
            f.drain_events().count()
        };
        assert_eq!(hear(40), 0, "{spec}");
        assert!(hear(70) > 0, "{spec}: 30 ms of queue");
    }
}
