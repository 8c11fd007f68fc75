use super::*;
use crate::Signal;
use crate::testing::{ack, congestion, flow, ms, packets};
use units::Rng;

/// In avoidance, with two samples heard so that the third is Veno's.
fn veno(f: &mut Flow) -> Veno {
    f.ssthresh = packets(2);
    let mut cc = Veno::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true });
    (cc.samples, cc.base) = (2, 100_001);
    cc
}

/// What a loss leaves of a window, in packets, with the last RTT in ms over 100 ms.
fn after_loss(cwnd: u64, rtt: u64) -> u64 {
    let mut f = flow(cwnd, 100);
    let mut cc = veno(&mut f);
    cc.on_ack(&mut f, &ack(1, rtt));
    let c = congestion(Signal::Loss, &f);
    let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
    to.get() / 1000
}

#[test]
fn a_loss_with_fewer_than_three_packets_queued_takes_a_fifth() {
    // N = 60·(RTT − 100)/RTT: 2.31 packets at 104 ms and 2.86 at 105, which is three, since the module rounds what would be
    // out without a queue down to halves: 57 of 60.
    assert_eq!([(60, 104), (60, 105), (60, 200)].map(|(w, rtt)| after_loss(w, rtt)), [48, 30, 30]);
    // Two at the least, and whole packets: 4/5 of 11 are 8.
    assert_eq!([(11, 100), (2, 100), (3, 400)].map(|(w, rtt)| after_loss(w, rtt)), [8, 2, 2]);
}

/// Packets gained in so many windows acknowledged one by one at that RTT.
fn gained(rtt: u64, windows: u64) -> u64 {
    let mut f = flow(20, 100);
    let mut cc = veno(&mut f);
    for _ in 0..20 * windows {
        cc.on_ack(&mut f, &ack(1, rtt));
    }
    f.cwnd.get() / 1000 - 20
}

#[test]
fn a_queue_of_three_packets_halves_the_growth() {
    // 180 ACKs are windows of 20 to 26 packets and a part of the next. With a queue, 2.61 packets of 20 at 115 ms, taken for
    // three, those of 20, 21, 22 and 23 packets grow and as many do not.
    assert_eq!(([100, 115].map(|rtt| gained(rtt, 9))), [7, 4]);
}

#[test]
fn every_other_window_grows_and_the_ack_that_finds_it_full_is_not_counted() {
    let mut f = flow(20, 100);
    let mut cc = veno(&mut f);
    let grown: std::vec::Vec<u64> = (1..=112)
        .filter(|_| {
            let before = f.cwnd;
            cc.on_ack(&mut f, &ack(1, 200));
            f.cwnd > before
        })
        .collect();
    // 20 counted, the 21st grows; 21 counted and one that does not grow, 21 more and one that does; and so with 22.
    assert_eq!(grown, [21, 65, 111]);
}

#[test]
fn the_last_ack_decides_and_one_without_a_sample_tells_of_a_long_queue() {
    let mut f = flow(60, 100);
    let mut cc = veno(&mut f);
    let queued = [Some(100), Some(200), Some(100), None].map(|rtt: Option<u64>| {
        cc.on_ack(&mut f, &Ack { rtt: rtt.map(ms), ..ack(1, 1) });
        cc.queued
    });
    assert_eq!(queued, [0, 60, 0, 120]);
}

#[test]
fn it_is_reno_for_two_samples_and_from_a_loss_to_the_end_of_the_repair() {
    let mut f = flow(60, 100);
    let mut cc = veno(&mut f);
    cc.samples = 0;
    let queued = [200, 200, 200].map(|rtt| (cc.on_ack(&mut f, &ack(1, rtt)), cc.queued).1);
    assert_eq!(queued, [0, 0, 60]);
    let c = congestion(Signal::Loss, &f);
    cc.on_congestion(&mut f, &c);
    cc.on_ack(&mut f, &ack(1, 100));
    assert_eq!((cc.on, cc.queued), (false, 60));
    cc.on_event(&mut f, Event::RecoveryEnd);
    cc.on_ack(&mut f, &ack(1, 100));
    assert_eq!((cc.on, cc.queued, cc.base), (true, 0, 100_001));
}

#[test]
fn the_base_rtt_is_forgotten_when_nothing_is_outstanding_after_a_timeout_too() {
    let mut f = flow(60, 100);
    let mut cc = veno(&mut f);
    let send = |cc: &mut Veno, f: &mut Flow, out| {
        cc.on_sent(f, &Sent { size: packets(1), in_flight: packets(out), retransmission: false })
    };
    send(&mut cc, &mut f, 2);
    assert_eq!(cc.base, 100_001);
    let c = congestion(Signal::Timeout, &f);
    cc.on_congestion(&mut f, &c);
    send(&mut cc, &mut f, 1);
    assert_eq!((cc.base, cc.on), (NONE, true));
    cc.on_ack(&mut f, &ack(1, 200));
    assert_eq!((cc.base, cc.queued), (200_001, 0));
}
