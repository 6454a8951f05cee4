//! The rows of a table: what each column of a row has.
//!
//! A value is a function of the file's seed, the table, the column and the number of the row: the same on every product,
//! however many connections write.

use std::io::Write;

use dsbench_core::engine::RowSource;
use dsbench_core::error::Result;
use dsbench_core::random::Stream;
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::Progress;
use dsbench_script::{Memory, Random, Value as Held};

use super::moments::moment;
use super::table::{read, Column, Generator, Table, MOST_COLUMNS};
use crate::steps::Counted;
use crate::tpcb::rows::fill;

/// Rows of a table, from one number to another.
pub(super) struct Rows<'a> {
    table: &'a Table,
    next: u64,
    end: u64,
    counted: Counted<'a>,
    /// The letters of each column, and how many of them are in use.
    texts: Vec<Vec<u8>>,
    memories: Vec<Option<Memory>>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(table: &'a Table, range: std::ops::Range<u64>, progress: &'a Progress) -> Self {
        let memory = |column: &Column| match &column.generator {
            Generator::Expression(expression, _) => Some(expression.memory()),
            _ => None,
        };
        Self {
            table,
            next: range.start,
            end: range.end,
            counted: Counted::new(progress),
            texts: vec![Vec::new(); table.columns.len()],
            memories: table.columns.iter().map(memory).collect(),
        }
    }

    /// The value of a column; `None` where it lies in the column's letters.
    fn value(&mut self, at: usize) -> Result<Option<Value<'a>>> {
        let table = self.table;
        let column = &table.columns[at];
        let row = self.next;
        let mut stream = Stream::new(self.table.seed, at as u64, row);
        if column.null > 0.0 && stream.unit() < column.null {
            return Ok(Some(Value::Null));
        }
        let (number, units) = match &column.generator {
            Generator::Sequence(first) => (first + row as i64, false),
            Generator::Uniform(low, high) => (stream.between(*low, *high), true),
            Generator::Zipf(low, high, s) => {
                let drawn = Random::new(stream.next_u64()).zipf(high.abs_diff(*low).saturating_add(1), *s);
                (low.wrapping_add_unsigned(drawn - 1), false)
            }
            Generator::Double(low, high) => return Ok(Some(Value::Float(low + (high - low) * stream.unit()))),
            Generator::Text(least, most) => {
                let length = least + stream.below((most - least) as u64 + 1) as usize;
                self.texts[at].resize(length, 0);
                fill(&mut self.texts[at], stream.next_u64());
                return Ok(None);
            }
            Generator::Constant(text) => return Ok(Some(Value::Text(text))),
            Generator::Whole(number) => (*number, true),
            Generator::Expression(expression, slot) => {
                let Some(memory) = &mut self.memories[at] else { return Ok(Some(Value::Null)) };
                memory.random = Random::new(stream.next_u64());
                if let Some(slot) = slot {
                    memory.set(*slot, Held::Int(row as i64 + 1));
                }
                match expression.value(memory)? {
                    Held::Null => return Ok(Some(Value::Null)),
                    Held::Int(number) => (number, false),
                    Held::Bool(yes) => (yes.into(), false),
                    Held::Double(number) if column.kind == Type::Float64 => return Ok(Some(Value::Float(number))),
                    Held::Double(number) => match column.kind {
                        Type::Decimal(scale) => ((number * 10_f64.powi(scale.into())).round() as i64, true),
                        _ => (number.round() as i64, false),
                    },
                }
            }
            Generator::Loaded(cell) => {
                let cell = table.loaded[row as usize].get(*cell).and_then(Option::as_deref);
                let stored = column.stored(table.plain);
                return Ok(Some(cell.and_then(|text| read(stored, text)).unwrap_or(Value::Null)));
            }
        };
        let text = &mut self.texts[at];
        text.clear();
        // Writing into a vector cannot fail.
        let _ = match column.kind {
            Type::Text => write!(text, "{number}"),
            Type::Timestamp if table.plain => moment(number, text),
            Type::Decimal(scale) if table.plain => {
                let scale = if units { scale } else { 0 };
                return Ok(Some(Value::Float(number as f64 / 10_f64.powi(scale.into()))));
            }
            _ => return Ok(Some(column.of_whole(number, units))),
        };
        Ok(None)
    }
}

impl RowSource for Rows<'_> {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        if self.next == self.end {
            self.counted.end()?;
            return Ok(false);
        }
        let count = self.table.columns.len();
        let mut found = [None; MOST_COLUMNS];
        for (at, value) in found.iter_mut().enumerate().take(count) {
            *value = self.value(at)?;
        }
        let mut row = [Value::Null; MOST_COLUMNS];
        for (at, value) in row.iter_mut().enumerate().take(count) {
            let letters = || Value::Text(std::str::from_utf8(&self.texts[at]).unwrap_or_default());
            *value = found[at].unwrap_or_else(letters);
        }
        emit(&row[..count])?;
        self.next += 1;
        self.counted.rows(1)?;
        Ok(true)
    }
}
