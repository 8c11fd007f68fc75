//! Published tables beside runs: which runs a cell is judged on, and what overrides leave of a table.

use experiment::{Agreement, Compared, Experiment, parse};
use serde_json::{Value as Json, json};

const BASE: &str = "[path]\nrate = \"12 Mbit/s\"\nrtt = \"40 ms\"\n[[flow]]\nname = \"a\"\ncc = \"newreno\"\n";
const RTTS: &str = "[sweep]\n\"path.rtt\" = [\"10 ms\", \"40 ms\"]\n";
const COLUMNS: &str = "[published]\ntolerance = \"1 point\"\ncolumns = {loss = \"flow.a.loss_pct\", lost = {that = \"flow.a.lost\", tolerance = 1}}\n";

fn good(text: &str) -> Experiment {
    parse(text, "x.toml").unwrap_or_else(|e| panic!("{e:#}"))
}

fn table(sweep: &str, row: &str) -> Experiment {
    good(&format!("{BASE}{sweep}{COLUMNS}row = [{{{row}, values = {{loss = 2}}}}]\n"))
}

fn run(case: Json, seed: u32, loss: Json) -> Json {
    json!({"case": case, "seed": seed, "flows": [{"name": "a", "loss_pct": loss}]})
}

fn only(e: &Experiment, runs: &[Json]) -> Compared {
    e.compare(runs)[0].cells[0].clone()
}

#[test]
fn a_cell_of_several_cases_takes_the_repetitions_that_all_of_them_have() {
    let e = table(RTTS, "when = {\"path.rtt\" = [\"10 ms\", \"40 ms\"]}");
    let of = |rtt: &str, seed, loss: f64| run(json!({"path.rtt": rtt}), seed, loss.into());
    let runs = [of("10 ms", 1, 1.0), of("40 ms", 1, 3.0), of("10 ms", 2, 2.5)];
    let told = |runs: &[Json]| {
        let cell = only(&e, runs);
        (cell.verdict, cell.n, cell.median)
    };
    assert_eq!(told(&runs[..1]), (Agreement::Missing, 0, None), "10 ms alone say nothing of both");
    assert_eq!(told(&runs), (Agreement::Within, 1, Some(2.0)), "the second is of 10 ms alone");
    // Runs of a case that the experiment has not are of another one.
    let other = of("80 ms", 1, 90.0);
    assert_eq!(told(&[&runs[..], &[other]].concat()), (Agreement::Within, 1, Some(2.0)));
    // Cases whose seeds begin elsewhere are repetitions of their own.
    let e = table("[sweep]\n\"run.seed\" = [1, 1001]\n", "name = \"all\"");
    let of = |first: u32, seed| run(json!({"run.seed": first.to_string()}), seed, 2.into());
    assert_eq!(only(&e, &[of(1, 1), of(1, 2), of(1001, 1001), of(1001, 1002)]).n, 4);
}

#[test]
fn a_cell_without_a_value_in_some_run_is_not_within() {
    let e = table("", "name = \"all\"");
    let runs = |losses: &[Option<f64>]| -> Vec<Json> {
        losses.iter().zip(1..).map(|(loss, seed)| run(json!({}), seed, json!(loss))).collect()
    };
    let compared = |losses: &[Option<f64>]| e.compare(&runs(losses)).remove(0);
    for (losses, verdict, n) in [
        (&[Some(2.0); 10][..], Agreement::Within, 10),
        (&[Some(2.0), None, None, None, None], Agreement::Absent, 1),
        (&[None, None], Agreement::Absent, 0),
        (&[], Agreement::Missing, 0),
    ] {
        let table = compared(losses);
        assert_eq!((table.cells[0].verdict, table.cells[0].n, table.judged), (verdict, n, 1), "{losses:?}");
        assert_eq!(table.within, usize::from(verdict == Agreement::Within));
    }
    // Nor has it a part in what chance would score.
    let six = [Some(2.0), Some(2.0), Some(2.0), Some(2.0), Some(2.0), None];
    assert!(compared(&six[..5]).own.is_some() && compared(&six).own.is_none());
    assert_eq!(serde_json::to_value(compared(&six)).unwrap()["cells"][0]["verdict"], "absent");
}

