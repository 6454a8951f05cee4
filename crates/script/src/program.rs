//! Expressions as programs of a stack: what runs at every transaction.

use crate::error::Wrong;
use crate::function::Function;
use crate::memory::{Memory, Slot};
use crate::random::Random;
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
}

impl Program {
    /// Evaluates it with the variables of `memory`. Allocates nothing but the words of an error; `debug` is told the
    /// value of the function of that name.
    pub fn evaluate(&self, memory: &mut Memory, debug: &mut dyn FnMut(Value)) -> Result<Value, Wrong> {
        match *self.ops {
            [Op::Push(value)] => return Ok(value),
            // What most scripts draw, once it is settled.
            [Op::Push(Value::Int(low)), Op::Push(Value::Int(high)), Op::Call(Function::Random, 2)]
                if low <= high && high.checked_sub(low).is_some_and(|width| width < i64::MAX) =>
            {
                return Ok(Value::Int(memory.random.uniform(low, high)));
            }
            _ => {}
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

    /// Whether each evaluation may give another value, or speaks, though no variable has changed.
    pub fn draws(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Call(function, _) if function.has_effects()))
    }

    /// Puts the values of variables that never change in their places, and computes what then is the same each time.
    /// What fails is left as it is: it fails when it is come upon.
    pub(crate) fn settle(&mut self, known: &[(Slot, Value)]) {
        for op in &mut self.ops {
            if let Op::Load(slot) = *op {
                if let Some((_, value)) = known.iter().find(|(found, _)| *found == slot) {
                    *op = Op::Push(*value);
                }
            }
        }
        // Where there are jumps, the places to which they lead would move.
        if self.ops.iter().all(|op| matches!(op, Op::Push(_) | Op::Load(_) | Op::Call(..))) {
            self.ops = computed(&self.ops).into();
        }
    }
}

/// The steps with calls of constants in place of which their values stand.
fn computed(ops: &[Op]) -> Vec<Op> {
    let mut done: Vec<Op> = Vec::with_capacity(ops.len());
    for op in ops {
        done.push(*op);
        let Op::Call(function, count) = *op else { continue };
        let from = done.len() - 1 - usize::from(count);
        let constant = |op: &Op| if let Op::Push(value) = op { Some(*value) } else { None };
        let args: Option<Vec<Value>> = done[from..done.len() - 1].iter().map(constant).collect();
        let Some(args) = args.filter(|_| !function.has_effects()) else { continue };
        if let Ok(value) = function.call(&args, &mut Random::new(0), &mut |_| {}) {
            done.truncate(from);
            done.push(Op::Push(value));
        }
    }
    done
}

#[inline]
fn top(stack: &[Value]) -> Value {
    stack.last().copied().unwrap_or(Value::Null)
}
