//! What a replay will be, as far as the settings tell before any dice are thrown: a load that no run could play is refused
//! when the file is read, at its place, and not after minutes and gigabytes of drawing.

use super::schedule::{MOST, bin, bins, offered, small_payload, target, too_many};
use super::{Side, Tmix, TmixParams, Vectors, mix};
use crate::raw::{File, FlowFile};
use crate::scenario::{FlowSpec, Scenario, Traffic};
use crate::source::{Checked, Fault};
use crate::tree::At;
use tcp::Config;
use units::{Duration, Rate};

/// Refuses what [`Replay::new`](super::Replay::new) is expected to refuse.
pub(crate) fn refuse_too_much(scenario: &Scenario, file: &File) -> Checked<()> {
    // The first of an entry's flows plays longest.
    let firsts = scenario.groups.iter().zip(&file.flow).enumerate();
    for (group, (name, At { value: FlowFile { traffic, .. }, .. })) in firsts {
        let Some(flow) = scenario.flows.iter().find(|flow| flow.group == group) else { continue };
        let (Traffic::Tmix(tmix), Some(at)) = (&flow.traffic, traffic) else { continue };
        expected(tmix, flow, scenario.bottleneck(flow), scenario.horizon(flow))
            .map_err(|e| Fault::at(at.place, e).under(format!("flow.{name}.traffic")))?;
    }
    Ok(())
}

fn expected(tmix: &Tmix, flow: &FlowSpec, rate: Option<Rate>, horizon: Duration) -> Result<(), String> {
    let p = &tmix.params;
    let target = target(p, rate)?;
    let bin = bin(p, rate.unwrap_or(Rate::ZERO));
    let header = Config::of(flow.stack).headers().get() as u32;
    let needed = (horizon + p.prefill).as_secs_f64();
    // Connections before anything is repeated, and how long they last.
    let (number, period) = match &tmix.file {
        Some((vectors, _)) => {
            let starts = vectors.connections.first().zip(vectors.connections.last());
            let length = starts.map_or(Duration::ZERO, |(first, last)| last.start.saturating_sub(first.start));
            let length = if length.is_zero() { 1.0 } else { length.as_secs_f64() };
            let stretched = || length * p.scale;
            let by_load = || bits_of_all(vectors, p, flow, header) / target;
            (vectors.connections.len() as f64, if p.scale > 0.0 { stretched() } else { by_load() })
        }
        None => {
            let number = target * needed / bits_of_one(p, flow, header);
            (number, if p.scale > 0.0 { number * p.scale } else { needed })
        }
    };
    if p.shuffle {
        bins(period, bin)?;
    }
    if number * (needed / period) > MOST as f64 { Err(too_many()) } else { Ok(()) }
}

/// Bits that a file's connections bring, in the mean over who has small packets.
fn bits_of_all(vectors: &Vectors, p: &TmixParams, flow: &FlowSpec, header: u32) -> f64 {
    let (small, usual) = (small_payload(flow, header), flow.mss.get() as u32);
    let of = |c: &super::Connection, mss: u32| offered(vectors.units(c), Side::Acceptor, mss, header, p.whole) as f64;
    let bytes = vectors.connections.iter().map(|c| match c.mss {
        Some(mss) => of(c, mss.min(usual)),
        None => p.small * of(c, small) + (1.0 - p.small) * of(c, usual),
    });
    8.0 * bytes.sum::<f64>()
}

/// Bits that a connection of the mix brings on average, at most: every unit ends in a packet that it does not fill.
fn bits_of_one(p: &TmixParams, flow: &FlowSpec, header: u32) -> f64 {
    let (small, usual) = (small_payload(flow, header) as f64, flow.mss.as_f64());
    let packets = |bytes: f64| p.epochs + bytes * (p.small / small + (1.0 - p.small) / usual);
    let (reply, request) = (mix::mean_reply(p) + 1.0, p.epochs * (mix::mean_request(p) + 1.0));
    let bytes = if p.whole { packets(reply) * usual } else { reply };
    8.0 * (bytes + header as f64 * (packets(reply) + 2.0 + packets(request) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use units::Rng;

    fn flow(traffic: &str) -> FlowSpec {
        let text = format!("1Gbit/s 40ms: {traffic}");
        crate::parse(&text, "").unwrap().cases().unwrap()[0].scenario.flows[0].clone()
    }

    fn tmix(flow: &FlowSpec) -> Tmix {
        let Traffic::Tmix(tmix) = &flow.traffic else { panic!("not tmix") };
        (**tmix).clone()
    }

    #[test]
    fn the_mean_of_the_mix_is_that_of_what_is_drawn_or_a_little_more() {
        for settings in
            ["", "large=1, alpha=1", "large=1, least=9kB, most=9kB", "whole=true", "epochs=4, small=1", "alpha=2.5"]
        {
            let flow = flow(&format!("tmix({settings})"));
            let p = &tmix(&flow).params;
            let (mut bits, mut number) = (0.0, 0);
            mix::draw(p, &mut Rng::new(1, 0, 0), |_, units| {
                let mss = if number % 1000 < (p.small * 1000.0) as u32 { 484 } else { 1448 };
                bits += 8.0 * offered(units, Side::Acceptor, mss, 52, p.whole) as f64;
                number += 1;
                number == 200_000
            });
            let times = bits_of_one(p, &flow, 52) * number as f64 / bits;
            assert!((0.98..1.3).contains(&times), "{settings}: {times}");
        }
    }

    #[test]
    fn what_no_run_could_play_is_told_before_anything_is_drawn() {
        let (many, cut) = ("more than 20000000 connections", "bins of 1us, and 20000000 is the most");
        let recorded = "S 0 1 0 0\nI 0 0 100\nA 0 0 5000\nS 1000000 1 0 0\nI 0 0 100\nA 0 0 5000\n";
        let vectors = Arc::new(Vectors::read(recorded, "x").unwrap());
        for (settings, of_the_mix, of_the_file) in [
            ("", "", ""),
            ("prefill=600s", "", ""),
            ("prefill=86400s", many, many),
            ("bin=1us", cut, ""),
            ("shuffle=false", "", ""),
            ("scale=1", "", ""),
            ("scale=1e-7", many, many),
            ("scale=60, bin=1us", cut, cut),
        ] {
            let spec: params::Spec = format!("tmix({settings})").parse().unwrap();
            let Traffic::Tmix(made) = crate::traffic::read(&spec).unwrap() else { panic!("not tmix") };
            for (file, refusal) in [(None, of_the_mix), (Some((vectors.clone(), 0)), of_the_file)] {
                let tmix = Tmix { file, ..(*made).clone() };
                let told = expected(&tmix, &flow("tmix"), Some(Rate::from_mbps(1000.0)), Duration::from_secs(60));
                let told = told.map_or_else(|e| e, |()| String::new());
                assert!(told.contains(refusal) && told.is_empty() == refusal.is_empty(), "{settings}: {told}");
            }
        }
        let told = expected(&tmix(&flow("tmix")), &flow("tmix"), None, Duration::from_secs(60)).unwrap_err();
        assert!(told.contains("a link with a rate"), "{told}");
    }
}
