//! The tables that are populated: how many rows, and what each column of a row has.
//!
//! A value is a function of the file's seed, the table, the column and the number of the row: the same on every product,
//! however many connections write.

use std::io::Write;

use dsbench_core::engine::RowSource;
use dsbench_core::error::Result;
use dsbench_core::random::{mix, Stream};
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::Progress;
use dsbench_script::{Memory, Random, Slot, Value as Held};

use super::columns::Made;
use super::csv;
use super::expression::{Expression, Scope};
use super::reading::{Files, Node};
use crate::tpcb::rows::fill;

const KNOWN: &[&str] = &["rows", "columns", "load"];
/// Most columns that are populated.
const MOST_COLUMNS: usize = 64;
/// Longest text that is made.
const LONGEST: f64 = 8000.0;
const MOST_ROWS: i64 = 1 << 40;

/// A table with its rows.
pub(super) struct Table {
    pub(super) name: String,
    pub(super) rows: u64,
    pub(super) columns: Vec<Column>,
    seed: u64,
    /// See [`Made::plain`].
    pub(super) plain: bool,
    /// Rows that come from a file, in place of those that are made.
    loaded: Vec<Vec<Option<String>>>,
}

/// A column with what makes its values.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Type,
    null: f64,
    generator: Generator,
}

enum Generator {
    /// The number of the row from 0, and this.
    Sequence(i64),
    /// Both ends included, in units of the type.
    Uniform(i64, i64),
    /// Both ends included; the first is the most frequent.
    Zipf(i64, i64, f64),
    Double(f64, f64),
    /// Letters, digits, '-' and '_', as many as lie between these.
    Text(usize, usize),
    Constant(String),
    Whole(i64),
    Expression(Expression, Option<Slot>),
    /// The column of this number in the file.
    Loaded(usize),
}

/// A length, or a least and a most.
pub(super) fn lengths(node: Node<'_>) -> Result<(usize, usize)> {
    let length = |node: &Node<'_>| node.within(0.0..=LONGEST).map(|number| number as usize);
    match node.items().as_deref() {
        None => length(&node).map(|both| (both, both)),
        Some([least, most]) if length(least)? <= length(most)? => Ok((length(least)?, length(most)?)),
        Some(_) => Err(node.wrong("a length has to stand here, or [least, most]")),
    }
}

/// Both ends of a range.
fn ends<T: PartialOrd>(node: Node<'_>, end: impl Fn(Node<'_>) -> Result<T>) -> Result<(T, T)> {
    let wrong = || node.wrong("[least, most] has to stand here");
    let [least, most] = node.items().ok_or_else(wrong)?.try_into().map_err(|_| wrong())?;
    let (least, most) = (end(least)?, end(most)?);
    if least > most {
        return Err(wrong());
    }
    Ok((least, most))
}

/// Rows and key of a table that others may refer to: the first number of its sequence.
struct Referred<'a> {
    name: &'a str,
    rows: u64,
    first: Option<i64>,
}

impl Table {
    /// The tables of a file, in its order.
    pub(super) fn all(node: Node<'_>, files: &Files, scope: &Scope, made: &[Made], seed: i64) -> Result<Vec<Self>> {
        let entries = node.entries()?;
        let mut referred = Vec::new();
        for (name, node) in &entries {
            let fields = node.fields(KNOWN)?;
            let rows = match fields.get("rows") {
                Some(rows) => scope.whole(rows)?,
                None => 0,
            };
            if !(0..=MOST_ROWS).contains(&rows) {
                return Err(node.wrong(format!("{rows} rows are out of range: 0 to {MOST_ROWS}")));
            }
            let columns = fields.get("columns").map(|node| node.entries()).transpose()?.unwrap_or_default();
            let sequence = columns.iter().filter(|(_, node)| node.is_table());
            let first =
                sequence.filter_map(|(_, node)| node.entries().ok()?.into_iter().find(|(n, _)| *n == "sequence"));
            let first = first.map(|(_, node)| scope.whole(node)).next().transpose()?;
            referred.push(Referred { name, rows: rows as u64, first });
        }
        let mut all = Vec::new();
        for (at, (name, node)) in entries.iter().enumerate() {
            let Some(made) = made.iter().find(|made| made.name.eq_ignore_ascii_case(name)) else {
                return Err(node.wrong(format!("no statement of the schema makes a table {name}")));
            };
            let fields = node.fields(KNOWN)?;
            let seed = mix(seed as u64 ^ hash(name));
            let table = Self {
                name: made.name.clone(),
                rows: referred[at].rows,
                columns: vec![],
                seed,
                plain: made.plain,
                loaded: vec![],
            };
            all.push(match fields.only(&["rows", "load"])? {
                ("load", file) => table.of_csv(file, files, made)?,
                _ => table.generated(fields.need("columns")?, scope, made, &referred)?,
            });
        }
        Ok(all)
    }