#[test]
fn an_override_leaves_the_order_of_the_columns_that_are_left() {
    let rows = "order = [\"loss\"]\nrow = [{when = {\"path.rtt\" = \"10 ms\"}, values = {loss = 2}}, \
                {when = {\"path.rtt\" = \"40 ms\"}, values = {lost = 3}}]\n";
    let mut e = good(&format!("{BASE}{RTTS}{COLUMNS}{rows}"));
    e.set("path.rtt", "40 ms").unwrap_or_else(|e| panic!("{e:#}"));
    assert_eq!((e.published()[0].cells.len(), e.published()[0].order.as_slice()), (1, &["loss".to_string()][..]));
    let sweep = format!("{RTTS}\"path.rate\" = [\"4 Mbit/s\", \"12 Mbit/s\"]\n");
    let grid = "[published]\nthat = \"flow.a.share\"\ndown = \"path.rate\"\nacross = \"path.rtt\"\n\
                order = [\"10 ms\", \"40 ms\"]\n\
                grid = [[\"\", \"10 ms\", \"40 ms\"], [\"4 Mbit/s\", 0.4, \"\"], [\"12 Mbit/s\", 0.3, 0.5]]\n";
    let mut e = good(&format!("{BASE}{sweep}{grid}"));
    e.set("path.rtt", "40 ms").unwrap_or_else(|e| panic!("{e:#}"));
    assert_eq!((e.published()[0].cells.len(), e.published()[0].order.as_slice()), (1, &["40 ms".to_string()][..]));
    e.set("path.rate", "4 Mbit/s").unwrap_or_else(|e| panic!("{e:#}"));
    assert!(e.published().is_empty(), "what is left was not printed");
}

#[test]
fn cells_of_rows_that_a_zip_no_longer_has_are_dropped() {
    let zip = "[sweep.zip]\n\"path.rate\" = [\"4 Mbit/s\", \"12 Mbit/s\"]\n\"path.rtt\" = [\"10 ms\", \"40 ms\"]\n";
    let grid = "[published]\nthat = \"flow.a.share\"\ndown = \"path.rate\"\nacross = \"path.rtt\"\n\
                grid = [[\"\", \"10 ms\", \"40 ms\"], [\"4 Mbit/s\", 0.4, \"\"], [\"12 Mbit/s\", \"\", 0.5]]\n";
    let mut e = good(&format!("{BASE}{zip}{grid}"));
    let refused = parse(&format!("{BASE}{zip}{}", grid.replacen("0.4, \"\"", "0.4, 0.3", 1)), "x.toml");
    assert!(refused.unwrap_err().to_string().contains("no case has these values of path.rate, path.rtt"));
    e.set("sweep.path.rtt", "[\"10 ms\", \"20 ms\"]").unwrap_or_else(|e| panic!("{e:#}"));
    assert_eq!(e.published()[0].cells.len(), 1);
    let mut e = good(&format!("{BASE}{zip}{grid}"));
    e.set("sweep.path.rtt", "[\"40 ms\", \"10 ms\"]").unwrap_or_else(|e| panic!("{e:#}"));
    assert!(e.published().is_empty());
}

