//! Dice, safeguards and the beat. The controller's numbers are tested beside it in `rules.rs`.

mod draft;
mod ns2;

use super::*;
use crate::law::testing::look;
use crate::{Ecn, Qdisc, Sink};
use proptest::prelude::*;
use std::string::String;
use std::vec::Vec;
use units::{Rng, streams};

const LINK: LinkInfo = LinkInfo {
    rate: Rate::from_bps(10_000_000),
    delay: Duration::ZERO,
    mtu: Bytes::new(1500),
    limit: Some(crate::Limit::Packets(1000)),
};

fn pie(spec: &str) -> Pie {
    use ::params::Params as _;
    let spec: ::params::Spec = spec.parse().unwrap();
    let mut p = Pie::defaults(&Params::from_spec(&spec).unwrap(), Place::Alone);
    for (name, text) in &spec.args {
        p.set("pie", name, text).unwrap();
    }
    Pie::new(&p, &LINK, Rng::new(1, 0, streams::AQM))
}

/// A packet arriving at a queue of `backlog` bytes.
fn arriving(now: Instant, backlog: u64) -> Look {
    Look {
        now,
        size: Bytes::new(1500),
        ecn: Ecn::NotEct,
        sojourn: Duration::ZERO,
        head_age: Duration::ZERO,
        own_backlog: Bytes::new(backlog),
        total_backlog: Bytes::new(backlog),
        len: backlog as usize / 1500,
        mtu: Bytes::new(1500),
        largest: Bytes::new(1500),
        largest_of_all: Bytes::new(1500),
    }
}

/// PIE in the middle of congestion with the given p.
fn congested(spec: &str, p: f64) -> Pie {
    let mut pie = pie(spec);
    pie.on_enqueue(&arriving(Instant::ZERO, 0));
    pie.state.activity = Activity::Active;
    pie.state.p = p;
    pie.state.burst = Duration::ZERO;
    let late = Duration::from_millis(40);
    (pie.state.delay, pie.state.updated, pie.state.before) = (late, late, late);
    pie
}

#[test]
fn drops_are_spread_between_085_and_85() {
    // p = 0.1: nothing before the ninth packet, whatever the dice.
    for seed in 0..200 {
        let mut pie = congested("x", 0.1);
        pie.rng = Rng::new(seed, 0, streams::AQM);
        let first = (1..).find(|_| pie.on_enqueue(&arriving(Instant::ZERO, 90_000)) == Verdict::Drop).unwrap();
        assert!((9..=85).contains(&first), "packet {first}");
    }
    // Against the worst luck the packet is dropped at which p sums to 8.5: the 68th at p = 1/8, which sums exactly
    // (85 · 0.1 does not in binary).
    let mut pie = congested("x", 0.125);
    let (mut n, mut sum) = (0, 0.0);
    loop {
        n += 1;
        sum += 0.125;
        let dropped = pie.on_enqueue(&arriving(Instant::ZERO, 90_000)) == Verdict::Drop;
        if sum >= SURELY {
            assert!(dropped);
            break;
        }
        // Bad luck for this drop: pretend the dice missed.
        pie.state.accu = sum;
    }
    assert_eq!(n, 68);
}

#[test]
fn plain_dice_may_strike_twice_running() {
    let mut pie = congested("x(derandomise=false)", 0.5);
    let drops: Vec<bool> =
        (0..200).map(|_| pie.on_enqueue(&arriving(Instant::ZERO, 90_000)) == Verdict::Drop).collect();
    let n = drops.iter().filter(|d| **d).count();
    assert!((70..130).contains(&n), "{n} of 200 at p = 0.5");
    assert!(drops.windows(2).any(|w| w[0] && w[1]));
}

#[test]
fn a_burst_of_150_ms_is_ten_updates_without_drops() {
    for spec in ["x", "x(reference=freebsd)"] {
        let mut pie = pie(spec);
        pie.on_enqueue(&arriving(Instant::ZERO, 0));
        let mut updates = 0;
        while !pie.state.burst.is_zero() {
            pie.update(Bytes::new(90_000));
            updates += 1;
        }
        assert_eq!(updates, 10, "{spec}");
    }
}

