//! Reads scripts: statements and meta commands, and what holds between all of them.

use std::sync::Arc;

use crate::command::{Action, Command, Part, Pause, Script, Store, Unit};
use crate::error::Error;
use crate::expression;
use crate::kinds::{self, Kinds};
use crate::memory::{Memory, Slot};
use crate::program::Program;
use crate::split::{End, Raw, Splitter};
use crate::token::begins_name;
use crate::value::Value;
use crate::words;

/// Most scripts of a run.
const MOST_SCRIPTS: usize = 128;
/// Most variables of a statement.
const MOST_PARAMETERS: usize = 255;
/// Variables that whoever runs the scripts sets: integers all of them.
const AUTOMATIC: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];

/// A script as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file, or the name of a builtin: errors begin with it.
    pub name: String,
    /// How often it is picked beside others.
    pub weight: u64,
    /// What stands in it.
    pub text: String,
}

/// Scripts that share their variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Scripts {
    /// The scripts, in the order in which they were given.
    pub scripts: Vec<Script>,
    names: Arc<[String]>,
    defined: Vec<(Slot, String)>,
    kinds: Vec<Kinds>,
    depth: usize,
}

impl Scripts {
    /// Reads scripts; `defined` are variables that have a text from the beginning, such as of pgbench's `-D`.
    pub fn parse(sources: &[Source], defined: &[(String, String)]) -> Result<Self, Error> {
        let plain =
            |source: &str, message: String| Error { source: source.into(), line: 1, column: None, message, text: None };
        let first = sources.first().map_or("script", |source| source.name.as_str());
        if sources.len() > MOST_SCRIPTS {
            return Err(plain(first, format!("at most {MOST_SCRIPTS} SQL scripts are allowed")));
        }
        if sources.iter().all(|source| source.weight == 0) {
            return Err(plain(first, "total script weight must not be zero".into()));
        }
        let mut names = Names::default();
        let mut scripts = Vec::new();
        for source in sources {
            let commands = Reader { source, names: &mut names, commands: Vec::new(), quoted: Vec::new() }.read()?;
            scripts.push(Script { name: source.name.clone(), weight: source.weight, commands });
        }
        let defined = defined.iter().map(|(name, text)| (names.set(name), text.clone())).collect();
        names.refuse_unset()?;
        let depth = programs(&scripts).map(|(_, program)| program.depth).max().unwrap_or(0);
        let mut found = Self { scripts, names: names.names.into(), defined, kinds: Vec::new(), depth };
        found.kinds = found.find_kinds();
        Ok(found)
    }

    /// The variables of a client, with those set that are defined from the beginning.
    pub fn memory(&self) -> Memory {
        let mut memory = Memory::new(Arc::clone(&self.names), self.depth);
        for (slot, text) in &self.defined {
            match Value::read(text) {
                Some(value @ (Value::Int(_) | Value::Double(_))) => memory.set(*slot, value),
                _ => memory.set_text(*slot, text),
            }
        }
        memory
    }

    /// Names of the variables, by their numbers.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The types that a variable may have where statements use it.
    pub fn kinds(&self, slot: Slot) -> Kinds {
        self.kinds[usize::from(slot)]
    }

    /// Weights of all scripts together.
    pub fn weight(&self) -> u64 {
        self.scripts.iter().map(|script| script.weight).sum()
    }

    /// The script that `drawn`, uniform below the sum of all weights, picks.
    #[inline]
    pub fn pick(&self, mut drawn: u64) -> usize {
        for (at, script) in self.scripts.iter().enumerate() {
            match drawn.checked_sub(script.weight) {
                Some(rest) => drawn = rest,
                None => return at,
            }
        }
        0
    }

