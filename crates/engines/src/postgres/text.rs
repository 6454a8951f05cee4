//! Statements that are parsed at every execution: one Query with the values written into its text, and rows of text
//! in return. The server has less to do for it than for Parse, Bind, Execute and Sync.

use std::io::Write;

use dsbench_core::engine::Statement;
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::lexer::{Kind, Rules};
use dsbench_core::value::{Rows, Type, Value};

use super::statement::{close, whole};
use super::types::decode_row_by;
use crate::datetime::Moment;
use crate::decimal;
use crate::misuse::{fits, misfit, wrong_count};
use crate::net::RowError;

/// A statement as text, cut at its placeholders.
#[derive(PartialEq)]
pub struct Template {
    /// What stands before each placeholder, and the parameter that it names.
    pieces: Box<[(Box<str>, usize)]>,
    end: Box<str>,
    params: Box<[Type]>,
    /// Declared types of the result's columns.
    pub columns: Box<[Type]>,
}

impl Template {
    /// Error `Statement` when the statement names a parameter that it does not declare, `Syntax` where it holds a zero
    /// byte.
    pub fn new(statement: &Statement<'_>) -> Result<Self> {
        let Statement { sql, params, columns } = *statement;
        whole(sql)?;
        let (mut pieces, mut start) = (Vec::new(), 0);
        for (_, place) in Rules::Standard.tokens(sql).filter(|(kind, _)| *kind == Kind::Place) {
            // What the protocol could not name is no parameter.
            let named = sql[place.start + 1..place.end].parse::<u16>().unwrap_or(0);
            let Some(number) = usize::from(named).checked_sub(1) else { continue };
            if number >= params.len() {
                let message = format!("the statement names ${} and declares {} parameters", number + 1, params.len());
                return Err(Error::with(ErrorKind::Statement, "prepare", message));
            }
            pieces.push((sql[start..place.start].into(), number));
            start = place.end;
        }
        Ok(Self { pieces: pieces.into(), end: sql[start..].into(), params: params.into(), columns: columns.into() })
    }

    /// Refills `out` with one execution; `ahead` goes before it, in the same message.
    #[inline]
    pub fn flight(&self, ahead: &str, out: &mut Vec<u8>, params: &[Value<'_>]) -> Result<()> {
        if params.len() != self.params.len() {
            return Err(wrong_count(params.len(), self.params.len()));
        }
        out.clear();
        out.extend_from_slice(b"Q\0\0\0\0");
        out.extend_from_slice(ahead.as_bytes());
        for (piece, number) in &self.pieces {
            out.extend_from_slice(piece.as_bytes());
            literal(out, self.params[*number], &params[*number])?;
        }
        out.extend_from_slice(self.end.as_bytes());
        out.push(0);
        close(out, 0)
    }
}

/// Appends a value as a constant of the declared type: a text with a cast is one from the beginning, where a number
/// with a cast would be converted by the planner. Error `Statement` when it does not fit the type.
fn literal(out: &mut Vec<u8>, kind: Type, value: &Value<'_>) -> Result<()> {
    let written = match (kind, *value) {
        (_, Value::Null) => {
            out.extend_from_slice(b"NULL");
            true
        }
        (Type::Int32, Value::Int(v)) if fits(kind, v) => {
            // The only type that a short number has by itself. Two dashes would begin a comment.
            out.extend_from_slice(if v < 0 { b"(" } else { b"" });
            decimal::encode(out, v, 0);
            out.extend_from_slice(if v < 0 { b")" } else { b"" });
            return Ok(());
        }
        (Type::Int16 | Type::Int64, Value::Int(v)) if fits(kind, v) => quoted(out, |out| decimal::encode(out, v, 0)),
        (Type::Decimal(_), Value::Int(v)) => quoted(out, |out| decimal::encode(out, v, 0)),
        (Type::Decimal(_), Value::Decimal { unscaled, scale }) => {
            quoted(out, |out| decimal::encode(out, unscaled, scale))
        }
        // Writing into memory cannot fail.
        (Type::Float64, Value::Float(v)) => quoted(out, |out| drop(write!(out, "{v:e}"))),
        (Type::Text, Value::Text(v)) => text(out, v),
        (Type::Timestamp, Value::Timestamp(v)) => {
            Moment::at(v).is_some_and(|moment| quoted(out, |out| moment.write(out)))
        }
        _ => false,
    };
    if !written {
        return Err(misfit(kind, value));
    }
    out.extend_from_slice(match kind {
        Type::Int16 => b"::smallint",
        Type::Int32 => b"::integer",
        Type::Int64 => b"::bigint",
        Type::Float64 => b"::double precision",
        Type::Decimal(_) => b"::numeric",
        Type::Text => b"::text",
        Type::Timestamp => b"::timestamp",
    });
    Ok(())
}

fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> bool {
    out.push(b'\'');
    write(out);
    out.push(b'\'');
    true
}

/// Appends a string; false when it holds a zero byte, which the server has no text for. A backslash means the same in
/// `E'…'` whatever the settings of the session.
fn text(out: &mut Vec<u8>, text: &str) -> bool {
    if text.contains('\\') {
        out.push(b'E');
    }
    quoted(out, |out| {
        for byte in text.bytes() {
            if matches!(byte, b'\'' | b'\\') {
                out.push(byte);
            }
            out.push(byte);
        }
    }) && !text.contains('\0')
}

/// Adds the row in the body of a DataRow to `into`, by the declared types.
#[inline]
pub fn decode_row(body: &[u8], columns: &[Type], into: &mut Rows) -> std::result::Result<(), RowError> {
    decode_row_by(decode, body, columns, into)
}

/// The value in `bytes`, or `None` when they are not of the declared type.
fn decode(kind: Type, bytes: &[u8]) -> Option<Value<'_>> {
    let text = || std::str::from_utf8(bytes).ok();
    Some(match kind {
        Type::Int16 | Type::Int32 | Type::Int64 => Value::Int(decimal::decode(bytes, 0)?),
        Type::Float64 => Value::Float(text()?.parse().ok()?),
        Type::Decimal(scale) => Value::Decimal { unscaled: decimal::decode(bytes, scale)?, scale },
        Type::Text => Value::Text(text()?),
        Type::Timestamp => Value::Timestamp(moment(bytes)?),
    })
}

