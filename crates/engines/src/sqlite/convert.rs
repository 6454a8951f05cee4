//! Values to SQLite and back. A decimal is stored as the INTEGER of its digits at the declared scale,
//! a timestamp as the INTEGER of its microseconds: both exact, and sums stay exact.

use std::os::raw::c_int;

use dsbench_core::engine::Statement;
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};
use libsqlite3_sys as ffi;

use super::raw::Stmt;
use crate::misuse::{misfit, rescale, wrong_count, wrong_shape};

/// Binds all parameters. Errors of kind `Statement` when their number or a type is wrong.
///
/// # Safety
/// The texts of `params` must live until the statement was reset.
pub(super) unsafe fn bind(statement: &Stmt, types: &[Type], params: &[Value<'_>]) -> Result<()> {
    if types.len() != params.len() {
        return Err(wrong_count(params.len(), types.len()));
    }
    for (at, (declared, value)) in types.iter().zip(params).enumerate() {
        let code = match (declared, *value) {
            (_, Value::Null) => statement.bind_null(at),
            (Type::Int16 | Type::Int32 | Type::Int64, Value::Int(v)) => statement.bind_int(at, v),
            (Type::Float64, Value::Float(v)) => statement.bind_float(at, v),
            (Type::Timestamp, Value::Timestamp(v)) => statement.bind_int(at, v),
            (Type::Decimal(digits), Value::Int(v)) => statement.bind_int(at, rescale(v, 0, *digits)?),
            (Type::Decimal(digits), Value::Decimal { unscaled, scale }) => {
                statement.bind_int(at, rescale(unscaled, scale, *digits)?)
            }
            // SAFETY: the caller's promise.
            (Type::Text, Value::Text(v)) => unsafe { statement.bind_text(at, v) },
            (declared, value) => return Err(misfit(*declared, &value)),
        };
        if code != ffi::SQLITE_OK {
            return Err(wrong(format!("parameter {} was refused", at + 1)).code(code.to_string().as_bytes()));
        }
    }
    Ok(())
}

/// Appends the current row to `rows`, each cell by its declared type.
pub(super) fn read_row(statement: &mut Stmt, types: &[Type], rows: &mut Rows) -> Result<()> {
    for (at, declared) in types.iter().enumerate() {
        let stored = statement.column_type(at);
        match (declared, stored) {
            (_, ffi::SQLITE_NULL) => rows.push(Value::Null),
            (Type::Int16 | Type::Int32 | Type::Int64, ffi::SQLITE_INTEGER) => {
                rows.push(Value::Int(statement.column_int(at)));
            }
            (Type::Float64, ffi::SQLITE_FLOAT | ffi::SQLITE_INTEGER) => {
                rows.push(Value::Float(statement.column_float(at)));
            }
            (Type::Decimal(scale), ffi::SQLITE_INTEGER) => {
                rows.push(Value::Decimal { unscaled: statement.column_int(at), scale: *scale });
            }
            (Type::Timestamp, ffi::SQLITE_INTEGER) => rows.push(Value::Timestamp(statement.column_int(at))),
            (Type::Text, ffi::SQLITE_TEXT) => {
                let text = std::str::from_utf8(statement.column_text(at));
                rows.push(Value::Text(text.map_err(|_| wrong(format!("column {}: the text is no UTF-8", at + 1)))?));
            }
            (declared, stored) => {
                return Err(wrong(format!("column {}: {} for {declared:?}", at + 1, class(stored))));
            }
        }
    }
    Ok(())
}

/// Checks a parsed statement against its declaration. One that declares no columns may return some; they are not read.
pub(super) fn matches(parsed: &Stmt, declared: &Statement<'_>) -> Result<()> {
    let found = (parsed.parameters(), parsed.columns());
    let columns = declared.columns.is_empty() || found.1 == declared.columns.len();
    match found.0 == declared.params.len() && columns {
        true => Ok(()),
        false => Err(wrong_shape(declared, found)),
    }
}

/// The type that values of a column declared in these words have: what SQLite makes of it is its affinity.
pub(super) fn type_of(declared: &str) -> Option<Type> {
    let words = declared.to_ascii_uppercase();
    let has = |some: &[&str]| some.iter().any(|word| words.contains(word));
    match () {
        () if has(&["INT"]) => Some(Type::Int64),
        () if has(&["CHAR", "CLOB", "TEXT"]) => Some(Type::Text),
        () if has(&["REAL", "FLOA", "DOUB"]) => Some(Type::Float64),
        () => None,
    }
}

fn class(stored: c_int) -> &'static str {
    match stored {
        ffi::SQLITE_INTEGER => "an integer",
        ffi::SQLITE_FLOAT => "a double",
        ffi::SQLITE_TEXT => "a text",
        _ => "a blob",
    }
}

fn wrong(message: String) -> Error {
    Error::with(ErrorKind::Statement, "execute", message)
}
