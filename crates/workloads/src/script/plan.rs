//! Scripts as a database of one dialect takes them: which statements are sent, and which begin and end transactions.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use dsbench_core::engine::{Connection, Dialect, Wanted};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;
use dsbench_core::value::Type;
use dsbench_core::workload::{KindId, StatementName};
use dsbench_script::{Action, Command, Kinds, Part, Pause, Script, Scripts, Slot, Store};

/// First words of statements after which others may work on what they made.
const MAKING: [&str; 3] = ["CREATE", "ALTER", "DROP"];

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

/// A statement with what the database has said of it.
#[derive(Debug)]
pub(crate) struct Bound {
    /// File and line.
    place: String,
    pub(super) word: Word,
    pub(super) sql: String,
    pub(super) slots: Vec<Slot>,
    pub(super) params: Vec<Type>,
    /// Where the columns of its result go; empty where they are dropped.
    pub(super) columns: Vec<Type>,
    pub(super) into: Vec<Option<Slot>>,
}

/// Scripts for one dialect.
pub(crate) struct Plan {
    pub(crate) scripts: Scripts,
    numbered: bool,
    /// Of each script, for each command: its statements in `bound`.
    pub(super) places: Vec<Vec<Range<usize>>>,
    /// Of each script, for each command: its number among those that are timed.
    pub(super) numbers: Vec<Vec<Option<u16>>>,
    /// Of each script, whether variables may change once its first statement was sent.
    pub(super) changing: Vec<bool>,
    bound: Mutex<Option<Arc<[Bound]>>>,
}

impl Plan {
    /// Errors of kind `Configuration` with file and line: what the product cannot do.
    pub(crate) fn new(scripts: Scripts, dialect: &Dialect) -> Result<Self> {
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
        Ok(Self { scripts, numbered, places, numbers, changing, bound: Mutex::new(None) })
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

    /// The statements of all scripts, in order, as the database of `conn` describes them. Whoever comes before the first
    /// answer asks, too: a client that shares its thread with others may not wait for them.
    pub(super) fn bound(&self, conn: &mut dyn Connection) -> Result<Arc<[Bound]>> {
        if let Some(bound) = &*lock(&self.bound) {
            return Ok(Arc::clone(bound));
        }
        let mut all = Vec::new();
        for script in &self.scripts.scripts {
            // What a script makes itself is not there yet, and what works on it cannot be described.
            let mut makes = false;
            for command in &script.commands {
                let Action::Sql(parts, store) = &command.action else { continue };
                for (number, part) in parts.iter().enumerate() {
                    let stored = store.as_ref().filter(|store| store.all || number + 1 == parts.len());
                    let mut bound = self.bound_by_types(part, &format!("{}:{}", script.name, part.line));
                    makes |= MAKING.iter().any(|word| bound.sql.to_ascii_uppercase().starts_with(word));
                    if matches!(bound.word, Word::Plain | Word::Opens) && (!makes || stored.is_some()) {
                        let described = self.describe(conn, part, stored, &mut bound);
                        described.map_err(|error| bound.placed(error))?;
                    }
                    all.push(bound);
                }
            }
        }
        Ok(Arc::clone(lock(&self.bound).get_or_insert(all.into())))
    }

    /// A statement whose parameters have the types of its variables.
    fn bound_by_types(&self, part: &Part, place: &str) -> Bound {
        Bound {
            place: place.into(),
            word: word_of(part, self.numbered).unwrap_or(Word::Plain),
            sql: part.sql(|number| self.mark(number)),
            slots: part.slots.clone(),
            params: part.slots.iter().map(|slot| type_of(self.scripts.kinds(*slot))).collect(),
            columns: Vec::new(),
            into: Vec::new(),
        }
    }

    fn mark(&self, number: usize) -> String {
        if self.numbered {
            format!("${number}")
        } else {
            "?".into()
        }
    }

    /// Asks the database for the types, and where the columns of the result go.
    fn describe(&self, conn: &mut dyn Connection, part: &Part, store: Option<&Store>, bound: &mut Bound) -> Result<()> {
        let asked = conn.describe(&bound.sql).or_else(|first| {
            // Where the database cannot tell what a parameter is, the types of the variables say it.
            let cast = |number: usize| format!("CAST({} AS {})", self.mark(number), name_of(bound.params[number - 1]));
            bound.sql = part.sql(cast);
            if self.numbered {
                conn.describe(&bound.sql).map_err(|_| first)
            } else {
                Err(first)
            }
        });
        let described = asked?;
        if described.params.iter().any(|wanted| matches!(wanted, Wanted::Cast(_))) {
            bound.sql = part.sql(|number| match &described.params[number - 1] {
                Wanted::Cast(name) => format!("CAST(CAST({} AS text) AS {name})", self.mark(number)),
                Wanted::As(_) => self.mark(number),
            });
        }
        for (param, wanted) in bound.params.iter_mut().zip(&described.params) {
            *param = match wanted {
                Wanted::As(kind) => *kind,
                Wanted::Cast(_) => Type::Text,
            };
        }
        store.map_or(Ok(()), |store| self.store(bound, store, &described.columns))
    }

    fn store(&self, bound: &mut Bound, store: &Store, columns: &[(String, Option<Type>)]) -> Result<()> {
        if columns.is_empty() {
            return Err(Error::configuration("\\gset: expected one row, but the statement gives none"));
        }
        for (column, kind) in columns {
            let name = format!("{}{column}", store.prefix);
            let begins = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
            if !begins || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80) {
                return Err(Error::configuration(format!("error storing into variable {name}: name the column by AS")));
            }
            let Some(kind) = kind else {
                let words = format!(
                    "\\gset: column {column} has a type that is not read; cast it to an integer, a double or a text"
                );
                return Err(Error::configuration(words));
            };
            let names = self.scripts.names();
            let found = names.iter().position(|known| *known == name);
            let found = found.or_else(|| names.iter().position(|known| known.eq_ignore_ascii_case(&name)));
            bound.into.push(found.map(|slot| slot as Slot));
            bound.columns.push(*kind);
        }
        Ok(())
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

impl Bound {
    /// An error of the database with file and line of the statement.
    pub(super) fn placed(&self, error: Error) -> Error {
        let said = error.message.as_deref().unwrap_or(error.kind.name());
        Error { message: Some(format!("{}: {said}", self.place).into()), context: "script", ..error }
    }
}

/// The type in which a variable is sent where the database says nothing: one that has all values it may have.
fn type_of(kinds: Kinds) -> Type {
    let null = Kinds::NULL;
    match () {
        () if kinds.within(null.or(Kinds::INT)) || kinds.within(null.or(Kinds::BOOL)) => Type::Int64,
        () if kinds.within(null.or(Kinds::INT).or(Kinds::DOUBLE)) => Type::Float64,
        () => Type::Text,
    }
}

/// PostgreSQL's name of a type that variables have.
fn name_of(kind: Type) -> &'static str {
    match kind {
        Type::Int64 => "bigint",
        Type::Float64 => "double precision",
        _ => "text",
    }
}

/// What a statement is to the transaction, by its words. An error: only PostgreSQL's own server takes it.
fn word_of(part: &Part, postgres: bool) -> std::result::Result<Word, String> {
    let text = part.pieces.concat();
    let words: Vec<String> = text.split_whitespace().take(4).map(str::to_ascii_uppercase).collect();
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
