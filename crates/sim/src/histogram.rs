//! Streaming statistics of times: exact count, mean, deviation, least and greatest, and quantiles from a log-linear
//! histogram, so that no run keeps memory per packet.

use crate::prefetch;
use units::Duration;

/// Sub-buckets per octave: a bucket is 1/64 of its octave wide, so a quantile is within 0.8 % of the true one.
const SUB_BITS: u32 = 6;
const SUB: usize = 1 << SUB_BITS;
/// Times below 64 × 1024 ns (66 µs) share buckets of about 1 µs.
const SHIFT: u32 = 10;

/// A distribution of times.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The octaves in use, from bucket `first` on: thousands of flows have one or two of these each.
    counts: Vec<u32>,
    first: usize,
    count: u64,
    sum: u64,
    /// Sum of squares in µs², as a float: only the deviation needs it.
    squares: f64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: Vec::new(), first: 0, count: 0, sum: 0, squares: 0.0, min: u64::MAX, max: 0 }
    }
}

/// Mean, median and tails in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
#[allow(missing_docs)]
pub struct Spread {
    pub mean: f64,
    pub median: f64,
    pub sd: f64,
    pub p5: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub min: f64,
    pub max: f64,
    pub samples: u64,
}

#[inline(always)]
fn bucket(ns: u64) -> usize {
    let v = ns >> SHIFT;
    if v < SUB as u64 {
        return v as usize;
    }
    let octave = 63 - v.leading_zeros() - SUB_BITS;
    ((octave as usize + 1) << SUB_BITS) + (v >> octave) as usize - SUB
}

/// Least value of a bucket, in nanoseconds.
fn low(bucket: usize) -> u64 {
    if bucket < SUB {
        return (bucket as u64) << SHIFT;
    }
    let octave = (bucket >> SUB_BITS) - 1;
    ((bucket % SUB + SUB) as u64) << octave << SHIFT
}

impl Histogram {
    /// The bucket of a time.
    #[inline(always)]
    pub fn bucket(time: Duration) -> usize {
        bucket(time.as_nanos())
    }

    /// Fetches a bucket that will be counted in.
    #[inline]
    pub fn prefetch(&self, bucket: usize) {
        prefetch::line(self.counts.as_ptr().wrapping_add(bucket.wrapping_sub(self.first)));
    }

    /// Counts one time.
    #[inline]
    pub fn add(&mut self, time: Duration) {
        self.add_to(Self::bucket(time), time);
    }

