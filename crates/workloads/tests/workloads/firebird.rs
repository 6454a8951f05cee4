//! On Firebird, on a server of the test's own.

use std::sync::Arc;

use dsbench_core::engine::{Connection, Engine};
use dsbench_core::workload::{Expected, Population};
use dsbench_workloads::Call;

use crate::bed::{self, broken, build, cycle, misses_change_nothing, open, run};
use crate::catalogue;
use crate::faults;
use crate::firebird_server::{Server, PASSWORD};
use crate::insert;
use crate::tp1;

/// Durability is not what these tests are about.
fn engine(server: &Server) -> Box<dyn Engine> {
    dsbench_engines::open(&server.url(&format!("sysdba:{PASSWORD}"), "forced_writes=off")).unwrap()
}

fn one(conn: &mut dyn Connection, sql: &str) -> String {
    conn.fetch(sql).unwrap().rows[0][0].clone().unwrap()
}

#[test]
fn tpcb_leaves_a_consistent_bank_and_finds_every_fault() {
    let server = Server::start("Super");
    let engine = engine(&server);
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
        let keys = "SELECT count(*) FROM rdb$relation_constraints WHERE rdb$constraint_type = ";
        assert_eq!(one(&mut *conn, &format!("{keys}'PRIMARY KEY'")), "3");
        assert_eq!(one(&mut *conn, &format!("{keys}'FOREIGN KEY'")), "5");
    }
}

#[test]
fn tp1_and_its_parts_find_every_fault() {
    let server = Server::start("Super");
    tp1::is_consistent_and_finds_every_fault(engine(&server), &["heap", "indexed"]);
}

#[test]
fn both_ways_to_populate_make_the_same_bank() {
    let server = Server::start("Super");
    let engine = engine(&server);
    let workload = open(&*engine, "select", Call::Procedure, 2);
    let found = [Population::Procedure, Population::Bulk].map(|how| {
        let mut conn = build(&*engine, &*workload, how, 1);
        let expected = run(&*engine, &*workload, 2, 100);
        assert!(broken(&*workload, &mut *conn, &expected).is_empty());
        ["branch", "teller", "account"].map(|table| {
            let widths = "sum(octet_length(filler)), count(*) - count(DISTINCT filler)";
            let ids = match table {
                "branch" => "sum(bid)",
                "teller" => "sum(tid * 100000000000 + bid)",
                _ => "sum(aid * 10000000 + bid)",
            };
            conn.fetch(&format!("SELECT count(*), {ids}, {widths} FROM {table}")).unwrap().rows
        })
    });
    assert_eq!(found[0], found[1]);
    assert!(found[0].iter().all(|rows| rows[0][3].as_deref() == Some("0")), "no two fillers are alike");
}

/// Without the undo log, because of which the server keeps changes of rolled back transactions: see docs/firebird.md.
#[test]
fn clients_that_compete_leave_a_consistent_bank() {
    for mode in ["Super", "SuperClassic", "Classic"] {
        let server = Server::start(mode);
        let url = server.url(&format!("sysdba:{PASSWORD}"), "forced_writes=off&auto_undo=off");
        let engine: Arc<dyn Engine> = dsbench_engines::open(&url).unwrap().into();
        for call in [Call::Procedure, Call::Statements] {
            let workload: Arc<_> = open(&*engine, "tpcb", call, 1).into();
            let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
            let expected = cycle(Arc::clone(&engine), Arc::clone(&workload) as _);
            assert!(expected.committed[0] > 0);
            assert!(broken(&*workload, &mut *conn, &expected).is_empty(), "{mode} {call:?} {expected:?}");
        }
    }
}

#[test]
fn a_transaction_that_misses_a_row_fails_and_changes_nothing() {
    let server = Server::start("Super");
    let engine = engine(&server);
    for call in [Call::Procedure, Call::Statements] {
        misses_change_nothing(&*engine, call);
    }
}

#[test]
fn accounts_have_numbers_beyond_32_bits() {
    let server = Server::start("Super");
    let call = "EXECUTE PROCEDURE tpcb_transaction(2999950000, 299995, 30000, 5)";
    let populate = "EXECUTE PROCEDURE tpcb_populate(30000)";
    bed::accounts_have_numbers_beyond_32_bits(&*engine(&server), Call::Procedure, &[populate], &[call]);
}

#[test]
fn the_insert_benchmark_leaves_what_it_wrote_and_finds_every_fault() {
    let server = Server::start("Super");
    let engine = engine(&server);
    insert::nodes_that_share_a_table_delete_what_they_insert(&*engine);
    drop(insert::whole(&*engine, "shared", &["sweep", "statistics"]));
    let (workload, mut conn, expected) = insert::whole(&*engine, "each", &["sweep", "statistics"]);
    insert::faults_are_found(&*workload, &mut *conn, &expected);
    drop(conn);
    let dropped = |name: &str| format!("DROP INDEX {name}");
    insert::damaged_indexes_are_found(&*engine, &*workload, &expected, &dropped, None);
}

#[test]
fn scripts_do_what_they_say() {
    let server = Server::start("Super");
    crate::script::works(&*engine(&server));
}

#[test]
fn damaged_indexes_and_keys_are_found_in_the_catalogue() {
    let server = Server::start("Super");
    let faults = [
        "ALTER INDEX t_bc INACTIVE",
        "ALTER TABLE t DROP CONSTRAINT t_u",
        "ALTER TABLE t DROP CONSTRAINT t_u; ALTER TABLE t ADD CONSTRAINT t_u FOREIGN KEY (d) REFERENCES u (a)",
        "DROP INDEX t_bc; CREATE INDEX t_bc ON t COMPUTED BY (b)",
        "DROP INDEX t_bc; CREATE DESCENDING INDEX t_bc ON t (b, c)",
    ];
    catalogue::faults_are_found(&*engine(&server), &faults);
}
