//! Scripts as a database of one dialect takes them: which statements are sent, and which begin and end transactions.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use dsbench_core::engine::{Connection, Dialect, Prepare};
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
    /// Whether statements that are not prepared are sent as text with the values in it, where the engine takes texts; else
    /// variables are values of types on every product.
    pub(super) plain: bool,
    /// Whether a database is only played: it describes nothing, and answers whatever is asked of it.
    pub(super) played: bool,
    /// Of each script, for each command: its statements in `bound`.
    pub(super) places: Vec<Vec<Range<usize>>>,
    /// Of each statement, by its number in `bound`: what it is to the transaction.
    pub(super) words: Vec<Word>,
    /// Of each script, for each command: its number among those that are timed.
    pub(super) numbers: Vec<Vec<Option<u16>>>,
    /// Of each script, for each command: its place among those whose rows are counted.
    pub(super) finders: Vec<Vec<Option<usize>>>,
    /// The numbers of these.
    pub(super) finding: Vec<u16>,
    /// Of each script, whether variables or random numbers may change once its first statement was sent.
    pub(super) changing: Vec<bool>,
    /// As the first database that was asked describes them.
    pub(super) bound: Mutex<Option<Arc<[Bound]>>>,
}

impl Plan {
    /// Scripts at one scale. Errors of kind `Configuration` with file and line: what the product cannot do.
    pub(crate) fn new(mut scripts: Scripts, dialect: &Dialect, scale: u32, plain: bool) -> Result<Self> {
        scripts.settle(&[("scale", Value::Int(scale.into()))]);
        let numbered = dialect.name == "postgres";
        // One that only plays a database stands in for any.
        let postgres = numbered || !dialect.keeps_data;
        let (mut places, mut words, mut changing, mut next) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for script in &scripts.scripts {
            let mut of_script = Vec::new();
            let mut sent = false;
            let mut changes = false;
            for command in &script.commands {
                let count = match &command.action {
                    Action::Sql(parts, store) => {
                        for part in parts {
                            words.push(word_of(part, postgres).map_err(|why| at(&script.name, part.line, &why))?);
                            if !(postgres && plain) {
                                refuse_quoted(&scripts, &script.name, part, &|slot| scripts.sets(slot))?;
                            }
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
        for script in &scripts.scripts {
            if let Some(why) = left_open(script, &|part| word_of(part, postgres).unwrap_or(Word::Plain)) {
                let last = script.commands.last().map_or(1, |command| command.line);
                return Err(at(&script.name, last, why));
            }
        }
        let mut timed = 0..u16::MAX;
        let mut number = |command: &Command| if is_timed(&command.action) { timed.next() } else { None };
        let numbers: Vec<Vec<Option<u16>>> =
            scripts.scripts.iter().map(|script| script.commands.iter().map(&mut number).collect()).collect();
        let played = !dialect.keeps_data;
        let mut finding = Vec::new();
        let mut finder = |(command, number): (&Command, &Option<u16>)| {
            let number = (*number).filter(|_| !played && is_finding(&command.action))?;
            finding.push(number);
            Some(finding.len() - 1)
        };
        let pairs = scripts.scripts.iter().zip(&numbers);
        let finders = pairs.map(|(script, of)| script.commands.iter().zip(of).map(&mut finder).collect()).collect();
        let bound = Mutex::new(None);
        Ok(Self { scripts, numbered, plain, played, places, words, numbers, finders, finding, changing, bound })
    }

    /// Whether a client sends statements as text.
    pub(super) fn sends_text(&self, conn: &mut dyn Connection, when: Prepare) -> bool {
        self.plain && when == Prepare::Never && conn.texts().is_some()
    }

    /// An error where a script has a pipeline, and statements are sent as text.
    pub(super) fn refuse_pipelines(&self) -> Result<()> {
        for script in &self.scripts.scripts {
            if let Some(begins) = script.commands.iter().find(|command| command.action == Action::StartPipeline) {
                let words = "cannot use pipeline mode with the simple query protocol: add --prepare";
                return Err(at(&script.name, begins.line, words));
            }
        }
        Ok(())
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

/// Whether it is one statement that reads or changes rows.
fn is_finding(action: &Action) -> bool {
    const WORDS: [&str; 7] = ["SELECT", "WITH", "UPDATE", "DELETE", "INSERT", "MERGE", "REPLACE"];
    let Action::Sql(parts, _) = action else { return false };
    let [part] = parts.as_slice() else { return false };
    let sql = part.sql(|_| String::new());
    let first = sql.split(|letter: char| !letter.is_ascii_alphabetic()).find(|word| !word.is_empty());
    first.is_some_and(|first| WORDS.iter().any(|word| word.eq_ignore_ascii_case(first)))
}

/// Whether it takes time of its own: all else is evaluated between statements.
fn is_timed(action: &Action) -> bool {
    matches!(action, Action::Sql(..) | Action::Sleep(_) | Action::SyncPipeline | Action::EndPipeline)
}

/// An error of a script with its place.
pub(super) fn at(name: &str, line: usize, why: &str) -> Error {
    Error::with(ErrorKind::Configuration, "script", format!("{name}:{line}: {why}"))
}

/// An error for the first variable in quotes that is `set`: there only a text that is sent as it is can have its value.
pub(super) fn refuse_quoted(scripts: &Scripts, name: &str, part: &Part, set: &dyn Fn(Slot) -> bool) -> Result<()> {
    let mut quoted = part.slots.iter().zip(&part.quoted).filter(|(_, quoted)| **quoted);
    match quoted.find(|(slot, _)| set(**slot)) {
        Some((slot, _)) => {
            let variable = &scripts.names()[usize::from(*slot)];
            let why = format!(
                ":{variable} stands in quotes, where no parameter can be: write it outside of them (on PostgreSQL without \
                 --prepare values are put into quotes, too)"
            );
            Err(at(name, part.line, &why))
        }
        None => Ok(()),
    }
}

/// Why a script ends with something open whichever way it goes; `None` where it may end well.
fn left_open(script: &Script, word: &dyn Fn(&Part) -> Word) -> Option<&'static str> {
    // For each command the states in which it may be reached: bit 0 nothing is open, 1 a transaction, 2 a pipeline, 3 both.
    let mut states = vec![0_u8; script.commands.len() + 1];
    // The same, reached because the branch before it was not taken.
    let mut passed = vec![0_u8; script.commands.len() + 1];
    states[0] = 1;
    let map = |from: u8, to: &dyn Fn(u8) -> u8| {
        (0..4).filter(|bit| from >> bit & 1 == 1).fold(0, |all, bit| all | 1 << to(bit))
    };
    for (number, command) in script.commands.iter().enumerate() {
        let (here, after) = (states[number], passed[number]);
        match &command.action {
            Action::If(_, otherwise) => {
                states[number + 1] |= here;
                passed[*otherwise] |= here;
            }
            Action::Elif(_, otherwise, end) => {
                states[end + 1] |= here;
                states[number + 1] |= after;
                passed[*otherwise] |= after;
            }
            Action::Else(end) => {
                states[end + 1] |= here;
                states[number + 1] |= after;
            }
            Action::Sql(parts, _) => {
                let to = |bit: u8| {
                    parts.iter().fold(bit, |bit, part| match word(part) {
                        Word::Begin | Word::Opens => bit | 1,
                        Word::Commit | Word::Rollback => bit & !1,
                        Word::Plain => bit,
                    })
                };
                states[number + 1] |= map(here, &to);
            }
            Action::StartPipeline => states[number + 1] |= map(here, &|bit| bit | 2),
            Action::EndPipeline => states[number + 1] |= map(here, &|bit| bit & !2),
            _ => states[number + 1] |= here | after,
        }
    }
    match states.last().copied().unwrap_or(1) {
        end if end & 1 == 1 => None,
        end if end & 2 == 2 => Some("end of script reached without completing the last transaction"),
        _ => Some("end of script reached with pipeline open"),
    }
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
    fn a_script_that_cannot_end_well_is_refused() {
        for (text, open) in [
            ("BEGIN;\nSELECT 1;", true),
            ("BEGIN;\nSELECT 1;\nEND;", false),
            ("\\if :n\nBEGIN;\n\\else\nBEGIN;\n\\endif\nSELECT 1;", true),
            ("\\if :n\nBEGIN;\n\\elif :n\nBEGIN;\n\\endif\nSELECT 1;", false),
            ("BEGIN;\n\\if :n\nCOMMIT;\n\\elif :n\nROLLBACK;\n\\else\nSELECT 1;\n\\endif", false),
            ("BEGIN \\; SELECT 1 \\; COMMIT \\; BEGIN;", true),
            ("\\startpipeline\nSELECT 1;", true),
            ("\\startpipeline\nBEGIN;\nEND;\n\\endpipeline", false),
        ] {
            let source = Source { name: "own".into(), weight: 1, text: text.into() };
            let scripts = Scripts::parse(&[source], &[("n".into(), "1".into())]).unwrap();
            let word = |part: &Part| word_of(part, true).unwrap();
            assert_eq!(left_open(&scripts.scripts[0], &word).is_some(), open, "{text}");
        }
    }

    #[test]
    fn what_draws_after_the_first_statement_is_drawn_alike_by_each_attempt() {
        let dialect =
            Dialect { name: "sqlite", procedures: false, embedded: true, single_writer: true, keeps_data: true };
        let drawn = "SELECT 1;\n\\if random(1, 9) > 4\nSELECT 2;\n\\endif";
        for (text, changing) in [(drawn, true), (&drawn.replace("random(1, 9)", ":n"), false)] {
            let text = format!("\\set n random(1, 9)\n{text}");
            let scripts = Scripts::parse(&[Source { name: "own".into(), weight: 1, text }], &[]).unwrap();
            assert_eq!(Plan::new(scripts, &dialect, 1, true).unwrap().changing, [changing]);
        }
    }
}
