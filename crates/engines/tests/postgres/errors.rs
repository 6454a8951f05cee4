//! Errors of statements: their kinds, and that the session goes on.

use dsbench_core::engine::{Connection, Isolation, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::value::{Rows, Type, Value};

use super::server::Server;

const UPDATE: Statement<'_> =
    Statement { sql: "UPDATE t SET b = b + 1 WHERE a = $1", params: &[Type::Int32], columns: &[] };

fn with_table(server: &Server) -> Box<dyn Connection> {
    let mut connection = server.connect();
    connection
        .script(&["CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL)", "INSERT INTO t VALUES (1, 0), (2, 0)"])
        .unwrap();
    connection
}

/// Prepares (without the server) and runs a statement that returns nothing.
fn run(connection: &mut dyn Connection, sql: &str) -> Result<u64, Error> {
    let id = connection.prepare(&Statement { sql, params: &[], columns: &[] }, Prepare::Never)?;
    connection.execute(id, &[])
}

#[test]
fn the_kinds_are_those_of_the_codes_and_the_session_goes_on() {
    let server = Server::start();
    let mut connection = with_table(&server);
    for (sql, kind, code) in [
        ("INSERT INTO t VALUES (1, 1)", ErrorKind::DuplicateKey, "23505"),
        ("INSERT INTO t VALUES (3, NULL)", ErrorKind::Statement, "23502"),
        ("SELEC 1", ErrorKind::Syntax, "42601"),
        ("SELECT * FROM nowhere", ErrorKind::Syntax, "42P01"),
        ("SELECT nothing FROM t", ErrorKind::Syntax, "42703"),
        ("CREATE TABLE t (a int)", ErrorKind::Statement, "42P07"),
        ("SELECT 1 / 0", ErrorKind::Statement, "22012"),
        ("SELECT $1::int", ErrorKind::Statement, ""),
    ] {
        let error = run(&mut *connection, sql).unwrap_err();
        assert_eq!((error.kind, error.code.as_str()), (kind, code), "{sql}: {error}");
        assert!(error.message.is_some(), "{sql}");
    }
    let error =
        connection.prepare(&Statement { sql: "SELEC 1", params: &[], columns: &[] }, Prepare::Once).unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Syntax, "42601"));
    assert_eq!(run(&mut *connection, "INSERT INTO t VALUES (3, 3)").unwrap(), 1);
    assert_eq!(run(&mut *connection, "UPDATE t SET b = 5").unwrap(), 3);
    assert_eq!(run(&mut *connection, "DELETE FROM t WHERE a = 3").unwrap(), 1);
    let error = connection.execute(StatementId(99), &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Statement);
}

#[test]
fn two_snapshots_that_change_one_row_cannot_be_serialized() {
    let server = Server::start();
    drop(with_table(&server));
    let mut one = server.session(Isolation::RepeatableRead);
    let mut two = server.session(Isolation::RepeatableRead);
    let [first, second] = [&mut one, &mut two].map(|c| c.prepare(&UPDATE, Prepare::Once).unwrap());
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
    assert_eq!(two.fetch("SELECT b FROM t WHERE a = 1").unwrap().rows, [[Some("2".to_owned())]]);
}

#[test]
fn a_failure_at_commit_has_its_own_kind() {
    let server = Server::start();
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

#[test]
fn of_two_that_wait_for_each_other_one_is_told() {
    let server = Server::start();
    drop(with_table(&server));
    let barrier = std::sync::Barrier::new(2);
    let cross = |mine: i64, other: i64| {
        let mut connection = server.connect();
        let update = connection.prepare(&UPDATE, Prepare::Once).unwrap();
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
    assert_eq!(
        (failures[0].kind, failures[0].code.as_str(), &failures[0].message),
        (ErrorKind::Deadlock, "40P01", &None)
    );
}

#[test]
fn a_lock_that_is_not_given_is_busy() {
    let server = Server::start();
    let mut holder = with_table(&server);
    holder.begin().unwrap();
    holder.script(&["LOCK TABLE t"]).unwrap();
    let mut other = server.connect();
    let error = run(&mut *other, "LOCK TABLE t NOWAIT").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Statement, "LOCK TABLE stands in transactions only");
    other.begin().unwrap();
    let error = run(&mut *other, "LOCK TABLE t NOWAIT").unwrap_err();
    assert_eq!((error.kind, error.message), (ErrorKind::Busy, None));
    other.rollback().unwrap();
    holder.rollback().unwrap();
}

#[test]
fn commit_of_a_failed_transaction_is_no_success() {
    let server = Server::start();
    let mut connection = with_table(&server);
    connection.begin().unwrap();
    run(&mut *connection, "INSERT INTO t VALUES (7, 7)").unwrap();
    run(&mut *connection, "INSERT INTO t VALUES (1, 1)").unwrap_err();
    let error = run(&mut *connection, "INSERT INTO t VALUES (8, 8)").unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Statement, "25P02"));
    let error = connection.commit().unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Statement, "25P02"));
    assert_eq!(connection.fetch("SELECT count(*) FROM t").unwrap().rows, [[Some("2".to_owned())]]);
    connection.begin().unwrap();
    connection.commit().unwrap();
}

