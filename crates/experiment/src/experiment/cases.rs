//! The cases of an experiment: each resolved, checked and hashed.

use super::Experiment;
use crate::decode::decode;
use crate::lack::{self, Lack};
use crate::limits::RUNS_MAX;
use crate::metric::{Metric, Subject};
use crate::quantity::RateText;
use crate::raw::File;
use crate::resolve::{Context, scenario};
use crate::scenario::{Scenario, Traffic};
use crate::source::{Checked, Fault, Place, did_you_mean};
use crate::tree::{Any, At};
use crate::{Error, assign, hash, sweep};
use std::collections::BTreeMap;

/// One case of the sweep, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its number, from 0; the first key of the sweep changes slowest.
    pub index: usize,
    /// Swept keys and their values in this case.
    pub values: Vec<(String, String)>,
    /// What is run.
    pub scenario: Scenario,
    /// 16 hexadecimal digits of what one repetition depends on besides its number: not of titles, claims, published
    /// numbers, `run.seed` and `run.repeat`, unless they are swept. Finished runs of an experiment are found again by it and
    /// that number.
    pub hash: String,
}

impl Experiment {
    /// Every case of the sweep, checked, and every claim and published cell checked against them.
    pub fn cases(&self) -> Result<Vec<Case>, Error> {
        self.all_cases().map_err(|fault| self.sources.locate(fault))
    }

    /// One case. Checks no other, so that a runner of single cases need not expand the sweep.
    pub fn case(&self, index: usize) -> Result<Case, Error> {
        if index >= self.case_count() {
            return Err(Error::plain(format!("there is no case {index}: the sweep has {}", self.case_count())));
        }
        self.resolve(index, &self.bare()).map_err(|fault| self.sources.locate(fault))
    }

    fn all_cases(&self) -> Checked<Vec<Case>> {
        let bare = self.bare();
        // A figure must exist in one case at least: a sweep of `count` adds flows.
        let mut unseen: Vec<(&Metric, Place, String)> = Vec::new();
        for (claim, [that, is]) in self.parts.claims.iter().zip(&self.parts.claim_places) {
            unseen.push((&claim.metric, *that, format!("{}.that", claim.written())));
            let others = claim.condition.figures().into_iter();
            unseen.extend(others.map(|m| (m, *is, format!("{}.is", claim.written()))));
        }
        for cell in self.parts.published.iter().flat_map(|table| &table.cells) {
            if !unseen.iter().any(|(m, ..)| **m == cell.metric) {
                unseen.push((&cell.metric, cell.place, "published".into()));
            }
        }
        // Nor has every case each figure: a sweep of `cc` comes by other modes.
        let mut lacking = unseen.clone();
        let mut cases: Vec<Case> = Vec::new();
        let (mut runs, mut seen) = (0, BTreeMap::new());
        for index in 0..self.case_count() {
            let case = self.resolve(index, &bare)?;
            unseen.retain(|(metric, ..)| !names(&case.scenario, &metric.subject));
            lacking.retain(|(metric, ..)| lack::of(metric, &case.scenario).is_some());
            runs += u64::from(case.scenario.run.repeat);
            if let Some(earlier) = seen.insert(case.hash.clone(), index) {
                let overlap = |one: &str, other: &str| assign::overlap(&self.doc, one, other);
                return Err(sweep::same(&self.parts.axes, earlier, index, overlap));
            }
            cases.push(case);
        }
        if runs > RUNS_MAX {
            let message = format!(
                "{} cases with their repetitions are {runs} runs; allowed are {RUNS_MAX}: sweep fewer values or repeat less often",
                cases.len()
            );
            return Err(Fault::at(self.repeat_place(), message).under("run.repeat"));
        }
        let Some(first) = cases.first() else { return Ok(cases) };
        if let Some((metric, place, key)) = unseen.first() {
            return Err(Fault::at(*place, unknown_subject(metric, &first.scenario)).under(key.clone()));
        }
        for (metric, place, key) in &lacking {
            let why = cases.iter().find_map(|case| match lack::of(metric, &case.scenario) {
                Some(Lack::Value(why)) => Some(why),
                _ => None,
            });
            if let Some(why) = why {
                return Err(Fault::at(*place, format!("{metric} can have no value: {why}")).under(key.clone()));
            }
        }
        self.compared(&self.all_values())?;
        Ok(cases)
    }

