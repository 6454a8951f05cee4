//! What one product is enough for: SQLite, which is the fastest.

use dsbench_core::engine::Prepare;
use dsbench_core::error::ErrorKind;
use dsbench_core::value::Table;
use dsbench_core::workload::{ClientId, Expected, Part, Population, Progress};
use dsbench_workloads::Call;

use crate::bed::{self, broken, build, open, options, run, transact, LOAD};
use crate::home::Product;

#[test]
fn four_parts_make_the_same_rows_as_one() {
    let contents = [1, 4].map(|parts| {
        let home = Product::Sqlite.home();
        let engine = home.engine();
        let workload = open(&*engine, "tpcb", Call::Statements, 1);
        let mut conn = build(&*engine, &*workload, Population::Bulk, parts);
        ["branch", "teller", "account", "history"]
            .map(|table| conn.fetch(&format!("SELECT * FROM {table} ORDER BY 1")).unwrap())
    });
    assert_eq!(contents[0].each_ref().map(|table: &Table| table.rows.len()), [1, 10, 100_000, 0]);
    assert!(contents[0] == contents[1]);
    let account = &contents[0][2];
    assert!(account.rows.iter().all(|row| row[3].as_ref().is_some_and(|filler| filler.len() == 100)));
}

#[test]
fn select_finds_rows_that_are_missing_or_were_written_to() {
    let home = Product::Sqlite.home();
    let engine = home.engine();
    let workload = open(&*engine, "select", Call::Statements, 1);
    let mut conn = build(&*engine, &*workload, Population::Bulk, 2);
    let expected = run(&*engine, &*workload, 2, 200);
    assert!(broken(&*workload, &mut *conn, &expected).is_empty());
    for (sql, names) in [
        ("DELETE FROM account WHERE aid = 5", &["account rows", "account as loaded, but for balances"][..]),
        ("UPDATE branch SET bbalance = 1", &["branch sum = 0"]),
        ("UPDATE teller SET tbalance = 1 WHERE tid = 3", &["teller sum = 0"]),
        ("UPDATE account SET abalance = -1 WHERE aid = 9", &["account sum = 0"]),
        ("INSERT INTO history VALUES (1, 1, 1, 0, 0, 'x')", &["history rows = 0"]),
    ] {
        conn.begin().unwrap();
        conn.script(&[sql]).unwrap();
        assert_eq!(broken(&*workload, &mut *conn, &expected), names, "{sql}");
        conn.rollback().unwrap();
    }
    conn.script(&["DELETE FROM account"]).unwrap();
    let mut client = workload.client(ClientId::alone(0), 1);
    client.prepare(&mut *conn, Prepare::Once).unwrap();
    let drawn = client.draw(0);
    assert!(transact(&mut *conn, &mut *client, drawn.shape).is_err(), "an account that is not there is no success");
}

#[test]
fn a_transaction_that_misses_a_row_fails_and_changes_nothing() {
    let home = Product::Sqlite.home();
    let engine = home.engine();
    let workload = open(&*engine, "tpcb", Call::Statements, 1);
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    for missing in ["account", "teller", "branch"] {
        conn.script(&["PRAGMA foreign_keys=off"]).unwrap();
        conn.script(&[
            &format!("ALTER TABLE {missing} RENAME TO kept"),
            &format!("CREATE TABLE {missing} AS SELECT * FROM kept WHERE false"),
        ])
        .unwrap();
        let mut client = workload.client(ClientId::alone(0), 1);
        client.prepare(&mut *conn, Prepare::Once).unwrap();
        let drawn = client.draw(0);
        let error = transact(&mut *conn, &mut *client, drawn.shape).unwrap_err();
        assert!(error.kind == ErrorKind::Statement && format!("{error:#}").contains(missing), "{error}");
        conn.script(&[&format!("DROP TABLE {missing}"), &format!("ALTER TABLE kept RENAME TO {missing}")]).unwrap();
    }
    assert!(broken(&*workload, &mut *conn, &Expected::default()).is_empty());
}

#[test]
fn a_row_without_its_branch_stops_the_foreign_keys() {
    let home = Product::Sqlite.home();
    let engine = home.engine();
    let workload = open(&*engine, "tpcb", Call::Statements, 1);
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    conn.script(&["PRAGMA foreign_keys=off", "UPDATE account SET bid = 9 WHERE aid IN (4, 5)"]).unwrap();
    let error = workload.foreign_keys(&mut *conn, &Progress::default()).unwrap_err();
    assert!(error.kind == ErrorKind::Statement && format!("{error:#}").contains("2 rows"), "{error}");
}

