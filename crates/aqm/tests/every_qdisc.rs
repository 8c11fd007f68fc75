//! What holds for every queue of the table, whatever its reference and parameters. New entries are covered by being there.

use aqm::{Ecn, Limit, LinkInfo, Packet, QDISCS, Qdisc, Reason, Sink};
use params::{Field, ParamError, Spec};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use units::{Bytes, Duration, Instant, Rate, Rng, streams};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    number: usize,
    flow: u64,
    size: u64,
    ecn: Ecn,
    came: Instant,
}

impl Packet for Sample {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) -> bool {
        let markable = self.ecn != Ecn::NotEct;
        if markable {
            self.ecn = Ecn::Ce;
        }
        markable
    }
}

#[derive(Default)]
struct Drops(Vec<(Sample, Reason)>);

impl Sink<Sample> for Drops {
    fn dropped(&mut self, packet: Sample, reason: Reason) {
        self.0.push((packet, reason));
    }
}

/// The least and the greatest value, or every word of a choice.
fn ends(field: &Field) -> Vec<String> {
    match &field.range {
        Some((low, high)) => vec![low.clone(), high.clone()],
        None => field.choices.iter().map(|c| c.to_string()).collect(),
    }
}

/// Every queue with every reference: by default, each parameter at each end, and all at the same end. Under the other
/// schedulers a law's parameters do what they do under the fair queue: there only the scheduler's go to their ends.
fn specs() -> &'static [Spec] {
    static SPECS: OnceLock<Vec<Spec>> = OnceLock::new();
    SPECS.get_or_init(all_specs)
}

fn all_specs() -> Vec<Spec> {
    let mut specs = Vec::new();
    for about in QDISCS {
        let fields = (about.fields)();
        let of_law = (aqm::find(about.law).unwrap().fields)();
        let other = about.name.starts_with("sfq_") || about.name.starts_with("drr_");
        let is_again = |name: &str| other && name != "limit" && of_law.iter().any(|f| f.name == name);
        let references = fields.iter().find(|f| f.name == "reference").map_or(vec![], |f| f.choices.to_vec());
        let presets: Vec<Vec<(String, String)>> = match references.is_empty() {
            true => vec![vec![]],
            false => references.iter().map(|r| vec![("reference".to_string(), r.to_string())]).collect(),
        };
        for preset in presets {
            let mut candidates = vec![preset.clone()];
            let others: Vec<&Field> = fields.iter().filter(|f| f.name != "reference").collect();
            for field in others.iter().filter(|f| !is_again(f.name)) {
                for end in ends(field) {
                    candidates.push([preset.clone(), vec![(field.name.to_string(), end)]].concat());
                }
            }
            for which in [0, 1] {
                let all = others.iter().map(|f| (f.name.to_string(), ends(f)[which].clone()));
                candidates.push(preset.iter().cloned().chain(all).collect());
            }
            for args in candidates {
                match settled(Spec { name: about.name.to_string(), args }) {
                    Ok(spec) => specs.push(spec),
                    // Relations between parameters are refused; anything else about an end of a range is a fault.
                    Err(ParamError::Conflict(_) | ParamError::Vain { .. }) => {}
                    Err(e) => panic!("{}: {e}", about.name),
                }
            }
        }
    }
    specs
}

/// The spec with what its settings need. Of many, those that change nothing beside the others are left out.
fn settled(mut spec: Spec) -> Result<Spec, ParamError> {
    loop {
        let vain = match aqm::resolve(&spec) {
            Ok(_) => return Ok(spec),
            Err(vain @ ParamError::Vain { .. }) => vain,
            Err(e) => return Err(e),
        };
        let ParamError::Vain { name, needs, .. } = &vain else { return Err(vain) };
        match needs.split_once('=') {
            Some((key, value)) if spec.get(key).is_none() => spec.args.push((key.into(), value.into())),
            _ if spec.args.len() > 3 => spec.args.retain(|(key, _)| key != name),
            _ => return Err(vain),
        }
    }
}

