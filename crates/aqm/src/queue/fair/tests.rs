//! Shares and turns, by the numbers of the reference implementations.

mod overflow;

use super::*;
use crate::law::Never;
use crate::law::codel::{self, Codel};
use crate::{Ecn, LawKind};
use std::collections::BTreeMap;
use units::{Rate, streams};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    flow: u64,
    size: u64,
    number: u32,
}

impl Packet for Sample {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) -> bool {
        false
    }
}

impl Sink<Sample> for Vec<Sample> {
    fn dropped(&mut self, packet: Sample, _: Reason) {
        self.push(packet);
    }
}

const LINK: LinkInfo =
    LinkInfo { rate: Rate::from_bps(10_000_000), delay: Duration::ZERO, mtu: Bytes::new(1500), limit: None };

fn fair(params: Params) -> Fair<Sample, Never> {
    Fair::new(&params, &LINK, &mut Rng::new(1, 0, streams::AQM), |_, _| Never)
}

fn packet(flow: u64, size: u64) -> Sample {
    Sample { flow, size, number: 0 }
}

/// Flows of which no two fall into one sub-queue.
fn apart(queue: &Fair<Sample, impl Law>, n: usize) -> Vec<u64> {
    let mut seen = BTreeMap::new();
    (0u64..).find(|f| seen.insert(queue.index(*f), *f).is_none() && seen.len() == n);
    seen.into_values().collect()
}

#[test]
fn bytes_are_shared_within_a_quantum_whatever_the_packet_size() {
    let mut queue = fair(Params::default());
    let flows = apart(&queue, 2);
    let mut drops = Vec::new();
    for _ in 0..4_000 {
        queue.enqueue(Instant::ZERO, packet(flows[1], 100), &mut drops);
    }
    for _ in 0..300 {
        queue.enqueue(Instant::ZERO, packet(flows[0], 1500), &mut drops);
    }
    let mut sent = [0i64; 2];
    for _ in 0..1_600 {
        let out = queue.dequeue(Instant::ZERO, &mut drops).unwrap().packet;
        sent[usize::from(out.flow == flows[1])] += out.size as i64;
        assert!((sent[0] - sent[1]).abs() <= 1514 + 1500, "{sent:?}");
    }
    assert!(sent[0] > 100 * 1000 && drops.is_empty());
}

#[test]
fn a_flow_out_of_nowhere_is_served_before_the_old_ones() {
    let mut queue = fair(Params::default());
    let flows = apart(&queue, 4);
    let mut drops = Vec::new();
    for _ in 0..50 {
        for flow in &flows[..3] {
            queue.enqueue(Instant::ZERO, packet(*flow, 1500), &mut drops);
        }
    }
    for _ in 0..9 {
        queue.dequeue(Instant::ZERO, &mut drops);
    }
    queue.enqueue(Instant::ZERO, packet(flows[3], 200), &mut drops);
    assert_eq!(queue.dequeue(Instant::ZERO, &mut drops).unwrap().packet.flow, flows[3]);
    // It left the new list empty, so it waits a round of the old ones before it counts as new again.
    queue.dequeue(Instant::ZERO, &mut drops);
    queue.enqueue(Instant::ZERO, packet(flows[3], 200), &mut drops);
    assert_ne!(queue.dequeue(Instant::ZERO, &mut drops).unwrap().packet.flow, flows[3]);
}

#[test]
fn freebsd_serves_on_at_a_credit_of_nought() {
    let first_three = |params: Params| {
        let mut queue = fair(Params { quantum: Bytes::new(1500), ..params });
        let flows = apart(&queue, 2);
        let mut drops = Vec::new();
        for _ in 0..8 {
            for flow in &flows {
                queue.enqueue(Instant::ZERO, packet(*flow, 1500), &mut drops);
            }
        }
        let turn = |queue: &mut Fair<Sample, Never>, drops: &mut Vec<Sample>| {
            queue.dequeue(Instant::ZERO, drops).unwrap().packet.flow == flows[0]
        };
        [(); 4].map(|()| turn(&mut queue, &mut drops))
    };
    assert_eq!(first_three(Params::linux()), [true, false, true, false], "one packet a round");
    assert_eq!(first_three(Params::freebsd()), [true, true, false, false], "two in the first");
}

