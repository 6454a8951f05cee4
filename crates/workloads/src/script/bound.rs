//! What the database says of the statements of scripts: types of parameters, columns of results.

use std::sync::Arc;

use dsbench_core::engine::{Connection, Wanted};
use dsbench_core::error::{Error, Result};
use dsbench_core::locking::lock;
use dsbench_core::value::Type;
use dsbench_script::{Action, Kinds, Part, Slot, Store};

use super::plan::{word_of, Plan, Word};

/// First words of statements after which others may work on what they made.
const MAKING: [&str; 3] = ["CREATE", "ALTER", "DROP"];

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
        Ok(Arc::clone(lock(&self.bound).get_or_insert(all.into())))
    }

    /// The statements with what the database says of them, where variables may have the types `kinds`; `storing`: only
    /// of those whose results are kept.
    fn described(&self, conn: &mut dyn Connection, kinds: &[Kinds], storing: bool) -> Result<Vec<Bound>> {
        let mut all = Vec::new();
        for script in &self.scripts.scripts {
            // What a script makes itself is not there yet, and what works on it cannot be described.
            let mut makes = false;
            for command in &script.commands {
                let Action::Sql(parts, store) = &command.action else { continue };
                for (number, part) in parts.iter().enumerate() {
                    let stored = store.as_ref().filter(|store| store.all || number + 1 == parts.len());
                    let mut bound = self.bound_by_types(part, &format!("{}:{}", script.name, part.line), kinds);
                    makes |= MAKING.iter().any(|word| bound.sql.to_ascii_uppercase().starts_with(word));
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

impl Bound {
    /// One that only has parameters.
    #[cfg(test)]
    pub(super) fn giving(slots: Vec<Slot>, params: Vec<Type>) -> Self {
        let (place, sql, lettered) = (String::new(), String::new(), params.contains(&Type::Text));
        Self { place, word: Word::Plain, sql, slots, params, lettered, columns: Vec::new(), into: Vec::new() }
    }

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
