//! The algorithms: one paper, one file.

pub mod cubic;
pub mod newreno;
pub mod vegas;
