//! Reads an expression and writes its program, by the precedence of pgbench's grammar.

use crate::function::{Arity, Function, MOST_ARGUMENTS};
use crate::memory::Slot;
use crate::program::{Op, Program};
use crate::token::{self, Token};
use crate::value::Value;

/// What is wrong with an expression, and where: the end of the token at which it was noticed.
#[derive(Debug)]
pub(crate) struct Fault {
    pub message: String,
    pub at: usize,
}

/// How tightly operators bind, the loosest first.
mod binds {
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const NOT: u8 = 3;
    pub(super) const IS: u8 = 4;
    pub(super) const COMPARISON: u8 = 5;
    pub(super) const BITS: u8 = 6;
    pub(super) const SUM: u8 = 7;
    pub(super) const PRODUCT: u8 = 8;
    pub(super) const UNARY: u8 = 9;
}

/// Deepest nesting of brackets, CASE and prefixes.
const DEEPEST: usize = 200;

/// Reads the expression at `at` of `text` up to the end of the line; gives its program and where the next line begins.
/// `slot_of` gives variables their numbers.
pub(crate) fn read<'a>(
    text: &'a str,
    at: usize,
    slot_of: &mut dyn FnMut(&str) -> Slot,
) -> Result<(Program, usize), Fault> {
    let mut reader = Reader { text, at, token: Token::End, ops: Vec::new(), slot_of, nested: 0 };
    reader.advance()?;
    reader.expression(0)?;
    match reader.token {
        Token::End => {
            let depth = reader.ops.len();
            Ok((Program { ops: reader.ops.into(), depth }, reader.at))
        }
        _ => Err(reader.unexpected()),
    }
}

struct Reader<'a, 'b> {
    text: &'a str,
    /// End of the current token.
    at: usize,
    token: Token<'a>,
    ops: Vec<Op>,
    slot_of: &'b mut dyn FnMut(&str) -> Slot,
    nested: usize,
}

type Done = Result<(), Fault>;

impl Reader<'_, '_> {
    fn advance(&mut self) -> Done {
        let wrong = |(message, what, at)| Fault { message: format!("{message} ({what})"), at };
        (self.token, self.at) = token::next(self.text, self.at).map_err(wrong)?;
        Ok(())
    }

    fn unexpected(&self) -> Fault {
        Fault { message: "syntax error".into(), at: self.at }
    }

    fn fault(&self, message: &str, what: &str) -> Fault {
        Fault { message: format!("{message} ({what})"), at: self.at }
    }

    /// Goes past a token that has to be there.
    fn expect(&mut self, wanted: Token<'static>) -> Done {
        match self.token == wanted {
            true => self.advance(),
            false => Err(self.unexpected()),
        }
    }

    fn push(&mut self, value: Value) {
        self.ops.push(Op::Push(value));
    }

    fn call(&mut self, function: Function, count: u8) {
        self.ops.push(Op::Call(function, count));
    }

    /// An expression whose operators bind tighter than `least`.
    fn expression(&mut self, least: u8) -> Done {
        self.nested += 1;
        if self.nested > DEEPEST {
            return Err(self.fault("the expression is nested too deeply", "at most 200 levels"));
        }
        let start = self.ops.len();
        self.prefix()?;
        while self.infix(least, start)? {}
        self.nested -= 1;
        Ok(())
    }

