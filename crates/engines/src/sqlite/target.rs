//! The URL of a SQLite target and the settings in it.

use std::path::PathBuf;

use dsbench_core::error::{Error, Result};

use crate::url::{decode, Query};

/// A file and how every session on it is set.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    /// The database's file, absolute.
    pub path: PathBuf,
    /// Statements that set a session, in their order, journal mode apart.
    pub pragmas: Vec<String>,
    /// Journal mode that was asked for, which the file system or another session may refuse.
    pub journal_mode: Option<&'static str>,
    /// Bytes of a page of a new file.
    pub page_size: Option<u32>,
    /// How long a session waits for the lock of another.
    pub busy_timeout_ms: u32,
    /// How a transaction is opened.
    pub begin: &'static str,
    /// Whether foreign keys are enforced.
    pub foreign_keys: bool,
}

impl Target {
    /// Reads `sqlite:///relative.db`, `sqlite:////absolute.db` and the parameters after `?`.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let (head, mut query) = Query::split(url)?;
        let path = head.strip_prefix("sqlite:///").unwrap_or_default();
        if path.is_empty() || path == ":memory:" {
            // The URL is not repeated: it may name a server and hold a password.
            return Err(Error::configuration(
                "the target's URL names no file: write sqlite:///file.db (from here) or sqlite:////folder/file.db \
                 (from the root)",
            ));
        }
        // SQLite takes a name that starts with "file:" for a URI; an absolute path never starts like that.
        let path = std::path::absolute(decode("the path", path)?)
            .map_err(|e| Error::configuration(format!("the path in the target's URL cannot be used: {e}")))?;
        let journal = ["wal", "delete", "truncate", "persist", "memory", "off"];
        let journal_mode = query.word("journal_mode", &journal)?;
        let synchronous = query.word("synchronous", &["full", "off", "normal", "extra"])?.unwrap_or("full");
        let foreign_keys = query.word("foreign_keys", &["on", "off"])?.unwrap_or("on");
        let mut pragmas = vec![format!("synchronous={synchronous}"), format!("foreign_keys={foreign_keys}")];
        for name in ["cache_size", "mmap_size"] {
            if let Some(number) = query.number::<i64>(name)? {
                pragmas.push(format!("{name}={number}"));
            }
        }
        let target = Self {
            path,
            pragmas,
            journal_mode,
            page_size: query.number("page_size")?,
            busy_timeout_ms: query.number("busy_timeout_ms")?.unwrap_or(5000),
            begin: match query.word("begin", &["immediate", "deferred"])? {
                Some("deferred") => "BEGIN DEFERRED",
                _ => "BEGIN IMMEDIATE",
            },
            foreign_keys: foreign_keys == "on",
        };
        query.finish()?;
        match target.page_size {
            Some(size) if !size.is_power_of_two() || !(512..=65536).contains(&size) => Err(Error::configuration(
                format!("page_size={size} in the target's URL: SQLite takes a power of two from 512 to 65536"),
            )),
            _ => Ok(target),
        }
    }

    /// Journal mode of a file that dsbench makes.
    pub(super) fn journal_mode(&self) -> &'static str {
        self.journal_mode.unwrap_or("wal")
    }

    /// The file whose name is this one's with `suffix`: "-wal", "-shm" or "-journal".
    pub(super) fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(suffix);
        name.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_slashes_are_relative_and_four_absolute() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(Target::parse("sqlite:///a%20b/file.db").unwrap().path, here.join("a b/file.db"));
        let target = Target::parse("sqlite:////data/file.db").unwrap();
        assert_eq!(target.beside("-wal"), PathBuf::from("/data/file.db-wal"));
    }

    #[test]
    fn the_defaults_are_durable_and_wait() {
        let target = Target::parse("sqlite:///f.db").unwrap();
        assert_eq!((target.journal_mode(), target.busy_timeout_ms, target.begin), ("wal", 5000, "BEGIN IMMEDIATE"));
        assert_eq!(target.pragmas, ["synchronous=full", "foreign_keys=on"]);
    }

    #[test]
    fn parameters_are_read_and_wrong_ones_refused() {
        let url = "sqlite:///f.db?journal_mode=DELETE&synchronous=off&cache_size=-64000&page_size=8192&busy_timeout_ms=0&begin=deferred";
        let target = Target::parse(url).unwrap();
        assert_eq!((target.journal_mode(), target.page_size, target.begin), ("delete", Some(8192), "BEGIN DEFERRED"));
        assert_eq!(target.pragmas, ["synchronous=off", "foreign_keys=on", "cache_size=-64000"]);
        for wrong in [
            "sqlite://file.db",
            "sqlite:///",
            "sqlite:///:memory:",
            "sqlite:file.db",
            "sqlite:///f.db?journal_mode=none",
            "sqlite:///f.db?page_size=1000",
            "sqlite:///f.db?busy_timeout_ms=-1",
            "sqlite:///f.db?colour=blue",
        ] {
            let error = Target::parse(wrong).unwrap_err();
            assert_eq!(error.kind, dsbench_core::error::ErrorKind::Configuration, "{wrong}: {error}");
        }
    }
}
