//! On MariaDB, with InnoDB and with MyRocks; and on MySQL, where it is.

use std::sync::Arc;

use dsbench_core::engine::{Connection, Engine};
use dsbench_core::workload::{Expected, Population};
use dsbench_workloads::Call;

use crate::bed::{self, broken, build, cycle, misses_change_nothing, none_refers_to_nothing, open, run};
use crate::catalogue;
use crate::faults;
use crate::insert;
use crate::mysql_server::Server;
use crate::tp1;

fn one(conn: &mut dyn Connection, sql: &str) -> String {
    conn.fetch(sql).unwrap().rows[0][0].clone().unwrap()
}

/// The engine of each storage engine that there is, with the name of it.
fn engines(server: &Server) -> [(&'static str, Box<dyn Engine>); 2] {
    ["InnoDB", "RocksDB"].map(|name| (name, server.engine_of(name)))
}

#[test]
fn tpcb_leaves_a_consistent_bank_and_finds_every_fault() {
    let server = Server::start_with_rocksdb();
    let every = [("InnoDB", Call::Procedure, 1), ("InnoDB", Call::Statements, 2), ("RocksDB", Call::Procedure, 2)];
    for (name, call, parts) in every {
        let engine = server.engine_of(name);
        let workload = open(&*engine, "tpcb", call, 2);
        let mut conn = build(&*engine, &*workload, Population::Bulk, parts);
        let found = "SELECT DISTINCT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'dsbench'";
        assert!(one(&mut *conn, found).eq_ignore_ascii_case(name));
        assert!(broken(&*workload, &mut *conn, &Expected::default()).is_empty());
        let expected = run(&*engine, &*workload, 2, 200);
        assert!(broken(&*workload, &mut *conn, &expected).is_empty());
        faults::are_all_found(&*workload, &mut *conn, &expected);
        faults::of_counting_are_found(&*workload, &mut *conn, &expected);
        let narrow = "SELECT count(*) FROM account WHERE 4 + 4 + 8 + octet_length(filler) <> 100";
        assert_eq!(one(&mut *conn, narrow), "0");
        assert_eq!(one(&mut *conn, "SELECT min(4 * 4 + 8 + octet_length(filler)) FROM history"), "52");
        let keys = "SELECT count(*) FROM information_schema.TABLE_CONSTRAINTS \
            WHERE CONSTRAINT_SCHEMA = 'dsbench' AND CONSTRAINT_TYPE = ";
        assert_eq!(one(&mut *conn, &format!("{keys}'PRIMARY KEY'")), "3");
        assert_eq!(one(&mut *conn, &format!("{keys}'FOREIGN KEY'")), if name == "InnoDB" { "5" } else { "0" });
    }
}

#[test]
fn tp1_and_its_parts_find_every_fault() {
    let server = Server::start_with_rocksdb();
    for (_, engine) in engines(&server) {
        tp1::is_consistent_and_finds_every_fault(engine, &["heap", "indexed", "partitioned"]);
    }
}

#[test]
fn rows_that_refer_to_none_are_refused() {
    let server = Server::start_with_rocksdb();
    let orphans = [
        "INSERT INTO teller VALUES (1, 1, 0, '')",
        "INSERT INTO account VALUES (1, 1, 0, '')",
        "INSERT INTO history VALUES (1, 1, 1, 0, now(), '')",
    ];
    for (_, engine) in engines(&server) {
        let bank = open(&*engine, "tpcb", Call::Procedure, 1);
        none_refers_to_nothing(&*engine, &*bank, &orphans);
    }
}

#[test]
#[ignore = "needs MySQL: DSBENCH_TEST_MYSQL names its folder"]
fn mysql_does_what_mariadb_does() {
    let server = Server::mysql(&[]);
    let engine: Arc<dyn Engine> = server.engine().into();
    for call in [Call::Procedure, Call::Statements] {
        let workload: Arc<_> = open(&*engine, "tpcb", call, 2).into();
        let mut conn = build(&*engine, &*workload, Population::Bulk, 2);
        let expected = cycle(Arc::clone(&engine), Arc::clone(&workload) as _);
        assert!(expected.committed[0] > 0);
        assert!(broken(&*workload, &mut *conn, &expected).is_empty(), "{call:?} {expected:?}");
    }
    tp1::is_consistent_and_finds_every_fault(server.engine(), &["heap", "indexed", "partitioned"]);
}

#[test]
fn both_ways_to_populate_make_the_same_bank() {
    let server = Server::start();
    let engine = server.engine();
    let workload = open(&*engine, "select", Call::Procedure, 2);
    let found = [Population::Procedure, Population::Bulk].map(|how| {
        let mut conn = build(&*engine, &*workload, how, 1);
        let expected = run(&*engine, &*workload, 2, 100);
        assert!(broken(&*workload, &mut *conn, &expected).is_empty());
        ["branch", "teller", "account"].map(|table| {
            let ids = match table {
                "branch" => "sum(bid)",
                "teller" => "sum(tid * 100000000000 + bid)",
                _ => "sum(aid * 10000000 + bid)",
            };
            let widths = "sum(octet_length(filler)), count(*) - count(DISTINCT filler)";
            conn.fetch(&format!("SELECT count(*), {ids}, {widths} FROM {table}")).unwrap().rows
        })
    });
    assert_eq!(found[0], found[1]);
    assert!(found[0].iter().all(|rows| rows[0][3].as_deref() == Some("0")), "no two fillers are alike");
}

#[test]
fn clients_that_compete_leave_a_consistent_bank() {
    let server = Server::start_with_rocksdb();
    for (name, engine) in engines(&server) {
        let engine: Arc<dyn Engine> = engine.into();
        for call in [Call::Procedure, Call::Statements] {
            let workload: Arc<_> = open(&*engine, "tpcb", call, 1).into();
            let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
            let expected = cycle(Arc::clone(&engine), Arc::clone(&workload) as _);
            assert!(expected.committed[0] > 0);
            assert!(broken(&*workload, &mut *conn, &expected).is_empty(), "{name} {call:?} {expected:?}");
        }
    }
}

#[test]
fn a_transaction_that_misses_a_row_fails_and_changes_nothing() {
    let server = Server::start_with_rocksdb();
    for (_, engine) in engines(&server) {
        for call in [Call::Procedure, Call::Statements] {
            misses_change_nothing(&*engine, call);
        }
    }
}

#[test]
fn an_amount_of_zero_is_a_transaction_like_any_other() {
    let server = Server::start();
    let engine = server.engine();
    let workload = open(&*engine, "tpcb", Call::Procedure, 1);
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    // The update finds its row, though it changes nothing.
    assert_eq!(one(&mut *conn, "CALL tpcb_transaction(1, 1, 1, 0)"), "0");
    assert_eq!(one(&mut *conn, "SELECT count(*) FROM history"), "1");
}

#[test]
fn calls_are_procedures() {
    for scheme in ["mysql", "mariadb"] {
        let engine = dsbench_engines::open(&format!("{scheme}://me@localhost/")).unwrap();
        assert_eq!(dsbench_workloads::default_call("tpcb", engine.dialect()), Call::Procedure);
        assert_eq!(dsbench_workloads::default_call("select", engine.dialect()), Call::Procedure);
    }
}

#[test]
fn accounts_have_numbers_beyond_32_bits() {
    let server = Server::start();
    let call = "CALL tpcb_transaction(2999950000, 299995, 30000, 5)";
    let populate = "CALL tpcb_populate(30000)";
    bed::accounts_have_numbers_beyond_32_bits(&*server.engine(), Call::Procedure, &[populate], &[call]);
}

#[test]
fn the_insert_benchmark_leaves_what_it_wrote_and_finds_every_fault() {
    let server = Server::start_with_rocksdb();
    for (name, engine) in engines(&server) {
        let settled: &[&str] =
            if name == "InnoDB" { &["analyze", "dirty pages"] } else { &["analyze", "flush", "compaction"] };
        insert::nodes_that_share_a_table_delete_what_they_insert(&*engine);
        drop(insert::whole(&*engine, "shared", settled));
        let (workload, mut conn, expected) = insert::whole(&*engine, "each", settled);
        insert::faults_are_found(&*workload, &mut *conn, &expected);
        drop(conn);
        if name == "InnoDB" {
            insert::changed_pages_are_written_out(&*engine, &*workload);
        }
        let dropped = |name: &str| format!("DROP INDEX {name} ON pi2");
        insert::damaged_indexes_are_found(&*engine, &*workload, &expected, &dropped, None);
    }
}

#[test]
fn scripts_do_what_they_say() {
    let server = Server::start_with_rocksdb();
    for (_, engine) in engines(&server) {
        crate::script::works(&*engine);
    }
}

#[test]
fn damaged_indexes_and_keys_are_found_in_the_catalogue() {
    let server = Server::start();
    let faults = [
        "DROP INDEX t_d ON t; CREATE INDEX t_d ON t (d)",
        "CREATE INDEX t_b ON t (b); DROP INDEX t_bc ON t; CREATE INDEX t_bc ON t (c, b)",
        "CREATE INDEX t_b ON t (b); DROP INDEX t_bc ON t; CREATE INDEX t_bc ON t (b, c(10))",
        "CREATE INDEX t_b ON t (b); DROP INDEX t_bc ON t",
        "CREATE INDEX t_b ON t (b); ALTER TABLE t ALTER INDEX t_bc IGNORED",
        "ALTER TABLE t DROP PRIMARY KEY",
        "ALTER TABLE t DROP FOREIGN KEY t_u",
    ];
    catalogue::faults_are_found(&*server.engine(), &faults);
}
