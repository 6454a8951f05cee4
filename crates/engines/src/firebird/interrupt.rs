//! Ends what an attachment waits for, from another thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsbench_core::engine::Interrupt;
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;

use super::api::{cancel, Api, Handle};
use super::status::Status;

/// From the start of a statement to the first attempt to end it, and between two of them.
const AGAIN: Duration = Duration::from_millis(100);
/// One of so many attempts allows them again.
const ALLOWED: u32 = 10;
/// After so many the connection is given up: a server that reads the statement and an attempt at once looks at this one
/// and all later ones when the statement has ended.
const MOST: u32 = 100;

/// What other threads share of an attachment.
pub(super) struct Gate {
    api: &'static Api,
    ended: AtomicBool,
    /// 0 once the attachment is closed: the library gives numbers out again.
    handle: Mutex<Handle>,
}

impl Gate {
    /// The gate of an attachment that was just opened.
    pub(super) fn new(api: &'static Api, handle: Handle) -> Arc<Self> {
        Arc::new(Self { api, ended: AtomicBool::new(false), handle: Mutex::new(handle) })
    }

    /// Whether another thread ended the session.
    #[inline]
    pub(super) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Does `work`, and ends the statement under way when that takes longer: an error of kind `Timeout`. A server that does
    /// not end it loses the connection.
    pub(super) fn limited<T>(&self, longest: Duration, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let (working, ended) = channel::<()>();
        std::thread::scope(|scope| {
            let watch = scope.spawn(move || {
                let (mut tries, mut wait) = (0, longest.max(AGAIN));
                // One that comes before the server has begun with the statement is lost. The server may also have done what
                // came after an earlier statement in another order, and takes none until that is allowed again, which in
                // turn takes back a wish that it has not met.
                while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    tries += 1;
                    if tries > MOST {
                        self.ended.store(true, Ordering::Relaxed);
                        self.cancel(&[cancel::ABORT]);
                        break;
                    }
                    self.cancel(&[if tries % ALLOWED == 0 { cancel::ENABLE } else { cancel::RAISE }]);
                    wait = AGAIN;
                }
                tries
            });
            let done = work();
            drop(working);
            match watch.join().unwrap_or(1) {
                0 => done,
                tries if tries > MOST => done.map_err(|error| Error { kind: ErrorKind::Timeout, ..error }),
                _ => {
                    // What came when the statement had just ended must not end the next one.
                    self.cancel(&[cancel::DISABLE, cancel::ENABLE]);
                    done
                }
            }
        })
    }

    fn cancel(&self, options: &[u16]) {
        let mut handle = lock(&self.handle);
        if *handle == 0 {
            return;
        }
        let mut status = Status::default();
        for option in options {
            // SAFETY: the attachment is open while the lock is held, and this call is made for other threads.
            // It may fail when nothing is under way or the server is gone, which is just as good.
            unsafe { (self.api.fb_cancel_operation)(status.as_mut_ptr(), &mut *handle, *option) };
        }
    }

    /// Says that the attachment is about to be closed.
    pub(super) fn close(&self) {
        *lock(&self.handle) = 0;
    }
}

/// Ends a session from another thread.
pub(super) struct Ending(pub Arc<Gate>);

impl Interrupt for Ending {
    fn interrupt(&self) {
        self.0.ended.store(true, Ordering::Relaxed);
        // First the statement, so that the server stops working on it, then the connection.
        self.0.cancel(&[cancel::RAISE, cancel::ABORT]);
    }
}
