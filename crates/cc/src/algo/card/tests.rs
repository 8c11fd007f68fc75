use super::*;
use crate::Signal;
use crate::testing::{ack, closing, congestion, flow, ms, packets};
use units::Rng;

#[test]
fn one_above_the_knee_and_zero_below() {
    // Reference, section 2.1: (10/210)·(21/1) = 1.
    let of = |d0, w0, d1, w1| gradient((ms(d0), packets(w0)), (ms(d1), packets(w1)));
    assert!((of(100, 10, 110, 11).unwrap() - 1.0).abs() < 1e-12);
    assert_eq!((of(100, 10, 100, 11), of(100, 10, 110, 10)), (Some(0.0), None));
    assert!(of(110, 11, 100, 10).unwrap() > 0.0, "both falling is still above the knee");
}

#[test]
fn a_cut_to_whole_packets_and_one_packet_more_every_second_round() {
    let mut f = flow(10, 100);
    f.ssthresh = packets(5);
    let mut cc = Card::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    let windows = [100, 100, 100, 100, 110, 110, 110].map(|rtt| {
        cc.on_ack(&mut f, &closing(10, rtt));
        f.cwnd.get() / 1000
    });
    // The first two have no window to compare with; the last is 9.625 packets without the fraction.
    assert_eq!(windows, [10, 10, 11, 11, 9, 9, 10]);
}

#[test]
fn slow_start_and_a_window_that_is_not_used_add_no_packet_at_a_rounds_end() {
    for (threshold, limited, window) in [(5, true, 11), (5, false, 10), (20, true, 10), (20, false, 10)] {
        let mut f = flow(10, 100);
        (f.ssthresh, f.cwnd_limited) = (packets(threshold), limited);
        let mut cc = Card::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        (0..3).for_each(|_| cc.on_ack(&mut f, &closing(0, 100)));
        assert_eq!(f.cwnd, packets(window), "{threshold} {limited}");
    }
}

#[test]
fn a_positive_gradient_ends_slow_start() {
    let mut f = flow(10, 100);
    let mut cc = Card::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.on_ack(&mut f, &closing(0, 100));
    cc.on_ack(&mut f, &ack(10, 100));
    assert_eq!(f.cwnd, packets(20));
    (0..2).for_each(|_| cc.on_ack(&mut f, &closing(0, 110)));
    assert_eq!((f.cwnd, f.in_slow_start()), (packets(17), false));
}

#[test]
fn a_loss_halves_and_begins_the_comparison_anew() {
    let mut f = flow(20, 100);
    f.ssthresh = packets(5);
    let mut cc = Card::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.on_ack(&mut f, &closing(0, 200));
    let c = congestion(Signal::Loss, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(10)));
    f.cwnd = packets(10);
    // 200 ms at 20 packets and 100 at 10 would be a gradient of one.
    cc.on_ack(&mut f, &closing(0, 100));
    assert_eq!(f.cwnd, packets(10));
}
