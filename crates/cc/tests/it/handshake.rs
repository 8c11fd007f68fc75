//! The handshake's RTT is the host's to know: a SYN is a small packet, and no measure for the queues that data meets.

use cc::{Ack, Congestion, Flow, Phase, Reaction, Round, Signal};
use units::{Bytes, Duration, Instant, Rng, streams};

/// Windows after each of 60 rounds of 20 packets, whose RTT climbs from 40 to 59 ms and falls back thrice, with a loss each
/// time, on a flow whose handshake took so long.
fn windows(spec: &str, handshake: u64) -> Vec<u64> {
    let (mss, ms) = (Bytes::new(1000), Duration::from_millis);
    let mut f = Flow::new(mss, mss * 100);
    let mut cc = cc::build(&spec.parse().unwrap(), &mut f, Rng::new(1, 0, streams::CC)).unwrap();
    (f.ssthresh, f.max_rtt, f.now) = (mss * 50, ms(59), Instant::from_millis(100));
    (f.min_rtt, f.rtt, f.srtt) = (ms(handshake), ms(handshake), ms(handshake));
    let mut windows = Vec::new();
    for number in 0..60u64 {
        let (rtt, start) = (ms(40 + number % 20), f.now);
        (f.rtt, f.srtt, f.in_flight) = (rtt, rtt, f.cwnd);
        for n in 1..=20 {
            f.now = start + rtt * n / 20;
            f.delivered += mss;
            f.acked_to += mss.get();
            let (cumulative, sent_at) = (mss, start + rtt * (n - 1) / 20);
            let mut ack = Ack { cumulative, delivered: cumulative, rtt: Some(rtt), sent_at, ..Ack::default() };
            if n == 20 {
                let (delivered, cwnd, samples) = (mss * 20, f.cwnd, 20);
                ack.round = Some(Round {
                    number: number + 1,
                    end: f.now,
                    min_rtt: rtt,
                    max_rtt: rtt,
                    start,
                    samples,
                    delivered,
                    cwnd,
                    ..Round::default()
                });
            }
            cc.on_ack(&mut f, &ack);
        }
        if number % 20 == 19 {
            let (signal, during, restart) = (Signal::Loss, Phase::Open, mss);
            let loss = Congestion { signal, during, lost: mss, cwnd_before: f.cwnd, restart };
            if let Reaction::Reduce(to) = cc.on_congestion(&mut f, &loss) {
                (f.cwnd, f.ssthresh) = (to.max(f.floor), to.max(f.floor));
            }
        }
        windows.push(f.cwnd.get());
    }
    windows
}

#[test]
fn who_measures_the_queues_that_data_meets_does_not_count_the_handshake() {
    for spec in [
        "hd(p_max=1)",
        "cx_tcp(p_max=1)",
        "yeah(alpha=5)",
        "westwood",
        "westwood_be",
        "crb",
        "africa",
        "compound(gamma=5, low_window=2)",
        "fast(alpha=20)",
        "libra",
    ] {
        let as_data = windows(spec, 40);
        assert_eq!(windows(spec, 30), as_data, "{spec}");
        assert_eq!(windows(spec, 59), as_data, "{spec}");
    }
}
