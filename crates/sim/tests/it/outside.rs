//! Packets from outside: decided at the times at which they came, however late the driver is, and played again alike.

use cc::{CauseKind, EventRecord, modes};
use experiment::Scenario;
use sim::backoffs::Reductions;
use sim::outside::{Arrival, Fate, Told, replay};
use sim::packet::Way;
use sim::probe::FlowSample;
use sim::{Keep, Options, Recorder, Summary, World};
use std::collections::BTreeMap;
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

/// What an algorithm tells four seconds into a run, of a window of 10 kB that it halves.
fn event(kind: CauseKind, flow: u32, first: [i64; 2]) -> EventRecord {
    let mut values = [0; 8];
    values[..2].copy_from_slice(&first);
    EventRecord {
        version: cc::EVENT_VERSION,
        kind: kind as u16,
        flow,
        time: 4_000_000_000,
        cwnd_before: 10_000,
        cwnd_after: 5_000,
        ssthresh_before: 5_000,
        ssthresh_after: 5_000,
        values,
    }
}

/// Ten seconds of two flows of a kind that nothing is told of but by `tell`, which is asked every second; and the series of
/// the first: a column, second by second.
fn told(flow: &str, mut tell: impl FnMut(&mut World<Recorder>, u32)) -> (Summary, impl Fn(&str) -> Vec<f64>) {
    let text = format!(
        "format = 1\n[path]\nrate = \"10 Mbit/s\"\nrtt = \"40 ms\"\n[[flow]]\nname = \"a\"\ncount = 2\n{flow}\n\
         [run]\nduration = \"10 s\"\nvary = \"none\"\n"
    );
    let scenario = experiment::parse(&text, "").unwrap().cases().unwrap()[0].scenario.clone();
    let options = Options { outside: true, ..Options::default() };
    let recorder = Recorder::new(Keep { series: Some(Duration::from_secs_f64(1.0)), ..Keep::default() });
    let mut world = World::new(&scenario, recorder, options).unwrap();
    for second in 0..10 {
        tell(&mut world, second);
        world.advance(Instant::from_secs_f64(f64::from(second) + 1.0));
    }
    let (summary, recorder) = world.finish();
    let series = recorder.tables().into_iter().find(|(name, _)| *name == "flows").unwrap().1;
    let column = move |name: &str| {
        let of = |name: &str| &series.iter().find(|(column, _)| *column == name).unwrap().1;
        let (sim::Column::U32(flows), sim::Column::F64(values)) = (of("flow"), of(name)) else { panic!("{name}") };
        flows.iter().zip(values).filter(|(flow, _)| **flow == 0).map(|(_, value)| *value).collect()
    };
    (summary, column)
}

#[test]
fn who_never_left_its_first_mode_was_in_it_all_the_time() {
    let run = |more, tells, ended| {
        told(&format!("cc = \"hldg\"\n{more}"), |world, second| {
            (0..2).for_each(|f| world.tell(f, Told { tells, ended, ..Told::default() }));
            if tells && second == 4 {
                world.caused(event(CauseKind::ModeSwitch, 1, [modes::DELAY, modes::LOSS]));
            }
        })
        .0
    };
    let modes = |of: &BTreeMap<String, f64>| ["delay", "loss"].map(|mode| of[mode]);
    let summary = run("", true, None);
    assert_eq!(summary.flows.iter().map(|f| modes(&f.mode_s)).collect::<Vec<_>>(), [[10.0, 0.0], [4.0, 6.0]]);
    assert_eq!(modes(&summary.groups[0].mode_s), [7.0, 3.0]);
    let ended = run("", true, Some(Instant::from_secs_f64(6.0)));
    assert_eq!(modes(&ended.groups[0].mode_s), [5.0, 1.0]);
    assert!(run("", false, None).flows[0].mode_s.is_empty(), "nobody tells of it");
    assert!(run("traffic = \"tmix\"", true, None).flows[0].mode_s.is_empty(), "many connections have no one mode");
}

#[test]
fn the_rtt_of_a_series_is_the_last_one_while_something_is_under_way() {
    let (_, series) = told("cc = \"cubic\"", |world, second| {
        let in_flight_bytes = if second < 3 { 3000.0 } else { 0.0 };
        let sample = FlowSample { srtt_ms: 60.0, in_flight_bytes, ..FlowSample::default() };
        if second == 1 {
            world.measured_rtt(0, Duration::from_millis(50));
            world.measured_rtt(0, Duration::from_millis(70));
        }
        world.tell(0, Told { sample, ..Told::default() });
        // What comes and is gone between two looks of the kernel's.
        if second == 5 {
            world.inject(0, Way::Out, 1500, 0, 0);
        }
    });
    let (rtt, nan) = (series("rtt_ms"), f64::NAN);
    let due = [nan, 70.0, 70.0, nan, nan, 70.0, nan, nan, nan];
    assert_eq!(format!("{:?}", &rtt[..due.len()]), format!("{due:?}"));
    assert_eq!(series("srtt_ms")[..9], [60.0; 9]);
}

#[test]
fn what_nobody_tells_of_back_offs_and_losses_is_no_zero() {
    let run = |flow: &str, tells| {
        told(flow, |world, second| {
            (0..2).for_each(|f| world.tell(f, Told { tells, ..Told::default() }));
            if second == 4 && tells {
                world.caused(event(CauseKind::DelayBackoff, 0, [0, 0]));
            } else if second == 4 {
                let delay = u64::from(flow.starts_with("cc"));
                world.backed_off(0, Reductions { delay, loss: 1, ..Reductions::default() });
            }
        })
        .0
    };
    for (flow, tells, known) in
        [("cc = \"cdg\"", true, true), ("cc = \"cubic\"", false, false), ("traffic = \"voip\"", false, true)]
    {
        let (summary, zero) = (run(flow, tells), known.then_some(0));
        for figures in [&summary.flows[0].figures, &summary.groups[0].figures] {
            let (b, l) = (&figures.backoffs, &figures.losses);
            assert_eq!([b.double, b.ignored, b.tolerated, b.shadow, b.unused], [zero; 5], "{flow}");
            assert_eq!([l.tolerated, l.unused, l.answered, l.shadow, l.timeout], [zero; 5], "{flow}");
            assert_eq!(b.below_bdp, known.then_some(u64::from(tells)), "{flow}");
            assert_eq!(b.to_bytes, tells.then_some(5_000.0), "{flow}");
            assert_eq!((b.tolerated_pct, l.tolerated_pct), ((known && !tells).then_some(0.0), None), "{flow}");
        }
    }
}
