//! Clients that follow their server to another CPU, and those that cannot.

use std::collections::BTreeSet;

use dsbench_core::engine::Connection;
use dsbench_core::placement::{cpus, Placement};
use dsbench_core::threads::LoadPlan;

use crate::following::{assert_nothing_lost, follow_about, Counted};
use crate::probe::{begin, let_run, plan, Probe};
use crate::server::Server;
use crate::Wire;

for_both!(clients_on_carriers_follow_their_servers_and_lose_nothing);

/// A sequence or a row counts what the server executed.
fn counted(wire: Wire) -> Counted {
    wire.either(
        Counted {
            sql: "SELECT nextval('counted') WHERE $1 >= 0",
            count: "SELECT last_value FROM counted",
            servers: "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT nextval%'",
        },
        Counted {
            sql: "UPDATE test.counted SET n = n + 1 WHERE n >= ?",
            count: "SELECT n - 1000 FROM test.counted",
            servers: "SELECT TID FROM information_schema.PROCESSLIST WHERE USER = 'root' AND ID <> connection_id()",
        },
    )
}

fn counting(wire: Wire, server: &Server) -> Box<dyn Connection> {
    let mut admin = server.connect();
    let row = ["CREATE TABLE counted (n bigint)", "INSERT INTO counted VALUES (1000)"];
    admin.script(wire.either(&["CREATE SEQUENCE counted"], &row)).unwrap();
    admin
}

fn clients_on_carriers_follow_their_servers_and_lose_nothing(wire: Wire) {
    if cpus().len() < 2 {
        return;
    }
    let server = wire.server();
    let mut admin = counting(wire, &server);
    follow_about(server.engine(), admin.as_mut(), counted(wire), 2 * cpus().len() + wire.either(5, 1));
}

#[test]
fn clients_of_postgres_with_a_thread_each_follow_their_servers_over_tcp() {
    if cpus().len() < 2 {
        return;
    }
    let server = Server::postgres();
    let mut admin = counting(Wire::Postgres, &server);
    let engine = dsbench_engines::open(&server.tcp("admin", "sslmode=disable")).unwrap();
    follow_about(engine, admin.as_mut(), counted(Wire::Postgres), 2);
}

#[test]
fn a_client_of_postgres_says_why_it_does_not_follow() {
    let server = Server::postgres();
    let outcome_of = |change: &dyn Fn(&mut LoadPlan)| {
        counting(Wire::Postgres, &server);
        let mut plan =
            plan(server.engine(), Probe { sql: counted(Wire::Postgres).sql, ..Probe::default() }, 2 * cpus().len() + 1);
        plan.placement = Placement::Follow;
        change(&mut plan);
        let cycle = begin(&plan);
        let_run(&cycle, 50);
        cycle.stop();
        let outcome = cycle.join().unwrap();
        let mut admin = server.connect();
        assert_nothing_lost(admin.as_mut(), counted(Wire::Postgres), &outcome);
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
