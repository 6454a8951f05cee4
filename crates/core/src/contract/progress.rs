//! Long tasks: the parts that they are cut into, how far they are, and the pieces that are timed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Mutex;

use crate::clock::{Clock, Monotonic, Nanos};
use crate::error::{Error, ErrorKind, Result};
use crate::locking::lock;

/// Part `index` (from 0) of the `count` parts that a population, or a stage of statements, is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Which part.
    pub index: u32,
    /// Of how many.
    pub count: u32,
}

impl Part {
    /// The half-open share of `0..total` that this part covers.
    pub fn range(self, total: u64) -> std::ops::Range<u64> {
        let at = |i: u32| (u128::from(total) * u128::from(i) / u128::from(self.count)) as u64;
        at(self.index)..at(self.index + 1)
    }
}

/// Progress of a long task, shared with the code that displays it; also carries the request to stop.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    stop: AtomicBool,
    timed: Mutex<Vec<Timed>>,
}

/// A piece of a task that is timed by itself, such as one statement of many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed {
    /// What it does: "vacuum".
    pub name: String,
    /// Rows that it went through, where it says so.
    pub rows: u64,
    /// When it began and ended; of pieces of one name, the first began and the last ended.
    pub span: (Nanos, Nanos),
}

impl Progress {
    /// Does `piece` and keeps how long it took, under a name by which the archive tells it. What several
    /// connections do under one name at the same time is one piece.
    pub fn time<T>(&self, name: &str, rows: u64, piece: impl FnOnce() -> Result<T>) -> Result<T> {
        let began = Monotonic.now();
        let done = piece()?;
        let ended = Monotonic.now();
        let mut timed = lock(&self.timed);
        match timed.iter_mut().find(|one| one.name == name) {
            Some(one) => {
                one.rows += rows;
                one.span = (one.span.0.min(began), one.span.1.max(ended));
            }
            None => timed.push(Timed { name: name.into(), rows, span: (began, ended) }),
        }
        Ok(done)
    }

    /// What was timed, in the order in which it ended first.
    pub fn timed(&self) -> Vec<Timed> {
        lock(&self.timed).clone()
    }

    /// Waits for `ns`; an error of kind `Setup` when the user wants to stop.
    pub fn pause(&self, ns: Nanos) -> Result<()> {
        let until = Monotonic.now() + ns;
        self.advance(0)?;
        while Monotonic.now() < until && !self.stop.load(Ordering::Relaxed) {
            Monotonic.sleep_until(until, &self.stop);
        }
        self.advance(0)
    }

    /// Says how much there is to do (rows, statements).
    pub fn expect(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Says that `n` more are done; an error of kind `Setup` when the user wants to stop.
    pub fn advance(&self, n: u64) -> Result<()> {
        self.done.fetch_add(n, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::with(ErrorKind::Setup, "stopped", "stopped on request"));
        }
        Ok(())
    }

    /// Asks the task to end soon.
    pub fn request_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// (done, total).
    pub fn read(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
