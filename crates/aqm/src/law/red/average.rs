//! RED's average queue length, and how it decays while nobody waits.

use super::Reference;
use units::{Duration, Instant, math};

/// dummynet's table of decays: 256 steps, the last where (1 − w)^m falls below 1/1000, m being 3/w packet times.
const DUMMYNET_DEPTH: u64 = 256;
/// tc writes Linux's table in the kernel's ticks of 64 ns, the kernel (since 2012) reads it in microseconds.
const LINUX_TICKS: f64 = 15.625;
/// dummynet counts in its ticks: a millisecond unless the kernel's hz is raised.
const DUMMYNET_TICK: Duration = Duration::from_millis(1);

/// An exponentially weighted average over arrivals, in packets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Average {
    pub(super) value: f64,
    weight: f64,
    /// Seconds a packet of mean size takes to send.
    packet_time: f64,
    /// dummynet: the packet that left then was the last one held.
    emptied: Option<Instant>,
    /// The link has stood idle since then.
    idle: Option<Instant>,
    reference: Reference,
}

impl Average {
    pub(super) fn new(reference: Reference) -> Self {
        Average { value: 0.0, weight: 0.0, packet_time: 0.0, emptied: None, idle: None, reference }
    }

    /// How fast it forgets.
    pub(super) fn set(&mut self, weight: f64, packet_time: f64) {
        (self.weight, self.packet_time) = (weight, packet_time);
    }

    pub(super) fn on_idle(&mut self, now: Instant) {
        self.idle.get_or_insert(now);
    }

    pub(super) fn on_dequeue(&mut self, now: Instant, left: usize) {
        self.emptied = (left == 0).then_some(now);
    }

    /// A packet arrives at a queue of length `q`.
    pub(super) fn update(&mut self, now: Instant, q: f64) {
        let idle = self.idle.take().map(|since| now.since(since));
        let kept = match (self.reference, idle) {
            (Reference::Dummynet, _) if q == 0.0 => {
                let since = self.emptied.unwrap_or(now);
                self.value *= self.dummynet_decay(now.since(since));
                return;
            }
            (Reference::Linux, Some(idle)) => {
                self.value = self.linux_decayed(idle);
                return;
            }
            (Reference::Paper, Some(idle)) => self.decay(idle.as_secs_f64() / self.packet_time),
            // Whole packets, and one more for the arrival.
            (Reference::Ns2, Some(idle)) => {
                self.decay(math::floor(idle.as_secs_f64() / self.packet_time)) * (1.0 - self.weight)
            }
            (_, None) | (Reference::Dummynet, _) => 1.0 - self.weight,
        };
        let new = if self.reference == Reference::Paper && idle.is_some() { 0.0 } else { self.weight * q };
        self.value = self.value * kept + new;
    }

