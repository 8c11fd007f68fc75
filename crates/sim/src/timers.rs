//! The hosts' timers: thousands, mostly put off before they are reached. A wheel holds them unsorted by the quarter of a
//! millisecond and sorts only the quarter that comes next: with a thousand flows half a dozen.

use crate::prefetch;
use units::Instant;

/// Nanoseconds of a slot: 2^18, about a quarter of a millisecond.
const SLOT_BITS: u32 = 18;
/// Slots of the wheel: what lies more than a turn (about a second) ahead shares slots with nearer timers.
const SLOTS: u64 = 4096;

/// A timer that goes off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// When.
    pub at: Instant,
    /// Equal times are served first come, first served.
    pub order: u64,
    /// Whose: flow, and the receiver's or not.
    pub flow: u32,
    /// The receiver's.
    pub receiver: bool,
}

impl Timer {
    #[inline]
    fn slot(&self) -> u64 {
        self.at.as_nanos() >> SLOT_BITS
    }
}

/// Whose timers they are. Most deadlines are put off before they come, so they are asked once more when their slot does, all
/// of a slot at a time: then their state can be fetched together.
pub trait Owners {
    /// Fetches what the answer depends on.
    fn fetch(&self, timer: &Timer);
    /// What the timer stands for by now: itself, a later one, or none.
    fn renew(&mut self, timer: Timer) -> Option<Timer>;
}

/// Owners who say nothing until a timer goes off.
pub struct Strict;

impl Owners for Strict {
    #[inline]
    fn fetch(&self, _: &Timer) {}
    #[inline]
    fn renew(&mut self, timer: Timer) -> Option<Timer> {
        Some(timer)
    }
}

/// No place.
const NONE: u32 = u32::MAX;

/// A timer in the wheel, and the place of the next one of its slot.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    at: Instant,
    order: u64,
    /// Its flow times two, and one for the receiver's.
    whose: u32,
    next: u32,
}

/// All timers. One that is set anew is not looked for: whoever takes it out later knows it by its order.
///
/// A slot is a chain through one store, whose places are taken again as soon as they are free: a vector for each slot would
/// spread a few thousand timers over a megabyte that is touched once a turn, and push flows out of the caches.
#[derive(Debug)]
pub struct Timers {
    wheel: Vec<u32>,
    store: Vec<Waiting>,
    /// The chain of free places.
    free: u32,
    /// A bit for every slot that holds something.
    full: [u64; (SLOTS / 64) as usize],
    /// The timers of slot `present`, latest first; empty only if there are none at all.
    next: Vec<Timer>,
    /// Walks through the chain that comes next while the present slot's timers go off, and fetches it.
    ahead: u32,
    present: u64,
    /// How many lie in the wheel.
    waiting: usize,
}

impl Timers {
    /// None.
    pub fn new() -> Self {
        Timers {
            wheel: vec![NONE; SLOTS as usize],
            store: Vec::new(),
            free: NONE,
            full: [0; (SLOTS / 64) as usize],
            next: Vec::new(),
            ahead: NONE,
            present: 0,
            waiting: 0,
        }
    }

    /// The next to go off.
    #[inline]
    pub fn next(&self) -> Option<&Timer> {
        self.next.last()
    }

    /// Adds one. True if it is the next.
    #[inline]
    pub fn add(&mut self, timer: Timer) -> bool {
        let slot = timer.slot();
        if slot > self.present && !self.next.is_empty() {
            self.put(timer);
            return false;
        }
        self.add_near(timer, slot)
    }

    fn put(&mut self, timer: Timer) {
        let i = timer.slot() % SLOTS;
        let slot = &mut self.wheel[i as usize];
        let whose = timer.flow << 1 | u32::from(timer.receiver);
        let waiting = Waiting { at: timer.at, order: timer.order, whose, next: *slot };
        *slot = self.free;
        match self.store.get_mut(self.free as usize) {
            Some(place) => {
                self.free = place.next;
                *place = waiting;
            }
            None => {
                *slot = self.store.len() as u32;
                self.store.push(waiting);
            }
        }
        self.full[(i / 64) as usize] |= 1 << (i % 64);
        self.waiting += 1;
    }

    fn add_near(&mut self, timer: Timer, slot: u64) -> bool {
        if slot != self.present || self.next.is_empty() {
            // Before all others: those of the slot that seemed to be next go back.
            while let Some(other) = self.next.pop() {
                self.put(other);
            }
            self.present = slot;
        }
        let i = self.next.partition_point(|other| *other > timer);
        self.next.insert(i, timer);
        i + 1 == self.next.len()
    }

    /// Takes the next out.
    pub fn pop(&mut self, owners: &mut impl Owners) -> Option<Timer> {
        let timer = self.next.pop()?;
        if self.next.is_empty() {
            self.turn(owners);
        } else if let Some(place) = self.store.get(self.ahead as usize) {
            self.ahead = place.next;
            prefetch::line(self.store.as_ptr().wrapping_add(self.ahead as usize));
        }
        Some(timer)
    }

