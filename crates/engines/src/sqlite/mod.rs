//! SQLite, compiled in.
//!
//! `sqlite:///relative.db` or `sqlite:////absolute.db`, with these parameters:
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `journal_mode` | `wal` | wal, delete, truncate, persist, memory, off; a file that is there keeps its own |
//! | `synchronous` | `full` | off, normal, full, extra; full makes every commit durable |
//! | `foreign_keys` | `on` | whether foreign keys are enforced, as other engines do |
//! | `cache_size`, `mmap_size` | SQLite's | as the pragmas of these names |
//! | `page_size` | SQLite's | bytes of a page of a new file |
//! | `busy_timeout_ms` | 5000 | how long a session waits for a lock before the error `busy` |
//! | `begin` | `immediate` | immediate or deferred, see below |
//!
//! SQLite knows one level of isolation, serializable, and every level asked for is mapped to it.
//! One transaction writes at a time. `BEGIN IMMEDIATE` takes the writer's lock at once and waits for
//! it; a deferred transaction that turns writer after another one wrote fails at once and cannot
//! wait, so that 16 threads would do little but fail. Clients of SQLite customarily wait (Python's
//! sqlite3 for 5 s, rusqlite for 5 s), therefore the default is to wait: what is lost by collisions
//! on other engines is seen here as residence time. With `busy_timeout_ms=0` it is seen as failures.
//! SQLite's waiting is polling with growing pauses, not a queue: when many threads write all the time,
//! some wait for seconds while others write. That is SQLite's own behaviour, and it is left as it is.
//!
//! Decimals and timestamps are stored as integers: digits at the declared scale, and microseconds.

mod bulk;
mod claim;
mod codes;
mod connection;
mod convert;
mod doing;
mod place;
mod raw;
mod target;
mod waiting;

use dsbench_core::engine::{Connection, Dialect, Engine, Isolation, Place, PlaceState, Seen, Session};
use dsbench_core::error::{Error, ErrorKind, Result};

use doing::Sessions;
use place::{set_up, FilePlace};
use target::Target;

static DIALECT: Dialect =
    Dialect { name: "sqlite", procedures: false, embedded: true, single_writer: true, keeps_data: true };

/// Binds the engine to the file of a URL. Nothing is opened yet.
pub fn open(url: &str) -> Result<Box<dyn Engine>> {
    Ok(Box::new(Sqlite { place: FilePlace::new(Target::parse(url)?), sessions: Sessions::default() }))
}

struct Sqlite {
    place: FilePlace,
    sessions: Sessions,
}

impl Engine for Sqlite {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    /// An administrative session works on the file when it is dsbench's, else on an empty database in
    /// memory: a foreign file is not even opened.
    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        let db = match self.place.look()? {
            (PlaceState::Marked(_), Some(db)) => {
                place::set_journal_mode(&db, self.place.0.journal_mode()).map_err(set_up)?;
                db
            }
            _ if !session.in_place => self.place.open_memory()?,
            (PlaceState::Foreign(what), _) => return Err(refuse(format!("{what}: name another file"))),
            _ => return Err(refuse(format!("{} does not exist: create it first", self.place.0.path.display()))),
        };
        if session.in_place {
            self.sessions.add(db.waiting());
        }
        let opened = connection::Session::new(db, &self.place.0).map_err(set_up)?;
        Ok(Box::new(opened))
    }

    /// The journal mode, which stays with the file, is left alone unless the URL names one.
    fn connect_existing(&self, _isolation: Isolation) -> Result<Box<dyn Connection>> {
        let db = self.place.open_existing()?;
        if let Some(mode) = self.place.0.journal_mode {
            place::set_journal_mode(&db, mode).map_err(set_up)?;
        }
        self.sessions.add(db.waiting());
        Ok(Box::new(connection::Session::new(db, &self.place.0).map_err(set_up)?))
    }

    fn seen(&self) -> Option<Vec<Seen>> {
        Some(self.sessions.seen())
    }

    fn kind_of(&self, code: &str) -> ErrorKind {
        code.parse().map_or(ErrorKind::Statement, |code| codes::kind(code, codes::During::Execute))
    }

    fn place(&self) -> &dyn Place {
        &self.place
    }
}

fn refuse(message: String) -> Error {
    Error::with(ErrorKind::Setup, "connect", message)
}
