//! The experiment: a tree of values, overridden, swept, and resolved case by case.

use crate::claim::{Claim, Over, Verdict, judge_all, matches_case, with};
use crate::compare::Comparison;
use crate::decode::decode;
use crate::limits::{RUNS_MAX, TEXT_MAX};
use crate::metric::{Metric, Subject};
use crate::prune::prune;
use crate::published::Published;
use crate::quantity::{Quantity, RateText};
use crate::raw::{ExpectFile, File, WhenFile};
use crate::resolve::{Context, scenario};
use crate::scenario::{Run, Scenario, Traffic};
use crate::source::{Checked, Fault, Place, Source, Sources, did_you_mean};
use crate::sweep::{self, Axis};
use crate::trace::Traces;
use crate::tree::{Any, At, Table, get, get_mut, parse_document, parse_value};
use crate::{Error, assign, hash, line, published};
use params::Spec;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;

/// An experiment as written, with overrides applied: syntax, keys, units and words are checked. What depends on several
/// values together is checked case by case, so that overrides may complete a file.
#[derive(Clone, Debug)]
pub struct Experiment {
    doc: At<Any>,
    file: File,
    axes: Vec<Axis>,
    claims: Vec<Claim>,
    /// Where each claim's figure and condition were written.
    claim_places: Vec<[Place; 2]>,
    published: Vec<Published>,
    sources: Sources,
    traces: Traces,
    extra_cc: Vec<String>,
}

/// One case of the sweep, resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its number, from 0; the first key of the sweep changes slowest.
    pub index: usize,
    /// Swept keys and their values in this case.
    pub values: Vec<(String, String)>,
    /// What is run.
    pub scenario: Scenario,
    /// 16 hexadecimal digits of what one repetition depends on besides its seed: not of titles, claims, published
    /// numbers, `run.seed` and `run.repeat`. Finished runs are found again by it and their seed.
    pub hash: String,
}

/// Parses a file, or the one-line form: of a file too, unless its name says otherwise. Without a name, or with one such
/// as `<command line>`, the text did not come from a file. Traces named in it are looked for beside `file`. The error
/// is the first mistake, with its place.
pub fn parse(text: &str, file: &str) -> Result<Experiment, Error> {
    parse_with(text, file, &[])
}

/// As [`parse`], with congestion controls that the registry does not know, such as classes in Python.
pub fn parse_with(text: &str, file: &str, extra_cc: &[&str]) -> Result<Experiment, Error> {
    if line::is_one_line(text) && !is_toml(text, file) {
        line_with(text, file, extra_cc)
    } else {
        toml_with(text, file, extra_cc)
    }
}

/// Parses the one-line form, such as `12Mbit/s 40ms 2BDP fifo: hldg, cubic@10s`.
pub fn one_line(text: &str) -> Result<Experiment, Error> {
    line_with(text, "", &[])
}

/// Whether a mistake in this single line is to be told as one of TOML: the file says that it is, or there is no colon,
/// without which the line is neither.
fn is_toml(text: &str, file: &str) -> bool {
    named(file) && (file.ends_with(".toml") || !text.contains(':'))
}

fn named(file: &str) -> bool {
    !file.is_empty() && !file.starts_with('<')
}

fn line_with(text: &str, file: &str, extra_cc: &[&str]) -> Result<Experiment, Error> {
    let source = if named(file) {
        Source { name: file.into(), text: text.trim_end().into(), has_lines: true }
    } else {
        Source { name: format!("{:?}", text.trim()), text: text.trim().into(), has_lines: false }
    };
    begin(source, Path::new(""), extra_cc, line::read)
}

fn toml_with(text: &str, file: &str, extra_cc: &[&str]) -> Result<Experiment, Error> {
    let base = Path::new(file).parent().unwrap_or(Path::new(""));
    let source = Source { name: file.into(), text: text.into(), has_lines: true };
    begin(source, base, extra_cc, |text| parse_document(text, 0))
}

fn begin(
    source: Source,
    base: &Path,
    extra_cc: &[&str],
    read: impl FnOnce(&str) -> Checked<At<Any>>,
) -> Result<Experiment, Error> {
    let mut sources = Sources::default();
    let text = source.text.clone();
    sources.add(source);
    let result = if text.len() > TEXT_MAX {
        Err(Fault::new(format!("the text has {} bytes; allowed are {TEXT_MAX}", text.len())))
    } else {
        read(&text).and_then(|mut doc| {
            assign::name_flows(&mut doc);
            normalise(&mut doc)?;
            Parts::of(&doc).map(|parts| (doc, parts))
        })
    };
    match result {
        Ok((doc, parts)) => Ok(Experiment {
            doc,
            file: parts.file,
            axes: parts.axes,
            claims: parts.claims,
            claim_places: parts.claim_places,
            published: parts.published,
            sources,
            traces: Traces::new(base.to_path_buf()),
            extra_cc: extra_cc.iter().map(|s| s.to_string()).collect(),
        }),
        Err(fault) => Err(sources.locate(fault)),
    }
}