#[test]
fn linux_spends_its_burst_in_real_time_between_departures() {
    let mut pie = pie("x(reference=linux)");
    let out = |ms| Look { sojourn: Duration::from_millis(50), ..arriving(Instant::from_millis(ms), 90_000) };
    pie.on_dequeue(&out(1_000));
    assert_eq!(pie.state.burst, Duration::from_millis(150), "the first departure only starts the clock");
    pie.on_dequeue(&out(1_040));
    assert_eq!(pie.state.burst, Duration::from_millis(110));
    for _ in 0..100 {
        pie.update(Bytes::new(90_000));
    }
    assert_eq!(pie.state.burst, Duration::from_millis(110), "updates do not spend it");
}

#[test]
fn short_queues_and_short_delays_are_left_alone() {
    let hits = |pie: &mut Pie, backlog| {
        (0..200).filter(|_| pie.on_enqueue(&arriving(Instant::ZERO, backlog)) == Verdict::Drop).count()
    };
    for (spec, at) in [("x", 3_000), ("x(reference=freebsd)", 1_600), ("x(reference=linux)", 2_999)] {
        assert_eq!(hits(&mut congested(spec, 0.9), at), 0, "{spec} at {at} B");
        assert!(hits(&mut congested(spec, 0.9), at + 1) > 100, "{spec} above {at} B");
    }
    let mut calm = congested("x", 0.19);
    calm.state.updated = Duration::from_millis(7);
    assert_eq!(hits(&mut calm, 90_000), 0);
    calm.state.p = 0.2;
    assert!(hits(&mut calm, 90_000) > 10, "but not at p of 20 % and more");
}

#[test]
fn marks_stop_at_the_threshold() {
    let verdicts = |spec: &str, p: f64| {
        let mut pie = congested(spec, p);
        let look = Look { ecn: Ecn::Ect0, ..arriving(Instant::ZERO, 90_000) };
        let all: Vec<_> = (0..500).map(|_| pie.on_enqueue(&look)).filter(|v| *v != Verdict::Pass).collect();
        assert!(!all.is_empty());
        (all.iter().all(|v| *v == Verdict::Mark), all.iter().all(|v| *v == Verdict::Drop))
    };
    assert_eq!(verdicts("x(ecn=true)", 0.099), (true, false));
    assert_eq!(verdicts("x(ecn=true)", 0.1), (false, true));
    assert_eq!(verdicts("x(ecn=true, reference=linux)", 0.1), (true, false), "Linux marks at the threshold too");
    assert_eq!(verdicts("x(ecn=true, mark_threshold=1)", 0.5), (true, false));
    assert_eq!(verdicts("x", 0.05), (false, true), "off by default");
}

#[test]
fn on_off_sleeps_until_a_third_of_the_buffer_is_full() {
    let mut pie = pie("x(on_off=true)");
    assert_eq!(pie.state.activity, Activity::Asleep);
    pie.on_enqueue(&arriving(Instant::from_millis(10), 499_999));
    assert_eq!(pie.state.activity, Activity::Asleep);
    pie.on_enqueue(&arriving(Instant::from_millis(20), 500_000));
    assert_eq!(pie.state.activity, Activity::Active);
    assert_eq!(pie.ticker.due(Instant::from_millis(35)), Some(Instant::from_millis(35)));
    pie.on_enqueue(&arriving(Instant::from_millis(30), 0));
    assert_eq!(pie.state.activity, Activity::Asleep, "empty and never dropped anything");
}

#[test]
fn freebsd_counts_the_third_as_it_counts_the_buffer() {
    // Packets of 60 B: 333 of 1000 slots, or a third of the bytes.
    let slots = crate::Limit::Packets(1_000);
    let bytes = crate::Limit::Bytes(Bytes::new(30_000));
    for (reference, limit, wakes) in
        [("freebsd", slots, 333), ("freebsd", bytes, 167), ("rfc", slots, 8_334), ("rfc", bytes, 167)]
    {
        let mut pie = pie(&std::format!("x(on_off=true, reference={reference})"));
        pie.set_link(&LinkInfo { limit: Some(limit), ..LINK });
        let woken = (0..10_000).find(|n| {
            let small = Look { size: Bytes::new(60), len: *n as usize, ..arriving(Instant::ZERO, 60 * n) };
            pie.on_enqueue(&small);
            pie.state.activity == Activity::Active
        });
        assert_eq!(woken, Some(wakes), "{reference}, {limit:?}");
    }
}

