use super::*;
use crate::build;
use crate::testing::{ack, flow, ms, packets};
use std::boxed::Box;
use units::Rng;

fn ledbat(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
    build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
}

/// An ACK of so many packets whose one-way delay was that of an empty queue and so much more.
fn late(n: u64, queue: u64) -> Ack {
    Ack { one_way: Some(ms(1000 + queue)), ..ack(n, 100 + queue) }
}

/// The window in packets after a round of ten, at a delay that all filters have settled to.
fn after_round(spec: &str, queue: u64) -> u64 {
    let mut f = flow(10, 100);
    (f.in_flight, f.rtt) = (packets(10), ms(100 + queue));
    let mut cc = ledbat(spec, &mut f);
    cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..late(0, 0) });
    (0..64).for_each(|_| cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..late(0, queue) }));
    (0..10).for_each(|_| cc.on_ack(&mut f, &late(1, queue)));
    f.cwnd.get() / 1000
}

#[test]
fn a_round_without_queue_adds_the_gain_and_one_at_twice_the_target_takes_it() {
    assert_eq!([0, 100, 200, 300].map(|q| after_round("ledbat", q)), [11, 10, 9, 8]);
    assert_eq!([0, 25, 50].map(|q| after_round("ledbat(target=25ms)", q)), [11, 10, 9]);
    assert_eq!([0, 5, 10].map(|q| after_round("ledbat(target=5ms)", q)), [11, 10, 9]);
    // Three packets of 1000 bytes; the RTT bounds what it takes for queue.
    assert_eq!([0, 100, 200].map(|q| after_round("ledbat(reference=libutp, allowed_increase=9)", q)), [12, 10, 7]);
}

#[test]
fn half_the_target_grows_at_half_the_pace() {
    // Reference, section 2.9: 10 packets of 1500 bytes, 50 ms, 3000 bytes acknowledged.
    let mut f = Flow::new(Bytes::new(1500), Bytes::new(15_000));
    let mut cc = Ledbat::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.measure(&f, ms(1000));
    (0..4).for_each(|_| cc.measure(&f, ms(1050)));
    assert!((cc.step(&f, Bytes::new(3000)) - 150.0).abs() < 1e-9);
}

#[test]
fn the_base_is_forgotten_with_its_minute() {
    let mut f = flow(10, 100);
    let mut cc = ledbat("ledbat(base_history=2)", &mut f);
    let mut queue = |seconds: u64, delay| {
        f.now = units::Instant::from_millis(seconds * 1000);
        (0..4).for_each(|_| cc.on_ack(&mut f, &late(1, delay)));
        let mut seen = 0.0;
        cc.vars(&mut |name, value| seen = if name == "queue_ms" { value } else { seen });
        seen
    };
    assert_eq!(
        [(0, 0), (59, 30), (61, 30), (119, 30), (121, 30)].map(|(s, d)| queue(s, d)),
        [0.0, 30.0, 30.0, 30.0, 0.0]
    );
}

#[test]
fn it_has_no_slow_start_unless_asked_and_that_ends_near_the_target() {
    for (spec, window) in [("ledbat", 11), ("ledbat(slow_start=standard)", 20), ("ledbat(reference=libutp)", 12)] {
        assert_eq!(after_start(spec, 0), window, "{spec}");
    }
    assert_eq!(after_start("ledbat(slow_start=standard)", 95), 10);
}

fn after_start(spec: &str, queue: u64) -> u64 {
    let mut f = flow(10, 100);
    f.in_flight = packets(20);
    let mut cc = ledbat(spec, &mut f);
    cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..late(0, 0) });
    (0..10).for_each(|_| cc.on_ack(&mut f, &Ack { cumulative: Bytes::ZERO, ..late(0, queue) }));
    (0..10).for_each(|_| cc.on_ack(&mut f, &late(1, queue)));
    f.cwnd.get() / 1000
}

#[test]
fn ten_minutes_and_four_delays_are_remembered_and_by_libutp_thirteen_and_three() {
    for (spec, minutes, delays) in [("ledbat", 10, 4), ("ledbat(reference=libutp)", 13, 3)] {
        let mut f = flow(10, 100);
        f.rtt = ms(1000);
        let mut cc = ledbat(spec, &mut f);
        let mut queue = |seconds: u64, delay| {
            f.now = units::Instant::from_millis(seconds * 1000);
            cc.on_ack(&mut f, &late(0, delay));
            let mut seen = 0.0;
            cc.vars(&mut |name, value| seen = if name == "queue_ms" { value } else { seen });
            seen
        };
        queue(0, 0);
        assert_eq!((1..20).find(|_| queue(1, 30) > 0.0), Some(delays), "{spec}");
        let forgotten = (1..20).find(|minute| (0..4).map(|_| queue(60 * minute, 40)).sum::<f64>() < 100.0);
        assert_eq!(forgotten, Some(minutes), "{spec}: the first minute, which 30 ms were in too");
    }
}

#[test]
fn what_is_no_packet_yet_changes_nothing() {
    let mut f = flow(10, 100);
    (f.in_flight, f.ssthresh) = (packets(10), packets(100));
    let mut cc = Ledbat::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    f.ssthresh = packets(100);
    cc.on_ack(&mut f, &late(1, 0));
    (0..8).for_each(|_| cc.on_ack(&mut f, &late(1, 101)));
    assert_eq!((f.cwnd, f.ssthresh, f.has_events()), (packets(10), packets(100), false));
}
