//! COBALT: CoDel for senders that listen, BLUE for those that do not; the law inside CAKE. Høiland-Jørgensen, Täht and
//! Morton, "Piece of CAKE", LANMAN 2018.
//!
//! ```text
//! over target, and due:  drop or mark the head, count += 1, next in interval / √count
//! under target, and due: count −= 1, next in interval / √count        CoDel forgets; this winds down as it wound up
//! overflow: p += 1/256    empty: p −= 1/4096    at most once a target;  every head is dropped with p, ECT or not
//! ```
//!
//! A queue is over target if its head waited longer than the target and than four packets take on the link.
//!
//! Safeguard: BLUE's drops fall on packets that could be marked, too, so that senders that ignore marks are held back
//! once they have filled the buffer.
//!
//! Departures: 1/√count is exact (CAKE takes a Newton step, from a table of exact values up to 16). A queue of its own forgets
//! while it is away as if others had sent all the while, and at every idle moment of the link, where sch_cake does neither while
//! it holds nothing. CAKE's shaper, hosts and tins are not this law's, nor what they add to target and interval: two packet times
//! for each bulk flow under its `ingress`, more on slow links. A
//! flow begins as in a slot that another has used before it, on a router that has been up for long: `fresh=true` begins as
//! after boot, where the kernel's first signal comes with the first packet behind the one that waited too long.

use crate::{Law, LawKind, LinkInfo, Look, Verdict};
use units::{Duration, Instant, Rng, math};

params::params! {
    /// What users may set.
    pub struct Params {
        /// Sojourn time that is acceptable as a standing queue.
        target: Duration = Duration::from_millis(5), Duration::from_micros(1) => Duration::from_secs(5);
        /// Time the sojourn must stay above the target before the first drop: about the longest RTT.
        interval: Duration = Duration::from_millis(100), Duration::from_micros(1) => Duration::from_secs(100);
        /// BLUE's step up after an overflow (CAKE: 2^24 of 2^32).
        up: f64 = 0.00390625, 0.0 => 1.0;
        /// BLUE's step down after an empty queue (CAKE: 2^20 of 2^32).
        down: f64 = 0.000244140625, 0.0 => 1.0;
        /// Mark packets that can be marked where CoDel would drop them.
        ecn: bool = true;
        /// A slot that no flow has used: sch_cake zeroes 1/√count, so that the first signal waits for no interval.
        fresh: bool = false;
    }
}

/// COBALT's state.
#[derive(Clone, Debug)]
pub struct Cobalt {
    p: Params,
    count: u32,
    /// 1/√count has been computed; until then it is the kernel's zero, and the first signal waits for no interval.
    rooted: bool,
    dropping: bool,
    drop_next: Instant,
    drop_probability: f64,
    changed: Option<Instant>,
    /// A full packet's time on the link.
    packet_time: Duration,
    rng: Rng,
}

impl Cobalt {
    fn schedule(&mut self, from: Instant) {
        let root = if self.rooted { 1.0 / math::sqrt(self.count.max(1) as f64) } else { 0.0 };
        self.drop_next = from + self.p.interval.mul_f64(root);
    }

    fn wind_down(&mut self) {
        self.count -= 1;
        self.rooted = true;
        self.schedule(self.drop_next);
    }

    /// BLUE may change once a target.
    fn may_change(&mut self, now: Instant) -> bool {
        let may = self.changed.is_none_or(|at| now.since(at) > self.p.target);
        if may {
            self.changed = Some(now);
        }
        may
    }

    fn on_overflow(&mut self, now: Instant) {
        if self.may_change(now) {
            self.drop_probability = (self.drop_probability + self.p.up).min(1.0);
        }
        (self.dropping, self.drop_next, self.count) = (true, now, self.count.max(1));
    }
}

