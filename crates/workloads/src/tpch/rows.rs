//! The rows of the eight tables, as the crate `tpchgen` makes them: in parallel, each part by itself.

use std::fmt::{Display, Write};
use std::sync::{Arc, Mutex, Weak};

use dsbench_core::engine::{Connection, RowSource};
use dsbench_core::error::{Error, Result};
use dsbench_core::locking::lock;
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::{Part, Progress};
use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::distribution::Distributions;
use tpchgen::generators::{
    Customer, CustomerGenerator, LineItem, LineItemGenerator, Nation, NationGenerator, Order, OrderGenerator,
    Part as Product, PartGenerator, PartSupp, PartSuppGenerator, Region, RegionGenerator, Supplier, SupplierGenerator,
};
use tpchgen::text::TextPool;

use crate::steps::Counted;

/// Characters of the text out of which comments are cut.
const TEXT: i32 = 300 * 1024 * 1024;
/// Rows of one transaction of a load, about.
const CHUNK: u64 = 500_000;
/// Lines of an order, on average.
const LINES: u64 = 4;
/// 2000-01-01, from which PostgreSQL counts days, in days since 1970.
const YEAR_2000: i64 = 10_957;

/// The text of comments takes 300 MiB: it is made when rows are, and given back with the last of them.
static POOL: Mutex<Weak<TextPool>> = Mutex::new(Weak::new());

/// The text of comments, which all that make rows at the same time share.
pub fn pool() -> Arc<TextPool> {
    let mut kept = lock(&POOL);
    kept.upgrade().unwrap_or_else(|| {
        let made = Arc::new(TextPool::new(TEXT, Distributions::static_default()));
        *kept = Arc::downgrade(&made);
        made
    })
}

/// Year, month and day of a number of days since 1970.
pub fn day(days: i64) -> (i64, i64, i64) {
    // Days from the first of March of a year that begins a cycle of 400 years.
    let (cycle, rest) = ((days + 719_468).div_euclid(146_097), (days + 719_468).rem_euclid(146_097));
    let year = (rest - rest / 1460 + rest / 36_524 - rest / 146_096) / 365;
    let of_year = rest - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + cycle * 400 + i64::from(month <= 2), month, of_month)
}

/// How a dialect takes money and days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A day as its number from 2000 on, which is what PostgreSQL keeps.
    Numbered,
    /// A day as text.
    Written,
    /// A day as text, money as a double precision number.
    Real,
}

impl Form {
    /// That of a dialect.
    pub fn of(dialect: &str) -> Self {
        match dialect {
            "postgres" => Self::Numbered,
            "sqlite" | "mock" => Self::Real,
            _ => Self::Written,
        }
    }

    /// The type of a column that has one of `money`, `day`, or another.
    fn kind(self, column: Kind) -> Type {
        match (column, self) {
            (Kind::Key, _) => Type::Int64,
            (Kind::Number, _) => Type::Int32,
            (Kind::Text, _) => Type::Text,
            (Kind::Money, Self::Real) => Type::Float64,
            (Kind::Money, _) => Type::Decimal(2),
            (Kind::Day, Self::Numbered) => Type::Int32,
            (Kind::Day, _) => Type::Text,
        }
    }

    fn money(self, hundredths: i64) -> Value<'static> {
        match self {
            Self::Real => Value::Float(hundredths as f64 / 100.0),
            _ => Value::Decimal { unscaled: hundredths, scale: 2 },
        }
    }

    fn day(self, date: TPCHDate, text: &mut String) -> Value<'_> {
        match self {
            Self::Numbered => Value::Int(i64::from(date.to_unix_epoch()) - YEAR_2000),
            _ => written(text, date),
        }
    }
}

/// What a column holds.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Key,
    Number,
    Text,
    Money,
    Day,
}

use Kind::{Day, Key, Money, Number, Text};

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Regions.
    Region,
    /// Nations.
    Nation,
    /// Parts.
    Part,
    /// Suppliers.
    Supplier,
    /// What suppliers have of parts.
    PartSupp,
    /// Customers.
    Customer,
    /// Orders.
    Orders,
    /// Lines of orders.
    LineItem,
}

