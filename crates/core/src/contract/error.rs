//! One error type with a public kind. Engines map their native codes to a kind in one table,
//! never by the text of a message.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;

/// What went wrong, in the words every engine shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The isolation level forbids the schedule (SQLSTATE 40001 and the like).
    Serialization,
    /// The server broke a deadlock by ending this transaction.
    Deadlock,
    /// Another transaction holds or changed the row and the level does not wait for it.
    Conflict,
    /// The database or a lock stayed busy for longer than the session waits.
    Busy,
    /// The connection is gone; nothing was in commit.
    Disconnected,
    /// The connection went while a commit was under way: it may have succeeded or not.
    Unknown,
    /// A unique or primary key refused a row.
    DuplicateKey,
    /// The server did not understand the statement.
    Syntax,
    /// Any other error of a statement: a check, a type, a limit, a full disk.
    Statement,
    /// A statement took longer than it may, and was ended. Its session goes on, unless the server did not end it.
    Timeout,
    /// The request makes no sense, whatever the state of the server: a bad URL or option.
    Configuration,
    /// The place where the run should happen could not be set up: connecting, creating, rights.
    Setup,
}

impl ErrorKind {
    /// All kinds, in the order of the archive's columns.
    pub const ALL: [ErrorKind; 12] = [
        ErrorKind::Serialization,
        ErrorKind::Deadlock,
        ErrorKind::Conflict,
        ErrorKind::Busy,
        ErrorKind::Disconnected,
        ErrorKind::Unknown,
        ErrorKind::DuplicateKey,
        ErrorKind::Syntax,
        ErrorKind::Statement,
        ErrorKind::Timeout,
        ErrorKind::Configuration,
        ErrorKind::Setup,
    ];

    /// True when the same inputs may succeed if the transaction is run again.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Serialization | Self::Deadlock | Self::Conflict | Self::Busy)
    }

    /// True when the connection is gone.
    pub fn is_loss(self) -> bool {
        matches!(self, Self::Disconnected | Self::Unknown)
    }

    /// The word that archives, tables and messages use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serialization => "serialization",
            Self::Deadlock => "deadlock",
            Self::Conflict => "conflict",
            Self::Busy => "busy",
            Self::Disconnected => "disconnected",
            Self::Unknown => "unknown",
            Self::DuplicateKey => "duplicate-key",
            Self::Syntax => "syntax",
            Self::Statement => "statement",
            Self::Timeout => "timeout",
            Self::Configuration => "configuration",
            Self::Setup => "setup",
        }
    }
}

/// An engine's own code of an error (SQLSTATE, gds code, errno of MySQL …), at most 12 ASCII bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Code([u8; 12]);

impl Code {
    /// Keeps the first 12 bytes of `text`, `?` for those that cannot be shown; costs no allocation.
    pub fn new(text: &[u8]) -> Self {
        let mut bytes = [0; 12];
        for (byte, given) in bytes.iter_mut().zip(text) {
            *byte = if given.is_ascii_graphic() { *given } else { b'?' };
        }
        Self(bytes)
    }

    /// A code that is a number of at most 12 characters; costs no allocation.
    pub fn number(number: i32) -> Self {
        let mut bytes = [0; 12];
        // 32 bits take at most 11 characters, so they always fit.
        let _ = write!(&mut bytes[..], "{number}");
        Self(bytes)
    }

    /// The code as text; empty when the engine gave none.
    pub fn as_str(&self) -> &str {
        let len = self.0.iter().position(|b| *b == 0).unwrap_or(12);
        std::str::from_utf8(&self.0[..len]).unwrap_or("?")
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// An error of an engine, a workload or the loop.
///
/// A retryable error is made on the load path, thousands of times a second when clients collide:
/// engines leave `message` empty there, so that it allocates nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// What went wrong.
    pub kind: ErrorKind,
    /// The engine's own code.
    pub code: Code,
    /// What was being done: "connect", "execute", "commit" …; empty where the message says it.
    pub context: &'static str,
    /// What the server or the library said; never holds a password.
    pub message: Option<Box<str>>,
    /// What the user can do about it, where that is known: words that follow "hint:".
    pub remedy: Option<Cow<'static, str>>,
    /// Whether what the user wrote is wrong, a script or a workload file: no other attempt can mend it.
    pub by_user: bool,
}

impl Error {
    /// An error without a message, which allocates nothing.
    pub fn new(kind: ErrorKind, context: &'static str) -> Self {
        Self { kind, code: Code::default(), context, message: None, remedy: None, by_user: false }
    }

