//! The file system that forgets what was not flushed.

use std::path::PathBuf;
use std::sync::Mutex;

use dsbench_core::locking::lock;
use dsbench_forgetful::Forgetful as Core;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// A mounted file system, which goes with `unmount`.
#[pyclass(frozen, module = "dsbench._core")]
pub struct Forgetful(Mutex<Option<Core>>);

impl Forgetful {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&Core) -> T + Send) -> PyResult<T> {
        let found = py.detach(|| lock(&self.0).as_ref().map(work));
        found.ok_or_else(|| PyOSError::new_err("it is not mounted any more"))
    }
}

#[pymethods]
impl Forgetful {
    /// Mounts the folder `disk` on `mountpoint`. Raises `OSError`.
    #[new]
    fn new(py: Python<'_>, disk: PathBuf, mountpoint: PathBuf) -> PyResult<Self> {
        Ok(Self(Mutex::new(Some(py.detach(|| Core::mount(&disk, &mountpoint))?))))
    }

    /// Brings everything onto the disk.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.with(py, Core::settle)??)
    }

    /// Whether flushes are acknowledged and do nothing.
    fn lie(&self, py: Python<'_>, lies: bool) -> PyResult<()> {
        self.with(py, |core| core.lie(lies))
    }

    /// Drops what is not on the disk; gives the number of bytes.
    fn forget(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, Core::forget)
    }

    /// Unmounts it, also where somebody still has a file open.
    fn unmount(&self, py: Python<'_>) {
        py.detach(|| drop(lock(&self.0).take()));
    }
}
