//! Administrative queries: all values as text, converted by the server.

use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::Table;

use super::api::{free, Handle, DIALECT, NO_MORE_ROWS};
use super::attachment::{c_string, Attachment};
use super::sqlda::{kind, Row, VERSION};
use super::values;

/// Room for a number, a time or a truth value as text.
const SHORT: u16 = 64;
/// A row of Firebird's interface is not longer than 64 kB.
const ROW_BYTES: usize = 60_000;

/// More columns than one row of Firebird can have.
const MOST_COLUMNS: usize = 4_000;

/// Runs one query and gives all of it.
pub(super) fn fetch(at: &mut Attachment, transaction: &mut Handle, sql: &str) -> Result<Table> {
    let sql = c_string(sql)?;
    let mut statement = 0;
    // SAFETY: the attachment is open.
    let answer =
        unsafe { (at.api.isc_dsql_allocate_statement)(at.status.as_mut_ptr(), &mut at.handle, &mut statement) };
    at.check(answer, "fetch")?;
    let table = rows(at, transaction, &mut statement, &sql);
    // SAFETY: the statement was allocated above.
    unsafe { (at.api.isc_dsql_free_statement)(at.status.as_mut_ptr(), &mut statement, free::DROP) };
    table
}

fn rows(at: &mut Attachment, transaction: &mut Handle, statement: &mut Handle, sql: &std::ffi::CStr) -> Result<Table> {
    let mut row = Row::with_room(0);
    // SAFETY: handles are valid, the text ends with a zero, the row has the room that it says.
    let answer = unsafe {
        let output = row.as_mut_ptr();
        (at.api.isc_dsql_prepare)(at.status.as_mut_ptr(), transaction, statement, 0, sql.as_ptr(), DIALECT, output)
    };
    at.check(answer, "fetch")?;
    match row.described() {
        0 => return Err(Error::with(ErrorKind::Statement, "fetch", "the statement gives no rows")),
        1..=MOST_COLUMNS => {}
        more => return Err(Error::with(ErrorKind::Statement, "fetch", format!("{more} columns are more than fit"))),
    }
    row = Row::with_room(row.described());
    // SAFETY: as above; and the row has no parameters.
    let answer = unsafe { (at.api.isc_dsql_describe)(at.status.as_mut_ptr(), statement, VERSION, row.as_mut_ptr()) };
    at.check(answer, "fetch")?;
    let columns = declare(&mut row);
    // SAFETY: as above.
    let answer =
        unsafe { (at.api.isc_dsql_execute)(at.status.as_mut_ptr(), transaction, statement, VERSION, std::ptr::null()) };
    at.check(answer, "fetch")?;
    let mut table = Table { columns: columns.iter().map(|column| column.name.clone()).collect(), rows: Vec::new() };
    loop {
        // SAFETY: the cursor is open, the row has memory for every column.
        let answer = unsafe { (at.api.isc_dsql_fetch)(at.status.as_mut_ptr(), statement, VERSION, row.as_mut_ptr()) };
        if answer == NO_MORE_ROWS {
            return Ok(table);
        }
        at.check(answer, "fetch")?;
        table.rows.push(columns.iter().enumerate().map(|(number, column)| column.cell(&row, number)).collect());
    }
}

/// A column of the result.
pub(super) struct Column {
    name: String,
    length: usize,
    /// Blanks at the end only fill the type.
    padded: bool,
}

impl Column {
    pub(super) fn cell(&self, row: &Row, number: usize) -> Option<String> {
        if row.is_null(number) {
            return None;
        }
        let bytes = row.bytes(number);
        let length = usize::from(u16::from_ne_bytes([bytes[0], bytes[1]])).min(self.length);
        let text = String::from_utf8_lossy(&bytes[2..2 + length]);
        Some(if self.padded { text.trim_end().to_string() } else { text.into_owned() })
    }
}

/// Asks for every column as text and makes room for it.
pub(super) fn declare(row: &mut Row) -> Vec<Column> {
    let blobs = row.vars().iter().filter(|var| var.kind() == kind::BLOB).count().max(1);
    let share = (ROW_BYTES / 2 / blobs) as u16;
    let mut columns = Vec::new();
    for var in row.vars() {
        let length = match var.kind() {
            kind::TEXT | kind::VARYING => var.length() as u16,
            kind::BLOB => share,
            _ => SHORT,
        };
        let (name, padded) = (var.alias(), var.kind() == kind::TEXT);
        values::declare_text(var, length);
        columns.push(Column { name, length: usize::from(length), padded });
    }
    row.allocate();
    columns
}
