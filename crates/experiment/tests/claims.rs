//! Which cases a claim is judged in, alone or pooled, and which of them must run.

use experiment::{Experiment, Verdict, parse};
use serde_json::Value as Json;

const PATH: &str = "[path]\nrate = \"12 Mbit/s\"\nrtt = \"40 ms\"\n";
const FLOW: &str = "[[flow]]\nname = \"a\"\ncc = \"newreno\"\n";

fn good(text: &str) -> Experiment {
    parse(text, "x.toml").unwrap_or_else(|e| panic!("{e:#}"))
}

#[test]
fn claims_are_judged_case_by_case() {
    let e = good(&format!(
        "{PATH}{FLOW}[sweep]\npath.rtt = [\"10 ms\", \"40 ms\"]\n[[expect]]\nthat = \"link.bottleneck.utilisation\"\n\
         is = \">= 90 %\"\n[[expect]]\nname = \"short\"\nthat = \"link.bottleneck.queue_ms.mean\"\nis = \"< 5 ms\"\n\
         over = \"each\"\nwhen = {{\"path.rtt\" = \"10ms\"}}\n"
    ));
    let run = |rtt: &str, utilisation: f64, queue: f64| {
        serde_json::json!({"case": {"path.rtt": rtt}, "seed": 1, "links": [
            {"name": "bottleneck", "utilisation": utilisation, "queue_ms": {"mean": queue}}]})
    };
    let runs = [run("10 ms", 0.9375, 4.0), run("40 ms", 0.8, 50.0), run("10 ms", 0.90625, 6.0)];
    let verdicts = e.evaluate(&runs).unwrap();
    let short: Vec<(bool, &str)> = verdicts.iter().map(|v| (v.holds, v.case["path.rtt"].as_str().unwrap())).collect();
    assert_eq!(short, [(true, "10 ms"), (false, "40 ms"), (false, "10 ms")]);
    assert_eq!((verdicts[0].measured, verdicts[2].measured), (Some(0.921875), Some(6.0)));
    let unrun = e.evaluate(&runs[..1]).unwrap();
    assert_eq!((unrun[1].holds, unrun[1].why.as_str()), (false, "no repetition has finished"));
}

#[test]
fn what_is_asked_are_the_cases_that_claims_speak_of_with_those_they_compare() {
    // The buffer moves with the queue; the RTT must be the same.
    let sweep = "[sweep]\npath.rtt = [\"10 ms\", \"40 ms\"]\n[sweep.zip]\npath.queue = [\"fifo\", \"codel\"]\n\
                 path.buffer = [\"1 BDP\", \"2 BDP\"]\n";
    let claim = "[[expect]]\nthat = \"flow.newreno.throughput_mbps\"\nis = \">= 2 * flow.newreno.throughput_mbps\"\n\
                 when = {\"path.queue\" = \"codel\"}\nagainst = {\"path.queue\" = \"fifo\"}\n";
    let names =
        |e: &Experiment, index: usize| e.case(index).unwrap().values.into_iter().map(|(_, value)| value).collect();
    let all = good(&format!("{PATH}{FLOW}{sweep}"));
    assert_eq!(
        all.asked().unwrap(),
        (0..4).map(|index| (index, vec![])).collect::<Vec<_>>(),
        "nothing is claimed: all"
    );
    let e = good(&format!("{PATH}{FLOW}{sweep}{claim}"));
    let asked: Vec<(Vec<String>, Vec<Vec<String>>)> = e
        .asked()
        .unwrap()
        .iter()
        .map(|(case, others)| (names(&e, *case), others.iter().map(|i| names(&e, *i)).collect()))
        .collect();
    let case = |rtt: &str, queue: &str, buffer: &str| vec![rtt.to_string(), queue.into(), buffer.into()];
    let expected = ["10 ms", "40 ms"].map(|rtt| (case(rtt, "codel", "2 BDP"), vec![case(rtt, "fifo", "1 BDP")]));
    assert_eq!(asked, expected);
}