#[test]
fn ns_2_gives_a_packet_a_turn_to_new_flows_first() {
    let mut queue = fair(Params::ns2());
    let flows = apart(&queue, 3);
    let mut drops = Vec::new();
    for _ in 0..4 {
        for (flow, size) in flows[..2].iter().zip([1500, 100]) {
            queue.enqueue(Instant::ZERO, packet(*flow, size), &mut drops);
        }
    }
    let mut next = || queue.dequeue(Instant::ZERO, &mut drops).unwrap().packet.flow;
    assert_eq!([next(), next(), next()], [flows[0], flows[1], flows[0]]);
    let mut newcomer = Vec::new();
    queue.enqueue(Instant::ZERO, packet(flows[2], 1500), &mut newcomer);
    queue.enqueue(Instant::ZERO, packet(flows[2], 1500), &mut newcomer);
    let mut next = || queue.dequeue(Instant::ZERO, &mut drops).unwrap().packet.flow;
    assert_eq!([next(), next(), next(), next()], [flows[2], flows[1], flows[0], flows[2]]);
}

#[test]
fn new_flows_found_empty_differ_between_rfc_and_linux() {
    // A lone flow sends a packet and is asked again: the RFC remembers it as old, Linux forgets it at once.
    for (params, rounds) in [(Params::default(), 2), (Params::linux(), 1)] {
        let mut queue = fair(params);
        let mut drops = Vec::new();
        queue.enqueue(Instant::ZERO, packet(7, 100), &mut drops);
        queue.dequeue(Instant::ZERO, &mut drops);
        assert_eq!((queue.new.len, queue.old.len), (1, 0));
        let mut turns = 0;
        // One turn at a time, as the loop of dequeue takes them.
        while queue.new.len + queue.old.len > 0 {
            let (on, i) = if queue.new.len > 0 { (On::New, queue.new.first) } else { (On::Old, queue.old.first) };
            queue.leave(on);
            if on == On::New && queue.params.emptied == Emptied::Old {
                queue.make_old(i);
            }
            turns += 1;
        }
        assert_eq!(turns, rounds);
    }
}

#[test]
fn a_pause_makes_a_flow_new_again_for_hosts_that_stop_asking() {
    let mut asked = fair(Params::default());
    let mut told = fair(Params::default());
    let mut drops = Vec::new();
    for queue in [&mut asked, &mut told] {
        queue.enqueue(Instant::ZERO, packet(7, 1514), &mut drops);
        queue.dequeue(Instant::ZERO, &mut drops);
    }
    assert!(asked.dequeue(Instant::from_millis(1), &mut drops).is_none());
    told.idle(Instant::from_millis(1));
    for queue in [asked, told] {
        assert_eq!((queue.new.len, queue.old.len), (0, 0));
        assert!(queue.flows.iter().all(|f| f.on == On::Neither));
    }
}

#[test]
fn linux_drops_the_lone_packet_of_a_sparse_flow_while_others_queue() {
    // The whole-qdisc backlog test: a flow whose only packet is old is fair game; the RFC's own-queue test spares it.
    for (reference, spared) in [(codel::Reference::Rfc, true), (codel::Reference::Linux, false)] {
        let p = codel::Params { reference, ..Default::default() };
        let rng = &mut Rng::new(1, 0, streams::AQM);
        let mut queue = Fair::new(&Codel::under_fair(&p), &LINK, rng, |_, rng| Codel::new(&p, &LINK, rng.clone()));
        let flows = apart(&queue, 40);
        let mut drops = Vec::new();
        let mut now = Instant::ZERO;
        // 40 flows, each always with exactly one packet waiting: 40 packets of 1.2 ms make 48 ms of delay.
        for flow in &flows {
            queue.enqueue(now, packet(*flow, 1500), &mut drops);
        }
        for _ in 0..2_000 {
            now += Duration::from_micros(1_200);
            let before = drops.len();
            if let Some(out) = queue.dequeue(now, &mut drops) {
                queue.enqueue(now, packet(out.packet.flow, 1500), &mut drops);
            }
            for lost in drops.split_off(before) {
                queue.enqueue(now, lost, &mut drops);
                drops.push(lost);
            }
        }
        assert_eq!(drops.is_empty(), spared, "{reference:?}: {} drops", drops.len());
    }
}

