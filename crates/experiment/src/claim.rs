//! Claims: `that` figure `is` so. Checked on the summaries of the repetitions of one case.

mod others;

pub(crate) use self::others::Others;

use crate::condition::Condition;
use crate::metric::Metric;
use crate::source::{Checked, Place};
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
    /// Its number in the file, from 1.
    #[serde(skip)]
    pub(crate) number: usize,
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
    /// Swept keys whose cases count as repetitions of one, with those that a zip moves along; empty to judge every case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pool: Vec<String>,
    /// Keys that move with those of `against`, so that the other case may differ in them too.
    #[serde(skip)]
    pub(crate) moved: Vec<String>,
    /// Where `against` was written.
    #[serde(skip)]
    pub(crate) against_at: Place,
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

/// A case and the summaries of its repetitions.
type Runs<'a> = (Json, Vec<&'a Json>);

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
    /// The same for readers, with its unit: shares and utilisation in percent.
    pub shown: String,
    /// The case, as in the summary, but for keys that the claim pools.
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
    /// What it is called in its file.
    pub(crate) fn written(&self) -> String {
        format!("expect[{}]", self.number)
    }

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
            shown: measured.map_or_else(String::new, |x| self.metric.show(x)),
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
                    let mut why = format!(
                        "{} has no value in the run{}",
                        self.that,
                        seed(summary).map_or_else(String::new, with_seed)
                    );
                    if let Some(hint) = self.metric.absent(summary) {
                        why.push_str(&format!(": {hint}"));
                    }
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
                    let which = seed_beside(own, against[0]).map_or_else(String::new, with_seed);
                    let why = format!("no repetition{which} of the case it is compared with has finished");
                    return Verdict { judged: false, ..verdict(false, None, why) };
                };
                let bounds = self.condition.bounds(unit, &[other], self.over);
                each.push(bounds.map(|bounds| (margin(*x, bounds), *x, bounds)));
            }
            let each = each.into_iter();
            each.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)))
        } else {
            let bounds = self.condition.bounds(unit, against, self.over);
            bounds.zip(aggregate(&values, self.over)).map(|(b, x)| (margin(x, b), x, b))
        };
        let Some((margin, measured, bounds)) = worst else {
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
        let mut why = format!("{} is {}{what}; {not}{}", self.that, self.metric.show(measured), self.is);
        why.push_str(&with(&self.against));
        if !self.condition.figures().is_empty() {
            why.push_str(&format!(" ({})", self.allowed(bounds)));
        }
        verdict(holds, Some(measured), why)
    }

    /// What the other figure of the condition, times its factor, comes to.
    fn allowed(&self, (low, high, _): (f64, f64, bool)) -> String {
        let show = |x| self.metric.show(x);
        match (low.is_finite(), high.is_finite()) {
            (true, true) if low < high => format!("{} to {}", show(low), show(high)),
            (true, _) => show(low),
            _ => show(high),
        }
    }

    /// Judges it in every case it concerns, or in all those together that differ in pooled keys alone.
    fn verdicts(&self, cases: &[Runs]) -> Checked<Vec<Verdict>> {
        // Sweeps may have 100 000 cases: none is looked for among all others.
        let mut groups: Vec<(Json, Vec<&Runs>)> = Vec::new();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for runs in cases.iter().filter(|(case, _)| self.concerns(case)) {
            let common = without(&runs.0, &self.pool);
            let group = if self.pool.is_empty() {
                groups.len()
            } else {
                *known.entry(common.to_string()).or_insert(groups.len())
            };
            match groups.get_mut(group) {
                Some((_, pooled)) => pooled.push(runs),
                None => groups.push((common, vec![runs])),
            }
        }
        let others = Others::of(self, cases.iter().map(|(case, _)| case));
        groups.iter().map(|(case, pooled)| self.judge_together(case, pooled, cases, &others)).collect()
    }

    /// Judges it on the repetitions of several cases as if they were of one.
    fn judge_together(&self, common: &Json, pooled: &[&Runs], cases: &[Runs], others: &Others) -> Checked<Verdict> {
        let (mut own, mut against, mut unrun) = (Vec::new(), Vec::new(), 0);
        for (case, repetitions) in pooled {
            let beside = match others.beside(case)? {
                _ if self.against.is_empty() => &repetitions[..],
                Some(other) => &cases[other].1[..],
                None => &[],
            };
            unrun += usize::from(repetitions.is_empty() || beside.is_empty());
            own.extend_from_slice(repetitions);
            against.extend_from_slice(beside);
        }
        if unrun > 0 && pooled.len() > 1 {
            let why = format!("no repetition has finished for {unrun} of the {} cases that it pools", pooled.len());
            return Ok(Verdict { why, ..self.judge(common, &[], &[]) });
        }
        Ok(self.judge(common, &own, &against))
    }

    /// The repetition of the right side that one of the left is set beside: itself, or the one of the same number.
    fn partner<'a>(&self, own: &'a Json, against: &[&'a Json]) -> Option<&'a Json> {
        if self.against.is_empty() {
            return Some(own);
        }
        // They are of one case: `each` pools none.
        let beside = seed_beside(own, against.first()?);
        against.iter().copied().find(|other| seed(other) == beside)
    }
}

/// The swept values of a case but for those of some keys.
fn without(case: &Json, keys: &[String]) -> Json {
    let mut rest = case.clone();
    if let Json::Object(values) = &mut rest {
        values.retain(|key, _| !keys.contains(key));
    }
    rest
}

fn seed(summary: &Json) -> Option<u64> {
    summary.get("seed")?.as_u64()
}

fn with_seed(seed: u64) -> String {
    format!(" with seed {seed}")
}

/// The seed of the repetition of another case that has the number of this one: the same, unless first seeds are swept.
fn seed_beside(own: &Json, other: &Json) -> Option<u64> {
    let first = |summary| whole(&case_of(Some(summary)), "run.seed").unwrap_or(0);
    seed(own)?.checked_add(first(other))?.checked_sub(first(own))
}

/// The whole number that a swept key has in a case, however it is spelled; `None` if it is not swept.
fn whole(case: &Json, key: &str) -> Option<u64> {
    params::one_spelling(case.get(key)?.as_str()?).parse().ok()
}

/// The case of a summary; none without a sweep.
pub(crate) fn case_of(summary: Option<&Json>) -> Json {
    summary.and_then(|s| s.get("case")).cloned().unwrap_or_else(|| Json::Object(serde_json::Map::new()))
}

/// Judges every claim in every case that `expected` lists and in every case that has summaries, in this order. A claim
/// that concerns a case without summaries is not judged.
pub(crate) fn judge_all(
    claims: &[Claim],
    expected: impl Iterator<Item = Json>,
    summaries: &[Json],
) -> Checked<Vec<Verdict>> {
    let mut cases: Vec<Runs> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut index = |case: Json, cases: &mut Vec<Runs>| {
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
    let mut all = Vec::new();
    for claim in claims {
        all.extend(claim.verdicts(&cases).map_err(|fault| fault.under(claim.written()))?);
    }
    Ok(all)
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

#[cfg(test)]
mod tests;
