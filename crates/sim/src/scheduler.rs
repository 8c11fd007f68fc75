//! What happens next. Sources of events (links, delay lines, timers) are numbered once and have at most one pending
//! event each, so the calendar stays as small as the network and never holds packets.
//!
//! The nearest events stand in a short sorted list, where those of the busy sources (a bottleneck and its lines) move by
//! a step or two; the rest, in runs with many links and lines, in a heap. Hosts' timers, many and rarely reached, have a
//! [wheel](crate::timers) of their own and count as one source.

use units::Instant;

/// A source of events.
pub type Source = u32;

const ABSENT: u32 = u32::MAX;
const IN_NEAR: u32 = u32::MAX - 1;

/// Length of the sorted list: room for the busy sources of a few bottlenecks, short enough to search.
const NEAR: usize = 16;
/// How many come from the heap at a time.
const REFILL: usize = 8;

/// Bits of an entry that name its source: the rest of its lower half are left for the order, enough for 10^13 events.
const SOURCE_BITS: u32 = 20;

/// Time, then order of arrival (equal times are served first come, first served) and source in one number. Times seldom
/// are equal, so that one comparison mostly decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Instant,
    order_and_source: u64,
}

impl Entry {
    #[inline(always)]
    fn new(at: Instant, order: u64, source: Source) -> Self {
        Entry { at, order_and_source: order << SOURCE_BITS | source as u64 }
    }
    #[inline(always)]
    fn source(self) -> Source {
        self.order_and_source as u32 & ((1 << SOURCE_BITS) - 1)
    }
    #[inline(always)]
    fn is_before(self, other: Entry) -> bool {
        // As one number: a comparison without a second branch for equal times.
        let key = |e: Entry| (e.at.as_nanos() as u128) << 64 | e.order_and_source as u128;
        key(self) < key(other)
    }
}

/// Pending events, at most one per source.
#[derive(Debug)]
pub struct Scheduler {
    /// Latest first, so that the next event is popped off the end. Everything here comes before everything in `far`.
    near: Vec<Entry>,
    /// A 4-ary heap.
    far: Vec<Entry>,
    /// Where each source's event is.
    place: Vec<u32>,
    order: u64,
}

impl Scheduler {
    /// A scheduler for sources 0 … n − 1.
    pub fn new(sources: usize) -> Self {
        let mut scheduler =
            Scheduler { near: Vec::with_capacity(NEAR + 1), far: Vec::new(), place: Vec::new(), order: 0 };
        for _ in 0..sources {
            scheduler.add_source();
        }
        scheduler
    }

    /// Numbers one more source.
    pub fn add_source(&mut self) -> Source {
        self.place.push(ABSENT);
        assert!(self.place.len() <= 1 << SOURCE_BITS, "more sources of events than an entry can name");
        (self.place.len() - 1) as Source
    }