    /// On to the next slot that holds a timer of the present turn which is not put off.
    fn turn(&mut self, owners: &mut impl Owners) {
        let mut from = self.present;
        while self.waiting > 0 && self.next.is_empty() {
            from = self.next_full(from + 1);
            let slot = from % SLOTS;
            let mut place = core::mem::replace(&mut self.wheel[slot as usize], NONE);
            while place != NONE {
                let Waiting { at, order, whose, next } = self.store[place as usize];
                let timer = Timer { at, order, flow: whose >> 1, receiver: whose & 1 == 1 };
                let chain = if timer.slot() == from {
                    self.next.push(timer);
                    &mut self.free
                } else {
                    &mut self.wheel[slot as usize]
                };
                self.store[place as usize].next = core::mem::replace(chain, place);
                place = next;
            }
            if self.wheel[slot as usize] == NONE {
                self.full[(slot / 64) as usize] &= !(1 << (slot % 64));
            }
            self.waiting -= self.next.len();
            self.next.iter().for_each(|timer| owners.fetch(timer));
            let mut kept = 0;
            for i in 0..self.next.len() {
                match owners.renew(self.next[i]) {
                    Some(timer) if timer.slot() == from => {
                        self.next[kept] = timer;
                        kept += 1;
                    }
                    Some(timer) => self.put(timer),
                    None => {}
                }
            }
            self.next.truncate(kept);
        }
        self.next.sort_unstable_by(|a, b| b.cmp(a));
        self.present = from;
        if self.waiting > 0 {
            self.ahead = self.wheel[(self.next_full(from + 1) % SLOTS) as usize];
            prefetch::line(self.store.as_ptr().wrapping_add(self.ahead as usize));
        }
    }

    /// The first slot from `from` on with its bit set.
    fn next_full(&self, from: u64) -> u64 {
        let mut at = from;
        loop {
            let bits = self.full[(at % SLOTS / 64) as usize] >> (at % 64);
            if bits != 0 {
                return at + bits.trailing_zeros() as u64;
            }
            at = (at / 64 + 1) * 64;
        }
    }
}

impl Default for Timers {
    fn default() -> Self {
        Timers::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Timers of even flows are put off by a slot and a half, once; those of flows that divide by three are no longer wanted.
    struct Lax;

    impl Owners for Lax {
        fn fetch(&self, _: &Timer) {}
        fn renew(&mut self, timer: Timer) -> Option<Timer> {
            let later = timer.at + units::Duration::from_nanos(3 << (SLOT_BITS - 1));
            match timer {
                Timer { flow, .. } if flow % 3 == 0 => None,
                Timer { flow, receiver: false, .. } if flow % 2 == 0 => {
                    Some(Timer { at: later, receiver: true, ..timer })
                }
                _ => Some(timer),
            }
        }
    }

    #[test]
    fn owners_put_off_and_give_up() {
        let mut timers = Timers::new();
        let at = |slot: u64| Instant::from_nanos(slot << SLOT_BITS);
        for flow in 0..8 {
            timers.add(Timer { at: at(1 + flow as u64 / 4), order: flow as u64, flow, receiver: false });
        }
        // The first to be added is the next at once; nobody is asked.
        let served: Vec<_> = core::iter::from_fn(|| timers.pop(&mut Lax)).map(|t| (t.flow, t.at)).collect();
        let later = |slot| at(slot) + units::Duration::from_nanos(3 << (SLOT_BITS - 1));
        assert_eq!(served, [(0, at(1)), (1, at(1)), (2, at(1)), (3, at(1)), (5, at(2)), (7, at(2)), (4, later(2))]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Times from nanoseconds to many turns ahead, taken out and put in by turns.
        #[test]
        fn behaves_as_a_sorted_set(moves in prop::collection::vec(prop::option::of((0u32..36, 0u64..64)), 1..400)) {
            let (mut timers, mut set, mut now) = (Timers::new(), BTreeSet::new(), 0);
            for (order, add) in moves.into_iter().enumerate() {
                match add {
                    Some((octave, step)) => {
                        let at = Instant::from_nanos(now + (step << octave >> 4));
                        let timer = Timer { at, order: order as u64, flow: octave, receiver: false };
                        set.insert(timer);
                        prop_assert_eq!(timers.add(timer), set.first() == Some(&timer));
                    }
                    None => {
                        let first = set.pop_first();
                        prop_assert_eq!(timers.pop(&mut Strict), first);
                        now = first.map_or(now, |t| t.at.as_nanos());
                    }
                }
                prop_assert_eq!(timers.next(), set.first());
            }
            while let Some(first) = set.pop_first() {
                prop_assert_eq!(timers.pop(&mut Strict), Some(first));
            }
        }
    }
}
