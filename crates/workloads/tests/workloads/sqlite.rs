//! On SQLite.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use dsbench_core::engine::{Connection, Engine, Prepare};
use dsbench_core::error::ErrorKind;
use dsbench_core::value::Table;
use dsbench_core::workload::{ClientId, Expected, Part, Population, Progress};
use dsbench_workloads::{Call, Options, Settings};

use crate::bed::{self, broken, build, cycle, open, run, transact, LOAD};
use crate::catalogue;
use crate::faults;
use crate::insert;
use crate::tp1;

/// A folder with a database, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("dsbench-workloads-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Durability is not what these tests are about.
    fn engine(&self) -> Box<dyn Engine> {
        dsbench_engines::open(&format!("sqlite:///{}/bank.db?synchronous=off", self.0.display())).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn tpcb_leaves_a_consistent_bank_and_finds_every_fault() {
    let folder = Folder::new();
    let engine = folder.engine();
    let workload = open(&*engine, "tpcb", Call::Statements, 2);
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    assert!(broken(&*workload, &mut *conn, &Expected::default()).is_empty(), "nothing ran, nothing is there");
    let expected = run(&*engine, &*workload, 2, 200);
    assert!(expected.sums.iter().any(|(name, remote)| name == "remote" && (30..=90).contains(remote)), "{expected:?}");
    assert!(broken(&*workload, &mut *conn, &expected).is_empty());
    faults::are_all_found(&*workload, &mut *conn, &expected);
    faults::of_counting_are_found(&*workload, &mut *conn, &expected);
}

#[test]
fn tp1_and_its_parts_find_every_fault() {
    let folder = Folder::new();
    tp1::is_consistent_and_finds_every_fault(folder.engine(), &["heap", "indexed"]);
}

#[test]
fn clients_that_compete_leave_a_consistent_bank() {
    let folder = Folder::new();
    let engine: Arc<dyn Engine> = folder.engine().into();
    let workload: Arc<_> = open(&*engine, "tpcb", Call::Statements, 1).into();
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    let expected = cycle(Arc::clone(&engine), Arc::clone(&workload) as _);
    assert!(expected.committed[0] > 0);
    assert!(broken(&*workload, &mut *conn, &expected).is_empty());
}

#[test]
fn four_parts_make_the_same_rows_as_one() {
    let contents = [1, 4].map(|parts| {
        let folder = Folder::new();
        let engine = folder.engine();
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
    let folder = Folder::new();
    let engine = folder.engine();
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
    let folder = Folder::new();
    let engine = folder.engine();
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
        assert!(error.kind == ErrorKind::Statement && error.to_string().contains(missing), "{error}");
        conn.script(&[&format!("DROP TABLE {missing}"), &format!("ALTER TABLE kept RENAME TO {missing}")]).unwrap();
    }
    assert!(broken(&*workload, &mut *conn, &Expected::default()).is_empty());
}

#[test]
fn a_row_without_its_branch_stops_the_foreign_keys() {
    let folder = Folder::new();
    let engine = folder.engine();
    let workload = open(&*engine, "tpcb", Call::Statements, 1);
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    conn.script(&["PRAGMA foreign_keys=off", "UPDATE account SET bid = 9 WHERE aid IN (4, 5)"]).unwrap();
    let error = workload.foreign_keys(&mut *conn, &Progress::default()).unwrap_err();
    assert!(error.kind == ErrorKind::Statement && error.to_string().contains("2 rows"), "{error}");
}

#[test]
fn a_wish_to_stop_ends_the_population_and_leaves_no_half_chunk() {
    let folder = Folder::new();
    let engine = folder.engine();
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
    let folder = Folder::new();
    let engine = folder.engine();
    let dialect = engine.dialect();
    let refused = |name, scale, call| {
        let error =
            dsbench_workloads::open(name, &Options { scale, dialect, call, clients: 1, settings: Settings::default() })
                .err()
                .unwrap();
        assert_eq!(error.kind, ErrorKind::Configuration);
        error.to_string()
    };
    for (name, range) in [("tpcb", "1 to 200000"), ("select", "1 to 200000"), ("tpcc", "1 to 99999")] {
        assert!(refused(name, 0, Call::Statements).contains(range));
        assert!(refused(name, 300_000, Call::Statements).contains(range));
        assert!(refused(name, 1, Call::Procedure).contains("--call statements"));
        assert_eq!(dsbench_workloads::default_call(name, dialect), Call::Statements);
    }
    assert!(refused("tpch", 1, Call::Statements).contains("tpcb, tpcc, select"));
    let workload = open(&*engine, "tpcb", Call::Statements, 1);
    engine.place().create("test").unwrap();
    let mut conn = engine.connect(LOAD).unwrap();
    let (part, progress) = (Part { index: 0, count: 1 }, Progress::default());
    let error = workload.populate(&mut *conn, Population::Procedure, part, &progress).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Configuration);
}

#[test]
fn inputs_are_a_function_of_seed_client_and_number() {
    let folder = Folder::new();
    let engine = folder.engine();
    // The rehearsal draws none, and a stream of T1 amends the same row each time.
    for name in dsbench_workloads::names().into_iter().filter(|name| !["rehearsal", "t1"].contains(name)) {
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

#[test]
fn accounts_have_numbers_beyond_32_bits() {
    let folder = Folder::new();
    let populate = [
        "INSERT INTO branch VALUES (30000, 0, '')",
        "INSERT INTO teller VALUES (299995, 30000, 0, '')",
        "INSERT INTO account VALUES (2999950000, 30000, 0, '')",
    ];
    let call = [
        "UPDATE account SET abalance = 5 WHERE aid = 2999950000",
        "INSERT INTO history VALUES (299995, 30000, 2999950000, 5, 0, '')",
    ];
    bed::accounts_have_numbers_beyond_32_bits(&*folder.engine(), Call::Statements, &populate, &call);
}

#[test]
fn the_insert_benchmark_leaves_what_it_wrote_and_finds_every_fault() {
    let folder = Folder::new();
    let engine = folder.engine();
    insert::stages_are_as_published(&*engine);
    insert::nodes_that_share_a_table_delete_what_they_insert(&*engine);
    drop(insert::whole(&*engine, "shared", &["analyze", "checkpoint"]));
    let (workload, mut conn, expected) = insert::whole(&*engine, "each", &["analyze", "checkpoint"]);
    insert::faults_are_found(&*workload, &mut *conn, &expected);
    drop(conn);
    // An index that the schema does not know of gets no entry of a new row.
    let damage = |conn: &mut dyn Connection, index: &str| {
        let columns = "dateandtime, cashregisterid, customerid, productid, price, data";
        conn.script(&[
            &format!("CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = '{index}'"),
            "PRAGMA writable_schema = ON",
            &format!("DELETE FROM sqlite_schema WHERE name = '{index}'"),
            "PRAGMA writable_schema = RESET",
            &format!("INSERT INTO pi1 ({columns}) SELECT {columns} FROM pi1 LIMIT 1"),
            "PRAGMA writable_schema = ON",
            "INSERT INTO sqlite_schema SELECT * FROM kept",
            "PRAGMA writable_schema = RESET",
            "DROP TABLE kept",
        ])
        .unwrap();
    };
    let dropped = |name: &str| format!("DROP INDEX {name}");
    insert::damaged_indexes_are_found(&*engine, &*workload, &expected, &dropped, Some(&damage));
}

#[test]
fn scripts_do_what_they_say() {
    let folder = Folder::new();
    crate::script::works(&*folder.engine());
}

/// SQLite keeps a transaction open whose COMMIT it refused.
#[test]
fn a_script_whose_commit_fails_leaves_no_transaction_open() {
    let folder = Folder::new();
    let engine = folder.engine();
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

#[test]
fn damaged_indexes_and_keys_are_found_in_the_catalogue() {
    let folder = Folder::new();
    let faults = [
        "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b, c) WHERE b > 100",
        "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b, lower(c))",
        "DROP TABLE t; CREATE TABLE t (a integer NOT NULL PRIMARY KEY, b integer NOT NULL, c varchar(20) NOT NULL, d \
         integer NOT NULL); CREATE INDEX t_bc ON t (b, c); CREATE UNIQUE INDEX t_d ON t (d)",
    ];
    catalogue::faults_are_found(&*folder.engine(), &faults);
}