impl Table {
    /// All, in the order in which they are loaded.
    pub const ALL: [Self; 8] = [
        Self::Region,
        Self::Nation,
        Self::Part,
        Self::Supplier,
        Self::PartSupp,
        Self::Customer,
        Self::Orders,
        Self::LineItem,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Nation => "nation",
            Self::Part => "part",
            Self::Supplier => "supplier",
            Self::PartSupp => "partsupp",
            Self::Customer => "customer",
            Self::Orders => "orders",
            Self::LineItem => "lineitem",
        }
    }

    fn all_columns(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Region => &[("r_regionkey", Number), ("r_name", Text), ("r_comment", Text)],
            Self::Nation => &[("n_nationkey", Number), ("n_name", Text), ("n_regionkey", Number), ("n_comment", Text)],
            Self::Part => &[
                ("p_partkey", Number),
                ("p_name", Text),
                ("p_mfgr", Text),
                ("p_brand", Text),
                ("p_type", Text),
                ("p_size", Number),
                ("p_container", Text),
                ("p_retailprice", Money),
                ("p_comment", Text),
            ],
            Self::Supplier => &[
                ("s_suppkey", Number),
                ("s_name", Text),
                ("s_address", Text),
                ("s_nationkey", Number),
                ("s_phone", Text),
                ("s_acctbal", Money),
                ("s_comment", Text),
            ],
            Self::PartSupp => &[
                ("ps_partkey", Number),
                ("ps_suppkey", Number),
                ("ps_availqty", Number),
                ("ps_supplycost", Money),
                ("ps_comment", Text),
            ],
            Self::Customer => &[
                ("c_custkey", Number),
                ("c_name", Text),
                ("c_address", Text),
                ("c_nationkey", Number),
                ("c_phone", Text),
                ("c_acctbal", Money),
                ("c_mktsegment", Text),
                ("c_comment", Text),
            ],
            Self::Orders => &[
                ("o_orderkey", Key),
                ("o_custkey", Number),
                ("o_orderstatus", Text),
                ("o_totalprice", Money),
                ("o_orderdate", Day),
                ("o_orderpriority", Text),
                ("o_clerk", Text),
                ("o_shippriority", Number),
                ("o_comment", Text),
            ],
            Self::LineItem => &[
                ("l_orderkey", Key),
                ("l_partkey", Number),
                ("l_suppkey", Number),
                ("l_linenumber", Number),
                ("l_quantity", Money),
                ("l_extendedprice", Money),
                ("l_discount", Money),
                ("l_tax", Money),
                ("l_returnflag", Text),
                ("l_linestatus", Text),
                ("l_shipdate", Day),
                ("l_commitdate", Day),
                ("l_receiptdate", Day),
                ("l_shipinstruct", Text),
                ("l_shipmode", Text),
                ("l_comment", Text),
            ],
        }
    }

    /// Its columns with their types.
    pub fn columns(self, form: Form) -> Vec<(&'static str, Type)> {
        self.all_columns().iter().map(|(name, kind)| (*name, form.kind(*kind))).collect()
    }

    /// Rows by which it is cut into parts: of lines, their orders.
    fn numbers(self, hundredths: u64) -> u64 {
        match self {
            Self::Region => 5,
            Self::Nation => 25,
            Self::Part => 2000 * hundredths,
            Self::Supplier => 100 * hundredths,
            Self::PartSupp => 8000 * hundredths,
            Self::Customer => 1500 * hundredths,
            Self::Orders | Self::LineItem => 15_000 * hundredths,
        }
    }

    /// Rows that a load makes.
    pub fn rows(self, hundredths: u64) -> u64 {
        match self {
            Self::LineItem => lines_of_orders().take(self.numbers(hundredths) as usize).sum(),
            _ => self.numbers(hundredths),
        }
    }
}

