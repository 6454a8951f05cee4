//! What happens when transactions meet: what the products document, and what clients are told of it.

use std::sync::Barrier;

use dsbench_core::engine::{Connection, Engine, Isolation, Prepare, Session};
use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::value::{Type, Value};

use crate::server::{Product, Server, ADMIN};
use crate::{run, with_table, Wire, ROWS};

for_both!(of_two_that_wait_for_each_other_one_is_told, a_transaction_need_not_wait_for_a_lock);

const ADD: &str = "UPDATE t SET b = b + 1 WHERE a = ?";

fn session(engine: &dyn Engine, isolation: Isolation) -> Box<dyn Connection> {
    engine.connect(Session { isolation, in_place: false }).unwrap()
}

fn number(connection: &mut dyn Connection, sql: &str) -> i64 {
    connection.fetch(sql).unwrap().rows[0][0].as_deref().unwrap().parse().unwrap()
}

/// Two clients read a balance, add to it on their own and write it back; gives how the second fares.
fn lose_an_update(engine: &dyn Engine, isolation: Isolation) -> Result<(), Error> {
    let [mut one, mut two] = [0, 1].map(|_| session(engine, isolation));
    one.begin().unwrap();
    two.begin().unwrap();
    for connection in [&mut one, &mut two] {
        assert_eq!(number(&mut **connection, "SELECT b FROM t WHERE a = 1"), 0);
    }
    run(&mut *one, "UPDATE t SET b = 0 + 10 WHERE a = 1")?;
    one.commit()?;
    let lost = run(&mut *two, "UPDATE t SET b = 0 + 20 WHERE a = 1").map(|_| ());
    match lost {
        Ok(()) => two.commit(),
        Err(error) => {
            assert_eq!(error.message, None, "an error that may be retried has no words");
            let doomed = [two.commit().unwrap_err(), run(&mut *two, "UPDATE t SET b = 1").unwrap_err()];
            assert!(doomed.iter().all(|error| error.kind == ErrorKind::Statement), "{doomed:?}");
            two.rollback().and(Err(error))
        }
    }
}

#[test]
fn innodb_loses_updates_below_serializable() {
    for server in Server::of_both(&[]) {
        let engine = server.engine();
        engine.connect(ADMIN).unwrap().script(&ROWS).unwrap();
        for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead] {
            lose_an_update(&*engine, isolation).unwrap();
            let mut admin = session(&*engine, isolation);
            assert_eq!(number(&mut *admin, "SELECT b FROM t WHERE a = 1"), 20, "the first update is lost");
            admin.script(&["UPDATE t SET b = 0"]).unwrap();
        }
    }
}

#[test]
fn mariadb_refuses_what_its_snapshot_does_not_show() {
    let server = Server::start(&Product::MariaDb, &["--innodb-snapshot-isolation=ON"]);
    let engine = server.engine();
    engine.connect(ADMIN).unwrap().script(&ROWS).unwrap();
    let error = lose_an_update(&*engine, Isolation::RepeatableRead).unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Serialization, "1020"));
    let mut admin = session(&*engine, Isolation::RepeatableRead);
    assert_eq!(number(&mut *admin, "SELECT b FROM t WHERE a = 1"), 10);
}

#[test]
fn myrocks_refuses_what_its_snapshot_does_not_show() {
    let server = Server::mariadb_with_rocksdb();
    let engine = server.engine_of("RocksDB");
    engine.connect(ADMIN).unwrap().script(&ROWS).unwrap();
    // It says deadlock for that: its own word, "snapshot conflict", is in the message only.
    let error = lose_an_update(&*engine, Isolation::RepeatableRead).unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Deadlock, "1213"));
    let mut admin = session(&*engine, Isolation::ReadCommitted);
    assert_eq!(number(&mut *admin, "SELECT b FROM t WHERE a = 1"), 10);
}

#[test]
fn serializable_readers_hold_off_writers() {
    for server in Server::of_both(&[]) {
        let engine = server.engine();
        engine.connect(ADMIN).unwrap().script(&ROWS).unwrap();
        let [mut one, mut two] = [0, 1].map(|_| session(&*engine, Isolation::Serializable));
        one.begin().unwrap();
        assert_eq!(number(&mut *one, "SELECT b FROM t WHERE a = 1"), 0);
        // The reader keeps its lock for longer than the writer waits (a second, in these tests).
        let error = run(&mut *two, "UPDATE t SET b = 5 WHERE a = 1").unwrap_err();
        assert_eq!((error.kind, error.code.as_str(), &error.message), (ErrorKind::Busy, "1205", &None));
        one.commit().unwrap();
        assert_eq!(run(&mut *two, "UPDATE t SET b = 5 WHERE a = 1").unwrap(), 1);
    }
}