fn link(limit: Option<Limit>) -> LinkInfo {
    LinkInfo { rate: Rate::from_mbps(10.0), delay: Duration::ZERO, mtu: Bytes::new(1500), limit }
}

#[derive(Clone, Debug)]
enum Step {
    Arrive { flow: u64, size: u64, ecn: u8, copies: u8 },
    Serve(u8),
    Wait(Duration),
    Idle,
    Link { kbps: u64, limit: Limit },
}

fn step() -> impl Strategy<Value = Step> {
    let limit =
        prop_oneof![(0usize..60).prop_map(Limit::Packets), (0u64..80_000).prop_map(|b| Limit::Bytes(Bytes::new(b))),];
    prop_oneof![
        8 => (0u64..5, 28u64..9_100, 0u8..4, 1u8..12)
            .prop_map(|(flow, size, ecn, copies)| Step::Arrive { flow, size, ecn, copies }),
        8 => (1u8..12).prop_map(Step::Serve),
        8 => (0u64..30_000).prop_map(|us| Step::Wait(Duration::from_micros(us))),
        1 => (0u64..40_000).prop_map(|s| Step::Wait(Duration::from_secs(s))),
        1 => Just(Step::Idle),
        1 => (0u64..100_000, limit).prop_map(|(kbps, limit)| Step::Link { kbps, limit }),
    ]
}

/// One queue and the book kept over it.
struct Bench {
    queue: Box<dyn Qdisc<Sample>>,
    spec: String,
    now: Instant,
    numbers: usize,
    held: BTreeMap<usize, Sample>,
    /// The last number each flow sent, by line: DualPI2 keeps scalable packets apart.
    last: BTreeMap<(u64, bool), usize>,
    limit: Option<Limit>,
    log: Vec<(usize, bool, bool)>,
}

impl Bench {
    fn new(spec: &Spec, seed: u64, limit: Option<Limit>) -> Self {
        let queue = aqm::build(spec, &link(limit), Rng::new(seed, 0, streams::AQM)).unwrap();
        Bench {
            queue,
            spec: spec.to_string(),
            now: Instant::ZERO,
            numbers: 0,
            held: BTreeMap::new(),
            last: BTreeMap::new(),
            limit,
            log: Vec::new(),
        }
    }

    fn book(&mut self, drops: Drops) {
        for (packet, _) in drops.0 {
            let entered = self.held.remove(&packet.number);
            assert_eq!(entered.map(|p| p.size), Some(packet.size), "{}: dropped what it did not hold", self.spec);
            self.log.push((packet.number, false, packet.ecn == Ecn::Ce));
        }
        let bytes: u64 = self.held.values().map(|p| p.size).sum();
        assert_eq!(
            (self.queue.len(), self.queue.backlog().get(), self.queue.is_empty()),
            (self.held.len(), bytes, self.held.is_empty()),
            "{}: in = out + dropped + held",
            self.spec
        );
    }

