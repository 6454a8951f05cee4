//! Bulk load by COPY … FROM STDIN in binary, which spares both sides the text of numbers.

use std::fmt::Write;

use dsbench_core::engine::{BulkLoad, RowSource};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};

use super::connection::PostgresConnection;
use super::input::garbage;
use super::reply::{rows_found, Complaint};
use super::statement::{close, query};
use super::types;
use super::wire::Wire;
use crate::misuse::check_row;

/// Bytes after which a CopyData message is sent.
const CHUNK: usize = 64 * 1024;

/// Signature of binary COPY, no flags, no extension of the header.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// In place of a number of columns: no row follows.
const TRAILER: &[u8] = &[0xff, 0xff];

const CONTEXT: &str = "bulk load";

impl BulkLoad for PostgresConnection {
    /// Table and columns are SQL, as in any other statement: names that need quotes bring them.
    fn load(&mut self, table: &str, columns: &[(&str, Type)], source: &mut dyn RowSource) -> Result<u64> {
        self.begin_now(CONTEXT)?;
        let ahead = self.frame.ahead(self.wire.status);
        let done = load(&mut self.wire, ahead, table, columns, source);
        // A connection keeps no more memory than its statements need.
        self.wire.output = Vec::new();
        done
    }
}

fn load(
    wire: &mut Wire,
    ahead: &str,
    table: &str,
    columns: &[(&str, Type)],
    source: &mut dyn RowSource,
) -> Result<u64> {
    let loss = wire.loss();
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut sql = String::new();
    // Writing into a string cannot fail.
    let _ = write!(sql, "{ahead}COPY {table} ({}) FROM STDIN (FORMAT binary)", names.join(", "));
    wire.output.clear();
    query(&mut wire.output, &sql)?;
    wire.send(CONTEXT)?;
    enter(wire)?;

    let mut copy = Copy { wire, columns, rows: 0, stop: None };
    copy.open_message();
    copy.wire.output.extend_from_slice(HEADER);
    match copy.pump(source) {
        Ok(()) => {}
        Err(Stop::Here(error)) => return Err(copy.give_up(error)),
        Err(Stop::Server(error)) => {
            copy.wire.complete(CONTEXT, ErrorKind::Disconnected, |_, _| Ok(()))?;
            return Err(error);
        }
        Err(Stop::Lost(error)) => return Err(error),
    }
    let sent = copy.rows;
    finish(wire, sent, loss)
}

/// Waits until the server takes rows.
fn enter(wire: &mut Wire) -> Result<()> {
    loop {
        match wire.input.next(&mut wire.transport) {
            Ok((b'G', _)) => return Ok(()),
            // What went ahead is done.
            Ok((b'C' | b'N' | b'S' | b'A', _)) => {}
            Ok((b'E', body)) => {
                let complaint = Complaint::read(body);
                if complaint.is_fatal() {
                    let error = complaint.error_of_kind(ErrorKind::Disconnected, CONTEXT);
                    return Err(wire.broken(error));
                }
                let error = complaint.error(CONTEXT);
                wire.complete(CONTEXT, ErrorKind::Disconnected, |_, _| Ok(()))?;
                return Err(error);
            }
            Ok((other, _)) => {
                let error = garbage(&format!("a message of type {:?} in answer to COPY", char::from(other)));
                return Err(wire.lose(error, ErrorKind::Disconnected, CONTEXT));
            }
            Err(error) => return Err(wire.lose(error, ErrorKind::Disconnected, CONTEXT)),
        }
    }
}

/// Says that all rows are there and waits until the server has taken them.
fn finish(wire: &mut Wire, sent: u64, loss: ErrorKind) -> Result<u64> {
    wire.output.extend_from_slice(TRAILER);
    close(&mut wire.output, 0)?;
    wire.output.extend_from_slice(b"c\0\0\0\x04");
    wire.send(CONTEXT)?;
    let mut taken = 0;
    wire.complete(CONTEXT, loss, |tag, body| {
        if tag == b'C' {
            taken = rows_found(body);
        }
        Ok(())
    })?;
    if taken != sent {
        let message = format!("{sent} rows were sent, but the server counted {taken}");
        let error = Error::with(ErrorKind::Statement, CONTEXT, message);
        return Err(error.remedy("see whether a trigger drops some"));
    }
    Ok(sent)
}

