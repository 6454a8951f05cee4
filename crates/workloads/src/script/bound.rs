//! What the database says of the statements of scripts: types of parameters, columns of results.

use std::sync::Arc;

use dsbench_core::engine::{Connection, Prepare, Wanted};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;
use dsbench_core::value::Type;
use dsbench_script::{Action, Kinds, Memory, Part, Slot, Store, Value as Held};

use super::answers::is_name;
use super::plan::{refuse_quoted, word_of, Plan, Word};

/// First words of statements after which others may work on what they made.
const MAKING: [&str; 9] = ["CREATE", "ALTER", "DROP", "SET", "RESET", "DO", "CALL", "IMPORT", "EXECUTE"];

/// Codes of PostgreSQL for what is wrong whatever the values are: syntax, and names of columns, tables, functions and types.
const ALWAYS: [&str; 5] = ["42601", "42703", "42P01", "42883", "42704"];
const SYNTAX: &str = "42601";

/// A statement with what the database has said of it.
#[derive(Debug)]
pub(crate) struct Bound {
    /// File and line.
    place: String,
    pub(super) word: Word,
    pub(super) sql: String,
    pub(super) slots: Vec<Slot>,
    pub(super) params: Vec<Type>,
    /// Whether a parameter is text: its letters need room.
    pub(super) lettered: bool,
    /// Where the columns of its result go; empty where they are dropped.
    pub(super) columns: Vec<Type>,
    pub(super) into: Vec<Option<Slot>>,
}

impl Plan {
    /// The statements of all scripts, in order, as the database of `conn` describes them. Whoever comes before the first
    /// answer asks, too: a client that shares its thread with others may not wait for them.
    pub(super) fn bound(&self, conn: &mut dyn Connection) -> Result<Arc<[Bound]>> {
        if let Some(bound) = &*lock(&self.bound) {
            return Ok(Arc::clone(bound));
        }
        // What results give says what the variables are that they go into, and so how all statements get them.
        let storing = self.described(conn, &self.scripts.kinds(), true)?;
        let results = storing.iter().flat_map(|bound| bound.into.iter().zip(&bound.columns));
        let results: Vec<_> = results.filter_map(|(slot, kind)| Some(((*slot)?, kinds_of(*kind)))).collect();
        let all = self.described(conn, &self.scripts.kinds_with(&results), false)?;
        let set = |slot| self.scripts.sets(slot) || results.iter().any(|(result, _)| *result == slot);
        for script in self.scripts.scripts.iter().filter(|_| !self.played) {
            script.statements().try_for_each(|part| refuse_quoted(&self.scripts, &script.name, part, &set))?;
        }
        Ok(Arc::clone(lock(&self.bound).get_or_insert(all.into())))
    }

    /// The statements with what the database says of them, where variables may have the types `kinds`; `storing`: only
    /// of those whose results are kept.
    fn described(&self, conn: &mut dyn Connection, kinds: &[Kinds], storing: bool) -> Result<Vec<Bound>> {
        let mut all = Vec::new();
        for script in &self.scripts.scripts {
            // What a script makes itself is not there yet, and what works on it cannot be described.
            let (mut makes, mut piped) = (false, false);
            for command in &script.commands {
                piped = (piped || command.action == Action::StartPipeline) && command.action != Action::EndPipeline;
                let Action::Sql(parts, store) = &command.action else { continue };
                for (number, part) in parts.iter().enumerate() {
                    let part = &part.without_quoted(self.scripts.names());
                    // Within a pipeline it is refused when the client comes to it.
                    let stored = store.as_ref().filter(|store| (store.all || number + 1 == parts.len()) && !piped);
                    let mut bound = self.bound_by_types(part, &format!("{}:{}", script.name, part.line), kinds);
                    makes |= makes_something(&bound.sql);
                    if matches!(bound.word, Word::Plain | Word::Opens) && (stored.is_some() || !(makes || storing)) {
                        let described = self.describe(conn, part, stored, &mut bound);
                        described.map_err(|error| bound.placed(error))?;
                    }
                    bound.lettered = bound.params.contains(&Type::Text);
                    all.push(bound);
                }
            }
        }
        Ok(all)
    }

