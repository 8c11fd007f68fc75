//! A queue in a ring that knows its next place at either end: nothing to work out when a packet passes through.

use crate::prefetch;

/// First in, first out. It grows by a quarter, not to twice the size: a ring goes round all of its memory, and what is not
/// there stays out of the caches.
#[derive(Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    /// Where the front is, and where the next one goes.
    front: usize,
    back: usize,
    len: usize,
}

impl<T: Copy> Ring<T> {
    /// An empty ring.
    pub fn new() -> Self {
        Ring { slots: Vec::new(), front: 0, back: 0, len: 0 }
    }

    /// How many it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// It holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        if place + 1 < self.slots.len() { place + 1 } else { 0 }
    }

    /// Puts one in at the back.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if self.len == self.slots.len() {
            self.grow(value);
        }
        self.slots[self.back] = value;
        self.back = self.after(self.back);
        self.len += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, filling: T) {
        // The ring is full, so its front is where its back is: the order is that of the memory, turned.
        self.slots.rotate_left(self.front);
        (self.front, self.back) = (0, self.len);
        let more = (self.len / 4).max(8);
        self.slots.reserve_exact(more);
        self.slots.resize(self.len + more, filling);
    }

    /// The front.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(&self.slots[self.front]) }
    }

    /// The one behind the front.
    #[inline(always)]
    pub fn second(&self) -> Option<&T> {
        if self.len < 2 { None } else { Some(&self.slots[self.after(self.front)]) }
    }

    /// The one so far behind the front.
    #[inline(always)]
    pub fn nth_mut(&mut self, n: usize) -> &mut T {
        debug_assert!(n < self.len, "nothing there");
        let place = self.front + n;
        let slots = self.slots.len();
        &mut self.slots[if place < slots { place } else { place - slots }]
    }

    /// Fetches what lies so far behind the front, to be changed soon.
    #[inline(always)]
    pub fn prefetch(&self, n: usize) {
        let place = self.front + n;
        let slots = self.slots.len();
        prefetch::line(self.slots.as_ptr().wrapping_add(if place < slots { place } else { place - slots }));
    }

    /// Takes the front away.
    #[inline(always)]
    pub fn drop_front(&mut self) {
        debug_assert!(self.len > 0, "nothing to take");
        self.front = self.after(self.front);
        self.len -= 1;
    }
}

impl<T: Copy> Default for Ring<T> {
    fn default() -> Self {
        Ring::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn behaves_as_a_queue_while_it_grows_and_goes_round() {
        let (mut ring, mut queue) = (Ring::new(), VecDeque::new());
        for n in 0..5000u32 {
            ring.push(n);
            queue.push_back(n);
            // Up to a thousand, down to none, and up again.
            let keep = (n as usize % 2000).min(1000) * usize::from(n % 4000 < 3000);
            while queue.len() > keep {
                assert_eq!(ring.front(), queue.front());
                ring.drop_front();
                queue.pop_front();
            }
            assert_eq!((ring.len(), ring.front(), ring.second()), (queue.len(), queue.front(), queue.get(1)));
            if let Some(middle) = queue.get_mut(keep / 2) {
                assert_eq!(ring.nth_mut(keep / 2), middle);
            }
        }
        assert!(ring.slots.len() < 1300, "{}", ring.slots.len());
    }
}
