//! The synthetic mix: connections made up so that the published facts of the evaluation suite's traces hold. 86 % bring
//! back less than 4380 bytes, three segments; a tenth has packets of 536 bytes; requests are a tenth of what comes back.
//!
//! What comes back is lognormal for most and bounded Pareto for the rest; with 93 % of median 900 B and 7 % of shape 1.2
//! between 8 kB and 20 MB the first fact holds, 96 % fit an initial window of ten segments, and 7 % of the connections
//! bring the bulk of the bytes. Arrivals are Poisson, as session arrivals in traces are (Hohn, Veitch, Abry 2003).

use super::{Adu, Connection, Side, TmixParams, Vectors};
use units::{Duration, Rng, math};

const SIGMA_REPLY: f64 = 1.1;
const SIGMA_REQUEST: f64 = 0.3;
const SIGMA_THINK: f64 = 1.2;
/// A server's own time for a reply (lognormal, σ 1): tens of milliseconds, as recorded servers take.
const SERVER: Duration = Duration::from_millis(20);
/// Windows in bytes, and how many of 100 connections have them or smaller ones: of the servers of the 340 connections of
/// ns-2's example (tcl/ex/tmix/sample-orig.cvec), brought together into six sizes. ns-2 bounds what a server sends by its
/// own.
const CAMPUS: [(u32, u64); 6] = [(6432, 23), (8760, 31), (17_520, 37), (24_820, 44), (32_768, 50), (64_240, 100)];

/// Connections of unit arrival rate until `enough` says so. Start times are in units of the mean gap.
pub(super) fn draw(
    p: &TmixParams,
    rng: &mut Rng,
    mut enough: impl FnMut(&Connection, &[Adu]) -> bool,
) -> (Vectors, Vec<f64>) {
    let (mut vectors, mut starts, mut at) = (Vectors::default(), Vec::new(), 0.0);
    loop {
        at += rng.exponential(1.0);
        let first = vectors.adus.len();
        exchanges(p, rng, &mut vectors.adus);
        let connection = Connection {
            start: Duration::ZERO,
            concurrent: false,
            mss: None,
            windows: None,
            first: first as u32,
            count: (vectors.adus.len() - first) as u32,
        };
        vectors.connections.push(connection);
        starts.push(at);
        if enough(&connection, &vectors.adus[first..]) {
            return (vectors, starts);
        }
    }
}

/// Gives the connections the windows of a campus' hosts. `dice` are its own, so that a seed's connections are the same
/// ones without.
pub(super) fn campus(connections: &mut [Connection], dice: &mut Rng) {
    for connection in connections {
        let drawn = dice.below(100);
        connection.windows = CAMPUS.iter().find(|(_, most)| drawn < *most).map(|(window, _)| [*window; 2]);
    }
}

/// What a connection brings back on average, in bytes.
pub(super) fn mean_reply(p: &TmixParams) -> f64 {
    p.large * mean_pareto(p.alpha, p.least.as_f64(), p.most.as_f64())
        + (1.0 - p.large) * mean_lognormal(p.reply.as_f64(), SIGMA_REPLY)
}

/// A request on average, in bytes.
pub(super) fn mean_request(p: &TmixParams) -> f64 {
    mean_lognormal(p.request.as_f64(), SIGMA_REQUEST)
}

fn mean_lognormal(median: f64, sigma: f64) -> f64 {
    median * math::exp(sigma * sigma / 2.0)
}

/// Of a Pareto distribution of this shape, bounded to [low, high].
fn mean_pareto(alpha: f64, low: f64, high: f64) -> f64 {
    let ratio = low / high;
    if ratio == 1.0 {
        return low;
    }
    // At a shape of 1 it is a logarithm, to which this comes near enough.
    let alpha = if alpha == 1.0 { 1.0 + 1e-6 } else { alpha };
    alpha / (alpha - 1.0) * low * (1.0 - math::pow(ratio, alpha - 1.0)) / (1.0 - math::pow(ratio, alpha))
}

fn exchanges(p: &TmixParams, rng: &mut Rng, adus: &mut Vec<Adu>) {
    let back = if rng.chance(p.large) {
        rng.bounded_pareto(p.alpha, p.least.as_f64(), p.most.as_f64())
    } else {
        rng.lognormal(p.reply.as_f64(), SIGMA_REPLY)
    };
    let mut left = (back as u64).max(1);
    let another = 1.0 - 1.0 / p.epochs;
    let mut wait = Duration::ZERO;
    loop {
        let last = !rng.chance(another) || left == 1;
        // The bytes of a connection are cut at random among its exchanges.
        let reply = if last { left } else { 1 + rng.below(left - 1) };
        left -= reply;
        let request = (rng.lognormal(p.request.as_f64(), SIGMA_REQUEST) as u64).max(1);
        let server = Duration::from_secs_f64(rng.lognormal(SERVER.as_secs_f64(), 1.0));
        adus.push(Adu { from: Side::Initiator, wait, bytes: request });
        adus.push(Adu { from: Side::Acceptor, wait: server, bytes: reply });
        if last {
            return;
        }
        wait = Duration::from_secs_f64(rng.lognormal(p.think.as_secs_f64(), SIGMA_THINK).min(3600.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use params::Params;
    use units::streams;

    #[test]
    fn the_published_facts_hold() {
        let p = TmixParams::from_spec(&"tmix".parse().unwrap()).unwrap();
        let mut left = 200_000;
        let (v, starts) = draw(&p, &mut Rng::new(1, 0, streams::TRAFFIC), |_, _| {
            left -= 1;
            left == 0
        });
        let sum = |c: &Connection, side| v.units(c).iter().filter(|a| a.from == side).map(|a| a.bytes).sum::<u64>();
        let back: Vec<u64> = v.connections.iter().map(|c| sum(c, Side::Acceptor)).collect();
        let n = back.len() as f64;
        let below = |limit| back.iter().filter(|b| **b < limit).count() as f64 / n;
        assert!((below(4380) - 0.86).abs() < 0.005, "{}", below(4380));
        assert!((below(14_600) - 0.96).abs() < 0.005, "{}", below(14_600));
        let total = back.iter().sum::<u64>() as f64;
        assert!((3_600.0..4_700.0).contains(&(total / n)), "mean {}", total / n);
        let requests = v.connections.iter().map(|c| sum(c, Side::Initiator)).sum::<u64>() as f64;
        assert!((0.08..0.12).contains(&(requests / total)), "requests {}", requests / total);
        // Unit rate, and an epoch and a half per connection.
        assert!((starts[starts.len() - 1] / n - 1.0).abs() < 0.01);
        assert!((v.adus.len() as f64 / 2.0 / n - 1.5).abs() < 0.02);
    }

    #[test]
    fn windows_are_a_campus() {
        let bare =
            Connection { start: Duration::ZERO, concurrent: false, mss: None, windows: None, first: 0, count: 0 };
        let mut connections = vec![bare; 100_000];
        campus(&mut connections, &mut Rng::new(1, 0, streams::TRAFFIC));
        let share = |most: u32| {
            let below =
                connections.iter().filter(|c| c.windows.is_some_and(|[client, server]| client.max(server) <= most));
            below.count() as f64 / connections.len() as f64
        };
        // Of the 340 servers of ns-2's example 78 have less than five segments of 1460 bytes, 173 less than 35.
        for (most, printed) in [(6432, 78.0 / 340.0), (32_768, 173.0 / 340.0), (64_240, 1.0)] {
            assert!((share(most) - printed).abs() < 0.015, "{most}: {} for {printed}", share(most));
        }
    }
}
