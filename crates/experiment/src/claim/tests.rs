use super::*;
use crate::quantity::Quantity;

fn claim(that: &str, is: &str, over: Over) -> Claim {
    let (metric, condition) = (Metric::read(that).unwrap(), Condition::read(is).unwrap());
    condition.check(&metric).unwrap();
    Claim {
        number: 1,
        name: format!("{that} {is}"),
        that: that.into(),
        is: is.into(),
        over,
        when: Vec::new(),
        against: Vec::new(),
        pool: Vec::new(),
        moved: Vec::new(),
        against_at: Place::default(),
        metric,
        condition,
    }
}

fn shares(values: &[(f64, f64)]) -> Vec<Json> {
    let run = |&(a, b): &(f64, f64)| serde_json::json!({"case": {}, "flows": [{"name": "a", "share": a}, {"name": "b", "share": b}]});
    values.iter().map(run).collect()
}

#[test]
fn conditions_of_every_kind_are_judged() {
    let runs = shares(&[(0.2, 0.8), (0.3, 0.7), (0.4, 0.6)]);
    for (is, over, holds) in [
        (">= 0.25", Over::Mean, true),
        (">= 25 %", Over::Each, false),
        (">= 0.2", Over::Each, true),
        ("> 0.2", Over::Each, false),
        ("0.3 ± 0.02", Over::Median, true),
        ("0.33 ± 5 %", Over::Mean, false),
        ("30 % +- 2 points", Over::Mean, true),
        ("between 0.25 and 0.35", Over::Mean, true),
        ("< flow.b.share", Over::Each, true),
        ("<= 0.25 * flow.b.share", Over::Each, false),
        ("< 0.5 * flow.b.share", Over::Mean, true),
    ] {
        let verdict = claim("flow.a.share", is, over).evaluate(&runs);
        assert_eq!(verdict.holds, holds, "{is} {over:?}: {}", verdict.why);
    }
}

#[test]
fn a_verdict_says_why() {
    let runs = shares(&[(0.2, 0.8), (0.3, 0.7)]);
    let v = claim("flow.a.share", ">= 0.4", Over::Each).evaluate(&runs);
    assert_eq!((v.measured, v.why.as_str()), (Some(0.2), "flow.a.share is 20.00 %, the worst of 2; not >= 0.4"));
    for (is, says) in [
        ("> 0.5 * flow.b.share", "flow.a.share is 25.00 %, the mean of 2; not > 0.5 * flow.b.share (37.50 %)"),
        ("flow.b.share ± 10 %", "flow.a.share is 25.00 %, the mean of 2; not flow.b.share ± 10 % (67.50 % to 82.50 %)"),
    ] {
        assert_eq!(claim("flow.a.share", is, Over::Mean).evaluate(&runs).why, says);
    }
    let v = claim("flow.c.share", ">= 0.4", Over::Mean).evaluate(&runs);
    assert_eq!((v.holds, v.why.as_str()), (false, "flow.c.share has no value in the run"));
    assert!(!claim("flow.a.share", ">= 0", Over::Mean).evaluate(&[]).holds);
}

#[test]
fn of_several_cases_of_a_zip_the_like_one_is_compared_or_none() {
    let run = |cc: &str, rate: &str, buffer: &str, share: f64| serde_json::json!({"case": {"flow.a.cc": cc, "path.rate": rate, "path.buffer": buffer}, "seed": 1, "flows": [{"name": "a", "share": share}]});
    let runs = [
        run("hldg", "4 Mbit/s", "10 packets", 0.2),
        run("cubic", "12 Mbit/s", "10 packets", 0.1),
        run("cubic", "4 Mbit/s", "10 packets", 0.3),
        run("cubic", "4 Mbit/s", "40 packets", 0.1),
    ];
    let mut c = claim("flow.a.share", "<= flow.a.share", Over::Mean);
    c.when = vec![("flow.a.cc".into(), "hldg".into())];
    c.against = vec![("flow.a.cc".into(), "cubic".into())];
    c.moved = vec!["flow.a.cc".into(), "path.rate".into(), "path.buffer".into()];
    let judged = |runs: &[Json]| judge_all(std::slice::from_ref(&c), std::iter::empty(), runs);
    assert!(judged(&runs).unwrap()[0].holds, "with the same rate and buffer");
    let unlike = [runs[0].clone(), runs[1].clone(), runs[3].clone()];
    let refused = judged(&unlike).unwrap_err();
    assert_eq!(
        refused.message,
        "fits 2 cases (path.rate = 12 Mbit/s, path.buffer = 10 packets; path.rate = 4 Mbit/s, path.buffer = 40 packets), \
         and a case is compared with one: give one value of path.rate, path.buffer in it"
    );
    assert!(judged(&[runs[0].clone(), runs[2].clone()]).unwrap()[0].holds, "the only one there is");
}

