//! `name(key=value, …)`: how things with settings are written everywhere.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// A name with settings, not yet checked against what takes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spec {
    /// The name before the parenthesis.
    pub name: String,
    /// Settings in the order given; values are raw text and may be specs themselves.
    pub args: Vec<(String, String)>,
}

/// Settings within settings within settings: who reads them calls itself for each, and a stack ends.
const DEEPEST: i32 = 32;
/// Characters of a long text that an error shows on either side of where it is.
const SHOWN: usize = 60;

/// Where and why a spec could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Byte offset into the text.
    pub at: usize,
    /// What was expected there.
    pub expected: &'static str,
    /// The whole text.
    pub given: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let character = self.given.get(..self.at).map_or(self.at, |before| before.chars().count()) + 1;
        f.write_str("\"")?;
        // Of a text that fills a screen the error itself would be lost behind it.
        if self.given.chars().nth(4 * SHOWN).is_none() {
            f.write_str(&self.given)?;
        } else {
            let from = (character - 1).saturating_sub(SHOWN);
            let part: String = self.given.chars().skip(from).take(2 * SHOWN).collect();
            let before = if from > 0 { "…" } else { "" };
            let after = if self.given.chars().nth(from + 2 * SHOWN).is_some() { "…" } else { "" };
            write!(f, "{before}{part}{after}")?;
        }
        write!(f, "\": expected {} at character {character}, as in cubic(beta=0.7)", self.expected)
    }
}

impl core::error::Error for SpecError {}

impl Spec {
    /// A name without settings.
    pub fn named(name: &str) -> Self {
        Spec { name: name.into(), args: Vec::new() }
    }
    /// The value of a setting, if given.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.args.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }
    /// The first setting that is given a second time.
    pub fn repeated(&self) -> Option<&str> {
        let mut seen = BTreeSet::new();
        self.args.iter().map(|(key, _)| key.as_str()).find(|key| !seen.insert(*key))
    }
    /// Takes a setting out, so that the rest can be checked against a list that does not know it.
    pub fn take(&mut self, key: &str) -> Option<String> {
        let i = self.args.iter().position(|(k, _)| k == key)?;
        Some(self.args.remove(i).1)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let fail = |at, expected| Err(SpecError { at, expected, given: text.to_string() });
        let start = text.len() - text.trim_start().len();
        let trimmed = text.trim_end();
        let Some(body) = trimmed.get(start..) else { return fail(0, "a name") };
        let name_len = body.find(|c| !is_word(c)).unwrap_or(body.len());
        if name_len == 0 {
            return fail(start, "a name");
        }
        let name = body[..name_len].to_string();
        let rest = body[name_len..].trim_start();
        let open = trimmed.len() - rest.len();
        if rest.is_empty() {
            return Ok(Spec { name, args: Vec::new() });
        }
        if !rest.starts_with('(') {
            return fail(open, "\"(\" or the end");
        }
        if !rest.ends_with(')') {
            return fail(trimmed.len(), "\")\"");
        }
        let mut args = Vec::new();
        let inside = &rest[1..rest.len() - 1];
        let (mut depth, mut from) = (0i32, 0);
        let base = open + 1;
        for (i, c) in inside.char_indices().chain([(inside.len(), ',')]) {
            match c {
                '(' if depth + 1 == DEEPEST => return fail(base + i, "at most 32 parentheses within one another"),
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => {
                    let piece = &inside[from..i];
                    if piece.trim().is_empty() {
                        // "f()" has no arguments; a comma before the parenthesis closes is forgiven.
                        if i == inside.len() && (from == 0 || !args.is_empty()) {
                            break;
                        }
                        return fail(base + from, "key=value");
                    }
                    let Some((key, value)) = piece.split_once('=') else { return fail(base + from, "key=value") };
                    let (key, value) = (key.trim(), value.trim());
                    if key.is_empty() || key.contains(|c| !is_word(c)) {
                        return fail(base + from, "key=value");
                    }
                    if value.is_empty() {
                        return fail(base + i, "a value");
                    }
                    args.push((key.to_string(), value.to_string()));
                    from = i + 1;
                }
                _ => {}
            }
            if depth < 0 {
                return fail(base + i, "one \")\" fewer");
            }
        }
        if depth != 0 {
            return fail(trimmed.len(), "\")\"");
        }
        Ok(Spec { name, args })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.args.is_empty() {
            f.write_str("(")?;
            for (i, (key, value)) in self.args.iter().enumerate() {
                write!(f, "{}{key}={value}", if i > 0 { ", " } else { "" })?;
            }
            f.write_str(")")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_read_back_as_written() {
        for text in ["cubic", "cubic(beta=0.7)", "a(b=gilbert(x=1, y=2), c=3)"] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
        let s: Spec = " pie ( target = 20ms , ecn=true, ) ".parse().unwrap();
        assert_eq!(s.to_string(), "pie(target=20ms, ecn=true)");
        assert_eq!("f()".parse::<Spec>().unwrap(), Spec::named("f"));
    }

    #[test]
    fn malformed_specs_say_where() {
        for (text, at) in [
            ("", 0),
            ("(", 0),
            ("cubic(", 6),
            ("cubic(beta)", 6),
            ("a(b=1", 5),
            ("a b", 2),
            ("a(b=1))", 5),
            ("a(,b=1)", 2),
            ("a(b=)", 4),
        ] {
            let e = text.parse::<Spec>().unwrap_err();
            assert_eq!(e.at, at, "{text}: {e}");
        }
        let nested = |depth: usize| "a(x=".repeat(depth) + "1" + &")".repeat(depth);
        assert!(nested(32).parse::<Spec>().is_ok());
        let e = nested(40_000).parse::<Spec>().unwrap_err().to_string();
        assert!(
            e.contains("(x=a…\": expected at most 32 parentheses within one another at character 130, as in"),
            "{e}"
        );
        assert!(e.len() < 250, "{e}");
        let e = "cübic(béta)".parse::<Spec>().unwrap_err().to_string();
        assert!(e.contains("at character 7,"), "counted as read, not in bytes: {e}");
    }
}
