//! Prepared statements: everything of a message that does not change is written once.

use std::ops::Range;

use dsbench_core::engine::Statement;
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};

use super::types;
use crate::misuse::wrong_count;

/// What follows the parameters: all results in binary, then Execute without a row limit, then Sync.
const TAIL: &[u8] = b"\0\x01\0\x01E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

/// What ends a flight.
pub const SYNC: &[u8] = b"S\0\0\0\x04";

/// A statement of all connections whose server knows it by the same name.
#[derive(PartialEq)]
pub struct Prepared {
    /// The whole flight with room for values, where all parameters have a fixed width: the values of
    /// an execution are written into a copy. Most load is such statements.
    pattern: Option<Pattern>,
    /// Bind as far as the parameters.
    head: Box<[u8]>,
    params: Box<[Type]>,
    /// Declared types of the result's columns.
    pub columns: Box<[Type]>,
}

impl Prepared {
    /// A statement that the server shall know by `name`.
    pub fn new(statement: &Statement<'_>, name: &str) -> Result<Self> {
        let mut head = b"B\0\0\0\0\0".to_vec();
        head.extend_from_slice(name.as_bytes());
        // One format for all parameters, binary; then their number.
        head.extend_from_slice(&[0, 0, 1, 0, 1]);
        head.extend_from_slice(&count(statement.params)?);
        let pattern = Pattern::new(&head, statement.params)?;
        let (params, columns) = (statement.params.into(), statement.columns.into());
        Ok(Self { pattern, head: head.into(), params, columns })
    }

