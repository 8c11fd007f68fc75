//! Whose a packet is, for those who watch. A packet of a connection carries the number of a place among the nodes, and a
//! place is used again while packets of its last connection may still be on their way.

use crate::packet::Packet;
use crate::probe::Trace;
use std::collections::BTreeMap;
use units::Instant;

/// A flow of the experiment, and which of its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whose {
    /// The flow's number in the experiment.
    pub flow: u32,
    /// In the order in which they were opened, from 1; 0 where the flow is one connection itself.
    pub connection: u32,
}

/// What a probe has heard of connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roll(BTreeMap<u32, Held>);

#[derive(Clone, Debug)]
struct Held {
    flow: u32,
    /// Who had the place, and since when.
    by: Vec<(Instant, u32)>,
}

impl Roll {
    /// Takes down a connection that is opened.
    pub fn hear(&mut self, now: Instant, trace: &Trace<'_>) {
        if let Trace::Open { place, flow, connection, .. } = *trace {
            self.0.entry(place).or_insert(Held { flow, by: Vec::new() }).by.push((now, connection));
        }
    }

    /// Whose it is.
    pub fn whose(&self, packet: &Packet) -> Whose {
        self.holder(packet.flow, packet.born)
    }

    /// Who has the place at this time.
    pub fn holder(&self, place: u32, at: Instant) -> Whose {
        let Some(held) = self.0.get(&place) else { return Whose { flow: place, connection: 0 } };
        // A place is not given away in the moment it was closed in.
        let until = held.by.partition_point(|(since, _)| *since <= at);
        let connection = until.checked_sub(1).map_or(0, |i| held.by[i].1);
        Whose { flow: held.flow, connection }
    }
}
