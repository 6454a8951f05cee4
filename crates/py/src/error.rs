//! One conversion of core errors into one Python exception.

use dsbench_core::error::Error;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::PyErr;

create_exception!(dsbench._core, CoreError, PyException, "args: (kind, native code, message)");

/// The Python exception of a core error.
pub fn raise(error: Error) -> PyErr {
    CoreError::new_err((error.kind.name(), error.code.as_str().to_owned(), error.to_string()))
}
