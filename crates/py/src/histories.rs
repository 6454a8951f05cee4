//! Clients that append to lists and read them, and what is wrong with what they saw.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsbench_core::engine::Isolation;
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;
use dsbench_histories::play::{Asked, Players, Stopper};
use dsbench_histories::{judge, Findings, Kind};
use pyo3::prelude::*;

use crate::error::raise;
use crate::hearing::hearing;
use crate::target::Target;

/// Clients at a target, whose place they make and drop.
#[pyclass(frozen, module = "dsbench._core")]
pub struct Histories {
    players: Arc<Mutex<Option<Players>>>,
    stopper: Arc<Stopper>,
}

impl Histories {
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&mut Players) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let core = Arc::clone(&self.players);
        let over = || Err(Error::new(ErrorKind::Setup, "the check has ended"));
        let found = hearing(py, Duration::MAX, move || lock(&core).as_mut().map_or_else(over, question))?;
        found.unwrap_or_else(over).map_err(raise)
    }
}

#[pymethods]
impl Histories {
    #[new]
    #[pyo3(signature = (target, reading, isolation, clients, transactions, patience_s, seed))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        target: &Target,
        reading: Option<&Target>,
        isolation: &str,
        clients: u32,
        transactions: u64,
        patience_s: f64,
        seed: u64,
    ) -> PyResult<Self> {
        let isolation = match isolation {
            "read-committed" => Isolation::ReadCommitted,
            "repeatable-read" => Isolation::RepeatableRead,
            "serializable" => Isolation::Serializable,
            other => return Err(raise(Error::configuration(format!("{other:?} is no level of isolation")))),
        };
        let asked = Asked { isolation, clients, transactions, patience: Duration::from_secs_f64(patience_s), seed };
        let (engine, reading) = (Arc::clone(&target.engine), reading.map(|target| Arc::clone(&target.engine)));
        let made = hearing(py, Duration::MAX, move || Players::new(engine, reading, asked))?;
        let made = made.unwrap_or_else(|| Err(Error::new(ErrorKind::Setup, "the check"))).map_err(raise)?;
        Ok(Self { stopper: made.stopper(), players: Arc::new(Mutex::new(Some(made))) })
    }

    /// Has all clients play for so many seconds at most; gives the committed transactions so far, and whether all that
    /// was asked for is done.
    fn play(&self, py: Python<'_>, longest_s: f64) -> PyResult<(u64, bool)> {
        self.ask(py, move |players| {
            players.play(Duration::from_secs_f64(longest_s))?;
            Ok((players.committed(), players.is_done()))
        })
    }

    /// What is wrong with what they saw: see `Judged`.
    fn judge(&self, py: Python<'_>) -> PyResult<Judged> {
        self.ask(py, |players| Ok(Judged(judge(&players.finish()?))))
    }

    /// Drops the place.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, Players::close)
    }

    /// Ends whatever the clients do, and drops the place as far as that can be done.
    fn interrupt(&self, py: Python<'_>) -> PyResult<()> {
        let players = Arc::clone(&self.players);
        py.detach(|| self.stopper.stop());
        hearing(py, Duration::MAX, move || drop(lock(&players).take())).map(|_| ())
    }
}

/// What a history holds.
#[pyclass(frozen, module = "dsbench._core")]
pub struct Judged(Findings);

#[pymethods]
impl Judged {
    /// Transactions that were committed and rolled back, appends and reads of the committed ones.
    fn counts(&self) -> (u64, u64, u64, u64) {
        (self.0.committed, self.0.aborted, self.0.appends, self.0.reads)
    }

    /// (name, how many, the shortest in words), from the worst.
    fn anomalies(&self) -> Vec<(&'static str, u64, String)> {
        self.0.anomalies.iter().map(|one| (one.kind.name(), one.count, one.example.clone())).collect()
    }

    /// Cycles that snapshot isolation forbids and that were not told apart any further.
    fn undivided(&self) -> u64 {
        self.0.undivided
    }

    /// Reads that missed what was acknowledged before, most items that one missed, and for how long the first of them had
    /// been acknowledged: median, 99th percentile, maximum.
    fn stale(&self) -> (u64, u32, u64, u64, u64) {
        let stale = &self.0.stale;
        let [median, high, most] = [50, 99, 100].map(|percent| stale.lag_ns(percent));
        (stale.reads, stale.items, median, high, most)
    }
}

/// Names of the anomalies, from the worst.
#[pyfunction]
pub fn anomalies() -> Vec<&'static str> {
    Kind::ALL.map(Kind::name).to_vec()
}
