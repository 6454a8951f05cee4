//! What the load wrote and no transaction changes: it is read and compared with the rows that the load makes. These
//! are functions of their numbers, so that nothing has to be kept to know them, and a load that went wrong is found.

use std::ops::RangeInclusive;

use dsbench_core::engine::{Connection, Prepare, Statement, StatementId};
use dsbench_core::error::Result;
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::{Condition, Progress};

use super::bad_credit;
use super::company::Company;
use super::nurand::C_LOAD;
use super::rows::{Source, Table};
use super::sizes::DISTRICTS;

/// What New-Orders add to a stock of which too little would be left (clause 2.4.2.2).
const REFILL: i64 = 91;

/// Rows of a table without a key by place that are read at once.
const AT_ONCE: u64 = 600_000;

/// Which columns of a table name a row, in the order of its loaded rows, and which ones transactions change.
fn keys_and_changed(table: Table) -> (&'static [usize], &'static [&'static str]) {
    match table {
        Table::Item => (&[0], &[]),
        Table::Warehouse => (&[0], &["w_ytd"]),
        Table::District => (&[0, 1], &["d_ytd", "d_next_o_id"]),
        Table::Stock => (&[0, 1], &["s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt"]),
        Table::Customer => (&[0, 1, 2], &["c_balance", "c_ytd_payment", "c_payment_cnt", "c_delivery_cnt", "c_data"]),
        Table::History => (&[2, 1, 0], &[]),
        Table::Orders | Table::NewOrder => (&[0, 1, 2], &[]),
        Table::OrderLine => (&[0, 1, 2, 3], &[]),
    }
}

/// The tables whose loaded rows are read; a new order goes when it is delivered.
const TABLES: [Table; 8] = [
    Table::Item,
    Table::Warehouse,
    Table::District,
    Table::Stock,
    Table::Customer,
    Table::History,
    Table::Orders,
    Table::OrderLine,
];

/// Number of a row in its table, in as many columns as are needed.
type Key = [i64; 4];

/// Rows that are off.
#[derive(Default)]
struct Off {
    loaded: u64,
    refills: u64,
    data: u64,
}

/// That all of it is as it was loaded, and what follows from it: stocks that were refilled, the data of bad credit.
pub fn check(company: &Company, conn: &mut dyn Connection) -> Result<Vec<Condition>> {
    let mut conditions = vec![constants(company, conn)?];
    let mut all = Off::default();
    for table in TABLES {
        let mut off = Off::default();
        let mut reading = Reading::new(company, conn, table)?;
        for chunk in chunks(company, table) {
            reading.compare(conn, &chunk, &mut off)?;
        }
        conditions.push(none_off(&format!("{} as loaded", table.name()), off.loaded));
        all.refills += off.refills;
        all.data += off.data;
    }
    conditions.push(none_off("stock = loaded - sold + refills of 91", all.refills));
    conditions.push(none_off("data of bad credit = its payments before what was loaded", all.data));
    Ok(conditions)
}

fn none_off(name: &str, off: u64) -> Condition {
    Condition::made(name, off == 0, format!("{off} rows are off"))
}

fn constants(company: &Company, conn: &mut dyn Connection) -> Result<Condition> {
    let query = Statement { sql: company.sql.one("c_load")?, params: &[], columns: &[Type::Int32] };
    let (query, mut rows) = (conn.prepare(&query, Prepare::Once)?, Rows::new());
    conn.query(query, &[], &mut rows)?;
    let off = rows.len() != 1 || rows.int(0, 0)? != C_LOAD;
    Ok(none_off("constant of the names as loaded", u64::from(off)))
}

/// Numbers of loaded rows, with the values by which they are asked for.
struct Chunk {
    numbers: std::ops::Range<u64>,
    params: Vec<i64>,
}

/// A table in pieces that fit into memory: items and warehouses by number, the history by warehouses, the others
/// by warehouse and tenth of it, which is a district or a tenth of the stock.
fn chunks(company: &Company, table: Table) -> Vec<Chunk> {
    let total = company.rows_of(table);
    let by = |each: u64, rows: u64| -> Vec<Chunk> {
        let range = |at: u64| at * each + 1..=((at + 1) * each).min(total / rows);
        let chunk = |range: RangeInclusive<u64>| Chunk {
            numbers: (range.start() - 1) * rows..range.end() * rows,
            params: vec![*range.start() as i64, *range.end() as i64],
        };
        (0..(total / rows).div_ceil(each)).map(range).map(chunk).collect()
    };
    match table {
        Table::Item | Table::Warehouse => by(10_000, 1),
        Table::History => {
            let rows = table.per_district(&company.sizes) * DISTRICTS;
            by((AT_ONCE / rows).max(1), rows)
        }
        _ => {
            let each = table.per_district(&company.sizes);
            let width = if table == Table::Stock { each } else { 1 };
            let chunk = |district: u64| {
                let (w, tenth) = (district / DISTRICTS + 1, district % DISTRICTS);
                let params = [w, tenth * width + 1, (tenth + 1) * width].map(|number| number as i64);
                Chunk { numbers: district * each..(district + 1) * each, params: params.into() }
            };
            (0..total / each).map(chunk).collect()
        }
    }
}

/// What asks for the rows of a chunk. They are put in order here: servers sort long rows slowly.
fn question(company: &Company, table: Table) -> String {
    let columns: Vec<&str> = table.columns().iter().map(|(name, _)| *name).collect();
    let mark = |number: u32| match company.dialect.name {
        "postgres" => format!("${number}"),
        _ => "?".to_string(),
    };
    let keys: Vec<&str> = keys_and_changed(table).0.iter().map(|at| columns[*at]).collect();
    let chosen = match table {
        Table::Item | Table::Warehouse => format!("{} BETWEEN {} AND {}", keys[0], mark(1), mark(2)),
        // What Payments write has these spaces between its two names, and no loaded text has any.
        Table::History => format!("{} BETWEEN {} AND {} AND h_data NOT LIKE '%    %'", keys[0], mark(1), mark(2)),
        _ => format!("{} = {} AND {} BETWEEN {} AND {}", keys[0], mark(1), keys[1], mark(2), mark(3)),
    };
    let loaded = match table {
        Table::Orders | Table::OrderLine => format!(" AND {} <= {}", keys[2], company.sizes.customers),
        _ => String::new(),
    };
    format!("SELECT {} FROM {} WHERE {chosen}{loaded}", columns.join(", "), table.name())
}

/// The comparison of one table.
struct Reading<'a> {
    company: &'a Company,
    table: Table,
    query: StatementId,
    keys: &'static [usize],
    /// The columns that stay, without those of the key.
    stay: Vec<usize>,
    found: Rows,
}

