//! Cuts SQL into statements as psql does: at semicolons outside of quotes, comments, brackets and the bodies of
//! functions, and at backslashes.

use dsbench_core::lexer::{begins_name, in_name, run, Kind, Rules};

/// A statement as the file has it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Raw {
    /// Where its first byte lies.
    pub start: usize,
    /// What lies between its variables: one piece more than there are names.
    pub pieces: Vec<String>,
    /// Variables outside of comments, in order.
    pub names: Vec<String>,
    /// Of each, whether it stands in quotes.
    pub quoted: Vec<bool>,
}

/// What ended the statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Semicolon,
    Backslash,
    File,
}

/// Where in the file the reading of SQL is.
#[derive(Debug)]
pub(crate) struct Splitter<'a> {
    text: &'a str,
    /// Where it goes on.
    pub at: usize,
    brackets: usize,
    /// Open BEGIN … END of a function's body.
    bodies: usize,
    /// First letters of the first words of the statement, as far as they say whether it makes a function.
    opening: Vec<u8>,
    parts: Vec<Raw>,
    /// Whether the current part has anything but white space and comments.
    filled: bool,
}

impl<'a> Splitter<'a> {
    /// Reads `text` from its beginning.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, brackets: 0, bodies: 0, opening: Vec::new(), parts: Vec::new(), filled: false }
    }

    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// The next statements: one, or those that `\;` joins; none where there is only white space and comments.
    pub fn next(&mut self) -> (Vec<Raw>, End) {
        self.begin_part();
        let end = loop {
            let rest = self.rest();
            let Some(&byte) = rest.first() else { break End::File };
            match byte {
                b';' if self.outside() => {
                    self.at += 1;
                    self.opening.clear();
                    break End::Semicolon;
                }
                b'\\' if rest.get(1) == Some(&b';') && self.outside() => {
                    self.at += 2;
                    self.opening.clear();
                    self.finish_part();
                    self.begin_part();
                }
                b'\\' if matches!(rest.get(1), Some(b';' | b':')) => {
                    self.at += 1;
                    self.take(1);
                }
                b'\\' => {
                    self.at += 1;
                    break End::Backslash;
                }
                _ => self.token(byte),
            }
        };
        self.finish_part();
        (std::mem::take(&mut self.parts), end)
    }

    fn outside(&self) -> bool {
        self.brackets == 0 && self.bodies == 0
    }

    fn begin_part(&mut self) {
        self.filled = false;
        self.parts.push(Raw { pieces: vec![String::new()], start: self.at, ..Raw::default() });
    }

    /// Ends the current part; one without anything in it is none.
    fn finish_part(&mut self) {
        if !self.filled {
            self.parts.pop();
        } else if let Some(piece) = self.parts.last_mut().and_then(|part| part.pieces.last_mut()) {
            piece.truncate(piece.trim_end().len());
        }
    }

    /// Adds the next `length` bytes as they are.
    fn take(&mut self, length: usize) {
        let text = &self.text[self.at..self.at + length];
        if let Some(part) = self.parts.last_mut() {
            if !self.filled {
                part.start = self.at;
                self.filled = true;
            }
            if let Some(piece) = part.pieces.last_mut() {
                piece.push_str(text);
            }
        }
        self.at += length;
    }

    /// Adds white space or a comment, unless nothing has gone before it.
    fn pass(&mut self, length: usize) {
        match self.filled {
            true => self.take(length),
            false => self.at += length,
        }
    }

    /// One token that ends no statement.
    fn token(&mut self, first: u8) {
        let (kind, length) = Rules::Standard.next(&self.text[self.at..]);
        match (kind, first) {
            (Kind::Space | Kind::Comment, _) => self.pass(length),
            (Kind::Text | Kind::Name, _) => self.quoted(length),
            (Kind::Word, _) => self.word(length),
            (Kind::Sign, b':') if length == 1 && self.rest().get(1).copied().is_some_and(begins_name) => {
                self.variable(1 + run(&self.rest()[1..], in_name), false);
            }
            (Kind::Sign, b'(') => {
                self.brackets += 1;
                self.take(1);
            }
            (Kind::Sign, b')') => {
                self.brackets = self.brackets.saturating_sub(1);
                self.take(1);
            }
            _ => self.take(length),
        }
    }

    fn variable(&mut self, length: usize, quoted: bool) {
        let name = self.text[self.at + 1..self.at + length].to_string();
        self.take(0);
        self.at += length;
        if let Some(part) = self.parts.last_mut() {
            part.names.push(name);
            part.quoted.push(quoted);
            part.pieces.push(String::new());
        }
    }

    /// A quoted text, cut at what looks like a variable.
    fn quoted(&mut self, length: usize) {
        let end = self.at + length;
        while let Some(before) = variable_in(&self.text.as_bytes()[self.at..end]) {
            self.take(before);
            let name = run(&self.text.as_bytes()[self.at + 1..end], in_name);
            self.variable(1 + name, true);
        }
        self.take(end - self.at);
    }

    /// A word: it may open or close the body of a function that is being made.
    fn word(&mut self, length: usize) {
        let word = &self.text[self.at..self.at + length];
        let is = |wanted: &str| word.eq_ignore_ascii_case(wanted);
        if self.opening.len() < 4 {
            let known = ["create", "or", "replace", "function", "procedure"].into_iter().find(|known| is(known));
            self.opening.push(known.map_or(b'-', |known| known.as_bytes()[0]));
        }
        let makes_function =
            matches!(self.opening.as_slice(), [b'c', b'f' | b'p', ..] | [b'c', b'o', b'r', b'f' | b'p']);
        if makes_function && self.brackets == 0 {
            match () {
                () if is("begin") => self.bodies += 1,
                () if is("case") && self.bodies > 0 => self.bodies += 1,
                () if is("end") => self.bodies = self.bodies.saturating_sub(1),
                () => {}
            }
        }
        self.take(length);
    }
}

