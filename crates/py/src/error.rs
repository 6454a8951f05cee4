//! One conversion of core errors into one Python exception.

use dsbench_core::error::Error;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::PyErr;

create_exception!(dsbench._core, CoreError, PyException, "args: (kind, native code, problem, remedy, by user)");

/// The Python exception of a core error.
pub fn raise(error: Error) -> PyErr {
    CoreError::new_err(described(&error))
}

/// An error as Python takes it: its kind, native code, problem and remedy, and whether what the user wrote is wrong.
pub fn described(error: &Error) -> (&'static str, String, String, String, bool) {
    let remedy = error.remedy.as_deref().unwrap_or_default();
    (error.kind.name(), error.code.as_str().to_owned(), error.to_string(), remedy.to_owned(), error.by_user)
}
