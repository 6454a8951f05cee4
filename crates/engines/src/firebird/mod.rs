//! Firebird 3, 4 and 5, by direct calls of its client library, which is loaded when it is needed.
//!
//! | target | database |
//! |---|---|
//! | `firebird://user:password@host:3050//path/file.fdb` | a file of the server |
//! | `firebird://host/alias` | an alias in the server's `databases.conf` |
//! | `firebird:///path/file.fdb` | a file of this machine, by the engine in this process (embedded) |
//!
//! An embedded engine asks for no password: a user who may open the file may do everything in it.
//!
//! | parameter | default | meaning |
//! |---|---|---|
//! | `charset` | `UTF8` | character set of the sessions, and of a new database |
//! | `page_size` | Firebird's | bytes of a page of a new database |
//! | `page_buffers` | the server's | pages in the cache of a new database (of each session in the Classic modes) |
//! | `forced_writes` | `on` | whether a new database is written through; `off` leaves it to the system |
//! | `sweep_interval` | Firebird's | transactions between automatic sweeps of a new database, 0 for never |
//! | `wait` | no | seconds that a transaction waits for another's lock, or `forever` |
//! | `auto_undo` | `on` | `off`: no log by which the server undoes a transaction (`NO AUTO UNDO`) |
//! | `role` | none | SQL role of the sessions |
//! | `wire_crypt` | the library's | `enabled`, `required`, `disabled`: encryption of the connection |
//! | `wire_compression` | the library's | `on`, `off` |
//! | `connect_timeout` | 60 | seconds |
//! | `client_library` | `FIREBIRD_CLIENT_LIBRARY`, then the usual places | path of `libfbclient` |
//!
//! Levels of isolation are Firebird's own words for them:
//!
//! | level | transaction |
//! |---|---|
//! | read committed | `READ COMMITTED NO RECORD_VERSION WAIT`, Firebird's own defaults; in version 4 and later read-consistent by default |
//! | repeatable read | `SNAPSHOT NO WAIT`: the paper, section 3.3.3; no phantoms either |
//! | serializable | `SNAPSHOT TABLE STABILITY NO WAIT`: whole tables are locked for writing, and the second transaction fails |
//!
//! Without waiting a transaction fails at once when another one, still open, changed the row: the error
//! is `conflict`, as it is when the other one has committed since the snapshot. With `wait=SECONDS` it
//! waits for the end of the other one, and the error says the same when the time is over. Only with
//! `wait=forever`, which is Firebird's own default and that of read committed here, does a server look for
//! deadlocks; the error is `conflict` again, as Firebird tells the two by the same codes. `wait=no` waits at no level.
//!
//! A single call outside of a transaction is a transaction here: start, execution and commit are three
//! round trips. (Firebird's own autocommit would be one, but it keeps the snapshot of its first
//! statement.) For a SELECT there is a cheaper way, where the level allows it: see `reading.rs`.

mod administration;
mod answer;
mod api;
mod attachment;
mod blocks;
mod bulk;
mod codes;
mod interrupt;
mod library;
mod place;
mod reading;
mod run;
mod session;
mod signals;
mod sqlda;
mod statement;
mod status;
mod sweep;
mod target;
mod text;
mod values;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use dsbench_core::engine::{Connection, Dialect, Engine, Isolation, Place, PlaceState};
use dsbench_core::error::{Error, ErrorKind, Result};

use self::administration::Administration;
use self::api::Api;
use self::attachment::Attachment;
use self::reading::Reading;
use self::session::Session;
use self::sweep::Sweep;
use self::target::Target;

const SERVER: Dialect =
    Dialect { name: "firebird", procedures: true, embedded: false, single_writer: false, keeps_data: true };
static DIALECTS: [Dialect; 2] = [SERVER, Dialect { embedded: true, ..SERVER }];

/// Binds Firebird to the database of a URL. Error `Configuration` when it makes no sense; nothing is
/// loaded or connected yet.
pub fn open(url: &str) -> Result<Box<dyn Engine>> {
    let target = Arc::new(Target::parse(url, &|name| std::env::var(name).ok())?);
    Ok(Box::new(Firebird { target, marked: AtomicBool::new(false), administration: Administration::default() }))
}

/// A Firebird database at one target.
struct Firebird {
    target: Arc<Target>,
    /// Whether the mark was seen: sessions of load look for it once, not each time they connect.
    marked: AtomicBool,
    administration: Administration,
}

impl Firebird {
    fn api(&self) -> Result<&'static Api> {
        library::load(self.target.client_library.as_deref())
    }

    fn close_administration(&self) {
        self.administration.close();
    }

    fn forget_mark(&self) {
        self.marked.store(false, Ordering::Relaxed);
    }

    /// An error unless the database carries the mark.
    fn see_mark(&self) -> Result<()> {
        if self.marked.load(Ordering::Relaxed) {
            return Ok(());
        }
        let refuse = |message: String| Err(Error::with(ErrorKind::Setup, "connect", message));
        match self.look()?.0 {
            PlaceState::Marked(_) => self.marked.store(true, Ordering::Relaxed),
            PlaceState::Absent => return refuse(format!("{} does not exist: create it first", self.target.database)),
            PlaceState::Foreign(what) => return refuse(format!("{what}: name another database")),
        }
        Ok(())
    }
}

/// Opens a session.
fn attach(api: &'static Api, target: &Arc<Target>, isolation: Isolation) -> Result<Session> {
    let at = Attachment::open(api, &target.database, &blocks::attach(target))
        .map_err(|status| status.setup(api, "connect", &target.database))?;
    let parameters = blocks::transaction(isolation, target);
    Ok(Session::new(at, parameters, Reading::at(isolation), Sweep(Arc::clone(target))))
}

impl Engine for Firebird {
    fn dialect(&self) -> &'static Dialect {
        &DIALECTS[usize::from(self.target.embedded)]
    }

    /// An administrative session works on the database, too, as Firebird has no other: it must exist.
    fn connect(&self, session: dsbench_core::engine::Session) -> Result<Box<dyn Connection>> {
        let (api, target, isolation) = (self.api()?, Arc::clone(&self.target), session.isolation);
        if session.in_place {
            self.see_mark()?;
            return Ok(Box::new(attach(api, &target, isolation)?));
        }
        Ok(Box::new(self.administration.connect(Box::new(move || attach(api, &target, isolation)))?))
    }

    fn connect_existing(&self, isolation: Isolation) -> Result<Box<dyn Connection>> {
        Ok(Box::new(attach(self.api()?, &self.target, isolation)?))
    }

    fn kind_of(&self, code: &str) -> ErrorKind {
        let codes: Vec<i32> = code.split(',').filter_map(|one| one.trim().parse().ok()).collect();
        codes::judge(&codes).1
    }

    fn place(&self) -> &dyn Place {
        self
    }
}

#[cfg(test)]
mod fuzz_tests;