#[test]
fn a_wish_to_stop_ends_the_population_and_leaves_no_half_chunk() {
    let home = Product::Sqlite.home();
    let engine = home.engine();
    let workload = open(&*engine, "tpcb", Call::Statements, 1);
    engine.place().create("test").unwrap();
    let mut conn = engine.connect(LOAD).unwrap();
    workload.create(&mut *conn).unwrap();
    let progress = Progress::default();
    progress.request_stop();
    let part = Part { index: 1, count: 2 };
    assert_eq!(workload.populate(&mut *conn, Population::Bulk, part, &progress).unwrap_err().kind, ErrorKind::Setup);
    assert_eq!(conn.fetch("SELECT count(*) FROM account").unwrap().rows[0][0].as_deref(), Some("0"));
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let home = Product::Sqlite.home();
    let engine = home.engine();
    let dialect = engine.dialect();
    let refused = |name, scale, call| {
        let error = dsbench_workloads::open(name, &options(&*engine, call, scale, &[])).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Configuration);
        format!("{error:#}")
    };
    for (name, range) in [("tpcb", "1 to 200000"), ("select", "1 to 200000"), ("tpcc", "1 to 99999")] {
        assert!(refused(name, 0, Call::Statements).contains(range));
        assert!(refused(name, 300_000, Call::Statements).contains(range));
        assert!(refused(name, 1, Call::Procedure).contains("--call statements"));
        assert_eq!(dsbench_workloads::default_call(name, dialect), Call::Statements);
    }
    assert!(refused("tpcd", 1, Call::Statements).contains("tpcb, tpcc, select"));
    let workload = open(&*engine, "tpcb", Call::Statements, 1);
    engine.place().create("test").unwrap();
    let mut conn = engine.connect(LOAD).unwrap();
    let (part, progress) = (Part { index: 0, count: 1 }, Progress::default());
    let error = workload.populate(&mut *conn, Population::Procedure, part, &progress).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Configuration);
}

#[test]
fn calls_are_procedures_where_the_engine_has_them() {
    for (url, call) in [
        ("postgresql://localhost/", Call::Procedure),
        ("mysql://me@localhost/", Call::Procedure),
        ("mariadb://me@localhost/", Call::Procedure),
        ("sqlite:///run.db", Call::Statements),
    ] {
        let engine = dsbench_engines::open(url).unwrap();
        for workload in ["tpcb", "select"] {
            assert_eq!(dsbench_workloads::default_call(workload, engine.dialect()), call);
        }
    }
}

#[test]
fn inputs_are_a_function_of_seed_client_and_number() {
    let home = Product::Sqlite.home();
    let engine = home.engine();
    // The rehearsal draws none, a stream of T1 amends the same row each time, and the power test of tpch has one client.
    let others = ["rehearsal", "t1", "tpch"];
    for name in dsbench_workloads::names().into_iter().filter(|name| !others.contains(name)) {
        let workload = open(&*engine, name, Call::Statements, 50);
        let inputs = |seed, client, numbers: &[u64]| -> Vec<String> {
            let mut client = workload.client(ClientId::alone(client), seed);
            let mut drawn = |number: &u64| {
                client.draw(*number);
                client.describe()
            };
            numbers.iter().map(&mut drawn).collect()
        };
        let first = inputs(1, 2, &[0, 1, 2]);
        assert_eq!(inputs(1, 2, &[2, 0]), [first[2].clone(), first[0].clone()], "whatever was drawn before");
        assert!(
            first[0] != first[1] && inputs(2, 2, &[0, 1, 2]) != first && inputs(1, 3, &[0, 1, 2]) != first,
            "{name}"
        );
    }
}

/// SQLite keeps a transaction open whose COMMIT it refused.
#[test]
fn a_script_whose_commit_fails_leaves_no_transaction_open() {
    let home = Product::Sqlite.home();
    let engine = home.engine();
    let tables = bed::open_with(&*engine, "scripted", Call::Statements, 1, &[("builtin", "select-only")]);
    let mut conn = build(&*engine, &*tables, Population::Bulk, 1);
    conn.script(&["CREATE TABLE child (bid integer REFERENCES pgbench_branches (bid) DEFERRABLE INITIALLY DEFERRED)"])
        .unwrap();
    let script = "BEGIN;\nINSERT INTO child (bid) VALUES (7);\nEND;";
    let text = format!("{} own.sql\n{script}", script.len());
    let workload = bed::open_with(&*engine, "scripted", Call::Statements, 1, &[("scripts", &text)]);
    let mut client = workload.client(ClientId::alone(0), 1);
    client.prepare(&mut *conn, Prepare::Once).unwrap();
    client.draw(0);
    client.execute(&mut *conn).unwrap_err();
    conn.begin().unwrap();
    conn.rollback().unwrap();
    assert_eq!(conn.fetch("SELECT count(*) FROM child").unwrap().rows[0][0].as_deref(), Some("0"));
}
