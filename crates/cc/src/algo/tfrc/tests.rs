use super::*;
use crate::RateSample;
use crate::testing::{ack, congestion, flow, ms, packets};
use units::Rng;

#[test]
fn the_equation_is_renos_law_and_less_where_timeouts_come() {
    // √(3/2) = 1.22 packets over √p per RTT, and at one per cent 11.2 of them; RFC 5348's own form.
    assert!((equation(1.0, 1.0, 1e-6) * 1e-3 - 1.2247).abs() < 1e-3);
    assert!((equation(1.0, 1.0, 0.01) - 11.2).abs() < 0.05, "{}", equation(1.0, 1.0, 0.01));
    assert!((equation(1000.0, 0.1, 0.1) / 10_000.0 - 1.75).abs() < 0.05, "{}", equation(1000.0, 0.1, 0.1));
    for p in [1e-5, 1e-3, 0.1] {
        assert!((inverse(1000.0, 0.1, equation(1000.0, 0.1, p)) / p - 1.0).abs() < 0.002);
    }
}

fn tfrc(f: &mut Flow) -> Tfrc {
    let mut cc = Tfrc::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.on_ack(f, &ack(0, 100));
    cc
}

/// A round of 100 ms that delivered so many packets.
fn round(cc: &mut Tfrc, f: &mut Flow, n: u64) -> f64 {
    f.now += ms(100);
    cc.on_ack(f, &ack(n, 100));
    cc.rate / 10_000.0
}

#[test]
fn it_doubles_while_that_arrives_and_the_first_loss_halves_what_did() {
    let mut f = flow(10, 100);
    let mut cc = tfrc(&mut f);
    // In packets per RTT.
    assert_eq!([10, 20, 40].map(|n| round(&mut cc, &mut f, n)), [20.0, 40.0, 80.0]);
    assert_eq!(round(&mut cc, &mut f, 50), 100.0, "no more than twice what arrives");
    let lost = Lost { size: f.mss, sent_at: f.now, tx_in_flight: f.cwnd, lost: f.mss, app_limited: false };
    cc.on_lost(&mut f, &lost);
    assert!((cc.rate / 10_000.0 - 25.0).abs() < 0.1, "{}", cc.rate / 10_000.0);
}

#[test]
fn little_to_send_does_not_bring_slow_start_below_where_it_began() {
    let mut f = flow(10, 100);
    let mut cc = tfrc(&mut f);
    assert_eq!([1, 1, 1, 10].map(|n| round(&mut cc, &mut f, n)), [10.0, 10.0, 10.0, 20.0]);
}

#[test]
fn what_arrives_bounds_nothing_where_there_was_too_little_to_send() {
    // Section 4.3, packets per RTT: rates of two rounds before, what arrives, with enough to send or not, after a loss.
    for (before, arrives, data_limited, lost, limit, kept) in [
        ([40.0, 20.0], 10.0, false, false, 80.0, [10.0, 40.0]),
        ([10.0, 40.0], 10.0, false, false, 20.0, [10.0, 10.0]),
        ([20.0, 40.0], 10.0, true, false, 80.0, [40.0, 0.0]),
        ([20.0, 40.0], 50.0, true, false, 100.0, [50.0, 0.0]),
        ([20.0, 40.0], 10.0, true, true, 20.0, [20.0, 0.0]),
        ([20.0, 40.0], 40.0, true, true, 34.0, [34.0, 0.0]),
    ] {
        let mut f = flow(10, 100);
        let mut cc = tfrc(&mut f);
        cc.received = before;
        let got = cc.limit(arrives, data_limited, lost);
        assert_eq!((got, cc.received), (limit, kept), "{before:?}, {arrives}, {data_limited}, {lost}");
    }
}

#[test]
fn a_round_has_too_little_to_send_only_if_every_segment_had() {
    let sample = |app_limited| RateSample {
        delivered: packets(1),
        prior_delivered: Bytes::ZERO,
        interval: ms(100),
        tx_in_flight: packets(1),
        lost: Bytes::ZERO,
        app_limited,
    };
    // 40 packets in the round before, 5 in this one, by two ACKs: what is remembered.
    for (first, last) in [(true, true), (true, false), (false, true)] {
        let mut f = flow(10, 100);
        let mut cc = tfrc(&mut f);
        round(&mut cc, &mut f, 40);
        cc.on_ack(&mut f, &Ack { rate: Some(sample(first)), ..ack(2, 100) });
        f.now += ms(100);
        cc.on_ack(&mut f, &Ack { rate: Some(sample(last)), ..ack(3, 100) });
        let kept = if first && last { [40.0, 0.0] } else { [5.0, 40.0] };
        assert_eq!(cc.received.map(|rate| (rate / 10_000.0).round()), kept, "{first}, {last}");
    }
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    let mut f = flow(10, 100);
    let mut cc = tfrc(&mut f);
    round(&mut cc, &mut f, 10);
    let mut lose = |at: u64| {
        let lost = Lost {
            size: f.mss,
            sent_at: Instant::from_millis(at),
            tx_in_flight: f.cwnd,
            lost: f.mss,
            app_limited: false,
        };
        cc.on_lost(&mut f, &lost);
        cc.event_at
    };
    let at = |ms: u64| Some(Instant::from_millis(ms));
    assert_eq!([200, 250, 300, 301].map(&mut lose), [at(200), at(200), at(200), at(301)]);
}

