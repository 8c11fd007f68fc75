//! The ring in which an algorithm in the kernel tells what it does.
//!
//! BPF's ring buffer, read without a library (Linux, Documentation/bpf/ringbuf.rst): a page with our position, one with the
//! kernel's, and the data, mapped twice in a row so that no record is cut. One reader at a time.

use crate::sys::bpf;
use std::io::Result;
use std::os::fd::OwnedFd;

const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const HEAD: usize = 8;

/// A ring that is being read.
#[derive(Debug)]
pub struct Ring {
    position: bpf::Pages,
    data: bpf::Pages,
    page: usize,
    size: u64,
    at: u64,
    lost: Option<(OwnedFd, u32)>,
    lost_before: u64,
    record: Vec<u8>,
}

impl Ring {
    /// Opens the ring that is this map of BPF; another map counts what there was no room for. What is in the ring already
    /// is passed over.
    pub fn new(ring: u32, lost: Option<u32>) -> Result<Self> {
        let (file, _, size) = bpf::map(ring)?;
        let page = bpf::page();
        let position = bpf::Pages::map(&file, 0, page, true)?;
        let data = bpf::Pages::map(&file, page, page + 2 * size as usize, false)?;
        let lost = lost.map(bpf::map).transpose()?.map(|(file, value, _)| (file, value));
        let record = Vec::new();
        let mut ring = Ring { position, data, page, size: size as u64, at: 0, lost, lost_before: 0, record };
        ring.release(ring.data.u64(0));
        ring.lost_before = ring.lost()?;
        Ok(ring)
    }

    fn release(&mut self, at: u64) {
        self.at = at;
        self.position.set(0, at);
    }

    /// Shows every record written since, oldest first.
    pub fn take(&mut self, mut see: impl FnMut(&[u8])) {
        while self.at < self.data.u64(0) {
            let start = self.page + (self.at % self.size) as usize;
            let head = self.data.u32(start);
            if head & BUSY != 0 {
                return;
            }
            let length = (head & !DISCARDED) as usize;
            let mut record = std::mem::take(&mut self.record);
            self.data.copy(start + HEAD, &mut record, length);
            self.release(self.at + (HEAD + length).next_multiple_of(8) as u64);
            if head & DISCARDED == 0 {
                see(&record);
            }
            self.record = record;
        }
    }

    /// How many records found no room since this reader came.
    pub fn lost(&self) -> Result<u64> {
        let Some((map, size)) = &self.lost else { return Ok(0) };
        let value = bpf::first_value(map, *size)?;
        let all = value.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        Ok(all.saturating_sub(self.lost_before))
    }
}