#[test]
fn each_repetition_is_set_beside_the_one_of_its_seed() {
    let run = |cc: &str, seed: u64, share: f64| serde_json::json!({"case": {"flow.a.cc": cc}, "seed": seed, "flows": [{"name": "a", "share": share}]});
    let mut c = claim("flow.a.share", "<= flow.a.share", Over::Each);
    c.against = vec![("flow.a.cc".into(), "cubic".into())];
    let own = [run("hldg", 1, 0.2), run("hldg", 2, 0.8)];
    let judged = |others: &[Json]| c.judge(&own[0]["case"], &own.each_ref(), &others.iter().collect::<Vec<_>>());
    let v = judged(&[run("cubic", 2, 0.9), run("cubic", 1, 0.3)]);
    assert!(v.holds && v.judged, "{}", v.why);
    let v = judged(&[run("cubic", 1, 0.3)]);
    assert!(!v.holds && !v.judged);
    assert_eq!(v.why, "no repetition with seed 2 of the case it is compared with has finished");
}

#[test]
fn a_case_is_compared_with_another_one() {
    let run = |cc: &str, stack: &str, share: f64| serde_json::json!({"case": {"flow.a.cc": cc, "flow.a.stack": stack, "path.rtt": "10 ms"}, "flows": [{"name": "a", "share": share}]});
    let runs = [run("hldg", "freebsd-11", 0.4), run("cubic", "linux", 0.9), run("cdg", "freebsd-11", 0.1)];
    let mut c = claim("flow.a.share", ">= 4 * flow.a.share", Over::Each);
    c.when = vec![("flow.a.cc".into(), "hldg".into())];
    c.against = vec![("flow.a.cc".into(), "cdg".into())];
    c.moved = vec!["flow.a.cc".into(), "flow.a.stack".into()];
    let holds = |c: &Claim, runs: &[Json]| judge_all(std::slice::from_ref(c), [].into_iter(), runs).unwrap();
    let v = holds(&c, &runs);
    assert_eq!((v.len(), v[0].holds), (1, true), "{v:?}");
    let why = "flow.a.share is 40.00 %; >= 4 * flow.a.share with flow.a.cc = cdg (40.00 %)";
    assert_eq!((v[0].shown.as_str(), v[0].why.as_str()), ("40.00 %", why));
    assert!(!holds(&c, &[run("hldg", "freebsd-11", 0.4), run("cdg", "freebsd-11", 0.11)])[0].holds);
    let v = holds(&c, &runs[..2]);
    assert_eq!(v[0].why, "no repetition of the case it is compared with has finished");
    // A path of its own is not the case to compare with.
    let mut other = runs[2].clone();
    other["case"]["path.rtt"] = "40 ms".into();
    assert!(!holds(&c, &[runs[0].clone(), other])[0].holds);
}

#[test]
fn a_case_has_one_of_the_values() {
    let when = [("path.rtt", "10 ms"), ("path.rtt", "40 ms"), ("a", "1")].map(|(k, v)| (k.into(), v.into()));
    for (rtt, a, fits) in [("10 ms", 1, true), ("40ms", 1, true), ("80 ms", 1, false), ("40 ms", 2, false)] {
        assert_eq!(matches_case(&when, &serde_json::json!({"path.rtt": rtt, "a": a})), fits, "{rtt} {a}");
    }
}
