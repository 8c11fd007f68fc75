//! The bins' arithmetic, and who is found not to listen.

use super::*;
use crate::law::testing::link;
use units::streams;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample(u64, Ecn);

impl Packet for Sample {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
    fn flow(&self) -> u64 {
        self.0
    }
    fn ecn(&self) -> Ecn {
        self.1
    }
    fn mark(&mut self) -> bool {
        self.1 != Ecn::NotEct
    }
}

impl Sink<Sample> for Vec<Sample> {
    fn dropped(&mut self, packet: Sample, _: Reason) {
        self.push(packet);
    }
}

fn sfb(params: Params) -> Sfb<Sample> {
    let link = LinkInfo { limit: Some(Limit::Packets(1_000)), ..link(10.0) };
    Sfb::new(&params, &link, Rng::new(1, 0, streams::AQM))
}

#[test]
fn a_bin_rises_when_full_and_falls_when_empty() {
    let mut queue = sfb(Params::default());
    let mut drops = Vec::new();
    let p = |queue: &Sfb<Sample>| queue.banks[0].least(&queue.params, 7);
    for n in 0..20 {
        assert_eq!(p(&queue), (0.0, n));
        queue.enqueue(Instant::ZERO, Sample(7, Ecn::NotEct), &mut drops);
    }
    for n in 1..=5 {
        queue.enqueue(Instant::ZERO, Sample(7, Ecn::NotEct), &mut drops);
        assert!((p(&queue).0 - 0.001 * n as f64).abs() < 1e-12);
    }
    assert_eq!((p(&queue).1, drops.len()), (25, 0));
    queue.enqueue(Instant::ZERO, Sample(7, Ecn::NotEct), &mut drops);
    assert_eq!(drops.len(), 1, "no flow holds more than 25");
    while queue.dequeue(Instant::ZERO, &mut drops).is_some() {}
    let before = p(&queue).0;
    queue.enqueue(Instant::ZERO, Sample(7, Ecn::NotEct), &mut drops);
    assert!((before - p(&queue).0 - 1.0 / 6_000.0).abs() < 1e-12);
}

/// A flood at twice the link's rate among 20 polite flows at 0.04 each: what they got of what they sent.
fn flood(params: Params, ecn: Ecn) -> (f64, f64) {
    let mut queue = sfb(params);
    let mut rng = Rng::new(2, 0, 0);
    let (mut drops, mut sent, mut came) = (Vec::new(), [0u32; 2], [0u32; 2]);
    for i in 0..100_000u64 {
        let now = Instant::ZERO + Duration::from_micros(i * 1_200);
        let polite = rng.chance(0.8).then(|| rng.below(20));
        for flow in polite.into_iter().chain([99, 99]) {
            queue.enqueue(now, Sample(flow, ecn), &mut drops);
            came[usize::from(flow == 99)] += u32::from(i > 20_000);
        }
        if let Some(out) = queue.dequeue(now, &mut drops) {
            sent[usize::from(out.packet.0 == 99)] += u32::from(i > 20_000);
        }
    }
    (f64::from(sent[0]) / f64::from(came[0]), f64::from(sent[1]) / f64::from(came[1]))
}

#[test]
fn a_flood_is_held_back_and_the_others_hardly_notice() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let (polite, flood) = flood(Params::default(), ecn);
        assert!(polite > 0.99 && flood < 0.15, "{ecn:?}: {polite} of the polite, {flood} of the flood");
    }
}

#[test]
fn new_bins_have_learnt_before_they_count() {
    let (rehash, warmup) = (Duration::from_secs(10), Duration::from_secs(5));
    let mut queue = sfb(Params { rehash, warmup, ..Params::default() });
    let mut drops = Vec::new();
    let salt = queue.banks[0].salt;
    // Flow 7 does not respond: its bins' probabilities are at their most.
    for ms in [0, 4_999, 5_000, 9_999] {
        queue.enqueue(Instant::from_millis(ms), Sample(7, Ecn::NotEct), &mut drops);
        queue.banks[0].bins.iter_mut().for_each(|bin| bin.p = 1.0);
    }
    assert_eq!((queue.active, queue.warming, queue.banks[0].salt), (0, true, salt));
    assert_eq!(queue.banks[1].least(&queue.params, 7).1, 2, "those since 5 s");
    queue.banks[0].bins.iter_mut().for_each(|bin| bin.p = 0.5);
    queue.enqueue(Instant::from_millis(9_999), Sample(8, Ecn::NotEct), &mut drops);
    assert_eq!(queue.banks[1].least(&queue.params, 8).1, 0, "one that responds");
    queue.enqueue(Instant::from_millis(10_000), Sample(7, Ecn::NotEct), &mut drops);
    assert_eq!((queue.active, queue.warming), (1, false));
    while queue.dequeue(Instant::from_millis(10_000), &mut drops).is_some() {}
    assert!(queue.banks.iter().all(|bank| bank.bins.iter().all(|bin| bin.len == 0)));
}

