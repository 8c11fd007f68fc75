//! Packets from outside: decided at the times at which they came, however late the driver is, and played again alike.

use experiment::Scenario;
use sim::outside::{Arrival, Fate, replay};
use sim::packet::Way;
use sim::{Keep, Options, Recorder, Summary, World};
use units::{Duration, Instant, Rng};

const LINKS: &str = r#"
format = 1
[[link]]
name = "down"
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "60 packets"
queue = "pie"
loss = "1 %"
duplicate = "1 %"
reorder = {probability = "2 %", delay = "3 ms"}
changes = [{at = "1 s", rate = "5 Mbit/s"}, {at = "2 s", delay = "30 ms"}]
[[link]]
name = "up"
rate = "1 Mbit/s"
delay = "10 ms"
queue = "fq_codel"
[[flow]]
name = "programs"
cc = "newreno"
route = ["down"]
back = ["up"]
[run]
duration = "3 s"
vary = "none"
"#;

fn scenario() -> Scenario {
    experiment::parse(LINKS, "").unwrap().cases().unwrap()[0].scenario.clone()
}

/// A crowd of packets, twice what the links carry.
fn arrivals() -> Vec<Arrival> {
    let mut rng = Rng::new(5, 0, 0);
    let mut at = Instant::ZERO;
    let mut all = Vec::new();
    while at < Instant::from_secs_f64(2.9) {
        at += Duration::from_nanos(rng.below(1_200_000));
        let back = rng.chance(0.3);
        let way = if back { Way::Back } else { Way::Out };
        let flow = rng.below(4) as u32;
        let size = if back { 60 } else { 40 + rng.below(1460) as u32 };
        all.push(Arrival { at, flow, way, size, ecn: rng.below(4) as u8 });
    }
    // A flow that comes first has the lowest number.
    let mut order = vec![0];
    for a in &mut all {
        let place = order.iter().position(|f| *f == a.flow).unwrap_or_else(|| {
            order.push(a.flow);
            order.len() - 1
        });
        a.flow = place as u32;
    }
    all
}

/// Runs them as a driver does that wakes when it wakes.
fn live(all: &[Arrival], pause: u64) -> (Summary, Vec<Fate>, Vec<experiment::FlowSpec>) {
    let options = Options { outside: true, ..Options::default() };
    let scenario = scenario();
    let mut world = World::new(&scenario, (), options).unwrap();
    let (mut fates, mut specs, mut woke) = (Vec::new(), Vec::new(), 0);
    for (handle, a) in all.iter().enumerate() {
        while woke + pause < a.at.as_nanos() {
            woke += pause;
            world.advance(Instant::from_nanos(woke));
        }
        world.advance(a.at);
        while specs.len() < a.flow as usize {
            let mut spec = scenario.flows[0].clone();
            spec.name = format!("flow-{}", specs.len());
            specs.push(spec.clone());
            world.add_flow(spec).unwrap();
        }
        world.inject(a.flow, a.way, a.size, a.ecn, handle as u32);
        fates.extend(world.fates());
    }
    world.advance(Instant::from_secs_f64(3.0));
    fates.extend(world.fates());
    let (summary, ()) = world.finish();
    (summary, fates, specs)
}

#[test]
fn a_late_driver_changes_nothing_and_a_replay_is_the_run() {
    let all = arrivals();
    let (often, fates, specs) = live(&all, 50_000);
    let (seldom, same, _) = live(&all, 700_000_000);
    assert_eq!((often.digest.clone(), &fates), (seldom.digest, &same));

    // Both ways: a flow's ACKs come out as its data do.
    let out: Vec<u32> = fates
        .iter()
        .filter_map(|f| if let Fate::Delivered { handle, .. } = f { Some(*handle) } else { None })
        .collect();
    for way in [Way::Out, Way::Back] {
        assert!(out.iter().any(|h| all[*h as usize].way == way), "{way:?}");
    }

    let dropped = fates.iter().filter(|f| matches!(f, Fate::Dropped { .. })).count() as u64;
    let copied = fates.iter().filter(|f| matches!(f, Fate::Copied { .. })).count();
    assert!(dropped > 500 && copied > 5, "{dropped} dropped, {copied} copied");
    let mut flows = scenario().flows;
    flows.extend(specs);
    let recorder = Recorder::new(Keep { events: true, ..Keep::default() });
    let end = Instant::from_secs_f64(3.0);
    let (again, recorder) = replay(&scenario(), &flows, &all, end, recorder, 0).unwrap();
    assert_eq!((again.digest, again.dropped), (often.digest, dropped));
    let drops = recorder.tables().into_iter().find(|(name, _)| *name == "drops").unwrap().1;
    let (_, sim::Column::U16(marked)) = &drops[4] else { panic!("the last column tells marks from drops") };
    assert_eq!(marked.iter().filter(|m| **m == 0).count() as u64, dropped);
}

#[test]
fn packets_come_out_after_queue_and_delay_marked_where_the_queue_says_so() {
    let text = LINKS.replace("queue = \"pie\"", "queue = \"codel(ecn=true)\"").replace("60 packets", "1000 packets");
    let text: String = text
        .lines()
        .filter(|l| !["loss", "duplicate", "reorder", "changes"].iter().any(|k| l.starts_with(k)))
        .map(|l| format!("{l}\n"))
        .collect();
    let scenario = experiment::parse(&text, "").unwrap().cases().unwrap()[0].scenario.clone();
    let options = Options { outside: true, ..Options::default() };
    let mut world = World::new(&scenario, (), options).unwrap();
    // Eleven in ten: the queue grows until CoDel marks.
    for i in 0..2000_u64 {
        world.advance(Instant::from_nanos(i * 1_090_909));
        world.inject(0, Way::Out, 1500, 2, i as u32);
    }
    world.advance(Instant::from_secs_f64(3.0));
    let fates: Vec<Fate> = world.fates().collect();
    let first = Fate::Delivered { at: Instant::from_nanos(11_200_000), flow: 0, way: Way::Out, handle: 0, ce: false };
    assert_eq!(fates[0], first);
    assert!(fates.iter().any(|f| matches!(f, Fate::Delivered { ce: true, .. })));
    assert!(world.look(0).marked > 0);
    assert_eq!(world.finish().0.links[0].dropped, 0);
}

#[test]
fn arrivals_of_a_flow_that_was_not_recorded_are_refused() {
    let stray = [Arrival { at: Instant::ZERO, flow: 7, way: Way::Out, size: 100, ecn: 0 }];
    let scenario = scenario();
    let error = replay(&scenario, &scenario.flows, &stray, Instant::from_millis(1), (), 0).unwrap_err();
    assert_eq!(error.to_string(), "no flow 7 was recorded");
}
