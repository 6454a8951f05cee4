//! Gives variables to statements: each as the type that the database wants.

use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Type, Value};
use dsbench_script::{Memory, Parameter, Value as Held};

use super::bound::Bound;

/// Room for values and for their texts; it is kept, so that giving them allocates nothing once it has grown.
#[derive(Debug, Default)]
pub(super) struct Giving {
    values: Vec<Value<'static>>,
    texts: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Giving {
    /// Gives `run` the values of a statement's parameters. Errors of kind `Statement` for a value that does not fit what
    /// the database wants.
    #[inline]
    pub(super) fn with<T>(
        &mut self,
        bound: &Bound,
        memory: &Memory,
        run: impl FnOnce(&[Value<'_>]) -> Result<T>,
    ) -> Result<T> {
        if bound.lettered {
            return self.with_texts(bound, memory, run);
        }
        self.values.clear();
        for (slot, kind) in bound.slots.iter().zip(&bound.params) {
            self.values.push(match memory.parameter(*slot) {
                Parameter::Value(Held::Int(value)) if matches!(kind, Type::Int16 | Type::Int32 | Type::Int64) => {
                    Value::Int(value)
                }
                other => as_number(*kind, value_of(*kind, other)?)?,
            });
        }
        run(&self.values)
    }

    /// The same with texts among them, which lie in the memory or, of what is no text, here.
    fn with_texts<T>(
        &mut self,
        bound: &Bound,
        memory: &Memory,
        run: impl FnOnce(&[Value<'_>]) -> Result<T>,
    ) -> Result<T> {
        let Self { values: room, texts, ends } = self;
        room.clear();
        texts.clear();
        ends.clear();
        for (slot, _) in bound.slots.iter().zip(&bound.params).filter(|(_, kind)| **kind == Type::Text) {
            if let Parameter::Value(value) = memory.parameter(*slot) {
                value.write(texts);
                ends.push(texts.len());
            }
        }
        let mut values: Vec<Value<'_>> = std::mem::take(room);
        let done = fill(&mut values, bound, memory, (&texts[..], &ends[..])).and_then(|()| run(&values));
        values.clear();
        // The same memory again, for values that live longer: there are none in it.
        *room = values.into_iter().map(|_| Value::Null).collect();
        done
    }
}

fn fill<'a>(
    values: &mut Vec<Value<'a>>,
    bound: &Bound,
    memory: &'a Memory,
    (texts, ends): (&'a [u8], &[usize]),
) -> Result<()> {
    let (mut ends, mut start) = (ends.iter(), 0);
    for (slot, kind) in bound.slots.iter().zip(&bound.params) {
        values.push(match memory.parameter(*slot) {
            Parameter::Value(value) if *kind == Type::Text => {
                let end = ends.next().copied().unwrap_or(start);
                let text = std::str::from_utf8(&texts[start..end]).unwrap_or_default();
                start = end;
                if value == Held::Null {
                    Value::Null
                } else {
                    Value::Text(text)
                }
            }
            Parameter::Text(text, _) if *kind == Type::Text => Value::Text(text),
            other => as_number(*kind, value_of(*kind, other)?)?,
        });
    }
    Ok(())
}

/// The value of what is to be a number.
#[inline]
fn value_of(kind: Type, parameter: Parameter<'_>) -> Result<Held> {
    match parameter {
        Parameter::Text(text, None) => Held::read(text).ok_or_else(|| misfit(kind, text)),
        other => Ok(other.value().unwrap_or(Held::Null)),
    }
}

#[inline]
fn as_number(kind: Type, value: Held) -> Result<Value<'static>> {
    Ok(match (kind, value) {
        (Type::Int16 | Type::Int32 | Type::Int64 | Type::Decimal(_), Held::Int(value)) => Value::Int(value),
        (_, Held::Null) => Value::Null,
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
    use dsbench_script::{Scripts, Source};

    use super::*;

    #[test]
    fn many_values_and_texts_are_given_in_the_same_memory() {
        let names: Vec<String> = (0..20).map(|n| format!(":v{n}")).collect();
        let sets: String = (0..20).map(|n| format!("\\set v{n} {n}\n")).collect();
        let text = format!("{sets}SELECT {}, :word;", names.join(", "));
        let source = Source { name: "own".into(), weight: 1, text };
        let scripts = Scripts::parse(&[source], &[("word".into(), "it's".into())]).unwrap();
        let mut memory = scripts.memory();
        scripts.scripts[0].advance(0, &mut memory, &mut |_, _| {}).unwrap();
        let slots = scripts.scripts[0].statements().next().unwrap().slots.clone();
        let mut params = vec![Type::Int64; 21];
        (params[3], params[20]) = (Type::Text, Type::Text);
        let bound = Bound::giving(slots, params);
        let mut giving = Giving::default();
        let give = |giving: &mut Giving| {
            let seen = |values: &[Value<'_>]| {
                assert_eq!((values[2], values[3], values[20]), (Value::Int(2), Value::Text("3"), Value::Text("it's")));
                Ok(values.as_ptr() as usize)
            };
            giving.with(&bound, &memory, seen).unwrap()
        };
        give(&mut giving);
        let room = (give(&mut giving), giving.values.capacity());
        assert_eq!((give(&mut giving), giving.values.capacity()), room, "nothing is allocated");
    }

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