    /// An error with words. They may be a server's, and are shown on terminals: control characters are taken out,
    /// and the end of what is longer than a page.
    pub fn with(kind: ErrorKind, context: &'static str, message: impl Into<String>) -> Self {
        Self { message: Some(fit_to_show(message.into()).into_boxed_str()), ..Self::new(kind, context) }
    }

    /// A configuration error: the user asked for something impossible.
    pub fn configuration(message: impl Into<String>) -> Self {
        Self::with(ErrorKind::Configuration, "", message)
    }

    /// What went wrong while doing what, without the code.
    pub fn words(&self) -> String {
        let said = self.message.as_deref().unwrap_or(self.kind.name());
        if self.context.is_empty() {
            said.to_string()
        } else {
            format!("{}: {said}", self.context)
        }
    }

    /// The same error with what the user can do about it.
    pub fn remedy(mut self, remedy: impl Into<Cow<'static, str>>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The same error with what the user can do about its code, as a table of the engine has it.
    pub fn known(mut self, remedy: Option<&'static str>) -> Self {
        self.remedy = remedy.map(Into::into);
        self
    }

    /// The same error with other words: kind, code, remedy and whose mistake it is stay.
    pub fn wrapped(self, context: &'static str, message: impl Into<String>) -> Self {
        Self { code: self.code, remedy: self.remedy, by_user: self.by_user, ..Self::with(self.kind, context, message) }
    }

    /// The same error as a mistake in what the user wrote, whose place the message says.
    pub fn by_user(mut self) -> Self {
        (self.by_user, self.context) = (true, "");
        self
    }

    /// The same error with the engine's native code.
    pub fn code(mut self, code: &[u8]) -> Self {
        self.code = Code::new(code);
        self
    }
}

/// Most letters of a message.
const PAGE: usize = 4_000;

fn fit_to_show(message: String) -> String {
    if message.len() <= PAGE && !message.chars().any(char::is_control) {
        return message;
    }
    let shown = |letter: char| match letter {
        letter if letter.is_whitespace() => ' ',
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    let mut page: String = message.chars().take(PAGE).map(shown).collect();
    if message.chars().nth(PAGE).is_some() {
        page.push('…');
    }
    page
}

/// The problem; `{:#}` has its remedy behind it.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words())?;
        if !self.code.as_str().is_empty() {
            write!(f, " ({})", self.code.as_str())?;
        }
        if let (true, Some(remedy)) = (f.alternate(), &self.remedy) {
            write!(f, "; {remedy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// The result of everything an engine or a workload does.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_of_a_number_is_its_digits() {
        for number in [0, 7, 1000, 65_535, 335_544_336, i32::MAX, i32::MIN] {
            assert_eq!(Code::number(number).as_str(), number.to_string());
        }
    }

    #[test]
    fn the_remedy_stays_beside_the_problem() {
        let refused = Error::with(ErrorKind::Setup, "connect", "no right").code(b"42501").remedy("grant it");
        assert_eq!(refused.to_string(), "connect: no right (42501)");
        assert_eq!(format!("{refused:#}"), "connect: no right (42501); grant it");
        let around = refused.wrapped("load", "the last one: no right");
        assert_eq!(format!("{around:#}"), "load: the last one: no right (42501); grant it");
    }

    #[test]
    fn what_a_server_says_cannot_steer_a_terminal() {
        let said = |message: &str| Error::with(ErrorKind::Statement, "execute", message).to_string();
        assert_eq!(said("grün\n at \u{1b}[2Jhere\u{9b}"), "execute: grün  at \u{fffd}[2Jhere\u{fffd}");
        assert_eq!(said(&"x".repeat(PAGE)).len(), "execute: ".len() + PAGE);
        assert!(said(&"ü".repeat(PAGE + 1)).ends_with("ü…"));
        assert_eq!(Code::new(b"4\x1b\x004001").as_str(), "4??4001");
    }
}
