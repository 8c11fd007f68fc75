//! What an experiment may ask of the kernel's hosts. Links may be anything: they are the simulator's.

use experiment::{FlowSpec, MTU, RateSpec, Scenario, Traffic};
use tcp::{Config, Offload, Stack};
use units::{Bytes, Duration, Rate};

/// What can be asked for, in a sentence.
const CAN: &str = "on linux can be: stack = \"linux\"; traffic bulk, bytes(…), web(…), dash(…), cbr(…), voip, game and tmix(…); start, stop, count, stagger, \
                   rtt, access, ecn, initial_window, mss, receive_window, read_rate, pacing and offload (one for all) of a flow; every \
                   key of a path or link";
/// What two CPUs carried without a doubt (docs/linux.md): one connection, as fast as it can;
const BULK: Rate = Rate::from_bps(1_000_000_000);
/// connections that come and go, five thousand open at a time and as many new ones a second.
const CONNECTIONS: Rate = Rate::from_bps(200_000_000);
/// Below this, what hosts and links are late by is most of the RTT: one packet in a hundred by 0.1 to 0.2 ms each way.
const LEAST_RTT: Duration = Duration::from_millis(1);
/// The kernel's least (`TCP_MIN_MSS`, 88 B) without the 12 bytes of timestamps that it counts as payload: `TCP_MAXSEG` refuses less.
const LEAST_MSS: Bytes = Bytes::new(76);
/// Addresses are given to so many flows.
pub(crate) const MOST: usize = 1000;

/// The longest burst of segments that a flow's sender may hand over.
pub fn burst(flow: &FlowSpec) -> u32 {
    match flow.offload {
        Offload::Off => 1,
        Offload::Burst(n) => n,
        // The limit of a device that announces none (`GSO_MAX_SEGS`): the kernel sizes its bursts itself.
        Offload::Auto => 65_535,
    }
}

/// An error says what cannot be done and what can.
pub fn able(scenario: &Scenario) -> Result<(), String> {
    let refuse = |what: String| Err(format!("{what} cannot be had on linux; {CAN}"));
    if !scenario.run.gaps.is_empty() {
        return refuse("run.gaps".into());
    }
    if scenario.run.estimates {
        return refuse("run.estimates".into());
    }
    if scenario.flows.len() > MOST {
        return Err(format!("{} flows: on linux there are at most {MOST}", scenario.flows.len()));
    }
    let first = scenario.flows.iter().find(|f| !matches!(f.traffic, Traffic::Cbr { .. })).map(burst);
    for flow in &scenario.flows {
        let name = &flow.name;
        if flow.stack != Stack::Linux {
            return refuse(format!("flow {name}: stack {}", params::Value::show(&flow.stack)));
        }
        if !flow.delayed_ack {
            return refuse(format!("flow {name}: delayed_ack = false"));
        }
        for (key, ppb) in [("clock_skew", flow.clock_skew_ppb), ("clock_drift", flow.clock_drift_ppb)] {
            if ppb != 0 {
                return refuse(format!("flow {name}: {key} (both hosts have this machine's clock)"));
            }
        }
        if flow.pacing_quantum != 1 {
            return refuse(format!("flow {name}: pacing_quantum = {}", flow.pacing_quantum));
        }
        if !matches!(flow.traffic, Traffic::Cbr { .. }) && Some(burst(flow)) != first {
            return refuse(format!("flow {name}: an offload of its own"));
        }
        match flow.traffic {
            Traffic::OnOff { .. } => return refuse(format!("flow {name}: its traffic, onoff,")),
            Traffic::Bulk { header } if !header.is_zero() => {
                return refuse(format!("flow {name}: its traffic, bulk with a header,"));
            }
            _ => {}
        }
        sizes(flow)?;
    }
    Ok(())
}

