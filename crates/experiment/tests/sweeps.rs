//! Keys that are swept and set, patterns of names among them, and what tells the cases of a sweep apart.

use experiment::{Case, Experiment, RateSpec, parse};
use units::Instant;

const PATH: &str = "[path]\nrate = \"12 Mbit/s\"\nrtt = \"40 ms\"\n";
const A: &str = "[[flow]]\nname = \"a\"\ncc = \"newreno\"\n";
const FAR: &str = "[[flow]]\nname = \"far\"\ncc = \"newreno\"\n";

fn good(text: &str) -> Experiment {
    parse(text, "x.toml").unwrap_or_else(|e| panic!("{e:#}"))
}

fn cases(e: &Experiment) -> Vec<Case> {
    e.cases().unwrap_or_else(|e| panic!("{e:#}"))
}

/// The congestion controls of each case, flow by flow.
fn controls(e: &Experiment) -> Vec<String> {
    let of = |case: &Case| case.scenario.flows.iter().map(|f| f.cc.to_string()).collect::<Vec<_>>().join(" ");
    cases(e).iter().map(of).collect()
}

fn swept(flows: &str, sweep: &str) -> Experiment {
    good(&format!("{PATH}{flows}[sweep]\n{sweep}\n"))
}

#[test]
fn what_is_set_holds_in_every_case_whatever_pattern_is_swept() {
    let two = format!("{A}{FAR}");
    for (flows, sweep, key, told) in [
        // One of those that a pattern means is set after it,
        (&two, "\"flow.*.cc\" = [\"vegas\", \"cubic\"]", "flow.a.cc", &["bbr vegas", "bbr cubic"][..]),
        (&two, "\"flow.*.cc\" = [\"vegas\", \"cubic\"]", "flow.f*.cc", &["vegas bbr", "cubic bbr"]),
        // a pattern takes the swept names along,
        (&two, "\"flow.a.cc\" = [\"vegas\", \"cubic\"]", "flow.*.cc", &["bbr bbr"]),
        (&two, "\"flow.a*.cc\" = [\"vegas\", \"cubic\"]", "flow.*.cc", &["bbr bbr"]),
        // and so does a name where it is all that the pattern means.
        (&A.to_string(), "\"flow.*.cc\" = [\"vegas\", \"cubic\"]", "flow.a.cc", &["bbr"]),
        (&two, "\"flow.f*.cc\" = [\"vegas\", \"cubic\"]", "flow.a.cc", &["bbr vegas", "bbr cubic"]),
    ] {
        let mut e = swept(flows, sweep);
        e.set(key, "bbr").unwrap_or_else(|e| panic!("{e:#}"));
        assert_eq!(controls(&e), told, "{sweep} and {key}");
    }
    let mut e = swept(&two, "\"flow.*.cc\" = [\"vegas\", \"cubic\"]");
    for cc in ["bbr", "hldg"] {
        e.set("flow.a.cc", cc).unwrap();
    }
    assert_eq!(controls(&e), ["hldg vegas", "hldg cubic"], "the last one counts");
    assert!(e.set("flow.b.cc", "bbr").unwrap_err().to_string().contains("there is no flow \"b\""));
    let mut e =
        swept(&two, "[sweep.zip]\n\"flow.a.cc\" = [\"vegas\", \"cubic\"]\n\"path.rtt\" = [\"10 ms\", \"40 ms\"]");
    let refused = e.set("flow.*.cc", "bbr").unwrap_err().to_string();
    assert!(refused.contains("flow.a.cc moves with others in [sweep.zip]; it takes one of vegas, cubic"), "{refused}");
    e.set("flow.*.cc", "cubic").unwrap();
    assert_eq!((controls(&e), cases(&e)[0].values[1].1.as_str()), (vec!["cubic cubic".to_string()], "40 ms"));
}

