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
    let mut cc = prague(&mut f, 0);
    cc.marked = true;
    let mut seen = std::vec::Vec::new();
    for n in 1..=6u64 {
        f.now = Instant::ZERO + ms(10 * n);
        cc.on_ack(&mut f, &closing(10, 10));
        seen.push(cc.alpha.get().unwrap());
    }
    // At 20 ms the next round would end beyond 25; so at 50.
    assert_eq!(seen, [1.0, 0.9375, 0.9375, 0.87890625, 0.87890625, 0.823974609375]);
    f.cwnd = packets(1000);
    let c = congestion(Signal::Ecn, &f);
    let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
    assert!(to.get().abs_diff(588_013) <= 1, "{to:?}");
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
