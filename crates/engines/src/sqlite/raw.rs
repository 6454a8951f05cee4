//! SQLite's C interface, made safe: a database, a statement, and how a session waits.
//!
//! The calls go to the library without a wrapper in between. A point select by
//! `prepare_cached` + `query_row` of rusqlite took 4.8–5.1 µs where these calls take 4.0–4.3 µs
//! (SQLite 3.54, WAL, file in the page cache), and a statement held over many calls would need
//! unsafe code for its lifetime anyway.

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

use dsbench_core::error::{Error, ErrorKind, Result};
use libsqlite3_sys as ffi;

use super::codes::{self, During};

/// How one session waits, shared with the handle that may end its waiting.
#[derive(Debug)]
pub(super) struct Waiting {
    /// How long it waits for the lock of another session.
    pub timeout_ms: u32,
    /// Set once, by another thread; the session is unusable from then on.
    pub ended: AtomicBool,
}

impl Waiting {
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
    // SAFETY: `Db` holds the `Arc` of this pointer for as long as the database is open.
    let waiting = unsafe { &*waiting.cast::<Waiting>() };
    let ended = || waiting.ended.load(Ordering::Relaxed);
    match waiting.delay_ms(count.unsigned_abs()) {
        Some(ms) if !ended() => std::thread::sleep(Duration::from_millis(ms.into())),
        _ => return 0,
    }
    c_int::from(!ended())
}

/// SQLite asks here now and then within a statement; not 0 ends it with SQLITE_INTERRUPT.
/// `sqlite3_interrupt` would be lost when it came just before a statement starts; a flag is not.
unsafe extern "C" fn on_progress(waiting: *mut c_void) -> c_int {
    // SAFETY: as in `on_busy`.
    let waiting = unsafe { &*waiting.cast::<Waiting>() };
    c_int::from(waiting.ended.load(Ordering::Relaxed))
}

/// Instructions of SQLite's machine between two calls of `on_progress`: some 50 µs.
const PROGRESS_STEPS: c_int = 1000;

/// An open database; used by one thread at a time.
pub(super) struct Db {
    ptr: NonNull<ffi::sqlite3>,
    waiting: Arc<Waiting>,
}

// SAFETY: SQLite is compiled thread-safe; a connection without mutex may move between threads, and
// `Db` is not `Sync`, so that only one uses it at a time.
unsafe impl Send for Db {}

