//! An attachment: Firebird's word for a session with a database. One thread at a time uses it; only
//! its [`Gate`] is shared.

use std::ffi::{c_char, c_short, CString};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dsbench_core::engine::Interrupt;
use dsbench_core::error::{Error, ErrorKind, Result};

use super::answer::{clusters, number};
use super::api::{info, Api, Code, Existence, Handle, DIALECT};
use super::codes;
use super::interrupt::{Ending, Gate};
use super::status::Status;

/// A way to a database that was attached, or not, and why not.
pub(super) type Attached = std::result::Result<Attachment, Status>;

/// An attachment that is open.
pub(super) struct Attachment {
    pub api: &'static Api,
    pub handle: Handle,
    pub status: Status,
    gate: Arc<Gate>,
    /// Set when a call said that the connection is gone.
    lost: bool,
}

impl Attachment {
    /// Attaches to a database.
    pub(super) fn open(api: &'static Api, database: &str, parameters: &[u8]) -> Attached {
        let again = || {};
        Self::made(api, again, |status, handle| {
            // SAFETY: valid pointers, and lengths that fit: the target has seen to that.
            unsafe {
                let (name, length) = (database.as_ptr().cast::<c_char>(), database.len() as c_short);
                (api.isc_attach_database)(
                    status,
                    length,
                    name,
                    handle,
                    parameters.len() as c_short,
                    parameters.as_ptr(),
                )
            }
        })
    }

    /// Creates a database, which must not be there, and stays attached to it.
    pub(super) fn create(api: &'static Api, database: &str, parameters: &[u8]) -> Attached {
        // The engine opens the file that it has just created a second time, and leaves it behind when that
        // fails. Had the file been there before, the error would be another one. (With a server there is
        // no file of that name here.)
        let again = || drop(std::fs::remove_file(database));
        Self::made(api, again, |status, handle| {
            // SAFETY: as in `open`.
            unsafe {
                let (name, length) = (database.as_ptr().cast::<c_char>(), database.len() as c_short);
                let size = parameters.len() as c_short;
                (api.isc_create_database)(status, length, name, handle, size, parameters.as_ptr(), 0)
            }
        })
    }

