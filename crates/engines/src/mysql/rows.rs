//! Rows of a bulk load in the two forms that servers take: lines for LOAD DATA, and lists of values.

use std::io::Write;

use dsbench_core::error::Result;
use dsbench_core::value::{Type, Value};

use super::text;
use crate::datetime::Moment;
use crate::decimal;
use crate::misuse::{check_row, fits, misfit};

/// Appends one row as a line with tabs between its fields.
pub(super) fn line(out: &mut Vec<u8>, columns: &[(&str, Type)], row: &[Value<'_>]) -> Result<()> {
    check_row(row, columns.len())?;
    for (at, (value, (_, kind))) in row.iter().zip(columns).enumerate() {
        if at > 0 {
            out.push(b'\t');
        }
        field(out, *kind, value)?;
    }
    out.push(b'\n');
    Ok(())
}

/// Appends one row as `(1,'a',NULL)`.
pub(super) fn list(out: &mut Vec<u8>, columns: &[(&str, Type)], row: &[Value<'_>]) -> Result<()> {
    check_row(row, columns.len())?;
    for (at, (value, (_, kind))) in row.iter().zip(columns).enumerate() {
        out.push(if at == 0 { b'(' } else { b',' });
        text::literal(out, *kind, value)?;
    }
    out.push(b')');
    Ok(())
}

/// Appends a field of a line. The server does not refuse a number that is too large for its column,
/// it only warns; here it is refused by the declared type before.
fn field(out: &mut Vec<u8>, kind: Type, value: &Value<'_>) -> Result<()> {
    match (kind, *value) {
        (_, Value::Null) => out.extend_from_slice(b"\\N"),
        (Type::Int16 | Type::Int32 | Type::Int64, Value::Int(v)) if fits(kind, v) => decimal::encode(out, v, 0),
        (Type::Decimal(_), Value::Int(v)) => decimal::encode(out, v, 0),
        (Type::Decimal(_), Value::Decimal { unscaled, scale }) => decimal::encode(out, unscaled, scale),
        // Writing into memory cannot fail.
        (Type::Float64, Value::Float(v)) if v.is_finite() => drop(write!(out, "{v:e}")),
        (Type::Text, Value::Text(v)) => escape(out, v),
        (Type::Timestamp, Value::Timestamp(v)) => Moment::at(v).ok_or_else(|| misfit(kind, value))?.write(out),
        _ => return Err(misfit(kind, value)),
    }
    Ok(())
}

fn escape(out: &mut Vec<u8>, text: &str) {
    // Most texts have nothing of that: one look, and one copy.
    if !text.bytes().fold(false, |found, byte| found | matches!(byte, b'\t' | b'\n' | b'\\' | 0)) {
        return out.extend_from_slice(text.as_bytes());
    }
    for byte in text.bytes() {
        match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0 => out.extend_from_slice(b"\\0"),
            byte => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsbench_core::error::ErrorKind;

    const COLUMNS: &[(&str, Type)] = &[("a", Type::Int32), ("b", Type::Text), ("c", Type::Decimal(2))];

    #[test]
    fn rows_become_lines_and_lists() {
        let row = [Value::Int(-7), Value::Text("a\tb\\c\n\0'ü"), Value::Null];
        let (mut lines, mut lists) = (Vec::new(), Vec::new());
        line(&mut lines, COLUMNS, &row).unwrap();
        assert_eq!(lines, "-7\ta\\tb\\\\c\\n\\0'ü\t\\N\n".as_bytes());
        list(&mut lists, COLUMNS, &row).unwrap();
        assert_eq!(lists, "((-7),'a\tb\\\\c\n\\0\\'ü',NULL)".as_bytes());
    }

    #[test]
    fn what_does_not_fit_is_refused_in_both_forms() {
        let text = Value::Text("x");
        for row in [&[Value::Int(1), text][..], &[Value::Int(i64::MAX), text, Value::Null], &[text; 3]] {
            assert_eq!(line(&mut Vec::new(), COLUMNS, row).unwrap_err().kind, ErrorKind::Statement);
            assert_eq!(list(&mut Vec::new(), COLUMNS, row).unwrap_err().kind, ErrorKind::Statement);
        }
    }
}
