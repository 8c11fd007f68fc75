//! Whose turn it is: flows on lists, threaded through the flows.

use super::slab::NONE;
use units::Bytes;

/// The list a flow is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    Neither,
    New,
    Old,
}

/// A sub-queue.
#[derive(Debug)]
pub(super) struct Flow<L> {
    pub law: L,
    pub head: u32,
    pub tail: u32,
    /// The next flow on the same list.
    pub next: u32,
    pub on: On,
    /// Bytes it may still send this turn.
    pub credit: i64,
    pub largest: Bytes,
}

/// A list of flows threaded through their `next`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    pub first: u32,
    last: u32,
    pub len: u32,
}

impl Turns {
    pub const EMPTY: Turns = Turns { first: NONE, last: NONE, len: 0 };

    pub fn push<L>(&mut self, flows: &mut [Flow<L>], i: u32) {
        flows[i as usize].next = NONE;
        if self.first == NONE {
            self.first = i;
        } else {
            flows[self.last as usize].next = i;
        }
        self.last = i;
        self.len += 1;
    }

    pub fn pop<L>(&mut self, flows: &[Flow<L>]) {
        self.first = flows[self.first as usize].next;
        self.len -= 1;
    }
}
