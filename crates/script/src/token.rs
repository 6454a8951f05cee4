//! The tokens of an expression.

use dsbench_core::lexer::{begins_name, in_name, run};

use crate::value::read_double;

/// A token of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token<'a> {
    /// An operator, a bracket or a comma.
    Sign(&'static str),
    /// AND, OR, NOT, IS, ISNULL, NOTNULL, CASE, WHEN, THEN, ELSE, END, NULL.
    Word(&'static str),
    True,
    False,
    Int(i64),
    /// 2^63, which only a minus before it makes an integer.
    AboveIntegers,
    Double(f64),
    Variable(&'a str),
    /// The name of a function.
    Name(&'a str),
    /// The end of the line or of the file.
    End,
}

/// Longer ones first.
const SIGNS: &[&str] =
    &["<>", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%", "=", "<", ">", "|", "&", "#", "~", "(", ")", ","];
const WORDS: &[&str] = &["AND", "OR", "NOT", "IS", "ISNULL", "NOTNULL", "CASE", "WHEN", "THEN", "ELSE", "END", "NULL"];

/// White space within a line.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0c | 0x0b)
}

/// Length of a continuation of the line (a backslash and the end of the line) that begins here.
pub(crate) fn continuation(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'\\', b'\n', ..] => Some(2),
        [b'\\', b'\r', b'\n', ..] => Some(3),
        _ => None,
    }
}

/// The token at `at` of `text`, and where the next begins. An error: what is wrong and the text of it, and its end.
pub(crate) fn next(text: &str, mut at: usize) -> Result<(Token<'_>, usize), (&'static str, String, usize)> {
    let bytes = text.as_bytes();
    loop {
        let rest = &bytes[at..];
        match rest.first() {
            Some(byte) if is_blank(*byte) => at += 1,
            _ => match continuation(rest) {
                Some(length) => at += length,
                None => break,
            },
        }
    }
    let rest = &bytes[at..];
    let Some(&first) = rest.first() else { return Ok((Token::End, at)) };
    if first == b'\n' {
        return Ok((Token::End, at + 1));
    }
    if first.is_ascii_digit() || (first == b'.' && rest.get(1).is_some_and(u8::is_ascii_digit)) {
        return number(text, at);
    }
    if begins_name(first) {
        let end = at + run(rest, in_name);
        let name = &text[at..end];
        return Ok((word(name), end));
    }
    if first == b':' && rest.get(1).copied().is_some_and(in_name) {
        let end = at + 1 + run(&rest[1..], in_name);
        return Ok((Token::Variable(&text[at + 1..end]), end));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(sign.as_bytes())) {
        Some(sign) => Ok((Token::Sign(if *sign == "!=" { "<>" } else { sign }), at + sign.len())),
        None => Err(("unexpected character", char::from(first).to_string(), at + 1)),
    }
}

fn word(name: &str) -> Token<'_> {
    match WORDS.iter().find(|word| word.eq_ignore_ascii_case(name)) {
        Some(word) => Token::Word(word),
        None if name.eq_ignore_ascii_case("true") => Token::True,
        None if name.eq_ignore_ascii_case("false") => Token::False,
        None => Token::Name(name),
    }
}

fn number(text: &str, at: usize) -> Result<(Token<'_>, usize), (&'static str, String, usize)> {
    let rest = &text.as_bytes()[at..];
    let digit = |byte: u8| byte.is_ascii_digit();
    let whole = run(rest, digit);
    let mut length = whole;
    if rest.get(length) == Some(&b'.') {
        length += 1 + run(&rest[length + 1..], digit);
    }
    if matches!(rest.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(rest.get(length + 1), Some(b'+' | b'-')));
        let digits = run(rest.get(length + 1 + sign..).unwrap_or(&[]), digit);
        length += if digits > 0 { 1 + sign + digits } else { 0 };
    }
    let (end, number) = (at + length, &text[at..at + length]);
    if length > whole {
        let overflow = || ("double constant overflow", number.to_string(), end);
        return Ok((Token::Double(read_double(number).ok_or_else(overflow)?), end));
    }
    match number.parse() {
        Ok(value) => Ok((Token::Int(value), end)),
        Err(_) if number == "9223372036854775808" => Ok((Token::AboveIntegers, end)),
        Err(_) => Err(("bigint constant overflow", number.to_string(), end)),
    }
}
