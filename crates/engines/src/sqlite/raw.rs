//! SQLite's C interface, made safe: a database and a statement.
//!
//! The calls go to the library without a wrapper in between. A point select by
//! `prepare_cached` + `query_row` of rusqlite took 4.8–5.1 µs where these calls take 4.0–4.3 µs
//! (SQLite 3.54, WAL, file in the page cache), and a statement held over many calls would need
//! unsafe code for its lifetime anyway.

use std::ffi::{c_char, c_int, CStr, CString};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Once};

use dsbench_core::error::{Error, ErrorKind, Result};
use libsqlite3_sys as ffi;

use super::codes::{self, During};
use super::doing;
use super::waiting::Waiting;

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
        doing::install();
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
        // SAFETY: the handle is open, and `db` holds the `Arc` until it has closed it.
        unsafe { db.waiting.install(raw) };
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
        if code & 0xff == ffi::SQLITE_INTERRUPT && !self.waiting.is_ended() {
            return codes::late(during);
        }
        // A session that was ended from outside while it waited for a lock is gone, not busy.
        let code = if self.waiting.is_ended() { ffi::SQLITE_INTERRUPT } else { code };
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
        // SAFETY: the handle is open and not used afterwards. Statements are dropped first;
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

    /// The words by which the column of a table was declared that is column `at`; `None` for an expression.
    pub(super) fn column_declared(&self, at: usize) -> Option<String> {
        // SAFETY: the statement is alive; the words are null where there are none.
        unsafe {
            let words = ffi::sqlite3_column_decltype(self.0.as_ptr(), at as c_int);
            (!words.is_null()).then(|| CStr::from_ptr(words).to_string_lossy().into_owned())
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