#[test]
fn a_name_is_set_after_the_pattern_in_whatever_order_both_are_swept() {
    let (name, pattern) = ("\"flow.a.cc\" = [\"cubic\", \"hldg\"]", "\"flow.*.cc\" = [\"vegas\", \"cdg\"]");
    for sweep in [format!("{name}\n{pattern}"), format!("{pattern}\n{name}")] {
        let mut told = controls(&swept(&format!("{A}{FAR}"), &sweep));
        told.sort();
        assert_eq!(told, ["cubic cdg", "cubic vegas", "hldg cdg", "hldg vegas"]);
        // Where nobody is left for the pattern, that is said.
        let refused = swept(A, &sweep).cases().unwrap_err().to_string();
        let says = "\"flow.*.cc\" changes nothing from \"vegas\" to \"cdg\": \"flow.a.cc\" sets the same after it";
        assert!(refused.contains(says), "{refused}");
    }
    let twice =
        format!("{}\n{pattern}", name.replace("hldg", "cubic(beta=0.7)").replace("\"cubic\"", "\"cubic(beta=0.70)\""));
    let refused = swept(&format!("{A}{FAR}"), &twice).cases().unwrap_err().to_string();
    assert!(refused.contains("\"flow.a.cc\" has the values") && refused.contains("which mean the same"), "{refused}");
}

#[test]
fn cases_that_differ_in_seeds_or_repetitions_alone_have_hashes_of_their_own() {
    let hashes = |run: &str, sweep: &str| -> Vec<String> {
        let e = good(&format!("{PATH}{A}[run]\nduration = \"10 s\"\n{run}{sweep}"));
        cases(&e).into_iter().map(|case| case.hash).collect()
    };
    for sweep in ["[sweep]\n\"run.seed\" = [1, 1001]\n", "[sweep]\nrun.repeat = [2, 3]\n"] {
        let of = hashes("", sweep);
        assert_ne!(of[0], of[1], "{sweep}");
    }
    let zipped = hashes("", "[sweep.zip]\nrun.seed = [1, 1]\npath.rtt = [\"10 ms\", \"20 ms\"]\n");
    assert_ne!(zipped[0], zipped[1]);
    // Where they are not swept a case does not depend on them, whatever else is.
    let rtts = "[sweep]\n\"path.rtt\" = [\"10 ms\", \"20 ms\"]\n";
    assert_eq!(hashes("seed = 5\nrepeat = 3\n", rtts), hashes("", rtts));
    let refused = good(&format!("{PATH}{A}[sweep]\nrun.seed = [1, \"1_0\", 10]\n")).cases().unwrap_err().to_string();
    assert!(refused.contains("mean the same"), "{refused}");
}

#[test]
fn words_for_true_and_a_format_that_is_left_out_are_spellings() {
    let of = |text: &str| (good(text).hash(), cases(&good(text)).iter().map(|c| c.hash.clone()).collect::<Vec<_>>());
    let base = format!("format = 1\n{PATH}queue = \"pie(ecn=true)\"\n{A}");
    for same in ["on", "yes"] {
        assert_eq!(of(&base), of(&base.replace("ecn=true", &format!("ecn={same}"))), "{same}");
    }
    assert_eq!(of(&base), of(&base.replace("format = 1\n", "")));
    assert_ne!(of(&base), of(&base.replace("ecn=true", "ecn=no")));
    let claim = "[[expect]]\nthat = \"flow.a.share\"\nis = \"> 0\"\nwhen = {\"path.queue\" = \"pie(ecn=yes)\"}\n";
    let sweep = "[sweep]\n\"path.queue\" = [\"pie(ecn=on)\", \"pie(ecn=off)\"]\n";
    good(&format!("{PATH}{A}{sweep}{claim}"));
}

#[test]
fn a_line_in_a_file_reads_traces_beside_it() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/line.txt");
    let e = parse("trace(twelve.trace) 40ms 1BDP fifo: newreno", file).unwrap_or_else(|e| panic!("{e:#}"));
    let all = cases(&e);
    let Some(RateSpec::Trace { times, .. }) = &all[0].scenario.links[0].rate else { panic!("no trace") };
    assert_eq!((times.len(), times[0]), (10, Instant::from_millis(1)));
}
