//! Queues: they own packets and ask a law.

pub mod dualpi2;
pub mod fair;
pub mod fifo;
mod lane;

pub use lane::Lane;
