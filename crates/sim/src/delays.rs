//! Delays on their way into the counters. A flow's counters and histograms lie far from what else its packets touch. So a
//! packet's delay is only noted, and a few hundred are counted at a time: then the next places are known well ahead, and
//! the processor waits for several of them at once instead of for each in turn. With few flows, whose counters are near,
//! this would only take longer.

use crate::histogram::Histogram;
use crate::node::Node;
use units::Duration;

/// So many are counted at a time: four kilobytes, which stay in the nearest cache.
const ROOM: usize = 256;
/// So many are fetched at a time.
const FETCHED: usize = 16;

/// What a packet brought.
#[derive(Clone, Copy, Debug)]
struct Noted {
    flow: u32,
    /// Bytes at the IP layer.
    size: u32,
    delay: Duration,
}

/// Noted and not yet counted.
#[derive(Debug)]
pub struct Delays {
    one_way: Vec<Noted>,
    rtt: Vec<Noted>,
}

impl Delays {
    /// None yet.
    pub fn new() -> Self {
        Delays { one_way: Vec::with_capacity(ROOM), rtt: Vec::with_capacity(ROOM) }
    }

    /// A data packet arrived. True if it is time to [`count`](Self::count).
    #[inline]
    pub fn arrived(&mut self, flow: u32, size: u32, delay: Duration) -> bool {
        self.one_way.push(Noted { flow, size, delay });
        self.one_way.len() == ROOM
    }

    /// An acknowledgement measured the RTT. True if it is time to [`count`](Self::count).
    #[inline]
    pub fn measured(&mut self, flow: u32, delay: Duration) -> bool {
        self.rtt.push(Noted { flow, size: 0, delay });
        self.rtt.len() == ROOM
    }

    /// Counts what was noted, in the order in which it came. Outside the window of measurement only bytes count.
    #[inline(never)]
    pub fn count(&mut self, nodes: &mut [Node], measuring: bool) {
        let mut buckets = [0; FETCHED];
        for some in self.one_way.chunks(FETCHED) {
            some.iter().for_each(|noted| nodes[noted.flow as usize].prefetch_one_way());
            // The counters, fetched above, tell where the buckets are.
            for (noted, bucket) in some.iter().zip(&mut buckets) {
                *bucket = Histogram::bucket(noted.delay);
                nodes[noted.flow as usize].count.one_way.prefetch(*bucket);
            }
            for (noted, bucket) in some.iter().zip(buckets) {
                nodes[noted.flow as usize].count.arrived(noted.size, noted.delay, bucket, measuring);
            }
        }
        self.one_way.clear();
        for some in self.rtt.chunks(FETCHED) {
            some.iter().for_each(|noted| nodes[noted.flow as usize].prefetch_rtt());
            for (noted, bucket) in some.iter().zip(&mut buckets) {
                *bucket = Histogram::bucket(noted.delay);
                nodes[noted.flow as usize].count.rtt.prefetch(*bucket);
            }
            for (noted, bucket) in some.iter().zip(buckets) {
                nodes[noted.flow as usize].count.rtt.add_to(bucket, noted.delay);
            }
        }
        self.rtt.clear();
    }
}

impl Default for Delays {
    fn default() -> Self {
        Delays::new()
    }
}
