//! A target: the engine behind a URL, its place, and administrative queries.

use std::sync::Arc;
use std::time::Duration;

use dsbench_core::engine::{Engine, PlaceState, Pooled, State};
use dsbench_core::error::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::admin::Admin;
use crate::claim::Claim;
use crate::error::raise;
use crate::hearing::hearing;

/// How long an administrative query may take: all are short, so a server that needs longer has stopped answering.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long saying good-bye may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// A database addressed by a URL. Nothing is connected until it is needed.
#[pyclass(frozen, module = "dsbench._core")]
pub struct Target {
    pub engine: Arc<dyn Engine>,
    admin: Arc<Admin>,
}

impl Target {
    /// Does something with the place, however long that takes: dropping much may take minutes.
    fn place<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Engine) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let engine = Arc::clone(&self.engine);
        let done = hearing(py, Duration::MAX, move || work(engine.as_ref()))?;
        done.unwrap_or_else(|| Err(silent())).map_err(raise)
    }

    /// Asks in the administrative session.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&Admin) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let admin = Arc::clone(&self.admin);
        let found = hearing(py, PATIENCE, move || question(&admin));
        if !matches!(found, Ok(Some(_))) {
            py.detach(|| self.admin.interrupt());
        }
        found?.unwrap_or_else(|| Err(silent())).map_err(raise)
    }
}

fn silent() -> Error {
    let words = format!("the server did not answer for {} s", PATIENCE.as_secs());
    Error::with(ErrorKind::Disconnected, "administration", words)
}

/// Rows of text cells; `None` is NULL.
pub type TextRows = Vec<Vec<Option<String>>>;

#[pymethods]
impl Target {
    /// `existing`: the database as it stands, in which dsbench has no place.
    #[new]
    #[pyo3(signature = (url, existing=false))]
    fn new(url: &str, existing: bool) -> PyResult<Self> {
        let open = if existing { dsbench_engines::open_existing } else { dsbench_engines::open };
        let engine: Arc<dyn Engine> = open(url).map_err(raise)?.into();
        Ok(Self { admin: Arc::new(Admin::new(Arc::clone(&engine))), engine })
    }

    /// How the engine speaks SQL: name, procedures, embedded, single_writer, keeps_data.
    fn dialect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dialect = self.engine.dialect();
        let dict = PyDict::new(py);
        dict.set_item("name", dialect.name)?;
        dict.set_item("procedures", dialect.procedures)?;
        dict.set_item("embedded", dialect.embedded)?;
        dict.set_item("single_writer", dialect.single_writer)?;
        dict.set_item("keeps_data", dialect.keeps_data)?;
        Ok(dict)
    }

    /// Who owns the place: ("absent" | "marked" | "foreign", text of the mark or name of what is there).
    fn state(&self, py: Python<'_>) -> PyResult<(&'static str, String)> {
        let state = self.place(py, |engine| engine.place().state())?;
        Ok(match state {
            PlaceState::Absent => ("absent", String::new()),
            PlaceState::Marked(mark) => ("marked", mark),
            PlaceState::Foreign(name) => ("foreign", name),
        })
    }

    /// Creates the place and marks it.
    fn create(&self, py: Python<'_>, mark: String) -> PyResult<()> {
        self.place(py, move |engine| engine.place().create(&mark))
    }

    /// Puts another mark in place of that which it carries.
    fn remark(&self, py: Python<'_>, mark: String) -> PyResult<()> {
        self.place(py, move |engine| engine.place().remark(&mark))
    }

    /// Notes what is in the place now as dsbench's.
    fn take_stock(&self, py: Python<'_>) -> PyResult<()> {
        self.place(py, |engine| engine.place().take_stock())
    }

    /// Names what is not dsbench's and would go with the place.
    fn strangers(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.place(py, |engine| engine.place().strangers())
    }

    /// Drops the place, if it carries the mark and nothing of somebody else's goes with it.
    fn drop(&self, py: Python<'_>) -> PyResult<()> {
        self.place(py, |engine| engine.place().drop())
    }

    /// Claims a place that is there until it is dropped or the target closed; false when another process has it.
    fn take(&self, py: Python<'_>) -> PyResult<bool> {
        self.place(py, |engine| engine.place().take())
    }

    /// Size of the place in bytes; none where the server does not say it.
    fn size_bytes(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        self.place(py, |engine| engine.place().size_bytes())
    }

    /// Runs one administrative query: (column names, rows of text cells).
    ///
    /// In the main thread it is given up after a minute; other threads wait until `close`.
    fn fetch(&self, py: Python<'_>, sql: String) -> PyResult<(Vec<String>, TextRows)> {
        let table = self.ask(py, move |admin| admin.fetch(&sql))?;
        Ok((table.columns, table.rows))
    }

    /// What the sessions of load do now, of an engine in this process: state, the product's name of what is waited for,
    /// statement. None of a server.
    fn seen(&self) -> Option<Vec<(&'static str, &'static str, String)>> {
        let word = |state| match state {
            State::Idle => "idle",
            State::Open => "open",
            State::Active => "active",
            State::Lock => "lock",
            State::Read => "read",
            State::Write => "write",
            State::Flush => "flush",
        };
        Some(self.engine.seen()?.into_iter().map(|one| (word(one.state), one.wait, one.statement)).collect())
    }

    /// Durations of an administrative query in ns, one after another.
    fn round_trips(&self, py: Python<'_>, sql: String, count: usize) -> PyResult<Vec<u64>> {
        self.ask(py, move |admin| admin.round_trips(&sql, count))
    }

    /// Whether the server did not understand the question for the isolation of a session.
    fn is_unproved(&self) -> bool {
        self.engine.is_unproved()
    }

    /// Names of parameters of the URL that change nothing.
    fn passed_over(&self) -> Vec<String> {
        self.engine.passed_over().to_vec()
    }

    /// What a pooler before the server gives: "sessions", "transactions"; empty where none was seen yet.
    fn pooled(&self) -> &'static str {
        match self.engine.pooled() {
            None => "",
            Some(Pooled::Sessions) => "sessions",
            Some(Pooled::Transactions) => "transactions",
        }
    }

    /// Takes a lock that ends with the administrative session, by the queries of a `Claim`; number and origin of the
    /// session that has it where it is not free. A session that is opened in place of a lost one takes it first.
    fn claim(&self, py: Python<'_>, take: String, holder: String, end: String) -> PyResult<Option<(String, String)>> {
        let held = self.ask(py, move |admin| admin.claim(Claim { take, holder, end }))?;
        Ok(held.map(|holder| (holder.number, holder.origin)))
    }

    /// Has the next administrative query open a session anew.
    fn renew(&self) {
        self.admin.renew();
    }

    /// Makes sure that what was claimed is still held, or is again.
    fn hold(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |admin| admin.hold())
    }

    /// Raises once another session has what was claimed; does not ask the server.
    fn check_claim(&self) -> PyResult<()> {
        self.admin.check_claim().map_err(raise)
    }

    /// Closes the administrative connection for good, without waiting for a server that has stopped answering.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let (admin, engine) = (Arc::clone(&self.admin), Arc::clone(&self.engine));
        hearing(py, FAREWELL, move || {
            admin.close();
            engine.place().leave();
        })
        .map(|_| ())
    }
}
