//! What types a variable may have, found out before anything runs: a statement declares its parameters by them.

use crate::function::Function;
use crate::program::{Op, Program};
use crate::value::Value;

/// A set of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds(u8);

impl Kinds {
    /// NULL.
    pub const NULL: Self = Self(1);
    /// Boolean.
    pub const BOOL: Self = Self(2);
    /// Integer.
    pub const INT: Self = Self(4);
    /// Double.
    pub const DOUBLE: Self = Self(8);
    /// Text, which a result or the command line gave.
    pub const TEXT: Self = Self(16);

    /// Both together.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether nothing else is in it than in `other`.
    pub const fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether it has any of `other`.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The type of a value.
    pub const fn of(value: Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOL,
            Value::Int(_) => Self::INT,
            Value::Double(_) => Self::DOUBLE,
        }
    }

    /// What an expression may make of it: a text may stand for any value.
    fn read(self) -> Self {
        match self.has(Self::TEXT) {
            true => Self(15),
            false => self,
        }
    }
}

/// The types that a program's value may have, where variables have those that `of_variable` says.
pub(crate) fn of_program(program: &Program, of_variable: &dyn Fn(u16) -> Kinds) -> Kinds {
    let mut stack: Vec<Kinds> = Vec::new();
    // What waits at a place to which a jump leads, beside what comes there step by step.
    let mut waiting = vec![Kinds::default(); program.ops.len() + 1];
    for (at, op) in program.ops.iter().enumerate() {
        meet(&mut stack, waiting[at]);
        match *op {
            Op::Push(value) => stack.push(Kinds::of(value)),
            Op::Load(slot) => stack.push(of_variable(slot).read()),
            Op::Call(function, count) => {
                let args = stack.split_off(stack.len() - usize::from(count));
                stack.push(of_call(function, &args));
            }
            Op::Decided(_, place) => {
                let left = stack.pop().unwrap_or_default();
                let stays = Kinds::BOOL.or(Kinds(left.0 & Kinds::NULL.0));
                waiting[place as usize] = waiting[place as usize].or(stays);
            }
            Op::Boolean => {}
            Op::Unless(_) => drop(stack.pop()),
            Op::Jump(place) => {
                let left = stack.pop().unwrap_or_default();
                waiting[place as usize] = waiting[place as usize].or(left);
            }
        }
    }
    meet(&mut stack, waiting[program.ops.len()]);
    stack.pop().unwrap_or_default()
}

fn meet(stack: &mut [Kinds], more: Kinds) {
    if let Some(top) = stack.last_mut() {
        *top = top.or(more);
    }
}

fn of_call(function: Function, args: &[Kinds]) -> Kinds {
    use Function::*;
    let null = match function {
        Is | Debug => Kinds::default(),
        _ => Kinds(args.iter().fold(0, |all, kinds| all | kinds.0) & Kinds::NULL.0),
    };
    let value = match function {
        Add | Sub | Mul | Div | Least | Greatest | Abs => {
            let double = args.iter().any(|kinds| kinds.has(Kinds::DOUBLE));
            let whole = args.iter().all(|kinds| kinds.has(Kinds::INT));
            let double = if double { Kinds::DOUBLE } else { Kinds::default() };
            double.or(if whole { Kinds::INT } else { Kinds::default() })
        }
        Eq | Ne | Le | Lt | Not | Is => Kinds::BOOL,
        Debug => args[0],
        Pi | Sqrt | Ln | Exp | Double | Power => Kinds::DOUBLE,
        _ => Kinds::INT,
    };
    value.or(null)
}
