//! Values that go to a database and rows that come back, without an allocation per call.

use crate::error::{Error, ErrorKind, Result};

/// The type of a parameter, of a result column or of a column to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// 16-bit integer.
    Int16,
    /// 32-bit integer.
    Int32,
    /// 64-bit integer.
    Int64,
    /// Double precision number.
    Float64,
    /// Exact decimal number with this many digits after the point.
    Decimal(u8),
    /// Text, UTF-8.
    Text,
    /// Point in time without a zone.
    Timestamp,
}

/// A value on its way to the database.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// An integer; also fits the narrower integer types.
    Int(i64),
    /// A double precision number.
    Float(f64),
    /// `unscaled` · 10^−`scale`, exactly.
    Decimal {
        /// All digits, without the point.
        unscaled: i64,
        /// Digits after the point.
        scale: u8,
    },
    /// Text.
    Text(&'a str),
    /// Microseconds since 1970-01-01 00:00:00, without a zone.
    Timestamp(i64),
}

/// One cell of a result; text lies in the buffer of its [`Rows`].
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell {
    Null,
    Int(i64),
    Float(f64),
    Decimal { unscaled: i64, scale: u8 },
    Text { start: usize, end: usize },
    Timestamp(i64),
}

/// The rows of one result. It is kept and refilled, so that a query allocates nothing once its
/// buffers have grown.
#[derive(Debug, Default, Clone)]
pub struct Rows {
    cells: Vec<Cell>,
    text: Vec<u8>,
    width: usize,
}

impl Rows {
    /// An empty result.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties it and says how many columns a row has.
    #[inline]
    pub fn reset(&mut self, width: usize) {
        self.cells.clear();
        self.text.clear();
        self.width = width;
    }

    /// Adds one cell at the end; engines call it column by column, row by row.
    #[inline]
    pub fn push(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::Null => Cell::Null,
            Value::Int(v) => Cell::Int(v),
            Value::Float(v) => Cell::Float(v),
            Value::Decimal { unscaled, scale } => Cell::Decimal { unscaled, scale },
            Value::Timestamp(v) => Cell::Timestamp(v),
            Value::Text(v) => {
                let start = self.text.len();
                self.text.extend_from_slice(v.as_bytes());
                Cell::Text { start, end: self.text.len() }
            }
        };
        self.cells.push(cell);
    }

    /// Number of complete rows.
    pub fn len(&self) -> usize {
        self.cells.len().checked_div(self.width).unwrap_or(0)
    }

    /// True when there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that it takes, about.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.cells.len() * size_of::<Cell>() + self.text.len()
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The cell at `row` and `column`, both from 0; an error of kind `Statement` when there is none.
    pub fn get(&self, row: usize, column: usize) -> Result<Value<'_>> {
        let found = (column < self.width).then(|| self.cells.get(row * self.width + column)).flatten();
        let cell = found.ok_or_else(|| {
            let message = format!("row {row}, column {column} of {} rows, {} columns", self.len(), self.width);
            Error::with(ErrorKind::Statement, "read result", message)
        })?;
        Ok(match *cell {
            Cell::Null => Value::Null,
            Cell::Int(v) => Value::Int(v),
            Cell::Float(v) => Value::Float(v),
            Cell::Decimal { unscaled, scale } => Value::Decimal { unscaled, scale },
            Cell::Timestamp(v) => Value::Timestamp(v),
            Cell::Text { start, end } => Value::Text(std::str::from_utf8(&self.text[start..end]).unwrap_or("\u{fffd}")),
        })
    }

    /// An integer cell; an error of kind `Statement` when it is anything else.
    #[inline]
    pub fn int(&self, row: usize, column: usize) -> Result<i64> {
        if column < self.width {
            if let Some(Cell::Int(v)) = self.cells.get(row * self.width + column) {
                return Ok(*v);
            }
        }
        self.integer(row, column)
    }

    /// The cells that [`Rows::int`] does not see every time.
    #[cold]
    fn integer(&self, row: usize, column: usize) -> Result<i64> {
        match self.get(row, column)? {
            Value::Int(v) => Ok(v),
            Value::Decimal { unscaled, scale: 0 } => Ok(unscaled),
            other => {
                Err(Error::with(ErrorKind::Statement, "read result", format!("expected an integer, got {other:?}")))
            }
        }
    }

    /// A decimal cell as the unscaled integer at `scale` digits; integers are widened.
    pub fn decimal(&self, row: usize, column: usize, scale: u8) -> Result<i64> {
        let (unscaled, from) = match self.get(row, column)? {
            Value::Int(v) => (v, 0),
            Value::Decimal { unscaled, scale } => (unscaled, scale),
            other => {
                return Err(Error::with(
                    ErrorKind::Statement,
                    "read result",
                    format!("expected a decimal, got {other:?}"),
                ))
            }
        };
        let factor = 10_i64.checked_pow(u32::from(scale.abs_diff(from)));
        let exact = factor.and_then(|factor| match scale < from {
            true => (unscaled % factor == 0).then_some(unscaled / factor),
            false => unscaled.checked_mul(factor),
        });
        exact.ok_or_else(|| {
            Error::with(ErrorKind::Statement, "read result", format!("{unscaled}e-{from} does not fit {scale} digits"))
        })
    }

    /// A text cell; an error of kind `Statement` when it is anything else.
    pub fn text(&self, row: usize, column: usize) -> Result<&str> {
        match self.get(row, column)? {
            Value::Text(v) => Ok(v),
            other => Err(Error::with(ErrorKind::Statement, "read result", format!("expected text, got {other:?}"))),
        }
    }
}

/// A result of an administrative query, all text: for monitors and descriptions, not for load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Column names.
    pub columns: Vec<String>,
    /// Rows of cells; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_back_as_they_were_pushed() {
        let mut rows = Rows::new();
        rows.reset(3);
        for value in [
            Value::Int(7),
            Value::Text("grün"),
            Value::Null,
            Value::Decimal { unscaled: 1250, scale: 2 },
            Value::Text(""),
            Value::Timestamp(5),
        ] {
            rows.push(value);
        }
        assert_eq!((rows.len(), rows.int(0, 0).unwrap(), rows.text(0, 1).unwrap()), (2, 7, "grün"));
        assert_eq!(rows.get(0, 2).unwrap(), Value::Null);
        assert_eq!(
            (rows.decimal(1, 0, 2).unwrap(), rows.decimal(1, 0, 4).unwrap(), rows.decimal(1, 0, 1).unwrap()),
            (1250, 125_000, 125)
        );
        assert!(rows.decimal(1, 0, 0).is_err() && rows.decimal(1, 0, 255).is_err(), "12.50 is no integer");
        assert!(rows.int(2, 0).is_err() && rows.get(0, 3).is_err());
    }
}