/// Lines of each order that is loaded, in the order of their keys.
pub fn lines_of_orders() -> impl Iterator<Item = u64> {
    let mut lines = OrderGenerator::create_line_count_random();
    std::iter::repeat_with(move || {
        let many = lines.next_value();
        lines.row_finished();
        many as u64
    })
}

/// The rows of a part of a table, one after another, by `each`.
trait Rows {
    /// Hands the next row over as values and as a line of text; false when there is none.
    fn next(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool>;

    /// Writes the next row as a line, as the crate itself does.
    fn line(&mut self, out: &mut dyn std::io::Write) -> std::io::Result<bool>;
}

/// Rows of an iterator, and what makes values of them.
struct Made<I: Iterator, F> {
    rows: I,
    /// Made, and not handed over yet: the next one is the last of them.
    ahead: Vec<I::Item>,
    comment: fn(&I::Item) -> &str,
    values: F,
    texts: Texts,
}

/// Rows that are made at once, so that the ways to their comments, which lie anywhere in the text, overlap.
const AHEAD: usize = 32;

impl<I: Iterator, F> Made<I, F> {
    fn new(rows: I, comment: fn(&I::Item) -> &str, values: F) -> Self {
        Self { rows, ahead: Vec::with_capacity(AHEAD), comment, values, texts: Texts::default() }
    }

    fn row(&mut self) -> Option<I::Item> {
        if self.ahead.is_empty() {
            self.ahead.extend(self.rows.by_ref().take(AHEAD));
            let ends = self.ahead.iter().map(|row| {
                let text = (self.comment)(row).as_bytes();
                text.first().unwrap_or(&0) ^ text.last().unwrap_or(&0)
            });
            std::hint::black_box(ends.fold(0, |all, one| all ^ one));
            self.ahead.reverse();
        }
        self.ahead.pop()
    }
}

/// Memory for the texts of a row.
pub(super) type Texts = [String; 6];

impl<I, F> Rows for Made<I, F>
where
    I: Iterator,
    I::Item: Display,
    F: FnMut(&I::Item, &mut Texts, &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<()>,
{
    fn next(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        match self.row() {
            Some(row) => (self.values)(&row, &mut self.texts, emit).map(|()| true),
            None => Ok(false),
        }
    }

    fn line(&mut self, out: &mut dyn std::io::Write) -> std::io::Result<bool> {
        match self.row() {
            Some(row) => writeln!(out, "{row}").map(|()| true),
            None => Ok(false),
        }
    }
}

fn written(text: &mut String, value: impl Display) -> Value<'_> {
    text.clear();
    // Writing into a string cannot fail.
    let _ = write!(text, "{value}");
    Value::Text(text)
}

/// The rows of part `part` (from 0) of `parts` of a table.
fn rows<'p>(table: Table, sf: f64, part: u64, parts: u64, form: Form, pool: &'p TextPool) -> Box<dyn Rows + 'p> {
    let (lists, part, parts) = (Distributions::static_default(), part as i32 + 1, parts as i32);
    match table {
        Table::Region => Box::new(Made::new(
            RegionGenerator::new_with_distributions_and_text_pool(lists, pool).iter(),
            |row| row.r_comment,
            |row: &Region<'_>, _: &mut Texts, emit: Emit<'_>| {
                emit(&[Value::Int(row.r_regionkey), Value::Text(row.r_name), Value::Text(row.r_comment)])
            },
        )),
        Table::Nation => Box::new(Made::new(
            NationGenerator::new_with_distributions_and_text_pool(lists, pool).iter(),
            |row| row.n_comment,
            |row: &Nation<'_>, _: &mut Texts, emit: Emit<'_>| {
                let [name, comment] = [row.n_name, row.n_comment].map(Value::Text);
                emit(&[Value::Int(row.n_nationkey), name, Value::Int(row.n_regionkey), comment])
            },
        )),
        Table::Part => Box::new(Made::new(
            PartGenerator::new_with_distributions_and_text_pool(sf, part, parts, lists, pool).iter(),
            |row| row.p_comment,
            move |row: &_, texts: &mut Texts, emit: Emit<'_>| product(form, row, texts, emit),
        )),
        Table::Supplier => Box::new(Made::new(
            SupplierGenerator::new_with_distributions_and_text_pool(sf, part, parts, lists, pool).iter(),
            |row| &row.s_comment,
            move |row: &_, texts: &mut Texts, emit: Emit<'_>| supplier(form, row, texts, emit),
        )),
        Table::PartSupp => Box::new(Made::new(
            PartSuppGenerator::new_with_text_pool(sf, part, parts, pool).iter(),
            |row| row.ps_comment,
            move |row: &PartSupp<'_>, _: &mut Texts, emit: Emit<'_>| {
                emit(&[
                    Value::Int(row.ps_partkey),
                    Value::Int(row.ps_suppkey),
                    Value::Int(row.ps_availqty.into()),
                    form.money(row.ps_supplycost.into_inner()),
                    Value::Text(row.ps_comment),
                ])
            },
        )),
        Table::Customer => Box::new(Made::new(
            CustomerGenerator::new_with_distributions_and_text_pool(sf, part, parts, lists, pool).iter(),
            |row| row.c_comment,
            move |row: &_, texts: &mut Texts, emit: Emit<'_>| customer(form, row, texts, emit),
        )),
        Table::Orders => Box::new(Made::new(
            OrderGenerator::new_with_distributions_and_text_pool(sf, part, parts, lists, pool).iter(),
            |row| row.o_comment,
            move |row: &_, texts: &mut Texts, emit: Emit<'_>| order(form, row, texts, emit),
        )),
        Table::LineItem => Box::new(Made::new(
            LineItemGenerator::new_with_distributions_and_text_pool(sf, part, parts, lists, pool).iter(),
            |row| row.l_comment,
            move |row: &_, texts: &mut Texts, emit: Emit<'_>| line(form, row, texts, emit),
        )),
    }
}