#[test]
fn a_growing_queue_slows_it_before_the_next_report() {
    let mut f = flow(10, 100);
    let cc = tfrc(&mut f);
    let before = f.pacing.unwrap();
    f.rtt = ms(400);
    cc.pace(&mut f);
    assert_eq!(f.pacing.unwrap().as_bps() * 2, before.as_bps());
}

#[test]
fn undamped_it_paces_at_its_rate() {
    let mut f = flow(10, 100);
    let p = Params { damping: false };
    let mut cc = Tfrc::new(&p, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
    cc.on_ack(&mut f, &ack(0, 100));
    f.rtt = ms(400);
    cc.pace(&mut f);
    assert_eq!(f.pacing, Some(Rate::from_bps(800_000)), "10 packets of 1000 bytes in 100 ms");
}

#[test]
fn a_report_comes_once_a_round_trip_of_time_or_with_each_ack_where_they_are_rarer() {
    let mut f = flow(10, 100);
    let mut cc = tfrc(&mut f);
    // Packets a second, reported so far: 4 in 100 ms, then one in 400 ms, of which no round of sequence numbers is told.
    let reported = [(50, 2), (50, 2), (50, 2), (400, 1)].map(|(after, n)| {
        f.now += ms(after);
        cc.on_ack(&mut f, &ack(n, 100));
        cc.received[0] / 1000.0
    });
    assert_eq!(reported[..3], [0.0, 40.0, 40.0]);
    assert!((reported[3] - 3.0 / 0.45).abs() < 1e-9, "{}", reported[3]);
}

#[test]
fn a_report_smooths_the_newest_rtt_and_the_acks_before_it_do_not() {
    let mut f = flow(10, 100);
    let mut cc = tfrc(&mut f);
    // In ms, and √ms: the first sample whole, then a tenth of each report's.
    let seen = [(20, 400), (30, 900), (50, 225), (50, 900)].map(|(after, rtt)| {
        f.now += ms(after);
        cc.on_ack(&mut f, &ack(2, rtt));
        (cc.rtt() * 1e3, cc.root.get().unwrap() * math::sqrt(1000.0))
    });
    let expected = [(100.0, 10.0), (100.0, 10.0), (112.5, 10.5), (112.5, 10.5)];
    for (got, expected) in seen.into_iter().zip(expected) {
        assert!((got.0 - expected.0).abs() < 1e-9 && (got.1 - expected.1).abs() < 1e-9, "{seen:?}");
    }
}

#[test]
fn silence_halves_the_rate_and_after_a_loss_what_is_taken_for_arriving() {
    // Rates of 10 and 2 packets a second: two of the latter may be a second apart.
    for (lossy, rate, silence, halved) in [(false, 10.0, 1000, true), (true, 10.0, 1000, true), (true, 2.0, 900, false)]
    {
        let mut f = flow(10, 100);
        let mut cc = tfrc(&mut f);
        if lossy {
            cc.intervals.begin_with(50.0);
        }
        (cc.rate, cc.received) = (rate * 1000.0, [80_000.0, 80_000.0]);
        f.now += ms(silence);
        let c = congestion(Signal::Timeout, &f);
        cc.on_congestion(&mut f, &c);
        let now = if halved { rate / 2.0 } else { rate };
        let received = if halved && lossy { [now * 500.0, 0.0] } else { [80_000.0, 80_000.0] };
        assert_eq!((cc.rate, cc.received), (now * 1000.0, received), "{lossy} {rate}");
        // The next timeout comes too early: two packets at the new rate take longer.
        f.now += ms(50);
        cc.on_congestion(&mut f, &c);
        assert_eq!(cc.rate, now * 1000.0, "{lossy} {rate}");
    }
}

#[test]
fn a_mark_is_an_event_of_the_time_its_packet_was_sent() {
    let mut f = flow(10, 100);
    let mut cc = tfrc(&mut f);
    f.now = Instant::from_millis(500);
    cc.on_ack(&mut f, &Ack { sent_at: Instant::from_millis(400), ..ack(1, 100) });
    let c = congestion(Signal::Ecn, &f);
    cc.on_congestion(&mut f, &c);
    assert_eq!(cc.event_at, Some(Instant::from_millis(400)));
}
