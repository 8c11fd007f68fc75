//! Smoothed RTT and the retransmission timeout it gives (RFC 6298; Linux's variant with the floor in the variance).

use units::Duration;

/// Whose rule turns samples into a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttRule {
    /// RFC 6298: `RTO = max(min, SRTT + max(tick, 4 RTTVAR))`, from one sample a round as its gains suppose: with one
    /// an ACK they forget the round before, and the timeout follows a growing queue too closely (RFC 7323, appendix G).
    Rfc {
        /// Granularity of the clock.
        tick: Duration,
    },
    /// FreeBSD: the same from every sample and 200 ms on top, since a steady RTT leaves next to no variance.
    FreeBsd {
        /// Granularity of the clock.
        tick: Duration,
    },
    /// Linux: the variance is the largest seen in a round, never below the floor, and a falling RTT hardly raises it.
    Linux,
}

/// Smoothed RTT in fixed point: `srtt` is kept times eight, the variance times four, so shifts lose nothing.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    srtt8: u64,
    var4: u64,
    /// Linux: largest `var4` of the current round, and the smoothed maximum that makes the timeout.
    round_var4: u64,
    smooth_var4: u64,
    round_end: u64,
    /// Timeout without back-off.
    base: Duration,
    rule: RttRule,
    min: Duration,
    max: Duration,
    doublings: u32,
}

/// Before the first sample (RFC 6298, section 2.1).
const INITIAL: Duration = Duration::from_secs(1);
/// FreeBSD's `net.inet.tcp.rexmit_slop`.
pub const SLOP: Duration = Duration::from_millis(200);
/// FreeBSD's shortest and longest persist timer (`TCPTV_PERSMIN` and `TCPTV_PERSMAX`).
const PERSIST: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));
/// After more timeouts in a row than these FreeBSD takes its smoothed RTT for stale (a quarter of `TCP_MAXRXTSHIFT`).
const CREDIBLE: u32 = 3;

impl RttEstimator {
    /// Nothing measured; timeouts stay within `min` and `max`.
    pub fn new(rule: RttRule, min: Duration, max: Duration) -> Self {
        RttEstimator {
            srtt8: 0,
            var4: 0,
            round_var4: 0,
            smooth_var4: 0,
            round_end: 0,
            base: INITIAL,
            rule,
            min,
            max,
            doublings: 0,
        }
    }

    /// Takes a sample. `acked` and `sent` are stream positions; they delimit Linux's rounds. Undoes the back-off.
    #[inline]
    pub fn sample(&mut self, rtt: Duration, acked: u64, sent: u64) {
        let r = rtt.as_nanos().max(1);
        self.doublings = 0;
        let first = self.srtt8 == 0;
        if first {
            self.srtt8 = r << 3;
            self.var4 = r << 1;
        }
        match self.rule {
            RttRule::Rfc { tick } | RttRule::FreeBsd { tick } => {
                if matches!(self.rule, RttRule::Rfc { .. }) {
                    if acked <= self.round_end && !first {
                        return;
                    }
                    self.round_end = sent;
                }
                if !first {
                    // The variance first, with the old mean (RFC 6298, section 2.3).
                    let error = (self.srtt8 >> 3).abs_diff(r);
                    self.var4 = self.var4 - (self.var4 >> 2) + error;
                    self.srtt8 = self.srtt8 - (self.srtt8 >> 3) + r;
                }
                self.base = self.add_up(tick);
            }
            RttRule::Linux => self.sample_linux(r, first, acked, sent),
        }
    }

    /// RFC 6298's timeout, and FreeBSD's.
    #[inline]
    fn add_up(&self, tick: Duration) -> Duration {
        let sum = Duration::from_nanos((self.srtt8 >> 3) + self.var4.max(tick.as_nanos()));
        let slop = if matches!(self.rule, RttRule::FreeBsd { .. }) { SLOP } else { Duration::ZERO };
        (sum + slop).max(self.min).min(self.max)
    }

    #[inline]
    fn sample_linux(&mut self, r: u64, first: bool, acked: u64, sent: u64) {
        let floor = self.min.as_nanos();
        if first {
            self.smooth_var4 = self.var4.max(floor);
            self.round_var4 = self.smooth_var4;
            self.round_end = sent;
        } else {
            let mean = self.srtt8 >> 3;
            let error = mean.abs_diff(r);
            let var = self.var4 >> 2;
            if r >= mean || error <= var {
                self.var4 = self.var4 - var + error;
            } else {
                // A sharp fall of the RTT says little about late segments: an eighth of the usual weight.
                self.var4 += (error - var) >> 3;
            }
            self.srtt8 = self.srtt8 - mean + r;
            if self.var4 > self.round_var4 {
                self.round_var4 = self.var4;
                self.smooth_var4 = self.smooth_var4.max(self.round_var4);
            }
            if acked > self.round_end {
                if self.round_var4 < self.smooth_var4 {
                    self.smooth_var4 -= (self.smooth_var4 - self.round_var4) >> 2;
                }
                self.round_end = sent;
                self.round_var4 = floor;
            }
        }
        self.base = Duration::from_nanos((self.srtt8 >> 3) + self.smooth_var4).min(self.max);
    }

