//! The probe that keeps tables: series at a step, events with causes, drops.

use crate::diftr::Diftr;
use crate::link::DropWhy;
use crate::packet::Packet;
use crate::probe::{Probe, Trace};
use crate::sessions::Roll;
use cc::EventRecord;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Column {
    F64(Vec<f64>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    U32(Vec<u32>),
    U16(Vec<u16>),
}

impl Column {
    /// The type's name in the results' schema.
    pub fn dtype(&self) -> &'static str {
        match self {
            Column::F64(_) => "f64",
            Column::U64(_) => "u64",
            Column::I64(_) => "i64",
            Column::U32(_) => "u32",
            Column::U16(_) => "u16",
        }
    }
    /// The values in little-endian order.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Column::F64(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Column::U64(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Column::I64(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Column::U32(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Column::U16(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
        }
    }
}

/// A table: named columns of equal length.
pub type Table = Vec<(&'static str, Column)>;

macro_rules! table {
    ($(#[$meta:meta])* $name:ident { $($field:ident : $ty:ty => $variant:ident),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        struct $name { $($field: Vec<$ty>),* }
        impl $name {
            fn table(&self) -> Table {
                vec![$((stringify!($field), Column::$variant(self.$field.clone()))),*]
            }
        }
    };
}

table! {
    /// One row per flow and step.
    Flows { t_s: f64 => F64, flow: u32 => U32, throughput_mbps: f64 => F64, goodput_mbps: f64 => F64, cwnd_bytes: f64 => F64,
        ssthresh_bytes: f64 => F64, rtt_ms: f64 => F64, srtt_ms: f64 => F64, in_flight_bytes: f64 => F64, pacing_mbps: f64 => F64,
        owd_ms: f64 => F64 }
}
table! {
    /// One row per link and step.
    Links { t_s: f64 => F64, link: u32 => U32, queue_ms: f64 => F64, queue_packets: u32 => U32, queue_bytes: f64 => F64,
        utilisation: f64 => F64, dropped: u32 => U32, marked: u32 => U32,
        arrived_bytes: f64 => F64, departed_bytes: f64 => F64, delay_ms: f64 => F64 }
}
table! {
    /// One row per variable and step.
    Vars { t_s: f64 => F64, source: u32 => U32, index: u32 => U32, name: u32 => U32, value: f64 => F64 }
}
table! {
    /// One row per dropped or marked packet; `reason` is the [`DropWhy`].
    Drops { time_s: f64 => F64, link: u32 => U32, flow: u32 => U32, reason: u16 => U16, marked: u16 => U16 }
}

/// What to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Series at this step.
    pub series: Option<Duration>,
    /// Series between these times only; events are kept of the whole run.
    pub window: Option<(Instant, Instant)>,
    /// Events with causes, drops and marks.
    pub events: bool,
    /// Every packet at every queue, with the queue's inner state.
    pub diftr: bool,
}

/// Keeps what it was asked for.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    keep: Keep,
    flows: Flows,
    links: Links,
    vars: Vars,
    drops: Drops,
    events: Vec<EventRecord>,
    diftr: Diftr,
    connections: Roll,
    names: Vec<&'static str>,
    name_index: BTreeMap<&'static str, u32>,
}

impl Recorder {
    /// A recorder with empty tables.
    pub fn new(keep: Keep) -> Self {
        Recorder { keep, ..Default::default() }
    }

    /// The names that `vars.name` counts.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// The events in order of time.
    pub fn events(&self) -> &[EventRecord] {
        &self.events
    }

    /// The tables by name.
    pub fn tables(&self) -> Vec<(&'static str, Table)> {
        let mut tables = Vec::new();
        if self.keep.series.is_some() {
            tables.push(("flows", self.flows.table()));
            tables.push(("links", self.links.table()));
            tables.push(("vars", self.vars.table()));
        }
        if self.keep.events {
            tables.push(("events", self.event_table()));
            tables.push(("drops", self.drops.table()));
        }
        if self.keep.diftr {
            tables.push(("diftr", self.diftr.table()));
        }
        tables
    }

