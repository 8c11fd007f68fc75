//! What the two applications of a connection do: wait, write, and close.

use super::Step;
use crate::node::{Tcp, Transport};
use crate::probe::Probe;
use crate::summary::BINS;
use crate::world::{Entry, World};
use experiment::tmix::Side;
use tcp::Endpoint;
use units::Duration;

fn endpoint(tcp: &mut Tcp, side: Side) -> &mut Endpoint {
    match side {
        Side::Initiator => &mut tcp.receiver,
        Side::Acceptor => &mut tcp.sender,
    }
}

impl<P: Probe> World<P> {
    /// What the applications do after a segment came, or as the connection is opened.
    pub(super) fn converse(&mut self, node: u32) {
        let place = &self.sessions.places[(node - self.sessions.fixed) as usize];
        let (step, concurrent) = (place.step, place.concurrent);
        let goal = place.goal;
        let pending = place.reply > 0;
        let Transport::Tcp(tcp) = &mut self.nodes[node as usize].transport else { return };
        if pending && tcp.receiver.received() >= goal[Side::Initiator as usize] {
            self.reply_came(node);
        }
        let Transport::Tcp(tcp) = &mut self.nodes[node as usize].transport else { return };
        match step {
            Step::Open if concurrent => {
                if tcp.receiver.is_established() && tcp.sender.is_established() {
                    self.sessions.place(node).step = Step::Wait;
                    for side in [Side::Initiator, Side::Acceptor] {
                        self.await_own(node, side);
                    }
                }
            }
            Step::Open => {
                let Some(first) = self.sessions.unit(node, 0) else { return };
                if endpoint(tcp, first.from).is_established() {
                    self.write_after(node, first.wait);
                }
            }
            Step::Wait | Step::Close => {}
            Step::Deliver(to) => {
                if endpoint(tcp, to).received() >= goal[to as usize] {
                    let next = self.sessions.place(node).next[0];
                    match self.sessions.unit(node, next) {
                        Some(adu) => {
                            if adu.from == Side::Acceptor {
                                // The server's own time is no part of the exchange.
                                self.sessions.place(node).asked += adu.wait;
                            }
                            self.write_after(node, adu.wait);
                        }
                        None => self.sessions.place(node).step = Step::Close,
                    }
                }
            }
        }
        self.close_behind_peer(node);
    }

    /// Who has heard the peer's FIN and has nothing left to say closes too.
    fn close_behind_peer(&mut self, node: u32) {
        for side in [Side::Initiator, Side::Acceptor] {
            let place = &self.sessions.places[(node - self.sessions.fixed) as usize];
            if place.step != Step::Close || place.closing[side as usize] {
                continue;
            }
            let Transport::Tcp(tcp) = &mut self.nodes[node as usize].transport else { return };
            if endpoint(tcp, side).peer_has_closed() {
                self.close_side(node, side);
            }
        }
    }

    fn close_side(&mut self, node: u32, side: Side) {
        let now = self.now;
        let closing = &mut self.sessions.place(node).closing[side as usize];
        if core::mem::replace(closing, true) {
            return;
        }
        let Transport::Tcp(tcp) = &mut self.nodes[node as usize].transport else { return };
        endpoint(tcp, side).close(now);
        self.pump(node, side == Side::Initiator);
    }

    fn write_after(&mut self, node: u32, wait: Duration) {
        if wait.is_zero() {
            self.write_unit(node, Side::Initiator);
        } else {
            self.await_unit(node, wait, Side::Initiator);
        }
    }

    fn await_unit(&mut self, node: u32, wait: Duration, lane: Side) {
        let place = self.sessions.place(node);
        place.step = Step::Wait;
        let generation = place.generation;
        self.enter(self.now + wait, Entry::Connection(node, generation, lane == Side::Acceptor));
    }

    /// The calendar's turn: a unit is written, if the connection still is the one that waited.
    pub(crate) fn connection_wakes(&mut self, node: u32, generation: u32, acceptor: bool) {
        if self.sessions.place(node).generation != generation || !self.nodes[node as usize].started {
            return;
        }
        self.write_unit(node, if acceptor { Side::Acceptor } else { Side::Initiator });
        self.close_if_done(node);
    }

    /// Writes the next unit: of a concurrent connection that of side `lane`, else whosever it is.
    fn write_unit(&mut self, node: u32, lane: Side) {
        let now = self.now;
        let place = self.sessions.place(node);
        let (concurrent, i) = (place.concurrent, place.next[lane as usize]);
        let found = if concurrent {
            self.sessions.own_unit(node, lane, i)
        } else {
            self.sessions.unit(node, i).map(|adu| (i, adu))
        };
        let Some((i, mut adu)) = found else { return };
        adu.bytes = adu.bytes.next_multiple_of(self.sessions.place(node).grain);
        let follows_reply = i > 0 && self.sessions.unit(node, i - 1).is_some_and(|last| last.from == Side::Acceptor);
        let place = self.sessions.place(node);
        place.next[lane as usize] = i + 1;
        let peer = adu.from.peer();
        place.goal[peer as usize] += adu.bytes;
        match adu.from {
            Side::Initiator if follows_reply => place.asked = now,
            Side::Acceptor => {
                let pushed = concurrent || i == 0 || follows_reply;
                if pushed && place.reply == 0 {
                    place.asked = now;
                }
                place.reply += adu.bytes;
            }
            Side::Initiator => {}
        }
        if adu.bytes > 0 {
            let Transport::Tcp(tcp) = &mut self.nodes[node as usize].transport else { return };
            endpoint(tcp, adu.from).write(now, adu.bytes);
        } else {
            self.close_side(node, adu.from);
        }
        if concurrent {
            self.await_own(node, lane);
        } else {
            let next = self.sessions.unit(node, i + 1);
            match next {
                Some(next) if next.from == adu.from => self.await_unit(node, next.wait, Side::Initiator),
                Some(_) => self.sessions.place(node).step = Step::Deliver(peer),
                None if adu.bytes > 0 => {
                    self.sessions.place(node).step = Step::Deliver(peer);
                    self.close_side(node, adu.from);
                }
                None => self.sessions.place(node).step = Step::Close,
            }
        }
        self.pump(node, adu.from == Side::Initiator);
    }

    /// A side of a concurrent connection waits for its next unit, or closes.
    fn await_own(&mut self, node: u32, side: Side) {
        let from = self.sessions.place(node).next[side as usize];
        match self.sessions.own_unit(node, side, from) {
            Some((_, adu)) => {
                self.await_unit(node, adu.wait, side);
            }
            None => {
                self.close_side(node, side);
                let place = self.sessions.place(node);
                if place.closing == [true; 2] {
                    place.step = Step::Close;
                }
            }
        }
    }

    /// The client has all that is under way to it.
    fn reply_came(&mut self, node: u32) {
        let (now, measuring) = (self.now, self.measuring);
        let place = self.sessions.place(node);
        let bytes = core::mem::take(&mut place.reply);
        let (flow, asked) = (place.flow, place.asked);
        place.asked = now;
        if bytes > 0 && measuring {
            let bin = BINS.iter().position(|most| bytes <= *most).unwrap_or(BINS.len() - 1);
            self.sessions.source(flow).count.exchanges[bin].add(now.since(asked));
        }
    }
}
