//! What the places of all engines have in common.

use std::collections::HashSet;

use dsbench_core::engine::{Connection, Engine, Isolation, PlaceState, Session};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::Table;

/// What making a place is called in errors.
pub(crate) const CREATE: &str = "create the place";
/// What marking a place anew is called in errors.
pub(crate) const REMARK: &str = "mark the place anew";
/// What dropping a place is called in errors.
pub(crate) const DROP: &str = "drop the place";

/// A session that does not need the place.
pub(crate) const ADMINISTRATION: Session = Session { isolation: Isolation::ReadCommitted, in_place: false };

/// Opens a session for work on the place.
pub(crate) fn administer(engine: &dyn Engine) -> Result<Box<dyn Connection>> {
    let mut connection = engine.connect(ADMINISTRATION)?;
    connection.lift_timeouts()?;
    Ok(connection)
}

/// An error of kind `Setup`.
pub(crate) fn refuse(context: &'static str, message: String) -> Error {
    Error::with(ErrorKind::Setup, context, message)
}

/// Makes sure that nothing stands where the place `name` shall be made; `instead` is what the user can do otherwise.
pub(crate) fn vacant(state: PlaceState, name: impl std::fmt::Display, instead: &'static str) -> Result<()> {
    match state {
        PlaceState::Absent => Ok(()),
        PlaceState::Marked(mark) => {
            Err(refuse(CREATE, format!("{name} is dsbench's already, marked {mark:?}")).remedy("drop it first"))
        }
        PlaceState::Foreign(what) => Err(refuse(CREATE, what).remedy(instead)),
    }
}

/// Whether there is a place to drop. What dsbench has not made is an error.
pub(crate) fn ours(state: PlaceState) -> Result<bool> {
    match state {
        PlaceState::Absent => Ok(false),
        PlaceState::Marked(_) => Ok(true),
        PlaceState::Foreign(what) => {
            Err(refuse(DROP, format!("{what}, and dsbench drops only what it has made")).remedy("drop it by hand"))
        }
    }
}

/// The table in which the stock is noted. What begins with `dsbench_` is dsbench's whenever it came.
pub(crate) const MADE: &str = "dsbench_made";
/// Names of strangers that an error tells.
const TOLD: usize = 10;

/// What of `there` is not of the stock that was taken. A stock has a line at least: its own table.
pub(crate) fn strange(there: Table, made: Table) -> Vec<String> {
    let made: HashSet<String> = first_cells(made).collect();
    match made.is_empty() {
        true => Vec::new(),
        false => first_cells(there).filter(|name| !made.contains(name)).collect(),
    }
}

/// The first cell of each row that has one.
pub(crate) fn first_cells(table: Table) -> impl Iterator<Item = String> {
    table.rows.into_iter().filter_map(|row| row.into_iter().next().flatten())
}

/// Makes sure that only what dsbench has made goes with the place.
pub(crate) fn alone(place: impl std::fmt::Display, strangers: &[String]) -> Result<()> {
    if strangers.is_empty() {
        return Ok(());
    }
    let more = match strangers.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names = strangers[..strangers.len().min(TOLD)].join(", ");
    let what = format!("{place} cannot be dropped without what dsbench did not make: {names}{more}");
    Err(refuse(DROP, what).remedy("move it or drop it yourself, and repeat"))
}

/// Makes sure that the place carries a mark in whose place another one may come.
pub(crate) fn marked(state: PlaceState) -> Result<()> {
    match state {
        PlaceState::Marked(_) => Ok(()),
        PlaceState::Absent => Err(refuse(REMARK, "nothing of dsbench's is there".into())),
        PlaceState::Foreign(what) => Err(refuse(REMARK, what)),
    }
}

/// An error of a statement that sets the place up is one of kind `Setup`; a lost connection stays one.
pub(crate) fn set_up(error: Error) -> Error {
    match error.kind {
        ErrorKind::Configuration | ErrorKind::Disconnected | ErrorKind::Unknown => error,
        _ => Error { kind: ErrorKind::Setup, ..error },
    }
}

/// The one number of a server's answer about the size of a place; none where it has none, or cannot be asked.
pub(crate) fn size(answer: Result<Table>) -> Result<Option<u64>> {
    match answer {
        Ok(table) => Ok(table.rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok())),
        // What another version or product has not, a right that the user has not.
        Err(error) if matches!(error.kind, ErrorKind::Syntax | ErrorKind::Setup | ErrorKind::Statement) => Ok(None),
        Err(error) => Err(error),
    }
}
