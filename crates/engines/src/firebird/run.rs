//! Running statements.

use std::ptr;

use dsbench_core::error::Result;
use dsbench_core::value::{Rows, Value};

use super::answer::{clusters, number};
use super::api::{free, info, Handle, DIALECT, NO_MORE_ROWS};
use super::attachment::Attachment;
use super::sqlda;
use super::statement::{ask, Gives, Prepared};
use super::values;

impl Prepared {
    /// Whether it may run in a transaction that only reads.
    pub(super) fn only_reads(&self) -> bool {
        !self.writes
    }

    /// Says that it was refused in a transaction that only reads.
    pub(super) fn turned_out_to_write(&mut self) {
        self.writes = true;
    }

    /// Runs it within `transaction`; `into` is refilled with its rows. Gives the number of rows that
    /// it changed. A statement with RETURNING whose results were not declared says that without being
    /// asked: it changed as many rows as it returned. Otherwise the server has to be asked for the
    /// number, which is one more round trip.
    pub(super) fn run(
        &mut self,
        at: &mut Attachment,
        transaction: &mut Handle,
        params: &[Value<'_>],
        mut into: Option<&mut Rows>,
    ) -> Result<u64> {
        values::bind(&mut self.input, &self.params, params)?;
        if let Some(rows) = into.as_deref_mut() {
            rows.reset(self.columns.len());
        }
        // Only a statement with a handle has a cursor, or can be asked what it changed.
        let passing = self.handle == 0 && matches!(self.gives, Gives::Rows | Gives::Count);
        if passing {
            self.parse(at, transaction, ptr::null_mut())?;
        }
        let done = match self.gives {
            Gives::Rows => self.run_cursor(at, transaction, into),
            Gives::OneRow => self.run_at_once(at, transaction).and_then(|()| self.take_one(into)),
            Gives::Count => self.run_at_once(at, transaction).and_then(|()| changes(at, self.handle)),
            Gives::Nothing => self.run_at_once(at, transaction).map(|()| 0),
        };
        if passing {
            self.forget(at);
        }
        done
    }

    /// Bytes that one set of parameters takes on its way, with the signs of NULL.
    pub(super) fn parameter_bytes(&mut self) -> usize {
        self.input.vars().iter().map(|var| var.length() + 8).sum::<usize>().max(1)
    }

    /// Writes some of the parameters, from number `start` on.
    pub(super) fn fill(&mut self, start: usize, values: &[Value<'_>]) -> Result<()> {
        values::fill(&mut self.input, start, &self.params[start..start + values.len()], values)
    }

    /// Takes all parameters over from those of `other` from number `start` on, which has the same types there.
    pub(super) fn copy_parameters(&mut self, other: &Self, start: usize) {
        for at in 0..self.params.len() {
            self.input.set_null(at, other.input.is_null(start + at));
            self.input.bytes_mut(at).copy_from_slice(other.input.bytes(start + at));
        }
    }

    /// Runs it with the parameters that were written; it gives nothing.
    pub(super) fn run_filled(&mut self, at: &mut Attachment, transaction: &mut Handle) -> Result<()> {
        self.run_at_once(at, transaction)
    }

    /// One call, one round trip.
    fn run_at_once(&mut self, at: &mut Attachment, transaction: &mut Handle) -> Result<()> {
        let output = if self.gives == Gives::OneRow { self.output.as_mut_ptr() } else { ptr::null_mut() };
        let (status, input) = (at.status.as_mut_ptr(), self.input.as_mut_ptr());
        // SAFETY: handles and text as in `parse`; both rows have memory for every column they describe.
        let answer = unsafe {
            if self.handle == 0 {
                let sql = self.sql.as_ptr();
                (at.api.isc_dsql_exec_immed2)(status, &mut at.handle, transaction, 0, sql, DIALECT, input, output)
            } else {
                let version = sqlda::VERSION;
                (at.api.isc_dsql_execute2)(status, transaction, &mut self.handle, version, input, output)
            }
        };
        at.check(answer, "execute")
    }

    /// An UPDATE … RETURNING that found no row gives one of NULLs in version 3 and 4.
    fn take_one(&mut self, into: Option<&mut Rows>) -> Result<u64> {
        let found = (0..self.output.described()).any(|at| !self.output.is_null(at));
        if let Some(rows) = into {
            values::read_row(&mut self.output, &self.columns, rows)?;
        }
        Ok(u64::from(found))
    }

    /// Opening and the first rows are one round trip; closing travels with the next call.
    fn run_cursor(&mut self, at: &mut Attachment, transaction: &mut Handle, into: Option<&mut Rows>) -> Result<u64> {
        let (status, input) = (at.status.as_mut_ptr(), self.input.as_mut_ptr());
        // SAFETY: as in `run_at_once`.
        let answer = unsafe { (at.api.isc_dsql_execute)(status, transaction, &mut self.handle, sqlda::VERSION, input) };
        at.check(answer, "execute")?;
        let fetched = self.fetch_all(at, into);
        // SAFETY: the handle has a cursor. A close that fails says what the fetch has said.
        unsafe { (at.api.isc_dsql_free_statement)(at.status.as_mut_ptr(), &mut self.handle, free::CLOSE) };
        fetched
    }

    fn fetch_all(&mut self, at: &mut Attachment, mut into: Option<&mut Rows>) -> Result<u64> {
        let mut count = 0;
        loop {
            let (status, output) = (at.status.as_mut_ptr(), self.output.as_mut_ptr());
            // SAFETY: the cursor is open, the row has memory for every column.
            match unsafe { (at.api.isc_dsql_fetch)(status, &mut self.handle, sqlda::VERSION, output) } {
                0 => {}
                NO_MORE_ROWS => return Ok(count),
                answer => at.check(answer, "fetch")?,
            }
            count += 1;
            if let Some(rows) = into.as_deref_mut() {
                values::read_row(&mut self.output, &self.columns, rows)?;
            }
        }
    }
}

/// Rows that the last execution of a statement inserted, updated and deleted.
fn changes(at: &mut Attachment, statement: Handle) -> Result<u64> {
    let mut answer = [0; 64];
    ask(at, statement, info::SQL_RECORDS, &mut answer)?;
    let records = clusters(&answer).find(|(item, _)| *item == info::SQL_RECORDS).map_or(&[][..], |(_, value)| value);
    Ok(clusters(records).filter(|(item, _)| info::CHANGES.contains(item)).map(|(_, value)| number(value)).sum())
}
