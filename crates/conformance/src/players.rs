//! Two sessions, each on a separate thread, that act a schedule out one step at a time.
//!
//! A step counts as waiting when it is not done after a while although the other session is idle. The
//! schedule then goes on, and the session does its next steps as soon as it can. Only this depends on the
//! speed of the machine: a caller that sees an unexpected wait tries again with more patience.

use std::collections::BTreeMap;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dsbench_core::engine::{Connection, Interrupt, Isolation, Prepare, StatementId};
use dsbench_core::error::{Error, Result};
use dsbench_core::locking::lock;
use dsbench_core::value::{Rows, Type, Value};

use crate::bed::Bed;
use crate::schedule::{Act, Schedule, ONE, TWO};

/// Longest time for the rest of a schedule; the servers' own limits of waiting are shorter.
const LIMIT: Duration = Duration::from_secs(90);

/// What one session did.
#[derive(Debug, Default)]
pub struct Log {
    /// Values read, or numbers of rows counted, in order.
    pub reads: Vec<i64>,
    /// Sum of what it added to row 1.
    pub added: i64,
    /// Whether its commit succeeded.
    pub committed: bool,
    /// What ended it; the session has rolled back.
    pub error: Option<Error>,
    /// Whether a step was waiting.
    pub waited: bool,
    pending: usize,
    began: Option<Instant>,
}

/// A schedule that was acted out.
#[derive(Debug)]
pub struct Played {
    /// The two sessions.
    pub sessions: [Log; 2],
    /// What rows 1 and 2 hold in the end.
    pub balances: [i64; 2],
    /// True when the two waited for each other until the suite ended that.
    pub stuck: bool,
}

/// What the directing thread shares with the two sessions.
#[derive(Default)]
struct Scene {
    logs: Mutex<[Log; 2]>,
    changed: Condvar,
}

/// Acts `schedule` out at a level. Errors are those of preparing it: sessions that cannot be had.
pub fn play(bed: &Bed, schedule: &Schedule, isolation: Isolation, patience: Duration) -> Result<Played> {
    bed.reset()?;
    let [one, two] = [Player::new(bed, isolation)?, Player::new(bed, isolation)?];
    let interrupts = [one.interrupt(), two.interrupt()];
    let scene = Scene::default();
    let stuck = thread::scope(|scope| {
        let senders = [(ONE, one), (TWO, two)].map(|(number, player)| {
            let (sender, steps) = channel();
            let scene = &scene;
            scope.spawn(move || player.act(number, &steps, scene));
            sender
        });
        for (number, act) in schedule.steps {
            scene.ask(*number, *act, &senders);
            scene.settle(patience);
        }
        let stuck = !scene.end();
        if stuck {
            interrupts.iter().flatten().for_each(|handle| handle.interrupt());
        }
        stuck
    });
    let sessions = scene.logs.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Played { sessions, balances: bed.balances()?, stuck })
}

impl Scene {
    fn change(&self, number: usize, change: impl FnOnce(&mut Log)) {
        change(&mut lock(&self.logs)[number]);
        self.changed.notify_all();
    }

    fn ask(&self, number: usize, act: Act, senders: &[Sender<Act>; 2]) {
        self.change(number, |log| log.pending += 1);
        // A player that no longer listens has panicked; the scope reports that.
        let _ = senders[number].send(act);
    }