/// Drops of two controls over three paths; the buffer moves with the RTT.
fn drops(claim: &str) -> Experiment {
    let sweep = "[sweep]\n\"flow.a.cc\" = [\"newreno\", \"cubic\"]\n[sweep.zip]\n\"path.rtt\" = [\"10 ms\", \"40 ms\", \"80 ms\"]\n\
                 \"path.buffer\" = [\"10 packets\", \"40 packets\", \"80 packets\"]\n";
    good(&format!("{PATH}{FLOW}{sweep}[[expect]]\nthat = \"link.bottleneck.dropped\"\n{claim}"))
}

fn run(cc: &str, rtt: u32, seed: u32, dropped: u32) -> Json {
    serde_json::json!({
        "case": {"flow.a.cc": cc, "path.rtt": format!("{rtt} ms"), "path.buffer": format!("{rtt} packets")},
        "seed": seed, "links": [{"name": "bottleneck", "dropped": dropped}],
    })
}

/// NewReno drops 10, 60 and 20, CUBIC 100, 50 and 150; of the shortest path there are two runs.
fn runs() -> Vec<Json> {
    let of = |cc: &'static str, [short, middle, long]: [u32; 3]| {
        [run(cc, 10, 1, short - 4), run(cc, 10, 2, short + 4), run(cc, 40, 1, middle), run(cc, 80, 1, long)]
    };
    [of("newreno", [10, 60, 20]), of("cubic", [100, 50, 150])].concat()
}

fn told(verdicts: &[Verdict]) -> Vec<(bool, Option<f64>, String)> {
    verdicts.iter().map(|v| (v.holds, v.measured, v.case.to_string())).collect()
}

#[test]
fn pooled_cases_are_judged_as_repetitions_of_one() {
    // 6, 14, 60 and 20, and 96, 104, 50 and 150: means of 25 and 100, medians of 17 and 100.
    let pooled = |is: &str, more: &str| {
        let claim = format!("is = \"{is}\"\npool = [\"path.rtt\"]\n{more}");
        told(&drops(&claim).evaluate(&runs()).unwrap())
    };
    let case = |cc: &str| format!("{{\"flow.a.cc\":\"{cc}\"}}");
    assert_eq!(pooled("<= 25", ""), [(true, Some(25.0), case("newreno")), (false, Some(100.0), case("cubic"))]);
    assert_eq!(
        pooled("between 17 and 99.9", "over = \"median\"\n"),
        [(true, Some(17.0), case("newreno")), (false, Some(100.0), case("cubic"))]
    );
    // On the path of 40 ms NewReno drops more; of all paths a quarter.
    let beside = "when = {\"flow.a.cc\" = \"newreno\"}\nagainst = {\"flow.a.cc\" = \"cubic\"}\n";
    for (is, holds) in [("<= 0.25 * link.bottleneck.dropped", true), ("< 0.25 * link.bottleneck.dropped", false)] {
        assert_eq!(pooled(is, beside), [(holds, Some(25.0), case("newreno"))], "{is}");
    }
    // Those of two paths: 80 of 3, and 250 of 3.
    let two = "when = {\"flow.a.cc\" = \"newreno\", \"path.rtt\" = [\"10 ms\", \"40 ms\"]}\nagainst = {\"flow.a.cc\" = \"cubic\"}\n";
    assert_eq!(pooled("<= 0.32 * link.bottleneck.dropped", two), [(true, Some(80.0 / 3.0), case("newreno"))]);
    assert!(!pooled("< 0.32 * link.bottleneck.dropped", two)[0].0);
}

#[test]
fn a_pool_of_which_a_case_has_not_run_is_not_judged() {
    let e = drops(
        "is = \"< link.bottleneck.dropped\"\npool = [\"path.rtt\"]\nwhen = {\"flow.a.cc\" = \"newreno\"}\nagainst = {\"flow.a.cc\" = \"cubic\"}\n",
    );
    let all = runs();
    let whole = &e.evaluate(&all).unwrap()[0];
    assert!(whole.judged);
    let says =
        "link.bottleneck.dropped < link.bottleneck.dropped with flow.a.cc = cubic, pooled over path.rtt, path.buffer";
    assert_eq!(whole.name, says, "of a claim without a name");
    for lacks in [3, 7] {
        let some: Vec<Json> = all.iter().enumerate().filter(|(i, _)| *i != lacks).map(|(_, run)| run.clone()).collect();
        let [v] = &e.evaluate(&some).unwrap()[..] else { panic!("one verdict") };
        assert_eq!((v.holds, v.judged, v.measured), (false, false, None));
        assert_eq!(v.why, "no repetition has finished for 1 of the 3 cases that it pools");
    }
}

