//! What a statement is answered, decided by its first word once, when it is parsed.

/// What a statement does to the status of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// A transaction is open from here.
    Begin,
    /// No transaction is open from here.
    End,
}

/// The answer to one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Columns of its one row; 0 for a statement that returns none.
    pub columns: u16,
    /// The tag of its CommandComplete, with the zero byte; empty for a statement that is empty.
    pub tag: Box<[u8]>,
    /// What becomes of the session.
    pub effect: Effect,
    /// True for what a server without data cannot play: COPY.
    pub refused: bool,
}

impl Answer {
    /// The answer to `sql`.
    pub fn to(sql: &[u8]) -> Self {
        let word: Vec<u8> = sql
            .trim_ascii_start()
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .map(u8::to_ascii_uppercase)
            .collect();
        let (columns, tag, effect) = match &word[..] {
            b"SELECT" | b"SHOW" | b"VALUES" => (columns(sql), &b"SELECT 1"[..], Effect::None),
            b"INSERT" => (0, &b"INSERT 0 1"[..], Effect::None),
            b"UPDATE" => (0, &b"UPDATE 1"[..], Effect::None),
            b"DELETE" => (0, &b"DELETE 1"[..], Effect::None),
            b"BEGIN" | b"START" => (0, &b"BEGIN"[..], Effect::Begin),
            b"COMMIT" | b"END" => (0, &b"COMMIT"[..], Effect::End),
            b"ROLLBACK" | b"ABORT" => (0, &b"ROLLBACK"[..], Effect::End),
            other => (0, other, Effect::None),
        };
        let mut tag = tag.to_vec();
        if !tag.is_empty() {
            tag.push(0);
        }
        Self { columns, tag: tag.into(), effect, refused: word == b"COPY" }
    }
}

/// Columns of a select list: its commas outside of parentheses and quotes, up to FROM, and one.
fn columns(sql: &[u8]) -> u16 {
    let (mut commas, mut depth, mut quoted) = (0_u16, 0_u32, false);
    for (at, byte) in sql.iter().enumerate() {
        match byte {
            b'\'' => quoted = !quoted,
            _ if quoted => {}
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => commas = commas.saturating_add(1),
            b'f' | b'F' if depth == 0 && starts_from(sql, at) => break,
            _ => {}
        }
    }
    commas.saturating_add(1).min(1600)
}

fn starts_from(sql: &[u8], at: usize) -> bool {
    let is_space = |place: Option<usize>| place.and_then(|p| sql.get(p)).is_some_and(u8::is_ascii_whitespace);
    is_space(at.checked_sub(1)) && is_space(Some(at + 4)) && sql[at..at + 4].eq_ignore_ascii_case(b"from")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_decides() {
        for (sql, columns, tag, effect) in [
            (&b" select abalance FROM account WHERE aid = $1"[..], 1, &b"SELECT 1\0"[..], Effect::None),
            (b"SELECT f(1, 2), 'a,b', x\nfrom a, b", 3, b"SELECT 1\0", Effect::None),
            (b"insert into t values (1, 2)", 0, b"INSERT 0 1\0", Effect::None),
            (b"BEGIN", 0, b"BEGIN\0", Effect::Begin),
            (b"end;", 0, b"COMMIT\0", Effect::End),
            (b"vacuum t", 0, b"VACUUM\0", Effect::None),
            (b"  ", 0, b"", Effect::None),
        ] {
            let answer = Answer::to(sql);
            let found = (answer.columns, &*answer.tag, answer.effect, answer.refused);
            assert_eq!(found, (columns, tag, effect, false), "{}", String::from_utf8_lossy(sql));
        }
        assert!(Answer::to(b"COPY t FROM STDIN").refused);
    }

    #[test]
    fn no_text_is_too_odd() {
        for sql in [&b"select f"[..], b"select x from", b"select ((((", b"select 'a", b"from", b"\xff\0("] {
            assert!(Answer::to(sql).columns <= 2);
        }
    }
}
