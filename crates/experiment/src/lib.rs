//! The experiment file: parse, check, expand a sweep into cases.
//!
//! A [`Scenario`] is one case with every default filled in and every unit resolved: what hosts (the simulator, the
//! kernel testbed) run.

mod scenario;

pub use scenario::{
    Change, Clock, FlowSpec, Link, LinkId, LossAt, LossModel, RateSpec, Reorder, Run, Scenario, Traffic, Vary,
};
