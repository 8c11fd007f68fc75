//! Which flow of the world a packet belongs to, and which way it goes.

use crate::addresses::SENDERS;
use crate::frame::{Frame, Key};
use experiment::{FlowSpec, LinkId};
use sim::packet::Way;
use sim::probe::Probe;
use sim::{RunError, World};
use std::collections::HashMap;
use units::Duration;

/// The two ends of the network. For programs, `Near` is where they run; for an experiment's flows, where senders are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Programs; senders.
    Near = 0,
    /// The rest of the world; receivers.
    Far = 1,
}

impl End {
    /// The other one.
    pub fn other(self) -> End {
        if self == End::Near { End::Far } else { End::Near }
    }
}

/// Tells packets apart.
#[derive(Debug)]
pub enum Sorter {
    /// Whatever programs send: every direction of every conversation is a flow of its own.
    Programs(Box<Programs>),
    /// An experiment's flows, by the addresses of their senders.
    Experiment {
        /// How many there are.
        flows: u32,
    },
}

/// Flows that appear as their first packets come.
#[derive(Debug)]
pub struct Programs {
    known: HashMap<(Key, u8), u32>,
    /// How many conversations were called so, without the number that tells them apart.
    called: HashMap<String, u32>,
    /// The flows of those beyond `most`, to either end.
    others: [Option<u32>; 2],
    most: usize,
    template: FlowSpec,
    /// The links to the near end, and to the far end.
    ways: [Vec<LinkId>; 2],
    specs: Vec<FlowSpec>,
    /// Where each flow goes, the template's first.
    ends: Vec<End>,
}

/// So many conversations are told apart; any more share the last two flows. Each has counters and histograms of its own.
const MOST: usize = 20_000;

impl Sorter {
    /// For programs: `template` gives what all flows share, its routes the links to the near end and back.
    pub fn programs(template: &FlowSpec) -> Self {
        Sorter::Programs(Box::new(Programs::new(template, MOST)))
    }

    /// The flow and way of a packet that comes from `end`; `None` for one that is nobody's.
    pub fn sort<P: Probe>(
        &mut self,
        world: &mut World<P>,
        end: End,
        frame: &Frame,
    ) -> Result<Option<(u32, Way)>, RunError> {
        match self {
            Sorter::Experiment { flows } => {
                let address = |i: usize| {
                    let [a, b, c, d, ..] = frame.key.addresses[i];
                    u32::from_be_bytes([a, b, c, d])
                };
                let (at, way) = if end == End::Near { (0, Way::Out) } else { (1, Way::Back) };
                let flow = address(at).wrapping_sub(SENDERS);
                Ok((frame.key.version == 4 && flow < *flows).then_some((flow, way)))
            }
            Sorter::Programs(p) => Ok(Some((p.flow(world, end.other(), &frame.key)?, Way::Out))),
        }
    }

    /// Where a flow's packets come out.
    pub fn towards(&self, flow: u32, way: Way) -> End {
        match (self, way) {
            (Sorter::Programs(p), _) => p.ends.get(flow as usize).copied().unwrap_or(End::Far),
            (Sorter::Experiment { .. }, Way::Out) => End::Far,
            (Sorter::Experiment { .. }, Way::Back) => End::Near,
        }
    }

    /// What was made of conversations, by number from the second flow on; the first is the template's.
    pub fn specs(&self) -> &[FlowSpec] {
        match self {
            Sorter::Programs(p) => &p.specs,
            Sorter::Experiment { .. } => &[],
        }
    }
}

impl Programs {
    fn new(template: &FlowSpec, most: usize) -> Self {
        Programs {
            known: HashMap::new(),
            called: HashMap::new(),
            others: [None; 2],
            most,
            template: template.clone(),
            ways: [template.route.clone(), template.back.clone()],
            specs: Vec::new(),
            ends: vec![End::Near],
        }
    }

