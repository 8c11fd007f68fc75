//! The experiment: a tree of values, overridden, swept, and resolved case by case.

mod cases;
mod parts;

pub use self::cases::Case;

use self::parts::Parts;
use crate::claim::{Claim, Others, Verdict, judge_all, matches_case};
use crate::compare::Comparison;
use crate::limits::TEXT_MAX;
use crate::prune::prune;
use crate::published::Published;
use crate::raw::{File, refuse_other_format};
use crate::source::{Checked, Fault, Place, Source, Sources};
use crate::sweep::{self, Axis};
use crate::trace::Traces;
use crate::tree::{Any, At, get, get_mut, parse_document, parse_value};
use crate::{Error, assign, hash, line};
use params::Spec;
use serde_json::Value as Json;
use std::path::Path;

/// An experiment as written, with overrides applied: syntax, keys, units and words are checked. What depends on several
/// values together is checked case by case, so that overrides may complete a file.
#[derive(Clone, Debug)]
pub struct Experiment {
    doc: At<Any>,
    parts: Parts,
    /// Where the file's claims stand.
    claims_at: Vec<Place>,
    sources: Sources,
    traces: Traces,
    extra_cc: Vec<String>,
}

/// Parses a file, or the one-line form: of a file too, unless its name says otherwise. Without a name, or with one such
/// as `<command line>`, the text did not come from a file. Traces named in it are looked for beside `file`. The error
/// is the first mistake, with its place.
pub fn parse(text: &str, file: &str) -> Result<Experiment, Error> {
    parse_with(text, file, &[])
}

/// As [`parse`], with congestion controls that the registry does not know, such as classes in Python.
pub fn parse_with(text: &str, file: &str, extra_cc: &[&str]) -> Result<Experiment, Error> {
    let is_line = if named(file) { line::is_one_line(text) } else { line::is_one_line(text) || line::is_meant(text) };
    if is_line && !is_toml(text, file) { line_with(text, file, extra_cc) } else { toml_with(text, file, extra_cc) }
}

/// Whether a mistake in this single line is to be told as one of TOML: the file says that it is, or there is no colon,
/// without which the line is neither.
fn is_toml(text: &str, file: &str) -> bool {
    named(file) && (file.ends_with(".toml") || !text.contains(':'))
}

fn named(file: &str) -> bool {
    !file.is_empty() && !file.starts_with('<')
}

/// The folder that files named in a text are looked for in.
fn folder(file: &str) -> &Path {
    let beside = if named(file) { Path::new(file).parent() } else { None };
    beside.unwrap_or(Path::new(""))
}

fn line_with(text: &str, file: &str, extra_cc: &[&str]) -> Result<Experiment, Error> {
    let source = if named(file) {
        Source { name: file.into(), text: text.trim_end().into(), has_lines: true }
    } else {
        Source { name: format!("{:?}", text.trim()), text: text.trim().into(), has_lines: false }
    };
    begin(source, folder(file), extra_cc, line::read)
}

