//! What files mean: topologies, units, names, sweeps, overrides, hashes.

use aqm::Limit;
use experiment::{Case, Error, Experiment, LossAt, LossModel, RateSpec, Traffic, Vary, parse};
use tcp::{Offload, Stack};
use units::{Bytes, Duration, Instant, Rate};

const PATH: &str = "[path]\nrate = \"12 Mbit/s\"\nrtt = \"40 ms\"\n";
const FLOW: &str = "[[flow]]\nname = \"a\"\ncc = \"newreno\"\n";

fn good(text: &str) -> Experiment {
    parse(text, "x.toml").unwrap_or_else(|e| panic!("{e:#}"))
}

fn cases(e: &Experiment) -> Vec<Case> {
    e.cases().unwrap_or_else(|e| panic!("{e:#}"))
}

fn only(text: &str) -> experiment::Scenario {
    let mut all = cases(&good(text));
    assert_eq!(all.len(), 1);
    all.remove(0).scenario
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(s: u64) -> Instant {
    Instant::from_millis(s * 1000)
}

#[test]
fn a_star_in_a_name_stands_for_all_that_fit() {
    let text = "[path]\nrate = \"12 Mbit/s\"\nrtt = \"40 ms\"\n[[flow]]\nname = \"web-1\"\ncc = \"cubic\"\n\
                [[flow]]\nname = \"web-2\"\ncc = \"cubic\"\n[[flow]]\nname = \"other\"\ncc = \"cubic\"\n\
                [sweep]\n\"flow.web-*.cc\" = [\"newreno\", \"cubic(beta=0.8)\"]\n";
    let mut experiment = experiment::parse(text, "").unwrap();
    experiment.set("flow.*.initial_window", "3").unwrap();
    let cases = experiment.cases().unwrap();
    let ccs = |i: usize| cases[i].scenario.flows.iter().map(|f| f.cc.to_string()).collect::<Vec<_>>();
    assert_eq!(ccs(0), ["newreno", "newreno", "cubic"]);
    assert_eq!(ccs(1), ["cubic(beta=0.8)", "cubic(beta=0.8)", "cubic"]);
    assert!(cases[0].scenario.flows.iter().all(|f| f.initial_window == 3));
    assert_eq!(cases[1].values[0], ("flow.web-*.cc".to_string(), "cubic(beta=0.8)".to_string()));
    let error = experiment.set("flow.video-*.cc", "cubic").unwrap_err().to_string();
    assert!(error.contains("no flow is called like video-*"), "{error}");
}

#[test]
fn the_way_back_of_a_path_loses_what_its_link_would() {
    let path = only(&format!("{PATH}up = \"1 Mbit/s\"\nloss = \"2 %\"\nup_loss = \"1 %\"\n{FLOW}"));
    let losses: Vec<_> = path.links.iter().map(|l| (l.name.as_str(), l.loss, l.loss_at)).collect();
    let random = LossModel::Random;
    assert_eq!(losses, [("bottleneck", random(0.02), LossAt::Enqueue), ("return", random(0.01), LossAt::Enqueue)]);
}

#[test]
fn the_file_of_the_architecture_resolves_key_by_key() {
    let e = good(include_str!("data/every-key.toml"));
    let all = cases(&e);
    assert_eq!(all.len(), 4 * 5);
    assert_eq!(all[0].values, [("path.rate".into(), "1.5 Mbit/s".into()), ("path.rtt".into(), "10 ms".into())]);
    assert_eq!(all[1].values[1].1, "40 ms", "the last key changes fastest");
    let s = &all[11].scenario;
    assert_eq!(all[11].values[0].1, "12 Mbit/s");
    let [bottleneck, back] = s.links.as_slice() else { panic!("a dumbbell has two links") };
    assert_eq!((bottleneck.name.as_str(), back.name.as_str()), ("bottleneck", "return"));
    assert_eq!(bottleneck.rate, Some(RateSpec::Constant(Rate::from_mbps(12.0))));
    assert_eq!(back.rate, Some(RateSpec::Constant(Rate::from_mbps(1.0))));
    assert_eq!(bottleneck.buffer, Some(Limit::Bytes(Bytes::new(120_000))), "2 × 12 Mbit/s × 40 ms");
    assert_eq!(back.buffer, Some(Limit::Packets(50)));
    assert_eq!((bottleneck.queue.to_string(), back.queue.to_string()), ("pie(target=20ms)".into(), "fifo".into()));
    assert_eq!((bottleneck.loss, back.loss), (LossModel::Random(0.001), LossModel::None));
    assert_eq!((bottleneck.loss_at, bottleneck.jitter, bottleneck.duplicate), (LossAt::After, ms(1), 0.0001));
    let reorder = bottleneck.reorder.unwrap();
    assert_eq!((reorder.probability, reorder.delay), (0.01, ms(5)));
    assert_eq!((bottleneck.delay, back.delay), (ms(20), ms(20)));
    assert_eq!(bottleneck.changes.len(), 2);
    assert_eq!((bottleneck.changes[0].at, bottleneck.changes[0].delay), (at(10), Some(ms(40))));
    assert_eq!((back.changes[0].delay, back.changes.len()), (Some(ms(40)), 2));
    assert_eq!(
        bottleneck.changes[1].loss,
        Some(LossModel::Gilbert { to_bad: 1.0 / 990.0, to_good: 0.1, loss_good: 0.0, loss_bad: 1.0 })
    );

    assert_eq!(s.groups, ["a", "newreno", "voip"]);
    let names: Vec<&str> = s.flows.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["a", "newreno", "newreno-2", "newreno-3", "voip"]);
    let (a, third) = (&s.flows[0], &s.flows[3]);
    assert_eq!(
        (a.stack, a.base_rtt, a.edge, a.access),
        (Stack::FreeBsd11, ms(40), ms(0), Some(Rate::from_mbps(1000.0)))
    );
    assert_eq!((third.stack, third.start, third.stops(third.start)), (Stack::Linux, at(30), Some(at(110))));
    assert_eq!((third.base_rtt, third.edge, third.edge_back), (ms(120), ms(40), ms(40)));
    assert_eq!((third.route.as_slice(), third.back.as_slice()), (&[1][..], &[0][..]), "direction = \"up\"");
    assert_eq!((third.ecn, third.initial_window, third.mss.get()), (true, 3, 536));
    assert_eq!((third.receive_window.get(), third.offload), (1 << 20, Offload::Burst(16)));
    assert_eq!((third.read_rate, a.read_rate), (Some(Rate::from_mbps(4.0)), None));
    let auto = good(&include_str!("data/every-key.toml").replace("offload = 16", "offload = \"auto\""));
    assert!(auto.cases().unwrap()[0].scenario.flows.iter().any(|f| f.offload == Offload::Auto));
    assert_eq!(third.access, Some(Rate::from_mbps(100.0)));
    assert!(matches!(s.flows[4].traffic, Traffic::Cbr { .. }));
    assert_eq!((s.run.duration, s.run.measure), (Duration::from_secs(150), (at(20), at(110))));
    assert_eq!((s.run.seed, s.run.repeat, s.run.vary), (7, 10, Vary::StartHost));
    assert_eq!((e.title(), e.claims().len(), e.published()[0].cells.len()), ("Every key", 2, 3));
}