/// Whether a flow's packets are of sizes that come out as they are asked for: the kernel would cut larger ones.
fn sizes(flow: &FlowSpec) -> Result<(), String> {
    let (name, mtu) = (&flow.name, MTU.get());
    if let Traffic::Cbr { size, .. } = flow.traffic {
        return if size <= MTU {
            Ok(())
        } else {
            let size = size.get();
            Err(format!(
                "flow {name}: datagrams of {size} B: on linux packets are of at most {mtu} B; give its traffic a size of {mtu} B or less"
            ))
        };
    }
    let (least, most) = (LEAST_MSS, MTU - Config::of(flow.stack).headers());
    let allowed = format!("on linux it is from {} to {} B", least.get(), most.get());
    if flow.mss < least || flow.mss > most {
        let cure = format!("give it one of these, or leave it out for {} B", Config::of(flow.stack).mss.get());
        return Err(format!("flow {name}: mss = {} B: {allowed}; {cure}", flow.mss.get()));
    }
    // What is larger than the flow's own is cut to that on both sides.
    let vectors = match &flow.traffic {
        Traffic::Tmix(tmix) => tmix.file.as_ref().map(|(vectors, _)| vectors),
        _ => None,
    };
    let least_of = vectors.and_then(|v| v.connections.iter().filter_map(|c| c.mss).min());
    match least_of.filter(|mss| u64::from(*mss) < least.get()) {
        Some(mss) => Err(format!(
            "flow {name}: a connection of its file has m {mss}: {allowed}; take such connections out of the file, or raise their m"
        )),
        None => Ok(()),
    }
}

