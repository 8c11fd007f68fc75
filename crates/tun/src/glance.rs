//! What is seen of a run under way, and what its links sent while they were busy.

use crate::check::Achieved;
use experiment::{Link, RateSpec};
use serde::Serialize;
use sim::outside::Look;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use units::{Duration, Instant};

/// From one glance to the next.
pub(crate) const EVERY: Duration = Duration::from_millis(100);

/// What others see of a run under way.
#[derive(Debug, Default)]
pub struct Shared {
    /// Ends the run.
    pub stop: AtomicBool,
    /// The latest glance.
    pub status: Mutex<Status>,
}

/// A glance at a run.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Status {
    pub time_s: f64,
    pub links: Vec<LinkStatus>,
    pub late_p99_us: f64,
}

/// A glance at a link; drops and marks since the beginning of the window.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct LinkStatus {
    pub name: String,
    pub rate_mbps: f64,
    pub queue_ms: f64,
    pub packets: usize,
    pub dropped: u64,
    pub marked: u64,
}

/// A link from one glance to the next.
#[derive(Debug)]
pub(crate) struct Glance {
    /// What it should send, if that stays the same.
    rate: Option<f64>,
    last: Look,
    emptied: bool,
    busy_bytes: u64,
    busy: Duration,
    pub status: LinkStatus,
}

impl Glance {
    pub fn new(link: &Link) -> Self {
        let rate = match &link.rate {
            Some(RateSpec::Constant(rate)) if link.changes.is_empty() => Some(rate.as_mbps()),
            _ => None,
        };
        let status = LinkStatus { name: link.name.clone(), ..LinkStatus::default() };
        Glance { rate, last: Look::default(), emptied: true, busy_bytes: 0, busy: Duration::ZERO, status }
    }

    /// Between two glances.
    pub fn notice(&mut self, look: Look) {
        self.emptied |= look.packets == 0;
    }

    pub fn take(&mut self, now: Instant, look: Look) {
        self.notice(look);
        let sent = look.sent_bytes.saturating_sub(self.last.sent_bytes);
        let counted = look.measuring && self.last.sent_bytes > 0;
        if !std::mem::replace(&mut self.emptied, look.packets == 0) && counted {
            self.busy_bytes += sent;
            self.busy += now.since(self.last.at);
        }
        self.last = look;
        let status = &mut self.status;
        status.rate_mbps = sent as f64 * 8e-6 / EVERY.as_secs_f64();
        (status.queue_ms, status.packets) = (look.queue.as_millis_f64(), look.packets);
        (status.dropped, status.marked) = (look.dropped, look.marked);
    }

    /// What it sent while packets waited, beside what it should have; nothing where its rate changes.
    pub fn achieved(&self) -> Option<Achieved> {
        let busy_s = self.busy.as_secs_f64();
        // Under a second or so, the packet under way at either end is a percent of the whole.
        let sent_mbps = (busy_s >= 1.0).then(|| self.busy_bytes as f64 * 8e-6 / busy_s);
        Some(Achieved { link: self.status.name.clone(), asked_mbps: self.rate?, sent_mbps, busy_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use params::Spec;
    use units::Rate;

    fn link(rate: Option<RateSpec>) -> Link {
        Link { rate, ..Link::plain("bottleneck", Spec::named("fifo")) }
    }

    /// Looked at every tenth of a second, in which 100 kB left.
    fn look(n: u64, packets: usize) -> (Instant, Look) {
        let at = Instant::ZERO + EVERY * n;
        (at, Look { at, measuring: true, sent_bytes: 100_000 * n, packets, ..Look::default() })
    }

    /// The rate in kbit/s, and the seconds it is of.
    fn achieved(queues: &[usize]) -> (Option<u32>, f64) {
        let mut glance = Glance::new(&link(Some(RateSpec::Constant(Rate::from_mbps(8.0)))));
        for (n, packets) in (1..).zip(queues) {
            let (at, look) = look(n, *packets);
            glance.take(at, look);
        }
        let a = glance.achieved().unwrap();
        (a.sent_mbps.map(|mbps| (mbps * 1e3).round() as u32), a.busy_s)
    }

    #[test]
    fn a_rate_counts_over_the_times_in_which_the_queue_was_never_empty() {
        assert_eq!(achieved(&[3; 12]), (Some(8000), 1.1), "the first glance has none to compare with");
        assert_eq!(achieved(&[3; 11]), (Some(8000), 1.0));
        assert_eq!(achieved(&[3; 10]), (None, 0.9), "too short to tell");
        let once_empty = [3, 3, 3, 3, 3, 3, 0, 3, 3, 3, 3, 3];
        assert_eq!(achieved(&once_empty), (None, 0.9), "neither up to the empty queue nor from there");
        assert!(Glance::new(&link(None)).achieved().is_none(), "nothing was asked for");
    }

    #[test]
    fn a_queue_found_empty_between_two_glances_was_not_busy() {
        let mut glance = Glance::new(&link(Some(RateSpec::Constant(Rate::from_mbps(8.0)))));
        for n in 1..20 {
            glance.notice(look(n, 0).1);
            let (at, look) = look(n, 3);
            glance.take(at, look);
        }
        assert_eq!(glance.achieved().map(|a| a.busy_s), Some(0.0));
    }
}
