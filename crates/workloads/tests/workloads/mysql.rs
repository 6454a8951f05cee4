//! What only MariaDB and MySQL have: foreign keys that are not checked, and what is the same on MySQL.

use std::sync::Arc;

use dsbench_core::engine::Engine;
use dsbench_core::workload::{Expected, Population, Progress, Workload};
use dsbench_workloads::Call;

use crate::bed::{broken, build, cell, cycle, open, LOAD};
use crate::home::Product;
use crate::server::Server;
use crate::{tp1, tpcc};

on!([innodb, myrocks][rows_that_refer_to_none_are_refused]);

/// Adding the foreign keys finds each of `orphans`, a statement that inserts a row whose other row is missing.
fn none_refers_to_nothing(engine: &dyn Engine, workload: &dyn Workload, orphans: &[&str]) {
    for orphan in orphans {
        engine.place().drop().unwrap();
        engine.place().create("test").unwrap();
        let mut conn = engine.connect(LOAD).unwrap();
        workload.create(&mut *conn).unwrap();
        workload.foreign_keys(&mut *conn, &Progress::default()).unwrap();
        conn.script(&["SET SESSION foreign_key_checks = 0, SESSION sql_mode = ''", orphan]).unwrap();
        let found = workload.foreign_keys(&mut *conn, &Progress::default()).unwrap_err();
        assert!(found.to_string().contains("1 rows have no row to refer to"), "{orphan}: {found}");
    }
}

fn rows_that_refer_to_none_are_refused(product: Product) {
    let home = product.home();
    let engine = home.engine();
    let of_bank = [
        "INSERT INTO teller VALUES (1, 1, 0, '')",
        "INSERT INTO account VALUES (1, 1, 0, '')",
        "INSERT INTO history VALUES (1, 1, 1, 0, now(), '')",
    ];
    none_refers_to_nothing(&*engine, &*open(&*engine, "tpcb", Call::Procedure, 1), &of_bank);
    let of_company = [
        "INSERT INTO district (d_w_id, d_id) VALUES (1, 1)",
        "INSERT INTO stock (s_w_id, s_i_id) VALUES (1, 1)",
        "INSERT INTO customer (c_w_id, c_d_id, c_id) VALUES (1, 1, 1)",
        "INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id) VALUES (1, 1, 1)",
        "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id) VALUES (1, 1, 1, 1)",
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (1, 1, 1)",
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number) VALUES (1, 1, 1, 1)",
    ];
    none_refers_to_nothing(&*engine, &*open(&*engine, "tpcc", Call::Procedure, 1), &of_company);
}

#[test]
#[ignore = "needs MySQL: DSBENCH_TEST_MYSQL names its folder"]
fn mysql_does_what_mariadb_does() {
    let server = Server::mysql();
    let engine: Arc<dyn Engine> = server.engine().into();
    for call in [Call::Procedure, Call::Statements] {
        let workload: Arc<_> = open(&*engine, "tpcb", call, 2).into();
        let mut conn = build(&*engine, &*workload, Population::Bulk, 2);
        let expected = cycle(Arc::clone(&engine), Arc::clone(&workload) as _);
        assert!(expected.committed[0] > 0);
        assert!(broken(&*workload, &mut *conn, &expected).is_empty(), "{call:?} {expected:?}");
    }
    tp1::is_consistent_and_finds_every_fault(server.engine(), tp1::PARTITIONED);
}

#[test]
fn an_amount_of_zero_is_a_transaction_like_any_other() {
    let server = Server::mariadb();
    let engine = server.engine();
    let workload = open(&*engine, "tpcb", Call::Procedure, 1);
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    // The update finds its row, though it changes nothing.
    assert_eq!(cell(&mut *conn, "CALL tpcb_transaction(1, 1, 1, 0)"), "0");
    assert_eq!(cell(&mut *conn, "SELECT count(*) FROM history"), "1");
}

#[test]
fn an_order_that_is_rolled_back_shows_its_number_and_its_customer() {
    let server = Server::mariadb();
    let engine = server.engine();
    let workload = tpcc::small(&*engine, Call::Procedure, 1, &[]);
    let mut conn = build(&*engine, &*workload, Population::Bulk, 1);
    let customer = "SELECT c_last, c_credit FROM customer WHERE c_d_id = 3 AND c_id = 5";
    let customer = conn.fetch(customer).unwrap().rows.remove(0);
    // A line that is there, and one that is not.
    let shown = conn.fetch("CALL tpcc_new_order(1, 3, 5, 1, 2, '00000700001011000010000101')").unwrap().rows;
    assert_eq!((shown.len(), shown[0][0].as_deref(), &shown[0][2..4]), (1, Some("61"), &customer[..]));
    assert!(broken(&*workload, &mut *conn, &Expected::default()).is_empty(), "nothing stays of it");
}