/// Why rows stopped flowing before their end.
enum Stop {
    /// The source or a value failed; the server still waits for rows.
    Here(Error),
    /// The server refused the rows; it waits for the next command already.
    Server(Error),
    /// The connection is gone.
    Lost(Error),
}

/// A load under way.
struct Copy<'a> {
    wire: &'a mut Wire,
    columns: &'a [(&'a str, Type)],
    rows: u64,
    stop: Option<Stop>,
}

impl Copy<'_> {
    /// Sends all rows but those of the last, open message.
    fn pump(&mut self, source: &mut dyn RowSource) -> std::result::Result<(), Stop> {
        loop {
            let more = source.next_row(&mut |row| self.add(row));
            // An error of ours is the one to report, whatever the source makes of it.
            if let Some(stop) = self.stop.take() {
                return Err(stop);
            }
            if !more.map_err(Stop::Here)? {
                return Ok(());
            }
        }
    }

    /// Takes one row.
    fn add(&mut self, row: &[Value<'_>]) -> Result<()> {
        let done = self.encode(row).map_err(Stop::Here).and_then(|()| {
            self.rows += 1;
            if self.wire.output.len() < CHUNK {
                return Ok(());
            }
            self.flush()
        });
        done.map_err(|stop| {
            let (Stop::Here(error) | Stop::Server(error) | Stop::Lost(error)) = &stop;
            let error = error.clone();
            self.stop.get_or_insert(stop);
            error
        })
    }

    fn encode(&mut self, row: &[Value<'_>]) -> Result<()> {
        check_row(row, self.columns.len())?;
        let out = &mut self.wire.output;
        out.extend_from_slice(&(row.len() as u16).to_be_bytes());
        for (value, (_, kind)) in row.iter().zip(self.columns) {
            types::encode(out, *kind, value)?;
        }
        Ok(())
    }

    fn open_message(&mut self) {
        self.wire.output.clear();
        self.wire.output.extend_from_slice(b"d\0\0\0\0");
    }

    /// Sends the open message and looks, without waiting, whether the server has refused the rows. Otherwise
    /// a terabyte would be sent to a server whose disk is full.
    fn flush(&mut self) -> std::result::Result<(), Stop> {
        close(&mut self.wire.output, 0).map_err(Stop::Here)?;
        self.wire.send(CONTEXT).map_err(Stop::Lost)?;
        self.open_message();
        loop {
            let wire = &mut *self.wire;
            match wire.input.next_now(&mut wire.transport) {
                Ok(None) => return Ok(()),
                Ok(Some((b'N' | b'S' | b'A', _))) => {}
                Ok(Some((b'E', body))) => {
                    let complaint = Complaint::read(body);
                    if complaint.is_fatal() {
                        let error = complaint.error_of_kind(ErrorKind::Disconnected, CONTEXT);
                        return Err(Stop::Lost(wire.broken(error)));
                    }
                    return Err(Stop::Server(complaint.error(CONTEXT)));
                }
                Ok(Some((other, _))) => {
                    let error = garbage(&format!("a message of type {:?} during COPY", char::from(other)));
                    return Err(Stop::Lost(wire.lose(error, ErrorKind::Disconnected, CONTEXT)));
                }
                Err(error) => return Err(Stop::Lost(wire.lose(error, ErrorKind::Disconnected, CONTEXT))),
            }
        }
    }

    /// Makes the server forget the rows; gives the error that led here, unless the connection is lost, too.
    fn give_up(&mut self, error: Error) -> Error {
        let out = &mut self.wire.output;
        out.clear();
        out.extend_from_slice(b"f\0\0\0\x1bthe client has no rows\0");
        if let Err(lost) = self.wire.send(CONTEXT) {
            return lost;
        }
        match self.wire.complete(CONTEXT, ErrorKind::Disconnected, |_, _| Ok(())) {
            Err(lost) if self.wire.alive(CONTEXT).is_err() => lost,
            _ => error,
        }
    }
}
