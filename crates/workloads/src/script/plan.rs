//! Scripts as a database of one dialect takes them: which statements are sent, and which begin and end transactions.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use dsbench_core::engine::Dialect;
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::workload::{KindId, StatementName};
use dsbench_script::{Action, Command, Part, Pause, Script, Scripts, Slot, Value};

use super::bound::Bound;

/// What a statement is to the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// It is sent as it is.
    Plain,
    /// It is sent as it is, and opens a transaction.
    Opens,
    /// BEGIN, by the engine's own way.
    Begin,
    /// COMMIT or END, by the engine's own way.
    Commit,
    /// ROLLBACK or ABORT, by the engine's own way.
    Rollback,
}

/// Scripts for one dialect.
pub(crate) struct Plan {
    pub(crate) scripts: Scripts,
    pub(super) numbered: bool,
    /// Whether a database is only played: it describes nothing, and answers whatever is asked of it.
    pub(super) played: bool,
    /// Of each script, for each command: its statements in `bound`.
    pub(super) places: Vec<Vec<Range<usize>>>,
    /// Of each script, for each command: its number among those that are timed.
    pub(super) numbers: Vec<Vec<Option<u16>>>,
    /// Of each script, whether variables or random numbers may change once its first statement was sent.
    pub(super) changing: Vec<bool>,
    /// As the first database that was asked describes them.
    pub(super) bound: Mutex<Option<Arc<[Bound]>>>,
}

impl Plan {
    /// Scripts at one scale. Errors of kind `Configuration` with file and line: what the product cannot do.
    pub(crate) fn new(mut scripts: Scripts, dialect: &Dialect, scale: u32) -> Result<Self> {
        scripts.settle(&[("scale", Value::Int(scale.into()))]);
        let numbered = dialect.name == "postgres";
        // One that only plays a database stands in for any.
        let postgres = numbered || !dialect.keeps_data;
        let (mut places, mut changing, mut next) = (Vec::new(), Vec::new(), 0);
        for script in &scripts.scripts {
            let mut of_script = Vec::new();
            let mut sent = false;
            let mut changes = false;
            for command in &script.commands {
                let count = match &command.action {
                    Action::Sql(parts, store) => {
                        for part in parts {
                            word_of(part, postgres).map_err(|why| at(&script.name, part.line, &why))?;
                        }
                        (sent, changes) = (true, changes || store.is_some());
                        parts.len()
                    }
                    Action::StartPipeline | Action::SyncPipeline | Action::EndPipeline if !postgres => {
                        let why = format!("column {}: only PostgreSQL's protocol has pipelines", command.column);
                        return Err(at(&script.name, command.line, &why));
                    }
                    Action::StartPipeline | Action::SyncPipeline | Action::EndPipeline => {
                        sent = true;
                        0
                    }
                    Action::Set(..) => {
                        changes |= sent;
                        0
                    }
                    Action::If(program, _) | Action::Elif(program, ..) => {
                        // Another attempt decides as the first one did.
                        changes |= sent && program.draws();
                        0
                    }
                    Action::Sleep(_) => {
                        sent = true;
                        0
                    }
                    _ => 0,
                };
                of_script.push(next..next + count);
                next += count;
            }
            places.push(of_script);
            changing.push(changes);
        }
        let mut timed = 0..u16::MAX;
        let mut number = |command: &Command| if is_timed(&command.action) { timed.next() } else { None };
        let numbers = scripts.scripts.iter().map(|script| script.commands.iter().map(&mut number).collect()).collect();
        let played = !dialect.keeps_data;
        Ok(Self { scripts, numbered, played, places, numbers, changing, bound: Mutex::new(None) })
    }

    /// What is timed, by number: statements and pauses.
    pub(crate) fn statements(&self) -> Vec<StatementName> {
        let of_script = |(kind, script): (usize, &Script)| {
            let name = |command: &Command| {
                let text = self.text(&command.action);
                StatementName { kind: kind as KindId, line: command.line, text }
            };
            let timed = script.commands.iter().filter(|command| is_timed(&command.action));
            timed.map(name).collect::<Vec<_>>()
        };
        self.scripts.scripts.iter().enumerate().flat_map(of_script).take(usize::from(u16::MAX)).collect()
    }

