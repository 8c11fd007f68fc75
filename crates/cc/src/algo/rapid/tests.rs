use super::*;
use crate::testing::{flow, packets};
use std::vec::Vec;
use units::Rng;

#[test]
fn a_train_goes_at_its_rate_as_a_whole_and_asks_for_more_with_every_gap() {
    let all: Vec<Rate> = rates(Rate::from_mbps(10.0), 30, 1.07).collect();
    let time: Duration = all.iter().map(|r| packets(1) / *r).fold(Duration::ZERO, |a, b| a + b);
    assert!((time.as_millis_f64() - 24.0).abs() < 0.001, "30 kB at 10 Mbit/s: {time:?}");
    let ratio = all[29].as_bps() as f64 / all[0].as_bps() as f64;
    assert!((ratio - 7.114).abs() < 0.001, "1.07^29: {ratio}");
}

fn train(delays: &[i64]) -> Vec<Probe> {
    delays
        .iter()
        .enumerate()
        .map(|(i, d)| Probe { rate: Rate::from_mbps(i as f64 + 1.0), delay: *d * 1_000_000 })
        .collect()
}

#[test]
fn what_is_free_is_the_rate_before_delays_rise_for_good() {
    let found = |delays: &[i64]| judge(&train(delays), Duration::from_micros(2));
    assert_eq!(found(&[20, 20, 20, 21, 22, 24]), (Rate::from_mbps(3.0), true));
    assert_eq!(
        found(&[20, 21, 22, 20, 20, 20]),
        (Rate::from_mbps(6.0), false),
        "a rise that ends is a burst of others"
    );
    assert_eq!(found(&[20, 21, 23, 26, 30, 35]), (Rate::from_mbps(1.0), true));
}

#[test]
fn it_jumps_to_a_free_rate_and_comes_down_by_the_length_of_a_train() {
    let mut f = flow(10, 40);
    let p = Params { initial: Rate::from_mbps(2.0), ..Params::default() };
    let mut cc = Rapid::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.learn(&f, &train(&[20; 10]));
    assert_eq!(cc.rate, Rate::from_mbps(10.0));
    // Ten packets of 1000 bytes at 10 Mbit/s last 8 ms of the 200: 4 % of the way from 10 to 4.
    cc.learn(&f, &train(&[20, 20, 20, 20, 21, 22, 23, 24, 25, 26]));
    assert_eq!((cc.free, cc.rate), (Rate::from_mbps(4.0), Rate::from_mbps(9.76)));
}
