//! What arrived out of order, and which ranges to report first.

use alloc::collections::VecDeque;

/// Ranges that Linux remembers in order of change (`selective_acks`).
const REMEMBERED: usize = 4;
/// Those of FreeBSD (`MAX_SACK_BLKS`).
const LISTED: usize = 6;

/// Disjoint ranges above what was delivered, in order, and the last few that changed, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    /// On FreeBSD segments as they are queued (`t_segq`), joined elsewhere.
    ranges: VecDeque<(u64, u64)>,
    recent: [(u64, u64); LISTED],
    listed: bool,
}

impl Reassembly {
    /// With FreeBSD's list (`tcp_update_sack_list`) or Linux'.
    pub fn new(listed: bool) -> Self {
        Reassembly { listed, ..Reassembly::default() }
    }

    /// FreeBSD's queue, and what it hands to the list: a segment loses what the one before it in the queue has, but the list is
    /// told of its start and what is left of its length (11's `tcp_do_segment` keeps `save_start`, `tcp_reass` shortens `tlen`),
    /// or of all if nothing is left.
    fn queue(&mut self, start: u64, end: u64) -> Option<(u64, u64)> {
        let at = match self.ranges.back() {
            Some(last) if last.0 > start => self.ranges.partition_point(|r| r.0 <= start),
            _ => self.ranges.len(),
        };
        let held = at.checked_sub(1).map_or(start, |before| self.ranges[before].1.max(start));
        if held >= end {
            self.list((start, end));
            return Some((start, end));
        }
        self.list((start, end - (held - start)));
        let mut twice = (held > start).then_some((start, held));
        let mut after = at;
        while let Some(r) = self.ranges.get_mut(after).filter(|r| r.0 < end) {
            twice = twice.or(Some((r.0, r.1.min(end))));
            if r.1 > end {
                r.0 = end;
                break;
            }
            after += 1;
        }
        self.ranges.drain(at..after);
        self.ranges.insert(at, (held, end));
        twice
    }

    /// Puts a range at the head of FreeBSD's list. It takes in what it touches of the list, not of the queue.
    fn list(&mut self, mut head: (u64, u64)) {
        let mut list = [(0, 0); LISTED];
        let mut place = 1;
        for r in self.recent.into_iter().filter(|r| *r != (0, 0)) {
            if head.0 <= r.1 && head.1 >= r.0 {
                head = (head.0.min(r.0), head.1.max(r.1));
            } else if place < LISTED {
                list[place] = r;
                place += 1;
            }
        }
        list[0] = head;
        self.recent = list;
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds [start, end). Returns the part that was there already, if any.
    pub fn insert(&mut self, start: u64, end: u64) -> Option<(u64, u64)> {
        if self.listed {
            return self.queue(start, end);
        }
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
        self.recent = [(0, 0); LISTED];
        self.recent[0] = (low, high);
        let mut place = 1;
        for r in kept {
            if r != (0, 0) && place < REMEMBERED {
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

    fn told(r: &Reassembly) -> Vec<(u64, u64)> {
        r.recent().collect()
    }

    #[test]
    fn freebsd_lists_six_ranges_and_what_fell_off_joins_nothing() {
        for (listed, places, joined) in [(true, 6, (30, 40)), (false, 4, (10, 40))] {
            let mut r = Reassembly::new(listed);
            (0..8).for_each(|n| _ = r.insert(10 + 40 * n, 30 + 40 * n));
            assert_eq!((told(&r).len(), told(&r)[0]), (places, (290, 310)), "{listed}");
            // 10 to 30 is forgotten on both; only the queue still has it. 250 to 270 is known on both.
            r.insert(30, 40);
            assert_eq!(told(&r)[0], joined, "{listed}");
            r.insert(270, 280);
            assert_eq!(told(&r)[0], (250, 280), "{listed}");
            assert_eq!(r.advance(10), 40, "{listed}: all of it is delivered");
            assert!(told(&r).iter().all(|r| r.0 > 40), "{listed}");
        }
    }

    #[test]
    fn what_touches_a_range_on_the_list_takes_it_in_and_leads() {
        let mut r = Reassembly::new(true);
        [(10, 20), (30, 40), (50, 60)].into_iter().for_each(|(start, end)| _ = r.insert(start, end));
        r.insert(20, 30);
        assert_eq!(told(&r), [(10, 40), (50, 60)]);
        r.insert(5, 10);
        assert_eq!(told(&r), [(5, 40), (50, 60)]);
    }

    #[test]
    fn freebsd_tells_less_of_a_segment_that_the_one_before_overlaps() {
        // (held, arrives, what came twice, told, where all ends once it is delivered)
        for (held, (start, end), twice, first, reaches) in [
            (&[(10, 20)][..], (12, 18), Some((12, 18)), (12, 18), 20), // nothing is left: all is told
            (&[(10, 20)], (10, 20), Some((10, 20)), (10, 20), 20),
            (&[(10, 20)], (15, 30), Some((15, 20)), (15, 25), 30),
            (&[(10, 20)], (20, 30), None, (20, 30), 30),
            (&[(10, 20)], (5, 15), Some((10, 15)), (5, 15), 20), // the one behind loses its part
            (&[(10, 20)], (5, 30), Some((10, 20)), (5, 30), 30),
            (&[(10, 20), (20, 30)], (15, 28), Some((15, 20)), (15, 23), 30), // the queue joins no segments
            (&[(10, 20), (25, 35)], (15, 30), Some((15, 20)), (15, 25), 35),
            (&[(10, 20), (22, 24), (26, 28)], (20, 30), Some((22, 24)), (20, 30), 30),
        ] {
            let mut r = Reassembly::new(true);
            // The list forgets what is held before the segment arrives.
            let others = (0..6).map(|n| (1000 + 20 * n, 1010 + 20 * n));
            held.iter().copied().chain(others).for_each(|(start, end)| _ = r.insert(start, end));
            assert_eq!((r.insert(start, end), told(&r)[0]), (twice, first), "{held:?}, {start}");
            assert!(r.ranges.iter().all(|r| r.0 < r.1) && r.ranges.iter().is_sorted_by(|a, b| a.1 <= b.0), "{r:?}");
            assert_eq!(r.advance(start.min(held[0].0)), reaches, "{held:?}, {start}");
            assert!(r.ranges.len() == 6 && told(&r).iter().all(|r| r.0 >= 1000), "{r:?}");
        }
    }

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
