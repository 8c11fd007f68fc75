//! Our figures beside the printed ones.

use crate::published::{Cell, Published};
use crate::stats;
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
}

impl Cell {
    /// Our figure beside it: the median over all runs of its case.
    pub(crate) fn compare(&self, runs: &[&Json]) -> Compared {
        // Of several cases the mean counts, by repetition: so the spread is that of the seeds, not of the cases.
        let mut seeds: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (n, run) in runs.iter().enumerate() {
            let seed = run.get("seed").and_then(Json::as_u64).unwrap_or(n as u64);
            seeds.entry(seed).or_default().extend(self.metric.of(run));
        }
        let values: Vec<f64> = seeds.values().filter_map(|cases| stats::mean(cases)).collect();
        let at = |q| stats::quantile(&values, q);
        let (median, p20, p80) = (at(0.5), at(0.2), at(0.8));
        let verdict = match (median, p20, p80, self.low, self.high) {
            (None, ..) => Agreement::Missing,
            (Some(m), Some(p20), Some(p80), Some(low), Some(high)) => {
                if p80 < low || p20 > high {
                    Agreement::Outside
                } else if p80 - p20 > high - low {
                    Agreement::Undecided
                } else if (low..=high).contains(&m) {
                    Agreement::Within
                } else {
                    Agreement::Outside
                }
            }
            _ => Agreement::Shown,
        };
        let difference = median.map(|m| m - m.clamp(self.range.0, self.range.1));
        Compared { cell: self.clone(), n: values.len(), median, p20, p80, difference, verdict }
    }
}

impl Published {
    /// Compares with the summaries of all runs so far.
    pub fn compare(&self, summaries: &[Json]) -> Comparison {
        let of_case = |cell: &Cell| -> Vec<&Json> {
            let here = |s: &&Json| crate::claim::matches_case(&cell.when, s.get("case").unwrap_or(&Json::Null));
            summaries.iter().filter(here).collect()
        };
        let cells: Vec<Compared> = self.cells.iter().map(|cell| cell.compare(&of_case(cell))).collect();
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
