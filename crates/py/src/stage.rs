//! The stages of a workload, as Python has them.

use dsbench_core::stage::{self, GroupPlan, Until, Whose, Work};
use pyo3::prelude::*;

/// A stretch of a run on one database.
#[pyclass(frozen, eq, hash, get_all, module = "dsbench._core")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Stage {
    name: String,
    /// build, load, work, check or drop.
    work: &'static str,
    /// Connections of a work stage.
    parts: u32,
    /// Whether the load is repeated: as many cycles, at as many numbers of clients, as the run asks for.
    repeated: bool,
    /// Whether the database is cleaned before each cycle.
    cleaned: bool,
    /// Of each group, on all nodes together; `None`: as many as the run has threads, on each node.
    clients: Vec<Option<u64>>,
    /// Whether every group ends by time.
    timed: bool,
    /// Of a cycle that takes a fixed number of them, an even share by each client.
    transactions: Option<u64>,
    /// How many the workload itself asks for; 0 where it leaves them to the run.
    cycles: u64,
    /// Before the first of each so many cycles the server is restarted, and its files leave the page cache.
    cold_each: u64,
    /// Whether some of its groups only read.
    reads: bool,
}

#[pymethods]
impl Stage {
    /// The same, whose database is left as it is.
    fn uncleaned(&self) -> Self {
        Self { cleaned: false, ..self.clone() }
    }
}

impl From<&stage::Stage> for Stage {
    fn from(stage: &stage::Stage) -> Self {
        let (work, parts, repeated, cleaned) = match &stage.work {
            Work::Build => ("build", 0, false, false),
            Work::Load { repeated, cleaned, .. } => ("load", 0, *repeated, *cleaned),
            Work::Cold { .. } => ("load", 0, false, false),
            Work::Statements { parts } => ("work", *parts, false, false),
            Work::Check => ("check", 0, false, false),
            Work::Drop => ("drop", 0, false, false),
        };
        let (cycles, cold_each) = match stage.work {
            Work::Cold { cycles, each, .. } => (cycles, each),
            _ => (0, 0),
        };
        let groups = stage.groups();
        let fixed = |group: &GroupPlan| match group.until {
            Some(Until::Count { count, of: Whose::Share, .. }) => Some(count),
            _ => None,
        };
        Self {
            name: stage.name.clone(),
            work,
            parts,
            repeated,
            cleaned,
            clients: groups.iter().map(|group| group.clients).collect(),
            timed: groups.iter().all(|group| matches!(group.until, None | Some(Until::Time(_)))),
            transactions: groups.iter().find_map(fixed),
            cycles,
            cold_each,
            reads: groups.iter().any(|group| group.reads),
        }
    }
}
