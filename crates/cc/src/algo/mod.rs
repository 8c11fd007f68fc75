//! The algorithms: one paper, one file.

pub mod newreno;
