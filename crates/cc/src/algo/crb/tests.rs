use super::*;
use crate::Signal;
use crate::testing::{ack, congestion, flow, packets};
use units::{Instant, Rng};

/// Bunches of ten ACKs 1 ms apart, every `gap` ms, over a base RTT of 100 ms; then a loss at that window.
fn after_loss(gap: u64, cwnd: u64) -> u64 {
    let mut f = flow(cwnd, 100);
    let mut cc = Crb::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    for n in 0..1000 {
        f.now = Instant::from_millis(n / 10 * gap + n % 10);
        f.cwnd = packets(cwnd);
        cc.on_ack(&mut f, &ack(1, 100));
    }
    f.cwnd = packets(cwnd);
    let c = congestion(Signal::Loss, &f);
    let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
    (to.get() + 500) / 1000
}

#[test]
fn a_window_beyond_the_threshold_comes_down_to_the_achieved_rate() {
    // 10 packets in 20 ms: 50 in a round trip. 71 are more than 1.4 times that.
    assert_eq!(after_loss(20, 71), 50);
    assert_eq!(after_loss(20, 100), 50);
}

#[test]
fn below_the_threshold_the_bandwidth_of_the_acks_counts() {
    // The bunches come at twice the achieved rate, and the filter takes the middle of two samples for the time
    // between them: 73 packets in a round trip, so a window of 69 stays.
    assert_eq!(after_loss(20, 69), 69);
    // Without bunches both estimates are one.
    assert_eq!([after_loss(10, 120), after_loss(10, 150)], [100, 100]);
}
