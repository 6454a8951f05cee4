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
pub(super) const CACHED: i64 = 1000;
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
    /// Rows of transactions that failed.
    failed: i64,
    sessions: i64,
}

impl Inserter {
    /// Client `id`, which inserts `rows` rows in each transaction.
    pub fn new(tables: Arc<Tables>, id: u64, seed: u64, rows: usize) -> Self {
        let rows = vec![Row::default(); rows.min(MOST)].into();
        Self { tables, id, seed, rows, insert: None, done: 0, inserted: 0, unused: 0, failed: 0, sessions: 0 }
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
        let table = self.tables.of(self.id);
        self.rows.iter_mut().for_each(|row| *row = Row::draw(&mut stream, table));
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
            self.failed += all as i64;
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
    /// inserted, so that rows may have come in another order than their numbers; `failed`: rows that were not inserted.
    fn sums(&self) -> Vec<(&'static str, i64)> {
        let numbers_in_advance = self.tables.dialect.name == "postgres";
        let unordered = i64::from(numbers_in_advance && self.sessions > 1);
        vec![("inserted", self.inserted), ("unused", self.unused), ("unordered", unordered), ("failed", self.failed)]
    }
}

/// Numbers of rows that are deleted by one client where several share a table.
const STRETCH: i64 = 1000;

/// Which numbers of a shared table a client deletes: of as many stretches as there are clients on all nodes, one.
/// So no row is chosen by two of them, and no node has to know of another.
#[derive(Debug, Clone, Copy)]
struct Share {
    client: i64,
    clients: i64,
    /// Every row of its own below this number is deleted.
    next: i64,
    /// Rows that were not there for its deletes so far, as their numbers were given to none.
    owed: i64,
}

impl Share {
    /// The first number of its own from `at` on.
    fn own(&self, at: i64) -> i64 {
        let stretch = (at.max(1) - 1) / STRETCH;
        match (self.client - stretch).rem_euclid(self.clients) {
            0 => at.max(1),
            ahead => (stretch + ahead) * STRETCH + 1,
        }
    }

    /// From which number on and below which it deletes `rows` next, and how many.
    fn range(&self, rows: i64) -> [i64; 3] {
        [self.next, (self.next - 1) / STRETCH * STRETCH + STRETCH + 1, rows + self.owed]
    }

    /// So many rows of this range were there and are deleted.
    fn deleted(&mut self, [from, end, wanted]: [i64; 3], rows: i64) {
        self.owed = wanted - rows;
        self.next = self.own(if self.owed > 0 { end } else { (from + wanted).min(end) });
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
    /// Where it shares its table.
    share: Option<Share>,
    /// The range of numbers of the transaction drawn last, once it has begun.
    range: Option<[i64; 3]>,
    number: u64,
    /// The rows of the last delete; as many as it should have before the first.
    done: u64,
    deleted: i64,
    /// Transactions that failed: their rows may have stayed.
    failed: i64,
    found: Rows,
}

impl Deleter {
    /// Client `id`, which deletes `rows` rows in each transaction.
    pub fn new(tables: Arc<Tables>, id: u64, rows: u64) -> Self {
        let (delete, oldest, range, found) = (None, None, None, Rows::new());
        let clients = tables.clients as i64;
        let share = Share { client: id as i64 % clients, clients, next: 0, owed: 0 };
        let share = (tables.shared && clients > 1).then_some(share);
        let (number, done, deleted, failed) = (0, rows, 0, 0);
        Self { tables, id, each: rows, delete, oldest, share, range, number, done, deleted, failed, found }
    }

