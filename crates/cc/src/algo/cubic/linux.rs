//! The curve of Linux 6.1, in its integers: windows in packets, time in 1024ths of a second from 1 ms jiffies.
//!
//! Where its rules are not the RFC's: the curve is looked up at `t` plus the smallest RTT; the window grows by one
//! packet per `cnt` acknowledged, `cnt` at least 2, and at most 20 before the first loss; the Reno estimate keeps its
//! slope for ever; a timeout forgets all; a spurious reduction is not undone here; RTTs within a second of the start
//! of an epoch are not taken for the smallest.

use super::Params;
use crate::Flow;
use units::{Bytes, Duration, Instant, math};

const HZ: u64 = 1000;

#[derive(Debug)]
pub(super) struct Curve {
    /// β in 1024ths.
    beta: u64,
    /// C in 1024ths, per 100 ms.
    scale: u64,
    fast_convergence: bool,
    friendliness: bool,

    last_max: u64,
    origin: u64,
    k: u64,
    /// Jiffy at which the epoch began.
    epoch: Option<u64>,
    smallest_rtt: Option<Duration>,
    acked: u64,
    reno: u64,
    cnt: u64,
    last_cwnd: u64,
    last_time: u64,
}

fn jiffies(at: Instant) -> u64 {
    at.as_nanos() / (1_000_000_000 / HZ)
}

/// First guess of the cube root of a six-bit number in 64ths. The kernel has a table refined by hand; this line runs
/// close to it.
fn guess(six_bits: u64) -> u64 {
    let i = six_bits as f64;
    math::round(64.0 * math::cbrt(i) - 5.0 + 0.07 * i) as u64
}

/// A cube root good to 0.2 %: guess from the leading six bits, then one step of Newton's with the kernel's roundings.
fn cube_root(a: u64) -> u64 {
    let bits = 64 - a.leading_zeros() as u64;
    if bits < 7 {
        return math::round(math::cbrt(a as f64)) as u64;
    }
    let shift = ((bits * 84) >> 8) - 1;
    let x = ((guess(a >> (3 * shift)) + 10) << shift) >> 6;
    ((2 * x + a / (x * (x - 1))) * 341) >> 10
}

impl Curve {
    pub(super) fn new(p: &Params) -> Self {
        Curve {
            beta: math::round(1024.0 * p.beta.or(super::BETA)) as u64,
            scale: (math::round(102.4 * p.c) as u64).max(1),
            fast_convergence: p.fast_convergence,
            friendliness: p.friendliness,
            last_max: 0,
            origin: 0,
            k: 0,
            epoch: None,
            smallest_rtt: None,
            acked: 0,
            reno: 0,
            cnt: 0,
            last_cwnd: 0,
            last_time: 0,
        }
    }

