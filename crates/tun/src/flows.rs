//! Which flow of the world a packet belongs to, and which way it goes.

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
    template: FlowSpec,
    /// The links to the near end, and to the far end.
    ways: [Vec<LinkId>; 2],
    specs: Vec<FlowSpec>,
    /// Where each flow goes, the template's first.
    ends: Vec<End>,
}

/// So many conversations are told apart; any more share the last two flows. Each has counters and histograms of its own.
const MOST: usize = 20_000;
/// Addresses of an experiment's senders: 10.202.0.1 is flow 0's.
pub const SENDERS: u32 = 0x0aca_0001;
/// Addresses of its receivers: 10.203.0.1 is flow 0's.
pub const RECEIVERS: u32 = 0x0acb_0001;

impl Sorter {
    /// For programs: `template` gives what all flows share, its routes the links to the near end and back.
    pub fn programs(template: &FlowSpec) -> Self {
        let ways = [template.route.clone(), template.back.clone()];
        Sorter::Programs(Box::new(Programs {
            known: HashMap::new(),
            template: template.clone(),
            ways,
            specs: Vec::new(),
            ends: vec![End::Near],
        }))
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
            Sorter::Programs(p) => {
                let to = end.other();
                if let Some(&flow) = p.known.get(&(frame.key, to as u8)) {
                    return Ok(Some((flow, Way::Out)));
                }
                let flow = p.meet(world, to, &frame.key)?;
                p.known.insert((frame.key, to as u8), flow);
                Ok(Some((flow, Way::Out)))
            }
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
    fn meet<P: Probe>(&mut self, world: &mut World<P>, to: End, key: &Key) -> Result<u32, RunError> {
        let way = if to == End::Near { "down" } else { "up" };
        let full = self.specs.len() + 2 >= MOST;
        let name = if full { format!("{way}-others") } else { self.name(way, key) };
        if full && let Some(i) = self.specs.iter().position(|s| s.name == name) {
            return Ok(i as u32 + 1);
        }
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
    fn name(&self, way: &str, key: &Key) -> String {
        let [from, to] = key.ports;
        let name = match key.protocol {
            6 => format!("{way}-tcp-{from}-{to}"),
            17 => format!("{way}-udp-{from}-{to}"),
            1 | 58 => format!("{way}-icmp"),
            other => format!("{way}-ip-{other}"),
        };
        let same = |s: &&FlowSpec| s.name == name || s.name.strip_prefix(&name).is_some_and(|r| r.starts_with("-n"));
        match self.specs.iter().filter(same).count() {
            0 => name,
            n => format!("{name}-n{}", n + 1),
        }
    }
}
