use super::*;
use crate::Event;
use crate::testing::{ack, closing, congestion, flow, packets};
use units::Rng;

/// In avoidance, with RTTs from 100 to 200 ms behind it.
fn settled(f: &mut Flow, p: Params) -> Dual {
    f.ssthresh = packets(10);
    let mut cc = Dual::new(&p, Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.on_ack(f, &ack(0, 100));
    cc.on_ack(f, &ack(0, 200));
    cc
}

#[test]
fn above_half_way_an_eighth_goes_every_second_round() {
    // Reference, section 2.2: 160 ms is above (100 + 200)/2, so 32 → 28.
    let mut f = flow(32, 100);
    let mut cc = settled(&mut f, Params::default());
    let windows = [160, 160, 160, 150].map(|rtt| {
        cc.on_ack(&mut f, &closing(0, rtt));
        f.cwnd.get()
    });
    assert_eq!(windows, [28_000, 28_000, 24_500, 24_500]);
    let mut f = flow(32, 100);
    let mut cc = settled(&mut f, Params { delta: 0.75, ..Params::default() });
    cc.on_ack(&mut f, &closing(32, 160));
    assert_eq!(f.cwnd, packets(33), "below 175 ms one packet more a round");
}

#[test]
fn a_timeout_forgets_the_extremes_and_a_loss_does_not() {
    for (signal, threshold) in [(Signal::Loss, 150.0), (Signal::Timeout, 0.0)] {
        let mut f = flow(32, 100);
        let mut cc = settled(&mut f, Params::default());
        let c = congestion(signal, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(16)));
        assert_eq!(cc.threshold().map_or(0.0, Duration::as_millis_f64), threshold);
    }
}

#[test]
fn a_timeout_within_a_recovery_forgets_the_extremes_too() {
    let mut f = flow(32, 100);
    let mut cc = settled(&mut f, Params::default());
    cc.on_event(&mut f, Event::Timeout);
    assert_eq!(cc.threshold(), None);
}
