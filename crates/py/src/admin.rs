//! The one administrative session. The program's threads use it in turn, and any of them can end it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use dsbench_core::clock::{Clock, Monotonic, Nanos};
use dsbench_core::engine::{Connection, Engine, Interrupt, Isolation, Pooled, Session};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;
use dsbench_core::value::Table;

use crate::claim::{Attempt, Claim, Holder};

/// Administration and monitors do not need dsbench's place.
const SESSION: Session = Session { isolation: Isolation::ReadCommitted, in_place: false };

/// Native codes of the errors when another session has what this one had claimed, and when the session of this one that was
/// lost still has it.
const TAKEN: &[u8] = b"TAKEN";
const HALF_OPEN: &[u8] = b"HALF_OPEN";

/// How long a claim may still be held by the session that was lost: the server may not have noticed yet.
const LINGERING: Nanos = 5_000_000_000;
/// Pause between two tries.
const PAUSE: Nanos = 100_000_000;

/// Takes the claim in the session that it is given.
type Attempting<'a> = &'a mut dyn FnMut(&mut dyn Connection) -> Result<Attempt>;

/// A session that is opened, or opened again, on demand.
pub struct Admin {
    engine: Arc<dyn Engine>,
    /// Held for as long as a query waits for the server, which may be for ever.
    session: Mutex<Option<Box<dyn Connection>>>,
    /// The lock that every session takes and that ends with it, and the name of the session that has it.
    claim: Mutex<Option<(Claim, String)>>,
    /// What holds the claim where sessions change from one transaction to the next: one that stays open.
    apart: Mutex<Option<Box<dyn Connection>>>,
    /// Why the claim is lost for good.
    taken: Mutex<Option<Error>>,
    /// Ends what the session waits for. It is outside of the session's mutex, which is held during the wait.
    end: Mutex<Option<Box<dyn Interrupt>>>,
    /// The session is to be left before the next query.
    stale: AtomicBool,
    closed: AtomicBool,
}

