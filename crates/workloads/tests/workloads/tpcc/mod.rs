//! TPC-C: what it builds, what it runs, and that its checks can fail.

mod faults;
mod paced;
mod settings;

use std::sync::Arc;

use dsbench_core::engine::{Connection, Engine, Prepare};
use dsbench_core::error::ErrorKind;
use dsbench_core::workload::{ClientId, Expected, Part, Population, Progress, Workload};
use dsbench_workloads::Call;

use crate::bed::{self, build, cell, cycle, open, open_with, run, transact, LOAD};
use crate::home::{Home, Product};
use crate::server::{self, Server};

on!([postgres, sqlite][tpcc_is_consistent_and_finds_what_is_wrong]);
on!(thorough [postgres, innodb, firebird, sqlite] [a_company_of_full_size_is_consistent]);

mod faults_elsewhere {
    use super::tpcc_is_consistent_and_finds_what_is_wrong;
    on!(thorough [innodb, firebird] [tpcc_is_consistent_and_finds_what_is_wrong]);
}

mod competition {
    use super::competition_is_consistent;
    on!([postgres, innodb, sqlite][competition_is_consistent]);
    on!(thorough [myrocks, firebird] [competition_is_consistent]);
}

mod procedures {
    use super::statements_do_what_procedures_do;
    on!([postgres, innodb, firebird][statements_do_what_procedures_do]);
}

mod parts {
    use super::parts_make_the_same_rows;
    on!([postgres, sqlite][parts_make_the_same_rows]);
}

/// A company with a fiftieth of the specification's rows: what these tests are about does not take more.
pub fn small(engine: &dyn Engine, call: Call, scale: u32, settings: &[(&str, &str)]) -> Box<dyn Workload> {
    open_with(engine, "tpcc", call, scale, &[&[("size", "0.02")], settings].concat())
}

fn sum(expected: &Expected, name: &str) -> i64 {
    expected.sums.iter().find(|(found, _)| found == name).unwrap().1
}

/// The setting by which foreign keys do not prevent a fault. SQLite has them by the session, Firebird always.
fn without_keys(engine: &dyn Engine) -> &'static [(&'static str, &'static str)] {
    match engine.dialect().name {
        "postgres" | "mysql" => &[("foreign_keys", "off")],
        _ => &[],
    }
}

/// Conditions that fail. That of the foreign keys is no news where a test has put `lines_by_stock` in the place of one.
pub fn broken(workload: &dyn Workload, conn: &mut dyn Connection, expected: &Expected) -> Vec<String> {
    let mut found = bed::broken(workload, conn, expected);
    let replaced = conn.fetch("SELECT 1 FROM rdb$indices WHERE rdb$index_name = 'LINES_BY_STOCK'");
    if replaced.is_ok_and(|index| !index.rows.is_empty()) {
        found.retain(|name| name != "foreign keys are there");
    }
    found
}

/// Rows of `tables` with one warehouse. Lines are left out: their number is drawn.
fn has_rows(conn: &mut dyn Connection, tables: [(&str, u64); 8]) {
    for (table, rows) in tables {
        assert_eq!(cell(conn, &format!("SELECT count(*) FROM {table}")), rows.to_string(), "{table}");
    }
}

/// Populates one warehouse with the rows of the specification by two parts, and runs all kinds.
fn a_company_of_full_size_is_consistent(product: Product) {
    let home = match product {
        // Reading is not what this test is about: the tables have room in memory.
        Product::InnoDb => {
            let options = ["--innodb-buffer-pool-size=256M"];
            Home::Server(Server::start_with(&server::Product::MariaDb, &options, |_| ()), "")
        }
        _ => product.home(),
    };
    let engine = &*home.engine();
    let workload = open(engine, "tpcc", product.calls()[0], 1);
    let mut conn = build(engine, &*workload, Population::Bulk, 2);
    let full = [
        ("item", 100_000),
        ("warehouse", 1),
        ("district", 10),
        ("stock", 100_000),
        ("customer", 30_000),
        ("history", 30_000),
        ("orders", 30_000),
        ("new_order", 9_000),
    ];
    has_rows(&mut *conn, full);
    let expected = run(engine, &*workload, 2, 115);
    assert!(expected.committed.iter().all(|count| *count > 0), "{expected:?}");
    assert_eq!(broken(&*workload, &mut *conn, &expected), Vec::<String>::new());
}

