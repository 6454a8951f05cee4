//! The stages of a workload and the filled-in plan of each, as JSON.

use dsbench_core::error::Error;
use dsbench_core::fill::{Load, Options};
use dsbench_core::stage::{GroupPlan, Stage, Until, Whose, Work};
use dsbench_core::workload::Workload;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::raise;

/// What Python reads of a stage: `Stage` in measure/loaders/stages.py.
#[derive(Serialize)]
struct Record<'a> {
    name: &'a str,
    work: &'static str,
    parts: u32,
    repeated: bool,
    cleaned: bool,
    clients: Vec<Option<u64>>,
    timed: bool,
    transactions: Option<u64>,
    cycles: u64,
    cold_each: u64,
}

impl<'a> Record<'a> {
    fn new(stage: &'a Stage) -> Self {
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
        let groups = groups_of(stage);
        let fixed = |group: &GroupPlan| match group.until {
            Some(Until::Count { count, of: Whose::Share, .. }) => Some(count),
            _ => None,
        };
        Self {
            name: &stage.name,
            work,
            parts,
            repeated,
            cleaned,
            clients: groups.iter().map(|group| group.clients).collect(),
            timed: groups.iter().all(|group| matches!(group.until, None | Some(Until::Time(_)))),
            transactions: groups.iter().find_map(fixed),
            cycles,
            cold_each,
        }
    }
}

fn groups_of(stage: &Stage) -> &[GroupPlan] {
    match &stage.work {
        Work::Load { groups, .. } | Work::Cold { groups, .. } => groups,
        _ => &[],
    }
}

/// A filled-in plan that comes back.
#[derive(Serialize, Deserialize)]
struct Plan {
    load: Load,
}

/// The stages of a workload.
pub fn stages(workload: &dyn Workload) -> PyResult<String> {
    let stages = workload.stages();
    write(&stages.iter().map(Record::new).collect::<Vec<_>>())
}

/// The plan of the load stage `name`, filled in with `options`.
pub fn fill(workload: &dyn Workload, name: &str, options: &str) -> PyResult<String> {
    let options: Options = read(options)?;
    let stages = workload.stages();
    let found = stages.iter().find(|stage| stage.name == name).map_or(&[][..], groups_of);
    write(&options.fill(name, found, workload.kinds().len()).map_err(raise)?)
}

/// The load of a filled-in plan.
pub fn load(plan: &str) -> PyResult<Load> {
    Ok(read::<Plan>(plan)?.load)
}

/// A filled-in plan divided among processes, see `Load::divide`: (plan, threads) of each.
#[pyfunction]
pub fn divide(plan: &str, cpus: usize) -> PyResult<Vec<(String, usize)>> {
    let plan_of = |load: Load| {
        let threads = load.threads();
        Ok((write(&Plan { load })?, threads))
    };
    load(plan)?.divide(cpus).into_iter().map(plan_of).collect()
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> PyResult<T> {
    serde_json::from_str(text).map_err(not_understood)
}

fn write(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(not_understood)
}

fn not_understood(error: serde_json::Error) -> PyErr {
    raise(Error::configuration(format!("plan of a load: {error}")))
}