pub(super) type Emit<'e> = &'e mut dyn FnMut(&[Value<'_>]) -> Result<()>;

fn product(form: Form, row: &Product<'_>, [name, maker, brand, ..]: &mut Texts, emit: Emit<'_>) -> Result<()> {
    emit(&[
        Value::Int(row.p_partkey),
        written(name, &row.p_name),
        written(maker, row.p_mfgr),
        written(brand, row.p_brand),
        Value::Text(row.p_type),
        Value::Int(row.p_size.into()),
        Value::Text(row.p_container),
        form.money(row.p_retailprice.into_inner()),
        Value::Text(row.p_comment),
    ])
}

fn supplier(form: Form, row: &Supplier, [name, address, phone, ..]: &mut Texts, emit: Emit<'_>) -> Result<()> {
    emit(&[
        Value::Int(row.s_suppkey),
        written(name, row.s_name),
        written(address, &row.s_address),
        Value::Int(row.s_nationkey),
        written(phone, &row.s_phone),
        form.money(row.s_acctbal.into_inner()),
        Value::Text(&row.s_comment),
    ])
}

fn customer(form: Form, row: &Customer<'_>, [name, address, phone, ..]: &mut Texts, emit: Emit<'_>) -> Result<()> {
    emit(&[
        Value::Int(row.c_custkey),
        written(name, row.c_name),
        written(address, &row.c_address),
        Value::Int(row.c_nationkey),
        written(phone, &row.c_phone),
        form.money(row.c_acctbal.into_inner()),
        Value::Text(row.c_mktsegment),
        Value::Text(row.c_comment),
    ])
}

pub(super) fn order(form: Form, row: &Order<'_>, [date, clerk, ..]: &mut Texts, emit: Emit<'_>) -> Result<()> {
    emit(&[
        Value::Int(row.o_orderkey),
        Value::Int(row.o_custkey),
        Value::Text(row.o_orderstatus.as_str()),
        form.money(row.o_totalprice.into_inner()),
        form.day(row.o_orderdate, date),
        Value::Text(row.o_orderpriority),
        written(clerk, row.o_clerk),
        Value::Int(row.o_shippriority.into()),
        Value::Text(row.o_comment),
    ])
}

pub(super) fn line(
    form: Form,
    row: &LineItem<'_>,
    [ship, commit, receipt, ..]: &mut Texts,
    emit: Emit<'_>,
) -> Result<()> {
    let money = |value: TPCHDecimal| form.money(value.into_inner());
    emit(&[
        Value::Int(row.l_orderkey),
        Value::Int(row.l_partkey),
        Value::Int(row.l_suppkey),
        Value::Int(row.l_linenumber.into()),
        form.money(row.l_quantity * 100),
        money(row.l_extendedprice),
        money(row.l_discount),
        money(row.l_tax),
        Value::Text(row.l_returnflag),
        Value::Text(row.l_linestatus),
        form.day(row.l_shipdate, ship),
        form.day(row.l_commitdate, commit),
        form.day(row.l_receiptdate, receipt),
        Value::Text(row.l_shipinstruct),
        Value::Text(row.l_shipmode),
        Value::Text(row.l_comment),
    ])
}

/// Rows on their way into the database.
struct Source<'a> {
    rows: Box<dyn Rows + 'a>,
    counted: Counted<'a>,
}

impl RowSource for Source<'_> {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        let more = self.rows.next(emit)?;
        if more { self.counted.rows(1) } else { self.counted.end() }?;
        Ok(more)
    }
}