/// Populates one warehouse by two parts, runs all kinds by the first of `calls`, finds planted faults, and sees
/// transactions fail that miss a row.
fn tpcc_is_consistent_and_finds_what_is_wrong(product: Product) {
    let (home, calls) = (product.home(), product.calls());
    // Keys would prevent some of the faults.
    let engine = &*home.engine_with(if product == Product::Sqlite { "foreign_keys=off" } else { "" });
    let workload = small(engine, calls[0], 1, without_keys(engine));
    let mut conn = build(engine, &*workload, Population::Bulk, 2);
    if engine.dialect().name == "firebird" {
        // The conditions are checked by the index of the key.
        conn.script(&["ALTER TABLE order_line DROP CONSTRAINT order_line_stock"]).unwrap();
        conn.script(&["CREATE INDEX lines_by_stock ON order_line (ol_supply_w_id, ol_i_id)"]).unwrap();
    }
    assert_eq!(broken(&*workload, &mut *conn, &Expected::default()), Vec::<String>::new(), "nothing ran");
    let fiftieth = [
        ("item", 2000),
        ("warehouse", 1),
        ("district", 10),
        ("stock", 2000),
        ("customer", 600),
        ("history", 600),
        ("orders", 600),
        ("new_order", 180),
    ];
    has_rows(&mut *conn, fiftieth);
    let expected = run(engine, &*workload, 2, 460);
    assert!(expected.committed.iter().all(|count| *count > 0), "{expected:?}");
    assert_eq!(sum(&expected, "new_orders") - sum(&expected, "new_orders_rolled_back"), expected.committed[0] as i64);
    assert!(sum(&expected, "new_orders_rolled_back") > 0, "{expected:?}");
    assert_eq!((sum(&expected, "deliveries"), sum(&expected, "districts_skipped")), (400, 0));
    assert_eq!((sum(&expected, "delivery_transactions"), sum(&expected, "deliveries_with_skip")), (40, 0));
    for (kind, at) in [("payments", 1), ("order_statuses", 2)] {
        let (all, by_name) = (sum(&expected, kind), sum(&expected, &format!("{kind}_by_name")));
        assert!(all == expected.committed[at] as i64 && 0 < by_name && by_name < all, "{expected:?}");
    }
    assert_eq!(broken(&*workload, &mut *conn, &expected), Vec::<String>::new());
    faults::are_all_found(&*workload, &mut *conn, &expected);
    faults::of_counting_are_found(&*workload, &mut *conn, &expected);
    drop(conn);
    what_is_not_there_fails_and_changes_nothing(engine, &*workload, calls, &expected);
    what_misses_a_row_fails_and_changes_nothing(engine, calls);
    districts_without_orders_are_skipped(engine, calls);
    payments_go_on_beyond_ten_digits(engine, calls);
}

/// Clients that compete, with retry, leave a consistent database.
fn competition_is_consistent(product: Product) {
    let (home, calls) = (product.home(), product.calls());
    let engine: Arc<dyn Engine> = home.engine_of_rivals().into();
    let mut conn = build(&*engine, &*small(&*engine, calls[0], 1, &[]), Population::Bulk, 2);
    let mut all = Expected::default();
    for call in calls {
        // More of what collides than the deck has.
        let workload: Arc<_> = small(&*engine, *call, 1, &[("mix", "10,10,2,3,2")]).into();
        let expected = cycle(Arc::clone(&engine), Arc::clone(&workload) as _);
        assert!(expected.committed[0] > 0 && expected.committed[1] > 0, "{call:?} {expected:?}");
        all = together(all, expected);
        assert_eq!(broken(&*workload, &mut *conn, &all), Vec::<String>::new(), "{call:?} {all:?}");
    }
}

fn together(mut all: Expected, more: Expected) -> Expected {
    for (all, more) in [(&mut all.committed, more.committed), (&mut all.unknown, more.unknown)] {
        all.resize(more.len(), 0);
        all.iter_mut().zip(more).for_each(|(sum, count)| *sum += count);
    }
    for (name, sum) in more.sums {
        match all.sums.iter_mut().find(|(found, _)| *found == name) {
            Some((_, found)) => *found += sum,
            None => all.sums.push((name, sum)),
        }
    }
    all
}

