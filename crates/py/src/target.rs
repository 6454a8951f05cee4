//! A target: the engine behind a URL, its place, and administrative queries.

use std::sync::{Arc, Mutex, PoisonError};

use dsbench_core::engine::{Connection, Engine, Isolation, PlaceState, Session};
use dsbench_core::error::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;

/// A database addressed by a URL. Nothing is connected until it is needed.
#[pyclass(frozen, module = "dsbench._core")]
pub struct Target {
    pub engine: Arc<dyn Engine>,
    admin: Mutex<Option<Box<dyn Connection>>>,
}

/// The session in which administration and monitors work: outside dsbench's place.
const ADMIN: Session = Session { isolation: Isolation::ReadCommitted, in_place: false };

impl Target {
    /// Runs one query on the administrative connection, which is opened, or opened again, on demand.
    fn query(&self, sql: &str) -> Result<dsbench_core::value::Table> {
        let mut admin = self.admin.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match admin.as_mut() {
            Some(connection) => connection,
            None => admin.insert(self.engine.connect(ADMIN)?),
        };
        let table = connection.fetch(sql);
        let lost = |error: &Error| matches!(error.kind, ErrorKind::Disconnected | ErrorKind::Unknown);
        if table.as_ref().is_err_and(lost) {
            *admin = None;
        }
        table
    }
}

/// Rows of text cells; `None` is NULL.
type TextRows = Vec<Vec<Option<String>>>;

#[pymethods]
impl Target {
    #[new]
    fn new(url: &str) -> PyResult<Self> {
        let engine = dsbench_engines::open(url).map_err(raise)?;
        Ok(Self { engine: engine.into(), admin: Mutex::new(None) })
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
        let state = py.detach(|| self.engine.place().state()).map_err(raise)?;
        Ok(match state {
            PlaceState::Absent => ("absent", String::new()),
            PlaceState::Marked(mark) => ("marked", mark),
            PlaceState::Foreign(name) => ("foreign", name),
        })
    }

    /// Creates the place and marks it.
    fn create(&self, py: Python<'_>, mark: &str) -> PyResult<()> {
        py.detach(|| self.engine.place().create(mark)).map_err(raise)
    }

    /// Drops the place, if it carries the mark.
    fn drop(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.engine.place().drop()).map_err(raise)
    }

    /// Size of the place in bytes.
    fn size_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.engine.place().size_bytes()).map_err(raise)
    }

    /// Runs one administrative query: (column names, rows of text cells).
    fn fetch(&self, py: Python<'_>, sql: &str) -> PyResult<(Vec<String>, TextRows)> {
        let table = py.detach(|| self.query(sql)).map_err(raise)?;
        Ok((table.columns, table.rows))
    }

    /// Closes the administrative connection.
    fn close(&self) {
        *self.admin.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
