//! The rows of the three tables that TPC-C lacks, and all rows as text for the second engine.

use std::fs::File;
use std::io::{BufWriter, Result as Written, Write};
use std::path::Path;

use dsbench_core::engine::{Connection, RowSource};
use dsbench_core::error::{Error, Result};
use dsbench_core::random::Stream;
use dsbench_core::value::{Type, Value};
use dsbench_core::workload::Progress;

use crate::tpcc::company::Company;
use crate::tpcc::rows::{text, Source, Table};

const REGIONS: [&str; 5] = ["Africa", "America", "Asia", "Australia", "Europe"];

/// Nations with their regions; the key of each is the code of a digit or a letter, in the order of the codes, with which
/// the state of a customer may begin.
#[rustfmt::skip]
const NATIONS: [(&str, usize); 62] = [
    ("Australia", 3), ("Fiji", 3), ("Algeria", 0), ("Argentina", 1), ("Austria", 4), ("Bangladesh", 2),
    ("Belgium", 4), ("Bolivia", 1), ("Brazil", 1), ("Bulgaria", 4), ("Cambodia", 2), ("Cameroon", 0), ("Canada", 1),
    ("Chile", 1), ("China", 2), ("Colombia", 1), ("Croatia", 4), ("Cuba", 1), ("Denmark", 4), ("Ecuador", 1),
    ("Egypt", 0), ("Ethiopia", 0), ("Finland", 4), ("France", 4), ("Georgia", 2), ("Germany", 4), ("Ghana", 0),
    ("Greece", 4), ("Guatemala", 1), ("Hungary", 4), ("Iceland", 4), ("India", 2), ("Indonesia", 2), ("Ireland", 4),
    ("Italy", 4), ("Jamaica", 1), ("Japan", 2), ("Jordan", 2), ("Kenya", 0), ("Laos", 2), ("Latvia", 4),
    ("Lebanon", 2), ("Malaysia", 2), ("Mexico", 1), ("Morocco", 0), ("Mozambique", 0), ("Nepal", 2),
    ("Netherlands", 4), ("New Zealand", 3), ("Nigeria", 0), ("Norway", 4), ("Peru", 1), ("Poland", 4),
    ("Portugal", 4), ("Romania", 4), ("Senegal", 0), ("Spain", 4), ("Sweden", 4), ("Thailand", 2), ("Uruguay", 1),
    ("Vietnam", 2), ("Zambia", 0),
];

/// Suppliers, whatever the scale: the number of a stock's is a remainder of its keys.
const SUPPLIERS: u64 = 10_000;
const SEED: u64 = 0x6368;

const INT: Type = Type::Int32;
const TEXT: Type = Type::Text;

/// A table that TPC-C lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// Parts of the world.
    Region,
    /// Nations of customers and suppliers.
    Nation,
    /// Whom stocks come from.
    Supplier,
}

impl Added {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Region, Self::Nation, Self::Supplier];

    /// Its name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Nation => "nation",
            Self::Supplier => "supplier",
        }
    }

    /// How many rows it has.
    pub fn rows(self) -> u64 {
        match self {
            Self::Region => REGIONS.len() as u64,
            Self::Nation => NATIONS.len() as u64,
            Self::Supplier => SUPPLIERS,
        }
    }

    fn columns(self) -> &'static [(&'static str, Type)] {
        match self {
            Self::Region => &[("r_regionkey", INT), ("r_name", TEXT)],
            Self::Nation => &[("n_nationkey", INT), ("n_name", TEXT), ("n_regionkey", INT)],
            Self::Supplier => &[
                ("su_suppkey", INT),
                ("su_name", TEXT),
                ("su_address", TEXT),
                ("su_nationkey", INT),
                ("su_phone", TEXT),
                ("su_acctbal", Type::Decimal(2)),
                ("su_comment", TEXT),
            ],
        }
    }

    /// Row `number`, from 0, a function of that alone.
    fn row(self, number: u64, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<()> {
        let int = |value: u64| Value::Int(value as i64);
        match self {
            Self::Region => emit(&[int(number), Value::Text(REGIONS[number as usize])]),
            Self::Nation => {
                let (name, region) = NATIONS[number as usize];
                emit(&[int(code(number)), Value::Text(name), int(region as u64)])
            }
            Self::Supplier => supplier(number, emit),
        }
    }
}

