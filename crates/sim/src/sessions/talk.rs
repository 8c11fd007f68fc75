//! What the two applications of a connection do: wait, write, and close. They neither know TCP nor a clock: the
//! simulator's endpoints play them, and so does the kernel's TCP (`tun::player`).

use experiment::tmix::{Adu, Side};
use units::{Duration, Instant};

/// The ends of a connection, as its applications see them.
pub trait Ends {
    /// Now.
    fn now(&self) -> Instant;
    /// The connection's unit of this number.
    fn unit(&self, i: u32) -> Option<Adu>;
    /// Has the opening come to its end for this side?
    fn established(&mut self, side: Side) -> bool;
    /// Payload that this side has received.
    fn received(&mut self, side: Side) -> u64;
    /// Has this side received all and the end?
    fn peer_has_closed(&mut self, side: Side) -> bool;
    /// This side has more to send.
    fn write(&mut self, side: Side, bytes: u64);
    /// This side sends no more.
    fn close(&mut self, side: Side);
    /// What was written and closed may go.
    fn go(&mut self, side: Side);
    /// [`Talk::woken`] is wanted after a while.
    fn wake(&mut self, after: Duration, lane: Side);
    /// A reply has come: its size, and how long it took.
    fn exchanged(&mut self, bytes: u64, took: Duration);
}

/// What a connection does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The opening is under way.
    Open,
    /// A unit is written when it is time.
    Wait,
    /// A unit is on its way to this side.
    Deliver(Side),
    /// All is written.
    Close,
}

/// A connection's applications.
#[derive(Clone, Copy, Debug)]
pub struct Talk {
    concurrent: bool,
    /// Units are rounded up to multiples of this.
    grain: u64,
    step: Step,
    /// Next units; in a concurrent connection of each side, else only the first counts.
    next: [u32; 2],
    /// Bytes that each side should have received when what is under way has come.
    goal: [u64; 2],
    /// A side has been told to close.
    closing: [bool; 2],
    /// When the present exchange began, and bytes of its reply under way.
    asked: Instant,
    reply: u64,
}

impl Talk {
    /// About to open.
    pub fn new(concurrent: bool, grain: u64, now: Instant) -> Self {
        let (next, goal, closing) = ([0; 2], [0; 2], [false; 2]);
        Talk { concurrent, grain, step: Step::Open, next, goal, closing, asked: now, reply: 0 }
    }

    /// Bytes that initiator and acceptor were sent.
    pub fn goal(&self) -> [u64; 2] {
        self.goal
    }

    /// What the applications do after something came, or as the connection is opened.
    pub fn go_on(&mut self, ends: &mut impl Ends) {
        let step = self.step;
        if self.reply > 0 && ends.received(Side::Initiator) >= self.goal[Side::Initiator as usize] {
            self.reply_came(ends);
        }
        match step {
            Step::Open if self.concurrent => {
                if ends.established(Side::Initiator) && ends.established(Side::Acceptor) {
                    self.step = Step::Wait;
                    for side in [Side::Initiator, Side::Acceptor] {
                        self.await_own(side, ends);
                    }
                }
            }
            Step::Open => {
                let Some(first) = ends.unit(0) else { return };
                if ends.established(first.from) {
                    self.write_after(first.wait, ends);
                }
            }
            Step::Wait | Step::Close => {}
            Step::Deliver(to) => {
                if ends.received(to) >= self.goal[to as usize] {
                    match ends.unit(self.next[0]) {
                        Some(adu) => {
                            if adu.from == Side::Acceptor {
                                // The server's own time is no part of the exchange.
                                self.asked += adu.wait;
                            }
                            self.write_after(adu.wait, ends);
                        }
                        None => self.step = Step::Close,
                    }
                }
            }
        }
        self.close_behind_peer(ends);
    }

    /// It is time for what was awaited.
    pub fn woken(&mut self, lane: Side, ends: &mut impl Ends) {
        self.write_unit(lane, ends);
    }

    /// Who has heard the peer's end and has nothing left to say closes too.
    fn close_behind_peer(&mut self, ends: &mut impl Ends) {
        for side in [Side::Initiator, Side::Acceptor] {
            if self.step == Step::Close && !self.closing[side as usize] && ends.peer_has_closed(side) {
                self.close(side, ends);
            }
        }
    }

    fn close(&mut self, side: Side, ends: &mut impl Ends) {
        if !core::mem::replace(&mut self.closing[side as usize], true) {
            ends.close(side);
            ends.go(side);
        }
    }

    fn write_after(&mut self, wait: Duration, ends: &mut impl Ends) {
        if wait.is_zero() {
            self.write_unit(Side::Initiator, ends);
        } else {
            self.await_unit(wait, Side::Initiator, ends);
        }
    }

    fn await_unit(&mut self, wait: Duration, lane: Side, ends: &mut impl Ends) {
        self.step = Step::Wait;
        ends.wake(wait, lane);
    }

    /// Writes the next unit: of a concurrent connection that of side `lane`, else whosever it is.
    fn write_unit(&mut self, lane: Side, ends: &mut impl Ends) {
        let i = self.next[lane as usize];
        let found = if self.concurrent { own_unit(lane, i, ends) } else { ends.unit(i).map(|adu| (i, adu)) };
        let Some((i, mut adu)) = found else { return };
        adu.bytes = adu.bytes.next_multiple_of(self.grain);
        let follows_reply = i > 0 && ends.unit(i - 1).is_some_and(|last| last.from == Side::Acceptor);
        self.next[lane as usize] = i + 1;
        let peer = adu.from.peer();
        self.goal[peer as usize] += adu.bytes;
        match adu.from {
            Side::Initiator if follows_reply => self.asked = ends.now(),
            Side::Acceptor => {
                let pushed = self.concurrent || i == 0 || follows_reply;
                if pushed && self.reply == 0 {
                    self.asked = ends.now();
                }
                self.reply += adu.bytes;
            }
            Side::Initiator => {}
        }
        if adu.bytes > 0 {
            ends.write(adu.from, adu.bytes);
        } else {
            self.close(adu.from, ends);
        }
        if self.concurrent {
            self.await_own(lane, ends);
        } else {
            match ends.unit(i + 1) {
                Some(next) if next.from == adu.from => self.await_unit(next.wait, Side::Initiator, ends),
                Some(_) => self.step = Step::Deliver(peer),
                None if adu.bytes > 0 => {
                    self.step = Step::Deliver(peer);
                    self.close(adu.from, ends);
                }
                None => self.step = Step::Close,
            }
        }
        ends.go(adu.from);
    }

    /// A side of a concurrent connection waits for its next unit, or closes.
    fn await_own(&mut self, side: Side, ends: &mut impl Ends) {
        match own_unit(side, self.next[side as usize], ends) {
            Some((_, adu)) => self.await_unit(adu.wait, side, ends),
            None => {
                self.close(side, ends);
                if self.closing == [true; 2] {
                    self.step = Step::Close;
                }
            }
        }
    }

    /// The client has all that is under way to it.
    fn reply_came(&mut self, ends: &mut impl Ends) {
        let now = ends.now();
        let bytes = core::mem::take(&mut self.reply);
        let asked = core::mem::replace(&mut self.asked, now);
        ends.exchanged(bytes, now.since(asked));
    }
}

/// The first unit of `side` from number `i` on.
fn own_unit(side: Side, mut i: u32, ends: &impl Ends) -> Option<(u32, Adu)> {
    loop {
        let adu = ends.unit(i)?;
        if adu.from == side {
            return Some((i, adu));
        }
        i += 1;
    }
}
