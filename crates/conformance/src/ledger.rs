//! A ledger of commits, for a test that kills what keeps it.
//!
//! Each writer has a session. Its transactions have numbers, 1, 2, 3 …, and write the same row into two tables. It
//! notes a number in a file outside of the database before it sends the commit, and again once that is acknowledged.
//! The file outlives the writer when its process is killed. What the database has afterwards says whether it kept every
//! acknowledged commit (durability), both rows or none of each (atomicity), and nothing that was never sent.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use dsbench_core::engine::{refuse_occupied, Connection, Engine, Isolation, Prepare, Session, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::sql::Sections;
use dsbench_core::value::{Type, Value};

use crate::bed::FILES;

/// Text of the ledger's mark.
pub const MARK: &str = "durability check";
/// Bytes of a writer's notes: the last number sent, the last one acknowledged, both of 64 bits, little end first.
const NOTES: u64 = 16;

/// A ledger at a target.
pub struct Ledger {
    engine: Arc<dyn Engine>,
    sql: Sections,
}

/// What the database has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Writer, number of its rows, last number.
    pub rows: Vec<(i64, i64, i64)>,
    /// Rows of one table without their twin in the other.
    pub halves: i64,
}

impl Ledger {
    /// Errors: `Configuration` for an engine without SQL here.
    pub fn new(engine: Arc<dyn Engine>) -> Result<Self> {
        Ok(Self { sql: Sections::of(engine.dialect(), FILES)?, engine })
    }

    /// Makes the place with its tables. Error `Setup` when one is there already.
    pub fn create(&self) -> Result<()> {
        refuse_occupied(self.engine.as_ref())?;
        self.engine.place().create(MARK)?;
        let made = self.session().and_then(|mut session| session.script(&self.sql.script("ledger")));
        made.inspect_err(|_| {
            // The first error counts.
            let _ = self.engine.place().drop();
        })
    }

    fn session(&self) -> Result<Box<dyn Connection>> {
        self.engine.connect(Session { isolation: Isolation::ReadCommitted, in_place: true })
    }

    /// Writes with `writers` sessions, numbered from `first` on, until each of them fails; gives how they failed.
    ///
    /// `notes` is a file that is there already, with 16 bytes for each: see [`NOTES`].
    pub fn write(&self, first: i32, writers: i32, notes: &Path) -> Vec<Error> {
        thread::scope(|scope| {
            let all: Vec<_> = (0..writers)
                .map(|at| scope.spawn(move || self.keep_writing(first + at, notes, at as u64 * NOTES)))
                .collect();
            let ended = all.into_iter().filter_map(|one| one.join().ok());
            ended.filter_map(std::result::Result::err).collect()
        })
    }

    fn keep_writing(&self, writer: i32, notes: &Path, at: u64) -> Result<()> {
        let mut notes = File::options().write(true).open(notes).map_err(lost_notes)?;
        let mut note = |place: u64, number: i32| {
            notes.seek(SeekFrom::Start(at + place)).map_err(lost_notes)?;
            notes.write_all(&u64::from(number.unsigned_abs()).to_le_bytes()).map_err(lost_notes)
        };
        let mut session = self.session()?;
        let mut statement = |section| {
            let sql = self.sql.one(section)?;
            session.prepare(&Statement { sql, params: &[Type::Int32; 2], columns: &[] }, Prepare::Once)
        };
        let statements = [statement("ledger entry")?, statement("twin entry")?];
        for number in 1.. {
            note(0, number)?;
            while let Err(error) = enter(&mut *session, &statements, writer, number) {
                if !error.kind.is_retryable() {
                    return Err(error);
                }
                session.rollback()?;
            }
            note(8, number)?;
        }
        Ok(())
    }

    /// What the database has now.
    pub fn found(&self) -> Result<Found> {
        let mut session = self.session()?;
        let rows = numbers(&mut *session, self.sql.one("ledger rows")?)?;
        let mut halves = 0;
        for section in ["without twin", "without entry"] {
            halves += numbers::<1>(&mut *session, self.sql.one(section)?)?.first().map_or(0, |[count]| *count);
        }
        Ok(Found { rows: rows.into_iter().map(|[writer, rows, last]| (writer, rows, last)).collect(), halves })
    }

    /// How many of the first `number` transactions of `writer` the database has.
    pub fn kept(&self, writer: i64, number: i64) -> Result<i64> {
        let sql = self.sql.one("ledger rows up to")?;
        let sql = sql.replace("{writer}", &writer.to_string()).replace("{seq}", &number.to_string());
        Ok(numbers::<1>(&mut *self.session()?, &sql)?.first().map_or(0, |[count]| *count))
    }
}

fn enter(session: &mut dyn Connection, statements: &[StatementId], writer: i32, number: i32) -> Result<()> {
    session.begin()?;
    for statement in statements {
        session.execute(*statement, &[Value::Int(writer.into()), Value::Int(number.into())])?;
    }
    session.commit()
}

fn numbers<const N: usize>(session: &mut dyn Connection, sql: &str) -> Result<Vec<[i64; N]>> {
    let odd = || Error::with(ErrorKind::Statement, "read the ledger", "a row without numbers");
    let rows = session.fetch(sql)?.rows.into_iter();
    rows.map(|row| {
        let cells: Option<Vec<i64>> = row.into_iter().map(|cell| cell?.trim().parse().ok()).collect();
        cells.and_then(|cells| cells.try_into().ok()).ok_or_else(odd)
    })
    .collect()
}

fn lost_notes(error: std::io::Error) -> Error {
    Error::with(ErrorKind::Setup, "note a commit", error.to_string())
}