    fn arrive(&mut self, flow: u64, size: u64, ecn: u8) {
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][ecn as usize];
        let packet = Sample { number: self.numbers, flow, size, ecn, came: self.now };
        self.numbers += 1;
        self.held.insert(packet.number, packet);
        let (mut drops, before) = (Drops::default(), self.queue.len());
        let marked = self.queue.enqueue(self.now, packet, &mut drops);
        assert!(!marked || ecn != Ecn::NotEct, "{}: marked what cannot be marked", self.spec);
        self.book(drops);
        assert!(!marked || self.held.contains_key(&packet.number), "{}: marked what it dropped", self.spec);
        match self.limit {
            Some(Limit::Packets(n)) => assert!(self.queue.len() <= n.max(before), "{}", self.spec),
            // A buffer that has shrunk may hold more until it drains.
            Some(Limit::Bytes(n)) => assert!(self.queue.backlog() <= n || self.queue.len() <= before, "{}", self.spec),
            None => {}
        }
    }

    /// False when the queue has nothing more to give.
    fn serve(&mut self) -> bool {
        let mut drops = Drops::default();
        let out = self.queue.dequeue(self.now, &mut drops);
        if let Some(out) = &out {
            let packet = out.packet;
            let entered = self.held.remove(&packet.number).expect("gives out what it holds");
            assert_eq!(out.sojourn, self.now.since(entered.came), "{}", self.spec);
            assert!(!out.marked || (packet.ecn == Ecn::Ce && entered.ecn != Ecn::NotEct), "{}", self.spec);
            let any = self.spec.contains("any_ect") && entered.ecn == Ecn::Ect0;
            let line = self.spec.starts_with("dualpi2") && (any || matches!(entered.ecn, Ecn::Ect1 | Ecn::Ce));
            let last = self.last.insert((packet.flow, line), packet.number);
            assert!(last.is_none_or(|n| n < packet.number), "{}: a flow out of order", self.spec);
            self.log.push((packet.number, true, packet.ecn == Ecn::Ce));
        }
        let dropped = !drops.0.is_empty();
        self.book(drops);
        assert!(out.is_some() || self.held.is_empty(), "{}: holds packets and gives none", self.spec);
        out.is_some() || dropped
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Arrive { flow, size, ecn, copies } => (0..*copies).for_each(|_| self.arrive(*flow, *size, *ecn)),
            Step::Serve(n) => (0..*n).for_each(|_| {
                self.serve();
            }),
            Step::Wait(time) => self.now += *time,
            Step::Idle => self.queue.idle(self.now),
            Step::Link { kbps, limit } => {
                self.limit = Some(*limit);
                self.queue.set_link(&LinkInfo { rate: Rate::from_bps(kbps * 1000), ..link(self.limit) });
            }
        }
    }

    fn run(mut self, steps: &[Step]) -> Vec<(usize, bool, bool)> {
        for step in steps {
            self.take(step);
        }
        let bound = self.held.len();
        for _ in 0..bound {
            self.serve();
            self.now += Duration::from_micros(1_200);
        }
        assert!(self.queue.is_empty(), "{}: not empty after as many dequeues as packets", self.spec);
        let spec = &self.spec;
        let mut known = |name: &'static str, value: f64| {
            assert!(value.is_finite(), "{spec}: {name} = {value}");
            assert!(aqm::VARS.iter().any(|var| var.name == name), "{spec}: {name} has no line in vars.rs");
        };
        self.queue.vars(&mut known);
        self.queue.vars_of(1, &mut known);
        self.log
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    /// Conservation in packets and bytes, order within a flow, honest marks, and the same seed gives the same decisions.
    #[test]
    fn any_queue_keeps_its_books(
        which: prop::sample::Index,
        steps in prop::collection::vec(step(), 1..150),
        seed: u64,
        limit in prop::option::of(1usize..50),
    ) {
        let specs = specs();
        let spec = which.get(specs);
        let limit = limit.map(Limit::Packets);
        let log = Bench::new(spec, seed, limit).run(&steps);
        prop_assert_eq!(log, Bench::new(spec, seed, limit).run(&steps), "{}: same seed, same decisions", spec);
    }
}

/// Half a second of load at 150 % on each of them, so that none is left to chance.
#[test]
fn every_queue_at_every_end_of_its_parameters_survives_overload() {
    let specs = specs();
    assert!(specs.len() > 300, "{}", specs.len());
    let mut silent = Vec::new();
    for spec in specs {
        let mut bench = Bench::new(spec, 7, Some(Limit::Packets(60)));
        for i in 0..600u64 {
            bench.now = Instant::from_nanos(i * 800_000);
            bench.arrive(i % 3, if i % 7 == 0 { 100 } else { 1_500 }, (i % 4) as u8);
            if i % 3 != 0 {
                bench.serve();
            }
        }
        let log = bench.run(&[]);
        if log.iter().all(|(_, out, _)| *out) {
            silent.push(spec.to_string());
        }
    }
    assert!(silent.is_empty(), "no drop at 150 % load and 60 packets of buffer: {silent:?}");
}