impl Law for Cobalt {
    fn on_dequeue(&mut self, look: &Look) -> Verdict {
        let now = look.now;
        let over = look.sojourn > self.p.target && look.sojourn > self.packet_time * 4;
        let mut late = now > self.drop_next;
        let due = self.count > 0 && now >= self.drop_next;
        if over && !self.dropping {
            self.schedule(now);
            self.count = self.count.max(1);
        }
        self.dropping = over;
        let mut verdict = Verdict::Pass;
        if due && over {
            verdict = if self.p.ecn && look.markable() { Verdict::Mark } else { Verdict::Drop };
            self.count = self.count.saturating_add(1);
            self.rooted = true;
            self.schedule(self.drop_next);
        } else if due {
            while self.count > 0 && now >= self.drop_next {
                self.wind_down();
            }
        }
        if due {
            late = now > self.drop_next;
        }
        let marked = verdict == Verdict::Mark;
        if self.drop_probability > 0.0 && self.rng.chance(self.drop_probability) {
            verdict = Verdict::Drop;
        }
        if self.count == 0 {
            self.drop_next = now + self.p.interval;
        } else if late && verdict != Verdict::Drop {
            // Late by more than a step: what was missed is not made up for. A count that was 0 for an interval of silence
            // leaves nothing to wait for: the next packet over target is signalled.
            self.drop_next = now;
        }
        // As in sch_cake, a mark may fall on the last packet of a queue, a drop may not. CE is set before BLUE throws.
        match verdict {
            Verdict::Drop if look.len == 0 && marked => Verdict::Mark,
            Verdict::Drop if look.len == 0 => Verdict::Pass,
            _ => verdict,
        }
    }

    fn on_empty(&mut self, now: Instant) {
        if self.drop_probability > 0.0 && self.may_change(now) {
            self.drop_probability = (self.drop_probability - self.p.down).max(0.0);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.wind_down();
        }
    }

    /// While its flow was away sch_cake passed by with every packet of the others, and let it come to rest a step at a time.
    fn on_activate(&mut self, now: Instant) {
        if let Some(changed) = self.changed {
            let steps = now.since(changed).as_nanos() / self.p.target.as_nanos();
            self.drop_probability = (self.drop_probability - self.p.down * steps as f64).max(0.0);
            self.changed = Some(changed + self.p.target * steps);
        }
        while self.count > 0 && now >= self.drop_next {
            self.wind_down();
        }
    }

    fn on_forced_drop(&mut self, look: &Look, _: u32) {
        self.on_overflow(look.now);
    }

    fn on_refused(&mut self, look: &Look) {
        self.on_overflow(look.now);
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.packet_time = link.mtu / link.rate;
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("count", self.count as f64);
        see("dropping", f64::from(self.dropping));
        see("drop_next_s", self.drop_next.as_secs_f64());
        see("p", self.drop_probability);
    }
}

impl LawKind for Cobalt {
    const PAPER: &'static str = "Høiland-Jørgensen, Täht and Morton, LANMAN 2018 (Linux sch_cake)";
    const DOC: &'static str = "CoDel that winds down as it wound up, with BLUE for senders that do not listen.";
    type Params = Params;

