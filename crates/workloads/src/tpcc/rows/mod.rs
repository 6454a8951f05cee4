//! The rows of the nine tables (clause 4.3.3), made one by one without an allocation.
//!
//! Every row is a function of its number alone, so that it does not matter who makes it: a database
//! populated by one connection or by many is the same.

mod orders;
mod people;
mod places;
pub mod text;
mod things;

use std::ops::Range;

use dsbench_core::engine::RowSource;
use dsbench_core::error::Result;
use dsbench_core::random::Stream;
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::Progress;

use super::names::Names;
use super::nurand::Ranges;
use super::sizes::{Sizes, DISTRICTS};
use crate::steps::Counted;

pub use orders::lines_of;

/// The moment of the population, in microseconds since 1970: 2026-01-01 00:00:00. It is fixed, so that
/// two populations are alike.
const LOADED_US: i64 = 1_767_225_600_000_000;

const INT: Type = Type::Int32;
const TEXT: Type = Type::Text;
const MONEY: Type = Type::Decimal(2);
const RATE: Type = Type::Decimal(4);

/// A table that is populated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// What is sold, everywhere.
    Item,
    /// Warehouses.
    Warehouse,
    /// Districts of warehouses.
    District,
    /// What a warehouse has of each item.
    Stock,
    /// Customers of districts.
    Customer,
    /// Payments.
    History,
    /// Orders.
    Orders,
    /// Orders that are not delivered.
    NewOrder,
    /// Lines of orders; numbered by order.
    OrderLine,
}

impl Table {
    /// All tables, in the order in which they are populated.
    pub const ALL: [Self; 9] = [
        Self::Item,
        Self::Warehouse,
        Self::District,
        Self::Stock,
        Self::Customer,
        Self::History,
        Self::Orders,
        Self::NewOrder,
        Self::OrderLine,
    ];

    /// Its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::Warehouse => "warehouse",
            Self::District => "district",
            Self::Stock => "stock",
            Self::Customer => "customer",
            Self::History => "history",
            Self::Orders => "orders",
            Self::NewOrder => "new_order",
            Self::OrderLine => "order_line",
        }
    }

    /// Its columns, in the order in which [`Source`] gives them.
    pub fn columns(self) -> &'static [(&'static str, Type)] {
        match self {
            Self::Item => things::ITEM,
            Self::Stock => things::STOCK,
            Self::Warehouse => places::WAREHOUSE,
            Self::District => places::DISTRICT,
            Self::Customer => people::CUSTOMER,
            Self::History => people::HISTORY,
            Self::Orders => orders::ORDERS,
            Self::NewOrder => orders::NEW_ORDER,
            Self::OrderLine => orders::ORDER_LINE,
        }
    }

    /// Numbers of [`Source`] that belong to one district of a warehouse; 0 for tables that are not
    /// populated by district. Stock is shared out over the districts.
    pub fn per_district(self, sizes: &Sizes) -> u64 {
        match self {
            Self::Item | Self::Warehouse => 0,
            Self::District => 1,
            Self::Stock => sizes.items / DISTRICTS,
            Self::Customer | Self::History | Self::Orders | Self::OrderLine => sizes.customers,
            Self::NewOrder => sizes.new_orders,
        }
    }

    /// Rows that a number of [`Source`] stands for, on average: an order has 5 to 15 lines.
    pub fn rows_per_number(self) -> u64 {
        match self {
            Self::OrderLine => 10,
            _ => 1,
        }
    }

    /// Numbers of [`Source`] at `scale` warehouses.
    pub fn numbers(self, sizes: &Sizes, scale: u32) -> u64 {
        match self {
            Self::Item => sizes.items,
            Self::Warehouse => u64::from(scale),
            other => u64::from(scale) * DISTRICTS * other.per_district(sizes),
        }
    }
}

/// Takes one row.
type Emit<'e> = dyn FnMut(&[Value<'_>]) -> Result<()> + 'e;

/// What makes the rows of one table.
enum Maker<'a> {
    Places(Table),
    Things(Table, Box<things::Buffer>),
    People(Table, people::People<'a>),
    Orders(Table, orders::Book),
}

/// Rows number `next` to `end` (from 0, `end` excluded) of a table; lines by the number of their order.
pub struct Source<'a> {
    maker: Maker<'a>,
    sizes: Sizes,
    next: u64,
    end: u64,
    counted: Counted<'a>,
}

impl<'a> Source<'a> {
    /// The rows of `range`; `progress` advances as they are taken.
    pub fn new(table: Table, range: Range<u64>, sizes: Sizes, names: &'a Names, progress: &'a Progress) -> Self {
        let maker = match table {
            Table::Warehouse | Table::District => Maker::Places(table),
            Table::Item | Table::Stock => Maker::Things(table, Box::default()),
            Table::Customer | Table::History => Maker::People(table, people::People::new(names, Ranges::new(&sizes))),
            Table::Orders | Table::NewOrder | Table::OrderLine => Maker::Orders(table, orders::Book::default()),
        };
        Self { maker, sizes, next: range.start, end: range.end, counted: Counted::new(progress) }
    }

    /// Makes all that are left, as they are loaded.
    pub fn each(&mut self, take: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<()> {
        while self.next_row(take)? {}
        Ok(())
    }
}

impl RowSource for Source<'_> {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        if self.next == self.end {
            self.counted.end()?;
            return Ok(false);
        }
        let number = self.next;
        let made = match &mut self.maker {
            Maker::Places(table) => places::make(*table, &self.sizes, number, emit)?,
            Maker::Things(table, buffer) => buffer.make(*table, &self.sizes, number, emit)?,
            Maker::People(table, people) => people.make(*table, &self.sizes, number, emit)?,
            Maker::Orders(table, book) => book.make(*table, &self.sizes, number, emit)?,
        };
        self.next += 1;
        self.counted.rows(made)?;
        Ok(true)
    }
}

/// The stream of row `number` of a table. Its seed is fixed: see the head of this file.
fn stream(table: Table, number: u64) -> Stream {
    Stream::new(0x7470_6363, table as u64, number)
}

/// Warehouse and district, from 1, and place within the district, from 0, of a number.
fn place(table: Table, sizes: &Sizes, number: u64) -> (i64, i64, u64) {
    let each = table.per_district(sizes);
    let district = number / each;
    ((district / DISTRICTS) as i64 + 1, (district % DISTRICTS) as i64 + 1, number % each)
}

fn int(value: i64) -> Value<'static> {
    Value::Int(value)
}

fn cents(unscaled: i64) -> Value<'static> {
    Value::Decimal { unscaled, scale: 2 }
}

#[cfg(test)]
mod tests;
