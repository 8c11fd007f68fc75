//! One spelling for the many of one value.

use crate::{Spec, Value, parse_number};
use alloc::format;
use alloc::string::{String, ToString};
use units::{Bytes, Duration, Rate};

/// The text that all spellings of a value share: `"0.70"` and `"0.7"`, `"1 s"` and `"1000ms"`, `"on"` and `"true"`,
/// `"a(y=2, x=1s)"` and `"a(x=1000ms,y=2)"`. To compare by and to hash, not to read back.
pub fn one_spelling(text: &str) -> String {
    match text.parse::<Spec>() {
        Ok(mut spec) if text.contains('(') => {
            for (_, value) in &mut spec.args {
                *value = one_spelling(value);
            }
            spec.args.sort();
            spec.to_string()
        }
        _ => quantity(text),
    }
}

fn quantity(text: &str) -> String {
    if let Some(n) = u64::parse(text) {
        return n.to_string();
    }
    if let Some(x) = f64::parse(text) {
        return x.show();
    }
    if let Some(is) = bool::parse(text) {
        return is.show();
    }
    // Nothing is nothing in any unit, as "0".
    if let Some(d) = Duration::parse(text) {
        return if d.is_zero() { "0".into() } else { d.show() };
    }
    if let Some(r) = Rate::parse(text) {
        return r.show();
    }
    if let Some(b) = Bytes::parse(text) {
        return b.show();
    }
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    match parse_number(&bare) {
        Some((x, unit)) => format!("{x}{unit}"),
        None => bare,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_nested_without_end_are_one_text() {
        let nested = "a(x=".repeat(40_000) + "1" + &")".repeat(40_000);
        assert_eq!(one_spelling(&nested), nested);
    }

    #[test]
    fn what_means_the_same_is_spelled_the_same_and_nothing_else_is() {
        for (a, b) in [
            ("0.70", "0.7"),
            ("5 %", "0.05"),
            ("1_000", "1000"),
            ("1e3", "1000"),
            ("1s", "1000 ms"),
            ("0", "0ms"),
            ("0.5 Mbit/s", "500kbps"),
            ("1500B", "1.5 kB"),
            ("2.0 BDP", "2BDP"),
            ("cubic( beta = 0.70 )", "cubic(beta=0.7)"),
            ("pie(target=5ms, ecn=true)", "pie(ecn=true,target=0.005s)"),
            ("fq(law=codel(target=5ms, interval=0.1s))", "fq(law=codel(interval=100ms,target=5ms))"),
            ("hldg()", "hldg"),
            ("pie(ecn=on)", "pie(ecn=true)"),
            ("no", "false"),
        ] {
            assert_eq!(one_spelling(a), one_spelling(b), "{a} and {b}");
        }
        for (a, b) in [
            ("0.7", "0.71"),
            ("1s", "1"),
            ("1ms", "1us"),
            ("1kB", "1KiB"),
            ("9007199254740993", "9007199254740992"),
            ("a(x=1, y=2)", "a(x=2, y=1)"),
            ("a(x=1)", "a"),
            ("codel", "cobalt"),
            ("true", "1"),
            ("pie(ecn=on)", "pie(ecn=off)"),
        ] {
            assert_ne!(one_spelling(a), one_spelling(b), "{a} and {b}");
        }
    }
}
