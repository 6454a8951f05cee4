//! Values in the binary form of prepared statements.

use dsbench_core::error::Result;
use dsbench_core::value::{Rows, Type, Value};

use super::fields::{garbage, put_length, Fields};
use super::reply::Column;
use super::types::number;
use crate::datetime::Moment;
use crate::decimal;
use crate::misuse::{misfit, unreadable};
use crate::net::{check_size, RowError};

/// Appends a parameter that is not NULL. Error `Statement` when it does not fit the declared type.
#[inline]
pub(super) fn encode(out: &mut Vec<u8>, kind: Type, value: &Value<'_>) -> Result<()> {
    match (kind, *value) {
        (Type::Int64, Value::Int(v)) => out.extend_from_slice(&v.to_le_bytes()),
        (Type::Int32, Value::Int(v)) => match i32::try_from(v) {
            Ok(v) => out.extend_from_slice(&v.to_le_bytes()),
            Err(_) => return Err(misfit(kind, value)),
        },
        (Type::Int16, Value::Int(v)) => match i16::try_from(v) {
            Ok(v) => out.extend_from_slice(&v.to_le_bytes()),
            Err(_) => return Err(misfit(kind, value)),
        },
        // The server has neither infinities nor NaN.
        (Type::Float64, Value::Float(v)) if v.is_finite() => out.extend_from_slice(&v.to_le_bytes()),
        (Type::Decimal(_), Value::Decimal { unscaled, scale }) => put_decimal(out, unscaled, scale),
        (Type::Decimal(_), Value::Int(v)) => put_decimal(out, v, 0),
        (Type::Text, Value::Text(v)) => {
            put_length(out, v.len());
            out.extend_from_slice(v.as_bytes());
        }
        (Type::Timestamp, Value::Timestamp(v)) => match Moment::at(v) {
            Some(moment) => put_moment(out, moment),
            None => return Err(misfit(kind, value)),
        },
        _ => return Err(misfit(kind, value)),
    }
    Ok(())
}

fn put_decimal(out: &mut Vec<u8>, unscaled: i64, scale: u8) {
    let start = out.len();
    // At most 1 + 20 + 1 + 255 digits: a length of three bytes always has room.
    out.extend_from_slice(&[0xfc, 0, 0]);
    decimal::encode(out, unscaled, scale);
    let length = (out.len() - start - 3) as u16;
    out[start + 1..start + 3].copy_from_slice(&length.to_le_bytes());
}

fn put_moment(out: &mut Vec<u8>, moment: Moment) {
    out.push(11);
    out.extend_from_slice(&moment.year.to_le_bytes());
    out.extend_from_slice(&[moment.month, moment.day, moment.hour, moment.minute, moment.second]);
    out.extend_from_slice(&moment.micro.to_le_bytes());
}

/// Adds the row in `content` to `into`. `columns` says how the server wrote it and `kinds` what the
/// statement declares; they fit each other.
#[inline]
pub(super) fn decode_row(
    content: &[u8],
    columns: &[Column],
    kinds: &[Type],
    into: &mut Rows,
) -> std::result::Result<(), RowError> {
    check_size(into.bytes())?;
    let mut fields = Fields(content);
    fields.int8()?;
    // One bit for each column says that it is NULL; the first two bits are not used.
    let nulls = fields.bytes((columns.len() + 9) / 8)?;
    for (at, (column, kind)) in columns.iter().zip(kinds).enumerate() {
        if nulls[(at + 2) / 8] >> ((at + 2) % 8) & 1 == 1 {
            into.push(Value::Null);
            continue;
        }
        into.push(decode(&mut fields, *column, *kind, at)?);
    }
    Ok(())
}

#[inline]
fn decode<'a>(
    fields: &mut Fields<'a>,
    column: Column,
    kind: Type,
    at: usize,
) -> std::result::Result<Value<'a>, RowError> {
    use number::*;
    let wrong = |bytes: &[u8]| RowError::Statement(unreadable(at, kind, bytes));
    Ok(match column.kind {
        LONGLONG => {
            let raw = fields.int64()?;
            if column.unsigned && raw > i64::MAX as u64 {
                return Err(wrong(&raw.to_le_bytes()));
            }
            Value::Int(raw as i64)
        }
        LONG | INT24 => {
            let raw = fields.int32()?;
            Value::Int(if column.unsigned { raw.into() } else { (raw as i32).into() })
        }
        SHORT | YEAR => {
            let raw = fields.int16()?;
            Value::Int(if column.unsigned { raw.into() } else { (raw as i16).into() })
        }
        TINY => {
            let raw = fields.int8()?;
            Value::Int(if column.unsigned { raw.into() } else { (raw as i8).into() })
        }
        DOUBLE => Value::Float(f64::from_bits(fields.int64()?)),
        FLOAT => Value::Float(f32::from_bits(fields.int32()?).into()),
        DATETIME | TIMESTAMP => {
            let length = fields.int8()?;
            let bytes = fields.bytes(length.into())?;
            Value::Timestamp(moment(bytes).and_then(Moment::since_1970).ok_or_else(|| wrong(bytes))?)
        }
        _ => {
            let bytes = fields.value()?.ok_or_else(|| garbage("NULL in a binary row"))?;
            match kind {
                Type::Decimal(scale) => {
                    Value::Decimal { unscaled: decimal::decode(bytes, scale).ok_or_else(|| wrong(bytes))?, scale }
                }
                _ => Value::Text(std::str::from_utf8(bytes).map_err(|_| wrong(bytes))?),
            }
        }
    })
}

/// A moment, cut after its last part that is not zero.
fn moment(bytes: &[u8]) -> Option<Moment> {
    let (&[y1, y2, month, day], rest) = bytes.split_first_chunk()?;
    let date = Moment { year: u16::from_le_bytes([y1, y2]), month, day, ..Moment::default() };
    match *rest {
        [] => Some(date),
        [hour, minute, second] => Some(Moment { hour, minute, second, ..date }),
        [hour, minute, second, a, b, c, d] => {
            let micro = u32::from_le_bytes([a, b, c, d]);
            (micro < 1_000_000).then_some(Moment { hour, minute, second, micro, ..date })
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "binary_tests.rs"]
mod tests;
