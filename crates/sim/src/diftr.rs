//! The table `diftr`: what happened to each packet at each queue, and the queue's inner state at that moment, as the HLDG
//! thesis' DIFTR ("Dummynet Information For TCP Research") logs from inside dummynet.

use crate::packet::Packet;
use crate::record::{Column, Table};
use aqm::Qdisc;
use units::{Duration, Instant};

/// What happened to a packet. Numbers are those of the column `event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Event {
    /// It was taken in.
    Enqueue = 0,
    /// It left the queue.
    Dequeue = 1,
    /// It left the link, the propagation delay over.
    Send = 2,
    /// The buffer was full.
    DropFull = 3,
    /// The law dropped it.
    DropLaw = 4,
    /// Chance took it (`plr` in dummynet).
    DropRandom = 5,
    /// It was marked; its enqueue or dequeue has a row of its own.
    Mark = 6,
}

/// Names of the events in order of their numbers, and what they say.
pub const EVENTS: [(&str, &str); 7] = [
    ("enqueue", "It was taken in; the queue holds it already."),
    ("dequeue", "It left the queue, after `sojourn_ms`; the queue no longer holds it."),
    ("send", "It left the link, the propagation delay over."),
    ("drop_full", "The buffer was full: the arriving packet, or one that was held."),
    ("drop_law", "The law dropped it."),
    ("drop_random", "Chance took it (dummynet's `plr`)."),
    ("mark", "It was marked; its enqueue or dequeue has a row of its own."),
];

/// Columns of every row, and what they hold.
pub const COLUMNS: [(&str, &str); 9] = [
    ("time_s", "Time."),
    ("link", "Number of the link (`link_name`: its name)."),
    ("event", "What happened."),
    ("flow", "Number of the packet's flow (`flow_name`: its name)."),
    ("way", "0 on the way to the receiver, 1 on the way back."),
    ("size", "Size at the IP layer."),
    ("packets", "Packets in the queue."),
    ("bytes", "Data in the queue."),
    ("sojourn_ms", "Time from enqueue to dequeue; empty in other rows."),
];

/// The rows. Columns of inner state come with the first queue that shows them; rows without hold NaN.
#[derive(Clone, Debug, Default)]
pub struct Diftr {
    time_s: Vec<f64>,
    link: Vec<u32>,
    event: Vec<u16>,
    flow: Vec<u32>,
    way: Vec<u16>,
    size: Vec<u32>,
    packets: Vec<u32>,
    bytes: Vec<u64>,
    sojourn_ms: Vec<f64>,
    vars: Vec<(&'static str, Vec<f64>)>,
}

impl Diftr {
    /// Adds a row of a packet and the flow it belongs to.
    pub fn see(
        &mut self,
        now: Instant,
        link: u32,
        event: Event,
        (packet, flow): (&Packet, u32),
        sojourn: Option<Duration>,
        queue: &dyn Qdisc<Packet>,
    ) {
        self.time_s.push(now.as_secs_f64());
        self.link.push(link);
        self.event.push(event as u16);
        self.flow.push(flow);
        self.way.push(packet.way as u16);
        self.size.push(packet.size);
        self.packets.push(queue.len() as u32);
        self.bytes.push(queue.backlog().get());
        self.sojourn_ms.push(sojourn.map_or(f64::NAN, Duration::as_millis_f64));
        let rows = self.time_s.len();
        queue.vars_of(aqm::Packet::flow(packet), &mut |name, value| {
            let i = self.vars.iter().position(|(n, _)| *n == name).unwrap_or_else(|| {
                self.vars.push((name, Vec::new()));
                self.vars.len() - 1
            });
            let column = &mut self.vars[i].1;
            column.resize(rows - 1, f64::NAN);
            column.push(value);
        });
    }

    /// As columns.
    pub fn table(&self) -> Table {
        let mut table: Table = vec![
            ("time_s", Column::F64(self.time_s.clone())),
            ("link", Column::U32(self.link.clone())),
            ("event", Column::U16(self.event.clone())),
            ("flow", Column::U32(self.flow.clone())),
            ("way", Column::U16(self.way.clone())),
            ("size", Column::U32(self.size.clone())),
            ("packets", Column::U32(self.packets.clone())),
            ("bytes", Column::U64(self.bytes.clone())),
            ("sojourn_ms", Column::F64(self.sojourn_ms.clone())),
        ];
        // In the order of the list, whichever queue came first.
        for var in aqm::VARS {
            if let Some((name, values)) = self.vars.iter().find(|(name, _)| *name == var.name) {
                let mut values = values.clone();
                values.resize(self.time_s.len(), f64::NAN);
                table.push((name, Column::F64(values)));
            }
        }
        table
    }
}
