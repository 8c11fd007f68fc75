//! Laws that every algorithm obeys with every slow start it allows, and what each does round by round.
//!
//! The window tables under `snapshots/` are meant to be read like graphs. After a change, or a new algorithm, look at
//! them with `INSTA_UPDATE=always cargo test -p sojourn-cc --test it` and `git diff`.

use crate::host::{Host, MSS, Path};
use crate::script::{Op, Script};
use cc::{ALGORITHMS, Entry, Flow, SLOW_STARTS, StartRule};
use params::{Field, ParamError, Spec};
use proptest::prelude::*;
use std::fmt::Write;
use std::sync::LazyLock;
use units::{Bytes, Duration, Rng, streams};

/// The values worth trying for a parameter: both ends of its range, every choice.
fn extremes(field: &Field) -> Vec<String> {
    let mut values: Vec<String> = field.choices.iter().map(|c| c.to_string()).collect();
    if let Some((low, high)) = &field.range {
        values.extend([low.clone(), high.clone()]);
    }
    values
}

/// Spec texts of one thing: as it is, and with each parameter alone at each of its extremes.
fn specs(name: &str, fields: &[Field]) -> Vec<String> {
    let mut all = vec![name.to_string()];
    for field in fields {
        all.extend(extremes(field).iter().map(|value| format!("{name}({}={value})", field.name)));
    }
    all
}

fn with(spec: &str, key: &str, value: &str) -> String {
    match spec.strip_suffix(')') {
        Some(open) => format!("{open}, {key}={value})"),
        None => format!("{spec}({key}={value})"),
    }
}

/// What changes nothing alone, with what it needs.
fn completed(entry: &Entry, spec: String) -> String {
    match entry.resolve(&spec.parse().expect("a spec")) {
        Err(ParamError::Vain { needs, .. }) => needs.split_once('=').map_or(spec.clone(), |(k, v)| with(&spec, k, v)),
        _ => spec,
    }
}

/// Every algorithm at every extreme, and every slow start at every extreme on every algorithm that allows it.
static ALL: LazyLock<Vec<(&'static Entry, String)>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for entry in ALGORITHMS {
        all.extend(specs(entry.about.name, &(entry.fields)()).into_iter().map(|s| (entry, completed(entry, s))));
        if entry.about.start != StartRule::Fixed {
            for start in SLOW_STARTS {
                let starts = specs(start.name, &(start.fields)());
                all.extend(starts.iter().map(|s| (entry, with(entry.about.name, "slow_start", s))));
            }
        }
    }
    all
});

fn script(entry: &Entry, spec: &str, seed: u64) -> Result<Script, ParamError> {
    let spec: Spec = spec.parse().expect("a spec");
    entry.resolve(&spec)?;
    Ok(Script::new(&entry.about, &spec.to_string(), |flow| {
        entry.build(&spec, flow, Rng::new(seed, 0, streams::CC)).expect("what resolves can be built")
    }))
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0u32..200).prop_map(Op::Pass),
        1 => (1_000u32..40_000).prop_map(Op::Pass),
        6 => (1u8..=255).prop_map(Op::Send),
        8 => (1u8..40, prop_oneof![Just(1u32), 50_000u32..60_000, 1u32..3_000_000]).prop_map(|(n, rtt)| Op::Ack(n, rtt)),
        1 => Just(Op::Duplicate),
        1 => (1u8..20).prop_map(Op::Lose),
        1 => Just(Op::Mark),
        1 => Just(Op::Timeout),
        1 => Just(Op::Undo),
        1 => Just(Op::Restart),
        1 => any::<bool>().prop_map(Op::AppLimited),
        1 => prop_oneof![Just(536u16), Just(1448), Just(8948)].prop_map(Op::Mss),
    ]
}

/// A life with a bit of everything.
fn eventful() -> Vec<Op> {
    let mut ops = Vec::new();
    for round in 0..60u32 {
        ops.extend([Op::Send(255), Op::Pass(20), Op::Ack(20, 50_000 + 500 * round), Op::Ack(20, 51_000), Op::Pass(30)]);
        match round % 20 {
            5 => ops.extend([Op::Send(20), Op::Lose(3), Op::Duplicate, Op::Duplicate]),
            8 => ops.push(Op::Undo),
            11 => ops.push(Op::Mark),
            14 => ops.extend([Op::Send(5), Op::Timeout]),
            16 => ops.extend([Op::AppLimited(true), Op::Pass(12_000), Op::Restart, Op::AppLimited(false)]),
            18 => ops.push(Op::Mss(536 + 456 * (round as u16 / 20))),
            _ => {}
        }
    }
    ops
}

