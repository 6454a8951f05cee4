//! Whether rows are as the load made them. Rows are functions of their numbers, so that nothing has to be kept to know
//! them: a table is read in the order of its key, and beside it the rows are made once more.

use std::ops::Range;

use dsbench_core::engine::{Connection, Dialect, Prepare, RowSource, Statement, StatementId};
use dsbench_core::error::{Error, Result};
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::Condition;

/// Rows that are read at once.
const PAGE: usize = 4000;
/// Of a table with more rows as many are read, in pieces that lie evenly over it.
pub const MOST: u64 = 10_000_000;
const PIECES: u64 = 500;

/// The numbers of the loaded rows that are read: all, or pieces.
pub fn pieces(rows: u64) -> Vec<Range<u64>> {
    if rows <= MOST {
        return std::iter::once(0..rows).collect();
    }
    let each = MOST / PIECES;
    (0..PIECES).map(|piece| (rows - each) / (PIECES - 1) * piece).map(|start| start..start + each).collect()
}

/// A table that is read in the order of its key.
pub struct Reading<'a> {
    conn: &'a mut dyn Connection,
    query: StatementId,
    columns: Vec<Type>,
    keys: Vec<usize>,
    /// What the next page begins behind.
    behind: Vec<i64>,
    page: Rows,
    at: usize,
    last: bool,
}

impl<'a> Reading<'a> {
    /// Columns `keys` of `columns` are whole numbers and name a row.
    pub fn new(
        conn: &'a mut dyn Connection,
        dialect: &Dialect,
        table: &str,
        columns: &[(&str, Type)],
        keys: &[usize],
    ) -> Result<Self> {
        let mut params = Vec::new();
        let mark = |params: &mut Vec<Type>, key: usize| {
            params.push(columns[keys[key]].1);
            match dialect.name {
                "postgres" => format!("${}", params.len()),
                _ => "?".to_string(),
            }
        };
        // a >= ? AND (a > ? OR b > ?), so that an index is of use.
        let mut behind = String::new();
        for (at, column) in keys.iter().map(|column| columns[*column].0).enumerate() {
            let (first, last) = (mark(&mut params, at), at + 1 == keys.len());
            behind += &match last {
                true => format!("{column} > {first}"),
                false => format!("{column} >= {first} AND ({column} > {} OR ", mark(&mut params, at)),
            };
        }
        behind += &")".repeat(keys.len() - 1);
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let order: Vec<&str> = keys.iter().map(|key| names[*key]).collect();
        let (first, limit) = match dialect.name {
            "firebird" => (format!("FIRST {PAGE} "), String::new()),
            _ => (String::new(), format!(" LIMIT {PAGE}")),
        };
        let sql = format!(
            "SELECT {first}{} FROM {table} WHERE {behind} ORDER BY {}{limit}",
            names.join(", "),
            order.join(", ")
        );
        let columns: Vec<Type> = columns.iter().map(|(_, kind)| *kind).collect();
        let query = conn.prepare(&Statement { sql: &sql, params: &params, columns: &columns }, Prepare::Once)?;
        let least = |key: &usize| match columns[*key] {
            Type::Int16 => i64::from(i16::MIN),
            Type::Int32 => i64::from(i32::MIN),
            _ => i64::MIN,
        };
        let behind = keys.iter().map(least).collect();
        Ok(Self { conn, query, columns, keys: keys.to_vec(), behind, page: Rows::new(), at: 0, last: false })
    }

    /// Goes on behind the row of this key.
    pub fn seek(&mut self, behind: &[i64]) {
        self.behind = behind.to_vec();
        self.page.reset(self.columns.len());
        (self.at, self.last) = (0, false);
    }

    /// The row at which it stands; `None` at the end of the table.
    pub fn row(&mut self) -> Result<Option<Found<'_>>> {
        if self.at == self.page.len() && !self.last {
            let mut params = Vec::new();
            for (at, value) in self.behind.iter().enumerate() {
                let times = if at + 1 == self.behind.len() { 1 } else { 2 };
                params.extend(std::iter::repeat_n(Value::Int(*value), times));
            }
            self.conn.query(self.query, &params, &mut self.page)?;
            (self.at, self.last) = (0, self.page.len() < PAGE);
            if let Some(end) = self.page.len().checked_sub(1) {
                self.behind = self.keys.iter().map(|key| self.page.int(end, *key)).collect::<Result<_>>()?;
            }
        }
        Ok((self.at < self.page.len()).then_some(Found { rows: &self.page, at: self.at }))
    }

    /// Goes on to the next row.
    pub fn step(&mut self) {
        self.at += 1;
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Found<'r> {
    rows: &'r Rows,
    at: usize,
}

