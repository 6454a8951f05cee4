//! Expressions of the script language that stand alone, and statements that no client sends.

use dsbench_core::engine::Connection;
use dsbench_core::error::{Error, Result};
use dsbench_core::workload::Progress;
use dsbench_script::{Action, Memory, Scripts, Slot, Source, Value};

use super::reading::{Node, Sql};
use crate::script::told;

/// What expressions know: the scale, and variables with their texts.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) scale: u32,
    pub(super) defined: Vec<(String, String)>,
}

impl Scope {
    fn parse(&self, file: &str, text: String, more: &[String]) -> Result<Scripts> {
        let more = more.iter().map(|name| (name.clone(), "0".to_string()));
        let known: Vec<_> = more.chain(self.defined.iter().cloned()).collect();
        Scripts::parse(&[Source { name: file.into(), weight: 1, text }], &known).map_err(told)
    }

    fn memory(&self, scripts: &Scripts) -> Memory {
        let mut memory = scripts.memory();
        memory.define("scale", Value::Int(self.scale.into()));
        memory
    }

    /// A whole number, or an expression that gives one.
    pub(super) fn whole(&self, node: Node<'_>) -> Result<i64> {
        match node.as_whole() {
            Some(number) => Ok(number),
            None => match Expression::read(node, self, &[])?.once()? {
                Value::Int(number) => Ok(number),
                other => Err(node.wrong(format!("a whole number has to come of this, not {other:?}"))),
            },
        }
    }

    /// The statements of `sql`, which may name what is known here. Errors with file and line.
    pub(super) fn steps(&self, sql: &Sql) -> Result<Vec<Step>> {
        if sql.text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with("--")) {
            return Ok(Vec::new());
        }
        let scripts = self.parse(&sql.file, sql.text.clone(), &[])?;
        let memory = self.memory(&scripts);
        let mut steps = Vec::new();
        for command in &scripts.scripts[0].commands {
            let Action::Sql(parts, None) = &command.action else {
                let words = format!("{}:{}: only statements can stand here", sql.file, command.line);
                return Err(Error::configuration(words));
            };
            for part in parts {
                let mut text = Vec::new();
                part.write(scripts.names(), &memory, &mut text);
                let place = format!("{}:{}", sql.file, part.line);
                steps.push(Step { place, sql: String::from_utf8_lossy(&text).into_owned() });
            }
        }
        Ok(steps)
    }
}

/// A statement with its place.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) place: String,
    pub(super) sql: String,
}

impl Step {
    /// An error of the database with the place of the statement.
    pub(super) fn placed(&self, error: Error) -> Error {
        let said = error.message.as_deref().unwrap_or(error.kind.name());
        Error { message: Some(format!("{}: {said}", self.place).into()), ..error }
    }
}

/// Runs statements one by one, as steps of `progress`.
pub(super) fn run(steps: &[Step], conn: &mut dyn Connection, progress: Option<&Progress>) -> Result<()> {
    if let Some(progress) = progress {
        progress.expect(steps.len() as u64);
    }
    for step in steps {
        conn.script(&[&step.sql]).map_err(|error| step.placed(error))?;
        progress.map_or(Ok(()), |progress| progress.advance(1))?;
    }
    Ok(())
}

/// An expression.
#[derive(Debug, Clone)]
pub(super) struct Expression {
    scripts: Scripts,
    scope: Scope,
    result: Slot,
    place: String,
}

impl Expression {
    /// Reads it; `more` are names of variables that will be set beside those of `scope`.
    pub(super) fn read(node: Node<'_>, scope: &Scope, more: &[String]) -> Result<Self> {
        let text = node.constant()?.replace('\n', " ");
        let parsed = scope.parse("expression", format!("\\set result {text}"), more);
        let wrong = |error: Error| node.wrong(error.message.as_deref().unwrap_or("no expression"));
        let scripts = parsed.map_err(wrong)?;
        let result = scripts.names().iter().position(|name| name == "result").unwrap_or_default() as Slot;
        Ok(Self { scripts, scope: scope.clone(), result, place: node.place() })
    }

    /// The variables that it may be evaluated with.
    pub(super) fn memory(&self) -> Memory {
        self.scope.memory(&self.scripts)
    }

    /// The number of a variable, where the expression names it.
    pub(super) fn slot(&self, name: &str) -> Option<Slot> {
        self.scripts.names().iter().position(|known| known == name).map(|slot| slot as Slot)
    }

    /// Names of the variables that it knows.
    pub(super) fn names(&self) -> &[String] {
        self.scripts.names()
    }

    /// Its value. Errors of kind `Configuration` with its place.
    pub(super) fn value(&self, memory: &mut Memory) -> Result<Value> {
        let wrong = |words: &str| Error::configuration(format!("{}: {words}", self.place));
        let done = self.scripts.scripts[0].advance(0, memory, &mut |_, _| {});
        done.map_err(|(_, error)| wrong(&error.0))?;
        memory.parameter(self.result).value().ok_or_else(|| wrong("a number has to come of this"))
    }

    /// Its value where nothing is to be set before.
    pub(super) fn once(&self) -> Result<Value> {
        self.value(&mut self.memory())
    }
}