impl Db {
    /// Opens a file (or ":memory:"), creating it when `create`.
    pub(super) fn open(path: &str, create: bool, waiting: Arc<Waiting>) -> Result<Self> {
        static CONFIGURED: Once = Once::new();
        // SAFETY: called before the library is first used. Without the statistics of allocations no
        // mutex is shared by the sessions; an error would only leave them on.
        CONFIGURED.call_once(|| unsafe {
            ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int);
        });
        let name = c_string(path)?;
        let flags = ffi::SQLITE_OPEN_READWRITE
            | ffi::SQLITE_OPEN_NOMUTEX
            | ffi::SQLITE_OPEN_EXRESCODE
            | if create { ffi::SQLITE_OPEN_CREATE } else { 0 };
        let mut raw = ptr::null_mut();
        // SAFETY: valid pointers; the handle is owned by `Self` even when opening fails.
        let code = unsafe { ffi::sqlite3_open_v2(name.as_ptr(), &mut raw, flags, ptr::null()) };
        let ptr = NonNull::new(raw).ok_or_else(|| Error::with(ErrorKind::Setup, "connect", "SQLite got no memory"))?;
        let db = Self { ptr, waiting };
        db.check(code, During::Connect)?;
        let context = Arc::as_ptr(&db.waiting).cast_mut().cast::<c_void>();
        // SAFETY: `context` lives as long as `db`, whose drop closes the database.
        unsafe {
            ffi::sqlite3_busy_handler(raw, Some(on_busy), context);
            ffi::sqlite3_progress_handler(raw, PROGRESS_STEPS, Some(on_progress), context);
        }
        Ok(db)
    }

    /// The wish of another thread that this session ends.
    pub(super) fn waiting(&self) -> &Arc<Waiting> {
        &self.waiting
    }

    /// Parses the first statement of `sql`; gives it (none when there is only space or comment) and
    /// the length of what was read. `keep` says that it will be run often.
    pub(super) fn prepare(&self, sql: &str, keep: bool) -> Result<(Option<Stmt>, usize)> {
        let length = c_int::try_from(sql.len())
            .map_err(|_| Error::with(ErrorKind::Statement, "prepare", "a statement of more than 2 GB"))?;
        let flags = if keep { ffi::SQLITE_PREPARE_PERSISTENT } else { 0 };
        let (mut raw, mut tail) = (ptr::null_mut(), ptr::null::<c_char>());
        let start = sql.as_ptr().cast::<c_char>();
        // SAFETY: `start` is valid for `length` bytes; `tail` points into them afterwards.
        let code = unsafe { ffi::sqlite3_prepare_v3(self.ptr.as_ptr(), start, length, flags, &mut raw, &mut tail) };
        self.check(code, During::Prepare)?;
        let read = if tail.is_null() { sql.len() } else { tail as usize - start as usize };
        Ok((NonNull::new(raw).map(Stmt), read))
    }

    /// Parses one statement that must be there.
    pub(super) fn statement(&self, sql: &str, keep: bool) -> Result<Stmt> {
        let (statement, _) = self.prepare(sql, keep)?;
        statement.ok_or_else(|| Error::with(ErrorKind::Syntax, "prepare", "the statement is empty"))
    }

    /// Whether no transaction is open.
    pub(super) fn is_idle(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { ffi::sqlite3_get_autocommit(self.ptr.as_ptr()) != 0 }
    }

    /// Rows changed by the last INSERT, UPDATE or DELETE, those of triggers and foreign keys left out.
    pub(super) fn changes(&self) -> u64 {
        // SAFETY: the handle is open.
        unsafe { ffi::sqlite3_changes64(self.ptr.as_ptr()) as u64 }
    }

    /// Rows changed since the session began.
    pub(super) fn total_changes(&self) -> i64 {
        // SAFETY: the handle is open.
        unsafe { ffi::sqlite3_total_changes64(self.ptr.as_ptr()) }
    }

    /// The error for a result code, with the library's words.
    pub(super) fn error(&self, code: c_int, during: During) -> Error {
        // A session that was ended from outside while it waited for a lock is gone, not busy.
        let code = if self.waiting.ended.load(Ordering::Relaxed) { ffi::SQLITE_INTERRUPT } else { code };
        codes::error(code, during, || {
            // SAFETY: the message is valid until the next call on this handle.
            unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.ptr.as_ptr())) }.to_string_lossy().into_owned()
        })
    }

    fn check(&self, code: c_int, during: During) -> Result<()> {
        match code {
            ffi::SQLITE_OK => Ok(()),
            code => Err(self.error(code, during)),
        }
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        // SAFETY: the handle is open and not used afterwards. Whoever holds statements drops them first;
        // else SQLite refuses to close, and leaks rather than dangles.
        unsafe { ffi::sqlite3_close(self.ptr.as_ptr()) };
    }
}

/// A parsed statement of the one [`Db`] that made it.
pub(super) struct Stmt(NonNull<ffi::sqlite3_stmt>);

// SAFETY: it moves together with its database, see `Db`.
unsafe impl Send for Stmt {}

impl Stmt {
    /// Sets parameter `at` (from 0) to NULL.
    pub(super) fn bind_null(&self, at: usize) -> c_int {
        // SAFETY: the statement is alive; a wrong index is answered by a code.
        unsafe { ffi::sqlite3_bind_null(self.0.as_ptr(), at as c_int + 1) }
    }

    /// Sets parameter `at` (from 0) to an integer.
    pub(super) fn bind_int(&self, at: usize, value: i64) -> c_int {
        // SAFETY: as in `bind_null`.
        unsafe { ffi::sqlite3_bind_int64(self.0.as_ptr(), at as c_int + 1, value) }
    }

    /// Sets parameter `at` (from 0) to a double; SQLite makes NULL of a NaN.
    pub(super) fn bind_float(&self, at: usize, value: f64) -> c_int {
        // SAFETY: as in `bind_null`.
        unsafe { ffi::sqlite3_bind_double(self.0.as_ptr(), at as c_int + 1, value) }
    }

