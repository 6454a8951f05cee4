//! What the tests of all engines share: building a bank, running clients by hand and by the loop.

use std::collections::BTreeMap;
use std::sync::Arc;

use dsbench_core::clock::{Monotonic, Nanos};
use dsbench_core::engine::{Connection, Engine, Isolation, Prepare, Session};
use dsbench_core::error::Result;
use dsbench_core::generator::Conduct;
use dsbench_core::patience::LONGEST_PAUSE;
use dsbench_core::placement::Placement;
use dsbench_core::threads::{Cycle, CycleOutcome, Group, LoadPlan, Pacing, Until, GIVE_UP_S};
use dsbench_core::workload::{ClientId, End, Expected, Part, Population, Progress, Shape, State, Workload};
use dsbench_workloads::{Call, Options, Settings};

/// A session of load.
pub const LOAD: Session = Session { isolation: Isolation::RepeatableRead, in_place: true };

/// Settings by their names.
type Given<'a> = &'a [(&'a str, &'a str)];

/// What a workload is opened with by two clients.
pub fn options(engine: &dyn Engine, call: Call, scale: u32, settings: Given<'_>) -> Options {
    let settings = Settings::new(settings.iter().map(|(name, value)| (name.to_string(), value.to_string())));
    Options { scale, dialect: engine.dialect(), call, clients: 2, settings }
}

/// Opens a workload for an engine.
pub fn open(engine: &dyn Engine, name: &str, call: Call, scale: u32) -> Box<dyn Workload> {
    open_with(engine, name, call, scale, &[])
}

/// Opens a workload with settings of its own.
pub fn open_with(engine: &dyn Engine, name: &str, call: Call, scale: u32, settings: Given<'_>) -> Box<dyn Workload> {
    dsbench_workloads::open(name, &options(engine, call, scale, settings)).unwrap()
}

/// Opens a workload on a bank with a tenth of the accounts, where checks are run again and again: by a setting that the
/// entry does not name and [`dsbench_workloads::open`] refuses.
pub fn open_few(engine: &dyn Engine, name: &str, call: Call, scale: u32, settings: Given<'_>) -> Box<dyn Workload> {
    let settings = [settings, &[("accounts", "10000")]].concat();
    (dsbench_workloads::find(name).unwrap().open)(&options(engine, call, scale, &settings)).unwrap()
}

/// The one cell of an administrative query.
pub fn cell(conn: &mut dyn Connection, sql: &str) -> String {
    conn.fetch(sql).unwrap().rows[0][0].clone().unwrap().trim().to_string()
}

/// Creates the place and runs every step up to the first cycle; bulk parts run side by side.
pub fn build(engine: &dyn Engine, workload: &dyn Workload, how: Population, parts: u32) -> Box<dyn Connection> {
    engine.place().drop().unwrap();
    engine.place().create("test").unwrap();
    let mut conn = engine.connect(LOAD).unwrap();
    workload.create(&mut *conn).unwrap();
    let progress = Progress::default();
    std::thread::scope(|scope| {
        for index in 0..parts {
            let mut conn = engine.connect(LOAD).unwrap();
            let (part, progress) = (Part { index, count: parts }, &progress);
            scope.spawn(move || workload.populate(&mut *conn, how, part, progress).unwrap());
        }
    });
    assert_eq!(progress.read(), (workload.rows(), workload.rows()));
    workload.settle(&mut *conn).unwrap();
    for step in [Workload::primary_keys, Workload::foreign_keys, Workload::clean] {
        let progress = Progress::default();
        step(workload, &mut *conn, &progress).unwrap();
        assert_eq!(progress.read().0, progress.read().1);
    }
    conn
}

/// Runs transactions 0..`count` of each of `clients`, as the loop does, without a clock.
pub fn run(engine: &dyn Engine, workload: &dyn Workload, clients: u64, count: u64) -> Expected {
    let mut sums = BTreeMap::new();
    let mut committed = vec![0; workload.kinds().len()];
    for id in 0..clients {
        let mut conn = engine.connect(LOAD).unwrap();
        let mut client = workload.client(ClientId::alone(id), 42);
        client.prepare(&mut *conn, if id == 0 { Prepare::Never } else { Prepare::Once }).unwrap();
        for number in 0..count {
            let drawn = client.draw(number);
            match transact(&mut *conn, &mut *client, drawn.shape).unwrap() {
                End::Commit => {
                    client.committed();
                    committed[usize::from(drawn.kind)] += 1;
                }
                End::Rollback => client.rolled_back(),
            }
        }
        for (name, sum) in client.sums() {
            *sums.entry(name.to_string()).or_insert(0) += sum;
        }
    }
    Expected { committed, sums: sums.into_iter().collect(), ..Expected::default() }
}