    /// Where the repetitions were written.
    fn repeat_place(&self) -> Place {
        let swept = self.parts.axes.iter().flat_map(|axis| &axis.columns).find(|c| c.key.value == "run.repeat");
        let written = self.parts.file.run.as_ref().and_then(|run| run.value.repeat.as_ref());
        swept.map(|column| column.key.place).or(written.map(|at| at.place)).unwrap_or_default()
    }

    /// The tree without what a case does not depend on.
    fn bare(&self) -> At<Any> {
        let mut doc = self.doc.clone();
        if let Any::Table(table) = &mut doc.value {
            table.retain(|(k, _)| !["sweep", "expect", "published", "title", "figure"].contains(&k.value.as_str()));
        }
        doc
    }

    fn resolve(&self, index: usize, bare: &At<Any>) -> Checked<Case> {
        let mut doc = bare.clone();
        let mut picked = sweep::case(&self.parts.axes, index);
        let values: Vec<(String, String)> = picked.iter().map(|(k, v)| (k.value.clone(), v.show())).collect();
        picked.sort_by_key(|(key, _)| sweep::turn(&key.value));
        for (key, value) in picked {
            assign::assign(&mut doc, key, value.clone()).map_err(|f| f.under("sweep"))?;
        }
        let context = Context { traces: &self.traces, extra_cc: &self.extra_cc };
        let resolved = decode::<File>(&doc).and_then(|file| scenario(&doc, &file, &context).map(|s| (file, s)));
        let (mut file, scenario) = resolved.map_err(|fault| {
            let list: Vec<String> = values.iter().map(|(k, v)| format!("{k} = {v}")).collect();
            fault.in_case(list.join(", "))
        })?;
        // More repetitions join those that are there, but a swept key tells cases apart.
        let swept = |key: &str| values.iter().any(|(k, _)| k == key);
        if let Some(run) = &mut file.run {
            run.value.seed = run.value.seed.take().filter(|_| swept("run.seed"));
            run.value.repeat = run.value.repeat.take().filter(|_| swept("run.repeat"));
        }
        let mut text = hash::text(file.clone());
        for rate in rates(&file) {
            if let RateText::Trace(name) = rate
                && let Ok(trace) = self.traces.read(name)
            {
                text.push_str(&format!("{:x}", trace.hash));
            }
        }
        for flow in &scenario.flows {
            if let Traffic::Tmix(tmix) = &flow.traffic
                && let Some((_, hash)) = &tmix.file
            {
                text.push_str(&format!("{hash:x}"));
            }
        }
        Ok(Case { index, values, scenario, hash: hash::hex(text.as_bytes()) })
    }
}

fn rates(file: &File) -> impl Iterator<Item = &RateText> {
    let path = file.path.iter().flat_map(|p| [&p.value.rate, &p.value.up]);
    let links = file.link.iter().map(|l| &l.value.rate);
    path.chain(links).flatten().map(|at| &at.value.0)
}

fn names(scenario: &Scenario, subject: &Subject) -> bool {
    match subject {
        Subject::Flow(name) => scenario.flows.iter().any(|f| &f.name == name),
        Subject::Group(name) => scenario.groups.contains(name),
        Subject::Link(name) => scenario.links.iter().any(|l| &l.name == name),
        Subject::Fairness => true,
    }
}

fn unknown_subject(metric: &Metric, scenario: &Scenario) -> String {
    let (kind, name, all): (&str, &str, Vec<&str>) = match &metric.subject {
        Subject::Flow(name) => ("flow", name, scenario.flows.iter().map(|f| f.name.as_str()).collect()),
        Subject::Group(name) => ("group of flows", name, scenario.groups.iter().map(String::as_str).collect()),
        Subject::Link(name) => ("link", name, scenario.links.iter().map(|l| l.name.as_str()).collect()),
        Subject::Fairness => ("figure", "", Vec::new()),
    };
    let near = did_you_mean(name, all.iter().copied());
    format!("there is no {kind} {name:?}{near} (there are {})", all[..all.len().min(20)].join(", "))
}
