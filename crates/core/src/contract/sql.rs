//! SQL files, cut into named sections.
//!
//! A line `-- name: tables` opens a section, a line `-- next` ends a statement within it; that works
//! for the bodies of procedures, which are full of semicolons. Lines that begin with `--` are comments
//! of the file (indented ones belong to the statement). One semicolon at the end of a statement is
//! left out, as not every protocol takes it.
//!
//! What several dialects share stands in one text behind their own: of several sections of one name the first counts.
//! A section whose name is in braces is a word, in one line as `-- word: {time} = timestamp`: wherever `{time}` stands
//! in a statement it is filled in. What is no word, such as `{orders}`, is left to the caller. Parameters are `?`
//! everywhere.

use crate::engine::Dialect;
use crate::error::{Error, Result};
use crate::lexer::Rules;

/// Dialects whose protocol numbers the parameters: `?` becomes `$1`.
const NUMBERED: &[&str] = &["postgres"];

/// The statements of one file, by section.
#[derive(Debug)]
pub struct Sections {
    file: &'static str,
    sections: Vec<(&'static str, Vec<String>)>,
}

impl Sections {
    /// Picks the file of a dialect out of `files` (dialect, text) and cuts it up. An error of kind
    /// `Configuration` when there is none.
    pub fn of(dialect: &Dialect, files: &[(&'static str, &'static str)]) -> Result<Self> {
        Self::with(dialect, files, &[])
    }

    /// The same, where these words (name in braces, value) count before those of the files.
    pub fn with(
        dialect: &Dialect,
        files: &[(&'static str, &'static str)],
        words: &[(&'static str, &str)],
    ) -> Result<Self> {
        let found = files.iter().find(|(name, _)| *name == dialect.name);
        let (name, text) = found.ok_or_else(|| {
            let known: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
            let words = format!("this has no SQL for {}, but for {}", dialect.name, known.join(", "));
            Error::configuration(words)
        })?;
        let words = words.iter().map(|(name, value)| (*name, vec![(*value).to_string()]));
        let cut: Cut = words.chain(cut(text)).collect();
        let finished = |statement: &String| match NUMBERED.contains(&dialect.name) {
            true => number(&fill(statement, &cut)),
            false => fill(statement, &cut),
        };
        let sections = cut.iter().map(|(name, all)| (*name, all.iter().map(finished).collect())).collect();
        Ok(Self { file: name, sections })
    }

    /// The statements of a section, in order; none when the file does not have it.
    pub fn all(&self, name: &str) -> &[String] {
        self.sections.iter().find(|(found, _)| *found == name).map_or(&[], |(_, statements)| statements)
    }

    /// The statements of a section, as `Connection::script` takes them.
    pub fn script(&self, name: &str) -> Vec<&str> {
        self.all(name).iter().map(String::as_str).collect()
    }

    /// The one statement of a section; an error of kind `Configuration` when it has none or several.
    pub fn one(&self, name: &str) -> Result<&str> {
        match self.all(name) {
            [statement] => Ok(statement),
            others => Err(Error::configuration(format!(
                "the SQL for {} needs one statement {name:?}, it has {}",
                self.file,
                others.len()
            ))),
        }
    }
}

type Cut = Vec<(&'static str, Vec<String>)>;

fn fill(statement: &str, sections: &Cut) -> String {
    let mut filled = statement.to_string();
    for (name, statements) in sections.iter().filter(|(name, _)| name.starts_with('{')) {
        filled = filled.replace(name, statements.first().map_or("", String::as_str));
    }
    filled
}

fn number(statement: &str) -> String {
    let (mut numbered, mut count) = (String::new(), 0);
    for (_, at) in Rules::Standard.tokens(statement) {
        match &statement[at] {
            "?" => {
                count += 1;
                numbered.push_str(&format!("${count}"));
            }
            token => numbered.push_str(token),
        }
    }
    numbered
}

fn cut(text: &'static str) -> Cut {
    let mut sections: Cut = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("-- name:") {
            sections.push((name.trim(), vec![String::new()]));
        } else if let Some((name, value)) = line.strip_prefix("-- word:").and_then(|word| word.split_once('=')) {
            sections.push((name.trim(), vec![value.to_string()]));
        } else if let Some((_, statements)) = sections.last_mut() {
            if line.trim_end() == "-- next" {
                statements.push(String::new());
            } else if let (false, Some(statement)) = (line.starts_with("--"), statements.last_mut()) {
                statement.push_str(line);
                statement.push('\n');
            }
        }
    }
    for (_, statements) in &mut sections {
        for statement in statements.iter_mut() {
            let trimmed = statement.trim();
            *statement = trimmed.strip_suffix(';').unwrap_or(trimmed).to_string();
        }
        statements.retain(|statement| !statement.is_empty());
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECT: Dialect =
        Dialect { name: "a", procedures: true, embedded: false, single_writer: false, keeps_data: true };

    #[test]
    fn a_file_is_cut_into_sections_and_statements() {
        let text = "-- about this file\n\n-- name: tables\n-- why\nCREATE TABLE t (k INT);\n-- next\n\
                    CREATE FUNCTION f() AS $$\nBEGIN\n  -- inside\n  RETURN 1;\nEND;\n$$;\n\n\
                    -- name: empty\n-- name: read\nSELECT 1\n";
        let sections = Sections::of(&DIALECT, &[("b", ""), ("a", text)]).unwrap();
        let function = "CREATE FUNCTION f() AS $$\nBEGIN\n  -- inside\n  RETURN 1;\nEND;\n$$";
        assert_eq!(sections.script("tables"), ["CREATE TABLE t (k INT)", function]);
        assert_eq!(sections.one("read").unwrap(), "SELECT 1");
        assert!(sections.all("empty").is_empty() && sections.all("absent").is_empty());
        assert!(sections.one("tables").unwrap_err().to_string().contains("it has 2"));
    }

    #[test]
    fn what_dialects_share_has_the_words_and_parameters_of_each() {
        let shared =
            "-- word: {time} = timestamp\n-- word: {rest} =\n-- name: make\nCREATE TABLE t (a {time}{rest}) -- {left}\n\
                      -- name: ask\nSELECT '?' FROM t WHERE a = ? AND b = ?\n";
        let own = format!("-- word: {{time}} = datetime(6)\n{shared}").leak();
        let numbers = Dialect { name: "postgres", ..DIALECT };
        let [plain, numbered] =
            [&DIALECT, &numbers].map(|d| Sections::of(d, &[("a", shared), ("postgres", own)]).unwrap());
        assert_eq!(plain.one("make").unwrap(), "CREATE TABLE t (a timestamp) -- {left}");
        assert_eq!(numbered.one("make").unwrap(), "CREATE TABLE t (a datetime(6)) -- {left}");
        assert_eq!(plain.one("ask").unwrap(), "SELECT '?' FROM t WHERE a = ? AND b = ?");
        assert_eq!(numbered.one("ask").unwrap(), "SELECT '?' FROM t WHERE a = $1 AND b = $2");
    }

    #[test]
    fn a_dialect_without_a_file_is_refused() {
        let message = Sections::of(&DIALECT, &[("b", ""), ("c", "")]).unwrap_err().to_string();
        assert!(message.contains("no SQL for a") && message.contains("b, c"), "{message}");
    }
}