    /// Types flow from variable to variable: gone through until nothing is added.
    fn find_kinds(&self) -> Vec<Kinds> {
        let mut kinds = vec![Kinds::default(); self.names.len()];
        for (name, kinds) in self.names.iter().zip(&mut kinds) {
            if AUTOMATIC.contains(&name.as_str()) {
                *kinds = Kinds::INT;
            }
            if self.stores().any(|store| name.starts_with(&store.prefix)) {
                *kinds = kinds.or(Kinds::TEXT);
            }
        }
        for (slot, text) in &self.defined {
            let of_text = match Value::read(text) {
                Some(value @ (Value::Int(_) | Value::Double(_))) => Kinds::of(value),
                _ => Kinds::TEXT,
            };
            kinds[usize::from(*slot)] = kinds[usize::from(*slot)].or(of_text);
        }
        loop {
            let before = kinds.clone();
            for (slot, program) in programs(&self.scripts) {
                let Some(slot) = slot else { continue };
                let of_program = kinds::of_program(program, &|variable| kinds[usize::from(variable)]);
                kinds[usize::from(slot)] = kinds[usize::from(slot)].or(of_program);
            }
            if kinds == before {
                return kinds;
            }
        }
    }

    fn stores(&self) -> impl Iterator<Item = &Store> {
        self.scripts.iter().flat_map(|script| &script.commands).filter_map(|command| match &command.action {
            Action::Sql(_, store) => store.as_ref(),
            _ => None,
        })
    }
}

/// All programs, with the variables that they set.
fn programs(scripts: &[Script]) -> impl Iterator<Item = (Option<Slot>, &Program)> {
    scripts.iter().flat_map(|script| &script.commands).filter_map(|command| match &command.action {
        Action::Set(slot, program) => Some((Some(*slot), program)),
        Action::If(program, _) | Action::Elif(program, ..) => Some((None, program)),
        _ => None,
    })
}

/// The variables of all scripts.
#[derive(Debug, Default)]
struct Names {
    names: Vec<String>,
    /// Whether anything sets it; beside it the error for when nothing does.
    set: Vec<(bool, Option<Error>)>,
    prefixes: Vec<String>,
}

impl Names {
    fn slot(&mut self, name: &str) -> Slot {
        let at = self.names.iter().position(|found| found == name).unwrap_or_else(|| {
            self.names.push(name.into());
            self.set.push((AUTOMATIC.contains(&name), None));
            self.names.len() - 1
        });
        Slot::try_from(at).unwrap_or(Slot::MAX)
    }

    fn set(&mut self, name: &str) -> Slot {
        let slot = self.slot(name);
        self.set[usize::from(slot)].0 = true;
        slot
    }

    /// A variable that is read; `error` is what to say when nothing sets it.
    fn read(&mut self, name: &str, error: impl FnOnce() -> Error) -> Slot {
        let slot = self.slot(name);
        let set = &mut self.set[usize::from(slot)];
        if !set.0 && set.1.is_none() {
            set.1 = Some(error());
        }
        slot
    }

    /// The first variable that nothing sets, no result either, is an error.
    fn refuse_unset(&mut self) -> Result<(), Error> {
        for (name, (set, error)) in self.names.iter().zip(&mut self.set) {
            let of_result = self.prefixes.iter().any(|prefix| name.starts_with(prefix));
            if let (false, false, Some(error)) = (*set, of_result, error.take()) {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Reads one script.
struct Reader<'a, 'b> {
    source: &'a Source,
    names: &'b mut Names,
    commands: Vec<Command>,
    quoted: Vec<(String, usize)>,
}

/// A command under way: where its backslash stands and its name, for errors.
#[derive(Clone, Copy)]
struct Place<'a> {
    start: usize,
    name: &'a str,
}

impl Reader<'_, '_> {
    fn read(mut self) -> Result<Vec<Command>, Error> {
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
        for (name, line) in std::mem::take(&mut self.quoted) {
            let known = self.names.names.iter().position(|found| *found == name);
            if known.is_some_and(|at| self.names.set[at].0) {
                return Err(self.plain(line, format!(":{name} stands in quotes, where no parameter can be")));
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
            let slots = raw.names.iter().map(|name| self.names.read(name, || unset(name))).collect();
            self.quoted.extend(raw.quoted.into_iter().map(|name| (name, line)));
            parts.push(Part { line, pieces: raw.pieces, slots });
        }
        if let Some(first) = parts.first() {
            self.commands.push(Command { line: first.line, action: Action::Sql(parts, None) });
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
                let valid = name.bytes().next().is_some_and(begins_name) && name.bytes().all(crate::token::in_name);
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
        self.commands.push(Command { line: self.line(place.start), action });
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
