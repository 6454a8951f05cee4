//! What the server describes: compared with the columns that a statement declares, or asked for.

use dsbench_core::engine::{Described, Statement, Wanted};
use dsbench_core::error::{Error, ErrorKind, Result as Told};
use dsbench_core::value::Type;

use super::reply::{self, Fields};
use super::statement::parse_and_describe;
use super::types::readable;
use super::wire::Wire;
use super::{simple, types};
use crate::net::RowError;

/// Asks for the parameters' types, as the server infers them from where they stand, and for the columns.
pub fn describe(wire: &mut Wire, sql: &str) -> Told<Described> {
    let statement = Statement { sql, params: &[], columns: &[] };
    wire.output.clear();
    parse_and_describe(&mut wire.output, &statement, "")?;
    wire.send("prepare")?;
    let (mut inferred, mut columns) = (Vec::new(), Vec::new());
    wire.complete("prepare", ErrorKind::Disconnected, |tag, body| {
        match tag {
            b't' => {
                let mut fields = Fields(body);
                for _ in 0..fields.int16()? {
                    inferred.push(fields.int32()? as u32);
                }
            }
            b'T' => {
                let kinds = [Type::Int64, Type::Float64, Type::Text];
                let kind = |oid| kinds.into_iter().find(|kind| readable(*kind, oid));
                reply::columns(body, |name, oid| {
                    columns.push((String::from_utf8_lossy(name).into_owned(), kind(oid)));
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    let params = inferred.into_iter().map(|oid| wanted(wire, oid)).collect::<Told<_>>()?;
    Ok(Described { params, columns })
}

/// A parameter of type number `oid` is given as that type where a declaration of it leads there, else as text with a
/// cast: so the server plans the statement as it would with the value written into it.
fn wanted(wire: &mut Wire, oid: u32) -> Told<Wanted> {
    let same = [Type::Int16, Type::Int32, Type::Int64, Type::Float64, Type::Decimal(0), Type::Text];
    if let Some(kind) = same.into_iter().find(|kind| types::oid(*kind) == oid) {
        return Ok(Wanted::As(kind));
    }
    // Its name in the catalogue: in SQL's own words "character" would be a text of one letter.
    let sql = format!(
        "SELECT quote_ident(nspname) || '.' || quote_ident(typname) \
         FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = {oid}"
    );
    let name = simple::fetch(wire, &sql)?;
    let name = name.rows.into_iter().flatten().next().flatten();
    Ok(Wanted::Cast(name.unwrap_or_else(|| "text".into())))
}

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
        let message = format!("the statement declares {} columns, but returns {}", declared.len(), found.len());
        return Err(RowError::Statement(mismatch(message)));
    }
    for ((name, oid), kind) in found.iter().zip(declared) {
        if !readable(*kind, *oid) {
            let message = format!("column {name:?} is declared {kind:?}, but is of type {}", type_name(*oid));
            return Err(RowError::Statement(mismatch(message).remedy("add a cast")));
        }
    }
    Ok(())
}

fn mismatch(message: String) -> Error {
    Error::with(ErrorKind::Statement, "prepare", message)
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
