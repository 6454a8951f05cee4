//! The functions and operators of expressions.

use std::f64::consts::PI;

use crate::error::Wrong;
use crate::random::{fnv1a, murmur2, permute, Random};
use crate::value::Value;

/// Most arguments of a function.
pub(crate) const MOST_ARGUMENTS: usize = 16;

/// A function or an operator; AND, OR and CASE are jumps of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Eq,
    Ne,
    Le,
    Lt,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Not,
    Is,
    Abs,
    Least,
    Greatest,
    Debug,
    Pi,
    Sqrt,
    Ln,
    Exp,
    Int,
    Double,
    Power,
    Random,
    Gaussian,
    Exponential,
    Zipfian,
    Zipf,
    Murmur2,
    Fnv1a,
    Permute,
}

/// How many arguments a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    Exactly(usize),
    AtLeastOne,
    /// So many, or one less: then the last is `:default_seed`.
    WithSeed(usize),
}

/// Functions by name, in pgbench's spelling. `zipf` is dsbench's own: `random_zipfian` with any exponent above 0.
const NAMED: &[(&str, Arity, Function)] = &[
    ("mod", Arity::Exactly(2), Function::Mod),
    ("abs", Arity::Exactly(1), Function::Abs),
    ("least", Arity::AtLeastOne, Function::Least),
    ("greatest", Arity::AtLeastOne, Function::Greatest),
    ("debug", Arity::Exactly(1), Function::Debug),
    ("pi", Arity::Exactly(0), Function::Pi),
    ("sqrt", Arity::Exactly(1), Function::Sqrt),
    ("ln", Arity::Exactly(1), Function::Ln),
    ("exp", Arity::Exactly(1), Function::Exp),
    ("int", Arity::Exactly(1), Function::Int),
    ("double", Arity::Exactly(1), Function::Double),
    ("random", Arity::Exactly(2), Function::Random),
    ("random_gaussian", Arity::Exactly(3), Function::Gaussian),
    ("random_exponential", Arity::Exactly(3), Function::Exponential),
    ("random_zipfian", Arity::Exactly(3), Function::Zipfian),
    ("zipf", Arity::Exactly(3), Function::Zipf),
    ("pow", Arity::Exactly(2), Function::Power),
    ("power", Arity::Exactly(2), Function::Power),
    ("hash", Arity::WithSeed(2), Function::Murmur2),
    ("hash_murmur2", Arity::WithSeed(2), Function::Murmur2),
    ("hash_fnv1a", Arity::WithSeed(2), Function::Fnv1a),
    ("permute", Arity::WithSeed(3), Function::Permute),
];

impl Function {
    /// The function of a name, upper and lower case alike.
    pub fn named(name: &str) -> Option<(&'static str, Arity, Self)> {
        NAMED.iter().copied().find(|(known, ..)| known.eq_ignore_ascii_case(name))
    }

    /// Whether it draws a random number or speaks: then it is called as often as the script says.
    pub fn has_effects(self) -> bool {
        matches!(self, Self::Random | Self::Gaussian | Self::Exponential | Self::Zipfian | Self::Zipf | Self::Debug)
    }

    /// Its value; `debug` is told the value of the function of that name. Any NULL among the arguments makes it NULL.
    #[inline]
    pub fn call(self, args: &[Value], random: &mut Random, debug: &mut dyn FnMut(Value)) -> Result<Value, Wrong> {
        match self {
            Self::Is => return Ok(Value::Bool(args[0] == args[1])),
            Self::Debug => {
                debug(args[0]);
                return Ok(args[0]);
            }
            _ if args.iter().any(|value| matches!(value, Value::Null)) => return Ok(Value::Null),
            _ => {}
        }
        match self {
            Self::Add | Self::Sub | Self::Mul | Self::Div | Self::Eq | Self::Ne | Self::Le | Self::Lt => {
                if let (Value::Int(left), Value::Int(right)) = (args[0], args[1]) {
                    return self.of_integers(left, right);
                }
                self.of_numbers(args[0], args[1])
            }
            Self::Mod | Self::BitAnd | Self::BitOr | Self::BitXor | Self::ShiftLeft | Self::ShiftRight => {
                self.of_integers(args[0].int()?, args[1].int()?)
            }
            Self::Random | Self::Gaussian | Self::Exponential | Self::Zipfian | Self::Zipf => self.draw(args, random),
            _ => self.of_others(args),
        }
    }

    fn of_numbers(self, left: Value, right: Value) -> Result<Value, Wrong> {
        if !matches!(left, Value::Double(_)) && !matches!(right, Value::Double(_)) {
            return self.of_integers(left.int()?, right.int()?);
        }
        let (left, right) = (left.double()?, right.double()?);
        Ok(match self {
            Self::Add => Value::Double(left + right),
            Self::Sub => Value::Double(left - right),
            Self::Mul => Value::Double(left * right),
            Self::Div => Value::Double(left / right),
            Self::Eq => Value::Bool(left == right),
            Self::Ne => Value::Bool(left != right),
            Self::Le => Value::Bool(left <= right),
            _ => Value::Bool(left < right),
        })
    }

