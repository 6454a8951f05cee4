//! On PostgreSQL, on a server of the test's own.

use std::sync::Arc;

use dsbench_core::engine::{Connection, Engine, Prepare};
use dsbench_core::error::ErrorKind;
use dsbench_core::workload::{ClientId, Expected, Population};
use dsbench_workloads::Call;

use crate::bed::{self, broken, build, cycle, misses_change_nothing, open, run};
use crate::catalogue;
use crate::faults;
use crate::insert;
use crate::server::Server;
use crate::tp1;

fn one(conn: &mut dyn Connection, sql: &str) -> String {
    conn.fetch(sql).unwrap().rows[0][0].clone().unwrap()
}

#[test]
fn tpcb_leaves_a_consistent_bank_and_finds_every_fault() {
    let server = Server::start();
    let engine = server.engine();
    for (call, parts) in [(Call::Procedure, 1), (Call::Statements, 2)] {
        let workload = open(&*engine, "tpcb", call, 2);
        let mut conn = build(&*engine, &*workload, Population::Bulk, parts);
        assert!(broken(&*workload, &mut *conn, &Expected::default()).is_empty());
        let expected = run(&*engine, &*workload, 2, 200);
        assert!(broken(&*workload, &mut *conn, &expected).is_empty());
        faults::are_all_found(&*workload, &mut *conn, &expected);
        faults::of_counting_are_found(&*workload, &mut *conn, &expected);
        let narrow = "SELECT count(*) FROM account WHERE 4 + 4 + 8 + octet_length(filler) <> 100";
        assert_eq!(one(&mut *conn, narrow), "0");
        assert_eq!(one(&mut *conn, "SELECT min(4 * 4 + 8 + octet_length(filler)) FROM history"), "52");
        let keys = "SELECT count(*) FROM pg_constraint WHERE connamespace = 'dsbench'::regnamespace AND contype = ";
        assert_eq!(one(&mut *conn, &format!("{keys}'p'")), "3");
        assert_eq!(one(&mut *conn, &format!("{keys}'f'")), "5");
    }
}

#[test]
fn tp1_and_its_parts_find_every_fault() {
    let server = Server::start();
    tp1::is_consistent_and_finds_every_fault(server.engine(), &["heap", "indexed", "hashed", "partitioned"]);
}

#[test]
fn both_ways_to_populate_make_the_same_bank() {
    let server = Server::start();
    let engine = server.engine();
    let workload = open(&*engine, "select", Call::Procedure, 2);
    let mut found = [Population::Procedure, Population::Bulk].map(|how| {
        let mut conn = build(&*engine, &*workload, how, 1);
        let expected = run(&*engine, &*workload, 2, 100);
        assert!(broken(&*workload, &mut *conn, &expected).is_empty());
        ["branch", "teller", "account"].map(|table| {
            let widths = "sum(octet_length(filler)), count(DISTINCT filler)";
            let ids = match table {
                "branch" => "sum(bid)",
                "teller" => "sum(tid * 100000000000 + bid)",
                _ => "sum(aid * 10000000::numeric + bid)",
            };
            conn.fetch(&format!("SELECT count(*), {ids}, {widths} FROM {table}")).unwrap().rows
        })
    });
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0][2][0][3].take().as_deref(), Some("200000"), "no two fillers are alike");
}

#[test]
fn clients_that_compete_leave_a_consistent_bank() {
    let server = Server::start();
    let engine: Arc<dyn Engine> = server.engine().into();
    for call in [Call::Procedure, Call::Statements] {
        let workload: Arc<_> = open(&*engine, "tpcb", call, 1).into();
        let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
        let expected = cycle(Arc::clone(&engine), Arc::clone(&workload) as _);
        assert!(expected.committed[0] > 0);
        assert!(broken(&*workload, &mut *conn, &expected).is_empty(), "{call:?} {expected:?}");
    }
}

#[test]
fn a_transaction_that_misses_a_row_fails_and_changes_nothing() {
    let server = Server::start();
    let engine = server.engine();
    for call in [Call::Procedure, Call::Statements] {
        misses_change_nothing(&*engine, call);
    }
}

#[test]
fn calls_are_procedures_where_the_engine_has_them() {
    let postgres = dsbench_engines::open("postgresql://localhost/").unwrap();
    let sqlite = dsbench_engines::open("sqlite:///run.db").unwrap();
    for workload in ["tpcb", "select"] {
        assert_eq!(dsbench_workloads::default_call(workload, postgres.dialect()), Call::Procedure);
        assert_eq!(dsbench_workloads::default_call(workload, sqlite.dialect()), Call::Statements);
    }
}

#[test]
fn accounts_have_numbers_beyond_32_bits() {
    let server = Server::start();
    let call = "SELECT tpcb_transaction(2999950000, 299995, 30000, 5)";
    let populate = "SELECT tpcb_populate(30000)";
    bed::accounts_have_numbers_beyond_32_bits(&*server.engine(), Call::Procedure, &[populate], &[call]);
}

