//! Declared types and values in PostgreSQL's binary form.

use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};

use super::numeric;
use super::reply::Fields;
use crate::misuse::{misfit, unreadable, wrong_width};
use crate::net::{check_size, RowError};

/// Microseconds from 1970-01-01, where values count from, to 2000-01-01, where PostgreSQL does.
const EPOCH_US: i64 = 946_684_800_000_000;

/// The type number (pg_type.oid) of a parameter of a declared type.
pub fn oid(kind: Type) -> u32 {
    match kind {
        Type::Int16 => 21,
        Type::Int32 => 23,
        Type::Int64 => 20,
        Type::Float64 => 701,
        Type::Decimal(_) => 1700,
        Type::Text => 25,
        Type::Timestamp => 1114,
    }
}

/// True when a result column of type number `oid` can be read as the declared type.
pub fn readable(kind: Type, oid: u32) -> bool {
    match kind {
        // The width of an integer follows from the length of its value.
        Type::Int16 | Type::Int32 | Type::Int64 => matches!(oid, 20 | 21 | 23),
        Type::Float64 => matches!(oid, 700 | 701),
        Type::Decimal(_) => oid == 1700,
        // char, name, text, json, xml, unknown, bpchar, varchar: their binary form is their text.
        Type::Text => matches!(oid, 18 | 19 | 25 | 114 | 142 | 705 | 1042 | 1043),
        Type::Timestamp => matches!(oid, 1114 | 1184),
    }
}

/// Appends a value with its length, as Bind and binary COPY want it. Error `Statement` when the
/// value does not fit the declared type.
#[inline]
pub fn encode(out: &mut Vec<u8>, kind: Type, value: &Value<'_>) -> Result<()> {
    match (kind, *value) {
        (_, Value::Null) => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        (Type::Int64, Value::Int(v)) => fixed(out, v.to_be_bytes()),
        (Type::Int32, Value::Int(v)) => match i32::try_from(v) {
            Ok(v) => fixed(out, v.to_be_bytes()),
            Err(_) => return Err(misfit(kind, value)),
        },
        (Type::Int16, Value::Int(v)) => match i16::try_from(v) {
            Ok(v) => fixed(out, v.to_be_bytes()),
            Err(_) => return Err(misfit(kind, value)),
        },
        (Type::Float64, Value::Float(v)) => fixed(out, v.to_be_bytes()),
        (Type::Decimal(_), Value::Decimal { unscaled, scale }) => decimal(out, unscaled, scale),
        (Type::Decimal(_), Value::Int(v)) => decimal(out, v, 0),
        (Type::Text, Value::Text(v)) => {
            let length = i32::try_from(v.len()).map_err(|_| too_long(v.len()))?;
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(v.as_bytes());
        }
        (Type::Timestamp, Value::Timestamp(v)) => match v.checked_sub(EPOCH_US) {
            // The lowest number stands for -infinity.
            Some(v) if v != i64::MIN => fixed(out, v.to_be_bytes()),
            _ => return Err(misfit(kind, value)),
        },
        _ => return Err(misfit(kind, value)),
    }
    Ok(())
}

/// Bytes of every value of the type but NULL; `None` where they differ.
pub fn width(kind: Type) -> Option<usize> {
    match kind {
        Type::Int16 => Some(2),
        Type::Int32 => Some(4),
        Type::Int64 | Type::Float64 | Type::Timestamp => Some(8),
        Type::Decimal(_) | Type::Text => None,
    }
}

/// Writes a value into `place`, which has the width of the type; false when it is NULL or does not
/// fit. What this and [`encode`] write is the same.
#[inline]
pub fn overwrite(place: &mut [u8], kind: Type, value: &Value<'_>) -> bool {
    match (kind, *value) {
        (Type::Int32, Value::Int(v)) => i32::try_from(v).is_ok_and(|v| put(place, v.to_be_bytes())),
        (Type::Int64, Value::Int(v)) => put(place, v.to_be_bytes()),
        (Type::Int16, Value::Int(v)) => i16::try_from(v).is_ok_and(|v| put(place, v.to_be_bytes())),
        (Type::Float64, Value::Float(v)) => put(place, v.to_be_bytes()),
        (Type::Timestamp, Value::Timestamp(v)) => match v.checked_sub(EPOCH_US) {
            Some(v) if v != i64::MIN => put(place, v.to_be_bytes()),
            _ => false,
        },
        _ => false,
    }
}

#[inline]
fn put<const N: usize>(place: &mut [u8], bytes: [u8; N]) -> bool {
    place.first_chunk_mut().map(|place| *place = bytes).is_some()
}

fn fixed<const N: usize>(out: &mut Vec<u8>, bytes: [u8; N]) {
    out.extend_from_slice(&(N as i32).to_be_bytes());
    out.extend_from_slice(&bytes);
}

