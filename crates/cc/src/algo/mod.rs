//! The algorithms: one paper, one file.

pub mod bbr;
pub mod cdg;
pub mod chd;
pub mod cubic;
pub mod hd;
pub mod hldg;
pub mod newreno;
pub mod scalable;
pub mod vegas;
