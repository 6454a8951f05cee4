//! Errors of statements: their kinds, and that the session goes on.

use dsbench_core::engine::{Isolation, Prepare, Session, Statement, StatementId};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::{Rows, Type, Value};

use crate::server::{Server, ADMIN};
use crate::{cell, rows, run, with_table, Wire, WAYS};

for_both!(
    the_kinds_are_those_of_the_codes_and_the_session_goes_on,
    begin_commit_and_rollback_know_whether_a_transaction_is_open,
    scripts_and_fetches_report_and_go_on,
    an_error_in_a_transaction_spoils_it_or_leaves_it_as_the_product_does,
);

fn the_kinds_are_those_of_the_codes_and_the_session_goes_on(wire: Wire) {
    let both = [
        ("INSERT INTO t VALUES (1, 1)", ErrorKind::DuplicateKey, wire.either("23505", "1062")),
        ("INSERT INTO t VALUES (3, NULL)", ErrorKind::Statement, wire.either("23502", "1048")),
        ("INSERT INTO t VALUES (99999999999, 1)", ErrorKind::Statement, wire.either("22003", "1264")),
        ("SELEC 1", ErrorKind::Syntax, wire.either("42601", "1064")),
        ("SELECT * FROM nowhere", ErrorKind::Syntax, wire.either("42P01", "1146")),
        ("SELECT nothing FROM t", ErrorKind::Syntax, wire.either("42703", "1054")),
        ("CREATE TABLE t (a int)", ErrorKind::Statement, wire.either("42P07", "1050")),
    ];
    let own = wire.either(
        [
            ("SELECT 1 / 0", ErrorKind::Statement, "22012"),
            ("SELECT $1::int", ErrorKind::Statement, ""),
            ("LOCK TABLE t NOWAIT", ErrorKind::Statement, "25P01"),
        ],
        [
            ("CALL nothing()", ErrorKind::Syntax, "1305"),
            ("CREATE TABLE u (a int) ENGINE = nothing", ErrorKind::Setup, "1286"),
            ("", ErrorKind::Syntax, "1065"),
        ],
    );
    for server in wire.servers(&[]) {
        let mut connection = with_table(&server);
        for (sql, kind, code) in both.into_iter().chain(own) {
            let error = run(&mut *connection, sql).unwrap_err();
            assert_eq!((error.kind, error.code.as_str()), (kind, code), "{sql}: {error}");
            assert!(error.message.is_some(), "{sql}");
        }
        let error = wire.prepare(&mut *connection, "SELEC 1", &[], &[], Prepare::Once).unwrap_err();
        assert_eq!((error.kind, error.code.as_str()), (ErrorKind::Syntax, wire.either("42601", "1064")));
        let three =
            wire.prepare(&mut *connection, "SELECT ?, ?, ?", &[Type::Int32; 2], &[Type::Int32; 3], Prepare::Once);
        assert_eq!(three.unwrap_err().kind, ErrorKind::Statement);
        assert_eq!(run(&mut *connection, "INSERT INTO t VALUES (3, 3)").unwrap(), 1);
        assert_eq!(run(&mut *connection, "UPDATE t SET b = 5").unwrap(), 3);
        assert_eq!(run(&mut *connection, "UPDATE t SET b = 5").unwrap(), 3, "found, though not changed");
        assert_eq!(run(&mut *connection, "DELETE FROM t WHERE a = 3").unwrap(), 1);
        assert_eq!(connection.execute(StatementId(99), &[]).unwrap_err().kind, ErrorKind::Statement);
    }
}

fn begin_commit_and_rollback_know_whether_a_transaction_is_open(wire: Wire) {
    for server in wire.servers(&[]) {
        let mut connection = server.session(Isolation::Serializable);
        connection.rollback().unwrap();
        assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Statement);
        connection.begin().unwrap();
        assert_eq!(connection.begin().unwrap_err().kind, ErrorKind::Statement);
        connection.rollback().unwrap();
        connection.rollback().unwrap();
        connection.begin().unwrap();
        if wire == Wire::Postgres {
            assert_eq!(cell(&mut *connection, "SHOW transaction_isolation"), "serializable");
            connection.commit().unwrap();
        } else {
            // DDL commits what came before it.
            connection.script(&["CREATE TABLE other (a int)"]).unwrap();
            assert_eq!(connection.commit().unwrap_err().kind, ErrorKind::Statement);
        }
    }
}

