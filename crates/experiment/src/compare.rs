//! Our figures beside the printed ones.

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
    /// No run of its case has finished.
    Missing,
}

/// A cell with our figure beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The printed cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// Runs compared.
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
    /// Cells with a tolerance: within, outside, undecided and missing ones. An undecided cell is no pass.
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

impl Cell {
    /// Our figure in each run of its case.
    fn values(&self, runs: &[&Json]) -> Vec<f64> {
        // Of several cases the mean counts, by repetition: so the spread is that of the seeds, not of the cases.
        let mut seeds: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (n, run) in runs.iter().enumerate() {
            let seed = run.get("seed").and_then(Json::as_u64).unwrap_or(n as u64);
            seeds.entry(seed).or_default().extend(self.metric.of(run));
        }
        seeds.values().filter_map(|cases| stats::mean(cases)).collect()
    }

    fn is_ratio(&self) -> bool {
        self.tolerance.as_ref().is_some_and(Tolerance::is_ratio)
    }

    /// Our figure beside it: the median over all runs of its case.
    fn compare(&self, values: &[f64]) -> Compared {
        let spread = Spread::of(values);
        let verdict = match (&spread, self.low.zip(self.high)) {
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
    fn of(compared: &[Compared], values: &[Vec<f64>]) -> Option<OwnRuns> {
        let takes_part = |(c, values): &(&Compared, &Vec<f64>)| c.cell.tolerance.is_some() && !values.is_empty();
        let able: Vec<_> = compared.iter().zip(values).filter(takes_part).collect();
        let runs = able.iter().map(|(_, values)| values.len()).max()?;
        if able.iter().any(|(_, values)| values.len() < LEAST_RUNS) {
            return None;
        }
        // Each cell takes another run: those of one seed have their dice in common, the cells of a publication do not.
        let score = |run: usize| {
            let agrees = |(n, (c, values)): &(usize, &(&Compared, &Vec<f64>))| {
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
    /// Compares with the summaries of all runs so far.
    pub fn compare(&self, summaries: &[Json]) -> Comparison {
        let of_case = |cell: &Cell| -> Vec<&Json> {
            let here = |s: &&Json| crate::claim::matches_case(&cell.when, s.get("case").unwrap_or(&Json::Null));
            summaries.iter().filter(here).collect()
        };
        let values: Vec<Vec<f64>> = self.cells.iter().map(|cell| cell.values(&of_case(cell))).collect();
        let cells: Vec<Compared> = self.cells.iter().zip(&values).map(|(cell, values)| cell.compare(values)).collect();
        let ordered = |column: &String| {
            let of_column = cells.iter().filter(|c| &c.cell.column == column);
            let mut ours: Vec<(f64, f64)> = of_column.filter_map(|c| Some((c.cell.value, c.median?))).collect();
            ours.sort_by(|a, b| a.0.total_cmp(&b.0));
            // Equal printed values stand in no order.
            let kept = ours.windows(2).all(|w| w[0].0 == w[1].0 || w[0].1 <= w[1].1);
            (ours.len() > 1).then(|| (column.clone(), kept))
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
mod tests {
    use super::*;
    use crate::published::read;
    use crate::source::Checked;
    use crate::tree::{Any, get, parse_document};

    fn read_text(text: &str) -> Checked<Vec<Published>> {
        let doc = parse_document(text, 0)?;
        let Any::Table(table) = &doc.value else { unreachable!("a document is a table") };
        read(get(table, "published"))
    }

    #[test]
    fn cells_are_judged_by_median_and_spread() {
        let tables = read_text(
            r#"
            [published]
            tolerance = "2 ms"
            columns = { mean = "link.l.queue_ms.mean" }
            row = [
              {when = {k = "a"}, values = {mean = 10}}, {when = {k = "b"}, values = {mean = 20}},
              {when = {k = "c"}, values = {mean = 30}}, {when = {k = "d"}, values = {mean = 40}},
            ]
            "#,
        )
        .unwrap();
        let run = |k: &str, ms: f64| serde_json::json!({"case": {"k": k}, "links": [{"name": "l", "queue_ms": {"mean": ms}}]});
        let runs = [run("a", 11.0), run("a", 10.5), run("b", 25.0), run("c", 20.0), run("c", 30.0), run("c", 40.0)];
        let compared = tables[0].compare(&runs);
        let verdicts: Vec<Agreement> = compared.cells.iter().map(|c| c.verdict).collect();
        assert_eq!(verdicts, [Agreement::Within, Agreement::Outside, Agreement::Undecided, Agreement::Missing]);
        assert_eq!((compared.within, compared.judged), (1, 4));
    }

    /// A table of one column, the queue's mean, and the runs of each row.
    fn of_runs(tolerance: &str, rows: &[(f64, &[f64])]) -> Comparison {
        let line = |(n, (printed, _)): (usize, &(f64, &[f64]))| {
            format!("{{when = {{k = \"{n}\"}}, values = {{mean = {printed}}}}}, ")
        };
        let lines: String = rows.iter().enumerate().map(line).collect();
        let columns = "columns = { mean = \"link.l.queue_ms.mean\" }";
        let text = format!("[published]\ntolerance = \"{tolerance}\"\n{columns}\nrow = [{lines}]");
        let mut runs = Vec::new();
        for (n, (_, values)) in rows.iter().enumerate() {
            for (seed, ms) in values.iter().enumerate() {
                let links = serde_json::json!([{"name": "l", "queue_ms": {"mean": ms}}]);
                runs.push(serde_json::json!({"seed": seed, "case": {"k": n.to_string()}, "links": links}));
            }
        }
        read_text(&text).unwrap()[0].compare(&runs)
    }

    #[test]
    fn a_spread_is_set_beside_a_factor_as_a_ratio() {
        // 2 to 8 around 4 is a factor of four. So is our spread if it goes from 1.1 to 4.4, though it is half as long, and
        // from 3 to 9 it is narrower, though as long.
        let verdict = |tolerance, runs: &[f64]| of_runs(tolerance, &[(4.0, runs)]).cells[0].verdict;
        assert_eq!(verdict("factor 2", &[1.1, 1.1, 4.5, 4.5]), Agreement::Undecided);
        assert_eq!(verdict("3 ms", &[1.1, 1.1, 4.5, 4.5]), Agreement::Within);
        assert_eq!(verdict("factor 2", &[3.0, 3.0, 4.0, 9.5, 9.5]), Agreement::Within);
        assert_eq!(verdict("3 ms", &[3.0, 3.0, 4.0, 9.5, 9.5]), Agreement::Undecided);
    }

    #[test]
    fn a_run_of_ours_in_the_place_of_print_scores_what_single_runs_allow() {
        // A figure without dice agrees with itself, be print where it may; of nine runs the one that is not like the
        // others does not.
        let rare = [1.0, 1.0, 10.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let own = of_runs("30 %", &[(70.0, &[7.0; 9]), (1.0, &rare)]).own.unwrap();
        assert_eq!((own.cells, own.within, own.p5, own.median, own.p95), (2, 1, 1.4, 2.0, 2.0));
        // A spread as wide as this decides nothing.
        let dice = [1.0, 10.0, 1.0, 1.0, 10.0, 1.0, 1.0, 10.0, 1.0];
        assert_eq!(of_runs("30 %", &[(1.0, &dice)]).own.unwrap().median, 0.0);
        assert_eq!(of_runs("30 %", &[(1.0, &dice[..4])]).own, None, "too few to tell");
    }

    #[test]
    fn rows_that_were_run_stand_in_the_printed_order_or_do_not() {
        let tables = read_text(
            r#"
            [published]
            order = ["mean"]
            columns = { mean = "link.l.queue_ms.mean" }
            row = [
              {when = {k = "a"}, values = {mean = 10}}, {when = {k = "b"}, values = {mean = 20}},
              {when = {k = "c"}, values = {mean = 30}},
            ]
            "#,
        )
        .unwrap();
        let run = |k: &str, ms: f64| serde_json::json!({"case": {"k": k}, "links": [{"name": "l", "queue_ms": {"mean": ms}}]});
        let order = |runs: &[(&str, f64)]| {
            let runs: Vec<Json> = runs.iter().map(|(k, ms)| run(k, *ms)).collect();
            tables[0].compare(&runs).order.first().map(|(_, kept)| *kept)
        };
        assert_eq!(order(&[("a", 1.0), ("b", 2.0), ("c", 3.0)]), Some(true));
        assert_eq!(order(&[("a", 1.0), ("b", 4.0), ("c", 3.0)]), Some(false));
        assert_eq!(order(&[("a", 1.0), ("c", 3.0)]), Some(true));
        assert_eq!(order(&[("b", 1.0)]), None);
    }

    #[test]
    fn of_several_cases_the_mean_of_each_repetition_counts() {
        let tables = read_text(
            r#"
            [published]
            columns = { jain = { that = "fairness.jain", tolerance = "0.1" } }
            [[published.row]]
            values = { jain = 0.5 }
            "#,
        );
        let run = |seed: u64, rtt: &str, jain: f64| serde_json::json!({"seed": seed, "case": {"path.rtt": rtt}, "fairness": {"jain": jain}});
        let runs = [run(1, "10 ms", 0.2), run(1, "40 ms", 0.7), run(2, "10 ms", 0.3), run(2, "40 ms", 0.8)];
        let cell = &tables.unwrap()[0].compare(&runs).cells[0];
        assert_eq!((cell.n, cell.median, cell.verdict), (2, Some(0.5), Agreement::Within));
    }

    #[test]
    fn a_spread_all_outside_is_outside_and_ranges_and_bounds_are_judged_by_their_ends() {
        let tables = read_text(
            r#"
            [[published]]
            tolerance = "2 ms"
            columns = { mean = "link.l.queue_ms.mean" }
            row = [{values = {mean = 10}}]
            [[published]]
            columns = { mean = "link.l.queue_ms.mean" }
            row = [{values = {mean = "30 to 50"}}, {values = {mean = "< 20"}}, {values = {mean = "> 20"}}]
            "#,
        )
        .unwrap();
        let run = |ms: f64| serde_json::json!({"case": {}, "links": [{"name": "l", "queue_ms": {"mean": ms}}]});
        let runs = [run(20.0), run(40.0), run(60.0)];
        assert_eq!(tables[0].compare(&runs).cells[0].verdict, Agreement::Outside);
        let compared = tables[1].compare(&runs);
        let verdicts: Vec<_> = compared.cells.iter().map(|c| (c.verdict, c.difference)).collect();
        let expected = [(Agreement::Undecided, 0.0), (Agreement::Outside, 20.0), (Agreement::Within, 0.0)];
        assert_eq!(verdicts, expected.map(|(v, d)| (v, Some(d))));
        assert_eq!((compared.within, compared.judged), (1, 3));
    }
}
