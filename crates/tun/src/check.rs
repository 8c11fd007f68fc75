//! The run's own doubts: was the emulated link what was asked for?
//!
//! Decisions are made in the simulator's time, so a late driver does not change what a queue does; it changes when hosts
//! hear of it. A run is valid if that was never late enough to matter, and if nothing was lost that no queue dropped.

use serde::Serialize;
use sim::histogram::Histogram;
use units::Duration;

/// Packets that leave later than this, one in a hundred, are no longer the link's doing: at 10 Mbit/s it is a sixth of a
/// packet's transmission, and a fiftieth of the 10 ms that series are sampled at.
pub const LATE: Duration = Duration::from_micros(200);
/// Hosts that do one thing in a hundred later than this are no longer only senders and receivers: a tenth of the 10 ms that
/// series are sampled at.
pub const HOSTS_LATE: Duration = Duration::from_millis(1);
/// A pause that any AQM of the internet would take for congestion: CoDel's target.
pub const STALL: Duration = Duration::from_millis(5);
/// Most time that the hypervisor may take, in percent of all CPUs' time.
const STEAL_PCT: f64 = 1.0;
/// Most by which the rate sent may miss the rate asked, in percent of that, while the queue was never empty.
const RATE_PCT: f64 = 1.0;

/// Quantiles of lateness in microseconds, and the share beyond its limit ([`LATE`], [`HOSTS_LATE`]) in percent.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Lateness {
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
    pub late_pct: f64,
    pub packets: u64,
}

impl Lateness {
    /// Of times by which packets, or what hosts do, came late; `limit` is what is too late.
    pub fn of(histogram: &Histogram, limit: Duration) -> Self {
        let us = |d: Duration| d.as_nanos() as f64 * 1e-3;
        let [p50, p95, p99, max] = histogram.quantiles([0.5, 0.95, 0.99, 1.0]);
        if histogram.count() == 0 {
            return Lateness::default();
        }
        let late_pct = 100.0 * histogram.beyond(limit);
        Lateness { p50: us(p50), p95: us(p95), p99: us(p99), max: us(max), late_pct, packets: histogram.count() }
    }
}

/// What a backlogged link was asked to send and what it sent.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Achieved {
    pub link: String,
    pub asked_mbps: f64,
    /// Absent if the queue was never busy for long.
    pub sent_mbps: Option<f64>,
    /// Seconds for which it was busy.
    pub busy_s: f64,
}

/// The verdict on a run, with what it rests on.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Validity {
    pub valid: bool,
    /// Why not; empty if valid.
    pub reasons: Vec<String>,
    /// SCHED_FIFO was granted.
    pub realtime: bool,
    pub memory_locked: bool,
    pub lateness_us: Lateness,
    /// How late the hosts of an experiment sent, asked or read what was due. Empty for programs.
    pub hosts_us: Lateness,
    /// Packets that the kernel threw away before the driver had read them.
    pub tun_dropped: u64,
    /// Packets that did not hold together, that were of no flow or too large.
    pub malformed: u64,
    pub ignored: u64,
    /// Packets that a device would not take.
    pub refused: u64,
    /// Records of algorithms in the kernel for which their ring had no room.
    pub untold: u64,
    pub achieved: Vec<Achieved>,
    pub steal_pct: f64,
    pub load_1min: f64,
    pub cpus: usize,
}

impl Validity {
    /// Draws the conclusion.
    pub fn judge(mut self) -> Self {
        let mut why = Vec::new();
        if !self.realtime {
            why.push("no real-time scheduling: run as root, or give CAP_SYS_NICE".to_string());
        }
        let late = LATE.as_nanos() as f64 * 1e-3;
        if self.lateness_us.p99 > late {
            why.push(format!(
                "one packet in a hundred left {:.0} us late or more (limit {late:.0})",
                self.lateness_us.p99
            ));
        }
        if self.lateness_us.max > STALL.as_nanos() as f64 * 1e-3 {
            why.push(format!("the emulator stood still for {:.1} ms", self.lateness_us.max * 1e-3));
        }
        if self.hosts_us.p99 > HOSTS_LATE.as_nanos() as f64 * 1e-3 {
            why.push(format!(
                "hosts did one thing in a hundred {:.1} ms late or more (limit {:.0}): they waited for a CPU",
                self.hosts_us.p99 * 1e-3,
                HOSTS_LATE.as_millis_f64()
            ));
        }
        if self.tun_dropped > 0 {
            why.push(format!("{} packets were lost before the emulator saw them", self.tun_dropped));
        }
        if self.refused > 0 {
            why.push(format!("{} packets were not taken by the hosts", self.refused));
        }
        if self.untold > 0 {
            why.push(format!("{} events or ACKs of the kernel's algorithms were lost", self.untold));
        }
        for a in &self.achieved {
            if let Some(sent) = a.sent_mbps
                && (sent / a.asked_mbps - 1.0).abs() * 100.0 > RATE_PCT
            {
                why.push(format!("{} sent {sent:.3} of {} Mbit/s", a.link, a.asked_mbps));
            }
        }
        if self.steal_pct > STEAL_PCT {
            why.push(format!("the hypervisor took {:.1} % of the CPUs' time", self.steal_pct));
        }
        // Of an experiment's hosts it is measured; programs may have waited without our knowing.
        if self.hosts_us.packets == 0 && self.load_1min > self.cpus as f64 + 1.0 {
            why.push(format!(
                "a load of {:.1} on {} CPUs: the hosts may have waited for them",
                self.load_1min, self.cpus
            ));
        }
        self.valid = why.is_empty();
        self.reasons = why;
        self
    }
}

/// The CPUs' time so far: (stolen by the hypervisor, all), in ticks.
pub fn cpu_time() -> (u64, u64) {
    let all = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = all.lines().next().unwrap_or_default();
    // user nice system idle iowait irq softirq steal, then guests, which user holds already.
    let ticks: Vec<u64> = first.split_ascii_whitespace().skip(1).take(8).filter_map(|t| t.parse().ok()).collect();
    (ticks.get(7).copied().unwrap_or(0), ticks.iter().sum())
}

/// The load average over a minute.
pub fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_ascii_whitespace().next().and_then(|t| t.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> Validity {
        Validity { realtime: true, cpus: 2, ..Validity::default() }
    }

    #[test]
    fn a_run_is_valid_until_something_speaks_against_it() {
        assert!(sound().judge().valid);
        let doubts: [fn(&mut Validity); 9] = [
            |v| v.realtime = false,
            |v| v.lateness_us.p99 = 201.0,
            |v| v.lateness_us.max = 5_001.0,
            |v| v.hosts_us = Lateness { p99: 1_001.0, packets: 1, ..Lateness::default() },
            |v| v.tun_dropped = 1,
            |v| v.untold = 1,
            |v| v.steal_pct = 1.5,
            |v| v.load_1min = 3.5,
            |v| {
                let sent_mbps = Some(9.8);
                v.achieved = vec![Achieved { link: "down".into(), asked_mbps: 10.0, sent_mbps, busy_s: 1.0 }];
            },
        ];
        for doubt in doubts {
            let mut v = sound();
            doubt(&mut v);
            let v = v.judge();
            assert!(!v.valid && v.reasons.len() == 1, "{:?}", v.reasons);
        }
    }
}
