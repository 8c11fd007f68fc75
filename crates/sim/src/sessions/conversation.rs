//! The applications of a connection over the simulator's endpoints.

use super::talk::{Ends, Talk};
use crate::node::{Tcp, Transport};
use crate::packet::Way;
use crate::probe::{Probe, Trace};
use crate::world::{Entry, World};
use experiment::tmix::{Adu, Side};
use tcp::Endpoint;
use units::{Duration, Instant};

/// A connection's ends in the world.
struct Within<'a, P: Probe> {
    world: &'a mut World<P>,
    node: u32,
}

impl<P: Probe> Within<'_, P> {
    fn endpoint(&mut self, side: Side) -> &mut Endpoint {
        let Transport::Tcp(Tcp { sender, receiver, .. }) = &mut self.world.nodes[self.node as usize].transport else {
            unreachable!("a connection's place is of TCP")
        };
        match side {
            Side::Initiator => receiver,
            Side::Acceptor => sender,
        }
    }
}

impl<P: Probe> Ends for Within<'_, P> {
    fn now(&self) -> Instant {
        self.world.now
    }

    fn unit(&self, i: u32) -> Option<Adu> {
        self.world.sessions.unit(self.node, i)
    }

    fn established(&mut self, side: Side) -> bool {
        self.endpoint(side).is_established()
    }

    fn received(&mut self, side: Side) -> u64 {
        self.endpoint(side).received()
    }

    fn peer_has_closed(&mut self, side: Side) -> bool {
        self.endpoint(side).peer_has_closed()
    }

    fn write(&mut self, side: Side, bytes: u64) {
        let now = self.world.now;
        if P::ON {
            let way = if side == Side::Acceptor { Way::Out } else { Way::Back };
            self.world.probe.see(now, Trace::Write { place: self.node, way, bytes });
        }
        self.endpoint(side).write(now, bytes);
    }

    fn close(&mut self, side: Side) {
        let now = self.world.now;
        self.endpoint(side).close(now);
    }

    fn go(&mut self, side: Side) {
        self.world.pump(self.node, side == Side::Initiator);
    }

    fn wake(&mut self, after: Duration, lane: Side) {
        let generation = self.world.sessions.place(self.node).generation;
        let entry = Entry::Connection(self.node, generation, lane == Side::Acceptor);
        self.world.enter(self.world.now + after, entry);
    }

    fn exchanged(&mut self, bytes: u64, took: Duration) {
        let flow = self.world.sessions.flow(self.node);
        self.world.exchanged(flow, bytes, took);
    }
}

impl<P: Probe> World<P> {
    /// What the applications do after a segment came, or as the connection is opened.
    pub(super) fn converse(&mut self, node: u32) {
        self.talk(node, |talk, ends| talk.go_on(ends));
    }

    /// The calendar's turn: a unit is written, if the connection still is the one that waited.
    pub(crate) fn connection_wakes(&mut self, node: u32, generation: u32, acceptor: bool) {
        if self.sessions.place(node).generation != generation || !self.nodes[node as usize].started {
            return;
        }
        let lane = if acceptor { Side::Acceptor } else { Side::Initiator };
        self.talk(node, |talk, ends| talk.woken(lane, ends));
        self.close_if_done(node);
    }

    fn talk(&mut self, node: u32, act: impl FnOnce(&mut Talk, &mut Within<'_, P>)) {
        let mut talk = self.sessions.place(node).talk;
        act(&mut talk, &mut Within { world: self, node });
        self.sessions.place(node).talk = talk;
    }
}