/// How many bytes stand before the first variable in a quoted text: a colon with a name behind it that has no other colon
/// beside it.
fn variable_in(quoted: &[u8]) -> Option<usize> {
    let begins = |at: &usize| {
        let alone = quoted[*at] == b':' && (*at == 0 || quoted[*at - 1] != b':');
        alone && quoted.get(*at + 1).copied().is_some_and(begins_name)
    };
    (0..quoted.len()).find(begins)
}

/// The first `most` words of a statement, without its comments. What MySQL reads in `/*! */` is none.
pub(crate) fn words(text: &str, most: usize) -> Vec<&str> {
    let (mut found, mut at) = (Vec::new(), 0);
    while found.len() < most && at < text.len() {
        let rest = &text[at..];
        at += match Rules::Standard.next(rest) {
            (Kind::Space, length) => length,
            (Kind::Comment, length) if !rest.starts_with("/*!") => length,
            _ => {
                let ends = |n: &usize| {
                    let rest = &rest.as_bytes()[*n..];
                    rest[0].is_ascii_whitespace() || rest.starts_with(b"--") || rest.starts_with(b"/*")
                };
                let length = (1..rest.len()).find(ends).unwrap_or(rest.len());
                found.push(&rest[..length]);
                length
            }
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let mut splitter = Splitter::new(text);
        let mut found = Vec::new();
        loop {
            let (parts, end) = splitter.next();
            found.extend(parts.into_iter().map(|part| part.pieces.join("?")));
            if end == End::File {
                return found;
            }
            if end == End::Backslash {
                found.push("\\".into());
            }
        }
    }

    #[test]
    fn semicolons_end_statements_where_psql_sees_them() {
        for (text, found) in [
            ("SELECT 1; SELECT 2;", &["SELECT 1", "SELECT 2"][..]),
            (
                "SELECT ';', \";\", $$;$$, $a$ ; $$ ; $a$, E'\\';' ;SELECT 2",
                &["SELECT ';', \";\", $$;$$, $a$ ; $$ ; $a$, E'\\';'", "SELECT 2"],
            ),
            ("SELECT (1;2); SELECT 3", &["SELECT (1;2)", "SELECT 3"]),
            ("-- only; a comment\n/* and; /* another; */ */;;\n", &[]),
            ("SELECT 1 -- one;\n + 2;", &["SELECT 1 -- one;\n + 2"]),
            ("SELECT 'it''s;' ; SELECT 'a\\'; SELECT 2;", &["SELECT 'it''s;'", "SELECT 'a\\'", "SELECT 2"]),
            ("SELECT 1 \\; SELECT 2; \\; SELECT 3", &["SELECT 1", "SELECT 2", "SELECT 3"]),
            ("SELECT 1 \\gset", &["SELECT 1", "\\", "gset"]),
            (
                "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END; SELECT 1",
                &["CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; END", "SELECT 1"],
            ),
            ("BEGIN; END;", &["BEGIN", "END"]),
            ("SELECT 'open; SELECT 2;", &["SELECT 'open; SELECT 2;"]),
            ("SELECT $1, a$b$c; SELECT 1", &["SELECT $1, a$b$c", "SELECT 1"]),
            ("SELECT `a;b`; SELECT 2", &["SELECT `a;b`", "SELECT 2"]),
        ] {
            assert_eq!(split(text), found, "{text}");
        }
    }

    #[test]
    fn words_stand_without_comments() {
        for (text, found) in [
            ("COMMIT /* x; /* y */ */", &["COMMIT"][..]),
            ("COMMIT-- note\n WORK", &["COMMIT", "WORK"]),
            ("ROLLBACK/**/TO s -- é", &["ROLLBACK", "TO", "s"]),
            ("END /*!80000 AND CHAIN */", &["END", "/*!80000", "AND"]),
            ("é - 1 / 2", &["é", "-", "1"]),
            ("", &[]),
        ] {
            assert_eq!(words(text, 3), found, "{text}");
        }
    }

    #[test]
    fn variables_are_found_outside_of_quotes_and_comments() {
        let text = ":a||b::int + :b_2 - ':c' -- :d\n /* :e */ + \":f\" + $$:g$$ + a[1:2] + '12:30' + \\:h + :ü, x:=1";
        let (parts, _) = Splitter::new(text).next();
        assert_eq!(parts[0].names, ["a", "b_2", "c", "f", "g", "ü"]);
        assert_eq!(parts[0].quoted, [false, false, true, true, true, false]);
        assert!(parts[0].pieces[0].is_empty() && parts[0].pieces[6] == ", x:=1");
        assert!(parts[0].pieces[5].ends_with("+ :h + "));
        let (parts, _) = Splitter::new("'a::b :c:d e::' \":\"").next();
        assert_eq!(parts[0].names, ["c", "d"]);
    }
}