    /// An engine in this process locks the file for itself. A child process that is just being started
    /// shares that lock until it runs its own program: so a file that was closed a moment ago may look
    /// taken, and is tried again for a while.
    fn made(api: &'static Api, again: impl Fn(), call: impl Fn(*mut isize, *mut Handle) -> Code) -> Attached {
        const PATIENCE: Duration = Duration::from_secs(2);
        let (mut status, mut handle, end) = (Status::default(), 0, Instant::now() + PATIENCE);
        loop {
            if call(status.as_mut_ptr(), &mut handle) == 0 {
                return Ok(Self { api, handle, status, gate: Gate::new(api, handle), lost: false });
            }
            if !status.has(codes::ALREADY_OPENED) || Instant::now() > end {
                return Err(status);
            }
            again();
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Drops the database. Gives the attachment back when Firebird refuses.
    pub(super) fn drop_database(mut self) -> std::result::Result<(), Self> {
        self.gate.close();
        // SAFETY: the handle is that of an open attachment.
        let answer = unsafe { (self.api.isc_drop_database)(self.status.as_mut_ptr(), &mut self.handle) };
        match answer {
            0 => Ok(()),
            _ => Err(self),
        }
    }

    /// An error when the attachment is known to be gone: nothing is sent.
    #[inline]
    pub(super) fn alive(&self, context: &'static str) -> Result<()> {
        match self.lost || self.gate.is_ended() {
            false => Ok(()),
            true => Err(Error::with(ErrorKind::Disconnected, context, "the connection is gone")),
        }
    }

    /// An error when a call did not answer 0.
    #[inline]
    pub(super) fn check(&mut self, answer: Code, context: &'static str) -> Result<()> {
        match answer {
            0 => Ok(()),
            _ => Err(self.failure(context)),
        }
    }

    /// The error that the last call left in the status vector.
    #[cold]
    pub(super) fn failure(&mut self, context: &'static str) -> Error {
        let mut error = self.status.error(self.api, context);
        if self.gate.is_ended() {
            // Whatever the server said last: the session was ended from outside.
            error.kind = ErrorKind::Disconnected;
        }
        self.lost |= error.kind == ErrorKind::Disconnected;
        error
    }

    /// Starts a transaction.
    pub(super) fn start(&mut self, parameters: &[u8]) -> Result<Handle> {
        let mut transaction = 0;
        let mut existence = Existence {
            attachment: &mut self.handle,
            length: parameters.len() as i32,
            parameters: parameters.as_ptr(),
        };
        // SAFETY: one database is named, and all pointers are to live memory.
        let answer =
            unsafe { (self.api.isc_start_multiple)(self.status.as_mut_ptr(), &mut transaction, 1, &mut existence) };
        self.check(answer, "begin")?;
        Ok(transaction)
    }

    /// Commits. A connection lost meanwhile is an error of kind `Unknown`. After any other error the
    /// transaction is still open.
    pub(super) fn commit(&mut self, transaction: &mut Handle) -> Result<()> {
        // SAFETY: the handle is that of an open transaction.
        let answer = unsafe { (self.api.isc_commit_transaction)(self.status.as_mut_ptr(), transaction) };
        match self.check(answer, "commit") {
            Err(error) if error.kind == ErrorKind::Disconnected => Err(Error { kind: ErrorKind::Unknown, ..error }),
            other => other,
        }
    }

    /// Rolls back; the handle is none afterwards, whatever happened.
    pub(super) fn rollback(&mut self, transaction: &mut Handle) -> Result<()> {
        // SAFETY: as in `commit`.
        let answer = unsafe { (self.api.isc_rollback_transaction)(self.status.as_mut_ptr(), transaction) };
        *transaction = 0;
        self.check(answer, "rollback")
    }

    /// Runs `work` in a separate transaction.
    pub(super) fn within<T>(
        &mut self,
        parameters: &[u8],
        work: impl FnOnce(&mut Self, &mut Handle) -> Result<T>,
    ) -> Result<T> {
        let mut transaction = self.start(parameters)?;
        let done = work(self, &mut transaction).and_then(|value| self.commit(&mut transaction).map(|()| value));
        if done.is_err() && transaction != 0 {
            self.undo(&mut transaction);
        }
        done
    }

    /// Rolls back after an error, which is the one to tell; a rollback that fails is of no interest.
    pub(super) fn undo(&mut self, transaction: &mut Handle) {
        if self.alive("rollback").is_ok() {
            let _ = self.rollback(transaction);
        }
        *transaction = 0;
    }

    /// Runs one statement without parameters and results.
    pub(super) fn immediate(&mut self, transaction: &mut Handle, sql: &str) -> Result<()> {
        let sql = c_string(sql)?;
        // SAFETY: the text ends with a zero, and there is neither input nor output.
        let answer = unsafe {
            (self.api.isc_dsql_exec_immed2)(
                self.status.as_mut_ptr(),
                &mut self.handle,
                transaction,
                0,
                sql.as_ptr(),
                DIALECT,
                std::ptr::null(),
                std::ptr::null(),
            )
        };
        self.check(answer, "execute")
    }

    /// Bytes of a page, and of all pages of the database.
    pub(super) fn sizes(&mut self) -> Result<(u32, u64)> {
        let [page, pages] = self.ask([info::PAGE_SIZE, info::ALLOCATION])?;
        Ok((page as u32, pages.saturating_mul(page)))
    }

    /// Version of the database's structure on disk: 12 is of Firebird 3, 13 of 4 and 5.
    pub(super) fn structure(&mut self) -> Result<u64> {
        self.ask([info::STRUCTURE]).map(|[version]| version)
    }

    /// Asks for numbers that describe the database.
    fn ask<const N: usize>(&mut self, items: [u8; N]) -> Result<[u64; N]> {
        let mut answer = [0_u8; 64];
        // SAFETY: both lengths are those of the arrays.
        let code = unsafe {
            (self.api.isc_database_info)(
                self.status.as_mut_ptr(),
                &mut self.handle,
                items.len() as c_short,
                items.as_ptr(),
                answer.len() as c_short,
                answer.as_mut_ptr(),
            )
        };
        self.check(code, "ask about database")?;
        let found = |wanted| clusters(&answer).find(|(item, _)| *item == wanted).map_or(0, |(_, value)| number(value));
        Ok(items.map(found))
    }

    /// What other threads share of it.
    pub(super) fn gate(&self) -> Arc<Gate> {
        Arc::clone(&self.gate)
    }

    /// A handle by which another thread can end the session.
    pub(super) fn interrupt(&self) -> Box<dyn Interrupt> {
        Box::new(Ending(Arc::clone(&self.gate)))
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.gate.close();
        if self.handle != 0 {
            // SAFETY: the handle is that of an attachment, open or lost; what it says no longer matters.
            unsafe { (self.api.isc_detach_database)(self.status.as_mut_ptr(), &mut self.handle) };
        }
    }
}

/// A statement as the library takes it.
pub(super) fn c_string(sql: &str) -> Result<CString> {
    CString::new(sql).map_err(|_| Error::with(ErrorKind::Syntax, "prepare", "the statement holds a zero byte"))
}
