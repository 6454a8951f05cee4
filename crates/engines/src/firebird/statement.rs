//! Statements: described once, with rows of their own for parameters and results, and run again and
//! again out of and into these.

use std::ffi::{c_short, CString};

use dsbench_core::engine::{Described, Prepare, Statement};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::Type;

use super::answer::{clusters, number};
use super::api::{free, info, Handle, DIALECT};
use super::attachment::{c_string, Attachment};
use super::sqlda::{self, Row, Sqlda};
use super::values;
use crate::misuse::wrong_shape;

/// How a statement gives its results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gives {
    /// Rows, by a cursor.
    Rows,
    /// One row, together with the execution: EXECUTE PROCEDURE, INSERT … RETURNING.
    OneRow,
    /// Nothing, but it changes rows that can be counted.
    Count,
    /// Nothing.
    Nothing,
}

/// A statement of one attachment.
pub(super) struct Prepared {
    pub(super) sql: CString,
    /// None when it is parsed at every execution.
    pub(super) handle: Handle,
    pub(super) gives: Gives,
    /// False for a SELECT until it turns out that a procedure in it writes.
    pub(super) writes: bool,
    pub(super) params: Box<[Type]>,
    pub(super) columns: Box<[Type]>,
    pub(super) input: Row,
    pub(super) output: Row,
}

impl Prepared {
    /// Lets the server parse and describe `statement`, within `transaction`. With [`Prepare::Never`]
    /// that is forgotten again; the description stays.
    pub(super) fn new(
        at: &mut Attachment,
        transaction: &mut Handle,
        statement: &Statement<'_>,
        when: Prepare,
    ) -> Result<Self> {
        let mut prepared = Self::parsed(at, transaction, statement)?;
        let described = prepared.describe(at, statement);
        if described.is_err() || when == Prepare::Never {
            prepared.forget(at);
        }
        described.map(|()| prepared)
    }

    fn parsed(at: &mut Attachment, transaction: &mut Handle, statement: &Statement<'_>) -> Result<Self> {
        let mut prepared = Self {
            sql: c_string(statement.sql)?,
            handle: 0,
            gives: Gives::Nothing,
            writes: true,
            params: statement.params.into(),
            columns: statement.columns.into(),
            input: Row::with_room(statement.params.len()),
            output: Row::with_room(statement.columns.len()),
        };
        let output = prepared.output.as_mut_ptr();
        prepared.parse(at, transaction, output)?;
        Ok(prepared)
    }

    /// What the columns of a statement are that somebody else wrote. Nothing is said of its parameters: the library
    /// converts what it is given.
    pub(super) fn told(at: &mut Attachment, transaction: &mut Handle, sql: &str) -> Result<Described> {
        let mut parsed = Self::parsed(at, transaction, &Statement { sql, params: &[], columns: &[] })?;
        let columns = parsed.output.described();
        let described = if columns > 0 { parsed.describe_undeclared(at, columns) } else { Ok(()) };
        parsed.forget(at);
        described?;
        let kinds = [Type::Int64, Type::Float64, Type::Text];
        let kind = |var: &mut sqlda::Var| kinds.into_iter().find(|kind| values::declare_output(var, *kind));
        let columns = parsed.output.vars().iter_mut().map(|var| (var.alias(), kind(var))).collect();
        Ok(Described { params: Vec::new(), columns })
    }

    /// `output` is described, unless it is null: a row that has its types and memory must not be touched.
    pub(super) fn parse(&mut self, at: &mut Attachment, transaction: &mut Handle, output: *mut Sqlda) -> Result<()> {
        // SAFETY: handles of an open attachment and transaction; the text ends with a zero.
        let answer =
            unsafe { (at.api.isc_dsql_allocate_statement)(at.status.as_mut_ptr(), &mut at.handle, &mut self.handle) };
        at.check(answer, "prepare")?;
        // SAFETY: as above, and the output, if any, has the room that it says.
        let answer = unsafe {
            (at.api.isc_dsql_prepare)(
                at.status.as_mut_ptr(),
                transaction,
                &mut self.handle,
                0,
                self.sql.as_ptr(),
                DIALECT,
                output,
            )
        };
        at.check(answer, "prepare").inspect_err(|_| self.forget(at))
    }

