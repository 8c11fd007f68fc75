//! The algorithms: one paper, one file.

pub mod cdg;
pub mod cubic;
pub mod newreno;
pub mod vegas;