    /// Counts one time whose bucket is known.
    #[inline]
    pub fn add_to(&mut self, b: usize, time: Duration) {
        let ns = time.as_nanos();
        match self.counts.get_mut(b.wrapping_sub(self.first)) {
            // A count that is full stays so: quantiles lose less by it than by beginning anew.
            Some(count) => *count = count.saturating_add(1),
            None => self.grow(b),
        }
        self.count += 1;
        self.sum += ns;
        // Three centuries fit the signed number, which is one instruction to convert.
        let us = ns as i64 as f64 * 1e-3;
        self.squares += us * us;
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// The first time in its octave: makes room for the octave's buckets.
    #[cold]
    fn grow(&mut self, b: usize) {
        let octave = b & !(SUB - 1);
        if self.counts.is_empty() {
            self.first = octave;
        } else if octave < self.first {
            self.counts.splice(..0, core::iter::repeat_n(0, self.first - octave));
            self.first = octave;
        }
        let needed = octave + SUB - self.first;
        if needed > self.counts.len() {
            // No more than needed: doubling would only spread the flows over more pages.
            self.counts.reserve_exact(needed - self.counts.len());
            self.counts.resize(needed, 0);
        }
        self.counts[b - self.first] = 1;
    }

    /// The buckets that hold something, and how many.
    fn filled(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.counts.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, n)| (self.first + i, *n))
    }

    /// Counts all that another has counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (b, n) in other.filled() {
            if self.counts.get(b.wrapping_sub(self.first)).is_none() {
                self.grow(b);
                self.counts[b - self.first] = 0;
            }
            self.counts[b - self.first] += n;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The times below which the fractions lie (in rising order), by linear interpolation within a bucket.
    pub fn quantiles<const N: usize>(&self, fractions: [f64; N]) -> [Duration; N] {
        let mut found = [Duration::from_nanos(self.max); N];
        let (mut next, mut below) = (0, 0.0);
        for (b, n) in self.filled() {
            let n = n as f64;
            while next < N && below + n >= fractions[next] * self.count as f64 {
                let (from, to) = (low(b) as f64, low(b + 1) as f64);
                let within = ((fractions[next] * self.count as f64 - below) / n).clamp(0.0, 1.0);
                let at = (from + (to - from) * within) as u64;
                found[next] = Duration::from_nanos(at.clamp(self.min, self.max));
                next += 1;
            }
            below += n;
        }
        found
    }

    /// The fraction of times beyond one, to the width of a bucket; 0 without a sample.
    pub fn beyond(&self, time: Duration) -> f64 {
        let limit = bucket(time.as_nanos());
        let above: u64 = self.filled().filter(|(b, _)| *b > limit).map(|(_, n)| n as u64).sum();
        above as f64 / self.count.max(1) as f64
    }

    /// The figures of the summary; `None` without a sample.
    pub fn spread(&self) -> Option<Spread> {
        if self.count == 0 {
            return None;
        }
        let n = self.count as f64;
        let mean_us = self.sum as f64 * 1e-3 / n;
        let [p5, p50, p95, p99] = self.quantiles([0.05, 0.5, 0.95, 0.99]).map(Duration::as_millis_f64);
        Some(Spread {
            mean: mean_us * 1e-3,
            median: p50,
            sd: units::math::sqrt((self.squares / n - mean_us * mean_us).max(0.0)) * 1e-3,
            p5,
            p50,
            p95,
            p99,
            min: self.min as f64 * 1e-6,
            max: self.max as f64 * 1e-6,
            samples: self.count,
        })
    }

    /// The buckets in use: (least, greatest, count), in milliseconds. The first and last are cut at the true extremes.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        self.filled().map(|(b, n)| {
            let (from, to) = (low(b).max(self.min), low(b + 1).min(self.max.max(low(b) + 1)));
            (from as f64 * 1e-6, to as f64 * 1e-6, n as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_that_is_full_stays_full() {
        let mut h = Histogram::default();
        h.add(Duration::from_millis(1));
        let b = Histogram::bucket(Duration::from_millis(1)) - h.first;
        h.counts[b] = u32::MAX;
        h.add(Duration::from_millis(1));
        assert_eq!(h.counts[b], u32::MAX);
    }

    #[test]
    fn buckets_join_without_gap_or_overlap() {
        for b in 0..2000 {
            assert_eq!(bucket(low(b)), b);
            assert_eq!(bucket(low(b + 1) - 1), b);
        }
    }

    #[test]
    fn the_order_in_which_times_come_is_forgotten() {
        let times = [40_000u64, 39_000, 250, 3, 900_000, 41_000, 3];
        let of = |times: &mut dyn Iterator<Item = &u64>| {
            let mut h = Histogram::default();
            times.for_each(|t| h.add(Duration::from_micros(*t)));
            h
        };
        let (there, back) = (of(&mut times.iter()), of(&mut times.iter().rev()));
        assert_eq!(there.buckets().collect::<Vec<_>>(), back.buckets().collect::<Vec<_>>());
        assert_eq!(there.buckets().map(|b| b.2).collect::<Vec<_>>(), [2, 1, 1, 1, 1, 1]);
        assert_eq!(there.quantiles([0.1, 0.5, 1.0]), back.quantiles([0.1, 0.5, 1.0]));
    }

    #[test]
    fn quantiles_are_within_a_hundredth() {
        let mut h = Histogram::default();
        for i in 1..=10_000u64 {
            h.add(Duration::from_micros(i * 10));
        }
        let s = h.spread().unwrap();
        assert!((s.median - 50.0).abs() < 0.5 && (s.p99 - 99.0).abs() < 1.0, "{s:?}");
        assert!((s.mean - 50.005).abs() < 1e-9 && (s.sd - 28.867).abs() < 0.01);
        assert_eq!((s.min, s.max), (0.01, 100.0));
        assert!((h.beyond(Duration::from_millis(75)) - 0.25).abs() < 0.01);
        assert_eq!((h.beyond(Duration::ZERO), h.beyond(Duration::from_millis(100))), (1.0, 0.0));
        assert_eq!(Histogram::default().beyond(Duration::ZERO), 0.0);
    }
}
