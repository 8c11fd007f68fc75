//! What part of a round's data came marked, for controls that answer the extent of congestion (DCTCP and after it).

use crate::Ack;
use units::Bytes;

/// Counts delivered and marked bytes of the round under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct MarkedFraction {
    acked: Bytes,
    marked: Bytes,
}

impl MarkedFraction {
    /// Takes an ACK. `true` for `over` ends the round and gives its fraction, if anything was delivered.
    #[inline]
    pub fn see(&mut self, ack: &Ack, over: bool) -> Option<f64> {
        self.acked += ack.delivered;
        self.marked += ack.ce;
        if !over || self.acked.is_zero() {
            return None;
        }
        let fraction = (self.marked.as_f64() / self.acked.as_f64()).min(1.0);
        *self = MarkedFraction::default();
        Some(fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, packets};

    #[test]
    fn a_round_of_which_a_quarter_was_marked() {
        let mut m = MarkedFraction::default();
        assert_eq!(m.see(&Ack { ce: packets(2), ..ack(6, 1) }, false), None);
        assert_eq!(m.see(&ack(2, 1), true), Some(0.25));
        assert_eq!(m.see(&ack(0, 1), true), None, "nothing delivered tells nothing");
    }
}
