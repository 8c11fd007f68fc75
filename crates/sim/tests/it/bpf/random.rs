//! Calls that no path would make: delays that leap, rounds of one ACK, losses on losses, idle hosts.

use super::compare::{Apart, Both};
use super::words::{ACK, CONGESTION, INIT, NOTICE, WAKE, Words};
use cc::{Ack, Phase, Round};
use units::{Bytes, Duration, Instant, Rng};

/// A 64th of a millisecond in ns. Delays that are multiples of it have milliseconds that a float holds exactly, and so
/// have their sums: the Rust's averages are zero when they should be.
pub const EXACT: u64 = 15_625;

/// Plays as many rounds of calls to both; the host does as they answer. Delays are multiples of `grid` ns.
pub fn calls(spec: &str, seed: u64, n: usize, grid: u64) -> Apart {
    let mut rng = Rng::new(seed, 0, 99);
    let mut both = Both::new(spec);
    let mut host = both.replay.flow.clone();
    host.now = Instant::from_millis(1000);
    both.call(Words::new(INIT, 0, &host));
    let base = 1_000_000 + rng.below(200_000_000);
    let mut queue = 0;
    let mut round = Round { start: host.now, min_rtt: Duration::MAX, ..Round::default() };
    for _ in 0..n {
        // The queue wanders up and down, and leaps now and then.
        queue = match rng.below(20) {
            0 => rng.below(400_000_000),
            1 => 0,
            _ => (queue + rng.below(6_000_000)).saturating_sub(rng.below(5_900_000)),
        };
        host.now +=
            Duration::from_nanos(if rng.below(50) == 0 { rng.below(3_000_000_000) } else { rng.below(4_000_000) });
        let mss = host.mss;
        let packets = [0, 1, 2, 2, 2, 3, 40][rng.below(7) as usize];
        let bytes = if rng.below(10) == 0 { Bytes::new(rng.below(5000)) } else { mss * packets };
        let fresh = rng.below(5) > 0;
        if fresh {
            host.rtt = Duration::from_nanos((base + queue) / grid * grid);
            host.min_rtt = if host.min_rtt.is_zero() { host.rtt } else { host.min_rtt.min(host.rtt) };
            host.max_rtt = host.max_rtt.max(host.rtt);
            host.srtt = if host.srtt.is_zero() { host.rtt } else { (host.srtt * 7 + host.rtt) / 8 };
            round.samples += 1;
            round.min_rtt = round.min_rtt.min(host.rtt);
            round.max_rtt = round.max_rtt.max(host.rtt);
        }
        round.delivered += bytes;
        host.in_flight = mss * rng.below(200);
        host.cwnd_limited = rng.below(8) > 0;
        host.resends = host.phase == Phase::Loss && rng.below(2) > 0;
        let mut ack = Ack { cumulative: bytes, delivered: bytes, rtt: fresh.then_some(host.rtt), ..Ack::default() };
        if rng.below(6) == 0 {
            let mut done = Round { end: host.now, ..round };
            if done.samples == 0 {
                done.min_rtt = Duration::ZERO;
            }
            (done.min_rtt_reused, done.max_rtt_reused) = (done.min_rtt, done.max_rtt);
            ack.round = Some(done);
            round = Round { start: host.now, min_rtt: Duration::MAX, ..Round::default() };
        }
        both.call(Words::new(WAKE, 0, &host));
        both.call(Words::new(ACK, 0, &host).with_ack(&ack));
        if rng.below(40) == 0 {
            let signal = [0, 0, 0, 1, 2][rng.below(5) as usize];
            let mut words = Words::new(CONGESTION, signal, &host);
            words.set("lost", mss.get());
            let reaction = both.call(words);
            host.phase = [Phase::Recovery, Phase::Reduced, Phase::Loss][signal as usize];
            if reaction != u64::MAX {
                // The host's reduction, seen with the next call.
                host.ssthresh = Bytes::new(reaction).max(host.floor);
                host.cwnd = if signal == 2 { mss } else { host.ssthresh };
                let mut words = Words::new(WAKE, 0, &host);
                words.set("host_cwnd", 1);
                words.set("host_ssthresh", 1);
                both.call(words);
            }
        } else if host.phase != Phase::Open && rng.below(5) == 0 {
            host.phase = Phase::Open;
            both.call(Words::new(NOTICE, 1, &host));
        } else if rng.below(200) == 0 {
            both.call(Words::new(NOTICE, 0, &host));
        }
    }
    both.end()
}