#[test]
fn a_pool_that_an_override_takes_a_case_from_goes() {
    let left = |e: &Experiment, key: &str, value: &str| {
        let mut e = e.clone();
        e.set(key, value).unwrap_or_else(|e| panic!("{key}: {e:#}"));
        e.claims().len()
    };
    let e = drops("is = \"<= 25\"\npool = [\"flow.a.cc\"]\nwhen = {\"path.rtt\" = \"10 ms\"}\n");
    assert_eq!(told(&e.evaluate(&runs()).unwrap()), [(false, Some(55.0), case_of_10_ms())]);
    for (key, value) in [("sweep.flow.a.cc", "[\"cubic\"]"), ("flow.a.cc", "cubic")] {
        assert_eq!(left(&e, key, value), 0, "the mean of both was asked: {key}");
    }
    assert_eq!(left(&e, "sweep.flow.a.cc", "[\"newreno\", \"cubic\", \"hldg\"]"), 1);
    assert_eq!(left(&e, "sweep.flow.a.cc", "[\"newreno\", \"cubic(beta=0.8)\"]"), 1, "as many");
    assert_eq!(left(&e, "sweep.path.rtt", "[\"10 ms\", \"40 ms\", \"160 ms\"]"), 1, "others than it is of");
    // Keys that a zip moves along are pooled with those of the pool.
    let e = drops("is = \"<= 25\"\npool = [\"path.rtt\"]\n");
    assert_eq!((left(&e, "path.buffer", "40 packets"), left(&e, "flow.a.cc", "cubic")), (0, 1));
    // What a `when` leaves out is in no pool.
    let e = drops("is = \"<= 25\"\npool = [\"flow.a.cc\"]\nwhen = {\"flow.a.cc\" = \"cubic\"}\n");
    assert_eq!(left(&e, "flow.a.cc", "cubic"), 1);
    // Of claims that are judged case by case those that are left stay.
    let e = drops("is = \"<= 25\"\nwhen = {\"path.rtt\" = [\"10 ms\", \"40 ms\"]}\n");
    assert_eq!((left(&e, "path.rtt", "40 ms"), left(&e, "path.rtt", "80 ms")), (1, 0));
}

fn case_of_10_ms() -> String {
    serde_json::json!({"path.rtt": "10 ms", "path.buffer": "10 packets"}).to_string()
}

/// Two controls and their paths, which move together.
fn zipped(claim: &str) -> Experiment {
    let sweep = "[sweep.zip]\n\"flow.a.cc\" = [\"vegas\", \"newreno\", \"cubic\", \"cubic\"]\n\
                 \"path.rtt\" = [\"10 ms\", \"40 ms\", \"40 ms\", \"80 ms\"]\n";
    good(&format!(
        "{PATH}{FLOW}{sweep}[[expect]]\nthat = \"link.bottleneck.dropped\"\nis = \"<= link.bottleneck.dropped\"\n{claim}"
    ))
}

#[test]
fn what_an_against_fits_is_known_before_anything_runs() {
    let told = |claim: &str| zipped(claim).cases().map(|_| ()).map_err(|e| e.to_string());
    let cubic = "against = {\"flow.a.cc\" = \"cubic\"}\n";
    let of = |cc: &str| format!("when = {{\"flow.a.cc\" = \"{cc}\"}}\n");
    assert_eq!(told(&format!("{}{cubic}", of("newreno"))), Ok(()), "one has the same path");
    let refused = told(&format!("{}{cubic}", of("vegas"))).unwrap_err();
    assert!(
        refused.starts_with("x.toml:14:11: expect[1].against: fits 2 cases (path.rtt = 40 ms; path.rtt = 80 ms)"),
        "{refused}"
    );
    assert!(
        refused.ends_with("give one value of path.rtt in it (in the case flow.a.cc = vegas, path.rtt = 10 ms)"),
        "{refused}"
    );
    assert_eq!(
        told(&format!("{}against = {{\"flow.a.cc\" = \"cubic\", \"path.rtt\" = \"80 ms\"}}\n", of("vegas"))),
        Ok(())
    );
    // Of a list each value is a case of its own.
    let refused =
        told(&format!("{}against = {{\"flow.a.cc\" = [\"vegas\", \"newreno\"]}}\n", of("cubic"))).unwrap_err();
    assert!(
        refused.contains("fits 2 cases (flow.a.cc = vegas, path.rtt = 10 ms; flow.a.cc = newreno, path.rtt = 40 ms)"),
        "{refused}"
    );
    // Neither is judged, nor said to be run, by who did not check.
    let e = zipped(&format!("{}{cubic}", of("vegas")));
    assert!(e.evaluate(&[]).is_err() && e.asked().is_err());
}

