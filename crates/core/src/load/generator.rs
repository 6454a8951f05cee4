//! The only loop: every option of a run is a value here, never a second loop.
//!
//! It owns begin, commit, retry, reconnect, the clock and the deadline. A workload's client owns
//! the statements and the inputs, which are drawn before the clock of a transaction starts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::patience::Patience;
use super::sleeping::SLICE;
use crate::carrier;
use crate::clock::{Clock, Nanos};
use crate::engine::{Connection, Engine, Interrupt, Messages, Pooled, Prepare, Session};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::Limit;
use crate::pacer::{Ended, Pacer, Turn};
use crate::placement::{Follower, Placed};
use crate::recorder::{Outcome, Recorder, Sample};
use crate::seats::{self, Seat};
use crate::workload::{Client, Drawn, End, KindId, Shape};

mod recovery;

/// Why statements cannot be prepared.
const NOTHING_PREPARED: &str =
    "--prepare: a pooler before the server gives each transaction another session, which does \
    not know the statement: leave --prepare out, set its pool_mode to session, or name the server itself as the target";

/// What holds for all threads of a group.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Conduct {
    /// Session of each connection.
    pub session: Session,
    /// When statements are parsed.
    pub prepare: Prepare,
    /// C: connections of each thread, used round robin.
    pub connections: usize,
    /// Attempts of a transaction at most: one that failed retryably is repeated with the same inputs. 1 repeats none, 0
    /// repeats until it succeeds.
    pub tries: u32,
    /// Open and close a connection for each transaction.
    pub reconnect: bool,
    /// How long a connection is tried to be opened again before the cycle fails.
    pub patience: Nanos,
    /// The longest pause between two tries.
    pub pause: Nanos,
    /// Whether statements that fail are tried again as long as the patience lasts: in a planned outage the server may have
    /// no room.
    pub bears: bool,
    /// A client that its own error ends, see [`Client::aborts`], ends the cycle.
    pub exit_on_abort: bool,
}

impl Conduct {
    /// Why a client has no one process that works for it.
    fn nothing_to_follow(&self) -> Option<&'static str> {
        match self.reconnect {
            true => Some("a connection for each transaction"),
            false => (self.connections > 1).then_some("several connections for each client"),
        }
    }
}

/// Where the interrupt handles of a thread's connections are kept, so that the cycle can be ended.
pub trait Interrupts {
    /// Connection `index` of this thread can from now on be ended by `handle`.
    fn put(&self, index: usize, handle: Option<Box<dyn Interrupt>>);
}

/// Keeps no handles.
impl Interrupts for () {
    fn put(&self, _index: usize, _handle: Option<Box<dyn Interrupt>>) {}
}

/// One thread of load: its seats, each with a client, its connections and everything that runs
/// transactions on them. It runs one transaction at a time. What each of them needs comes first.
#[repr(C)]
pub struct Runner<'a, C: Clock> {
    seats: Vec<Seat<'a>>,
    connections: Vec<Box<dyn Connection>>,
    conduct: &'a Conduct,
    stop: &'a AtomicBool,
    clock: C,
    deadline: Nanos,
    /// Where it follows its server: the time of the next look.
    look_at: Nanos,
    /// What the transaction under way has exchanged with the server.
    messages: Messages,
    failures_in_a_row: u32,
    /// The error of a client that it ended.
    aborted: Option<Error>,
    engine: &'a dyn Engine,
    interrupts: &'a dyn Interrupts,
    /// How many connections it has opened at first.
    connected: usize,
    /// With `reconnect`: while connections that transactions open for themselves are refused.
    refused: Option<Patience>,
    /// Where statements that fail are borne: while they do.
    failing: Option<Patience>,
    placed: Placed,
    follower: Option<Follower>,
    /// Where its sessions may be of several hosts: the number of the first one.
    first_host: Option<usize>,
}

impl<'a, C: Clock> Runner<'a, C> {
    /// Opens the connections and prepares the statements. There must be a seat.
    pub fn connect(
        conduct: &'a Conduct,
        engine: &'a dyn Engine,
        seats: Vec<Seat<'a>>,
        clock: C,
        stop: &'a AtomicBool,
        interrupts: &'a dyn Interrupts,
    ) -> Result<Self> {
        let mut runner = Self {
            conduct,
            engine,
            seats,
            clock,
            stop,
            interrupts,
            connections: Vec::with_capacity(conduct.connections),
            connected: 0,
            failures_in_a_row: 0,
            messages: Messages::default(),
            aborted: None,
            refused: None,
            failing: None,
            deadline: 0,
            placed: Placed::Free(None),
            follower: None,
            look_at: Nanos::MAX,
            first_host: None,
        };
        for index in 0..conduct.connections {
            let connection = runner.open(index, 0)?;
            runner.connections.push(connection);
            runner.connected += 1;
        }
        if conduct.prepare == Prepare::Once && engine.pooled() == Some(Pooled::Transactions) {
            return Err(Error::configuration(NOTHING_PREPARED));
        }
        if let Some(first) = runner.connections.first_mut() {
            seats::share_statements(&mut runner.seats, first.as_mut(), conduct.prepare)?;
        }
        runner.seats.iter_mut().for_each(Seat::redraw);
        Ok(runner)
    }

