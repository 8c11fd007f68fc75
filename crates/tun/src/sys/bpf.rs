//! Maps of BPF and the memory they share with the kernel.

use super::done;
use std::io::{Error, Result};
use std::mem::size_of_val;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const BPF_MAP_LOOKUP_ELEM: libc::c_long = 1;
const BPF_MAP_GET_FD_BY_ID: libc::c_long = 14;
const BPF_OBJ_GET_INFO_BY_FD: libc::c_long = 15;

/// Words of the kernel's `union bpf_attr` that these calls read; two 32-bit fields are one word.
fn bpf(command: libc::c_long, mut attributes: [u64; 4]) -> Result<libc::c_int> {
    let size = size_of_val(&attributes);
    done(unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_mut_ptr(), size) } as libc::c_int)
}

fn pair(low: u32, high: u32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (low.to_ne_bytes(), high.to_ne_bytes());
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// A map of BPF, by its number in the kernel, with the size of its values and how many it has room for.
pub fn map(id: u32) -> Result<(OwnedFd, u32, u32)> {
    let fd = bpf(BPF_MAP_GET_FD_BY_ID, [pair(id, 0), 0, 0, 0])?;
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // The beginning of `struct bpf_map_info`: type, id, key_size, value_size, max_entries, flags.
    let mut info = [0_u32; 6];
    let asked = pair(fd.as_raw_fd() as u32, size_of_val(&info) as u32);
    bpf(BPF_OBJ_GET_INFO_BY_FD, [asked, info.as_mut_ptr() as u64, 0, 0])?;
    Ok((fd, info[3], info[4]))
}

/// The first value of an array map whose values have this size.
pub fn first_value(map: &OwnedFd, size: u32) -> Result<Vec<u8>> {
    let (key, mut value) = (0_u32, vec![0_u8; (size as usize).next_multiple_of(8)]);
    let of = pair(map.as_raw_fd() as u32, 0);
    bpf(BPF_MAP_LOOKUP_ELEM, [of, (&raw const key) as u64, value.as_mut_ptr() as u64, 0])?;
    value.truncate(size as usize);
    Ok(value)
}

/// Bytes of a page of memory.
pub fn page() -> usize {
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Memory that the kernel writes to, too.
#[derive(Debug)]
pub struct Pages {
    at: *mut u8,
    length: usize,
}

// The memory is the process's, whatever thread looks at it, and is only read and written as atomics or copied.
unsafe impl Send for Pages {}

impl Pages {
    /// Maps a part of a file.
    pub fn map(file: &OwnedFd, offset: usize, length: usize, write: bool) -> Result<Self> {
        let may = libc::PROT_READ | if write { libc::PROT_WRITE } else { 0 };
        let (fd, offset) = (file.as_raw_fd(), offset as libc::off_t);
        let at = unsafe { libc::mmap(std::ptr::null_mut(), length, may, libc::MAP_SHARED, fd, offset) };
        if at == libc::MAP_FAILED { Err(Error::last_os_error()) } else { Ok(Pages { at: at.cast(), length }) }
    }

    fn place<T>(&self, offset: usize) -> *mut T {
        assert!(offset + size_of::<T>() <= self.length && offset.is_multiple_of(size_of::<T>()));
        unsafe { self.at.add(offset) }.cast()
    }

    /// A number, and with it everything that was written before it was.
    pub fn u64(&self, offset: usize) -> u64 {
        unsafe { AtomicU64::from_ptr(self.place(offset)) }.load(Ordering::Acquire)
    }

    /// The same of 32 bits.
    pub fn u32(&self, offset: usize) -> u32 {
        unsafe { AtomicU32::from_ptr(self.place(offset)) }.load(Ordering::Acquire)
    }

    /// Says a number, when everything before is done. Only for memory that was mapped to be written.
    pub fn set(&mut self, offset: usize, to: u64) {
        unsafe { AtomicU64::from_ptr(self.place(offset)) }.store(to, Ordering::Release);
    }

    /// Takes bytes out.
    pub fn copy(&self, offset: usize, to: &mut Vec<u8>, length: usize) {
        assert!(offset + length <= self.length);
        to.resize(length, 0);
        unsafe { std::ptr::copy_nonoverlapping(self.at.add(offset), to.as_mut_ptr(), length) };
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        unsafe { libc::munmap(self.at.cast(), self.length) };
    }
}
