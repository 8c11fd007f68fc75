//! The numbers of RFC 9332's appendix and of Linux's `sch_dualpi2`, and the timer it does without.

use super::*;
use std::vec::Vec;
use units::{Rate, streams};

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

const LINK: LinkInfo =
    LinkInfo { rate: Rate::from_bps(12_000_000), delay: Duration::ZERO, mtu: Bytes::new(1500), limit: None };

fn dual(spec: &str) -> DualPi2<Sample> {
    use ::params::Params as _;
    let spec: ::params::Spec = spec.parse().unwrap();
    let mut p = Kind::defaults(&Params::from_spec(&spec).unwrap());
    for (name, text) in &spec.args {
        p.set("dualpi2", name, text).unwrap();
    }
    DualPi2::new(&p, &LINK, Rng::new(1, 0, streams::AQM))
}

/// With p′ held where it is put.
fn held_at(spec: &str, p: f64) -> DualPi2<Sample> {
    let mut dual = dual(spec);
    (dual.params.alpha, dual.params.beta) = (0.0, 0.0);
    dual.p.set(p);
    dual
}

#[test]
fn one_update_at_20_after_15_ms() {
    let mut dual = dual("x");
    dual.delay = Duration::from_millis(15);
    assert!((dual.delta(Duration::from_millis(20)) - 0.0168).abs() < 1e-12);
}

/// Signals that fall on packets of a line without a wait, a few always behind them: marks, drops, packets out.
fn signals(dual: &mut DualPi2<Sample>, ecn: Ecn, n: u64) -> (f64, f64) {
    let (mut drops, mut marks, mut out) = (Count::default(), 0, 0);
    for _ in 0..n {
        while dual.len() < 40 {
            dual.enqueue(Instant::ZERO, Sample(ecn), &mut drops);
        }
        let sent = dual.dequeue(Instant::ZERO, &mut drops).unwrap();
        (out, marks) = (out + 1, marks + u32::from(sent.marked));
    }
    let all = f64::from(out + drops.0);
    (f64::from(marks) / all, f64::from(drops.0) / all)
}

#[test]
fn p_of_0_2_is_0_04_for_classic_and_0_4_for_low() {
    for reference in ["rfc", "linux"] {
        let spec = std::format!("x(reference={reference})");
        let share = |ecn| signals(&mut held_at(&spec, 0.2), ecn, 40_000);
        for (ecn, marks, drops) in [(Ecn::Ect1, 0.4, 0.0), (Ecn::NotEct, 0.0, 0.04), (Ecn::Ect0, 0.04, 0.0)] {
            let got = share(ecn);
            assert!((got.0 - marks).abs() < 0.01 && (got.1 - drops).abs() < 0.005, "{reference} {ecn:?}: {got:?}");
        }
    }
}

#[test]
fn the_rfc_signals_at_even_gaps() {
    let mut dual = held_at("x", 0.125);
    let mut drops = Count::default();
    for _ in 0..=40 {
        dual.enqueue(Instant::ZERO, Sample(Ecn::Ect1), &mut drops);
    }
    let marks: Vec<bool> = (0..40).map(|_| dual.dequeue(Instant::ZERO, &mut drops).unwrap().marked).collect();
    let at: Vec<usize> = (0..40).filter(|i| marks[*i]).collect();
    assert_eq!(at, [3, 7, 11, 15, 19, 23, 27, 31, 35, 39], "k p′ = 1/4");
}

#[test]
fn overload_drops_what_marks_no_longer_hold_back() {
    // k p′ = 1.2, p′² = 0.36: L loses 0.36 and the rest is marked; C loses even what it could mark.
    for reference in ["rfc", "linux"] {
        let spec = std::format!("x(reference={reference})");
        let low = signals(&mut held_at(&spec, 0.6), Ecn::Ect1, 20_000);
        assert!((low.1 - 0.36).abs() < 0.02 && (low.0 - 0.64).abs() < 0.02, "{reference}: {low:?}");
        let classic = signals(&mut held_at(&spec, 0.6), Ecn::Ect0, 20_000);
        assert!((classic.1 - 0.36).abs() < 0.02 && classic.0 == 0.0, "{reference}: {classic:?}");
        // Without drops on overload p′ ends where all of L is marked, and the buffer bounds what goes on.
        let spec = std::format!("x(reference={reference}, drop_overload=false)");
        let mut dual = held_at(&spec, 0.6);
        assert_eq!(dual.p.get(), 0.5);
        assert_eq!(signals(&mut dual, Ecn::Ect1, 1_000), (1.0, 0.0));
    }
}

