//! Stages and groups as Python sees them: what a workload wants, and what a run makes of it.

use dsbench_core::engine::{Isolation, Prepare, Session};
use dsbench_core::error::Error;
use dsbench_core::generator::Conduct;
use dsbench_core::stage::{Counted, GroupPlan, Pacing, Until, Whose, Work};
use dsbench_core::threads::Group;
use dsbench_core::workload::Workload;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;

/// (kind, starts per second or number of terminals or of the other group, "each" or "all").
type PacingWords = (&'static str, f64, &'static str);

/// (kind, ns or count or number of the other group, "each" or "all").
type UntilWords = (&'static str, u64, &'static str);

fn whose(of: Whose) -> &'static str {
    match of {
        Whose::Each => "each",
        Whose::All => "all",
        Whose::Share => "share",
    }
}

fn pacing_words(pacing: Pacing) -> PacingWords {
    match pacing {
        Pacing::Closed => ("closed", 0.0, "all"),
        Pacing::Constant(rate, of) => ("constant", rate, whose(of)),
        Pacing::Poisson(rate, of) => ("poisson", rate, whose(of)),
        Pacing::Terminals(count) => ("terminals", count as f64, "all"),
        Pacing::InStep(group) => ("in-step", group as f64, "all"),
    }
}

fn until_words(until: Until) -> UntilWords {
    match until {
        Until::Time(duration) => ("time", duration, "all"),
        Until::Count { counted: Counted::Transactions, count, of } => ("transactions", count, whose(of)),
        Until::Count { counted: Counted::Rows, count, of } => ("rows", count, whose(of)),
        Until::Group(number) => ("group", number as u64, "all"),
    }
}

/// The stages of a workload as dictionaries: name, work ("build", "load", "work", "check" or "drop"), parts,
/// repeated, cleaned and groups. What a group leaves to the run is `None`.
pub fn stages<'py>(py: Python<'py>, workload: &dyn Workload) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let describe = |stage: dsbench_core::stage::Stage| {
        let none: &[GroupPlan] = &[];
        let (work, parts, groups, repeated, cleaned) = match &stage.work {
            Work::Build => ("build", 0, none, false, false),
            Work::Load { groups, repeated, cleaned } => ("load", 0, groups.as_slice(), *repeated, *cleaned),
            Work::Statements { parts } => ("work", *parts, none, false, false),
            Work::Check => ("check", 0, none, false, false),
            Work::Drop => ("drop", 0, none, false, false),
        };
        let dict = PyDict::new(py);
        dict.set_item("name", stage.name.as_str())?;
        dict.set_item("work", work)?;
        dict.set_item("parts", parts)?;
        dict.set_item("repeated", repeated)?;
        dict.set_item("cleaned", cleaned)?;
        let kinds = workload.kinds().len();
        dict.set_item("groups", groups.iter().map(|g| group_dict(py, g, kinds)).collect::<PyResult<Vec<_>>>()?)?;
        Ok(dict)
    };
    workload.stages().into_iter().map(describe).collect()
}

fn group_dict<'py>(py: Python<'py>, group: &GroupPlan, kinds: usize) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let all = (0..kinds).map(|kind| kind as u8).collect::<Vec<_>>();
    let of_group = if group.kinds.is_empty() { &all } else { &group.kinds };
    dict.set_item("name", group.name.as_str())?;
    dict.set_item("role", group.role)?;
    dict.set_item("kinds", of_group.iter().map(|kind| usize::from(*kind)).collect::<Vec<_>>())?;
    dict.set_item("clients", group.clients)?;
    dict.set_item("pacing", group.pacing.map(pacing_words))?;
    dict.set_item("until", group.until.map(until_words))?;
    dict.set_item("rows", group.rows)?;
    Ok(dict)
}

/// A group of a cycle as a run asks for it, on this node.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct GroupOptions {
    name: String,
    role: u8,
    threads: usize,
    first_client: u64,
    clients: u64,
    pacing: (String, f64, String),
    until: (String, u64, String),
    connections: usize,
    patience_ns: u64,
    isolation: String,
    prepare: bool,
    tries: u32,
    reconnect: bool,
    exit_on_abort: bool,
}

/// The group that `options` describe. Errors of kind "configuration" for words that mean nothing.
pub fn group_of(options: &GroupOptions) -> PyResult<Group> {
    Ok(Group {
        name: options.name.clone(),
        role: options.role,
        conduct: Conduct {
            session: Session { isolation: isolation_of(&options.isolation)?, in_place: true },
            prepare: if options.prepare { Prepare::Once } else { Prepare::Never },
            connections: options.connections,
            tries: options.tries,
            reconnect: options.reconnect,
            patience: options.patience_ns,
            exit_on_abort: options.exit_on_abort,
        },
        threads: options.threads,
        first_client: options.first_client,
        clients: options.clients,
        pacing: pacing_of(&options.pacing)?,
        until: until_of(&options.until)?,
    })
}

fn unknown(what: &str, word: &str) -> PyErr {
    raise(Error::configuration(format!("no {what} is called {word:?}")))
}

fn whose_of(word: &str) -> PyResult<Whose> {
    match word {
        "each" => Ok(Whose::Each),
        "all" => Ok(Whose::All),
        "share" => Ok(Whose::Share),
        other => Err(unknown("share", other)),
    }
}

fn pacing_of((kind, rate, of): &(String, f64, String)) -> PyResult<Pacing> {
    match kind.as_str() {
        "closed" => Ok(Pacing::Closed),
        "constant" => Ok(Pacing::Constant(*rate, whose_of(of)?)),
        "poisson" => Ok(Pacing::Poisson(*rate, whose_of(of)?)),
        "terminals" => Ok(Pacing::Terminals(*rate as u64)),
        "in-step" => Ok(Pacing::InStep(*rate as usize)),
        other => Err(unknown("pacing", other)),
    }
}

fn until_of((kind, count, of): &(String, u64, String)) -> PyResult<Until> {
    let counted = match kind.as_str() {
        "time" => return Ok(Until::Time(*count)),
        "group" => return Ok(Until::Group(*count as usize)),
        "transactions" => Counted::Transactions,
        "rows" => Counted::Rows,
        other => return Err(unknown("end", other)),
    };
    Ok(Until::Count { counted, count: *count, of: whose_of(of)? })
}

fn isolation_of(name: &str) -> PyResult<Isolation> {
    match name {
        "read-committed" => Ok(Isolation::ReadCommitted),
        "repeatable-read" => Ok(Isolation::RepeatableRead),
        "serializable" => Ok(Isolation::Serializable),
        other => {
            let words = format!("--isolation {other:?}: use read-committed, repeatable-read or serializable");
            Err(raise(Error::configuration(words)))
        }
    }
}
