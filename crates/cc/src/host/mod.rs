//! What every host measures, whatever the algorithm: RTT and its timeout, FreeBSD's enhanced RTT, rounds, delivery rate.

mod ertt;
mod rate;
mod round;
mod rtt;

pub use ertt::{EnhancedRtt, Heard as ErttHeard, MarkedRound};
pub use rate::{RateTag, RateTracker};
pub use round::RoundTracker;
pub use rtt::{RttEstimator, RttRule};
