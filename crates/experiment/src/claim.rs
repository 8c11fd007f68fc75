//! Claims: `that` figure `is` so. Checked on the summaries of the repetitions of one case.

use crate::condition::Condition;
use crate::metric::Metric;
use crate::stats;
use crate::tree::same_text;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

params::choice! {
    /// Which figure of several repetitions a claim is about.
    pub enum Over {
        /// Their mean.
        Mean = "mean",
        /// Each of them.
        Each = "each",
        /// Their median.
        Median = "median",
    }
}

/// `[[expect]]`, checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What it says.
    pub name: String,
    /// The figure's path as written.
    pub that: String,
    /// The condition as written.
    pub is: String,
    /// Which figure of several repetitions counts.
    #[serde(serialize_with = "word")]
    pub over: Over,
    /// Swept keys with the values they must have; empty for every case. A key that stands there several times must
    /// have one of its values.
    #[serde(serialize_with = "pairs")]
    pub when: Vec<(String, String)>,
    /// Swept keys with other values: figures on the right side are those of the case that has them; empty for the same case.
    #[serde(serialize_with = "pairs")]
    pub against: Vec<(String, String)>,
    /// Keys that move with those of `against`, so that the other case may differ in them too.
    #[serde(skip)]
    pub(crate) moved: Vec<String>,
    #[serde(skip)]
    pub(crate) metric: Metric,
    #[serde(skip)]
    pub(crate) condition: Condition,
}

fn word<S: serde::Serializer>(over: &Over, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&params::Value::show(over))
}

/// Keys and values as an object: text, or a list where a key has several.
fn pairs<S: serde::Serializer>(when: &[(String, String)], s: S) -> Result<S::Ok, S::Error> {
    let mut keys: Vec<(&String, Vec<&String>)> = Vec::new();
    for (key, value) in when {
        match keys.iter_mut().find(|(k, _)| *k == key) {
            Some((_, values)) => values.push(value),
            None => keys.push((key, vec![value])),
        }
    }
    s.collect_map(keys.into_iter().map(|(key, values)| match values[..] {
        [one] => (key, Json::from(one.as_str())),
        _ => (key, Json::from_iter(values.iter().map(|v| v.as_str()))),
    }))
}

/// What became of a claim in one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The claim's name.
    pub name: String,
    /// Its figure.
    pub that: String,
    /// Its condition.
    pub is: String,
    /// It holds.
    pub holds: bool,
    /// Whether it could be judged: runs of its case, and of the one it is compared with, have finished.
    pub judged: bool,
    /// The figure: the mean or median, or with `over = "each"` the one furthest from the condition.
    pub measured: Option<f64>,
    /// The case, as in the summary.
    pub case: Json,
    /// In words.
    pub why: String,
}

/// One figure of several.
pub(crate) fn aggregate(values: &[f64], over: Over) -> Option<f64> {
    match over {
        Over::Mean | Over::Each => stats::mean(values),
        Over::Median => stats::quantile(values, 0.5),
    }
}

impl Claim {
    /// Does it concern a case with these swept values?
    pub fn concerns(&self, case: &Json) -> bool {
        matches_case(&self.when, case)
    }

    /// Judges it on the summaries of the repetitions of one case.
    pub fn evaluate(&self, repetitions: &[Json]) -> Verdict {
        let all: Vec<&Json> = repetitions.iter().collect();
        self.judge(&case_of(repetitions.first()), &all, &all)
    }

