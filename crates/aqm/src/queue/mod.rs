//! Queues: they own packets and ask a law.

pub mod choke;
pub mod dualpi2;
pub mod fair;
pub mod fifo;
mod lane;
pub mod sfb;

pub use lane::Lane;

/// One of `n` buckets for a flow, all equally likely. Stafford's 13th variant of the murmur finaliser: every bit of the
/// flow reaches every bit of the result.
fn bucket(flow: u64, n: usize) -> usize {
    let x = (flow ^ (flow >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((u128::from(x ^ (x >> 31)) * n as u128) >> 64) as usize
}
