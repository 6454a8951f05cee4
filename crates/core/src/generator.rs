//! The only loop: every option of a run is a value here, never a second loop.
//!
//! It owns begin, commit, retry, reconnect, the clock and the deadline. A workload's client owns
//! the statements and the inputs, which are drawn before the clock of a transaction starts.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::clock::{Clock, Nanos};
use crate::engine::{Connection, Engine, Interrupt, Prepare, Session};
use crate::error::{Error, ErrorKind, Result};
use crate::pacer::Pacer;
use crate::recorder::{Outcome, Recorder, Sample};
use crate::workload::{Client, Drawn, End, Shape};

/// A client that fails this often in a row, for other reasons than collisions, ends the cycle.
const FAILURES_IN_A_ROW: u32 = 100;

/// What holds for all clients of a cycle.
#[derive(Debug, Clone, Copy)]
pub struct Conduct {
    /// Session of each connection.
    pub session: Session,
    /// When statements are parsed.
    pub prepare: Prepare,
    /// C: connections of each client, used round robin.
    pub connections: usize,
    /// Repeat a transaction that failed retryably, with the same inputs, until it succeeds.
    pub retry: bool,
    /// Open and close a connection for each transaction.
    pub reconnect: bool,
    /// D: demanded duration of the cycle.
    pub duration: Nanos,
    /// How long a lost connection is tried to be opened again before the cycle fails.
    pub patience: Nanos,
}

/// Where the interrupt handles of a client's connections are kept for whoever must end the cycle.
pub trait Interrupts {
    /// Connection `index` of this client can from now on be ended by `handle`.
    fn put(&self, index: usize, handle: Option<Box<dyn Interrupt>>);
}

/// Keeps no handles.
impl Interrupts for () {
    fn put(&self, _index: usize, _handle: Option<Box<dyn Interrupt>>) {}
}

/// One client: its connections and everything that runs its transactions.
pub struct Runner<'a, C: Clock> {
    conduct: &'a Conduct,
    engine: &'a dyn Engine,
    client: &'a mut dyn Client,
    clock: C,
    stop: &'a AtomicBool,
    interrupts: &'a dyn Interrupts,
    connections: Vec<Box<dyn Connection>>,
    failures_in_a_row: u32,
    deadline: Nanos,
}

impl<'a, C: Clock> Runner<'a, C> {
    /// Opens the client's connections and prepares its statements.
    pub fn connect(
        conduct: &'a Conduct,
        engine: &'a dyn Engine,
        client: &'a mut dyn Client,
        clock: C,
        stop: &'a AtomicBool,
        interrupts: &'a dyn Interrupts,
    ) -> Result<Self> {
        let mut runner = Self {
            conduct,
            engine,
            client,
            clock,
            stop,
            interrupts,
            connections: Vec::with_capacity(conduct.connections),
            failures_in_a_row: 0,
            deadline: 0,
        };
        for index in 0..conduct.connections {
            let connection = runner.open(index)?;
            runner.connections.push(connection);
        }
        Ok(runner)
    }

