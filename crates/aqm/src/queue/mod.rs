//! Queues: they own packets and ask a law.

pub mod choke;
pub mod dualpi2;
pub mod fair;
pub mod fifo;
mod lane;
pub mod sfb;

pub use lane::Lane;

/// One of `n` buckets for a flow, all equally likely.
fn bucket(flow: u64, n: usize) -> usize {
    ((u128::from(units::avalanche(flow)) * n as u128) >> 64) as usize
}
