use super::*;
use crate::testing::{ack, flow, ms};
use units::Rng;

/// One decision of a rate of 1000 with this RTT and gradient, a whole RTT_min after the last.
fn decided(rtt_us: u64, gradient: f64, falls: u32) -> f64 {
    let mut f = flow(10, 1);
    let p = Params { scale: Scale::Datacentre, ..Params::default() };
    let mut cc = Timely::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    let k = cc.constants(&f);
    (cc.rate, cc.diff_ms, cc.falls) = (1000.0, gradient * k.base.as_millis_f64(), falls);
    cc.decide(Duration::from_micros(rtt_us), k.base, Constants { step: 10.0, ..k })
}

#[test]
fn four_zones() {
    // Reference, section 2.10: 1000 µs with T_high = 500 µs → 600; g = 0.1 → 920.
    for (rtt, gradient, falls, rate) in [
        (1000, 0.0, 0, 600.0),
        (200, 0.1, 0, 920.0),
        (200, -0.1, 0, 1010.0),
        (200, -0.1, 3, 1010.0),
        (200, -0.1, 4, 1050.0),
        (40, 0.1, 9, 1010.0),
        (200, 2.0, 0, 500.0),
    ] {
        let got = decided(rtt, gradient, falls);
        assert!((got - rate).abs() < 1e-9, "{rtt} µs, gradient {gradient}, {falls} falls: {got}");
    }
}

#[test]
fn a_step_is_taken_in_proportion_to_time() {
    let mut f = flow(10, 100);
    let mut cc = Timely::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.on_ack(&mut f, &ack(0, 100));
    cc.rate = 0.0;
    let k = cc.constants(&f);
    // One packet of 1000 bytes in 100 ms: 80 kbit/s.
    assert_eq!((k.step, k.low.as_millis(), k.high.as_millis()), (80_000.0, 125, 200));
    let got = [25, 100, 400].map(|ms| cc.decide(k.base, Duration::from_millis(ms), k));
    assert_eq!(got, [20_000.0, 80_000.0, 80_000.0]);
}

#[test]
fn the_path_is_measured_by_data_and_not_by_the_handshake() {
    // 10 ms there and back, and 12 ms for a packet to get onto the link: the SYN saw 10.
    let mut f = flow(10, 10);
    let mut cc = Timely::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    [22, 34].into_iter().for_each(|rtt| cc.on_ack(&mut f, &ack(1, rtt)));
    let k = cc.constants(&f);
    assert_eq!((k.base, k.high), (ms(22), ms(44)), "22 ms are no queue");
}

#[test]
fn the_least_rate_is_a_segment_per_newest_rtt_at_once() {
    let mut f = flow(10, 100);
    let mut cc = Timely::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.on_ack(&mut f, &ack(1, 100));
    // A queue of a second takes it down to 8000 bits in 1.1 s.
    (f.srtt, f.rtt) = (ms(1100), ms(1100));
    for n in 1..20 {
        f.now = Instant::from_millis(1100 * n);
        cc.on_ack(&mut f, &ack(16, 1100));
    }
    assert_eq!(cc.rate.round(), 7273.0);
    // It is gone. The smoothed RTT does not know, and the next decision is 16 packets away.
    f.rtt = ms(100);
    cc.on_ack(&mut f, &ack(1, 100));
    assert_eq!(cc.rate.round(), 80_000.0);
}