    /// Reads the oldest row's number.
    fn look(&mut self, conn: &mut dyn Connection) -> Result<()> {
        conn.query(self.oldest.ok_or_else(not_prepared)?, &[], &mut self.found)?;
        let (found, oldest) = (self.found.int(0, 0)?, &self.tables.oldest[self.tables.of(self.id)]);
        match &mut self.share {
            None => oldest.store(found, Ordering::Relaxed),
            Some(share) => {
                oldest.fetch_max(found, Ordering::Relaxed);
                // A row of its own below what it has deleted is one that a delete which failed has left.
                if share.next == 0 || (found < share.next && share.own(found) == found) {
                    share.next = share.own(found);
                }
            }
        }
        Ok(())
    }
}

impl Client for Deleter {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        let table = self.tables.of(self.id);
        let (section, params) = match self.share {
            None if self.tables.ranges => ("delete_range", &[Type::Int64; 2][..]),
            None => ("delete", &[Type::Int64][..]),
            Some(_) => ("delete_share", &[Type::Int64; 3][..]),
        };
        let sql = self.tables.one(section, table)?.replace("{n}", &self.each.to_string());
        self.delete = Some(conn.prepare(&Statement { sql: &sql, params, columns: &[] }, when)?);
        let sql = self.tables.one("oldest", table)?;
        self.oldest = Some(conn.prepare(&Statement { sql: &sql, params: &[], columns: &[Type::Int64] }, when)?);
        self.look(conn)
    }

    fn draw(&mut self, number: u64) -> Drawn {
        (self.range, self.number) = (None, number);
        Drawn { kind: DELETE, shape: Shape::Single }
    }

    /// The oldest row is looked up within the time of every thousandth delete; the published client does so between two.
    /// What was not there yet is not passed over: a delete that finds too few rows is followed by one from the same place.
    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let due = self.number % LOOK_EVERY == LOOK_EVERY - 1 || (self.tables.ranges && self.done < self.each);
        if due && self.range.is_none() {
            self.look(conn)?;
        }
        let (each, oldest) = (self.each as i64, &self.tables.oldest[self.tables.of(self.id)]);
        let range = *self.range.get_or_insert_with(|| match &self.share {
            None => {
                let from = oldest.load(Ordering::Relaxed);
                [from, from + each, each]
            }
            Some(share) => share.range(each),
        });
        let delete = self.delete.ok_or_else(not_prepared)?;
        let params = range.map(Value::Int);
        let params = &params[..if self.share.is_some() { 3 } else { 1 + usize::from(self.tables.ranges) }];
        let changed = conn.execute(delete, params).inspect_err(|_| self.failed += 1)?;
        self.done = if self.tables.dialect.keeps_data { changed } else { range[2] as u64 };
        if let Some(share) = &mut self.share {
            share.deleted(range, self.done as i64);
            oldest.fetch_max(range[0], Ordering::Relaxed);
        }
        Ok(End::Commit)
    }

    fn committed(&mut self) {
        self.deleted += self.done as i64;
        if let (None, Some([from, ..])) = (&self.share, self.range) {
            self.tables.oldest[self.tables.of(self.id)].store(from + self.done as i64, Ordering::Relaxed);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients of any number of nodes delete each row once, oldest first, whatever numbers were given to no row.
    #[test]
    fn shares_of_a_table_are_deleted_whole_and_once() {
        for (clients, gaps) in [(2, 0..0), (3, 990..1001), (5, 2100..4100)] {
            let mut rows: std::collections::BTreeSet<i64> = (301..=60_000).filter(|id| !gaps.contains(id)).collect();
            let before = rows.len() as i64;
            let mut shares: Vec<Share> =
                (0..clients).map(|client| Share { client, clients, next: 0, owed: 0 }).collect();
            shares.iter_mut().for_each(|share| share.next = share.own(301));
            let rounds = 100;
            for _ in 0..rounds {
                for share in &mut shares {
                    let range = share.range(50);
                    let chosen: Vec<i64> = rows.range(range[0]..range[1]).take(range[2] as usize).copied().collect();
                    chosen.iter().for_each(|id| assert!(rows.remove(id)));
                    share.deleted(range, chosen.len() as i64);
                }
            }
            let owed: i64 = shares.iter().map(|share| share.owed).sum();
            assert_eq!(before - rows.len() as i64, rounds * clients * 50 - owed);
            assert!(owed < 50 * clients, "{shares:?}");
            let oldest = *rows.first().unwrap();
            assert!(oldest > 301 + rounds * clients * 50 - clients * STRETCH, "{oldest}: the oldest go first");
        }
    }
}
