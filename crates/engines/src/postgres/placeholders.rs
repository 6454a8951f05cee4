//! Finds the placeholders of a statement that is sent as text.

use std::ops::Range;

/// Where `$1`, `$2` … stand in `sql`, and which parameter each names, from 0; those in strings, names and comments
/// are left out. A number above 65,535, or 0, is no placeholder that the protocol could name.
pub(super) fn find(sql: &str) -> Vec<(Range<usize>, usize)> {
    let bytes = sql.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at = match bytes[at] {
            b'\'' => after_quote(bytes, at, b'\'', escapes(bytes, at)),
            b'"' => after_quote(bytes, at, b'"', false),
            b'-' if rest.starts_with(b"--") => after(bytes, at, b"\n"),
            b'/' if rest.starts_with(b"/*") => after_comment(bytes, at),
            b'$' if !continues_name(bytes, at) => match (digits(rest), tag(rest)) {
                (Some((end, number)), _) => {
                    found.push((at..at + end, number - 1));
                    at + end
                }
                (None, Some(tag)) => after(bytes, at + tag.len(), tag),
                (None, None) => at + 1,
            },
            _ => at + 1,
        };
    }
    found
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Whether the character at `at` belongs to a name that began before it.
fn continues_name(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| is_name(bytes[before]) || bytes[before] == b'$')
}

/// Whether the quote at `at` begins a string of the form `E'…'`, in which a backslash escapes.
fn escapes(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| matches!(bytes[before], b'e' | b'E') && !continues_name(bytes, before))
}

/// The number behind a dollar sign, and where it ends.
fn digits(text: &[u8]) -> Option<(usize, usize)> {
    let end = 1 + text[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[1..end]).ok()?.parse::<u16>().ok()?;
    (number > 0).then_some((end, number.into()))
}

/// The beginning `$$` or `$tag$` of a string that ends with the same.
fn tag(text: &[u8]) -> Option<&[u8]> {
    let end = 1 + text[1..].iter().take_while(|byte| is_name(**byte)).count();
    (text.get(end) == Some(&b'$') && !text[1].is_ascii_digit()).then(|| &text[..=end])
}

/// Where the search goes on after the quoted text that begins at `at`.
fn after_quote(bytes: &[u8], at: usize, quote: u8, escapes: bool) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            // A doubled quote stands for itself.
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Comments lie within each other.
fn after_comment(bytes: &[u8], at: usize) -> usize {
    let (mut at, mut depth) = (at + 2, 1);
    while at < bytes.len() && depth > 0 {
        match &bytes[at..] {
            [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at
}

/// Where the search goes on after the first `end` from `at` on.
fn after(bytes: &[u8], at: usize, end: &[u8]) -> usize {
    let found = bytes[at.min(bytes.len())..].windows(end.len()).position(|window| window == end);
    found.map_or(bytes.len(), |found| at + found + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(sql: &str) -> Vec<usize> {
        find(sql).into_iter().map(|(_, number)| number).collect()
    }

    #[test]
    fn placeholders_are_found() {
        assert_eq!(find("SELECT 1"), []);
        assert_eq!(find("$2+$12"), [(0..2, 1), (3..6, 11)]);
        assert_eq!(numbers("UPDATE t SET a = a +$1 WHERE b=$1::int AND c = ANY($2)"), [0, 0, 1]);
        assert_eq!(numbers("SELECT 'grün', $1 -- $2\n, $3 /* $4 /* $5 */ $6 */, $7"), [0, 2, 6]);
        assert_eq!(numbers("SELECT E'\\' $1', '\\', $2, e'it''s \\' $1 \\\\', $3"), [1, 2]);
        assert_eq!(numbers("SELECT $$ $1 $$, $b$ $2 $$ $b$, $3"), [2]);
    }

    #[test]
    fn dollars_elsewhere_are_left_alone() {
        for sql in [
            "SELECT '$1', 'it''s $1', \"$1\"\"$1\", a$1, a$$1, grün$1, $0, $70000, $a, $",
            "SELECT '$1",
            "SELECT E'a\\",
            "/* $1",
            "$$ $1",
            "$a$ $1 $$",
            "-- $1",
        ] {
            assert_eq!(numbers(sql), [0; 0], "{sql}");
        }
    }
}
