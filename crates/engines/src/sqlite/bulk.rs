//! Loading rows: one prepared INSERT in one transaction.

use std::time::{Duration, Instant};

use dsbench_core::engine::{BulkLoad, RowSource};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};
use libsqlite3_sys as ffi;

use super::codes::During;
use super::connection::{script, Session};
use super::convert;

/// How long a load waits for its turn. Loads on other sessions each hold the file's one lock for a
/// whole transaction, longer than a session of load may be told to wait.
const PATIENCE: Duration = Duration::from_secs(120);

impl BulkLoad for Session {
    /// Foreign keys are not looked at while rows are loaded, just as other engines load before keys are added;
    /// the caller has to ask `pragma_foreign_key_check` afterwards.
    fn load(&mut self, table: &str, columns: &[(&str, Type)], source: &mut dyn RowSource) -> Result<u64> {
        if !self.db.is_idle() {
            return Err(Error::with(ErrorKind::Statement, "load", "a load cannot be part of an open transaction"));
        }
        script(&self.db, "PRAGMA foreign_keys=off", During::Load)?;
        let loaded = transaction(self, table, columns, source);
        if self.foreign_keys {
            script(&self.db, "PRAGMA foreign_keys=on", During::Load)?;
        }
        loaded
    }
}

fn transaction(
    session: &mut Session,
    table: &str,
    columns: &[(&str, Type)],
    source: &mut dyn RowSource,
) -> Result<u64> {
    use dsbench_core::engine::Connection;
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = session.open_transaction() {
        if error.kind != ErrorKind::Busy || Instant::now() > deadline {
            return Err(error);
        }
    }
    let loaded = insert(session, table, columns, source).and_then(|rows| session.commit().map(|()| rows));
    if loaded.is_err() {
        session.rollback()?;
    }
    loaded
}

fn insert(session: &Session, table: &str, columns: &[(&str, Type)], source: &mut dyn RowSource) -> Result<u64> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let types: Vec<Type> = columns.iter().map(|(_, declared)| *declared).collect();
    let marks = vec!["?"; names.len()].join(",");
    let sql = format!("INSERT INTO {table} ({}) VALUES ({marks})", names.join(","));
    let statement = session.db.statement(&sql, true)?;
    let mut rows = 0;
    let mut emit = |values: &[Value<'_>]| {
        // SAFETY: `values` outlives this call, and the statement is reset before it ends.
        let bound = unsafe { convert::bind(&statement, &types, values) };
        let code = if bound.is_ok() { statement.step() } else { ffi::SQLITE_DONE };
        let result = match code {
            ffi::SQLITE_DONE => bound,
            code => Err(session.db.error(code, During::Load)),
        };
        statement.reset();
        rows += u64::from(result.is_ok());
        result
    };
    while source.next_row(&mut emit)? {}
    Ok(rows)
}
