//! On MariaDB, with InnoDB and with MyRocks.

use std::sync::Arc;

use dsbench_core::engine::Engine;
use dsbench_workloads::Call;

use crate::bed::{none_refers_to_nothing, open};
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
