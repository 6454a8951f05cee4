//! Compares the columns that a statement declares with those that the server describes.

use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::value::Type;

use super::reply;
use super::types::readable;
use crate::net::RowError;

/// Takes the replies to Parse and Describe. A statement that declares no columns may return some;
/// they are not read.
pub fn check(tag: u8, body: &[u8], declared: &[Type]) -> Result<(), RowError> {
    let found = match tag {
        b'T' => {
            let mut found = Vec::new();
            reply::columns(body, |name, oid| found.push((String::from_utf8_lossy(name).into_owned(), oid)))?;
            found
        }
        b'n' => Vec::new(),
        _ => return Ok(()),
    };
    if declared.is_empty() {
        return Ok(());
    }
    if found.len() != declared.len() {
        return Err(mismatch(format!(
            "the statement declares {} columns, but returns {}",
            declared.len(),
            found.len()
        )));
    }
    for ((name, oid), kind) in found.iter().zip(declared) {
        if !readable(*kind, *oid) {
            let message =
                format!("column {name:?} is declared {kind:?}, but is of type {}; add a cast", type_name(*oid));
            return Err(mismatch(message));
        }
    }
    Ok(())
}

fn mismatch(message: String) -> RowError {
    RowError::Statement(Error::with(ErrorKind::Statement, "prepare", message))
}

/// The name of a type by its number, for the common ones.
fn type_name(oid: u32) -> String {
    let name = match oid {
        16 => "boolean",
        17 => "bytea",
        20 => "bigint",
        21 => "smallint",
        23 => "integer",
        25 => "text",
        700 => "real",
        701 => "double precision",
        1042 => "character",
        1043 => "character varying",
        1082 => "date",
        1114 => "timestamp",
        1184 => "timestamp with time zone",
        1700 => "numeric",
        2278 => "void",
        2950 => "uuid",
        other => return format!("number {other} (pg_type)"),
    };
    name.to_owned()
}
