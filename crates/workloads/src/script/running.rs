//! How a client runs the commands of its script, from one statement to the next.

use std::ops::Range;

use dsbench_core::clock::{Monotonic, Nanos};
use dsbench_core::engine::{Answer, Connection, Piped, StatementId};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::{Rows, Value};
use dsbench_core::workload::{End, Found, StatementTime};
use dsbench_script::{Action, Memory, Value as Held, Wrong};

use super::bound::Bound;
use super::client::ScriptClient;
use super::piping::{pipeline, placed, Open};
use super::plan::{at, Word};
use super::sleeping::sleep;

impl ScriptClient {
    /// Runs the commands from `next` on; gives whether the last transaction was rolled back by its own words.
    pub(super) fn run(&mut self, conn: &mut dyn Connection, mut next: Option<usize>, open: &mut Open) -> Result<End> {
        let mut end = End::Commit;
        while let Some(number) = next {
            let began = if self.timing { Monotonic.now() } else { 0 };
            let done = self.command(conn, number, open, &mut end);
            if self.timing {
                self.note(number, began, done.is_err());
            }
            done?;
            let script = &self.plan.scripts.scripts[self.script];
            let tell = &mut |command, value| debug(self.script, command, value);
            let advanced = script.advance(number + 1, &mut self.memory, tell);
            next = advanced.map_err(|(number, wrong)| failed(script, number, &wrong))?;
        }
        let words = match *open {
            Open { transaction: false, pipeline: false } => return Ok(end),
            Open { pipeline: true, .. } => "end of script reached with pipeline open",
            Open { .. } => "end of script reached without completing the last transaction",
        };
        let script = &self.plan.scripts.scripts[self.script];
        let last = script.commands.len() - 1;
        Err(at(&script.name, script.commands[last].line, words))
    }

    /// Runs one command that needs the database or the clock.
    #[inline]
    fn command(&mut self, conn: &mut dyn Connection, number: usize, open: &mut Open, end: &mut End) -> Result<()> {
        let script = &self.plan.scripts.scripts[self.script];
        let store = match &script.commands[number].action {
            Action::Sleep(pause) => {
                return sleep(*pause, &self.memory, self.bell.as_deref())
                    .map_err(|wrong| failed(script, number, &wrong));
            }
            Action::Sql(_, store) => store,
            action => return pipeline(conn, action, open).map_err(|error| placed(script, number, error)),
        };
        if open.pipeline {
            return self.queue(conn, number, open, end);
        }
        let places = self.plan.places[self.script][number].clone();
        if self.plain {
            return self.send_text(conn, number, places, open, end);
        }
        for place in places {
            let bound = &self.bound[place];
            if transact(conn, bound.word, open, end)? {
                continue;
            }
            let id = self.ids.get(place).copied().unwrap_or(StatementId(u32::MAX));
            let rows = if bound.columns.is_empty() {
                self.giving.with(bound, &self.memory, |values| conn.execute(id, values))?
            } else {
                self.giving.with(bound, &self.memory, |values| conn.query(id, values, &mut self.rows))?;
                let all = store.as_ref().is_some_and(|store| store.all);
                keep(&self.rows, bound, all, &mut self.memory).map_err(|wrong| failed(script, number, &wrong))?;
                self.rows.len() as u64
            };
            count_found(&mut self.found, self.plan.finders[self.script][number], rows);
            open.transaction |= bound.word == Word::Opens;
        }
        Ok(())
    }

