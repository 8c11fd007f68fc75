//! What users may set on RED, what its references set, and what follows from the link.

use crate::{Averaging, LinkInfo};
use params::{Auto, ParamError};
use units::{Bytes, Duration, Rate, math};

params::choice! {
    /// Whose rules.
    pub enum Reference {
        /// Floyd and Jacobson 1993: 5 to 15 packets, 1/50.
        Paper = "paper",
        /// ns-2: thresholds by the link, gentle, bytes, drops instead of marks from 10 % on.
        Ns2 = "ns-2",
        /// FreeBSD's dummynet: table of idle ticks, one throw a drop, ECN marks all above min.
        Dummynet = "dummynet",
        /// Linux: bytes, table of shifts, one throw a drop, marks above max, too.
        Linux = "linux",
    }
}

params::params! {
    /// What users may set.
    pub struct Params {
        /// Average queue in packets below which nothing happens; auto follows the link (ns-2: half of target_delay, at least 5; Linux: a third of max).
        min: Auto = Auto::of(5.0), Auto::of(0.0) => Auto::of(1e6);
        /// Average queue in packets where the random band ends; auto is 3 min (Linux: a quarter of the buffer).
        max: Auto = Auto::of(15.0), Auto::of(1e-3) => Auto::of(1e7);
        /// Weight of an arrival in the average; auto follows the link (ns-2: 1 − e^(−1/packets in 10 round trips of 100 ms, or of three times the link's delay; Linux: by the burst allowed).
        weight: Auto = Auto::of(0.002), Auto::of(1e-5) => Auto::of(1.0);
        /// Probability where the band ends (paper and Linux 1/50, ns-2 1/10 as Floyd advised later).
        max_p: f64 = 0.02, 0.0 => 1.0;
        /// Let the probability rise to 1 between max and twice max instead of at once (Floyd's note of 2000).
        gentle: bool = false;
        /// Keep signals at least 1/p apart (ns-2).
        wait: bool = false;
        /// Measure the queue in bytes, in packets of mean size; the paper, ns-2 and dummynet then let p go with a packet's size.
        bytes: bool = false;
        /// Let p go with a packet's size even where the queue is measured in packets (ns-2's bytes_ without queue_in_bytes_).
        by_size: bool = false;
        /// Size of a packet on average, 0 is the link's MTU: for bytes and for idle time (ns-2 500 B, dummynet 512 B, Linux 1000 B).
        mean_packet: Bytes = Bytes::ZERO, Bytes::ZERO => Bytes::new(65_535);
        /// Queueing delay aimed at where thresholds are automatic (ns-2).
        target_delay: Duration = Duration::from_millis(5), Duration::ZERO => Duration::from_secs(10);
        /// Mark packets that can be marked instead of dropping them.
        ecn: bool = false;
        /// From this probability on packets are dropped even if they could be marked.
        mark_threshold: f64 = 1.0, 0.0 => 1.0;
        /// Drop even what could be marked where the probability is 1 (RFC 3168; not in Linux unless asked).
        hard_drop: bool = true;
        /// Whose rules where they differ; it brings its own defaults.
        reference: Reference = Reference::Paper;
    }
    check |p| {
        match (p.min.0, p.max.0) {
            (Some(min), Some(max)) if min >= max => Err(ParamError::Conflict(alloc::format!(
                "min = {min} must be less than max = {max}: the probability rises between them"
            ))),
            _ => Ok(()),
        }?;
        let usual = Params::of(p.reference);
        p.need(&usual, &["mark_threshold", "hard_drop"], p.ecn, "ecn=true")?;
        let throws_once = matches!(p.reference, Reference::Dummynet | Reference::Linux);
        p.need(&usual, &["wait"], !throws_once, "reference=ns-2")?;
        p.need(&usual, &["by_size"], p.reference != Reference::Linux, "reference=ns-2")?;
        // Above min it marks whatever p is. What ipfw cannot leave out, max_p and the choice between red and gred, is taken.
        let marks_all = p.reference == Reference::Dummynet && p.ecn;
        p.need(&usual, &["by_size"], !marks_all, "ecn=false")?;
        p.need(&usual, &["mark_threshold", "hard_drop"], !marks_all, "a reference other than dummynet")?;
        if p.reference == Reference::Linux {
            return p.need(&usual, &["target_delay"], false, "reference=ns-2");
        }
        p.need(&usual, &["target_delay"], p.min == Auto::AUTO, "min=auto")
    }
}

