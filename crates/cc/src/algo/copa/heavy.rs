//! Heavy loss, to which Copa answers in either mode: of the authors' code alone.

use crate::Flow;
use units::Instant;

/// Loss is heavy beyond this part of the packets of so many RTTs, of which there must be more than so many, and leaves this
/// part of the window (`ReduceOnLoss::update`, `MarkovianCC::onACK`).
const HEAVY: f64 = 0.3;
const RTTS: u64 = 2;
const PACKETS: f64 = 20.0;
pub(super) const LEAVES: f64 = 0.7;

/// Packets that came and that were lost since then.
#[derive(Debug)]
pub(super) struct HeavyLoss {
    pub(super) came: f64,
    pub(super) lost: f64,
    since: Instant,
}

impl HeavyLoss {
    pub(super) fn since(now: Instant) -> Self {
        HeavyLoss { came: 0.0, lost: 0.0, since: now }
    }

    /// Is it? Judged every two RTTs.
    pub(super) fn judge(&mut self, flow: &Flow) -> bool {
        let packets = self.came + self.lost;
        if flow.now.since(self.since) <= flow.srtt * RTTS || packets <= PACKETS {
            return false;
        }
        let heavy = self.lost > HEAVY * packets;
        *self = HeavyLoss::since(flow.now);
        heavy
    }
}