    /// The next number in order of arrival.
    #[inline]
    pub fn ticket(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// The earliest event.
    #[inline]
    pub fn peek(&self) -> Option<(Instant, Source)> {
        self.near.last().map(|e| (e.at, e.source()))
    }

    /// Puts the event of `source` at `at`, moving the one it has. `order` comes from [`ticket`](Self::ticket).
    #[inline]
    pub fn set(&mut self, source: Source, at: Instant, order: u64) {
        let entry = Entry::new(at, order, source);
        // The source of the event being handled stands at the end: the common case.
        if self.near.last().is_some_and(|e| e.source() == source)
            && self.far.first().is_none_or(|f| entry.is_before(*f))
        {
            slide_back(&mut self.near, entry);
        } else {
            self.set_other(entry);
        }
    }

    #[inline(never)]
    fn set_other(&mut self, entry: Entry) {
        let source = entry.source();
        let place = self.place[source as usize];
        if place == IN_NEAR {
            let i = self.find(source);
            self.near.remove(i);
        } else if place != ABSENT {
            self.remove_far(place as usize);
        }
        self.insert(entry);
    }

    fn find(&self, source: Source) -> usize {
        self.near.iter().rposition(|e| e.source() == source).expect("a placed source is in the list")
    }

    fn insert(&mut self, entry: Entry) {
        if self.far.first().is_some_and(|f| *f < entry) {
            self.far.push(entry);
            self.up(self.far.len() - 1, entry);
            if self.near.is_empty() {
                self.refill();
            }
            return;
        }
        self.place[entry.source() as usize] = IN_NEAR;
        self.near.push(entry);
        slide_back(&mut self.near, entry);
        if self.near.len() > NEAR {
            self.spill();
        }
    }

    /// The list is full: its latest event goes to the heap.
    #[cold]
    fn spill(&mut self) {
        let latest = self.near.remove(0);
        self.far.push(latest);
        self.up(self.far.len() - 1, latest);
    }

    /// The list is empty: the heap's earliest events come into it. Several, so that what the busy sources do next
    /// comes before the rest of the heap and stays out of it.
    #[cold]
    fn refill(&mut self) {
        while self.near.len() < REFILL {
            let Some(&first) = self.far.first() else { break };
            self.remove_far(0);
            self.place[first.source() as usize] = IN_NEAR;
            self.near.push(first);
        }
        self.near.reverse();
    }

    /// Takes the event of `source` away, if it has one.
    #[inline]
    pub fn clear(&mut self, source: Source) {
        let place = self.place[source as usize];
        if place != ABSENT {
            self.remove(source, place);
        }
    }

    fn remove(&mut self, source: Source, place: u32) {
        if place == IN_NEAR {
            let i = self.find(source);
            self.near.remove(i);
        } else {
            self.remove_far(place as usize);
        }
        self.place[source as usize] = ABSENT;
        if self.near.is_empty() {
            self.refill();
        }
    }

    fn remove_far(&mut self, place: usize) {
        let last = self.far.pop().expect("a placed source is in the heap");
        if place < self.far.len() {
            if last < self.far[place] {
                self.up(place, last);
            } else {
                self.down(place, last);
            }
        }
    }

    fn up(&mut self, mut i: usize, entry: Entry) {
        while i > 0 {
            let parent = (i - 1) / 4;
            if entry >= self.far[parent] {
                break;
            }
            self.far[i] = self.far[parent];
            self.place[self.far[i].source() as usize] = i as u32;
            i = parent;
        }
        self.far[i] = entry;
        self.place[entry.source() as usize] = i as u32;
    }

    fn down(&mut self, mut i: usize, entry: Entry) {
        loop {
            let first = 4 * i + 1;
            let children = self.far.get(first..self.far.len().min(first + 4)).unwrap_or(&[]);
            let Some(least) = (0..children.len()).min_by_key(|&c| children[c]) else { break };
            let least = first + least;
            if self.far[least] >= entry {
                break;
            }
            self.far[i] = self.far[least];
            self.place[self.far[i].source() as usize] = i as u32;
            i = least;
        }
        self.far[i] = entry;
        self.place[entry.source() as usize] = i as u32;
    }
}

/// Overwrites the last place with `entry`, and moves it in front of all that come earlier.
#[inline(always)]
fn slide_back(near: &mut [Entry], entry: Entry) {
    let mut i = near.len() - 1;
    while i > 0 && near[i - 1].is_before(entry) {
        near[i] = near[i - 1];
        i -= 1;
    }
    near[i] = entry;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_are_served_in_order_of_arrival() {
        let mut s = Scheduler::new(3);
        for source in [2, 0, 1] {
            let order = s.ticket();
            s.set(source, Instant::from_millis(5), order);
        }
        let mut served = Vec::new();
        while let Some((_, source)) = s.peek() {
            served.push(source);
            s.clear(source);
        }
        assert_eq!(served, [2, 0, 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn behaves_as_a_sorted_list(moves in prop::collection::vec((0u32..40, prop::option::of(0u64..60)), 1..400)) {
            let mut s = Scheduler::new(40);
            let mut list: Vec<(u64, u64, u32)> = Vec::new();
            for (source, at) in moves {
                list.retain(|e| e.2 != source);
                match at {
                    Some(at) => {
                        let order = s.ticket();
                        s.set(source, Instant::from_nanos(at), order);
                        list.push((at, order, source));
                    }
                    None => s.clear(source),
                }
                list.sort();
                prop_assert_eq!(s.peek(), list.first().map(|e| (Instant::from_nanos(e.0), e.2)));
            }
        }
    }
}