/// The code of digit or letter `number`.
fn code(number: u64) -> u64 {
    match number {
        0..10 => 48 + number,
        10..36 => 55 + number,
        _ => 61 + number,
    }
}

/// One in a hundred has something bad said of it, beside those where chance says it.
fn supplier(number: u64, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<()> {
    let mut stream = Stream::new(SEED, 0, number);
    let mut letters = [0; 140];
    text::letters(&mut stream, &mut letters);
    let mut phone = [0; 15];
    text::digits(&mut stream, &mut phone);
    let (address, comment) = (text::length(&mut stream, 10, 40), text::length(&mut stream, 25, 100));
    if stream.below(100) == 0 {
        letters[40..43].copy_from_slice(b"bad");
    }
    let name = format!("Supplier#{number:09}");
    let nation = code(stream.below(NATIONS.len() as u64));
    emit(&[
        Value::Int(number as i64),
        Value::Text(&name),
        Value::Text(text::text(&letters[..address])),
        Value::Int(nation as i64),
        Value::Text(text::text(&phone)),
        Value::Decimal { unscaled: stream.between(-99_999, 999_999), scale: 2 },
        Value::Text(text::text(&letters[40..40 + comment])),
    ])
}

struct Rows {
    table: Added,
    next: u64,
}

impl RowSource for Rows {
    fn next_row(&mut self, emit: &mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<bool> {
        if self.next == self.table.rows() {
            return Ok(false);
        }
        self.table.row(self.next, emit)?;
        self.next += 1;
        Ok(true)
    }
}

/// Loads the three tables.
pub fn load(conn: &mut dyn Connection, progress: &Progress) -> Result<()> {
    for table in Added::ALL {
        let load = conn.bulk().ok_or_else(|| {
            Error::configuration("this engine has no bulk load, which the workload ch needs".to_string())
        })?;
        load.load(table.name(), table.columns(), &mut Rows { table, next: 0 })?;
        progress.advance(table.rows())?;
    }
    Ok(())
}

/// What the columns of each answer hold, as the comparison wants it: a value that must be the same, a sum, an average.
const COLUMNS: [&str; 22] = [
    "vssaav", "vvvvvvvv", "vvvsv", "vv", "vs", "s", "vvvs", "va", "vvs", "vvvvsvvv", "vs", "vss", "vv", "a", "vvvvs",
    "vvsv", "a", "vvvvvvvs", "s", "vv", "vv", "vvs",
];
/// The number of the column by which the rows of an answer fall.
const FALLING: &str = r#"{"Q3": 3, "Q5": 1, "Q10": 4, "Q11": 1, "Q13": 1, "Q16": 3, "Q18": 7, "Q21": 1}"#;
/// Queries whose rows have one order, on each product.
const IN_ORDER: &str = r#"["Q1", "Q4", "Q7", "Q8", "Q9", "Q12", "Q13", "Q15", "Q20", "Q22"]"#;

/// Writes all rows as they were loaded into files of `folder`, and into `second.json` what the second engine must know.
pub fn export(company: &Company, folder: &Path) -> Result<()> {
    let mut tables = Vec::new();
    let mut described = |name: &str, columns: &[(&str, Type)]| {
        let columns: Vec<String> = columns.iter().map(|(column, kind)| format!("{column} {}", word(*kind))).collect();
        tables.push(format!("{name:?}: {:?}", columns.join(", ")));
    };
    let failed = |error: std::io::Error| Error::configuration(format!("{}: {error}", folder.display()));
    for table in Added::ALL {
        described(table.name(), table.columns());
        write(folder, table.name(), table.columns(), &mut Rows { table, next: 0 })?;
    }
    let progress = Progress::default();
    for table in Table::ALL {
        described(table.name(), table.columns());
        let all = 0..company.rows_of(table);
        let mut source = Source::new(table, all, company.sizes, &company.names, &progress);
        write(folder, table.name(), table.columns(), &mut source)?;
    }
    let columns: Vec<String> =
        COLUMNS.iter().enumerate().map(|(at, columns)| format!("\"Q{}\": {columns:?}", at + 1)).collect();
    let (tables, columns) = (tables.join(", "), columns.join(", "));
    let text = format!(
        "{{\"tables\": {{{tables}}}, \"columns\": {{{columns}}}, \"falling\": {FALLING}, \"in_order\": {IN_ORDER}}}"
    );
    std::fs::write(folder.join("second.json"), text).map_err(failed)
}

fn word(kind: Type) -> &'static str {
    match kind {
        Type::Text => "varchar",
        Type::Timestamp => "timestamp",
        Type::Decimal(4) => "decimal(15,4)",
        Type::Decimal(_) => "decimal(15,2)",
        _ => "bigint",
    }
}

fn write(folder: &Path, name: &str, columns: &[(&str, Type)], rows: &mut dyn RowSource) -> Result<()> {
    let failed = |error: std::io::Error| Error::configuration(format!("{}: {error}", folder.display()));
    let mut out = BufWriter::new(File::create(folder.join(name)).map_err(failed)?);
    while rows.next_row(&mut |row| {
        debug_assert_eq!(row.len(), columns.len());
        row.iter().try_for_each(|value| write_value(value, &mut out)).map_err(failed)?;
        out.write_all(b"\n").map_err(failed)
    })? {}
    out.flush().map_err(failed)
}

/// What is missing is nothing between two bars.
fn write_value(value: &Value<'_>, out: &mut dyn Write) -> Written<()> {
    match value {
        Value::Null => write!(out, "|"),
        Value::Int(number) => write!(out, "{number}|"),
        Value::Float(number) => write!(out, "{number}|"),
        Value::Text(text) => write!(out, "{text}|"),
        Value::Decimal { unscaled, scale } => {
            let (sign, digits) = (if *unscaled < 0 { "-" } else { "" }, unscaled.unsigned_abs());
            let one = 10_u64.pow(u32::from(*scale));
            write!(out, "{sign}{}.{:0width$}|", digits / one, digits % one, width = usize::from(*scale))
        }
        Value::Timestamp(micros) => {
            let (seconds, [year, month, day]) =
                (micros.rem_euclid(86_400_000_000) / 1_000_000, date_of(micros.div_euclid(86_400_000_000)));
            let [hour, minute, second] = [seconds / 3600, seconds / 60 % 60, seconds % 60];
            write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}|")
        }
    }
}

/// Year, month and day of a day since 1970.
fn date_of(day: i64) -> [i64; 3] {
    let (mut year, mut left) = (1970, day);
    let leap = |year: i64| i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    while left >= 365 + leap(year) {
        left -= 365 + leap(year);
        year += 1;
    }
    let mut month = 0;
    let lengths = [31, 28 + leap(year), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while left >= lengths[month] {
        left -= lengths[month];
        month += 1;
    }
    [year, month as i64 + 1, left + 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        assert_eq!([date_of(0), date_of(59), date_of(20_454)], [[1970, 1, 1], [1970, 3, 1], [2026, 1, 1]]);
        assert_eq!([date_of(19_782), date_of(19_783)], [[2024, 2, 29], [2024, 3, 1]]);
    }

    #[test]
    fn nations_have_the_codes_of_digits_and_letters() {
        let codes: Vec<u8> = (0..62).map(|number| code(number) as u8).collect();
        assert_eq!(codes, b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
        assert!(NATIONS.iter().all(|(_, region)| *region < REGIONS.len()));
    }
}
