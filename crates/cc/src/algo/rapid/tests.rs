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
        .map(|(i, d)| Probe { rate: Rate::from_mbps(i as f64 + 1.0), delay: (*d > 0).then_some(*d * 1_000_000) })
        .collect()
}

#[test]
fn what_is_free_is_the_rate_before_delays_rise_for_good() {
    let found = |delays: &[i64]| judge(&train(delays), &Params::default(), packets(1));
    assert_eq!(found(&[20, 20, 20, 21, 22, 24, 27, 31]), (Rate::from_mbps(3.0), true));
    assert_eq!(found(&[20, 21, 23, 26, 30, 35]), (Rate::from_mbps(1.0), true));
    assert_eq!(found(&[20, 20, 20, 20, 20, 21, 22, 24]), (Rate::from_mbps(8.0), false), "three packets tell nothing");
    let gone = [20, 21, 22, 20, 20, 20, 20, 20, 20];
    assert_eq!(found(&gone), (Rate::from_mbps(9.0), false), "a rise that ends is a burst of others");
    let ripple = [20, 20, 23, 22, 25, 24, 27, 26, 29];
    assert_eq!(found(&ripple), (Rate::from_mbps(2.0), true), "it need not rise with every packet");
}

#[test]
fn nothing_is_free_from_the_first_packet_lost() {
    let found = |delays: &[i64]| judge(&train(delays), &Params::default(), packets(1));
    // A queue that is full cannot get longer.
    assert_eq!(found(&[40, 40, 40, 0, 40, 0, 40, 40]), (Rate::from_mbps(3.0), true));
    assert_eq!(found(&[40, 41, 42, 0, 42, 0, 42, 42]), (Rate::from_mbps(1.0), true), "nor while it filled");
    assert_eq!(found(&[0, 40, 40, 40]), (Rate::from_mbps(1.0), true));
}

#[test]
fn it_moves_towards_what_is_free_by_the_length_of_a_train() {
    let mut f = flow(10, 40);
    let p = Params { initial: Rate::from_mbps(2.0), ..Params::default() };
    let mut cc = Rapid::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    // Ten packets of 1000 bytes at 2 Mbit/s last 40 ms of the 200: a fifth of the way from 2 to 10.
    cc.learn(&f, &train(&[20; 10]));
    assert_eq!((cc.free, cc.rate), (Rate::from_mbps(10.0), Rate::from_mbps(3.6)));
    // 22.2 ms at 3.6 Mbit/s: a ninth of the way to 2.7.
    cc.learn(&f, &train(&[20, 20, 21, 22, 23, 24, 25, 26, 27, 28]));
    assert_eq!((cc.free, cc.rate), (Rate::from_mbps(2.0), Rate::from_bps(3_422_222)));
}

#[test]
fn a_free_path_is_filled_at_the_same_pace_whatever_its_rate() {
    // 30 packets go at R and the last one asks for 3.15 R: R grows by 2.15/τ, e-fold in 93 ms.
    for mbps in [10.0, 1000.0] {
        let mut f = flow(10, 40);
        let p = Params { initial: Rate::from_mbps(mbps), ..Params::default() };
        let mut cc = Rapid::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        let mut ms = 0.0;
        while cc.rate < Rate::from_mbps(mbps * core::f64::consts::E) {
            ms += (packets(30) / cc.rate).as_millis_f64();
            let probes = rates(cc.rate, 30, 1.07).map(|rate| Probe { rate, delay: Some(20_000_000) });
            cc.learn(&f, &probes.collect::<Vec<_>>());
        }
        assert!((88.0..115.0).contains(&ms), "{mbps} Mbit/s: {ms} ms");
    }
}

#[test]
fn a_rise_begins_with_the_least_step_that_counts() {
    // Steps of 1 ms, where 1000 bytes take 4 ms at 2 Mbit/s, 2.7 at 3 and 2 at 4.
    for (least, found) in [(0.25, 1.0), (0.3, 2.0), (0.5, 3.0), (0.51, 8.0)] {
        let p = Params { least, ..Params::default() };
        let (free, rose) = judge(&train(&[20, 21, 22, 23, 24, 25, 26, 27]), &p, packets(1));
        assert_eq!((free, rose), (Rate::from_mbps(found), found < 8.0), "{least}");
    }
}

#[test]
fn a_fast_link_shows_its_rate_by_steps_of_less_than_a_microsecond() {
    // A link of 10 Gbit/s, free until then, and a train around that rate: 1000 bytes take 800 ns.
    for gbps in [0.1, 1.0, 10.0] {
        let link = Rate::from_mbps(1000.0 * gbps);
        let (mut left, mut served) = (0, 0);
        let train: Vec<Probe> = rates(link, 30, 1.07)
            .map(|rate| {
                left += (packets(1) / rate).as_nanos() as i64;
                served = served.max(left) + (packets(1) / link).as_nanos() as i64;
                Probe { rate, delay: Some(served - left) }
            })
            .collect();
        let (free, rose) = judge(&train, &Params::default(), packets(1));
        assert!(rose && free <= link && free >= link.mul_f64(0.9), "{gbps} Gbit/s: {free:?}");
    }
}

#[test]
fn the_window_opens_to_what_the_rate_needs_and_comes_down_to_it_at_a_loss() {
    // 1 Mbit/s for 100 ms are 12.5 packets; twice that and a train of 30 are 55, at half the rate 42.5.
    for (cwnd, acked, window, lossy) in [(20, 5, 25_000, 25_000), (52, 5, 55_000, 42_500), (200, 5, 200_000, 42_500)] {
        let mut f = flow(cwnd, 100);
        let mut cc = Rapid::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        cc.open_window(&mut f, packets(acked));
        assert_eq!(f.cwnd, Bytes::new(window), "{cwnd}");
        let c = crate::testing::congestion(Signal::Loss, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Own);
        assert_eq!(f.cwnd, Bytes::new(lossy), "{cwnd}");
    }
}

#[test]
fn a_repair_without_end_is_answered_once_an_rtt() {
    let mut f = flow(100, 100);
    let mut cc = Rapid::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    let rates = [0, 60, 40, 100].map(|after| {
        f.now += Duration::from_millis(after);
        cc.on_ack(&mut f, &Ack { newly_lost: packets(1), ..Ack::default() });
        cc.rate.as_bps() / 1000
    });
    assert_eq!(rates, [500, 500, 250, 160], "no less than two packets in 100 ms");
}
