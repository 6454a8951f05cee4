//! Declared types and values in Firebird's binary form.

use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Type, Value};

use super::sqlda::{kind, Row, Var};
use crate::misuse::{misfit, rescale, unreadable, wrong_count};

/// Longest text that a parameter or a column of a result can hold, in bytes.
const LONGEST_TEXT: usize = 32_765;

/// Character set of the session, whatever it is.
const SESSION_CHARSET: i16 = 127;

/// Text for a parameter of which the server does not say how long it may be.
const SHORT_TEXT: u16 = 60;

/// Days from Firebird's day 0 (17 November 1858) to 1970-01-01.
const EPOCH_DAYS: i64 = 40_587;
const DAY_US: i64 = 86_400_000_000;
/// Firebird's unit of time: a ten-thousandth of a second.
const TICK_US: i64 = 100;
/// 0001-01-01 and 9999-12-31 in Firebird's days.
const DAYS: std::ops::RangeInclusive<i64> = -678_575..=2_973_483;

/// Sets the type in which a parameter is sent; the server converts it to its own.
pub(super) fn declare_input(var: &mut Var, declared: Type) {
    match declared {
        Type::Int16 => var.set(kind::SHORT, 2, 0),
        Type::Int32 => var.set(kind::LONG, 4, 0),
        Type::Int64 => var.set(kind::INT64, 8, 0),
        Type::Float64 => var.set(kind::DOUBLE, 8, 0),
        Type::Decimal(scale) => var.set(kind::INT64, 8, -i16::from(scale)),
        Type::Timestamp => var.set(kind::TIMESTAMP, 8, 0),
        Type::Text if matches!(var.kind(), kind::TEXT | kind::VARYING) => {
            var.set(kind::VARYING, var.length() as u16, 0);
        }
        Type::Text => {
            var.set(kind::VARYING, SHORT_TEXT, 0);
            var.sqlsubtype = SESSION_CHARSET;
        }
    }
}

/// Sets the type in which a column is sent; false when it cannot be read as declared.
pub(super) fn declare_output(var: &mut Var, declared: Type) -> bool {
    let exact = matches!(var.kind(), kind::SHORT | kind::LONG | kind::INT64 | kind::INT128);
    match declared {
        Type::Int16 | Type::Int32 | Type::Int64 if exact && var.sqlscale == 0 => var.set(kind::INT64, 8, 0),
        Type::Decimal(_) if exact => var.set(kind::INT64, 8, var.sqlscale),
        Type::Float64 if matches!(var.kind(), kind::FLOAT | kind::DOUBLE) => var.set(kind::DOUBLE, 8, 0),
        Type::Text if matches!(var.kind(), kind::VARYING | kind::TEXT) => {}
        Type::Text if var.kind() == kind::BLOB => declare_text(var, LONGEST_TEXT as u16),
        Type::Timestamp if is_point_in_time(var.kind()) => var.set(kind::TIMESTAMP, 8, 0),
        _ => return false,
    }
    true
}

fn is_point_in_time(found: i16) -> bool {
    matches!(found, kind::TIMESTAMP | kind::TYPE_DATE | kind::TIMESTAMP_TZ | kind::TIMESTAMP_TZ_EX)
}

/// Asks for a column as text, whatever it is.
pub(super) fn declare_text(var: &mut Var, length: u16) {
    if !matches!(var.kind(), kind::VARYING | kind::TEXT) {
        var.sqlsubtype = SESSION_CHARSET;
    }
    var.set(kind::VARYING, length, 0);
}

