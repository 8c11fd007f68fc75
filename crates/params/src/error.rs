//! Errors that teach: what was given, what is allowed, the likely cure.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::cmp::Reverse;
use core::fmt;

/// Why a setting was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamError {
    /// No parameter has this name.
    Unknown {
        /// What takes the parameters, such as `cubic`.
        owner: String,
        /// The name given.
        name: String,
        /// The names there are.
        allowed: Vec<&'static str>,
    },
    /// Nothing of this kind has this name.
    NoSuch {
        /// What was looked for, such as `queue`.
        kind: &'static str,
        /// The name given.
        name: String,
        /// The names there are.
        allowed: Vec<&'static str>,
    },
    /// The text is no value of the parameter's kind.
    Malformed {
        /// The parameter.
        name: &'static str,
        /// The text given.
        given: String,
        /// What a value looks like.
        expected: String,
    },
    /// The value lies outside the range.
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// The value given.
        given: String,
        /// The range allowed, with the default.
        allowed: String,
    },
    /// A parameter was set twice.
    Repeated {
        /// The parameter.
        name: String,
    },
    /// The value changes nothing as long as another is not set.
    Vain {
        /// The parameter.
        name: &'static str,
        /// The value given.
        given: String,
        /// What would give it a meaning, as it is written.
        needs: &'static str,
        /// The value that may always be given.
        default: String,
    },
    /// The values contradict each other.
    Conflict(String),
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamError::Unknown { owner, name, allowed } => {
                write!(f, "{owner} has no parameter \"{name}\"")?;
                match nearest(name, allowed.iter().copied()) {
                    Some(near) => write!(f, "; did you mean \"{near}\"?")?,
                    None if allowed.is_empty() => f.write_str("; it takes none")?,
                    None => {}
                }
                if !allowed.is_empty() {
                    write!(f, " (it takes {})", allowed.join(", "))?;
                }
                Ok(())
            }
            ParamError::NoSuch { kind, name, allowed } => {
                write!(f, "there is no {kind} \"{name}\"")?;
                if let Some(near) = nearest(name, allowed.iter().copied()) {
                    write!(f, "; did you mean \"{near}\"?")?;
                }
                write!(f, " (there are {})", allowed.join(", "))
            }
            ParamError::Malformed { name, given, expected } => {
                let negative = crate::parse_number(given).is_some_and(|(x, unit)| x < 0.0 && !unit.is_empty());
                let why = if negative { "negative, " } else { "" };
                write!(f, "{name} = \"{given}\" is {why}not {expected}")
            }
            ParamError::OutOfRange { name, given, allowed } => {
                write!(f, "{name} = {given} is out of range: {allowed}")
            }
            ParamError::Repeated { name } => write!(f, "{name} is given twice"),
            ParamError::Vain { name, given, needs, default } => {
                write!(f, "{name} = {given} changes nothing without {needs}: add that, or leave {name} at {default}")
            }
            ParamError::Conflict(text) => f.write_str(text),
        }
    }
}

impl core::error::Error for ParamError {}

/// Bytes of the longest word that is held against others.
const LONGEST: usize = 256;

/// The candidate closest to `given`, if it is close enough to be a slip of the finger.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing costs the product of the lengths, and nobody slips while typing a name of a megabyte.
    let short = |word: &str| word.len() <= LONGEST;
    if !short(given) {
        return None;
    }
    let given = given.to_lowercase();
    let limit = 1 + given.chars().count() / 4;
    candidates
        .into_iter()
        .filter(|c| short(c))
        .map(|c| (distance(&given, &c.to_lowercase()), c))
        .filter(|(d, c)| *d <= limit || (given.len() >= 3 && c.starts_with(given.as_str())))
        // Of equals the one as long, then the one that begins alike: "sm" is rather "ms" than "s", "rat" rather "rate" than "at".
        .min_by_key(|(d, c)| (*d, given.len().abs_diff(c.len()), Reverse(begins_alike(&given, c))))
        .map(|(_, c)| c)
}

fn begins_alike(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
}

/// Edits between two words; two neighbours swapped count as one (Damerau's restricted distance).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let swap = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + swap);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

/// "between 0.1 and 0.95 (default 0.7)".
pub(crate) fn range_text(low: Option<&str>, high: Option<&str>, default: &str) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("allowed is {low} to {high} (default {default})"),
        _ => default.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_there_is_met_with_those_that_are() {
        let e = ParamError::NoSuch { kind: "queue", name: "ffo".into(), allowed: vec!["fifo", "pie"] };
        assert_eq!(e.to_string(), "there is no queue \"ffo\"; did you mean \"fifo\"? (there are fifo, pie)");
    }

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        assert_eq!(nearest("bta", ["alpha", "beta"]), Some("beta"));
        assert_eq!(nearest("fqcodel", ["fq_codel", "codel"]), Some("fq_codel"));
        assert_eq!(nearest("hdlg", ["hldg", "cdg"]), Some("hldg"));
        assert_eq!(nearest("rat", ["at", "rate"]), Some("rate"));
        assert_eq!(nearest("sm", ["s", "ms", "min"]), Some("ms"));
        assert_eq!(nearest("qwertz", ["hldg", "cdg"]), None);
    }
}
