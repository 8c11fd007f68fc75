use super::*;
use crate::testing::{closing, flow, ms, packets};
use units::Rng;

fn settled(f: &mut Flow) -> Lola {
    f.ssthresh = packets(10);
    Lola::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

#[test]
fn the_fair_amount_and_a_decrease_that_empties_the_queue() {
    // Reference, section 2.11: X(1 s) = 23,324 B (23,323.6); 100 packets at 40 over 20 ms → 47.5, K = 5.08 s.
    let mut f = flow(100, 20);
    let mut cc = settled(&mut f);
    assert_eq!(cc.fair(ms(1000)), Bytes::new(23_323));
    cc.rtt = ms(40);
    let to = cc.tailored_decrease(&f).packets(f.mss);
    assert!((to - 47.5).abs() < 0.02 && (cc.k - 5.08).abs() < 0.005, "{to} {}", cc.k);
    let back = cc.cubic(Duration::ZERO, f.mss).packets(f.mss);
    assert!((back - to).abs() < 0.01, "the cubic starts where the decrease ends: {back}");
}

#[test]
fn fair_then_hold_then_decrease() {
    let mut f = flow(100, 20);
    let mut cc = settled(&mut f);
    (cc.w_max, cc.k) = (100.0, 0.0);
    let mut windows = std::vec::Vec::new();
    for (now, rtt) in [(1, 26), (100, 41), (300, 41), (350, 41)] {
        f.now = Instant::from_millis(now);
        cc.on_ack(&mut f, &closing(0, rtt));
        windows.push((f.cwnd.get() / 1000, matches!(cc.state, State::Hold(_))));
    }
    assert_eq!(windows, [(100, false), (100, true), (100, true), (46, false)]);
}
