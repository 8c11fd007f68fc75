//! What is counted of a flow.

use crate::backoffs::Backoffs;
use crate::gaps::Gaps;
use crate::histogram::Histogram;
use crate::summary;
use cc::{CauseKind, EventRecord, causes};
use experiment::Run;
use tcp::BandwidthEstimates;
use units::{Bytes, Duration, Instant};

/// A finished transfer.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Completion {
    /// Payload bytes.
    pub bytes: u64,
    /// From request to last byte, in seconds.
    pub seconds: f64,
    /// When it was done, in seconds.
    pub at: f64,
}

/// Counters of a flow: first what is seldom touched, last what is [noted](crate::delays) with every packet.
#[derive(Debug, Default)]
#[repr(C)]
pub struct FlowCount {
    /// Packets lost on the way in the window, whenever they were sent.
    pub lost_packets: u64,
    /// Of the packets that arrived in the window, those that a link had made of others.
    pub copies: u64,
    /// Packets that came in the window to a connection that was closed by then, and are in no histogram.
    pub stragglers: u64,
    /// In-order payload at the start and end of the window.
    pub goodput: [u64; 2],
    /// Retransmissions at the start and end of the window.
    pub retransmits: [u64; 2],
    /// Answers to congestion, of the whole run.
    pub backoffs: Backoffs,
    /// End of slow start: time, threshold, ratio to the BDP.
    pub slow_start_exit: Option<(Instant, u64, f64)>,
    /// Time spent in modes, by number, and the present one with its beginning.
    pub modes: Vec<(i64, Duration)>,
    /// The present mode and when it began.
    pub mode: Option<(i64, Instant)>,
    /// Finished transfers.
    pub completions: Vec<Completion>,
    /// IP bytes and in-order payload at the last sample.
    pub sampled: (u64, u64),
    /// In-order payload of the flow's connections that are through (Tmix).
    pub ended_goodput: u64,
    /// Gaps between arrivals of data and of acknowledgements, if they are asked for.
    pub gaps: Option<Box<[Gaps; 2]>>,

    /// If asked for: what each round in the window says of the bandwidth, at the IP layer in bit/s, by the ACKs' rate and
    /// by the window over the RTT. A bit a second counts as a nanosecond, so that milliseconds are Mbit/s.
    pub bandwidth: Option<Box<[Histogram; 2]>>,
    /// Packets handed over in the window by others than a connection's data sender, which
    /// [counts](crate::node::Tcp::sent) itself.
    pub sent_packets: u64,

    /// RTT samples in the window.
    pub rtt: Histogram,
    /// IP bytes delivered in the whole run.
    pub total_bytes: u64,
    /// IP bytes delivered to the receiver in the window.
    pub delivered_bytes: u64,
    /// Interarrival jitter of RFC 3550, section 6.4.1, in nanoseconds; see [`jitter_ms`](Self::jitter_ms).
    jitter: f64,
    last_one_way: Option<Duration>,
    /// Of the step of the series under way.
    pub step: StepDelay,
    /// One-way delays of data packets in the window.
    pub one_way: Histogram,
}

impl FlowCount {
    /// Nothing has happened yet.
    pub fn new(run: &Run) -> Self {
        let gaps = || Box::new([Gaps::new(&run.gaps), Gaps::new(&run.gaps)]);
        FlowCount {
            gaps: (!run.gaps.is_empty()).then(gaps),
            bandwidth: run.estimates.then(Box::default),
            ..FlowCount::default()
        }
    }

    /// A round is over; `packet` is the size at the IP layer of one with `mss` bytes of payload.
    pub fn round(&mut self, estimates: BandwidthEstimates, mss: Bytes, packet: Bytes) {
        for (histogram, rate) in
            self.bandwidth.iter_mut().flat_map(|b| &mut **b).zip([estimates.ack_rate, estimates.window_rate])
        {
            let bps = rate.as_bps() as u128 * packet.get() as u128 / mss.get() as u128;
            histogram.add(Duration::from_nanos(u64::try_from(bps).unwrap_or(u64::MAX)));
        }
    }

    /// Its algorithm told of something, `now`, on a flow that started at `start` over a path of this BDP. Two delay
    /// back-offs sooner after each other than `soon` are a double one.
    #[cold]
    pub fn caused(&mut self, event: &EventRecord, now: Instant, start: Instant, bdp: f64, soon: Duration) {
        self.backoffs.caused(event, now, bdp, soon);
        if let Some(causes::ModeSwitch { from, to, .. }) = causes::ModeSwitch::of(event) {
            let (_, since) = self.mode.unwrap_or((from, start));
            summary::add_mode(&mut self.modes, from, now.since(since));
            self.mode = Some((to, now));
        }
        // A threshold learned on the way (SlowStartCap) is not the end yet; BBR's end sets no threshold.
        let ends = event.cause() == Some(CauseKind::SlowStartExit)
            || (event.ssthresh_before == u64::MAX && event.ssthresh_after != u64::MAX);
        if self.slow_start_exit.is_none() && ends && event.cause() != Some(CauseKind::SlowStartCap) {
            let unset = event.ssthresh_after == u64::MAX;
            let threshold = if unset { event.cwnd_after } else { event.ssthresh_after };
            self.slow_start_exit = Some((now, threshold, threshold as f64 / bdp));
        }
    }

    /// The jitter, if two packets in the window make one.
    pub fn jitter_ms(&self) -> Option<f64> {
        // Of connections that come and go delays alone are counted: jitter is of one stream.
        (self.last_one_way.is_some() && self.one_way.count() > 1).then_some(self.jitter * 1e-6)
    }

    /// Packets that the sender sent and that arrived in the window, whenever they were sent.
    pub fn came_through(&self) -> u64 {
        (self.one_way.count() + self.stragglers).saturating_sub(self.copies)
    }

    /// Mean one-way delay (ms) of the packets since this was last asked; NaN if none came.
    pub fn step_owd_ms(&mut self) -> f64 {
        let StepDelay { nanos, packets } = core::mem::take(&mut self.step);
        if packets == 0 { f64::NAN } else { nanos as f64 * 1e-6 / packets as f64 }
    }

    /// A data packet arrived; `bucket` is its delay's in the histogram.
    #[inline]
    pub fn arrived(&mut self, size: u32, one_way: Duration, bucket: usize, measuring: bool) {
        self.total_bytes += size as u64;
        self.step.add(one_way);
        if !measuring {
            return;
        }
        self.delivered_bytes += size as u64;
        if let Some(last) = self.last_one_way {
            let d = one_way.as_nanos().abs_diff(last.as_nanos()) as f64;
            self.jitter += (d - self.jitter) * (1.0 / 16.0);
        }
        self.last_one_way = Some(one_way);
        self.one_way.add_to(bucket, one_way);
    }
}

/// One-way delays of the packets of a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepDelay {
    nanos: u64,
    packets: u64,
}

impl StepDelay {
    /// A packet arrived.
    #[inline]
    pub fn add(&mut self, one_way: Duration) {
        self.nanos += one_way.as_nanos();
        self.packets += 1;
    }
}