fn normalise(doc: &mut At<Any>) -> Checked<()> {
    match doc.value.as_table_mut().and_then(|table| get_mut(table, "sweep")) {
        Some(node) => sweep::normalise(node),
        None => Ok(()),
    }
}

/// Everything that is read from the tree.
struct Parts {
    file: File,
    axes: Vec<Axis>,
    claims: Vec<Claim>,
    claim_places: Vec<[Place; 2]>,
    published: Vec<Published>,
}

impl Parts {
    fn of(doc: &At<Any>) -> Checked<Parts> {
        let file: File = decode(doc)?;
        let axes = sweep::axes(file.sweep.as_ref())?;
        sweep::refuse_repeats(&axes)?;
        let claims = file.expect.iter().enumerate().map(|(i, at)| claim(at, i + 1, &axes)).collect::<Checked<_>>()?;
        let claim_places = file.expect.iter().map(|at| [at.value.that.place, at.value.is.place]).collect();
        for figure in &file.figure {
            figure.value.parse::<Spec>().map_err(|e| Fault::at(figure.place, e.to_string()).under("figure"))?;
        }
        let mut published = published::read(file.published.as_ref())?;
        for cell in published.iter_mut().flat_map(|table| &mut table.cells) {
            if let Some(when) = &cell.when_at {
                check_when(&when.value, &axes).map_err(|f| f.under("published"))?;
                cell.when = sweep::alternatives(&when.value, &axes);
            }
        }
        Ok(Parts { file, axes, claims, claim_places, published })
    }
}

fn claim(at: &At<ExpectFile>, number: usize, axes: &[Axis]) -> Checked<Claim> {
    let expect = &at.value;
    let (metric, condition) = (expect.that.value.0.clone(), expect.is.value.0.clone());
    condition.check(&metric).map_err(|e| Fault::at(expect.is.place, e).under(format!("expect[{number}].is")))?;
    let when = pairs(expect.when.as_ref(), axes).map_err(|f| f.under(format!("expect[{number}].when")))?;
    let against = pairs(expect.against.as_ref(), axes).map_err(|f| f.under(format!("expect[{number}].against")))?;
    if let Some(other) = &expect.against
        && condition.figures().is_empty()
    {
        let message = "nothing on the right side of `is` comes from that case: write a figure there, as in \">= 2 * flow.a.share\"";
        return Err(Fault::at(other.place, message).under(format!("expect[{number}].against")));
    }
    let given = |key: &str| against.iter().any(|(k, _)| k == key);
    let groups = axes.iter().filter(|axis| axis.columns.iter().any(|c| given(&c.key.value)));
    let moved = groups.flat_map(|axis| axis.columns.iter().map(|c| c.key.value.clone())).collect();
    let (that, is) = (metric.to_string(), condition.write().show());
    let name = expect.name.clone().unwrap_or_else(|| format!("{that} {is}{}", with(&against)));
    let over = expect.over.as_ref().map_or(Over::Mean, |at| at.value.0.0);
    Ok(Claim { name, that, is, over, when, against, moved, metric, condition })
}

/// Keys and values of a `when` or `against`, checked; several values of a key one after the other.
fn pairs(when: Option<&At<WhenFile>>, axes: &[Axis]) -> Checked<Vec<(String, String)>> {
    let Some(when) = when else { return Ok(Vec::new()) };
    let Any::Table(table) = &when.value.0 else {
        return Err(Fault::at(when.place, "expected a table such as {\"path.rtt\" = \"40 ms\"}"));
    };
    check_when(table, axes)?;
    Ok(sweep::alternatives(table, axes))
}

/// Keys of a `when` must be swept, and to these values.
fn check_when(when: &Table, axes: &[Axis]) -> Checked<()> {
    for (key, value) in when {
        let columns = || axes.iter().flat_map(|axis| &axis.columns);
        let Some(column) = columns().find(|c| c.key.value == key.value) else {
            let keys: Vec<&str> = columns().map(|c| c.key.value.as_str()).collect();
            let near = did_you_mean(&key.value, keys.iter().copied());
            let all =
                if keys.is_empty() { "nothing is swept".into() } else { format!("swept are {}", keys.join(", ")) };
            return Err(Fault::at(key.place, format!("{:?} is not swept{near} ({all})", key.value)));
        };
        for one in column.alternatives(value) {
            if !column.takes(one) {
                let all: Vec<String> = column.values.iter().map(|v| v.show()).take(20).collect();
                let given = one.show();
                let message = format!("{} does not take the value {given:?} (it takes {})", key.value, all.join(", "));
                return Err(Fault::at(one.place, message));
            }
        }
    }
    Ok(())
}

