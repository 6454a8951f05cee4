//! A workload file as it was written: values with their places, so that what is wrong is told with file, line and
//! column.

use std::fmt::Display;

use dsbench_core::error::{Error, Result};
use dsbench_script::meant;
use toml_span::Value;

/// Most bytes of SQL once words stand in it.
pub(super) const LONGEST: usize = 4_000_000;

/// The files of a workload: the TOML file first, then those that it names.
#[derive(Debug, Clone)]
pub(super) struct Files(Vec<(String, String)>);

impl Files {
    /// Takes apart the setting `file`. An error of kind `Configuration` where it holds no files.
    pub(super) fn of(setting: &str) -> Result<Self> {
        let broken = || {
            Error::configuration("--set file: it holds the texts of a workload file").remedy("name it by --workload")
        };
        let files = crate::script::settings::texts(setting).ok_or_else(broken)?;
        match files.is_empty() {
            true => Err(broken()),
            false => Ok(Self(files.into_iter().map(|(name, text)| (name.to_string(), text.to_string())).collect())),
        }
    }

    /// The TOML file: name and text.
    pub(super) fn first(&self) -> &(String, String) {
        &self.0[0]
    }

    /// The file that `node` names.
    pub(super) fn named(&self, node: Node<'_>) -> Result<&(String, String)> {
        let name = node.text()?;
        self.0[1..].iter().find(|(known, _)| known == name).ok_or_else(|| node.wrong(format!("no file {name:?}")))
    }
}

/// Reads the TOML of a file. An error of kind `Configuration` with line and column.
pub(super) fn parse<'a>((name, text): &'a (String, String)) -> Result<Value<'a>> {
    toml_span::parse(text).map_err(|error| wrong_at((name.as_str(), text.as_str()), error.span.start, &error.kind))
}

fn wrong_at((name, text): (&str, &str), byte: usize, why: impl Display) -> Error {
    let before = &text[..byte.min(text.len())];
    let column = before.chars().rev().take_while(|letter| *letter != '\n').count() + 1;
    Error::configuration(format!("{name}:{}:{column}: {why}", lines(before)))
}

fn lines(before: &str) -> usize {
    1 + before.bytes().filter(|byte| *byte == b'\n').count()
}

/// A value with its place.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    file: &'a str,
    whole: &'a str,
    value: &'a Value<'a>,
    /// Where it is told: the value itself, or its key where the value is a table.
    byte: usize,
}

impl<'a> Node<'a> {
    /// The whole file.
    pub(super) fn root((file, whole): &'a (String, String), value: &'a Value<'a>) -> Self {
        Self { file, whole, value, byte: 0 }
    }

    /// An error at its place.
    pub(super) fn wrong(&self, why: impl Display) -> Error {
        wrong_at((self.file, self.whole), self.byte, why)
    }