#[test]
fn ns_2_tells_by_the_largest_packet_of_all_flows_whether_there_is_a_queue() {
    // A full packet of one flow, then up to 900 bytes of another that wait for 300 ms: less than a full packet.
    for (reference, spared) in [(codel::Reference::Rfc, false), (codel::Reference::Ns2, true)] {
        let p = codel::Params { reference, ..Default::default() };
        let mut queue = Fair::new(&Codel::under_fair(&p), &LINK, &mut Rng::new(1, 0, streams::AQM), |_, rng| {
            Codel::new(&p, &LINK, rng.clone()).among(850, 1_024)
        });
        let flows = apart(&queue, 2);
        let mut drops = Vec::new();
        queue.enqueue(Instant::ZERO, packet(flows[0], 1_500), &mut drops);
        queue.dequeue(Instant::ZERO, &mut drops);
        for _ in 0..10 {
            queue.enqueue(Instant::ZERO, packet(flows[1], 100), &mut drops);
        }
        for ms in [200, 250, 300] {
            queue.dequeue(Instant::from_millis(ms), &mut drops);
        }
        assert_eq!(drops.is_empty(), spared, "{reference:?}");
    }
}

#[test]
fn seeds_perturb_which_flows_collide() {
    let index = |seed: u64, flow| {
        let params = Params { flows: 64, ..Params::default() };
        Fair::<Sample, _>::new(&params, &LINK, &mut Rng::new(seed, 0, streams::AQM), |_, _| Never).index(flow)
    };
    let collide = |seed| (1..200).find(|f| index(seed, *f) == index(seed, 0));
    assert_eq!(collide(1), collide(1));
    assert!((2..20).any(|seed| collide(seed) != collide(1)));
    // Neighbouring numbers spread: 1000 flows over 64 buckets, none above three times its share.
    let mut counts = [0; 64];
    for flow in 0..1000 {
        counts[index(3, flow)] += 1;
    }
    assert!(counts.iter().all(|n| *n < 48), "{counts:?}");
}

#[test]
fn nothing_is_allocated_once_the_slab_has_grown() {
    let mut queue = fair(Params::default());
    let mut drops = Vec::new();
    let mut round = |n: u64| {
        for i in 0..n {
            queue.enqueue(Instant::ZERO, packet(i % 37, 1000), &mut drops);
        }
        while queue.dequeue(Instant::ZERO, &mut drops).is_some() {}
        queue.slab.capacity()
    };
    let grown = round(500);
    for _ in 0..20 {
        assert_eq!(round(500), grown);
    }
}

/// Flows in sub-queues of their own that take turns by `discipline`.
fn turns(discipline: Discipline, quantum: u64, flows: usize) -> (Fair<Sample, Never>, Vec<u64>) {
    let queue = fair(Params { quantum: Bytes::new(quantum), ..Params::default() }).taking_turns(discipline);
    let flows = apart(&queue, flows);
    (queue, flows)
}

#[test]
fn sfq_gives_a_packet_a_turn_and_so_fewer_bytes_to_small_packets() {
    let (mut queue, flows) = turns(Discipline::Packets, 1_514, 3);
    let mut drops = Vec::new();
    for _ in 0..10 {
        for (flow, size) in flows.iter().zip([1500, 100, 9000]) {
            queue.enqueue(Instant::ZERO, packet(*flow, size), &mut drops);
        }
    }
    let order: Vec<u64> = (0..30).map(|_| queue.dequeue(Instant::ZERO, &mut drops).unwrap().packet.flow).collect();
    assert!(order.chunks(3).all(|round| round == flows), "{order:?}");
}