    pub(super) fn sample(&mut self, now: Instant, rtt: Duration) {
        if self.epoch.is_some_and(|epoch| jiffies(now) < epoch + HZ) {
            return;
        }
        self.smallest_rtt = Some(self.smallest_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    fn begin(&mut self, cwnd: u64, acked: u64, now: u64) {
        self.epoch = Some(now);
        (self.acked, self.reno) = (acked, cwnd);
        if self.last_max <= cwnd {
            (self.k, self.origin) = (0, cwnd);
        } else {
            self.k = cube_root((1 << 40) / (self.scale * 10) * (self.last_max - cwnd));
            self.origin = self.last_max;
        }
    }

    /// W_cubic at `t` 1024ths of a second into the epoch.
    fn target(&self, t: u64) -> u64 {
        let d = t.abs_diff(self.k) as u128;
        let rise = u64::try_from((self.scale as u128 * 10 * d * d * d) >> 40).unwrap_or(u64::MAX);
        if t < self.k { self.origin.saturating_sub(rise) } else { self.origin.saturating_add(rise) }
    }

    /// How far ahead the curve is looked up, in jiffies, rounded up (`usecs_to_jiffies`).
    fn ahead(&self) -> u64 {
        self.smallest_rtt.map_or(0, |rtt| (rtt.as_micros() * HZ).div_ceil(1_000_000))
    }

    /// Packets to be acknowledged per packet of growth on the curve.
    fn curve_count(&self, cwnd: u64, now: u64) -> u64 {
        let passed = now - self.epoch.unwrap_or(now);
        let target = self.target(((passed + self.ahead()) << 10) / HZ);
        let cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 { cnt.min(20) } else { cnt }
    }

    /// The same, if that is more growth, for a Reno flow with the same throughput.
    fn reno_count(&mut self, cwnd: u64, cnt: u64) -> u64 {
        let scale = 8 * (1024 + self.beta) / 3 / (1024 - self.beta);
        let per = (cwnd * scale / 8).max(1);
        if self.acked > per {
            let grown = (self.acked - 1) / per;
            self.acked -= grown * per;
            self.reno += grown;
        }
        if self.reno > cwnd { cnt.min(cwnd / (self.reno - cwnd)) } else { cnt }
    }

    fn update(&mut self, cwnd: u64, acked: u64, now: u64) {
        self.acked += acked;
        if self.last_cwnd == cwnd && now - self.last_time <= HZ / 32 && self.cnt > 0 {
            return;
        }
        // Once per jiffy is enough for the curve.
        if self.epoch.is_none() || now != self.last_time || self.cnt == 0 {
            if self.epoch.is_none() {
                self.begin(cwnd, acked, now);
            }
            self.cnt = self.curve_count(cwnd, now);
            (self.last_cwnd, self.last_time) = (cwnd, now);
        }
        if self.friendliness {
            self.cnt = self.reno_count(cwnd, self.cnt);
        }
        self.cnt = self.cnt.max(2);
    }

    pub(super) fn avoidance(&mut self, flow: &mut Flow, acked: Bytes) {
        let cwnd = (flow.cwnd.get() / flow.mss.get()).max(1);
        // Bytes are counted up to whole packets, as the kernel counts segments.
        self.update(cwnd, acked.get().div_ceil(flow.mss.get()), jiffies(flow.now));
        flow.additive(flow.mss * self.cnt, acked);
    }

    pub(super) fn reduce(&mut self, flow: &Flow, timeout: bool) -> Bytes {
        let cwnd = flow.cwnd.get() / flow.mss.get();
        self.epoch = None;
        let gives_way = self.fast_convergence && cwnd < self.last_max;
        self.last_max = if gives_way { cwnd * (1024 + self.beta) / 2048 } else { cwnd };
        if timeout {
            self.reset();
        }
        flow.mss * (cwnd * self.beta / 1024).max(2)
    }

    /// `bictcp_reset`, at every timeout.
    pub(super) fn reset(&mut self) {
        (self.last_max, self.origin, self.k, self.reno, self.acked) = (0, 0, 0, 0, 0);
        (self.cnt, self.smallest_rtt, self.epoch) = (0, None, None);
    }

    /// Idle time moves the epoch.
    pub(super) fn shift(&mut self, sent: Instant, now: Instant) {
        if let Some(epoch) = &mut self.epoch {
            *epoch = (*epoch + (jiffies(now) - jiffies(sent))).min(jiffies(now));
        }
    }

    /// The same windows in packets of another size.
    pub(super) fn rescale(&mut self, factor: f64) {
        for w in [&mut self.last_max, &mut self.origin, &mut self.reno, &mut self.acked] {
            *w = math::round(*w as f64 * factor) as u64;
        }
    }

    pub(super) fn vars(&self) -> (f64, f64, f64) {
        (self.last_max as f64, self.k as f64 / 1024.0, self.reno as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flow, ms, packets};

    fn after_loss(cwnd: u64) -> Curve {
        let mut curve = Curve::new(&Params::default());
        let mut f = flow(cwnd, 100);
        f.cwnd = curve.reduce(&f, false);
        curve.avoidance(&mut f, packets(1));
        curve
    }

    #[test]
    fn constants_and_k_are_the_kernels() {
        let curve = after_loss(100);
        assert_eq!((curve.beta, curve.scale), (717, 41));
        assert_eq!(curve.k, 4316, "4.2148 s, where the exact value is 4.2172");
        let k = after_loss(1000).k as f64 / 1024.0;
        assert!((k - 9.0762).abs() < 5e-5, "{k}");
    }

    #[test]
    fn cube_roots_are_good_to_a_third_of_a_percent() {
        for packets in 1..5000u64 {
            let a = (1 << 40) / 410 * packets;
            let error = cube_root(a) as f64 / math::cbrt(a as f64) - 1.0;
            assert!(error.abs() < 0.0035, "{packets}: {error}");
        }
        assert_eq!((cube_root(0), cube_root(1), cube_root(8), cube_root(27)), (0, 1, 2, 3));
    }

    #[test]
    fn counts_have_their_limits() {
        let mut curve = Curve::new(&Params::default());
        let mut f = flow(100, 100);
        curve.avoidance(&mut f, packets(1));
        assert_eq!(curve.cnt, 20, "before any loss, five percent a round");
        let mut curve = after_loss(100);
        f.now += ms(60_000);
        curve.avoidance(&mut f, packets(1));
        assert_eq!(curve.cnt, 2, "half the window a round at most");
    }

    #[test]
    fn the_curve_is_looked_up_anew_a_jiffy_after_the_window_grew() {
        let mut curve = Curve::new(&Params { friendliness: false, ..Params::default() });
        curve.last_max = 200;
        // At the start of the curve nothing is left to grow: 100 windows for a packet.
        let counts = [(100, 5000), (101, 5000), (101, 5001), (101, 5032)].map(|(cwnd, now)| {
            curve.update(cwnd, 1, now);
            curve.cnt
        });
        assert_eq!(counts, [10_000, 10_000, 10_100, 10_100]);
        assert_eq!(curve.last_time, 5001, "and then not for a 32nd of a second");
    }

    #[test]
    fn the_smallest_rtt_is_rounded_up_to_jiffies() {
        let mut curve = Curve::new(&Params::default());
        let ahead = [100_001, 100_000, 40_999].map(|us| {
            curve.sample(Instant::ZERO, Duration::from_micros(us));
            curve.ahead()
        });
        assert_eq!(ahead, [101, 100, 41]);
    }

    #[test]
    fn reno_s_estimate_grows_by_one_per_fifteen_eighths_of_a_window() {
        let mut curve = after_loss(100);
        (curve.acked, curve.reno) = (0, 70);
        for (acked, reno) in [(131, 70), (1, 71), (131, 72)] {
            curve.acked += acked;
            curve.reno_count(70, 1000);
            assert_eq!(curve.reno, reno);
        }
        // Two packets ahead of 70 are one for every 35 acknowledged.
        assert_eq!([40, 30].map(|cnt| curve.reno_count(70, cnt)), [35, 30]);
        assert_eq!(curve.reno_count(72, 1000), 1000, "not ahead");
    }

    #[test]
    fn a_timeout_forgets_and_early_samples_are_ignored() {
        let mut curve = after_loss(100);
        curve.sample(Instant::from_millis(500), ms(40));
        assert_eq!(curve.smallest_rtt, None);
        curve.sample(Instant::from_millis(1000), ms(40));
        assert_eq!(curve.smallest_rtt, Some(ms(40)));
        assert_eq!(curve.reduce(&flow(50, 100), true), packets(35));
        assert_eq!((curve.last_max, curve.smallest_rtt), (0, None));
    }

    #[test]
    fn idle_time_moves_the_epoch_but_never_past_now() {
        let mut curve = after_loss(100);
        curve.shift(Instant::from_millis(1700), Instant::from_millis(2000));
        assert_eq!(curve.epoch, Some(300));
        // From 1.9 to 2.1 ms the kernel's clock ticks once.
        curve.shift(Instant::from_nanos(1_900_000), Instant::from_nanos(2_100_000));
        assert_eq!(curve.epoch, Some(2), "never past now");
        curve.shift(Instant::from_nanos(8_900_000), Instant::from_nanos(9_100_000));
        assert_eq!(curve.epoch, Some(3));
    }
}
