//! Asking for memory before it is needed. With a thousand flows their state lies in the third-level cache, and waiting for
//! it takes longer than working on a packet.

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Fetches every cache line of a value.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline(always)]
pub fn lines<T>(value: &T) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let start = core::ptr::from_ref(value).cast::<i8>();
    for line in 0..size_of::<T>().div_ceil(LINE) {
        // SAFETY: a prefetch reads nothing and faults on no address.
        unsafe { _mm_prefetch(start.wrapping_add(line * LINE), _MM_HINT_T0) };
    }
}

/// Other processors manage by themselves.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn lines<T>(_: &T) {}