impl Experiment {
    /// Overrides a value, as `--set path.rtt=80ms` does; `flow.a.cc.beta` reaches into `cubic(beta=0.7)`. A swept key
    /// keeps only this value, and claims and printed cells for others are dropped; a key beneath a swept one, such as
    /// `flow.a.cc.beta` where `flow.a.cc` is swept, is set in every case. Numbers, true, false and lists are read as TOML,
    /// everything else as text.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let text = format!("{key}={value}");
        let id = self.sources.add(Source { name: format!("--set {text}"), text, has_lines: false });
        let mut doc = self.doc.clone();
        match self.override_in(&mut doc, id, key, value) {
            Ok(parts) => {
                self.doc = doc;
                (self.file, self.axes, self.published) = (parts.file, parts.axes, parts.published);
                (self.claims, self.claim_places) = (parts.claims, parts.claim_places);
                Ok(())
            }
            Err(fault) => Err(self.sources.locate(fault)),
        }
    }

    fn override_in(&self, doc: &mut At<Any>, id: u32, key: &str, value: &str) -> Checked<Parts> {
        let key = At { value: key.trim().to_string(), place: Place::new(id, 0..key.len()) };
        let offset = key.place.end as usize + 1;
        let place = Place::new(id, offset..offset + value.len());
        if key.value.is_empty() || value.trim().is_empty() {
            let message = "write --set key=value, such as --set path.rtt=80ms";
            return Err(Fault::at(Place::new(id, 0..offset + value.len()), message));
        }
        let text = || At { value: Any::Text(value.trim().into()), place };
        let node = parse_value(value, id, offset).unwrap_or_else(text);
        let root = doc.value.as_table_mut();
        let swept = if let Some(swept) = key.value.strip_prefix("sweep.") {
            sweep::over(doc, At { value: swept.into(), place: key.place }, node)?;
            true
        } else {
            let sweep = root.and_then(|root| get_mut(root, "sweep"));
            let narrowed = sweep.map_or(Ok(false), |sweep| sweep::narrow(sweep, &key, &node))?;
            let beneath = !narrowed && sweep::is_beneath(&self.axes, &key.value);
            if beneath {
                // Every case sets the whole value (`flow.a.cc`) anew. As an axis of its own the setting is applied
                // after that.
                sweep::over(doc, key.clone(), At { value: Any::List(vec![node]), place })?;
            } else if !narrowed {
                assign::assign(doc, &key, node)?;
            }
            narrowed || beneath || key.value == "sweep"
        };
        if swept {
            normalise(doc)?;
            let axes = sweep::axes(doc.value.as_table_mut().and_then(|root| get(root, "sweep")))?;
            prune(doc, &axes);
        }
        Parts::of(doc)
    }

    /// The title, or nothing.
    pub fn title(&self) -> &str {
        self.file.title.as_deref().unwrap_or("")
    }

    /// The claims.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// The published tables.
    pub fn published(&self) -> &[Published] {
        &self.published
    }

    /// How the publication draws it: kinds of plots with their options.
    pub fn figures(&self) -> Vec<Spec> {
        self.file.figure.iter().filter_map(|text| text.value.parse().ok()).collect()
    }

    /// The swept keys with their values, in order; keys of a zip one after the other.
    pub fn swept(&self) -> Vec<(String, Vec<String>)> {
        let columns = self.axes.iter().flat_map(|axis| &axis.columns);
        columns.map(|c| (c.key.value.clone(), c.values.iter().map(|v| v.show()).collect())).collect()
    }

    /// The number of cases: 1 without a sweep.
    pub fn case_count(&self) -> usize {
        sweep::count(&self.axes).unwrap_or(0)
    }

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
        for (i, (claim, [that, is])) in self.claims.iter().zip(&self.claim_places).enumerate() {
            unseen.push((&claim.metric, *that, format!("expect[{}].that", i + 1)));
            let others = claim.condition.figures().into_iter();
            unseen.extend(others.map(|m| (m, *is, format!("expect[{}].is", i + 1))));
        }
        for cell in self.published.iter().flat_map(|table| &table.cells) {
            if !unseen.iter().any(|(m, ..)| **m == cell.metric) {
                unseen.push((&cell.metric, cell.place, "published".into()));
            }
        }
        let mut cases: Vec<Case> = Vec::new();
        let (mut runs, mut seen) = (0, BTreeMap::new());
        for index in 0..self.case_count() {
            let case = self.resolve(index, &bare)?;
            unseen.retain(|(metric, ..)| !names(&case.scenario, &metric.subject));
            let Run { seed, repeat, .. } = case.scenario.run;
            runs += u64::from(repeat);
            if let Some(earlier) = seen.insert((case.hash.clone(), seed, repeat), index) {
                return Err(sweep::same(&self.axes, earlier, index));
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
        match (unseen.first(), cases.first()) {
            (Some((metric, place, key)), Some(case)) => {
                Err(Fault::at(*place, unknown_subject(metric, &case.scenario)).under(key.clone()))
            }
            _ => Ok(cases),
        }
    }

    /// Where the repetitions were written.
    fn repeat_place(&self) -> Place {
        let swept = self.axes.iter().flat_map(|axis| &axis.columns).find(|c| c.key.value == "run.repeat");
        let written = self.file.run.as_ref().and_then(|run| run.value.repeat.as_ref());
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
        let mut picked = sweep::case(&self.axes, index);
        let values: Vec<(String, String)> = picked.iter().map(|(k, v)| (k.value.clone(), v.show())).collect();
        // Whole values before settings inside them (`flow.a.cc` before `flow.a.cc.beta`), in whatever order they were
        // written.
        picked.sort_by_key(|(key, _)| key.value.matches('.').count());
        for (key, value) in picked {
            assign::assign(&mut doc, key, value.clone()).map_err(|f| f.under("sweep"))?;
        }
        let context = Context { traces: &self.traces, extra_cc: &self.extra_cc };
        let resolved = decode::<File>(&doc).and_then(|file| scenario(&doc, &file, &context).map(|s| (file, s)));
        let (mut file, scenario) = resolved.map_err(|fault| {
            let list: Vec<String> = values.iter().map(|(k, v)| format!("{k} = {v}")).collect();
            fault.in_case(list.join(", "))
        })?;
        if let Some(run) = &mut file.run {
            (run.value.seed, run.value.repeat) = (None, None);
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

    /// The experiment as TOML, overrides included: keys in a fixed order, values with their units spelled one way.
    pub fn to_toml(&self) -> String {
        hash::canonical(&self.file)
    }

    /// 16 hexadecimal digits of what is run: [`to_toml`](Self::to_toml) without title, figures, claims, published numbers and
    /// the number of repetitions. Two spellings of the same experiment have the same; a corrected claim keeps it, and more
    /// repetitions join those that are there.
    pub fn hash(&self) -> String {
        let mut file =
            File { title: None, figure: Vec::new(), expect: Vec::new(), published: None, ..self.file.clone() };
        if let Some(run) = &mut file.run {
            run.value.repeat = None;
        }
        hash::hex(hash::text(file).as_bytes())
    }

    /// Judges every claim in every case it concerns. `summaries` are those of all finished repetitions; a claim that
    /// concerns a case of which none has finished fails.
    pub fn evaluate(&self, summaries: &[Json]) -> Vec<Verdict> {
        judge_all(&self.claims, (0..self.case_count()).map(|index| self.values(index)), summaries)
    }

    /// The cases that a printed cell or a claim speaks of, each with those that its claims compare it with; all, if
    /// nothing is printed or claimed of any.
    pub fn asked(&self) -> Vec<(usize, Vec<usize>)> {
        let cases: Vec<Json> = (0..self.case_count()).map(|index| self.values(index)).collect();
        let printed = |case: &Json| {
            let mut cells = self.published.iter().flat_map(|table| &table.cells);
            cells.any(|cell| matches_case(&cell.when, case))
        };
        let compared = |claim: &Claim, case: &Json| cases.iter().position(|other| claim.compares(case, other));
        let asked = cases.iter().enumerate().filter_map(|(index, case)| {
            let claims: Vec<&Claim> = self.claims.iter().filter(|claim| claim.concerns(case)).collect();
            let others = claims.iter().filter(|claim| !claim.against.is_empty());
            (!claims.is_empty() || printed(case))
                .then(|| (index, others.filter_map(|claim| compared(claim, case)).collect()))
        });
        let asked: Vec<_> = asked.collect();
        if asked.is_empty() { (0..cases.len()).map(|index| (index, Vec::new())).collect() } else { asked }
    }

    /// The swept values of a case, as in its summary.
    fn values(&self, index: usize) -> Json {
        let values = sweep::case(&self.axes, index).into_iter();
        Json::Object(values.map(|(key, value)| (key.value.clone(), Json::String(value.show()))).collect())
    }

    /// Sets every published table beside the figures of all finished repetitions.
    pub fn compare(&self, summaries: &[Json]) -> Vec<Comparison> {
        self.published.iter().map(|table| table.compare(summaries)).collect()
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