#[test]
fn the_native_step_and_the_ramp() {
    let marked = |spec: &str, wait_us: u64, behind: usize| {
        let mut dual = held_at(spec, 0.0);
        let mut drops = Count::default();
        for _ in 0..=behind {
            dual.enqueue(Instant::ZERO, Sample(Ecn::Ect1), &mut drops);
        }
        dual.dequeue(Instant::ZERO + Duration::from_micros(wait_us), &mut drops).unwrap().marked
    };
    for (wait, want) in [(1_010, true), (1_000, false)] {
        assert_eq!(marked("x(reference=linux)", wait, 1), want);
        assert!(!marked("x(reference=linux, step_behind=1)", wait, 0));
    }
    assert!(marked("x", 1_200, 1) && !marked("x", 1_200, 0) && !marked("x", 800, 1));
    let ramp = |us| held_at("x", 0.0).native(Duration::from_micros(us), 1);
    assert_eq!([ramp(800), ramp(900), ramp(1_000), ramp(1_300)], [0.0, 0.25, 0.5, 1.0]);
}

#[test]
fn turns_are_shifted_in_time_or_weighted() {
    let shares = |spec: &str| {
        let mut dual = held_at(spec, 0.0);
        let mut drops = Count::default();
        let mut low = 0;
        for _ in 0..2_000 {
            dual.enqueue(Instant::ZERO, Sample(Ecn::Ect1), &mut drops);
            dual.enqueue(Instant::ZERO, Sample(Ecn::NotEct), &mut drops);
        }
        for _ in 0..1_000 {
            low += u32::from(dual.dequeue(Instant::ZERO, &mut drops).unwrap().packet.0 == Ecn::Ect1);
        }
        low
    };
    assert_eq!(shares("x"), 1_000, "C has not waited longer");
    assert!((899..=901).contains(&shares("x(reference=linux)")), "{}", shares("x(reference=linux)"));
    assert_eq!(shares("x(reference=linux, c_share=50)"), 500);
    let mut dual = held_at("x", 0.0);
    let mut drops = Count::default();
    let ms = Instant::from_millis;
    dual.enqueue(ms(0), Sample(Ecn::NotEct), &mut drops);
    dual.enqueue(ms(51), Sample(Ecn::Ect1), &mut drops);
    dual.enqueue(ms(51), Sample(Ecn::Ect1), &mut drops);
    let order: Vec<Ecn> = (0..3).map(|_| dual.dequeue(ms(51), &mut drops).unwrap().packet.0).collect();
    assert_eq!(order, [Ecn::NotEct, Ecn::Ect1, Ecn::Ect1], "51 ms are more than 50");
}

#[test]
fn low_goes_first_and_ect0_is_marked_where_not_ect_is_dropped() {
    let mut queue = dual("x");
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
    assert_eq!(n as u32 / 10 * 11, sent + drops.0 + Qdisc::<Sample>::len(&queue) as u32, "in = out + dropped + held");
    assert!(drops.0 > 1_000 && marks > 500, "{} drops, {marks} marks", drops.0);
    assert!(
        low_wait < Duration::from_millis(4) && classic_wait > Duration::from_millis(15),
        "{low_wait:?} {classic_wait:?}"
    );
    let p = queue.p.get();
    assert!(p > 0.1 && p < 1.0, "{p}");
}

