//! The scripts of a run, and what holds between all of them: variables, their types, weights.

use std::sync::Arc;

use crate::command::{Action, Script, Store};
use crate::error::Error;
use crate::kinds::{self, Kinds};
use crate::memory::{Memory, Slot};
use crate::names::{Names, AUTOMATIC};
use crate::program::Program;
use crate::reader::Reader;
use crate::value::Value;

/// Most scripts of a run.
const MOST_SCRIPTS: usize = 128;
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
            let commands = Reader::new(source, &mut names).read()?;
            scripts.push(Script { name: source.name.clone(), weight: source.weight, commands });
        }
        let defined = defined.iter().map(|(name, text)| (names.set(name), text.clone())).collect();
        names.refuse_unset()?;
        let depth = programs(&scripts).map(|(_, program)| program.depth).max().unwrap_or(0);
        Ok(Self { scripts, names: names.names.into(), defined, depth })
    }

    /// The variables of a client, with those set that are defined from the beginning.
    pub fn memory(&self) -> Memory {
        let mut memory = Memory::new(Arc::clone(&self.names), self.depth);
        for (slot, text) in &self.defined {
            memory.set_defined(*slot, text);
        }
        memory
    }

    /// Names of the variables, by their numbers.
    pub fn names(&self) -> &[String] {
        &self.names
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

    /// The same among `some`, by numbers; `drawn` is below the sum of their weights.
    #[inline]
    pub fn pick_among(&self, some: &[u8], mut drawn: u64) -> usize {
        for at in some.iter().map(|at| usize::from(*at)) {
            match drawn.checked_sub(self.scripts[at].weight) {
                Some(rest) => drawn = rest,
                None => return at,
            }
        }
        0
    }

    /// Puts into the expressions what never changes: `automatic` variables and those that are defined as numbers, where
    /// nothing else sets them. What then is the same at each evaluation is computed once.
    pub fn settle(&mut self, automatic: &[(&str, Value)]) {
        let constant = |slot: Slot| {
            let value = match self.defined.iter().rfind(|(known, _)| *known == slot) {
                Some((_, text)) => number(text)?,
                None => automatic.iter().find(|(known, _)| *known == self.names[usize::from(slot)])?.1,
            };
            let is_set = programs(&self.scripts).any(|(set, _)| set == Some(slot)) || self.is_result(slot);
            (!is_set).then_some((slot, value))
        };
        let known: Vec<_> = (0..self.names.len() as Slot).filter_map(constant).collect();
        for command in self.scripts.iter_mut().flat_map(|script| &mut script.commands) {
            if let Action::Set(_, program) | Action::If(program, _) | Action::Elif(program, ..) = &mut command.action {
                program.settle(&known);
            }
        }
    }

    /// Whether a command or a definition sets a variable, or whoever runs the scripts does.
    pub fn sets(&self, slot: Slot) -> bool {
        let automatic = AUTOMATIC.contains(&self.names[usize::from(slot)].as_str());
        let defined = || self.defined.iter().any(|(known, _)| *known == slot);
        automatic || defined() || programs(&self.scripts).any(|(set, _)| set == Some(slot))
    }

    /// Whether a result may go into a variable, as far as the scripts say it.
    fn is_result(&self, slot: Slot) -> bool {
        let name = self.names[usize::from(slot)].to_ascii_lowercase();
        self.stores().any(|store| name.starts_with(&store.prefix.to_ascii_lowercase()))
    }

    /// Variables that a result may set whose names begin with `prefix`, and that nothing else sets.
    pub fn results<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = Slot> + 'a {
        let free = move |slot: &Slot| {
            let name = &self.names[usize::from(*slot)];
            let named = !AUTOMATIC.contains(&name.as_str()) && self.defined.iter().all(|(known, _)| known != slot);
            named && programs(&self.scripts).all(|(set, _)| set != Some(*slot))
        };
        let begins = move |slot: &Slot| self.names[usize::from(*slot)].starts_with(prefix);
        (0..self.names.len() as Slot).filter(begins).filter(free)
    }

    /// The types that each variable may have where statements use it, as far as the scripts say it: a result may be of
    /// any type, and goes into the variables that nothing else sets.
    pub fn kinds(&self) -> Vec<Kinds> {
        let results = self.stores().flat_map(|store| self.results(&store.prefix));
        self.kinds_with(&results.map(|slot| (slot, Kinds::TEXT)).collect::<Vec<_>>())
    }

    /// The same where it is known what `results` give.
    pub fn kinds_with(&self, results: &[(Slot, Kinds)]) -> Vec<Kinds> {
        let mut kinds = vec![Kinds::default(); self.names.len()];
        for (name, kinds) in self.names.iter().zip(&mut kinds) {
            if AUTOMATIC.contains(&name.as_str()) {
                *kinds = Kinds::INT;
            }
        }
        // A number that is not written as numbers are, such as 007, is given as the text that it is.
        let of_text = |text: &str| match number(text) {
            Some(value) if written(value) == text => Kinds::of(value),
            _ => Kinds::TEXT,
        };
        let defined = self.defined.iter().map(|(slot, text)| (*slot, of_text(text)));
        for (slot, more) in defined.chain(results.iter().copied()) {
            kinds[usize::from(slot)] = kinds[usize::from(slot)].or(more);
        }
        // Types flow from variable to variable: gone through until nothing is added.
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

/// The number that a definition is.
fn number(text: &str) -> Option<Value> {
    Value::read(text).filter(|value| matches!(value, Value::Int(_) | Value::Double(_)))
}

fn written(value: Value) -> String {
    let mut text = Vec::new();
    value.write(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// All programs, with the variables that they set.
fn programs(scripts: &[Script]) -> impl Iterator<Item = (Option<Slot>, &Program)> {
    scripts.iter().flat_map(|script| &script.commands).filter_map(|command| match &command.action {
        Action::Set(slot, program) => Some((Some(*slot), program)),
        Action::If(program, _) | Action::Elif(program, ..) => Some((None, program)),
        _ => None,
    })
}