/// What transactions change, without points in time.
const CHANGED: [&str; 8] = [
    "SELECT w_id, w_ytd FROM warehouse ORDER BY w_id",
    "SELECT d_w_id, d_id, d_ytd, d_next_o_id FROM district ORDER BY d_w_id, d_id",
    "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data FROM customer \
     ORDER BY c_w_id, c_d_id, c_id",
    "SELECT h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_amount, h_data FROM history WHERE h_data LIKE '%    %' \
     ORDER BY h_c_w_id, h_c_d_id, h_c_id, h_amount",
    "SELECT o_w_id, o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt, o_all_local FROM orders \
     ORDER BY o_w_id, o_d_id, o_id",
    "SELECT no_w_id, no_d_id, no_o_id FROM new_order ORDER BY no_w_id, no_d_id, no_o_id",
    "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info, \
     CASE WHEN ol_delivery_d IS NULL THEN 0 ELSE 1 END FROM order_line \
     ORDER BY ol_w_id, ol_d_id, ol_o_id, ol_number",
    "SELECT s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM stock \
     ORDER BY s_w_id, s_i_id",
];

/// Statements and procedures change the same rows in the same way, remote ones included.
fn statements_do_what_procedures_do(product: Product) {
    let home = product.home();
    let engine = &*home.engine();
    let left = [Call::Statements, Call::Procedure].map(|call| {
        let workload = small(engine, call, 2, &[]);
        let mut conn = build(engine, &*workload, Population::Bulk, 2);
        let expected = run(engine, &*workload, 2, 345);
        assert!(sum(&expected, "brand_lines") > 10, "{expected:?}");
        assert!(sum(&expected, "remote_lines") > 10 && sum(&expected, "remote_payments") > 20, "{expected:?}");
        assert_eq!(broken(&*workload, &mut *conn, &expected), Vec::<String>::new());
        (expected, CHANGED.map(|sql| conn.fetch(sql).unwrap().rows))
    });
    assert_eq!(left[0].0, left[1].0);
    for (at, sql) in CHANGED.iter().enumerate() {
        let (a, b) = (&left[0].1[at], &left[1].1[at]);
        assert!(!a.is_empty() && a.len() == b.len(), "{sql}: {} and {} rows", a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert_eq!(a, b, "{sql}");
        }
    }
}

/// Parts make the same database, however many there are.
fn parts_make_the_same_rows(product: Product) {
    let home = product.home();
    let engine = &*home.engine();
    let keys = [
        ("item", "i_id"),
        ("warehouse", "w_id"),
        ("district", "d_id"),
        ("stock", "s_i_id"),
        ("customer", "c_d_id, c_id"),
        ("history", "h_d_id, h_c_id"),
        ("orders", "o_d_id, o_id"),
        ("new_order", "no_d_id, no_o_id"),
        ("order_line", "ol_d_id, ol_o_id, ol_number"),
    ];
    let made = [1, 3].map(|parts| {
        let workload = small(engine, Call::Statements, 1, &[]);
        let mut conn = build(engine, &*workload, Population::Bulk, parts);
        keys.map(|(table, key)| conn.fetch(&format!("SELECT * FROM {table} ORDER BY {key}")).unwrap())
    });
    for (at, (table, _)) in keys.iter().enumerate() {
        assert!(!made[0][at].rows.is_empty() && made[0][at] == made[1][at], "{table}");
    }
}

/// Transactions of a warehouse that is not there fail, and leave nothing behind.
fn what_is_not_there_fails_and_changes_nothing(
    engine: &dyn Engine,
    there: &dyn Workload,
    calls: &[Call],
    expected: &Expected,
) {
    for call in calls {
        let mut conn = engine.connect(LOAD).unwrap();
        // Every client with an odd number works in a warehouse that is not there.
        let larger = small(engine, *call, 2, &[("mix", "1,1,1,0,0")]);
        let mut client = larger.client(ClientId::alone(1), 3);
        client.prepare(&mut *conn, Prepare::Once).unwrap();
        for number in 0..30 {
            let drawn = client.draw(number);
            let error = transact(&mut *conn, &mut *client, drawn.shape).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Statement, "{error}");
        }
    }
    assert_eq!(broken(there, &mut *engine.connect(LOAD).unwrap(), expected), Vec::<String>::new());
}