fn decimal(out: &mut Vec<u8>, unscaled: i64, scale: u8) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    numeric::encode(out, unscaled, scale);
    let length = (out.len() - at - 4) as i32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Adds the row in the body of a DataRow to `into`, by the declared types.
#[inline]
pub fn decode_row(body: &[u8], columns: &[Type], into: &mut Rows) -> std::result::Result<(), RowError> {
    decode_row_by(decode, body, columns, into)
}

/// The same, where `decode` reads a value, or tells by `None` that it is not of the type.
#[inline(always)]
pub fn decode_row_by(
    decode: impl for<'a> Fn(Type, &'a [u8]) -> Option<Value<'a>>,
    body: &[u8],
    columns: &[Type],
    into: &mut Rows,
) -> std::result::Result<(), RowError> {
    check_size(into.bytes())?;
    let mut fields = Fields(body);
    let count = fields.int16()?;
    if usize::from(count as u16) != columns.len() {
        return Err(RowError::Statement(wrong_width(columns.len(), usize::from(count as u16))));
    }
    for (at, kind) in columns.iter().enumerate() {
        let value = match fields.value()? {
            None => Value::Null,
            Some(bytes) => decode(*kind, bytes).ok_or_else(|| RowError::Statement(unreadable(at, *kind, bytes)))?,
        };
        into.push(value);
    }
    Ok(())
}

/// The value in `bytes`, or `None` when they are not of the declared type.
#[inline]
fn decode(kind: Type, bytes: &[u8]) -> Option<Value<'_>> {
    Some(match kind {
        Type::Int16 | Type::Int32 | Type::Int64 => Value::Int(match *bytes {
            [a, b] => i16::from_be_bytes([a, b]).into(),
            [a, b, c, d] => i32::from_be_bytes([a, b, c, d]).into(),
            _ => i64::from_be_bytes(bytes.try_into().ok()?),
        }),
        Type::Float64 => Value::Float(match *bytes {
            [a, b, c, d] => f32::from_be_bytes([a, b, c, d]).into(),
            _ => f64::from_be_bytes(bytes.try_into().ok()?),
        }),
        Type::Decimal(scale) => Value::Decimal { unscaled: numeric::decode(bytes, scale)?, scale },
        Type::Text => Value::Text(std::str::from_utf8(bytes).ok()?),
        Type::Timestamp => match i64::from_be_bytes(bytes.try_into().ok()?) {
            i64::MIN => return None,
            since_2000 => Value::Timestamp(since_2000.checked_add(EPOCH_US)?),
        },
    })
}

#[cold]
fn too_long(length: usize) -> Error {
    Error::with(ErrorKind::Statement, "bind parameter", format!("a text of {length} bytes is longer than 2 GiB"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, MISFITS, VALUES};
    use dsbench_core::random::Stream;

    fn round_trip(kind: Type, value: Value<'_>) {
        let mut body = vec![0, 1];
        encode(&mut body, kind, &value).unwrap();
        let mut rows = Rows::new();
        rows.reset(1);
        assert!(decode_row(&body, &[kind], &mut rows).is_ok(), "{value:?}");
        assert_eq!(rows.get(0, 0).unwrap(), value);
    }

    #[test]
    fn values_come_back_as_they_went() {
        VALUES.iter().for_each(|(kind, value)| round_trip(*kind, *value));
        round_trip(Type::Int16, Value::Null);
    }

    #[test]
    fn a_value_that_does_not_fit_is_an_error_of_the_statement() {
        for (kind, value) in MISFITS {
            let error = encode(&mut Vec::new(), *kind, value).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Statement, "{value:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_of_the_type_are_refused() {
        let kinds = [Type::Int16, Type::Int64, Type::Float64, Type::Decimal(2), Type::Timestamp];
        for kind in kinds {
            for length in [0, 1, 3, 5, 7, 9] {
                assert!(decode(kind, &vec![1; length]).is_none(), "{kind:?} {length}");
            }
        }
        assert!(decode(Type::Text, &[0xff]).is_none());
        assert!(decode(Type::Timestamp, &i64::MAX.to_be_bytes()).is_none(), "infinity");
        assert!(decode(Type::Timestamp, &i64::MIN.to_be_bytes()).is_none(), "-infinity");
    }

    #[test]
    fn random_rows_never_panic() {
        let columns = [Type::Int32, Type::Text, Type::Decimal(4), Type::Timestamp];
        let mut random = Stream::new(1, 0, 0);
        let mut rows = Rows::new();
        for _ in 0..50_000 {
            let mut body = samples::bytes(&mut random);
            if body.len() > 2 {
                body[..2].copy_from_slice(&4_u16.to_be_bytes());
            }
            rows.reset(columns.len());
            let _ = decode_row(&body, &columns, &mut rows);
        }
    }
}
