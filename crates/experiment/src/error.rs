//! The error users see.

use std::fmt;

/// One thing that is wrong with an experiment, and where.
///
/// `{}` is one line, `file:line:column: message`; `{:#}` adds the line of the file with the place underlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub(crate) source: String,
    pub(crate) line: Option<usize>,
    pub(crate) column: Option<usize>,
    pub(crate) message: String,
    /// Where in the message the keys end that lead to the mistake, and where what is wrong ends.
    pub(crate) parts: Parts,
    pub(crate) excerpt: String,
}

/// Bytes of a message: keys, `: `, what is wrong, the case of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub key: u32,
    pub what: u32,
}

impl Error {
    pub(crate) fn plain(message: impl Into<String>) -> Self {
        let message = message.into();
        let parts = Parts { key: 0, what: message.len() as u32 };
        Error { source: String::new(), line: None, column: None, message, parts, excerpt: String::new() }
    }
    /// The file, or the argument of the command line, that holds the mistake.
    pub fn source_name(&self) -> &str {
        &self.source
    }
    /// The line, from 1; `None` for an argument of the command line.
    pub fn line(&self) -> Option<usize> {
        self.line
    }
    /// The column in characters, from 1.
    pub fn column(&self) -> Option<usize> {
        self.column
    }
    /// What was given, what is allowed, the likely cure; before it the keys that lead there, behind it the case of a sweep.
    pub fn message(&self) -> &str {
        &self.message
    }
    /// The keys that lead to the mistake, such as `flow.a.cc`; empty where none does.
    pub fn key(&self) -> &str {
        &self.message[..self.parts.key as usize]
    }
    /// The message without key and case, for those who know better what to call the place.
    pub fn what(&self) -> &str {
        let Parts { key, what } = self.parts;
        let from = if key > 0 { key + ": ".len() as u32 } else { 0 };
        &self.message[from as usize..what as usize]
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "{}:{line}:{column}: ", self.source)?,
            (None, Some(column)) => write!(f, "{}: character {column}: ", self.source)?,
            _ => {}
        }
        f.write_str(&self.message)?;
        if f.alternate() && !self.excerpt.is_empty() {
            write!(f, "\n{}", self.excerpt)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