    /// Lets it note which server has each transaction, where there are several: its own begin at number `first`.
    pub fn note_hosts(&mut self, first: Option<usize>) {
        self.first_host = first;
    }

    /// Says how the thread is placed that does not follow.
    pub fn stay(&mut self, placed: Placed) {
        self.placed = placed;
    }

    /// Lets the thread follow its server, as client `index` of `clients` on this machine, which may use `cpus`.
    pub fn follow(&mut self, index: usize, clients: usize, cpus: &Arc<[usize]>) {
        let Some(connection) = self.connections.first_mut() else { return };
        if let Some(why) = self.conduct.nothing_to_follow() {
            return self.stay(Placed::Free(Some(why)));
        }
        let follower = Follower::new(index, clients, Arc::clone(cpus), connection.as_mut());
        (self.look_at, self.follower) = (follower.every(), Some(follower));
    }

    /// The error that ended a client of this thread, which then has run no further transactions.
    pub fn aborted(&mut self) -> Option<Error> {
        self.aborted.take()
    }

    /// How the thread was placed, and how often it moved to another CPU.
    pub fn placed(&self) -> (Placed, u64) {
        self.follower.as_ref().map_or((self.placed, 0), Follower::placed)
    }

    /// Looks where the server is, goes there, and says when to look again.
    #[cold]
    fn look(&mut self, now: Nanos, recorder: &mut Recorder) {
        if let (Some(follower), Some(connection)) = (&mut self.follower, self.connections.first_mut()) {
            follower.look(connection.as_mut());
            self.look_at = now + follower.every();
        }
        // Clients of a thread count together, so where it is another one it counts with those.
        if let Some(berth) = carrier::berth() {
            recorder.go_on_at(berth);
        }
    }

    /// Opens a connection and prepares its statements, by the client of `seat`: those of all seats
    /// are the same.
    fn open(&mut self, index: usize, seat: usize) -> Result<Box<dyn Connection>> {
        // Once one client could not connect, the others need not try, each for its connect_timeout.
        self.go_on()?;
        // Of connections that transactions open for themselves, the first ones have shown what all of them are.
        let again = self.conduct.reconnect && index < self.connected;
        let session = self.conduct.session;
        let mut connection = if again { self.engine.reconnect(session) } else { self.engine.connect(session) }?;
        self.interrupts.put(index, connection.interrupt());
        // An end that was asked for while connecting found no handle to end this connection by.
        self.go_on()?;
        self.seats[seat].client.prepare(connection.as_mut(), self.conduct.prepare)?;
        Ok(connection)
    }

