//! Completion times by size.

use super::CompletionBin;
use crate::histogram::Histogram;
use crate::node::Completion;
use crate::probe::Probe;
use crate::world::World;

/// Upper ends of the completion bins: what fits the initial windows of 3 and 10, then decades.
pub(crate) const BINS: [u64; 6] = [4_380, 14_600, 100_000, 1_000_000, 10_000_000, u64::MAX];

/// Of transfers.
pub(super) fn completion_bins(all: &[Completion]) -> Vec<CompletionBin> {
    let mut low = 0;
    let mut bins = Vec::new();
    for high in BINS {
        let mut s: Vec<f64> = all.iter().filter(|c| c.bytes > low && c.bytes <= high).map(|c| c.seconds).collect();
        low = high;
        if s.is_empty() {
            continue;
        }
        s.sort_by(f64::total_cmp);
        let at = |q: f64| s[((s.len() as f64 * q) as usize).min(s.len() - 1)];
        bins.push(CompletionBin {
            up_to_bytes: high,
            transfers: s.len(),
            mean_s: s.iter().sum::<f64>() / s.len() as f64,
            median_s: at(0.5),
            p95_s: at(0.95),
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
