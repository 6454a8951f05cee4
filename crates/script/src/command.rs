//! Commands: what a script is made of once it is read.

use crate::error::Wrong;
use crate::memory::{Memory, Slot};
use crate::program::Program;
use crate::value::Value;

/// One statement, cut at its variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Line of the file where it begins, from 1.
    pub line: usize,
    /// What lies between its variables: one piece more than there are variables.
    pub pieces: Vec<String>,
    /// Its variables, in order.
    pub slots: Vec<Slot>,
    /// Of each, whether it stands in quotes.
    pub quoted: Vec<bool>,
}

impl Part {
    /// Its text with `mark(n)` in place of variable number n, from 1.
    pub fn sql(&self, mark: impl Fn(usize) -> String) -> String {
        let mut sql = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                sql.push_str(&mark(at));
            }
            sql.push_str(piece);
        }
        sql
    }

    /// The same without variables in quotes: what looks like one is text.
    pub fn without_quoted(&self, names: &[String]) -> Self {
        let mut found = Self { line: self.line, pieces: Vec::new(), slots: Vec::new(), quoted: Vec::new() };
        let mut piece = self.pieces.first().cloned().unwrap_or_default();
        for ((slot, quoted), next) in self.slots.iter().zip(&self.quoted).zip(self.pieces.iter().skip(1)) {
            if *quoted {
                piece = format!("{piece}:{}{next}", names[usize::from(*slot)]);
            } else {
                found.pieces.push(std::mem::replace(&mut piece, next.clone()));
                found.slots.push(*slot);
                found.quoted.push(false);
            }
        }
        found.pieces.push(piece);
        found
    }

    /// Appends its text with the values of `memory`. A variable that was never set stays as it is written.
    pub fn write(&self, names: &[String], memory: &Memory, out: &mut Vec<u8>) {
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                let slot = self.slots[at - 1];
                if !memory.write(slot, out) {
                    out.push(b':');
                    out.extend_from_slice(names[usize::from(slot)].as_bytes());
                }
            }
            out.extend_from_slice(piece.as_bytes());
        }
    }

    /// Its first `most` words in capitals, up to its first variable, without comments.
    pub fn words(&self, most: usize) -> Vec<String> {
        let text = self.pieces.first().map_or("", String::as_str);
        crate::split::words(text, most).iter().map(|word| word.to_ascii_uppercase()).collect()
    }
}

/// Where the results of statements go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// What stands before the names of columns in those of variables.
    pub prefix: String,
    /// `\aset`: of all joined statements, and results without a row are passed over; else `\gset`: of the last one,
    /// which has to give one row.
    pub all: bool,
}

/// The unit of a sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    /// Its word in a script.
    pub fn name(self) -> &'static str {
        match self {
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
        }
    }
}

/// How long a sleep takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// So many.
    Of(i64, Unit),
    /// As many as a variable says.
    Variable(Slot, Unit),
}

impl Pause {
    /// Microseconds. An error where the variable holds no number.
    pub fn microseconds(self, memory: &Memory) -> Result<u64, Wrong> {
        let (count, unit) = match self {
            Self::Of(count, unit) => (count, unit),
            Self::Variable(slot, unit) => {
                let text = memory.text(slot).ok_or_else(|| Wrong::new("sleep: undefined variable"))?;
                let number = text.trim_start();
                let sign = usize::from(number.starts_with(['+', '-']));
                let end = number[sign..].find(|c: char| !c.is_ascii_digit()).map_or(number.len(), |at| sign + at);
                let count = number[..end].parse();
                (count.map_err(|_| Wrong::new(format!("sleep: invalid sleep time {text:?}")))?, unit)
            }
        };
        let factor = match unit {
            Unit::Us => 1,
            Unit::Ms => 1_000,
            Unit::S => 1_000_000,
        };
        Ok(u64::try_from(count).unwrap_or(0).saturating_mul(factor))
    }
}

/// What a command does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Runs statements: one, or those that `\;` joins.
    Sql(Vec<Part>, Option<Store>),
    /// Sets a variable.
    Set(Slot, Program),
    /// `\if`; the place of the `\elif`, `\else` or `\endif` that follows it.
    If(Program, usize),
    /// `\elif`; the place that follows it, and that of the `\endif`.
    Elif(Program, usize, usize),
    /// `\else`; the place of the `\endif`.
    Else(usize),
    /// `\endif`.
    Endif,
    /// Waits.
    Sleep(Pause),
    /// `\startpipeline`.
    StartPipeline,
    /// `\syncpipeline`.
    SyncPipeline,
    /// `\endpipeline`.
    EndPipeline,
}

/// One command.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Line of the file where it begins, from 1.
    pub line: usize,
    /// Where in that line it begins, in characters from 1.
    pub column: usize,
    /// What it does.
    pub action: Action,
}

/// A script: its commands in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The file, or the name of a builtin.
    pub name: String,
    /// How often it is picked beside others.
    pub weight: u64,
    /// What it does.
    pub commands: Vec<Command>,
}

/// A command that failed: its number, from 0, and why.
pub type Failed = (usize, Wrong);

impl Script {
    /// Its statements, in order.
    pub fn statements(&self) -> impl Iterator<Item = &Part> {
        self.commands.iter().flat_map(|command| match &command.action {
            Action::Sql(parts, _) => parts.as_slice(),
            _ => &[],
        })
    }

    /// Runs from command number `at` on whatever needs no database and no clock, and gives the number of the first
    /// command that does, which the caller runs; it goes on with the number after it. `None` at the end of the script.
    ///
    /// `debug` is told the number of a command and the value of the function of that name in it.
    pub fn advance(
        &self,
        mut at: usize,
        memory: &mut Memory,
        debug: &mut dyn FnMut(usize, Value),
    ) -> Result<Option<usize>, Failed> {
        while let Some(command) = self.commands.get(at) {
            let mut tell = |value| debug(at, value);
            let failed = |wrong| (at, wrong);
            at = match &command.action {
                Action::Set(slot, program) => {
                    let value = program.evaluate(memory, &mut tell).map_err(failed)?;
                    memory.set(*slot, value);
                    at + 1
                }
                Action::If(program, otherwise) => {
                    match program.evaluate(memory, &mut tell).map_err(failed)?.is_true() {
                        true => at + 1,
                        false => self.branch(*otherwise, memory, debug)?,
                    }
                }
                // They are come upon at the end of a branch that was taken.
                Action::Elif(_, _, end) | Action::Else(end) => end + 1,
                Action::Endif => at + 1,
                _ => return Ok(Some(at)),
            };
        }
        Ok(None)
    }

    /// Where it goes on after a branch that was not taken.
    fn branch(&self, mut at: usize, memory: &mut Memory, debug: &mut dyn FnMut(usize, Value)) -> Result<usize, Failed> {
        while let Some(Command { action: Action::Elif(program, otherwise, _), .. }) = self.commands.get(at) {
            let value = program.evaluate(memory, &mut |value| debug(at, value)).map_err(|wrong| (at, wrong))?;
            if value.is_true() {
                break;
            }
            at = *otherwise;
        }
        Ok(at + 1)
    }
}
