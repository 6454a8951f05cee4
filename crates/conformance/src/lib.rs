//! One suite that every engine passes: it knows the `Engine` trait and SQL in files, nothing else.
//!
//! The tests of the engines run it against the servers they start, `dsbench servers conform` against
//! any target, and the tables in docs/engines.md are its outcome. A case gives an outcome in words and
//! is told what the product documents (see [`expected`]); where the two differ, the case has failed.
//!
//! [`Ledger`] is what a test of durability has a database keep while it kills it.
//!
//! [`schedule`] holds the transactions that meet, `players` the two sessions that act them out,
//! `cases` everything else, `bed` the place where it all happens.

mod bed;
mod cases;
pub mod expected;
mod ledger;
mod players;
pub mod schedule;
mod suite;

use std::fmt;

use dsbench_core::error::Error;

pub use ledger::{Found, Ledger};
pub use suite::Suite;

/// The outcome of a case that asks a question with one right answer.
pub const HOLDS: &str = "holds";
/// The outcome of a case that does not apply to the product, such as losing a server where there is none.
pub const ABSENT: &str = "absent";
/// The outcome of a case that did not come to an outcome: its detail says why.
pub const BROKEN: &str = "broken";

/// One case and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What it is about: "isolation", "types" …
    pub group: &'static str,
    /// Its name within the group.
    pub case: &'static str,
    /// Level of isolation, or way of sending statements; empty where there is but one.
    pub variant: &'static str,
    /// What happened.
    pub outcome: String,
    /// What the product documents.
    pub expected: String,
    /// What was seen where that is of use; empty otherwise.
    pub detail: String,
}

impl Row {
    /// Whether it is as documented.
    pub fn passed(&self) -> bool {
        self.outcome == self.expected
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.variant.is_empty() { "" } else { ", " };
        write!(f, "{}: {}{of}{}: {}", self.group, self.case, self.variant, self.outcome)?;
        if !self.passed() {
            write!(f, "; documented: {}", self.expected)?;
        }
        if !self.detail.is_empty() {
            write!(f, " ({})", self.detail)?;
        }
        Ok(())
    }
}

/// What is under test, as it says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// Which expectations hold: a name of [`expected::FAMILIES`].
    pub family: String,
    /// Product and version in words: "MariaDB 10.11.6 InnoDB".
    pub version: String,
}

/// Why a case does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Doubt(String);

impl From<Error> for Doubt {
    fn from(error: Error) -> Self {
        Self(format!("{}, {error}", error.kind.name()))
    }
}

/// A doubt unless `holds`; the words are made only when they are needed.
fn ensure(holds: bool, words: impl FnOnce() -> String) -> Result<(), Doubt> {
    if holds {
        Ok(())
    } else {
        Err(Doubt(words()))
    }
}

/// A doubt unless `result` is an error of `kind`.
fn refused<T>(
    what: &str,
    result: dsbench_core::error::Result<T>,
    kind: dsbench_core::error::ErrorKind,
) -> Result<Error, Doubt> {
    match result {
        Ok(_) => Err(Doubt(format!("{what} was not refused"))),
        Err(error) if error.kind == kind => Ok(error),
        Err(error) => Err(Doubt(format!("{what}: {} in place of {}, {error}", error.kind.name(), kind.name()))),
    }
}
