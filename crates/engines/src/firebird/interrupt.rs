//! Ends what an attachment waits for, from another thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use dsbench_core::engine::Interrupt;
use dsbench_core::locking::lock;

use super::api::{cancel, Api, Handle};
use super::status::Status;

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

    /// Says that the attachment is about to be closed.
    pub(super) fn close(&self) {
        *lock(&self.handle) = 0;
    }
}

/// Ends a session from another thread.
pub(super) struct Ending(pub Arc<Gate>);

impl Interrupt for Ending {
    fn interrupt(&self) {
        let gate = &*self.0;
        gate.ended.store(true, Ordering::Relaxed);
        let mut handle = lock(&gate.handle);
        if *handle == 0 {
            return;
        }
        let mut status = Status::default();
        // First the statement, so that the server stops working on it, then the connection.
        for option in [cancel::RAISE, cancel::ABORT] {
            // SAFETY: the attachment is open while the lock is held, and this call is made for other threads.
            // It may fail when nothing is under way or the server is gone, which is just as good.
            unsafe { (gate.api.fb_cancel_operation)(status.as_mut_ptr(), &mut *handle, option) };
        }
    }
}