fn scripts_and_fetches_report_and_go_on(wire: Wire) {
    for server in wire.servers(&[]) {
        let mut connection = server.connect();
        // Warnings, notices, rows and several results in one element do no harm.
        connection.script(&["DROP TABLE IF EXISTS nothing", "SELECT 1; SELECT 2"]).unwrap();
        for wrong in [&["SELECT 1", "SELEC", "CREATE TABLE never (a int)"][..], &["SELECT 1; SELECT * FROM nowhere"]] {
            assert_eq!(connection.script(wrong).unwrap_err().kind, ErrorKind::Syntax);
        }
        let table = connection.fetch("SELECT 1 AS one, NULL AS none, 'grün' AS colour").unwrap();
        assert_eq!(table.columns, ["one", "none", "colour"]);
        assert_eq!(table.rows, [[Some("1".to_owned()), None, Some("grün".to_owned())]]);
        assert!(connection.fetch("SELECT * FROM never").is_err());
        if wire == Wire::Mysql {
            assert!(connection.fetch("DO 1").unwrap().rows.is_empty());
            continue;
        }
        connection.script(&["", "VACUUM"]).unwrap();
        assert_eq!(connection.fetch("SELECT 1\0").unwrap_err().kind, ErrorKind::Syntax);
        assert!(connection.fetch("COPY (SELECT 1) TO STDOUT").unwrap().rows.is_empty());
        connection.script(&["CREATE TABLE c (a int)"]).unwrap();
        for way in WAYS {
            let copy = wire.prepare(&mut *connection, "COPY c FROM STDIN", &[], &[], way).unwrap();
            let errors = [connection.script(&["COPY c FROM STDIN"]), connection.execute(copy, &[]).map(|_| ())];
            assert!(errors.iter().all(|e| e.as_ref().unwrap_err().to_string().contains("bulk load")), "{errors:?}");
            assert!(rows(&mut *connection, "SELECT * FROM c").is_empty());
        }
    }
}

fn an_error_in_a_transaction_spoils_it_or_leaves_it_as_the_product_does(wire: Wire) {
    let count = "SELECT count(*) FROM t";
    for server in wire.servers(&[]) {
        let mut connection = with_table(&server);
        for ends in [false, true] {
            connection.begin().unwrap();
            run(&mut *connection, "INSERT INTO t VALUES (7, 7)").unwrap();
            let error = run(&mut *connection, "INSERT INTO t VALUES (1, 1)").unwrap_err();
            assert_eq!(error.kind, ErrorKind::DuplicateKey);
            let mut later = vec![run(&mut *connection, "INSERT INTO t VALUES (8, 8)").map(|_| ())];
            match ends {
                false => connection.rollback().unwrap(),
                true => later.push(connection.commit()),
            }
            let failed = later.iter().filter_map(|done| done.as_ref().err());
            let failed: Vec<_> = failed.map(|error| (error.kind, error.code.as_str())).collect();
            // A commit of a failed transaction is no success.
            let expected = vec![(ErrorKind::Statement, "25P02"); later.len()];
            assert_eq!(failed, wire.either(expected, vec![]));
            let kept = if ends { wire.either("2", "4") } else { "2" };
            assert_eq!(cell(&mut *connection, count), kept);
        }
        connection.begin().unwrap();
        connection.commit().unwrap();
    }
}

#[test]
fn a_session_of_mysql_has_its_settings_from_the_start() {
    let options = ["--sql-mode=", "--character-set-server=latin1", "--default-time-zone=+05:00"];
    for server in Server::of_both(&options) {
        let mut connection = server.session(Isolation::Serializable);
        let settings = "SELECT @@autocommit, @@sql_mode, @@time_zone, @@character_set_client, @@character_set_results";
        let expected = ["1", "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION", "+00:00", "utf8mb4", "utf8mb4"];
        assert_eq!(rows(&mut *connection, settings), [expected.map(|text| Some(text.to_owned()))]);
        for (isolation, expected) in [
            (Isolation::ReadCommitted, "READ-COMMITTED"),
            (Isolation::RepeatableRead, "REPEATABLE-READ"),
            (Isolation::Serializable, "SERIALIZABLE"),
        ] {
            let level = "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')";
            let found = rows(&mut *server.session(isolation), level);
            assert!(!found.is_empty() && found.iter().all(|row| row[1].as_deref() == Some(expected)), "{found:?}");
        }
    }
}