    /// Waits until each session is idle, or waits itself.
    fn settle(&self, patience: Duration) {
        let mut logs = lock(&self.logs);
        loop {
            let left = logs.iter_mut().filter_map(|log| log.unsettled(patience)).max();
            let Some(left) = left else { return };
            logs = self.changed.wait_timeout(logs, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until both have done all they were asked for; false when that takes too long.
    fn end(&self) -> bool {
        let logs = lock(&self.logs);
        let busy = |logs: &mut [Log; 2]| logs.iter().any(|log| log.pending > 0);
        let waited = self.changed.wait_timeout_while(logs, LIMIT, busy).unwrap_or_else(PoisonError::into_inner).1;
        !waited.timed_out()
    }
}

impl Log {
    /// How much longer to look before the session counts as waiting; `None` when it does already, or has
    /// nothing to do.
    fn unsettled(&mut self, patience: Duration) -> Option<Duration> {
        if self.pending == 0 {
            return None;
        }
        let left = patience.saturating_sub(self.began.map_or(Duration::ZERO, |began| began.elapsed()));
        self.waited |= left.is_zero();
        (!left.is_zero()).then_some(left)
    }
}

/// A session with its statements.
struct Player {
    session: Box<dyn Connection>,
    read: StatementId,
    write: StatementId,
    insert: StatementId,
    count: StatementId,
    rows: Rows,
    /// What it last read, by row.
    last: BTreeMap<i64, i64>,
}

impl Player {
    fn new(bed: &Bed, isolation: Isolation) -> Result<Self> {
        let mut session = bed.session(isolation)?;
        let mut prepare = |section, params: &[Type], columns: &[Type]| {
            bed.prepare(&mut *session, section, params, columns, Prepare::Once)
        };
        let read = prepare("read", &[Type::Int32], &[Type::Int32])?;
        let write = prepare("write", &[Type::Int32; 2], &[])?;
        let insert = prepare("insert", &[Type::Int32; 2], &[])?;
        let count = prepare("count", &[], &[Type::Int64])?;
        Ok(Self { session, read, write, insert, count, rows: Rows::new(), last: BTreeMap::new() })
    }

    fn interrupt(&self) -> Option<Box<dyn Interrupt>> {
        self.session.interrupt()
    }

    /// Does the steps that come in until the channel closes. After an error it rolls back and skips the rest.
    fn act(mut self, number: usize, steps: &Receiver<Act>, scene: &Scene) {
        let mut failed = false;
        for act in steps {
            scene.change(number, |log| log.began = Some(Instant::now()));
            let done = if failed { Ok(None) } else { self.take(act) };
            if done.is_err() {
                failed = true;
                // The first error is the one to report, whatever the rollback says.
                let _ = self.session.rollback();
            }
            scene.change(number, |log| {
                (log.pending, log.began) = (log.pending - 1, None);
                log.note(act, done, failed);
            });
        }
    }

    /// One step; gives what was read.
    fn take(&mut self, act: Act) -> Result<Option<i64>> {
        let known = |key| self.last.get(&key).copied().unwrap_or(0);
        match act {
            Act::Begin => self.session.begin()?,
            Act::Commit => self.session.commit()?,
            Act::Rollback => self.session.rollback()?,
            Act::Read(key) => {
                let value = self.look(self.read, &[Value::Int(key)])?;
                self.last.insert(key, value);
                return Ok(Some(value));
            }
            Act::Count => return self.look(self.count, &[]).map(Some),
            Act::Add(key, more) => self.put(key, known(key) + more)?,
            Act::Set(key) => self.put(key, 5)?,
            Act::Spend(key) if known(1) + known(2) >= 2 => self.put(key, known(key) - 1)?,
            Act::Spend(_) => {}
            Act::Insert(key) => {
                self.session.execute(self.insert, &[Value::Int(key), Value::Int(1)])?;
            }
        }
        Ok(None)
    }

    fn look(&mut self, statement: StatementId, params: &[Value<'_>]) -> Result<i64> {
        self.session.query(statement, params, &mut self.rows)?;
        self.rows.int(0, 0)
    }

    fn put(&mut self, key: i64, value: i64) -> Result<()> {
        self.session.execute(self.write, &[Value::Int(value), Value::Int(key)]).map(|_| ())
    }
}

impl Log {
    fn note(&mut self, act: Act, done: Result<Option<i64>>, failed: bool) {
        match done {
            Ok(Some(value)) => self.reads.push(value),
            Ok(None) if failed => {}
            Ok(None) => match act {
                Act::Add(_, more) => self.added += more,
                Act::Commit => self.committed = true,
                _ => {}
            },
            Err(error) => self.error = Some(error),
        }
    }
}
