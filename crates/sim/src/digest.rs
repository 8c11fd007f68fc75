//! The digest of a run: every enqueue, dequeue, drop, mark, delivery and window change, folded into 64 bits.
//!
//! It is always on. Two runs with the same digest did the same things at the same times; changing one event anywhere
//! changes it. The mixer is one multiplication deep, so it costs a nanosecond or two per event.

use units::Instant;

/// What happened. The numbers are part of the digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fact {
    /// A packet entered a queue.
    Enqueue = 1,
    /// A packet left a queue.
    Dequeue = 2,
    /// A packet was dropped.
    Drop = 3,
    /// A packet was marked.
    Mark = 4,
    /// A packet reached its host.
    Deliver = 5,
    /// A window changed.
    Window = 6,
}

/// The running digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

// Odd constants with well-spread bits: the 64-bit golden ratio and two primes of xxHash64.
const A: u64 = 0x9e37_79b9_7f4a_7c15;
const B: u64 = 0xc2b2_ae3d_27d4_eb4f;
const C: u64 = 0x1656_67b1_9e37_79f9;

impl Default for Digest {
    fn default() -> Self {
        Digest(0x736f_6a6f_7572_6e31)
    }
}

impl Digest {
    /// Folds in one fact: when, what, at which link or flow, and a value.
    #[inline(always)]
    pub fn fold(&mut self, now: Instant, fact: Fact, entity: u32, value: u64) {
        let what = ((entity as u64) << 8 | fact as u64).wrapping_mul(B);
        let x = now.as_nanos().wrapping_mul(A) ^ what ^ value.wrapping_mul(C).rotate_left(32);
        self.0 = (self.0.rotate_left(25) ^ x).wrapping_mul(A);
    }

    /// The digest as 16 hexadecimal digits, finished with SplitMix64's avalanche.
    pub fn text(self) -> String {
        format!("{:016x}", units::avalanche(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_of_any_part_of_one_fact_shows() {
        let run = |at, fact, entity, value| {
            let mut d = Digest::default();
            for i in 0..100 {
                d.fold(Instant::from_nanos(i * 1000), Fact::Enqueue, 0, i);
            }
            d.fold(Instant::from_nanos(at), fact, entity, value);
            for i in 200..300 {
                d.fold(Instant::from_nanos(i * 1000), Fact::Dequeue, 0, i);
            }
            d.text()
        };
        let base = run(150_000, Fact::Enqueue, 0, 1500);
        for other in [
            run(150_001, Fact::Enqueue, 0, 1500),
            run(150_000, Fact::Dequeue, 0, 1500),
            run(150_000, Fact::Enqueue, 1, 1500),
            run(150_000, Fact::Enqueue, 0, 1501),
        ] {
            assert_ne!(base, other);
        }
        assert_eq!(base, run(150_000, Fact::Enqueue, 0, 1500));
    }

    #[test]
    fn order_matters() {
        let mut a = Digest::default();
        let mut b = Digest::default();
        a.fold(Instant::ZERO, Fact::Enqueue, 1, 2);
        a.fold(Instant::ZERO, Fact::Enqueue, 2, 1);
        b.fold(Instant::ZERO, Fact::Enqueue, 2, 1);
        b.fold(Instant::ZERO, Fact::Enqueue, 1, 2);
        assert_ne!(a, b);
    }
}