#[test]
fn bins_keep_their_p_under_the_next_hash() {
    let (rehash, warmup) = (Duration::from_secs(10), Duration::from_secs(5));
    let mut queue = sfb(Params { rehash, warmup, ..Params::default() });
    let mut drops = Vec::new();
    let mut ps = Vec::new();
    for ms in [0, 5_000, 10_000, 15_000, 20_000] {
        queue.enqueue(Instant::from_millis(ms), Sample(7, Ecn::NotEct), &mut drops);
        queue.dequeue(Instant::from_millis(ms), &mut drops);
        ps.push(queue.banks[0].bins.iter().map(|bin| bin.p).collect::<Vec<_>>());
        if ms == 0 {
            queue.banks[0].bins.iter_mut().for_each(|bin| bin.p = 0.25);
        }
    }
    assert_eq!((queue.active, queue.banks[0].life), (0, 2));
    // Hashed anew at 15 s, while the other bank counts; at 20 s it counts, and the packet finds its bins empty.
    assert!(ps[3].iter().all(|p| *p >= 0.25 - 1.1 / 6_000.0) && ps[2] == ps[3], "{:?}", ps[3]);
    assert!(ps[4].iter().all(|p| *p >= 0.25 - 2.1 / 6_000.0), "{:?}", ps[4]);
}

#[test]
fn above_a_half_marks_give_way_to_drops() {
    let mut queue = sfb(Params::default());
    let mut share = |p: f64| {
        let all: Vec<_> = (0..20_000).map(|_| queue.strikes(p, true)).collect();
        let part = |f: fn(&(bool, bool)) -> bool| all.iter().filter(|x| f(x)).count() as f64 / 20_000.0;
        (part(|x| x.0), part(|x| x.1))
    };
    for (p, drops, marks) in [(0.4, 0.0, 0.4), (0.5, 0.0, 0.5), (0.7, 0.4, 0.3), (0.9, 0.8, 0.1)] {
        let got = share(p);
        assert!((got.0 - drops).abs() < 0.02 && (got.1 - marks).abs() < 0.02, "{p}: {got:?}");
    }
}

#[test]
fn banks_take_turns_for_as_long_as_it_runs() {
    let (rehash, warmup) = (Duration::from_secs(10), Duration::from_secs(5));
    let mut queue = sfb(Params { rehash, warmup, ..Params::default() });
    let (mut drops, mut seen) = (Vec::new(), Vec::new());
    for second in 0..=40 {
        assert!(!queue.enqueue(Instant::from_millis(second * 1_000), Sample(7, Ecn::NotEct), &mut drops));
        queue.dequeue(Instant::from_millis(second * 1_000), &mut drops);
        if second % 10 == 0 {
            seen.push((queue.active, queue.banks[queue.active].salt));
        }
    }
    assert_eq!(seen.iter().map(|(active, _)| *active).collect::<Vec<_>>(), [0, 1, 0, 1, 0]);
    assert!(seen.windows(2).all(|w| w[0].1 != w[1].1), "a hash of its own each time");
}

#[test]
fn who_does_not_listen_spends_tokens() {
    let mut queue = sfb(Params { penalty_rate: 10.0, penalty_burst: 2.0, ..Params::default() });
    let at = Instant::from_millis;
    let may: Vec<bool> =
        [0, 0, 0, 99, 100, 100, 10_000, 10_000, 10_000].iter().map(|ms| queue.has_token(at(*ms))).collect();
    assert_eq!(may, [true, true, false, false, true, false, true, true, false]);
}

#[test]
fn without_a_rate_or_a_burst_nothing_of_theirs_passes() {
    for (penalty_rate, penalty_burst, passed) in [(0.0, 20.0, 0), (10.0, 0.0, 0), (10.0, 1.0, 11), (10.0, 20.0, 30)] {
        let mut queue = sfb(Params { penalty_rate, penalty_burst, ..Params::default() });
        let may = (0..=1_000).filter(|ms| queue.has_token(Instant::from_millis(*ms))).count();
        assert_eq!(may, passed, "{penalty_rate} a second, {penalty_burst} at once");
    }
}

#[test]
fn each_departure_leaves_each_of_its_bins_once() {
    let mut queue = sfb(Params::default());
    let mut drops = Vec::new();
    (0..5).for_each(|_| _ = queue.enqueue(Instant::ZERO, Sample(7, Ecn::NotEct), &mut drops));
    for left in (0..5).rev() {
        queue.dequeue(Instant::ZERO, &mut drops);
        assert_eq!(queue.banks[0].least(&queue.params, 7).1, left);
    }
}

#[test]
fn flows_spread_over_all_bins_of_a_level_and_meet_others_in_each() {
    let queue = sfb(Params::default());
    let (p, bank) = (&queue.params, &queue.banks[0]);
    let places = |level: usize| (0..4096).map(|flow| bank.place(p, flow, level) - level * p.bins).collect::<Vec<_>>();
    let all: Vec<_> = (0..p.levels).map(places).collect();
    for level in &all {
        let mut held = std::vec![0; p.bins];
        level.iter().for_each(|&bin| held[bin] += 1);
        // 256 in each of 16 bins, and five standard deviations.
        assert!(held.iter().all(|n| (180..=335).contains(n)), "{held:?}");
    }
    let together = all[0].iter().zip(&all[1]).filter(|(a, b)| a == b).count();
    assert!((180..=335).contains(&together), "{together}: levels hash by themselves");
}

#[test]
fn a_packet_in_the_queue_is_marked_as_it_would_be_outside() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut counted = Counted { packet: Sample(1, ecn), lives: [0; 2] };
        assert_eq!(counted.mark(), ecn != Ecn::NotEct);
    }
}