    /// Smoothed RTT; zero before the first sample, and in FreeBSD before the first after four timeouts in a row.
    #[inline]
    pub fn srtt(&self) -> Duration {
        Duration::from_nanos(self.srtt8 >> 3)
    }

    /// The timeout in force, back-off included.
    #[inline]
    pub fn rto(&self) -> Duration {
        if self.doublings == 0 {
            return self.base;
        }
        // FreeBSD adds its slop to what was doubled (`TCPT_RANGESET`). The timeout before any sample is without
        // (`tcp_newtcpcb`).
        let slop = if matches!(self.rule, RttRule::FreeBsd { .. }) { SLOP } else { Duration::ZERO };
        let within = if self.is_measured() { slop } else { Duration::ZERO };
        let doubled = self.base.saturating_sub(within).as_nanos().saturating_mul(1 << self.doublings);
        Duration::from_nanos(doubled.saturating_add(slop.as_nanos())).min(self.max)
    }

    /// The timer fired: twice as long next time.
    pub fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(16);
        let RttRule::FreeBsd { tick } = self.rule else { return };
        if self.doublings <= CREDIBLE || !self.is_measured() {
            return;
        }
        if self.srtt8 > 0 {
            // The timeout under way still has the old mean in it. Then FreeBSD adds the mean to the variance, but in
            // ticks where the variance counts sixteenths (`tcp_timer_rexmt`): a quarter of the mean is left in the
            // timeout's four deviations.
            self.var4 += self.srtt8 >> 5;
            self.srtt8 = 0;
        } else {
            self.base = self.add_up(tick);
        }
    }

    /// How long to wait for a window that is closed, or in FreeBSD too small for a segment: twice its retransmission timeout,
    /// and twice the mean more (`tcp_setpersist`; the slop is not doubled). Elsewhere it is that timeout.
    pub fn persist(&self) -> Duration {
        if !matches!(self.rule, RttRule::FreeBsd { .. }) {
            return self.rto();
        }
        // Before the first sample FreeBSD's variance is a quarter of its timeout, as `var4` has it.
        let var4 = if self.is_measured() { self.var4 } else { self.base.as_nanos() };
        let wait = (self.srtt8 / 2 + var4 * 2).saturating_mul(1 << self.doublings);
        Duration::from_nanos(wait.saturating_add(SLOP.as_nanos())).max(PERSIST.0).min(PERSIST.1)
    }

    /// The persist timer fired. The mean stays credible in FreeBSD, however often.
    pub fn back_off_persist(&mut self) {
        if matches!(self.rule, RttRule::FreeBsd { .. }) {
            self.doublings = (self.doublings + 1).min(16);
        } else {
            self.back_off();
        }
    }

    /// Has there been a sample?
    #[inline]
    fn is_measured(&self) -> bool {
        self.var4 > 0
    }

    /// Ends the back-off without a sample (an acknowledgement of new data showed that the path lives).
    pub fn reset_back_off(&mut self) {
        self.doublings = 0;
    }

    /// How often the timeout has been doubled since the last sample.
    pub fn doublings(&self) -> u32 {
        self.doublings
    }

    /// Sets the timeout used until the first sample (3 s once a SYN was lost: RFC 6298, section 5.7).
    pub fn set_initial(&mut self, rto: Duration) {
        if !self.is_measured() {
            self.base = rto;
        }
    }

    /// The smallest timeout allowed.
    pub fn min(&self) -> Duration {
        self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn freebsd_s_persist_timer_is_four_means_and_eight_deviations_within_5_and_60_seconds() {
        let rule = RttRule::FreeBsd { tick: MS(1) };
        // The first sample's deviation is half of it.
        for (rtt, waits) in [(100, [5000, 5000, 5000, 6600, 13_000]), (1000, [8200, 16_200, 32_200, 60_000, 60_000])] {
            let mut e = RttEstimator::new(rule, MS(230), MS(64_000));
            e.sample(MS(rtt), 1, 1);
            for wait in waits {
                assert_eq!(e.persist(), MS(wait), "{rtt}");
                e.back_off_persist();
            }
            assert_eq!(e.srtt(), MS(rtt));
        }
        let mut e = RttEstimator::new(rule, MS(230), MS(64_000));
        e.set_initial(MS(3000));
        assert_eq!(e.persist(), MS(6200));
        // Elsewhere it is the timeout.
        let mut e = RttEstimator::new(RttRule::Linux, MS(200), MS(120_000));
        e.sample(MS(100), 1, 1);
        e.back_off_persist();
        assert_eq!(e.persist(), e.rto());
    }

    #[test]
    fn rfc_6298_numbers() {
        // Reference, section 1.4: R = 100 gives 300 ms, then R = 200 gives SRTT 112.5, RTTVAR 62.5, RTO 362.5.
        let mut e = RttEstimator::new(RttRule::Rfc { tick: Duration::ZERO }, Duration::ZERO, MS(60_000));
        assert_eq!(e.rto(), MS(1000));
        e.sample(MS(100), 1, 1);
        assert_eq!(e.rto(), MS(300));
        e.sample(MS(200), 2, 2);
        assert_eq!(e.srtt(), Duration::from_micros(112_500));
        assert_eq!(e.rto(), Duration::from_micros(362_500));
        e.back_off();
        e.back_off();
        assert_eq!(e.rto(), MS(1450));
        e.sample(MS(100), 3, 3);
        assert!(e.rto() < MS(500));
    }

    #[test]
    fn the_rfc_takes_one_sample_a_round() {
        let mut e = RttEstimator::new(RttRule::Rfc { tick: MS(1) }, Duration::ZERO, MS(60_000));
        e.sample(MS(100), 10, 20);
        let before = e.rto();
        for acked in 11..=20 {
            e.sample(MS(500), acked, acked + 10);
        }
        assert_eq!(e.rto(), before);
        e.sample(MS(500), 21, 40);
        assert_eq!(e.rto(), MS(700));
    }

    #[test]
    fn freebsd_adds_its_slop_to_a_steady_rtt() {
        let rule = RttRule::FreeBsd { tick: MS(1) };
        let mut e = RttEstimator::new(rule, MS(230), MS(64_000));
        for i in 0..500 {
            e.sample(MS(1000), i, i + 1);
        }
        assert_eq!(e.rto(), MS(1201));
        e.back_off();
        e.back_off();
        assert_eq!(e.rto(), MS(4 * 1001 + 200), "the slop is not doubled");
        let mut e = RttEstimator::new(rule, MS(230), MS(64_000));
        e.set_initial(MS(3000));
        let waits = [(); 3].map(|()| {
            let rto = e.rto();
            e.back_off();
            rto
        });
        assert_eq!(waits, [MS(3000), MS(6200), MS(12_200)], "before any sample the first has none");
        let mut e = RttEstimator::new(rule, MS(230), MS(64_000));
        (0..500).for_each(|i| e.sample(MS(10), i, i + 1));
        assert_eq!(e.rto(), MS(230));
    }

    #[test]
    fn freebsd_forgets_its_mean_at_the_fourth_timeout_in_a_row() {
        let mut e = RttEstimator::new(RttRule::FreeBsd { tick: MS(1) }, MS(230), MS(64_000));
        (0..500).for_each(|i| e.sample(MS(400), i, i + 1));
        let rtos = [(); 6].map(|()| {
            e.back_off();
            e.rto().as_nanos() / 1_000_000
        });
        // 401 ms doubled four times; then a quarter of the mean, 32 and 64 times.
        assert_eq!(rtos, [1002, 1804, 3408, 6616, 3400, 6600]);
        assert_eq!(e.srtt(), Duration::ZERO);
        e.sample(MS(40), 500, 501);
        assert_eq!((e.srtt(), e.rto()), (MS(40), MS(320)), "the next sample is as the first");
    }

    #[test]
    fn linux_adds_its_floor_to_the_mean() {
        let mut e = RttEstimator::new(RttRule::Linux, MS(200), MS(120_000));
        for i in 0..500 {
            e.sample(MS(40), i * 10, i * 10 + 100);
        }
        assert_eq!(e.srtt(), MS(40));
        assert_eq!(e.rto(), MS(240));
    }

    #[test]
    fn linux_hardly_minds_a_falling_rtt() {
        let feed = |rule| {
            let mut e = RttEstimator::new(rule, Duration::ZERO, MS(120_000));
            for i in 0..200 {
                e.sample(MS(400), i, i + 1);
            }
            e.sample(MS(40), 1000, 1001);
            e.rto()
        };
        assert!(feed(RttRule::Linux) < feed(RttRule::Rfc { tick: Duration::ZERO }));
    }
}
