//! Packets of all flows in one vector, threaded by index.

use alloc::vec::Vec;
use units::Instant;

/// No slot, no flow.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<P> {
    since: Instant,
    /// The packet behind this one, or the next free slot.
    next: u32,
    packet: Option<P>,
}

/// Slots that are used again in the order of a stack, so that a short queue stays in few cache lines.
#[derive(Debug)]
pub(super) struct Slab<P> {
    slots: Vec<Slot<P>>,
    free: u32,
}

impl<P> Slab<P> {
    pub(super) fn new() -> Self {
        Slab { slots: Vec::new(), free: NONE }
    }

    /// Stores a packet with nothing behind it.
    #[inline(always)]
    pub(super) fn insert(&mut self, since: Instant, packet: P) -> u32 {
        let slot = Slot { since, next: NONE, packet: Some(packet) };
        if self.free == NONE {
            let index = u32::try_from(self.slots.len()).ok().filter(|i| *i != NONE).expect("under 2^32 - 1 packets");
            self.slots.push(slot);
            return index;
        }
        let index = self.free;
        self.free = self.slots[index as usize].next;
        self.slots[index as usize] = slot;
        index
    }

    /// Puts `next` behind `slot`.
    #[inline(always)]
    pub(super) fn link(&mut self, slot: u32, next: u32) {
        self.slots[slot as usize].next = next;
    }

    /// The slot behind this one.
    pub(super) fn next(&self, slot: u32) -> u32 {
        self.slots[slot as usize].next
    }

    /// The packet of a slot and when it came.
    #[inline(always)]
    pub(super) fn get(&self, slot: u32) -> Option<(Instant, &P)> {
        let slot = self.slots.get(slot as usize)?;
        Some((slot.since, slot.packet.as_ref()?))
    }

    /// Takes a packet out; also tells which slot was behind it.
    #[inline(always)]
    pub(super) fn remove(&mut self, index: u32) -> Option<(P, u32)> {
        let slot = self.slots.get_mut(index as usize)?;
        let packet = slot.packet.take()?;
        let next = core::mem::replace(&mut slot.next, self.free);
        self.free = index;
        Some((packet, next))
    }
}

#[cfg(test)]
impl<P> Slab<P> {
    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity()
    }
}
