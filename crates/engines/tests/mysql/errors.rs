//! Errors of statements: their kinds, and that the session goes on.

use dsbench_core::engine::{Connection, Isolation, Prepare, Statement, StatementId};
use dsbench_core::error::{Error, ErrorKind};
use dsbench_core::value::{Rows, Type};

use super::server::{Server, ADMIN};

fn with_table(server: &Server) -> Box<dyn Connection> {
    let mut connection = server.connect_to_test();
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

fn rows(connection: &mut dyn Connection, sql: &str) -> Vec<Vec<Option<String>>> {
    connection.fetch(sql).unwrap().rows
}

#[test]
fn the_kinds_are_those_of_the_codes_and_the_session_goes_on() {
    for server in Server::of_both(&[]) {
        let mut connection = with_table(&server);
        for (sql, kind, code) in [
            ("INSERT INTO t VALUES (1, 1)", ErrorKind::DuplicateKey, "1062"),
            ("INSERT INTO t VALUES (3, NULL)", ErrorKind::Statement, "1048"),
            ("INSERT INTO t VALUES (99999999999, 1)", ErrorKind::Statement, "1264"),
            ("SELEC 1", ErrorKind::Syntax, "1064"),
            ("SELECT * FROM nowhere", ErrorKind::Syntax, "1146"),
            ("SELECT nothing FROM t", ErrorKind::Syntax, "1054"),
            ("CALL nothing()", ErrorKind::Syntax, "1305"),
            ("CREATE TABLE t (a int)", ErrorKind::Statement, "1050"),
            ("CREATE TABLE u (a int) ENGINE = nothing", ErrorKind::Setup, "1286"),
            ("", ErrorKind::Syntax, "1065"),
        ] {
            let error = run(&mut *connection, sql).unwrap_err();
            assert_eq!((error.kind, error.code.as_str()), (kind, code), "{sql}: {error}");
            assert!(error.message.is_some(), "{sql}");
        }
        let syntax = connection.prepare(&Statement { sql: "SELEC 1", params: &[], columns: &[] }, Prepare::Once);
        assert_eq!(syntax.unwrap_err().kind, ErrorKind::Syntax);
        let three = Statement { sql: "SELECT ?, ?, ?", params: &[Type::Int32; 2], columns: &[Type::Int32; 3] };
        assert_eq!(connection.prepare(&three, Prepare::Once).unwrap_err().kind, ErrorKind::Statement);
        assert_eq!(run(&mut *connection, "INSERT INTO t VALUES (3, 3)").unwrap(), 1);
        assert_eq!(run(&mut *connection, "UPDATE t SET b = 5").unwrap(), 3);
        assert_eq!(run(&mut *connection, "UPDATE t SET b = 5").unwrap(), 3, "found, though not changed");
        assert_eq!(run(&mut *connection, "DELETE FROM t WHERE a = 3").unwrap(), 1);
        assert_eq!(connection.execute(StatementId(99), &[]).unwrap_err().kind, ErrorKind::Statement);
    }
}

#[test]
fn an_error_leaves_the_transaction_open_and_a_rollback_ends_it() {
    let server = Server::start();
    let mut connection = with_table(&server);
    connection.begin().unwrap();
    run(&mut *connection, "INSERT INTO t VALUES (7, 7)").unwrap();
    assert_eq!(run(&mut *connection, "INSERT INTO t VALUES (1, 1)").unwrap_err().kind, ErrorKind::DuplicateKey);
    run(&mut *connection, "INSERT INTO t VALUES (8, 8)").unwrap();
    connection.rollback().unwrap();
    assert_eq!(rows(&mut *connection, "SELECT count(*) FROM t"), [[Some("2".to_owned())]]);
    connection.begin().unwrap();
    run(&mut *connection, "INSERT INTO t VALUES (1, 1)").unwrap_err();
    run(&mut *connection, "INSERT INTO t VALUES (8, 8)").unwrap();
    connection.commit().unwrap();
    assert_eq!(rows(&mut *connection, "SELECT count(*) FROM t"), [[Some("3".to_owned())]]);
}

#[test]
fn begin_commit_and_rollback_know_whether_a_transaction_is_open() {
    for server in Server::of_both(&[]) {
        let mut connection = with_table(&server);
        connection.rollback().unwrap();
        assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Statement);
        connection.begin().unwrap();
        assert_eq!(connection.begin().unwrap_err().kind, ErrorKind::Statement);
        connection.rollback().unwrap();
        connection.rollback().unwrap();
        connection.begin().unwrap();
        // DDL commits what came before it.
        connection.script(&["CREATE TABLE other (a int)"]).unwrap();
        assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Statement);
    }
}