#[test]
fn the_insert_benchmark_leaves_what_it_wrote_and_finds_every_fault() {
    let server = Server::start();
    let engine = server.engine();
    insert::stages_are_as_published(&*engine);
    insert::nodes_that_share_a_table_delete_what_they_insert(&*engine);
    drop(insert::whole(&*engine, "shared", &["vacuum", "checkpoint"]));
    let (workload, mut conn, expected) = insert::whole(&*engine, "each", &["vacuum", "checkpoint"]);
    insert::faults_are_found(&*workload, &mut *conn, &expected);
    drop(conn);
    // An index that is not ready gets no entry of a new row; nor does it lose that of a row that is deleted.
    let damage = |conn: &mut dyn Connection, index: &str| {
        let ready = |ready| format!("UPDATE pg_index SET indisready = {ready} WHERE indexrelid = '{index}'::regclass");
        let columns = "dateandtime, cashregisterid, customerid, productid, price, data";
        let row = format!("INSERT INTO pi1 ({columns}) SELECT {columns} FROM pi1 LIMIT 1");
        conn.script(&[&ready(false), &row, &ready(true)]).unwrap();
    };
    let dropped = |name: &str| format!("DROP INDEX {name}");
    insert::damaged_indexes_are_found(&*engine, &*workload, &expected, &dropped, Some(&damage));
}

#[test]
fn scripts_do_what_they_say() {
    let server = Server::start();
    crate::script::works(&*server.engine());
}

/// Runs `script` once, prepared, on the tables of pgbench.
fn once(engine: &dyn Engine, script: &str) -> dsbench_core::error::Result<()> {
    let settings = [("scripts", format!("{} own.sql\n{script}", script.len()))];
    let settings = settings.each_ref().map(|(name, text)| (*name, text.as_str()));
    let workload = bed::open_with(engine, "scripted", Call::Statements, 1, &settings);
    let mut conn = engine.connect(bed::LOAD)?;
    let mut client = workload.client(ClientId::alone(0), 1);
    client.prepare(&mut *conn, Prepare::Once)?;
    client.draw(0);
    let done = client.execute(&mut *conn).map(|_| ());
    // Whatever came of it, the connection is in step, and no transaction is open.
    conn.begin().unwrap();
    conn.rollback().unwrap();
    assert_eq!(one(&mut *conn, "SELECT 7"), "7");
    done
}

#[test]
fn a_pipeline_does_what_its_statements_say_and_ends_with_its_errors() {
    let server = Server::start();
    let engine = server.engine();
    let workload = bed::open_with(&*engine, "scripted", Call::Statements, 1, &[("builtin", "select-only")]);
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    let mut kept = |engine: &dyn Engine, script: &str| {
        conn.script(&["DELETE FROM pgbench_history"]).unwrap();
        let done = once(engine, script).map_err(|error| (error.kind, error.to_string()));
        let left = "SELECT coalesce(string_agg(tid::text, ',' ORDER BY tid), '') FROM pgbench_history";
        (done, one(&mut *conn, left))
    };
    let add = |number: u32| format!("INSERT INTO pgbench_history (tid) VALUES ({number});\n");
    let wrong = "INSERT INTO pgbench_branches (bid) VALUES (1);\n";
    let (one_, two, three) = (add(1), add(2), add(3));
    let whole = format!(
        "\\set x 9\nBEGIN;\n\\startpipeline\n{one_}INSERT INTO pgbench_history (tid) VALUES (:x);\nEND;\n\\syncpipeline\n\
         {two}BEGIN;\n{three}ROLLBACK;\n\\endpipeline\n"
    );
    // What stands between a point of synchronisation and BEGIN is part of the transaction that BEGIN makes of it.
    assert_eq!(kept(&*engine, &whole), (Ok(()), "1,9".into()));
    let broken = format!("\\startpipeline\nBEGIN;\n{one_}{wrong}{two}END;\n\\syncpipeline\n\\endpipeline\n{three}");
    let (done, left) = kept(&*engine, &broken);
    assert_eq!((done.unwrap_err().0, left.as_str()), (ErrorKind::DuplicateKey, ""));
    let later = format!("\\startpipeline\n{one_}{wrong}\\syncpipeline\n{two}\\endpipeline\n");
    let (done, left) = kept(&*engine, &later);
    assert_eq!((done.unwrap_err().0, left.as_str()), (ErrorKind::DuplicateKey, "2"));
    for (script, why) in [
        (format!("{one_}\\endpipeline"), "own.sql:2: not in pipeline mode"),
        (format!("\\startpipeline\n{one_}\\startpipeline\n\\endpipeline"), "own.sql:3: already in pipeline mode"),
        (
            "\\startpipeline\nSELECT 1 AS a \\gset\n\\endpipeline".into(),
            "own.sql:2: \\gset is not allowed in pipeline mode",
        ),
    ] {
        let (kind, said) = kept(&*engine, &script).0.unwrap_err();
        assert!(kind == ErrorKind::Configuration && said.contains(why), "{said}");
    }
}

#[test]
fn damaged_indexes_and_keys_are_found_in_the_catalogue() {
    let server = Server::start();
    let invalid =
        |name| format!("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'dsbench.{name}'::regclass");
    let faults = [
        "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b, c) WHERE b > 100",
        "DROP INDEX t_bc; CREATE INDEX t_bc ON t (b, lower(c))",
        "ALTER TABLE t DROP CONSTRAINT t_pkey",
        "ALTER TABLE t DROP CONSTRAINT t_u",
        "ALTER TABLE t DROP CONSTRAINT t_u; ALTER TABLE t ADD CONSTRAINT t_u FOREIGN KEY (b) REFERENCES u (a) NOT VALID",
        "ALTER TABLE t DROP CONSTRAINT t_u; ALTER TABLE t ADD CONSTRAINT t_u FOREIGN KEY (d) REFERENCES u (a)",
        &invalid("t_bc"),
        &invalid("t_pkey"),
    ];
    catalogue::faults_are_found(&*server.engine(), &faults);
}
