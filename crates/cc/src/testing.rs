//! What the unit tests share: a flow and ACKs in packets of 1000 bytes and whole milliseconds.

use crate::{Ack, Congestion, EventRecord, Flow, Phase, Reaction, Round, Signal, build};
use std::vec::Vec;
use units::{Bytes, Duration, Rng};

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub fn packets(n: u64) -> Bytes {
    Bytes::new(1000 * n)
}

/// A flow with a window in packets and a known base RTT in ms.
pub fn flow(cwnd: u64, base: u64) -> Flow {
    let mut f = Flow::new(packets(1), packets(cwnd));
    (f.min_rtt, f.srtt, f.rtt) = (ms(base), ms(base), ms(base));
    f
}

/// An ACK of so many packets with an RTT sample in ms.
pub fn ack(n: u64, rtt: u64) -> Ack {
    Ack { cumulative: packets(n), delivered: packets(n), rtt: Some(ms(rtt)), ..Ack::default() }
}

/// The same, closing a round in which every sample was that RTT.
pub fn closing(n: u64, rtt: u64) -> Ack {
    let round =
        Round { min_rtt: ms(rtt), max_rtt: ms(rtt), marked_rtt: ms(rtt), samples: n as u32, ..Round::default() };
    Ack { round: Some(round), ..ack(n, rtt) }
}

/// Congestion of that kind in an open flow.
pub fn congestion(signal: Signal, flow: &Flow) -> Congestion {
    Congestion { signal, during: Phase::Open, lost: flow.mss, cwnd_before: flow.cwnd, restart: flow.mss }
}

/// Windows in packets at the end of each second after a loss at `cwnd`, with an RTT of 100 ms.
pub fn seconds_after_loss(spec: &str, cwnd: u64, seconds: usize) -> Vec<u64> {
    let mut f = flow(cwnd, 100);
    let mut cc = build(&spec.parse().unwrap(), &mut f, Rng::new(1, 0, 0)).unwrap();
    let c = congestion(Signal::Loss, &f);
    let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!("{spec} lets the host reduce") };
    // At the threshold FreeBSD's hosts go on with slow start.
    (f.cwnd, f.ssthresh) = (to, to - packets(1));
    let mut seen = Vec::new();
    for _ in 0..seconds {
        for _ in 0..10 {
            let window = f.cwnd.get() / f.mss.get();
            for _ in 0..window {
                f.now += ms(100) / window;
                cc.on_ack(&mut f, &ack(1, 100));
            }
        }
        seen.push(f.cwnd.get() / f.mss.get());
    }
    seen
}

/// The value of that name in an event.
#[track_caller]
pub fn value(event: &EventRecord, name: &str) -> i64 {
    let named = event.cause().unwrap().values();
    event.values[named.iter().position(|(n, _)| *n == name).expect(name)]
}
