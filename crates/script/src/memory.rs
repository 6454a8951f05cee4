//! The variables of one client.

use std::fmt::Write;

use crate::error::Wrong;
use crate::random::Random;
use crate::value::Value;

/// Number of a variable among all that the scripts name.
pub type Slot = u16;

/// What a variable holds. A text comes from the command line or from a result and becomes a value when an expression
/// asks for it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Held {
    Nothing,
    Value(Value),
    /// The text beside it, of which nobody has asked yet what it stands for.
    Text,
    /// The text beside it, and what it stands for.
    Read(Value),
}

/// What a statement gets for a variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Parameter<'a> {
    /// It was never set.
    Unset,
    /// A value.
    Value(Value),
    /// A text, with what it stands for where that is known.
    Text(&'a str, Option<Value>),
}

impl Parameter<'_> {
    /// Its value, as far as it needs no reading; NULL where it was never set.
    pub fn value(self) -> Option<Value> {
        match self {
            Self::Unset => Some(Value::Null),
            Self::Value(value) => Some(value),
            Self::Text(_, known) => known,
        }
    }
}

/// The variables of one client, its random numbers and room for evaluations.
#[derive(Debug, Clone)]
pub struct Memory {
    names: std::sync::Arc<[String]>,
    held: Vec<Held>,
    texts: Vec<String>,
    /// Random numbers of the functions that ask for some.
    pub random: Random,
    pub(crate) stack: Vec<Value>,
}

impl Memory {
    pub(crate) fn new(names: std::sync::Arc<[String]>, depth: usize) -> Self {
        let count = names.len();
        Self {
            names,
            held: vec![Held::Nothing; count],
            texts: vec![String::new(); count],
            random: Random::new(0),
            stack: Vec::with_capacity(depth),
        }
    }

    /// Sets the variable `name`, where the scripts name it and nothing was defined for it.
    pub fn define(&mut self, name: &str, value: Value) {
        if let Some(slot) = self.names.iter().position(|found| found == name) {
            if self.held[slot] == Held::Nothing {
                self.held[slot] = Held::Value(value);
            }
        }
    }

    /// Sets a variable to a value.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.held[usize::from(slot)] = Held::Value(value);
    }

    /// Sets a variable to a text, in the memory of an earlier one where that is long enough.
    pub fn set_text(&mut self, slot: Slot, text: &str) {
        let at = usize::from(slot);
        self.texts[at].clear();
        self.texts[at].push_str(text);
        self.held[at] = Held::Text;
    }

    /// The value of a variable, for an expression. Errors: it was never set, its text stands for no value.
    #[inline]
    pub(crate) fn value(&mut self, slot: Slot) -> Result<Value, Wrong> {
        match self.held[usize::from(slot)] {
            Held::Value(value) | Held::Read(value) => Ok(value),
            _ => self.read(usize::from(slot)),
        }
    }

    #[cold]
    fn read(&mut self, at: usize) -> Result<Value, Wrong> {
        let (name, text) = (&self.names[at], &self.texts[at]);
        if self.held[at] == Held::Nothing {
            return Err(Wrong::new(format!("undefined variable {name:?}")));
        }
        let value =
            Value::read(text).ok_or_else(|| Wrong::new(format!("malformed variable {name:?} value: {text:?}")))?;
        self.held[at] = Held::Read(value);
        Ok(value)
    }

    /// Sets a variable to a double that came as a result: its text has all digits.
    pub fn set_double(&mut self, slot: Slot, value: f64) {
        let at = usize::from(slot);
        self.texts[at].clear();
        // Writing into memory cannot fail.
        let _ = match value.is_infinite() {
            true => write!(self.texts[at], "{}Infinity", if value < 0.0 { "-" } else { "" }),
            false => write!(self.texts[at], "{value:?}"),
        };
        self.held[at] = Held::Read(Value::Double(value));
    }

    /// Sets a variable to a text from the command line, and notes the number that it stands for, if it does.
    pub(crate) fn set_defined(&mut self, slot: Slot, text: &str) {
        self.set_text(slot, text);
        if let Some(value @ (Value::Int(_) | Value::Double(_))) = Value::read(text) {
            self.held[usize::from(slot)] = Held::Read(value);
        }
    }

    /// What a statement gets for a variable.
    #[inline]
    pub fn parameter(&self, slot: Slot) -> Parameter<'_> {
        let at = usize::from(slot);
        match self.held[at] {
            Held::Nothing => Parameter::Unset,
            Held::Value(value) => Parameter::Value(value),
            Held::Text => Parameter::Text(&self.texts[at], None),
            Held::Read(value) => Parameter::Text(&self.texts[at], Some(value)),
        }
    }

    /// The number that a variable holds, a text that stands for one included.
    pub fn number(&self, slot: Slot) -> Option<Value> {
        match self.parameter(slot) {
            Parameter::Text(text, None) => Value::read(text),
            other => other.value(),
        }
    }

    /// Appends the text of a variable; false where it was never set.
    #[inline]
    pub fn write(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        match self.parameter(slot) {
            Parameter::Unset => return false,
            Parameter::Value(value) => value.write(out),
            Parameter::Text(text, _) => out.extend_from_slice(text.as_bytes()),
        }
        true
    }

    /// The text of a variable as a message shows it; `None` where it was never set.
    pub fn text(&self, slot: Slot) -> Option<String> {
        let mut text = Vec::new();
        self.write(slot, &mut text).then(|| String::from_utf8_lossy(&text).into_owned())
    }

    /// Takes over the variables and the random numbers of `other`, which is of the same scripts.
    pub fn restore(&mut self, other: &Self) {
        self.held.copy_from_slice(&other.held);
        self.random = other.random;
        for (own, text) in self.texts.iter_mut().zip(&other.texts) {
            own.clone_from(text);
        }
    }
}
