//! Load by one statement, as the tests of carriers and placements need it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use dsbench_core::clock::Monotonic;
use dsbench_core::engine::{Connection, Engine, Isolation, Prepare, Session, Statement, StatementId};
use dsbench_core::error::Result;
use dsbench_core::generator::Conduct;
use dsbench_core::patience::LONGEST_PAUSE;
use dsbench_core::placement::{cpus, Placement};
use dsbench_core::threads::{Cycle, Group, LoadPlan, Until, GIVE_UP_S};
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::{Client, ClientId, Condition, Drawn, End, Expected, Shape, Workload};

/// One statement with the client's number as its parameter, whose text answer is the letter of that
/// number, as often as `length` says; nothing is read back without one.
#[derive(Default, Clone)]
pub struct Probe {
    pub sql: &'static str,
    pub length: Option<usize>,
    /// Called within each transaction, with the number of the client.
    pub within: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

struct ProbeClient {
    id: u64,
    probe: Probe,
    rows: Rows,
}

impl Client for ProbeClient {
    fn prepare(&mut self, conn: &mut dyn Connection, when: Prepare) -> Result<()> {
        let columns: &[Type] = if self.probe.length.is_some() { &[Type::Text] } else { &[] };
        conn.prepare(&Statement { sql: self.probe.sql, params: &[Type::Int64], columns }, when).map(|_| ())
    }

    fn draw(&mut self, _number: u64) -> Drawn {
        Drawn { kind: 0, shape: Shape::Single }
    }

    fn execute(&mut self, conn: &mut dyn Connection) -> Result<End> {
        self.probe.within.iter().for_each(|within| within(self.id));
        let params = [Value::Int(self.id as i64)];
        let Some(length) = self.probe.length else { return conn.execute(StatementId(0), &params).map(|_| End::Commit) };
        conn.query(StatementId(0), &params, &mut self.rows)?;
        let letter = char::from(b'a' + self.id as u8);
        let expected = String::from(letter).repeat(length + self.id as usize);
        assert!(self.rows.get(0, 0)? == Value::Text(&expected), "another client's answer, or not all of it");
        Ok(End::Commit)
    }

    fn describe(&self) -> String {
        self.id.to_string()
    }
}

impl Workload for Probe {
    fn kinds(&self) -> &'static [&'static str] {
        &["probe"]
    }

    fn create(&self, _conn: &mut dyn Connection) -> Result<()> {
        Ok(())
    }

    fn check(&self, _conn: &mut dyn Connection, _expected: Option<&Expected>) -> Result<Vec<Condition>> {
        Ok(Vec::new())
    }

    fn client(&self, who: ClientId, _seed: u64) -> Box<dyn Client> {
        Box::new(ProbeClient { id: who.id, probe: self.clone(), rows: Rows::new() })
    }
}

/// A minute of load by so many clients.
pub fn plan(engine: Box<dyn Engine>, workload: Probe, threads: usize) -> LoadPlan {
    let conduct = Conduct {
        session: Session { isolation: Isolation::ReadCommitted, in_place: false },
        prepare: Prepare::Once,
        connections: 1,
        tries: 1,
        reconnect: false,
        patience: 10_000_000_000,
        pause: LONGEST_PAUSE,
        bears: false,
        exit_on_abort: false,
    };
    LoadPlan {
        engine: engine.into(),
        reading: None,
        workload: Arc::new(workload),
        groups: vec![Group::closed(conduct, threads, Until::Time(60_000_000_000))],
        // One for each CPU: by themselves there are fewer under a quota of CPU time.
        carriers: cpus().len(),
        placement: Placement::Free,
        ramp_up: 0,
        seed: 7,
        trace: None,
        statements: false,
        pauses: false,
        give_up_s: GIVE_UP_S,
    }
}

/// Starts the load.
pub fn begin(plan: &LoadPlan) -> Cycle {
    let (cycle, threads) = (Cycle::spawn(plan).unwrap(), plan.groups[0].threads);
    wait_until(|| cycle.ready() == threads || cycle.finished());
    cycle.start(Monotonic.now());
    cycle
}

/// Looks again and again until `done`.
fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        thread::sleep(Duration::from_millis(2));
    }
}

/// Lets so many more transactions be committed; a cycle that has failed makes none.
pub fn let_run(cycle: &Cycle, more: u64) {
    let before = cycle.totals().0;
    wait_until(|| cycle.totals().0 >= before + more || cycle.finished());
}
