//! Reads one script: its statements and meta commands, and which command follows which.

use dsbench_core::lexer::{begins_name, in_name};

use crate::command::{Action, Command, Part, Pause, Store, Unit};
use crate::error::Error;
use crate::expression;
use crate::names::Names;
use crate::parse::Source;
use crate::program::Program;
use crate::split::{End, Raw, Splitter};
use crate::words;

/// Most variables of a statement.
const MOST_PARAMETERS: usize = 255;

/// Reads one script.
pub(crate) struct Reader<'a, 'b> {
    source: &'a Source,
    names: &'b mut Names,
    commands: Vec<Command>,
}

impl<'a, 'b> Reader<'a, 'b> {
    pub(crate) fn new(source: &'a Source, names: &'b mut Names) -> Self {
        Self { source, names, commands: Vec::new() }
    }
}

/// A command under way: where its backslash stands and its name, for errors.
#[derive(Clone, Copy)]
struct Place<'a> {
    start: usize,
    name: &'a str,
}

impl Reader<'_, '_> {
    pub(crate) fn read(mut self) -> Result<Vec<Command>, Error> {
        let source = self.source;
        let mut splitter = Splitter::new(&source.text);
        loop {
            let (raws, end) = splitter.next();
            self.statements(raws)?;
            match end {
                End::Backslash => splitter.at = self.meta(splitter.at)?,
                End::Semicolon => {}
                End::File => break,
            }
        }
        if self.commands.is_empty() {
            return Err(self.plain(1, format!("empty command list for script \"{}\"", source.name)));
        }
        self.link()?;
        Ok(self.commands)
    }

    fn line(&self, at: usize) -> usize {
        1 + self.source.text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
    }

    fn column(&self, at: usize) -> usize {
        let before = &self.source.text[..at];
        1 + before[before.rfind('\n').map_or(0, |end| end + 1)..].chars().count()
    }

    fn plain(&self, line: usize, message: String) -> Error {
        Error { source: self.source.name.clone(), line, column: None, message, text: None }
    }

    /// An error in the command at `place`, noticed at the byte before `at`.
    fn wrong(&self, place: Place<'_>, message: &str, at: Option<usize>) -> Error {
        let mut end = place.start;
        let text = &self.source.text;
        // A line that is continued belongs to the command.
        while let Some(found) = text[end..].find('\n') {
            end += found;
            if !text[..end].trim_end_matches('\r').ends_with('\\') {
                break;
            }
            end += 1;
        }
        let end = if text[end..].starts_with('\n') { end } else { text.len() };
        Error {
            column: at.map(|at| at.saturating_sub(place.start).max(1)),
            text: Some(text[place.start..end].trim_end().to_string()),
            ..self.plain(self.line(place.start), format!("{message} in command \"{}\"", place.name))
        }
    }

    fn statements(&mut self, raws: Vec<Raw>) -> Result<(), Error> {
        let mut parts = Vec::new();
        let column = raws.first().map_or(1, |raw| self.column(raw.start));
        for raw in raws {
            let line = self.line(raw.start);
            if raw.names.len() > MOST_PARAMETERS {
                let words = format!("statement has too many arguments (maximum is {MOST_PARAMETERS})");
                return Err(self.plain(line, words));
            }
            let source = &self.source.name;
            let unset = |name: &str| Error {
                source: source.clone(),
                line,
                column: None,
                message: format!("undefined variable \"{name}\": set it with \\set or --define"),
                text: None,
            };
            let slot = |(name, quoted): (&String, &bool)| match quoted {
                true => self.names.slot(name),
                false => self.names.read(name, || unset(name)),
            };
            let slots = raw.names.iter().zip(&raw.quoted).map(slot).collect();
            parts.push(Part { line, pieces: raw.pieces, slots, quoted: raw.quoted });
        }
        if let Some(first) = parts.first() {
            self.commands.push(Command { line: first.line, column, action: Action::Sql(parts, None) });
        }
        Ok(())
    }

    /// Reads the meta command whose backslash stands before `at`; gives where to go on.
    fn meta(&mut self, at: usize) -> Result<usize, Error> {
        let text = &self.source.text;
        let (Some((from, to)), mut next) = words::next(text, at) else { return Ok(words::next(text, at).1) };
        let name = &text[from..to];
        let place = Place { start: at - 1, name };
        let kind = name.to_ascii_lowercase();
        match kind.as_str() {
            "set" => {
                let (Some((from, to)), next) = words::next(text, next) else {
                    return Err(self.wrong(place, "missing argument", None));
                };
                let (program, next) = self.expression(place, next)?;
                let name = &text[from..to];
                let valid = name.bytes().next().is_some_and(begins_name) && name.bytes().all(in_name);
                if !valid {
                    return Err(self.wrong(place, &format!("invalid variable name: \"{name}\""), Some(to)));
                }
                let slot = self.names.set(name);
                self.push(place, Action::Set(slot, program));
                return Ok(next);
            }
            "if" | "elif" => {
                let (program, next) = self.expression(place, next)?;
                let action = if kind == "if" { Action::If(program, 0) } else { Action::Elif(program, 0, 0) };
                self.push(place, action);
                return Ok(next);
            }
            _ => {}
        }
        let mut words = Vec::new();
        while let (Some(word), after) = words::next(text, next) {
            (next, _) = (after, words.push(word));
        }
        let next = words::next(text, next).1;
        self.plain_meta(place, &kind, &words)?;
        Ok(next)
    }

    fn push(&mut self, place: Place<'_>, action: Action) {
        let (line, column) = (self.line(place.start), self.column(place.start));
        self.commands.push(Command { line, column, action });
    }