#[test]
fn a_claim_whose_case_an_override_takes_goes_with_it() {
    let mut e = zipped("when = {\"flow.a.cc\" = \"cubic\", \"path.rtt\" = \"80 ms\"}\n");
    assert_eq!(e.claims().len(), 1);
    // Each value is left, but not both at once.
    e.set("sweep.path.rtt", "[\"80 ms\", \"40 ms\", \"40 ms\", \"20 ms\"]").unwrap_or_else(|e| panic!("{e:#}"));
    assert_eq!(e.claims().len(), 0);
}

/// Of a zip every row may be the one that another is compared with: none is looked for among all.
#[test]
fn what_a_claim_compares_is_found_in_a_zip_of_many_rows() {
    let rows = 6_000;
    let list =
        |of: &dyn Fn(usize) -> String| (0..rows).map(|i| format!("\"{}\"", of(i))).collect::<Vec<_>>().join(", ");
    let ccs = list(&|i| ["newreno", "cubic"][i % 2].into());
    let rtts = list(&|i| format!("{} us", 1_000 + i / 2));
    let claim = "[[expect]]\nthat = \"flow.a.share\"\nis = \"<= flow.a.share\"\n\
                 when = {\"flow.a.cc\" = \"newreno\"}\nagainst = {\"flow.a.cc\" = \"cubic\"}\n";
    let e = good(&format!("{PATH}{FLOW}[sweep.zip]\n\"flow.a.cc\" = [{ccs}]\n\"path.rtt\" = [{rtts}]\n{claim}"));
    let asked = e.asked().unwrap();
    assert_eq!((asked.len(), &asked[1]), (rows / 2, &(2, vec![3])));
}

#[test]
fn a_claim_that_can_never_have_a_value_is_refused_with_its_cure() {
    let two = "[[flow]]\nname = \"b\"\ncc = \"hldg\"\ncount = 2\n[[flow]]\nname = \"call\"\ntraffic = \"voip\"\n\
               [[flow]]\nname = \"many\"\ncc = \"newreno\"\ntraffic = \"tmix\"\n";
    let with = |that: &str, rest: &str| {
        good(&format!("{PATH}{FLOW}{two}{rest}[[expect]]\nthat = \"{that}\"\nis = \">= 0\"\n")).cases()
    };
    for (that, cure) in [
        ("flow.a.ack_rate_mbps.mean", "set run.estimates = true"),
        ("flow.a.data_gaps.foo", "add it, as in gaps = {foo = "),
        ("flow.a.mode_s.loss", "newreno has no modes"),
        ("flow.b-2.mode_s.foo", "hldg has no mode \"foo\" (it has "),
        ("group.b.mode_s.los", "did you mean \"loss\"?"),
        ("flow.a.connections.open", "give it traffic = \"tmix\""),
        ("flow.a.completion_s", "makes no transfers"),
        ("flow.call.rtt_ms.mean", "their delay is owd_ms"),
        ("flow.call.ack_gaps.foo", "their gaps are data_gaps"),
        ("flow.call.mode_s.delay", "no one congestion control"),
        ("flow.call.backoffs.to_bytes", "lost counts them"),
        ("group.call.losses.tolerated_pct", "lost counts them"),
        ("flow.many.mode_s.loss", "no one congestion control"),
        ("flow.many.repair_s", "the time on repairs is of one"),
        ("flow.many.slow_start_exit.bdp_ratio", "many connections, and slow_start_exit is of one"),
        ("flow.many.data_gaps.foo", "many connections, and data_gaps is of one"),
        ("flow.many.ack_gaps.foo", "many connections, and ack_gaps is of one"),
        ("link.return.utilisation", "path.up"),
        ("link.return.drop_pct", "nobody counts there"),
    ] {
        let message = with(that, "").unwrap_err().to_string();
        assert!(message.contains("can have no value") && message.contains(cure), "{that}: {message}");
        assert!(message.starts_with("x.toml:") && message.contains("expect[1].that"), "{message}");
    }
    // Also where it stands on the other side.
    let claim = "[[expect]]\nthat = \"flow.a.rtt_ms.mean\"\nis = \"< flow.call.rtt_ms.mean\"\n";
    assert!(good(&format!("{PATH}{FLOW}{two}{claim}")).cases().unwrap_err().to_string().contains("expect[1].is"));
    let run = "[run]\nestimates = true\ngaps = {foo = [\"0 us\", \"50 us\"]}\n";
    for that in ["flow.a.ack_rate_mbps.mean", "flow.a.data_gaps.foo", "flow.b-2.mode_s.loss", "group.b.mode_s.delay"] {
        with(that, run).unwrap();
    }
    // One case of a sweep that may have it is enough.
    for (sweep, that) in [
        ("\"flow.a.cc\" = [\"newreno\", \"bbr\"]", "flow.a.mode_s.drain"),
        ("\"run.estimates\" = [false, true]", "flow.a.window_rate_mbps.mean"),
        ("\"path.up\" = [\"unlimited\", \"1 Mbit/s\"]", "link.return.utilisation"),
    ] {
        with(that, &format!("[sweep]\n{sweep}\n")).unwrap();
    }
}