#[test]
fn a_session_has_its_settings_from_the_start() {
    for server in Server::of_both(&["--sql-mode=", "--character-set-server=latin1", "--default-time-zone=+05:00"]) {
        let mut connection = server.session_of(Isolation::Serializable);
        let settings = "SELECT @@autocommit, @@sql_mode, @@time_zone, @@character_set_client, @@character_set_results";
        let expected = ["1", "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION", "+00:00", "utf8mb4", "utf8mb4"];
        assert_eq!(rows(&mut *connection, settings), [expected.map(|text| Some(text.to_owned()))]);
        for (isolation, expected) in [
            (Isolation::ReadCommitted, "READ-COMMITTED"),
            (Isolation::RepeatableRead, "REPEATABLE-READ"),
            (Isolation::Serializable, "SERIALIZABLE"),
        ] {
            let mut connection = server.session_of(isolation);
            let found = rows(
                &mut *connection,
                "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')",
            );
            assert!(!found.is_empty() && found.iter().all(|row| row[1].as_deref() == Some(expected)), "{found:?}");
        }
    }
}

#[test]
fn scripts_and_fetches_report_and_go_on() {
    for server in Server::of_both(&[]) {
        let mut connection = server.connect_to_test();
        // Warnings, rows and several results in one element do no harm.
        connection.script(&["DROP TABLE IF EXISTS nothing", "SELECT 1; SELECT 2"]).unwrap();
        let error = connection.script(&["SELECT 1", "SELEC", "CREATE TABLE never (a int)"]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Syntax);
        let error = connection.script(&["SELECT 1; SELECT * FROM nowhere; SELECT 2"]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Syntax);
        let table = connection.fetch("SELECT 1 AS one, NULL AS none, 'grün' AS colour").unwrap();
        assert_eq!(table.columns, ["one", "none", "colour"]);
        assert_eq!(table.rows, [[Some("1".to_owned()), None, Some("grün".to_owned())]]);
        assert!(connection.fetch("SELECT * FROM never").is_err());
        assert!(connection.fetch("DO 1").unwrap().rows.is_empty());
    }
}

#[test]
fn a_local_file_is_never_sent() {
    let server = Server::start();
    let mut connection = with_table(&server);
    let steal = "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t";
    for error in [connection.script(&[steal]).unwrap_err(), run(&mut *connection, steal).unwrap_err()] {
        assert!(error.kind == ErrorKind::Statement && error.to_string().contains("local file"), "{error}");
    }
    assert_eq!(rows(&mut *connection, "SELECT count(*) FROM t"), [[Some("2".to_owned())]]);
}

#[test]
fn numbers_of_statements_are_those_of_every_connection() {
    let server = Server::start();
    let ids = [0, 1].map(|_| {
        let mut connection = server.connect();
        let mut prepare = |sql, way| connection.prepare(&Statement { sql, params: &[], columns: &[Type::Int64] }, way);
        let first = prepare("SELECT 1", Prepare::Once).unwrap();
        prepare("SELEC", Prepare::Once).unwrap_err();
        let ids = [first, prepare("SELECT 2", Prepare::Never).unwrap(), prepare("SELECT 3", Prepare::Once).unwrap()];
        let mut rows = Rows::new();
        for (id, expected) in ids.iter().zip(1..) {
            connection.query(*id, &[], &mut rows).unwrap();
            assert_eq!(rows.int(0, 0).unwrap(), expected);
        }
        ids
    });
    assert_eq!(ids, [[0, 1, 2].map(StatementId); 2]);
}

#[test]
fn what_is_wrong_with_a_storage_engine_is_said_at_once() {
    let server = Server::start();
    let connect = |name: &str, isolation| {
        let session = dsbench_core::engine::Session { isolation, ..ADMIN };
        server.engine_of(name).connect(session).map(|_| ())
    };
    let error = connect("RocksDB", Isolation::RepeatableRead).unwrap_err();
    assert!(error.kind == ErrorKind::Setup && error.to_string().contains("ha_rocksdb"), "{error}");
    let error = connect("RocksDB", Isolation::Serializable).unwrap_err();
    assert!(error.kind == ErrorKind::Configuration && error.to_string().contains("repeatable-read"), "{error}");
    connect("InnoDB", Isolation::Serializable).unwrap();
    let mut connection = server.engine_of("Aria").connect(ADMIN).unwrap();
    connection.script(&["CREATE DATABASE test", "CREATE TABLE test.t (a int)"]).unwrap();
    let engine = "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'test'";
    assert_eq!(rows(&mut *connection, engine), [[Some("Aria".to_owned())]]);
}
