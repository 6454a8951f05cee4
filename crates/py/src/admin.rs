//! The session of administration: one, asked by the program's threads in turn, ended by whoever must.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsbench_core::engine::{Connection, Engine, Interrupt, Isolation, Session};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::Table;

/// Outside dsbench's place: administration and monitors need none.
const SESSION: Session = Session { isolation: Isolation::ReadCommitted, in_place: false };

/// A session that is opened, or opened again, on demand.
pub struct Admin {
    engine: Arc<dyn Engine>,
    /// Held for as long as a query waits for the server, which may be for ever.
    session: Mutex<Option<Box<dyn Connection>>>,
    /// Ends what the session waits for. Beside its mutex, so that nobody has to wait for that first.
    end: Mutex<Option<Box<dyn Interrupt>>>,
    closed: AtomicBool,
}

impl Admin {
    /// Nothing is connected yet.
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, session: Mutex::default(), end: Mutex::default(), closed: AtomicBool::new(false) }
    }

    /// Runs one query. Error `Setup` once the session was closed.
    pub fn fetch(&self, sql: &str) -> Result<Table> {
        let mut session = lock(&self.session);
        let connection = match session.as_mut() {
            Some(connection) => connection,
            None => session.insert(self.open()?),
        };
        let table = connection.fetch(sql);
        let lost = |error: &Error| matches!(error.kind, ErrorKind::Disconnected | ErrorKind::Unknown);
        if table.as_ref().is_err_and(lost) || self.closed.load(Ordering::SeqCst) {
            self.leave(&mut session);
        }
        table
    }

    fn open(&self) -> Result<Box<dyn Connection>> {
        self.go_on()?;
        let connection = self.engine.connect(SESSION)?;
        *lock(&self.end) = connection.interrupt();
        // Whoever closed while it was being opened found no handle to end it by.
        self.go_on()?;
        Ok(connection)
    }

    fn go_on(&self) -> Result<()> {
        match self.closed.load(Ordering::SeqCst) {
            true => Err(Error::with(ErrorKind::Setup, "administration", "the session was closed")),
            false => Ok(()),
        }
    }

    fn leave(&self, session: &mut Option<Box<dyn Connection>>) {
        // The handle first: it must not meet another session that got the number of this one.
        *lock(&self.end) = None;
        *session = None;
    }

    /// Ends the query under way, if any, with an error of whoever asked.
    pub fn interrupt(&self) {
        if let Some(end) = &*lock(&self.end) {
            end.interrupt();
        }
    }

    /// Closes the session for good; a query under way is ended and not waited for.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        match self.session.try_lock() {
            Ok(mut session) => self.leave(&mut session),
            Err(_) => self.interrupt(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
