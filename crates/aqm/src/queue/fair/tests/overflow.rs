//! What does not fit: who pays, and what laws hear of it.

use super::*;

#[test]
fn the_fattest_flow_pays_for_an_overflow() {
    let overflow = |params: Params, by_size: bool| {
        let mut queue = fair(params);
        let flows = apart(&queue, 2);
        let mut drops = Vec::new();
        for number in 0..9_000 {
            let fat = Sample { flow: flows[0], size: 1000, number };
            queue.enqueue(Instant::ZERO, fat, &mut drops);
        }
        for _ in 9_000..10_240 {
            queue.enqueue(Instant::ZERO, packet(flows[1], if by_size { 9_000 } else { 1000 }), &mut drops);
        }
        assert!(drops.is_empty());
        queue.enqueue(Instant::ZERO, packet(flows[1], 1000), &mut drops);
        assert_eq!(queue.len() + drops.len(), 10_241);
        (drops.len(), drops[0].flow == flows[0], drops[0].number)
    };
    assert_eq!(overflow(Params::default(), false), (64, true, 0), "from the head, 64 at once");
    assert_eq!(overflow(Params::linux(), false), (64, true, 0));
    assert_eq!(overflow(Params::freebsd(), false), (1, true, 0));
    // 1240 packets of 9 kB outweigh 9000 of 1 kB: by bytes they pay, by packets they do not.
    assert!(!overflow(Params::linux(), true).1);
    assert!(overflow(Params::freebsd(), true).1);
    let refuse = Params { overflow: Overflow::Refuse, ..Params::linux() };
    assert_eq!(overflow(refuse, false), (1, false, 0), "the arriving packet");
}

#[test]
fn a_batch_stops_at_half_the_backlog() {
    let mut queue = fair(Params { limit: 10, ..Params::default() });
    let mut drops = Vec::new();
    for _ in 0..11 {
        queue.enqueue(Instant::ZERO, packet(7, 1000), &mut drops);
    }
    assert_eq!((drops.len(), queue.len()), (6, 5), "5500 of 11000 bytes or more");
}

#[test]
fn a_byte_limit_holds_after_every_arrival() {
    let link = LinkInfo { limit: Some(Limit::Bytes(Bytes::new(10_000))), ..LINK };
    for params in [Params::freebsd(), Params::ns2()] {
        let mut queue = Fair::new(&params, &link, &mut Rng::new(1, 0, 0), |_, _| Never);
        let mut drops = Vec::new();
        for i in 0..100u64 {
            queue.enqueue(Instant::ZERO, packet(i % 5, if i % 3 == 0 { 9_000 } else { 64 }), &mut drops);
            assert!(queue.backlog() <= Bytes::new(10_000));
        }
        queue.enqueue(Instant::ZERO, packet(3, 10_001), &mut drops);
        assert!(queue.backlog() <= Bytes::new(10_000), "even a packet larger than the buffer");
    }
}

#[test]
fn an_overflow_is_timed_by_the_clock_not_by_the_last_packet_of_the_flow_that_pays() {
    use crate::law::blue::{self, Blue};
    let p = blue::Params { d1: 0.25, ..Default::default() };
    let link = LinkInfo { limit: Some(Limit::Packets(8)), ..LINK };
    let params = Params { overflow: Overflow::One, ..Params::default() };
    let rng = &mut Rng::new(1, 0, streams::AQM);
    let mut queue = Fair::new(&params, &link, rng, |_, rng| Blue::new(&p, &link, rng.clone()));
    let flows = apart(&queue, 2);
    let fat = queue.index(flows[0]);
    let (mut drops, mut sees) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        queue.enqueue(Instant::ZERO, packet(flows[0], 1500), &mut drops);
    }
    for ms in [200, 400] {
        queue.enqueue(Instant::from_millis(ms), packet(flows[1], 100), &mut drops);
        queue.law(fat).vars(&mut |_, p| sees.push(p));
    }
    assert_eq!(drops.len(), 3);
    assert_eq!(sees, [0.5, 0.75], "a step for each, as they lie more than the freeze time apart");
}