    fn of_csv(mut self, node: Node<'_>, files: &Files, made: &Made) -> Result<Self> {
        let (name, text) = files.named(node)?;
        let mut rows = csv::rows(text).map_err(|(line, why)| node.wrong(format!("{name}:{line}: {why}")))?.into_iter();
        for (at, head) in rows.next().unwrap_or_default().into_iter().enumerate() {
            let head = head.unwrap_or_default();
            let kind = kind_of(node, made, &head)?;
            self.columns.push(Column { name: head, kind, null: 0.0, generator: Generator::Loaded(at) });
        }
        self.loaded = rows.collect();
        for (at, row) in self.loaded.iter().enumerate() {
            let cells = row.iter().zip(&self.columns);
            let mut misfits = cells.filter_map(|(cell, column)| Some((column, cell.as_ref()?)));
            if let Some((column, cell)) = misfits.find(|(column, cell)| read(column.kind, cell).is_none()) {
                let why = format!("{name}:{}: {cell:?} is no {:?}, which {} is", at + 2, column.kind, column.name);
                return Err(node.wrong(why));
            }
        }
        self.rows = self.loaded.len() as u64;
        self.few_columns(node)
    }

    fn generated(mut self, node: Node<'_>, scope: &Scope, made: &Made, referred: &[Referred<'_>]) -> Result<Self> {
        for (name, node) in node.entries()? {
            let kind = kind_of(node, made, name)?;
            self.columns.push(Column::read(node, name, kind, scope, referred)?);
        }
        self.few_columns(node)
    }

    fn few_columns(self, node: Node<'_>) -> Result<Self> {
        match self.columns.len() {
            1..=MOST_COLUMNS => Ok(self),
            n => Err(node.wrong(format!("1 to {MOST_COLUMNS} columns are populated, not {n}"))),
        }
    }
}

/// The type of a column.
fn kind_of(node: Node<'_>, made: &Made, name: &str) -> Result<Type> {
    let found = made.columns.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    let no_column = || node.wrong(format!("the table {} has no column {name}", made.name));
    let no_type = || {
        node.wrong(format!(
            "no values are made for the type of {name}: use smallint, int, bigint, decimal, double precision, char, \
             varchar, {{text}} or {{timestamp}}"
        ))
    };
    found.ok_or_else(no_column)?.1.ok_or_else(no_type)
}

fn hash(name: &str) -> u64 {
    name.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte)))
}

const GENERATORS: &[&str] = &["sequence", "uniform", "zipf", "text", "timestamp", "foreign", "constant", "expression"];

impl Column {
    fn read(node: Node<'_>, name: &str, kind: Type, scope: &Scope, referred: &[Referred<'_>]) -> Result<Self> {
        let fields = node.fields(&[GENERATORS, &["null", "exponent"][..]].concat())?;
        let null = fields.get("null").map(|node| node.within(0.0..=1.0)).transpose()?.unwrap_or(0.0);
        let exponent = fields.get("exponent").map(|node| node.within(0.001..=1000.0)).transpose()?;
        let whole = |node: Node<'_>| scope.whole(node);
        let (word, of) = fields.only(GENERATORS)?;
        let misfit = || of.wrong(format!("{word} makes no values for {name}, which is {kind:?}"));
        let is_text = kind == Type::Text;
        let fits = match word {
            "constant" => true,
            "text" => is_text,
            "timestamp" => kind == Type::Timestamp,
            "sequence" | "expression" => kind != Type::Timestamp,
            _ => !is_text && kind != Type::Timestamp,
        };
        if !fits {
            return Err(misfit());
        }
        let generator = match word {
            "sequence" => Generator::Sequence(whole(of)?),
            "uniform" => match kind {
                Type::Float64 => ends(of, |node| node.number()).map(|(low, high)| Generator::Double(low, high))?,
                Type::Decimal(scale) => {
                    let unscaled = |node: Node<'_>| -> Result<i64> {
                        Ok((node.number()? * 10_f64.powi(scale.into())).round() as i64)
                    };
                    ends(of, unscaled).map(|(low, high)| Generator::Uniform(low, high))?
                }
                _ => ends(of, whole).map(|(low, high)| Generator::Uniform(low, high))?,
            },
            "zipf" => ends(of, whole).map(|(low, high)| Generator::Zipf(low, high, exponent.unwrap_or(0.99)))?,
            "text" => lengths(of).map(|(least, most)| Generator::Text(least, most))?,
            "timestamp" => {
                let at =
                    |node: Node<'_>| timestamp(node.text()?).ok_or_else(|| node.wrong("write YYYY-MM-DD HH:MM:SS"));
                ends(of, at).map(|(low, high)| Generator::Uniform(low, high))?
            }
            "foreign" => {
                let named = of.text()?;
                let found = referred.iter().find(|table| table.name == named && table.rows > 0);
                let first = found.and_then(|table| Some((table.first?, table.rows as i64)));
                let wrong = || of.wrong(format!("no table {named} has rows here and a column that is a sequence"));
                let (first, rows) = first.ok_or_else(wrong)?;
                match exponent {
                    Some(exponent) => Generator::Zipf(first, first + rows - 1, exponent),
                    None => Generator::Uniform(first, first + rows - 1),
                }
            }
            "constant" => match of.constant()? {
                text if is_text => Generator::Constant(text),
                text => match read(kind, &text) {
                    Some(Value::Int(whole) | Value::Timestamp(whole) | Value::Decimal { unscaled: whole, .. }) => {
                        Generator::Whole(whole)
                    }
                    Some(Value::Float(number)) => Generator::Double(number, number),
                    _ => return Err(misfit()),
                },
            },
            _ => {
                let expression = Expression::read(of, scope, &["row".to_string()])?;
                let slot = expression.slot("row");
                Generator::Expression(expression, slot)
            }
        };
        Ok(Self { name: name.into(), kind, null, generator })
    }

    /// The type that is written.
    pub(super) fn stored(&self, plain: bool) -> Type {
        match self.kind {
            Type::Decimal(_) if plain => Type::Float64,
            Type::Timestamp if plain => Type::Text,
            kind => kind,
        }
    }

    /// A whole number in the type's units as a value; `units`: it counts them, else whole numbers.
    fn of_whole(&self, number: i64, units: bool) -> Value<'static> {
        match self.kind {
            Type::Float64 => Value::Float(number as f64),
            Type::Timestamp => Value::Timestamp(number),
            Type::Decimal(scale) if units => Value::Decimal { unscaled: number, scale },
            Type::Decimal(scale) => {
                Value::Decimal { unscaled: number.saturating_mul(10_i64.saturating_pow(scale.into())), scale }
            }
            _ => Value::Int(number),
        }
    }
}

