//! From vectors to a run: stretched to the load, shuffled for an even one, and with a beginning that is not empty.

use super::{Adu, Connection, Side, Tmix, TmixParams, Vectors, Window, mix};
use crate::scenario::FlowSpec;
use params::Value;
use std::sync::Arc;
use units::{Duration, Rate, Rng, streams};

/// Bits of a bin: 5 s at 100 Mbit/s (draft-irtf-iccrg-tcpeval-01).
const BIN_BITS: f64 = 500e6;
/// Size at the IP layer of the smaller packets.
const SMALL_PACKET: u32 = 536;
/// Connections of one run and flow: what fits into memory with room to spare.
pub(super) const MOST: usize = 20_000_000;

/// The connections of one flow in one run, in order of their starts.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Their units; start times in here are the file's.
    pub vectors: Arc<Vectors>,
    /// (start, number of the connection, largest payload).
    pub order: Vec<(Duration, u32, u32)>,
}

impl Replay {
    /// What `flow` plays in the run of `seed` on a route whose slowest link has `rate`, until `horizon` after its start.
    /// `header` is the size of the headers of a segment, `flow_number` its number in the experiment. Once `stop` says so the
    /// drawing ends early, and what comes back is not to be used.
    pub fn new(
        tmix: &Tmix,
        flow: &FlowSpec,
        header: u32,
        rate: Option<Rate>,
        horizon: Duration,
        (seed, flow_number): (u64, u64),
        stop: &dyn Fn() -> bool,
    ) -> Result<Replay, String> {
        let p = &tmix.params;
        let mut rng = Rng::new(seed, flow_number, streams::TRAFFIC);
        let target = target(p, rate)?;
        let rate = rate.unwrap_or(Rate::ZERO);
        let small = small_payload(flow, header);
        let usual = flow.mss.get() as u32;
        let needed = (horizon + p.prefill).as_secs_f64();

        let mut payloads: Vec<u32> = Vec::new();
        let mut bits = 0.0;
        // Its own dice, so that a file and the mix have them alike.
        let mut dice = Rng::new(seed, flow_number | 1 << 32, streams::TRAFFIC);
        let mut count = |connection: &Connection, units: &[Adu]| {
            let mss = connection.mss.unwrap_or(if dice.chance(p.small) { small } else { usual }).min(usual);
            payloads.push(mss);
            bits += 8.0 * offered(units, Side::Acceptor, mss, header, p.whole) as f64;
            bits
        };
        let (vectors, mut starts) = match &tmix.file {
            Some((vectors, _)) => {
                for c in &vectors.connections {
                    count(c, vectors.units(c));
                }
                (vectors.clone(), vectors.connections.iter().map(|c| c.start.as_secs_f64()).collect())
            }
            None => {
                let mut number = 0;
                let (mut vectors, starts) = mix::draw(p, &mut rng, |c, units| {
                    number += 1;
                    count(c, units) >= target * needed || number == MOST || (number % 1024 == 0 && stop())
                });
                if p.window == Window::Campus {
                    mix::campus(&mut vectors.connections, &mut Rng::new(seed, flow_number | 2 << 32, streams::TRAFFIC));
                }
                (Arc::new(vectors), starts)
            }
        };
        let first = if tmix.file.is_some() { starts[0] } else { 0.0 };
        let last = starts[starts.len() - 1] - first;
        let length = if last > 0.0 { last } else { 1.0 };
        // The trace's estimate of its load decides, as in the suite.
        let scale = if p.scale > 0.0 { p.scale } else { bits / target / length };
        let period = length * scale;
        for start in &mut starts {
            *start = (*start - first) * scale;
        }
        if p.shuffle {
            shuffle(&mut starts, period, bin(p, rate), &mut rng)?;
        }
        let mut order = repeated(&starts, period, needed, &payloads)?;
        if !p.prefill.is_zero() {
            let lifetime = |i: u32, mss| lifetime(&vectors, i, mss, flow, rate, p);
            let size = |i: u32, mss| {
                8.0 * offered(vectors.units(&vectors.connections[i as usize]), Side::Acceptor, mss, header, p.whole)
                    as f64
            };
            prefill(&mut order, p.prefill.as_secs_f64(), target, lifetime, size);
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let horizon = horizon.as_secs_f64();
        let order = order
            .into_iter()
            .filter(|(at, ..)| *at < horizon)
            .map(|(at, i, mss)| (Duration::from_secs_f64(at), i, mss))
            .collect();
        Ok(Replay { vectors, order })
    }
}

/// The load that is asked for, in bit/s.
pub(super) fn target(p: &TmixParams, rate: Option<Rate>) -> Result<f64, String> {
    let rate = rate.ok_or("tmix needs a link with a rate on the route, which the load is a part of")?;
    Ok(rate.as_bps() as f64 * p.load / p.parts as f64)
}

/// Largest payload of a connection with the smaller packets.
pub(super) fn small_payload(flow: &FlowSpec, header: u32) -> u32 {
    SMALL_PACKET.saturating_sub(header).min(flow.mss.get() as u32)
}

/// Length in seconds of what is shuffled.
pub(super) fn bin(p: &TmixParams, rate: Rate) -> f64 {
    if p.bin.is_zero() { BIN_BITS / rate.as_bps() as f64 } else { p.bin.as_secs_f64() }
}

/// Whole bins in a period. The last one is whole or none: what is left over keeps its place.
pub(super) fn bins(period: f64, bin: f64) -> Result<usize, String> {
    let bins = (period / bin) as usize;
    if bins <= MOST {
        return Ok(bins);
    }
    Err(format!(
        "tmix would cut {} of traffic into {bins} bins of {}, and {MOST} is the most: take a longer bin, a smaller scale, \
         or shuffle=false",
        Duration::from_secs_f64(period).show(),
        Duration::from_secs_f64(bin).show()
    ))
}

pub(super) fn too_many() -> String {
    format!("the tmix load is more than {MOST} connections: shorten the run or its prefill, or lower the load")
}

/// Bytes at the IP layer that one side sends: its units in segments, its part of opening and closing, and an
/// acknowledgement for every second segment of the other's beyond its first.
pub(super) fn offered(units: &[Adu], side: Side, mss: u32, header: u32, whole: bool) -> u64 {
    let (mss, header) = (mss as u64, header as u64);
    let packets = |side| units.iter().filter(|a| a.from == side).map(|a| a.bytes.div_ceil(mss)).sum::<u64>();
    let bytes: u64 =
        if whole { packets(side) * mss } else { units.iter().filter(|a| a.from == side).map(|a| a.bytes).sum() };
    bytes + header * (packets(side) + 2 + packets(side.peer()).saturating_sub(1) / 2)
}

/// Bins of `bin` seconds change places.
fn shuffle(starts: &mut [f64], period: f64, bin: f64, rng: &mut Rng) -> Result<(), String> {
    let bins = bins(period, bin)?;
    if bins < 2 {
        return Ok(());
    }
    let mut places: Vec<usize> = (0..bins).collect();
    for i in (1..bins).rev() {
        places.swap(i, rng.below(i as u64 + 1) as usize);
    }
    for start in starts {
        let from = (*start / bin) as usize;
        if let Some(to) = places.get(from) {
            *start += (*to as f64 - from as f64) * bin;
        }
    }
    Ok(())
}

/// The trace over and over, until the run is covered.
fn repeated(starts: &[f64], period: f64, needed: f64, payloads: &[u32]) -> Result<Vec<(f64, u32, u32)>, String> {
    let mut order = Vec::with_capacity(starts.len());
    let mut offset = 0.0;
    while offset < needed {
        for (i, start) in starts.iter().enumerate() {
            if start + offset < needed {
                order.push((start + offset, i as u32, payloads[i]));
            }
        }
        if order.len() >= MOST {
            return Err(too_many());
        }
        offset += period;
    }
    Ok(order)
}

/// How long a connection will be open on an empty network, then among others: waits, rounds of slow start, and its bytes
/// at the share that processor sharing leaves it, C (1 − ρ), or at a window a round trip where the mix has windows (a file's
/// are not asked for, which keeps the digests that such runs have had).
fn lifetime(vectors: &Vectors, i: u32, mss: u32, flow: &FlowSpec, rate: Rate, p: &TmixParams) -> f64 {
    let connection = &vectors.connections[i as usize];
    let rtt = flow.base_rtt.as_secs_f64();
    let share = rate.as_bps() as f64 * (1.0 - p.load).max(0.1) / 8.0;
    let rounds = |a: &Adu| {
        let windows = 1 + a.bytes.div_ceil(mss as u64) / flow.initial_window.max(1) as u64;
        0.5 + (u64::BITS - 1 - windows.leading_zeros()) as f64
    };
    let bound = |a: &Adu| match connection.windows.filter(|_| p.windows && p.window == Window::Campus) {
        Some([initiator, _]) if a.from == Side::Acceptor => f64::from(initiator.max(mss)) / rtt,
        Some([_, acceptor]) => f64::from(acceptor.max(mss)) / rtt,
        None => f64::INFINITY,
    };
    let of = |a: &Adu| a.wait.as_secs_f64() + rtt * rounds(a) + a.bytes as f64 / share.min(bound(a));
    1.5 * rtt + vectors.units(connection).iter().map(of).sum::<f64>()
}

/// Of the connections of the first `length` seconds keeps those that would be open at its end. They start in the time
/// that their bits take at `target` bit/s, and everything later follows on.
fn prefill(
    order: &mut Vec<(f64, u32, u32)>,
    length: f64,
    target: f64,
    lifetime: impl Fn(u32, u32) -> f64,
    size: impl Fn(u32, u32) -> f64,
) {
    order.retain(|&(at, i, mss)| at >= length || at + lifetime(i, mss) > length);
    let bits: f64 = order.iter().filter(|(at, ..)| *at < length).map(|&(_, i, mss)| size(i, mss)).sum();
    let squeezed = (bits / target).min(length);
    for (at, ..) in order {
        *at = if *at < length { *at / length * squeezed } else { *at - length + squeezed };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Traffic;

    fn flow(traffic: &str) -> FlowSpec {
        let text = format!(
            "format = 1\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"40 ms\"\n[[flow]]\ncc = \"newreno\"\ntraffic = {traffic:?}\n"
        );
        crate::parse(&text, "").unwrap().cases().unwrap()[0].scenario.flows[0].clone()
    }

    fn replay(traffic: &str, seed: u64, seconds: u64) -> Replay {
        let flow = flow(traffic);
        let Traffic::Tmix(tmix) = &flow.traffic else { panic!("not tmix") };
        let rate = Rate::from_mbps(100.0);
        Replay::new(tmix, &flow, 52, Some(rate), Duration::from_secs(seconds), (seed, 0), &|| false).unwrap()
    }

    #[test]
    fn drawing_ends_where_it_is_told_to() {
        let flow = flow("tmix(prefill=60s)");
        let Traffic::Tmix(tmix) = &flow.traffic else { panic!("not tmix") };
        let drawn = |stop| {
            let made =
                Replay::new(tmix, &flow, 52, Some(Rate::from_mbps(100.0)), Duration::from_secs(60), (1, 0), stop);
            made.unwrap().vectors.connections.len()
        };
        assert_eq!(drawn(&|| true), 1024);
        assert!(drawn(&|| false) > 10_000);
    }

    fn bits(r: &Replay, from: f64, to: f64) -> f64 {
        r.order
            .iter()
            .filter(|(at, ..)| (from..to).contains(&at.as_secs_f64()))
            .map(|&(_, i, mss)| {
                8.0 * offered(r.vectors.units(&r.vectors.connections[i as usize]), Side::Acceptor, mss, 52, false)
                    as f64
            })
            .sum()
    }

    #[test]
    fn the_load_is_what_was_asked_for_and_even() {
        for load in [0.6, 0.85, 1.1] {
            let r = replay(&format!("tmix(load={load})"), 3, 200);
            let offered = bits(&r, 0.0, 200.0) / 200.0 / 100e6;
            assert!((offered - load).abs() < 0.03 * load, "{offered} for {load}");
            // The suite's rule for the length of a run: the last two thirds agree.
            let (second, third) = (bits(&r, 67.0, 133.0), bits(&r, 133.0, 199.0));
            assert!((second / third - 1.0).abs() < 0.1, "{second} {third}");
        }
        let parts = replay("tmix(load=0.9, parts=9)", 3, 200);
        assert!((bits(&parts, 0.0, 200.0) / 200.0 / 10e6 - 1.0).abs() < 0.1);
    }

    #[test]
    fn the_seed_decides() {
        let starts = |seed| replay("tmix", seed, 5).order;
        assert_eq!(starts(1), starts(1));
        assert_ne!(starts(1), starts(2));
    }

    #[test]
    fn bins_change_places_and_lose_nothing() {
        let mut starts: Vec<f64> = (0..1000).map(|i| i as f64 * 0.1).collect();
        let before = starts.clone();
        shuffle(&mut starts, 100.0, 5.0, &mut Rng::new(1, 0, 0)).unwrap();
        assert_ne!(starts, before);
        // What was together stays together.
        assert!((starts[7] - starts[5] - 0.2).abs() < 1e-9);
        starts.sort_by(f64::total_cmp);
        assert!(starts.iter().zip(&before).all(|(a, b)| (a - b).abs() < 1e-6));
        let e = shuffle(&mut starts, 100.0, 1e-9, &mut Rng::new(1, 0, 0)).unwrap_err();
        assert!(e.contains("100s of traffic into 100000000000 bins") && e.contains("shuffle=false"), "{e}");
    }

    #[test]
    fn a_prefilled_run_begins_with_what_lasts() {
        let (bare, filled) = (replay("tmix", 5, 20), replay("tmix(prefill=40s)", 5, 20));
        // Who is found open is rather one who thinks between exchanges.
        let thinking = |r: &Replay| {
            let first = &r.order[..100];
            first.iter().filter(|o| r.vectors.connections[o.1 as usize].count > 2).count()
        };
        assert!(thinking(&bare) < 50 && thinking(&filled) > 70, "{} {}", thinking(&bare), thinking(&filled));
        let late = bits(&filled, 10.0, 20.0) / 10.0 / 100e6;
        assert!((0.6..1.1).contains(&late), "{late}");
    }

    #[test]
    fn what_small_windows_hold_up_is_open_at_the_beginning() {
        // A megabyte at a share of 15 Mbit/s takes half a second, and six at 6 kB a round trip of 40 ms.
        let mix = "small=0, large=1, least=1MB, most=2MB, epochs=1, window=campus";
        let r = replay(&format!("tmix({mix}, prefill=60s)"), 5, 200);
        let small = |some: &[(Duration, u32, u32)]| {
            let of = |o: &&(Duration, u32, u32)| r.vectors.connections[o.1 as usize].windows == Some([6432; 2]);
            some.iter().filter(of).count() as f64 / some.len() as f64
        };
        let (first, later) = r.order.split_at(12);
        assert!(small(first) > 0.5 && small(later) < 0.3, "{} {}", small(first), small(later));
    }

    #[test]
    fn windows_leave_the_connections_as_they_are() {
        let (open, campus) = (replay("tmix", 1, 20), replay("tmix(window=campus)", 1, 20));
        assert_eq!(open.order, campus.order);
        assert_eq!(open.vectors.adus, campus.vectors.adus);
        assert!(open.vectors.connections.iter().all(|c| c.windows.is_none()));
        assert!(campus.vectors.connections.iter().all(|c| c.windows.is_some()));
    }

    #[test]
    fn smaller_packets_are_a_tenth() {
        let r = replay("tmix", 1, 20);
        let small = r.order.iter().filter(|o| o.2 == 484).count() as f64 / r.order.len() as f64;
        assert!((small - 0.1).abs() < 0.01, "{small}");
    }
}
