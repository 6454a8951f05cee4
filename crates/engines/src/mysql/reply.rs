//! What a server answers: done, an error, or rows; and who takes the rows.

use std::io;

use dsbench_core::error::{Code, Error, ErrorKind};

use super::codes;
use super::fields::{garbage, Fields};
use crate::net::RowError;

/// First byte of "done"; in an answer to a prepared statement also that of a row.
pub(super) const OK: u8 = 0x00;
/// First byte of an error.
pub(super) const ERROR: u8 = 0xff;
/// First byte of the end of rows (capability DEPRECATE_EOF) and of a request to change the login's method.
pub(super) const END: u8 = 0xfe;

/// Flag of the status: a transaction is open.
pub(super) const IN_TRANSACTION: u16 = 0x0001;
/// Flag of the status: another result follows.
pub(super) const MORE_RESULTS: u16 = 0x0008;

/// What a server says at the end of a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Rows that were changed; with the capability FOUND_ROWS those that were found.
    pub(super) rows: u64,
    /// Flags of the session.
    pub(super) status: u16,
    /// Number of warnings.
    pub(super) warnings: u16,
}

impl Done {
    /// Reads what follows the first byte of "done" or of the end of rows.
    #[inline]
    pub(super) fn read(rest: &[u8]) -> io::Result<Self> {
        let mut fields = Fields(rest);
        let rows = fields.length()?;
        let _last_insert_id = fields.length()?;
        Ok(Self { rows, status: fields.int16()?, warnings: fields.int16()? })
    }
}

/// What a server complains about.
pub(super) struct Complaint<'a> {
    /// Number of the error.
    pub(super) number: u16,
    message: &'a [u8],
}

impl<'a> Complaint<'a> {
    /// Reads what follows the first byte of an error.
    pub(super) fn read(rest: &'a [u8]) -> io::Result<Self> {
        let mut fields = Fields(rest);
        let number = fields.int16()?;
        // The SQLSTATE is left out before the login, and says less than the number.
        let message = match fields.0 {
            [b'#', _, _, _, _, _, message @ ..] => message,
            message => message,
        };
        Ok(Self { number, message })
    }

    /// The words of the server.
    pub(super) fn words(&self) -> String {
        String::from_utf8_lossy(self.message).into_owned()
    }

    /// The error of a statement. One that can be retried gets no words: there are thousands a second.
    pub(super) fn error(&self, context: &'static str) -> Error {
        let kind = codes::kind(self.number);
        if kind.is_retryable() {
            return Error { code: Code::number(self.number.into()), ..Error::new(kind, context) }
                .known(codes::remedy(self.number));
        }
        self.error_of_kind(kind, context)
    }

    /// The error with words, as one of `kind`.
    #[cold]
    pub(super) fn error_of_kind(&self, kind: ErrorKind, context: &'static str) -> Error {
        Error { code: Code::number(self.number.into()), ..Error::with(kind, context, self.words()) }
            .known(codes::remedy(self.number))
    }
}

/// Takes the first result with rows of an answer; further ones are skipped.
pub(super) trait Take {
    /// Rows of `count` columns follow. `described` is false when the server leaves the columns out
    /// because they are what they were at the last execution.
    fn begin(&mut self, count: usize, described: bool) -> Result<(), RowError>;

    /// The definition of the next column.
    fn column(&mut self, definition: &[u8]) -> Result<(), RowError>;

    /// The next row.
    fn row(&mut self, content: &[u8]) -> Result<(), RowError>;
}

/// Skips all rows.
pub(super) struct Skip;

impl Take for Skip {
    fn begin(&mut self, _count: usize, _described: bool) -> Result<(), RowError> {
        Ok(())
    }

    fn column(&mut self, _definition: &[u8]) -> Result<(), RowError> {
        Ok(())
    }

    fn row(&mut self, _content: &[u8]) -> Result<(), RowError> {
        Ok(())
    }
}

/// Skips all rows and counts them.
pub(super) struct Count(pub(super) u64);

impl Take for Count {
    fn begin(&mut self, _count: usize, _described: bool) -> Result<(), RowError> {
        Ok(())
    }

    fn column(&mut self, _definition: &[u8]) -> Result<(), RowError> {
        Ok(())
    }

    fn row(&mut self, _content: &[u8]) -> Result<(), RowError> {
        self.0 += 1;
        Ok(())
    }
}

/// What of a column's definition decides how its values are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Column {
    /// Number of the type.
    pub(super) kind: u8,
    /// Whether an integer has no sign.
    pub(super) unsigned: bool,
}

impl Column {
    /// Reads a definition from its end, which has a fixed length; the names before it take their time.
    #[inline]
    pub(super) fn read(definition: &[u8]) -> io::Result<Self> {
        // Length of what follows (12), character set 2, width 4, type 1, flags 2, decimals 1, filler 2.
        match definition {
            [.., 12, _, _, _, _, _, _, kind, flags, _, _, _, _] => {
                Ok(Self { kind: *kind, unsigned: flags & 0x20 != 0 })
            }
            _ => Err(garbage("a damaged definition of a column")),
        }
    }
}

/// The name of a column in its definition.
pub(super) fn column_name(definition: &[u8]) -> io::Result<&[u8]> {
    let mut fields = Fields(definition);
    // Catalogue, schema, alias of the table, table.
    for _ in 0..4 {
        fields.value()?;
    }
    Ok(fields.value()?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retryable_errors_have_no_words_and_others_have_the_remedy() {
        let deadlock = Complaint::read(b"\xbd\x04#40001Deadlock found").unwrap().error("execute");
        assert_eq!((deadlock.kind, deadlock.code.as_str(), deadlock.message), (ErrorKind::Deadlock, "1213", None));
        let early = Complaint::read(b"\x10\x04Too many connections").unwrap().error("connect");
        assert_eq!(early.kind, ErrorKind::Setup);
        assert_eq!(
            format!("{early:#}"),
            "connect: Too many connections (1040); use fewer --clients, or raise max_connections of the server"
        );
    }

    #[test]
    fn a_definition_is_read_from_both_ends() {
        let mut definition = b"\x03def\x07dsbench\x01a\x07account\x08abalance\x08abalance".to_vec();
        definition.extend_from_slice(&[12, 63, 0, 20, 0, 0, 0, 8, 0x21, 0x10, 0, 0, 0]);
        assert_eq!(Column::read(&definition).unwrap(), Column { kind: 8, unsigned: true });
        assert_eq!(column_name(&definition).unwrap(), b"abalance");
        assert!(Column::read(&definition[..definition.len() - 1]).is_err());
    }
}
