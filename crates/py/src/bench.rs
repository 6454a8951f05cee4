//! A workload at one scale on one target: its phases as tasks, its cycles.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use dsbench_core::engine::{Engine, Prepare};
use dsbench_core::error::Error;
use dsbench_core::fill::{self, Turn};
use dsbench_core::stage;
use dsbench_core::threads::{LoadPlan, GIVE_UP_S};
use dsbench_core::workload::{Answer, ClientId, Expected, Part, Population, Progress, StatementName, Workload};
use dsbench_workloads::{default_call, find, open, refuse, Call, Options, Settings};
use pyo3::prelude::*;

use crate::asked;
use crate::cycle::Cycle;
use crate::driver::Driver;
use crate::error::raise;
use crate::load::CycleLoad;
use crate::prepared::Prepared;
use crate::stage::Stage;
use crate::target::Target;
use crate::task::{Job, Task};

fn call_of(name: &str) -> PyResult<Call> {
    match name {
        "procedure" => Ok(Call::Procedure),
        "statements" => Ok(Call::Statements),
        other => Err(raise(Error::configuration(format!("--call {other:?}: use procedure or statements")))),
    }
}

/// A workload bound to a target and a scale.
#[pyclass(frozen, module = "dsbench._core")]
pub struct Bench {
    name: String,
    engine: Arc<dyn Engine>,
    /// Where groups that only read connect.
    reading: Option<Arc<dyn Engine>>,
    workload: Arc<dyn Workload>,
    call: Call,
}

impl Bench {
    /// In a workload that leaves the tables of another one as they were, all groups only read.
    fn stages(&self) -> PyResult<Vec<stage::Stage>> {
        let mut stages = self.workload.stages();
        if !find(&self.name).map_err(raise)?.data.reads.is_empty() {
            stages.iter_mut().flat_map(stage::Stage::groups_mut).for_each(|group| group.reads = true);
        }
        Ok(stages)
    }
}

/// What cycles counted: committed per kind, commits of unknown end per kind, the clients' sums.
type Counted = (Vec<u64>, Vec<u64>, Vec<(String, i64)>);