    /// A command in one line, as its script has it.
    fn text(&self, action: &Action) -> String {
        let names = self.scripts.names();
        let variable = |slot: Slot| names.get(usize::from(slot)).map_or("", String::as_str);
        match action {
            Action::Sql(parts, _) => {
                let one = |part: &Part| {
                    let sql = part.sql(|number| format!(":{}", variable(part.slots[number - 1])));
                    sql.split_whitespace().collect::<Vec<_>>().join(" ")
                };
                parts.iter().map(one).collect::<Vec<_>>().join(" \\; ")
            }
            Action::Sleep(Pause::Of(count, unit)) => format!("\\sleep {count} {}", unit.name()),
            Action::Sleep(Pause::Variable(slot, unit)) => format!("\\sleep :{} {}", variable(*slot), unit.name()),
            Action::SyncPipeline => "\\syncpipeline".into(),
            Action::EndPipeline => "\\endpipeline".into(),
            _ => String::new(),
        }
    }
}

/// Whether it takes time of its own: all else is evaluated between statements.
fn is_timed(action: &Action) -> bool {
    matches!(action, Action::Sql(..) | Action::Sleep(_) | Action::SyncPipeline | Action::EndPipeline)
}

/// An error of a script with its place.
pub(super) fn at(name: &str, line: usize, why: &str) -> Error {
    Error::with(ErrorKind::Configuration, "script", format!("{name}:{line}: {why}"))
}

/// What a statement is to the transaction, by its words. An error: only PostgreSQL's own server takes it.
pub(super) fn word_of(part: &Part, postgres: bool) -> std::result::Result<Word, String> {
    let words = part.words(4);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Ok(match words[..] {
        ["BEGIN"] | ["BEGIN", "WORK" | "TRANSACTION"] | ["START", "TRANSACTION"] => Word::Begin,
        ["COMMIT" | "END"] | ["COMMIT" | "END", "WORK" | "TRANSACTION"] => Word::Commit,
        ["ROLLBACK" | "ABORT"] | ["ROLLBACK" | "ABORT", "WORK" | "TRANSACTION"] => Word::Rollback,
        ["BEGIN", ..] | ["START", "TRANSACTION", ..] if postgres => Word::Opens,
        ["BEGIN", ..] | ["START", "TRANSACTION", ..] => {
            return Err("this product's transactions begin without options here; --isolation sets the level".into())
        }
        _ => Word::Plain,
    })
}

#[cfg(test)]
mod tests {
    use dsbench_script::Source;

    use super::*;

    #[test]
    fn comments_hide_no_end_of_a_transaction() {
        let text = "BEGIN /* one */;\nSELECT 1;\nCOMMIT /* x */;\nBEGIN -- two\n;\nEND -- note\n;\nROLLBACK/**/WORK;\nROLLBACK TO s;";
        let scripts = Scripts::parse(&[Source { name: "own".into(), weight: 1, text: text.into() }], &[]).unwrap();
        let parts = scripts.scripts[0].commands.iter().flat_map(|command| match &command.action {
            Action::Sql(parts, _) => parts.as_slice(),
            _ => &[],
        });
        let words: Vec<Word> = parts.map(|part| word_of(part, false).unwrap()).collect();
        assert_eq!(
            words,
            [Word::Begin, Word::Plain, Word::Commit, Word::Begin, Word::Commit, Word::Rollback, Word::Plain]
        );
    }

    #[test]
    fn what_draws_after_the_first_statement_is_drawn_alike_by_each_attempt() {
        let dialect =
            Dialect { name: "sqlite", procedures: false, embedded: true, single_writer: true, keeps_data: true };
        let drawn = "SELECT 1;\n\\if random(1, 9) > 4\nSELECT 2;\n\\endif";
        for (text, changing) in [(drawn, true), (&drawn.replace("random(1, 9)", ":n"), false)] {
            let text = format!("\\set n random(1, 9)\n{text}");
            let scripts = Scripts::parse(&[Source { name: "own".into(), weight: 1, text }], &[]).unwrap();
            assert_eq!(Plan::new(scripts, &dialect, 1).unwrap().changing, [changing]);
        }
    }
}
