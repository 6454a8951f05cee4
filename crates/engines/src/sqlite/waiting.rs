//! How a session waits for the locks of others, and how another thread ends it.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use libsqlite3_sys as ffi;

use super::doing::{self, Doing};

/// Instructions of SQLite's machine between two calls of `on_progress`: some 50 µs.
const PROGRESS_STEPS: c_int = 1000;

/// How one session waits, shared with the handle that may end its waiting.
#[derive(Debug)]
pub(super) struct Waiting {
    /// How long it waits for the lock of another session.
    timeout_ms: u32,
    /// Set once, by another thread; the session is unusable from then on.
    ended: AtomicBool,
    begun: Instant,
    /// When the statement under way has taken too long, in nanoseconds from `begun` on; 0 for never.
    due: AtomicU64,
    /// What the session does.
    pub(super) doing: Doing,
}

impl Waiting {
    /// A session that gives up a lock after this long.
    pub(super) fn new(timeout_ms: u32) -> Arc<Self> {
        Arc::new(Self {
            timeout_ms,
            ended: AtomicBool::new(false),
            begun: Instant::now(),
            due: AtomicU64::new(0),
            doing: Doing::default(),
        })
    }

    /// Ends the session: a statement at its next thousand steps, a wait for a lock within 100 ms.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Whether the session was ended.
    pub(super) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// From now on a statement is ended after so long; with none never.
    pub(super) fn limit(&self, longest: Option<Duration>) {
        let due = longest.map_or(0, |longest| (self.begun.elapsed() + longest).as_nanos() as u64);
        self.due.store(due, Ordering::Relaxed);
    }

    /// Whether the statement under way has taken too long.
    fn is_late(&self) -> bool {
        let due = self.due.load(Ordering::Relaxed);
        due > 0 && self.begun.elapsed().as_nanos() as u64 >= due
    }

    /// Makes SQLite ask here when it has to wait, and now and then while it works.
    ///
    /// # Safety
    /// `db` is open, and `self` lives until it is closed.
    pub(super) unsafe fn install(&self, db: *mut ffi::sqlite3) {
        let context = std::ptr::from_ref(self).cast_mut().cast::<c_void>();
        // SAFETY: the caller's promise.
        unsafe {
            ffi::sqlite3_busy_handler(db, Some(on_busy), context);
            ffi::sqlite3_progress_handler(db, PROGRESS_STEPS, Some(on_progress), context);
        }
    }

    /// Milliseconds to sleep before try number `count`, from 0; none when the patience is over. The
    /// delays are those of SQLite's own busy handler, so sessions compete as SQLite's users know it.
    fn delay_ms(&self, count: u32) -> Option<u32> {
        const DELAYS: [u32; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];
        let at = (count as usize).min(DELAYS.len() - 1);
        let repeats = count.saturating_sub(DELAYS.len() as u32 - 1);
        let waited = DELAYS[..at].iter().sum::<u32>().saturating_add(repeats.saturating_mul(100));
        let left = self.timeout_ms.saturating_sub(waited);
        (left > 0).then(|| DELAYS[at].min(left))
    }
}

/// SQLite asks here when a lock is taken; 0 makes it give up with SQLITE_BUSY.
unsafe extern "C" fn on_busy(waiting: *mut c_void, count: c_int) -> c_int {
    // SAFETY: `install` demands that it lives for as long as the database is open.
    let waiting = unsafe { &*waiting.cast::<Waiting>() };
    match waiting.delay_ms(count.unsigned_abs()) {
        Some(ms) if !waiting.is_ended() => {
            waiting.doing.during(doing::LOCK, || std::thread::sleep(Duration::from_millis(ms.into())));
        }
        _ => return 0,
    }
    c_int::from(!waiting.is_ended())
}

/// SQLite asks here now and then within a statement; not 0 ends it with SQLITE_INTERRUPT.
/// `sqlite3_interrupt` would be lost when it came just before a statement starts; a flag is not.
unsafe extern "C" fn on_progress(waiting: *mut c_void) -> c_int {
    // SAFETY: as in `on_busy`.
    let waiting = unsafe { &*waiting.cast::<Waiting>() };
    c_int::from(waiting.is_ended() || waiting.is_late())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_waits_as_long_as_it_was_told() {
        for timeout_ms in [0, 1, 2, 7, 100, 327, 328, 329, 5000] {
            let waiting = Waiting::new(timeout_ms);
            let delays: Vec<u32> = (0..).map_while(|count| waiting.delay_ms(count)).collect();
            assert_eq!(delays.iter().sum::<u32>(), timeout_ms, "{delays:?}");
        }
    }
}