/// Writes all parameters. Errors of kind `Statement` when their number or a type is wrong.
#[inline]
pub(super) fn bind(row: &mut Row, types: &[Type], params: &[Value<'_>]) -> Result<()> {
    if types.len() != params.len() {
        return Err(wrong_count(params.len(), types.len()));
    }
    for (at, (declared, value)) in types.iter().zip(params).enumerate() {
        if let Value::Text(text) = value {
            if text.len() > row.vars()[at].length() {
                make_room(row, at, text.len())?;
                // The memory is a new one, without the parameters written so far.
                return bind(row, types, params);
            }
        }
        row.set_null(at, *value == Value::Null);
        write(row.bytes_mut(at), *declared, value)?;
    }
    Ok(())
}

/// Writes some of many parameters, from number `start` on, into the room that they have.
#[inline]
pub(super) fn fill(row: &mut Row, start: usize, types: &[Type], values: &[Value<'_>]) -> Result<()> {
    for (at, (declared, value)) in (start..).zip(types.iter().zip(values)) {
        if let Value::Text(text) = value {
            let room = row.vars()[at].length();
            if text.len() > room {
                return Err(wrong(format!("a text of {} bytes for a column of {room}", text.len())));
            }
        }
        row.set_null(at, *value == Value::Null);
        write(row.bytes_mut(at), *declared, value)?;
    }
    Ok(())
}

#[cold]
fn make_room(row: &mut Row, at: usize, length: usize) -> Result<()> {
    if length > LONGEST_TEXT {
        return Err(wrong(format!("a text of {length} bytes: Firebird takes up to {LONGEST_TEXT}")));
    }
    row.vars()[at].set(kind::VARYING, (length * 2).min(LONGEST_TEXT) as u16, 0);
    row.allocate();
    Ok(())
}

#[inline]
fn write(into: &mut [u8], declared: Type, value: &Value<'_>) -> Result<()> {
    match (declared, *value) {
        (_, Value::Null) => {}
        (Type::Int64, Value::Int(v)) => put(into, v.to_ne_bytes()),
        (Type::Int32, Value::Int(v)) => put(into, i32::try_from(v).map_err(|_| misfit(declared, value))?.to_ne_bytes()),
        (Type::Int16, Value::Int(v)) => put(into, i16::try_from(v).map_err(|_| misfit(declared, value))?.to_ne_bytes()),
        (Type::Float64, Value::Float(v)) => put(into, v.to_ne_bytes()),
        (Type::Decimal(digits), Value::Int(v)) => put(into, rescale(v, 0, digits)?.to_ne_bytes()),
        (Type::Decimal(digits), Value::Decimal { unscaled, scale }) => {
            put(into, rescale(unscaled, scale, digits)?.to_ne_bytes());
        }
        (Type::Text, Value::Text(v)) => {
            put(into, (v.len() as u16).to_ne_bytes());
            into[2..2 + v.len()].copy_from_slice(v.as_bytes());
        }
        (Type::Timestamp, Value::Timestamp(v)) => {
            let days = v.div_euclid(DAY_US) + EPOCH_DAYS;
            if !DAYS.contains(&days) {
                return Err(misfit(declared, value));
            }
            // What is finer than Firebird's unit is cut off, as its own clock does.
            let ticks = (v.rem_euclid(DAY_US) / TICK_US) as u32;
            put(into, (days as i32).to_ne_bytes());
            into[4..8].copy_from_slice(&ticks.to_ne_bytes());
        }
        _ => return Err(misfit(declared, value)),
    }
    Ok(())
}

#[inline]
fn put<const N: usize>(into: &mut [u8], bytes: [u8; N]) {
    into[..N].copy_from_slice(&bytes);
}

/// Adds the row that was fetched to `into`, by the declared types.
#[inline]
pub(super) fn read_row(row: &mut Row, types: &[Type], into: &mut Rows) -> Result<()> {
    for (at, declared) in types.iter().enumerate() {
        if row.is_null(at) {
            into.push(Value::Null);
            continue;
        }
        let (scale, shape) = {
            let var = &row.vars()[at];
            (var.sqlscale.saturating_neg(), (var.kind(), var.length(), var.sqlsubtype))
        };
        let bytes = row.bytes(at);
        into.push(match declared {
            Type::Int16 | Type::Int32 | Type::Int64 => Value::Int(i64::from_ne_bytes(take(bytes))),
            Type::Float64 => Value::Float(f64::from_ne_bytes(take(bytes))),
            Type::Decimal(digits) => {
                let unscaled = rescale(i64::from_ne_bytes(take(bytes)), scale.clamp(0, 255) as u8, *digits)?;
                Value::Decimal { unscaled, scale: *digits }
            }
            Type::Text => Value::Text(text(bytes, shape)?),
            Type::Timestamp => {
                let days = i64::from(i32::from_ne_bytes(take(bytes)));
                let ticks = i64::from(u32::from_ne_bytes(take(&bytes[4..])));
                if !DAYS.contains(&days) {
                    return Err(unreadable(at, *declared, &bytes[..8]));
                }
                Value::Timestamp((days - EPOCH_DAYS) * DAY_US + ticks * TICK_US)
            }
        });
    }
    Ok(())
}

#[inline]
fn take<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut taken = [0; N];
    taken.copy_from_slice(&bytes[..N]);
    taken
}

/// The text in a column of (type, length, character set).
pub(super) fn text(bytes: &[u8], (found, length, charset): (i16, usize, i16)) -> Result<&str> {
    let bytes = match found {
        kind::VARYING => &bytes[2..2 + usize::from(u16::from_ne_bytes(take(bytes))).min(length)],
        _ => &bytes[..length],
    };
    let text = std::str::from_utf8(bytes)
        .map_err(|_| wrong("a text is no UTF-8: leave charset out of the target, or declare the column so".into()))?;
    // CHAR(n) of UTF-8 takes four bytes for each character and fills the rest with blanks.
    const UTF8: i16 = 4;
    match found == kind::TEXT && charset & 0xff == UTF8 {
        true => Ok(text.char_indices().nth(length / 4).map_or(text, |(end, _)| &text[..end])),
        false => Ok(text),
    }
}

#[cold]
fn wrong(message: String) -> Error {
    Error::with(ErrorKind::Statement, "execute", message)
}
