//! The words after a backslash: a command and its arguments, up to the end of the line.

use dsbench_core::lexer::run;

use crate::token::{continuation, is_blank};

/// The word at `at` of `text` (where it begins, where it ends) and where to go on; `None` for the word at the end of
/// the line.
pub(crate) fn next(text: &str, mut at: usize) -> (Option<(usize, usize)>, usize) {
    let bytes = text.as_bytes();
    loop {
        match bytes.get(at) {
            None => return (None, at),
            Some(b'\n') => return (None, at + 1),
            Some(byte) if is_blank(*byte) => at += 1,
            Some(_) => match continuation(&bytes[at..]) {
                Some(length) => at += length,
                None => break,
            },
        }
    }
    let whole = at + run(&bytes[at..], |byte| byte != b'\n' && !is_blank(byte));
    // A backslash at its end that continues the line is no part of it.
    let continued = whole - 1 > at && continuation(&bytes[whole - 1..]).is_some();
    let end = if continued { whole - 1 } else { whole };
    (Some((at, end)), end)
}