fn toml_with(text: &str, file: &str, extra_cc: &[&str]) -> Result<Experiment, Error> {
    let source = Source { name: file.into(), text: text.into(), has_lines: true };
    begin(source, folder(file), extra_cc, |text| parse_document(text, 0))
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
            refuse_other_format(&doc)?;
            assign::name_flows(&mut doc);
            normalise(&mut doc)?;
            Parts::of(&doc, &[]).map(|parts| (doc, parts))
        })
    };
    match result {
        Ok((doc, parts)) => Ok(Experiment {
            claims_at: parts.file.expect.iter().map(|at| at.place).collect(),
            doc,
            parts,
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

fn override_in(doc: &mut At<Any>, id: u32, key: &str, value: &str) -> Checked<()> {
    let key = At { value: key.trim().to_string(), place: Place::new(id, 0..key.len()) };
    let offset = key.place.end as usize + 1;
    let place = Place::new(id, offset..offset + value.len());
    if key.value.is_empty() || value.trim().is_empty() {
        let message = "write --set key=value, such as --set path.rtt=80ms";
        return Err(Fault::at(Place::new(id, 0..offset + value.len()), message));
    }
    let text = || At { value: Any::Text(value.trim().into()), place };
    let node = parse_value(value, id, offset).unwrap_or_else(text);
    let before = axes(doc)?;
    if sweep::set(doc, &before, &key, node)? {
        normalise(doc)?;
        let after = axes(doc)?;
        prune(doc, &before, &after);
    }
    Ok(())
}

fn axes(doc: &At<Any>) -> Checked<Vec<Axis>> {
    match &doc.value {
        Any::Table(root) => sweep::axes(get(root, "sweep")),
        _ => Ok(Vec::new()),
    }
}

impl Experiment {
    /// Overrides a value, as `--set path.rtt=80ms` does; `flow.a.cc.beta` reaches into `cubic(beta=0.7)`. A swept key
    /// keeps only this value, and claims and printed cells for others, or for several of which one goes, are dropped; a key beneath a swept one, such as
    /// `flow.a.cc.beta` where `flow.a.cc` is swept, is set in every case, and so is a name that a swept pattern means.
    /// Numbers, true, false and lists are read as TOML, everything else as text.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        self.set_all([(key, value)])
    }

    /// Overrides several values, one after the other. What they make together is checked, so that they may complete each
    /// other, as `path.reorder.delay=5ms` and `path.reorder.probability=1%` do.
    pub fn set_all<'a>(&mut self, overrides: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<(), Error> {
        let mut doc = self.doc.clone();
        for (key, value) in overrides {
            let text = format!("{key}={value}");
            let id = self.sources.add(Source { name: format!("--set {text}"), text, has_lines: false });
            override_in(&mut doc, id, key, value).map_err(|fault| self.sources.locate(fault))?;
        }
        match Parts::of(&doc, &self.claims_at) {
            Ok(parts) => {
                (self.doc, self.parts) = (doc, parts);
                Ok(())
            }
            Err(fault) => Err(self.sources.locate(fault)),
        }
    }

    /// The title, or nothing.
    pub fn title(&self) -> &str {
        self.parts.file.title.as_deref().unwrap_or("")
    }

    /// The claims.
    pub fn claims(&self) -> &[Claim] {
        &self.parts.claims
    }

    /// The published tables.
    pub fn published(&self) -> &[Published] {
        &self.parts.published
    }

    /// How the publication draws it: kinds of plots with their options.
    pub fn figures(&self) -> Vec<Spec> {
        self.parts.file.figure.iter().filter_map(|text| text.value.parse().ok()).collect()
    }

    /// What is wrong with the figure of this number, counted from zero, where it was written: what draws knows more of
    /// kinds and options than is known here.
    pub fn misdrawn(&self, number: usize, message: &str) -> Error {
        match self.parts.file.figure.get(number) {
            Some(figure) => self.sources.locate(Fault::at(figure.place, message).under("figure")),
            None => Error::plain(message),
        }
    }

    /// The swept keys with their values, in order; keys of a zip one after the other.
    pub fn swept(&self) -> Vec<(String, Vec<String>)> {
        let columns = self.parts.axes.iter().flat_map(|axis| &axis.columns);
        columns.map(|c| (c.key.value.clone(), c.values.iter().map(|v| v.show()).collect())).collect()
    }

    /// The number of cases: 1 without a sweep.
    pub fn case_count(&self) -> usize {
        sweep::count(&self.parts.axes).unwrap_or(0)
    }

    /// The experiment as TOML, overrides included: keys in a fixed order, values with their units spelled one way.
    pub fn to_toml(&self) -> String {
        hash::canonical(&self.parts.file)
    }

    /// 16 hexadecimal digits of what is run: [`to_toml`](Self::to_toml) without title, figures, claims, published numbers and
    /// the number of repetitions. Two spellings of the same experiment have the same; a corrected claim keeps it, and more
    /// repetitions join those that are there.
    pub fn hash(&self) -> String {
        let mut file =
            File { title: None, figure: Vec::new(), expect: Vec::new(), published: None, ..self.parts.file.clone() };
        if let Some(run) = &mut file.run {
            run.value.repeat = None;
        }
        hash::hex(hash::text(file).as_bytes())
    }

    /// Judges every claim in every case it concerns. `summaries` are those of all finished repetitions; a claim that
    /// concerns a case of which none has finished is not judged. An error where an `against` fits several cases, which
    /// [`cases`](Self::cases) refuses, too.
    pub fn evaluate(&self, summaries: &[Json]) -> Result<Vec<Verdict>, Error> {
        judge_all(&self.parts.claims, self.all_values().into_iter(), summaries)
            .map_err(|fault| self.sources.locate(fault))
    }

    /// The cases that a printed cell or a claim speaks of, each with those that its claims compare it with; all, if
    /// nothing is printed or claimed of any. An error as of [`evaluate`](Self::evaluate).
    pub fn asked(&self) -> Result<Vec<(usize, Vec<usize>)>, Error> {
        let cases = self.all_values();
        let printed = |case: &Json| {
            let mut cells = self.parts.published.iter().flat_map(|table| &table.cells);
            cells.any(|cell| matches_case(&cell.when, case))
        };
        let compared = self.compared(&cases).map_err(|fault| self.sources.locate(fault))?;
        let asked = cases.iter().zip(compared).enumerate();
        let asked: Vec<_> = asked
            .filter_map(|(index, (case, of))| (of.is_some() || printed(case)).then(|| (index, of.unwrap_or_default())))
            .collect();
        Ok(if asked.is_empty() { (0..cases.len()).map(|index| (index, Vec::new())).collect() } else { asked })
    }

    /// For each case those that its claims compare it with; `None` where no claim concerns it.
    fn compared(&self, cases: &[Json]) -> Checked<Vec<Option<Vec<usize>>>> {
        let mut compared = vec![None; cases.len()];
        for claim in &self.parts.claims {
            let others = Others::of(claim, cases.iter());
            for (case, of) in cases.iter().zip(&mut compared).filter(|(case, _)| claim.concerns(case)) {
                let other = others.beside(case).map_err(|fault| fault.under(claim.written()))?;
                of.get_or_insert_with(Vec::new).extend(other);
            }
        }
        Ok(compared)
    }

    /// The swept values of every case.
    fn all_values(&self) -> Vec<Json> {
        (0..self.case_count()).map(|index| self.values(index)).collect()
    }

    /// The swept values of a case, as in its summary.
    fn values(&self, index: usize) -> Json {
        let values = sweep::case(&self.parts.axes, index).into_iter();
        Json::Object(values.map(|(key, value)| (key.value.clone(), Json::String(value.show()))).collect())
    }

    /// Sets every published table beside the figures of all finished repetitions.
    pub fn compare(&self, summaries: &[Json]) -> Vec<Comparison> {
        let cases = self.all_values();
        self.parts.published.iter().map(|table| table.compare(summaries, &cases)).collect()
    }
}
