//! Takes the rows of an answer: of a prepared statement, of one sent as text, of an administrative query.

use dsbench_core::value::{Rows, Table, Type};

use super::fields::{garbage, Fields};
use super::reply::{column_name, Column, Take};
use super::types::{readable, wrong_column};
use super::{binary, text};
use crate::misuse::wrong_width;
use crate::net::{check_size, RowError};

/// Rows of a prepared statement.
pub(super) struct BinaryRows<'a> {
    /// Types that the statement declares.
    pub(super) kinds: &'a [Type],
    /// Columns as the server described them last; kept for when it leaves that out.
    pub(super) columns: &'a mut Vec<Column>,
    /// Where the rows go.
    pub(super) into: &'a mut Rows,
}

impl Take for BinaryRows<'_> {
    #[inline]
    fn begin(&mut self, count: usize, described: bool) -> Result<(), RowError> {
        if described {
            self.columns.clear();
        } else if count != self.columns.len() {
            return Err(garbage("other columns than it has described").into());
        }
        if count != self.kinds.len() {
            return Err(RowError::Statement(wrong_width(self.kinds.len(), count)));
        }
        // Those that come now are looked at one by one.
        self.columns.iter().enumerate().try_for_each(|(at, column)| fits(self.kinds, at, *column))
    }

    #[inline]
    fn column(&mut self, definition: &[u8]) -> Result<(), RowError> {
        let column = Column::read(definition)?;
        self.columns.push(column);
        fits(self.kinds, self.columns.len() - 1, column)
    }

    #[inline]
    fn row(&mut self, content: &[u8]) -> Result<(), RowError> {
        binary::decode_row(content, self.columns, self.kinds, self.into)
    }
}

/// Rows of a statement sent as text.
pub(super) struct TextRows<'a> {
    /// Types that the statement declares.
    pub(super) kinds: &'a [Type],
    /// Where the rows go.
    pub(super) into: &'a mut Rows,
}

impl Take for TextRows<'_> {
    fn begin(&mut self, count: usize, _described: bool) -> Result<(), RowError> {
        match count == self.kinds.len() {
            true => Ok(()),
            false => Err(RowError::Statement(wrong_width(self.kinds.len(), count))),
        }
    }

    /// The values are text whatever the column's type: they are read as what is declared.
    fn column(&mut self, _definition: &[u8]) -> Result<(), RowError> {
        Ok(())
    }

    #[inline]
    fn row(&mut self, content: &[u8]) -> Result<(), RowError> {
        text::decode_row(content, self.kinds, self.into)
    }
}

/// A result that is all text.
#[derive(Default)]
pub(super) struct TableRows {
    /// The result.
    pub(super) table: Table,
    /// Bytes that it takes, about.
    bytes: usize,
}

impl Take for TableRows {
    fn begin(&mut self, _count: usize, _described: bool) -> Result<(), RowError> {
        Ok(())
    }

    fn column(&mut self, definition: &[u8]) -> Result<(), RowError> {
        self.table.columns.push(String::from_utf8_lossy(column_name(definition)?).into_owned());
        Ok(())
    }

    fn row(&mut self, content: &[u8]) -> Result<(), RowError> {
        self.bytes += content.len() + self.table.columns.len() * size_of::<Option<String>>();
        check_size(self.bytes)?;
        let mut fields = Fields(content);
        let cell = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let row = self.table.columns.iter().map(|_| Ok(fields.value()?.map(cell)));
        self.table.rows.push(row.collect::<std::io::Result<_>>()?);
        Ok(())
    }
}

#[inline]
fn fits(kinds: &[Type], at: usize, column: Column) -> Result<(), RowError> {
    match kinds.get(at) {
        Some(kind) if !readable(*kind, column) => Err(RowError::Statement(wrong_column(at, *kind, column))),
        _ => Ok(()),
    }
}