#[test]
fn a_session_of_postgres_has_its_settings_from_the_start() {
    let server = Server::postgres();
    let settings = "SELECT string_agg(current_setting(name), '|' ORDER BY name) FROM unnest(ARRAY['application_name', \
        'client_encoding', 'default_transaction_isolation', 'search_path', 'work_mem']) name";
    let engine = dsbench_engines::open(&format!("{}&options=-c%20work_mem%3D1234kB", server.url())).unwrap();
    let in_place = Session { isolation: Isolation::RepeatableRead, in_place: true };
    let found = cell(&mut *engine.connect(in_place).unwrap(), settings);
    assert_eq!(found, "dsbench|UTF8|repeatable read|dsbench|1234kB");
    let found = cell(&mut *server.connect(), settings);
    assert!(found.starts_with("dsbench|UTF8|read committed|\"$user\", public|"), "{found}");
}

#[test]
fn a_function_of_postgres_that_returns_nothing_can_be_executed() {
    let server = Server::postgres();
    let mut connection = with_table(&server);
    connection
        .script(&[
            "CREATE FUNCTION f(x int) RETURNS void LANGUAGE sql AS $$ UPDATE t SET b = x $$",
            "CREATE FUNCTION g(x int) RETURNS numeric(12, 2) LANGUAGE sql AS $$ SELECT x / 100.0 $$",
        ])
        .unwrap();
    let mut prepare = |sql, columns: &[Type]| {
        connection.prepare(&Statement { sql, params: &[Type::Int32], columns }, Prepare::Once).unwrap()
    };
    let [f, g] = [prepare("SELECT f($1)", &[]), prepare("SELECT g($1)", &[Type::Decimal(2)])];
    assert_eq!(connection.execute(f, &[Value::Int(9)]).unwrap(), 1, "a row of nothing");
    assert_eq!(rows(&mut *connection, "SELECT DISTINCT b FROM t"), [[Some("9".to_owned())]]);
    let mut found = Rows::new();
    connection.query(g, &[Value::Int(1234)], &mut found).unwrap();
    assert_eq!(found.decimal(0, 0, 2).unwrap(), 1234);
}

#[test]
fn a_local_file_is_never_sent_to_mysql() {
    let server = Server::mariadb();
    let mut connection = with_table(&server);
    let steal = "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t";
    for error in [connection.script(&[steal]).unwrap_err(), run(&mut *connection, steal).unwrap_err()] {
        assert!(error.kind == ErrorKind::Statement && format!("{error:#}").contains("local file"), "{error}");
    }
    assert_eq!(cell(&mut *connection, "SELECT count(*) FROM t"), "2");
}

#[test]
fn numbers_of_statements_are_those_of_every_connection_of_mysql() {
    let server = Server::mariadb();
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
fn what_is_wrong_with_a_storage_engine_of_mysql_is_said_at_once() {
    let server = Server::mariadb();
    let connect = |name: &str, isolation| {
        let session = Session { isolation, ..ADMIN };
        server.engine_of(name).connect(session).map(|_| ())
    };
    let error = connect("RocksDB", Isolation::RepeatableRead).unwrap_err();
    assert!(error.kind == ErrorKind::Setup && format!("{error:#}").contains("ha_rocksdb"), "{error}");
    let error = connect("RocksDB", Isolation::Serializable).unwrap_err();
    assert!(error.kind == ErrorKind::Configuration && format!("{error:#}").contains("repeatable-read"), "{error}");
    connect("InnoDB", Isolation::Serializable).unwrap();
    let mut connection = server.engine_of("Aria").connect(ADMIN).unwrap();
    connection.script(&["CREATE TABLE t (a int)"]).unwrap();
    let engine = "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'test'";
    assert_eq!(rows(&mut *connection, engine), [[Some("Aria".to_owned())]]);
}
