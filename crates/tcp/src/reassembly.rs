//! What arrived out of order, and which ranges to report first.

use alloc::collections::VecDeque;

/// Disjoint ranges above what was delivered, in order, and the last few that changed, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    ranges: VecDeque<(u64, u64)>,
    recent: [(u64, u64); 4],
}

impl Reassembly {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds [start, end). Returns the part that was there already, if any.
    pub fn insert(&mut self, start: u64, end: u64) -> Option<(u64, u64)> {
        // The first range that ends at or after the new one begins: it may touch or overlap. Mostly it is the last, or none.
        let ends_before = |r: &(u64, u64)| r.1 < start;
        let at = match self.ranges.len() {
            n if self.ranges.back().is_none_or(ends_before) => n,
            n if n == 1 || ends_before(&self.ranges[n - 2]) => n - 1,
            _ => self.ranges.partition_point(ends_before),
        };
        let (mut low, mut high) = (start, end);
        let mut twice = None;
        let mut after = at;
        while let Some(&(s, e)) = self.ranges.get(after) {
            if s > end {
                break;
            }
            if s < end && e > start {
                twice = twice.or(Some((s.max(start), e.min(end))));
            }
            low = low.min(s);
            high = high.max(e);
            after += 1;
        }
        match after - at {
            0 => self.ranges.insert(at, (low, high)),
            n => {
                self.ranges[at] = (low, high);
                if n > 1 {
                    self.ranges.drain(at + 1..after);
                }
            }
        }
        let kept = self.recent.map(|r| if r.0 >= low && r.1 <= high { (0, 0) } else { r });
        self.recent = [(low, high), (0, 0), (0, 0), (0, 0)];
        let mut place = 1;
        for r in kept {
            if r != (0, 0) && place < 4 {
                self.recent[place] = r;
                place += 1;
            }
        }
        twice
    }

    /// Everything below `next` was delivered: takes out the ranges that continue it and returns where they end.
    pub fn advance(&mut self, mut next: u64) -> u64 {
        while let Some(&(start, end)) = self.ranges.front() {
            if start > next {
                break;
            }
            next = next.max(end);
            self.ranges.pop_front();
        }
        for r in &mut self.recent {
            if r.1 <= next {
                *r = (0, 0);
            }
        }
        next
    }

    /// The ranges to report, newest first.
    pub fn recent(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.recent.iter().copied().filter(|r| r.0 < r.1)
    }

    /// The range that holds `at`.
    pub fn around(&self, at: u64) -> Option<(u64, u64)> {
        let i = self.ranges.partition_point(|r| r.1 <= at);
        self.ranges.get(i).copied().filter(|r| r.0 <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn ranges_merge_and_the_newest_is_reported_first() {
        let mut r = Reassembly::default();
        assert_eq!(r.insert(10, 20), None);
        assert_eq!(r.insert(40, 50), None);
        assert_eq!(r.insert(60, 70), None);
        assert_eq!(r.recent().collect::<Vec<_>>(), [(60, 70), (40, 50), (10, 20)]);
        assert_eq!(r.insert(20, 30), None);
        assert_eq!(r.recent().collect::<Vec<_>>(), [(10, 30), (60, 70), (40, 50)]);
        assert_eq!(r.insert(25, 45), Some((25, 30)));
        assert_eq!(r.recent().collect::<Vec<_>>(), [(10, 50), (60, 70)]);
        assert_eq!(r.advance(10), 50);
        assert_eq!(r.around(65), Some((60, 70)));
        assert_eq!(r.advance(60), 70);
        assert!(r.is_empty() && r.recent().next().is_none());
    }
}