#[test]
fn each_flow_lasts_from_its_own_start() {
    let flow = FLOW.replace("[[flow]]", "[[flow]]\ncount = 3\nstagger = \"10 s\"\nlasts = \"45 s\"");
    let stops: Vec<_> = only(&format!("{PATH}{flow}")).flows.iter().map(|f| f.stops(f.start)).collect();
    assert_eq!(stops, [45, 55, 65].map(|s| Some(at(s))));
}

#[test]
fn defaults_are_those_of_the_reference() {
    let s = only(&format!("{PATH}{FLOW}"));
    assert_eq!((s.links[0].buffer, s.links[0].queue.to_string()), (None, "fifo".into()));
    assert_eq!((s.links[1].rate.as_ref(), s.links[0].loss_at), (None, LossAt::Enqueue));
    let f = &s.flows[0];
    let bulk = Traffic::Bulk { header: Bytes::ZERO };
    assert_eq!((f.stack, f.start, f.stop, f.traffic.clone()), (Stack::Linux, at(0), None, bulk));
    assert_eq!((f.mss.get(), f.initial_window, f.ecn, f.access), (1448, 10, false, None));
    assert_eq!((s.run.duration, s.run.measure), (Duration::from_secs(60), (at(0), at(60))));
    assert_eq!((s.run.seed, s.run.repeat, s.run.vary, s.run.processing), (1, 1, Vary::Start, None));
}

