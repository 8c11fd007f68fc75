//! What an experiment may ask of the kernel's hosts. Links may be anything: they are the simulator's.

use experiment::{FlowSpec, RateSpec, Scenario, Traffic};
use tcp::{Offload, Stack};
use units::{Duration, Rate};

/// What can be asked for, in a sentence.
const CAN: &str = "on linux can be: stack = \"linux\"; traffic bulk, bytes(…), web(…), dash(…), cbr(…), voip, game and tmix(…); start, stop, count, stagger, \
                   rtt, access, ecn, initial_window, mss, receive_window, pacing and offload (one for all) of a flow; every \
                   key of a path or link";
/// What two CPUs carried without a doubt (docs/linux.md): one connection, as fast as it can;
const BULK: Rate = Rate::from_bps(1_000_000_000);
/// connections that come and go, five thousand open at a time and as many new ones a second.
const CONNECTIONS: Rate = Rate::from_bps(200_000_000);
/// Below this, what hosts and links are late by is most of the RTT: one packet in a hundred by 0.1 to 0.2 ms each way.
const LEAST_RTT: Duration = Duration::from_millis(1);
/// Addresses are given to so many flows.
const MOST: usize = 1000;

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
    for flow in &scenario.flows {
        let name = &flow.name;
        if flow.stack != Stack::Linux {
            return refuse(format!("flow {name}: stack {}", params::Value::show(&flow.stack)));
        }
        if !flow.delayed_ack {
            return refuse(format!("flow {name}: delayed_ack = false"));
        }
        if flow.pacing_quantum != 1 {
            return refuse(format!("flow {name}: pacing_quantum = {}", flow.pacing_quantum));
        }
        if burst(flow) != burst(&scenario.flows[0]) {
            return refuse(format!("flow {name}: an offload of its own"));
        }
        match flow.traffic {
            Traffic::OnOff { .. } => return refuse(format!("flow {name}: its traffic, onoff,")),
            Traffic::Bulk { header } if !header.is_zero() => {
                return refuse(format!("flow {name}: its traffic, bulk with a header,"));
            }
            _ => {}
        }
    }
    Ok(())
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
        let text = format!(
            "format = 1\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"40 ms\"\n[[flow]]\nname = \"a\"\ncc = \"cubic\"\n{flow}\n"
        );
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
            "traffic = \"dash\"",
        ] {
            assert_eq!(able(&scenario(flow)), Ok(()), "{flow}");
        }
        for (flow, named) in [
            ("stack = \"freebsd-11\"", "flow a: stack freebsd-11"),
            ("traffic = \"onoff\"", "flow a: its traffic"),
            ("traffic = \"bulk(header=24 B)\"", "flow a: its traffic"),
            ("delayed_ack = false", "flow a: delayed_ack"),
            ("pacing_quantum = 2", "flow a: pacing_quantum = 2"),
        ] {
            let error = able(&scenario(flow)).unwrap_err();
            assert!(error.starts_with(named) && error.contains("can be: stack = \"linux\""), "{error}");
        }
    }
}
