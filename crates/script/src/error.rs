//! What is wrong with a script, and what went wrong while one was evaluated.

use std::fmt;

/// A script that cannot be run: told before anything runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The file, or the name of the script.
    pub source: String,
    /// Line of the command, from 1.
    pub line: usize,
    /// Where in the text of the command it was noticed, from 1.
    pub column: Option<usize>,
    /// What is wrong, in pgbench's words where pgbench has some.
    pub message: String,
    /// The text of the command.
    pub text: Option<String>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.source, self.line, self.message)?;
        match (&self.text, self.column) {
            (Some(text), Some(column)) => write!(f, "\n{text}\n{:>column$} error found here", '^'),
            (Some(text), None) => write!(f, "\n{text}"),
            (None, Some(column)) => write!(f, " at column {column}"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// An evaluation that failed, in pgbench's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong(pub String);

impl Wrong {
    /// A failure in words that are made only then.
    #[cold]
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
