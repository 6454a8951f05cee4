//! The simple query protocol, for what is not load: scripts and administrative queries.

use dsbench_core::engine::Answer;
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::Table;

use super::reply::{self, Fields};
use super::statement::{close, query};
use super::wire::Wire;
use crate::net::check_size;

/// Runs one element of a script; rows that it returns are skipped.
pub fn run(wire: &mut Wire, sql: &str) -> Result<()> {
    send(wire, sql, "script")?;
    let loss = wire.loss();
    wire.complete("script", loss, |_, _| Ok(())).map_err(in_words)
}

/// Runs one query and gives its result as text.
pub fn fetch(wire: &mut Wire, sql: &str) -> Result<Table> {
    send(wire, sql, "fetch")?;
    let (mut table, mut bytes) = (Table::default(), 0);
    let loss = wire.loss();
    wire.complete("fetch", loss, |tag, body| {
        match tag {
            b'T' => {
                table = Table::default();
                reply::columns(body, |name, _| table.columns.push(text(name)))?;
            }
            b'D' => {
                let mut fields = Fields(body);
                let count = fields.int16()?;
                bytes += body.len() + usize::from(count as u16) * size_of::<Option<String>>();
                check_size(bytes)?;
                let cells = (0..count).map(|_| Ok(fields.value()?.map(text)));
                table.rows.push(cells.collect::<std::io::Result<_>>()?);
            }
            _ => {}
        }
        Ok(())
    })
    .map_err(in_words)?;
    Ok(table)
}

/// Errors that could be retried come without words, for the sake of the load; here somebody reads them.
fn in_words(error: Error) -> Error {
    match error.code.as_str() {
        "55P03" => error.clone().wrapped(error.context, "another session holds a lock for longer than lock_timeout"),
        _ => error,
    }
}

/// Runs a text, with what goes `ahead` of it in the same message, and gives its answers to `take`; gives the number of
/// rows that were read or changed.
#[inline]
pub fn answers(wire: &mut Wire, ahead: &str, sql: &[u8], take: Option<&mut dyn FnMut(Answer<'_>)>) -> Result<u64> {
    if sql.contains(&0) {
        return Err(Error::with(ErrorKind::Syntax, "execute", "the statement holds a zero byte"));
    }
    let out = &mut wire.output;
    out.clear();
    out.extend_from_slice(b"Q\0\0\0\0");
    out.extend_from_slice(ahead.as_bytes());
    out.extend_from_slice(sql);
    out.push(0);
    close(out, 0)?;
    wire.send("execute")?;
    let loss = wire.loss();
    // Those that a tag counts, and those that came: servers that only speak the protocol may leave the number out.
    let (mut rows, mut came) = (0, 0);
    let Some(take) = take else {
        wire.complete("execute", loss, |tag, body| {
            match tag {
                b'C' => rows += reply::rows_found(body),
                b'D' => came += 1,
                _ => {}
            }
            Ok(())
        })?;
        return Ok(rows.max(came));
    };
    wire.complete("execute", loss, |tag, body| {
        match tag {
            b'T' => reply::columns(body, |name, _| take(Answer::Column(name)))?,
            b'D' => {
                let mut fields = Fields(body);
                for at in 0..usize::from(fields.int16()? as u16) {
                    take(Answer::Cell(at, fields.value()?));
                }
                take(Answer::Row);
                came += 1;
            }
            b'C' => {
                rows += reply::rows_found(body);
                take(Answer::End);
            }
            b'I' => take(Answer::End),
            _ => {}
        }
        Ok(())
    })?;
    Ok(rows.max(came))
}

fn send(wire: &mut Wire, sql: &str, context: &'static str) -> Result<()> {
    wire.output.clear();
    query(&mut wire.output, sql)?;
    wire.send(context)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