/// What bounds senders that ignore marks: ECT(0) throughout, at twice the link's rate.
#[derive(Debug, PartialEq)]
enum Bound {
    /// The law drops in time what it could mark.
    Law,
    /// Nothing but the buffer: each of these laws is as published.
    Buffer,
}

fn bound(law: &str, reference: Option<&str>) -> Bound {
    match (law, reference) {
        // RED drops above max, as ns-2's and the adaptive one do above 10 %; dummynet and Linux mark there, too.
        ("red", Some("dummynet" | "linux")) => Bound::Buffer,
        ("red" | "ared" | "choke", _) => Bound::Law,
        // PIE above p = 10 %, DualPI2 once k p' reaches 1, SFB above 1/2; COBALT's BLUE drops what it could mark.
        ("pie" | "dualpi2" | "sfb" | "cobalt", _) => Bound::Law,
        _ => Bound::Buffer,
    }
}

/// Senders that ignore marks are bounded by the buffer at the latest, and before that where a law has a safeguard.
#[test]
fn unresponsive_ecn_senders_are_bounded() {
    for spec in specs().iter().filter(|s| s.args.len() <= 1 && s.args.iter().all(|(k, _)| k == "reference")) {
        let mut spec = spec.clone();
        spec.args.push(("ecn".into(), "true".into()));
        let law = aqm::find(&spec.name).unwrap().law;
        let mut marks_are_due = true;
        if aqm::resolve(&spec).is_err() {
            spec.args.pop();
            marks_are_due = law == "dualpi2";
        }
        let mut queue = aqm::build::<Sample>(&spec, &link(Some(Limit::Packets(1_000))), Rng::new(3, 0, 2)).unwrap();
        let (mut drops, mut marks, mut most) = (Drops::default(), 0, 0);
        for number in 0..40_000 {
            let now = Instant::from_nanos(number as u64 * 600_000);
            // One sender; under CHOKe, where it would meet itself each time, a hundred.
            let flow = if law == "choke" { number as u64 % 100 } else { 1 };
            let packet = Sample { number, flow, size: 1500, ecn: Ecn::Ect0, came: now };
            marks += usize::from(queue.enqueue(now, packet, &mut drops));
            most = most.max(queue.len());
            if number % 2 == 0 {
                marks += usize::from(queue.dequeue(now, &mut drops).is_some_and(|out| out.marked));
            }
        }
        // COBALT learns from overflows, and a fair queue's come by the batch: who bounds the senders shows late.
        let late = drops.0.iter().filter(|(packet, _)| packet.number >= 30_000);
        let (overflows, all) = late.fold((0, 0), |(o, n), (_, why)| (o + usize::from(*why == Reason::Overflow), n + 1));
        assert!(most <= 1_000, "{spec}: {most} packets");
        assert_eq!(marks > 0, marks_are_due, "{spec}: {marks} marks");
        assert!(drops.0.len() > 18_000, "{spec}: half of the load must go");
        if marks_are_due {
            let by_law = overflows < all / 10;
            let found = if by_law { Bound::Law } else { Bound::Buffer };
            let reference = spec.args.iter().find(|(k, _)| k == "reference").map(|(_, r)| r.as_str());
            assert_eq!(found, bound(law, reference), "{spec}: {overflows} overflows of {all} drops");
        }
    }
}

/// When a law drops: what arrives, what leaves, or a pair as CHOKe does.
fn drops_arrivals(law: &str) -> Option<bool> {
    match law {
        "fifo" | "red" | "ared" | "rem" | "pi" | "blue" | "codel_dt" | "pie" | "sfb" => Some(true),
        "codel" | "cobalt" | "dualpi2" => Some(false),
        "choke" => None,
        law => panic!("{law}: where does it drop?"),
    }
}