    /// Compares the statement with its declaration and sets the types in which values travel.
    fn describe(&mut self, at: &mut Attachment, declared: &Statement<'_>) -> Result<()> {
        // SAFETY: the handle is that of a prepared statement, the row has the room that it says.
        let answer = unsafe {
            (at.api.isc_dsql_describe_bind)(
                at.status.as_mut_ptr(),
                &mut self.handle,
                sqlda::VERSION,
                self.input.as_mut_ptr(),
            )
        };
        at.check(answer, "prepare")?;
        let (parameters, columns) = (self.input.described(), self.output.described());
        // Results that were not declared are dropped; see `run`.
        if parameters != self.params.len() || (columns != self.columns.len() && !self.columns.is_empty()) {
            return Err(wrong_shape(declared, (parameters, columns)));
        }
        self.gives = self.ask_what_it_gives(at, columns > 0)?;
        self.writes = self.gives != Gives::Rows;
        if self.columns.is_empty() && columns > 0 {
            self.describe_undeclared(at, columns)?;
        }
        for (var, declared) in self.input.vars().iter_mut().zip(&self.params) {
            values::declare_input(var, *declared);
        }
        for (number, (var, declared)) in self.output.vars().iter_mut().zip(&self.columns).enumerate() {
            let found = var.kind();
            if !values::declare_output(var, *declared) {
                let message = format!("column {number} is of Firebird's type {found}, declared is {declared:?}");
                return Err(Error::with(ErrorKind::Statement, "prepare", message));
            }
        }
        self.input.allocate();
        self.output.allocate();
        Ok(())
    }

    fn describe_undeclared(&mut self, at: &mut Attachment, columns: usize) -> Result<()> {
        self.output = Row::with_room(columns);
        // SAFETY: as in `describe`.
        let answer = unsafe {
            (at.api.isc_dsql_describe)(
                at.status.as_mut_ptr(),
                &mut self.handle,
                sqlda::VERSION,
                self.output.as_mut_ptr(),
            )
        };
        at.check(answer, "prepare")
    }

    fn ask_what_it_gives(&mut self, at: &mut Attachment, columns: bool) -> Result<Gives> {
        let mut answer = [0; 16];
        ask(at, self.handle, info::SQL_STATEMENT_TYPE, &mut answer)?;
        // Numbers of isc_info_sql_stmt_*: 1 SELECT, 2 INSERT, 3 UPDATE, 4 DELETE, 8 EXECUTE PROCEDURE and
        // what has RETURNING, 12 SELECT … FOR UPDATE.
        let kind = clusters(&answer).next().map_or(0, |(_, value)| number(value));
        Ok(match kind {
            1 | 12 => Gives::Rows,
            _ if columns => Gives::OneRow,
            2..=4 => Gives::Count,
            _ => Gives::Nothing,
        })
    }

    /// Lets the server forget it.
    pub(super) fn forget(&mut self, at: &mut Attachment) {
        if self.handle != 0 {
            // SAFETY: the handle is that of a statement; nothing can be done when this fails.
            unsafe { (at.api.isc_dsql_free_statement)(at.status.as_mut_ptr(), &mut self.handle, free::DROP) };
            self.handle = 0;
        }
    }
}

/// Asks for one item of a statement.
pub(super) fn ask(at: &mut Attachment, mut statement: Handle, item: u8, answer: &mut [u8]) -> Result<()> {
    // SAFETY: both lengths are those of the slices.
    let code = unsafe {
        (at.api.isc_dsql_sql_info)(
            at.status.as_mut_ptr(),
            &mut statement,
            1,
            &item,
            answer.len() as c_short,
            answer.as_mut_ptr(),
        )
    };
    at.check(code, "ask about statement")
}
