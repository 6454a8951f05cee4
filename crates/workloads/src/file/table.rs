//! The tables that are populated: how many rows each has, and what makes the values of its columns.

use dsbench_core::error::Result;
use dsbench_core::random::mix;
use dsbench_core::value::{Type, Value};
use dsbench_script::{meant, Slot};

use super::columns::Made;
use super::csv;
use super::expression::{Expression, Scope};
use super::moments::timestamp;
use super::reading::{Files, Node};
use crate::catalogue::Promised;

const KNOWN: &[&str] = &["rows", "columns", "load"];
/// Most columns that are populated.
pub(super) const MOST_COLUMNS: usize = 64;
/// Longest text that is made.
const LONGEST: f64 = 8000.0;
const MOST_ROWS: i64 = 1 << 40;

/// A table with its rows.
pub(super) struct Table {
    pub(super) name: String,
    pub(super) rows: u64,
    pub(super) columns: Vec<Column>,
    pub(super) seed: u64,
    /// See [`Made::plain`].
    pub(super) plain: bool,
    /// Rows that come from a file, in place of those that are made.
    pub(super) loaded: Vec<Vec<Option<String>>>,
}

/// A column with what makes its values.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Type,
    pub(super) null: f64,
    pub(super) generator: Generator,
}

/// What makes the values of a column.
pub(super) enum Generator {
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

/// The first number of a sequence.
fn start(node: Node<'_>, scope: &Scope) -> Result<i64> {
    let first = scope.whole(node)?;
    let wrong = || node.wrong(format!("{first} and {MOST_ROWS} numbers after it are more than a bigint holds"));
    first.checked_add(MOST_ROWS).map(|_| first).ok_or_else(wrong)
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
            let first = first.map(|(_, node)| start(node, scope)).next().transpose()?;
            referred.push(Referred { name, rows: rows as u64, first });
        }
        let mut all = Vec::new();
        for (at, (name, node)) in entries.iter().enumerate() {
            let Some(made) = made.iter().find(|made| made.name.eq_ignore_ascii_case(name)) else {
                let meant = meant(name, made.iter().map(|made| made.name.as_str()));
                return Err(node.wrong(format!("no statement of the schema makes a table {name}{meant}")));
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

    /// The number of a column. Errors at `node`.
    pub(super) fn number_of(&self, node: Node<'_>, name: &str) -> Result<usize> {
        let found = self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| node.wrong(format!("the table {} has no column {name} that is populated", self.name)))
    }

    /// Numbers of the columns that name a row: of its key as `promised`, or of a sequence, all of whole numbers.
    pub(super) fn keys(&self, promised: &Promised) -> Option<Vec<usize>> {
        let whole = |at: &usize| matches!(self.columns[*at].kind, Type::Int16 | Type::Int32 | Type::Int64);
        let position = |name: &String| self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let key = promised.key_of(&self.name).and_then(|names| names.iter().map(position).collect::<Option<Vec<_>>>());
        let sequence = |at: &usize| matches!(self.columns[*at].generator, Generator::Sequence(_)) && whole(at);
        let sequence = || (0..self.columns.len()).find(sequence).map(|at| vec![at]);
        key.filter(|key| key.iter().all(whole)).or_else(sequence)
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
    let meant = || meant(name, made.columns.iter().map(|(known, _)| known.as_str()));
    let no_column = || node.wrong(format!("the table {} has no column {name}{}", made.name, meant()));
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
            "sequence" => Generator::Sequence(start(of, scope)?),
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
    pub(super) fn of_whole(&self, number: i64, units: bool) -> Value<'static> {
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

/// A value of a type out of its text.
pub(super) fn read(kind: Type, text: &str) -> Option<Value<'_>> {
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