#[test]
fn hosts_take_time_for_packets_only_where_they_vary() {
    let file = |vary: &str| format!("{PATH}{FLOW}[run]\nvary = \"{vary}\"\nprocessing = \"125 us\"\n");
    assert_eq!(only(&file("start+host")).run.processing, Some(Duration::from_micros(125)));
    let said = experiment::parse(&file("start"), "a.toml").and_then(|e| e.cases()).unwrap_err().to_string();
    assert!(said.contains("run.processing") && said.contains("vary = \"start+host\""), "{said}");
}

#[test]
fn buffers_are_of_the_case() {
    for (buffer, want) in [
        ("2 BDP", Limit::Bytes(Bytes::new(120_000))),
        ("340 ms", Limit::Bytes(Bytes::new(510_000))),
        ("120 kB", Limit::Bytes(Bytes::new(120_000))),
        ("80 packets", Limit::Packets(80)),
        // 51 kB are 34 packets, and a byte more takes a slot more.
        ("packets(34 ms)", Limit::Packets(34)),
        ("packets(51001 B)", Limit::Packets(35)),
        ("packets(0.01 BDP)", Limit::Packets(1)),
    ] {
        let s = only(&format!("{PATH}buffer = \"{buffer}\"\n{FLOW}"));
        assert_eq!(s.links[0].buffer, Some(want), "{buffer}");
    }
    // 21 packets: floating point has a hair less than 31 500.
    let s = only(&format!("[path]\nrate = \"6 Mbit/s\"\nrtt = \"30 ms\"\nbuffer = \"1.4 BDP\"\n{FLOW}"));
    assert_eq!(s.links[0].buffer, Some(Limit::Bytes(Bytes::new(31_500))));
    let swept = good(&format!("{PATH}buffer = \"1 BDP\"\n{FLOW}[sweep]\npath.rtt = [\"10 ms\", \"80 ms\"]\n"));
    let sizes: Vec<_> = cases(&swept).iter().map(|c| c.scenario.links[0].buffer).collect();
    assert_eq!(sizes, [Some(Limit::Bytes(Bytes::new(15_000))), Some(Limit::Bytes(Bytes::new(120_000)))]);
}

#[test]
fn the_links_of_a_dumbbell_carry_the_smallest_rtt_and_the_edges_the_rest() {
    let s = only(&format!(
        "{PATH}changes = [{{at = \"5 s\", rtt = \"60 ms\"}}]\n{FLOW}rtt = \"15 ms\"\n[[flow]]\ncc = \"newreno\"\n"
    ));
    assert_eq!((s.links[0].delay, s.links[1].delay), (Duration::from_micros(7500), Duration::from_micros(7500)));
    for f in &s.flows {
        assert_eq!(s.links[0].delay + s.links[1].delay + f.edge + f.edge_back, f.base_rtt, "{}", f.name);
    }
    assert_eq!(s.flows[1].base_rtt, ms(40));
    // The shortest flow goes from 15 to 60 ms, the other from 40 to 85.
    let change = |link: usize| s.links[link].changes[0].delay.unwrap();
    assert_eq!(change(0) + change(1), ms(60));
    assert_eq!(change(0) + change(1) + s.flows[1].edge + s.flows[1].edge_back, ms(85));
}

#[test]
fn routes_go_over_named_links() {
    let s = only(
        r#"
        path.stack = "freebsd-11"
        [[link]]
        name = "one"
        rate = "10 Mbit/s"
        delay = "10 ms"
        buffer = "1 BDP"
        [[link]]
        name = "two"
        rate = "20 Mbit/s"
        delay = "5 ms"
        changes = [{at = "20 s", rate = "5 Mbit/s"}, {at = "10 s", delay = "6 ms"}]
        [[link]]
        name = "back"
        delay = "15 ms"
        [[flow]]
        name = "long"
        cc = "newreno"
        route = ["one", "two"]
        back = ["back"]
        [[flow]]
        name = "short"
        cc = "newreno"
        route = ["two"]
        back = ["back"]
        rtt = "40 ms"
        "#,
    );
    let (long, short) = (&s.flows[0], &s.flows[1]);
    assert_eq!((long.route.as_slice(), long.back.as_slice(), long.base_rtt), (&[0, 1][..], &[2][..], ms(30)));
    assert_eq!(
        (short.route.as_slice(), short.base_rtt, short.edge, short.edge_back),
        (&[1][..], ms(40), ms(10), ms(10))
    );
    assert_eq!(long.stack, Stack::FreeBsd11);
    assert_eq!(s.links[0].buffer, Some(Limit::Bytes(Bytes::new(37_500))), "10 Mbit/s × 30 ms");
    let times: Vec<Instant> = s.links[1].changes.iter().map(|c| c.at).collect();
    assert_eq!(times, [at(10), at(20)], "in order of time");
}

