//! What every host measures, whatever the algorithm: RTT and its timeout, FreeBSD's enhanced RTT, rounds, delivery rate,
//! rates of ACKs and of the last round trip, marked fractions; and extremes of data's RTTs, packet pairs, ACK trains and
//! probing trains, once for all that use them.

mod capacity;
mod data_rtt;
mod eligible;
mod ertt;
mod marks;
mod pair;
mod probe;
mod rate;
mod round;
mod round_trip;
mod rtt;
mod train;

pub use capacity::CapProbe;
pub use data_rtt::DataRtt;
pub use eligible::{AckRate, EligibleRate, RecentRate};
pub use ertt::{EnhancedRtt, Heard as ErttHeard, MarkedRound};
pub use marks::MarkedFraction;
pub use pair::{Dispersion, PacketPair};
pub use probe::{Probe, ProbeTrain};
pub use rate::{RateTag, RateTracker};
pub use round::RoundTracker;
pub use round_trip::RoundTripRates;
pub use rtt::{RttEstimator, RttRule, SLOP};
pub use train::Train;
