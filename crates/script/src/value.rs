//! Values: null, boolean, integer of 64 bits, double; their text, and what text stands for them.

use std::io::Write;

use crate::error::Wrong;

/// A value of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// true or false.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A double precision number.
    Double(f64),
}

type Evaluated<T> = Result<T, Wrong>;

/// 2^63: the first double above all integers.
const ABOVE: f64 = 9_223_372_036_854_775_808.0;

impl Value {
    /// The name of its type, as errors say it.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
        }
    }

    /// Whether a condition that gives it is met: numbers other than 0 and true.
    #[inline]
    pub fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => value,
            Self::Int(value) => value != 0,
            Self::Double(value) => value != 0.0,
        }
    }

    /// The boolean that it is; no other type becomes one.
    #[inline]
    pub(crate) fn bool(self) -> Evaluated<bool> {
        match self {
            Self::Bool(value) => Ok(value),
            other => Err(other.refused("boolean")),
        }
    }

    /// As an integer; a double is rounded, halves to even.
    #[inline]
    pub(crate) fn int(self) -> Evaluated<i64> {
        match self {
            Self::Int(value) => Ok(value),
            Self::Double(value) => {
                let whole = value.round_ties_even();
                match (-ABOVE..ABOVE).contains(&whole) {
                    true => Ok(whole as i64),
                    false => Err(Wrong::new(format!("double to int overflow for {whole:.6}"))),
                }
            }
            other => Err(other.refused("int")),
        }
    }

    /// As a double.
    #[inline]
    pub(crate) fn double(self) -> Evaluated<f64> {
        match self {
            Self::Double(value) => Ok(value),
            Self::Int(value) => Ok(value as f64),
            other => Err(other.refused("double")),
        }
    }

    #[cold]
    fn refused(self, wanted: &str) -> Wrong {
        Wrong::new(format!("cannot coerce {} to {wanted}", self.type_name()))
    }

    /// Appends its text, as a statement gets it: doubles with 15 digits, as C's `%.15g`.
    pub fn write(self, out: &mut Vec<u8>) {
        // Writing into memory cannot fail.
        let _ = match self {
            Self::Null => write!(out, "NULL"),
            Self::Bool(value) => write!(out, "{value}"),
            Self::Int(value) => {
                write_int(out, value);
                Ok(())
            }
            Self::Double(value) => {
                write_double(out, value);
                Ok(())
            }
        };
    }

    /// What the text of a variable stands for; `None` when it stands for nothing.
    ///
    /// `y`, `ye`, `yes`, `t` … and `on` are true, `n`, `no`, `f` …, `of` and `off` false; 0 and 1 are integers.
    pub fn read(text: &str) -> Option<Self> {
        let begins = |word: &str| !text.is_empty() && word.len() >= text.len() && same(&word[..text.len()], text);
        if same(text, "null") {
            return Some(Self::Null);
        }
        if text.is_ascii() && (begins("true") || begins("yes") || same(text, "on")) {
            return Some(Self::Bool(true));
        }
        if text.is_ascii() && (begins("false") || begins("no") || same(text, "off") || same(text, "of")) {
            return Some(Self::Bool(false));
        }
        let number = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return number.parse().ok().map(Self::Int);
        }
        read_double(number).map(Self::Double)
    }
}

fn same(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
}

/// A decimal number, `inf` or `nan`; `None` when it is none or is out of the range of doubles.
pub(crate) fn read_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(digits) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        let value = hexadecimal(digits).filter(|value| value.is_finite())?;
        return Some(if text.starts_with('-') { -value } else { value });
    }
    let value: f64 = text.parse().ok()?;
    let digits = text.split(['e', 'E']).next().unwrap_or_default();
    let zero = !digits.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let spelled = text.bytes().any(|byte| byte.is_ascii_alphabetic() && !matches!(byte, b'e' | b'E'));
    (spelled || value.is_normal() || (value == 0.0 && zero)).then_some(value)
}

/// `1f`, `1.8p3`: what stands behind 0x, as C's strtod reads it.
fn hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P']).map_or((text, None), |(left, right)| (left, Some(right)));
    let exponent = exponent.map_or(Some(0), |digits| digits.parse::<i32>().ok())?;
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    (!(whole.is_empty() && part.is_empty())).then_some(())?;
    let value = whole
        .chars()
        .chain(part.chars())
        .try_fold(0.0, |value: f64, letter| letter.to_digit(16).map(|digit| value * 16.0 + f64::from(digit)))?;
    Some(value * 2_f64.powi(exponent - 4 * i32::try_from(part.len()).ok()?))
}

