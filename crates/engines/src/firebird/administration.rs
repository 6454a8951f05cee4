//! Administrative sessions. Firebird has no session without a database, and does not drop a database that
//! has sessions. So these detach when the place is dropped, and attach again when next used.

use std::sync::{Arc, Mutex, Weak};

use dsbench_core::engine::{Connection, Interrupt, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, Result};
use dsbench_core::locking::lock;
use dsbench_core::value::{Rows, Table, Value};

use super::session::Session;

/// Where a session is kept, if there is one now.
type Slot = Mutex<Option<Session>>;

/// How one is opened.
type Open = Box<dyn Fn() -> Result<Session> + Send>;

/// The administrative sessions of one engine.
#[derive(Default)]
pub(super) struct Administration(Mutex<Vec<Weak<Slot>>>);

impl Administration {
    /// A new one, attached at once so that a wrong login shows.
    pub(super) fn connect(&self, open: Open) -> Result<Admin> {
        let slot = Arc::new(Mutex::new(Some(open()?)));
        let mut slots = lock(&self.0);
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(&slot));
        Ok(Admin { slot, open })
    }

    /// Detaches all sessions.
    pub(super) fn close(&self) {
        let slots = lock(&self.0);
        for slot in slots.iter().filter_map(Weak::upgrade) {
            *lock(&slot) = None;
        }
    }
}

/// An administrative session. Statements that were prepared are forgotten when it was detached.
pub(super) struct Admin {
    slot: Arc<Slot>,
    open: Open,
}

impl Admin {
    fn with<T>(&self, verb: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        let mut slot = lock(&self.slot);
        match &mut *slot {
            Some(session) => verb(session),
            none => verb(none.insert((self.open)()?)),
        }
    }
}

impl Connection for Admin {
    fn prepare(&mut self, statement: &Statement<'_>, when: Prepare) -> Result<StatementId> {
        self.with(|session| session.prepare(statement, when))
    }

    fn begin(&mut self) -> Result<()> {
        self.with(Connection::begin)
    }

    fn execute(&mut self, id: StatementId, params: &[Value<'_>]) -> Result<u64> {
        self.with(|session| session.execute(id, params))
    }

    fn query(&mut self, id: StatementId, params: &[Value<'_>], into: &mut Rows) -> Result<()> {
        self.with(|session| session.query(id, params, into))
    }

    fn commit(&mut self) -> Result<()> {
        self.with(Connection::commit)
    }

    fn rollback(&mut self) -> Result<()> {
        self.with(Connection::rollback)
    }

    fn in_transaction(&mut self) -> bool {
        lock(&self.slot).as_mut().is_some_and(|session| session.in_transaction())
    }

    fn script(&mut self, sql: &[&str]) -> Result<()> {
        self.with(|session| session.script(sql))
    }

    fn fetch(&mut self, sql: &str) -> Result<Table> {
        self.with(|session| session.fetch(sql))
    }

    fn interrupt(&self) -> Option<Box<dyn Interrupt>> {
        self.with(|session| session.interrupt().ok_or_else(|| Error::configuration(""))).ok()
    }
}
