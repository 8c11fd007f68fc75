//! Our figures beside the printed ones.

use crate::claim::{case_of, matches_case};
use crate::published::{Cell, Published};
use crate::stats;
use crate::tolerance::Tolerance;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// What became of a printed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// Our median lies within the tolerance.
    Within,
    /// It lies outside, or so does all of our spread (20th to 80th percentile), however wide.
    Outside,
    /// The tolerance is narrower than our own spread, which reaches into it: neither yes nor no.
    Undecided,
    /// The cell has no tolerance.
    Shown,
    /// The figure has no value in some run that counts, as a delay has none where nothing arrived: not reached.
    Absent,
    /// No repetition has finished, or of several cases none that all of them have.
    Missing,
}

/// A cell with our figure beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The printed cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Repetitions compared: those that have a value.
    pub n: usize,
    /// Our median.
    pub median: Option<f64>,
    /// 20th percentile of our runs.
    pub p20: Option<f64>,
    /// 80th percentile of our runs.
    pub p80: Option<f64>,
    /// Our median less the printed value, or less the nearest end of a printed range or bound; 0 within that.
    pub difference: Option<f64>,
    /// The verdict.
    pub verdict: Agreement,
}

/// [`OwnRuns`] are worked out only if every cell has this many runs.
const LEAST_RUNS: usize = 5;

/// How many cells agree if one of our own runs replaces the printed value and is judged against our other runs: the
/// score that a perfect copy could expect, less than all where single runs differ by more than the tolerance. Counts of
/// cells; the quantiles are over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OwnRuns {
    /// Cells that take part: numbers with a tolerance.
    pub cells: usize,
    /// Those of them whose printed value agrees: the real score.
    pub within: usize,
    /// 5th percentile over the runs.
    pub p5: f64,
    /// The median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
}

/// A table with our figures beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Which table or figure.
    pub title: String,
    /// Where it was printed.
    pub source: String,
    /// Its cells.
    pub cells: Vec<Compared>,
    /// For each column of `order` of which two rows or more were run: do these stand in the printed order?
    pub order: Vec<(String, bool)>,
    /// Judged cells within the tolerance.
    pub within: usize,
    /// Cells with a tolerance: within, outside, undecided, absent and missing ones. An undecided cell is no pass.
    pub judged: usize,
    /// What one of our runs would score in place of the printed values; `None` if a cell has fewer than five runs.
    pub own: Option<OwnRuns>,
}

/// The middle and the ends of our spread.
struct Spread {
    p20: f64,
    median: f64,
    p80: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Option<Spread> {
        let at = |q| stats::quantile(values, q);
        Some(Spread { p20: at(0.2)?, median: at(0.5)?, p80: at(0.8)? })
    }

    /// Our runs against what is allowed.
    fn judge(&self, (low, high): (f64, f64), by_ratio: bool) -> Agreement {
        let Spread { p20, median, p80 } = *self;
        let is_wider = if by_ratio && p20 > 0.0 && low > 0.0 { p80 / p20 > high / low } else { p80 - p20 > high - low };
        if p80 < low || p20 > high {
            Agreement::Outside
        } else if is_wider {
            Agreement::Undecided
        } else if (low..=high).contains(&median) {
            Agreement::Within
        } else {
            Agreement::Outside
        }
    }
}

/// A finished repetition and the number of its case.
struct Finished<'a> {
    case: usize,
    seed: u64,
    summary: &'a Json,
}

