//! Waiting for a database while still hearing the user's Ctrl-C.

use std::sync::mpsc::{sync_channel, RecvTimeoutError};
use std::time::{Duration, Instant};

use dsbench_core::error::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::error::raise;

/// Pause between two looks for a signal.
const SLICE: Duration = Duration::from_millis(50);

/// Runs `work` without the interpreter's lock and gives what it gave; `None` when `limit` is over first.
///
/// Signals reach Python in its main thread alone, and only between two of its instructions: there a thread does the
/// work, so that a second Ctrl-C ends the program however long a server is silent. When this returns early, that
/// thread is left to itself. Other threads work themselves, which counts their CPU time where it belongs.
pub fn hearing<T: Send + 'static>(
    py: Python<'_>,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<Option<T>> {
    if !in_main_thread(py)? {
        return Ok(Some(py.detach(work)));
    }
    let (sender, mut receiver) = sync_channel(1);
    let spawned = std::thread::Builder::new().name("administration".to_string()).spawn(move || sender.send(work()));
    spawned.map_err(|error| defect(&error.to_string()))?;
    let began = Instant::now();
    loop {
        let (back, told) = py.detach(move || {
            let told = receiver.recv_timeout(SLICE);
            (receiver, told)
        });
        receiver = back;
        match told {
            Ok(given) => return Ok(Some(given)),
            Err(RecvTimeoutError::Disconnected) => return Err(defect("a thread panicked: a defect of dsbench")),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
        if began.elapsed() >= limit {
            return Ok(None);
        }
    }
}

fn in_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    Ok(threading.call_method0("current_thread")?.is(&threading.call_method0("main_thread")?))
}

fn defect(words: &str) -> PyErr {
    raise(Error::with(ErrorKind::Setup, "administration", words))
}
