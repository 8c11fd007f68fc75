//! What happens next. Sources of events (links, delay lines, timers) are numbered once and have at most one pending
//! event each, so the heap stays as small as the network and never holds packets.

use units::Instant;

/// A source of events.
pub type Source = u32;

const ABSENT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Time in the high half, order of arrival in the low: equal times are served first come, first served, and one
    /// comparison decides.
    key: u128,
    source: Source,
}

#[inline(always)]
fn key(at: Instant, order: u64) -> u128 {
    (at.as_nanos() as u128) << 64 | order as u128
}

/// A 4-ary heap of sources that knows where each one sits, so that an event can be moved.
#[derive(Debug)]
pub struct Scheduler {
    heap: Vec<Entry>,
    place: Vec<u32>,
    order: u64,
}

impl Scheduler {
    /// A scheduler for sources 0 … n − 1.
    pub fn new(sources: usize) -> Self {
        Scheduler { heap: Vec::with_capacity(sources), place: vec![ABSENT; sources], order: 0 }
    }

    /// Numbers one more source.
    pub fn add_source(&mut self) -> Source {
        self.place.push(ABSENT);
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
        self.heap.first().map(|e| (Instant::from_nanos((e.key >> 64) as u64), e.source))
    }

    /// Puts the event of `source` at `at`, moving the one it has. `order` comes from [`ticket`](Self::ticket).
    #[inline]
    pub fn set(&mut self, source: Source, at: Instant, order: u64) {
        let entry = Entry { key: key(at, order), source };
        let place = self.place[source as usize];
        // The source of the event being handled stands at the top and its next event is later: the common case.
        if place == 0 && entry.key >= self.heap[0].key {
            self.down(0, entry);
        } else {
            self.insert(place, entry);
        }
    }

    fn insert(&mut self, place: u32, entry: Entry) {
        if place == ABSENT {
            self.heap.push(entry);
            self.up(self.heap.len() - 1, entry);
        } else if entry.key < self.heap[place as usize].key {
            self.up(place as usize, entry);
        } else {
            self.down(place as usize, entry);
        }
    }

    /// Takes the event of `source` away, if it has one.
    #[inline]
    pub fn clear(&mut self, source: Source) {
        let place = self.place[source as usize];
        if place == ABSENT {
            return;
        }
        self.place[source as usize] = ABSENT;
        let last = self.heap.pop().expect("a placed source is in the heap");
        let place = place as usize;
        if place < self.heap.len() {
            if last.key < self.heap[place].key {
                self.up(place, last);
            } else {
                self.down(place, last);
            }
        }
    }

    fn up(&mut self, mut i: usize, entry: Entry) {
        while i > 0 {
            let parent = (i - 1) / 4;
            if entry.key >= self.heap[parent].key {
                break;
            }
            self.heap[i] = self.heap[parent];
            self.place[self.heap[i].source as usize] = i as u32;
            i = parent;
        }
        self.heap[i] = entry;
        self.place[entry.source as usize] = i as u32;
    }

    #[inline]
    fn down(&mut self, mut i: usize, entry: Entry) {
        let heap = self.heap.as_mut_slice();
        loop {
            let first = 4 * i + 1;
            let (least, key) = if let Some([a, b, c, d]) = heap.get(first..first + 4) {
                // A tournament: the branches depend on nothing but the keys.
                let (ab, ab_key) = if b.key < a.key { (1, b.key) } else { (0, a.key) };
                let (cd, cd_key) = if d.key < c.key { (3, d.key) } else { (2, c.key) };
                if cd_key < ab_key { (first + cd, cd_key) } else { (first + ab, ab_key) }
            } else {
                let Some(rest) = heap.get(first..).filter(|r| !r.is_empty()) else { break };
                let mut least = (0, rest[0].key);
                for (child, e) in rest.iter().enumerate().skip(1) {
                    if e.key < least.1 {
                        least = (child, e.key);
                    }
                }
                (first + least.0, least.1)
            };
            if entry.key <= key {
                break;
            }
            let moved = heap[least];
            heap[i] = moved;
            self.place[moved.source as usize] = i as u32;
            i = least;
        }
        heap[i] = entry;
        self.place[entry.source as usize] = i as u32;
    }
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
        fn behaves_as_a_sorted_list(moves in prop::collection::vec((0u32..12, prop::option::of(0u64..20)), 1..200)) {
            let mut s = Scheduler::new(12);
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