    fn flow<P: Probe>(&mut self, world: &mut World<P>, to: End, key: &Key) -> Result<u32, RunError> {
        if let Some(&flow) = self.known.get(&(*key, to as u8)) {
            return Ok(flow);
        }
        let way = if to == End::Near { "down" } else { "up" };
        if self.specs.len() + 2 < self.most {
            let name = self.name(way, key);
            let flow = self.add(world, to, name)?;
            self.known.insert((*key, to as u8), flow);
            return Ok(flow);
        }
        // Not among the known: a scan of ports would make these grow without end.
        if let Some(flow) = self.others[to as usize] {
            return Ok(flow);
        }
        let flow = self.add(world, to, format!("{way}-others"))?;
        self.others[to as usize] = Some(flow);
        Ok(flow)
    }

    fn add<P: Probe>(&mut self, world: &mut World<P>, to: End, name: String) -> Result<u32, RunError> {
        let mut spec = self.template.clone();
        spec.name = name;
        spec.route = self.ways[to as usize].clone();
        spec.back = Vec::new();
        spec.base_rtt = Duration::ZERO;
        for &l in self.ways.iter().flatten() {
            spec.base_rtt += world.scenario().links[l].delay;
        }
        self.specs.push(spec.clone());
        self.ends.push(to);
        world.add_flow(spec)
    }

    /// `down-tcp-5201-40000`; the same ports between other addresses get a number behind.
    fn name(&mut self, way: &str, key: &Key) -> String {
        let [from, to] = key.ports;
        let name = match key.protocol {
            6 => format!("{way}-tcp-{from}-{to}"),
            17 => format!("{way}-udp-{from}-{to}"),
            1 | 58 => format!("{way}-icmp"),
            other => format!("{way}-ip-{other}"),
        };
        // Counted rather than looked for: this is the thread that keeps the links' time.
        let n = self.called.entry(name.clone()).or_default();
        *n += 1;
        if *n == 1 { name } else { format!("{name}-n{n}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::Options;

    fn world() -> World<()> {
        let experiment = experiment::parse("10Mbit/s 20ms 80packets fifo: newreno", "test").expect("it is sound");
        let scenario = experiment.case(0).expect("a case").scenario;
        World::new(&scenario, (), Options { outside: true, ..Options::default() }).expect("a world")
    }

    fn conversation(host: u8, port: u16) -> Key {
        let mut source = [0; 16];
        source[3] = host;
        Key { addresses: [source, [9; 16]], ports: [port, 80], protocol: 6, version: 4 }
    }

    #[test]
    fn equal_ports_between_other_addresses_have_a_number() {
        let mut world = world();
        let mut programs = Programs::new(&world.scenario().flows[0].clone(), MOST);
        for (host, port) in [(1, 5), (2, 5), (1, 50), (3, 5), (2, 5)] {
            programs.flow(&mut world, End::Far, &conversation(host, port)).expect("a flow");
        }
        programs.flow(&mut world, End::Near, &conversation(1, 5)).expect("a flow");
        let names: Vec<_> = programs.specs.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["up-tcp-5-80", "up-tcp-5-80-n2", "up-tcp-50-80", "up-tcp-5-80-n3", "down-tcp-5-80"]);
    }

    #[test]
    fn a_scan_of_ports_takes_no_more_room_than_there_is() {
        let mut world = world();
        let mut programs = Programs::new(&world.scenario().flows[0].clone(), 5);
        let mut flow = |to, port| programs.flow(&mut world, to, &conversation(1, port)).expect("a flow");
        let first: Vec<_> = (1..=3).map(|port| flow(End::Far, port)).collect();
        let (up, down) = (flow(End::Far, 4), flow(End::Near, 4));
        for port in 5..1000 {
            assert_eq!((flow(End::Far, port), flow(End::Near, port)), (up, down));
        }
        assert_eq!((first, up, down, flow(End::Far, 2)), (vec![1, 2, 3], 4, 5, 2));
        assert_eq!((programs.known.len(), programs.called.len(), programs.specs.len()), (3, 3, 5));
        assert_eq!(
            programs.specs[3..].iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
            ["up-others", "down-others"]
        );
        assert_eq!(programs.ends[4..], [End::Far, End::Near]);
    }
}
