use super::*;
use crate::Signal;
use crate::testing::{ack, congestion, flow, ms, packets};
use units::Rng;

/// A flow of 20 packets over 40 ms that saw one-way delays of 10 and 110 ms, and a loss.
fn settled() -> (TcpLp, Flow) {
    let mut f = flow(20, 40);
    (f.ssthresh, f.floor) = (packets(2), packets(1));
    let p = Params { gain: 1.0, ..Params::default() };
    let mut cc = TcpLp::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    for delay in [110, 10] {
        cc.measure(f.now, ms(delay), 1);
    }
    cc.has_lost = true;
    (cc, f)
}

/// The window in packets after an ACK of none at that time and one-way delay.
fn hear(cc: &mut TcpLp, f: &mut Flow, now: u64, delay: u64) -> u64 {
    f.now = Instant::from_millis(now);
    cc.on_ack(f, &Ack { one_way: Some(ms(delay)), ..ack(0, 40) });
    f.cwnd.get() / 1000
}

#[test]
fn half_at_the_first_sign_and_one_at_the_second() {
    // Reference, section 2.7: the limit is 25 ms; 30 ms: 20 → 10, an RTT later 1.
    let (mut cc, mut f) = settled();
    assert_eq!(hear(&mut cc, &mut f, 1000, 25), 20);
    assert_eq!(hear(&mut cc, &mut f, 1001, 30), 10);
    assert_eq!(hear(&mut cc, &mut f, 1030, 30), 10, "what was under way");
    assert_eq!(hear(&mut cc, &mut f, 1041, 30), 1);
    // After the inference time it is a first sign again.
    let (mut cc, mut f) = settled();
    assert_eq!([1001, 1122].map(|now| hear(&mut cc, &mut f, now, 30)), [10, 5]);
}

#[test]
fn it_watches_for_three_round_trips() {
    let (mut cc, mut f) = settled();
    hear(&mut cc, &mut f, 1000, 30);
    for (now, grown) in [(1119, 10), (1120, 11)] {
        f.now = Instant::from_millis(now);
        cc.on_ack(&mut f, &Ack { one_way: Some(ms(10)), ..ack(10, 40) });
        assert_eq!(f.cwnd, packets(grown));
    }
}

#[test]
fn the_average_moves_by_an_eighth() {
    let mut f = flow(20, 40);
    let mut cc = TcpLp::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    assert_eq!(cc.measure(f.now, ms(10), 1), None);
    // 80 ms more: 10 of smoothed wait, under 15 per cent of 80; then 18.75.
    assert_eq!(cc.measure(f.now, ms(90), 1), None);
    assert_eq!(cc.measure(f.now, ms(90), 1), Some(Duration::from_micros(18_750)));
    // An ACK of two packets is two samples.
    let mut cc = TcpLp::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.measure(f.now, ms(10), 1);
    assert_eq!(cc.measure(f.now, ms(90), 2), Some(Duration::from_micros(18_750)));
}

#[test]
fn a_clock_that_runs_fast_leaves_the_range_as_it_is() {
    // 100 ppm: 6 ms a minute, for an hour. Queues of up to 40 ms, as in the first minute.
    let mut f = flow(20, 40);
    let mut cc = TcpLp::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    for minute in 0..60u64 {
        for queue in [0, 40] {
            cc.measure(Instant::from_millis(60_000 * minute), ms(1000 - 6 * minute + queue), 1);
        }
    }
    assert_eq!(cc.range, ms(40));
}

#[test]
fn a_loss_halves_and_signs_count_from_the_first_one_on() {
    // A slow start of another kind has set a threshold, and what the buffer holds is not known.
    let (mut cc, mut f) = settled();
    cc.has_lost = false;
    assert_eq!(hear(&mut cc, &mut f, 1000, 30), 20);
    let c = congestion(Signal::Loss, &f);
    assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(10)));
    assert_eq!(hear(&mut cc, &mut f, 1001, 30), 10);
}

#[test]
fn what_is_below_a_tick_is_no_sign() {
    // Behind two milliseconds of buffer δ is 0.3 ms, and the phase of the clocks makes half a tick of any delay.
    let mut f = flow(20, 40);
    let p = Params { gain: 1.0, ..Params::default() };
    let mut cc = TcpLp::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    for (us, sign) in [(10_000, false), (12_000, true), (10_500, false), (11_000, false), (11_500, true)] {
        assert_eq!(cc.measure(f.now, Duration::from_micros(us), 1).is_some(), sign, "{us}");
    }
}

#[test]
fn the_smallest_delay_may_be_forgotten() {
    let mut f = flow(20, 40);
    let mut cc = TcpLp::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    for minute in 0..12u64 {
        cc.measure(Instant::from_millis(60_000 * minute), ms(if minute == 0 { 10 } else { 20 }), 1);
    }
    assert_eq!((cc.smallest.get(), cc.range), (Some(ms(20)), ms(10)));
}
