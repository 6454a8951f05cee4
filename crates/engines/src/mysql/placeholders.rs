//! Finds the placeholders of a statement that is sent as text.

/// Cuts `sql` at its question marks, those in strings, names and comments left out.
pub(super) fn cut(sql: &str) -> Vec<&str> {
    let bytes = sql.as_bytes();
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'?' => {
                pieces.push(&sql[start..at]);
                start = at + 1;
                at += 1;
            }
            quote @ (b'\'' | b'"' | b'`') => at = after_quote(bytes, at, quote),
            b'#' => at = after(bytes, at, b"\n"),
            b'-' if is_dash_comment(bytes, at) => at = after(bytes, at, b"\n"),
            // What follows an exclamation mark is no comment but SQL for some servers.
            b'/' if bytes[at..].starts_with(b"/*") && !is_executable(&bytes[at + 2..]) => {
                at = after(bytes, at + 2, b"*/")
            }
            _ => at += 1,
        }
    }
    pieces.push(&sql[start..]);
    pieces
}

/// Two dashes begin a comment when a space, a control character or nothing follows.
fn is_dash_comment(bytes: &[u8], at: usize) -> bool {
    bytes.get(at + 1) == Some(&b'-') && bytes.get(at + 2).is_none_or(|byte| *byte <= b' ')
}

fn is_executable(rest: &[u8]) -> bool {
    rest.starts_with(b"!") || rest.starts_with(b"M!")
}

/// Where the search goes on after the quoted text that begins at `at`.
fn after_quote(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quote != b'`' => at += 2,
            // A doubled quote stands for itself: it ends one quoted text and begins the next.
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Where the search goes on after the first `end` from `at` on.
fn after(bytes: &[u8], at: usize, end: &[u8]) -> usize {
    let found = bytes[at.min(bytes.len())..].windows(end.len()).position(|window| window == end);
    found.map_or(bytes.len(), |found| at + found + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found() {
        assert_eq!(cut("SELECT 1"), ["SELECT 1"]);
        assert_eq!(cut("?"), ["", ""]);
        assert_eq!(cut("UPDATE t SET a = a + ? WHERE b = ?"), ["UPDATE t SET a = a + ", " WHERE b = ", ""]);
    }

    #[test]
    fn question_marks_elsewhere_are_left_alone() {
        for sql in [
            "SELECT '?', 'it''s ?', 'a\\'?', \"?\", `?`",
            "SELECT 1 -- ?",
            "SELECT 1 # ?\n",
            "SELECT /* ? */ 1 /*?",
            "SELECT '?",
            "SELECT 'a\\",
            "SELECT 1--\t?",
        ] {
            assert_eq!(cut(sql), [sql]);
        }
        assert_eq!(cut("SELECT 5--?").len(), 2, "minus minus");
        assert_eq!(cut("SELECT 1 -- ?\n + ?").len(), 2);
        assert_eq!(cut("SELECT /*M! ? */ /*!50000 ? */ 1").len(), 3);
        assert_eq!(cut("SELECT 'grün', ?").len(), 2);
    }
}
