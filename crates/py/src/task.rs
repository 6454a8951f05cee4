//! A long task on background threads, so that Python can show progress and hear Ctrl-C.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use dsbench_core::clock::{Monotonic, Nanos};
use dsbench_core::engine::{Connection, Engine, Interrupt, Isolation, Session};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;
use dsbench_core::workload::{Condition, Progress};
use pyo3::prelude::*;

use crate::error::raise;

/// What one thread of a task does on its connection.
pub type Job = Box<dyn FnOnce(&mut dyn Connection, &Progress) -> Result<Vec<Condition>> + Send>;

/// What a thread found, and when it ended.
type Finding = (Result<Vec<Condition>>, Nanos);

/// A phase under way: creation, population, keys, cleaning, check.
#[pyclass(frozen, module = "dsbench._core")]
pub struct Task {
    progress: Arc<Progress>,
    running: Arc<AtomicUsize>,
    handles: Arc<Mutex<Vec<Box<dyn Interrupt>>>>,
    threads: Mutex<Vec<JoinHandle<Finding>>>,
    began: Nanos,
}

const SESSION: Session = Session { isolation: Isolation::ReadCommitted, in_place: true };

impl Task {
    /// Runs each of `jobs` on a separate thread and connection.
    pub fn spawn(engine: &Arc<dyn Engine>, progress: Arc<Progress>, jobs: Vec<Job>) -> Self {
        let running = Arc::new(AtomicUsize::new(jobs.len()));
        let handles = Arc::<Mutex<Vec<Box<dyn Interrupt>>>>::default();
        let began = Monotonic.now();
        let spawn = |job: Job| {
            let (engine, progress, running, handles) =
                (Arc::clone(engine), Arc::clone(&progress), Arc::clone(&running), Arc::clone(&handles));
            std::thread::spawn(move || {
                let _ending = Ending { running, progress: Arc::clone(&progress) };
                let outcome = run(engine.as_ref(), &progress, &handles, job);
                if outcome.is_err() {
                    // After one part failed, the others are useless.
                    progress.request_stop();
                }
                (outcome, Monotonic.now())
            })
        };
        let threads = Mutex::new(jobs.into_iter().map(spawn).collect());
        Self { progress, running, handles, threads, began }
    }
}

/// Counts a thread as ended even when it panics. Otherwise Python would wait for it for ever.
struct Ending {
    running: Arc<AtomicUsize>,
    progress: Arc<Progress>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.progress.request_stop();
        }
        self.running.fetch_sub(1, Ordering::Release);
    }
}

fn run(
    engine: &dyn Engine,
    progress: &Progress,
    handles: &Mutex<Vec<Box<dyn Interrupt>>>,
    job: Job,
) -> Result<Vec<Condition>> {
    let mut connection = engine.connect(SESSION)?;
    connection.lift_timeouts()?;
    if let Some(handle) = connection.interrupt() {
        lock(handles).push(handle);
    }
    // An end that was asked for while connecting found no handle to end this connection by.
    progress.advance(0)?;
    job(connection.as_mut(), progress)
}

/// The cause among the errors of several threads: a part that was only stopped is a consequence.
fn worst(errors: Vec<Error>) -> Option<Error> {
    let rank = |error: &Error| usize::from(error.context == "stopped");
    errors.into_iter().min_by_key(rank)
}

/// A condition: name, state, detail, remedy; of one about commits how many were found, acknowledged, and of unknown end.
type Found = (String, &'static str, String, &'static str, Option<(i64, u64, u64)>);
/// (conditions of a check, duration in ns, what was timed by itself: name, rows, duration in ns).
type Joined = (Vec<Found>, u64, Vec<(String, u64, u64)>);

#[pymethods]
impl Task {
    /// (done, total) in rows or statements; total is 0 while unknown.
    fn progress(&self) -> (u64, u64) {
        self.progress.read()
    }

    /// True when every thread has ended.
    fn finished(&self) -> bool {
        self.running.load(Ordering::Acquire) == 0
    }

    /// Ends the statements under way.
    fn abandon(&self, py: Python<'_>) {
        self.progress.request_stop();
        py.detach(|| {
            let handles = lock(&self.handles);
            handles.iter().for_each(|handle| handle.interrupt());
        });
    }

    /// Waits for the end; raises the first error.
    fn join(&self, py: Python<'_>) -> PyResult<Joined> {
        let threads = std::mem::take(&mut *lock(&self.threads));
        let joined: Vec<_> = py.detach(|| threads.into_iter().map(JoinHandle::join).collect());
        let (mut conditions, mut errors, mut ended) = (Vec::new(), Vec::new(), self.began);
        for outcome in joined {
            match outcome {
                Ok((Ok(found), at)) => {
                    conditions.extend(found.into_iter().map(|c| {
                        let commits = c.commits.map(|one| (one.found, one.acknowledged, one.unknown));
                        (c.name, c.state.name(), c.detail, c.remedy, commits)
                    }));
                    ended = ended.max(at);
                }
                Ok((Err(error), _)) => errors.push(error),
                Err(_) => errors.push(Error::with(ErrorKind::Setup, "task", "a thread panicked: a defect of dsbench")),
            }
        }
        match worst(errors) {
            Some(error) => Err(raise(error)),
            None => {
                let timed = self.progress.timed().into_iter();
                let timed = timed.map(|one| (one.name, one.rows, one.span.1 - one.span.0)).collect();
                Ok((conditions, ended - self.began, timed))
            }
        }
    }
}