    fn open(&mut self, index: usize) -> Result<Box<dyn Connection>> {
        let mut connection = self.engine.connect(self.conduct.session)?;
        self.interrupts.put(index, connection.interrupt());
        // An end that was asked for while connecting found no handle to end this connection by.
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::with(ErrorKind::Setup, "stopped", "stopped on request"));
        }
        self.client.prepare(connection.as_mut(), self.conduct.prepare)?;
        Ok(connection)
    }

    /// Runs transactions from `start` until the duration is over; gives the missed starts.
    ///
    /// An error ends the cycle: the server cannot be reached any more, or nothing but failures
    /// other than collisions come back.
    pub fn run(&mut self, start: Nanos, pacer: &mut dyn Pacer, recorder: &mut Recorder) -> Result<u64> {
        self.deadline = start + self.conduct.duration;
        recorder.window(start, self.deadline);
        if self.conduct.reconnect {
            // The connections only proved that the server is there: each transaction opens its own.
            self.connections.clear();
        }
        self.clock.sleep_until(start, self.stop);
        let mut number = 0;
        loop {
            let drawn = self.client.draw(number);
            let due = pacer.next_start().map(|at| start.saturating_add(at));
            if let Some(at) = due {
                self.clock.sleep_until(at.min(self.deadline), self.stop);
            }
            let started = self.clock.now();
            if started >= self.deadline || self.stop.load(Ordering::Relaxed) {
                return Ok(self.missed(start, due, pacer));
            }
            let (outcome, retries) = self.transact(drawn, number, recorder)?;
            let ended = self.clock.now();
            let intended = due.unwrap_or(started);
            recorder.record(&Sample { kind: drawn.kind, intended, started, ended, retries, outcome });
            number += 1;
        }
    }

    /// Counts the starts that were due before the deadline and were not made.
    fn missed(&self, start: Nanos, mut due: Option<Nanos>, pacer: &mut dyn Pacer) -> u64 {
        let mut missed = 0;
        // A cycle that was stopped is void: nobody needs its count, and it may be long.
        while due.is_some_and(|at| at < self.deadline) && !self.stop.load(Ordering::Relaxed) {
            missed += 1;
            due = pacer.next_start().map(|at| start.saturating_add(at));
        }
        missed
    }

    /// Runs the drawn transaction, repeating the same inputs where the run demands it.
    fn transact(&mut self, drawn: Drawn, number: u64, recorder: &mut Recorder) -> Result<(Outcome, u32)> {
        let index = (number % self.conduct.connections as u64) as usize;
        let mut retries = 0;
        loop {
            let error = match self.attempt(drawn.shape, index) {
                Ok(outcome) => {
                    self.failures_in_a_row = 0;
                    match outcome {
                        Outcome::Committed => self.client.committed(),
                        Outcome::RolledBack => self.client.rolled_back(),
                        Outcome::Failed | Outcome::Unknown => {}
                    }
                    return Ok((outcome, retries));
                }
                Err(error) => error,
            };
            let now = self.clock.now();
            // A wish to stop breaks connections on purpose: such an end is no failure of the server.
            if self.stop.load(Ordering::Relaxed) && matches!(error.kind, ErrorKind::Disconnected | ErrorKind::Unknown) {
                let outcome = if error.kind == ErrorKind::Unknown { Outcome::Unknown } else { Outcome::Failed };
                return Ok((outcome, retries));
            }
            recorder.attempt_failed(drawn.kind, &error, now);
            self.recover(index, &error)?;
            if error.kind == ErrorKind::Unknown {
                return Ok((Outcome::Unknown, retries));
            }
            let over = now >= self.deadline || self.stop.load(Ordering::Relaxed);
            if !self.conduct.retry || !error.kind.is_retryable() || over {
                return Ok((Outcome::Failed, retries));
            }
            retries += 1;
        }
    }

    /// One attempt: begin, execute and commit for a block, the call alone for a single statement.
    fn attempt(&mut self, shape: Shape, index: usize) -> Result<Outcome> {
        if self.conduct.reconnect {
            let mut connection = self.open(index)?;
            let outcome = attempt_on(connection.as_mut(), self.client, shape);
            self.interrupts.put(index, None);
            return outcome;
        }
        attempt_on(self.connections[index].as_mut(), self.client, shape)
    }

    /// Makes the client able to go on after `error`, or says why it cannot.
    fn recover(&mut self, index: usize, error: &Error) -> Result<()> {
        match error.kind {
            kind if kind.is_retryable() => return Ok(()),
            ErrorKind::Disconnected | ErrorKind::Unknown if !self.conduct.reconnect => self.reopen(index, error)?,
            ErrorKind::Syntax | ErrorKind::Configuration => return Err(error.clone()),
            _ => {}
        }
        self.failures_in_a_row += 1;
        if self.failures_in_a_row < FAILURES_IN_A_ROW {
            return Ok(());
        }
        let words = format!("{FAILURES_IN_A_ROW} transactions in a row failed; the last one: {error}");
        Err(Error { code: error.code, ..Error::with(error.kind, "load", words) })
    }

    /// Opens a lost connection again, trying for as long as the conduct's patience.
    fn reopen(&mut self, index: usize, lost: &Error) -> Result<()> {
        let give_up = self.clock.now() + self.conduct.patience;
        let mut pause: Nanos = 20_000_000;
        loop {
            let error = match self.open(index) {
                Ok(connection) => {
                    self.connections[index] = connection;
                    return Ok(());
                }
                Err(error) => error,
            };
            let now = self.clock.now();
            if now >= give_up || self.stop.load(Ordering::Relaxed) {
                let words = format!("the connection was lost ({lost}) and could not be opened again ({error})");
                return Err(Error::with(ErrorKind::Disconnected, "load", words));
            }
            self.clock.sleep_until(now + pause, self.stop);
            pause = (pause * 2).min(500_000_000);
        }
    }
}

fn attempt_on(connection: &mut dyn Connection, client: &mut dyn Client, shape: Shape) -> Result<Outcome> {
    match shape {
        Shape::Single => return client.execute(connection).map(outcome_of),
        Shape::Block => connection.begin()?,
        Shape::ReadBlock => connection.begin_reading()?,
    }
    let done = client.execute(connection).and_then(|end| match end {
        End::Commit => connection.commit().map(|()| Outcome::Committed),
        End::Rollback => connection.rollback().map(|()| Outcome::RolledBack),
    });
    if let Err(error) = &done {
        if !matches!(error.kind, ErrorKind::Disconnected | ErrorKind::Unknown) {
            connection.rollback()?;
        }
    }
    done
}

fn outcome_of(end: End) -> Outcome {
    match end {
        End::Commit => Outcome::Committed,
        End::Rollback => Outcome::RolledBack,
    }
}