#[test]
fn dummynets_fq_pie_wakes_at_three_bytes() {
    let flow = |spec: &str| {
        let mut pie = pie(spec).among(10_240, 1_024);
        pie.set_link(&LINK);
        pie.on_activate(Instant::ZERO);
        pie.on_enqueue(&arriving(Instant::ZERO, 0));
        assert_eq!(pie.state.activity, Activity::Asleep, "{spec}: nothing held and nothing dropped");
        pie.on_enqueue(&arriving(Instant::ZERO, 40));
        pie.state.activity
    };
    assert_eq!(flow("x(reference=freebsd, on_off=true)"), Activity::Active);
    assert_eq!(flow("x(on_off=true)"), Activity::Asleep, "a third of the buffer elsewhere");
}

#[test]
fn docsis_allows_a_burst_after_its_first_drop_and_sleeps_after_a_quiet_second() {
    let mut pie = pie("x(reference=docsis)");
    pie.on_enqueue(&arriving(Instant::ZERO, 499_999));
    assert_eq!(pie.state.activity, Activity::Asleep);
    (pie.state.p, pie.state.updated) = (0.5, Duration::from_millis(40));
    let n = (1..).find(|_| pie.on_enqueue(&arriving(Instant::ZERO, 600_000)) == Verdict::Drop).unwrap();
    assert!(n >= 2, "0.5·1500/1024 a packet sums to 0.85 at the second");
    assert_eq!((pie.state.activity, pie.state.burst), (Activity::Active, Duration::from_millis(142)));
    let mut updates = 0;
    while pie.state.activity != Activity::Asleep {
        pie.update(Bytes::ZERO);
        updates += 1;
    }
    // 9 updates of burst, one more to be quiescent, then more than 1 s of 16 ms.
    assert!((9 + 63..9 + 68).contains(&updates), "{updates}");
}

#[test]
fn p_is_of_a_packet_of_mean_size_in_cable_modems() {
    // 0.3 of 1024 B: 0.44 of 1500 and 0.15 of 512, which sum to 0.85 at the second and the sixth.
    for (size, least) in [(1_500, 2), (512, 6)] {
        let mut first = 99;
        for seed in 0..100 {
            let mut pie = congested("x(reference=docsis)", 0.3);
            pie.rng = Rng::new(seed, 0, streams::AQM);
            let look = Look { size: Bytes::new(size), ..arriving(Instant::ZERO, 90_000) };
            first = first.min((1..).find(|_| pie.on_enqueue(&look) == Verdict::Drop).unwrap());
        }
        assert_eq!(first, least, "{size} B");
    }
}

#[test]
fn an_age_of_idleness_is_caught_up_in_no_time() {
    for reference in REFERENCES {
        let mut pie = congested(&std::format!("x(reference={reference})"), 1.0);
        let late = Instant::from_secs_f64(4e9);
        pie.advance(&arriving(late, 0));
        assert_eq!(pie.state.p, 0.0, "{reference}");
        assert!(pie.ticker.due(late).is_none());
    }
}

/// One packet of the test: size and ECN.
#[derive(Clone, Copy, Debug)]
struct Sample(u32, Ecn);

impl crate::Packet for Sample {
    fn size(&self) -> Bytes {
        Bytes::new(self.0 as u64)
    }
    fn flow(&self) -> u64 {
        1
    }
    fn ecn(&self) -> Ecn {
        self.1
    }
    fn mark(&mut self) -> bool {
        self.1 != Ecn::NotEct
    }
}

#[derive(Default)]
struct Count(usize);

impl Sink<Sample> for Count {
    fn dropped(&mut self, _: Sample, _: crate::Reason) {
        self.0 += 1;
    }
}

type Queue = crate::queue::fifo::Fifo<Sample, Pie>;

/// The same law behind a real timer: someone looks at the queue at every tick.
fn tick(queue: &mut Queue, from: &mut Instant, to: Instant, period: Duration) {
    while *from + period <= to {
        *from += period;
        let held = Qdisc::<Sample>::backlog(queue).get();
        queue.law_mut().advance(&arriving(*from, held));
    }
}