impl<'r> Found<'r> {
    /// The value of a column.
    pub fn value(&self, column: usize) -> Result<Value<'r>> {
        self.rows.get(self.at, column)
    }

    /// A whole number.
    pub fn int(&self, column: usize) -> Result<i64> {
        self.rows.int(self.at, column)
    }

    /// Whether a column has this value. Blanks at the end of texts do not count, as columns of fixed length add them;
    /// nor do parts of 100 µs, which Firebird does not keep.
    pub fn has(&self, column: usize, wanted: Value<'_>) -> Result<bool> {
        Ok(match (wanted, self.value(column)?) {
            (Value::Text(wanted), Value::Text(found)) => wanted.trim_end() == found.trim_end(),
            (Value::Timestamp(wanted), Value::Timestamp(found)) => wanted.abs_diff(found) < 100,
            (Value::Float(wanted), Value::Float(found)) => (wanted - found).abs() <= 1e-12 * wanted.abs(),
            (Value::Decimal { unscaled, scale }, Value::Decimal { .. } | Value::Int(_)) => {
                self.rows.decimal(self.at, column, scale)? == unscaled
            }
            (Value::Int(wanted), Value::Decimal { .. }) => self.rows.decimal(self.at, column, 0)? == wanted,
            (wanted, found) => wanted == found,
        })
    }
}

/// A row of the table beside the one that was loaded.
pub enum Beside<'r> {
    /// Both are there.
    Both(&'r [Value<'r>], Found<'r>),
    /// It was loaded and is not there.
    Missing(&'r [Value<'r>]),
    /// It is there and was not loaded.
    Added(Found<'r>),
}

/// Goes through a table, beside it through the rows that `source` makes in the order of its key. `whole`: behind them
/// to the end of the table; else from the first of them to the last.
pub fn compare(
    reading: &mut Reading<'_>,
    source: &mut dyn RowSource,
    whole: bool,
    each: &mut dyn FnMut(Beside<'_>) -> Result<()>,
) -> Result<()> {
    let mut before: Option<Vec<i64>> = None;
    let mut take = |reading: &mut Reading<'_>, wanted: &[Value<'_>]| -> Result<()> {
        let number = |column: &usize| match wanted[*column] {
            Value::Int(number) => Ok(number),
            _ => Err(Error::configuration("rows are compared by keys that are whole numbers")),
        };
        let key: Vec<i64> = reading.keys.iter().map(number).collect::<Result<_>>()?;
        match before.replace(key.clone()) {
            Some(before) if before >= key => {
                return Err(Error::configuration(
                    "rows are compared in the order of their key, and are made in another",
                ));
            }
            None if !whole => {
                let (last, head) = key.split_last().expect("a key has a column");
                reading.seek(&[head, &[last - 1]].concat());
            }
            _ => {}
        }
        loop {
            let keys = reading.keys.clone();
            let Some(found) = reading.row()? else { return each(Beside::Missing(wanted)) };
            let there: Vec<i64> = keys.iter().map(|column| found.int(*column)).collect::<Result<_>>()?;
            match there.cmp(&key) {
                std::cmp::Ordering::Greater => return each(Beside::Missing(wanted)),
                std::cmp::Ordering::Equal => {
                    each(Beside::Both(wanted, found))?;
                    reading.step();
                    return Ok(());
                }
                std::cmp::Ordering::Less => {
                    each(Beside::Added(found))?;
                    reading.step();
                }
            }
        }
    };
    while source.next_row(&mut |wanted| take(reading, wanted))? {}
    if whole {
        while let Some(found) = reading.row()? {
            each(Beside::Added(found))?;
            reading.step();
        }
    }
    Ok(())
}

/// How many rows are off, and what is wrong with the first of them.
#[derive(Debug, Default)]
pub struct Off {
    rows: u64,
    first: Option<String>,
}

impl Off {
    /// One more, with what is wrong in words.
    pub fn add(&mut self, words: impl FnOnce() -> String) {
        self.rows += 1;
        self.first.get_or_insert_with(words);
    }

    /// That there is none among `rows` of which so many were `read`.
    pub fn condition(self, name: String, read: u64, rows: u64) -> Condition {
        let of = if read < rows { format!(" of {rows}, in pieces") } else { String::new() };
        let first = self.first.map_or(String::new(), |first| format!(", the first: {first}"));
        let detail = format!("{read} rows were read{of}, {} are off{first}", self.rows);
        Condition::made(name, self.rows == 0, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_lie_evenly_over_a_large_table() {
        assert!(pieces(7).len() == 1 && pieces(7)[0] == (0..7));
        let found = pieces(3 * MOST + 17);
        assert_eq!(found.iter().map(|range| range.end - range.start).sum::<u64>(), MOST);
        assert!(found.windows(2).all(|two| two[0].end <= two[1].start));
        assert!(found[0].start == 0 && found.last().unwrap().end > 3 * MOST - 1000);
    }
}