/// The same queue behind a real timer: someone looks at it every 100 µs.
#[test]
fn lazy_updates_equal_a_real_tick() {
    for spec in
        ["x", "x(reference=linux)", "x(alpha=0.001, beta=0.002)", "x(alpha=0, beta=0)", "x(drop_overload=false)"]
    {
        let (mut lazy, mut timed) = (dual(spec), dual(spec));
        let (mut lazy_drops, mut timed_drops) = (Count::default(), Count::default());
        let mut rng = Rng::new(5, 0, 0);
        let (mut now, mut ticked, mut most) = (Instant::ZERO, Instant::ZERO, 0.0f64);
        for i in 0..4_000u64 {
            // Overload for a while, then a pause of up to a second, over and over.
            now += Duration::from_micros(if i % 700 == 0 { rng.below(1_000_000) } else { rng.below(4_000) });
            while ticked + Duration::from_micros(100) <= now {
                ticked += Duration::from_micros(100);
                timed.advance(ticked);
            }
            let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ect1][rng.below(4) as usize];
            if rng.below(3) < 2 {
                let a = lazy.enqueue(now, Sample(ecn), &mut lazy_drops);
                assert_eq!(a, timed.enqueue(now, Sample(ecn), &mut timed_drops));
            } else {
                let a = lazy.dequeue(now, &mut lazy_drops).map(|d| (d.packet.0, d.marked));
                assert_eq!(a, timed.dequeue(now, &mut timed_drops).map(|d| (d.packet.0, d.marked)));
            }
            assert_eq!((lazy_drops.0, lazy.p, lazy.delay), (timed_drops.0, timed.p, timed.delay), "{spec} at {now:?}");
            most = most.max(lazy.p.get());
        }
        assert!(spec.contains("=0") || most > 0.1, "{spec}: {most}");
    }
}

#[test]
fn an_age_of_idleness_is_caught_up_in_no_time() {
    let mut dual = dual("x(alpha=0.0001, beta=0)");
    dual.p.set(1.0);
    dual.advance(Instant::from_secs_f64(4e9));
    assert_eq!(dual.p.get(), 0.0);
    dual.enqueue(Instant::from_secs_f64(4e9), Sample(Ecn::NotEct), &mut Count::default());
    dual.advance(Instant::from_secs_f64(8e9));
    assert!(dual.p.is_most());
}

#[test]
fn linux_owes_the_low_line_its_share_of_a_full_packet_at_the_start() {
    // sch_dualpi2: c_protection_init = MTU · (wc − wl).
    for (c_share, credit) in [(10, -120_000), (50, 0), (75, 75_000)] {
        assert_eq!(dual(&std::format!("x(reference=linux, c_share={c_share})")).credit, credit);
    }
}

#[test]
fn an_idle_link_forgets_whose_turn_it_is_for_hosts_that_stop_asking_too() {
    // sch_dualpi2 resets the credit with a dequeue that finds nothing. Bursts of both lines leave it elsewhere.
    for spec in ["x", "x(reference=linux)", "x(reference=linux, c_share=40)"] {
        let order = |asks: bool| -> Vec<Ecn> {
            let (mut dual, mut drops) = (held_at(spec, 0.0), Count::default());
            let mut sent = Vec::new();
            for burst in [9, 20, 4] {
                for ecn in [Ecn::Ect1, Ecn::NotEct].repeat(burst) {
                    dual.enqueue(Instant::ZERO, Sample(ecn), &mut drops);
                }
                while !Qdisc::<Sample>::is_empty(&dual) {
                    sent.extend(dual.dequeue(Instant::ZERO, &mut drops).map(|out| out.packet.0));
                }
                if asks {
                    assert!(dual.dequeue(Instant::ZERO, &mut drops).is_none());
                } else {
                    dual.idle(Instant::ZERO);
                }
            }
            sent
        };
        assert_eq!(order(true), order(false), "{spec}");
    }
}

#[test]
fn even_gaps_are_kept_for_each_line_by_itself() {
    // p′ = 1/4: every second packet of L, every sixteenth of C, however they take turns.
    let mut dual = held_at("x", 0.25);
    let held = Bytes::new(60_000);
    for i in 1..=160 {
        assert_eq!(matches!(dual.fate(true, Ecn::Ect1, 0.0, held), Fate::Mark), i % 2 == 0, "L {i}");
        assert_eq!(matches!(dual.fate(false, Ecn::NotEct, 0.0, held), Fate::Drop), i % 16 == 0, "C {i}");
    }
}

#[test]
fn l_is_for_those_who_say_so_and_for_what_was_marked_on_the_way() {
    use Ecn::{Ce, Ect0, Ect1, NotEct};
    let low = |classify| {
        let mut dual = dual("x");
        dual.params.classify = classify;
        [NotEct, Ect0, Ect1, Ce].map(|ecn| dual.is_low(ecn))
    };
    assert_eq!(low(Classify::L4s), [false, false, true, true]);
    assert_eq!(low(Classify::AnyEct), [false, true, true, true]);
}