#[test]
fn blue_forgets_a_flood_in_sub_queues_too() {
    // 15 s at twenty times the rate, then a packet every 12 ms alone: p falls by 0.01 in each freeze time of 100 ms.
    let lost = |queue: &str| {
        let spec = std::format!("{queue}(d1=0.1, d2=0.01)").parse().unwrap();
        let link = LinkInfo { limit: Some(Limit::Packets(50)), ..LINK };
        let mut queue = crate::build::<Sample>(&spec, &link, Rng::new(1, 0, streams::AQM)).unwrap();
        let mut drops = Vec::new();
        for step in 0..12_500 {
            let now = Instant::ZERO + Duration::from_micros(1_200) * step;
            (0..20).for_each(|_| _ = queue.enqueue(now, packet(7, 1500), &mut drops));
            queue.dequeue(now, &mut drops);
        }
        drops.clear();
        for step in 0..3_750 {
            let now = Instant::from_millis(15_000 + 12 * step);
            queue.enqueue(now, packet(7, 1500), &mut drops);
            while queue.dequeue(now, &mut drops).is_some() {}
        }
        drops.len()
    };
    let losses = ["blue", "fq_blue", "sfq_blue", "drr_blue"].map(lost);
    assert!(losses.iter().all(|n| (300..600).contains(n)), "{losses:?} of 3750");
}

#[test]
fn updates_that_were_due_before_an_overflow_see_what_was_held_before_it() {
    use crate::law::pi::{self, Pi};
    // One update in ten seconds, ten seconds after the start: p = a (q − 0).
    let p = pi::Params { hz: 0.1, q_ref: 0.0, a: 0.01, b: 0.0, ..Default::default() };
    let link = LinkInfo { limit: Some(Limit::Packets(20)), ..LINK };
    let rng = &mut Rng::new(1, 0, streams::AQM);
    let mut queue = Fair::new(&Params::default(), &link, rng, |_, rng| Pi::new(&p, &link, rng.clone()));
    let flows = apart(&queue, 2);
    let fat = queue.index(flows[0]);
    let mut drops = Vec::new();
    for _ in 0..20 {
        queue.enqueue(Instant::ZERO, packet(flows[0], 1500), &mut drops);
    }
    // Twenty packets lay there at 10 s. What comes at 11 s costs half of them.
    queue.enqueue(Instant::from_millis(11_000), packet(flows[1], 100), &mut drops);
    assert_eq!(drops.len(), 10);
    queue.dequeue(Instant::from_millis(11_000), &mut drops);
    queue.dequeue(Instant::from_millis(11_000), &mut drops);
    let mut seen = 0.0;
    queue.law(fat).vars(&mut |_, p| seen = p);
    assert!((seen - 0.2).abs() < 1e-9, "{seen}: 20 packets, not the {} left", drops.len());
}

#[test]
fn laws_that_look_at_what_is_refused_do_so_under_a_scheduler() {
    use crate::law::red::{self, Red};
    let p = red::Params {
        weight: ::params::Auto::of(0.5),
        min: ::params::Auto::of(1e3),
        max: ::params::Auto::of(3e3),
        ..Default::default()
    };
    let link = LinkInfo { limit: Some(Limit::Packets(10)), ..LINK };
    let params = Params { overflow: Overflow::Refuse, ..Params::default() };
    let rng = &mut Rng::new(1, 0, streams::AQM);
    let mut queue = Fair::new(&params, &link, rng, |_, rng| Red::new(&p, &link, rng.clone()));
    let mut drops = Vec::new();
    for _ in 0..40 {
        queue.enqueue(Instant::ZERO, packet(7, 1500), &mut drops);
    }
    assert_eq!(drops.len(), 30);
    let average = queue.law(queue.index(7)).average_at(Instant::ZERO);
    assert!((average - 10.0).abs() < 0.01, "{average} for 10 held over 30 arrivals");
}

