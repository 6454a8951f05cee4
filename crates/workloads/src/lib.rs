//! The workloads of dsbench. Adding one: a folder here, which holds its [`Entry`], and a line in [`REGISTRY`];
//! docs/workloads.md shows an example.
//!
//! A workload owns SQL and random inputs. Its SQL lies in files beside it, one per dialect, cut into
//! named sections: see [`sql`].

use dsbench_core::engine::Dialect;
use dsbench_core::error::{Error, Result};
use dsbench_core::workload::Workload;
use serde::Serialize;

/// The SQL of each dialect, in files beside the module that names them; the mock is sent SQLite's.
macro_rules! sql_files {
    () => {
        sql_files!("postgres" "postgres.sql", "mysql" "mysql.sql", "firebird" "firebird.sql", "sqlite" "sqlite.sql", "mock" "sqlite.sql")
    };
    ($($dialect:literal $file:literal),+) => {
        &[$(($dialect, concat!(include_str!($file), include_str!("shared.sql")))),+]
    };
}

pub use dsbench_core::sql;
pub use entry::Entry;
pub use settings::Settings;
pub use steps::{REPEAT, UNKNOWN_END};

pub mod catalogue;
pub mod ch;
pub mod description;
pub mod entry;
pub mod file;
pub mod insert;
pub mod kind;
pub mod loaded;
pub mod rehearsal;
pub mod script;
pub mod select;
pub mod settings;
pub mod steps;
pub mod tp1;
pub mod tpcb;
pub mod tpcc;
pub mod tpch;

/// How a transaction reaches the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Call {
    /// One call of a stored procedure: one round trip.
    Procedure,
    /// Its statements one by one, between BEGIN and COMMIT when there are several.
    Statements,
}

/// What a workload is opened with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Size of the database, in the sense of TPC-B.
    pub scale: u32,
    /// How the engine speaks SQL.
    pub dialect: &'static Dialect,
    /// How transactions are sent.
    pub call: Call,
    /// Clients that the run asks for, on all nodes together.
    pub clients: u64,
    /// Settings of this workload alone.
    pub settings: Settings,
}

/// All workloads, one line each.
pub static REGISTRY: &[&Entry] = &[
    &tpcb::entry::ENTRY,
    &tpcc::entry::ENTRY,
    &select::entry::ENTRY,
    &insert::entry::ENTRY,
    &tpch::entry::ENTRY,
    &ch::entry::ENTRY,
    &script::entry::ENTRY,
    &file::entry::ENTRY,
    &tp1::entry::TP1,
    &tp1::entry::T1,
    &tp1::entry::T2,
    &rehearsal::entry::ENTRY,
];

/// The names that [`open`] knows.
pub fn names() -> Vec<&'static str> {
    REGISTRY.iter().map(|entry| entry.name).collect()
}

/// How the transactions of a workload are sent when nobody says otherwise. An unknown name is refused
/// by [`open`], not here.
pub fn default_call(name: &str, dialect: &Dialect) -> Call {
    find(name).map_or(Call::Statements, |entry| entry.default_call(dialect))
}

/// Opens a workload. Errors of kind `Configuration`: an unknown name, a scale out of range, a dialect
/// for which the workload has no SQL, procedures where there are none, a setting or a value it does not know.
pub fn open(name: &str, options: &Options) -> Result<Box<dyn Workload>> {
    let entry = find(name)?;
    entry.check(&options.settings)?;
    if options.call == Call::Procedure && !options.dialect.procedures {
        return Err(Error::configuration(format!(
            "--call procedure: {} has no stored procedures",
            options.dialect.name
        ))
        .remedy("use --call statements"));
    }
    (entry.open)(options)
}

/// Whether what is wanted of the opened `workload` can be had, so that it shows before anything is made.
/// Errors of kind `Configuration`: a population by procedure (`by_procedure`) where engine or workload have none,
/// people at terminals (`paced`) where the workload says nothing about their pace.
pub fn refuse(name: &str, workload: &dyn Workload, dialect: &Dialect, by_procedure: bool, paced: bool) -> Result<()> {
    let without = match find(name)?.data.fills_by_procedure {
        false => Some(format!("the workload {name} has no procedure for it")),
        true if !dialect.procedures => Some(format!("{} has no stored procedures", dialect.name)),
        true => None,
    };
    match without {
        Some(why) if by_procedure => {
            Err(Error::configuration(format!("--population procedure: {why}")).remedy("use --population bulk"))
        }
        _ if paced && workload.pace(0).is_none() => {
            Err(Error::configuration(format!("--pace terminals: the workload {name} has no keying and thinking times"))
                .remedy("use --pace none"))
        }
        _ => Ok(()),
    }
}

/// What a workload says of itself. An error of kind `Configuration` for an unknown name.
pub fn find(name: &str) -> Result<&'static Entry> {
    REGISTRY.iter().copied().find(|entry| entry.name == name).ok_or_else(|| {
        Error::configuration(format!("no workload {name:?}")).remedy(format!("use one of {}", names().join(", ")))
    })
}
