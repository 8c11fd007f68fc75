use super::*;
use crate::Signal;
use crate::testing::{ack, closing, congestion, flow, packets};
use units::{Bytes, Rng};

fn yeah(f: &mut Flow) -> Yeah {
    f.ssthresh = packets(2);
    Yeah::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
}

fn end_round(cc: &mut Yeah, f: &mut Flow, rtt: u64) {
    let mut ack = Ack { cumulative: Bytes::ZERO, ..closing(10, rtt) };
    ack.round.as_mut().unwrap().samples = 10;
    cc.on_ack(f, &ack);
}

fn loss(cc: &mut Yeah, f: &mut Flow) -> u64 {
    let c = congestion(Signal::Loss, f);
    let Reaction::Reduce(to) = cc.on_congestion(f, &c) else { panic!() };
    to.get() / 1000
}

#[test]
fn a_queue_is_emptied_and_a_loss_takes_what_was_queued() {
    // Reference, section 3.2: 400 packets at 130 over 100 ms, of which 92 queued; Reno's part 200.
    let mut f = flow(400, 100);
    let mut cc = yeah(&mut f);
    cc.reno = 200.0;
    end_round(&mut cc, &mut f, 130);
    assert_eq!((f.cwnd.get() / 1000, cc.queued as u64), (307, 92));
    assert_eq!(loss(&mut cc, &mut f), 215);
    // Not below Reno's part, and not by more than half.
    let mut f = flow(400, 100);
    let mut cc = yeah(&mut f);
    cc.reno = 350.0;
    end_round(&mut cc, &mut f, 300);
    assert_eq!(f.cwnd, packets(350));
}

#[test]
fn fast_rounds_grow_as_scalable_and_slow_ones_as_reno() {
    for (rtt, grown) in [(101, 10), (113, 1)] {
        let mut f = flow(1000, 100);
        let mut cc = yeah(&mut f);
        (cc.reno, cc.p.alpha) = (1000.0, 500.0);
        end_round(&mut cc, &mut f, rtt);
        (0..1001).for_each(|_| cc.on_ack(&mut f, &ack(1, rtt)));
        assert_eq!(f.cwnd.get() / 1000 - 1000, grown, "{rtt} ms");
    }
}

#[test]
fn sixteen_slow_rounds_make_a_loss_a_competitors() {
    for (slow, after) in [(15, 87), (16, 50)] {
        let mut f = flow(100, 100);
        let mut cc = yeah(&mut f);
        cc.slow_rounds = slow;
        assert_eq!(loss(&mut cc, &mut f), after);
    }
    let mut f = flow(100, 100);
    let mut cc = yeah(&mut f);
    cc.reno = 40.0;
    (0..51).for_each(|_| end_round(&mut cc, &mut f, 100));
    assert_eq!(cc.reno, 2.0, "forgotten after ζ fast rounds");
}

#[test]
fn slow_start_is_judged_too() {
    let mut f = flow(400, 100);
    let mut cc = yeah(&mut f);
    f.ssthresh = Bytes::MAX;
    end_round(&mut cc, &mut f, 130);
    assert_eq!((f.cwnd.get() / 1000, f.in_slow_start(), cc.queued as u64), (307, false, 92));
}

#[test]
fn the_threshold_is_the_window_that_emptying_the_queue_left() {
    let mut f = flow(400, 100);
    let mut cc = yeah(&mut f);
    end_round(&mut cc, &mut f, 130);
    assert_eq!((f.cwnd.get() / 1000, f.ssthresh), (307, f.cwnd));
}

#[test]
fn a_competitor_is_forgotten_after_fifty_one_fast_rounds_since_the_last_loss() {
    let mut f = flow(100, 100);
    let mut cc = yeah(&mut f);
    let mut forgotten = |cc: &mut Yeah| (1..=60).find(|_| (end_round(cc, &mut f, 100), cc.reno == 2.0).1);
    cc.reno = 40.0;
    assert_eq!(forgotten(&mut cc), Some(51));
    cc.reno = 40.0;
    (0..30).for_each(|_| end_round(&mut cc, &mut flow(100, 100), 100));
    assert_eq!((loss(&mut cc, &mut flow(100, 100)), cc.reno), (87, 20.0));
    assert_eq!(forgotten(&mut cc), Some(51));
}

#[test]
fn slow_rounds_give_reno_half_the_window_and_then_a_packet_each() {
    let mut f = flow(100, 100);
    let mut cc = yeah(&mut f);
    let renos = [120, 120, 100, 120].map(|rtt| (end_round(&mut cc, &mut f, rtt), (cc.reno, cc.slow_rounds)).1);
    assert_eq!(renos, [(50.0, 1), (51.0, 2), (51.0, 0), (52.0, 1)]);
}

#[test]
fn rounds_of_two_samples_and_windows_that_are_not_used_say_nothing() {
    for (samples, limited, rounds) in [(3, true, 1), (2, true, 0), (3, false, 0)] {
        let mut f = flow(100, 100);
        let mut cc = yeah(&mut f);
        f.cwnd_limited = limited;
        let mut last = closing(0, 130);
        last.round.as_mut().unwrap().samples = samples;
        cc.on_ack(&mut f, &last);
        assert_eq!(cc.slow_rounds, rounds, "{samples} {limited}");
    }
}