    /// `FILE:LINE`.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.file, lines(&self.whole[..self.byte]))
    }

    /// The entries of a table, in the order of the file.
    pub(super) fn entries(&self) -> Result<Vec<(&'a str, Self)>> {
        let table = self.value.as_table().ok_or_else(|| self.wrong("a table has to stand here"))?;
        let mut keys: Vec<_> = table.iter().collect();
        keys.sort_by_key(|(key, _)| key.span.start);
        let node = |key: &'a toml_span::value::Key<'a>, value: &'a Value<'a>| {
            let byte = if value.as_table().is_some() { key.span.start } else { value.span.start };
            (key.name.as_ref(), Self { value, byte, ..*self })
        };
        Ok(keys.into_iter().map(|(key, value)| node(key, value)).collect())
    }

    /// The same of a table whose keys are known. An error names one that is not.
    pub(super) fn fields(&self, known: &[&str]) -> Result<Fields<'a>> {
        let entries = self.entries()?;
        for (name, _) in &entries {
            if !known.contains(name) {
                let span = self.value.as_table().and_then(|table| table.get_key_value(*name)).map(|(key, _)| key.span);
                let meant = meant(name, known.iter().copied());
                let why = format!("no key {name:?} is known here; there are {}{meant}", known.join(", "));
                return Err(wrong_at((self.file, self.whole), span.map_or(self.byte, |span| span.start), why));
            }
        }
        Ok(Fields { of: *self, entries })
    }

    pub(super) fn items(&self) -> Option<Vec<Self>> {
        let items = self.value.as_array()?;
        Some(items.iter().map(|value| Self { value, byte: value.span.start, ..*self }).collect())
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.as_table().is_some()
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.wrong("a text has to stand here"))
    }

    /// A text that stands in tables and diagrams: one line, without control characters.
    pub(super) fn line(&self) -> Result<&'a str> {
        self.text().and_then(|text| self.shown(text).map(|()| text))
    }

    /// An error where `text`, which stands here, cannot be shown in one line.
    pub(super) fn shown(&self, text: &str) -> Result<()> {
        match text.chars().any(char::is_control) {
            true => Err(self.wrong(format!("{text:?} holds control characters")).remedy("write one line of text")),
            false => Ok(()),
        }
    }

    pub(super) fn as_text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    pub(super) fn as_whole(&self) -> Option<i64> {
        self.value.as_integer()
    }

    pub(super) fn yes(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false has to stand here"))
    }

    /// A number, whole or not.
    pub(super) fn number(&self) -> Result<f64> {
        let number = self.value.as_float().or_else(|| self.as_whole().map(|whole| whole as f64));
        number.filter(|number| number.is_finite()).ok_or_else(|| self.wrong("a number has to stand here"))
    }

    /// A number that lies within a range.
    pub(super) fn within(&self, range: std::ops::RangeInclusive<f64>) -> Result<f64> {
        let number = self.number()?;
        let words = || format!("a number from {} to {} has to stand here", range.start(), range.end());
        range.contains(&number).then_some(number).ok_or_else(|| self.wrong(words()))
    }

    /// A constant as text, as `--define` has it.
    pub(super) fn constant(&self) -> Result<String> {
        match (self.value.as_str(), self.value.as_integer(), self.value.as_float()) {
            (Some(text), ..) => Ok(text.to_string()),
            (_, Some(whole), _) => Ok(whole.to_string()),
            (.., Some(number)) => Ok(number.to_string()),
            _ => Err(self.wrong("a text or a number has to stand here")),
        }
    }

    /// SQL, or anything that differs between products: a text, `{ file = "NAME" }`, or a table with one of these for
    /// each product. Whoever asks for no product gets any of them; the mock plays SQLite.
    pub(super) fn sql(&self, files: &Files, product: Option<&str>) -> Result<Sql> {
        if let Some(text) = self.as_text() {
            // Empty lines before it give its statements the line numbers that they have in the file.
            let from = &self.whole[..self.whole.len().min(self.byte)];
            let begins = self.whole[self.byte..].trim_start_matches(['"', '\'']);
            let first = lines(from) + usize::from(begins.starts_with('\n') && !text.starts_with('\n'));
            return Ok(Sql { file: self.file.into(), text: "\n".repeat(first - 1) + text });
        }
        const PRODUCTS: &[&str] = &["postgresql", "mysql", "firebird", "sqlite", "other"];
        let fields = self.fields(&[&["file"][..], PRODUCTS].concat())?;
        if let Some(named) = fields.get("file") {
            let (file, text) = files.named(named)?;
            return Ok(Sql { file: file.clone(), text: text.clone() });
        }
        let (word, any) = match product {
            Some("postgres") => ("postgresql", None),
            Some("mock") | None => ("sqlite", fields.entries.first().map(|(_, node)| *node)),
            Some(other) => (other, None),
        };
        match fields.get(word).or_else(|| fields.get("other")).or(any) {
            Some(found) => found.sql(files, product),
            None => Err(self.wrong(format!("nothing stands here for {word}: add {word} = …, or other = …"))),
        }
    }
}

/// A table whose keys are known.
pub(super) struct Fields<'a> {
    of: Node<'a>,
    entries: Vec<(&'a str, Node<'a>)>,
}

impl<'a> Fields<'a> {
    pub(super) fn get(&self, name: &str) -> Option<Node<'a>> {
        self.entries.iter().find(|(known, _)| *known == name).map(|(_, node)| *node)
    }

    pub(super) fn need(&self, name: &str) -> Result<Node<'a>> {
        self.get(name).ok_or_else(|| self.of.wrong(format!("{name} is missing")))
    }

    /// The only one of `names` that is there. An error where there is none, or are several.
    pub(super) fn only(&self, names: &[&str]) -> Result<(&'a str, Node<'a>)> {
        let mut found = self.entries.iter().filter(|(name, _)| names.contains(name));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(*one),
            _ => Err(self.of.wrong(format!("one of {} has to stand here", names.join(", ")))),
        }
    }
}

/// SQL of one product, below as many empty lines as its file has before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Sql {
    pub(super) file: String,
    pub(super) text: String,
}

impl Sql {
    /// The same with words in place of their names in braces; `None` where it becomes longer than [`LONGEST`].
    pub(super) fn filled(mut self, words: &[(String, String)]) -> Option<Self> {
        for (name, word) in words {
            let braced = format!("{{{name}}}");
            let times = self.text.matches(&braced).count();
            if times > 0 {
                (self.text.len() + times * word.len() <= LONGEST).then_some(())?;
                self.text = self.text.replace(&braced, word);
            }
        }
        Some(self)
    }
}
