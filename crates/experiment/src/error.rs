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
    pub(crate) excerpt: String,
}

impl Error {
    pub(crate) fn plain(message: impl Into<String>) -> Self {
        Error { source: String::new(), line: None, column: None, message: message.into(), excerpt: String::new() }
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
    /// What was given, what is allowed, the likely cure.
    pub fn message(&self) -> &str {
        &self.message
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
