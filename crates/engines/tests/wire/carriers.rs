//! Clients of PostgreSQL that share a thread of the operating system: one that loses its connection, a server that
//! stands still, TLS.

use std::thread;
use std::time::Duration;

use dsbench_core::engine::Engine;
use dsbench_core::error::ErrorKind;
use dsbench_core::threads::{Cycle, CycleOutcome, LoadPlan};

use crate::probe::{begin, let_run, plan, Probe};
use crate::server::Server;
use crate::tls::server_for;
use crate::Wire;

/// Starts a minute of load by so many clients, all on one thread.
fn start(engine: Box<dyn Engine>, workload: Probe, threads: usize) -> Cycle {
    let plan = LoadPlan { carriers: 1, ..plan(engine, workload, threads) };
    assert_eq!(plan.carriers(), 1);
    begin(&plan)
}

fn committed(outcome: &CycleOutcome) -> Vec<u64> {
    outcome.clients.iter().map(|client| client.recorder.tallies()[0].committed).collect()
}

#[test]
fn a_lost_connection_disturbs_no_other_client_of_the_thread() {
    let server = Server::postgres();
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
    let server = Server::postgres();
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
    let server = server_for(Wire::Postgres, "localhost");
    let engine = dsbench_engines::open(&server.tcp("safe", "sslmode=require")).unwrap();
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
    let server = Server::postgres();
    // One letter too few for what the client expects.
    let sql = "SELECT repeat(chr(97 + $1::int), 9 + $1::int)";
    let cycle = start(server.engine(), Probe { sql, length: Some(10), ..Probe::default() }, 3);
    let outcome = cycle.join().unwrap();
    let failure = outcome.failure.unwrap();
    assert!(failure.to_string().contains("another client's answer, or not all of it"), "{failure}");
}