impl Admin {
    /// Nothing is connected yet.
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self {
            engine,
            session: Mutex::default(),
            claim: Mutex::default(),
            apart: Mutex::default(),
            taken: Mutex::default(),
            end: Mutex::default(),
            stale: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// Takes a lock of the server's that ends with the session; who has it where it is not free. From now on every session
    /// that must be opened again takes it first.
    pub fn claim(&self, claim: Claim) -> Result<Option<Holder>> {
        // What sessions are is known once there is one.
        self.fetch("SELECT 1")?;
        let attempt = match self.engine.pooled() {
            Some(Pooled::Transactions) => self.claim_apart(&mut |connection| claim.attempt(connection))?,
            _ => self.within(|connection| claim.attempt(connection))?,
        };
        Ok(match attempt {
            Attempt::Taken(name) => {
                *lock(&self.claim) = Some((claim, name));
                None
            }
            Attempt::Held(holder) => Some(holder),
        })
    }

    /// Makes sure that what was claimed is still this session's, or is again.
    pub fn hold(&self) -> Result<()> {
        if lock(&self.claim).is_none() {
            return Ok(());
        }
        let lost = match lock(&self.apart).as_mut() {
            Some(connection) => connection.fetch("SELECT 1").is_err(),
            None => self.engine.pooled() == Some(Pooled::Transactions),
        };
        if lost {
            self.until_free(|attempt| self.claim_apart(attempt))?;
        }
        // A session that was lost is noticed by the first query, and opened again by the second. Engines whose
        // locks end with sessions know a query without a table.
        match self.fetch("SELECT 1") {
            Err(error) if is_lost(&error) => self.fetch("SELECT 1").map(|_| ()),
            found => found.map(|_| ()),
        }
    }

    /// An error once another session has what was claimed; does not ask the server.
    pub fn check_claim(&self) -> Result<()> {
        lock(&self.taken).clone().map_or(Ok(()), Err)
    }

    fn give_up(&self, holder: &Holder, own: &str) -> Error {
        let (words, code) = match holder.is(own) {
            true => ("still holds it, as the server has not noticed", HALF_OPEN),
            false => ("another session holds the target now", TAKEN),
        };
        let words = format!("the session that held this target was lost, and {words}: {}", holder.words());
        let error = Error::with(ErrorKind::Setup, "lock", words).code(code);
        lock(&self.taken).get_or_insert(error).clone()
    }

    /// Takes the claim again in a session that was opened in place of a lost one.
    fn claim_again(&self, connection: &mut dyn Connection) -> Result<()> {
        if lock(&self.claim).is_none() || self.engine.pooled() == Some(Pooled::Transactions) {
            return Ok(());
        }
        self.until_free(|attempt| attempt(connection))
    }

    /// Takes the claim by `attempt` in a transaction that stays open, as a lock stays with its session only so long.
    fn claim_apart(&self, attempt: Attempting<'_>) -> Result<Attempt> {
        let mut apart = lock(&self.apart);
        *apart = None;
        let mut connection = self.engine.connect(SESSION)?;
        connection.lift_timeouts()?;
        connection.begin()?;
        let found = attempt(connection.as_mut())?;
        if matches!(found, Attempt::Taken(_)) {
            *apart = Some(connection);
        }
        Ok(found)
    }

    /// Tries, `within` a session, until a claim is free that a lost session may still hold. Where only the server's half of
    /// that one is left, which may stay for hours, it is ended.
    fn until_free(&self, mut within: impl FnMut(Attempting<'_>) -> Result<Attempt>) -> Result<()> {
        let Some((claim, own)) = lock(&self.claim).clone() else { return Ok(()) };
        let over = Monotonic.now() + LINGERING;
        loop {
            let found = within(&mut |connection| {
                let found = claim.attempt(connection)?;
                if let Attempt::Held(holder) = &found {
                    if holder.is(&own) {
                        claim.end(holder, connection);
                    }
                }
                Ok(found)
            })?;
            match found {
                Attempt::Taken(name) => {
                    *lock(&self.claim) = Some((claim, name));
                    return Ok(());
                }
                Attempt::Held(holder) if Monotonic.now() >= over => return Err(self.give_up(&holder, &own)),
                Attempt::Held(_) => {}
            }
            Monotonic.sleep_until(Monotonic.now() + PAUSE, &self.closed);
            self.go_on()?;
        }
    }

    /// Runs one query. Error `Setup` once the session was closed, or another one has what it had claimed.
    pub fn fetch(&self, sql: &str) -> Result<Table> {
        self.within(|connection| connection.fetch(sql))
    }

    /// Times a query, executed `count` times.
    pub fn round_trips(&self, sql: &str, count: usize) -> Result<Vec<Nanos>> {
        self.within(|connection| {
            let once = |_| {
                let began = Monotonic.now();
                connection.fetch(sql).map(|_| Monotonic.now() - began)
            };
            (0..count).map(once).collect()
        })
    }

    /// Does `work` in the session, which is opened where there is none.
    fn within<T>(&self, work: impl FnOnce(&mut dyn Connection) -> Result<T>) -> Result<T> {
        let mut session = lock(&self.session);
        if self.stale.swap(false, Ordering::SeqCst) {
            self.leave(&mut session);
        }
        let connection = match session.as_mut() {
            Some(connection) => connection,
            None => session.insert(self.open()?),
        };
        let found = work(connection.as_mut());
        if found.as_ref().is_err_and(is_lost) || self.closed.load(Ordering::SeqCst) {
            self.leave(&mut session);
        }
        found
    }

    fn open(&self) -> Result<Box<dyn Connection>> {
        self.go_on()?;
        let mut connection = self.engine.connect(SESSION)?;
        connection.lift_timeouts()?;
        *lock(&self.end) = connection.interrupt();
        // A close during the opening found no handle to end it by.
        self.go_on()?;
        self.claim_again(connection.as_mut())?;
        Ok(connection)
    }

    fn go_on(&self) -> Result<()> {
        self.check_claim()?;
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

    /// Has the next query open a session anew: another server may be the primary now.
    pub fn renew(&self) {
        self.stale.store(true, Ordering::SeqCst);
        *lock(&self.apart) = None;
    }

    /// Ends the query under way, if any; its caller gets an error.
    pub fn interrupt(&self) {
        if let Some(end) = &*lock(&self.end) {
            end.interrupt();
        }
    }

    /// Closes the session for good; a query under way is ended and not waited for.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Ok(mut apart) = self.apart.try_lock() {
            *apart = None;
        }
        match self.session.try_lock() {
            Ok(mut session) => self.leave(&mut session),
            Err(_) => self.interrupt(),
        }
    }
}

fn is_lost(error: &Error) -> bool {
    error.kind.is_loss()
}
