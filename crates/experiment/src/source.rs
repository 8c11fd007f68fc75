//! Where a value was written: a span of the file, of a `--set` argument or of the one-line form.

use crate::Error;
use crate::error::Parts;
use crate::limits::{MESSAGE_MAX, WORD_MAX};

/// A span of a [`Sources`] text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub source: u32,
    pub start: u32,
    pub end: u32,
}

impl Place {
    pub fn new(source: u32, span: std::ops::Range<usize>) -> Self {
        Place { source, start: span.start as u32, end: span.end as u32 }
    }
}

/// A text that values come from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// What errors call it.
    pub name: String,
    pub text: String,
    /// A whole file has lines; an argument of the command line only characters.
    pub has_lines: bool,
}

/// All texts of an experiment: the file first, then the overrides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources(Vec<Source>);

impl Sources {
    pub fn add(&mut self, source: Source) -> u32 {
        self.0.push(source);
        self.0.len() as u32 - 1
    }

    /// Turns a fault into the error users see.
    pub fn locate(&self, fault: Fault) -> Error {
        let full = fault.full_message();
        let message = told(&full);
        // A message that had to be cut is one piece.
        let whole = Parts { key: 0, what: message.len() as u32 };
        let parts = if message == full { fault.parts() } else { whole };
        let place = fault.place.unwrap_or_default();
        let Some(source) = self.0.get(place.source as usize) else {
            return Error { parts, ..Error::plain(message) };
        };
        let text = &source.text;
        let mut start = (place.start as usize).min(text.len());
        // An error at the end of the text, such as a missing bracket, belongs to the last line that has something.
        if start == text.len() {
            start = text.trim_end().len();
        }
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let line = text[..line_start].matches('\n').count() + 1;
        let column = text[line_start..start].chars().count() + 1;
        let end = (place.end as usize).clamp(start, line_end);
        let width = text.get(start..end).map_or(1, |s| s.chars().count()).max(1);
        Error {
            source: without_middle(&harmless(&source.name), 2 * WORD_MAX),
            line: source.has_lines.then_some(line),
            column: Some(column),
            message,
            parts,
            excerpt: match &text[line_start..line_end] {
                line if line.trim().is_empty() => String::new(),
                line => excerpt(line, column, width),
            },
        }
    }
}

/// The line with a row of carets below the place.
fn excerpt(line: &str, column: usize, width: usize) -> String {
    const BEFORE: usize = 60;
    const SHOWN: usize = 110;
    let from = (column - 1).saturating_sub(BEFORE);
    let shown: String =
        line.chars().skip(from).take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let indent = column - 1 - from;
    let carets = width.min(SHOWN.saturating_sub(indent)).max(1);
    format!("    {}\n    {}{}", shown.trim_end(), " ".repeat(indent), "^".repeat(carets))
}

/// A message without the middle of what is too long to read: a value of a megabyte is named by its ends.
fn told(message: &str) -> String {
    let message = harmless(message);
    let words: Vec<String> = message.split(' ').map(|word| without_middle(word, WORD_MAX)).collect();
    without_middle(&words.join(" "), MESSAGE_MAX)
}

/// The text without what a terminal would obey.
fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

fn without_middle(text: &str, most: usize) -> String {
    // Bytes first: few texts are long enough to count their characters.
    if text.len() <= most || text.chars().count() <= most {
        return text.into();
    }
    let start = text.chars().take(2 * most / 3);
    start.chain(['…']).chain(text.chars().skip(text.chars().count() - most / 3)).collect()
}

/// "; did you mean …?" if something like `given` is among what is allowed. One letter resembles every other.
pub(crate) fn did_you_mean<'a>(given: &str, allowed: impl IntoIterator<Item = &'a str>) -> String {
    let near = if given.chars().count() > 1 { params::nearest(given, allowed) } else { None };
    near.map_or(String::new(), |word| format!("; did you mean {word:?}?"))
}

/// Something wrong, with its place once known and the keys that lead to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub message: String,
    pub place: Option<Place>,
    /// Innermost first.
    keys: Vec<String>,
    /// The case of a sweep that it is found in.
    case: String,
}

pub(crate) type Checked<T> = Result<T, Fault>;

impl Fault {
    pub fn new(message: impl Into<String>) -> Self {
        Fault { message: message.into(), place: None, keys: Vec::new(), case: String::new() }
    }

    pub fn at(place: Place, message: impl Into<String>) -> Self {
        Fault { place: Some(place), ..Fault::new(message) }
    }

    /// Sets the place unless an inner one is known.
    pub fn or_at(mut self, place: Place) -> Self {
        self.place.get_or_insert(place);
        self
    }

    /// Adds the key that the fault was found under.
    pub fn under(mut self, key: impl Into<String>) -> Self {
        self.keys.push(key.into());
        self
    }

    /// No key that leads to it is known yet.
    pub fn is_innermost(&self) -> bool {
        self.keys.is_empty()
    }

    /// Adds a remark at the end.
    pub fn and(mut self, remark: &str) -> Self {
        self.message.push_str(remark);
        self
    }

    /// Says in which case of a sweep it is found.
    pub fn in_case(mut self, case: String) -> Self {
        self.case = case;
        self
    }

    fn key(&self) -> String {
        let mut path = String::new();
        for key in self.keys.iter().rev() {
            if !path.is_empty() && !key.starts_with('[') {
                path.push('.');
            }
            path.push_str(key);
        }
        path
    }

    fn parts(&self) -> Parts {
        let key = self.key().len();
        let before = if key > 0 { key + ": ".len() } else { 0 };
        Parts { key: key as u32, what: (before + self.message.len()) as u32 }
    }

    fn full_message(&self) -> String {
        let mut message = self.key();
        if !message.is_empty() {
            message.push_str(": ");
        }
        message.push_str(&self.message);
        if !self.case.is_empty() {
            message.push_str(&format!(" (in the case {})", self.case));
        }
        message
    }
}