#[test]
fn traces_are_read_beside_the_file() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/x.toml");
    let text = format!("[path]\nrate = \"trace(twelve.trace)\"\nrtt = \"40 ms\"\nbuffer = \"1 BDP\"\n{FLOW}");
    let e = parse(&text, file).unwrap();
    let case = &cases(&e)[0];
    let Some(RateSpec::Trace { times, .. }) = &case.scenario.links[0].rate else { panic!("no trace") };
    assert_eq!((times.len(), times[0]), (10, Instant::from_millis(1)));
    assert_eq!(case.scenario.links[0].buffer, Some(Limit::Bytes(Bytes::new(60_000))), "the mean rate counts");
    assert_eq!(e.describe().unwrap()["cases"][0]["links"][0]["trace"], "twelve.trace");
    let other = parse(&text.replace("twelve", "six"), file).unwrap();
    assert_ne!(case.hash, cases(&other)[0].hash);
}

#[test]
fn keys_of_a_zip_move_together_and_plain_keys_multiply() {
    let e = good(&format!(
        "{PATH}{FLOW}[sweep]\nrun.seed = [1, 2]\n[[sweep.zip]]\n\"path.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\n\
         path.rtt = [\"10 ms\", \"20 ms\"]\n[[sweep.zip]]\n\"flow.a.cc.beta\" = [0.5, 0.7]\n"
    ));
    let all: Vec<String> =
        cases(&e).iter().map(|c| c.values.iter().map(|(_, v)| v.as_str()).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        all[..4],
        ["1 1 Mbit/s 10 ms 0.5", "1 1 Mbit/s 10 ms 0.7", "1 2 Mbit/s 20 ms 0.5", "1 2 Mbit/s 20 ms 0.7"]
    );
    assert_eq!((all.len(), e.case_count(), e.swept().len()), (8, 8, 4));
    assert_eq!(cases(&e)[3].scenario.flows[0].cc.to_string(), "newreno(beta=0.7)");
    for i in 0..8 {
        assert_eq!(e.case(i).unwrap(), cases(&e)[i]);
    }
    assert!(e.case(8).is_err());
}

#[test]
fn overrides_reach_every_key() {
    let mut e = good(&format!("{PATH}{FLOW}"));
    for (key, value) in [
        ("path.rtt", "80ms"),
        ("path.queue", "fifo"),
        ("path.queue.limit", "77"),
        ("flow.a.cc", "cubic(beta=0.7)"),
        ("flow.a.cc.beta", "0.8"),
        ("flow.a.ecn", "true"),
        ("run.repeat", "3"),
        ("run.measure", "[\"1 s\", \"2 s\"]"),
        ("title", "Overridden"),
        ("path.reorder", "{probability = \"1 %\", delay = \"5 ms\"}"),
        ("path.reorder.delay", "6 ms"),
    ] {
        e.set(key, value).unwrap_or_else(|e| panic!("{e:#}"));
    }
    let s = &cases(&e)[0].scenario;
    assert_eq!((s.flows[0].base_rtt, s.run.repeat, e.title()), (ms(80), 3, "Overridden"));
    assert_eq!(
        (s.links[0].queue.to_string(), s.flows[0].cc.to_string()),
        ("fifo(limit=77)".into(), "cubic(beta=0.8)".into())
    );
    assert_eq!((s.flows[0].ecn, s.run.measure, s.links[0].reorder.unwrap().delay), (true, (at(1), at(2)), ms(6)));
}

#[test]
fn an_override_that_is_refused_changes_nothing() {
    let mut e = good(&format!("{PATH}{FLOW}"));
    let before = e.to_toml();
    e.set("path.rtt", "80").unwrap_err();
    e.set("path.rt", "80ms").unwrap_err();
    assert_eq!(e.to_toml(), before);
}