/// An answer, see `Bench::evidence`.
type Answered = (&'static str, u64, u8, String, Vec<Vec<Option<String>>>, u64, u64, &'static str, &'static str);
type Evidence = (Vec<Answered>, Vec<(u64, bool)>, bool);

type PhaseFn =
    fn(&dyn Workload, &mut dyn dsbench_core::engine::Connection, &Progress) -> dsbench_core::error::Result<()>;

#[pymethods]
impl Bench {
    /// `call` is "procedure", "statements" or None for the engine's default; `settings` are those of this
    /// workload alone, by name; `clients` those that the run asks for, on all nodes; `reading` is where groups that only
    /// read connect.
    #[new]
    #[pyo3(signature = (target, workload, scale, call, settings, clients, reading=None))]
    fn new(
        target: &Target,
        workload: &str,
        scale: u32,
        call: Option<&str>,
        settings: BTreeMap<String, String>,
        clients: u64,
        reading: Option<&Target>,
    ) -> PyResult<Self> {
        let engine = Arc::clone(&target.engine);
        let dialect = engine.dialect();
        let call = match call {
            Some(name) => call_of(name)?,
            None => default_call(workload, dialect),
        };
        let name = workload.to_string();
        let options = Options { scale, dialect, call, clients, settings: Settings::new(settings) };
        let workload = open(workload, &options).map_err(raise)?;
        let reading = reading.map(|target| Arc::clone(&target.engine));
        Ok(Self { name, engine, reading, workload: workload.into(), call })
    }

    /// Fails where a population by procedure, or people at terminals, are wanted and cannot be had.
    fn refuse(&self, by_procedure: bool, paced: bool) -> PyResult<()> {
        refuse(&self.name, self.workload.as_ref(), self.engine.dialect(), by_procedure, paced).map_err(raise)
    }

    /// Kinds of transactions, by number.
    fn kinds(&self) -> Vec<&'static str> {
        self.workload.kinds().to_vec()
    }

    /// Statements whose times can be kept, by number: (number of the kind, line, text).
    fn statements(&self) -> Vec<(usize, usize, String)> {
        let plain = |one: StatementName| (usize::from(one.kind), one.line, one.text);
        self.workload.statements().into_iter().map(plain).collect()
    }

    /// Rows of a full population.
    fn rows(&self) -> u64 {
        self.workload.rows()
    }

    /// How transactions are called: "procedure" or "statements".
    fn call(&self) -> &'static str {
        match self.call {
            Call::Procedure => "procedure",
            Call::Statements => "statements",
        }
    }

    /// Starts one phase: "create", "reset", "primary_key", "foreign_key" or "clean".
    fn phase(&self, name: &str) -> PyResult<Task> {
        let phase: PhaseFn = match name {
            "create" => |workload, connection, _| workload.create(connection),
            "reset" => |workload, connection, progress| workload.reset(connection, progress),
            "primary_key" => |workload, connection, progress| workload.primary_keys(connection, progress),
            "foreign_key" => |workload, connection, progress| workload.foreign_keys(connection, progress),
            "clean" => |workload, connection, progress| workload.clean(connection, progress),
            other => return Err(raise(Error::configuration(format!("no phase {other:?}")))),
        };
        let workload = Arc::clone(&self.workload);
        let job: Job =
            Box::new(move |connection, progress| phase(workload.as_ref(), connection, progress).map(|()| Vec::new()));
        Ok(Task::spawn(&self.engine, Arc::default(), vec![job]))
    }

    /// Whether SQL of the user is in the workload, which `rehearse` tries.
    fn rehearses(&self) -> bool {
        self.workload.rehearses()
    }

    /// Starts to try SQL of the user; `fresh`: on tables that were just created and are dropped afterwards.
    fn rehearse(&self, prepare: bool, fresh: bool) -> Task {
        let workload = Arc::clone(&self.workload);
        let when = if prepare { Prepare::Once } else { Prepare::Never };
        let job: Job = Box::new(move |connection, _| workload.rehearse(connection, when, fresh).map(|()| Vec::new()));
        Task::spawn(&self.engine, Arc::default(), vec![job])
    }

    /// Fails where a database of the smaller scale `there` does not become one of this scale.
    fn grows(&self, there: u32) -> PyResult<()> {
        self.workload.grows(there).map_err(raise)
    }

    /// Starts the population: by bulk load in `parts` parallel parts, or by procedure in one. The part that
    /// ends last settles the rows of all. `there`: the scale of a database that was reset; 0 for none.
    fn populate(&self, by_procedure: bool, parts: u32, there: u32) -> Task {
        let how = if by_procedure { Population::Procedure } else { Population::Bulk };
        let count = if by_procedure { 1 } else { parts.max(1) };
        let progress = Arc::new(Progress::default());
        progress.expect(self.workload.rows());
        // A part that fails is never counted: then there is nothing to settle.
        let left = Arc::new(AtomicU32::new(count));
        let jobs = (0..count).map(|index| -> Job {
            let (workload, left) = (Arc::clone(&self.workload), Arc::clone(&left));
            Box::new(move |connection, progress| {
                match there {
                    0 => workload.populate(connection, how, Part { index, count }, progress)?,
                    _ => workload.grow(connection, there, Part { index, count }, progress)?,
                }
                if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    workload.settle(connection)?;
                }
                Ok(Vec::new())
            })
        });
        Task::spawn(&self.engine, progress, jobs.collect())
    }

    /// Starts the check of the workload's conditions: against what the cycles counted, as (committed
    /// and commits of unknown end per kind, sums by name), or with None within the database alone.
    fn check(&self, counted: Option<Counted>) -> Task {
        let expected = counted.map(|(committed, unknown, sums)| Expected { committed, unknown, sums });
        let workload = Arc::clone(&self.workload);
        let job: Job = Box::new(move |connection, _| workload.check(connection, expected.as_ref()));
        Task::spawn(&self.engine, Arc::default(), vec![job])
    }

    /// Opens a session like those of the load, and prepares the statements of the workload on it.
    fn prepared(&self, py: Python<'_>) -> PyResult<Prepared> {
        py.detach(|| Prepared::open(self.engine.as_ref(), self.workload.as_ref())).map_err(raise)
    }

    /// Whether all clients have to be in this process.
    fn alone(&self) -> bool {
        self.workload.alone()
    }

    /// What the queries answered, where a second engine is to check it: (stage, stream, kind, text, rows, least and most
    /// refreshes seen, why there is no answer, the published one), the refreshes (set, whether it inserted), and whether one is unknown.
    fn evidence(&self) -> Option<Evidence> {
        let plain = |one: Answer| {
            (one.stage, one.stream, one.kind, one.text, one.rows, one.states.0, one.states.1, one.failed, one.published)
        };
        let found = self.workload.evidence()?;
        Some((found.answers.into_iter().map(plain).collect(), found.refreshes, found.unknown))
    }

    /// Writes all tables, and what the refreshes change, into files in `folder`.
    fn export(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        py.detach(|| self.workload.export(&folder)).map_err(raise)
    }

    /// What happens at a scale, one thing after another.
    #[pyo3(name = "stages")]
    fn all_stages(&self) -> PyResult<Vec<Stage>> {
        Ok(self.stages()?.iter().map(Stage::from).collect())
    }

    /// The load of the stage `name` by the options of `spec`, on node number `node` of `nodes`; `terminals` are those of
    /// all of them. `by_time`: every group ends after the duration, whatever the workload says.
    fn fill(
        &self,
        name: &str,
        spec: &Bound<'_, PyAny>,
        node: u64,
        nodes: u64,
        terminals: Option<u64>,
        by_time: bool,
    ) -> PyResult<CycleLoad> {
        let options: fill::Options = asked::read(spec)?;
        let stages = self.stages()?;
        let plans = stages.iter().find(|stage| stage.name == name).map_or(&[][..], stage::Stage::groups);
        let turn = Turn { node, nodes, terminals, by_time };
        options.fill(&turn, name, plans, self.workload.kinds().len()).map(CycleLoad).map_err(raise)
    }

    /// Starts the statements of the stage `name`, on `parts` connections at once.
    fn work(&self, name: String, parts: u32) -> Task {
        let count = parts.max(1);
        let jobs = (0..count).map(|index| -> Job {
            let (workload, name) = (Arc::clone(&self.workload), name.clone());
            Box::new(move |connection, progress| {
                workload.work(&name, connection, Part { index, count }, progress).map(|()| Vec::new())
            })
        });
        Task::spawn(&self.engine, Arc::default(), jobs.collect())
    }

    /// Starts a cycle of this load: its clients connect and then wait for `Cycle.start`. `open` opens sessions of another
    /// client.
    #[pyo3(signature = (load, seed, trace, open=None))]
    fn cycle(&self, load: &CycleLoad, seed: u64, trace: Option<PathBuf>, open: Option<Py<PyAny>>) -> PyResult<Cycle> {
        let load = load.0.clone();
        let own = Arc::clone(&self.engine);
        let plan = LoadPlan {
            engine: match open {
                Some(open) => Arc::new(Driver { own, open }),
                None => own,
            },
            reading: self.reading.clone(),
            workload: Arc::clone(&self.workload),
            groups: load.groups,
            carriers: load.carriers,
            placement: load.placement,
            ramp_up: load.ramp_up,
            seed,
            trace,
            statements: load.statements,
            pauses: load.pauses,
            give_up_s: GIVE_UP_S,
        };
        let remote = find(&self.name).map_err(raise)?.remote.map(|remote| remote.sum);
        Cycle::spawn(&plan, remote).map_err(raise)
    }
}

/// The inputs that `client` draws for transactions `0..count`, as text: to compare two runs.
#[pyfunction]
pub fn draws(bench: &Bench, seed: u64, client: u64, count: u64) -> Vec<String> {
    let mut stream = bench.workload.client(ClientId::alone(client), seed);
    (0..count)
        .map(|number| {
            stream.draw(number);
            stream.describe()
        })
        .collect()
}
