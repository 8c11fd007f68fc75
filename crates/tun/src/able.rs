//! What an experiment may ask of the kernel's hosts. Links may be anything: they are the simulator's.

use experiment::{FlowSpec, Scenario, Traffic};
use tcp::{Offload, Stack};

/// What can be asked for, in a sentence.
const CAN: &str = "on linux can be: stack = \"linux\"; traffic bulk, bytes(…), cbr(…), voip, game and tmix(…); start, stop, count, stagger, \
                   rtt, access, ecn, initial_window, mss, receive_window, pacing and offload (one for all) of a flow; every \
                   key of a path or link";
/// Addresses are given to so many flows.
const MOST: usize = 1000;

/// The longest burst of segments that a flow's sender may hand over.
pub fn burst(flow: &FlowSpec) -> u32 {
    match flow.offload {
        Offload::Off => 1,
        Offload::Burst(n) => n,
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
        if burst(flow) != burst(&scenario.flows[0]) {
            return refuse(format!("flow {name}: an offload of its own"));
        }
        match flow.traffic {
            Traffic::Bulk | Traffic::Bytes(_) | Traffic::Cbr { .. } | Traffic::Tmix(_) => {}
            _ => return refuse(format!("flow {name}: its traffic")),
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
    fn what_the_kernel_has_is_run_and_the_rest_is_named() {
        for flow in ["", "ecn = true", "traffic = \"bytes(size=1MB)\"", "pacing = true", "offload = 16", "traffic = \"tmix(load=0.5)\""] {
            assert_eq!(able(&scenario(flow)), Ok(()), "{flow}");
        }
        for (flow, named) in [
            ("stack = \"freebsd-11\"", "flow a: stack freebsd-11"),
            ("traffic = \"web\"", "flow a: its traffic"),
            ("delayed_ack = false", "flow a: delayed_ack"),
        ] {
            let error = able(&scenario(flow)).unwrap_err();
            assert!(error.starts_with(named) && error.contains("can be: stack = \"linux\""), "{error}");
        }
    }
}
