use super::*;
use crate::published::read;
use crate::source::Checked;
use crate::tree::{Any, get, parse_document};

fn read_text(text: &str) -> Checked<Vec<Published>> {
    let doc = parse_document(text, 0)?;
    let Any::Table(table) = &doc.value else { unreachable!("a document is a table") };
    read(get(table, "published"))
}

/// A table beside these runs, of whose cases each is there.
fn beside(table: &Published, runs: &[Json]) -> Comparison {
    let mut cases: Vec<Json> = Vec::new();
    for run in runs {
        if !cases.contains(&run["case"]) {
            cases.push(run["case"].clone());
        }
    }
    table.compare(runs, &cases)
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
    let run =
        |k: &str, ms: f64| serde_json::json!({"case": {"k": k}, "links": [{"name": "l", "queue_ms": {"mean": ms}}]});
    let runs = [run("a", 11.0), run("a", 10.5), run("b", 25.0), run("c", 20.0), run("c", 30.0), run("c", 40.0)];
    let compared = beside(&tables[0], &runs);
    let verdicts: Vec<Agreement> = compared.cells.iter().map(|c| c.verdict).collect();
    assert_eq!(verdicts, [Agreement::Within, Agreement::Outside, Agreement::Undecided, Agreement::Missing]);
    assert_eq!((compared.within, compared.judged), (1, 4));
}

fn of_runs(tolerance: &str, rows: &[(f64, &[f64])]) -> Comparison {
    let (table, runs) = of_rows(tolerance, rows);
    beside(&table, &runs)
}

/// A table of one column, the queue's mean, and the runs of each row.
fn of_rows(tolerance: &str, rows: &[(f64, &[f64])]) -> (Published, Vec<Json>) {
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
    (read_text(&text).unwrap().remove(0), runs)
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
    let run =
        |k: &str, ms: f64| serde_json::json!({"case": {"k": k}, "links": [{"name": "l", "queue_ms": {"mean": ms}}]});
    let order = |runs: &[(&str, f64)]| {
        let runs: Vec<Json> = runs.iter().map(|(k, ms)| run(k, *ms)).collect();
        beside(&tables[0], &runs).order.first().map(|(_, kept)| *kept)
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
    let cell = &beside(&tables.unwrap()[0], &runs).cells[0];
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
    assert_eq!(beside(&tables[0], &runs).cells[0].verdict, Agreement::Outside);
    let compared = beside(&tables[1], &runs);
    let verdicts: Vec<_> = compared.cells.iter().map(|c| (c.verdict, c.difference)).collect();
    let expected = [(Agreement::Undecided, 0.0), (Agreement::Outside, 20.0), (Agreement::Within, 0.0)];
    assert_eq!(verdicts, expected.map(|(v, d)| (v, Some(d))));
    assert_eq!((compared.within, compared.judged), (1, 3));
}

#[test]
fn of_equal_printed_values_each_stands_before_the_next_greater() {
    let order = |ours: &[f64]| {
        let rows: Vec<(f64, [f64; 1])> = [0.1, 0.2, 0.2, 0.3].into_iter().zip(ours.iter().map(|x| [*x])).collect();
        let rows: Vec<(f64, &[f64])> = rows.iter().map(|(printed, ours)| (*printed, &ours[..])).collect();
        ordered(&rows)
    };
    assert!(order(&[0.05, 0.07, 0.06, 0.07]), "equal ones in any order");
    assert!(!order(&[0.05, 0.5, 0.06, 0.07]), "0.5 stands before 0.07");
    assert!(!order(&[0.065, 0.07, 0.06, 0.08]), "0.065 before 0.06");
}

/// Do these rows stand in the printed order?
fn ordered(rows: &[(f64, &[f64])]) -> bool {
    let mut table = of_rows("1 ms", rows);
    table.0.order = vec!["mean".into()];
    beside(&table.0, &table.1).order[0].1
}
