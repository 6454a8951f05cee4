//! On MariaDB, with InnoDB and with MyRocks.

use std::sync::Arc;

use dsbench_core::engine::Engine;
use dsbench_core::workload::{Expected, Population};
use dsbench_workloads::Call;

use crate::bed::{broken, build, none_refers_to_nothing, open};
use crate::company;
use crate::mysql_server::Server;

const CALLS: [Call; 2] = [Call::Procedure, Call::Statements];

#[test]
fn a_company_of_full_size_is_consistent() {
    // Reading is not what this test is about: the tables have room in memory.
    let server = Server::start_with(&["--innodb-buffer-pool-size=256M"], |_| ());
    company::of_full_size_is_consistent(&*server.engine(), Call::Procedure);
}

#[test]
fn tpcc_is_consistent_and_finds_what_is_wrong() {
    let server = Server::start();
    company::is_consistent_and_finds_faults(&*server.engine(), &CALLS);
}

#[test]
fn competition_is_consistent() {
    let server = Server::start_with_rocksdb();
    for name in ["InnoDB", "RocksDB"] {
        let engine: Arc<dyn Engine> = server.engine_of(name).into();
        company::competition_is_consistent(engine, &CALLS);
    }
}

#[test]
fn statements_do_what_procedures_do() {
    let server = Server::start();
    company::statements_do_what_procedures_do(&*server.engine());
}

#[test]
fn an_order_that_is_rolled_back_shows_its_number_and_its_customer() {
    let server = Server::start();
    let engine = server.engine();
    let workload = company::small(&*engine, Call::Procedure, 1, &[]);
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    let customer = "SELECT c_last, c_credit FROM customer WHERE c_d_id = 3 AND c_id = 5";
    let customer = conn.fetch(customer).unwrap().rows.remove(0);
    // A line that is there, and one that is not.
    let shown = conn.fetch("CALL tpcc_new_order(1, 3, 5, 1, 2, '00000700001011000010000101')").unwrap().rows;
    assert_eq!((shown.len(), shown[0][0].as_deref(), &shown[0][2..4]), (1, Some("61"), &customer[..]));
    assert!(broken(&*workload, &mut *conn, &Expected::default()).is_empty(), "nothing stays of it");
}

#[test]
fn rows_that_refer_to_none_are_refused() {
    let server = Server::start();
    let engine = server.engine();
    let company = open(&*engine, "tpcc", Call::Procedure, 1);
    let orphans = [
        "INSERT INTO district (d_w_id, d_id) VALUES (1, 1)",
        "INSERT INTO stock (s_w_id, s_i_id) VALUES (1, 1)",
        "INSERT INTO customer (c_w_id, c_d_id, c_id) VALUES (1, 1, 1)",
        "INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id) VALUES (1, 1, 1)",
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id) VALUES (1, 1, 1, 1)",
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (1, 1, 1)",
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number) VALUES (1, 1, 1, 1)",
    ];
    none_refers_to_nothing(&*engine, &*company, &orphans);
}
