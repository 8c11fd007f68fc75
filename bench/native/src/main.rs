//! The native bench: takes the key=value arguments of the peers and prints their RESULT line.
//!
//! `n rate rttlo rtthi dur cc aqm buf spread seed delack stack`: n flows over one bottleneck of `rate` bit/s with `buf`
//! packets, base RTTs spread evenly over rttlo … rtthi seconds, starts over `spread` seconds, for `dur` seconds.

use experiment::{FlowSpec, Link, RateSpec, Run, Scenario, Traffic, Vary};
use params::{Spec, Value};
use std::process::exit;
use tcp::{Offload, Stack};
use units::{Bytes, Duration, Instant, Rate};

/// It asks for memory in large pieces, which the kernel backs with huge pages: a run of a thousand flows touches more pages than a
/// processor keeps the addresses of (docs/performance.md). The extension module keeps the system's allocator, since the emulator
/// locks its memory, and to lock what this one reserves takes seconds.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Arguments {
    n: usize,
    rate: f64,
    rttlo: f64,
    rtthi: f64,
    dur: f64,
    cc: String,
    aqm: String,
    buf: f64,
    spread: f64,
    seed: u64,
    delack: bool,
    stack: Stack,
}

fn arguments(given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut a = Arguments {
        n: 1,
        rate: 12e6,
        rttlo: 0.04,
        rtthi: 0.04,
        dur: 100.0,
        cc: "cubic".into(),
        aqm: "fifo".into(),
        buf: 40.0,
        spread: 0.1,
        seed: 1,
        delack: true,
        stack: Stack::Linux,
    };
    for argument in given {
        let (key, value) = argument.split_once('=').ok_or_else(|| format!("{argument}: expected key=value"))?;
        let number = || value.parse::<f64>().map_err(|_| format!("{key}={value}: expected a number"));
        match key {
            "n" => a.n = number()? as usize,
            "rate" => a.rate = number()?,
            "rttlo" => a.rttlo = number()?,
            "rtthi" => a.rtthi = number()?,
            "dur" => a.dur = number()?,
            "buf" => a.buf = number()?,
            "spread" => a.spread = number()?,
            "seed" => a.seed = number()? as u64,
            // The peers say "reno" for what they run as NewReno.
            "cc" => a.cc = if value == "reno" { "newreno".into() } else { value.into() },
            "aqm" => a.aqm = if value == "fqcodel" { "fq_codel".into() } else { value.into() },
            "stack" => a.stack = Stack::parse(value).ok_or_else(|| format!("stack={value}: {}", Stack::KIND))?,
            "delack" => a.delack = number()? != 0.0,
            _ => return Err(format!("unknown key {key}")),
        }
    }
    Ok(a)
}

fn link(name: &str, rate: Option<Rate>, delay: Duration, buffer: Option<usize>, queue: Spec) -> Link {
    Link {
        rate: rate.map(RateSpec::Constant),
        delay,
        buffer: buffer.map(aqm::Limit::Packets),
        ..Link::plain(name, queue)
    }
}

fn scenario(a: &Arguments) -> Result<Scenario, String> {
    let rate = Rate::from_bps_f64(a.rate);
    let low = Duration::from_secs_f64(a.rttlo / 2.0);
    let spec = |text: &str| text.parse::<Spec>().map_err(|e| e.to_string());
    let flows = (0..a.n)
        .map(|i| {
            let step = if a.n > 1 { i as f64 / (a.n - 1) as f64 } else { 0.0 };
            let half = Duration::from_secs_f64((a.rttlo + (a.rtthi - a.rttlo) * step) / 2.0);
            Ok(FlowSpec {
                name: format!("f{i}"),
                group: 0,
                cc: spec(&a.cc)?,
                stack: a.stack,
                start: Instant::from_secs_f64(a.spread * i as f64 / a.n as f64),
                stop: None,
                lasts: None,
                route: vec![0],
                back: vec![1],
                edge: half - low,
                edge_back: half - low,
                access: None,
                traffic: Traffic::Bulk { header: Bytes::ZERO },
                ecn: false,
                clock_skew_ppb: 0,
                clock_drift_ppb: 0,
                delayed_ack: a.delack,
                writes: Bytes::ZERO,
                pacing: false,
                pacing_quantum: 1,
                initial_window: 10,
                mss: Bytes::new(1448),
                receive_window: Bytes::new(1 << 30),
                read_rate: None,
                offload: Offload::Off,
                base_rtt: half * 2,
            })
        })
        .collect::<Result<_, String>>()?;
    Ok(Scenario {
        links: vec![
            link("bottleneck", Some(rate), low, Some(a.buf as usize), spec(&a.aqm)?),
            link("return", None, low, None, Spec::named("fifo")),
        ],
        flows,
        groups: vec!["f".into()],
        run: Run {
            duration: Duration::from_secs_f64(a.dur),
            measure: (Instant::ZERO, Instant::from_secs_f64(a.dur)),
            seed: a.seed,
            repeat: 1,
            vary: Vary::None,
            processing: None,
            gaps: Vec::new(),
            estimates: false,
        },
    })
}

fn main() {
    let run = || -> Result<String, String> {
        let a = arguments(std::env::args().skip(1))?;
        let (s, ()) = sim::run(&scenario(&a)?, (), sim::Options::default()).map_err(|e| e.to_string())?;
        let payload = s.groups[0].goodput_mbps * 1e6 / 8.0 * a.dur;
        Ok(format!(
            "RESULT goodput_pkts={:.0} util={:.4} drops={} rexmit={} packets={} digest={}",
            payload / 1448.0,
            s.links[0].utilisation.unwrap_or(0.0),
            s.dropped,
            s.groups[0].retransmits,
            s.packets,
            s.digest
        ))
    };
    match run() {
        Ok(line) => println!("{line}"),
        Err(e) => {
            eprintln!("sojourn-bench: {e}");
            exit(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_are_delayed_unless_asked_not_to_be() {
        for (given, delayed) in [(None, true), (Some("delack=1"), true), (Some("delack=0"), false)] {
            let a = arguments(given.into_iter().map(str::to_owned)).unwrap();
            assert!(scenario(&a).unwrap().flows.iter().all(|flow| flow.delayed_ack == delayed), "{given:?}");
        }
        assert!(arguments(["delack=no".to_owned()].into_iter()).is_err());
    }
}