#[test]
fn overrides_may_complete_a_file_and_hide_a_sweep() {
    let mut e = good(&format!("[path]\nrate = \"12 Mbit/s\"\n{FLOW}"));
    assert!(e.cases().is_err(), "rtt is missing");
    e.set("path.rtt", "80ms").unwrap();
    assert_eq!(cases(&e).len(), 1);
    e.set("sweep.path.rtt", "[\"10 ms\", \"20 ms\", \"30 ms\"]").unwrap();
    assert_eq!(cases(&e).len(), 3);
    e.set("path.rtt", "25ms").unwrap();
    let all = cases(&e);
    assert_eq!((all.len(), all[0].values[0].1.as_str()), (1, "25ms"));

    let mut zip = good(&format!(
        "{PATH}{FLOW}[sweep.zip]\npath.rtt = [\"10 ms\", \"20 ms\"]\n\"path.rate\" = [\"1 Mbit/s\", \"2 Mbit/s\"]\n"
    ));
    let text = zip.to_toml();
    zip.set("path.rtt", "20ms").unwrap();
    assert_eq!(cases(&zip)[0].values[1].1, "2 Mbit/s");

    // A key of a zip takes as many other values, by either name.
    for key in ["sweep.path.rate", "sweep.zip.path.rate"] {
        let mut zip = good(&text);
        zip.set(key, "[\"3 Mbit/s\", \"4 Mbit/s\"]").unwrap();
        let values: Vec<_> = cases(&zip).iter().map(|c| format!("{} {}", c.values[0].1, c.values[1].1)).collect();
        assert_eq!(values, ["10 ms 3 Mbit/s", "20 ms 4 Mbit/s"], "{key}");
    }
}

#[test]
fn an_override_beneath_a_swept_key_is_set_in_every_case() {
    let sweep = "[sweep]\n\"flow.a.cc\" = [\"cdg\", \"cdg(keep_two=true)\"]\n";
    let mut e = good(&format!("{PATH}[[flow]]\nname = \"a\"\n{sweep}"));
    e.set("flow.a.cc.g", "7").unwrap();
    let ccs: Vec<_> = cases(&e).iter().map(|c| c.scenario.flows[0].cc.to_string()).collect();
    assert_eq!(ccs, ["cdg(g=7)", "cdg(keep_two=true, g=7)"]);
    e.set("flow.a.cc.g", "8").unwrap();
    e.set("flow.a.cc", "cdg").unwrap();
    let all = cases(&e);
    assert_eq!((all.len(), &all[0].values[1]), (1, &("flow.a.cc.g".into(), "8".into())));
    // Patterns stand for names, on either side.
    for (swept, set) in [("flow.*.cc", "flow.a.cc.g"), ("flow.a.cc", "flow.*.cc.g"), ("flow.a*.cc", "flow.*.cc.g")] {
        let mut e = good(&format!("{PATH}[[flow]]\nname = \"a\"\n[sweep]\n\"{swept}\" = [\"cdg\", \"hldg\"]\n"));
        e.set(set, "9").unwrap();
        let ccs: Vec<_> = cases(&e).iter().map(|c| c.scenario.flows[0].cc.to_string()).collect();
        assert_eq!(ccs, ["cdg(g=9)", "hldg(g=9)"], "{swept} and {set}");
    }
    // All of them must know it.
    e.set("sweep.flow.a.cc", "[\"cdg\", \"newreno\"]").unwrap();
    let error = e.cases().unwrap_err().to_string();
    assert!(error.contains("newreno") && error.contains("\"g\""), "{error}");
}

#[test]
fn an_override_of_a_sweep_drops_what_no_case_is_left_for() {
    let mut e = good(include_str!("data/every-key.toml"));
    e.set("path.rtt", "10ms").unwrap();
    assert_eq!((e.claims().len(), e.published()[0].cells.len(), e.published()[1].cells.len()), (1, 2, 1));
    e.set("path.rate", "12Mbit/s").unwrap();
    assert_eq!((e.published()[0].cells.len(), e.published()[1].cells.len()), (1, 1));
    let again = good(&e.to_toml());
    assert_eq!((again.to_toml(), cases(&again)), (e.to_toml(), cases(&e)));
    e.set("sweep.path.rate", "[\"1 Mbit/s\"]").unwrap();
    assert_eq!((e.published().len(), cases(&e).len()), (0, 1));
}

