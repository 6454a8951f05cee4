//! Clients that insert, and clients that delete.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use dsbench_core::engine::{Connection, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::random::Stream;
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::{Client, Drawn, End, Shape};

use super::rows::{Row, COLUMNS, MOST};
use super::tables::Tables;
use super::{DELETE, INSERT};

/// Numbers of rows that a session of PostgreSQL may take and give to no row.
const CACHED: i64 = 1000;
/// Deletes after which the oldest row is looked up again.
const LOOK_EVERY: u64 = 1000;

pub(super) fn not_prepared() -> Error {
    Error::with(ErrorKind::Statement, "execute", "the client was not prepared")
}

/// Inserts rows, so many in each transaction, by one statement.
pub struct Inserter {
    tables: Arc<Tables>,
    id: u64,
    seed: u64,
    rows: Box<[Row]>,
    insert: Option<StatementId>,
    done: u64,
    inserted: i64,
    /// Numbers that may have been given to no row.
    unused: i64,
    sessions: i64,
}

impl Inserter {
    /// Client `id`, which inserts `rows` rows in each transaction.
    pub fn new(tables: Arc<Tables>, id: u64, seed: u64, rows: usize) -> Self {
        let rows = vec![Row::default(); rows.min(MOST)].into();
        Self { tables, id, seed, rows, insert: None, done: 0, inserted: 0, unused: 0, sessions: 0 }
    }
}

impl Client for Inserter {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        const ROW: [Type; COLUMNS] = [Type::Int32, Type::Int32, Type::Int32, Type::Int32, Type::Text];
        let params = ROW.repeat(self.rows.len());
        let sql = self.tables.insert(self.tables.of(self.id), self.rows.len())?;
        self.insert = Some(conn.prepare(&Statement { sql: &sql, params: &params, columns: &[] }, when)?);
        self.sessions += 1;
        self.unused += if self.tables.dialect.name == "postgres" { CACHED } else { 0 };
        Ok(())
    }

    fn draw(&mut self, number: u64) -> Drawn {
        let mut stream = Stream::new(self.seed, self.id, number);
        self.rows.iter_mut().for_each(|row| *row = Row::draw(&mut stream));
        Drawn { kind: INSERT, shape: Shape::Single }
    }

    /// What the server says of the number of rows counts. A block of Firebird's says nothing, nor does the mock.
    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let mut params = [Value::Null; MOST * COLUMNS];
        for (values, row) in params.chunks_exact_mut(COLUMNS).zip(&self.rows) {
            values.copy_from_slice(&row.values());
        }
        let all = self.rows.len();
        let done = conn.execute(self.insert.ok_or_else(not_prepared)?, &params[..all * COLUMNS]);
        if done.is_err() {
            self.unused += all as i64;
        }
        let silent = matches!(self.tables.dialect.name, "firebird" | "mock");
        self.done = if silent { done.map(|_| all as u64)? } else { done? };
        Ok(End::Commit)
    }

    fn committed(&mut self) {
        self.inserted += self.done as i64;
    }

    fn rows(&self) -> u64 {
        self.done
    }

    fn describe(&self) -> String {
        format!("insert {} rows, the first {}", self.rows.len(), self.rows[0].describe())
    }

    /// `inserted`: rows; `unused`: numbers that may have been given to no row; `unordered`: whether several sessions
    /// inserted, so that rows may have come in another order than their numbers.
    fn sums(&self) -> Vec<(&'static str, i64)> {
        let numbers_in_advance = self.tables.dialect.name == "postgres";
        let unordered = i64::from(numbers_in_advance && self.sessions > 1);
        vec![("inserted", self.inserted), ("unused", self.unused), ("unordered", unordered)]
    }
}

/// Deletes the oldest rows, so many in each transaction. Its inputs are where the deletes of its table stand, not a
/// function of (seed, client, number).
pub struct Deleter {
    tables: Arc<Tables>,
    id: u64,
    each: u64,
    delete: Option<StatementId>,
    oldest: Option<StatementId>,
    /// First number of the rows that the transaction drawn last deletes, once it has begun.
    from: Option<i64>,
    number: u64,
    done: u64,
    deleted: i64,
    /// Transactions that failed: their rows may have stayed.
    failed: i64,
    found: Rows,
}

impl Deleter {
    /// Client `id`, which deletes `rows` rows in each transaction.
    pub fn new(tables: Arc<Tables>, id: u64, rows: u64) -> Self {
        let (delete, oldest, from, found) = (None, None, None, Rows::new());
        Self { tables, id, each: rows, delete, oldest, from, number: 0, done: 0, deleted: 0, failed: 0, found }
    }

    /// Reads the oldest row's number.
    fn look(&mut self, conn: &mut dyn Connection) -> Result<()> {
        conn.query(self.oldest.ok_or_else(not_prepared)?, &[], &mut self.found)?;
        self.tables.oldest[self.tables.of(self.id)].store(self.found.int(0, 0)?, Ordering::Relaxed);
        Ok(())
    }
}

impl Client for Deleter {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        let table = self.tables.of(self.id);
        let sql = self.tables.one("delete", table)?.replace("{n}", &self.each.to_string());
        self.delete = Some(conn.prepare(&Statement { sql: &sql, params: &[Type::Int64], columns: &[] }, when)?);
        let sql = self.tables.one("oldest", table)?;
        self.oldest = Some(conn.prepare(&Statement { sql: &sql, params: &[], columns: &[Type::Int64] }, when)?);
        self.look(conn)
    }

    fn draw(&mut self, number: u64) -> Drawn {
        (self.from, self.number) = (None, number);
        Drawn { kind: DELETE, shape: Shape::Single }
    }

    /// The oldest row is looked up within the time of every thousandth delete; the published client does so between two.
    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        if self.number % LOOK_EVERY == LOOK_EVERY - 1 && self.from.is_none() {
            self.look(conn)?;
        }
        let oldest = &self.tables.oldest[self.tables.of(self.id)];
        let from = *self.from.get_or_insert_with(|| oldest.fetch_add(self.each as i64, Ordering::Relaxed));
        let delete = self.delete.ok_or_else(not_prepared)?;
        let changed = conn.execute(delete, &[Value::Int(from)]).inspect_err(|_| self.failed += 1)?;
        self.done = if self.tables.dialect.keeps_data { changed } else { self.each };
        Ok(End::Commit)
    }

    fn committed(&mut self) {
        self.deleted += self.done as i64;
    }

    fn rows(&self) -> u64 {
        self.done
    }

    fn describe(&self) -> String {
        format!("delete number {} of {} rows", self.number, self.each)
    }

    /// `deleted`: rows; `unordered`: deletes that failed, after which old rows may have stayed.
    fn sums(&self) -> Vec<(&'static str, i64)> {
        vec![("deleted", self.deleted), ("unordered", self.failed)]
    }
}
