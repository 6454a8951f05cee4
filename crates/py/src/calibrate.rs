//! What measuring costs, and a server that costs nothing.

use std::path::PathBuf;

use dsbench_core::calibrate;
use dsbench_core::clock::Monotonic;
use dsbench_core::error::{Error, ErrorKind};
use dsbench_null::{Address, Server};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;

/// The clock's cost and resolution, the time of recording a transaction, and how late `wakes` timed
/// sleeps of `pause_ns` came: "read_ns", "resolution_ns", "recording_ns", "late_p50_ns", "late_p99_ns",
/// "late_max_ns".
#[pyfunction]
pub fn measuring(py: Python<'_>, repeats: u32, wakes: u32, pause_ns: u64) -> PyResult<Bound<'_, PyDict>> {
    let (clock, recording_ns, late) = py.detach(|| {
        let clock = calibrate::clock_cost(&Monotonic, repeats);
        (clock, calibrate::recording_ns(&Monotonic, repeats), calibrate::wake_lateness(wakes, pause_ns))
    });
    let dict = PyDict::new(py);
    dict.set_item("read_ns", clock.read_ns)?;
    dict.set_item("resolution_ns", clock.resolution_ns)?;
    dict.set_item("recording_ns", recording_ns)?;
    dict.set_item("late_p50_ns", late.quantile(0.5))?;
    dict.set_item("late_p99_ns", late.quantile(0.99))?;
    dict.set_item("late_max_ns", late.max())?;
    Ok(dict)
}

/// A null PostgreSQL, which listens until it is dropped.
#[pyclass(frozen, module = "dsbench._core")]
pub struct NullServer(Server);

#[pymethods]
impl NullServer {
    /// Listens at the unix socket `path`, or at a free port of the loopback address.
    #[new]
    fn new(path: Option<PathBuf>) -> PyResult<Self> {
        let address = path.map_or(Address::Tcp(0), Address::Unix);
        let failed = |error| raise(Error::with(ErrorKind::Setup, "null server", format!("{address:?}: {error}")));
        Server::start(&address).map(Self).map_err(failed)
    }

    /// The port it listens at; 0 for a unix socket.
    fn port(&self) -> u16 {
        match self.0.address() {
            Address::Tcp(port) => *port,
            Address::Unix(_) => 0,
        }
    }
}
