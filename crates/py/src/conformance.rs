//! The conformance suite, case by case, so that Python can show progress and hear Ctrl-C.

use std::sync::{Arc, Mutex};

use dsbench_conformance::{Row, Suite};
use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::locking::lock;
use pyo3::prelude::*;

use crate::error::raise;
use crate::target::Target;

/// (group, case, variant, outcome, expected, detail).
type Case = (&'static str, &'static str, &'static str, String, String, String);

fn case(row: Row) -> Case {
    (row.group, row.case, row.variant, row.outcome, row.expected, row.detail)
}

/// The suite on a target, whose place it makes and drops.
#[pyclass(frozen, module = "dsbench._core")]
pub struct Conformance(Mutex<Option<Suite>>);

impl Conformance {
    fn with<T: Send>(&self, py: Python<'_>, run: impl FnOnce(&mut Suite) -> T + Send) -> PyResult<T> {
        py.detach(|| {
            let mut suite = lock(&self.0);
            suite.as_mut().map(run).ok_or_else(|| raise(Error::new(ErrorKind::Setup, "the suite has ended")))
        })
    }
}

#[pymethods]
impl Conformance {
    #[new]
    fn new(py: Python<'_>, target: &Target) -> PyResult<Self> {
        let engine = Arc::clone(&target.engine);
        py.detach(|| Suite::new(engine)).map(|suite| Self(Mutex::new(Some(suite)))).map_err(raise)
    }

    /// What is under test: (family of expectations, product and version).
    fn product(&self, py: Python<'_>) -> PyResult<(String, String)> {
        self.with(py, |suite| (suite.tested().family.clone(), suite.tested().version.clone()))
    }

    /// Number of cases that are left.
    fn left(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |suite| suite.left())
    }

    /// Runs the next case; None when there is none left.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Case>> {
        self.with(py, |suite| suite.next().map(case))
    }

    /// Ends the suite with the cases in which the server is killed, by calling `kill`.
    fn lose_server(&self, py: Python<'_>, kill: Py<PyAny>) -> PyResult<Vec<Case>> {
        let suite = lock(&self.0).take();
        let suite = suite.ok_or_else(|| raise(Error::new(ErrorKind::Setup, "the suite has ended")))?;
        let mut failed = None;
        let rows = py.detach(|| suite.lose_server(|| failed = Python::attach(|py| kill.call0(py)).err()));
        match failed {
            Some(error) => Err(error),
            None => Ok(rows.into_iter().map(case).collect()),
        }
    }

    /// Drops the place.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(lock(&self.0).take()));
    }
}

/// What each family of products documents: (names, title, source).
#[pyfunction]
pub fn families() -> Vec<(Vec<&'static str>, &'static str, &'static str)> {
    let known = dsbench_conformance::expected::FAMILIES.iter();
    known.map(|family| (family.names.to_vec(), family.title, family.source)).collect()
}

/// The schedules of the suite: (name, what happens).
#[pyfunction]
pub fn schedules() -> Vec<(&'static str, &'static str)> {
    dsbench_conformance::schedule::SCHEDULES.iter().map(|schedule| (schedule.name, schedule.about)).collect()
}
