use super::*;
use crate::testing::{ack, flow, ms};
use units::Rng;

#[test]
fn four_hops_of_two_megabits() {
    // Reference, section 5.6: 31.5 ms, and 22.7 packets a second at a variation of 0.2.
    let fhd = four_hop_delay(ms(40), 4, Bytes::new(1500), Bytes::new(60), Rate::from_mbps(2.0));
    assert!((fhd - 0.03152).abs() < 1e-9, "{fhd}");
    assert!((pace(fhd, 0.2) - 22.66).abs() < 0.01);
    let no_queue = four_hop_delay(ms(10), 4, Bytes::new(1500), Bytes::new(60), Rate::from_mbps(2.0));
    assert!((no_queue - 0.024).abs() < 1e-12, "four transmissions at least");
    // One hop of three: ½·(39/3 − 6.24) + 6 ms.
    let three = four_hop_delay(ms(39), 3, Bytes::new(1500), Bytes::new(60), Rate::from_mbps(2.0));
    assert!((three - 0.00938).abs() < 1e-12, "{three}");
}

#[test]
fn rtts_that_vary_slow_it_down() {
    let paced = |rtts: [u64; 2]| {
        let mut f = flow(10, 40);
        let mut cc = TcpAp::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        (0..50).for_each(|n| cc.on_ack(&mut f, &ack(1, rtts[n % 2])));
        (variation(&cc.rtts), f.pacing.unwrap().as_bps())
    };
    let (steady, jumpy) = (paced([40, 40]), paced([32, 48]));
    assert!(steady.0 < 1e-9);
    assert!((jumpy.0 - 0.2).abs() < 1e-9);
    assert!(jumpy.1 < steady.1 * 8 / 10, "{steady:?} and {jumpy:?}");
}
