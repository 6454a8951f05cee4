//! Clients that follow their server to another CPU, and those that cannot.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dsbench_core::engine::{Connection, Engine};
use dsbench_core::placement::{cpus, Placed, Placement};
use dsbench_core::threads::{CycleOutcome, LoadPlan};

use super::carriers::{begin, let_run, plan, Probe};
use super::server::Server;

const COUNTING: &str = "SELECT nextval('counted') WHERE $1 >= 0";

/// The sequence counts what the server executed.
fn counting(server: &Server) -> Box<dyn Connection> {
    let mut admin = server.connect();
    admin.script(&["CREATE SEQUENCE counted"]).unwrap();
    admin
}

fn bind(process: i32, cpu: usize) {
    // SAFETY: a zeroed set is an empty one, and the number lies in it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(libc::sched_setaffinity(process, size_of::<libc::cpu_set_t>(), &set), 0);
    }
}

/// Puts all servers of the clients on `cpu`.
fn put_servers(admin: &mut dyn Connection, cpu: usize) {
    let table = admin.fetch("SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT nextval%'").unwrap();
    table.rows.iter().for_each(|row| bind(row[0].as_deref().unwrap().parse().unwrap(), cpu));
}

/// Every transaction was counted once: by the server, its client and the client's histogram.
fn assert_nothing_lost(admin: &mut dyn Connection, outcome: &CycleOutcome) {
    assert_eq!(outcome.failure, None);
    let tallies = || outcome.clients.iter().map(|client| &client.recorder.tallies()[0]);
    assert!(tallies().all(|tally| tally.committed == tally.residence.count() && tally.failed == 0));
    let told: u64 = tallies().map(|tally| tally.committed).sum();
    let executed = admin.fetch("SELECT last_value FROM counted").unwrap().rows[0][0].clone();
    assert_eq!(executed.as_deref(), Some(told.to_string().as_str()));
    assert_eq!(told, outcome.seconds.iter().map(|(_, second)| second.count).sum::<u64>());
}

/// Runs `clients` that follow, while their servers are sent from one CPU to another until each client has been
/// on both.
fn follow_about(engine: Box<dyn Engine>, admin: &mut dyn Connection, clients: usize) {
    let both = cpus()[..2].to_vec();
    let seen: Arc<Mutex<Vec<BTreeSet<usize>>>> = Arc::new(Mutex::new(vec![BTreeSet::new(); clients]));
    let note = Arc::clone(&seen);
    let within = move |client: u64| {
        // A thread that is bound to a CPU may use that one alone.
        if let [cpu] = cpus()[..] {
            note.lock().unwrap()[client as usize].insert(cpu);
        }
    };
    let probe = Probe { sql: COUNTING, within: Some(Arc::new(within)), ..Probe::default() };
    let cycle = begin(&LoadPlan { placement: Placement::Follow, ..plan(engine, probe, clients) });
    let_run(&cycle, 10 * clients as u64);
    let mut turns = both.iter().cycle();
    while !cycle.finished() && seen.lock().unwrap().iter().any(|cpus| !both.iter().all(|cpu| cpus.contains(cpu))) {
        put_servers(admin, *turns.next().unwrap());
        thread::sleep(Duration::from_millis(200));
    }
    cycle.stop();
    let outcome = cycle.join().unwrap();
    assert_nothing_lost(admin, &outcome);
    for client in &outcome.clients {
        assert!(client.placed == Placed::Follow && client.moves > 0, "{:?}, {}", client.placed, client.moves);
    }
}

#[test]
fn clients_on_carriers_follow_their_servers_and_lose_nothing() {
    if cpus().len() < 2 {
        return;
    }
    let server = Server::start();
    let mut admin = counting(&server);
    follow_about(server.engine(), admin.as_mut(), 2 * cpus().len() + 5);
}

#[test]
fn clients_with_a_thread_each_follow_their_servers_over_tcp() {
    if cpus().len() < 2 {
        return;
    }
    let server = Server::start();
    let mut admin = counting(&server);
    let engine = dsbench_engines::postgres::open(&server.tcp("admin", "sslmode=disable")).unwrap();
    follow_about(engine, admin.as_mut(), 2);
}

#[test]
fn a_client_says_why_it_does_not_follow() {
    let server = Server::start();
    let outcome_of = |change: &dyn Fn(&mut LoadPlan)| {
        counting(&server);
        let mut plan = plan(server.engine(), Probe { sql: COUNTING, ..Probe::default() }, 2 * cpus().len() + 1);
        plan.placement = Placement::Follow;
        change(&mut plan);
        let cycle = begin(&plan);
        let_run(&cycle, 50);
        cycle.stop();
        let outcome = cycle.join().unwrap();
        let mut admin = server.connect();
        assert_nothing_lost(admin.as_mut(), &outcome);
        admin.script(&["DROP SEQUENCE counted"]).unwrap();
        let words: BTreeSet<String> = outcome.clients.iter().map(|client| client.placed.to_string()).collect();
        words.into_iter().collect::<Vec<_>>().join("; ")
    };
    assert_eq!(outcome_of(&|_| {}), "follow");
    assert_eq!(outcome_of(&|plan| plan.placement = Placement::Free), "free");
    assert_eq!(outcome_of(&|plan| plan.placement = Placement::Pinned), "pinned");
    let several = "free: several connections for each client";
    assert_eq!(outcome_of(&|plan| plan.groups[0].conduct.connections = 2), several);
    let each = "free: a connection for each transaction";
    assert_eq!(outcome_of(&|plan| plan.groups[0].conduct.reconnect = true), each);
    if cpus().len() > 1 {
        assert_eq!(outcome_of(&|plan| plan.carriers = 1), "free: fewer carriers than CPUs");
    }
}
