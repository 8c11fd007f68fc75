use super::*;
use crate::testing::{ack, flow, ms, packets};
use units::Rng;

#[test]
fn the_curve_of_figure_2_13_falls_to_p_end() {
    // Reference, section 3.7: with p_end = 0 as HD; with 0.002 P(65) = 0.011.
    for (p_end, us, expected) in [
        (0.0, 17_500, 0.01),
        (0.0, 30_000, 0.02),
        (0.0, 65_000, 0.01),
        (0.002, 65_000, 0.011),
        (0.002, 100_000, 0.002),
        (0.002, 5_000, 0.0),
    ] {
        let curve = Params { p_end, ..Params::default() }.backoff();
        let got = curve.probability(Duration::from_micros(us), ms(100));
        assert!((got - expected).abs() < 1e-12, "{us} µs: {got}");
    }
}

/// Windows after three ACKs in a row at this queueing delay, when a hit is certain at q_th.
fn windows(queue: u64) -> [u64; 3] {
    let mut f = flow(100, 100);
    (f.ssthresh, f.in_flight, f.max_rtt, f.rtt) = (packets(50), packets(100), ms(200), ms(100 + queue));
    let p = Params { p_max: 1.0, p_end: 0.0, ..Params::default() };
    let mut cc = CxTcp::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    [(); 3].map(|()| {
        cc.on_ack(&mut f, &ack(1, 100 + queue));
        f.cwnd.get() / 1000
    })
}

#[test]
fn one_back_off_per_round_trip_and_none_at_the_largest_delay() {
    assert_eq!(windows(30), [50, 50, 50]);
    assert_eq!(windows(100), [100, 100, 100]);
}