    /// An error when the cycle is to end.
    fn go_on(&self) -> Result<()> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(Error::with(ErrorKind::Setup, "stopped", "stopped on request")),
            false => Ok(()),
        }
    }

    /// Runs transactions until the group's limit is reached, or the pacer has no next turn; gives the missed
    /// starts. The load begins `ramp_up` ns before `start`, when the clock of the limit began.
    ///
    /// An error ends the cycle: the server cannot be reached any more, or nothing but failures
    /// other than collisions come back.
    pub fn run<P: Pacer + ?Sized>(
        &mut self,
        start: Nanos,
        ramp_up: Nanos,
        limit: &Limit,
        pacer: &mut P,
        recorder: &mut Recorder,
    ) -> Result<u64> {
        recorder.window(start, limit.deadline());
        let missed = self.drive(start, ramp_up, limit, pacer, recorder);
        recorder.left(self.clock.now());
        missed
    }

    fn drive<P: Pacer + ?Sized>(
        &mut self,
        start: Nanos,
        ramp_up: Nanos,
        limit: &Limit,
        pacer: &mut P,
        recorder: &mut Recorder,
    ) -> Result<u64> {
        let begin = start.saturating_sub(ramp_up);
        let mut quota = limit.quota();
        if self.conduct.reconnect {
            // The connections only proved that the server is there: each transaction opens its own.
            self.connections.clear();
        }
        self.clock.sleep_until(begin, self.stop);
        self.look_at = self.look_at.saturating_add(begin);
        let mut number: u64 = 0;
        let mut idle_since = begin;
        let mut next_turn = pacer.next_turn(None);
        while let Some(turn) = next_turn {
            let due = turn.due.map(|at| begin.saturating_add(at));
            if let Some(at) = due {
                self.sleep(at, limit);
            }
            let started = self.clock.now();
            self.deadline = limit.deadline();
            if number == 0 || pacer.waits() {
                recorder.waited(idle_since, started.min(self.deadline));
            }
            if started >= self.deadline || self.stop.load(Ordering::Relaxed) {
                return Ok(self.missed(begin, turn, pacer));
            }
            if !quota.may_begin() {
                break;
            }
            let drawn = self.seats[turn.seat].drawn;
            self.messages = Messages::default();
            let (outcome, retries, able) = self.transact(turn.seat, number, recorder);
            let ended = self.clock.now();
            let intended = due.unwrap_or(started);
            let rows = if outcome == Outcome::Committed { self.seats[turn.seat].client.rows() } else { 0 };
            if limit.open() {
                recorder.ends(limit.deadline());
            }
            // Before a failure ends the cycle: a commit of unknown end may be in the database all the same.
            let messages = self.messages;
            recorder.record(&Sample { kind: drawn.kind, intended, started, ended, retries, rows, messages, outcome });
            if recorder.times_statements() && matches!(outcome, Outcome::Committed | Outcome::RolledBack) {
                recorder.statements(self.seats[turn.seat].client.timed(), ended, false);
            }
            quota.ended(outcome, rows);
            able?;
            if self.aborted.is_some() {
                return self.aborted.take_if(|_| self.conduct.exit_on_abort).map_or(Ok(0), Err);
            }
            if ended >= self.look_at {
                self.look(ended, recorder);
            }
            number += 1;
            let next = self.seats[turn.seat].draw_next().kind;
            let (due, at) = (intended.saturating_sub(begin), ended.saturating_sub(begin));
            if pacer.waits() {
                idle_since = self.clock.now();
            }
            next_turn = pacer.next_turn(Some(Ended { seat: turn.seat, kind: drawn.kind, next, due, at }));
        }
        Ok(0)
    }

    /// Waits until `at`, or the limit is reached. Where the limit may yet move it is looked at now and then.
    fn sleep(&self, at: Nanos, limit: &Limit) {
        loop {
            let until = at.min(limit.deadline());
            let now = self.clock.now();
            if now >= until || self.stop.load(Ordering::Relaxed) {
                return;
            }
            self.clock.sleep_until(if limit.open() { until.min(now + SLICE) } else { until }, self.stop);
        }
    }

    /// Counts the starts that were due before the deadline and were not made. A cycle that was stopped is void.
    fn missed<P: Pacer + ?Sized>(&self, begin: Nanos, turn: Turn, pacer: &mut P) -> u64 {
        match self.stop.load(Ordering::Relaxed) {
            true => 0,
            false => pacer.missed(turn, self.deadline.saturating_sub(begin)),
        }
    }

    /// Runs the transaction drawn at `seat`, repeating the same inputs where the run demands it: how it ended,
    /// after how many retries, and an error when the thread cannot go on. `number` counts those of this thread.
    fn transact(&mut self, seat: usize, number: u64, recorder: &mut Recorder) -> (Outcome, u32, Result<()>) {
        let index = (number % self.conduct.connections as u64) as usize;
        let Drawn { kind, shape } = self.seats[seat].drawn;
        let mut retries = 0;
        loop {
            let error = match self.attempt(seat, (kind, shape), index, recorder) {
                Ok(outcome) => {
                    self.failures_in_a_row = 0;
                    self.failing = None;
                    match outcome {
                        Outcome::Committed => self.seats[seat].client.committed(),
                        Outcome::RolledBack => self.seats[seat].client.rolled_back(),
                        Outcome::Failed | Outcome::Unknown => {}
                    }
                    return (outcome, retries, Ok(()));
                }
                Err(error) => error,
            };
            let now = self.clock.now();
            let outcome = if error.kind == ErrorKind::Unknown { Outcome::Unknown } else { Outcome::Failed };
            // A wish to stop breaks connections on purpose: such an end is no failure of the server.
            let broken = matches!(error.kind, ErrorKind::Disconnected | ErrorKind::Unknown | ErrorKind::Setup);
            if broken && self.stop.load(Ordering::Relaxed) {
                return (outcome, retries, Ok(()));
            }
            recorder.attempt_failed(kind, &error, now);
            if self.seats[seat].client.aborts() {
                if recorder.times_statements() {
                    recorder.statements(self.seats[seat].client.timed(), now, false);
                }
                self.aborted = Some(error);
                return (outcome, retries, Ok(()));
            }
            let able = self.recover(index, seat, &error);
            if broken {
                recorder.connected(kind, now, self.clock.now());
            }
            let over = now >= self.deadline || self.stop.load(Ordering::Relaxed);
            let spent = self.conduct.tries != 0 && retries + 1 >= self.conduct.tries;
            let again = able.is_ok() && error.kind.is_retryable() && !spent && !over;
            if recorder.times_statements() {
                recorder.statements(self.seats[seat].client.timed(), now, again);
            }
            if !again {
                return (outcome, retries, able);
            }
            retries += 1;
            recorder.retried(kind, now);
        }
    }

    /// One attempt: begin, execute and commit for a block, the call alone for a single statement.
    fn attempt(
        &mut self,
        seat: usize,
        (kind, shape): (KindId, Shape),
        index: usize,
        recorder: &mut Recorder,
    ) -> Result<Outcome> {
        if self.conduct.reconnect {
            let asked = self.clock.now();
            let opened = self.open(index, seat);
            let now = self.clock.now();
            recorder.connected(kind, asked, now);
            let mut connection = opened.inspect_err(|_| {
                self.refused.get_or_insert(Patience::new(now, self.conduct.patience, self.conduct.pause));
            })?;
            self.refused = None;
            if let Some(first) = self.first_host {
                recorder.at_host(first + connection.host());
            }
            let outcome = attempt_on(connection.as_mut(), self.seats[seat].client, shape);
            // The login is part of what the transaction costs.
            self.exchanged(Messages::default(), connection.messages());
            self.interrupts.put(index, None);
            return outcome;
        }
        let connection = self.connections[index].as_mut();
        if let Some(first) = self.first_host {
            recorder.at_host(first + connection.host());
        }
        let before = connection.messages();
        let outcome = attempt_on(connection, self.seats[seat].client, shape);
        let after = connection.messages();
        self.exchanged(before, after);
        outcome
    }

    fn exchanged(&mut self, before: Messages, after: Messages) {
        self.messages.sent += after.sent - before.sent;
        self.messages.received += after.received - before.received;
    }
}