#[test]
fn of_equally_fat_flows_the_first_pays() {
    for fattest in [Fattest::Bytes, Fattest::Packets] {
        let mut queue = fair(Params { fattest, ..Params::default() });
        let flows = apart(&queue, 3);
        let mut drops = Vec::new();
        flows.iter().for_each(|flow| _ = queue.enqueue(Instant::ZERO, packet(*flow, 1500), &mut drops));
        assert_eq!(Some(queue.fattest()), flows.iter().map(|flow| queue.index(*flow)).min());
    }
}

#[test]
fn marks_on_the_way_in_are_told() {
    #[derive(Debug)]
    struct Marks;
    impl Law for Marks {
        fn on_enqueue(&mut self, _: &Look) -> Verdict {
            Verdict::Mark
        }
    }
    /// A flow's packet that can be marked, or not.
    #[derive(Debug)]
    struct Ect(u64, bool);
    impl Packet for Ect {
        fn size(&self) -> Bytes {
            Bytes::new(100 * self.0)
        }
        fn flow(&self) -> u64 {
            self.0
        }
        fn ecn(&self) -> Ecn {
            if self.1 { Ecn::Ect0 } else { Ecn::NotEct }
        }
        fn mark(&mut self) -> bool {
            self.1
        }
    }
    struct Lost(u32);
    impl Sink<Ect> for Lost {
        fn dropped(&mut self, _: Ect, _: Reason) {
            self.0 += 1;
        }
    }
    let two = LinkInfo { limit: Some(Limit::Packets(2)), ..LINK };
    let mut queue = Fair::new(&Params::default(), &two, &mut Rng::new(1, 0, streams::AQM), |_, _| Marks);
    let mut lost = Lost(0);
    assert!(queue.enqueue(Instant::ZERO, Ect(1, true), &mut lost));
    assert!(!queue.enqueue(Instant::ZERO, Ect(1, false), &mut lost));
    assert_eq!((lost.0, queue.len()), (1, 1));
    assert!(queue.enqueue(Instant::ZERO, Ect(2, true), &mut lost));
    // The overflow takes the largest packet, be it the arrival, whose mark nobody will see, or another.
    assert!(!queue.enqueue(Instant::ZERO, Ect(15, true), &mut lost));
    assert!(queue.enqueue(Instant::ZERO, Ect(1, true), &mut lost));
    assert_eq!((lost.0, queue.len()), (3, 2));
}

#[test]
fn ns_2_makes_room_at_the_tail_of_the_flow_with_most_packets_before_the_arrival_joins() {
    let mut queue = fair(Params { limit: 5, ..Params::ns2() });
    let flows = apart(&queue, 2);
    let mut drops = Vec::new();
    let mut send = |queue: &mut Fair<Sample, Never>, flow: usize, number| {
        queue.enqueue(Instant::ZERO, Sample { number, ..packet(flows[flow], 1500) }, &mut drops);
    };
    for number in 0..4 {
        send(&mut queue, 0, number);
    }
    send(&mut queue, 1, 4);
    // The longest loses its newest, whoever comes; the last of a flow alone, too.
    send(&mut queue, 1, 5);
    send(&mut queue, 0, 6);
    let mut lone = fair(Params { limit: 1, ..Params::ns2() });
    send(&mut lone, 0, 7);
    send(&mut lone, 0, 8);
    assert_eq!(drops.iter().map(|p| p.number).collect::<Vec<_>>(), [3, 2, 7]);
    assert_eq!((queue.len(), queue.backlog()), (5, Bytes::new(7_500)));
    let held = flows.iter().map(|flow| queue.index(*flow)).map(|i| (queue.lens[i], queue.backlogs[i].get()));
    assert_eq!(held.collect::<Vec<_>>(), [(3, 4_500), (2, 3_000)]);
    let mut out = || queue.dequeue(Instant::ZERO, &mut Vec::new()).map(|out| out.packet.number);
    assert_eq!([out(), out(), out(), out(), out(), out()], [Some(0), Some(4), Some(1), Some(5), Some(6), None]);
    assert_eq!((queue.len(), queue.backlog()), (0, Bytes::ZERO));
    assert_eq!(lone.dequeue(Instant::ZERO, &mut Vec::new()).map(|out| out.packet.number), Some(8));
}
