//! The last N samples, and their means.

/// A ring of the last `N` samples.
///
/// Two means, because implementations differ while the ring fills: [`mean`](Ring::mean) divides by the samples there
/// are, [`mean_of_all`](Ring::mean_of_all) by `N`, as if the missing ones were zero (FreeBSD's CDG).
#[derive(Clone, Copy, Debug)]
pub struct Ring<const N: usize> {
    samples: [f64; N],
    /// Where the next sample goes: the oldest one when the ring is full.
    next: usize,
    len: usize,
}

impl<const N: usize> Default for Ring<N> {
    fn default() -> Self {
        Ring { samples: [0.0; N], next: 0, len: 0 }
    }
}

impl<const N: usize> Ring<N> {
    /// An empty ring.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a sample and returns the one that made room for it, if the ring was full.
    pub fn push(&mut self, sample: f64) -> Option<f64> {
        let oldest = (self.len == N).then_some(self.samples[self.next]);
        self.samples[self.next] = sample;
        self.next = (self.next + 1) % N;
        self.len = (self.len + 1).min(N);
        oldest
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No sample yet?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The samples, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = f64> + Clone + '_ {
        (0..self.len).map(move |i| self.samples[(self.next + N - self.len + i) % N])
    }

    /// The newest sample.
    pub fn newest(&self) -> Option<f64> {
        (self.len > 0).then(|| self.samples[(self.next + N - 1) % N])
    }

    /// The sum, always from the oldest to the newest, so that equal samples give equal sums.
    pub fn sum(&self) -> f64 {
        self.iter().sum()
    }

    /// Mean of the samples there are; 0 for none.
    pub fn mean(&self) -> f64 {
        if self.len == 0 { 0.0 } else { self.sum() / self.len as f64 }
    }

    /// Sum over `N`: missing samples count as zero.
    pub fn mean_of_all(&self) -> f64 {
        self.sum() / N as f64
    }

    /// Dot product with weights given oldest first; while the ring fills, the newest samples meet the last weights.
    pub fn weighted(&self, weights: &[f64; N]) -> f64 {
        self.iter().zip(&weights[N - self.len..]).map(|(s, w)| s * w).sum()
    }

    /// Forgets every sample.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Sets every place to the same value, as if it had been seen `N` times.
    pub fn fill(&mut self, value: f64) {
        *self = Ring { samples: [value; N], next: 0, len: N };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn it_fills_and_then_forgets_the_oldest() {
        let mut r = Ring::<4>::new();
        assert_eq!((r.mean(), r.newest()), (0.0, None));
        for x in [1.0, 2.0, 3.0] {
            assert_eq!(r.push(x), None);
        }
        assert_eq!((r.len(), r.mean(), r.mean_of_all()), (3, 2.0, 1.5));
        assert_eq!(r.push(4.0), None);
        assert_eq!(r.push(9.0), Some(1.0));
        assert_eq!(r.iter().collect::<Vec<_>>(), [2.0, 3.0, 4.0, 9.0]);
        assert_eq!(r.newest(), Some(9.0));
    }

    #[test]
    fn weights_meet_the_newest_samples_first() {
        // The weights of HLDG's windowed weighted moving average sum to one.
        let w = [1.0 / 16.0, 1.0 / 16.0, 1.0 / 16.0, 1.0 / 16.0, 1.0 / 8.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 4.0];
        let mut r = Ring::<8>::new();
        r.push(8.0);
        assert_eq!(r.weighted(&w), 2.0);
        r.fill(3.0);
        assert_eq!(r.weighted(&w), 3.0);
        r.push(11.0);
        assert_eq!(r.weighted(&w), 5.0);
        r.clear();
        assert_eq!(r.weighted(&w), 0.0);
    }
}