    /// The same with the repetitions that figures on the right side are taken from.
    pub(crate) fn judge(&self, case: &Json, repetitions: &[&Json], against: &[&Json]) -> Verdict {
        let verdict = |holds, measured, why| Verdict {
            name: self.name.clone(),
            that: self.that.clone(),
            is: self.is.clone(),
            holds,
            judged: true,
            measured,
            case: case.clone(),
            why,
        };
        let n = repetitions.len();
        if n == 0 || against.is_empty() {
            let whose = if n == 0 { "" } else { " of the case it is compared with" };
            let none = verdict(false, None, format!("no repetition{whose} has finished"));
            return Verdict { judged: false, ..none };
        }
        let unit = self.metric.unit();
        let mut values = Vec::new();
        for summary in repetitions {
            match self.metric.of(summary) {
                Some(x) => values.push(x),
                None => {
                    let why = format!("{} has no value in the run{}", self.that, seed_of(summary));
                    return verdict(false, None, why);
                }
            }
        }
        // Margin by which a value fulfils the condition; negative if it does not.
        let margin = |x: f64, (low, high, closed): (f64, f64, bool)| {
            let m = (x - low).min(high - x);
            if m == 0.0 && !closed { -f64::MIN_POSITIVE } else { m }
        };
        let worst = if self.over == Over::Each {
            let mut each = Vec::new();
            for (x, own) in values.iter().zip(repetitions) {
                let Some(other) = self.partner(own, against) else {
                    let why = format!("no repetition{} of the case it is compared with has finished", seed_of(own));
                    return Verdict { judged: false, ..verdict(false, None, why) };
                };
                let bounds = self.condition.bounds(unit, &[other], self.over);
                each.push(bounds.map(|bounds| (margin(*x, bounds), *x)));
            }
            let each = each.into_iter();
            each.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)))
        } else {
            let bounds = self.condition.bounds(unit, against, self.over);
            bounds.zip(aggregate(&values, self.over)).map(|(b, x)| (margin(x, b), x))
        };
        let Some((margin, measured)) = worst else {
            return verdict(false, None, format!("{:?} names a figure that has no value", self.is));
        };
        let holds = margin >= 0.0;
        let what = match (n, self.over) {
            (1, _) => String::new(),
            (_, Over::Mean) => format!(", the mean of {n}"),
            (_, Over::Median) => format!(", the median of {n}"),
            (_, Over::Each) => format!(", the worst of {n}"),
        };
        let not = if holds { "" } else { "not " };
        let mut why = format!("{} is {}{what}; {not}{}", self.that, short(measured), self.is);
        why.push_str(&with(&self.against));
        verdict(holds, Some(measured), why)
    }

    /// The repetition of the right side that one of the left is set beside: itself, or the one of the same seed.
    fn partner<'a>(&self, own: &'a Json, against: &[&'a Json]) -> Option<&'a Json> {
        if self.against.is_empty() {
            return Some(own);
        }
        against.iter().copied().find(|other| other.get("seed") == own.get("seed"))
    }

    /// The repetitions of the case that this one is compared with. Of several, keys that a zip moves along must be the same.
    fn other<'a>(&self, case: &Json, cases: &'a [(Json, Vec<&'a Json>)]) -> Result<&'a [&'a Json], String> {
        let fit: Vec<_> = cases.iter().filter(|(other, _)| self.compares(case, other)).collect();
        let free = |key: &String| self.against.iter().any(|(given, _)| given == key);
        let same = |other: &Json| {
            case.as_object().is_none_or(|keys| keys.iter().all(|(k, v)| free(k) || other.get(k) == Some(v)))
        };
        match (&fit[..], fit.iter().find(|(other, _)| same(other))) {
            ([], _) => Ok(&[]),
            ([(_, one)], _) | (_, Some((_, one))) => Ok(one),
            (several, None) => {
                let differ = |key: &&String| several.iter().any(|(other, _)| other.get(*key) != several[0].0.get(*key));
                let keys: Vec<&str> = self.moved.iter().filter(differ).map(String::as_str).collect();
                Err(format!("against fits {} cases: name {} in it, too", several.len(), keys.join(", ")))
            }
        }
    }

    /// Is `other` the case that this one is compared with?
    pub(crate) fn compares(&self, case: &Json, other: &Json) -> bool {
        let same = |(key, value): (&String, &Json)| self.moved.contains(key) || other.get(key) == Some(value);
        matches_case(&self.against, other) && case.as_object().is_none_or(|keys| keys.iter().all(same))
    }
}

fn seed_of(summary: &Json) -> String {
    summary.get("seed").map_or(String::new(), |s| format!(" with seed {s}"))
}

/// The case of a summary; none without a sweep.
fn case_of(summary: Option<&Json>) -> Json {
    summary.and_then(|s| s.get("case")).cloned().unwrap_or_else(|| Json::Object(serde_json::Map::new()))
}

/// Judges every claim in every case that `expected` lists and in every case that has summaries, in this order. A claim
/// that concerns a case without summaries fails.
pub(crate) fn judge_all(claims: &[Claim], expected: impl Iterator<Item = Json>, summaries: &[Json]) -> Vec<Verdict> {
    let mut cases: Vec<(Json, Vec<&Json>)> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut index = |case: Json, cases: &mut Vec<(Json, Vec<&Json>)>| {
        *known.entry(case.to_string()).or_insert_with(|| {
            cases.push((case, Vec::new()));
            cases.len() - 1
        })
    };
    for case in expected {
        index(case, &mut cases);
    }
    for summary in summaries {
        let i = index(case_of(Some(summary)), &mut cases);
        cases[i].1.push(summary);
    }
    let concerned = |claim: &Claim| -> Vec<Verdict> {
        let concerned = cases.iter().filter(|(case, _)| claim.concerns(case));
        let judged = concerned.map(|(case, repetitions)| {
            if claim.against.is_empty() {
                return claim.judge(case, repetitions, repetitions);
            }
            match claim.other(case, &cases) {
                Ok(other) => claim.judge(case, repetitions, other),
                Err(why) => Verdict { judged: false, why, holds: false, ..claim.judge(case, &[], &[]) },
            }
        });
        judged.collect()
    };
    claims.iter().flat_map(concerned).collect()
}

/// The case that a claim is held against, behind what it says; nothing if there is none.
pub(crate) fn with(against: &[(String, String)]) -> String {
    let other: Vec<String> = against.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if other.is_empty() { String::new() } else { format!(" with {}", other.join(", ")) }
}

/// Do the case's swept values agree with `when`? Of several values of a key one is enough.
pub(crate) fn matches_case(when: &[(String, String)], case: &Json) -> bool {
    when.iter().all(|(key, _)| {
        let given = case.get(key);
        let text = given.map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_string));
        let mut wanted = when.iter().filter(|(k, _)| k == key).map(|(_, want)| want);
        text.is_some_and(|text| wanted.any(|want| same_text(&text, want)))
    })
}