/// One transaction by hand.
pub fn transact(
    conn: &mut dyn Connection,
    client: &mut dyn dsbench_core::workload::Client,
    shape: Shape,
) -> Result<End> {
    match shape {
        Shape::Single => return client.execute(conn),
        Shape::Block => conn.begin()?,
        Shape::ReadBlock => conn.begin_reading()?,
    }
    match client.execute(conn) {
        Ok(End::Commit) => conn.commit().map(|()| End::Commit),
        Ok(End::Rollback) => conn.rollback().map(|()| End::Rollback),
        Err(error) => conn.rollback().and(Err(error)),
    }
}

/// What load a cycle makes.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub threads: usize,
    pub connections: usize,
    pub pacing: Pacing,
    pub ramp_up: Nanos,
    pub duration: Nanos,
}

/// Runs four clients against each other for a fraction of a second, with retry.
pub fn cycle(engine: Arc<dyn Engine>, workload: Arc<dyn Workload>) -> Expected {
    let load = Load { threads: 4, connections: 1, pacing: Pacing::Closed, ramp_up: 0, duration: 400_000_000 };
    cycle_of(engine, workload, load).1
}

/// Runs a cycle, with retry; gives what it left, and what the database must hold of it.
pub fn cycle_of(engine: Arc<dyn Engine>, workload: Arc<dyn Workload>, load: Load) -> (CycleOutcome, Expected) {
    let conduct = Conduct {
        session: LOAD,
        prepare: Prepare::Once,
        connections: load.connections,
        tries: 0,
        reconnect: false,
        patience: 1_000_000_000,
        pause: LONGEST_PAUSE,
        bears: false,
        exit_on_abort: false,
    };
    let kinds = workload.kinds().len();
    let closed = Group::closed(conduct, load.threads, Until::Time(load.duration));
    let plan = LoadPlan {
        engine,
        reading: None,
        workload,
        groups: vec![Group { pacing: load.pacing, ..closed }],
        carriers: 0,
        placement: Placement::Free,
        ramp_up: load.ramp_up,
        seed: 7,
        trace: None,
        statements: false,
        pauses: false,
        give_up_s: GIVE_UP_S,
    };
    let cycle = Cycle::spawn(&plan).unwrap();
    // The clock is not to run while clients still connect: a login of Firebird's may take longer than the cycle.
    while cycle.ready() < load.threads && !cycle.finished() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    cycle.start(Monotonic.now() + load.ramp_up);
    let outcome = cycle.join().unwrap();
    assert_eq!(outcome.failure, None);
    let expected = expected_of(&outcome, kinds);
    (outcome, expected)
}

fn expected_of(outcome: &CycleOutcome, kinds: usize) -> Expected {
    let mut expected = Expected { committed: vec![0; kinds], unknown: vec![0; kinds], sums: Vec::new() };
    let mut sums = BTreeMap::new();
    for client in &outcome.clients {
        for (kind, tally) in client.recorder.tallies().iter().enumerate() {
            expected.committed[kind] += tally.committed + tally.commits_before_window + tally.commits_after_window;
            expected.unknown[kind] += tally.unknown;
        }
        for (name, sum) in &client.sums {
            *sums.entry((*name).to_string()).or_insert(0) += sum;
        }
    }
    expected.sums = sums.into_iter().collect();
    expected
}

/// Names of the conditions that were not made, but for foreign keys where the engine has none.
pub fn open_conditions(workload: &dyn Workload, conn: &mut dyn Connection, expected: Option<&Expected>) -> Vec<String> {
    let conditions = workload.check(conn, expected).unwrap();
    let open = conditions.into_iter().filter(|condition| condition.state == State::NotMade).map(|one| one.name);
    open.filter(|name| name != "foreign keys are there").collect()
}

/// Names of the conditions that do not hold.
pub fn broken(workload: &dyn Workload, conn: &mut dyn Connection, expected: &Expected) -> Vec<String> {
    let conditions = workload.check(conn, Some(expected)).unwrap();
    conditions.into_iter().filter(|condition| condition.is_broken()).map(|condition| condition.name).collect()
}