    fn prefix(&mut self) -> Done {
        if self.token == Token::End {
            return Err(self.unexpected());
        }
        let token = std::mem::replace(&mut self.token, Token::End);
        let at = self.at;
        let shown = token.clone();
        self.advance()?;
        match token {
            Token::Int(value) => self.push(Value::Int(value)),
            Token::Double(value) => self.push(Value::Double(value)),
            Token::True => self.push(Value::Bool(true)),
            Token::False => self.push(Value::Bool(false)),
            Token::Word("NULL") => self.push(Value::Null),
            Token::Variable(name) => {
                let slot = (self.slot_of)(name);
                self.ops.push(Op::Load(slot));
            }
            Token::Sign("(") => {
                self.expression(0)?;
                self.expect(Token::Sign(")"))?;
            }
            Token::Sign("+") => self.expression(binds::UNARY)?,
            Token::Sign("-") if self.token == Token::AboveIntegers => {
                self.push(Value::Int(i64::MIN));
                self.advance()?;
            }
            // -x is 0 - x, ~x is -1 # x, as in pgbench.
            Token::Sign("-") => {
                self.push(Value::Int(0));
                self.expression(binds::UNARY)?;
                self.call(Function::Sub, 2);
            }
            Token::Sign("~") => {
                self.push(Value::Int(-1));
                self.expression(binds::BITS)?;
                self.call(Function::BitXor, 2);
            }
            Token::Word("NOT") => {
                self.expression(binds::NOT)?;
                self.call(Function::Not, 1);
            }
            Token::Word("CASE") => self.case()?,
            Token::Name(name) => match Function::named(name) {
                Some(found) => self.function(found)?,
                None => return Err(Fault { message: format!("unexpected function name ({name})"), at }),
            },
            _ => {
                // The token that stands where none may.
                (self.token, self.at) = (shown, at);
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// One operator after the expression whose steps begin at `start`; false when there is none that binds tighter
    /// than `least`.
    fn infix(&mut self, least: u8, start: usize) -> Result<bool, Fault> {
        use Function::*;
        let (binds, function) = match self.token {
            Token::Word("OR") => (binds::OR, None),
            Token::Word("AND") => (binds::AND, None),
            Token::Word("IS" | "ISNULL" | "NOTNULL") => (binds::IS, None),
            Token::Sign("=") => (binds::COMPARISON, Some(Eq)),
            Token::Sign("<>") => (binds::COMPARISON, Some(Ne)),
            Token::Sign("<" | ">") => (binds::COMPARISON, Some(Lt)),
            Token::Sign("<=" | ">=") => (binds::COMPARISON, Some(Le)),
            Token::Sign("|") => (binds::BITS, Some(BitOr)),
            Token::Sign("#") => (binds::BITS, Some(BitXor)),
            Token::Sign("&") => (binds::BITS, Some(BitAnd)),
            Token::Sign("<<") => (binds::BITS, Some(ShiftLeft)),
            Token::Sign(">>") => (binds::BITS, Some(ShiftRight)),
            Token::Sign("+") => (binds::SUM, Some(Add)),
            Token::Sign("-") => (binds::SUM, Some(Sub)),
            Token::Sign("*") => (binds::PRODUCT, Some(Mul)),
            Token::Sign("/") => (binds::PRODUCT, Some(Div)),
            Token::Sign("%") => (binds::PRODUCT, Some(Mod)),
            _ => return Ok(false),
        };
        if binds <= least {
            return Ok(false);
        }
        match (function, &self.token) {
            (Some(function), Token::Sign(sign)) => {
                let swapped = matches!(*sign, ">" | ">=");
                self.advance()?;
                self.binary(function, binds, swapped, start)?;
            }
            (_, Token::Word("OR")) => self.lazy(true, binds)?,
            (_, Token::Word("AND")) => self.lazy(false, binds)?,
            _ => self.is()?,
        }
        Ok(true)
    }

    fn binary(&mut self, function: Function, binds: u8, swapped: bool, start: usize) -> Done {
        let middle = self.ops.len();
        self.expression(binds)?;
        if swapped {
            // a > b is b < a, and b is evaluated first. Jumps are within each side.
            self.ops[start..].rotate_left(middle - start);
            let right = self.ops.len() - (middle - start);
            shift(&mut self.ops[start..right], -(middle as i64 - start as i64));
            shift(&mut self.ops[right..], right as i64 - start as i64);
        }
        self.call(function, 2);
        if binds == binds::COMPARISON && matches!(self.token, Token::Sign("<" | ">" | "=" | "<=" | ">=" | "<>")) {
            return Err(self.unexpected());
        }
        Ok(())
    }

    /// AND and OR: the right side is evaluated only where the left one does not decide.
    fn lazy(&mut self, decides: bool, binds: u8) -> Done {
        self.advance()?;
        let jump = self.ops.len();
        self.ops.push(Op::Decided(decides, 0));
        self.expression(binds)?;
        self.ops.push(Op::Boolean);
        self.ops[jump] = Op::Decided(decides, self.ops.len() as u32);
        Ok(())
    }

    fn is(&mut self) -> Done {
        let word = self.token.clone();
        self.advance()?;
        let mut negated = word == Token::Word("NOTNULL");
        let value = match word {
            Token::Word("IS") => {
                if self.token == Token::Word("NOT") {
                    negated = true;
                    self.advance()?;
                }
                let value = match self.token {
                    Token::Word("NULL") => Value::Null,
                    Token::True => Value::Bool(true),
                    Token::False => Value::Bool(false),
                    _ => return Err(self.unexpected()),
                };
                self.advance()?;
                value
            }
            _ => Value::Null,
        };
        self.push(value);
        self.call(Function::Is, 2);
        if negated {
            self.call(Function::Not, 1);
        }
        Ok(())
    }

    fn case(&mut self) -> Done {
        let mut ends = Vec::new();
        if self.token != Token::Word("WHEN") {
            return Err(self.unexpected());
        }
        while self.token == Token::Word("WHEN") {
            self.advance()?;
            self.expression(0)?;
            self.expect(Token::Word("THEN"))?;
            let unless = self.ops.len();
            self.ops.push(Op::Unless(0));
            self.expression(0)?;
            ends.push(self.ops.len());
            self.ops.push(Op::Jump(0));
            self.ops[unless] = Op::Unless(self.ops.len() as u32);
        }
        if self.token == Token::Word("ELSE") {
            self.advance()?;
            self.expression(0)?;
        } else {
            self.push(Value::Null);
        }
        self.expect(Token::Word("END"))?;
        for end in ends {
            self.ops[end] = Op::Jump(self.ops.len() as u32);
        }
        Ok(())
    }

    fn function(&mut self, (name, arity, function): (&'static str, Arity, Function)) -> Done {
        self.expect(Token::Sign("("))?;
        let mut count = 0;
        // An empty list may be followed by a comma: pgbench's grammar allows it once.
        if self.token == Token::Sign(",") {
            self.advance()?;
        }
        while self.token != Token::Sign(")") || count > 0 {
            self.expression(0)?;
            count += 1;
            match self.token {
                Token::Sign(",") => self.advance()?,
                Token::Sign(")") => break,
                _ => return Err(self.unexpected()),
            }
        }
        match arity {
            Arity::Exactly(wanted) if count != wanted => return Err(self.fault("unexpected number of arguments", name)),
            Arity::AtLeastOne if count == 0 => return Err(self.fault("at least one argument expected", name)),
            Arity::WithSeed(most) if count + 1 == most => {
                let slot = (self.slot_of)("default_seed");
                self.ops.push(Op::Load(slot));
                count += 1;
            }
            Arity::WithSeed(most) if count != most => return Err(self.fault("unexpected number of arguments", name)),
            _ if count > MOST_ARGUMENTS => return Err(self.fault("too many function arguments", "maximum is 16")),
            _ => {}
        }
        self.call(function, count as u8);
        self.expect(Token::Sign(")"))
    }
}

/// Moves the places of jumps by `by`.
fn shift(ops: &mut [Op], by: i64) {
    for op in ops {
        if let Op::Decided(_, place) | Op::Unless(place) | Op::Jump(place) = op {
            *place = (i64::from(*place) + by) as u32;
        }
    }
}
