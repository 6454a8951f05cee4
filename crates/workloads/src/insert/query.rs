//! Clients that query: ranges of the secondary indexes, or rows by their numbers.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use dsbench_core::engine::{Connection, Prepare, Statement, StatementId};
use dsbench_core::error::Result;
use dsbench_core::random::Stream;
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::{Client, Drawn, End, KindId, Shape};

use super::client::not_prepared;
use super::rows::{PRICES, PRODUCTS, REGISTERS};
use super::tables::Tables;
use super::POINT;

/// Queries after which the newest row is looked up again.
const LOOK_EVERY: u64 = 100;
const IDS: usize = 10;
const RANGES: [(&str, u64); 3] = [("market", PRODUCTS), ("register", REGISTERS), ("pdc", PRICES)];

/// Reads ten rows in each transaction. Numbers of rows are drawn from those that are there, which is no function of
/// (seed, client, number) alone.
pub struct Reader {
    tables: Arc<Tables>,
    id: u64,
    seed: u64,
    kind: KindId,
    /// Of the three ranges, or of the ids.
    queries: Vec<StatementId>,
    newest: Option<StatementId>,
    /// Number of the newest row, when it was looked up last.
    last: i64,
    number: u64,
    which: usize,
    inputs: [i64; IDS],
    found: Rows,
}

impl Reader {
    /// Client `id`, whose queries are of `kind`.
    pub fn new(tables: Arc<Tables>, id: u64, seed: u64, kind: KindId) -> Self {
        let (queries, newest, inputs, found) = (Vec::new(), None, [0; IDS], Rows::new());
        Self { tables, id, seed, kind, queries, newest, last: 0, number: 0, which: 0, inputs, found }
    }

    fn look(&mut self, conn: &mut dyn Connection) -> Result<()> {
        conn.query(self.newest.ok_or_else(not_prepared)?, &[], &mut self.found)?;
        self.last = self.found.int(0, 0)?;
        Ok(())
    }
}

impl Client for Reader {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        let table = self.tables.of(self.id);
        let time = if self.tables.dialect.name == "sqlite" { Type::Int64 } else { Type::Timestamp };
        let mut prepare = |section: &str, params: &[Type], columns: &[Type]| {
            let sql = self.tables.one(section, table)?;
            conn.prepare(&Statement { sql: &sql, params, columns }, when)
        };
        if self.kind == POINT {
            self.queries = vec![prepare("point", &[Type::Int64; IDS], &[Type::Int64, Type::Int32, Type::Text])?];
            self.newest = Some(prepare("newest", &[], &[Type::Int64])?);
            return self.look(conn);
        }
        let columns = [[Type::Int32; 3], [Type::Int32; 3], [Type::Int32, time, Type::Int32]];
        let ranges = RANGES.iter().zip(columns);
        self.queries =
            ranges.map(|((name, _), columns)| prepare(name, &[Type::Int32], &columns)).collect::<Result<_>>()?;
        Ok(())
    }

    fn draw(&mut self, number: u64) -> Drawn {
        let mut stream = Stream::new(self.seed, self.id, number);
        self.number = number;
        if self.kind == POINT {
            let first = self.tables.oldest[self.tables.of(self.id)].load(Ordering::Relaxed);
            let many = (self.last - first).max(1) as u64;
            self.inputs = std::array::from_fn(|_| first + stream.below(many) as i64);
        } else {
            self.which = stream.below(RANGES.len() as u64) as usize;
            self.inputs[0] = stream.below(RANGES[self.which].1) as i64;
        }
        Drawn { kind: self.kind, shape: Shape::Single }
    }

    /// The newest row is looked up within the time of every hundredth query; the published client does so between two.
    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        let query = *self.queries.get(self.which).ok_or_else(not_prepared)?;
        let params = self.inputs.map(Value::Int);
        let many = if self.kind == POINT { IDS } else { 1 };
        conn.query(query, &params[..many], &mut self.found)?;
        if self.kind == POINT && self.number % LOOK_EVERY == LOOK_EVERY - 1 {
            self.look(conn)?;
        }
        Ok(End::Commit)
    }

    fn describe(&self) -> String {
        match self.kind {
            POINT => format!("point {:?}", self.inputs),
            _ => format!("{} from {}", RANGES[self.which].0, self.inputs[0]),
        }
    }
}
