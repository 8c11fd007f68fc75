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
