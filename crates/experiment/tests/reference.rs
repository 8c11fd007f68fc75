//! `docs/experiment-file.md`: its tables are made from the schema and the registries. `BLESS=1 cargo test -p
//! sojourn-experiment --test reference` writes them.

use experiment::limits;
use params::Value as _;
use serde_json::Value;
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiment-file.md");

/// The rows of one table of the file.
fn keys(schema: &Value, table: &str) -> String {
    let node = if table == "experiment" { schema } else { &schema["$defs"][table] };
    let properties = node["properties"].as_object().unwrap_or_else(|| panic!("no table {table}"));
    let required: Vec<&str> = node["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = "| key | takes | default | example | |\n|---|---|---|---|---|\n".to_string();
    let needs = |key: &str, p: &Value| {
        required.contains(&key) || p["description"].as_str().is_some_and(|doc| doc.contains("Needed"))
    };
    // What must be written comes first; the schema itself has no order.
    let mut sorted: Vec<(&String, &Value)> = properties.iter().collect();
    sorted.sort_by_key(|(key, p)| (!needs(key, p), *key));
    for (key, p) in sorted {
        let doc = p["description"].as_str().unwrap_or_else(|| panic!("{table}.{key} has no documentation"));
        let doc = doc.split_whitespace().collect::<Vec<_>>().join(" ");
        let needed = needs(key, p);
        let default = match &p["default"] {
            Value::Null if needed => "needed".to_string(),
            Value::Null => String::new(),
            value => code(value),
        };
        let example = p["examples"].get(0).map_or(String::new(), code);
        let doc = doc.replace(" Needed.", "");
        writeln!(text, "| `{key}` | {} | {default} | {example} | {doc} |", kind(p)).unwrap();
    }
    text
}

fn code(value: &Value) -> String {
    let text = match value {
        Value::Object(map) => {
            let pairs: Vec<String> = map.iter().map(|(k, v)| format!("{k:?} = {v}")).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        other => other.to_string(),
    };
    format!("`{text}`")
}

/// What a key takes, in a word or two.
fn kind(p: &Value) -> String {
    if let Some(kind) = p["x-kind"].as_str() {
        // An example stands in a column of its own.
        return kind.split(" such as").next().unwrap_or(kind).trim_end_matches(',').replace('|', "\\|");
    }
    if let Some(words) = p["enum"].as_array() {
        return words.iter().filter(|w| !w.is_null()).map(code).collect::<Vec<_>>().join(", ");
    }
    let is = |name: &str| p["type"] == name || p["type"].as_array().is_some_and(|all| all.iter().any(|t| t == name));
    match () {
        () if is("boolean") => "true or false".into(),
        () if is("array") => "a list".into(),
        () if is("object") || p["anyOf"].is_array() || p["$ref"].is_string() => "a table".into(),
        () => "text".into(),
    }
}

fn traffic() -> String {
    let mut text = "| traffic | settings and defaults | |\n|---|---|---|\n".to_string();
    for kind in experiment::TRAFFIC {
        let settings: Vec<String> =
            (kind.fields)().iter().map(|f| format!("`{}={}` {}", f.name, f.default, f.doc.trim())).collect();
        writeln!(text, "| `{}` | {} | {} |", kind.name, settings.join("<br>"), kind.doc).unwrap();
    }
    text
}

fn settings<P: params::Params>(name: &str) -> String {
    let mut text = format!("| setting of `{name}` | default | allowed | |\n|---|---|---|---|\n");
    for f in P::fields() {
        let allowed = match (&f.range, f.choices) {
            (Some((least, most)), _) => format!("{least} to {most}"),
            (None, []) => f.kind.to_string(),
            (None, choices) => choices.join(", "),
        };
        writeln!(text, "| `{}` | `{}` | {allowed} | {} |", f.name, f.default, f.doc).unwrap();
    }
    text
}

fn metrics() -> String {
    let mut text = String::new();
    let all = experiment::metrics();
    let mut subjects: Vec<&str> = all.iter().map(|(subject, _)| *subject).collect();
    subjects.dedup();
    for subject in subjects {
        let leaves: Vec<String> =
            all.iter().filter(|(s, _)| *s == subject).map(|(_, leaf)| format!("`{leaf}`")).collect();
        writeln!(text, "- `{subject}.`: {}", leaves.join(", ")).unwrap();
    }
    text
}

fn limit_table() -> String {
    let mut text = "| | least | most |\n|---|---|---|\n".to_string();
    let mut row = |what: &str, least: String, most: String| writeln!(text, "| {what} | {least} | {most} |").unwrap();
    row("rate", limits::RATE_MIN.show(), limits::RATE_MAX.show());
    row("base RTT", limits::RTT_MIN.show(), limits::RTT_MAX.show());
    row("duration", "1ns".into(), limits::DURATION_MAX.show());
    row(
        "buffer",
        "one packet".into(),
        format!("{}, {} packets", limits::BUFFER_MAX.show(), limits::BUFFER_PACKETS_MAX),
    );
    row("flows of a case", "1".into(), limits::FLOWS_MAX.to_string());
    row("links", "1".into(), limits::LINKS_MAX.to_string());
    row("cases of a sweep", "1".into(), limits::CASES_MAX.to_string());
    row("repetitions", "1".into(), limits::REPEAT_MAX.to_string());
    row("runs: cases with their repetitions", "1".into(), limits::RUNS_MAX.to_string());
    row("bytes of the file", "1".into(), limits::TEXT_MAX.to_string());
    row("seed, of the last repetition too", "0".into(), limits::SEED_MAX.to_string());
    row("mss", limits::MSS_MIN.show(), limits::MSS_MAX.show());
    row("initial window, segments", "1".into(), limits::INITIAL_WINDOW_MAX.to_string());
    row("receive window", "one mss".into(), limits::RECEIVE_WINDOW_MAX.show());
    row("paced packets together", "1".into(), limits::PACING_QUANTUM_MAX.to_string());
    row("offload burst, segments", "1".into(), limits::OFFLOAD_MAX.to_string());
    row("clock, ticks a second", "1".into(), limits::TICK_HZ_MAX.to_string());
    text
}

#[test]
fn the_reference_page_says_what_the_schema_says() {
    let schema = experiment::schema();
    let page = std::fs::read_to_string(PAGE).expect("the page is part of the repository");
    let mut fresh = String::new();
    let mut rest = page.as_str();
    let mut tables = Vec::new();
    while let Some((before, after)) = rest.split_once("<!-- generated: ") {
        let (name, after) = after.split_once(" -->").expect("a name");
        let (_, after) = after.split_once("<!-- end -->").expect("an end");
        let body = match name {
            "traffic" => traffic(),
            "clock" => settings::<experiment::TickParams>("tick"),
            "gilbert" => settings::<experiment::Gilbert>("gilbert"),
            "periodic" => settings::<experiment::Periodic>("periodic"),
            "metrics" => metrics(),
            "limits" => limit_table(),
            table => keys(&schema, table),
        };
        write!(fresh, "{before}<!-- generated: {name} -->\n\n{body}\n<!-- end -->").unwrap();
        tables.push(name.to_string());
        rest = after;
    }
    fresh.push_str(rest);
    for table in schema["$defs"].as_object().expect("tables").keys().filter(|t| *t != "sweep") {
        assert!(tables.contains(table), "docs/experiment-file.md has no section on {table}");
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(PAGE, &fresh).expect("the page can be written");
    } else {
        assert!(page == fresh, "docs/experiment-file.md is out of date: run this test with BLESS=1");
    }
}

/// Every TOML example on the page is read by the parser.
#[test]
fn the_examples_on_the_page_are_good() {
    let page = std::fs::read_to_string(PAGE).expect("the page is part of the repository");
    let blocks: Vec<&str> = page.split("```toml\n").skip(1).map(|b| b.split("```").next().unwrap_or("")).collect();
    assert!(blocks.len() >= 4);
    let sweep = "\"flow.a.cc\" = [\"cdg\"]\n\"path.rate\" = [\"1.5 Mbit/s\", \"12 Mbit/s\"]\n\"path.rtt\" = [\"10 ms\", \"40 ms\"]\n";
    let base = "[path]\nrate = \"1 Mbit/s\"\nrtt = \"1 ms\"\n[[flow]]\nname = \"a\"\ncc = \"newreno\"\n";
    for block in blocks {
        let text = match block {
            whole if whole.contains("[path]") => whole.to_string(),
            part if part.contains("[sweep]") => format!("{base}{part}"),
            part => format!("{base}[sweep]\n{sweep}{part}"),
        };
        experiment::parse(&text, "docs").and_then(|e| e.cases()).unwrap_or_else(|e| panic!("{e:#}\n{text}"));
    }
}

#[test]
fn the_shipped_experiments_are_good() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut found = 0;
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("experiments/") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "toml") {
                let text = std::fs::read_to_string(&path).expect("a file");
                let name = path.to_string_lossy();
                let e = experiment::parse(&text, &name).unwrap_or_else(|e| panic!("{e:#}"));
                let cases = e.cases().unwrap_or_else(|e| panic!("{e:#}"));
                assert!(!e.title().is_empty() && !cases.is_empty(), "{name}");
                // Every published cell belongs to a case.
                for cell in e.published().iter().flat_map(|table| &table.cells) {
                    // A key with several values: there is a case for each of them.
                    for pair in &cell.when {
                        let rest = || cell.when.iter().filter(|(key, _)| *key != pair.0);
                        let one_of = |c: &experiment::Case, key: &str| {
                            cell.when.iter().any(|other| other.0 == key && c.values.contains(other))
                        };
                        let of =
                            |c: &experiment::Case| c.values.contains(pair) && rest().all(|(key, _)| one_of(c, key));
                        assert!(cases.iter().any(of), "{name}: no case for {} {}", cell.row, cell.column);
                    }
                }
                found += 1;
            }
        }
    }
    assert!(found >= 4, "{found} experiments");
}