impl Cell {
    /// Our figure in each repetition that all cases of the cell have finished; `None` where it has no value in one of them.
    fn values(&self, runs: &[Finished<'_>], cases: &[Json]) -> Vec<Option<f64>> {
        let asked: Vec<bool> = cases.iter().map(|case| matches_case(&self.when, case)).collect();
        // Where the first seed is swept, cases with another one have repetitions of their own.
        let begin = |case: usize| cases[case].get("run.seed").map(Json::to_string);
        let mut together: BTreeMap<Option<String>, usize> = BTreeMap::new();
        for case in (0..cases.len()).filter(|case| asked[*case]) {
            *together.entry(begin(case)).or_default() += 1;
        }
        // Of several cases the mean counts, by repetition: so the spread is that of the seeds, not of the cases.
        let mut repetitions: BTreeMap<(Option<String>, u64), BTreeMap<usize, Option<f64>>> = BTreeMap::new();
        for run in runs.iter().filter(|run| asked[run.case]) {
            let one = repetitions.entry((begin(run.case), run.seed)).or_default();
            one.insert(run.case, self.metric.of(run.summary));
        }
        let whole = repetitions.iter().filter(|((begin, _), of)| together.get(begin) == Some(&of.len()));
        let mean =
            |of: &BTreeMap<usize, Option<f64>>| stats::mean(&of.values().copied().collect::<Option<Vec<f64>>>()?);
        whole.map(|(_, of)| mean(of)).collect()
    }

    fn is_ratio(&self) -> bool {
        self.tolerance.as_ref().is_some_and(Tolerance::is_ratio)
    }

    /// Our figure beside it: the median over all repetitions.
    fn compare(&self, repetitions: &[Option<f64>]) -> Compared {
        let values: Vec<f64> = repetitions.iter().copied().flatten().collect();
        let spread = Spread::of(&values);
        let verdict = match (&spread, self.low.zip(self.high)) {
            _ if values.len() < repetitions.len() => Agreement::Absent,
            (None, _) => Agreement::Missing,
            (Some(_), None) => Agreement::Shown,
            (Some(spread), Some(allowed)) => spread.judge(allowed, self.is_ratio()),
        };
        let of = |what: fn(&Spread) -> f64| spread.as_ref().map(what);
        let median = of(|s| s.median);
        let difference = median.map(|m| m - m.clamp(self.range.0, self.range.1));
        let (p20, p80) = (of(|s| s.p20), of(|s| s.p80));
        Compared { cell: self.clone(), n: values.len(), median, p20, p80, difference, verdict }
    }

    /// Would the cell agree if `values[printed]` had been printed and the others were all our runs?
    fn agrees_with_itself(&self, values: &[f64], printed: usize) -> bool {
        let mut others = values.to_vec();
        let printed = others.swap_remove(printed);
        let allowed = self.tolerance.as_ref().and_then(|t| t.bounds(printed, self.metric.unit()).ok());
        Spread::of(&others)
            .zip(allowed)
            .is_some_and(|(s, allowed)| s.judge(allowed, self.is_ratio()) == Agreement::Within)
    }
}

impl OwnRuns {
    fn of(compared: &[Compared], repetitions: &[Vec<Option<f64>>]) -> Option<OwnRuns> {
        // A cell of which some run has no value has none that could stand in print's place.
        let whole = repetitions.iter().map(|all| all.iter().copied().collect::<Option<Vec<f64>>>().unwrap_or_default());
        let takes_part = |(c, values): &(&Compared, Vec<f64>)| c.cell.tolerance.is_some() && !values.is_empty();
        let able: Vec<_> = compared.iter().zip(whole).filter(takes_part).collect();
        let runs = able.iter().map(|(_, values)| values.len()).max()?;
        if able.iter().any(|(_, values)| values.len() < LEAST_RUNS) {
            return None;
        }
        // Each cell takes another run: those of one seed have their dice in common, the cells of a publication do not.
        let score = |run: usize| {
            let agrees = |(n, (c, values)): &(usize, &(&Compared, Vec<f64>))| {
                c.cell.agrees_with_itself(values, (run + n) % values.len())
            };
            able.iter().enumerate().filter(agrees).count() as f64
        };
        let scores: Vec<f64> = (0..runs).map(score).collect();
        let at = |q| stats::quantile(&scores, q);
        let within = able.iter().filter(|(c, _)| c.verdict == Agreement::Within).count();
        Some(OwnRuns { cells: able.len(), within, p5: at(0.05)?, median: at(0.5)?, p95: at(0.95)? })
    }
}

impl Published {
    /// Compares with the summaries of all runs so far, of these cases.
    pub fn compare(&self, summaries: &[Json], cases: &[Json]) -> Comparison {
        let known: BTreeMap<String, usize> = cases.iter().enumerate().map(|(i, case)| (case.to_string(), i)).collect();
        let mut runs = Vec::new();
        for (n, summary) in summaries.iter().enumerate() {
            if let Some(case) = known.get(&case_of(Some(summary)).to_string()) {
                let seed = summary.get("seed").and_then(Json::as_u64).unwrap_or(n as u64);
                runs.push(Finished { case: *case, seed, summary });
            }
        }
        let values: Vec<Vec<Option<f64>>> = self.cells.iter().map(|cell| cell.values(&runs, cases)).collect();
        let cells: Vec<Compared> = self.cells.iter().zip(&values).map(|(cell, values)| cell.compare(values)).collect();
        let ordered = |column: &String| {
            let of_column = cells.iter().filter(|c| &c.cell.column == column && c.verdict != Agreement::Absent);
            let mut ours: Vec<(f64, f64)> = of_column.filter_map(|c| Some((c.cell.value, c.median?))).collect();
            ours.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            // Equal printed values stand in no order among themselves: by ours here.
            let mut alike = ours.chunk_by(|a, b| a.0 == b.0);
            let kept =
                alike.try_fold(f64::NEG_INFINITY, |most, group| (most <= group[0].1).then(|| group[group.len() - 1].1));
            (ours.len() > 1).then(|| (column.clone(), kept.is_some()))
        };
        let count = |verdicts: &[Agreement]| cells.iter().filter(|c| verdicts.contains(&c.verdict)).count();
        Comparison {
            title: self.title.clone(),
            source: self.source.clone(),
            order: self.order.iter().filter_map(ordered).collect(),
            within: count(&[Agreement::Within]),
            judged: cells.iter().filter(|c| c.cell.low.is_some()).count(),
            own: OwnRuns::of(&cells, &values),
            cells,
        }
    }
}

#[cfg(test)]
mod tests;