impl<'a> Reading<'a> {
    fn new(company: &'a Company, conn: &mut dyn Connection, table: Table) -> Result<Self> {
        let types: Vec<Type> = table.columns().iter().map(|(_, of)| *of).collect();
        let params = match table {
            Table::Item | Table::Warehouse | Table::History => &[Type::Int32; 2][..],
            _ => &[Type::Int32; 3],
        };
        let query = Statement { sql: &question(company, table), params, columns: &types };
        let query = conn.prepare(&query, Prepare::Once)?;
        let (keys, changed) = keys_and_changed(table);
        let stays = |at: &usize| !keys.contains(at) && !changed.contains(&table.columns()[*at].0);
        let stay = (0..types.len()).filter(stays).collect();
        Ok(Self { company, table, query, keys, stay, found: Rows::new() })
    }

    /// Counts the rows of a chunk that are missing, too many or otherwise than they were loaded.
    fn compare(&mut self, conn: &mut dyn Connection, chunk: &Chunk, off: &mut Off) -> Result<()> {
        let params: Vec<Value<'_>> = chunk.params.iter().map(|number| Value::Int(*number)).collect();
        conn.query(self.query, &params, &mut self.found)?;
        let (company, progress) = (self.company, Progress::default());
        let mut source = Source::new(self.table, chunk.numbers.clone(), company.sizes, &company.names, &progress);
        let mut in_order = (0..self.found.len()).map(|at| Ok((self.key(at)?, at))).collect::<Result<Vec<_>>>()?;
        in_order.sort_unstable();
        let mut next = 0;
        source.each(&mut |wanted| {
            let key = self.key_of(wanted);
            while let Some((found, at)) = in_order.get(next).filter(|(found, _)| *found <= key) {
                next += 1;
                match *found == key {
                    true => return self.judge(*at, wanted, off),
                    false => off.loaded += 1,
                }
            }
            off.loaded += 1;
            Ok(())
        })?;
        off.loaded += (in_order.len() - next) as u64;
        Ok(())
    }

    fn key(&self, at: usize) -> Result<Key> {
        let mut key = Key::default();
        for (number, column) in key.iter_mut().zip(self.keys) {
            *number = self.found.int(at, *column)?;
        }
        Ok(key)
    }

    fn key_of(&self, wanted: &[Value<'_>]) -> Key {
        let number = |column: &usize| match wanted[*column] {
            Value::Int(number) => number,
            _ => 0,
        };
        let mut key = Key::default();
        key.iter_mut().zip(self.keys).for_each(|(into, column)| *into = number(column));
        key
    }

    fn judge(&self, at: usize, wanted: &[Value<'_>], off: &mut Off) -> Result<()> {
        let mut same = true;
        for column in &self.stay {
            same &= self.same(at, *column, wanted[*column])?;
        }
        match self.table {
            Table::Stock => off.refills += u64::from(!self.is_refilled(at, wanted)?),
            Table::Customer => {
                let last = wanted.len() - 1;
                match wanted[CREDIT] {
                    Value::Text("BC") => off.data += u64::from(!bad_credit::holds(&self.found, at, wanted)?),
                    _ => same &= self.same(at, last, wanted[last])?,
                }
            }
            _ => {}
        }
        off.loaded += u64::from(!same);
        Ok(())
    }

    /// What the load left open may have been filled since.
    fn same(&self, at: usize, column: usize, wanted: Value<'_>) -> Result<bool> {
        Ok(match (wanted, self.found.get(at, column)?) {
            (Value::Null, _) => true,
            (_, Value::Null) => false,
            (Value::Decimal { unscaled, scale }, _) => self.found.decimal(at, column, scale)? == unscaled,
            (wanted, found) => wanted == found,
        })
    }

    /// What is there and was sold is what was loaded, and any number of refills.
    fn is_refilled(&self, at: usize, wanted: &[Value<'_>]) -> Result<bool> {
        const QUANTITY: usize = 2;
        const SOLD: usize = 13;
        let there = self.found.int(at, QUANTITY)? + self.found.int(at, SOLD)?;
        Ok(matches!(wanted[QUANTITY], Value::Int(loaded) if (there - loaded) % REFILL == 0))
    }
}

/// The column of a customer's credit.
const CREDIT: usize = 13;