/// Runs one queue that catches up and one with a timer beside each other, and holds them to the same decisions and
/// state after every step. Returns how many packets were dropped and the greatest p seen.
fn side_by_side(reference: &str, estimator: bool, steps: &[(u64, u32, u32)], seed: u64) -> (usize, f64) {
    let extra = match (reference, estimator) {
        ("docsis", _) => "",
        (_, true) => ", ecn=true, rate_estimator=true",
        (_, false) => ", ecn=true, rate_estimator=false",
    };
    let spec: String = std::format!("x(reference={reference}{extra})");
    let build = || {
        let mut law = pie(&spec);
        law.rng = Rng::new(seed, 0, streams::AQM);
        law.params.burst = Duration::from_millis(30);
        law.state.burst = law.state.burst.min(law.params.burst);
        law.third = Limit::Bytes(Bytes::new(9_000));
        Queue::new(law, &LINK, crate::Limit::Packets(1000))
    };
    let (mut lazy, mut timed) = (build(), build());
    let (mut lazy_drops, mut timed_drops) = (Count::default(), Count::default());
    let (mut now, mut ticked, mut most) = (Instant::ZERO, Instant::ZERO, 0.0f64);
    for &(gap, what, size) in steps {
        now += Duration::from_micros(gap);
        // A millisecond is finer than any period: `advance` itself knows which of these ticks are due.
        tick(&mut timed, &mut ticked, now, Duration::from_millis(1));
        let packet = Sample(size, if size % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct });
        if what < 2 {
            for _ in 0..=size % 4 {
                let (a, b) = (lazy.enqueue(now, packet, &mut lazy_drops), timed.enqueue(now, packet, &mut timed_drops));
                assert_eq!(a, b, "marks");
            }
        } else {
            let (a, b) = (lazy.dequeue(now, &mut lazy_drops), timed.dequeue(now, &mut timed_drops));
            assert_eq!(a.map(|d| d.packet.0), b.map(|d| d.packet.0));
        }
        assert_eq!(lazy_drops.0, timed_drops.0, "drops");
        // A dequeue from an empty queue asks no law, so neither copy need have caught up to this very moment.
        let state_now = |queue: &Queue| {
            let mut law = queue.law().clone();
            law.advance(&arriving(now, Qdisc::<Sample>::backlog(queue).get()));
            law.state
        };
        assert_eq!(state_now(&lazy), state_now(&timed));
        most = most.max(lazy.law().state.p);
    }
    (lazy_drops.0, most)
}

const REFERENCES: [&str; 6] = ["rfc", "linux", "freebsd", "docsis", "draft", "ns-2"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Catching up at the next event equals a timer: same drops, same marks, same p.
    #[test]
    fn lazy_updates_equal_a_real_tick(
        reference in prop::sample::select(REFERENCES.to_vec()),
        estimator: bool,
        steps in prop::collection::vec((0u64..40_000, 0u32..3, 40u32..1500), 1..400),
        seed: u64,
    ) {
        side_by_side(reference, estimator, &steps, seed);
    }
}

#[test]
fn lazy_updates_equal_a_real_tick_while_packets_are_dropped() {
    let mut rng = Rng::new(11, 0, 0);
    let steps: Vec<_> = (0..3_000)
        .map(|i| {
            // Two seconds of overload, pauses of up to a second between them, over and over.
            let gap = if i % 700 == 0 { rng.below(1_000_000) } else { rng.below(4_000) };
            (gap, rng.below(3) as u32, 40 + rng.below(1460) as u32)
        })
        .collect();
    for reference in REFERENCES {
        for estimator in [false, true] {
            let (drops, most) = side_by_side(reference, estimator, &steps, 5);
            assert!(drops > 20 && most > 0.01, "{reference}: {drops} drops, p up to {most}");
        }
    }
}

#[test]
fn cable_modems_predict_the_delay_and_the_others_measure_it() {
    // 12 500 B are 10 ms at 10 Mbit/s; the last packet out had waited for 7.
    for (spec, want) in [
        ("x", 7),
        ("x(reference=linux)", 7),
        ("x(reference=freebsd, rate_estimator=false)", 7),
        ("x(reference=docsis)", 10),
    ] {
        let mut pie = pie(spec);
        pie.state.delay = Duration::from_millis(7);
        pie.update(Bytes::new(12_500));
        assert_eq!(pie.state.updated, Duration::from_millis(want), "{spec}");
        pie.update(Bytes::ZERO);
        assert_eq!(pie.state.updated, Duration::ZERO, "{spec}");
    }
}