/// Four digits, for words.
fn short(x: f64) -> String {
    let digits = if x == 0.0 { 0 } else { (3 - units::math::log10(x.abs()).floor() as i32).clamp(0, 9) as usize };
    format!("{x:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Quantity;

    fn claim(that: &str, is: &str, over: Over) -> Claim {
        let (metric, condition) = (Metric::read(that).unwrap(), Condition::read(is).unwrap());
        condition.check(&metric).unwrap();
        Claim {
            name: format!("{that} {is}"),
            that: that.into(),
            is: is.into(),
            over,
            when: Vec::new(),
            against: Vec::new(),
            moved: Vec::new(),
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
        assert_eq!((v.measured, v.why.as_str()), (Some(0.2), "flow.a.share is 0.2000, the worst of 2; not >= 0.4"));
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
        let judged = |runs: &[Json]| judge_all(std::slice::from_ref(&c), std::iter::empty(), runs).remove(0);
        assert!(judged(&runs).holds, "with the same rate and buffer");
        let unlike = [runs[0].clone(), runs[1].clone(), runs[3].clone()];
        let v = judged(&unlike);
        assert_eq!((v.holds, v.judged), (false, false));
        assert_eq!(v.why, "against fits 2 cases: name path.rate, path.buffer in it, too");
        assert!(judged(&[runs[0].clone(), runs[2].clone()]).holds, "the only one there is");
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
        let holds = |c: &Claim, runs: &[Json]| judge_all(std::slice::from_ref(c), [].into_iter(), runs);
        let v = holds(&c, &runs);
        assert_eq!((v.len(), v[0].holds), (1, true), "{v:?}");
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
}