#[test]
fn a_mean_of_several_cases_goes_with_the_first_that_an_override_takes() {
    let left = |e: &Experiment, key: &str, value: &str| {
        let mut e = e.clone();
        e.set(key, value).unwrap_or_else(|e| panic!("{key}: {e:#}"));
        e.published().first().map_or(0, |table| table.cells.len())
    };
    let two =
        "[sweep]\n\"path.rtt\" = [\"10 ms\", \"40 ms\", \"80 ms\"]\n\"path.rate\" = [\"4 Mbit/s\", \"12 Mbit/s\"]\n";
    let e = table(two, "when = {\"path.rtt\" = [\"10 ms\", \"40 ms\"]}");
    assert_eq!((left(&e, "path.rtt", "10 ms"), left(&e, "path.rtt", "80 ms")), (0, 0));
    assert_eq!(left(&e, "sweep.path.rtt", "[\"10ms\", \"40 ms\", \"160 ms\"]"), 1, "both are there");
    assert_eq!(left(&e, "sweep.path.rtt", "[\"10 ms\", \"40.1 ms\", \"80 ms\"]"), 0);
    assert_eq!(left(&e, "path.rate", "4 Mbit/s"), 1, "a key that it does not name");
    // A zip may take one of them without taking a value.
    let zip = "[sweep.zip]\n\"path.rate\" = [\"4 Mbit/s\", \"4 Mbit/s\", \"12 Mbit/s\"]\n\
               \"path.rtt\" = [\"10 ms\", \"40 ms\", \"10 ms\"]\n\"path.up\" = [\"1 Mbit/s\", \"2 Mbit/s\", \"1 Mbit/s\"]\n";
    let e = table(zip, "when = {\"path.rtt\" = [\"10 ms\", \"40 ms\"]}");
    assert_eq!(left(&e, "path.up", "1 Mbit/s"), 0);
    let e = table(zip, "when = {\"path.rate\" = \"4 Mbit/s\"}");
    assert_eq!((left(&e, "path.rtt", "10 ms"), left(&e, "path.rate", "4 Mbit/s")), (0, 1));
    assert_eq!(left(&e, "sweep.path.up", "[\"5 Mbit/s\", \"5 Mbit/s\", \"5 Mbit/s\"]"), 1, "the same two paths");
    // So in a grid.
    let grid = "[published]\nthat = \"flow.a.share\"\ndown = \"path.rate\"\nacross = \"path.rtt\"\n\
                grid = [[\"\", [\"10 ms\", \"40 ms\"], \"80 ms\"], [\"4 Mbit/s\", 0.4, 0.3], [[\"4 Mbit/s\", \"12 Mbit/s\"], 0.2, 0.1]]\n";
    let e = good(&format!("{BASE}{two}{grid}"));
    assert_eq!(e.published()[0].cells.len(), 4);
    assert_eq!((left(&e, "path.rtt", "80 ms"), left(&e, "path.rtt", "10 ms")), (2, 0));
    assert_eq!((left(&e, "path.rate", "4 Mbit/s"), left(&e, "path.rate", "12 Mbit/s")), (2, 0));
}

/// Who finds a case by its values need not know how else they may be spelled.
#[test]
fn a_cell_names_its_case_as_the_sweep_spells_it() {
    let sweep = "[sweep]\n\"path.rtt\" = [\"20 ms\", \"0.04s\"]\n\"path.queue\" = [\"pie(ecn=on)\", \"codel\"]\n";
    let e = table(sweep, "when = {\"path.rtt\" = [\"20ms\", \"40 ms\"], \"path.queue\" = \"pie(ecn=true)\"}");
    let of = |e: &Experiment| e.published()[0].cells[0].when.clone();
    let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
    let [short, long] = [pair("path.rtt", "20 ms"), pair("path.rtt", "0.04s")];
    assert_eq!(of(&e), [short, long, pair("path.queue", "pie(ecn=on)")]);
    // A zip may have a value in two spellings.
    let zip = "[sweep.zip]\n\"path.rtt\" = [\"20 ms\", \"20ms\"]\n\"path.queue\" = [\"fifo\", \"codel\"]\n";
    let both = of(&table(zip, "when = {\"path.rtt\" = \"0.02 s\"}"));
    assert_eq!(both, [pair("path.rtt", "20 ms"), pair("path.rtt", "20ms")]);
}