/// The parameters as numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Resolved {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) weight: f64,
    pub(super) mean: Bytes,
    /// Seconds a packet of mean size takes.
    pub(super) packet_time: f64,
}

impl Params {
    /// The defaults of a reference.
    pub fn of(reference: Reference) -> Self {
        let ours = match reference {
            Reference::Paper => Params::default(),
            Reference::Ns2 => Params {
                min: Auto::AUTO,
                max: Auto::AUTO,
                weight: Auto::AUTO,
                max_p: 0.1,
                gentle: true,
                wait: true,
                bytes: true,
                mean_packet: Bytes::new(500),
                mark_threshold: 0.1,
                ..Params::default()
            },
            Reference::Dummynet => Params { mean_packet: Bytes::new(512), ..Params::default() },
            Reference::Linux => Params {
                min: Auto::AUTO,
                max: Auto::AUTO,
                weight: Auto::AUTO,
                bytes: true,
                mean_packet: Bytes::new(1_000),
                hard_drop: false,
                ..Params::default()
            },
        };
        Params { reference, ..ours }
    }

    /// Thresholds and weight on this link.
    pub(super) fn resolve(&self, link: &LinkInfo) -> Resolved {
        let mean = if self.mean_packet.is_zero() { link.mtu } else { self.mean_packet }.max(Bytes::new(1));
        let rate = link.rate.max(Rate::from_bps(1)).bytes_per_sec() / mean.as_f64();
        let (min, max, weight) = if self.reference == Reference::Linux {
            self.as_tc(link, mean)
        } else {
            let min = self.min.or((self.target_delay.as_secs_f64() * rate / 2.0).max(5.0));
            (min, self.max.or(3.0 * min).max(1e-3), self.weight_on(link, rate))
        };
        // One that is given moves the other.
        let min = if min < max { min } else { max / 3.0 };
        Resolved { min, max, weight: self.weight.or(weight).clamp(1e-9, 1.0), mean, packet_time: 1.0 / rate }
    }

    /// Thresholds and weight as tc works them out: in whole bytes, the burst in whole packets (iproute2's `red_parse_opt`).
    fn as_tc(&self, link: &LinkInfo, mean: Bytes) -> (f64, f64, f64) {
        let limit = link.limit.map_or(mean * 1_000, |l| l.bytes(link.mtu));
        let given = |packets: Auto| packets.0.map(|packets| mean.mul_f64(packets));
        let max = given(self.max).or(given(self.min).map(|min| min * 3)).unwrap_or(limit / 4).max(Bytes::new(1));
        let min = given(self.min).unwrap_or(max / 3);
        let burst = (min * 2 + max).get() / (mean * 3).get();
        let min = min.packets(mean);
        (min, max.packets(mean), linux_weight(min, burst))
    }

    /// The average on this link.
    pub(crate) fn averaging(&self, link: &LinkInfo) -> Averaging {
        let Resolved { min, max, weight, mean, .. } = self.resolve(link);
        let packet = if self.bytes { mean } else { link.mtu };
        Averaging { thresholds: [min, max].map(|packets| packet.mul_f64(packets)), weight }
    }

    /// The weight for `rate` packets a second: the average forgets in ten round trips. ns-2 (its `q_weight_` of −1) takes
    /// three times the link's delay for a round trip where that is more than 100 ms.
    fn weight_on(&self, link: &LinkInfo, rate: f64) -> f64 {
        let rtt = match self.reference {
            Reference::Ns2 => (3.0 * (link.delay.as_secs_f64() + 1.0 / rate)).max(0.1),
            _ => 0.1,
        };
        1.0 - math::exp(-1.0 / (10.0 * rtt * rate))
    }
}

/// tc's choice: the smallest n for which a burst of so many packets, from an empty queue, does not carry the average
/// past min; w = 2^−n.
fn linux_weight(min: f64, burst: u64) -> f64 {
    let burst = burst as f64;
    let above = burst + 1.0 - min;
    let mut w = 0.5;
    for _ in 1..32 {
        if above <= (1.0 - math::pow(1.0 - w, burst)) / w {
            return w;
        }
        w /= 2.0;
    }
    w
}
