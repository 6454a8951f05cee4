//! Clients that share a thread of the operating system: one that loses its connection, a server that
//! stands still, TLS.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use dsbench_core::clock::Monotonic;
use dsbench_core::engine::{Connection, Engine, Prepare, Statement, StatementId};
use dsbench_core::error::{ErrorKind, Result};
use dsbench_core::generator::Conduct;
use dsbench_core::placement::Placement;
use dsbench_core::threads::{Cycle, CycleOutcome, Group, LoadPlan, Until};
use dsbench_core::value::{Rows, Type, Value};
use dsbench_core::workload::{
    Client, ClientId, Condition, Drawn, End, Expected, Part, Population, Progress, Shape, Workload,
};

use super::server::{Server, ADMIN};
use super::tls::server_for;

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

    fn rows(&self) -> u64 {
        0
    }

    fn populate(&self, _conn: &mut dyn Connection, _how: Population, _part: Part, _progress: &Progress) -> Result<()> {
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
        session: ADMIN,
        prepare: Prepare::Once,
        connections: 1,
        retry: false,
        reconnect: false,
        patience: 10_000_000_000,
    };
    LoadPlan {
        engine: engine.into(),
        workload: Arc::new(workload),
        groups: vec![Group::closed(conduct, threads, Until::Time(60_000_000_000))],
        carriers: 0,
        placement: Placement::Free,
        ramp_up: 0,
        seed: 7,
        trace: None,
    }
}

/// Starts a minute of load by so many clients, all on one thread.
fn start(engine: Box<dyn Engine>, workload: Probe, threads: usize) -> Cycle {
    let plan = LoadPlan { carriers: 1, ..plan(engine, workload, threads) };
    assert_eq!(plan.carriers(), 1);
    begin(&plan)
}

/// Starts the load.
pub fn begin(plan: &LoadPlan) -> Cycle {
    let (cycle, threads) = (Cycle::spawn(plan).unwrap(), plan.groups[0].threads);
    wait_until(|| cycle.ready() == threads || cycle.finished());
    cycle.start(Monotonic.now());
    cycle
}

pub fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        thread::sleep(Duration::from_millis(2));
    }
}

/// Lets so many more transactions be committed; a cycle that has failed makes none.
pub fn let_run(cycle: &Cycle, more: u64) {
    let before = cycle.totals().0;
    wait_until(|| cycle.totals().0 >= before + more || cycle.finished());
}

fn committed(outcome: &CycleOutcome) -> Vec<u64> {
    outcome.clients.iter().map(|client| client.recorder.tallies()[0].committed).collect()
}

#[test]
fn a_lost_connection_disturbs_no_other_client_of_the_thread() {
    let server = Server::start();
    let mut admin = server.connect();
    let cycle = start(server.engine(), Probe { sql: "SELECT 'carried' WHERE $1 >= 0", ..Probe::default() }, 6);
    let_run(&cycle, 200);
    let ours = "FROM pg_stat_activity WHERE query LIKE 'SELECT ''carried''%'";
    let found = admin.fetch(&format!("SELECT min(pid), pg_terminate_backend(min(pid)) {ours}")).unwrap();
    let killed = found.rows[0][0].clone().unwrap();
    // The lost one has come back: there are six others.
    let count = format!("SELECT count(*) {ours} AND pid <> {killed}");
    while !cycle.finished() && admin.fetch(&count).unwrap().rows[0][0].as_deref() != Some("6") {
        thread::sleep(Duration::from_millis(5));
    }
    let_run(&cycle, 200);
    cycle.stop();
    let outcome = cycle.join().unwrap();
    assert_eq!(outcome.failure, None);
    assert!(committed(&outcome).iter().all(|count| *count > 0));
    let failed = outcome.clients.iter().filter(|client| {
        let tally = &client.recorder.tallies()[0];
        tally.failed + tally.unknown > 0
    });
    assert_eq!(failed.count(), 1, "the one that was killed");
}

#[test]
fn clients_are_woken_from_a_server_that_stands_still() {
    let server = Server::start();
    let cycle = start(server.engine(), Probe { sql: "SELECT 'carried' WHERE $1 >= 0", ..Probe::default() }, 4);
    let_run(&cycle, 50);
    server.signal("STOP");
    cycle.abandon(Some("the server stands still"));
    let outcome = cycle.join();
    server.signal("CONT");
    let outcome = outcome.unwrap();
    let failure = outcome.failure.unwrap();
    assert_eq!((failure.kind, outcome.clients.len()), (ErrorKind::Disconnected, 4), "{failure}");
    assert!(failure.to_string().contains("stands still"), "{failure}");
}

#[test]
fn what_tls_has_decrypted_is_read_at_once() {
    let server = server_for("localhost");
    let engine = dsbench_engines::postgres::open(&server.tcp("safe", "sslmode=require")).unwrap();
    // Answers of several records of TLS, and of several reads of the socket.
    let sql = "SELECT repeat(chr(97 + $1::int), 100000 + $1::int)";
    let cycle = start(engine, Probe { sql, length: Some(100_000), ..Probe::default() }, 12);
    let_run(&cycle, 300);
    cycle.stop();
    let outcome = cycle.join().unwrap();
    assert_eq!(outcome.failure, None);
    assert!(committed(&outcome).iter().all(|count| *count > 0), "{:?}", committed(&outcome));
}

#[test]
fn a_client_that_panics_says_so_and_ends_the_others_in_order() {
    let server = Server::start();
    // One letter too few for what the client expects.
    let sql = "SELECT repeat(chr(97 + $1::int), 9 + $1::int)";
    let cycle = start(server.engine(), Probe { sql, length: Some(10), ..Probe::default() }, 3);
    let outcome = cycle.join().unwrap();
    let failure = outcome.failure.unwrap();
    assert!(failure.to_string().contains("another client's answer, or not all of it"), "{failure}");
}
