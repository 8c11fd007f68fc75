//! Queues: they own packets and ask a law.

pub mod fair;
pub mod fifo;
mod lane;

pub use lane::Lane;