    /// What it would have decayed to by then, for a timer that looks at it.
    pub(super) fn at(&self, now: Instant) -> f64 {
        match self.idle {
            Some(since) if now > since => self.value * self.decay(now.since(since).as_secs_f64() / self.packet_time),
            _ => self.value,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.idle.is_some()
    }

    /// (1 − w)^m.
    fn decay(&self, m: f64) -> f64 {
        if m > 0.0 { math::exp(m * math::ln(1.0 - self.weight)) } else { 1.0 }
    }

    /// The table's step counts ticks, but the decay of a step is computed as if a tick were a packet.
    fn dummynet_decay(&self, idle: Duration) -> f64 {
        let packet_ticks = self.packet_time / DUMMYNET_TICK.as_secs_f64();
        let step = ((3.0 * packet_ticks / self.weight) as u64 / DUMMYNET_DEPTH).max(1);
        let i = idle.as_nanos() / DUMMYNET_TICK.as_nanos() / step;
        if i >= DUMMYNET_DEPTH { 0.0 } else { self.decay((1 + i * step) as f64) }
    }

    /// Linux's table of shifts: e^−x is taken for 2^−x, x rounded down (tc puts it into a byte), and less than
    /// one is a straight line down to a half. Ticks taken for microseconds make it sixteen times too slow.
    fn linux_decayed(&self, idle: Duration) -> f64 {
        let rate = -math::ln(1.0 - self.weight) / (self.packet_time * 1e6 * LINUX_TICKS);
        let cells = (0..32).find(|log| 31.0 / rate / ((1u64 << log) as f64) < 512.0).unwrap_or(32);
        let cell = (1u64 << cells) as f64;
        let idle_us = (idle.as_nanos() / 1_000) as f64;
        let index = math::floor(idle_us / cell).min(255.0);
        let shift = if index >= 255.0 { 31.0 } else { math::floor((index * cell * rate).min(31.0)) };
        if shift > 0.0 {
            return self.value * math::exp(-shift * core::f64::consts::LN_2);
        }
        let line = self.value * (idle_us / cell).min(255.0);
        if line < self.value / 2.0 { self.value - line } else { self.value / 2.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn average(reference: Reference, weight: f64) -> Average {
        let mut average = Average::new(reference);
        average.set(weight, 0.0012);
        average
    }

    #[test]
    fn a_step_of_one_is_half_reached_after_346_packets() {
        for reference in [Reference::Paper, Reference::Ns2, Reference::Linux, Reference::Dummynet] {
            let mut average = average(reference, 0.002);
            let mut reached = [0.0; 2];
            for i in 1..=1_000 {
                average.update(Instant::ZERO, 1.0);
                match i {
                    346 => reached[0] = average.value,
                    1_000 => reached[1] = average.value,
                    _ => {}
                }
            }
            assert!((reached[0] - 0.4997).abs() < 5e-4 && (reached[1] - 0.865).abs() < 5e-4, "{reached:?}");
        }
    }

    #[test]
    fn an_idle_link_counts_as_the_packets_it_could_have_sent() {
        let after = |reference, ms: u64| {
            let mut average = average(reference, 0.002);
            average.value = 10.0;
            average.on_dequeue(Instant::ZERO, 0);
            average.on_idle(Instant::ZERO);
            average.update(Instant::from_millis(ms), 0.0);
            average.value / 10.0
        };
        // 120 ms are 100 packets: 0.998^100 = 0.8186.
        assert!((after(Reference::Paper, 120) - 0.8186).abs() < 1e-4);
        assert!((after(Reference::Ns2, 120) - 0.8186 * 0.998).abs() < 1e-4);
        // 3/w packets of 1.2 ticks are 1800 ticks, the step 7: 17 whole steps and one, as if ticks were packets.
        assert!((after(Reference::Dummynet, 120) - 0.998f64.powf(120.0)).abs() < 1e-9);
        assert_eq!(after(Reference::Dummynet, 1_792), 0.0, "256 steps of 7 ticks");
        assert!((after(Reference::Dummynet, 1_791) - 0.998f64.powf(1_786.0)).abs() < 1e-9);
        // A weight of half as much has steps of 14: two of them in 29 ms.
        let mut slow = average(Reference::Dummynet, 0.001);
        slow.value = 10.0;
        slow.on_dequeue(Instant::ZERO, 0);
        slow.update(Instant::from_millis(29), 0.0);
        assert!((slow.value / 10.0 - 0.999f64.powf(29.0)).abs() < 1e-9);
        // 31/(ln(1/.998)/18 750 ticks) = 2.9e8 in cells of 2^20, read in µs: within one cell a line, which the half cuts off.
        assert!((after(Reference::Linux, 30) - (1.0 - 30_000.0 / 1_048_576.0)).abs() < 1e-9);
        assert_eq!(after(Reference::Linux, 655), 0.5);
        assert_eq!(after(Reference::Linux, 9_437), 0.5, "nine cells are the first halving that the table has");
        assert_eq!(after(Reference::Linux, 19_923), 0.25, "nineteen the second");
    }
}
