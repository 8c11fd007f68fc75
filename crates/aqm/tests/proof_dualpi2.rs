//! Proof that the interfaces carry DualPI2 (RFC 9332): two lines sorted by ECN field, one controller over both, a
//! time-shifted scheduler, and marking with a probability on the way out. Throwaway: the real one goes to `src/queue`.

use aqm::law::Ticker;
use aqm::queue::Lane;
use aqm::{Dequeued, Ecn, Limit, LinkInfo, Packet, Qdisc, Reason, Sink};
use std::fmt::Debug;
use units::{Bytes, Duration, Instant, Rate, Rng, streams};

const TARGET: Duration = Duration::from_millis(15);
const TUPDATE: Duration = Duration::from_millis(16);
const STEP: Duration = Duration::from_millis(1);
/// RFC 9332 appendix A: L goes first unless C has waited this much longer.
const SHIFT: Duration = Duration::from_millis(50);
const COUPLING: f64 = 2.0;

#[derive(Debug)]
struct DualPi2<P> {
    low: Lane<P>,
    classic: Lane<P>,
    /// The base probability p′ and the delay it was last set from.
    p: f64,
    delay: Duration,
    gains: (f64, f64),
    ticker: Ticker,
    link: LinkInfo,
    rng: Rng,
}

/// α (q − target) + β (q − before), per second of delay.
fn delta((alpha, beta): (f64, f64), q: Duration, before: Duration) -> f64 {
    (alpha * q.diff_millis(TARGET) + beta * q.diff_millis(before)) * 1e-3
}

impl<P: Packet> DualPi2<P> {
    fn new(link: &LinkInfo, rng: Rng) -> Self {
        DualPi2 {
            low: Lane::default(),
            classic: Lane::default(),
            p: 0.0,
            delay: Duration::ZERO,
            gains: (0.16, 3.2),
            ticker: Ticker::new(Instant::ZERO, TUPDATE, TUPDATE),
            link: *link,
            rng,
        }
    }

    fn advance(&mut self, now: Instant) {
        while let Some(tick) = self.ticker.due(now) {
            let q = self.low.head_age(tick).max(self.classic.head_age(tick));
            self.p = (self.p + delta(self.gains, q, self.delay)).clamp(0.0, 1.0);
            self.delay = q;
        }
    }

    /// The classic probability p′², by two throws.
    fn classic_strikes(&mut self) -> bool {
        let (a, b) = (self.rng.uniform(), self.rng.uniform());
        a.max(b) < self.p
    }

    fn held(&self) -> Bytes {
        self.low.backlog() + self.classic.backlog()
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for DualPi2<P> {
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut dyn Sink<P>) -> bool {
        self.advance(now);
        let limit = self.link.limit.unwrap_or(Limit::Packets(10_000));
        if limit.full(self.len(), self.held(), packet.size()) {
            drops.dropped(packet, Reason::Overflow);
            return false;
        }
        match packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => self.low.push(now, packet),
            Ecn::NotEct | Ecn::Ect0 => self.classic.push(now, packet),
        }
        false
    }

    fn dequeue(&mut self, now: Instant, drops: &mut dyn Sink<P>) -> Option<Dequeued<P>> {
        self.advance(now);
        loop {
            let low_first = !self.low.is_empty() && self.low.head_age(now) + SHIFT >= self.classic.head_age(now);
            let (since, mut packet) = if low_first { self.low.pop()? } else { self.classic.pop()? };
            let sojourn = now.since(since);
            let quiet = self.held() < self.link.mtu * 2;
            let (mut mark, mut drop) = (false, false);
            if low_first {
                mark = sojourn > STEP && !self.low.is_empty();
                if !quiet {
                    // Beyond p_CL = 1 marks say no more: then L is dropped from as C is.
                    drop = COUPLING * self.p > 1.0 && self.classic_strikes();
                    mark |= self.rng.chance(COUPLING * self.p);
                }
            } else if !quiet && self.classic_strikes() {
                (mark, drop) = (packet.ecn() == Ecn::Ect0, packet.ecn() == Ecn::NotEct);
            }
            if drop {
                drops.dropped(packet, Reason::Law);
                continue;
            }
            let marked = mark && packet.mark();
            return Some(Dequeued { packet, sojourn, marked });
        }
    }

    fn backlog(&self) -> Bytes {
        self.held()
    }

    fn len(&self) -> usize {
        self.low.len() + self.classic.len()
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.link = *link;
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("p", self.p);
        see("l_packets", self.low.len() as f64);
        see("c_packets", self.classic.len() as f64);
    }
}

#[derive(Clone, Copy, Debug)]
struct Sample(Ecn);

impl Packet for Sample {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
    fn flow(&self) -> u64 {
        0
    }
    fn ecn(&self) -> Ecn {
        self.0
    }
    fn mark(&mut self) -> bool {
        let markable = self.0 != Ecn::NotEct;
        if markable {
            self.0 = Ecn::Ce;
        }
        markable
    }
}