/// A time in microseconds since 1970; one with a zone in universal time.
fn moment(text: &[u8]) -> Option<i64> {
    let zone = text.iter().skip(19).position(|byte| matches!(byte, b'+' | b'-')).map_or(text.len(), |at| at + 19);
    let at = Moment::read(&text[..zone])?.since_1970()?;
    let [sign, offset @ ..] = &text[zone..] else { return Some(at) };
    let mut seconds = 0;
    for (part, unit) in offset.split(|byte| *byte == b':').zip([3600, 60, 1]) {
        seconds += decimal::decode(part, 0)? * unit;
    }
    Some(at - seconds * if *sign == b'-' { -1_000_000 } else { 1_000_000 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(sql: &str, params: &[Type], values: &[Value<'_>]) -> Result<String> {
        let mut out = b"before".to_vec();
        Template::new(&Statement { sql, params, columns: &[] })?.flight("", &mut out, values)?;
        assert_eq!((out[0], u32::from_be_bytes([out[1], out[2], out[3], out[4]]) as usize), (b'Q', out.len() - 1));
        assert_eq!(out.pop(), Some(0));
        Ok(String::from_utf8(out.split_off(5)).unwrap())
    }

    #[test]
    fn values_become_constants_of_the_declared_types() {
        for (kind, value, expected) in [
            (Type::Int32, Value::Int(7), "7"),
            (Type::Int32, Value::Int(i32::MIN.into()), "(-2147483648)"),
            (Type::Int64, Value::Int(-7), "'-7'::bigint"),
            (Type::Int16, Value::Null, "NULL::smallint"),
            (Type::Decimal(2), Value::Decimal { unscaled: -5, scale: 2 }, "'-0.05'::numeric"),
            (Type::Float64, Value::Float(-0.1), "'-1e-1'::double precision"),
            (Type::Float64, Value::Float(f64::INFINITY), "'inf'::double precision"),
            (Type::Text, Value::Text("it's \" grün"), "'it''s \" grün'::text"),
            (Type::Text, Value::Text("a\\'"), "E'a\\\\'''::text"),
            (Type::Timestamp, Value::Timestamp(1), "'1970-01-01 00:00:00.000001'::timestamp"),
        ] {
            let found = flight("SELECT -$1, '$1' -- done", &[kind], &[value]).unwrap();
            assert_eq!(found, format!("SELECT -{expected}, '$1' -- done"));
        }
        let twice = flight("$2+$1 $2", &[Type::Int32; 2], &[Value::Int(1), Value::Int(2)]).unwrap();
        assert_eq!(twice, "2+1 2");
        let begun = Template::new(&Statement { sql: "SELECT 1", params: &[], columns: &[] }).unwrap();
        let mut out = Vec::new();
        begun.flight("BEGIN;", &mut out, &[]).unwrap();
        assert_eq!(out, b"Q\0\0\0\x13BEGIN;SELECT 1\0");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (kind, value) in [
            (Type::Int16, Value::Int(32_768)),
            (Type::Int32, Value::Int(i64::MAX)),
            (Type::Text, Value::Int(1)),
            (Type::Text, Value::Text("a\0b")),
            (Type::Timestamp, Value::Timestamp(i64::MAX)),
        ] {
            assert_eq!(flight("SELECT $1", &[kind], &[value]).unwrap_err().kind, ErrorKind::Statement, "{value:?}");
        }
        assert!(flight("SELECT $1", &[Type::Text], &[]).is_err());
        assert!(flight("SELECT $2", &[Type::Text], &[Value::Null]).unwrap_err().to_string().contains("names $2"));
        assert_eq!(flight("SELECT 1\0", &[], &[]).unwrap_err().kind, ErrorKind::Syntax);
    }

    #[test]
    fn text_is_read_by_the_declared_types() {
        for (kind, text, expected) in [
            (Type::Int64, "-9223372036854775808", Some(Value::Int(i64::MIN))),
            (Type::Float64, "-Infinity", Some(Value::Float(f64::NEG_INFINITY))),
            (Type::Float64, "1e-05", Some(Value::Float(0.00001))),
            (Type::Decimal(2), "12.5", Some(Value::Decimal { unscaled: 1250, scale: 2 })),
            (Type::Text, "grün", Some(Value::Text("grün"))),
            (Type::Timestamp, "1970-01-01 00:00:01.5", Some(Value::Timestamp(1_500_000))),
            (Type::Timestamp, "1970-01-01 05:30:00+05:30", Some(Value::Timestamp(0))),
            (Type::Timestamp, "1969-12-31 23:59:59.25-00:00:01", Some(Value::Timestamp(250_000))),
            (Type::Timestamp, "infinity", None),
            (Type::Timestamp, "1970-01-01 00:00:00+", None),
            (Type::Int32, "t", None),
            (Type::Decimal(2), "NaN", None),
        ] {
            assert_eq!(decode(kind, text.as_bytes()), expected, "{text}");
        }
        assert_eq!(decode(Type::Text, b"\xff"), None);
    }
}
