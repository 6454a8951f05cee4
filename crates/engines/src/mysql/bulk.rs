//! Bulk load: LOAD DATA LOCAL, whose rows travel over the connection, or INSERTs of many rows where
//! the server does not allow it. Either way all rows are one transaction.

use dsbench_core::engine::{BulkLoad, Connection, RowSource};
use dsbench_core::error::{Code, Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};

use super::answer::First;
use super::connection::MysqlConnection;
use super::packet::{self, HEADER};
use super::reply::Skip;
use super::wire::{State, Wire, QUERY};
use super::{codes, rows};

/// Bytes after which a packet of lines is sent.
const CHUNK: usize = 128 * 1024;

/// Bytes after which an INSERT is sent.
const INSERT: usize = 1024 * 1024;

const CONTEXT: &str = "bulk load";

impl BulkLoad for MysqlConnection {
    /// Table and columns are SQL, as in any other statement: names that need quotes bring them.
    fn load(&mut self, table: &str, columns: &[(&str, Type)], source: &mut dyn RowSource) -> Result<u64> {
        self.wire.ready(CONTEXT)?;
        let own = self.wire.state == State::Idle;
        if own {
            self.begin()?;
        }
        let done = self.load_open(table, columns, source);
        // A connection keeps no more memory than its statements need.
        self.wire.output = Vec::new();
        match done {
            Ok(count) if own => self.commit().map(|()| count),
            Ok(count) => Ok(count),
            Err(error) => {
                match own {
                    // The error that is reported is the one of the load, not the one of the rollback.
                    true => drop(self.rollback()),
                    false => self.wire.doom(),
                }
                Err(error)
            }
        }
    }
}

impl MysqlConnection {
    fn load_open(&mut self, table: &str, columns: &[(&str, Type)], source: &mut dyn RowSource) -> Result<u64> {
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let into = format!("{table} ({})", names.join(", "));
        if !self.no_local_files {
            match enter(&mut self.wire, table, &names)? {
                true => return self.load_lines(columns, source),
                false => self.no_local_files = true,
            }
        }
        let most = INSERT.min(self.largest_packet / 2);
        insert(&mut self.wire, &into, columns, source, most)
    }

    fn load_lines(&mut self, columns: &[(&str, Type)], source: &mut dyn RowSource) -> Result<u64> {
        let number = self.wire.input.number();
        let most = CHUNK.min(self.largest_packet / 2);
        let mut lines = Lines { wire: &mut self.wire, columns, rows: 0, number, lost: false, most };
        let pumped = pump(source, &mut |row| lines.add(row));
        if lines.lost {
            return pumped.map(|()| 0);
        }
        let sent = lines.rows;
        let finished = lines.finish();
        // The server has taken what came before an error of ours; it is rolled back.
        pumped?;
        let (taken, warnings) = finished?;
        if (taken, warnings) == (sent, 0) {
            return Ok(sent);
        }
        Err(self.refusal(sent, taken))
    }

    /// The server does not stop a load for a row it cannot take: it warns. The first warning counts.
    fn refusal(&mut self, sent: u64, taken: u64) -> Error {
        let counts = format!("{sent} rows were sent, but the server took {taken}");
        let first = self.fetch("SHOW WARNINGS LIMIT 1").ok().and_then(|table| table.rows.into_iter().next());
        let cell = |at: usize| first.as_ref().and_then(|row| row.get(at).cloned().flatten()).unwrap_or_default();
        let number = cell(1).parse().unwrap_or(0);
        let error = Error::with(codes::kind(number), CONTEXT, format!("{counts}: {}", cell(2)));
        Error { code: Code::number(number.into()), ..error }
    }
}

