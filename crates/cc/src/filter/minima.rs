//! The smallest value of each of the last spans of time, or of any count (RFC 6817's base history).

use alloc::collections::VecDeque;

/// Minima of spans, oldest first. A span without a sample leaves no gap: so many spans *with samples* are kept.
#[derive(Clone, Debug)]
pub struct Minima<T> {
    spans: VecDeque<(u64, T)>,
    keep: usize,
}

impl<T: Copy + PartialOrd> Minima<T> {
    /// Keeps so many spans, at least one.
    pub fn new(keep: usize) -> Self {
        Minima { spans: VecDeque::new(), keep: keep.max(1) }
    }

    /// Takes a sample of the span of that number, which never falls. Returns the smallest of all spans kept.
    pub fn update(&mut self, span: u64, value: T) -> T {
        match self.spans.back_mut() {
            Some((number, least)) if *number == span => {
                if value < *least {
                    *least = value;
                }
            }
            _ => self.spans.push_back((span, value)),
        }
        if self.spans.len() > self.keep {
            self.spans.pop_front();
        }
        self.get().unwrap_or(value)
    }

    /// The smallest of all spans kept.
    pub fn get(&self) -> Option<T> {
        self.spans.iter().map(|s| s.1).reduce(|a, b| if b < a { b } else { a })
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.spans.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimum_lasts_as_long_as_its_span() {
        let mut m = Minima::new(3);
        assert_eq!(m.get(), None);
        let seen: std::vec::Vec<u32> =
            [(0, 9), (0, 5), (0, 7), (1, 6), (2, 8), (3, 9), (9, 9)].map(|(s, v)| m.update(s, v)).into();
        assert_eq!(seen, [9, 5, 5, 5, 5, 6, 8]);
        m.clear();
        assert_eq!(m.update(9, 20), 20);
    }
}