    #[inline]
    fn of_integers(self, left: i64, right: i64) -> Result<Value, Wrong> {
        let fits = |value: Option<i64>, what: &str| {
            value.map(Value::Int).ok_or_else(|| Wrong::new(format!("bigint {what} out of range")))
        };
        match self {
            Self::Add => fits(left.checked_add(right), "add"),
            Self::Sub => fits(left.checked_sub(right), "sub"),
            Self::Mul => fits(left.checked_mul(right), "mul"),
            Self::Div | Self::Mod if right == 0 => Err(Wrong::new("division by zero")),
            Self::Div => fits(left.checked_div(right), "div"),
            Self::Mod => Ok(Value::Int(left.wrapping_rem(right))),
            Self::Eq => Ok(Value::Bool(left == right)),
            Self::Ne => Ok(Value::Bool(left != right)),
            Self::Le => Ok(Value::Bool(left <= right)),
            Self::Lt => Ok(Value::Bool(left < right)),
            Self::BitAnd => Ok(Value::Int(left & right)),
            Self::BitOr => Ok(Value::Int(left | right)),
            Self::BitXor => Ok(Value::Int(left ^ right)),
            // Only the low six bits of the distance count, as with the processor's own shifts.
            Self::ShiftLeft => Ok(Value::Int(left.wrapping_shl(right as u32))),
            _ => Ok(Value::Int(left.wrapping_shr(right as u32))),
        }
    }

    fn draw(self, args: &[Value], random: &mut Random) -> Result<Value, Wrong> {
        let (low, high) = (args[0].int()?, args[1].int()?);
        if low > high {
            return Err(Wrong::new("empty range given to random"));
        }
        if high.checked_sub(low).and_then(|width| width.checked_add(1)).is_none() {
            return Err(Wrong::new("random range is too large"));
        }
        if self == Self::Random {
            return Ok(Value::Int(random.uniform(low, high)));
        }
        let parameter = args[2].double()?;
        match self {
            Self::Gaussian if parameter >= 2.0 => Ok(Value::Int(random.gaussian(low, high, parameter))),
            Self::Gaussian => {
                Err(Wrong::new(format!("gaussian parameter must be at least 2.000000 (not {parameter:.6})")))
            }
            Self::Zipfian if (1.001..=1000.0).contains(&parameter) => {
                Ok(Value::Int(random.zipfian(low, high, parameter)))
            }
            Self::Zipfian => {
                Err(Wrong::new(format!("zipfian parameter must be in range [1.001, 1000] (not {parameter:.6})")))
            }
            Self::Zipf if parameter > 0.0 && parameter <= 1000.0 => {
                let count = high.abs_diff(low) + 1;
                Ok(Value::Int(low + (random.zipf(count, parameter) - 1) as i64))
            }
            Self::Zipf => {
                Err(Wrong::new(format!("zipf exponent must be above 0 and at most 1000 (not {parameter:.6})")))
            }
            _ if parameter > 0.0 => Ok(Value::Int(random.exponential(low, high, parameter))),
            _ => Err(Wrong::new(format!("exponential parameter must be greater than zero (not {parameter:.6})"))),
        }
    }

    fn of_others(self, args: &[Value]) -> Result<Value, Wrong> {
        let double = |of: fn(f64) -> f64| args[0].double().map(of).map(Value::Double);
        match self {
            Self::Not => args[0].bool().map(|value| Value::Bool(!value)),
            Self::Abs => match args[0] {
                Value::Int(value) => Ok(Value::Int(value.wrapping_abs())),
                other => other.double().map(|value| Value::Double(if value < 0.0 { -value } else { value })),
            },
            Self::Least => extreme(args, |best, next| next < best, |best, next| next <= best),
            Self::Greatest => extreme(args, |best, next| next > best, |best, next| next >= best),
            Self::Pi => Ok(Value::Double(PI)),
            Self::Sqrt => double(f64::sqrt),
            Self::Ln => double(f64::ln),
            Self::Exp => double(f64::exp),
            Self::Double => double(|value| value),
            Self::Int => args[0].int().map(Value::Int),
            Self::Power => Ok(Value::Double(args[0].double()?.powf(args[1].double()?))),
            Self::Murmur2 => Ok(Value::Int(murmur2(args[0].int()?, args[1].int()?))),
            Self::Fnv1a => Ok(Value::Int(fnv1a(args[0].int()?, args[1].int()?))),
            _ => match (args[0].int()?, args[1].int()?, args[2].int()?) {
                (value, size, seed) if size > 0 => Ok(Value::Int(permute(value, size, seed))),
                _ => Err(Wrong::new("permute size parameter must be greater than zero")),
            },
        }
    }
}

/// The least or the greatest; a double where any is one. Of doubles the later counts unless it is beaten, so that what
/// comes of a NaN depends on the order, as in C.
fn extreme(args: &[Value], whole: fn(i64, i64) -> bool, double: fn(f64, f64) -> bool) -> Result<Value, Wrong> {
    if args.iter().any(|value| matches!(value, Value::Double(_))) {
        let mut best = args[0].double()?;
        for value in &args[1..] {
            let next = value.double()?;
            if double(best, next) || best.is_nan() || next.is_nan() {
                best = next;
            }
        }
        return Ok(Value::Double(best));
    }
    let mut best = args[0].int()?;
    for value in &args[1..] {
        let next = value.int()?;
        if whole(best, next) {
            best = next;
        }
    }
    Ok(Value::Int(best))
}