#[test]
fn a_figure_that_a_run_lacks_is_told_with_the_reason() {
    let text = format!("{PATH}{FLOW}[[expect]]\nthat = \"flow.a.loss_pct\"\nis = \"< 1\"\n");
    let run = serde_json::json!({"seed": 1, "flows": [{"name": "a", "loss_pct": null}]});
    let verdicts = good(&text).evaluate(&[run]).unwrap();
    let why = "flow.a.loss_pct has no value in the run with seed 1: no packet of it was lost or arrived in the measure window";
    assert_eq!((verdicts[0].holds, verdicts[0].why.as_str()), (false, why));
}

#[test]
fn what_the_kernels_algorithms_do_not_tell_is_not_said_to_have_been_nothing() {
    for (leaf, below, why) in [
        ("backoffs.to_bytes", None, "the kernel's own algorithms tell neither"),
        ("losses.answered", None, "the kernel's own algorithms tell neither"),
        ("backoffs.to_bytes", Some(0), "there were no delay back-offs"),
    ] {
        let text = format!("{PATH}{FLOW}[[expect]]\nthat = \"flow.a.{leaf}\"\nis = \">= 0\"\n");
        let backoffs = serde_json::json!({"below_bdp": below, "to_bytes": null});
        let run = serde_json::json!({"flows": [{"name": "a", "backoffs": backoffs, "losses": {"answered": null}}]});
        let verdict = good(&text).evaluate(&[run]).unwrap().remove(0);
        assert!(!verdict.holds && verdict.why.contains(why), "{}", verdict.why);
    }
}

/// Two seeds, or two numbers of repetitions, of which each run is set beside the other's.
fn each_beside(sweep: &str, when: &str, against: &str) -> Experiment {
    good(&format!(
        "{PATH}{FLOW}[run]\nrepeat = 2\n{sweep}[[expect]]\nthat = \"flow.a.share\"\nis = \">= flow.a.share\"\n\
         over = \"each\"\nwhen = {when}\nagainst = {against}\n"
    ))
}

