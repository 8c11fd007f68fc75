//! `bpf/law/events.h` is written from the table of causes: `BLESS=1 cargo test -p sojourn-cc --test it c_header` writes it.

use cc::{CauseKind, EVENT_VERSION, EventRecord, ValueUnit, words};
use std::fmt::Write;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bpf/law/events.h");

fn macro_name(group: &str, name: &str) -> String {
    format!("LAW_{group}{}", name.to_uppercase().replace([' ', '-'], "_"))
}

fn unit(unit: ValueUnit) -> &'static str {
    match unit {
        ValueUnit::Nanos => "ns",
        ValueUnit::Ppb => "billionths",
        ValueUnit::Bytes => "bytes",
        ValueUnit::Bps => "bit/s",
        ValueUnit::Count => "number",
    }
}

fn header() -> String {
    let mut h = String::from(
        "/* SPDX-License-Identifier: GPL-2.0 */\n\
         /* Written from the table of causes in crates/cc/src/cause.rs by its test c_header; do not edit. */\n\
         #ifndef SOJOURN_LAW_EVENTS_H\n#define SOJOURN_LAW_EVENTS_H\n\n",
    );
    writeln!(h, "#define LAW_EVENT_VERSION {EVENT_VERSION}\n").unwrap();
    h += "/* One event: the layout of cc::EventRecord. Windows in bytes, the time in nanoseconds. */\nstruct law_event {\n\
          \tu16 version, kind;\n\tu32 flow;\n\tu64 time;\n\tu64 cwnd_before, cwnd_after, ssthresh_before, ssthresh_after;\n\
          \ts64 values[8];\n};\n\n/* Kinds, each with the values it carries. */\n";
    for kind in CauseKind::ALL {
        let values: Vec<_> = kind.values().iter().map(|(name, u)| format!("{name} ({})", unit(*u))).collect();
        let name = macro_name("", kind.name());
        writeln!(h, "#define {name} {} /* {} */", *kind as u16, values.join(", ")).unwrap();
    }
    for (word, group, what) in [
        ("reason", "EXIT_", "The reason of a slow_start_exit."),
        ("what", "PROBE_", "What a probe is for."),
        ("from", "MODE_", "The modes of a mode_switch."),
    ] {
        writeln!(h, "\n/* {what} */").unwrap();
        for (i, name) in words(word).iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            writeln!(h, "#define {} {i}", macro_name(group, name)).unwrap();
        }
    }
    h + "\n#endif\n"
}

/// Of a C header, the names of the enum that begins with this one.
fn names<'a>(header: &'a str, first: &str) -> Vec<&'a str> {
    let begin = header.find(&format!("enum {{ {first},")).unwrap_or_else(|| panic!("no enum begins with {first}"));
    let inside = header[begin..].split(['{', '}']).nth(1).unwrap();
    inside.split(',').map(str::trim).collect()
}

/// A choice crosses over to C as its place in the list of words.
#[test]
fn the_enums_of_c_have_the_order_of_the_words() {
    let (cdg, hamilton) = (include_str!("../../../../bpf/law/cdg.h"), include_str!("../../../../bpf/law/hamilton.h"));
    let mode = include_str!("../../../../bpf/law/hldg_mode.h");
    for (header, first, prefix, algorithm, parameter) in [
        (cdg, "CDG_FREEBSD", "CDG_", "cdg", "reference"),
        (cdg, "CDG_SKIP_AUTO", "CDG_SKIP_", "cdg", "skip"),
        (hamilton, "HAMILTON_PAPER", "HAMILTON_", "hd", "reference"),
        (hamilton, "HAMILTON_PAPER", "HAMILTON_", "chd", "reference"),
        (mode, "HLDG_REGROW", "HLDG_", "hldg", "after_probe"),
    ] {
        let fields = (cc::find(algorithm).unwrap().fields)();
        let choices = fields.iter().find(|f| f.name == parameter).unwrap_or_else(|| panic!("{algorithm}")).choices;
        let names = names(header, first);
        assert_eq!(names.len(), choices.len(), "{algorithm}.{parameter}: {names:?} {choices:?}");
        for (name, word) in names.iter().zip(choices) {
            let begins = format!("{prefix}{}", word.to_uppercase());
            assert!(name.starts_with(&begins), "{algorithm}.{parameter}: {names:?} {choices:?}");
        }
    }
    let gradient = include_str!("../../../../bpf/law/gradient.h");
    let states = words("queue_state").iter().map(|state| macro_name("QUEUE_", state));
    assert_eq!(names(gradient, "LAW_QUEUE_UNKNOWN"), states.collect::<Vec<_>>());
}

#[test]
fn the_c_header_says_what_the_table_says() {
    let text = header();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(FILE, &text).unwrap();
    }
    let written = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(written == text, "bpf/law/events.h is out of date: BLESS=1 cargo test -p sojourn-cc --test it c_header");
    // Two halves of a word, then whole ones: the C struct has no holes either.
    assert_eq!(size_of::<EventRecord>(), 2 + 2 + 4 + 13 * 8);
}
