//! Packet capture: a probe that writes what passes chosen points of the network as pcapng, for Wireshark and its kin.
//!
//! `sender` and `receiver`, or what else its [`Content`] calls them, see what their hosts send and receive; a link sees
//! what leaves its queue for the wire, and a further interface, `NAME-drops`, holds what was dropped there, each packet
//! with the reason as its comment.

mod pcapng;
mod pushes;
mod wire;

pub use pcapng::{IPV4, RAW_IP};

use crate::link::DropWhy;
use crate::packet::{Packet, Way};
use crate::probe::{Probe, Trace};
use crate::sessions::Roll;
use experiment::{RateSpec, Scenario};
use pcapng::{Direction, Writer};
use pushes::Written;
use std::io::{self, Write};
use units::{Bytes, Instant};
use wire::Agreed;

const SENDER: &str = "sender";
const RECEIVER: &str = "receiver";

/// Where and whose packets are captured.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// `sender`, `receiver` or a link's name; empty is every point.
    pub points: Vec<String>,
    /// Flows by number; empty is all.
    pub flows: Vec<u32>,
}

/// Where a packet's bytes come from.
pub trait Content {
    /// What a packet's bytes begin with: [`IPV4`] or [`RAW_IP`].
    const LINK_TYPE: u16;
    /// The interfaces of the two hosts, each with its description.
    const HOSTS: [(&str, &str); 2];

    /// Which of the hosts sent a packet: the first is `Out`. A flow made of what one program answers another goes `Out`
    /// from the second.
    fn sent_by(&self, packet: &Packet) -> Way {
        packet.way
    }

    /// Hears of all that happens, before it is asked about a packet.
    fn hear(&mut self, _: Instant, _: &Trace<'_>) {}

    /// The flow of the scenario that a packet belongs to.
    fn flow(&self, packet: &Packet) -> u32 {
        packet.flow
    }

    /// Writes what is to be captured of a packet into `bytes`; returns its length at the IP layer.
    fn of(&mut self, packet: &Packet, bytes: &mut Vec<u8>) -> u32;
}

/// The headers of simulated packets.
#[derive(Debug)]
pub struct Headers {
    /// Per flow: what it agreed upon, then each of its connections, by number; and what their ends wrote, by [`Way`].
    agreed: Vec<Vec<(Agreed, [Written; 2])>>,
    /// Per flow: what its application writes at a time, or zero.
    writes: Vec<Bytes>,
    connections: Roll,
}

impl Content for Headers {
    const LINK_TYPE: u16 = IPV4;
    const HOSTS: [(&str, &str); 2] = [(SENDER, "hosts that send data"), (RECEIVER, "hosts that receive data")];

    fn hear(&mut self, now: Instant, trace: &Trace<'_>) {
        self.connections.hear(now, trace);
        match *trace {
            Trace::Open { flow, mss, scales, .. } => {
                let agreed = &mut self.agreed[flow as usize];
                agreed.push((agreed[0].0.with(mss, scales), Default::default()));
            }
            Trace::Write { place, way, bytes } => {
                let whose = self.connections.holder(place, now);
                self.agreed[whose.flow as usize][whose.connection as usize].1[way as usize].add(bytes);
            }
            _ => {}
        }
    }

    fn flow(&self, packet: &Packet) -> u32 {
        self.connections.whose(packet).flow
    }

