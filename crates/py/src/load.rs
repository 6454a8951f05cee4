//! What makes the load of a cycle, as Python has it: see `fill.rs` of the core.

use dsbench_core::error::Error;
use dsbench_core::fill::{Demand, Load};
use dsbench_core::stage::{Pacing, Until};
use dsbench_core::threads;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raise;

/// The load of one cycle on one node.
#[pyclass(frozen, module = "dsbench._core")]
pub struct CycleLoad(pub Load);

#[pymethods]
impl CycleLoad {
    /// One that came from another process, as `__getnewargs__` gave it.
    #[new]
    fn new(data: &[u8]) -> PyResult<Self> {
        serde_json::from_slice(data).map(Self).map_err(not_understood)
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>,)> {
        Ok((PyBytes::new(py, &serde_json::to_vec(&self.0).map_err(not_understood)?),))
    }

    /// Its groups, in the words of the table `groups`.
    #[getter]
    fn groups(&self) -> Vec<Group> {
        let Load { groups, demands, .. } = &self.0;
        let name_of = |number: usize| groups.get(number).map_or("", |led| &led.name);
        groups.iter().zip(demands).map(|(group, demand)| Group::new(group, demand, name_of)).collect()
    }

    /// Clients of all groups.
    #[getter]
    fn clients(&self) -> usize {
        self.0.threads()
    }

    /// Connections of each client.
    #[getter]
    fn connections(&self) -> usize {
        self.0.connections()
    }

    /// Load before the clock starts.
    #[getter]
    fn ramp_up_ns(&self) -> u64 {
        self.0.ramp_up
    }

    /// Demanded; `None` where a count decides.
    #[getter]
    fn duration_ns(&self) -> Option<u64> {
        self.0.duration()
    }

    /// The same load, divided among processes: see `Load::divide`.
    fn divide(&self, cpus: usize) -> Vec<Self> {
        self.0.divide(cpus).into_iter().map(Self).collect()
    }
}

/// Clients of a load that do the same, in the words of the table `groups`.
#[pyclass(frozen, get_all, module = "dsbench._core")]
pub struct Group {
    name: String,
    /// Numbers of the kinds of transactions that they run.
    kinds: Vec<u16>,
    /// Of this node: none where the group has fewer clients than there are nodes.
    clients: usize,
    /// Of all nodes; with terminals, these.
    all_clients: u64,
    /// closed, constant, poisson, terminals or in-step.
    pacing: &'static str,
    /// Demanded starts per second of all clients together.
    rate_per_s: Option<f64>,
    rows_per_s: Option<f64>,
    /// time, transactions, attempts, rows or group.
    until: &'static str,
    /// Of all nodes together, unless each client has a count of its own.
    until_count: Option<u64>,
    /// Whose count it is: each, all or share; the group that is followed; empty for a time.
    until_of: String,
    /// Demanded, where time is the end.
    duration_ns: Option<u64>,
}

impl Group {
    fn new<'a>(group: &threads::Group, demand: &Demand, name_of: impl Fn(usize) -> &'a str) -> Self {
        let (until, until_count, until_of, duration_ns) = match demand.until {
            Until::Time(duration) => ("time", None, "", Some(duration)),
            Until::Count { counted, count, of } => (counted.word(), Some(count), of.word(), None),
            Until::Group(number) => ("group", None, name_of(number), None),
        };
        Self {
            name: group.name.clone(),
            kinds: demand.kinds.iter().copied().map(u16::from).collect(),
            clients: group.threads,
            all_clients: group.clients,
            pacing: match group.pacing {
                Pacing::Closed => "closed",
                Pacing::Constant(..) => "constant",
                Pacing::Poisson(..) => "poisson",
                Pacing::Terminals(_) => "terminals",
                Pacing::InStep(_) => "in-step",
            },
            rate_per_s: demand.rate_per_s,
            rows_per_s: demand.rows_per_s,
            until,
            until_count,
            until_of: until_of.into(),
            duration_ns,
        }
    }
}

fn not_understood(error: serde_json::Error) -> PyErr {
    raise(Error::configuration(format!("load of another process: {error}")))
}
