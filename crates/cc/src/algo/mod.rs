//! The algorithms: one paper, one file.

pub mod bbr;
pub mod card;
pub mod cdg;
pub mod chd;
pub mod compound;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod dual;
pub mod hd;
pub mod highspeed;
pub mod hldg;
pub mod illinois;
pub mod ledbat;
pub mod lola;
pub mod newreno;
pub mod pert;
pub mod reno;
pub mod scalable;
pub mod tahoe;
pub mod timely;
pub mod vegas;
pub mod vegas_plus;
pub mod westwood;
pub mod yeah;