#[derive(Default)]
struct Count(u32);

impl Sink<Sample> for Count {
    fn dropped(&mut self, _: Sample, _: Reason) {
        self.0 += 1;
    }
}

const LINK: LinkInfo = LinkInfo { rate: Rate::from_bps(12_000_000), mtu: Bytes::new(1500), limit: None };

/// A queue as the simulator would hold it, which is where object safety shows.
fn queue(set: impl Fn(&mut DualPi2<Sample>)) -> Box<dyn Qdisc<Sample>> {
    let mut dual = DualPi2::new(&LINK, Rng::new(1, 0, streams::AQM));
    set(&mut dual);
    Box::new(dual)
}

#[test]
fn one_update_at_20_after_15_ms() {
    let step = delta((0.16, 3.2), Duration::from_millis(20), Duration::from_millis(15));
    assert!((step - 0.0168).abs() < 1e-12, "{step}");
}

#[test]
fn half_the_base_probability_squared_for_classic_and_doubled_for_low() {
    // p′ = 0.2: classic 0.04, low 0.4. Gains of nought hold p′ where it is.
    let mut queue = queue(|d| (d.p, d.gains) = (0.2, (0.0, 0.0)));
    let (mut drops, mut marks, n) = (Count::default(), 0, 40_000);
    for _ in 0..4 {
        queue.enqueue(Instant::ZERO, Sample(Ecn::NotEct), &mut drops);
        queue.enqueue(Instant::ZERO, Sample(Ecn::Ect1), &mut drops);
    }
    for i in 0..n {
        // Nothing waits long enough for the native step.
        let now = Instant::from_nanos(i);
        queue.enqueue(now, Sample(Ecn::Ect1), &mut drops);
        marks += u32::from(queue.dequeue(now, &mut drops).unwrap().marked);
    }
    assert_eq!(drops.0, 0);
    let share = marks as f64 / n as f64;
    assert!((share - 0.4).abs() < 0.01, "coupled marks {share}");
    let mut left = 0;
    for i in n..2 * n {
        // Low empties after a few, then it is classic's turn, never without two packets behind.
        let now = Instant::from_nanos(i);
        while queue.len() < 5 {
            queue.enqueue(now, Sample(Ecn::NotEct), &mut drops);
        }
        left += u32::from(queue.dequeue(now, &mut drops).is_some());
    }
    let share = drops.0 as f64 / (drops.0 + left) as f64;
    assert!((share - 0.04).abs() < 0.005, "classic drops {share}");
}

#[test]
fn the_native_step_marks_above_a_millisecond_with_another_packet_behind() {
    for (wait, behind, marked) in [(1_010_000, 1, true), (1_000_000, 1, false), (1_010_000, 0, false)] {
        let mut queue = queue(|d| d.gains = (0.0, 0.0));
        let mut drops = Count::default();
        for _ in 0..=behind {
            queue.enqueue(Instant::ZERO, Sample(Ecn::Ect1), &mut drops);
        }
        assert_eq!(queue.dequeue(Instant::from_nanos(wait), &mut drops).unwrap().marked, marked, "{wait} ns");
    }
}

#[test]
fn low_goes_first_and_ect0_is_marked_where_not_ect_is_dropped() {
    let mut queue = queue(|_| {});
    let (mut drops, mut marks) = (Count::default(), 0);
    let (mut sent, mut low_wait, mut classic_wait) = (0u32, Duration::ZERO, Duration::ZERO);
    let n = 30_000u64;
    for i in 0..n {
        // 12 Mbit/s out; in come 0.3 of that for L and 0.8 for C, a third of it ECT(0).
        let now = Instant::from_millis(i);
        if i == n / 2 {
            // The controller has settled.
            (low_wait, classic_wait) = (Duration::ZERO, Duration::ZERO);
        }
        if i % 10 < 3 {
            queue.enqueue(now, Sample(Ecn::Ect1), &mut drops);
        }
        if i % 10 < 8 {
            queue.enqueue(now, Sample(if i % 3 == 0 { Ecn::Ect0 } else { Ecn::NotEct }), &mut drops);
        }
        if let Some(out) = queue.dequeue(now, &mut drops) {
            sent += 1;
            match out.packet.0 {
                Ecn::Ect1 => low_wait = low_wait.max(out.sojourn),
                Ecn::NotEct => classic_wait = classic_wait.max(out.sojourn),
                _ => marks += 1,
            }
        }
    }
    assert_eq!(n as u32 / 10 * 11, sent + drops.0 + queue.len() as u32, "in = out + dropped + held");
    assert!(drops.0 > 1_000 && marks > 500, "{} drops, {marks} marks", drops.0);
    assert!(low_wait < Duration::from_millis(4) && classic_wait > TARGET, "{low_wait:?} {classic_wait:?}");
    let mut p = 0.0;
    queue.vars(&mut |name, value| {
        if name == "p" {
            p = value;
        }
    });
    assert!(p > 0.1 && p < 1.0, "{p}");
}
