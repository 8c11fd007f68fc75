//! A queue with numbers: what was pushed keeps its number until it is popped from the front, unless something before it
//! is inserted or removed. That must not happen where numbers are kept (RACK's order of retransmissions, tags of
//! rates).

use alloc::vec::Vec;

/// A growing ring whose capacity is a power of two, so a number finds its place by a mask.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    slots: Vec<T>,
    first: u64,
    next: u64,
}

/// Slots of the smallest ring: an initial window of ten and the ACKs that double it.
const LEAST: usize = 16;

impl<T: Copy + Default> Ring<T> {
    /// An empty ring; memory comes with the first push.
    pub fn new() -> Self {
        Ring { slots: Vec::new(), first: 0, next: 0 }
    }

    /// Number of the front.
    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The number the next push will get.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == self.next
    }

    #[inline]
    fn place(&self, id: u64) -> usize {
        id as usize & (self.slots.len().wrapping_sub(1))
    }

    #[inline]
    pub fn push(&mut self, value: T) -> u64 {
        if (self.next - self.first) as usize == self.slots.len() {
            self.grow();
        }
        let id = self.next;
        let mut place = self.place(id);
        if place == 0 && self.slots.len() > LEAST {
            self.shrink();
            place = self.place(id);
        }
        self.slots[place] = value;
        self.next += 1;
        id
    }

    #[cold]
    fn grow(&mut self) {
        self.resize((self.slots.len() * 2).max(LEAST));
    }

    /// Once a turn: a ring three quarters empty is halved. It goes round all of its memory, and what a slow start needed
    /// long ago would push other flows out of the caches.
    #[cold]
    fn shrink(&mut self) {
        if (self.next - self.first) as usize * 4 <= self.slots.len() {
            self.resize(self.slots.len() / 2);
        }
    }

    fn resize(&mut self, slots: usize) {
        let mut other = alloc::vec![T::default(); slots];
        for id in self.first..self.next {
            other[id as usize & (slots - 1)] = self.slots[self.place(id)];
        }
        self.slots = other;
    }

    #[inline]
    pub fn get(&self, id: u64) -> &T {
        &self.slots[self.place(id)]
    }

    #[inline]
    pub fn get_mut(&mut self, id: u64) -> &mut T {
        let place = self.place(id);
        &mut self.slots[place]
    }

    /// Where the front is and where the next push goes, to be fetched ahead.
    #[inline]
    pub fn ends(&self) -> [*const T; 2] {
        [self.first, self.next].map(|id| self.slots.as_ptr().wrapping_add(self.place(id)))
    }

    /// The front, if there is one.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { Some(self.get(self.first)) }
    }

    /// Puts a value behind number `id`; what follows moves up by a number.
    pub fn insert_after(&mut self, id: u64, value: T) {
        let mut at = self.push(value);
        while at > id + 1 {
            *self.get_mut(at) = *self.get(at - 1);
            at -= 1;
        }
        *self.get_mut(at) = value;
    }

    /// Takes number `id` out; what follows moves down by a number.
    pub fn remove(&mut self, id: u64) {
        for at in id + 1..self.next {
            *self.get_mut(at - 1) = *self.get(at);
        }
        self.next -= 1;
    }

    /// Drops the front.
    #[inline]
    pub fn pop(&mut self) {
        self.first += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_grows_and_shrinks_around_what_it_holds() {
        let mut ring = Ring::new();
        let mut sizes = alloc::vec::Vec::new();
        for n in 0..2000u64 {
            ring.push(n);
            // Up to a hundred at first, then seven.
            let most = if n < 1000 { 100 } else { 7 };
            while ring.next() - ring.first() > most {
                assert_eq!(ring.front(), Some(&ring.first()));
                ring.pop();
            }
            for id in ring.first()..ring.next() {
                assert_eq!(*ring.get(id), id);
            }
            if sizes.last() != Some(&ring.slots.len()) {
                sizes.push(ring.slots.len());
            }
        }
        assert_eq!(sizes, [16, 32, 64, 128, 64, 32, 16]);
    }

    #[test]
    fn what_is_put_in_or_taken_out_moves_what_follows() {
        let mut ring = Ring::new();
        (0..16).for_each(|n| _ = ring.push(n));
        (0..3).for_each(|_| ring.pop());
        ring.insert_after(7, 100);
        ring.insert_after(16, 200);
        ring.remove(4);
        let held: alloc::vec::Vec<_> = (ring.first()..ring.next()).map(|id| *ring.get(id)).collect();
        assert_eq!(held, [3, 5, 6, 7, 100, 8, 9, 10, 11, 12, 13, 14, 15, 200]);
    }

    #[test]
    fn numbers_survive_growth_and_wrapping() {
        let mut ring = Ring::new();
        for n in 0..1000u64 {
            assert_eq!(ring.push(n), n);
            if n % 3 == 0 {
                assert_eq!(ring.front(), Some(&(n / 3)));
                ring.pop();
            }
            for id in ring.first()..ring.next() {
                assert_eq!(*ring.get(id), id);
            }
        }
    }
}
