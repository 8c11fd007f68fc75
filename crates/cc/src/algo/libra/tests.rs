use super::*;
use crate::Signal;
use crate::testing::{ack, congestion, flow, ms, packets};
use units::Rng;

fn libra(f: &mut Flow) -> Libra {
    f.ssthresh = packets(2);
    Libra::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn growth_at_100_ms_over_10_mbit() {
    // Reference, section 4.3: 0.18 packets a round, +0.00182 a packet of a window of 100.
    let mut cc = libra(&mut flow(100, 100));
    cc.alpha = cc.alpha(10.0, ms(0), ms(100));
    assert_eq!(cc.alpha, 20.0);
    assert!((cc.growth(ms(100)) / 100.0 - 0.00182).abs() < 5e-6);
    // A full queue leaves e⁻² of it; ten times the RTT grows 55 times as much a round.
    assert!((cc.alpha(10.0, ms(100), ms(100)) / 20.0 - 0.1353).abs() < 5e-5);
    assert!((cc.growth(ms(1000)) / cc.growth(ms(100)) - 55.0).abs() < 1e-9);
}

#[test]
fn a_loss_takes_45_of_100_packets_and_less_at_longer_rtts() {
    for (rtt, left) in [(100, 54_545), (1000, 75_000)] {
        let mut f = flow(100, rtt);
        let mut cc = libra(&mut f);
        let c = congestion(Signal::Loss, &f);
        let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
        assert!(to.get().abs_diff(left) <= 1, "{to:?}");
    }
}

#[test]
fn a_second_of_acks_adds_what_the_equation_says() {
    // 8 Mbit/s by a pair: α = 16, at 500 ms and an empty queue 16 · 0.25/1.5 = 2.67 a round; two rounds.
    let mut f = flow(100, 500);
    let mut cc = libra(&mut f);
    for n in 0..203u64 {
        f.now = units::Instant::from_millis(1000 + n);
        cc.on_ack(&mut f, &Ack { sent_at: units::Instant::from_millis(1000), ..ack(1, 500) });
    }
    assert_eq!((cc.alpha, f.cwnd.get() / 1000), (16.0, 105));
}
