//! Asking for memory before it is needed.

/// Bytes of a cache line.
pub const LINE: usize = 64;

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

/// Fetches the cache lines of something that begins on one, from byte `FROM` to before byte `TO`. Both are constants,
/// so that the compiler knows how many lines they are: a loop whose end is guessed wrong costs more than it fetches.
#[inline(always)]
pub fn lines<const FROM: usize, const TO: usize, T>(base: *const T) {
    for i in FROM / LINE..TO.div_ceil(LINE) {
        line(base.cast::<u8>().wrapping_add(i * LINE));
    }
}
