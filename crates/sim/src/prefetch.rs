//! Asking for memory before it is needed.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Fetches the cache line an address lies in.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline(always)]
pub fn line<T>(at: *const T) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing and faults on no address.
    unsafe { _mm_prefetch(at.cast(), _MM_HINT_T0) };
}

/// Other processors manage by themselves.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn line<T>(_: *const T) {}

/// Fetches every cache line between two addresses.
#[inline(always)]
pub fn lines<T, U>(from: *const T, to: *const U) {
    let mut at = from.addr() & !(LINE - 1);
    while at < to.addr() {
        line(from.with_addr(at));
        at += LINE;
    }
}
