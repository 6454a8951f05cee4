//! Statements that are parsed at every execution: SQL with the values written into it, and rows of
//! text in return. That is one round trip; a statement prepared for one execution would be two.

use std::io::Write;

use dsbench_core::engine::Statement;
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::lexer::Rules;
use dsbench_core::value::{Rows, Type, Value};

use super::fields::Fields;
use super::packet;
use super::wire::QUERY;
use crate::datetime::Moment;
use crate::decimal;
use crate::misuse::{fits, misfit, unreadable, wrong_count};
use crate::net::{check_size, RowError};

/// A statement as text, cut at its placeholders.
pub(super) struct Template {
    pieces: Box<[Box<str>]>,
    params: Box<[Type]>,
    /// Declared types of the result's columns.
    pub(super) columns: Box<[Type]>,
}

impl Template {
    /// Error `Statement` when the statement has not as many placeholders as it declares.
    pub(super) fn new(statement: &Statement<'_>) -> Result<Self> {
        let pieces: Box<[Box<str>]> = Rules::MySql.pieces(statement.sql).into_iter().map(Into::into).collect();
        if pieces.len() != statement.params.len() + 1 {
            let message = format!(
                "the statement has {} placeholders and declares {} parameters",
                pieces.len() - 1,
                statement.params.len()
            );
            return Err(Error::with(ErrorKind::Statement, "prepare", message));
        }
        Ok(Self { pieces, params: statement.params.into(), columns: statement.columns.into() })
    }

