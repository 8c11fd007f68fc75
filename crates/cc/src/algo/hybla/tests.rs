use super::*;
use crate::testing::{ack, congestion, flow, ms, packets};
use crate::{CauseKind, Signal, build};
use std::boxed::Box;
use std::vec::Vec;
use units::{Bytes, Rng};

fn hybla(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
    build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
}

fn first(cc: &mut dyn CongestionControl, f: &mut Flow) {
    cc.on_sent(f, &Sent { size: packets(1), in_flight: packets(1), retransmission: false });
}

fn window(f: &Flow) -> u64 {
    f.cwnd.get() / 1000
}

/// Windows at the start and after each round of slow start, of one ACK a packet.
fn rounds(spec: &str, rtt: u64, rounds: usize) -> Vec<u64> {
    let mut f = flow(10, rtt);
    let mut cc = hybla(spec, &mut f);
    first(&mut *cc, &mut f);
    let mut windows = Vec::from([window(&f)]);
    for _ in 0..rounds {
        for _ in 0..window(&f) {
            cc.on_ack(&mut f, &ack(1, rtt));
        }
        windows.push(window(&f));
    }
    windows
}

#[test]
fn slow_start_takes_the_window_through_rho_times_two_to_the_t_over_rtt0() {
    // 100 ms over 50: ρ = 2, and 2·4^n. Over 25 ms ρ is 4, and 4·16^n.
    assert_eq!(rounds("hybla(rtt0=50ms)", 100, 3), [2, 8, 32, 128]);
    assert_eq!(rounds("hybla", 100, 2), [4, 64, 1024]);
    // As Reno's: 1, 2, 4.
    assert_eq!(rounds("hybla", 25, 3), [1, 2, 4, 8]);
    assert_eq!(rounds("hybla", 10, 3), [1, 2, 4, 8]);
    // 37.5 ms, ρ = 1.5: 2·181/128 − 1 = 1.83 an ACK: the first leaves 106 of 128, the second makes 212 of them.
    let mut f = flow(10, 25);
    f.srtt = Duration::from_micros(37_500);
    let mut cc = hybla("hybla", &mut f);
    first(&mut *cc, &mut f);
    let windows = [(); 4].map(|()| (cc.on_ack(&mut f, &ack(1, 38)), window(&f)).1);
    assert_eq!(windows, [2, 4, 6, 8]);
}

#[test]
fn a_round_of_avoidance_adds_rho_squared_packets() {
    let gained = |rtt, cwnd| {
        let mut f = flow(cwnd, rtt);
        let mut cc = hybla("hybla", &mut f);
        first(&mut *cc, &mut f);
        (f.cwnd, f.ssthresh) = (packets(cwnd), packets(2));
        (0..cwnd).for_each(|_| cc.on_ack(&mut f, &ack(1, rtt)));
        window(&f) - cwnd
    };
    // 16 at 100 ms: 2·32² = 2048 over 1000 are two 128ths, and 1000 of those 15.6 packets. 64 at 200 ms, 4 at 50.
    assert_eq!([(100, 1000), (200, 4000), (50, 32)].map(|(rtt, w)| gained(rtt, w)), [15, 62, 3]);
    // From 1025 packets on a 128th an ACK, where 1.99 are cut to one.
    assert_eq!(gained(100, 1030), 8);
    // ρ = 1: a 128th an ACK between 65 and 128 packets; 129 of a window that gains nothing.
    assert_eq!([32, 64, 65, 100, 128].map(|w| gained(25, w)), [1, 1, 0, 0, 1]);
    assert_eq!([129, 1000].map(|w| gained(25, w)), [1, 1]);
}

#[test]
fn acks_count_and_not_what_they_cover() {
    for per in [1, 2, 10] {
        let mut f = flow(100, 25);
        f.ssthresh = packets(200);
        let mut cc = hybla("hybla(rtt0=10ms)", &mut f);
        cc.on_ack(&mut f, &ack(per, 25));
        // ρ = 2.5: 4·181 − 128 = 596 128ths.
        assert_eq!(window(&f), 104, "{per}");
    }
}

#[test]
fn slow_start_ends_at_the_threshold_and_windows_at_65535_packets() {
    let mut f = flow(100, 200);
    f.ssthresh = packets(150);
    let mut cc = hybla("hybla", &mut f);
    cc.on_ack(&mut f, &ack(1, 200));
    assert_eq!(window(&f), 150);
    let mut f = flow(100, 3000);
    let mut cc = hybla("hybla", &mut f);
    cc.on_ack(&mut f, &ack(1, 3000));
    assert_eq!(window(&f), 65_535, "2^16 − 1 packets for an ACK, and no more than the clamp");
}

#[test]
fn rho_follows_the_smoothed_rtt_down_and_not_up() {
    let mut f = flow(10, 100);
    let mut cc = Hybla::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    first(&mut cc, &mut f);
    let rhos = [200, 90, 95, 50, 20].map(|srtt| {
        f.srtt = ms(srtt);
        cc.on_ack(&mut f, &ack(1, srtt));
        cc.gain.rho
    });
    // 28.8 eighths at 90 ms.
    assert_eq!(rhos, [32, 28, 28, 16, 8]);
}

#[test]
fn the_first_window_is_rho_and_another_slow_start_keeps_the_stacks() {
    let begins = |spec, srtt| {
        let mut f = flow(10, 100);
        f.srtt = ms(srtt);
        let mut cc = hybla(spec, &mut f);
        first(&mut *cc, &mut f);
        let told = f.drain_events().next().and_then(|e| e.cause());
        (window(&f), told == Some(CauseKind::SlowStartPace))
    };
    assert_eq!(begins("hybla", 200), (8, true));
    assert_eq!(begins("hybla", 550), (22, true));
    assert_eq!(begins("hybla", 0), (10, false));
    assert_eq!(begins("hybla(slow_start=standard)", 200), (10, false));
}

#[test]
fn it_halves_and_is_reno_while_a_timeout_is_repaired() {
    for (cwnd, to) in [(101, 50), (1, 2)] {
        let mut f = flow(cwnd, 100);
        let mut cc = hybla("hybla", &mut f);
        let c = congestion(Signal::Loss, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(to)));
    }
    let mut f = flow(1, 100);
    (f.phase, f.ssthresh) = (Phase::Loss, Bytes::MAX);
    let mut cc = hybla("hybla", &mut f);
    cc.on_ack(&mut f, &ack(1, 100));
    assert_eq!(window(&f), 2);
}