/// Loads a part of the rows of all tables.
pub fn load(
    conn: &mut dyn Connection,
    hundredths: u64,
    form: Form,
    part: Part,
    pool: &TextPool,
    progress: &Progress,
) -> Result<()> {
    let sf = hundredths as f64 / 100.0;
    for table in Table::ALL {
        let small = matches!(table, Table::Region | Table::Nation);
        if small && part.index > 0 {
            continue;
        }
        let numbers = CHUNK / if table == Table::LineItem { LINES } else { 1 };
        let parts = if small { 1 } else { u64::from(part.count) };
        // Each part is cut into as many chunks.
        let chunks = table.numbers(hundredths).div_ceil(numbers * parts).max(1);
        for chunk in 0..chunks {
            let at = u64::from(part.index) * chunks + chunk;
            let rows = rows(table, sf, at, parts * chunks, form, pool);
            let load =
                conn.bulk().ok_or_else(|| Error::configuration("this engine has no bulk load, which tpch needs"))?;
            load.load(table.name(), &table.columns(form), &mut Source { rows, counted: Counted::new(progress) })?;
        }
    }
    Ok(())
}

/// Writes the rows of a table as lines of text, columns ended by `|`.
pub fn write(table: Table, hundredths: u64, pool: &TextPool, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let mut rows = rows(table, hundredths as f64 / 100.0, 0, 1, Form::Written, pool);
    while rows.line(out)? {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        assert_eq!([0, 10_561, 11_016, -1].map(day), [(1970, 1, 1), (1998, 12, 1), (2000, 2, 29), (1969, 12, 31)]);
    }

    #[test]
    fn tables_have_the_rows_of_the_specification() {
        assert_eq!(Table::ALL.map(|table| table.rows(1)), [5, 25, 2000, 100, 8000, 1500, 15_000, 60_175]);
        assert_eq!(Table::LineItem.rows(100), 6_001_215);
    }

    #[test]
    fn parts_make_together_what_one_makes() {
        let pool = pool();
        let lines = |parts: u64| {
            let mut out = Vec::new();
            for part in 0..parts {
                let mut rows = rows(Table::LineItem, 0.01, part, parts, Form::Written, &pool);
                while rows.line(&mut out).unwrap() {}
            }
            String::from_utf8(out).unwrap()
        };
        let whole = lines(1);
        assert_eq!(whole.lines().count() as u64, Table::LineItem.rows(1));
        assert!(whole == lines(3));
    }
}