    /// Tries what a client would prepare, before there is any load; of statements that are sent as text the server is
    /// asked what it thinks of them with values of the first transaction. Errors with file and line.
    pub(crate) fn rehearse(&self, conn: &mut dyn Connection, when: Prepare, memory: &mut Memory) -> Result<()> {
        if self.played {
            return Ok(());
        }
        if !self.sends_text(conn, when) {
            return self.bound(conn).map(|_| ());
        }
        self.refuse_pipelines()?;
        let makes = self
            .scripts
            .scripts
            .iter()
            .flat_map(|script| script.statements())
            .any(|part| makes_something(&part.sql(|_| String::new())));
        // Variables of which nothing is known but that a result goes into them.
        let mut unknown: Vec<Slot> = Vec::new();
        for script in &self.scripts.scripts {
            for command in &script.commands {
                match &command.action {
                    // What fails here fails in the load as well, or is never come upon.
                    Action::Set(slot, program) => {
                        if let Ok(value) = program.evaluate(memory, &mut |_| {}) {
                            memory.set(*slot, value);
                        }
                    }
                    Action::Sql(parts, store) => {
                        for (number, part) in parts.iter().enumerate() {
                            if word_of(part, true) != Ok(Word::Plain) {
                                continue;
                            }
                            let stored = store.as_ref().filter(|store| store.all || number + 1 == parts.len());
                            let found = self.try_text(conn, part, stored, memory, &mut unknown);
                            let sure =
                                !part.slots.iter().any(|slot| unknown.contains(slot) || memory.text(*slot).is_none());
                            found.or_else(|error| {
                                let code = error.code.as_str();
                                let wrong = error.kind == ErrorKind::Configuration
                                    || (sure && if makes { code == SYNTAX } else { ALWAYS.contains(&code) });
                                let place = format!("{}:{}", script.name, part.line);
                                if wrong {
                                    Err(placed(&place, error))
                                } else {
                                    Ok(())
                                }
                            })?;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Asks the server about one statement with values in it, and gives variables that its result goes into some.
    fn try_text(
        &self,
        conn: &mut dyn Connection,
        part: &Part,
        store: Option<&Store>,
        memory: &mut Memory,
        unknown: &mut Vec<Slot>,
    ) -> Result<()> {
        let mut text = Vec::new();
        part.write(self.scripts.names(), memory, &mut text);
        let described = conn.describe(&String::from_utf8_lossy(&text));
        let Some(store) = store else { return described.map(|_| ()) };
        let columns = match described {
            Ok(described) => described.columns,
            Err(error) => {
                unknown.extend(self.scripts.results(&store.prefix));
                return Err(error);
            }
        };
        for (column, kind) in &columns {
            if !is_name(&store.prefix, column) {
                return Err(no_name(&store.prefix, column));
            }
            let of_column = |name: &String| name.strip_prefix(&store.prefix) == Some(column.as_str());
            let Some(slot) = self.scripts.names().iter().position(of_column) else { continue };
            let slot = slot as Slot;
            match kind {
                Some(Type::Int64) => memory.set(slot, Held::Int(1)),
                Some(Type::Float64) => memory.set(slot, Held::Double(1.5)),
                _ => unknown.push(slot),
            }
        }
        Ok(())
    }

    /// A statement whose parameters have the types of its variables.
    fn bound_by_types(&self, part: &Part, place: &str, kinds: &[Kinds]) -> Bound {
        Bound {
            place: place.into(),
            word: word_of(part, self.numbered).unwrap_or(Word::Plain),
            sql: part.sql(|number| self.mark(number)),
            slots: part.slots.clone(),
            params: part.slots.iter().map(|slot| type_of(kinds[usize::from(*slot)])).collect(),
            lettered: false,
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
        if columns.is_empty() && self.played {
            bound.into = self.scripts.results(&store.prefix).map(Some).collect();
            bound.columns = vec![Type::Int64; bound.into.len()];
            return Ok(());
        }
        if columns.is_empty() {
            return Err(Error::configuration("\\gset: expected one row, but the statement gives none"));
        }
        for (column, kind) in columns {
            let name = format!("{}{column}", store.prefix);
            if !is_name(&store.prefix, column) {
                return Err(no_name(&store.prefix, column));
            }
            let Some(kind) = kind else {
                let words = format!("\\gset: column {column} has a type that is not read");
                return Err(Error::configuration(words).remedy("cast it to an integer, a double or a text"));
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

impl Bound {
    /// One that only has parameters.
    #[cfg(test)]
    pub(super) fn giving(slots: Vec<Slot>, params: Vec<Type>) -> Self {
        let (place, sql, lettered) = (String::new(), String::new(), params.contains(&Type::Text));
        Self { place, word: Word::Plain, sql, slots, params, lettered, columns: Vec::new(), into: Vec::new() }
    }

    /// An error of the database with file and line of the statement.
    pub(super) fn placed(&self, error: Error) -> Error {
        placed(&self.place, error)
    }
}

/// An error of what the user wrote at `place`, which is file and line.
pub(super) fn placed(place: &str, error: Error) -> Error {
    let said = error.message.as_deref().unwrap_or(error.kind.name());
    let words = format!("{place}: {said}");
    error.wrapped("", words).by_user()
}

fn no_name(prefix: &str, column: &str) -> Error {
    Error::configuration(format!("error storing into variable {prefix}{column}: name the column by AS"))
}

/// Whether others may work on what a statement made, or find their tables by what it says.
fn makes_something(sql: &str) -> bool {
    let sql = sql.to_ascii_uppercase();
    let made = sql.starts_with("SELECT") && (sql.contains(" INTO ") || sql.contains("SET_CONFIG"));
    made || MAKING.iter().any(|word| sql.split(|c: char| !c.is_ascii_alphabetic()).next() == Some(word))
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

/// What a variable may be that a column of a result goes into.
fn kinds_of(column: Type) -> Kinds {
    let of_value = match column {
        Type::Text => Kinds::TEXT,
        Type::Float64 => Kinds::DOUBLE,
        _ => Kinds::INT,
    };
    of_value.or(Kinds::NULL)
}

/// PostgreSQL's name of a type that variables have.
fn name_of(kind: Type) -> &'static str {
    match kind {
        Type::Int64 => "bigint",
        Type::Float64 => "double precision",
        _ => "text",
    }
}
