//! Clients that follow their server to another CPU, and those that cannot.

use std::collections::BTreeSet;

use dsbench_core::engine::Connection;
use dsbench_core::placement::{cpus, Placement};
use dsbench_core::threads::LoadPlan;

use super::following::{assert_nothing_lost, follow_about, Counted};
use super::probe::{begin, let_run, plan, Probe};
use super::server::Server;

const COUNTED: Counted = Counted {
    sql: "SELECT nextval('counted') WHERE $1 >= 0",
    count: "SELECT last_value FROM counted",
    servers: "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT nextval%'",
};

/// The sequence counts what the server executed.
fn counting(server: &Server) -> Box<dyn Connection> {
    let mut admin = server.connect();
    admin.script(&["CREATE SEQUENCE counted"]).unwrap();
    admin
}

#[test]
fn clients_on_carriers_follow_their_servers_and_lose_nothing() {
    if cpus().len() < 2 {
        return;
    }
    let server = Server::start();
    let mut admin = counting(&server);
    follow_about(server.engine(), admin.as_mut(), COUNTED, 2 * cpus().len() + 5);
}

#[test]
fn clients_with_a_thread_each_follow_their_servers_over_tcp() {
    if cpus().len() < 2 {
        return;
    }
    let server = Server::start();
    let mut admin = counting(&server);
    let engine = dsbench_engines::postgres::open(&server.tcp("admin", "sslmode=disable")).unwrap();
    follow_about(engine, admin.as_mut(), COUNTED, 2);
}

#[test]
fn a_client_says_why_it_does_not_follow() {
    let server = Server::start();
    let outcome_of = |change: &dyn Fn(&mut LoadPlan)| {
        counting(&server);
        let mut plan = plan(server.engine(), Probe { sql: COUNTED.sql, ..Probe::default() }, 2 * cpus().len() + 1);
        plan.placement = Placement::Follow;
        change(&mut plan);
        let cycle = begin(&plan);
        let_run(&cycle, 50);
        cycle.stop();
        let outcome = cycle.join().unwrap();
        let mut admin = server.connect();
        assert_nothing_lost(admin.as_mut(), COUNTED, &outcome);
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
