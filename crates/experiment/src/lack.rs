//! Figures that cannot have a value, which is better known before a sweep than after it.

use crate::metric::{Metric, Subject};
use crate::scenario::{FlowSpec, Link, Scenario, Traffic};
use crate::source::did_you_mean;

/// Why no run of a scenario can have a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Its flow, group or link is not there, which is said where the subject is checked.
    Subject,
    /// There can be no such value; why, with the cure.
    Value(String),
}

/// What no run of the scenario can have of the figure; `None` if one may. Of several flows one that may is enough.
pub(crate) fn of(metric: &Metric, scenario: &Scenario) -> Option<Lack> {
    let flows: Vec<&FlowSpec> = match &metric.subject {
        Subject::Flow(name) => scenario.flows.iter().filter(|f| &f.name == name).collect(),
        Subject::Group(name) => {
            let of = |f: &&FlowSpec| scenario.groups.get(f.group) == Some(name);
            scenario.flows.iter().filter(of).collect()
        }
        Subject::Link(name) => {
            let link = scenario.links.iter().find(|l| &l.name == name);
            return link.map_or(Some(Lack::Subject), |link| of_link(&metric.leaf, link).map(Lack::Value));
        }
        Subject::Fairness => return None,
    };
    let whys: Option<Vec<String>> = flows.iter().map(|flow| of_flow(&metric.leaf, flow, scenario)).collect();
    whys.map(|all| all.into_iter().next().map_or(Lack::Subject, Lack::Value))
}

fn of_flow(leaf: &str, flow: &FlowSpec, scenario: &Scenario) -> Option<String> {
    let (figure, below) = leaf.split_once('.').unwrap_or((leaf, ""));
    let run = &scenario.run;
    let datagrams = matches!(flow.traffic, Traffic::Cbr { .. });
    let connections = matches!(flow.traffic, Traffic::Tmix(_));
    match figure {
        "ack_rate_mbps" | "window_rate_mbps" if !run.estimates => {
            Some("rounds are estimated only if they are asked for; set run.estimates = true".into())
        }
        "ack_rate_mbps" | "window_rate_mbps" if connections => {
            Some(format!("flow {} is many connections, and the estimates are of one", flow.name))
        }
        "ack_rate_mbps" | "window_rate_mbps" | "rtt_ms" | "slow_start_exit" | "repair_s" | "ack_gaps" if datagrams => {
            let cure = if figure == "ack_gaps" { "their gaps are data_gaps" } else { "their delay is owd_ms" };
            Some(format!("flow {} sends datagrams, which nobody acknowledges; {cure}", flow.name))
        }
        "backoffs" | "losses" if datagrams => Some(format!(
            "flow {} sends datagrams and has no congestion control that would answer losses; lost counts them",
            flow.name
        )),
        "data_gaps" | "ack_gaps" | "slow_start_exit" if connections => {
            Some(format!("flow {} is many connections, and {figure} is of one", flow.name))
        }
        "data_gaps" | "ack_gaps" => {
            let names = run.gaps.iter().map(|band| band.name.as_str());
            if names.clone().any(|name| name == below) {
                return None;
            }
            let near = did_you_mean(below, names.clone());
            let there: Vec<&str> = names.collect();
            let there = if there.is_empty() { "none".into() } else { there.join(", ") };
            Some(format!(
                "run.gaps has no band {below:?}{near} (it has {there}); add it, as in gaps = {{{below} = [\"0 us\", \"50 us\"]}}"
            ))
        }
        "mode_s" => of_modes(below, flow, datagrams, connections),
        "repair_s" if connections => {
            Some(format!("flow {} is many connections, and the time on repairs is of one", flow.name))
        }
        "jitter_ms" if connections => {
            Some(format!("flow {} is many connections, and jitter is of one stream of packets", flow.name))
        }
        "connections" if !connections => {
            Some(format!("flow {} is not made of connections that come and go; give it traffic = \"tmix\"", flow.name))
        }
        "completion_s" | "unfinished"
            if !matches!(flow.traffic, Traffic::Bytes(_) | Traffic::Web { .. } | Traffic::Dash { .. }) =>
        {
            Some(format!("flow {} makes no transfers; give it traffic bytes, web or dash", flow.name))
        }
        _ => None,
    }
}

/// Of an algorithm that the registry does not know, nothing is known.
fn of_modes(mode: &str, flow: &FlowSpec, datagrams: bool, connections: bool) -> Option<String> {
    if datagrams || connections {
        return Some(format!("flow {} has no one congestion control whose mode it could be", flow.name));
    }
    let modes = cc::find(&flow.cc.name).ok()?.about.modes;
    let names: Vec<&str> = modes.iter().map(|mode| cc::mode_name(*mode)).collect();
    match names.as_slice() {
        [] => Some(format!("{} has no modes", flow.cc.name)),
        names if names.contains(&mode) => None,
        names => {
            let near = did_you_mean(mode, names.iter().copied());
            Some(format!("{} has no mode {mode:?}{near} (it has {})", flow.cc.name, names.join(", ")))
        }
    }
}

fn of_link(leaf: &str, link: &Link) -> Option<String> {
    let cure = match link.name.as_str() {
        "return" => "give it one, in a [path] as path.up",
        _ => "give it one",
    };
    match leaf.split('.').next().unwrap_or(leaf) {
        "utilisation" | "load" if link.rate.is_none() => {
            Some(format!("link {} has no rate that it could be a share of; {cure}", link.name))
        }
        "queue_ms" if link.rate.is_none() => Some(format!("link {} has no rate, and so no queue; {cure}", link.name)),
        "arrived" | "arrived_mb" | "departed_mb" | "drop_pct" if link.only_delays() => {
            Some(format!("link {} has no rate and only delays, so that nobody counts there; {cure}", link.name))
        }
        _ => None,
    }
}
