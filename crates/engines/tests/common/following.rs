//! Clients that follow their servers, which are sent from one CPU to another.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dsbench_core::engine::{Connection, Engine};
use dsbench_core::placement::{cpus, Placed, Placement};
use dsbench_core::threads::{CycleOutcome, LoadPlan};

use super::probe::{begin, let_run, plan, Probe};

/// What clients do, and how their servers are found.
#[derive(Clone, Copy)]
pub struct Counted {
    /// A statement that the server counts.
    pub sql: &'static str,
    /// How often it was executed.
    pub count: &'static str,
    /// The system's numbers of the servers of all clients.
    pub servers: &'static str,
}

fn bind(process: i32, cpu: usize) {
    // SAFETY: a zeroed set is an empty one, and the number lies in it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(libc::sched_setaffinity(process, size_of::<libc::cpu_set_t>(), &set), 0);
    }
}

/// Every transaction was counted once: by the server, its client and the client's histogram.
pub fn assert_nothing_lost(admin: &mut dyn Connection, counted: Counted, outcome: &CycleOutcome) {
    assert_eq!(outcome.failure, None);
    let tallies = || outcome.clients.iter().map(|client| &client.recorder.tallies()[0]);
    assert!(tallies().all(|tally| tally.committed == tally.residence.count() && tally.failed == 0));
    let told: u64 = tallies().map(|tally| tally.committed).sum();
    let executed = admin.fetch(counted.count).unwrap().rows[0][0].clone();
    assert_eq!(executed.as_deref(), Some(told.to_string().as_str()));
    assert_eq!(told, outcome.seconds.iter().map(|(_, second)| second.count).sum::<u64>());
}

/// Runs `clients` that follow, while their servers are sent from one CPU to another until each client has been
/// on both.
pub fn follow_about(engine: Box<dyn Engine>, admin: &mut dyn Connection, counted: Counted, clients: usize) {
    let both = cpus()[..2].to_vec();
    let seen: Arc<Mutex<Vec<BTreeSet<usize>>>> = Arc::new(Mutex::new(vec![BTreeSet::new(); clients]));
    let note = Arc::clone(&seen);
    let within = move |client: u64| {
        // A thread that is bound to a CPU may use that one alone.
        if let [cpu] = cpus()[..] {
            note.lock().unwrap()[client as usize].insert(cpu);
        }
    };
    let probe = Probe { sql: counted.sql, within: Some(Arc::new(within)), ..Probe::default() };
    let cycle = begin(&LoadPlan { placement: Placement::Follow, ..plan(engine, probe, clients) });
    let_run(&cycle, 10 * clients as u64);
    let servers = admin.fetch(counted.servers).unwrap().rows;
    let servers: Vec<i32> = servers.iter().map(|row| row[0].as_deref().unwrap().parse().unwrap()).collect();
    assert_eq!(servers.len(), clients);
    let mut turns = both.iter().cycle();
    while !cycle.finished() && seen.lock().unwrap().iter().any(|cpus| !both.iter().all(|cpu| cpus.contains(cpu))) {
        let cpu = *turns.next().unwrap();
        servers.iter().for_each(|server| bind(*server, cpu));
        thread::sleep(Duration::from_millis(200));
    }
    cycle.stop();
    let outcome = cycle.join().unwrap();
    assert_nothing_lost(admin, counted, &outcome);
    for client in &outcome.clients {
        assert!(client.placed == Placed::Follow && client.moves > 0, "{:?}, {}", client.placed, client.moves);
    }
}