#[test]
fn the_canonical_text_reads_back_to_the_same_experiment() {
    let e = good(include_str!("data/every-key.toml"));
    let again = good(&e.to_toml());
    assert_eq!(again.to_toml(), e.to_toml());
    assert_eq!((again.hash(), cases(&again)), (e.hash(), cases(&e)));
}

#[test]
fn hashes_follow_what_is_run_and_nothing_else() {
    let base = format!("{PATH}{FLOW}[run]\nduration = \"10 s\"\n");
    let of = |text: &str| (good(text).hash(), cases(&good(text))[0].hash.clone());
    let (experiment, case) = of(&base);
    assert_eq!(experiment.len(), 16);
    for same in [
        base.replace("12 Mbit/s", "12Mbit/s").replace("40 ms", "0.04 s"),
        format!("title = \"t\"\n{base}"),
        format!("{base}[[expect]]\nthat = \"flow.a.share\"\nis = \"> 0\"\n"),
        format!("# a remark\n{base}"),
    ] {
        assert_eq!(of(&same), (experiment.clone(), case.clone()), "{same}");
    }
    assert_eq!(of(&format!("{base}repeat = 3\n")), (experiment.clone(), case.clone()), "more of the same");
    let (e, c) = of(&format!("{base}seed = 9\n"));
    assert!(e != experiment && c == case, "other runs, but what one of a seed is does not depend on where seeds begin");
    for other in [base.replace("40 ms", "41 ms"), base.replace("newreno", "cubic"), format!("{base}vary = \"none\"\n")]
    {
        let (e, c) = of(&other);
        assert!(e != experiment && c != case, "{other}");
    }
}

#[test]
fn a_value_spelled_otherwise_is_the_same_question() {
    let of = |text: &str| (good(text).hash(), cases(&good(text)).iter().map(|c| c.hash.clone()).collect::<Vec<_>>());
    let base = format!("{PATH}{FLOW}").replace("\"newreno\"", "\"cubic(beta=0.7, c=0.5)\"");
    let swept =
        format!("{base}[sweep]\n\"path.rtt\" = [\"10 ms\", \"20 ms\"]\n\"flow.a.cc\" = [\"hldg(base_window=1s)\"]\n");
    for (text, same) in [
        (&base, base.replace("(beta=0.7, c=0.5)", "(c=0.5,beta=0.70)")),
        (&base, format!("{base}[run]\n")),
        (&base, format!("{base}[run]\nrepeat = 3\n")),
        (&swept, swept.replace("10 ms", "0.01s").replace("1s)", "1000ms)")),
    ] {
        assert_eq!(of(text), of(&same), "{same}");
    }
    assert_ne!(of(&base), of(&base.replace("0.7", "0.71")));
    // And is no second case.
    let twice = format!("{base}[sweep]\n\"flow.a.cc\" = [\"cubic(beta=0.7)\", \"cubic(beta=0.70)\"]\n");
    assert!(parse(&twice, "x.toml").and_then(|e| e.cases()).unwrap_err().to_string().contains("mean the same"));
    // A claim finds its case.
    let claim = "[[expect]]\nthat = \"flow.a.share\"\nis = \"> 0\"\nwhen = { \"path.rtt\" = \"0.02s\" }\n";
    good(&format!("{swept}{claim}"));
}

#[test]
fn the_one_line_form_is_a_file() -> Result<(), Error> {
    let e = parse("12Mbit/s 40ms 2BDP fifo: newreno, 2 cubic@10s-50s, web, voip@5s", "")?;
    let s = &e.cases()?[0].scenario;
    let names: Vec<&str> = s.flows.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["newreno", "cubic", "cubic-2", "web", "voip"]);
    assert_eq!((s.flows[1].start, s.flows[1].stop, s.flows[4].start), (at(10), Some(at(50)), at(5)));
    assert_eq!(s.flows[3].cc.to_string(), "cubic");
    let file = parse(&e.to_toml(), "x.toml")?;
    assert_eq!((file.cases()?[0].hash.as_str(), file.hash()), (e.cases()?[0].hash.as_str(), e.hash()));
    let shuffled = parse("fifo 40ms 2BDP 12Mbit/s: newreno, 2 cubic@10s-50s, web, voip@5s", "")?;
    assert_eq!(shuffled.hash(), e.hash());
    Ok(())
}