/// A law drops the packet that arrives or the one at the head; an overflow the one that arrives or the oldest of a flow, in ns-2's
/// fair queue the newest.
#[test]
fn drops_fall_where_they_should() {
    for spec in specs().iter().filter(|s| s.args.len() <= 1 && s.args.iter().all(|(k, _)| k == "reference")) {
        let law = aqm::find(&spec.name).unwrap().law;
        let mut queue = aqm::build::<Sample>(spec, &link(Some(Limit::Packets(300))), Rng::new(3, 0, 2)).unwrap();
        let mut held: BTreeMap<usize, Sample> = BTreeMap::new();
        let (mut by_law, mut overflows) = (0, 0);
        let mut check = |drops: &Drops, held: &mut BTreeMap<usize, Sample>, arriving: Option<usize>| {
            for (i, (packet, why)) in drops.0.iter().enumerate() {
                let line = |p: &Sample| (p.flow, law == "dualpi2" && p.ecn == Ecn::Ect1);
                let is_oldest =
                    held.values().find(|p| line(p) == line(packet)).map(|p| p.number) == Some(packet.number);
                let waits = |p: &&Sample| arriving != Some(p.number) && p.flow == packet.flow;
                let is_newest = held.values().rfind(waits).map(|p| p.number) == Some(packet.number);
                let from_the_tail = spec.to_string() == "fq_codel(reference=ns-2)";
                let arrives = arriving == Some(packet.number);
                match why {
                    Reason::Law => match drops_arrivals(law) {
                        Some(true) => assert!(arrives, "{spec}: a law of arrivals dropped {packet:?}"),
                        Some(false) => {
                            assert!(arriving.is_none() && is_oldest, "{spec}: not from the head: {packet:?}")
                        }
                        // The drawn one is next to go; the arriving one may also fall to RED alone.
                        None => assert!(arrives || drops.0[i + 1].0.flow == packet.flow, "{spec}: not a pair"),
                    },
                    Reason::Overflow => {
                        let goes = if from_the_tail { is_newest } else { arrives || is_oldest };
                        assert!(arriving.is_some() && goes, "{spec}: overflow took {packet:?}");
                    }
                }
                held.remove(&packet.number);
                *if *why == Reason::Law { &mut by_law } else { &mut overflows } += 1;
            }
        };
        for number in 0..6_000 {
            let now = Instant::from_nanos(number as u64 * 600_000);
            let ecn = if number % 3 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
            let packet = Sample { number, flow: number as u64 * 7 % 5, size: 1500, ecn, came: now };
            held.insert(number, packet);
            let mut drops = Drops::default();
            queue.enqueue(now, packet, &mut drops);
            check(&drops, &mut held, Some(number));
            if number % 2 == 0 {
                let mut drops = Drops::default();
                let out = queue.dequeue(now, &mut drops);
                check(&drops, &mut held, None);
                if let Some(out) = out {
                    held.remove(&out.packet.number);
                }
            }
        }
        // Under a scheduler a law may sleep: DOCSIS-PIE's third of the buffer is of the whole buffer.
        assert!(
            law == "fifo" || law != spec.name || by_law > 0,
            "{spec}: {by_law} drops by the law, {overflows} overflows"
        );
        assert!(by_law + overflows > 2_000, "{spec}: {by_law} drops by the law, {overflows} overflows");
    }
}

/// The victims of the two plain queues, by hand: 12 arrivals, 10 places.
#[test]
fn a_full_fifo_drops_the_last_or_the_first() {
    for (spec, want) in [("fifo", [10, 11]), ("fifo(drop=head)", [0, 1])] {
        let mut queue =
            aqm::build::<Sample>(&spec.parse().unwrap(), &link(Some(Limit::Packets(10))), Rng::new(1, 0, 2)).unwrap();
        let mut drops = Drops::default();
        for number in 0..12 {
            let packet = Sample { number, flow: 1, size: 1500, ecn: Ecn::NotEct, came: Instant::ZERO };
            queue.enqueue(Instant::ZERO, packet, &mut drops);
        }
        assert_eq!(drops.0.iter().map(|(p, _)| p.number).collect::<Vec<_>>(), want, "{spec}");
    }
}