    /// Refills `out` with one execution.
    #[inline]
    pub(super) fn flight(&self, out: &mut Vec<u8>, params: &[Value<'_>]) -> Result<()> {
        if params.len() != self.params.len() {
            return Err(wrong_count(params.len(), self.params.len()));
        }
        packet::open(out);
        out.push(QUERY);
        out.extend_from_slice(self.pieces[0].as_bytes());
        for ((kind, value), piece) in self.params.iter().zip(params).zip(&self.pieces[1..]) {
            literal(out, *kind, value)?;
            out.extend_from_slice(piece.as_bytes());
        }
        Ok(())
    }
}

/// Appends a value as a literal of SQL. Error `Statement` when it does not fit the declared type.
pub(super) fn literal(out: &mut Vec<u8>, kind: Type, value: &Value<'_>) -> Result<()> {
    match (kind, *value) {
        (_, Value::Null) => out.extend_from_slice(b"NULL"),
        (Type::Int16 | Type::Int32 | Type::Int64, Value::Int(v)) if fits(kind, v) => number(out, v, 0),
        (Type::Decimal(_), Value::Int(v)) => number(out, v, 0),
        (Type::Decimal(_), Value::Decimal { unscaled, scale }) => number(out, unscaled, scale),
        // Writing into memory cannot fail. With an exponent the server takes it for binary, not decimal.
        (Type::Float64, Value::Float(v)) if v.is_finite() => drop(write!(out, "({v:e})")),
        (Type::Text, Value::Text(v)) => quote(out, v),
        (Type::Timestamp, Value::Timestamp(v)) => match Moment::at(v) {
            Some(moment) => {
                out.extend_from_slice(b"TIMESTAMP'");
                moment.write(out);
                out.push(b'\'');
            }
            None => return Err(misfit(kind, value)),
        },
        _ => return Err(misfit(kind, value)),
    }
    Ok(())
}

/// Appends a number; one below zero in brackets, as two dashes may begin a comment.
fn number(out: &mut Vec<u8>, unscaled: i64, scale: u8) {
    if unscaled < 0 {
        out.push(b'(');
    }
    decimal::encode(out, unscaled, scale);
    if unscaled < 0 {
        out.push(b')');
    }
}

/// Appends a string. The session's sql_mode leaves the backslash its meaning, and its character set
/// has no other character with the byte of a quote or a backslash.
fn quote(out: &mut Vec<u8>, text: &str) {
    out.push(b'\'');
    for byte in text.bytes() {
        match byte {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0 => out.extend_from_slice(b"\\0"),
            byte => out.push(byte),
        }
    }
    out.push(b'\'');
}

/// Adds the row in `content` to `into`, by the declared types.
#[inline]
pub(super) fn decode_row(content: &[u8], kinds: &[Type], into: &mut Rows) -> std::result::Result<(), RowError> {
    check_size(into.bytes())?;
    let mut fields = Fields(content);
    for (at, kind) in kinds.iter().enumerate() {
        into.push(match fields.value()? {
            None => Value::Null,
            Some(bytes) => decode(*kind, bytes).ok_or_else(|| RowError::Statement(unreadable(at, *kind, bytes)))?,
        });
    }
    Ok(())
}

/// The value in `bytes`, or `None` when they are not of the declared type.
fn decode(kind: Type, bytes: &[u8]) -> Option<Value<'_>> {
    Some(match kind {
        Type::Int16 | Type::Int32 | Type::Int64 => Value::Int(decimal::decode(bytes, 0)?),
        Type::Float64 => Value::Float(std::str::from_utf8(bytes).ok()?.parse().ok()?),
        Type::Decimal(scale) => Value::Decimal { unscaled: decimal::decode(bytes, scale)?, scale },
        Type::Text => Value::Text(std::str::from_utf8(bytes).ok()?),
        Type::Timestamp => Value::Timestamp(Moment::read(bytes)?.since_1970()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(kind: Type, value: Value<'_>) -> String {
        let statement = Statement { sql: "SELECT ? -- done", params: &[kind], columns: &[] };
        let mut out = Vec::new();
        Template::new(&statement).unwrap().flight(&mut out, &[value]).unwrap();
        assert_eq!(out[4], QUERY);
        String::from_utf8(out[5..].to_vec()).unwrap()
    }

    #[test]
    fn values_become_literals() {
        for (kind, value, expected) in [
            (Type::Int32, Value::Int(7), "7"),
            (Type::Int64, Value::Int(i64::MIN), "(-9223372036854775808)"),
            (Type::Int16, Value::Null, "NULL"),
            (Type::Decimal(2), Value::Decimal { unscaled: -5, scale: 2 }, "(-0.05)"),
            (Type::Float64, Value::Float(-0.1), "(-1e-1)"),
            (Type::Float64, Value::Float(0.0), "(0e0)"),
            (Type::Text, Value::Text("it's \\ \0 grün"), "'it\\'s \\\\ \\0 grün'"),
            (Type::Timestamp, Value::Timestamp(1), "TIMESTAMP'1970-01-01 00:00:00.000001'"),
        ] {
            assert_eq!(sql(kind, value), format!("SELECT {expected} -- done"));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let template = |params: &[Type]| Template::new(&Statement { sql: "SELECT ?", params, columns: &[] });
        assert!(template(&[]).is_err() && template(&[Type::Text; 2]).is_err());
        for (kind, value) in [
            (Type::Int16, Value::Int(32_768)),
            (Type::Int32, Value::Int(i64::MAX)),
            (Type::Float64, Value::Float(f64::INFINITY)),
            (Type::Text, Value::Int(1)),
            (Type::Timestamp, Value::Timestamp(i64::MAX)),
        ] {
            let flight = template(&[kind]).unwrap().flight(&mut Vec::new(), &[value]);
            assert_eq!(flight.unwrap_err().kind, ErrorKind::Statement);
        }
        assert!(template(&[Type::Text]).unwrap().flight(&mut Vec::new(), &[]).is_err());
    }

    #[test]
    fn rows_of_text_are_read_by_the_declared_types() {
        let kinds = [Type::Int64, Type::Float64, Type::Decimal(2), Type::Text, Type::Timestamp, Type::Int16];
        let content = b"\x02-7\x041e-1\x0412.5\x05gr\xc3\xbcn\x131970-01-01 00:00:01\xfb";
        let mut rows = Rows::new();
        rows.reset(kinds.len());
        assert!(decode_row(content, &kinds, &mut rows).is_ok());
        let expected = [
            Value::Int(-7),
            Value::Float(0.1),
            Value::Decimal { unscaled: 1250, scale: 2 },
            Value::Text("grün"),
            Value::Timestamp(1_000_000),
            Value::Null,
        ];
        for (at, value) in expected.into_iter().enumerate() {
            assert_eq!(rows.get(0, at).unwrap(), value);
        }
        assert!(decode_row(b"\x03abc", &[Type::Int64], &mut rows).is_err());
    }
}
