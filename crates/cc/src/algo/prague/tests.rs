use super::*;
use crate::testing::{ack, closing, congestion, flow, ms, packets};
use units::{Rate, Rng};

fn prague(f: &mut Flow, transition: u32) -> Prague {
    let p = Params { transition, ..Params::default() };
    Prague::new(&p, Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn a_short_rtt_grows_as_one_of_25_ms_once_the_flow_is_old() {
    // (10/25)² = 0.16 packets a round, so that a second brings 16 packets instead of 100; at 25 ms it brings 40.
    for (rtt, transition, growth) in [(10, 0, 0.16), (10, 500, 1.0), (50, 0, 1.0)] {
        let mut f = flow(20, rtt);
        f.ssthresh = packets(2);
        assert!((prague(&mut f, transition).growth(&f) - growth).abs() < 1e-12);
    }
    let mut f = flow(20, 10);
    f.ssthresh = packets(2);
    let mut cc = prague(&mut f, 0);
    for n in 0..125 {
        assert_eq!(f.cwnd, packets(20), "packet {n}");
        cc.on_ack(&mut f, &ack(1, 10));
    }
    assert_eq!(f.cwnd, packets(21), "20 packets in 6.25 rounds");
    assert_eq!(f.pacing, Some(Rate::from_mbps(16.8)), "21 kB in 10 ms");
}

#[test]
fn alpha_moves_once_in_a_virtual_rtt_and_a_mark_takes_half_of_it() {
    let mut f = flow(100, 10);
    f.ssthresh = packets(2);
    let mut cc = prague(&mut f, 0);
    cc.marked = true;
    let mut seen = std::vec::Vec::new();
    for n in 1..=6u64 {
        f.now = Instant::ZERO + ms(10 * n);
        cc.on_ack(&mut f, &closing(10, 10));
        seen.push(cc.alpha.get().unwrap());
    }
    // The rounds that end at 30 and 60 ms are the first after 25 ms.
    assert_eq!(seen, [1.0, 1.0, 0.9375, 0.9375, 0.9375, 0.87890625]);
    f.cwnd = packets(1000);
    let c = congestion(Signal::Ecn, &f);
    let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
    assert!(to.get().abs_diff(560_547) <= 1, "{to:?}");
    let c = congestion(Signal::Loss, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(500)));
}

#[test]
fn marked_data_earns_no_growth() {
    let mut f = flow(10, 50);
    f.ssthresh = packets(2);
    let mut cc = prague(&mut f, 0);
    for _ in 0..10 {
        cc.on_ack(&mut f, &Ack { ce: packets(1), ..ack(1, 50) });
    }
    assert_eq!(f.cwnd, packets(10));
    (0..10).for_each(|_| cc.on_ack(&mut f, &ack(1, 50)));
    assert_eq!(f.cwnd, packets(11));
}

#[test]
fn an_old_flow_of_short_rtt_answers_marks_once_in_a_virtual_rtt() {
    for (transition, answers) in [(0, 1), (500, 5)] {
        let mut f = flow(100, 5);
        f.ssthresh = packets(2);
        let mut cc = prague(&mut f, transition);
        let answered = (1..=5u64).filter(|n| {
            f.now = Instant::ZERO + ms(5 * n);
            let c = congestion(Signal::Ecn, &f);
            matches!(cc.on_congestion(&mut f, &c), Reaction::Reduce(_))
        });
        assert_eq!(answered.count(), answers, "rounds of 5 ms within 25 ms");
    }
}

#[test]
fn alpha_stays_until_a_mark_shows_a_queue_that_marks() {
    let mut f = flow(100, 10);
    let mut cc = prague(&mut f, 500);
    let mut round = |n: u64, ce| {
        f.now = Instant::ZERO + ms(10 * n);
        cc.on_ack(&mut f, &Ack { ce: packets(ce), ..closing(10, 10) });
        cc.alpha.get().unwrap()
    };
    assert!((1..100).all(|n| round(n, 0) == 1.0));
    assert_eq!((round(100, 10), round(101, 0)), (1.0, 0.9375));
}

#[test]
fn rounds_count_once_slow_start_is_over_and_in_it_every_mark_counts() {
    let mut f = flow(10, 5);
    let mut cc = prague(&mut f, 3);
    (0..9).for_each(|_| cc.on_ack(&mut f, &closing(0, 5)));
    assert_eq!(cc.virtual_rtt(&f), ms(5));
    f.ssthresh = packets(2);
    let young = (0..5).map(|_| {
        cc.on_ack(&mut f, &closing(0, 5));
        cc.virtual_rtt(&f).as_millis()
    });
    assert_eq!(young.collect::<std::vec::Vec<_>>(), [5, 5, 25, 25, 25]);
    // After a timeout: slow start again, 5 ms after the last mark.
    let mut answer = |cc: &mut Prague, now| {
        f.now = Instant::from_millis(now);
        let c = congestion(Signal::Ecn, &f);
        cc.on_congestion(&mut f, &c)
    };
    assert!(matches!(answer(&mut cc, 100), Reaction::Reduce(_)));
    assert_eq!(answer(&mut cc, 105), Reaction::Own);
    f.ssthresh = packets(50);
    let c = congestion(Signal::Ecn, &f);
    assert!(matches!(cc.on_congestion(&mut f, &c), Reaction::Reduce(_)));
}

#[test]
fn slow_start_doubles_by_unmarked_data_but_not_while_the_host_brings_the_window_down() {
    for (phase, window) in [(Phase::Open, 16), (Phase::Reduced, 8)] {
        let mut f = flow(8, 50);
        f.phase = phase;
        let mut cc = prague(&mut f, 500);
        (0..8).for_each(|_| cc.on_ack(&mut f, &ack(1, 50)));
        cc.on_ack(&mut f, &Ack { ce: packets(1), ..ack(1, 50) });
        assert_eq!(f.cwnd, packets(window), "{phase:?}");
        assert_eq!(f.pacing, Some(packets(2 * window) / ms(50)));
    }
}

#[test]
fn it_is_paced_twice_ahead_only_while_the_window_may_double_below_the_threshold() {
    // 10 packets of 1000 bytes in 50 ms are 1.6 Mbit/s.
    for (threshold, mbps) in [(u64::MAX, 3.2), (20_002, 3.2), (20_000, 1.6), (10_000, 1.6)] {
        let mut f = flow(10, 50);
        f.ssthresh = Bytes::new(threshold);
        prague(&mut f, 500).on_ack(&mut f, &ack(0, 50));
        assert_eq!(f.pacing, Some(Rate::from_mbps(mbps)), "{threshold}");
    }
}
