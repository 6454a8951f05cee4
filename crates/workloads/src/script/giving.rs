//! Gives variables to statements: each as the type that the database wants.

use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};
use dsbench_script::{Memory, Value as Held};

use super::plan::Bound;

/// Parameters of most statements.
const FEW: usize = 16;
/// Room for the texts of values; it is kept, so that giving them allocates nothing once it has grown.
#[derive(Debug, Default)]
pub(super) struct Giving {
    texts: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

/// The values of one statement: few, or else all in a list.
pub(super) struct Values<'a> {
    few: [Value<'a>; FEW],
    count: usize,
    many: Vec<Value<'a>>,
}

impl<'a> Values<'a> {
    #[inline]
    pub(super) fn as_slice(&self) -> &[Value<'a>] {
        match self.many.is_empty() {
            true => &self.few[..self.count],
            false => &self.many,
        }
    }
}

impl Giving {
    /// The values of a statement's parameters. Errors of kind `Statement` for a value that does not fit what the
    /// database wants. More than 16 parameters allocate.
    #[inline]
    pub(super) fn values<'a>(&'a mut self, bound: &Bound, memory: &'a Memory) -> Result<Values<'a>> {
        self.texts.clear();
        self.ends.clear();
        for (slot, kind) in bound.slots.iter().zip(&bound.params) {
            match (kind, memory.parameter(*slot)) {
                (_, (Some(Held::Null), _)) => {}
                (Type::Text, (Some(value), _)) => {
                    value.write(&mut self.texts);
                    self.ends.push(self.texts.len());
                }
                _ => {}
            }
        }
        let (mut texts, mut start) = (self.ends.iter(), 0);
        let mut give = |number: usize| {
            let (slot, kind) = (bound.slots[number], bound.params[number]);
            match memory.parameter(slot) {
                (Some(Held::Null), _) => Ok(Value::Null),
                (Some(_), _) if kind == Type::Text => {
                    let end = texts.next().copied().unwrap_or(start);
                    let text = std::str::from_utf8(&self.texts[start..end]).unwrap_or_default();
                    start = end;
                    Ok(Value::Text(text))
                }
                (Some(value), _) => as_number(kind, value),
                (None, text) if kind == Type::Text => Ok(Value::Text(text)),
                (None, text) => match Held::read(text) {
                    Some(value) => as_number(kind, value),
                    None => Err(misfit(kind, text)),
                },
            }
        };
        let count = bound.slots.len();
        let mut values = Values { few: [Value::Null; FEW], count, many: Vec::new() };
        if count > FEW {
            values.many = (0..count).map(give).collect::<Result<_>>()?;
            return Ok(values);
        }
        for (number, value) in values.few.iter_mut().enumerate().take(count) {
            *value = give(number)?;
        }
        Ok(values)
    }
}

#[inline]
fn as_number(kind: Type, value: Held) -> Result<Value<'static>> {
    Ok(match (kind, value) {
        (_, Held::Null) => Value::Null,
        (Type::Int16 | Type::Int32 | Type::Int64 | Type::Decimal(_), Held::Int(value)) => Value::Int(value),
        (Type::Int16 | Type::Int32 | Type::Int64, Held::Bool(value)) => Value::Int(value.into()),
        (Type::Float64, Held::Int(value)) => Value::Float(value as f64),
        (Type::Float64, Held::Double(value)) => Value::Float(value),
        (Type::Decimal(_), Held::Double(value)) => decimal(value).ok_or_else(|| misfit(kind, &value.to_string()))?,
        (kind, value) => return Err(misfit(kind, &format!("{value:?}"))),
    })
}

#[cold]
fn misfit(kind: Type, text: &str) -> Error {
    Error::with(ErrorKind::Statement, "bind parameter", format!("{text} is no {kind:?}, which the statement wants"))
}

/// A double with its 15 digits, exactly; `None` where they do not fit.
fn decimal(value: f64) -> Option<Value<'static>> {
    if !value.is_finite() {
        return None;
    }
    let mut text = [0_u8; 32];
    let mut rest = &mut text[..];
    std::io::Write::write_fmt(&mut rest, format_args!("{value:.14e}")).ok()?;
    let left = rest.len();
    let text = std::str::from_utf8(&text[..32 - left]).ok()?;
    let (digits, exponent) = text.split_once('e')?;
    let (mut unscaled, mut scale) = (0_i64, 14 - exponent.parse::<i32>().ok()?);
    for digit in digits.bytes().filter(u8::is_ascii_digit) {
        unscaled = unscaled * 10 + i64::from(digit - b'0');
    }
    while scale > 0 && unscaled % 10 == 0 {
        (unscaled, scale) = (unscaled / 10, scale - 1);
        if unscaled == 0 {
            scale = 0;
        }
    }
    while scale < 0 {
        (unscaled, scale) = (unscaled.checked_mul(10)?, scale + 1);
    }
    let unscaled = if value < 0.0 { -unscaled } else { unscaled };
    Some(Value::Decimal { unscaled, scale: u8::try_from(scale).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_become_the_decimals_of_their_digits() {
        let of = |unscaled, scale| Some(Value::Decimal { unscaled, scale });
        for (value, wanted) in [
            (0.0, of(0, 0)),
            (1.5, of(15, 1)),
            (-0.001, of(-1, 3)),
            (1e15, of(1_000_000_000_000_000, 0)),
            (1.0 / 3.0, of(333_333_333_333_333, 15)),
            (1e30, None),
            (f64::NAN, None),
        ] {
            assert_eq!(decimal(value), wanted, "{value}");
        }
    }
}