#[test]
fn parameters_at_both_ends_of_their_ranges_work() {
    let mut ran = 0;
    for (entry, spec) in ALL.iter() {
        match script(entry, spec, 1) {
            Ok(mut s) => {
                ran += 1;
                s.run(&eventful());
                let paces = entry.paces(&spec.parse().unwrap());
                assert!(paces || !s.paced, "{spec} sets a rate: say so in ABOUT, or in its Start");
                assert!(s.paced || !entry.about.paces, "{spec} sets no rate");
            }
            // One parameter at its end may contradict another's default; it must say so in words.
            Err(ParamError::Conflict(text)) => assert!(text.len() > 10, "{spec}: {text}"),
            Err(ParamError::Vain { .. }) => {}
            Err(other) => panic!("{spec}: {other}"),
        }
    }
    assert!(ran > 100 && 10 * ran > 9 * ALL.len(), "more than a few of {} are refused: {ran} ran", ALL.len());
}

#[test]
fn what_changes_nothing_is_refused() {
    for (spec, refusal) in [
        ("newreno(beta_ecn=0.7)", "beta_ecn = 0.7 changes nothing without abe=true"),
        ("newreno(abe=true, beta_ecn=0.7)", ""),
        ("newreno(beta_ecn=0.8)", ""),
        ("cubic(beta_ecn=0.7)", "beta_ecn = 0.7 changes nothing without abe=true"),
        ("cubic(abe=true, beta_ecn=0.7)", ""),
        ("cubic(beta_ecn=0.85)", ""),
        ("cubic(wide_reno=true)", "wide_reno = true changes nothing without reference=freebsd"),
        ("cubic(wide_reno=true, reference=linux)", "wide_reno = true changes nothing without reference=freebsd"),
        ("cubic(wide_reno=true, reference=freebsd)", ""),
        ("d2tcp", ""),
        ("d2tcp(deadline=20ms)", "deadline = 20ms changes nothing without size: add that, or leave deadline at 0ms"),
        ("d2tcp(size=1MB)", "size = 1MB changes nothing without deadline: add that, or leave size at 0B"),
        ("d2tcp(most=4)", "most = 4 changes nothing without size and deadline: add that, or leave most at 2"),
        ("d2tcp(size=1MB, most=4)", "size = 1MB changes nothing without deadline"),
        ("d2tcp(size=1MB, deadline=20ms, most=4)", ""),
        ("d2tcp(size=0B, deadline=0s, most=2)", ""),
        ("scalable(legacy_window=20)", ""),
        ("scalable(legacy_window=20, reference=linux)", "legacy_window = 20 changes nothing without reference=paper"),
        ("scalable(legacy_window=16, reference=linux)", ""),
        ("vegas(gamma=2, exit_cut=0.2)", ""),
        ("vegas(gamma=2, reference=linux)", ""),
        ("vegas(exit_cut=0.2, reference=linux)", "exit_cut = 0.2 changes nothing without reference=paper"),
        ("vegas(exit_cut=0.2, reference=freebsd)", "exit_cut = 0.2 changes nothing without reference=paper"),
        ("vegas(gamma=2, reference=freebsd)", "gamma = 2 changes nothing without a reference other than freebsd"),
        (
            "vegas(gamma=2, slow_start=standard)",
            "gamma = 2 changes nothing without the algorithm's own slow start: add that, or leave gamma at 1",
        ),
        (
            "vegas(exit_cut=0.2, slow_start=hystart)",
            "exit_cut = 0.2 changes nothing without the algorithm's own slow start",
        ),
        ("vegas(gamma=1, slow_start=vegas(gamma=2))", ""),
        ("vegas(alpha=2, slow_start=standard)", ""),
        ("agile(initial=64)", ""),
        (
            "agile(initial=64, slow_start=standard)",
            "initial = 64 changes nothing without the algorithm's own slow start",
        ),
        ("agile(rounds=2, beta=0.4, slow_start=standard)", ""),
    ] {
        let parsed: Spec = spec.parse().unwrap();
        let told = cc::find(&parsed.name).unwrap().resolve(&parsed).map_or_else(|e| e.to_string(), |_| String::new());
        assert!(told.starts_with(refusal) && told.is_empty() == refusal.is_empty(), "{spec}: {told}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for (entry, spec) in ALL.iter() {
        let trace = |seed| {
            script(entry, spec, seed).ok().map(|mut s| {
                s.run(&eventful());
                std::mem::take(&mut s.trace)
            })
        };
        assert_eq!(trace(1), trace(1), "{spec}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_events_breaks_a_law(
        which in any::<prop::sample::Index>(),
        seed in 0u64..4,
        ops in prop::collection::vec(op(), 1..250),
    ) {
        let (entry, spec) = which.get(&ALL);
        if let Ok(mut s) = script(entry, spec, seed) {
            s.run(&ops);
        }
    }
}

#[test]
fn a_slow_start_of_its_own_is_not_replaced() {
    for entry in ALGORITHMS {
        let spec: Spec = with(entry.about.name, "slow_start", "hystart").parse().unwrap();
        let refused = entry.resolve(&spec).is_err();
        assert_eq!(refused, entry.about.start == StartRule::Fixed, "{}", entry.about.name);
        let twice: Spec = with(&spec.to_string(), "slow_start", "limited").parse().unwrap();
        let told = entry.resolve(&twice).unwrap_err().to_string();
        let own = format!("{} has a slow start of its own and takes no slow_start", entry.about.name);
        assert_eq!(told, if refused { &own } else { "slow_start is given twice" });
    }
}

#[test]
fn every_entry_tells_what_a_reader_needs() {
    for entry in ALGORITHMS {
        let a = &entry.about;
        let told = [a.title, a.paper, a.signal].iter().all(|text| !text.is_empty());
        assert!(told && a.departures.iter().all(|d| d.len() > 10), "{}", a.name);
        assert!((0.0..=4.0).contains(&a.floor), "{}", a.name);
        assert!((entry.fields)().iter().all(|f| !f.doc.is_empty()), "{}", a.name);
    }
}

#[test]
fn the_window_kept_is_the_one_told() {
    for entry in ALGORITHMS {
        let mut flow = Flow::new(MSS, MSS * 10);
        entry.build(&Spec::named(entry.about.name), &mut flow, Rng::new(1, 0, streams::CC)).unwrap();
        assert_eq!(flow.floor, MSS.mul_f64(entry.about.floor).max(Bytes::new(1)), "{}", entry.about.name);
    }
}

/// 40 packets per RTT of 100 ms, and as much again in the queue.
fn flow_over_path(entry: &'static Entry, spec: &str) -> Host {
    let spec: Spec = spec.parse().unwrap();
    Host::new(Path::new(40, 100, 40), |flow| entry.build(&spec, flow, Rng::new(1, 0, streams::CC)).unwrap())
}

#[test]
fn windows_round_by_round() {
    for entry in ALGORITHMS {
        let mut host = flow_over_path(entry, entry.about.name);
        let mut text =
            String::from("100 ms over 40 packets per RTT and a queue of 40: packets in the window, in the queue\n");
        for tenth in 1..=80 {
            let lost = host.lost;
            host.run_for(Duration::from_millis(100));
            let (cwnd, queue) = (host.flow.cwnd.get() / MSS.get(), host.queue().get() / MSS.get());
            let lost = if host.lost > lost { " lost" } else { "" };
            writeln!(text, "{tenth:3} {cwnd:4} {queue:4} {}{lost}", "#".repeat(cwnd as usize / 2)).unwrap();
        }
        insta::assert_snapshot!(entry.about.name, text);
    }
}

#[test]
fn slow_starts_round_by_round() {
    let entry = cc::find("newreno").unwrap();
    let names: Vec<_> = SLOW_STARTS.iter().map(|s| s.name).collect();
    let mut hosts: Vec<_> = names
        .iter()
        .map(|name| {
            let spec: Spec = with("newreno", "slow_start", name).parse().unwrap();
            Host::new(Path::new(200, 100, 400), |flow| entry.build(&spec, flow, Rng::new(1, 0, 0)).unwrap())
        })
        .collect();
    let mut text = String::from("packets in the window over 200 packets per RTT of 100 ms and a queue of 400\nround");
    names.iter().for_each(|name| write!(text, " {name:>10}").unwrap());
    for round in 1..=20 {
        write!(text, "\n{round:5}").unwrap();
        for host in &mut hosts {
            host.run_for(Duration::from_millis(100));
            write!(text, " {:10}", host.flow.cwnd.get() / MSS.get()).unwrap();
        }
    }
    insta::assert_snapshot!("slow_starts", text);
}

#[test]
fn who_takes_the_threshold_down_to_the_window_avoids_congestion_there_on_freebsds_host_too() {
    for name in ["vegas", "copa", "fast", "ledbat_pp", "lola", "nimbus", "yeah"] {
        let mut flow = Flow::new(MSS, MSS * 10);
        flow.slow_start_at_ssthresh = true;
        cc::build(&Spec::named(name), &mut flow, Rng::new(1, 0, 0)).unwrap();
        flow.ssthresh = flow.cwnd;
        assert!(!flow.in_slow_start(), "{name}");
    }
}
