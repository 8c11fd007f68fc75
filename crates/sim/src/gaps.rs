//! Gaps between a flow's packets as they arrive, counted by band: no memory per packet.

use experiment::Band;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// One direction of a flow.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    bands: Vec<(Duration, Duration, u64)>,
    last: Option<Instant>,
    all: u64,
}

impl Gaps {
    /// Nothing has arrived.
    pub fn new(bands: &[Band]) -> Self {
        Gaps { bands: bands.iter().map(|b| (b.from, b.to, 0)).collect(), last: None, all: 0 }
    }

    /// A packet arrived. The first has no gap before it.
    pub fn arrived(&mut self, now: Instant) {
        let Some(last) = self.last.replace(now) else { return };
        let gap = now.since(last);
        self.all += 1;
        for (from, to, n) in &mut self.bands {
            *n += u64::from((*from..*to).contains(&gap));
        }
    }

    /// Each band's share of all gaps; none if there was no gap.
    pub fn shares(&self, bands: &[Band]) -> BTreeMap<String, f64> {
        let share = |n: u64| n as f64 / self.all as f64;
        let named = bands.iter().zip(&self.bands).filter(|_| self.all > 0);
        named.map(|(band, (.., n))| (band.name.clone(), share(*n))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_fall_into_bands_with_an_open_upper_end() {
        let us = Duration::from_micros;
        let band = |name: &str, from, to| Band { name: name.into(), from: us(from), to: us(to) };
        let bands = [band("none", 0, 10), band("ms", 900, 1100), band("any", 0, 1_000_000)];
        let mut gaps = Gaps::new(&bands);
        assert!(gaps.shares(&bands).is_empty());
        for at in [0, 1000, 1000, 1010, 3000, 3900] {
            gaps.arrived(Instant::ZERO + us(at));
        }
        let shares = gaps.shares(&bands);
        assert_eq!((shares["none"], shares["ms"], shares["any"]), (0.2, 0.4, 1.0));
    }
}