    fn expression(&mut self, place: Place<'_>, at: usize) -> Result<(Program, usize), Error> {
        let (text, mut read) = (&self.source.text, Vec::new());
        let names = &mut *self.names;
        let found = expression::read(text, at, &mut |name| {
            read.push(name.to_string());
            names.slot(name)
        });
        let (program, next) = found.map_err(|fault| self.wrong(place, &fault.message, Some(fault.at)))?;
        for name in read {
            let error = self.wrong(place, &format!("undefined variable \"{name}\""), None);
            self.names.read(&name, || error);
        }
        Ok((program, next))
    }

    /// A command whose arguments are words.
    fn plain_meta(&mut self, place: Place<'_>, kind: &str, words: &[(usize, usize)]) -> Result<(), Error> {
        let action = match kind {
            "sleep" => Action::Sleep(self.pause(place, words)?),
            "else" => Action::Else(0),
            "endif" => Action::Endif,
            "startpipeline" => Action::StartPipeline,
            "syncpipeline" => Action::SyncPipeline,
            "endpipeline" => Action::EndPipeline,
            "gset" | "aset" => return self.store(place, kind == "aset", words),
            "shell" if words.is_empty() => return Err(self.wrong(place, "missing command", None)),
            "setshell" if words.len() < 2 => return Err(self.wrong(place, "missing argument", None)),
            "shell" | "setshell" => {
                let words = "commands of the system are not run: a client may not wait for a program";
                return Err(self.wrong(place, words, None));
            }
            _ => return Err(self.wrong(place, "invalid command", None)),
        };
        if !words.is_empty() && !matches!(action, Action::Sleep(_)) {
            return Err(self.wrong(place, "unexpected argument", None));
        }
        self.push(place, action);
        Ok(())
    }

    fn store(&mut self, place: Place<'_>, all: bool, words: &[(usize, usize)]) -> Result<(), Error> {
        if words.len() > 1 {
            return Err(self.wrong(place, "too many arguments", None));
        }
        let prefix = words.first().map_or("", |(from, to)| &self.source.text[*from..*to]).to_string();
        let line = self.line(place.start);
        match self.commands.last_mut() {
            Some(Command { action: Action::Sql(_, store @ None), .. }) => {
                self.names.prefixes.push(prefix.clone());
                *store = Some(Store { prefix, all });
                Ok(())
            }
            _ => Err(self.plain(line, "\\gset must follow an SQL command".into())),
        }
    }

    fn pause(&mut self, place: Place<'_>, words: &[(usize, usize)]) -> Result<Pause, Error> {
        let text = &self.source.text;
        let (from, to) = match words {
            [] => return Err(self.wrong(place, "missing argument", None)),
            [first] | [first, _] => *first,
            [_, _, third, ..] => return Err(self.wrong(place, "too many arguments", Some(third.0 + 1))),
        };
        let amount = &text[from..to];
        let mut unit = words.get(1).map(|(from, to)| (&text[*from..*to], *from));
        let mut count = 0;
        if !amount.starts_with(':') {
            let sign = usize::from(amount.starts_with(['+', '-']));
            let digits = amount[sign..].find(|c: char| !c.is_ascii_digit()).map_or(amount.len(), |at| sign + at);
            let rest = &amount[digits..];
            if digits == sign || (!rest.is_empty() && unit.is_some()) {
                let words = format!("invalid sleep time, must be an integer ({amount})");
                return Err(self.wrong(place, &words, Some(from + 1)));
            }
            if !rest.is_empty() {
                unit = Some((rest, from + digits));
            }
            count = amount[..digits].parse().unwrap_or(i64::MAX);
        }
        let unit = match unit {
            None => Unit::S,
            Some((word, _)) if word.eq_ignore_ascii_case("us") => Unit::Us,
            Some((word, _)) if word.eq_ignore_ascii_case("ms") => Unit::Ms,
            Some((word, _)) if word.eq_ignore_ascii_case("s") => Unit::S,
            Some((word, at)) => {
                let words = format!("unrecognized time unit, must be us, ms or s ({word})");
                return Err(self.wrong(place, &words, Some(at + 1)));
            }
        };
        match amount.strip_prefix(':') {
            None => Ok(Pause::Of(count, unit)),
            Some(name) => {
                let error = self.wrong(place, &format!("undefined variable \"{name}\""), None);
                Ok(Pause::Variable(self.names.read(name, || error), unit))
            }
        }
    }

    /// Gives each condition the place that follows it.
    fn link(&mut self) -> Result<(), Error> {
        // Commands of the open blocks: the places that wait for the next branch and those that wait for the end.
        let mut open: Vec<Vec<usize>> = Vec::new();
        for at in 0..self.commands.len() {
            let line = self.commands[at].line;
            let word = match self.commands[at].action {
                Action::If(..) => {
                    open.push(vec![at]);
                    continue;
                }
                Action::Elif(..) => "elif",
                Action::Else(_) => "else",
                Action::Endif => "endif",
                _ => continue,
            };
            let Some(block) = open.last_mut() else {
                return Err(self.plain(line, format!("\\{word} without matching \\if")));
            };
            let last = block.last().copied().unwrap_or(at);
            match &mut self.commands[last].action {
                Action::If(_, next) | Action::Elif(_, next, _) => *next = at,
                _ if word != "endif" => return Err(self.plain(line, format!("\\{word} after \\else"))),
                _ => {}
            }
            block.push(at);
            if word == "endif" {
                for member in open.pop().unwrap_or_default() {
                    if let Action::Elif(_, _, end) | Action::Else(end) = &mut self.commands[member].action {
                        *end = at;
                    }
                }
            }
        }
        match open.first().and_then(|block| block.first()) {
            Some(at) => Err(self.plain(self.commands[*at].line, "\\if without matching \\endif".into())),
            None => Ok(()),
        }
    }
}
