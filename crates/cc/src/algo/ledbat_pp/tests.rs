use super::*;
use crate::testing::{ack, closing, flow, ms, packets};
use units::Rng;

fn ledbat_pp(f: &mut Flow) -> LedbatPp {
    LedbatPp::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn the_gain_of_four_paths() {
    // Reference, section 2.9.
    for (base, d) in [(5, 16.0), (20, 6.0), (60, 2.0), (120, 1.0), (500, 1.0)] {
        assert_eq!(divisor(ms(60), ms(base)), d, "{base} ms");
    }
}

#[test]
fn half_a_target_too_much_takes_half_the_window() {
    // Reference, section 2.9: 100 packets, q = 90 ms: −50 (and GAIN, here a half, more).
    let mut cc = ledbat_pp(&mut flow(100, 60));
    for (q, step) in [(66, 0.5 - 10.0), (90, 0.5 - 50.0), (120, -50.0), (600, -50.0)] {
        (cc.queue, cc.divisor) = (ms(q), 2.0);
        assert!((cc.decrease(100.0) - step).abs() < 1e-9, "{q} ms: {}", cc.decrease(100.0));
    }
}

#[test]
fn slow_start_and_avoidance_grow_by_the_gain() {
    for (ssthresh, grown) in [(1000, 15), (5, 10)] {
        let mut f = flow(10, 60);
        f.ssthresh = packets(ssthresh);
        let mut cc = ledbat_pp(&mut f);
        (0..10).for_each(|_| cc.on_ack(&mut f, &ack(1, 60)));
        assert_eq!(f.cwnd, packets(grown));
        (0..11).for_each(|_| cc.on_ack(&mut f, &ack(1, 60)));
        assert!(ssthresh > 10 || f.cwnd == packets(11), "a packet in two rounds");
    }
}

#[test]
fn it_steps_aside_two_round_trips_after_slow_start_and_then_nine_times_as_rarely() {
    let mut f = flow(40, 120);
    let mut cc = ledbat_pp(&mut f);
    cc.on_ack(&mut f, &ack(0, 120));
    let mut at = |now: u64, acked: u64, rtt: u64| {
        f.now = Instant::from_millis(now);
        (0..4).for_each(|_| cc.on_ack(&mut f, &ack(0, rtt)));
        cc.on_ack(&mut f, &closing(acked, rtt));
        f.cwnd.get() / 1000
    };
    assert_eq!(at(1000, 1, 166), 40, "46 ms end slow start");
    assert_eq!(at(1239, 0, 130), 40);
    assert_eq!(at(1240, 0, 130), 2, "two smoothed RTTs of 120 ms");
    assert_eq!(at(1479, 2, 120), 2);
    assert_eq!([1480, 1600, 1720, 1840].map(|now| at(now, 20, 120)), [22, 40, 40, 41]);
    // It was back at 1720 (the ACK after): 480 ms, so the next comes 4320 ms later.
    assert_eq!([6030, 6050].map(|now| at(now, 0, 120)), [41, 2]);
}

#[test]
fn a_slowdown_that_is_due_in_slow_start_keeps_what_that_returns_to() {
    // After an idle time: ten packets, and seventy before it.
    let mut f = flow(10, 60);
    f.ssthresh = packets(70);
    let mut cc = ledbat_pp(&mut f);
    (cc.stage, f.now) = (Stage::Avoidance { until: Instant::ZERO }, Instant::from_millis(1000));
    cc.on_ack(&mut f, &ack(1, 60));
    assert_eq!((f.cwnd, f.ssthresh), (packets(2), packets(70)));
}

#[test]
fn the_base_is_forgotten_with_its_tenth_minute() {
    let mut cc = ledbat_pp(&mut flow(10, 100));
    cc.measure(Instant::ZERO, ms(100));
    let queues = (1..=10).map(|minute| {
        (0..4).for_each(|_| cc.measure(Instant::from_millis(60_000 * minute), ms(130)));
        cc.queue.as_millis()
    });
    assert_eq!(queues.collect::<std::vec::Vec<_>>(), [30, 30, 30, 30, 30, 30, 30, 30, 30, 0]);
}