/// Transactions that miss a single row fail, and leave nothing behind.
fn what_misses_a_row_fails_and_changes_nothing(engine: &dyn Engine, calls: &[Call]) {
    if engine.dialect().name == "firebird" {
        let keys = [
            ("history", "history_customer"),
            ("orders", "orders_customer"),
            ("new_order", "new_order_orders"),
            ("order_line", "order_line_orders"),
        ];
        let mut conn = engine.connect(LOAD).unwrap();
        for (table, key) in keys {
            conn.script(&[&format!("ALTER TABLE {table} DROP CONSTRAINT {key}")]).unwrap();
        }
    }
    let oldest = |district: u32| format!("(SELECT min(no_o_id) FROM new_order WHERE no_d_id = {district})");
    let customer = format!("(SELECT o_c_id FROM orders WHERE o_d_id = 8 AND o_id = {})", oldest(8));
    for (what, mix, sql) in [
        ("customer", "0,0,0,1,0", format!("DELETE FROM customer WHERE c_d_id = 8 AND c_id = {customer}")),
        ("order", "0,0,0,1,0", format!("DELETE FROM orders WHERE o_d_id = 6 AND o_id = {}", oldest(6))),
        ("lines", "0,0,0,1,0", format!("DELETE FROM order_line WHERE ol_d_id = 4 AND ol_o_id = {}", oldest(4))),
        ("stocks", "1,0,0,0,0", "DELETE FROM stock".to_string()),
    ] {
        engine.connect(LOAD).unwrap().script(&[&sql]).unwrap();
        for call in calls {
            let waiting = |conn: &mut dyn Connection| cell(conn, "SELECT count(*) FROM new_order");
            let before = waiting(&mut *engine.connect(LOAD).unwrap());
            let mut conn = engine.connect(LOAD).unwrap();
            let mut client = small(engine, *call, 1, &[("mix", mix)]).client(ClientId::alone(0), 3);
            client.prepare(&mut *conn, Prepare::Once).unwrap();
            let drawn = client.draw(0);
            let error = transact(&mut *conn, &mut *client, drawn.shape).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Statement, "{what} {call:?}: {error}");
            assert_eq!(waiting(&mut *engine.connect(LOAD).unwrap()), before, "{what} {call:?}");
        }
    }
}

/// A Delivery that skips districts, here three, is counted once, and each district that it skipped.
fn districts_without_orders_are_skipped(engine: &dyn Engine, calls: &[Call]) {
    // In the others nothing is missing.
    engine.connect(LOAD).unwrap().script(&["DELETE FROM new_order WHERE no_d_id IN (4, 6, 8)"]).unwrap();
    for call in calls {
        let expected = run(engine, &*small(engine, *call, 1, &[("mix", "0,0,0,1,0")]), 1, 3);
        let names = ["deliveries", "delivery_transactions", "deliveries_with_skip", "districts_skipped"];
        assert_eq!(names.map(|name| sum(&expected, name)), [21, 3, 3, 9], "{call:?}");
    }
}

/// What came in may have more digits than the twelve that the specification asks for: some four million Payments fill
/// these.
fn payments_go_on_beyond_ten_digits(engine: &dyn Engine, calls: &[Call]) {
    let mut conn = engine.connect(LOAD).unwrap();
    for sum in ["UPDATE warehouse SET w_ytd = 9999999900", "UPDATE district SET d_ytd = 9999999900"] {
        conn.script(&[sum]).unwrap();
    }
    for call in calls {
        let expected = run(engine, &*small(engine, *call, 1, &[("mix", "0,1,0,0,0")]), 1, 20);
        assert_eq!(expected.committed[1], 20, "{call:?}");
    }
    assert_eq!(cell(&mut *conn, "SELECT count(*) FROM district WHERE d_ytd > 9999999999.99"), "10");
}

/// Population by procedure is refused with a remedy.
#[test]
fn population_by_procedure_is_refused() {
    let home = Product::Sqlite.home();
    let engine = home.engine();
    engine.place().create("test").unwrap();
    let workload = open(&*engine, "tpcc", Call::Statements, 1);
    let mut conn = engine.connect(LOAD).unwrap();
    let (part, progress) = (Part { index: 0, count: 1 }, Progress::default());
    let error = workload.populate(&mut *conn, Population::Procedure, part, &progress).unwrap_err();
    assert!(error.kind == ErrorKind::Configuration && format!("{error:#}").contains("--population bulk"), "{error}");
}