/// Rows of a table, from one number to another.
pub(super) struct Rows<'a> {
    table: &'a Table,
    next: u64,
    end: u64,
    told: u64,
    progress: &'a Progress,
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
            told: range.start,
            progress,
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
                let drawn = Random::new(stream.next_u64()).zipf(high.abs_diff(*low) + 1, *s);
                (low - 1 + drawn as i64, false)
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
        const TELL_EVERY: u64 = 4096;
        if self.next == self.end || self.next - self.told == TELL_EVERY {
            self.progress.advance(self.next - self.told)?;
            self.told = self.next;
        }
        if self.next == self.end {
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
        Ok(true)
    }
}

/// A moment as text, by the calendar of [`timestamp`] the other way round.
fn moment(at: i64, text: &mut Vec<u8>) -> std::io::Result<()> {
    let (days, of_day) = (at.div_euclid(86_400_000_000) + 719_468, at.rem_euclid(86_400_000_000));
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let months = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * months + 2) / 5 + 1, if months < 10 { months + 3 } else { months - 9 });
    let year = era * 400 + years + i64::from(month < 3);
    let (second, part) = (of_day / 1_000_000, of_day % 1_000_000);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    write!(text, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")?;
    if part > 0 {
        write!(text, ".{part:06}")
    } else {
        Ok(())
    }
}

/// A value of a type out of its text.
fn read(kind: Type, text: &str) -> Option<Value<'_>> {
    let trimmed = text.trim();
    match kind {
        Type::Text => Some(Value::Text(text)),
        Type::Float64 => trimmed.parse().ok().filter(|number: &f64| number.is_finite()).map(Value::Float),
        Type::Timestamp => timestamp(trimmed).map(Value::Timestamp),
        Type::Decimal(scale) => {
            let (whole, part) = trimmed.split_once('.').unwrap_or((trimmed, ""));
            let digits = format!("{whole}{part:0<width$}", width = scale.into());
            (part.len() <= scale.into()).then_some(())?;
            Some(Value::Decimal { unscaled: digits.parse().ok()?, scale })
        }
        _ => trimmed.parse().ok().map(Value::Int),
    }
}

/// Microseconds since 1970 of `YYYY-MM-DD`, with ` HH:MM:SS` or without, and with parts of a second or without.
fn timestamp(text: &str) -> Option<i64> {
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "0:0:0"));
    let (time, part) = time.split_once('.').unwrap_or((time, ""));
    let numbers = |text: &str, sign| -> Option<[i64; 3]> {
        let all: std::result::Result<Vec<i64>, _> = text.split(sign).map(str::parse).collect();
        all.ok()?.try_into().ok()
    };
    let ([year, month, day], [hour, minute, second]) = (numbers(date, '-')?, numbers(time, ':')?);
    let part: i64 = format!("{part:0<6}").get(..6)?.parse().ok()?;
    let fits = (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let fits = fits && (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    // Days of a calendar whose years begin in March (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 1 - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    fits.then_some(seconds * 1_000_000 + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_written_by_the_calendar() {
        for (text, at) in [
            ("1970-01-01 00:00:00", 0),
            ("2000-02-29 23:59:59", 951_868_799_000_000),
            ("2026-03-01 12:00:00.000250", 1_772_366_400_000_250),
            ("1969-12-31 23:59:59.500000", -500_000),
        ] {
            let mut written = Vec::new();
            moment(at, &mut written).unwrap();
            assert_eq!((timestamp(text), String::from_utf8(written).unwrap().as_str()), (Some(at), text));
        }
        assert_eq!([timestamp("2026-13-01"), timestamp("2026-01-01 24:00:00"), timestamp("today")], [None; 3]);
    }
}