    /// Sets parameter `at` (from 0) to a text without copying it.
    ///
    /// # Safety
    /// The text must live until the statement was reset; it must not be run again before a new bind.
    pub(super) unsafe fn bind_text(&self, at: usize, value: &str) -> c_int {
        let start = value.as_ptr().cast::<c_char>();
        let length = value.len() as ffi::sqlite3_uint64;
        // SAFETY: the caller's promise; SQLITE_STATIC (no destructor) means that SQLite does not copy.
        unsafe {
            let encoding = ffi::SQLITE_UTF8 as u8;
            ffi::sqlite3_bind_text64(self.0.as_ptr(), at as c_int + 1, start, length, ffi::SQLITE_STATIC(), encoding)
        }
    }

    /// Runs to the next row: SQLITE_ROW, SQLITE_DONE or an error.
    pub(super) fn step(&self) -> c_int {
        // SAFETY: the statement is alive.
        unsafe { ffi::sqlite3_step(self.0.as_ptr()) }
    }

    /// Makes it ready to run again and lets go of its locks.
    pub(super) fn reset(&self) {
        // SAFETY: the statement is alive. The code repeats what `step` said.
        unsafe { ffi::sqlite3_reset(self.0.as_ptr()) };
    }

    /// Number of parameters.
    pub(super) fn parameters(&self) -> usize {
        // SAFETY: the statement is alive.
        unsafe { ffi::sqlite3_bind_parameter_count(self.0.as_ptr()) as usize }
    }

    /// Number of result columns.
    pub(super) fn columns(&self) -> usize {
        // SAFETY: the statement is alive.
        unsafe { ffi::sqlite3_column_count(self.0.as_ptr()) as usize }
    }

    /// Name of column `at`.
    pub(super) fn column_name(&self, at: usize) -> String {
        // SAFETY: the statement is alive; the name is null only for a wrong index or without memory.
        unsafe {
            let name = ffi::sqlite3_column_name(self.0.as_ptr(), at as c_int);
            if name.is_null() {
                String::new()
            } else {
                CStr::from_ptr(name).to_string_lossy().into_owned()
            }
        }
    }

    /// Storage class of column `at` of the current row.
    pub(super) fn column_type(&self, at: usize) -> c_int {
        // SAFETY: the statement is alive; without a row SQLite answers NULL.
        unsafe { ffi::sqlite3_column_type(self.0.as_ptr(), at as c_int) }
    }

    /// Integer in column `at` of the current row.
    pub(super) fn column_int(&self, at: usize) -> i64 {
        // SAFETY: as in `column_type`.
        unsafe { ffi::sqlite3_column_int64(self.0.as_ptr(), at as c_int) }
    }

    /// Double in column `at` of the current row.
    pub(super) fn column_float(&self, at: usize) -> f64 {
        // SAFETY: as in `column_type`.
        unsafe { ffi::sqlite3_column_double(self.0.as_ptr(), at as c_int) }
    }

    /// Text of column `at` of the current row, converted when it is something else.
    pub(super) fn column_text(&mut self, at: usize) -> &[u8] {
        // SAFETY: the bytes are valid until the next call on this statement, which `&mut` forbids meanwhile.
        unsafe {
            let start = ffi::sqlite3_column_text(self.0.as_ptr(), at as c_int);
            let length = ffi::sqlite3_column_bytes(self.0.as_ptr(), at as c_int);
            if start.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(start, length as usize)
            }
        }
    }
}

impl Drop for Stmt {
    fn drop(&mut self) {
        // SAFETY: the statement is alive and not used afterwards.
        unsafe { ffi::sqlite3_finalize(self.0.as_ptr()) };
    }
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::configuration(format!("{text:?} holds a zero byte")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_waits_as_long_as_it_was_told() {
        for timeout_ms in [0, 1, 2, 7, 100, 327, 328, 329, 5000] {
            let waiting = Waiting { timeout_ms, ended: AtomicBool::new(false) };
            let delays: Vec<u32> = (0..).map_while(|count| waiting.delay_ms(count)).collect();
            assert_eq!(delays.iter().sum::<u32>(), timeout_ms, "{delays:?}");
        }
    }
}
