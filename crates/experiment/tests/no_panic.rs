//! Whatever the text, an answer: no panic, no endless loop, and no error without a place.

use experiment::Experiment;
use proptest::prelude::*;

const FILES: [&str; 4] = [
    include_str!("data/every-key.toml"),
    include_str!("../../../experiments/quickstart.toml"),
    include_str!("../../../experiments/thesis/table-5.1.toml"),
    include_str!("../../../experiments/phase-effects.toml"),
];
const LINES: [&str; 3] = [
    "12Mbit/s 40ms 2BDP fifo: hldg, cubic@10s",
    "pie(target=20ms) 1 Mbit/s 1 ms 3p 1%: 2 newreno@1s-5s, web, voip",
    "1bit 1s: a",
];
/// Text that has meaning somewhere in a file.
const PIECES: [&str; 32] = [
    "\"",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "=",
    ",",
    ":",
    "\n",
    "#",
    ".",
    "@",
    "-",
    "%",
    "0",
    "9999999999999",
    "-1",
    "1e308",
    "nan",
    "true",
    "[[flow]]\n",
    "[sweep]\n",
    "path.",
    "flow.a.",
    " ms",
    "BDP",
    "±",
    "µ",
    "\u{0}",
    "\u{1F600}",
];

/// Parses, expands and describes; an error must have a place.
fn exercise(text: &str, file: &str, overrides: &[(String, String)]) {
    let check = |result: Result<(), experiment::Error>| {
        if let Err(e) = result {
            assert!(e.column().is_some_and(|c| c > 0) && !e.message().is_empty(), "{e}");
            let _ = format!("{e:#}");
        }
    };
    let mut e: Experiment = match experiment::parse(text, file) {
        Ok(e) => e,
        Err(error) => return check(Err(error)),
    };
    for (key, value) in overrides {
        check(e.set(key, value));
    }
    let again = experiment::parse(&e.to_toml(), "again.toml").unwrap_or_else(|e| panic!("canonical text: {e:#}"));
    assert_eq!(again.to_toml(), e.to_toml());
    // Large sweeps are legal and slow; the point here is strange text.
    if e.case_count() <= 50 {
        check(e.cases().map(|_| ()));
        let _ = e.evaluate(&[serde_json::json!({"case": {}, "flows": 3}), serde_json::json!([])]);
        let _ = e.compare(&[serde_json::json!({"links": [{"name": null}]})]);
    } else {
        check(e.case(0).map(|_| ()));
    }
}

/// One edit: replaces `len` characters at `at` (both scaled to the text) by a piece.
type Edit = (u32, u8, usize);

fn edited(text: &str, edits: &[Edit]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, len, piece) in edits {
        let from = *at as usize % (chars.len() + 1);
        let to = (from + *len as usize % 12).min(chars.len());
        chars.splice(from..to, PIECES[*piece].chars());
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files_are_answered(
        file in 0..FILES.len(),
        edits in prop::collection::vec((any::<u32>(), any::<u8>(), 0..PIECES.len()), 1..6),
    ) {
        exercise(&edited(FILES[file], &edits), "fuzz.toml", &[]);
    }

    #[test]
    fn mutated_lines_are_answered(
        line in 0..LINES.len(),
        edits in prop::collection::vec((any::<u32>(), any::<u8>(), 0..PIECES.len()), 1..5),
    ) {
        exercise(&edited(LINES[line], &edits), "", &[]);
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,80}") {
        exercise(&text, "", &[]);
        exercise(&text, "fuzz.toml", &[]);
        exercise(&text, "fuzz.txt", &[]);
    }

    #[test]
    fn any_override_is_answered(
        key in prop_oneof![
            Just("path.rtt".to_string()), Just("flow.a.cc.beta".to_string()), Just("sweep.path.rtt".to_string()),
            Just("path.queue".to_string()), Just("run.measure".to_string()), Just("flow.a.traffic".to_string()),
            "[a-z.]{0,20}",
        ],
        value in prop_oneof!["[0-9.]{1,6} ?(ms|s|BDP|Mbit/s|%|)", "\\PC{0,30}", Just("[1, 2]".to_string()), Just("{a = 1}".to_string())],
    ) {
        exercise(FILES[0], "fuzz.toml", &[(key, value)]);
    }
}
