//! How many inner variables a congestion control and a queue show: rows beside each sample of a series.

use crate::packet::Packet;
use aqm::LinkInfo;
use experiment::MTU;
use params::Spec;
use units::{Bytes, Duration, Rate, Rng};

/// Those of a congestion control with the slow start, of all that it takes, that shows the most.
pub fn by_control(entry: &cc::Entry) -> usize {
    let own = Spec::named(entry.about.name);
    let with = cc::SLOW_STARTS.iter().map(|start| {
        let mut spec = own.clone();
        spec.args.push(("slow_start".into(), start.name.into()));
        spec
    });
    let counts = with.chain([own.clone()]).filter_map(|spec| {
        let mut flow = cc::Flow::new(Bytes::new(1_448), Bytes::new(14_480));
        let cc = entry.build(&spec, &mut flow, Rng::new(0, 0, 0)).ok()?;
        Some(count(|see| cc.vars(see)))
    });
    counts.max().unwrap_or(0)
}

/// Those of a queue as it comes.
pub fn by_queue(about: &aqm::About) -> usize {
    let link = LinkInfo { rate: Rate::from_mbps(10.0), delay: Duration::from_millis(10), mtu: MTU, limit: None };
    let queue = aqm::build::<Packet>(&Spec::named(about.name), &link, Rng::new(0, 0, 0));
    queue.map_or(0, |queue| count(|see| queue.vars(see)))
}

fn count(vars: impl FnOnce(&mut dyn FnMut(&'static str, f64))) -> usize {
    let mut n = 0;
    vars(&mut |_, _| n += 1);
    n
}