/// Asks the server to take lines; false when it does not. What else may be wrong is told by INSERTs as well, and each
/// product has codes of its own for what it lacks.
fn enter(wire: &mut Wire, table: &str, names: &[&str]) -> Result<bool> {
    packet::open(&mut wire.output);
    wire.output.push(QUERY);
    let sql = format!(
        "LOAD DATA LOCAL INFILE 'dsbench' INTO TABLE {table} CHARACTER SET utf8mb4 \
         FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({})",
        names.join(", ")
    );
    wire.output.extend_from_slice(sql.as_bytes());
    wire.send(CONTEXT)?;
    match wire.first(CONTEXT, ErrorKind::Disconnected) {
        Ok(First::LocalFile) => Ok(true),
        Ok(_) => Err(wire.lose(super::fields::garbage("no request for the rows"), ErrorKind::Disconnected, CONTEXT)),
        Err(error) if error.kind.is_loss() => Err(error),
        Err(_) => Ok(false),
    }
}

/// Gives all rows to `take`. When `take` fails, its error is returned, whatever the source makes of it.
fn pump(source: &mut dyn RowSource, take: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<()> {
    let mut failed = None;
    loop {
        let more = source.next_row(&mut |row| {
            take(row).inspect_err(|error| {
                failed.get_or_insert_with(|| error.clone());
            })
        });
        match (failed.take(), more) {
            (Some(error), _) | (None, Err(error)) => return Err(error),
            (None, Ok(true)) => {}
            (None, Ok(false)) => return Ok(()),
        }
    }
}

/// Lines on their way to the server.
struct Lines<'a> {
    wire: &'a mut Wire,
    columns: &'a [(&'a str, Type)],
    rows: u64,
    /// Number of the next packet.
    number: u8,
    lost: bool,
    /// Bytes after which a packet is sent: the server's limit leaves room for one more row.
    most: usize,
}

impl Lines<'_> {
    fn add(&mut self, row: &[Value<'_>]) -> Result<()> {
        if self.rows == 0 {
            packet::open(&mut self.wire.output);
        }
        let start = self.wire.output.len();
        if let Err(error) = rows::line(&mut self.wire.output, self.columns, row) {
            self.wire.output.truncate(start);
            return Err(error);
        }
        self.rows += 1;
        if self.wire.output.len() < self.most {
            return Ok(());
        }
        self.flush()
    }

    /// Sends the packet of lines. The server never answers before the end.
    fn flush(&mut self) -> Result<()> {
        self.number = packet::close(&mut self.wire.output, self.number);
        let sent = self.wire.transport.send(&self.wire.output);
        packet::open(&mut self.wire.output);
        sent.map_err(|error| {
            self.lost = true;
            self.wire.lose(error, ErrorKind::Disconnected, CONTEXT)
        })
    }

    /// Says that all lines are there; gives the rows that the server took, and its warnings.
    fn finish(mut self) -> Result<(u64, u16)> {
        if self.rows == 0 {
            packet::open(&mut self.wire.output);
        }
        if self.wire.output.len() > HEADER {
            self.flush()?;
        }
        // An empty packet ends the file.
        self.flush()?;
        self.wire.input.expect(self.number);
        let done = self.wire.complete(CONTEXT, ErrorKind::Disconnected, &mut Skip)?;
        Ok((done.rows, done.warnings))
    }
}

/// Loads by INSERTs of many rows.
fn insert(
    wire: &mut Wire,
    into: &str,
    columns: &[(&str, Type)],
    source: &mut dyn RowSource,
    most: usize,
) -> Result<u64> {
    let head = format!("INSERT INTO {into} VALUES ");
    let start = |wire: &mut Wire| {
        packet::open(&mut wire.output);
        wire.output.push(QUERY);
        wire.output.extend_from_slice(head.as_bytes());
    };
    let empty = HEADER + 1 + head.len();
    let mut total = 0;
    start(wire);
    pump(source, &mut |row| {
        if wire.output.len() > empty {
            wire.output.push(b',');
        }
        rows::list(&mut wire.output, columns, row)?;
        total += 1;
        if wire.output.len() >= most {
            flush(wire)?;
            start(wire);
        }
        Ok(())
    })?;
    if wire.output.len() > empty {
        flush(wire)?;
    }
    Ok(total)
}

fn flush(wire: &mut Wire) -> Result<()> {
    wire.send(CONTEXT)?;
    wire.complete(CONTEXT, ErrorKind::Disconnected, &mut Skip).map(|_| ())
}
