//! The ledger of a test of durability.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dsbench_conformance::Ledger as Core;
use dsbench_core::error::{Error, ErrorKind, Result};
use pyo3::prelude::*;

use crate::error::raise;
use crate::hearing::hearing;
use crate::target::Target;

/// Of one writer: its number, how many rows it has, and the last number among them.
type Rows = (i64, i64, i64);

/// A ledger at a target.
#[pyclass(frozen, module = "dsbench._core")]
pub struct Ledger(Arc<Core>);

impl Ledger {
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&Core) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let core = Arc::clone(&self.0);
        let found = hearing(py, Duration::MAX, move || question(&core))?;
        found.unwrap_or_else(|| Err(Error::new(ErrorKind::Setup, "the ledger"))).map_err(raise)
    }
}

#[pymethods]
impl Ledger {
    #[new]
    fn new(target: &Target) -> PyResult<Self> {
        Ok(Self(Arc::new(Core::new(Arc::clone(&target.engine)).map_err(raise)?)))
    }

    /// Makes the place with its tables, where none may be yet.
    fn create(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, Core::create)
    }

    /// Writes until every session fails, with notes in a file; gives (kind, message) of each.
    fn write(&self, py: Python<'_>, first: i32, writers: i32, notes: PathBuf) -> PyResult<Vec<(&'static str, String)>> {
        let ended = self.ask(py, move |core| Ok(core.write(first, writers, &notes)))?;
        Ok(ended.into_iter().map(|error| (error.kind.name(), error.to_string())).collect())
    }

    /// What the database has: (writer, number of rows, last number) of each, and rows without their twin.
    fn found(&self, py: Python<'_>) -> PyResult<(Vec<Rows>, i64)> {
        self.ask(py, |core| core.found().map(|found| (found.rows, found.halves)))
    }

    /// How many of the first transactions of a writer the database has.
    fn kept(&self, py: Python<'_>, writer: i64, number: i64) -> PyResult<i64> {
        self.ask(py, move |core| core.kept(writer, number))
    }
}
