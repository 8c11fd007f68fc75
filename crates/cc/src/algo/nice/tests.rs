use super::*;
use crate::testing::{ack, closing, flow, ms, packets};
use units::Rng;

/// A flow of so many bytes of window whose first RTT was 100 ms: the longest is taken for 200.
fn settled(cwnd: u64) -> (Nice, Flow) {
    let mut f = flow(10, 100);
    (f.cwnd, f.floor, f.ssthresh) = (Bytes::new(cwnd), f.mss.mul_f64(Nice::ABOUT.floor), packets(1));
    let mut cc = Nice::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    assert!(!cc.is_late(&ack(1, 100)));
    (cc, f)
}

/// The window in packets after a round of ten with so many late ones.
fn after_round(late: u64, rtt: u64) -> u64 {
    let (mut cc, mut f) = settled(10_000);
    (0..late).for_each(|_| cc.on_ack(&mut f, &ack(1, rtt)));
    (late..9).for_each(|_| cc.on_ack(&mut f, &ack(1, 105)));
    cc.on_ack(&mut f, &closing(1, 105));
    f.cwnd.get() / 1000
}

#[test]
fn six_late_packets_of_ten_halve() {
    // Reference, section 2.6: the limit is 110 ms; 6 > 5.
    assert_eq!([(5, 111), (6, 111), (6, 110)].map(|(n, rtt)| after_round(n, rtt)), [11, 5, 11]);
}

#[test]
fn halving_goes_on_to_a_forty_eighth_and_doubling_back_to_one() {
    let (mut cc, mut f) = settled(2_000);
    let windows = [150; 8].map(|rtt| {
        cc.on_ack(&mut f, &closing(2, rtt));
        f.cwnd.get()
    });
    assert_eq!(windows, [1000, 500, 250, 125, 62, 31, 20, 20]);
    let windows = [100; 8].map(|rtt| {
        cc.on_ack(&mut f, &closing(1, rtt));
        f.cwnd.get()
    });
    assert_eq!(windows, [40, 80, 160, 320, 640, 1000, 2000, 3000]);
}

#[test]
fn the_longest_wait_is_an_rtt_until_a_longer_one_was_seen() {
    let (mut cc, _) = settled(10_000);
    assert_eq!([110, 111, 400, 130, 131].map(|rtt| cc.is_late(&ack(1, rtt))), [false, true, true, false, true]);
    // The handshake's 90 ms, of packets that take no time, are no data's.
    let mut f = flow(10, 90);
    f.min_rtt = ms(0);
    let mut cc = Nice::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    f.min_rtt = ms(90);
    assert_eq!([100, 110].map(|rtt| cc.is_late(&ack(1, rtt))), [false, false]);
}