    fn of(&mut self, packet: &Packet, bytes: &mut Vec<u8>) -> u32 {
        let whose = self.connections.whose(packet);
        let (agreed, written) = &self.agreed[whose.flow as usize][whose.connection as usize];
        let pushed = written[packet.way as usize].end_in(&packet.segment, self.writes[whose.flow as usize]);
        wire::headers(packet, whose, agreed, pushed, bytes)
    }
}

/// Writes packets as they pass. After the first error of the writer it writes no more and keeps the error.
#[derive(Debug)]
pub struct Capture<W, C = Headers> {
    writer: Result<Writer<W>, io::Error>,
    hosts: [Option<u32>; 2],
    /// Per link, the interface of what leaves it; the next one is that of its drops.
    links: Vec<Option<u32>>,
    content: C,
    /// Flows by number; empty is all.
    wanted: Vec<u32>,
    bytes: Vec<u8>,
    packets: u64,
}

/// The points that a scenario has.
pub fn points(scenario: &Scenario) -> Vec<&str> {
    // A link without a rate has no queue to leave.
    let links = scenario.links.iter().filter(|l| l.rate.is_some()).map(|l| l.name.as_str());
    [SENDER, RECEIVER].into_iter().chain(links).collect()
}

impl<W: Write> Capture<W> {
    /// Begins a file that captures what is wanted of a scenario.
    pub fn new(scenario: &Scenario, wanted: &Wanted, out: W, title: &str) -> io::Result<Self> {
        let picked = |f: &usize| wanted.flows.is_empty() || wanted.flows.contains(&(*f as u32));
        let names: Vec<([u8; 4], String)> = (0..scenario.flows.len())
            .filter(picked)
            .flat_map(|f| {
                [(Way::Out, SENDER), (Way::Back, RECEIVER)]
                    .map(|(host, word)| (wire::address(f as u32, host), format!("{}.{word}", scenario.flows[f].name)))
            })
            .collect();
        let flows = scenario.flows.iter().enumerate();
        let agreed =
            flows.map(|(f, spec)| vec![(Agreed::of(spec, &scenario.run, f as u64), Default::default())]).collect();
        let writes = scenario.flows.iter().map(|spec| spec.writes).collect();
        let content = Headers { agreed, writes, connections: Roll::default() };
        Capture::with(content, scenario, wanted, out, title, &names)
    }
}

impl<W: Write, C: Content> Capture<W, C> {
    /// The same, with the bytes of packets from elsewhere and names for addresses.
    pub fn with(
        content: C,
        scenario: &Scenario,
        wanted: &Wanted,
        out: W,
        title: &str,
        names: &[([u8; 4], String)],
    ) -> io::Result<Self> {
        let mut writer = Writer::new(out, concat!("sojourn ", env!("CARGO_PKG_VERSION")), title)?;
        let mut next = 0;
        let mut interface = |writer: &mut Writer<W>, name: &str, description: &str, drops: bool| {
            let is = wanted.points.is_empty() || wanted.points.iter().any(|p| p == name);
            if !is {
                return Ok::<_, io::Error>(None);
            }
            let mut add = |name: &str, description: &str| {
                next += 1;
                writer.interface(C::LINK_TYPE, name, description).map(|()| next - 1)
            };
            let id = add(name, description)?;
            if drops {
                add(&format!("{name}-drops"), "dropped there, with the reason as comment")?;
            }
            Ok(Some(id))
        };
        let mut hosts = [None; 2];
        for (host, (name, description)) in hosts.iter_mut().zip(C::HOSTS) {
            *host = interface(&mut writer, name, description, false)?;
        }
        let mut links = Vec::new();
        for link in &scenario.links {
            let description = match &link.rate {
                Some(RateSpec::Constant(rate)) => {
                    format!("leaving {} for the wire at {} bit/s", link.queue.name, rate.as_bps())
                }
                _ => format!("leaving {} for the wire", link.queue.name),
            };
            let seen = link.rate.is_some();
            links.push(if seen { interface(&mut writer, &link.name, &description, true)? } else { None });
        }
        writer.names(names.iter().map(|(address, name)| (*address, name.as_str())))?;
        Ok(Capture {
            writer: Ok(writer),
            hosts,
            links,
            content,
            wanted: wanted.flows.clone(),
            bytes: Vec::with_capacity(128),
            packets: 0,
        })
    }

    /// Ends the file. How many packets it holds, or why it could not be written.
    pub fn finish(self) -> io::Result<(u64, W)> {
        let packets = self.packets;
        self.writer?.finish().map(|out| (packets, out))
    }

    fn write(&mut self, interface: u32, now: Instant, packet: &Packet, way: Option<Direction>, comment: &str) {
        let Ok(writer) = &mut self.writer else { return };
        self.bytes.clear();
        let length = self.content.of(packet, &mut self.bytes);
        match writer.packet(interface, now.as_nanos(), &self.bytes, length, way, comment) {
            Ok(()) => self.packets += 1,
            Err(error) => self.writer = Err(error),
        }
    }

    fn at_host(&mut self, now: Instant, packet: &Packet, way: Direction) {
        let leaves = matches!(way, Direction::Out);
        let first = (self.content.sent_by(packet) == Way::Out) == leaves;
        if let Some(interface) = self.hosts[usize::from(!first)] {
            self.write(interface, now, packet, Some(way), "");
        }
    }
}

impl<W: Write, C: Content> Probe for Capture<W, C> {
    fn see(&mut self, now: Instant, trace: Trace<'_>) {
        self.content.hear(now, &trace);
        let (Trace::Send { packet }
        | Trace::Deliver { packet }
        | Trace::Dequeue { packet, .. }
        | Trace::Drop { packet, .. }) = trace
        else {
            return;
        };
        if !self.wanted.is_empty() && !self.wanted.contains(&self.content.flow(packet)) {
            return;
        }
        match trace {
            Trace::Send { .. } => self.at_host(now, packet, Direction::Out),
            Trace::Deliver { .. } => self.at_host(now, packet, Direction::In),
            Trace::Dequeue { link, .. } => {
                if let Some(Some(interface)) = self.links.get(link as usize).copied() {
                    self.write(interface, now, packet, Some(Direction::Out), "");
                }
            }
            Trace::Drop { link, why, .. } => {
                if let Some(Some(interface)) = self.links.get(link as usize).copied() {
                    let why = match why {
                        DropWhy::Overflow => "dropped: the buffer was full",
                        DropWhy::Law => "dropped by the law",
                        DropWhy::Random => "dropped by chance",
                    };
                    self.write(interface + 1, now, packet, None, why);
                }
            }
            _ => {}
        }
    }
}
