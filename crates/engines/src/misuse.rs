//! What is wrong with a call or with what it declares, in the same words on every engine.

use dsbench_core::engine::{Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};

/// What binding parameters is called in errors.
const BIND: &str = "bind parameter";
/// What reading rows is called in errors.
const READ: &str = "read result";

fn statement(context: &'static str, message: impl Into<String>) -> Error {
    Error::with(ErrorKind::Statement, context, message.into())
}

/// Nothing was prepared under that number.
#[cold]
pub(crate) fn unknown(id: StatementId, context: &'static str) -> Error {
    statement(context, format!("statement {} was never prepared on this connection", id.0))
}

/// A transaction is open where none may be.
#[cold]
pub(crate) fn open_already(context: &'static str) -> Error {
    statement(context, "a transaction is open already")
}

/// No transaction is open that could be committed.
#[cold]
pub(crate) fn nothing_to_commit() -> Error {
    statement("commit", "no transaction is open")
}

/// A statement whose numbers of parameters and columns, as the engine `found` them, are not those that it declares.
#[cold]
pub(crate) fn wrong_shape(declared: &Statement<'_>, (parameters, columns): (usize, usize)) -> Error {
    let message = format!(
        "{:?} has {parameters} parameters and {columns} columns; declared are {} and {}",
        declared.sql,
        declared.params.len(),
        declared.columns.len()
    );
    statement("prepare", message)
}

/// A number of parameters that is not the declared one.
#[cold]
pub(crate) fn wrong_count(given: usize, declared: usize) -> Error {
    statement(BIND, format!("{given} parameters given, {declared} declared"))
}

/// True when an integer is one of the declared type.
pub(crate) fn fits(kind: Type, value: i64) -> bool {
    match kind {
        Type::Int16 => i16::try_from(value).is_ok(),
        Type::Int32 => i32::try_from(value).is_ok(),
        _ => true,
    }
}

/// A parameter that is not of its declared type.
#[cold]
pub(crate) fn misfit(kind: Type, value: &Value<'_>) -> Error {
    statement(BIND, format!("{value:?} does not fit the declared type {kind:?}"))
}

/// A result with another number of columns than declared.
#[cold]
pub(crate) fn wrong_width(declared: usize, found: usize) -> Error {
    statement(READ, format!("the statement declares {declared} columns, but returns {found}"))
}

/// A value that is not of the declared type of its column.
#[cold]
pub(crate) fn unreadable(at: usize, kind: Type, bytes: &[u8]) -> Error {
    statement(READ, format!("column {at} holds {} bytes that are no {kind:?}, as the statement declares", bytes.len()))
}

/// Refuses a row of a load that has not as many values as there are columns.
#[inline]
pub(crate) fn check_row(row: &[Value<'_>], columns: usize) -> Result<()> {
    match row.len() == columns {
        true => Ok(()),
        false => Err(statement("bulk load", format!("a row of {} values for {columns} columns", row.len()))),
    }
}

/// `unscaled`·10^−`from` as digits at scale `to`, when that is exact.
#[inline]
pub(crate) fn rescale(unscaled: i64, from: u8, to: u8) -> Result<i64> {
    if from == to {
        return Ok(unscaled);
    }
    let factor = 10_i64.checked_pow(u32::from(from.abs_diff(to)));
    let exact = factor.and_then(|factor| match to > from {
        true => unscaled.checked_mul(factor),
        false => (unscaled % factor == 0).then_some(unscaled / factor),
    });
    exact.ok_or_else(|| {
        statement(BIND, format!("{unscaled}e-{from} does not fit a decimal of {to} digits after the point"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_rescaled_exactly_or_not_at_all() {
        assert_eq!(rescale(125, 1, 2).unwrap(), 1250);
        assert_eq!(rescale(-1250, 2, 1).unwrap(), -125);
        assert_eq!(rescale(i64::MAX, 2, 2).unwrap(), i64::MAX);
        assert_eq!(rescale(0, 30, 30).unwrap(), 0);
        for (unscaled, from, to) in [(125, 2, 1), (i64::MAX, 0, 1), (1, 0, 200)] {
            assert_eq!(rescale(unscaled, from, to).unwrap_err().kind, ErrorKind::Statement);
        }
    }
}