/// Whether a machine like the one that was measured carries it, in real time; an error says what it carries.
pub fn carried(scenario: &Scenario) -> Result<(), String> {
    let rate = |l: &experiment::Link| match &l.rate {
        Some(RateSpec::Constant(rate)) => *rate,
        Some(RateSpec::Trace { .. }) | None => Rate::ZERO,
    };
    for flow in &scenario.flows {
        let fastest = flow.route.iter().map(|&l| &scenario.links[l]).max_by_key(|l| rate(l));
        let (most, kind) = match flow.traffic {
            Traffic::Tmix(_) => (CONNECTIONS, "connections that come and go"),
            _ => (BULK, "a flow"),
        };
        if let Some(link) = fastest.filter(|l| rate(l) > most) {
            let (asked, most) = (rate(link).as_mbps(), most.as_mbps());
            return Err(format!("{}, {asked} Mbit/s: {kind} can be carried at up to {most} Mbit/s", link.name));
        }
        if flow.base_rtt < LEAST_RTT && !matches!(flow.traffic, Traffic::Cbr { .. }) {
            return Err(format!(
                "flow {}, a base RTT of {:.3} ms: hosts wake some 0.1 ms late, so that RTTs from {:.0} ms on are true",
                flow.name,
                flow.base_rtt.as_millis_f64(),
                LEAST_RTT.as_millis_f64()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(flow: &str) -> Scenario {
        let cc = if ["cbr", "voip", "game"].iter().any(|t| flow.contains(t)) { "" } else { "cc = \"cubic\"\n" };
        let text =
            format!("format = 1\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"40 ms\"\n[[flow]]\nname = \"a\"\n{cc}{flow}\n");
        experiment::parse(&text, "").unwrap().cases().unwrap()[0].scenario.clone()
    }

    #[test]
    fn rates_and_round_trips_that_no_such_machine_carries_are_named() {
        let case = |rate: &str, rtt: &str, flow: &str| {
            let path =
                format!("format = 1\n[path]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\n[[flow]]\ncc = \"cubic\"\n{flow}\n");
            carried(&experiment::parse(&path, "").unwrap().cases().unwrap()[0].scenario)
        };
        let tmix = "traffic = \"tmix\"";
        assert_eq!(case("1 Gbit/s", "40 ms", ""), Ok(()));
        assert_eq!(case("200 Mbit/s", "40 ms", tmix), Ok(()));
        assert!(case("201 Mbit/s", "40 ms", tmix).unwrap_err().contains("up to 200 Mbit/s"));
        assert!(case("10 Gbit/s", "40 ms", "").unwrap_err().contains("10000 Mbit/s"));
        assert!(case("1 Gbit/s", "100 us", "").unwrap_err().contains("0.100 ms"));
    }

    #[test]
    fn sizes_that_the_kernel_would_change_are_refused() {
        for flow in ["mss = \"76 B\"", "mss = \"1448 B\"", "traffic = \"cbr(size=1500 B)\"", "traffic = \"voip\""] {
            assert_eq!(able(&scenario(flow)), Ok(()), "{flow}");
        }
        for (flow, said) in [
            ("mss = \"75 B\"", "flow a: mss = 75 B: on linux it is from 76 to 1448 B; give it one of these"),
            ("mss = \"1449 B\"", "flow a: mss = 1449 B: on linux it is from 76 to 1448 B"),
            ("mss = \"65000 B\"\ntraffic = \"tmix\"", "flow a: mss = 65000 B"),
            ("traffic = \"cbr(size=1501 B)\"", "flow a: datagrams of 1501 B: on linux packets are of at most 1500 B"),
        ] {
            let error = able(&scenario(flow)).unwrap_err();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn segments_of_recorded_connections_are_looked_at_too() {
        let case = |m: u32| {
            let mut one = scenario("traffic = \"tmix\"");
            let Traffic::Tmix(tmix) = &mut one.flows[0].traffic else { panic!("not tmix") };
            let text = format!("SEQ 0 1 1 1\nw 64000 64000\nr 40000\nl 0 0\nm {m} {m}\n> 100\n< 1000\n");
            tmix.file = Some((std::sync::Arc::new(experiment::tmix::Vectors::read(&text, "x").unwrap()), 0));
            able(&one)
        };
        assert_eq!((case(76), case(9000)), (Ok(()), Ok(())));
        assert!(case(75).unwrap_err().starts_with("flow a: a connection of its file has m 75: on linux it is from 76"));
    }

    #[test]
    fn flows_that_hand_over_bursts_have_one_length_of_them_and_datagrams_have_none() {
        let game = scenario("traffic = \"game\"").flows[0].clone();
        let bulk = scenario("offload = 16").flows[0].clone();
        let able = |flows: [&FlowSpec; 3]| {
            let mut case = scenario("");
            case.flows = flows.map(Clone::clone).to_vec();
            able(&case)
        };
        assert_eq!((able([&game, &bulk, &bulk]), able([&bulk, &game, &bulk])), (Ok(()), Ok(())));
        let other = FlowSpec { offload: Offload::Burst(8), name: "b".into(), ..bulk.clone() };
        let error = able([&game, &bulk, &other]).unwrap_err();
        assert!(error.starts_with("flow b: an offload of its own cannot"), "{error}");
    }

    #[test]
    fn what_the_kernel_has_is_run_and_the_rest_is_named() {
        for flow in [
            "",
            "ecn = true",
            "traffic = \"bytes(size=1MB)\"",
            "pacing = true",
            "offload = 16",
            "offload = \"auto\"",
            "traffic = \"tmix(load=0.5)\"",
            "traffic = \"web\"",
            "writes = \"10860 B\"",
            "read_rate = \"4 Mbit/s\"",
            "traffic = \"dash\"",
        ] {
            assert_eq!(able(&scenario(flow)), Ok(()), "{flow}");
        }
        for (flow, named) in [
            ("stack = \"freebsd-11\"", "flow a: stack freebsd-11"),
            ("traffic = \"onoff\"", "flow a: its traffic"),
            ("traffic = \"bulk(header=24 B)\"", "flow a: its traffic"),
            ("delayed_ack = false", "flow a: delayed_ack"),
            ("pacing = true\npacing_quantum = 2", "flow a: pacing_quantum = 2"),
            ("clock_skew = \"50 ppm\"", "flow a: clock_skew (both hosts have this machine's clock) cannot"),
            ("clock_drift = \"-1 ppm\"", "flow a: clock_drift"),
        ] {
            let error = able(&scenario(flow)).unwrap_err();
            assert!(error.starts_with(named) && error.contains("can be: stack = \"linux\""), "{error}");
        }
    }
}