#[test]
fn begin_commit_and_rollback_know_whether_a_transaction_is_open() {
    let server = Server::start();
    let mut connection = server.session(Isolation::Serializable);
    connection.rollback().unwrap();
    assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Statement);
    connection.begin().unwrap();
    assert_eq!(connection.begin().unwrap_err().kind, ErrorKind::Statement);
    let level = connection.fetch("SHOW transaction_isolation").unwrap();
    assert_eq!(level.rows, [[Some("serializable".to_owned())]]);
    connection.rollback().unwrap();
    connection.rollback().unwrap();
}

#[test]
fn scripts_and_fetches_report_and_go_on() {
    let server = Server::start();
    let mut connection = server.connect();
    // Notices, rows and several results in one element do no harm.
    connection.script(&["DROP TABLE IF EXISTS nothing", "SELECT 1; SELECT 2", "", "VACUUM"]).unwrap();
    let error = connection.script(&["SELECT 1", "SELEC", "CREATE TABLE never (a int)"]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Syntax);
    let table = connection.fetch("SELECT 1 AS one, NULL::text AS none, 'grün' AS colour").unwrap();
    assert_eq!(table.columns, ["one", "none", "colour"]);
    assert_eq!(table.rows, [[Some("1".to_owned()), None, Some("grün".to_owned())]]);
    assert!(connection.fetch("SELECT * FROM never").is_err());
    assert_eq!(connection.fetch("SELECT 1\0").unwrap_err().kind, ErrorKind::Syntax);
    let out = connection.fetch("COPY (SELECT 1) TO STDOUT").unwrap();
    assert!(out.rows.is_empty());
    connection.script(&["CREATE TABLE c (a int)"]).unwrap();
    let copy = Statement { sql: "COPY c FROM STDIN", params: &[], columns: &[] };
    for way in [Prepare::Once, Prepare::Never] {
        let copy = connection.prepare(&copy, way).unwrap();
        let errors = [connection.script(&["COPY c FROM STDIN"]), connection.execute(copy, &[]).map(|_| ())];
        assert!(errors.iter().all(|e| e.as_ref().unwrap_err().to_string().contains("bulk load")), "{errors:?}");
        assert!(connection.fetch("SELECT * FROM c").unwrap().rows.is_empty());
    }
}

#[test]
fn a_function_that_returns_nothing_can_be_executed() {
    let server = Server::start();
    let mut connection = with_table(&server);
    connection
        .script(&[
            "CREATE FUNCTION f(x int) RETURNS void LANGUAGE sql AS $$ UPDATE t SET b = x $$",
            "CREATE FUNCTION g(x int) RETURNS numeric(12, 2) LANGUAGE sql AS $$ SELECT x / 100.0 $$",
        ])
        .unwrap();
    let call = Statement { sql: "SELECT f($1)", params: &[Type::Int32], columns: &[] };
    let call = connection.prepare(&call, Prepare::Once).unwrap();
    assert_eq!(connection.execute(call, &[Value::Int(9)]).unwrap(), 0);
    assert_eq!(connection.fetch("SELECT DISTINCT b FROM t").unwrap().rows, [[Some("9".to_owned())]]);
    let call = Statement { sql: "SELECT g($1)", params: &[Type::Int32], columns: &[Type::Decimal(2)] };
    let call = connection.prepare(&call, Prepare::Once).unwrap();
    let mut rows = Rows::new();
    connection.query(call, &[Value::Int(1234)], &mut rows).unwrap();
    assert_eq!(rows.decimal(0, 0, 2).unwrap(), 1234);
}
