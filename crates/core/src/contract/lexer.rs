//! Cuts SQL into tokens, as far as it takes to know what stands in a string, a name or a comment, and what does not.

use std::ops::Range;

/// How a product reads quotes and comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// As PostgreSQL does, with names in backticks besides, which SQLite and scripts for MySQL have.
    Standard,
    /// As MySQL and MariaDB do.
    MySql,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// White space.
    Space,
    /// What the server does not read.
    Comment,
    /// A string: in quotes, as `E'…'`, between dollar signs.
    Text,
    /// A name in quotes.
    Name,
    /// A keyword, or a name without quotes.
    Word,
    /// A number, as far as it has digits and letters.
    Number,
    /// A parameter: `$1`; in MySQL `?`.
    Place,
    /// A byte of anything else, or `::`.
    Sign,
}

impl Rules {
    /// Those of the dialect `name`.
    pub fn of(name: &str) -> Self {
        match name {
            "mysql" => Self::MySql,
            _ => Self::Standard,
        }
    }

    /// The first token of `text` and its length, 0 only where there is no text. What is not closed goes on to the end.
    pub fn next(self, text: &str) -> (Kind, usize) {
        let rest = text.as_bytes();
        let Some(&first) = rest.first() else { return (Kind::Space, 0) };
        let escapes = self == Self::MySql;
        match (self, rest) {
            _ if is_space(first) => (Kind::Space, run(rest, is_space)),
            (Self::Standard, [b'-', b'-', ..]) => (Kind::Comment, run(rest, |byte| !matches!(byte, b'\n' | b'\r'))),
            // Two dashes need a space, a control character or the end behind them.
            (Self::MySql, [b'#', ..] | [b'-', b'-'] | [b'-', b'-', 0..=b' ', ..]) => {
                (Kind::Comment, run(rest, |byte| byte != b'\n'))
            }
            (Self::Standard, [b'/', b'*', ..]) => (Kind::Comment, comment(rest, true)),
            // What follows an exclamation mark is no comment but SQL for some servers.
            (Self::MySql, [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..]) => (Kind::Sign, 1),
            (Self::MySql, [b'/', b'*', ..]) => (Kind::Comment, comment(rest, false)),
            (Self::Standard, [b'e' | b'E', b'\'', ..]) => (Kind::Text, 1 + quote(&rest[1..], true)),
            (_, [b'\'', ..]) | (Self::MySql, [b'"', ..]) => (Kind::Text, quote(rest, escapes)),
            (_, [b'"' | b'`', ..]) => (Kind::Name, quote(rest, false)),
            (Self::MySql, [b'?', ..]) => (Kind::Place, 1),
            (Self::Standard, [b'$', digit, ..]) if digit.is_ascii_digit() => {
                (Kind::Place, 1 + run(&rest[1..], |byte| byte.is_ascii_digit()))
            }
            (Self::Standard, [b'$', ..]) => dollar(rest).map_or((Kind::Sign, 1), |length| (Kind::Text, length)),
            (_, [b':', b':', ..]) => (Kind::Sign, 2),
            _ if begins_name(first) => (Kind::Word, run(rest, |byte| in_name(byte) || byte == b'$')),
            _ if first.is_ascii_digit() => (Kind::Number, run(rest, |byte| in_name(byte) || byte == b'$')),
            _ => (Kind::Sign, 1),
        }
    }

