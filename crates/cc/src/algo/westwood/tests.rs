use super::*;
use crate::Round;
use crate::testing::{ack, congestion, flow, ms, packets};
use units::{Instant, Rng};

/// Takes rounds of so many bytes in so many ms.
fn after(f: &mut Flow, rounds: &[(u64, u64)]) -> Westwood {
    let mut cc = Westwood::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true });
    for &(bytes, time) in rounds {
        let (delivered, end) = (Bytes::new(bytes), Instant::from_millis(time));
        cc.on_ack(f, &Ack { round: Some(Round { delivered, end, ..Round::default() }), ..ack(0, 100) });
    }
    cc
}

#[test]
fn a_loss_leaves_what_the_path_carries() {
    // Reference, section 5.2: 1.25 MB/s over 100 ms are 86 segments of 1448 bytes.
    let mut f = Flow::new(Bytes::new(1448), Bytes::new(200 * 1448));
    (f.min_rtt, f.srtt) = (ms(100), ms(150));
    let mut cc = after(&mut f, &[(187_500, 150)]);
    let c = congestion(Signal::Loss, &f);
    let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
    assert!(to.get().abs_diff(125_000) <= 1 && to.get() / 1448 == 86, "{to:?}");
    f.cwnd = Bytes::new(60 * 1448);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(f.cwnd), "a random loss costs nothing");
    assert_eq!(f.slow_start_to, to, "and slow start goes on to what the path carries");
    let c = congestion(Signal::Timeout, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(to));
}

#[test]
fn two_averages_in_a_row_and_samples_of_fifty_milliseconds() {
    let mut f = flow(10, 100);
    // 1 MB/s, then 2: an eighth of an eighth of the step.
    assert_eq!(after(&mut f, &[(100_000, 100), (200_000, 100)]).second.get(), Some(1_015_625.0));
    let cc = after(&mut f, &[(30_000, 30)]);
    assert_eq!((cc.second.get(), cc.acked), (None, packets(30)));
    let cc = after(&mut f, &[(30_000, 30), (30_000, 20)]);
    assert_eq!(cc.second.get(), Some(1_200_000.0));
}
