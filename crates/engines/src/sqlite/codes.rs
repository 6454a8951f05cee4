//! The one table from SQLite's result codes to dsbench's error kinds.

use std::os::raw::c_int;

use dsbench_core::error::{Code, Error, ErrorKind};
use libsqlite3_sys as ffi;

/// What the connection was doing when a code came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum During {
    /// Opening the file or setting up the session.
    Connect,
    /// Parsing a statement.
    Prepare,
    /// Running one.
    Execute,
    /// Opening a transaction.
    Begin,
    /// Committing.
    Commit,
    /// Rolling back.
    Rollback,
    /// Loading rows.
    Load,
}

impl During {
    fn context(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Prepare => "prepare",
            Self::Execute => "execute",
            Self::Begin => "begin",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::Load => "load",
        }
    }
}

/// The kind of an extended result code. The low byte of a code is its family.
pub(super) fn kind(code: c_int, during: During) -> ErrorKind {
    match (code & 0xff, code) {
        // Extended forms: BUSY_RECOVERY, BUSY_SNAPSHOT, BUSY_TIMEOUT, LOCKED_SHAREDCACHE.
        (ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED, _) => ErrorKind::Busy,
        (ffi::SQLITE_INTERRUPT, _) if during == During::Commit => ErrorKind::Unknown,
        (ffi::SQLITE_INTERRUPT, _) => ErrorKind::Disconnected,
        (_, ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_ROWID) => {
            ErrorKind::DuplicateKey
        }
        _ if during == During::Connect => ErrorKind::Setup,
        // SQLite parses and looks up names in one step, so an unknown table is an error of syntax, too.
        (ffi::SQLITE_ERROR, _) if during == During::Prepare => ErrorKind::Syntax,
        _ => ErrorKind::Statement,
    }
}

/// The error for a code; `message` is asked only for kinds that are rare.
pub(super) fn error(code: c_int, during: During, message: impl FnOnce() -> String) -> Error {
    let kind = kind(code, during);
    let plain = matches!(kind, ErrorKind::Busy | ErrorKind::Disconnected | ErrorKind::Unknown);
    let error = match plain {
        true => Error::new(kind, during.context()),
        false => Error::with(kind, during.context(), message()),
    };
    Error { code: Code::number(code), ..error }
}

/// The error of a statement that took longer than it may.
pub(super) fn late(during: During) -> Error {
    let words = "the statement took longer than its limit";
    Error { code: Code::number(ffi::SQLITE_INTERRUPT), ..Error::with(ErrorKind::Timeout, during.context(), words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_kind() {
        let table = [
            (ffi::SQLITE_BUSY, During::Begin, ErrorKind::Busy),
            (ffi::SQLITE_BUSY_SNAPSHOT, During::Execute, ErrorKind::Busy),
            (ffi::SQLITE_BUSY_RECOVERY, During::Connect, ErrorKind::Busy),
            (ffi::SQLITE_LOCKED, During::Execute, ErrorKind::Busy),
            (ffi::SQLITE_LOCKED_SHAREDCACHE, During::Execute, ErrorKind::Busy),
            (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, During::Execute, ErrorKind::DuplicateKey),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, During::Load, ErrorKind::DuplicateKey),
            (ffi::SQLITE_CONSTRAINT_FOREIGNKEY, During::Execute, ErrorKind::Statement),
            (ffi::SQLITE_CONSTRAINT_NOTNULL, During::Execute, ErrorKind::Statement),
            (ffi::SQLITE_FULL, During::Execute, ErrorKind::Statement),
            (ffi::SQLITE_IOERR_FSYNC, During::Commit, ErrorKind::Statement),
            (ffi::SQLITE_INTERRUPT, During::Execute, ErrorKind::Disconnected),
            (ffi::SQLITE_INTERRUPT, During::Commit, ErrorKind::Unknown),
            (ffi::SQLITE_ERROR, During::Prepare, ErrorKind::Syntax),
            (ffi::SQLITE_ERROR, During::Execute, ErrorKind::Statement),
            (ffi::SQLITE_CANTOPEN, During::Connect, ErrorKind::Setup),
            (ffi::SQLITE_NOTADB, During::Connect, ErrorKind::Setup),
        ];
        for (code, during, expected) in table {
            assert_eq!(kind(code, during), expected, "{code} during {during:?}");
        }
    }

    #[test]
    fn a_busy_error_carries_its_number_and_no_words() {
        let busy = error(ffi::SQLITE_BUSY_SNAPSHOT, During::Begin, || unreachable!("no message is made"));
        assert_eq!((busy.kind, busy.code.as_str(), busy.message), (ErrorKind::Busy, "517", None));
        let full = error(ffi::SQLITE_FULL, During::Execute, || "disk is full".into());
        assert_eq!(full.to_string(), "execute: disk is full (13)");
    }
}