    /// Refills `out` with `before`, messages that go ahead, and the whole flight of one execution.
    #[inline]
    pub fn flight(&self, before: &[u8], out: &mut Vec<u8>, params: &[Value<'_>]) -> Result<()> {
        if params.len() != self.params.len() {
            return Err(wrong_count(params.len(), self.params.len()));
        }
        match &self.pattern {
            Some(pattern) if pattern.flight(before, out, &self.params, params) => Ok(()),
            _ => self.flight_of_any(before, out, params),
        }
    }

    /// The long way, for values of any width.
    fn flight_of_any(&self, before: &[u8], out: &mut Vec<u8>, params: &[Value<'_>]) -> Result<()> {
        out.clear();
        out.extend_from_slice(before);
        out.extend_from_slice(&self.head);
        for (kind, value) in self.params.iter().zip(params) {
            types::encode(out, *kind, value)?;
        }
        out.extend_from_slice(&TAIL[..4]);
        close(out, before.len())?;
        out.extend_from_slice(&TAIL[4..]);
        Ok(())
    }
}

/// A flight whose length is the same for all values.
#[derive(PartialEq)]
struct Pattern {
    flight: Box<[u8]>,
    /// Where each value lies.
    values: Box<[Range<usize>]>,
}

impl Pattern {
    /// The pattern after `head`; `None` when a parameter has no fixed width.
    fn new(head: &[u8], params: &[Type]) -> Result<Option<Self>> {
        let mut flight = head.to_vec();
        let mut values = Vec::with_capacity(params.len());
        for kind in params {
            let Some(width) = types::width(*kind) else { return Ok(None) };
            flight.extend_from_slice(&(width as i32).to_be_bytes());
            values.push(flight.len()..flight.len() + width);
            flight.resize(flight.len() + width, 0);
        }
        flight.extend_from_slice(&TAIL[..4]);
        close(&mut flight, 0)?;
        flight.extend_from_slice(&TAIL[4..]);
        Ok(Some(Self { flight: flight.into(), values: values.into() }))
    }

    /// Refills `out`; false when a value is NULL or does not fit, which the long way knows to handle.
    #[inline]
    fn flight(&self, before: &[u8], out: &mut Vec<u8>, kinds: &[Type], params: &[Value<'_>]) -> bool {
        out.clear();
        out.extend_from_slice(before);
        out.extend_from_slice(&self.flight);
        let own = &mut out[before.len()..];
        let mut places = self.values.iter().zip(kinds).zip(params);
        places.all(|((place, kind), value)| types::overwrite(&mut own[place.clone()], *kind, value))
    }
}

/// Appends Parse with the declared parameter types.
fn parse(out: &mut Vec<u8>, statement: &Statement<'_>, name: &str) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(b"P\0\0\0\0");
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    text(out, statement.sql)?;
    out.extend_from_slice(&count(statement.params)?);
    for kind in statement.params {
        out.extend_from_slice(&types::oid(*kind).to_be_bytes());
    }
    close(out, start)
}

/// Appends Parse, Describe and Sync: the server says in the same round trip what columns there are.
pub fn parse_and_describe(out: &mut Vec<u8>, statement: &Statement<'_>, name: &str) -> Result<()> {
    parse(out, statement, name)?;
    let start = out.len();
    out.extend_from_slice(b"D\0\0\0\0S");
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    close(out, start)?;
    out.extend_from_slice(b"S\0\0\0\x04");
    Ok(())
}

/// Appends a simple Query.
pub fn query(out: &mut Vec<u8>, sql: &str) -> Result<()> {
    let start = out.len();
    out.extend_from_slice(b"Q\0\0\0\0");
    text(out, sql)?;
    close(out, start)
}

/// Error `Syntax` when SQL holds a zero byte, which the protocol takes for its end.
pub fn whole(sql: &str) -> Result<()> {
    match sql.contains('\0') {
        true => Err(Error::with(ErrorKind::Syntax, "prepare", "the statement holds a zero byte")),
        false => Ok(()),
    }
}

/// Appends SQL and the zero byte at its end.
fn text(out: &mut Vec<u8>, sql: &str) -> Result<()> {
    whole(sql)?;
    out.extend_from_slice(sql.as_bytes());
    out.push(0);
    Ok(())
}

/// Writes the length of the message that starts at `start` and ends here.
pub fn close(out: &mut [u8], start: usize) -> Result<()> {
    let length = out.len() - start - 1;
    let Ok(length) = i32::try_from(length) else {
        let message = format!("a message of {length} bytes is longer than 2 GiB");
        return Err(Error::with(ErrorKind::Statement, "send", message));
    };
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn count(params: &[Type]) -> Result<[u8; 2]> {
    let count = u16::try_from(params.len())
        .map_err(|_| Error::with(ErrorKind::Statement, "prepare", "more than 65535 parameters"))?;
    Ok(count.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SELECT: Statement<'_> = Statement { sql: "SELECT $1", params: &[Type::Int32], columns: &[Type::Int32] };

    #[test]
    fn a_flight_is_byte_for_byte_what_the_protocol_says() {
        let mut out = vec![1, 2, 3];
        Prepared::new(&SELECT, "s0").unwrap().flight(&[], &mut out, &[Value::Int(7)]).unwrap();
        let bind = b"B\0\0\0\x1a\0s0\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x07\0\x01\0\x01";
        assert_eq!(out, [&bind[..], b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04"].concat());
    }

    #[test]
    fn the_pattern_and_the_long_way_make_the_same_flight() {
        let kinds = [Type::Int16, Type::Int32, Type::Int64, Type::Float64, Type::Timestamp];
        let values = [Value::Int(-2), Value::Int(7), Value::Int(1 << 40), Value::Float(0.1), Value::Timestamp(5)];
        let statement = Statement { sql: "SELECT", params: &kinds, columns: &[] };
        let quick = Prepared::new(&statement, "s").unwrap();
        let long = Prepared { pattern: None, ..Prepared::new(&statement, "s").unwrap() };
        assert!(quick.pattern.is_some());
        for values in [values, [Value::Int(1), Value::Null, values[2], values[3], Value::Timestamp(-9)]] {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            quick.flight(&[], &mut a, &values).unwrap();
            long.flight(&[], &mut b, &values).unwrap();
            assert_eq!(a, b, "{values:?}");
            let before = a.clone();
            for prepared in [&quick, &long] {
                prepared.flight(b"ahead", &mut a, &values).unwrap();
                assert_eq!(a, [b"ahead", &before[..]].concat(), "{values:?}");
            }
        }
        let misfit = [Value::Int(40_000), values[1], values[2], values[3], values[4]];
        assert_eq!(quick.flight(&[], &mut Vec::new(), &misfit), long.flight(&[], &mut Vec::new(), &misfit));
        assert!(quick.flight(&[], &mut Vec::new(), &misfit).is_err());
        let text = Statement { params: &[Type::Int32, Type::Text], ..statement };
        assert!(Prepared::new(&text, "s").unwrap().pattern.is_none());
    }

    #[test]
    fn a_second_flight_allocates_nothing() {
        let prepared = Prepared::new(&SELECT, "s0").unwrap();
        let mut out = Vec::new();
        prepared.flight(&[], &mut out, &[Value::Int(1)]).unwrap();
        let (place, room) = (out.as_ptr(), out.capacity());
        prepared.flight(&[], &mut out, &[Value::Int(2)]).unwrap();
        assert_eq!((out.as_ptr(), out.capacity()), (place, room));
    }

    #[test]
    fn wrong_numbers_of_parameters_and_zero_bytes_are_refused() {
        let prepared = Prepared::new(&SELECT, "s0").unwrap();
        assert_eq!(prepared.flight(&[], &mut Vec::new(), &[]).unwrap_err().kind, ErrorKind::Statement);
        let zero = Statement { sql: "SELECT 1\0; DROP", ..SELECT };
        assert_eq!(parse_and_describe(&mut Vec::new(), &zero, "").unwrap_err().kind, ErrorKind::Syntax);
    }
}
