//! Expressions as programs of a stack: what runs at every transaction.

use crate::error::Wrong;
use crate::function::Function;
use crate::memory::{Memory, Slot};
use crate::value::Value;

/// One step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Op {
    /// Pushes a constant.
    Push(Value),
    /// Pushes a variable.
    Load(Slot),
    /// Takes so many arguments, pushes the value of the function.
    Call(Function, u8),
    /// AND and OR after their left side: NULL, or a boolean of this value, stays as the result and the program goes on
    /// at the place; another boolean is taken and the right side follows.
    Decided(bool, u32),
    /// AND and OR after their right side: what is there has to be NULL or a boolean.
    Boolean,
    /// Takes a value and goes on at the place unless it is true.
    Unless(u32),
    /// Goes on at the place.
    Jump(u32),
}

/// An expression that can be evaluated again and again.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    pub(crate) ops: Box<[Op]>,
    /// Most values that are on the stack at once.
    pub(crate) depth: usize,
    /// Whether it draws random numbers or speaks.
    pub(crate) effects: bool,
}

impl Program {
    /// Evaluates it with the variables of `memory`. Allocates nothing but the words of an error; `debug` is told the
    /// value of the function of that name.
    pub fn evaluate(&self, memory: &mut Memory, debug: &mut dyn FnMut(Value)) -> Result<Value, Wrong> {
        if let [Op::Push(value)] = *self.ops {
            return Ok(value);
        }
        let mut stack = std::mem::take(&mut memory.stack);
        stack.clear();
        let result = self.run(&mut stack, memory, debug);
        memory.stack = stack;
        result
    }

    fn run(&self, stack: &mut Vec<Value>, memory: &mut Memory, debug: &mut dyn FnMut(Value)) -> Result<Value, Wrong> {
        let mut at = 0;
        while let Some(op) = self.ops.get(at) {
            at += 1;
            match *op {
                Op::Push(value) => stack.push(value),
                Op::Load(slot) => stack.push(memory.value(slot)?),
                Op::Call(function, count) => {
                    let from = stack.len() - usize::from(count);
                    let value = function.call(&stack[from..], &mut memory.random, debug)?;
                    stack.truncate(from);
                    stack.push(value);
                }
                Op::Decided(by, place) => match top(stack) {
                    Value::Null => at = place as usize,
                    value if value.bool()? == by => at = place as usize,
                    _ => {
                        stack.pop();
                    }
                },
                Op::Boolean => match top(stack) {
                    Value::Null => {}
                    value => drop(value.bool()?),
                },
                Op::Unless(place) => {
                    if !stack.pop().is_some_and(Value::is_true) {
                        at = place as usize;
                    }
                }
                Op::Jump(place) => at = place as usize,
            }
        }
        Ok(top(stack))
    }

    /// Whether it draws random numbers or speaks: then it may not be evaluated more often than the script says.
    pub fn has_effects(&self) -> bool {
        self.effects
    }
}

#[inline]
fn top(stack: &[Value]) -> Value {
    stack.last().copied().unwrap_or(Value::Null)
}