#[test]
fn where_seeds_are_swept_repetitions_of_one_number_are_set_beside_each_other() {
    let e = each_beside("[sweep]\n\"run.seed\" = [1, \"1_001\"]\n", "{\"run.seed\" = 1001}", "{\"run.seed\" = 1}");
    e.cases().unwrap_or_else(|e| panic!("{e:#}"));
    let run = |first: &str, seed: u64, share: f64| serde_json::json!({"case": {"run.seed": first}, "seed": seed, "flows": [{"name": "a", "share": share}]});
    let all = [run("1", 2, 0.9), run("1", 1, 0.2), run("1_001", 1001, 0.3), run("1_001", 1002, 0.8)];
    let [v] = &e.evaluate(&all).unwrap()[..] else { panic!("one verdict") };
    assert_eq!((v.judged, v.holds, v.measured), (true, false, Some(0.8)), "{}", v.why);
    let [v] = &e.evaluate(&all[1..]).unwrap()[..] else { panic!("one verdict") };
    assert!(!v.judged);
    assert_eq!(v.why, "no repetition with seed 2 of the case it is compared with has finished");
}

#[test]
fn each_of_more_repetitions_has_none_beside_it_among_fewer() {
    let told = |sweep: &str, when: &str, against: &str| {
        each_beside(sweep, when, against).cases().map(|_| ()).map_err(|e| e.to_string())
    };
    let (two, five) = ("{\"run.repeat\" = 2}", "{\"run.repeat\" = 5}");
    let plain = "[sweep]\n\"run.repeat\" = [2, 5]\n";
    let zip = "[sweep.zip]\n\"run.repeat\" = [2, 5]\n\"flow.a.cc\" = [\"newreno\", \"cubic\"]\n";
    assert_eq!(told(plain, two, five), Ok(()), "each of the two has one");
    assert_eq!(told(zip, two, "{\"flow.a.cc\" = \"cubic\"}"), Ok(()));
    for refused in [told(plain, five, two), told(zip, five, "{\"flow.a.cc\" = \"newreno\"}")] {
        let refused = refused.unwrap_err();
        let says = "over = \"each\" sets each repetition beside one there, and of 5 that are here it has 2: \
                    let a mean or median fulfil it, or repeat both as often";
        assert!(refused.starts_with("x.toml:") && refused.contains("expect[1].against: "), "{refused}");
        assert!(refused.contains(says), "{refused}");
    }
}

#[test]
fn a_claim_keeps_its_number_when_an_override_drops_others() {
    let claim = |rtt: &str, figure: &str| {
        format!("[[expect]]\nthat = \"{figure}\"\nis = \">= {figure}\"\nwhen = {{\"path.rtt\" = \"{rtt}\"}}\n")
    };
    let sweep = "[sweep]\npath.rtt = [\"10 ms\", \"40 ms\", \"80 ms\"]\n";
    let [first, second] = ["10 ms", "40 ms"].map(|rtt| claim(rtt, "flow.a.share"));
    let text = format!("{PATH}{FLOW}{sweep}{first}{second}{}", claim("80 ms", "flow.b.share"));
    let told = |sets: &[(&str, &str)]| {
        let mut e = good(&text);
        e.set_all(sets.iter().copied()).unwrap_or_else(|e| panic!("{e:#}"));
        e.set("run.duration", "10 s").unwrap();
        (e.claims().len(), e.cases().unwrap_err().to_string())
    };
    for (sets, left) in [
        (&[][..], 3),
        (&[("sweep.path.rtt", "[\"40 ms\", \"80 ms\"]")], 2),
        (&[("sweep.path.rtt", "[\"40 ms\", \"80 ms\"]"), ("path.rtt", "80 ms")], 1),
    ] {
        let (claims, told) = told(sets);
        assert_eq!(claims, left);
        assert!(told.contains("expect[3].that: there is no flow \"b\""), "{told}");
    }
    // Where a case is compared with several, too.
    let mut e = zipped(
        "when = {\"flow.a.cc\" = \"newreno\", \"path.rtt\" = \"40 ms\"}\n[[expect]]\nthat = \"flow.a.share\"\n\
                        is = \"<= flow.a.share\"\nwhen = {\"path.rtt\" = \"10 ms\"}\nagainst = {\"flow.a.cc\" = \"cubic\"}\n",
    );
    e.set("sweep.flow.a.cc", "[\"vegas\", \"cubic(beta=0.8)\", \"cubic\", \"cubic\"]").unwrap();
    for told in [e.cases().unwrap_err(), e.evaluate(&[]).unwrap_err(), e.asked().unwrap_err()] {
        assert!(told.to_string().contains("expect[2].against: fits 2 cases"), "{told}");
    }
}
