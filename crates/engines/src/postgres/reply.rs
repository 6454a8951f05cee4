//! Reads the bodies of replies: errors, tags of commands, descriptions of rows.

use std::io;

use dsbench_core::error::{Code, Error, ErrorKind};

use super::input::garbage;
use super::sqlstate;

/// What the server said was wrong; the fields lie in the buffer of the connection.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Complaint<'a> {
    severity: &'a [u8],
    /// SQLSTATE, five letters.
    pub code: &'a [u8],
    message: &'a [u8],
    detail: &'a [u8],
    hint: &'a [u8],
    position: &'a [u8],
    place: &'a [u8],
}

impl<'a> Complaint<'a> {
    /// Reads the body of an ErrorResponse. Whatever cannot be read is left empty.
    pub fn read(body: &'a [u8]) -> Self {
        let mut found = Self::default();
        for field in body.split(|byte| *byte == 0) {
            let Some((&kind, text)) = field.split_first() else { break };
            match kind {
                // V is S, but never translated; servers before 9.6 have S only.
                b'S' if found.severity.is_empty() => found.severity = text,
                b'V' => found.severity = text,
                b'C' => found.code = text,
                b'M' => found.message = text,
                b'D' => found.detail = text,
                b'H' => found.hint = text,
                b'P' => found.position = text,
                b'W' => found.place = text,
                _ => {}
            }
        }
        found
    }

    /// True when the server closes the connection after it.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity, b"FATAL" | b"PANIC")
    }

    /// The error of the shared kinds; one that may be retried carries no words and allocates nothing.
    pub fn error(&self, context: &'static str) -> Error {
        let kind = sqlstate::kind(self.code);
        if kind.is_retryable() {
            return Error::new(kind, context).code(self.code).known(sqlstate::remedy(self.code));
        }
        self.error_of_kind(kind, context)
    }

    /// The error with words, and with a kind that the circumstances give.
    #[cold]
    pub fn error_of_kind(&self, kind: ErrorKind, context: &'static str) -> Error {
        Error { code: Code::new(self.code), ..Error::with(kind, context, self.words()) }
            .known(sqlstate::remedy(self.code))
    }

    /// What the server said, in one line.
    pub fn words(&self) -> String {
        let mut words = String::from_utf8_lossy(self.message).into_owned();
        for (name, text) in
            [("detail", self.detail), ("at character", self.position), ("in", self.place), ("hint", self.hint)]
        {
            if !text.is_empty() {
                words.push_str(&format!("; {name}: {}", String::from_utf8_lossy(text)));
            }
        }
        words
    }
}

/// Rows that a command read or changed, by its tag (`INSERT 0 5`, `SELECT 1`); 0 for commands that have none.
#[inline]
pub fn rows_found(tag: &[u8]) -> u64 {
    let digits = tag.strip_suffix(b"\0").unwrap_or(tag);
    let start = digits.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    digits[start..].iter().fold(0, |sum: u64, digit| sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

/// Takes fields of a message off its front, one after the other.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next `count` bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> io::Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(|| garbage("a message that ends too early"))?;
        self.0 = rest;
        Ok(bytes)
    }

    /// The next 16-bit number.
    #[inline]
    pub fn int16(&mut self) -> io::Result<i16> {
        self.bytes(2).map(|b| i16::from_be_bytes([b[0], b[1]]))
    }

    /// The next 32-bit number.
    #[inline]
    pub fn int32(&mut self) -> io::Result<i32> {
        self.bytes(4).map(|b| i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// The next value of a row: its length and its bytes, `None` for NULL.
    #[inline]
    pub fn value(&mut self) -> io::Result<Option<&'a [u8]>> {
        match self.int32()? {
            -1 => Ok(None),
            length => usize::try_from(length)
                .map_err(|_| garbage("a negative length"))
                .and_then(|length| self.bytes(length))
                .map(Some),
        }
    }

    /// The next text that ends with a zero byte.
    pub fn text(&mut self) -> io::Result<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or_else(|| garbage("a text without an end"))?;
        let text = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Ok(text)
    }
}

/// Calls `each` with name and type number of every column of a RowDescription.
pub fn columns<'a>(body: &'a [u8], mut each: impl FnMut(&'a [u8], u32)) -> io::Result<()> {
    let mut fields = Fields(body);
    for _ in 0..fields.int16()? {
        let name = fields.text()?;
        // Table number and column number go before the type; length, modifier and format follow it.
        fields.bytes(6)?;
        let oid = fields.int32()? as u32;
        fields.bytes(8)?;
        each(name, oid);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_read_field_by_field() {
        let body = b"SFEHLER\0VERROR\0C42601\0Msyntax error\0Hlook\0P7\0\0";
        let complaint = Complaint::read(body);
        assert!(!complaint.is_fatal());
        let error = complaint.error("execute");
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Syntax, "42601"));
        assert_eq!(format!("{error:#}"), "execute: syntax error; at character: 7; hint: look (42601)");
        assert!(Complaint::read(b"SFATAL\0C57P01\0Mbye\0\0").is_fatal());
    }

    #[test]
    fn an_error_that_may_be_retried_has_no_words() {
        let error = Complaint::read(b"SERROR\0VERROR\0C40001\0Mcould not serialize\0\0").error("execute");
        assert_eq!((error.kind, error.message), (ErrorKind::Serialization, None));
    }

    #[test]
    fn damaged_errors_are_read_as_far_as_they_go() {
        let body = b"SERROR\0C23505\0Mdouble\0\0";
        for end in 0..body.len() {
            let _ = Complaint::read(&body[..end]).error("execute").to_string();
        }
        assert_eq!(Complaint::read(b"").error("execute").kind, ErrorKind::Statement);
    }

    #[test]
    fn tags_give_the_rows_that_were_read_or_changed() {
        for (tag, rows) in [
            (&b"INSERT 0 5\0"[..], 5),
            (b"UPDATE 12\0", 12),
            (b"DELETE 0\0", 0),
            (b"MERGE 3\0", 3),
            (b"COPY 100000\0", 100_000),
            (b"SELECT 7\0", 7),
            (b"CREATE TABLE\0", 0),
            (b"INSERT \0", 0),
            (b"", 0),
        ] {
            assert_eq!(rows_found(tag), rows, "{tag:?}");
        }
    }

    #[test]
    fn fields_never_read_past_the_end() {
        let body = [0, 1, b'n', 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 23, 0, 4, 255, 255, 255, 255, 0, 0];
        let mut found = Vec::new();
        columns(&body, |name, oid| found.push((name, oid))).unwrap();
        assert_eq!(found, [(&b"n"[..], 23)]);
        for end in 0..body.len() {
            assert!(columns(&body[..end], |_, _| ()).is_err(), "{end}");
        }
        assert!(Fields(&[255, 255, 255, 254]).value().is_err());
        assert!(Fields(&[127, 255, 255, 255, 1]).value().is_err());
        assert_eq!(Fields(&[255, 255, 255, 255]).value().unwrap(), None);
    }
}