    /// All tokens of `text` with where they stand.
    pub fn tokens(self, text: &str) -> impl Iterator<Item = (Kind, Range<usize>)> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            let (kind, length) = self.next(&text[start..]);
            at += length;
            (length > 0).then_some((kind, start..at))
        })
    }

    /// What stands between the parameters of `sql`: one piece more than there are parameters.
    pub fn pieces(self, sql: &str) -> Vec<&str> {
        let (mut pieces, mut start) = (Vec::new(), 0);
        for (_, place) in self.tokens(sql).filter(|(kind, _)| *kind == Kind::Place) {
            pieces.push(&sql[start..place.start]);
            start = place.end;
        }
        pieces.push(&sql[start..]);
        pieces
    }

    /// `sql` with `%s` for its parameters, which come in order, and a second `%` for each other one.
    pub fn by_format(self, sql: &str) -> String {
        self.pieces(sql).into_iter().map(|piece| piece.replace('%', "%%")).collect::<Vec<_>>().join("%s")
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// A byte that a name may begin with.
pub fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

/// A byte that a name may go on with.
pub fn in_name(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit()
}

/// Length of the longest start of `rest` whose bytes are all as `wanted`.
pub fn run(rest: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    rest.iter().position(|byte| !wanted(*byte)).unwrap_or(rest.len())
}

/// Length of a comment in slashes and stars, which may hold others where they are `nested`.
fn comment(rest: &[u8], nested: bool) -> usize {
    let (mut at, mut depth) = (2, 1);
    while at < rest.len() && depth > 0 {
        match &rest[at..] {
            [b'/', b'*', ..] if nested => (at, depth) = (at + 2, depth + 1),
            [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at
}

/// Length of what stands in quotes. Two quotes stand for one; `escapes`: so does a backslash with what follows it.
fn quote(rest: &[u8], escapes: bool) -> usize {
    let mark = rest[0];
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' if escapes => at += 2,
            byte if byte == mark && rest.get(at + 1) == Some(&mark) => at += 2,
            byte if byte == mark => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Length of a text in `$tag$`.
fn dollar(rest: &[u8]) -> Option<usize> {
    let tag = run(&rest[1..], in_name);
    (rest.get(1 + tag) == Some(&b'$')).then_some(())?;
    let (mark, body) = rest.split_at(tag + 2);
    let end = body.windows(mark.len()).position(|window| window == mark);
    Some(end.map_or(rest.len(), |end| mark.len() + end + mark.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(rules: Rules, sql: &str) -> Vec<(Kind, &str)> {
        rules.tokens(sql).filter(|(kind, _)| *kind != Kind::Space).map(|(kind, at)| (kind, &sql[at])).collect()
    }

    /// The parameters of `sql`.
    fn places(rules: Rules, sql: &str) -> Vec<&str> {
        kinds(rules, sql).into_iter().filter(|(kind, _)| *kind == Kind::Place).map(|(_, text)| text).collect()
    }

    #[test]
    fn a_statement_is_cut_into_its_tokens() {
        use Kind::{Comment, Name, Number, Place, Sign, Text, Word};
        let sql = "SELECT a$1, \"b\"\"$1\", `c``?`::int8, E'\\'$1' || 'it''s' FROM grün -- $2\nWHERE x=$12 /* $3 */";
        let found = [
            (Word, "SELECT"),
            (Word, "a$1"),
            (Sign, ","),
            (Name, "\"b\"\"$1\""),
            (Sign, ","),
            (Name, "`c``?`"),
            (Sign, "::"),
            (Word, "int8"),
            (Sign, ","),
            (Text, "E'\\'$1'"),
            (Sign, "|"),
            (Sign, "|"),
            (Text, "'it''s'"),
            (Word, "FROM"),
            (Word, "grün"),
            (Comment, "-- $2"),
            (Word, "WHERE"),
            (Word, "x"),
            (Sign, "="),
            (Place, "$12"),
            (Comment, "/* $3 */"),
        ];
        assert_eq!(kinds(Rules::Standard, sql), found);
        let found = [
            (Word, "SELECT"),
            (Number, "5"),
            (Sign, "-"),
            (Sign, "-"),
            (Place, "?"),
            (Sign, ","),
            (Text, "\"\\\"?\""),
            (Comment, "-- ?"),
            (Sign, ","),
            (Name, "`\\`"),
            (Comment, "# ?"),
            (Comment, "/* /* ? */"),
        ];
        assert_eq!(kinds(Rules::MySql, "SELECT 5--?, \"\\\"?\" -- ?\n, `\\` # ?\n/* /* ? */"), found);
    }

    #[test]
    fn parameters_stand_outside_of_strings_names_and_comments() {
        for (sql, found) in [
            ("$2+$12", &["$2", "$12"][..]),
            ("UPDATE t SET a = a +$1 WHERE b=$1::int AND c = ANY($2)", &["$1", "$1", "$2"]),
            ("SELECT 'grün', $1 -- $2\r, $3 /* $4 /* $5 /* $6 */ /**/ */ $7 */, $8", &["$1", "$3", "$8"]),
            ("SELECT E'\\' $1', '\\', $2, e'it''s \\' $1 \\\\', $3, name'\\', $4", &["$2", "$3", "$4"]),
            ("SELECT $$ $1 $$, $b$ $2 $$ $1 $b$, $3, $é$ $4 $é$", &["$3"]),
            ("SELECT '$1', \"$1\"\"$1\", `$1`, a$1, a$$1, grün$1, $a, 1$1, ?, $", &[]),
            ("SELECT '$1", &[]),
            ("SELECT E'a\\", &[]),
            ("/* $1 /* */", &[]),
            ("$$ $1", &[]),
            ("$a$ $1 $$", &[]),
            ("-- $1", &[]),
            ("", &[]),
        ] {
            assert_eq!(places(Rules::Standard, sql), found, "{sql}");
        }
        for (sql, found) in [
            ("SELECT 1", &["SELECT 1"][..]),
            ("?", &["", ""]),
            ("UPDATE t SET a = a + ? WHERE b = ?", &["UPDATE t SET a = a + ", " WHERE b = ", ""]),
            ("SELECT '?', 'it''s ?', 'a\\'?', \"?\", `?`, $1", &["SELECT '?', 'it''s ?', 'a\\'?', \"?\", `?`, $1"]),
            ("SELECT 1--\t?", &["SELECT 1--\t?"]),
            ("SELECT 1 --", &["SELECT 1 --"]),
            ("SELECT 'a\\", &["SELECT 'a\\"]),
            ("SELECT /* ? */ 1 /*?", &["SELECT /* ? */ 1 /*?"]),
            ("SELECT 1 -- ?\r ?\n + ?", &["SELECT 1 -- ?\r ?\n + ", ""]),
            ("/*M! ? *//*!50000 ? */ 1", &["/*M! ", " *//*!50000 ", " */ 1"]),
            ("'grün', ?", &["'grün', ", ""]),
        ] {
            assert_eq!(Rules::MySql.pieces(sql), found, "{sql}");
        }
    }

    #[test]
    fn drivers_that_format_have_their_own_parameters() {
        let sql = "SELECT '?$1%', a % 2, b ? 'k' /* /* /* /* /* $1 */ */ */ */ */ WHERE c = $12 -- $3";
        let written = "SELECT '?$1%%', a %% 2, b ? 'k' /* /* /* /* /* $1 */ */ */ */ */ WHERE c = %s -- $3";
        assert_eq!(Rules::Standard.by_format(sql), written);
        assert_eq!(Rules::MySql.by_format("SELECT '?%', a % ? /*! ? */"), "SELECT '?%%', a %% %s /*! %s */");
    }

    #[test]
    fn tokens_are_the_whole_text_whatever_it_is() {
        let bits =
            ["'", "\"", "`", "\\", "$", "a", "é", "1", "?", "/*", "*/", "!", "--", "#", "\n", " ", ":", "E", ";"];
        let mut random = 1_u64;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..12 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(bits[(random >> 33) as usize % bits.len()]);
            }
            for rules in [Rules::Standard, Rules::MySql] {
                let tokens = rules.tokens(&text).map(|(_, at)| &text[at]).collect::<Vec<_>>();
                assert_eq!(tokens.concat(), text);
                assert_eq!(rules.pieces(&text).len(), 1 + places(rules, &text).len());
            }
        }
    }
}