    /// Sends the statements of a command as one text with the values in it, as pgbench's simple protocol does.
    fn send_text(
        &mut self,
        conn: &mut dyn Connection,
        number: usize,
        places: Range<usize>,
        open: &mut Open,
        end: &mut End,
    ) -> Result<()> {
        let plan = &self.plan;
        let script = &plan.scripts.scripts[self.script];
        let Action::Sql(parts, store) = &script.commands[number].action else { return Ok(()) };
        let words = &plan.words[places];
        if let ([word], None) = (words, store) {
            if transact(conn, *word, open, end)? {
                return Ok(());
            }
        }
        self.text.clear();
        for (at, part) in parts.iter().enumerate() {
            self.text.extend_from_slice(if at > 0 { b";" } else { b"" });
            part.write(plan.scripts.names(), &self.memory, &mut self.text);
        }
        let Some(texts) = conn.texts() else { return Err(Error::configuration("this engine takes no texts")) };
        let mut stored = Ok(());
        let done = match store {
            None => texts.run(&self.text, None),
            Some(store) => {
                self.answers.reset();
                let (answers, memory) = (&mut self.answers, &mut self.memory);
                let mut take = |answer: Answer<'_>| {
                    if answers.take(answer) && store.all && stored.is_ok() {
                        stored = answers.store(store, &plan.scripts, memory);
                    }
                };
                texts.run(&self.text, Some(&mut take))
            }
        };
        if let Ok(rows) = &done {
            count_found(&mut self.found, plan.finders[self.script][number], *rows);
        }
        if let Err(error) = done {
            // Whatever of it was done before the error.
            open.transaction |= words.len() > 1;
            let commits = words.contains(&Word::Commit);
            return Err(match error.kind {
                ErrorKind::Disconnected if commits => Error { kind: ErrorKind::Unknown, ..error },
                ErrorKind::Syntax => {
                    super::bound::placed(&format!("{}:{}", script.name, script.commands[number].line), error)
                }
                _ => error,
            });
        }
        for word in words {
            match word {
                Word::Begin | Word::Opens => open.transaction = true,
                Word::Commit => (open.transaction, *end) = (false, End::Commit),
                Word::Rollback => (open.transaction, *end) = (false, End::Rollback),
                Word::Plain => {}
            }
        }
        if let Some(store) = store.as_ref().filter(|store| !store.all) {
            stored = self.answers.store(store, &plan.scripts, &mut self.memory);
        }
        stored.map_err(|wrong| failed(script, number, &wrong))
    }

    /// Adds the statements of a command to the pipeline; their answers come with its end.
    fn queue(&mut self, conn: &mut dyn Connection, number: usize, open: &mut Open, end: &mut End) -> Result<()> {
        let script = &self.plan.scripts.scripts[self.script];
        for place in self.plan.places[self.script][number].clone() {
            let bound = &self.bound[place];
            if let Action::Sql(_, Some(store)) = &script.commands[number].action {
                let name = if store.all { "aset" } else { "gset" };
                return Err(failed(script, number, &Wrong(format!("\\{name} is not allowed in pipeline mode"))));
            }
            let id = self.ids.get(place).copied().unwrap_or(StatementId(u32::MAX));
            let what = match bound.word {
                Word::Begin if open.transaction => continue,
                Word::Commit | Word::Rollback if !open.transaction => continue,
                Word::Begin => Some(Piped::Begin),
                Word::Commit => Some(Piped::Commit),
                Word::Rollback => Some(Piped::Rollback),
                Word::Plain | Word::Opens => None,
            };
            let Some(pipeline) = conn.pipeline() else { continue };
            let added = match what {
                Some(what) => pipeline.add(what),
                None => self.giving.with(bound, &self.memory, |values| pipeline.add(Piped::Statement(id, values))),
            };
            added.map_err(|error| placed(script, number, error))?;
            match bound.word {
                Word::Begin | Word::Opens => open.transaction = true,
                Word::Commit | Word::Rollback => {
                    open.transaction = false;
                    *end = if bound.word == Word::Commit { End::Commit } else { End::Rollback };
                }
                Word::Plain => {}
            }
        }
        Ok(())
    }

    /// Notes the time of a command that began at `began`.
    fn note(&mut self, number: usize, began: Nanos, failed: bool) {
        if let Some(statement) = self.plan.numbers[self.script][number] {
            self.timed.push(StatementTime { statement, took: Monotonic.now() - began, failed });
        }
    }
}

/// Counts an execution that found so many `rows`, of a statement whose rows are counted.
#[inline]
fn count_found(found: &mut [Found], finder: Option<usize>, rows: u64) {
    if let Some(one) = finder.and_then(|at| found.get_mut(at)) {
        one.executions += 1;
        one.rows += rows;
        one.empty += u64::from(rows == 0);
    }
}

/// Begins or ends a transaction by the engine's own verbs; false where the word says neither.
#[inline]
fn transact(conn: &mut dyn Connection, word: Word, open: &mut Open, end: &mut End) -> Result<bool> {
    match word {
        // PostgreSQL only warns of a second BEGIN, and of an end without one.
        Word::Begin if open.transaction => {}
        Word::Begin => {
            conn.begin()?;
            open.transaction = true;
        }
        Word::Commit | Word::Rollback if !open.transaction => {}
        Word::Commit => {
            // Some products keep a transaction open that they could not commit.
            conn.commit()?;
            (open.transaction, *end) = (false, End::Commit);
        }
        Word::Rollback => {
            conn.rollback()?;
            (open.transaction, *end) = (false, End::Rollback);
        }
        Word::Plain | Word::Opens => return Ok(false),
    }
    Ok(true)
}

pub(super) fn failed(script: &dsbench_script::Script, number: usize, wrong: &Wrong) -> Error {
    at(&script.name, script.commands[number].line, &wrong.0)
}

/// What pgbench's function of that name prints.
#[cold]
pub(super) fn debug(script: usize, command: usize, value: Held) {
    let mut text = Vec::new();
    value.write(&mut text);
    let text = String::from_utf8_lossy(&text);
    let name = if value == Held::Null { "" } else { value.type_name() };
    let shown = if value == Held::Null { "null".to_string() } else { format!("{name} {text}") };
    eprintln!("debug(script={script},command={}): {shown}", command + 1);
}

/// Keeps the last row in variables; without `all` there has to be one row.
fn keep(rows: &Rows, bound: &Bound, all: bool, memory: &mut Memory) -> std::result::Result<(), Wrong> {
    let count = rows.len();
    if all && count == 0 {
        return Ok(());
    }
    if !all && count != 1 {
        return Err(Wrong(format!("\\gset: expected one row, got {count}")));
    }
    for (column, slot) in bound.into.iter().enumerate() {
        let Some(slot) = *slot else { continue };
        match rows.get(count - 1, column).map_err(|error| Wrong(error.to_string()))? {
            Value::Int(value) => memory.set(slot, Held::Int(value)),
            // All of its digits, where the script writes it as text; a double of \\set has fifteen.
            Value::Float(value) => memory.set_double(slot, value),
            Value::Text(text) => memory.set_text(slot, text),
            _ => memory.set(slot, Held::Null),
        }
    }
    Ok(())
}
