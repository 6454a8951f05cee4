//! Loading rows, many in each round trip: an anonymous block of PSQL (`EXECUTE BLOCK`) takes the
//! values of a batch of rows as its parameters and inserts them one by one.
//!
//! It works with every version, on a server and in this process. (Version 4 and later have a batch
//! interface too, but not in the C interface that is called here.)

use std::fmt::Write;

use dsbench_core::engine::{BulkLoad, Prepare, RowSource, Statement};
use dsbench_core::error::Result;
use dsbench_core::value::{Type, Value};

use super::api::Handle;
use super::attachment::Attachment;
use super::blocks;
use super::session::Session;
use super::statement::Prepared;
use crate::misuse::check_row;

const CONTEXT: &str = "bulk load";

/// Bytes of parameters that a batch may have; Firebird's limit for a message is 64 kB.
const BATCH_BYTES: usize = 60_000;

/// Rows of a batch: above, a longer block costs more to parse than it spares round trips. Fewer cost more, too: a
/// block takes some 150 µs whatever it holds, see docs/decisions/025-speed-that-was-tried.md.
const MOST_ROWS: usize = 128;

impl BulkLoad for Session {
    /// Table and columns are SQL, as in any other statement: names that need quotes bring them.
    fn load(&mut self, table: &str, columns: &[(&str, Type)], source: &mut dyn RowSource) -> Result<u64> {
        self.at.alive(CONTEXT)?;
        self.outside_of_transaction(CONTEXT)?;
        self.at.within(&blocks::bulk(), |at, transaction| {
            let mut load = Load::new(at, transaction, table, columns)?;
            let done = load.pump(source);
            load.end();
            done
        })
    }
}

/// A load under way.
struct Load<'a> {
    at: &'a mut Attachment,
    transaction: &'a mut Handle,
    /// Inserts one row.
    single: Prepared,
    /// Inserts `batch_rows` rows.
    batch: Prepared,
    batch_rows: usize,
    columns: usize,
    /// Rows that lie in the batch.
    filled: usize,
    loaded: u64,
}

impl<'a> Load<'a> {
    fn new(at: &'a mut Attachment, transaction: &'a mut Handle, table: &str, columns: &[(&str, Type)]) -> Result<Self> {
        let mut prepare = |rows: usize| {
            let types: Vec<Type> = std::iter::repeat_n(columns, rows).flatten().map(|(_, kind)| *kind).collect();
            let statement = Statement { sql: &block(table, columns, rows), params: &types, columns: &[] };
            Prepared::new(at, transaction, &statement, Prepare::Once)
        };
        let mut single = prepare(1)?;
        let batch_rows = (BATCH_BYTES / single.parameter_bytes()).clamp(1, MOST_ROWS);
        let batch = prepare(batch_rows)?;
        Ok(Self { at, transaction, single, batch, batch_rows, columns: columns.len(), filled: 0, loaded: 0 })
    }

    fn pump(&mut self, source: &mut dyn RowSource) -> Result<u64> {
        while source.next_row(&mut |row| self.add(row))? {}
        for row in 0..self.filled {
            self.single.copy_parameters(&self.batch, row * self.columns);
            self.single.run_filled(self.at, self.transaction)?;
        }
        Ok(self.loaded)
    }

    fn add(&mut self, row: &[Value<'_>]) -> Result<()> {
        check_row(row, self.columns)?;
        self.batch.fill(self.filled * self.columns, row)?;
        self.filled += 1;
        self.loaded += 1;
        if self.filled == self.batch_rows {
            self.filled = 0;
            self.batch.run_filled(self.at, self.transaction)?;
        }
        Ok(())
    }

    fn end(&mut self) {
        self.single.forget(self.at);
        self.batch.forget(self.at);
    }
}

/// A block that inserts `rows` rows; the parameters have the types of the columns.
fn block(table: &str, columns: &[(&str, Type)], rows: usize) -> String {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut sql = String::from("EXECUTE BLOCK (");
    for row in 0..rows {
        for (at, name) in names.iter().enumerate() {
            let comma = if row + at > 0 { ", " } else { "" };
            // Writing into a string cannot fail.
            let _ = write!(sql, "{comma}p{row}_{at} TYPE OF COLUMN {table}.{name} = ?");
        }
    }
    sql.push_str(") AS BEGIN\n");
    for row in 0..rows {
        let values: Vec<String> = (0..names.len()).map(|at| format!(":p{row}_{at}")).collect();
        let _ = writeln!(sql, "INSERT INTO {table} ({}) VALUES ({});", names.join(", "), values.join(", "));
    }
    sql.push_str("END");
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_names_every_parameter_once() {
        let sql = block("t", &[("k", Type::Int64), ("v", Type::Text)], 2);
        assert_eq!(
            sql,
            "EXECUTE BLOCK (p0_0 TYPE OF COLUMN t.k = ?, p0_1 TYPE OF COLUMN t.v = ?, \
             p1_0 TYPE OF COLUMN t.k = ?, p1_1 TYPE OF COLUMN t.v = ?) AS BEGIN\n\
             INSERT INTO t (k, v) VALUES (:p0_0, :p0_1);\nINSERT INTO t (k, v) VALUES (:p1_0, :p1_1);\nEND"
        );
    }
}