fn write_int(out: &mut Vec<u8>, value: i64) {
    let (mut digits, mut at, mut rest) = ([0; 20], 20, value.unsigned_abs());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// C's `%.15g`: 15 significant digits without zeros at the end, with an exponent below 1e-4 and from 1e15 on.
fn write_double(out: &mut Vec<u8>, value: f64) {
    const DIGITS: i32 = 15;
    if !value.is_finite() {
        let text = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        };
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let start = out.len();
    let _ = write!(out, "{value:.*e}", DIGITS as usize - 1);
    let Some(at) = out[start..].iter().position(|byte| *byte == b'e') else { return };
    let exponent = std::str::from_utf8(&out[start + at + 1..]).ok().and_then(|text| text.parse::<i32>().ok());
    let exponent = exponent.unwrap_or(0);
    out.truncate(start);
    if (-4..DIGITS).contains(&exponent) {
        let places = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        let _ = write!(out, "{value:.places$}");
        trim_zeros(out, start);
    } else {
        let _ = write!(out, "{value:.*e}", DIGITS as usize - 1);
        let end = out[start..].iter().position(|byte| *byte == b'e').map_or(out.len(), |at| start + at);
        out.truncate(end);
        trim_zeros(out, start);
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.abs());
    }
}

fn trim_zeros(out: &mut Vec<u8>, start: usize) {
    if out[start..].contains(&b'.') {
        while out.last() == Some(&b'0') {
            out.pop();
        }
        if out.last() == Some(&b'.') {
            out.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_with_fifteen_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (15.0, "15"),
            (-0.5421, "-0.5421"),
            (8.507_059_173_023_46e37, "8.50705917302346e+37"),
            (1e30, "1e+30"),
            (1e15, "1e+15"),
            (999_999_999_999_999.0, "999999999999999"),
            (999_999_999_999_999.9, "1e+15"),
            (0.0001, "0.0001"),
            (0.000_099_999_999_999_999_99, "0.0001"),
            (0.000_012_3, "1.23e-05"),
            (1.0 / 3.0, "0.333333333333333"),
            (f64::INFINITY, "Infinity"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
            (5e-324, "4.94065645841247e-324"),
        ] {
            let mut out = Vec::new();
            Value::Double(value).write(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn integers_are_written_whole() {
        for value in [0, 7, -10, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            Value::Int(value).write(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }

    #[test]
    fn texts_stand_for_values() {
        for (text, value) in [
            ("null", Value::Null),
            ("NULL", Value::Null),
            ("t", Value::Bool(true)),
            ("yE", Value::Bool(true)),
            ("of", Value::Bool(false)),
            ("+3", Value::Int(3)),
            (" -12", Value::Int(-12)),
            ("-10.1", Value::Double(-10.1)),
            ("1e3", Value::Double(1000.0)),
            ("inf", Value::Double(f64::INFINITY)),
            ("0e-999", Value::Double(0.0)),
            ("007", Value::Int(7)),
            ("0x10", Value::Double(16.0)),
            ("-0X1.8p1", Value::Double(-3.0)),
        ] {
            assert_eq!(Value::read(text), Some(value), "{text}");
        }
        for text in
            ["", "bla", "trueXXX", "o", "9223372036854775808", "1e400", "1e-400", "1 x", "12 ", "0x", "0xg", "0x1p"]
        {
            assert_eq!(Value::read(text), None, "{text}");
        }
    }

    #[test]
    fn halves_are_rounded_to_even_and_overflow_is_told() {
        for (value, whole) in [(0.5, 0), (1.5, 2), (-2.5, -2), (7.3, 7)] {
            assert_eq!(Value::Double(value).int(), Ok(whole));
        }
        assert_eq!(Value::Double(-ABOVE).int(), Ok(i64::MIN));
        let said = |value: f64| Value::Double(value).int().unwrap_err().0;
        assert_eq!(said(ABOVE), "double to int overflow for 9223372036854775808.000000");
        assert!(said(f64::NAN).starts_with("double to int overflow"));
        assert_eq!(Value::Bool(true).double().unwrap_err().0, "cannot coerce boolean to double");
    }
}
