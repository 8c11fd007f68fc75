//! The packets under way, byte for byte, in buffers that are used again: the simulator's packets carry only the number of
//! theirs.

use crate::flows::End;
use crate::frame;
use aqm::{Ecn, Packet as _};
use sim::capture::{Content, RAW_IP};
use sim::packet::{Packet, Way};
use std::cell::RefCell;
use std::rc::Rc;

/// The largest packet that is carried: a full one of the simulator's links.
pub const MTU: usize = experiment::MTU.get() as usize;

#[derive(Debug)]
struct Buffer {
    bytes: Box<[u8; MTU]>,
    length: u16,
    from: End,
    /// Fates to come: more than one for a packet that was doubled on the way.
    uses: u16,
}

/// All buffers.
#[derive(Debug, Default)]
pub struct Frames {
    all: Vec<Buffer>,
    free: Vec<u32>,
}

impl Frames {
    /// Room for so many packets from the start, so that the first window needs no memory from the kernel.
    pub fn new(packets: usize) -> Self {
        let mut frames = Frames::default();
        frames.grow(packets);
        frames
    }

    fn grow(&mut self, more: usize) {
        for _ in 0..more {
            self.free.push(self.all.len() as u32);
            self.all.push(Buffer { bytes: Box::new([0; MTU]), length: 0, from: End::Near, uses: 0 });
        }
    }

    /// Keeps a packet that comes from one of the ends; its handle.
    pub fn keep(&mut self, bytes: &[u8], from: End) -> u32 {
        if self.free.is_empty() {
            self.grow(256);
        }
        let handle = self.free.pop().expect("there is room now");
        let buffer = &mut self.all[handle as usize];
        buffer.bytes[..bytes.len()].copy_from_slice(bytes);
        (buffer.length, buffer.from, buffer.uses) = (bytes.len() as u16, from, 1);
        handle
    }

    /// A packet's bytes.
    pub fn get(&self, handle: u32) -> &[u8] {
        let buffer = &self.all[handle as usize];
        &buffer.bytes[..buffer.length as usize]
    }

    /// Sets CE in a packet.
    pub fn mark(&mut self, handle: u32) {
        let buffer = &mut self.all[handle as usize];
        frame::mark(&mut buffer.bytes[..buffer.length as usize]);
    }

    /// One fate more will come.
    pub fn copied(&mut self, handle: u32) {
        self.all[handle as usize].uses += 1;
    }

    /// One fate has come; the last one frees the buffer.
    pub fn done(&mut self, handle: u32) {
        let buffer = &mut self.all[handle as usize];
        buffer.uses -= 1;
        if buffer.uses == 0 {
            self.free.push(handle);
        }
    }
}

/// Real packets for a capture.
#[derive(Debug)]
pub struct Real(pub Rc<RefCell<Frames>>);

impl Content for Real {
    const LINK_TYPE: u16 = RAW_IP;
    const HOSTS: [(&str, &str); 2] = [("near", "the host where the command runs"), ("far", "the host at the far end")];

    fn sent_by(&self, packet: &Packet) -> Way {
        match self.0.borrow().all[packet.segment.ts_val as usize].from {
            End::Near => Way::Out,
            End::Far => Way::Back,
        }
    }

    fn of(&mut self, packet: &Packet, bytes: &mut Vec<u8>) -> u32 {
        bytes.extend_from_slice(self.0.borrow().get(packet.segment.ts_val));
        if packet.ecn() == Ecn::Ce {
            frame::mark(bytes);
        }
        bytes.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_after_its_last_fate() {
        let mut frames = Frames::new(1);
        let a = frames.keep(&[1, 2, 3], End::Near);
        frames.copied(a);
        frames.done(a);
        assert_eq!(frames.get(a), [1, 2, 3]);
        let b = frames.keep(&[4], End::Far);
        assert_ne!(a, b);
        frames.done(a);
        assert_eq!(frames.keep(&[5], End::Near), a);
    }
}