    fn event_table(&self) -> Table {
        let e = &self.events;
        let value = |i: usize| Column::I64(e.iter().map(|r| r.values[i]).collect());
        vec![
            ("time_s", Column::F64(e.iter().map(|r| r.time as f64 * 1e-9).collect())),
            ("flow", Column::U32(e.iter().map(|r| r.flow).collect())),
            ("cause", Column::U16(e.iter().map(|r| r.kind).collect())),
            ("cwnd_before", Column::U64(e.iter().map(|r| r.cwnd_before).collect())),
            ("cwnd_after", Column::U64(e.iter().map(|r| r.cwnd_after).collect())),
            ("ssthresh_before", Column::U64(e.iter().map(|r| r.ssthresh_before).collect())),
            ("ssthresh_after", Column::U64(e.iter().map(|r| r.ssthresh_after).collect())),
            ("v0", value(0)),
            ("v1", value(1)),
            ("v2", value(2)),
            ("v3", value(3)),
            ("v4", value(4)),
            ("v5", value(5)),
            ("v6", value(6)),
            ("v7", value(7)),
        ]
    }

    fn in_window(&self, now: Instant) -> bool {
        self.keep.window.is_none_or(|(from, to)| (from..=to).contains(&now))
    }

    fn drop_row(&mut self, now: Instant, link: u32, packet: &Packet, reason: u16, marked: u16) {
        if self.keep.events {
            self.drops.time_s.push(now.as_secs_f64());
            self.drops.link.push(link);
            self.drops.flow.push(self.connections.whose(packet).flow);
            self.drops.reason.push(reason);
            self.drops.marked.push(marked);
        }
    }
}

impl Probe for Recorder {
    fn see(&mut self, now: Instant, trace: Trace<'_>) {
        match trace {
            Trace::Open { .. } if self.keep.events || self.keep.diftr => self.connections.hear(now, &trace),
            Trace::Drop { link, packet, why } => self.drop_row(now, link, packet, why as u16, 0),
            // A full buffer marks nothing, nor does chance.
            Trace::Mark { link, packet } => self.drop_row(now, link, packet, DropWhy::Law as u16, 1),
            Trace::Queue { link, event, packet, sojourn, queue } if self.keep.diftr => {
                let flow = self.connections.whose(packet).flow;
                self.diftr.see(now, link, event, (packet, flow), sojourn, queue);
            }
            Trace::Event(e) if self.keep.events => self.events.push(*e),
            Trace::FlowSample { .. } | Trace::LinkSample { .. } | Trace::Var { .. } if !self.in_window(now) => {}
            Trace::FlowSample { flow, sample: s } => {
                let f = &mut self.flows;
                f.t_s.push(now.as_secs_f64());
                f.flow.push(flow);
                f.throughput_mbps.push(s.throughput_mbps);
                f.goodput_mbps.push(s.goodput_mbps);
                f.cwnd_bytes.push(s.cwnd_bytes);
                f.ssthresh_bytes.push(s.ssthresh_bytes);
                f.rtt_ms.push(s.rtt_ms);
                f.srtt_ms.push(s.srtt_ms);
                f.in_flight_bytes.push(s.in_flight_bytes);
                f.pacing_mbps.push(s.pacing_mbps);
                f.owd_ms.push(s.owd_ms);
            }
            Trace::LinkSample { link, sample: s } => {
                let l = &mut self.links;
                l.t_s.push(now.as_secs_f64());
                l.link.push(link);
                l.queue_ms.push(s.queue_ms);
                l.queue_packets.push(s.queue_packets);
                l.queue_bytes.push(s.queue_bytes);
                l.utilisation.push(s.utilisation);
                l.dropped.push(s.dropped);
                l.marked.push(s.marked);
                l.arrived_bytes.push(s.arrived_bytes);
                l.departed_bytes.push(s.departed_bytes);
                l.delay_ms.push(s.delay_ms);
            }
            Trace::Var { source, index, name, value } => {
                let names = &mut self.names;
                let id = *self.name_index.entry(name).or_insert_with(|| {
                    names.push(name);
                    names.len() as u32 - 1
                });
                self.vars.t_s.push(now.as_secs_f64());
                self.vars.source.push(source as u32);
                self.vars.index.push(index);
                self.vars.name.push(id);
                self.vars.value.push(value);
            }
            _ => {}
        }
    }

    fn queues(&self) -> bool {
        self.keep.diftr
    }

    fn step(&self) -> Option<Duration> {
        self.keep.series
    }
}