/// What counts in the end is the word of the database, not what was sent: a setting of the session or a pooler may
/// have opened a transaction, or keep it open.
fn attempt_on(connection: &mut dyn Connection, client: &mut dyn Client, shape: Shape) -> Result<Outcome> {
    let begun = match shape {
        Shape::Single => {
            let done = client.execute(connection).map(outcome_of);
            return if connection.in_transaction() { Err(left_open(connection, done.err())) } else { done };
        }
        Shape::Block => connection.begin(),
        Shape::ReadBlock => connection.begin_reading(),
    };
    if let Err(error) = begun {
        return Err(if connection.in_transaction() { left_open(connection, Some(error)) } else { error });
    }
    let done = client.execute(connection).and_then(|end| match end {
        End::Commit => connection.commit().map(|()| Outcome::Committed),
        End::Rollback => connection.rollback().map(|()| Outcome::RolledBack),
    });
    if let Err(error) = &done {
        if !matches!(error.kind, ErrorKind::Disconnected | ErrorKind::Unknown) {
            if let Err(lost) = connection.rollback() {
                // What led to it says more than that it is gone.
                return Err(Error { kind: lost.kind, ..error.clone() });
            }
        }
    }
    done
}

/// A transaction that the database holds open although it should have ended: nothing of it may be counted, and those
/// that follow would become part of it. Rolls it back; `failed` is the error that it may have met.
#[cold]
fn left_open(connection: &mut dyn Connection, failed: Option<Error>) -> Error {
    // The connection is of no more use, whether this succeeds or not.
    let _ = connection.rollback();
    let met = failed.map(|error| format!(" ({error})")).unwrap_or_default();
    Error::with(ErrorKind::Configuration, "commit", format!("{LEFT_OPEN}{met}"))
}

const LEFT_OPEN: &str =
    "the database says that a transaction is still open after its last statement, so nothing of it \
    is committed: write BEGIN and COMMIT around the statements, leave out settings such as autocommit=0, or connect \
    without the pooler that opens transactions of its own";

fn outcome_of(end: End) -> Outcome {
    match end {
        End::Commit => Outcome::Committed,
        End::Rollback => Outcome::RolledBack,
    }
}