#[test]
fn algorithms_from_outside_the_registry_pass_if_the_caller_names_them() {
    let text = format!("{PATH}{FLOW}").replace("newreno", "mine(gain=3)");
    let e = experiment::parse_with(&text, "x.toml", &["mine"]).unwrap();
    assert_eq!(cases(&e)[0].scenario.flows[0].cc.to_string(), "mine(gain=3)");
    let error = parse(&text, "x.toml").and_then(|e| e.cases()).unwrap_err();
    assert!(error.message().contains("there is no congestion control \"mine\""), "{error}");
}

#[test]
fn an_error_has_its_parts() {
    let text = format!("{PATH}{FLOW}[sweep]\n\"flow.a.cc\" = [\"newreno\", \"cubic(beta=5)\"]\n");
    let error = parse(&text, "x.toml").and_then(|e| e.cases()).unwrap_err();
    let whole = error.to_string();
    assert!(
        whole.ends_with(&format!(": {}: {} (in the case flow.a.cc = cubic(beta=5))", error.key(), error.what())),
        "{whole}"
    );
    assert_eq!((error.source_name(), error.key()), ("x.toml", "flow.a.cc"));
    // What had to be cut is one piece.
    let error = parse(&text.replace("beta=5", &"x".repeat(5000)), "x.toml").and_then(|e| e.cases()).unwrap_err();
    assert_eq!((error.key(), error.what()), ("", error.message()));
}

#[test]
fn the_description_tells_a_front_end_everything() {
    let mut e = good(&format!("{PATH}buffer = \"80 packets\"\nqueue = \"pie(target=20ms)\"\n{FLOW}"));
    e.set("sweep.path.rate", "[\"12 Mbit/s\"]").unwrap();
    let d = e.describe().unwrap();
    let case = &d["cases"][0];
    assert_eq!(case["values"]["path.rate"], "12 Mbit/s");
    assert_eq!(
        (&case["links"][0]["buffer"], &case["links"][0]["queue"]),
        (&"80 packets".into(), &"pie(target=20ms)".into())
    );
    assert_eq!(case["resolved"]["link.bottleneck.queue"]["target"], "20ms");
    assert_eq!(case["flows"][0]["base_rtt_ms"], 40.0);
    assert_eq!((&d["hash"], &d["toml"]), (&e.hash().into(), &e.to_toml().into()));
}

#[test]
fn a_description_tells_what_a_link_changes_and_when_its_queue_is_too_long() {
    let red = "queue = \"red(reference=linux)\"\nbuffer = \"100 packets\"\n";
    let changes =
        "changes = [{at = \"2500 ms\", rate = \"5 Mbit/s\", rtt = \"61 ms\"}, {at = \"1 s\", loss = \"1 %\"}]\n";
    let d = good(&format!("{PATH}{red}{changes}{FLOW}")).describe().unwrap();
    let [down, up] = [0, 1].map(|i| &d["cases"][0]["links"][i]);
    let told = serde_json::json!([{"at_s": 1.0, "loss": 0.01}, {"at_s": 2.5, "rate_mbps": 5.0, "delay_ms": 30.5}]);
    assert_eq!(down["changes"], told);
    assert_eq!(up["changes"], serde_json::json!([{"at_s": 2.5, "delay_ms": 30.5}]));
    assert_eq!(down["thresholds_bytes"], serde_json::json!([12_500, 37_500]));
    assert_eq!(down["average_weight"], 0.0625);
    assert!(up["thresholds_bytes"].is_null() && up["average_weight"].is_null() && down["trace"].is_null());
}

/// The largest sweep allowed: every case is checked, and one case alone costs no more than itself.
#[test]
fn a_large_sweep_is_expanded_in_reasonable_time() {
    let list = |n: u32, unit: &str| (1..=n).map(|i| format!("\"{i} {unit}\"")).collect::<Vec<_>>().join(", ");
    let e =
        good(&format!("{PATH}{FLOW}[sweep]\npath.rtt = [{}]\npath.rate = [{}]\n", list(100, "ms"), list(50, "Mbit/s")));
    assert_eq!(e.case_count(), 5000);
    assert_eq!(cases(&e).len(), 5000);
    assert_eq!(e.case(4999).unwrap().values[0].1, "100 ms");
}