#[test]
fn linux_and_the_draft_let_p_be_over_a_backlog_too_short_to_measure() {
    for (reference, backlog, kept) in
        [("linux", 1, true), ("linux", 0, false), ("draft", 1, true), ("draft", 0, false), ("rfc", 1, false)]
    {
        let mut pie = congested(&std::format!("x(reference={reference}, alpha=0)"), 0.5);
        (pie.state.delay, pie.state.updated) = (Duration::ZERO, Duration::ZERO);
        pie.update(Bytes::new(backlog));
        assert_eq!(pie.state.p == 0.5, kept, "{reference}, {backlog} B");
    }
}

#[test]
fn linux_allows_another_burst_after_two_calm_updates_at_a_p_of_nought() {
    // Calm is less than half of the target, 7.5 ms.
    for (p, now, before, again) in [
        (0.0, 7_499, 7_499, true),
        (0.0, 7_500, 7_499, false),
        (0.0, 7_499, 7_500, false),
        (0.0, 7_500, 7_500, false),
        (0.1, 7_499, 7_499, false),
    ] {
        let mut pie = congested("x(reference=linux, alpha=0, beta=0)", p);
        (pie.state.delay, pie.state.updated) = (Duration::from_micros(now), Duration::from_micros(before));
        pie.update(Bytes::new(90_000));
        assert_eq!(!pie.state.burst.is_zero(), again, "p = {p}, {now} µs after {before}");
    }
}

#[test]
fn linux_first_updates_half_a_second_after_the_start() {
    let mut linux = pie("x(reference=linux)");
    assert_eq!(linux.ticker.due(Instant::from_nanos(499_999_999)), None);
    assert_eq!(linux.ticker.due(Instant::from_millis(500)), Some(Instant::from_millis(500)));
    assert_eq!(pie("x").ticker.due(Instant::from_millis(15)), Some(Instant::from_millis(15)));
}

#[test]
fn a_flow_that_comes_back_starts_afresh_in_dummynets_fair_queue_or_where_asked() {
    let of = |reference, place| Params::of(reference, place).afresh;
    assert!(of(Reference::FreeBsd, Place::Fair) && !of(Reference::FreeBsd, Place::Alone));
    assert!(!of(Reference::Rfc, Place::Fair) && !of(Reference::Linux, Place::Fair));
    for (spec, afresh) in [
        ("x(reference=freebsd, afresh=true)", true),
        ("x(reference=freebsd)", false),
        ("x(reference=linux, afresh=true)", true),
        ("x(afresh=true)", true),
        ("x", false),
    ] {
        let mut pie = congested(spec, 0.5);
        pie.state.accu = 1.0;
        let before = pie.state;
        pie.on_activate(Instant::from_millis(70));
        let s = &pie.state;
        if !afresh {
            assert_eq!(*s, before, "{spec}");
            continue;
        }
        assert_eq!((s.p, s.accu, s.delay, s.updated), (0.0, 0.0, Duration::ZERO, Duration::ZERO), "{spec}");
        assert_eq!(s.burst, Duration::from_millis(150), "{spec}");
        assert_eq!(pie.ticker.due(Instant::from_millis(85)), Some(Instant::from_millis(85)), "{spec}: its own beat");
    }
}

#[test]
fn what_the_buffer_drops_starts_the_sum_again() {
    for forced in [true, false] {
        let mut pie = congested("x", 0.5);
        pie.state.accu = 0.8;
        if forced {
            pie.on_forced_drop(&look(Instant::ZERO, 60), 1)
        } else {
            pie.on_refused(&look(Instant::ZERO, 60))
        }
        assert_eq!(pie.state.accu, 0.0);
    }
}

#[test]
fn the_burst_comes_back_and_pie_falls_asleep_only_when_all_is_calm() {
    let short = Duration::from_millis(1);
    // (p, delays, burst allowance again, asleep with an empty queue)
    for (p, delay, updated, calm) in [
        (0.0, short, short, true),
        (0.1, short, short, false),
        (0.0, Duration::from_millis(40), short, false),
        (0.0, short, Duration::from_millis(40), false),
    ] {
        for backlog in [0, 90_000] {
            let mut pie = congested("x(on_off=true)", p);
            (pie.state.delay, pie.state.updated) = (delay, updated);
            pie.on_enqueue(&arriving(Instant::ZERO, backlog));
            let case = (p, delay, updated, backlog);
            assert_eq!(pie.state.burst > Duration::ZERO, calm, "{case:?}");
            assert_eq!(pie.state.activity == Activity::Asleep, calm && backlog == 0, "{case:?}");
        }
    }
}
