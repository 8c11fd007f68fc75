//! The experiment file: parse, check, expand a sweep into cases.
//!
//! A [`Scenario`] is one case with every default filled in and every unit resolved: what hosts (the simulator, the
//! kernel testbed) run. [`parse`] reads the file (or the one-line form) into an [`Experiment`]; overrides are
//! [`set`](Experiment::set); [`cases`](Experiment::cases) expands and checks the sweep. Every mistake gives one [`Error`]
//! with its place.
//!
//! ```
//! let mut experiment = experiment::parse("12Mbit/s 40ms 2BDP fifo: newreno", "").unwrap();
//! experiment.set("path.rtt", "80ms").unwrap();
//! let cases = experiment.cases().unwrap();
//! assert_eq!(cases[0].scenario.flows[0].base_rtt, units::Duration::from_millis(80));
//! let error = experiment.set("path.rtt", "80").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "--set path.rtt=80: character 10: path.rtt: 80 has no unit: write \"80 ms\" or \"80 s\""
//! );
//! ```

mod assign;
mod claim;
mod clock;
mod compare;
mod condition;
mod decode;
mod describe;
mod dumbbell;
mod error;
mod experiment;
mod flows;
mod hash;
mod lack;
pub mod limits;
mod line;
mod links;
mod loss;
mod metric;
mod printed;
mod prune;
mod published;
mod quantity;
mod raw;
mod resolve;
mod scenario;
mod schema;
mod source;
mod stats;
mod sweep;
pub mod tmix;
mod tolerance;
mod trace;
mod traffic;
mod tree;

pub use claim::{Claim, Over, Verdict};
pub use clock::{Counter, Rounding, TickParams};
pub use compare::{Agreement, Compared, Comparison, OwnRuns};
pub use error::Error;
pub use experiment::{Case, Experiment, parse, parse_with};
pub use loss::{Gilbert, Periodic};
pub use metric::metrics;
pub use published::{Cell, Published};
pub use scenario::{
    Band, Change, Clock, FlowSpec, Link, LinkId, LossAt, LossModel, MTU, RateSpec, Reorder, Run, Scenario, Traffic,
    Vary,
};
pub use schema::schema;
pub use stats::quantile;
pub use trace::{OPPORTUNITY, mean_rate};
pub use traffic::{DATAGRAM_HEADER, TRAFFIC, TrafficKind};
