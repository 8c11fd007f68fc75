//! Completion times by size.

use super::CompletionBin;
use crate::count::Completion;
use crate::histogram::Histogram;
use crate::probe::Probe;
use crate::world::World;

/// Upper ends of the completion bins: what fits the initial windows of 3 and 10, then decades.
pub(crate) const BINS: [u64; 6] = [4_380, 14_600, 100_000, 1_000_000, 10_000_000, u64::MAX];

/// Of transfers.
pub(super) fn completion_bins(all: &[Completion]) -> Vec<CompletionBin> {
    let mut low = 0;
    let mut bins = Vec::new();
    for high in BINS {
        let s: Vec<f64> = all.iter().filter(|c| c.bytes > low && c.bytes <= high).map(|c| c.seconds).collect();
        low = high;
        let at = |q| experiment::quantile(&s, q);
        let (Some(median_s), Some(p95_s)) = (at(0.5), at(0.95)) else { continue };
        bins.push(CompletionBin {
            up_to_bytes: high,
            transfers: s.len(),
            mean_s: s.iter().sum::<f64>() / s.len() as f64,
            median_s,
            p95_s,
        });
    }
    bins
}

/// The same of exchanges, which were counted as they came.
pub(super) fn exchange_bins<P: Probe>(world: &World<P>, flows: &[usize]) -> Vec<CompletionBin> {
    let mut bins = Vec::new();
    for (i, up_to_bytes) in BINS.into_iter().enumerate() {
        let mut all = Histogram::default();
        flows.iter().filter_map(|&f| world.sessions.exchanges(f)).for_each(|e| all.merge(&e[i]));
        if let Some(s) = all.spread() {
            bins.push(CompletionBin {
                up_to_bytes,
                transfers: s.samples as usize,
                mean_s: s.mean * 1e-3,
                median_s: s.median * 1e-3,
                p95_s: s.p95 * 1e-3,
            });
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_two_lies_between_them() {
        let took = |seconds| Completion { bytes: 1000, seconds, at: 0.0 };
        let bins = completion_bins(&[took(2.0), took(1.0), took(4.0), took(3.0)]);
        assert_eq!((bins.len(), bins[0].transfers, bins[0].mean_s, bins[0].median_s), (1, 4, 2.5, 2.5));
        assert!((bins[0].p95_s - 3.85).abs() < 1e-12);
    }
}