#[test]
fn drr_sends_what_fits_into_the_deficit() {
    // Figures 2 and 3 of the paper: a quantum of 500.
    let (mut queue, flows) = turns(Discipline::Deficit, 500, 4);
    let mut drops = Vec::new();
    let sizes: [&[u64]; 4] = [&[200, 750, 20], &[500, 500], &[200, 600, 100], &[50, 700, 180]];
    for (flow, sizes) in flows.iter().zip(sizes) {
        for size in sizes {
            queue.enqueue(Instant::ZERO, packet(*flow, *size), &mut drops);
        }
    }
    let sent: Vec<u64> = (0..11).map(|_| queue.dequeue(Instant::ZERO, &mut drops).unwrap().packet.size).collect();
    // Round 1: one of each, deficits left 300, 0, 300, 450. Round 2: 800, 500, 800, 950.
    assert_eq!(sent, [200, 500, 200, 50, 750, 20, 500, 600, 100, 700, 180]);
}

#[test]
fn drr_shares_bytes_and_lets_newcomers_wait_for_their_turn() {
    let (mut queue, flows) = turns(Discipline::Deficit, 1_500, 3);
    let mut drops = Vec::new();
    for _ in 0..3_000 {
        queue.enqueue(Instant::ZERO, packet(flows[1], 100), &mut drops);
    }
    for _ in 0..200 {
        queue.enqueue(Instant::ZERO, packet(flows[0], 1500), &mut drops);
    }
    let mut sent = [0i64; 2];
    for _ in 0..1_600 {
        let out = queue.dequeue(Instant::ZERO, &mut drops).unwrap().packet;
        sent[usize::from(out.flow == flows[1])] += out.size as i64;
        assert!((sent[0] - sent[1]).abs() <= 1_500, "{sent:?}");
    }
    queue.enqueue(Instant::ZERO, packet(flows[2], 100), &mut drops);
    assert_ne!(queue.dequeue(Instant::ZERO, &mut drops).unwrap().packet.flow, flows[2]);
}

#[test]
fn one_flow_sees_its_own_sub_queue() {
    let (mut queue, flows) = turns(Discipline::NewFirst, 1_514, 2);
    let mut drops = Vec::new();
    for size in [300, 400] {
        queue.enqueue(Instant::ZERO, packet(flows[0], size), &mut drops);
    }
    queue.enqueue(Instant::ZERO, packet(flows[1], 1500), &mut drops);
    let mut seen = BTreeMap::new();
    queue.vars_of(flows[0], &mut |name, value| {
        seen.insert(name, value);
    });
    assert_eq!((seen["sub_packets"], seen["sub_bytes"]), (2.0, 700.0));
    assert_eq!(seen["sub_queue"], queue.index(flows[0]) as f64);
}

#[test]
fn linux_keeps_a_new_flow_found_empty_while_one_other_waits() {
    let mut queue = fair(Params::linux());
    let flows = apart(&queue, 2);
    let mut drops = Vec::new();
    for _ in 0..3 {
        queue.enqueue(Instant::ZERO, packet(flows[0], 1500), &mut drops);
    }
    queue.dequeue(Instant::ZERO, &mut drops);
    queue.enqueue(Instant::ZERO, packet(flows[1], 100), &mut drops);
    // The first has spent its credit and is old now; the second is found empty at the third request.
    let order = [(); 2].map(|()| queue.dequeue(Instant::ZERO, &mut drops).unwrap().packet.flow);
    assert_eq!(order, [flows[1], flows[0]]);
    assert_eq!((queue.new.len, queue.old.len), (0, 2));
}

#[test]
fn a_drr_flow_that_has_sent_its_last_packet_waits_for_its_turn_again() {
    // Shreedhar and Varghese's figure 4, and Linux's drr: an empty queue leaves the list and forfeits its deficit.
    let (mut queue, flows) = turns(Discipline::Deficit, 1_500, 2);
    let mut drops = Vec::new();
    queue.enqueue(Instant::ZERO, packet(flows[0], 100), &mut drops);
    for _ in 0..50 {
        queue.enqueue(Instant::ZERO, packet(flows[1], 1500), &mut drops);
    }
    for turn in 0..40 {
        let out = queue.dequeue(Instant::ZERO, &mut drops).unwrap().packet.flow;
        assert_eq!(out, flows[turn % 2], "turn {turn}");
        if out == flows[0] {
            queue.enqueue(Instant::ZERO, packet(flows[0], 100), &mut drops);
        }
    }
}
