//! Statements of the transactions, made known to a connection.

use dsbench_core::engine::{Connection, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};

use crate::sql::Sections;

/// Short names of types.
pub const INT: Type = Type::Int32;
/// Text.
pub const TEXT: Type = Type::Text;
/// An amount of money.
pub const MONEY: Type = Type::Decimal(2);
/// A tax or a discount.
pub const RATE: Type = Type::Decimal(4);
/// A point in time.
pub const TIME: Type = Type::Timestamp;

/// Prepares statements of one dialect on one connection.
pub struct Speaker<'a> {
    /// The connection.
    pub conn: &'a mut dyn Connection,
    /// The SQL.
    pub sql: &'a Sections,
    /// When statements are parsed.
    pub when: Prepare,
}

impl Speaker<'_> {
    /// Prepares the statement of a section.
    pub fn know(&mut self, name: &str, params: &[Type], columns: &[Type]) -> Result<StatementId> {
        self.conn.prepare(&Statement { sql: self.sql.one(name)?, params, columns }, self.when)
    }

    /// Prepares a change of one row that gives columns of it. With RETURNING it is one statement, whose
    /// parameters are those of `change` and then `more`. Elsewhere the section `<name>_change` changes the
    /// row and `name` reads it by `key`.
    pub fn know_change(
        &mut self,
        name: &str,
        [change, more, key]: [&[Type]; 3],
        columns: &[Type],
    ) -> Result<ChangedRow> {
        let first = format!("{name}_change");
        if self.sql.all(&first).is_empty() {
            let (params, reads) = ([change, more].concat(), None);
            return Ok(ChangedRow { change: self.know(name, &params, columns)?, reads });
        }
        Ok(ChangedRow { change: self.know(&first, change, &[])?, reads: Some(self.know(name, key, columns)?) })
    }
}

/// A change of one row that gives columns of it.
#[derive(Debug, Clone, Copy)]
pub struct ChangedRow {
    change: StatementId,
    reads: Option<StatementId>,
}

impl ChangedRow {
    /// Changes the row and refills `into` with what was asked of it. `params` are those of the change, of
    /// which the last `more` only choose what is read. An error when there is not exactly one row.
    pub fn run(
        &self,
        conn: &mut dyn Connection,
        params: &[Value<'_>],
        more: usize,
        key: &[Value<'_>],
        into: &mut Rows,
    ) -> Result<()> {
        match self.reads {
            None => conn.query(self.change, params, into)?,
            Some(reads) => {
                one(conn.execute(self.change, &params[..params.len() - more])?)?;
                conn.query(reads, key, into)?;
            }
        }
        // Firebird before version 5 gives a row of NULLs for an update that found none.
        match into.get(0, 0)? {
            Value::Null => one(0),
            _ => one(into.len() as u64),
        }
    }
}

/// An error unless exactly one row was changed or found.
pub fn one(rows: u64) -> Result<()> {
    match rows {
        1 => Ok(()),
        n => Err(Error::with(ErrorKind::Statement, "execute", format!("{n} rows were changed or found, not one"))),
    }
}

/// Integers as values.
pub fn ints<const N: usize>(numbers: [i64; N]) -> [Value<'static>; N] {
    numbers.map(Value::Int)
}

/// Cents as an amount.
pub fn cents(unscaled: i64) -> Value<'static> {
    Value::Decimal { unscaled, scale: 2 }
}
