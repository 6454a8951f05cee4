//! An engine that only plays a database: for exact tests (scripted latencies and faults, a fake
//! clock) and to measure the ceiling of the client itself (latency 0).
//!
//! It takes any SQL, keeps no data, answers every query with one row of zeros of the declared types
//! and counts what it was asked to do. The URL is `mock:` with these parameters, see [`Script`]:
//!
//! | parameter | meaning |
//! |---|---|
//! | `latency_ns`, `latency_us`, `latency_ms` | what each begin, statement, commit and rollback takes |
//! | `latency=exponential` | these times are exponential, with that mean |
//! | `still_every_ms`, `still_ms` (`_us`, `_ns`) | the server does nothing for so long, at the beginning of each period |
//! | `connect_ns`, `connect_us`, `connect_ms` | what opening a connection takes, preparing included |
//! | `connect_fail=N` | the first N connections are refused |
//! | `fail_at=N`, `fail_every=N`, `fail=KIND` | call N, or every Nth, fails (default: serialization) |
//! | `stall_at=N`, `stall_every=N`, `stall_ms` (`_us`, `_ns`) | call N, or every Nth, takes longer |
//! | `disconnect_at=N`, `disconnect_every=N` | the connection breaks in call N, or every Nth |
//! | `calls` | which calls are numbered: statements (default), begins, commits, all |

mod connection;
mod script;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use dsbench_core::clock::FakeClock;
use dsbench_core::engine::{Connection, Dialect, Engine, Place, PlaceState, Session};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;

pub use script::{Action, Calls, Script, When};

static DIALECT: Dialect =
    Dialect { name: "mock", procedures: false, embedded: true, single_writer: false, keeps_data: false };

/// What a mock was asked to do, over all its connections that are closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections opened.
    pub connects: u64,
    /// Statements prepared.
    pub prepares: u64,
    /// Transactions opened.
    pub begins: u64,
    /// Transactions committed.
    pub commits: u64,
    /// Transactions rolled back by the client.
    pub rollbacks: u64,
    /// Statements run by `execute`, failed ones left out.
    pub executes: u64,
    /// Statements run by `query`, failed ones left out.
    pub queries: u64,
    /// Of both, those outside of a transaction; each is one.
    pub singles: u64,
    /// Rows taken from sources of bulk loads.
    pub rows: u64,
    /// Calls that failed by the script.
    pub failures: u64,
}

impl Counts {
    /// What a database would have kept: committed transactions.
    pub fn transactions(&self) -> u64 {
        self.commits + self.singles
    }

    fn add(&mut self, other: &Self) {
        self.connects += other.connects;
        self.prepares += other.prepares;
        self.begins += other.begins;
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.executes += other.executes;
        self.queries += other.queries;
        self.singles += other.singles;
        self.rows += other.rows;
        self.failures += other.failures;
    }
}

/// What the connections of one engine share.
#[derive(Debug, Default)]
struct Shared {
    script: Script,
    /// Moved on by the script instead of waiting, when there is one.
    clock: Option<Arc<FakeClock>>,
    /// Number of the last call, kept only when the script has events: without it, connections share nothing.
    calls: AtomicU64,
    counts: Mutex<Counts>,
    mark: Mutex<Option<String>>,
}

/// The mock engine; clones are the same engine.
#[derive(Debug, Clone)]
pub struct Mock(Arc<Shared>);

/// Makes a mock of a URL.
pub fn open(url: &str) -> Result<Box<dyn Engine>> {
    Ok(Box::new(Mock::new(Script::parse(url)?)))
}

impl Mock {
    /// A mock that takes real time.
    pub fn new(script: Script) -> Self {
        Self(Arc::new(Shared { script, ..Shared::default() }))
    }

    /// A mock whose calls move `clock` on instead of waiting; exact with one thread.
    pub fn on_clock(script: Script, clock: Arc<FakeClock>) -> Self {
        Self(Arc::new(Shared { script, clock: Some(clock), ..Shared::default() }))
    }

    /// What was done so far. The calls of a connection are added when it is dropped.
    pub fn counts(&self) -> Counts {
        *lock(&self.0.counts)
    }
}

impl Engine for Mock {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn connect(&self, session: Session) -> Result<Box<dyn Connection>> {
        let number = {
            let mut counts = lock(&self.0.counts);
            counts.connects += 1;
            counts.connects
        };
        let opened = connection::MockConnection::new(Arc::clone(&self.0), number);
        opened.wait(self.0.script.connect_ns);
        let now = opened.now();
        if number <= self.0.script.connect_failures || self.0.script.down.iter().any(|down| down.contains(&now)) {
            return Err(setup("connect", "refused, as the script wants"));
        }
        if session.in_place && lock(&self.0.mark).is_none() {
            return Err(setup("connect", "the place does not exist: create it first"));
        }
        Ok(Box::new(opened))
    }

    fn place(&self) -> &dyn Place {
        self
    }
}

impl Place for Mock {
    fn state(&self) -> Result<PlaceState> {
        Ok(lock(&self.0.mark).clone().map_or(PlaceState::Absent, PlaceState::Marked))
    }

    fn create(&self, mark: &str) -> Result<()> {
        let mut kept = lock(&self.0.mark);
        match *kept {
            Some(_) => Err(setup("create the place", "it is there already: drop it first")),
            None => {
                *kept = Some(mark.into());
                Ok(())
            }
        }
    }

    fn remark(&self, mark: &str) -> Result<()> {
        let mut kept = lock(&self.0.mark);
        kept.is_some()
            .then(|| *kept = Some(mark.into()))
            .ok_or_else(|| setup("mark the place anew", "nothing is there"))
    }

    /// Nothing: a mock keeps no tables.
    fn take_stock(&self) -> Result<()> {
        Ok(())
    }

    fn strangers(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn drop(&self) -> Result<()> {
        *lock(&self.0.mark) = None;
        Ok(())
    }

    /// Nothing: a mock keeps no data.
    fn size_bytes(&self) -> Result<Option<u64>> {
        Ok(Some(0))
    }
}

fn setup(context: &'static str, message: &str) -> Error {
    Error::with(ErrorKind::Setup, context, message)
}

#[cfg(test)]
#[path = "mock_tests.rs"]
mod tests;