#[test]
fn a_lock_wait_that_takes_too_long_ends_one_statement_and_the_loop_rolls_back() {
    for (server, name) in [(Server::mariadb(), "InnoDB"), (Server::mariadb_with_rocksdb(), "RocksDB")] {
        let engine = server.engine_of(name);
        engine.connect(ADMIN).unwrap().script(&ROWS).unwrap();
        let [mut holder, mut other] = [0, 1].map(|_| session(&*engine, Isolation::ReadCommitted));
        holder.begin().unwrap();
        run(&mut *holder, "UPDATE t SET b = 1 WHERE a = 1").unwrap();
        other.begin().unwrap();
        run(&mut *other, "UPDATE t SET b = 1 WHERE a = 2").unwrap();
        let error = run(&mut *other, "UPDATE t SET b = 2 WHERE a = 1").unwrap_err();
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Busy, "1205"), "{name}");
        other.rollback().unwrap();
        holder.rollback().unwrap();
        assert_eq!(number(&mut *other, "SELECT sum(b) FROM t"), 0, "nothing is left of either");
    }
}

fn a_transaction_need_not_wait_for_a_lock(wire: Wire) {
    for server in wire.servers(&[]) {
        let mut holder = with_table(&server);
        let mut other = server.session(Isolation::ReadCommitted);
        holder.begin().unwrap();
        run(&mut *holder, "UPDATE t SET b = 1 WHERE a = 1").unwrap();
        let error = run(&mut *other, "SELECT b FROM t WHERE a = 1 FOR UPDATE NOWAIT").unwrap_err();
        assert_eq!((error.kind, error.message), (ErrorKind::Busy, None));
        holder.rollback().unwrap();
    }
}

fn of_two_that_wait_for_each_other_one_is_told(wire: Wire) {
    let level = wire.either(Isolation::ReadCommitted, Isolation::RepeatableRead);
    // A deadlock is found at once; a wait that ends after a second would be told instead on a busy machine.
    for server in wire.servers(wire.either(&[], &["--innodb-lock-wait-timeout=50"])) {
        let mut admin = with_table(&server);
        let barrier = Barrier::new(2);
        let cross = |mine: i64, other: i64| {
            let mut connection = server.session(level);
            let update = wire.prepare(&mut *connection, ADD, &[Type::Int32], &[], Prepare::Once).unwrap();
            connection.begin().unwrap();
            connection.execute(update, &[Value::Int(mine)]).unwrap();
            barrier.wait();
            let done = connection.execute(update, &[Value::Int(other)]);
            match done {
                Ok(_) => connection.commit().unwrap(),
                Err(_) => connection.rollback().unwrap(),
            }
            done
        };
        let [a, b] = std::thread::scope(|scope| {
            [scope.spawn(|| cross(1, 2)), scope.spawn(|| cross(2, 1))].map(|t| t.join().unwrap())
        });
        let failures: Vec<_> = [a, b].into_iter().filter_map(Result::err).collect();
        assert_eq!(failures.len(), 1);
        let found = (failures[0].kind, failures[0].code.as_str(), &failures[0].message);
        assert_eq!(found, (ErrorKind::Deadlock, wire.either("40P01", "1213"), &None));
        assert_eq!(number(&mut *admin, "SELECT sum(b) FROM t"), 2);
    }
}

#[test]
fn two_snapshots_of_postgres_that_change_one_row_cannot_be_serialized() {
    let server = Server::postgres();
    let mut admin = with_table(&server);
    let [mut one, mut two] = [0, 1].map(|_| server.session(Isolation::RepeatableRead));
    let [first, second] = [&mut one, &mut two]
        .map(|connection| Wire::Postgres.prepare(&mut **connection, ADD, &[Type::Int32], &[], Prepare::Once).unwrap());
    one.begin().unwrap();
    two.begin().unwrap();
    // The snapshot of a transaction is taken by its first statement.
    two.fetch("SELECT 1 FROM t").unwrap();
    one.execute(first, &[Value::Int(1)]).unwrap();
    one.commit().unwrap();
    let error = two.execute(second, &[Value::Int(1)]).unwrap_err();
    assert_eq!((error.kind, error.message), (ErrorKind::Serialization, None));
    two.rollback().unwrap();
    two.begin().unwrap();
    two.execute(second, &[Value::Int(1)]).unwrap();
    two.commit().unwrap();
    assert_eq!(number(&mut *admin, "SELECT b FROM t WHERE a = 1"), 2);
}

#[test]
fn a_failure_at_commit_of_postgres_has_its_own_kind() {
    let server = Server::postgres();
    drop(with_table(&server));
    let mut sessions = [0, 1].map(|_| server.session(Isolation::Serializable));
    for (at, session) in sessions.iter_mut().enumerate() {
        session.begin().unwrap();
        session.fetch("SELECT sum(b) FROM t").unwrap();
        run(&mut **session, &format!("INSERT INTO t VALUES (1{at}, 1)")).unwrap();
    }
    let [one, two] = &mut sessions;
    one.commit().unwrap();
    assert_eq!(two.commit().unwrap_err().kind, ErrorKind::Serialization);
    two.begin().unwrap();
    two.commit().unwrap();
}