    fn new(p: &Params, link: &LinkInfo, rng: Rng) -> Self {
        Cobalt {
            p: p.clone(),
            count: 0,
            rooted: !p.fresh,
            dropping: false,
            drop_next: Instant::ZERO,
            drop_probability: 0.0,
            changed: None,
            packet_time: link.mtu / link.rate,
            rng,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::testing::{link, look};
    use std::vec::Vec;
    use units::streams;

    fn cobalt(p: Params) -> Cobalt {
        Cobalt::new(&p, &link(12.0), Rng::new(1, 0, streams::AQM))
    }

    /// A head that waited so long.
    fn waited(now_ms: f64, sojourn_ms: f64) -> Look {
        let now = Instant::ZERO + Duration::from_millis_f64(now_ms);
        Look { sojourn: Duration::from_millis_f64(sojourn_ms), ..look(now, 40) }
    }

    #[test]
    fn lasting_delay_is_met_by_codels_schedule() {
        let mut law = cobalt(Params::default());
        let drops: Vec<f64> = (0..4_500)
            .map(|i| i as f64 * 0.1)
            .filter(|ms| law.on_dequeue(&waited(*ms, 20.0)) == Verdict::Drop)
            .collect();
        // Armed with a count of 1: CoDel's times, but the first drop is counted already.
        let want = [100.0, 170.8, 228.5, 278.5, 323.2, 364.0, 401.8, 437.2];
        assert!(drops.len() == want.len() && drops.iter().zip(want).all(|(a, b)| (a - b).abs() < 0.11), "{drops:?}");
    }

    #[test]
    fn a_slot_that_nobody_used_waits_for_no_interval() {
        let mut law = cobalt(Params { fresh: true, ..Params::default() });
        let drops = |law: &mut Cobalt, from: f64| -> Vec<f64> {
            (0..1_400)
                .map(|i| from + i as f64 * 0.1)
                .filter(|ms| law.on_dequeue(&waited(*ms, 20.0)) == Verdict::Drop)
                .collect()
        };
        // As sch_cake's cobalt_should_drop with its state zeroed, packets a tenth of a millisecond apart.
        let near = |got: &[f64], want: &[f64]| {
            assert!(got.len() == want.len() && got.iter().zip(want).all(|(a, b)| (a - b).abs() < 0.11), "{got:?}");
        };
        near(&drops(&mut law, 0.0), &[0.1, 70.8, 128.5]);
        // Wound down to nought, it has been used.
        for ms in 0..2_000 {
            law.on_dequeue(&waited(200.0 + ms as f64, 1.0));
        }
        assert_eq!(law.count, 0);
        near(&drops(&mut law, 2_200.0), &[2_300.0]);
    }

    #[test]
    fn the_count_winds_down_as_it_wound_up() {
        let mut law = cobalt(Params::default());
        for i in 0..4_500 {
            law.on_dequeue(&waited(i as f64 * 0.1, 20.0));
        }
        assert_eq!(law.count, 9);
        let next = law.drop_next;
        law.on_dequeue(&waited(450.0, 1.0));
        assert_eq!((law.count, law.drop_next), (9, next), "not before its time");
        // From about 470 ms: 100/√8, /√7 … steps back, so at 600 ms three are gone.
        law.on_dequeue(&waited(600.0, 1.0));
        assert_eq!(law.count, 5, "{:?}", law.drop_next);
        law.on_dequeue(&waited(10_000.0, 1.0));
        assert_eq!(law.count, 0);
    }

    #[test]
    fn blue_moves_once_a_target() {
        let mut law = cobalt(Params::default());
        let mut overflow = |ms: f64| {
            law.on_refused(&waited(ms, 0.0));
            law.drop_probability * 256.0
        };
        assert_eq!([0.0, 4.0, 5.1, 10.3].map(&mut overflow), [1.0, 1.0, 2.0, 3.0]);
        law.on_empty(Instant::from_millis(20));
        law.on_empty(Instant::from_millis(21));
        assert_eq!(law.drop_probability, 3.0 / 256.0 - 1.0 / 4096.0);
    }

    #[test]
    fn blue_drops_what_could_be_marked() {
        let mut law = cobalt(Params { up: 1.0, ..Params::default() });
        let ect = |ms| Look { ecn: crate::Ecn::Ect0, ..waited(ms, 20.0) };
        law.on_dequeue(&ect(0.0));
        assert_eq!(law.on_dequeue(&ect(100.0)), Verdict::Mark);
        law.on_refused(&ect(100.1));
        assert_eq!(law.on_dequeue(&ect(100.1)), Verdict::Drop);
        // Both strike, and a drop spares the last packet: the mark stays.
        law.on_refused(&ect(300.0));
        assert_eq!(law.on_dequeue(&Look { len: 0, ..ect(300.0) }), Verdict::Mark);
        law.on_refused(&ect(500.0));
        assert_eq!(law.on_dequeue(&Look { len: 0, ..waited(500.0, 20.0) }), Verdict::Pass);
    }

    #[test]
    fn the_last_packet_is_marked_but_not_dropped() {
        let mut law = cobalt(Params { up: 1.0, ..Params::default() });
        law.on_refused(&waited(0.0, 1.0));
        for (len, verdict) in [(1, Verdict::Drop), (0, Verdict::Pass)] {
            assert_eq!(law.on_dequeue(&Look { len, ..waited(0.0, 1.0) }), verdict, "{len} behind it");
        }
        let mut law = cobalt(Params::default());
        let last = |ms, ecn| Look { len: 0, ecn, ..waited(ms, 20.0) };
        law.on_dequeue(&last(0.0, crate::Ecn::Ect0));
        assert_eq!(law.on_dequeue(&last(100.0, crate::Ecn::Ect0)), Verdict::Mark);
        assert_eq!(law.on_dequeue(&last(300.0, crate::Ecn::NotEct)), Verdict::Pass);
    }

    #[test]
    fn after_an_interval_of_silence_the_second_late_packet_is_signalled_at_once() {
        // drop_next is an activity timeout while the count is 0 (sch_cake).
        for (gap, verdict) in [(90.0, Verdict::Pass), (200.0, Verdict::Drop)] {
            let mut law = cobalt(Params::default());
            law.on_dequeue(&waited(10.0, 1.0));
            assert_eq!(law.on_dequeue(&waited(10.0 + gap, gap)), Verdict::Pass);
            assert_eq!(law.on_dequeue(&waited(11.0 + gap, gap)), verdict, "{gap} ms");
        }
    }

    #[test]
    fn four_packet_times_are_never_too_long() {
        let mut law = Cobalt::new(&Params::default(), &link(1.0), Rng::new(1, 0, streams::AQM));
        for i in 0..10_000 {
            assert_eq!(law.on_dequeue(&waited(i as f64, 48.0)), Verdict::Pass);
        }
    }

    #[test]
    fn an_empty_queue_winds_down_one_step_when_it_is_time() {
        let mut law = cobalt(Params::default());
        law.on_empty(Instant::from_millis(500));
        assert_eq!(law.count, 0, "nothing to wind down");
        (law.count, law.drop_next) = (4, Instant::from_millis(1_000));
        law.on_empty(Instant::from_nanos(999_999_999));
        assert_eq!(law.count, 4, "not before its time");
        law.on_empty(Instant::from_millis(1_000));
        assert_eq!((law.count, law.dropping), (3, false));
        assert_eq!(law.drop_next.since(Instant::from_millis(1_000)).as_nanos(), 57_735_027, "100 ms/√3");
    }

    #[test]
    fn a_flow_that_was_away_comes_back_rested() {
        // 18/256 needs 288 steps of 5 ms to come to nought.
        for (away_ms, steps) in
            [(0.0, 0.0), (4.9, 0.0), (5.0, 1.0), (1_000.0, 200.0), (1_440.0, 288.0), (60_000.0, 288.0)]
        {
            let mut law = cobalt(Params::default());
            (0..18).for_each(|n| law.on_refused(&waited(6.0 * f64::from(n), 20.0)));
            law.count = 9;
            law.on_activate(waited(102.0 + away_ms, 0.0).now);
            let left = 18.0 / 256.0 - steps / 4096.0;
            assert!((law.drop_probability - left).abs() < 1e-12, "{away_ms} ms: {}", law.drop_probability);
            assert_eq!(law.count == 0, away_ms > 300.0, "{away_ms} ms: {}", law.count);
        }
    }

    #[test]
    fn an_overflow_raises_blues_probability_whoever_made_room() {
        let raised = |overflow: fn(&mut Cobalt, &Look)| {
            let mut law = cobalt(Params::default());
            overflow(&mut law, &waited(1_000.0, 1.0));
            law.drop_probability > 0.0
        };
        assert!(!raised(|_, _| ()));
        assert!(raised(|law, look| law.on_refused(look)));
        assert!(raised(|law, look| law.on_forced_drop(look, 1)));
    }
}
